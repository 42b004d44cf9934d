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
    sched_accept sched_accept4 sched_accept4_until sched_accept_until sched_after sched_barrier_init
    sched_barrier_wait sched_channel_close sched_channel_create sched_channel_destroy
    sched_channel_receive sched_channel_receive_until sched_channel_send sched_channel_send_until
    sched_close sched_cond_broadcast sched_cond_init sched_cond_signal sched_cond_wait
    sched_cond_wait_until sched_connect sched_connect_until sched_event_end sched_event_init
    sched_event_wait sched_event_wait_until sched_graph_add sched_graph_cancel sched_graph_destroy
    sched_graph_dot sched_graph_init sched_graph_run sched_group_spawn_after sched_group_spawn_at
    sched_group_wait_until sched_inline_current sched_inline_fork_rest sched_inline_join_rest
    sched_inline_join_threw sched_inline_joined sched_inline_spawn_rest sched_last_stats
    sched_mutex_init sched_mutex_lock sched_mutex_lock_until sched_mutex_trylock sched_mutex_unlock
    sched_node_group sched_node_init sched_node_level sched_node_ready sched_now sched_poll
    sched_pool_create sched_pool_destroy sched_pool_run sched_pool_scheduler sched_pool_submit
    sched_pool_submit_at sched_pool_submit_copy sched_pool_wait sched_pool_wait_until sched_read
    sched_read_until sched_readv sched_readv_until sched_recv sched_recv_until sched_recvmsg
    sched_recvmsg_until sched_scan sched_sem_init sched_sem_post sched_sem_trywait sched_sem_wait
    sched_sem_wait_until sched_send sched_send_until sched_sendmsg sched_sendmsg_until sched_sleep
    sched_sleep_until sched_sort sched_spawn_at sched_stable_sort sched_stats sched_stop
    sched_task_yield sched_timer_cancel sched_timer_init sched_timer_start sched_timer_start_at
    sched_write sched_write_all sched_write_all_until sched_write_until sched_writev
    sched_writev_until
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
