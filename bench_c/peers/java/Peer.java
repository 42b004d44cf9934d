// The workloads of bench_c on Java's ForkJoinPool: java Peer WORKLOAD [-n SIZE] [-t THREADS]
// [-r RUNS], a line a run, or java Peer --version.
//
// A task is a CountedCompleter, the class made for tasks that fork others and do not wait
// for them; those that wait are in Forks. The first runs of a process are partly interpreted: give -r more than one and
// leave them out. There is no cal= in the line, for the compiler folds the loop.
//
// This file and Forks are long: each workload is a nested class over the same few methods.

import java.io.IOException;
import java.io.Serializable;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CountedCompleter;
import java.util.concurrent.ForkJoinPool;

public final class Peer {
    /** What a workload says at the end of a run. */
    record Answer(long tasks, long checksum, boolean right, String extra) {
        Answer(long tasks, long checksum, boolean right) {
            this(tasks, checksum, right, "");
        }
    }

    abstract static class Workload {
        int n;

        /** Makes the data anew before each run. */
        abstract void reset();

        /** What is timed. */
        abstract void run(ForkJoinPool pool);

        abstract Answer check(double wall, double processor);
    }

    /** One task, and all that come from it. */
    private abstract static class Spawning extends Workload {
        abstract Task first();

        @Override
        void run(ForkJoinPool pool) {
            pool.invoke(first());
        }
    }

    /** A task that forks others; it ends when it and they have ended. */
    private abstract static class Task extends CountedCompleter<Void> {
        private static final long serialVersionUID = 1;

        Task(CountedCompleter<?> parent) {
            super(parent);
        }

        abstract void work();

        @Override
        public final void compute() {
            work();
            tryComplete();
        }

        final void spawn(Task child) {
            addToPendingCount(1);
            child.fork();
        }
    }

    /** Makes task i of many. */
    private interface Maker extends Serializable {
        Task make(Task parent, int i);
    }

    /** Forks n tasks. */
    private static final class Each extends Task {
        private static final long serialVersionUID = 1;
        private final int n;
        private final Maker maker;

        Each(int n, Maker maker) {
            super(null);
            this.n = n;
            this.maker = maker;
        }

        @Override
        void work() {
            for (int i = 0; i < n; i++) {
                spawn(maker.make(this, i));
            }
        }
    }

    /** A well mixed function of x (splitmix64's last step). */
    static long mix(long x) {
        x = (x ^ (x >>> 30)) * 0xbf58476d1ce4e5b9L;
        x = (x ^ (x >>> 27)) * 0x94d049bb133111ebL;
        return x ^ (x >>> 31);
    }

    /** The course's data. */
    static int[] lcg(int n) {
        int[] numbers = new int[n];
        long s = 0;
        for (int i = 0; i < n; i++) {
            s = s * 6364136223846793005L + 1442695040888963407L;
            numbers[i] = (int) ((s >>> 33) & 0x7FFFFFFF);
        }
        return numbers;
    }

    static long multiset(int[] numbers) {
        long sum = 0;
        for (int x : numbers) {
            sum += mix((x & 0xFFFFFFFFL) + 1);
        }
        return sum;
    }

    private static boolean once(byte[] seen, int from) {
        for (int i = from; i < seen.length; i++) {
            if (seen[i] != 1) {
                return false;
            }
        }
        return true;
    }

    // --- flood ----------------------------------------------------------------------

    private static final class Flood extends Spawning {
        private static final int STRIPES = 64;
        private static byte[] seen;
        private static int height;

        private static int at(int i) {
            return i % STRIPES * height + i / STRIPES;
        }

        private static final class Drop extends Task {
            private static final long serialVersionUID = 1;
            private final int i;

            Drop(Task parent, int i) {
                super(parent);
                this.i = i;
            }

            @Override
            void work() {
                seen[at(i)]++;
            }
        }

        @Override
        void reset() {
            height = (n + STRIPES - 1) / STRIPES;
            seen = new byte[STRIPES * height];
        }

        @Override
        Task first() {
            return new Each(n, Drop::new);
        }

