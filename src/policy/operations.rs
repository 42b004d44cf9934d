//! The operations of a policy as a table of functions, for callers that do not know the policy.

use crate::idle::quiescence::LockedRun;
use crate::policy::guests::Purpose;
use crate::policy::reliefs::Suspended;
use crate::policy::{Awaited, LookFirst, LoopStack, Mine, OnStack, Place, Policy};
use crate::queue::Full;
use crate::queue::background::Line;
use crate::queue::injector::{Limit, Refused};
use crate::sys::memory::NoMemory;
use crate::task::{Level, Task};
use std::ops::Deref;
use std::time::Duration;

/// A place that knows its policy's value.
pub trait Hosted: Place {
    /// # Safety
    /// The place belongs to a run of the policy `P`, which has not ended.
    unsafe fn policy<P>(&self) -> &P;
}

macro_rules! operations {
    (
        for the occupant: $($(#[$doc:meta])* fn $name:ident($place:ident $(, $arg:ident: $type:ty)*) $(-> $result:ty)?
            = $verb:ident($($value:expr),*);)+
        for any thread: $($(#[$any_doc:meta])* fn $any:ident($any_place:ident $(, $any_arg:ident: $any_type:ty)*) $(-> $any_result:ty)?
            = $any_verb:ident($($any_value:expr),*);)+
        on a stack: $($(#[$stack_doc:meta])* fn $stack_verb:ident($stack:ident $(, $stack_arg:ident: $stack_type:ty)*);)+
    ) => {
        /// A function for each operation; `W` is the place, `F` the stack. [`Occupant`] and
        /// [`AnyThread`] call the functions that take a place.
        ///
        /// # Safety
        /// The place, or the stack, belongs to a run of this policy, which outlasts the call.
        pub struct Operations<W, F> {
            $($name: unsafe fn(Mine<'_, W> $(, $type)*) $(-> $result)?,)+
            $($any: unsafe fn(&W $(, $any_type)*) $(-> $any_result)?,)+
            $($(#[$stack_doc])* pub $stack_verb: unsafe fn(OnStack<'_, F> $(, $stack_type)*),)+
        }

        impl<W, F> Clone for Operations<W, F> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<W, F> Copy for Operations<W, F> {}

        impl<W: Hosted, F: LoopStack<Place = W>> Operations<W, F> {
            pub const fn of<P: Policy>() -> Self {
                Operations {
                    $($name: Self::$name::<P>,)+
                    $($any: Self::$any::<P>,)+
                    $($stack_verb: Self::$stack_verb::<P>,)+
                }
            }

            // Named functions, not closures: profilers and debuggers show their names.
            $(unsafe fn $name<P: Policy>($place: Mine<'_, W> $(, $arg: $type)*) $(-> $result)? {
                // SAFETY: the place's run is one of the policy `P`, and has not ended.
                unsafe { $place.policy::<P>().$verb($($value),*) }
            })+

            $(unsafe fn $any<P: Policy>($any_place: &W $(, $any_arg: $any_type)*) $(-> $any_result)? {
                // SAFETY: the place's run is one of the policy `P`, and has not ended.
                unsafe { $any_place.policy::<P>().$any_verb($($any_value),*) }
            })+

            $(unsafe fn $stack_verb<P: Policy>($stack: OnStack<'_, F> $(, $stack_arg: $stack_type)*) {
                // SAFETY: the place's run is one of the policy `P`, and has not ended.
                unsafe { $stack.place().policy::<P>().$stack_verb($stack $(, $stack_arg)*) }
            })+
        }

        impl<W, F> Occupant<'_, W, F> {
            $(#[inline(always)]
            $(#[$doc])*
            pub fn $name(&self $(, $arg: $type)*) $(-> $result)? {
                // SAFETY: by the promise made to `new`.
                unsafe { (self.any.operations.$name)(self.mine $(, $arg)*) }
            })+
        }

        impl<W, F> AnyThread<'_, W, F> {
            $(#[inline(always)]
            $(#[$any_doc])*
            pub fn $any(&self $(, $any_arg: $any_type)*) $(-> $any_result)? {
                // SAFETY: by the promise made to `new`.
                unsafe { (self.operations.$any)(self.place $(, $any_arg)*) }
            })+
        }
    };
}

/// The evidence that the run of a place has not ended: access to the operations for any thread.
pub struct AnyThread<'a, W, F> {
    place: &'a W,
    operations: &'a Operations<W, F>,
}

impl<'a, W, F> AnyThread<'a, W, F> {
    /// # Safety
    /// The operations are those of the place's run, which does not end while this value is used.
    #[inline(always)]
    pub unsafe fn new(place: &'a W, operations: &'a Operations<W, F>) -> Self {
        AnyThread { place, operations }
    }
}

/// The operations at a place that the calling thread occupies.
pub struct Occupant<'a, W, F> {
    any: AnyThread<'a, W, F>,
    mine: Mine<'a, W>,
}

impl<'a, W, F> Occupant<'a, W, F> {
    /// # Safety
    /// The contract of `AnyThread::new`.
    #[inline(always)]
    pub unsafe fn new(mine: Mine<'a, W>, operations: &'a Operations<W, F>) -> Self {
        Occupant { any: AnyThread { place: mine.worker(), operations }, mine }
    }
}

impl<'a, W, F> Deref for Occupant<'a, W, F> {
    type Target = AnyThread<'a, W, F>;

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.any
    }
}

#[allow(unused_unsafe, reason = "some operations are safe ones of the trait")]
mod made {
    use super::*;

    operations! {
        for the occupant:
        fn spawn(place, task: Task) -> Result<(), Full> = spawn(place, task);
        fn spawn_last(place, task: Task) -> Result<(), Full> = spawn_last(place, task);
        fn line_up(place, task: Task) -> Result<(), NoMemory> = line_up(place, task);
        fn hold(place) = hold(&*place);
        fn let_go(place) = let_go(&*place);
        fn publish_tasks(place, takes: Option<Duration>) = publish_tasks(place, takes);
        fn is_turn_due(place) -> bool = is_turn_due(place);
        fn take_back(place, task: Task) -> bool = take_back(place, task);
        fn restored(place) = restored(place);
        fn take_for_relief(place) -> Option<Task> = take_for_relief(place);
        fn next_in_line(place, first: LookFirst) -> Option<Task> = next_in_line(place, first);
        /// Takes only tasks that were suspended.
        fn begin_exchange(place) -> Option<Task> = begin_exchange(place);
        fn end_exchange(place, task: Task) = end_exchange(place, task);
        /// The place is a guest's.
        fn go(place, purpose: Purpose) = go(place, purpose);
        /// The place is a guest's.
        fn sleep_as_guest(place, sleep: &mut dyn FnMut()) = sleep_as_guest(place, sleep);
        for any thread:
        fn inject(place, task: Task) -> Result<(), Refused> = inject(place, task);
        fn requeue(place, task: Task) -> Result<(), NoMemory> = requeue(place, task);
        fn put_back(place, task: Task) -> Result<(), NoMemory> = put_back(place, task);
        fn requeue_ended(place, task: Task) -> Result<(), NoMemory> = requeue_ended(place, task);
        fn has_first(place) -> bool = has_first();
        fn inject_at(place, task: Task, level: Level, limit: Limit) -> Result<Line, Refused>
            = inject_at(place, task, level, limit);
        fn age(place) -> bool = age(place);
        fn reserve(place, more: isize) -> Result<(), NoMemory> = reserve(more);
        fn wakes_at_spawn(place) -> Option<Duration> = wakes_at_spawn();
        fn queued(place) -> Option<usize> = queued(place.index());
        fn rouse(place) = rouse(place.index());
        fn hold_outside(place) -> bool = hold_outside();
        fn let_go_outside(place) = let_go_outside();
        fn queued_for_all(place) -> usize = queued_for_all();
        fn waits(place) -> usize = waits();
        fn when_open(place, then: &mut dyn FnMut(&LockedRun)) = when_open(then);
        fn come(place, thread: usize, purpose: Purpose) -> Option<usize> = come(thread, purpose);
        fn suspended(place) -> Suspended = suspended(place);
        fn has_idle_worker(place) -> bool = has_idle_worker();
        on a stack:
        fn work(stack);
        fn help(stack, awaited: &dyn Awaited);
        fn wait_awake(stack, awaited: &dyn Awaited);
        fn run_own(stack, is_part: &dyn Fn(Task) -> bool);
    }
}

pub use made::Operations;
