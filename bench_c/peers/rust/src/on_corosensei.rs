//! corosensei: a coroutine and its caller that hand over to each other, the bare switch. No queue
//! says which coroutine is next.

use corosensei::Coroutine;

use rust_peers::measure::Bench;
use rust_peers::work::mix;

/// Were all answers right? None: no such workload.
pub fn run(bench: &Bench) -> Option<bool> {
    let has = bench.workload() == "yield" && bench.threads == 1;
    bench.repeat(|| has.then(|| yields(bench)))
}

fn yields(bench: &Bench) -> bool {
    let each = bench.n / 2;
    let mut coroutine = Coroutine::new(move |yielder, ()| {
        let mut seen = 0;
        for _ in 0..each {
            seen += 1;
            yielder.suspend(());
        }
        seen
    });
    let (mut own, mut others) = (0, None);
    let spent = bench.timed(|| {
        for _ in 0..each {
            own += 1;
            coroutine.resume(());
        }
        others = coroutine.resume(()).as_return();
    });
    let right = (own, others) == (each, Some(each));
    let extra = format!(" ns_a_yield={:.6}", 1e9 * spent.wall / (2 * each) as f64);
    bench.line(&spent, 2, mix(each as u64), &extra, right)
}