        @Override
        Answer check(double wall, double processor) {
            long sum = 0;
            boolean right = true;
            for (int i = 0; i < n; i++) {
                sum += mix(i) * seen[at(i)];
                right = right && seen[at(i)] == 1;
            }
            return new Answer(n + 1L, sum, right);
        }
    }

    // --- tree -----------------------------------------------------------------------

    private static final class Tree extends Spawning {
        private static byte[] seen;

        private static final class Node extends Task {
            private static final long serialVersionUID = 1;
            private final int i;

            Node(Task parent, int i) {
                super(parent);
                this.i = i;
            }

            @Override
            void work() {
                seen[i]++;
                if (2 * i < seen.length) {
                    spawn(new Node(this, 2 * i));
                }
                if (2 * i + 1 < seen.length) {
                    spawn(new Node(this, 2 * i + 1));
                }
            }
        }

        @Override
        void reset() {
            seen = new byte[n + 2];
        }

        @Override
        Task first() {
            return new Node(null, 1);
        }

        @Override
        Answer check(double wall, double processor) {
            long sum = 0;
            for (int i = 1; i < seen.length; i++) {
                sum += mix(i) * seen[i];
            }
            return new Answer(n + 1L, sum, once(seen, 1));
        }
    }

    // --- quicksort ------------------------------------------------------------------

    private static final class Quicksort extends Spawning {
        private static final int CUTOFF = 128;
        private static int[] numbers;
        private static byte[] leaf;
        private long before;

        /** Hoare's, the pivot is a[lo]: a[lo..j] <= a[j+1..hi] afterwards, lo <= j < hi. */
        private static int partition(int[] a, int lo, int hi) {
            int pivot = a[lo];
            int i = lo - 1;
            int j = hi + 1;
            for (;;) {
                do {
                    i++;
                } while (a[i] < pivot);
                do {
                    j--;
                } while (a[j] > pivot);
                if (i >= j) {
                    return j;
                }
                int t = a[i];
                a[i] = a[j];
                a[j] = t;
            }
        }

        private static void sort(int[] a, int lo, int hi) {
            while (lo < hi) {
                int j = partition(a, lo, hi);
                if (j - lo < hi - j - 1) {
                    sort(a, lo, j);
                    lo = j + 1;
                } else {
                    sort(a, j + 1, hi);
                    hi = j;
                }
            }
        }

        private static final class Range extends Task {
            private static final long serialVersionUID = 1;
            private final int lo;
            private final int hi;

            Range(Task parent, int lo, int hi) {
                super(parent);
                this.lo = lo;
                this.hi = hi;
            }

            @Override
            void work() {
                if (hi - lo <= CUTOFF) {
                    leaf[lo]++;
                    sort(numbers, lo, hi);
                    return;
                }
                int j = partition(numbers, lo, hi);
                spawn(new Range(this, lo, j));
                spawn(new Range(this, j + 1, hi));
            }
        }

        @Override
        void reset() {
            numbers = lcg(n);
            leaf = new byte[n];
            before = multiset(numbers);
        }

        @Override
        Task first() {
            return new Range(null, 0, n - 1);
        }

        @Override
        Answer check(double wall, double processor) {
            long leaves = 0;
            boolean right = multiset(numbers) == before;
            for (int i = 0; i < n; i++) {
                leaves += leaf[i];
                right = right && leaf[i] <= 1 && (i == 0 || numbers[i - 1] <= numbers[i]);
            }
            long count = 2 * leaves - 1;
            return new Answer(count, before + count, right);
        }
    }

    // --- mandelbrot -----------------------------------------------------------------

    private static final class Mandelbrot extends Spawning {
        private static final int LIMIT = 400;
        private static short[] image;
        private static byte[] seen;

        private static void row(int n, int row) {
            double ci = (double) (2L * row + 1 - n) * (1.5 / n);
            for (int column = 0; column < n; column++) {
                double cr = (double) (2L * column + 1) * (1.5 / n) - 2.0;
                double zr = 0;
                double zi = 0;
                int k = 0;
                while (k < LIMIT && zr * zr + zi * zi <= 4.0) {
                    double t = zr * zr - zi * zi + cr;
                    zi = 2 * zr * zi + ci;
                    zr = t;
                    k++;
                }
                image[row * n + column] = (short) k;
            }
        }

