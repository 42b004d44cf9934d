//! An entry: the last task that writes at an address, and the tasks that have read there since.

use crate::sync::dag::Vertex;
use crate::sync::depend::lines::{Line, Lines};
use crate::sync::depend::returned::Link;
use crate::sys::memory;
use std::ptr;

/// The beginning of a task's block, behind which the task's vertex lies. A block that was part of a
/// table remains one until the table is freed, so it can be read although its task has ended.
#[repr(C)]
pub struct Part {
    pub link: Link,
    /// The address of the table.
    pub table: *const (),
    /// The number of the task in its table. It changes, under the lock, when the block gets a new
    /// task.
    pub serial: u64,
}

impl Part {
    /// # Safety
    /// The part is in the block of a task of a table.
    unsafe fn has_ended(part: *const Part) -> bool {
        // SAFETY: the vertex is behind the part, and was made with it.
        unsafe { (*part.add(1).cast::<Vertex>()).has_ended() }
    }
}

/// A task that may have ended.
#[derive(Clone, Copy)]
pub struct Whose {
    part: *mut Part,
    serial: u64,
}

impl Whose {
    const NONE: Whose = Whose { part: ptr::null_mut(), serial: 0 };

    /// # Safety
    /// The part is in the block of a task of a table.
    pub unsafe fn new(part: *mut Part) -> Whose {
        // SAFETY: the part is in the block of a task, and blocks live as long as their table.
        Whose { part, serial: unsafe { (*part).serial } }
    }

    /// The task, unless it has ended. It may end at any moment, but its block stays.
    ///
    /// # Safety
    /// The table exists, and is locked.
    #[inline]
    unsafe fn live(self) -> Option<*mut Part> {
        let lives = !self.part.is_null()
            // SAFETY: blocks are never freed before the table, and `serial` changes under the lock.
            // So if it is this task's, the vertex is, too.
            && unsafe { (*self.part).serial == self.serial && !Part::has_ended(self.part) };
        lives.then_some(self.part)
    }
}

/// The number of readers that an entry has room for.
const ROOM: usize = 2;
/// The number of readers that a line for more of them has room for.
const MORE_ROOM: usize = 3;
/// With more lines than this, the lines whose tasks have ended are given back.
const FEW: u32 = 8;

#[repr(C, align(64))]
pub struct Entry {
    writer: Whose,
    readers: [Whose; ROOM],
    more: *mut More,
}

/// A line for more readers.
#[repr(C, align(64))]
struct More {
    next: *mut More,
    /// In the first line: the number of lines, and the number of lines at which they are looked
    /// through.
    lines: u32,
    at_most: u32,
    readers: [Whose; MORE_ROOM],
}

const _: () = assert!(size_of::<Entry>() == size_of::<Line>());
const _: () = assert!(size_of::<More>() == size_of::<Line>());

impl Entry {
    pub const NEW: Entry =
        Entry { writer: Whose::NONE, readers: [Whose::NONE; ROOM], more: ptr::null_mut() };

    /// Calls `take` with the tasks that must precede a task which writes, or only reads, here.
    ///
    /// # Safety
    /// The table exists, and is locked.
    #[inline]
    pub unsafe fn before(
        &self,
        writes: bool,
        mut take: impl FnMut(*mut Part) -> Option<()>,
    ) -> Option<()> {
        // SAFETY: the table exists, and is locked.
        unsafe {
            self.writer.live().map_or(Some(()), &mut take)?;
            if writes {
                for reader in self.readers {
                    reader.live().map_or(Some(()), &mut take)?;
                }
                let mut more = self.more;
                while let Some(line) = more.as_ref() {
                    for reader in line.readers {
                        reader.live().map_or(Some(()), &mut take)?;
                    }
                    more = line.next;
                }
            }
        }
        Some(())
    }

