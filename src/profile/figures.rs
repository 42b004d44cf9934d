//! The measures that follow from the sums of a run.

use crate::profile::context::{Context, Contexts};
use crate::profile::parts::REST;
use crate::profile::speedup::Measures;
use crate::profile::sums::{CLASSES, OfContext, Sums};
use crate::sys::clock::Calibration;

pub struct Figures {
    /// In nanoseconds.
    pub work: u64,
    pub span: u64,
    pub burdened_span: u64,
    /// The cost of a task's move to another worker.
    pub burden: u64,
    pub tasks: u64,
    pub workers: usize,
    /// The part of the run's time in which the workers had nothing to do, 0 to 1; None: not known.
    pub idle: Option<f64>,
    /// The least nanoseconds of each class of tasks, and the number of its tasks.
    pub classes: [(u64, u64); CLASSES],
    /// The median of the tasks' lengths, in nanoseconds.
    pub median: u64,
    /// The functions of the tasks; the one with most work comes first.
    pub functions: Vec<Function>,
    /// The longest path: the functions of its tasks, in the order in which it meets them first.
    /// Each is an index of `functions`; None: the rest, which stands for several functions.
    pub path: Vec<(Option<usize>, Stretch)>,
    /// The most nanoseconds of the rest that may belong to one function that is not in `path`.
    pub most_beside: u64,
    /// The work of each context, and the context's functions from the first to its own.
    pub stacks: Vec<(Vec<usize>, u64)>,
}

/// The totals of the tasks of a function.
pub struct Function {
    pub address: usize,
    pub tasks: u64,
    /// In nanoseconds.
    pub work: u64,
    /// How long tasks have waited for mutexes, in nanoseconds.
    pub waits: u64,
}

/// A part of the longest path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub nanos: u64,
    pub tasks: u32,
    /// The stretch may be longer by this many nanoseconds, which are in the rest.
    pub missing: u64,
}

/// Calls `make` for each item. Empty if there is no memory.
fn collect<T, U>(items: impl ExactSizeIterator<Item = T>, make: impl FnMut(T) -> U) -> Vec<U> {
    let mut all = Vec::new();
    if all.try_reserve_exact(items.len()).is_ok() {
        all.extend(items.map(make)); // within the capacity
    }
    all
}

impl Figures {
    pub fn new(
        sums: &Sums,
        contexts: &Contexts,
        workers: usize,
        idle: Option<f64>,
        burden: u64,
        calibration: Calibration,
    ) -> Self {
        let nanos = |ticks| calibration.length(ticks);
        let mut classes = [(0, 0); CLASSES];
        for (class, place) in classes.iter_mut().enumerate() {
            *place = (nanos(1 << class), sums.class(class).0);
        }
        let tasks = classes.iter().map(|class| class.1).sum();
        // The average length of the tasks in the class that contains the median task.
        let mut below = 0;
        let middle = (0..CLASSES).find(|&class| {
            below += classes[class].1;
            2 * below >= tasks
        });
        let median = middle.map_or(0, |class| {
            let (n, ticks) = sums.class(class);
            nanos(ticks / n.max(1))
        });
        let (work, span) = (nanos(sums.work()), nanos(sums.span().ticks()));
        let (burdened_span, burden) = (nanos(sums.span().burdened()), nanos(burden));
        let most_beside = nanos(sums.span().parts().most_without_part());
        let (functions, path, stacks) = contexts.with_all(|contexts, functions| {
            let mut all = collect(functions.iter(), |&address| (address, OfContext::default()));
            for context in contexts {
                if let Some((_, of)) = all.get_mut(context.number as usize) {
                    of.add(sums.context(context.id));
                }
            }
            all.sort_unstable_by_key(|&(address, of)| (u64::MAX - of.work, address));
            let all = collect(all.into_iter(), |(address, OfContext { tasks, work, waits })| {
                Function { address, tasks, work: nanos(work), waits: nanos(waits) }
            });
            let mut path = Vec::new();
            let parts = sums.span().parts();
            if path.try_reserve_exact(parts.all().count()).is_ok() {
                path.extend(parts.all().zip(parts.missing()).map(|(part, missing)| {
                    let address = functions.get(part.function as usize);
                    let function = all.iter().position(|f| Some(&f.address) == address);
                    let function = function.filter(|_| part.function != REST);
                    let (nanos, missing) = (nanos(part.ticks), nanos(missing));
                    (function, Stretch { nanos, tasks: part.tasks, missing })
                }));
            }
            let stacks = collect(contexts.iter(), |context| {
                (addresses(context), nanos(sums.context(context.id).work))
            });
            (all, path, stacks)
        });
        Figures {
            work,
            span,
            burdened_span,
            burden,
            tasks,
            workers,
            idle,
            classes,
            median,
            functions,
            path,
            most_beside,
            stacks,
        }
    }

