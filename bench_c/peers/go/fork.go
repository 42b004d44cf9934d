package main

import (
	"sync"
	"sync/atomic"
)

// The workloads whose tasks wait for tasks: a goroutine each, and a WaitGroup for those that
// one call starts. Loops, reductions and a parallel sort are not in Go's library.

// Runs f in a goroutine of its own, and b meanwhile.
func both(f, b func()) {
	var other sync.WaitGroup
	other.Add(1)
	go func() {
		f()
		other.Done()
	}()
	b()
	other.Wait()
}

// --- fib ------------------------------------------------------------------------

var found int

func prepareFib(int) func() {
	return func() { found = -1 }
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	var a int
	var other sync.WaitGroup
	other.Add(1)
	go func() {
		a = fib(n - 2)
		other.Done()
	}()
	b := fib(n - 1)
	other.Wait()
	return a + b
}

func runFib(n int) {
	found = fib(n)
}

func checkFib(n int, _ usage) answer {
	right, next := 0, 1
	for i := 0; i < n; i++ {
		right, next = next, right+next
	}
	return answer{next, uint64(found), found == right, ""}
}

// --- nqueens --------------------------------------------------------------------

var (
	solutions = []int64{1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184,
		14772512, 95815104, 666090624}
	full  uint32
	total int64
)

type board struct {
	columns, left, right uint32 // taken: columns, and diagonals at this row
}

func (b board) open() uint32 {
	return full &^ (b.columns | b.left | b.right)
}

func (b board) with(queen uint32) board {
	return board{b.columns | queen, (b.left | queen) << 1, (b.right | queen) >> 1}
}

func prepareQueens(n int) func() {
	if n >= len(solutions) {
		die("so many queens are not checked")
	}
	full = 1<<n - 1
	return func() { total = 0 }
}

func place(b board) int64 {
	if b.columns == full {
		return 1
	}
	open := b.open()
	if open == 0 {
		return 0
	}
	var sums [32]int64
	var children sync.WaitGroup
	count := 0
	for ; open != 0; open &= open - 1 {
		children.Add(1)
		go func(next board, sum *int64) {
			*sum = place(next)
			children.Done()
		}(b.with(open&-open), &sums[count])
		count++
	}
	children.Wait()
	sum := int64(0)
	for _, s := range sums[:count] {
		sum += s
	}
	return sum
}

func runQueens(int) {
	total = place(board{})
}

func placements(b board) int {
	sum := 1
	for open := b.open(); open != 0; open &= open - 1 {
		sum += placements(b.with(open & -open))
	}
	return sum
}

func checkQueens(n int, _ usage) answer {
	return answer{placements(board{}), uint64(total), total == solutions[n], ""}
}

// --- mergesort ------------------------------------------------------------------

const (
	smallSort = 16
	sortLeaf  = 1024
	mergeLeaf = 4096
)

var spare []int32

func prepareMergesort(n int) func() {
	spare = make([]int32, n)
	clearPages(spare)
	return prepareSort(n)
}

func clearPages(a []int32) {
	for i := range a {
		a[i] = 0
	}
}

func insertionSort(a []int32) {
	for i := 1; i < len(a); i++ {
		x := a[i]
		j := i
		for ; j > 0 && a[j-1] > x; j-- {
			a[j] = a[j-1]
		}
		a[j] = x
	}
}

func mergeSerial(x, y, out []int32) {
	i, j, k := 0, 0, 0
	for i < len(x) && j < len(y) {
		if y[j] < x[i] {
			out[k] = y[j]
			j++
		} else {
			out[k] = x[i]
			i++
		}
		k++
	}
	k += copy(out[k:], x[i:])
	copy(out[k:], y[j:])
}

// Sorts a; the result is in spare if away, else in a.
func mergeSortSerial(a, spare []int32, away bool) {
	if len(a) <= smallSort {
		insertionSort(a)
		if away {
			copy(spare, a)
		}
		return
	}
	half := len(a) / 2
	mergeSortSerial(a[:half], spare[:half], !away)
	mergeSortSerial(a[half:], spare[half:], !away)
	if away {
		mergeSerial(a[:half], a[half:], spare)
	} else {
		mergeSerial(spare[:half], spare[half:], a)
	}
}