        private static final class Row extends Task {
            private static final long serialVersionUID = 1;
            private final int row;

            Row(Task parent, int row) {
                super(parent);
                this.row = row;
            }

            @Override
            void work() {
                seen[row]++;
                row(seen.length, row);
            }
        }

        @Override
        void reset() {
            image = new short[n * n];
            seen = new byte[n];
        }

        @Override
        Task first() {
            return new Each(n, Row::new);
        }

        /** The checksum is compared with the other systems'; here, once each and mirrored. */
        @Override
        Answer check(double wall, double processor) {
            long sum = 0;
            boolean right = once(seen, 0);
            for (int i = 0; i < n * n; i++) {
                sum += mix(((long) i << 16) + image[i]);
                right = right && image[i] == image[(n - 1 - i / n) * n + i % n];
            }
            return new Answer(n + 1L, sum, right);
        }
    }

    // --- wakeup, idleburn, emptyrun ---------------------------------------------------

    private static final class Wakeup extends Spawning {
        private static volatile long answered;
        private static long started; // published by answered
        private double[] latency;

        private static final class Woken extends Task {
            private static final long serialVersionUID = 1;
            private final int round;

            Woken(Task parent, int round) {
                super(parent);
                this.round = round;
            }

            @Override
            void work() {
                started = System.nanoTime();
                answered = round;
            }
        }

        private static final class First extends Task {
            private static final long serialVersionUID = 1;
            private final double[] latency;

            First(double[] latency) {
                super(null);
                this.latency = latency;
            }

            @Override
            void work() {
                for (int round = 1; round <= latency.length; round++) {
                    double pause = 1e6 + 2e6 * (mix(round) >>> 40) / (1 << 24);
                    long start = System.nanoTime();
                    while (System.nanoTime() - start < pause) {
                        Thread.onSpinWait();
                    }
                    long asked = System.nanoTime();
                    spawn(new Woken(this, round));
                    while (answered != round) {
                        if (System.nanoTime() - asked > 20e9) {
                            throw new IllegalStateException(
                                "wakeup: in 20 s no other worker started the task");
                        }
                    }
                    latency[round - 1] = started - asked;
                }
            }
        }

        @Override
        void reset() {
            answered = 0;
            latency = new double[n];
        }

        @Override
        Task first() {
            return new First(latency);
        }

        @Override
        Answer check(double wall, double processor) {
            Arrays.sort(latency);
            // The thread that asks is always busy.
            String extra = String.format(Locale.ROOT, " wake_us=%.3f p90_us=%.3f p99_us=%.3f burn_us=%.3f",
                latency[n / 2] / 1e3, latency[(int) (0.9 * n)] / 1e3, latency[(int) (0.99 * n)] / 1e3,
                1e6 * (processor - wall) / n);
            return new Answer(n + 1L, mix(n), latency[0] >= 0, extra);
        }
    }

    private static final class Idleburn extends Spawning {
        private static long slept;

        private static final class Nap extends Task {
            private static final long serialVersionUID = 1;
            private final long milliseconds;

            Nap(long milliseconds) {
                super(null);
                this.milliseconds = milliseconds;
            }

            @Override
            void work() {
                long start = System.nanoTime();
                try {
                    Thread.sleep(milliseconds);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                slept = System.nanoTime() - start;
            }
        }

        @Override
        void reset() {
            slept = -1;
        }

        @Override
        Task first() {
            return new Nap(n);
        }

        @Override
        Answer check(double wall, double processor) {
            String extra = String.format(Locale.ROOT, " burn_percent=%.4f", 100 * processor / wall);
            return new Answer(1, mix(n), slept >= n * 1_000_000L, extra);
        }
    }

    private static final class Emptyrun extends Spawning {
        private static long runs;

        private static final class Empty extends Task {
            private static final long serialVersionUID = 1;

            Empty() {
                super(null);
            }

            @Override
            void work() {
                runs++;
            }
        }

        @Override
        void reset() {
            runs = 0;
        }

        @Override
        void run(ForkJoinPool pool) {
            for (int i = 0; i < n; i++) {
                pool.invoke(first());
            }
        }

        @Override
        Task first() {
            return new Empty();
        }

