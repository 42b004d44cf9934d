// The workloads whose tasks wait for tasks, by fork and join of RecursiveAction with the
// result in a field, and those of parallel streams and Arrays.parallelSort, which run in the
// pool of the task that calls them. Each workload is a nested class: see Peer.

import java.util.Arrays;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;

final class Forks {
    private Forks() {
    }

    static Peer.Workload workload(String name) {
        return switch (name) {
            case "fib" -> new Fib();
            case "nqueens" -> new Queens();
            case "uts" -> new Uts(false);
            case "uts_deep" -> new Uts(true);
            case "matmul" -> new Dense(false);
            case "strassen" -> new Dense(true);
            case "mergesort" -> new Mergesort();
            case "knapsack" -> new Knapsack();
            case "loop" -> new Loop();
            case "reduce" -> new Reduce();
            case "sort" -> new Sort();
            default -> throw new IllegalArgumentException("no workload " + name);
        };
    }

    // --- fib ------------------------------------------------------------------------

    private static final class Fib extends Peer.Workload {
        private long found;

        private static final class Call extends RecursiveAction {
            private static final long serialVersionUID = 1;
            private final int n;
            private long value;

            Call(int n) {
                this.n = n;
            }

            @Override
            protected void compute() {
                value = fib(n);
            }
        }

        private static long fib(int n) {
            if (n < 2) {
                return n;
            }
            Call other = new Call(n - 2);
            other.fork();
            long value = fib(n - 1);
            other.join();
            return value + other.value;
        }

        @Override
        void reset() {
            found = -1;
        }

        @Override
        void run(ForkJoinPool pool) {
            Call first = new Call(n);
            pool.invoke(first);
            found = first.value;
        }

        @Override
        Peer.Answer check(double wall, double processor) {
            long right = 0;
            long next = 1;
            for (int i = 0; i < n; i++) {
                long sum = right + next;
                right = next;
                next = sum;
            }
            return new Peer.Answer(next, found, found == right);
        }
    }

    // --- nqueens --------------------------------------------------------------------

    private static final class Queens extends Peer.Workload {
        private static final long[] SOLUTIONS = {
            1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512,
            95815104, 666090624,
        };
        private static int full;
        private long found;

        private static final class Place extends RecursiveAction {
            private static final long serialVersionUID = 1;
            private final int columns;
            private final int left;
            private final int right;
            private long sum;

            Place(int columns, int left, int right) {
                this.columns = columns;
                this.left = left;
                this.right = right;
            }

            @Override
            protected void compute() {
                if (columns == full) {
                    sum = 1;
                    return;
                }
                int open = full & ~(columns | left | right);
                Place[] next = new Place[Integer.bitCount(open)];
                for (int i = 0; i < next.length; i++, open &= open - 1) {
                    int q = open & -open;
                    next[i] = new Place(columns | q, (left | q) << 1, (right | q) >>> 1);
                    next[i].fork();
                }
                for (int i = next.length - 1; i >= 0; i--) {
                    next[i].join();
                    sum += next[i].sum;
                }
            }
        }

        private static long placements(int columns, int left, int right) {
            long sum = 1;
            for (int open = full & ~(columns | left | right); open != 0; open &= open - 1) {
                int q = open & -open;
                sum += placements(columns | q, (left | q) << 1, (right | q) >>> 1);
            }
            return sum;
        }

        @Override
        void reset() {
            full = (1 << n) - 1;
            found = -1;
        }

        @Override
        void run(ForkJoinPool pool) {
            Place first = new Place(0, 0, 0);
            pool.invoke(first);
            found = first.sum;
        }

        @Override
        Peer.Answer check(double wall, double processor) {
            return new Peer.Answer(placements(0, 0, 0), found, found == SOLUTIONS[n]);
        }
    }

    // --- uts ------------------------------------------------------------------------

    /** The Unbalanced Tree Search, as bench_c/uts.h has it. */
    private static final class Uts extends Peer.Workload {
        private static final double LOG_FAILURE = Math.log(1 - 1 / (1 + 4.0));
        private static boolean binomial;
        private static int size;
        private long nodes;
        private long found;