func merge(x, y, out []int32) {
	if len(x)+len(y) <= mergeLeaf {
		mergeSerial(x, y, out)
		return
	}
	if len(x) < len(y) {
		x, y = y, x
	}
	mx := len(x) / 2
	lo, hi := 0, len(y)
	for lo < hi {
		middle := lo + (hi-lo)/2
		if y[middle] < x[mx] {
			lo = middle + 1
		} else {
			hi = middle
		}
	}
	both(func() { merge(x[mx:], y[lo:], out[mx+lo:]) }, func() { merge(x[:mx], y[:lo], out[:mx+lo]) })
}

func mergeSort(a, spare []int32, away bool) {
	if len(a) <= sortLeaf {
		mergeSortSerial(a, spare, away)
		return
	}
	half := len(a) / 2
	both(func() { mergeSort(a[half:], spare[half:], !away) },
		func() { mergeSort(a[:half], spare[:half], !away) })
	if away {
		merge(a[:half], a[half:], spare)
	} else {
		merge(spare[:half], spare[half:], a)
	}
}

func runMergesort(int) {
	mergeSort(numbers, spare, false)
}

func checkMergesort(n int, _ usage) answer {
	right := multiset() == before
	for i := 1; i < n; i++ {
		right = right && numbers[i-1] <= numbers[i]
	}
	return answer{n, before, right, ""}
}

// --- knapsack -------------------------------------------------------------------

const (
	items    = 24
	prefix   = 10
	pollLeft = 6
)

type knapsack struct {
	weight        [items]uint64
	rest          [items + 1]uint64
	room, planted uint64
	found         uint64 // atomic: the packing; not 0: the search is over
}

var knapsacks []*knapsack

func newKnapsack(number int) *knapsack {
	n := uint64(number) + 2
	k := &knapsack{planted: mix(n/2) & (1<<items - 1)}
	if n%2 == 1 {
		k.planted ^= 1<<prefix - 1
	}
	for i := items - 1; i >= 0; i-- {
		k.weight[i] = mix(n*64+uint64(i)) >> 24
		k.rest[i] = k.rest[i+1] + k.weight[i]
		if k.planted>>i&1 == 1 {
			k.room += k.weight[i]
		}
	}
	return k
}

func (k *knapsack) over() bool {
	return atomic.LoadUint64(&k.found) != 0
}

// Each item after the prefix is first left, then taken.
func (k *knapsack) attempt(taken uint64) {
	room := k.room
	for i := 0; i < prefix; i++ {
		if taken>>i&1 == 1 {
			if k.weight[i] > room {
				return
			}
			room -= k.weight[i]
		}
	}
	item := prefix
	for room != 0 {
		if items-item == pollLeft && k.over() {
			return
		}
		if room <= k.rest[item] {
			item++
			continue
		}
		for {
			if item == prefix {
				return
			}
			item--
			bit, weight := uint64(1)<<item, k.weight[item]
			if taken&bit != 0 {
				taken &^= bit
				room += weight
			} else if weight <= room {
				taken |= bit
				room -= weight
				break
			}
		}
		item++
	}
	atomic.StoreUint64(&k.found, taken)
}

func (k *knapsack) search() {
	var attempts sync.WaitGroup
	for i := uint64(0); i < 1<<prefix && !k.over(); i++ {
		attempts.Add(1)
		go func(i uint64) {
			k.attempt(i)
			attempts.Done()
		}(i)
	}
	attempts.Wait()
}

func prepareKnapsack(n int) func() {
	knapsacks = make([]*knapsack, n)
	return func() {}
}

func runKnapsack(n int) {
	for i := range knapsacks {
		knapsacks[i] = newKnapsack(i)
		knapsacks[i].search()
	}
}

func checkKnapsack(n int, _ usage) answer {
	sum, right := uint64(0), true
	for _, k := range knapsacks {
		sum += mix(k.found)
		right = right && k.found == k.planted
	}
	return answer{n, sum, right, ""}
}