        @Override
        Answer check(double wall, double processor) {
            return new Answer(n, mix(runs), runs == n);
        }
    }

    // ------------------------------------------------------------------------------

    private static Workload workload(String name) {
        return switch (name) {
            case "flood" -> new Flood();
            case "tree" -> new Tree();
            case "quicksort" -> new Quicksort();
            case "mandelbrot" -> new Mandelbrot();
            case "wakeup" -> new Wakeup();
            case "idleburn" -> new Idleburn();
            case "emptyrun" -> new Emptyrun();
            default -> Forks.workload(name);
        };
    }

    /** Seconds of processor time, by all threads of the process. */
    private static double processorTime() {
        var system = ManagementFactory.getOperatingSystemMXBean();
        return ((com.sun.management.OperatingSystemMXBean) system).getProcessCpuTime() * 1e-9;
    }

    /** Seconds in the kernel, which counts them in ticks of 10 ms. */
    private static double systemTime() throws IOException {
        String stat = Files.readString(Path.of("/proc/self/stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return Long.parseLong(fields[12]) / 100.0;
    }

    /** Context switches of the threads there are: voluntary, involuntary. */
    private static long[] switches() throws IOException {
        long[] sum = new long[2];
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path thread : threads) {
                try {
                    for (String line : Files.readAllLines(thread.resolve("status"))) {
                        int which = line.startsWith("voluntary_ctxt") ? 0
                            : line.startsWith("nonvoluntary_ctxt") ? 1 : -1;
                        if (which >= 0) {
                            sum[which] += Long.parseLong(line.split("\\s+")[1]);
                        }
                    }
                } catch (NoSuchFileException e) {
                    continue; // it has just ended
                }
            }
        }
        return sum;
    }

    public static void main(String[] words) throws IOException {
        if (words.length == 1 && words[0].equals("--version")) {
            System.out.println("Java " + System.getProperty("java.version") + ", "
                + System.getProperty("java.vm.name"));
            return;
        }
        if (words.length % 2 == 0) {
            System.err.println("usage: java Peer WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]");
            System.exit(2);
        }
        String name = words[0];
        Workload w = workload(name);
        int threads = 0;
        int repetitions = 1;
        w.n = 1000;
        for (int i = 1; i < words.length; i += 2) {
            int value = Integer.parseInt(words[i + 1]);
            switch (words[i]) {
                case "-n" -> w.n = value;
                case "-t" -> threads = value;
                case "-r" -> repetitions = value;
                default -> throw new IllegalArgumentException("no option " + words[i]);
            }
        }
        if (threads < 1) {
            threads = Runtime.getRuntime().availableProcessors();
        }
        // What is left of it is the grain of parallelSort, which runs in the pool of its caller.
        System.setProperty("java.util.concurrent.ForkJoinPool.common.parallelism", "" + threads);
        ForkJoinPool pool = new ForkJoinPool(threads);
        boolean failed = false;
        for (int r = 0; r < repetitions; r++) {
            w.reset();
            System.gc(); // the garbage of the checks and of the run before
            long[] before = switches();
            double sys = systemTime();
            double processor = processorTime();
            long start = System.nanoTime();
            try {
                w.run(pool);
            } catch (IllegalStateException e) {
                Throwable cause = e; // the pool throws copies, each with the one before as its cause
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                System.err.println(cause.getMessage());
                System.exit(1);
            }
            double wall = (System.nanoTime() - start) * 1e-9;
            processor = processorTime() - processor;
            sys = Math.min(systemTime() - sys, processor);
            long[] after = switches();
            Answer a = w.check(wall, processor);
            failed |= !a.right();
            System.out.println(String.format(Locale.ROOT,
                "bench=%s n=%d kind=java threads=%d tasks=%d seconds=%.6f ns_per_task=%.2f "
                    + "checksum=%016x user=%.6f sys=%.6f vcsw=%d icsw=%d%s %s",
                name, w.n, threads, a.tasks(), wall, wall * 1e9 / a.tasks(), a.checksum(),
                processor - sys, sys, after[0] - before[0], after[1] - before[1], a.extra(),
                a.right() ? "ok" : "WRONG"));
        }
        pool.shutdown();
        System.exit(failed ? 1 : 0);
    }
}
