package main

import (
	"fmt"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

var workloads = map[string]workload{
	"flood":      {1 << 20, prepareFlood, runFlood, checkFlood},
	"tree":       {1 << 20, prepareTree, runTree, checkTree},
	"quicksort":  {1 << 20, prepareSort, runSort, checkSort},
	"mandelbrot": {640, prepareMandelbrot, runMandelbrot, checkMandelbrot},
	"wakeup":     {100, prepareWakeup, runWakeup, checkWakeup},
	"idleburn":   {1000, prepareIdle, runIdle, checkIdle},
	"emptyrun":   {1000, prepareEmpty, runEmpty, checkEmpty},
	"fib":        {27, prepareFib, runFib, checkFib},
	"nqueens":    {12, prepareQueens, runQueens, checkQueens},
	"uts":        {10, prepareUTS, runUTS, checkUTS},
	"uts_deep":   {2000, prepareDeepUTS, runUTS, checkUTS},
	"matmul":     {512, prepareDense, runMatmul, checkMatmul},
	"strassen":   {512, prepareDense, runStrassen, checkStrassen},
	"mergesort":  {1 << 20, prepareMergesort, runMergesort, checkMergesort},
	"knapsack":   {32, prepareKnapsack, runKnapsack, checkKnapsack},
	"yield":      {1 << 20, prepareTurns, runYield, checkYield},
	"suspend":    {1 << 18, prepareTurns, runSuspend, checkSuspend},
	"timers":     {1 << 18, prepareTimers, runTimers, checkTimers},
	"channel":    {1 << 20, prepareChannel, runChannel, checkChannel},
}

// The tasks of the run: each adds those it starts before it is done itself.
var tasks sync.WaitGroup

// A well mixed function of x (splitmix64's last step).
func mix(x uint64) uint64 {
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// --- flood ----------------------------------------------------------------------

const stripes = 64

var (
	seen   []byte
	height int
)

func clear(b []byte) {
	for i := range b {
		b[i] = 0
	}
}

func prepareFlood(n int) func() {
	height = (n + stripes - 1) / stripes
	seen = make([]byte, stripes*height)
	return func() { clear(seen) }
}

func drop(i int) {
	seen[i%stripes*height+i/stripes]++
	tasks.Done()
}

func runFlood(n int) {
	tasks.Add(1)
	go func() {
		for i := 0; i < n; i++ {
			tasks.Add(1)
			go drop(i)
		}
		tasks.Done()
	}()
	tasks.Wait()
}

func checkFlood(n int, _ usage) answer {
	sum, right := uint64(0), true
	for i := 0; i < n; i++ {
		count := seen[i%stripes*height+i/stripes]
		sum += mix(uint64(i)) * uint64(count)
		right = right && count == 1
	}
	return answer{n + 1, sum, right, ""}
}

// --- tree -----------------------------------------------------------------------

func prepareTree(n int) func() {
	seen = make([]byte, n+2)
	return func() { clear(seen) }
}

func node(i, last int) {
	seen[i]++
	if 2*i <= last {
		tasks.Add(1)
		go node(2*i, last)
	}
	if 2*i+1 <= last {
		tasks.Add(1)
		go node(2*i+1, last)
	}
	tasks.Done()
}

func runTree(n int) {
	tasks.Add(1)
	go node(1, n+1)
	tasks.Wait()
}

func checkTree(n int, _ usage) answer {
	sum, right := uint64(0), true
	for i := 1; i <= n+1; i++ {
		sum += mix(uint64(i)) * uint64(seen[i])
		right = right && seen[i] == 1
	}
	return answer{n + 1, sum, right, ""}
}

// --- quicksort ------------------------------------------------------------------

const sortCutoff = 128

var (
	numbers []int32
	leaf    []byte
	before  uint64
)

func multiset() uint64 {
	sum := uint64(0)
	for _, x := range numbers {
		sum += mix(uint64(uint32(x)) + 1)
	}
	return sum
}

func prepareSort(n int) func() {
	numbers = make([]int32, n)
	leaf = make([]byte, n)
	return func() {
		s := uint64(0)
		for i := range numbers {
			s = s*6364136223846793005 + 1442695040888963407
			numbers[i] = int32((s >> 33) & 0x7FFFFFFF)
		}
		clear(leaf)
		before = multiset()
	}
}

// Hoare's, the pivot is a[lo]: a[lo..j] <= a[j+1..hi] afterwards, and lo <= j < hi.
func partition(a []int32, lo, hi int) int {
	pivot := a[lo]
	i, j := lo-1, hi+1
	for {
		for i++; a[i] < pivot; i++ {
		}
		for j--; a[j] > pivot; j-- {
		}
		if i >= j {
			return j
		}
		a[i], a[j] = a[j], a[i]
	}
}

func serialSort(a []int32, lo, hi int) {
	for lo < hi {
		j := partition(a, lo, hi)
		if j-lo < hi-j-1 {
			serialSort(a, lo, j)
			lo = j + 1
		} else {
			serialSort(a, j+1, hi)
			hi = j
		}
	}
}

func sortTask(lo, hi int) {
	if hi-lo <= sortCutoff {
		leaf[lo]++
		serialSort(numbers, lo, hi)
	} else {
		j := partition(numbers, lo, hi)
		tasks.Add(2)
		go sortTask(lo, j)
		go sortTask(j+1, hi)
	}
	tasks.Done()
}

func runSort(n int) {
	tasks.Add(1)
	go sortTask(0, n-1)
	tasks.Wait()
}

func checkSort(n int, _ usage) answer {
	leaves, right := 0, multiset() == before
	for i, l := range leaf {
		leaves += int(l)
		right = right && l <= 1 && (i == 0 || numbers[i-1] <= numbers[i])
	}
	count := 2*leaves - 1
	return answer{count, before + uint64(count), right, ""}
}

// --- mandelbrot -----------------------------------------------------------------

const limit = 400

var image []uint16

func prepareMandelbrot(n int) func() {
	image = make([]uint16, n*n)
	seen = make([]byte, n)
	return func() {
		for i := range image {
			image[i] = 0
		}
		clear(seen)
	}
}

// The conversions keep a compiler that would from fusing the operations.
func row(n, r int, out []uint16) {
	ci := float64(2*r+1-n) * (1.5 / float64(n))
	for column := range out {
		cr := float64(float64(2*column+1)*(1.5/float64(n))) - 2.0
		zr, zi := 0.0, 0.0
		k := uint16(0)
		for k < limit && float64(zr*zr)+float64(zi*zi) <= 4.0 {
			t := float64(zr*zr) - float64(zi*zi) + cr
			zi = float64(2*zr*zi) + ci
			zr = t
			k++
		}
		out[column] = k
	}
}

func rowTask(n, r int) {
	seen[r]++
	row(n, r, image[r*n:(r+1)*n])
	tasks.Done()
}

func runMandelbrot(n int) {
	tasks.Add(1)
	go func() {
		for r := 0; r < n; r++ {
			tasks.Add(1)
			go rowTask(n, r)
		}
		tasks.Done()
	}()
	tasks.Wait()
}

// The checksum is compared with the other systems'; here, once each and mirrored.
func checkMandelbrot(n int, _ usage) answer {
	sum, right := uint64(0), true
	for i, k := range image {
		sum += mix(uint64(i)<<16 + uint64(k))
		right = right && k == image[(n-1-i/n)*n+i%n]
	}
	for _, s := range seen {
		right = right && s == 1
	}
	return answer{n + 1, sum, right, ""}
}

// --- wakeup, idleburn, emptyrun ----------------------------------------------------

var (
	latency  []float64
	started  float64
	answered int64
)

func prepareWakeup(n int) func() {
	latency = make([]float64, n)
	return func() { answered = 0 }
}

func answerRound(round int) {
	started = clock()
	atomic.StoreInt64(&answered, int64(round))
	tasks.Done()
}

func runWakeup(n int) {
	tasks.Add(1)
	go func() {
		for round := 1; round <= n; round++ {
			pause := 1e-3 + 2e-3*float64(mix(uint64(round))>>40)/(1<<24)
			for start := clock(); clock()-start < pause; {
			}
			asked := clock()
			tasks.Add(1)
			go answerRound(round)
			for atomic.LoadInt64(&answered) != int64(round) {
				if clock()-asked > 20 {
					fmt.Fprintln(os.Stderr, "wakeup: in 20 s no other worker started the task")
					os.Exit(1)
				}
			}
			latency[round-1] = started - asked
		}
		tasks.Done()
	}()
	tasks.Wait()
}

func checkWakeup(n int, spent usage) answer {
	sort.Float64s(latency)
	quantile := func(share float64) float64 { return 1e6 * latency[int(share*float64(n))] }
	// The thread that asks is always busy.
	burnt := 1e6 * (spent.user + spent.sys - spent.wall) / float64(n)
	extra := fmt.Sprintf(" wake_us=%.6g p90_us=%.6g p99_us=%.6g burn_us=%.6g",
		quantile(0.5), quantile(0.9), quantile(0.99), burnt)
	return answer{n + 1, mix(uint64(n)), latency[0] >= 0, extra}
}

var slept time.Duration

func prepareIdle(int) func() {
	return func() { slept = 0 }
}

func runIdle(n int) {
	tasks.Add(1)
	go func() {
		start := time.Now()
		time.Sleep(time.Duration(n) * time.Millisecond)
		slept = time.Since(start)
		tasks.Done()
	}()
	tasks.Wait()
}

func checkIdle(n int, spent usage) answer {
	extra := fmt.Sprintf(" burn_percent=%.6g", 100*(spent.user+spent.sys)/spent.wall)
	return answer{1, mix(uint64(n)), slept >= time.Duration(n)*time.Millisecond, extra}
}

var runs int

func prepareEmpty(int) func() {
	return func() { runs = 0 }
}

func runEmpty(n int) {
	for i := 0; i < n; i++ {
		tasks.Add(1)
		go func() {
			runs++
			tasks.Done()
		}()
		tasks.Wait()
	}
}

func checkEmpty(n int, _ usage) answer {
	return answer{n, mix(uint64(runs)), runs == n, ""}
}