        Uts(boolean binomial) {
            Uts.binomial = binomial;
        }

        /** SHA-1 of a message of so many words, few enough for one block. */
        private static int[] sha1(int[] message, int last, int words) {
            int[] w = new int[80];
            System.arraycopy(message, 0, w, 0, words - 1);
            w[words - 1] = last;
            w[words] = 0x80000000;
            w[15] = 32 * words;
            for (int i = 16; i < 80; i++) {
                w[i] = Integer.rotateLeft(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
            }
            int a = 0x67452301;
            int b = 0xefcdab89;
            int c = 0x98badcfe;
            int d = 0x10325476;
            int e = 0xc3d2e1f0;
            for (int i = 0; i < 80; i++) {
                int mixed = i < 20 ? (d ^ (b & (c ^ d))) + 0x5a827999
                    : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                    : i < 60 ? ((b & c) | (d & (b | c))) + 0x8f1bbcdc
                    : (b ^ c ^ d) + 0xca62c1d6;
                int next = Integer.rotateLeft(a, 5) + mixed + e + w[i];
                e = d;
                d = c;
                c = Integer.rotateLeft(b, 30);
                b = a;
                a = next;
            }
            return new int[] {
                0x67452301 + a, 0xefcdab89 + b, 0x98badcfe + c, 0x10325476 + d, 0xc3d2e1f0 + e,
            };
        }

        private static int[] root() {
            return sha1(new int[5], binomial ? 42 : 19, 5);
        }

        private static int children(int[] digest, int depth) {
            double chance = (digest[4] & 0x7fffffff) / 2147483648.0;
            if (binomial) {
                return depth == 0 ? size : chance < 0.124875 ? 8 : 0;
            }
            if (depth >= size) {
                return 0;
            }
            return Math.min(100, (int) Math.floor(Math.log(1 - chance) / LOG_FAILURE));
        }

        private static long count(int[] digest, int depth) {
            long sum = 1;
            for (int i = children(digest, depth) - 1; i >= 0; i--) {
                sum += count(sha1(digest, i, 6), depth + 1);
            }
            return sum;
        }

        private static final class Visit extends RecursiveAction {
            private static final long serialVersionUID = 1;
            private final int[] digest;
            private final int depth;
            private long sum = 1;

            Visit(int[] digest, int depth) {
                this.digest = digest;
                this.depth = depth;
            }

            @Override
            protected void compute() {
                int count = children(digest, depth);
                if (count == 0) {
                    return;
                }
                Visit[] next = new Visit[count];
                for (int i = 0; i < count; i++) {
                    next[i] = new Visit(sha1(digest, i, 6), depth + 1);
                    next[i].fork();
                }
                for (int i = count - 1; i >= 0; i--) {
                    next[i].join();
                    sum += next[i].sum;
                }
            }
        }

        @Override
        void reset() {
            if (nodes == 0) {
                size = n;
                nodes = !binomial && n == 10 ? 4130071
                    : binomial && n == 2000 ? 4112897
                    : count(root(), 0);
            }
            found = -1;
        }

        @Override
        void run(ForkJoinPool pool) {
            Visit first = new Visit(root(), 0);
            pool.invoke(first);
            found = first.sum;
        }

        @Override
        Peer.Answer check(double wall, double processor) {
            return new Peer.Answer(nodes, found, found == nodes);
        }
    }

    // --- matmul, strassen -------------------------------------------------------------

    /** Products of square matrices, as bench_c/dense.h has them. */
    private static final class Dense extends Peer.Workload {
        private static final int LEAF = 32;
        private final boolean byStrassen;
        private double[] a;
        private double[] b;
        private double[] c;

        Dense(boolean byStrassen) {
            this.byStrassen = byStrassen;
        }

        /** A part of a matrix: where it starts, and the stride of the whole. */
        private record Part(double[] data, int start, int stride) {
            Part at(int row, int column) {
                return new Part(data, start + row * stride + column, stride);
            }
        }

