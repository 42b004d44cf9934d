//! Bounded channels: tokio's between tasks of its runtime, and the channels of crossbeam and of std
//! between threads. -d CAPACITY or CAPACITY-SENDERS-RECEIVERS, as for bench_c/channel.c.

use std::mem;
use std::sync::mpsc::sync_channel;
use std::thread;

use rust_peers::measure::{Bench, Spent};
use rust_peers::work::{mix, sum};

/// Calls `run` with what -d says, as often as was asked for. None: another workload, or the channel
/// cannot have such ends.
fn repeat(bench: &Bench, mut run: impl FnMut([usize; 3]) -> Option<(Spent, u64)>) -> Option<bool> {
    let data = if bench.data.is_empty() { "64" } else { &bench.data };
    let numbers: Result<Vec<usize>, _> = data.split('-').map(str::parse).collect();
    let (capacity, senders, receivers) = match numbers.ok()?[..] {
        [capacity] => (capacity, 1, 1),
        [capacity, senders, receivers] => (capacity, senders, receivers),
        _ => return None,
    };
    let wanted = sum((0..bench.n as u64).map(mix));
    let is_channel = bench.workload() == "channel";
    bench.repeat(|| {
        let (spent, received) = is_channel.then(|| run([capacity, senders, receivers]))??;
        let extra = format!(" ns_an_element={:.6}", 1e9 * spent.wall / bench.n as f64);
        let tasks = (senders + receivers + 1) as u64;
        Some(bench.line(&spent, tasks, received, &extra, received == wanted))
    })
}

/// The numbers of one of the senders.
fn share(n: usize, who: usize, senders: usize) -> impl Iterator<Item = u64> {
    (who as u64..n as u64).step_by(senders)
}

pub fn tokio(bench: &Bench) -> Option<bool> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(bench.threads).build().expect("threads");
    repeat(bench, |[capacity, senders, receivers]| {
        let (send, mut receive) = tokio::sync::mpsc::channel((capacity > 0).then_some(capacity)?);
        let (n, mut received) = (bench.n, 0u64);
        let run = async {
            let receiver = tokio::spawn(async move {
                let mut own = 0u64;
                while let Some(element) = receive.recv().await {
                    own = own.wrapping_add(mix(element));
                }
                own
            });
            for who in 0..senders {
                let send = send.clone();
                tokio::spawn(async move {
                    for element in share(n, who, senders) {
                        send.send(element).await.expect("a receiver");
                    }
                });
            }
            drop(send);
            received = receiver.await.expect("its sum");
        };
        let spent = (receivers == 1).then(|| bench.timed(|| runtime.block_on(run)))?;
        Some((spent, received))
    })
}

pub fn crossbeam(bench: &Bench) -> Option<bool> {
    repeat(bench, |[capacity, senders, receivers]| {
        let (send, receive) = crossbeam_channel::bounded(capacity);
        let send = move |element| send.send(element).expect("a receiver");
        Some(by_threads(bench, vec![send; senders], vec![receive; receivers]))
    })
}

pub fn std(bench: &Bench) -> Option<bool> {
    repeat(bench, |[capacity, senders, receivers]| {
        let (send, receive) = sync_channel(capacity);
        let send = move |element| send.send(element).expect("a receiver");
        (receivers == 1).then(|| by_threads(bench, vec![send; senders], vec![receive]))
    })
}

/// A thread for each sender and receiver; with -t 1 all on one processor.
fn by_threads<R: IntoIterator<Item = u64> + Send>(
    bench: &Bench,
    senders: Vec<impl Fn(u64) + Send>,
    receivers: Vec<R>,
) -> (Spent, u64) {
    if bench.threads == 1 {
        // SAFETY: a set of processors may be all zeroes; the size is the set's.
        unsafe {
            let mut set: libc::cpu_set_t = mem::zeroed();
            libc::CPU_SET(libc::sched_getcpu() as usize, &mut set);
            assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
        }
    }
    let (n, count) = (bench.n, senders.len());
    let mut received = 0;
    let run = || {
        thread::scope(|scope| {
            let receive = |receiver: R| scope.spawn(|| sum(receiver.into_iter().map(mix)));
            let threads: Vec<_> = receivers.into_iter().map(receive).collect();
            for (who, send) in senders.into_iter().enumerate() {
                scope.spawn(move || share(n, who, count).for_each(send));
            }
            received = sum(threads.into_iter().map(|thread| thread.join().expect("its sum")));
        });
    };
    (bench.timed(run), received)
}
