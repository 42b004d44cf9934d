// The workloads of bench_c on goroutines: PEER WORKLOAD [-n SIZE] [-t THREADS] [-r RUNS], a
// line a run, or PEER --version. A task is a goroutine, a run ends with its WaitGroup, and
// -t is GOMAXPROCS.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// What a workload says at the end of a run.
type answer struct {
	tasks    int
	checksum uint64
	right    bool
	extra    string
}

type workload struct {
	n int // the default size
	// Makes the data for n once; the result makes it anew before each run.
	prepare func(n int) func()
	run     func(n int) // what is timed
	check   func(n int, spent usage) answer
}

// What a run took, in seconds and context switches.
type usage struct {
	wall, user, sys float64
	vcsw, icsw      int64
}

func now() usage {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		die(err)
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + 1e-6*float64(t.Usec) }
	return usage{clock(), seconds(r.Utime), seconds(r.Stime), int64(r.Nvcsw), int64(r.Nivcsw)}
}

func (u usage) since(then usage) usage {
	return usage{u.wall - then.wall, u.user - then.user, u.sys - then.sys,
		u.vcsw - then.vcsw, u.icsw - then.icsw}
}

var began = time.Now()

func clock() float64 {
	return time.Since(began).Seconds()
}

var sink uint64

// ns an iteration of y = y*3 + 1; Go's compiler neither unrolls nor folds it.
func calibrate(tries int) float64 {
	const iterations = 1 << 16
	least := 0.0
	y := uint64(1)
	for t := 0; t < tries; t++ {
		start := clock()
		for i := 0; i < iterations; i++ {
			y = y*3 + 1
		}
		ns := (clock() - start) * 1e9 / iterations
		if t == 0 || ns < least {
			least = ns
		}
	}
	sink = y
	return least
}

func die(what any) {
	fmt.Fprintln(os.Stderr, "go:", what)
	os.Exit(1)
}

func usageExit() {
	fmt.Fprintln(os.Stderr, "usage: go WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]")
	os.Exit(2)
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("Go", runtime.Version()[len("go"):])
		return
	}
	if len(os.Args) < 2 {
		usageExit()
	}
	name := os.Args[1]
	w, known := workloads[name]
	if !known {
		usageExit()
	}
	options := flag.NewFlagSet(name, flag.ExitOnError)
	n := options.Int("n", w.n, "size")
	threads := options.Int("t", 0, "threads; 0: one per processor")
	repetitions := options.Int("r", 1, "runs, a line each")
	options.StringVar(&data, "d", "", "a channel's CAPACITY-SENDERS-RECEIVERS; timers: pairs, sleep, busy")
	options.Parse(os.Args[2:])
	if options.NArg() != 0 || *n < 0 || *repetitions < 1 {
		usageExit()
	}
	if *threads < 1 {
		*threads = runtime.NumCPU()
	}
	runtime.GOMAXPROCS(*threads)
	calibrate(16)

	failed := false
	reset := w.prepare(*n)
	for r := 0; r < *repetitions; r++ {
		reset()
		cal := calibrate(4)
		runtime.GC() // the garbage of the checks and of the run before
		start := now()
		w.run(*n)
		spent := now().since(start)
		a := w.check(*n, spent)
		verdict := "ok"
		if !a.right {
			verdict = "WRONG"
			failed = true
		}
		fmt.Printf("bench=%s n=%d kind=go threads=%d tasks=%d seconds=%.6f ns_per_task=%.2f "+
			"checksum=%016x user=%.6f sys=%.6f vcsw=%d icsw=%d cal=%.3f%s %s\n",
			name, *n, *threads, a.tasks, spent.wall, spent.wall*1e9/float64(a.tasks),
			a.checksum, spent.user, spent.sys, spent.vcsw, spent.icsw, cal, a.extra, verdict)
	}
	if failed {
		os.Exit(1)
	}
}