        /** C += A B, where A is rows by inner, and B inner by columns. */
        private static void add(Part c, Part a, Part b, int rows, int inner, int columns) {
            double[] out = c.data;
            double[] row = b.data;
            for (int i = 0; i < rows; i++) {
                int to = c.start + i * c.stride;
                for (int k = 0; k < inner; k++) {
                    double factor = a.data[a.start + i * a.stride + k];
                    int from = b.start + k * b.stride;
                    for (int j = 0; j < columns; j++) {
                        out[to + j] += factor * row[from + j];
                    }
                }
            }
        }

        private static final class Multiply extends RecursiveAction {
            private static final long serialVersionUID = 1;
            private final transient Part c;
            private final transient Part a;
            private final transient Part b;
            private final int rows;
            private final int inner;
            private final int columns;

            Multiply(Part c, Part a, Part b, int rows, int inner, int columns) {
                this.c = c;
                this.a = a;
                this.b = b;
                this.rows = rows;
                this.inner = inner;
                this.columns = columns;
            }

            /** Divides along the longest side. */
            @Override
            protected void compute() {
                int longest = Math.max(Math.max(rows, columns), inner);
                int half = longest / 2;
                if (longest <= LEAF) {
                    add(c, a, b, rows, inner, columns);
                } else if (rows == longest) {
                    invokeAll(new Multiply(c, a, b, half, inner, columns),
                        new Multiply(c.at(half, 0), a.at(half, 0), b, rows - half, inner, columns));
                } else if (columns == longest) {
                    invokeAll(new Multiply(c, a, b, rows, inner, half),
                        new Multiply(c.at(0, half), a, b.at(0, half), rows, inner, columns - half));
                } else {
                    new Multiply(c, a, b, rows, half, columns).compute();
                    new Multiply(c, a.at(0, half), b.at(half, 0), rows, inner - half, columns)
                        .compute();
                }
            }
        }

        private static long matmulForks(int rows, int inner, int columns) {
            int longest = Math.max(Math.max(rows, columns), inner);
            int half = longest / 2;
            if (longest <= LEAF) {
                return 0;
            }
            if (rows == longest) {
                return 1 + matmulForks(half, inner, columns)
                    + matmulForks(rows - half, inner, columns);
            }
            if (columns == longest) {
                return 1 + matmulForks(rows, inner, half)
                    + matmulForks(rows, inner, columns - half);
            }
            return matmulForks(rows, half, columns) + matmulForks(rows, inner - half, columns);
        }

        /** Quadrants: 0 and 1 above, 2 and 3 below. A product multiplies a sum of quadrants of A
         * by one of B: the first, and the second with its sign. */
        private static final int[][][] OPERANDS = {
            {{0, 3, 1}, {0, 3, 1}}, {{2, 3, 1}, {0, 0, 0}}, {{0, 0, 0}, {1, 3, -1}},
            {{3, 0, 0}, {2, 0, -1}}, {{0, 1, 1}, {3, 0, 0}}, {{2, 0, -1}, {0, 1, 1}},
            {{1, 3, -1}, {2, 3, 1}},
        };
        /** How often each product is in a quadrant of C. */
        private static final int[][] SHARES = {
            {1, 0, 0, 1, -1, 0, 1}, {0, 0, 1, 0, 1, 0, 0}, {0, 1, 0, 1, 0, 0, 0},
            {1, -1, 1, 0, 0, 1, 0},
        };

        private static Part operand(Part m, int half, int[] o) {
            Part first = m.at(o[0] / 2 * half, o[0] % 2 * half);
            Part second = m.at(o[1] / 2 * half, o[1] % 2 * half);
            double[] out = new double[half * half];
            for (int i = 0; i < half; i++) {
                for (int j = 0; j < half; j++) {
                    out[i * half + j] = m.data[first.start + i * m.stride + j]
                        + o[2] * m.data[second.start + i * m.stride + j];
                }
            }
            return new Part(out, 0, half);
        }

        private static final class Product extends RecursiveAction {
            private static final long serialVersionUID = 1;
            private final transient Part a;
            private final transient Part b;
            private final int half;
            private final int number;
            private final double[] out;

