//! Memory from the heap for edges (`sync::dag`) for which a node has no room.

use crate::sync::dag::Edge;
use std::alloc::{Layout, alloc, dealloc};
use std::ptr;

/// The header of a chunk of a node's edges, which lie behind it.
#[repr(C)]
pub struct Chunk {
    former: *mut Chunk,
    edges: usize,
}

impl Chunk {
    fn layout(edges: usize) -> Option<Layout> {
        Layout::array::<Edge>(edges).ok()?.extend(Layout::new::<Chunk>()).ok().map(|(all, _)| all)
    }

    /// A chunk for `edges` edges, linked before the node's chunk `former`; null if there is no
    /// memory.
    pub fn new(former: *mut Chunk, edges: usize) -> *mut Chunk {
        let Some(layout) = Chunk::layout(edges) else { return ptr::null_mut() };
        // SAFETY: the layout is not empty; the header is written at once.
        unsafe {
            let chunk: *mut Chunk = alloc(layout).cast();
            if !chunk.is_null() {
                chunk.write(Chunk { former, edges });
            }
            chunk
        }
    }

    /// # Safety
    /// The chunk exists, and has more edges than `at`.
    pub unsafe fn edge(chunk: *mut Chunk, at: usize) -> *mut Edge {
        // SAFETY: the edges are behind the header, whose size is a multiple of their alignment.
        unsafe { chunk.add(1).cast::<Edge>().add(at) }
    }

    /// Frees the chunk and those before it.
    ///
    /// # Safety
    /// Nobody uses an edge in them.
    pub unsafe fn free_all(mut chunk: *mut Chunk) {
        while !chunk.is_null() {
            // SAFETY: `new` has allocated it with this layout.
            unsafe {
                let Chunk { former, edges } = chunk.read();
                dealloc(chunk.cast(), Chunk::layout(edges).unwrap_unchecked());
                chunk = former;
            }
        }
    }
}