    /// How long tasks have waited for mutexes, in nanoseconds.
    pub fn waits(&self) -> u64 {
        self.functions.iter().map(|function| function.waits).sum()
    }

    /// The part of the longest path that lies in a function of `functions`. None means that the
    /// path spends nothing there, or that is in the rest.
    pub fn on_path(&self, function: usize) -> Option<Stretch> {
        self.path.iter().find(|(of, _)| *of == Some(function)).map(|found| found.1)
    }

    /// True if the function is one of the `count` in which the longest path spends most.
    pub fn is_long_on_path(&self, function: usize, count: usize) -> bool {
        self.on_path(function).is_some_and(|of| {
            let is_longer =
                |other: &&(Option<usize>, Stretch)| other.0.is_some() && other.1.nanos > of.nanos;
            of.nanos > 0 && self.path.iter().filter(is_longer).count() < count
        })
    }

    pub fn measures(&self) -> Measures {
        let (work, span) = (self.work as f64, self.span.max(1) as f64);
        Measures { work, span, burdened_span: span.max(self.burdened_span as f64) }
    }

    pub fn parallelism(&self) -> f64 {
        self.measures().parallelism()
    }
}

/// The functions of a context and of those above it, the first one first.
fn addresses(context: &Context) -> Vec<usize> {
    let mut addresses = Vec::new();
    let mut next = Some(context).filter(|context| context.function != 0);
    while let Some(context) = next {
        if addresses.try_reserve(1).is_ok() {
            addresses.push(context.function);
        }
        next = context.parent().filter(|above| above.function != 0);
    }
    addresses.reverse();
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::path::Path;
    use crate::sys::clock::Moment;

    #[test]
    fn ten_tasks_side_by_side() {
        let (sums, contexts) = (Sums::default(), Contexts::new().unwrap());
        // A task of 100 ms, and nine that begin at the same time.
        for length in [100_u64; 10] {
            let path = Path::unused();
            path.begin(contexts.child(contexts.root(), 1), None, 0);
            path.go_on(0);
            sums.end(&path, length << 20);
        }
        let figures = Figures::new(&sums, &contexts, 2, None, 0, Calibration::since(Moment::now()));
        assert_eq!(figures.functions[0].tasks, 10);
        assert_eq!(figures.functions[0].work, figures.work);
        let stretch = Stretch { nanos: figures.span, tasks: 1, missing: 0 };
        assert_eq!((figures.path.len(), figures.on_path(0)), (1, Some(stretch)));
        assert_eq!(figures.stacks, [(vec![1], figures.work)]);
        let is = |found: f64, meant: f64| assert!((found - meant).abs() < 0.001, "{found} {meant}");
        assert_eq!(figures.tasks, 10);
        is(figures.parallelism(), 10.0);
        is(figures.measures().least(4), 10.0 / (10.0 / 4.0 + 3.0 / 4.0));
        assert_eq!(figures.burdened_span, figures.span);
        is(figures.median as f64 / figures.span as f64, 1.0);
    }
}
