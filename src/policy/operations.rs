//! The operations of a policy as a table of functions, for callers that know a worker and not its
//! policy.

use crate::idle::quiescence::LockedRun;
use crate::policy::guests::Purpose;
use crate::policy::{Awaited, LookFirst, LoopStack, Place, Policy};
use crate::queue::Full;
use crate::queue::injector::Refused;
use crate::sys::memory::NoMemory;
use crate::task::Task;
use std::time::Duration;

/// A place that knows its policy's value.
pub trait Hosted: Place {
    /// # Safety
    /// The place belongs to a run of the policy `P`, which has not ended.
    unsafe fn policy<P>(&self) -> &P;
}

macro_rules! operations {
    (
        at place: $($(#[$doc:meta])* fn $name:ident($place:ident $(, $arg:ident: $type:ty)*) $(-> $result:ty)?
            = $verb:ident($($value:expr),*);)+
        on stack: $($(#[$stack_doc:meta])* fn $stack_verb:ident($stack:ident $(, $stack_arg:ident: $stack_type:ty)*);)+
    ) => {
        /// A function for each operation; `W` is the place, `F` the stack.
        ///
        /// # Safety
        /// For each function: the place belongs to a run of this policy, which does not end during
        /// the call. Only the thread that occupies the place calls the owner's operations. The
        /// caller of an operation on a stack is on that stack.
        pub struct Operations<W, F> {
            $($(#[$doc])* pub $name: unsafe fn(&W $(, $type)*) $(-> $result)?,)+
            $($(#[$stack_doc])* pub $stack_verb: unsafe fn(&F $(, $stack_type)*),)+
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
                    $($stack_verb: Self::$stack_verb::<P>,)+
                }
            }

            // Named functions, not closures: profilers and debuggers show their names.
            $(unsafe fn $name<P: Policy>($place: &W $(, $arg: $type)*) $(-> $result)? {
                // SAFETY: by the caller's promise.
                unsafe { $place.policy::<P>().$verb($($value),*) }
            })+

            $(unsafe fn $stack_verb<P: Policy>($stack: &F $(, $stack_arg: $stack_type)*) {
                // SAFETY: by the caller's promise.
                unsafe { $stack.place().policy::<P>().$stack_verb($stack $(, $stack_arg)*) }
            })+
        }
    };
}

#[allow(unused_unsafe, reason = "some operations are safe ones of the trait")]
mod made {
    use super::*;

    operations! {
        at place:
        /// The owner's.
        fn spawn(place, task: Task) -> Result<(), Full> = spawn(place, task);
        /// The owner's.
        fn spawn_last(place, task: Task) -> Result<(), Full> = spawn_last(place, task);
        /// From any thread.
        fn inject(place, task: Task) -> Result<(), Refused> = inject(place, task);
        /// From any thread.
        fn requeue(place, task: Task) -> Result<(), NoMemory> = requeue(place, task);
        /// From any thread.
        fn requeue_ended(place, task: Task) -> Result<(), NoMemory> = requeue_ended(place, task);
        /// From any thread.
        fn has_ended(place) -> bool = has_ended();
        /// From any thread.
        fn reserve(place, more: isize) -> Result<(), NoMemory> = reserve(more);
        /// The owner's.
        fn put_back(place, task: Task) -> Result<(), NoMemory> = put_back(place, task);
        /// The owner's.
        fn line_up(place, task: Task) -> Result<(), NoMemory> = line_up(place, task);
        /// The owner's.
        fn hold(place) = hold(place);
        /// The owner's.
        fn let_go(place) = let_go(place);
        /// The owner's.
        fn share(place, takes: Option<Duration>) = share(place, takes);
        /// From any thread.
        fn wakes_at_spawn(place) -> Option<Duration> = wakes_at_spawn();
        /// The owner's.
        fn is_turn_due(place) -> bool = is_turn_due(place);
        /// The owner's.
        fn take_back(place, task: Task) -> bool = take_back(place, task);
        /// The owner's.
        fn restored(place) = restored(place);
        /// The owner's.
        fn next_in_line(place, first: LookFirst) -> Option<Task> = next_in_line(place, first);
        /// The owner's. Takes only tasks that were suspended.
        fn begin_exchange(place) -> Option<Task> = begin_exchange(place);
        /// The owner's.
        fn end_exchange(place, task: Task) = end_exchange(place, task);
        /// From any thread.
        fn queued(place) -> Option<usize> = queued(place.index());
        /// From any thread.
        fn rouse(place) = rouse(place.index());
        /// From any thread.
        fn queued_for_all(place) -> usize = queued_for_all();
        /// From any thread.
        fn waits(place) -> usize = waits();
        /// From any thread.
        fn when_open(place, then: &mut dyn FnMut(&LockedRun)) = when_open(then);
        /// From any thread.
        fn come(place, thread: usize, purpose: Purpose) -> Option<usize> = come(thread, purpose);
        /// A guest's.
        fn go(place, purpose: Purpose) = go(place, purpose);
        /// A guest's.
        fn sleep_as_guest(place, sleep: &mut dyn FnMut()) = sleep_as_guest(place, sleep);
        on stack:
        fn work(stack);
        fn help(stack, awaited: &dyn Awaited);
        fn wait_awake(stack, awaited: &dyn Awaited);
        fn run_own(stack, is_part: &dyn Fn(Task) -> bool);
    }
}

pub use made::Operations;
