/* glib.c: GLib's GThreadPool: one queue for all, under one lock.
 *
 * GLib cannot wait for a pool while its tasks push others, so this program counts the tasks. */

#define PEER "glib"
#define PEER_HANDS

#include "peer.h"

#include <glib.h>

struct job {
    task_fn f;
    struct arg a;
};

static GThreadPool *pool;
static gint pending; /* tasks pushed and not yet ended */
static GMutex lock;
static GCond done;

static void glib_die(GError *error)
{
    fprintf(stderr, PEER ": %s\n", error->message);
    exit(1);
}

static void work(gpointer data, gpointer user)
{
    (void)user;
    struct job job = *(struct job *)data;
    g_free(data);
    job.f(job.a);
    if (g_atomic_int_dec_and_test(&pending)) {
        g_mutex_lock(&lock);
        g_cond_signal(&done);
        g_mutex_unlock(&lock);
    }
}

static void peer_start(int threads)
{
    GError *error = NULL;
    pool = g_thread_pool_new(work, NULL, threads, TRUE, &error);
    if (error != NULL)
        glib_die(error);
}

static void peer_spawn(task_fn f, struct arg a)
{
    GError *error = NULL;
    struct job *job = g_new(struct job, 1);
    job->f = f;
    job->a = a;
    g_atomic_int_inc(&pending);
    g_thread_pool_push(pool, job, &error);
    if (error != NULL)
        glib_die(error);
}

static void peer_run(task_fn f, struct arg a)
{
    peer_spawn(f, a);
    g_mutex_lock(&lock);
    while (g_atomic_int_get(&pending) != 0)
        g_cond_wait(&done, &lock);
    g_mutex_unlock(&lock);
}

static void peer_hand(task_fn f, struct arg a)
{
    peer_spawn(f, a);
}

static void peer_stop(void)
{
    g_thread_pool_free(pool, FALSE, TRUE);
}

static void peer_version(void)
{
    printf("GLib %u.%u.%u\n", glib_major_version, glib_minor_version, glib_micro_version);
}
