//! The functions for which a task runs: its own function, the function of the task that spawned or
//! forked it, and so on. Tasks for which these functions are the same share a *context*. The
//! contexts of a run are a tree; a profile adds up the work of each. (G. Ammons, T. Ball and J.
//! Larus, "Exploiting hardware performance counters with flow and context sensitive profiling",
//! 1997.)
//!
//! A function occurs once on the way from the root to a context: a recursion returns to the context
//! of its function. So the depth of a recursion does not matter, and the tree stays small.
//!
//! Contexts are made under a lock, and found without it: links are added at the head and never
//! change.

use crate::lock::mutex::Mutex;
use crate::sys::memory;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The most contexts below the second level. Beyond them the callers of a function are not told
/// apart.
const MOST: usize = 4096;

pub struct Context {
    /// The function's address; 0: the root, which has no tasks.
    pub function: usize,
    /// The number of the context.
    pub id: usize,
    /// The number of the function: an index of `Made::functions`.
    pub number: u32,
    parent: *const Context,
    links: AtomicPtr<Link>,
}

/// The context of the tasks of a function that the tasks of a context spawn.
struct Link {
    function: usize,
    to: *const Context,
    next: *const Link,
}

impl Context {
    fn new(function: usize, id: usize, number: u32, parent: *const Context) -> Self {
        Context { function, id, number, parent, links: AtomicPtr::new(ptr::null_mut()) }
    }

    pub fn parent(&self) -> Option<&Context> {
        // SAFETY: contexts live as long as the tree.
        unsafe { self.parent.as_ref() }
    }

    fn find(&self, function: usize) -> Option<*const Context> {
        // Acquire: pairs with the Release in `Made::link`.
        let mut next: *const Link = self.links.load(Ordering::Acquire);
        // SAFETY: links live as long as the tree.
        while let Some(link) = unsafe { next.as_ref() } {
            if link.function == function {
                return Some(link.to);
            }
            next = link.next;
        }
        None
    }

    /// The context of the function, among this context and those above it.
    fn find_above(&self, function: usize) -> Option<&Context> {
        let mut at = Some(self);
        while let Some(context) = at {
            if context.function == function {
                return at;
            }
            at = context.parent();
        }
        None
    }
}

pub struct Contexts {
    root: Box<Context>,
    made: Mutex<Made>,
}

#[allow(clippy::vec_box, reason = "each has an address that others point to")]
struct Made {
    contexts: Vec<Box<Context>>,
    links: Vec<Box<Link>>,
    functions: Vec<usize>,
}

// SAFETY: contexts and links are freed with the tree; without the lock only atomics change.
unsafe impl Send for Made {}
// SAFETY: as above.
unsafe impl Sync for Contexts {}
// SAFETY: as above.
unsafe impl Send for Contexts {}

impl Contexts {
    pub fn new() -> Result<Self, memory::NoMemory> {
        let root = memory::boxed(Context::new(0, 0, 0, ptr::null()))?;
        let mut functions = Vec::new();
        functions.try_reserve(1).map_err(|_| memory::NoMemory)?;
        functions.push(0);
        let made = Mutex::new(Made { contexts: Vec::new(), links: Vec::new(), functions });
        Ok(Contexts { root, made })
    }

    /// The parent of the tasks that no task has spawned.
    pub fn root(&self) -> &Context {
        &self.root
    }

    /// The context of the tasks of this function that `parent` spawns; without memory, the parent.
    pub fn child<'a>(&'a self, parent: &'a Context, function: usize) -> &'a Context {
        if parent.function == function {
            return parent;
        }
        match parent.find(function) {
            // SAFETY: contexts live as long as the tree.
            Some(known) => unsafe { &*known },
            None => self.add(parent, function).unwrap_or(parent),
        }
    }

    #[cold]
    fn add<'a>(&'a self, parent: &'a Context, function: usize) -> Option<&'a Context> {
        self.made.with(|made| {
            if let Some(known) = parent.find(function) {
                // SAFETY: as in `child`.
                return Some(unsafe { &*known });
            }
            let to: *const Context = match parent.find_above(function) {
                Some(above) => above,
                None if ptr::eq(parent, self.root()) || made.contexts.len() < MOST => {
                    made.context(parent, function)?
                }
                None => match self.root.find(function) {
                    Some(known) => known,
                    None => {
                        let top = made.context(&self.root, function)?;
                        made.link(&self.root, function, top)?;
                        top
                    }
                },
            };
            made.link(parent, function, to)?;
            // SAFETY: as in `child`.
            Some(unsafe { &*to })
        })
    }

    /// Calls `f` with all contexts but the root, and with the functions. Called after the run.
    pub fn with_all<R>(&self, f: impl FnOnce(&[Box<Context>], &[usize]) -> R) -> R {
        self.made.with(|made| f(&made.contexts, &made.functions))
    }
}

impl Made {
    fn context(&mut self, parent: &Context, function: usize) -> Option<*const Context> {
        let known = self.functions.iter().position(|&known| known == function);
        let number = known.unwrap_or(self.functions.len());
        self.functions.try_reserve(1).ok()?;
        self.contexts.try_reserve(1).ok()?;
        let id = self.contexts.len() + 1;
        let context = Context::new(function, id, u32::try_from(number).ok()?, parent);
        self.contexts.push(memory::boxed(context).ok()?);
        if known.is_none() {
            self.functions.push(function);
        }
        self.contexts.last().map(|context| &raw const **context)
    }

    fn link(&mut self, from: &Context, function: usize, to: *const Context) -> Option<()> {
        self.links.try_reserve(1).ok()?;
        let next = from.links.load(Ordering::Relaxed);
        let mut link = memory::boxed(Link { function, to, next }).ok()?;
        // Release: a thread that finds the link sees its content, and the context.
        from.links.store(&raw mut *link, Ordering::Release);
        self.links.push(link);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recursion_returns_to_the_context_of_its_function() {
        let contexts = Contexts::new().unwrap();
        let root = contexts.root();
        let first = contexts.child(root, 10);
        let second = contexts.child(first, 20);
        let third = contexts.child(second, 30);
        let ids = [first, second, third].map(|context| context.id);
        assert_eq!(ids, [1, 2, 3]);
        assert!(ptr::eq(contexts.child(first, 20), second));
        assert!(ptr::eq(contexts.child(third, 30), third));
        assert!(ptr::eq(contexts.child(third, 10), first));
        assert!(ptr::eq(contexts.child(third, 10), first));
        // The same function for another caller is another context.
        let other = contexts.child(root, 30);
        assert_eq!((other.id, other.number), (4, third.number));
        contexts.with_all(|all, functions| {
            assert_eq!(all.len(), 4);
            assert_eq!(functions, [0, 10, 20, 30]);
        });
    }

    #[test]
    fn too_many_contexts_become_one_for_each_function() {
        let contexts = Contexts::new().unwrap();
        let root = contexts.root();
        let many = 100;
        for first in 1..=many {
            for second in 1..=many {
                contexts.child(contexts.child(root, first), second);
            }
        }
        contexts.with_all(|all, functions| {
            assert!(all.len() <= MOST + many, "{}", all.len());
            assert_eq!(functions.len(), many + 1);
        });
        let last = contexts.child(contexts.child(root, many), 1);
        assert!(ptr::eq(last, contexts.child(root, 1)));
    }
}