    /// The task is the last one that writes here.
    ///
    /// # Safety
    /// The table exists, and is locked; the lines are its lines.
    #[inline]
    pub unsafe fn write(&mut self, task: Whose, lines: &mut Lines) {
        self.writer = task;
        self.readers = [Whose::NONE; ROOM];
        while !self.more.is_null() {
            let line = self.more;
            // SAFETY: the line was taken, and is in no list from here on.
            unsafe {
                self.more = (*line).next;
                lines.give_back(line);
            }
        }
    }

    /// The task reads here. (If it reads here twice, it may be noted twice.)
    ///
    /// # Safety
    /// The contract of `write`; a line is reserved.
    #[inline]
    pub unsafe fn read(&mut self, task: Whose, lines: &mut Lines) {
        let place = self.readers.iter_mut().find(|reader| reader.part.is_null());
        match place {
            Some(reader) => *reader = task,
            // SAFETY: the table is locked, the lines are its lines, and one is reserved.
            None => unsafe { self.read_too(task, lines) },
        }
    }

    /// Like `read`, if the places have been used.
    ///
    /// # Safety
    /// The contract of `read`.
    #[inline(never)]
    unsafe fn read_too(&mut self, task: Whose, lines: &mut Lines) {
        // SAFETY: the table exists, and is locked.
        let is_free = |reader: &Whose| unsafe { reader.live().is_none() };
        if let Some(reader) = self.readers.iter_mut().find(|reader| is_free(reader)) {
            *reader = task;
            return;
        }
        // SAFETY: as above; the lines of the list are the entry's.
        unsafe {
            if let Some(first) = self.more.as_mut() {
                if let Some(reader) = first.readers.iter_mut().find(|reader| is_free(reader)) {
                    *reader = task;
                    return;
                }
                if first.lines >= first.at_most {
                    self.look_through(lines);
                }
            }
            let (count, at_most) =
                self.more.as_ref().map_or((0, FEW), |first| (first.lines, first.at_most));
            let line: *mut More = lines.take().cast();
            let readers = [task, Whose::NONE, Whose::NONE];
            line.write(More { next: self.more, lines: count + 1, at_most, readers });
            self.more = line;
        }
    }

    /// Gives back the lines all of whose tasks have ended. Lines are looked through again when
    /// there are twice as many as remain, so that a reader costs a constant number of steps.
    ///
    /// # Safety
    /// The contract of `write`.
    unsafe fn look_through(&mut self, lines: &mut Lines) {
        let (mut kept, mut count, mut line) = (ptr::null_mut::<More>(), 0, self.more);
        while !line.is_null() {
            // SAFETY: the lines of the list are the entry's, and the table is locked.
            unsafe {
                let next = (*line).next;
                if (*line).readers.iter().any(|reader| reader.live().is_some()) {
                    (*line).next = kept;
                    kept = line;
                    count += 1;
                } else {
                    lines.give_back(line);
                }
                line = next;
            }
        }
        self.more = kept;
        // SAFETY: as above.
        if let Some(first) = unsafe { kept.as_mut() } {
            (first.lines, first.at_most) = (count, FEW.max(2 * count));
        }
    }

    pub fn prefetch_writer(&self) {
        memory::prefetch(self.writer.part.cast_const().cast());
    }

    /// True if the tasks of the entry have ended.
    ///
    /// # Safety
    /// The table exists, and is locked.
    pub unsafe fn is_over(&self) -> bool {
        // SAFETY: the table exists, and is locked.
        unsafe { self.before(true, |_| None).is_some() }
    }

    /// Gives back the lines of an entry that is not needed any more.
    ///
    /// # Safety
    /// The contract of `write`; the entry is not used afterwards.
    pub unsafe fn free(entry: *mut Entry, lines: &mut Lines) {
        // SAFETY: the lines are the table's, which is locked; the entry is not used afterwards.
        unsafe {
            (*entry).write(Whose::NONE, lines);
            lines.give_back(entry);
        }
    }
}
