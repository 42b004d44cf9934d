package main

import (
	"fmt"
	"runtime"
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

func prepareTimers(int) func() { return func() {} }

// On each processor n timers are started and stopped, while others are pending.
func runTimers(n int) {
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

func checkTimers(n int, spent usage) answer {
	extra := fmt.Sprintf(" ns_a_pair=%.6g", float64(pairsTook.Nanoseconds())/float64(n))
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
