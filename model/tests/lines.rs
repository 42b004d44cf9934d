//! Lines of groups: a search finds the cancelled group of a line while tasks begin and end to wait for
//! its groups. A search that waits for a list which it has itself locked never ends; loom reports it.
#![cfg(loom)]

use loom::sync::Arc;
use sched::sync::lines::{Line, Lines, Searches};
use sched_model::{explore, explore_seeing, join, saw, thread_with};

/// The groups of a scene, and the searches of its one cutting thread.
struct Scene {
    groups: Vec<Line>,
    searches: Searches,
}

impl Scene {
    fn new(groups: usize) -> Arc<Self> {
        let groups = (0..groups).map(|_| Line::default()).collect();
        Arc::new(Scene { groups, searches: Searches::new() })
    }

    /// A task of the group `i` waits for the group `j`.
    fn wait(&self, i: usize, j: usize, wait: impl FnOnce()) {
        self.groups[j].awaited_by(&self.groups[i], wait);
    }

    fn is_cancelled(&self, lines: &Lines, i: usize) -> bool {
        // SAFETY: the scene outlives its threads.
        unsafe { lines.is_cancelled(&self.groups[i]) }
    }
}

/// A search that begins while the tasks wait finds the cancelled group, whatever others do: a task of
/// a further group begins and ends to wait for each group of the line.
#[test]
fn a_line_is_found() {
    explore("lines, a cancelled group is found", 2, 90_000, || {
        let scene = Scene::new(4);
        scene.groups[2].cancelled.cancel();
        let other = thread_with(&scene, |scene| {
            scene.wait(3, 0, || ());
            scene.wait(3, 1, || ());
        });
        scene.wait(1, 0, || {
            scene.wait(2, 1, || {
                let lines = Lines::new(&scene.searches);
                assert!(!scene.is_cancelled(&lines, 3), "nobody waits for this group");
                for i in [0, 1, 0] {
                    assert!(scene.is_cancelled(&lines, i), "the cancelled group was overlooked");
                }
            });
        });
        join([other]);
    });
}

/// Groups 0 and 1 wait for each other, group 1 by two tasks, while a task of the cancelled group 2
/// begins and ends to wait for group 1. Each search ends, and finds that group or not; the search of a
/// later cut does not.
#[test]
fn a_circle() {
    let name = "lines, a circle beside a note that comes and goes";
    explore_seeing("no search finds the note", name, 3, 1_000, || {
        let scene = Scene::new(3);
        scene.groups[2].cancelled.cancel();
        let other = thread_with(&scene, |scene| scene.wait(2, 1, || ()));
        scene.wait(1, 0, || {
            scene.wait(1, 0, || {
                scene.wait(0, 1, || {
                    let lines = Lines::new(&scene.searches);
                    (0..2).for_each(|i| saw(usize::from(scene.is_cancelled(&lines, i))));
                    join([other]);
                    let lines = Lines::new(&scene.searches);
                    assert!(!scene.is_cancelled(&lines, 0), "the note is gone");
                });
            });
        });
    });
}
