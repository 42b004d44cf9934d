//! The other functions of the library. What they do depends on other threads, or lasts longer than
//! a run, so a recording of one thread cannot express it.

use crate::refuse;

macro_rules! refused {
    ($($name:ident)*) => {
        $(#[unsafe(no_mangle)]
        pub extern "C" fn $name() {
            refuse(concat!("the program calls ", stringify!($name), ", which is not recorded"))
        })*

        /// The names, for the test that no function is missing.
        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

refused! {
    sched_barrier_init sched_barrier_wait
    sched_cond_broadcast sched_cond_init sched_cond_signal sched_cond_wait
    sched_inline_current sched_inline_fork_rest sched_inline_join_rest sched_inline_join_threw
    sched_inline_joined sched_inline_spawn_rest
    sched_last_stats sched_stats
    sched_mutex_init sched_mutex_lock sched_mutex_trylock sched_mutex_unlock
    sched_pool_create sched_pool_destroy sched_pool_run sched_pool_scheduler
    sched_pool_submit sched_pool_submit_copy sched_pool_wait
    sched_sem_init sched_sem_post sched_sem_trywait sched_sem_wait
    sched_sort sched_stable_sort sched_stop
    sched_task_yield
}

#[cfg(test)]
mod tests {
    use super::NAMES;

    #[test]
    fn each_function_of_the_library_is_recorded_or_refused() {
        let (map, calls) = (include_str!("../../../src/sched.map"), include_str!("calls.rs"));
        let words = map.split(|c: char| !c.is_alphanumeric() && c != '_');
        let names: Vec<&str> = words.filter(|word| word.starts_with("sched_")).collect();
        assert!(names.contains(&"sched_init"));
        for name in names {
            let recorded = calls.contains(&format!("fn {name}("));
            assert!(recorded != NAMES.contains(&name), "{name}");
        }
    }
}
