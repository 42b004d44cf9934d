//! Tokio's timers. -d pairs, sleep or busy, as of bench_c/timers.c: a `Sleep` is started by its
//! first poll, and cancelled when it is dropped.

use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use rust_peers::measure::{Bench, Spent, turns};
use rust_peers::work::mix;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, Sleep, sleep_until};

const PENDING: usize = 100_000;

pub fn tokio(bench: &Bench) -> Option<bool> {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(bench.threads).enable_time().build().expect("threads");
    let checksum = mix(bench.n as u64);
    bench.repeat(|| {
        let (spent, tasks, extra) = match &*bench.data {
            "" | "pairs" => pairs(bench, &runtime),
            "sleep" => sleeps(bench, &runtime, 0),
            "busy" => sleeps(bench, &runtime, bench.threads),
            _ => return None,
        };
        Some(bench.line(&spent, tasks, checksum, &extra, true))
    })
}

/// Some time in the 16 s that begin in an hour.
fn some_time(random: &mut u64) -> Instant {
    *random = mix(random.wrapping_add(1));
    Instant::now() + Duration::from_secs(3600) + Duration::from_nanos(*random >> 30)
}

async fn start(mut sleep: Pin<&mut Sleep>) {
    poll_fn(|context| {
        assert!(sleep.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

async fn own_pairs(n: usize, mut random: u64) {
    for _ in 0..n {
        let sleep = pin!(sleep_until(some_time(&mut random)));
        start(sleep).await;
    }
}

fn pairs(bench: &Bench, runtime: &Runtime) -> (Spent, u64, String) {
    let (n, threads) = (bench.n, bench.threads as u64);
    let mut pending = Vec::with_capacity(PENDING);
    let all_start = async {
        let mut random = 1;
        for _ in 0..PENDING {
            let mut sleep = Box::pin(sleep_until(some_time(&mut random)));
            start(sleep.as_mut()).await;
            pending.push(sleep);
        }
    };
    runtime.block_on(all_start);
    let run = async {
        let tasks: Vec<_> = (0..threads).map(|who| tokio::spawn(own_pairs(n, who))).collect();
        for task in tasks {
            task.await.expect("its end");
        }
    };
    let spent = bench.timed(|| runtime.block_on(run));
    runtime.block_on(async { pending.clear() });
    let extra = format!(" ns_a_pair={:.6}", 1e9 * spent.wall / n as f64);
    (spent, threads, extra)
}

/// Computes for 10 ms, and spawns itself again.
fn computes(stop: Arc<AtomicBool>) {
    tokio::spawn(async move {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(10) {
            black_box(turns(1, 100));
        }
        if !stop.load(Ordering::Relaxed) {
            computes(stop);
        }
    });
}

async fn own_sleeps(n: usize) -> Vec<f64> {
    let mut late = Vec::with_capacity(n);
    for _ in 0..n {
        let deadline = Instant::now() + Duration::from_millis(1);
        sleep_until(deadline).await;
        late.push(deadline.elapsed().as_secs_f64() * 1e6);
    }
    late
}

fn sleeps(bench: &Bench, runtime: &Runtime, beside: usize) -> (Spent, u64, String) {
    let (n, mut late) = (bench.n, Vec::new());
    let stop = Arc::new(AtomicBool::new(false));
    let run = async {
        (0..beside).for_each(|_| computes(stop.clone()));
        late = tokio::spawn(own_sleeps(n)).await.expect("its end");
        stop.store(true, Ordering::Relaxed);
    };
    let spent = bench.timed(|| runtime.block_on(run));
    late.sort_by(f64::total_cmp);
    let quantile = |share: f64| late[((n - 1) as f64 * share) as usize];
    let extra = format!(
        " late_us={:.6} p90_us={:.6} p99_us={:.6}",
        quantile(0.5),
        quantile(0.9),
        quantile(0.99)
    );
    (spent, 1, extra)
}