            Product(Part a, Part b, int half, int number) {
                this.a = a;
                this.b = b;
                this.half = half;
                this.number = number;
                this.out = new double[half * half];
            }

            @Override
            protected void compute() {
                int[][] o = OPERANDS[number];
                square(out, operand(a, half, o[0]), operand(b, half, o[1]), half);
            }
        }

        private static void square(double[] c, Part a, Part b, int n) {
            Arrays.fill(c, 0);
            if (n <= LEAF || n % 2 != 0) {
                add(new Part(c, 0, n), a, b, n, n, n);
                return;
            }
            int half = n / 2;
            Product[] products = new Product[7];
            for (int i = 0; i < 7; i++) {
                products[i] = new Product(a, b, half, i);
                products[i].fork();
            }
            for (int i = 6; i >= 0; i--) {
                products[i].join();
            }
            for (int q = 0; q < 4; q++) {
                int start = (q / 2 * n + q % 2) * half;
                for (int p = 0; p < 7; p++) {
                    int share = SHARES[q][p];
                    for (int i = 0; share != 0 && i < half; i++) {
                        for (int j = 0; j < half; j++) {
                            c[start + i * n + j] += share * products[p].out[i * half + j];
                        }
                    }
                }
            }
        }

        private static long strassenForks(int n) {
            return n <= LEAF || n % 2 != 0 ? 0 : 7 + 7 * strassenForks(n / 2);
        }

        private double[] fill(long seed) {
            double[] m = new double[n * n];
            for (int i = 0; i < m.length; i++) {
                m[i] = Long.remainderUnsigned(Peer.mix(seed + i), 9) - 4;
            }
            return m;
        }

        @Override
        void reset() {
            if (a == null) {
                a = fill(1);
                b = fill(1 + (long) n * n);
            }
            c = new double[n * n];
        }

        @Override
        void run(ForkJoinPool pool) {
            Part left = new Part(a, 0, n);
            Part right = new Part(b, 0, n);
            if (byStrassen) {
                pool.submit(() -> square(c, left, right, n)).join();
            } else {
                pool.invoke(new Multiply(new Part(c, 0, n), left, right, n, n, n));
            }
        }

        private double[] times(double[] m, double[] x) {
            double[] out = new double[n];
            for (int i = 0; i < n; i++) {
                for (int j = 0; j < n; j++) {
                    out[i] += m[i * n + j] * x[j];
                }
            }
            return out;
        }

        /** C = A B, by Freivalds: C x = A (B x). */
        @Override
        Peer.Answer check(double wall, double processor) {
            double[] x = new double[n];
            for (int i = 0; i < n; i++) {
                x[i] = Long.remainderUnsigned(Peer.mix(i), 1021);
            }
            boolean right = Arrays.equals(times(c, x), times(a, times(b, x)));
            long sum = 0;
            for (int i = 0; i < c.length; i++) {
                sum += Peer.mix(i) * (long) c[i];
            }
            long forks = byStrassen ? strassenForks(n) : matmulForks(n, n, n);
            return new Peer.Answer(1 + forks, sum, right);
        }
    }

    // --- mergesort --------------------------------------------------------------------

    private abstract static class Sorting extends Peer.Workload {
        int[] numbers;
        private long before;

        @Override
        void reset() {
            numbers = Peer.lcg(n);
            before = Peer.multiset(numbers);
        }

        @Override
        Peer.Answer check(double wall, double processor) {
            boolean right = Peer.multiset(numbers) == before;
            for (int i = 1; i < n; i++) {
                right = right && numbers[i - 1] <= numbers[i];
            }
            return new Peer.Answer(n, before, right);
        }
    }

    private static final class Mergesort extends Sorting {
        private static final int SMALL = 16;
        private static final int SORT_LEAF = 1024;
        private static final int MERGE_LEAF = 4096;
        private int[] spare;

        private static void insertionSort(int[] a, int lo, int hi) {
            for (int i = lo + 1; i < hi; i++) {
                int x = a[i];
                int j = i;
                for (; j > lo && a[j - 1] > x; j--) {
                    a[j] = a[j - 1];
                }
                a[j] = x;
            }
        }

