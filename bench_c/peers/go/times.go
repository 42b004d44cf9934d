package main

import (
	"fmt"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// --- timers ---------------------------------------------------------------------

const pendingTimers = 100000

var fired int64

// Some time between 10 s and 26 s.
func someTime(random *uint64) time.Duration {
	*random = mix(*random + 1)
	return 10*time.Second + time.Duration(*random>>30)
}

func never() { atomic.AddInt64(&fired, 1) }

var pairsTook time.Duration

var late []float64 // microseconds

func prepareTimers(int) func() {
	if data != "" && data != "pairs" && data != "sleep" && data != "busy" {
		usageExit()
	}
	return func() { late = nil }
}

func runTimers(n int) {
	if data == "sleep" || data == "busy" {
		runSleeps(n, data == "busy")
	} else {
		runPairs(n)
	}
}

// On each processor n timers are started and stopped, while others are pending.
func runPairs(n int) {
	random := uint64(1)
	pending := make([]*time.Timer, pendingTimers)
	for i := range pending {
		pending[i] = time.AfterFunc(someTime(&random), never)
	}
	begun := time.Now()
	var all sync.WaitGroup
	for p := 0; p < runtime.GOMAXPROCS(0); p++ {
		all.Add(1)
		go func(random uint64) {
			for i := 0; i < n; i++ {
				time.AfterFunc(someTime(&random), never).Stop()
			}
			all.Done()
		}(uint64(p))
	}
	all.Wait()
	pairsTook = time.Since(begun)
	for _, timer := range pending {
		timer.Stop()
	}
}

// One goroutine sleeps n times until a millisecond has passed; beside goroutines that compute for 10 ms each, one for
// each processor, and start themselves again.
func runSleeps(n int, busy bool) {
	var stop atomic.Bool
	var computes func()
	computes = func() {
		for begun := time.Now(); time.Since(begun) < 10*time.Millisecond; {
		}
		if !stop.Load() {
			go computes()
		}
	}
	for p := 0; busy && p < runtime.GOMAXPROCS(0); p++ {
		go computes()
	}
	done := make(chan bool)
	go func() {
		for i := 0; i < n; i++ {
			deadline := time.Now().Add(time.Millisecond)
			time.Sleep(time.Until(deadline))
			late = append(late, 1e-3*float64(time.Since(deadline).Nanoseconds()))
		}
		done <- true
	}()
	<-done
	stop.Store(true)
}

func checkTimers(n int, spent usage) answer {
	extra := fmt.Sprintf(" ns_a_pair=%.6g", float64(pairsTook.Nanoseconds())/float64(n))
	if late != nil {
		sort.Float64s(late)
		quantile := func(share float64) float64 { return late[int(float64(n-1)*share)] }
		extra = fmt.Sprintf(" late_us=%.6g p90_us=%.6g p99_us=%.6g", quantile(0.5), quantile(0.9), quantile(0.99))
	}
	return answer{1, mix(uint64(n)), atomic.LoadInt64(&fired) == 0, extra}
}

// --- channel --------------------------------------------------------------------

var (
	data                         string // the argument of -d
	capacity, senders, receivers int
	received                     uint64
)

func prepareChannel(int) func() {
	capacity, senders, receivers = 64, 1, 1
	items, _ := fmt.Sscanf(data, "%d-%d-%d", &capacity, &senders, &receivers)
	if data != "" && items != 1 && items != 3 || capacity < 0 || senders < 1 || receivers < 1 {
		usageExit()
	}
	return func() { received = 0 }
}

func runChannel(n int) {
	channel := make(chan uint64, capacity)
	var sending, receiving sync.WaitGroup
	sending.Add(senders)
	receiving.Add(receivers)
	for r := 0; r < receivers; r++ {
		go func() {
			own := uint64(0)
			for element := range channel {
				own += mix(element)
			}
			atomic.AddUint64(&received, own)
			receiving.Done()
		}()
	}
	for who := 0; who < senders; who++ {
		go func(who int) {
			for i := who; i < n; i += senders {
				channel <- uint64(i)
			}
			sending.Done()
		}(who)
	}
	sending.Wait()
	close(channel)
	receiving.Wait()
}

func checkChannel(n int, spent usage) answer {
	wanted := uint64(0)
	for i := 0; i < n; i++ {
		wanted += mix(uint64(i))
	}
	extra := fmt.Sprintf(" ns_an_element=%.6g", 1e9*spent.wall/float64(n))
	return answer{senders + receivers + 1, received, received == wanted, extra}
}
