package main

import (
	"fmt"
	"runtime"
)

// --- yield ----------------------------------------------------------------------

// Two goroutines; a cache line each.
var turns [2]struct {
	done int
	_    [56]byte
}

func prepareTurns(int) func() {
	return func() {
		for i := range turns {
			turns[i].done = 0
		}
	}
}

func runYield(n int) {
	for i := range turns {
		tasks.Add(1)
		go func(i int) {
			for k := 0; k < n/2; k++ {
				turns[i].done++
				runtime.Gosched()
			}
			tasks.Done()
		}(i)
	}
	tasks.Wait()
}

func checkYield(n int, spent usage) answer {
	right := turns[0].done == n/2 && turns[1].done == n/2
	extra := fmt.Sprintf(" ns_a_yield=%.6g", 1e9*spent.wall/float64(n))
	return answer{2, mix(uint64(n / 2)), right, extra}
}

// --- suspend --------------------------------------------------------------------

// A semaphore is a channel with room for one.
func runSuspend(n int) {
	var turn [2]chan struct{}
	for i := range turn {
		turn[i] = make(chan struct{}, 1)
	}
	for i := range turns {
		tasks.Add(1)
		go func(i int) {
			for k := 0; k < n/2; k++ {
				<-turn[i]
				turns[i].done++
				turn[1-i] <- struct{}{}
			}
			tasks.Done()
		}(i)
	}
	turn[0] <- struct{}{}
	tasks.Wait()
}

func checkSuspend(n int, spent usage) answer {
	done := turns[0].done + turns[1].done
	extra := fmt.Sprintf(" ns_a_turn=%.6g", 1e9*spent.wall/float64(n))
	return answer{2, mix(uint64(done)), done == n, extra}
}