        private static void merge(int[] from, int x, int xEnd, int y, int yEnd, int[] out, int at) {
            while (x < xEnd && y < yEnd) {
                out[at++] = from[y] < from[x] ? from[y++] : from[x++];
            }
            System.arraycopy(from, x, out, at, xEnd - x);
            System.arraycopy(from, y, out, at + xEnd - x, yEnd - y);
        }

        /** Sorts a[lo..hi); the result is in spare if `away`, else in a. */
        private static void sort(int[] a, int[] spare, int lo, int hi, boolean away) {
            if (hi - lo <= SMALL) {
                insertionSort(a, lo, hi);
                if (away) {
                    System.arraycopy(a, lo, spare, lo, hi - lo);
                }
                return;
            }
            int middle = lo + (hi - lo) / 2;
            sort(a, spare, lo, middle, !away);
            sort(a, spare, middle, hi, !away);
            merge(away ? a : spare, lo, middle, middle, hi, away ? spare : a, lo);
        }

        private static final class Merge extends RecursiveAction {
            private static final long serialVersionUID = 1;
            private final int[] from;
            private final int x;
            private final int xEnd;
            private final int y;
            private final int yEnd;
            private final int[] out;
            private final int at;

            Merge(int[] from, int x, int xEnd, int y, int yEnd, int[] out, int at) {
                boolean turn = xEnd - x < yEnd - y;
                this.from = from;
                this.x = turn ? y : x;
                this.xEnd = turn ? yEnd : xEnd;
                this.y = turn ? x : y;
                this.yEnd = turn ? xEnd : yEnd;
                this.out = out;
                this.at = at;
            }

            @Override
            protected void compute() {
                if (xEnd - x + yEnd - y <= MERGE_LEAF) {
                    merge(from, x, xEnd, y, yEnd, out, at);
                    return;
                }
                int mx = x + (xEnd - x) / 2;
                int lo = y;
                int hi = yEnd;
                while (lo < hi) {
                    int middle = lo + (hi - lo) / 2;
                    if (from[middle] < from[mx]) {
                        lo = middle + 1;
                    } else {
                        hi = middle;
                    }
                }
                invokeAll(new Merge(from, x, mx, y, lo, out, at),
                    new Merge(from, mx, xEnd, lo, yEnd, out, at + mx - x + lo - y));
            }
        }

        private static final class SortPart extends RecursiveAction {
            private static final long serialVersionUID = 1;
            private final int[] a;
            private final int[] spare;
            private final int lo;
            private final int hi;
            private final boolean away;

            SortPart(int[] a, int[] spare, int lo, int hi, boolean away) {
                this.a = a;
                this.spare = spare;
                this.lo = lo;
                this.hi = hi;
                this.away = away;
            }

            @Override
            protected void compute() {
                if (hi - lo <= SORT_LEAF) {
                    sort(a, spare, lo, hi, away);
                    return;
                }
                int middle = lo + (hi - lo) / 2;
                invokeAll(new SortPart(a, spare, lo, middle, !away),
                    new SortPart(a, spare, middle, hi, !away));
                new Merge(away ? a : spare, lo, middle, middle, hi, away ? spare : a, lo).compute();
            }
        }

        @Override
        void reset() {
            super.reset();
            spare = new int[n];
        }

        @Override
        void run(ForkJoinPool pool) {
            pool.invoke(new SortPart(numbers, spare, 0, n, false));
        }
    }

    // --- knapsack ---------------------------------------------------------------------

    private static final class Knapsack extends Peer.Workload {
        private static final int ITEMS = 24;
        private static final int PREFIX = 10;
        private static final int POLL = 6;
        private Search[] searches;

        private static final class Search {
            private final long[] weight = new long[ITEMS];
            private final long[] rest = new long[ITEMS + 1];
            private final long planted;
            private long room;
            private volatile long found; // not 0: the search is over

