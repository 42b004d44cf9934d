/* libuv.c: the echo server on libuv (https://github.com/libuv/libuv), callbacks on one thread: see echo.h. What computes
 * is work for its pool of four threads. */

#include "echo.h"

#include <uv.h>

struct connection {
    uv_tcp_t tcp;
    uv_write_t write;
    char bytes[ECHO_BUFFER];
};

static void uv_must(int status, const char *what)
{
    errno = -status;
    must(status >= 0, what);
}

static void closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void end(struct connection *c)
{
    uv_close((uv_handle_t *)&c->tcp, closed);
}

static void gives(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
    struct connection *c = handle->data;
    (void)size;
    *buffer = uv_buf_init(c->bytes, sizeof c->bytes);
}

static void reads(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer);

static void written(uv_write_t *write, int status)
{
    struct connection *c = write->data;
    if (status < 0 || uv_read_start((uv_stream_t *)&c->tcp, gives, reads) < 0)
        end(c);
}

static void reads(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    struct connection *c = stream->data;
    if (n == 0)
        return;
    if (n < 0) {
        end(c);
        return;
    }
    uv_buf_t answer = uv_buf_init(buffer->base, (unsigned)n);
    int sent = uv_try_write(stream, &answer, 1);
    if (sent == n)
        return;
    if (sent > 0)
        answer = uv_buf_init(buffer->base + sent, (unsigned)(n - sent));
    uv_read_stop(stream); /* the buffer is in use */
    c->write.data = c;
    if (uv_write(&c->write, stream, &answer, 1, written) < 0)
        end(c);
}

static void accepts(uv_stream_t *listener, int status)
{
    struct connection *c = bench_alloc(1, sizeof *c);
    uv_must(status, "uv_listen");
    uv_must(uv_tcp_init(listener->loop, &c->tcp), "uv_tcp_init");
    c->tcp.data = c;
    uv_must(uv_accept(listener, (uv_stream_t *)&c->tcp), "uv_accept");
    uv_must(uv_tcp_nodelay(&c->tcp, 1), "uv_tcp_nodelay");
    uv_must(uv_read_start((uv_stream_t *)&c->tcp, gives, reads), "uv_read_start");
}

static void computes(uv_work_t *work)
{
    (void)work;
    echo_compute();
}

static void computed(uv_work_t *work, int status)
{
    uv_must(status, "uv_queue_work");
    uv_must(uv_queue_work(work->loop, work, computes, computed), "uv_queue_work");
}

int main(int argc, char **argv)
{
    int computing = argc > 1 ? atoi(argv[1]) : 0;
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_t listener;
    uv_work_t *works = bench_alloc((size_t)computing + 1, sizeof *works);
    uv_must(uv_tcp_init(loop, &listener), "uv_tcp_init");
    uv_must(uv_tcp_open(&listener, echo_listener()), "uv_tcp_open");
    uv_must(uv_listen((uv_stream_t *)&listener, 1024, accepts), "uv_listen");
    for (int i = 0; i < computing; i++)
        uv_must(uv_queue_work(loop, &works[i], computes, computed), "uv_queue_work");
    return uv_run(loop, UV_RUN_DEFAULT);
}