            Search(long number) {
                number += 2;
                long plan = Peer.mix(number / 2) & ((1 << ITEMS) - 1);
                planted = number % 2 == 1 ? plan ^ ((1 << PREFIX) - 1) : plan;
                for (int i = ITEMS - 1; i >= 0; i--) {
                    weight[i] = Peer.mix(number * 64 + i) >>> 24;
                    rest[i] = rest[i + 1] + weight[i];
                    room += (planted >> i & 1) == 1 ? weight[i] : 0;
                }
            }

            /** Each item after the prefix is first left, then taken. */
            private void attempt(int attempt) {
                long taken = attempt;
                long space = room;
                for (int i = 0; i < PREFIX; i++) {
                    space -= (taken >> i & 1) == 1 ? weight[i] : 0;
                }
                if (space < 0) {
                    return;
                }
                int item = PREFIX;
                while (space != 0) {
                    if (ITEMS - item == POLL && found != 0) {
                        return;
                    }
                    if (space <= rest[item]) {
                        item++;
                        continue;
                    }
                    for (;;) {
                        if (item == PREFIX) {
                            return;
                        }
                        item--;
                        long bit = 1L << item;
                        if ((taken & bit) != 0) {
                            taken &= ~bit;
                            space += weight[item];
                        } else if (weight[item] <= space) {
                            taken |= bit;
                            space -= weight[item];
                            break;
                        }
                    }
                    item++;
                }
                found = taken;
            }
        }

        private static final class Attempt extends RecursiveAction {
            private static final long serialVersionUID = 1;
            private final transient Search search;
            private final int number;

            Attempt(Search search, int number) {
                this.search = search;
                this.number = number;
            }

            @Override
            protected void compute() {
                search.attempt(number);
            }
        }

        /** Who finds the packing says so, and attempts that have not begun then do nothing. */
        private static void search(Search search) {
            Attempt[] attempts = new Attempt[1 << PREFIX];
            int begun = 0;
            for (; begun < attempts.length && search.found == 0; begun++) {
                attempts[begun] = new Attempt(search, begun);
                attempts[begun].fork();
            }
            while (begun > 0) {
                attempts[--begun].join();
            }
        }

        @Override
        void reset() {
            searches = new Search[n];
        }

        @Override
        void run(ForkJoinPool pool) {
            pool.submit(() -> {
                for (int i = 0; i < n; i++) {
                    searches[i] = new Search(i);
                    search(searches[i]);
                }
            }).join();
        }

        @Override
        Peer.Answer check(double wall, double processor) {
            long sum = 0;
            boolean right = true;
            for (Search search : searches) {
                sum += Peer.mix(search.found);
                right = right && search.found == search.planted;
            }
            return new Peer.Answer(n, sum, right);
        }
    }

    // --- loop, reduce, sort -------------------------------------------------------------

    private static final class Loop extends Peer.Workload {
        private final AtomicLong found = new AtomicLong();

        private static void iteration(long i, AtomicLong found) {
            if (Peer.mix(i) >>> 44 == 0) {
                found.getAndAdd(i);
            }
        }

        @Override
        void reset() {
            found.set(0);
        }

        @Override
        void run(ForkJoinPool pool) {
            pool.submit(() -> LongStream.range(0, n).parallel().forEach(i -> iteration(i, found)))
                .join();
        }

        @Override
        Peer.Answer check(double wall, double processor) {
            AtomicLong wanted = new AtomicLong();
            for (long i = 0; i < n; i++) {
                iteration(i, wanted);
            }
            return new Peer.Answer(n, found.get(), found.get() == wanted.get());
        }
    }

    private static final class Reduce extends Peer.Workload {
        private long found;

        @Override
        void reset() {
            found = 0;
        }

        @Override
        void run(ForkJoinPool pool) {
            found = pool.submit(() -> LongStream.range(0, n).parallel().map(Peer::mix).sum()).join();
        }

        @Override
        Peer.Answer check(double wall, double processor) {
            long wanted = 0;
            for (long i = 0; i < n; i++) {
                wanted += Peer.mix(i);
            }
            return new Peer.Answer(n, found, found == wanted);
        }
    }

    private static final class Sort extends Sorting {
        @Override
        void run(ForkJoinPool pool) {
            pool.submit(() -> Arrays.parallelSort(numbers)).join();
        }
    }
}
