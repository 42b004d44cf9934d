/* sched_io.h: functions of POSIX for descriptors, for tasks.
 *
 * Made from src/ffi by `make headers`; not to be edited.
 *
 * A task that waits in one of these functions does not occupy its worker. Results and errno are
 * those of POSIX. Each function that reads, writes, accepts or connects has a form whose name ends
 * with _until. That form waits no longer than until a deadline, and then fails with ETIMEDOUT; a deadline is a time of the clock that
 * sched_now() reads. If the caller's group is cancelled, a wait ends with ECANCELED. A thread that
 * is not in a task blocks.
 *
 * Sockets, pipes, terminals, eventfds, timerfds, pidfds, and whatever else epoll(7) takes, are
 * waited for without a thread. Regular files are read and written in a blocking section
 * (sched_block_begin(3)), unless their pages are in memory. It does not matter whether a descriptor
 * has O_NONBLOCK. See sched_io(3). */

#ifndef LIBSCHED_SCHED_IO_H
#define LIBSCHED_SCHED_IO_H

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <poll.h>
#include "sched_tasks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Waits until one of events happens to the descriptor, or deadline has come. events and the result
 * are those of poll(2): POLLIN, POLLOUT, POLLPRI, POLLRDHUP; POLLERR and POLLHUP are always
 * reported. A deadline of SCHED_FOREVER is none. If tasks wait for the same event of a descriptor,
 * each event goes to the one that has waited longest. A regular file is always ready.
 *
 * Returns the events that have happened, which are greater than 0; or -1 with errno: ETIMEDOUT
 * (the deadline has passed), ECANCELED (the caller's group is cancelled: see
 * sched_group_cancel(3)), EBADF (fd is not open, or sched_close has closed it), ENOMEM
 * (there is no memory), EINVAL (the run of s has ended).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of poll(2); a wait costs one system call more, and one or two switches
 * of stacks.
 *
 * Example: wait for a child process.
 *
 *     int child = pidfd_open(pid, 0);
 *     if (sched_poll(child, POLLIN, sched_now() + SCHED_SECOND, s) < 0)
 *         kill(pid, SIGKILL); */
int sched_poll(int fd,
               short events,
               sched_time deadline,
               struct scheduler *s);

/* Reads as read(2) does from a descriptor without O_NONBLOCK: waits until there is something to
 * read. The worker of a task that waits runs other tasks.
 *
 * Returns the number of bytes, 0 at the end of the file; or -1 with errno: ECANCELED (the caller's
 * group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close
 * has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
 * read(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of read(2); a wait costs one system call more, and one or two switches
 * of stacks.
 *
 * Example:
 *
 *     ssize_t n;
 *     while ((n = sched_read(client, buffer, sizeof buffer, s)) > 0)
 *         if (sched_write_all(client, buffer, (size_t)n, s) < 0)
 *             break;
 *     sched_close(client); */
ssize_t sched_read(int fd,
                   void *buf,
                   size_t n,
                   struct scheduler *s);

/* As sched_read, but waits no longer than until deadline; if that has passed, it does not wait.
 *
 * Returns the number of bytes, 0 at the end of the file; or -1 with errno: ETIMEDOUT (the deadline
 * has passed), ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd
 * is not open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the
 * run of s has ended), or an error of read(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of read(2); a wait costs one system call more, and one or two switches
 * of stacks. */
ssize_t sched_read_until(int fd,
                         void *buf,
                         size_t n,
                         sched_time deadline,
                         struct scheduler *s);

/* Writes as write(2) does to a descriptor without O_NONBLOCK: waits until all n bytes are written.
 * If an error, the deadline or a cancellation comes when some are written, the call returns their
 * number. The signal SIGPIPE is not raised.
 *
 * Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is written),
 * ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd is not
 * open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the run of s has
 * ended), or an error of write(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of write(2); a wait costs one system call more, and one or two switches
 * of stacks. */
ssize_t sched_write(int fd,
                    const void *buf,
                    size_t n,
                    struct scheduler *s);

/* As sched_write, but waits no longer than until deadline; if that has passed, it does not wait.
 *
 * Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is written),
 * ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group is cancelled: see
 * sched_group_cancel(3)), EBADF (fd is not open, or sched_close has closed it), ENOMEM
 * (there is no memory), EINVAL (the run of s has ended), or an error of write(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of write(2); a wait costs one system call more, and one or two switches
 * of stacks. */
ssize_t sched_write_until(int fd,
                          const void *buf,
                          size_t n,
                          sched_time deadline,
                          struct scheduler *s);

/* As sched_write, but fails unless all n bytes are written. After a failure some of them may be
 * written.
 *
 * Returns n; or -1 with errno: EPIPE (nobody can read what is written), ECANCELED (the caller's
 * group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close
 * has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
 * write(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of write(2); a wait costs one system call more, and one or two switches
 * of stacks. */
ssize_t sched_write_all(int fd,
                        const void *buf,
                        size_t n,
                        struct scheduler *s);

/* As sched_write_all, but waits no longer than until deadline; if that has passed, it does not
 * wait.
 *
 * Returns n; or -1 with errno: EPIPE (nobody can read what is written), ETIMEDOUT (the deadline
 * has passed), ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd
 * is not open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the
 * run of s has ended), or an error of write(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of write(2); a wait costs one system call more, and one or two switches
 * of stacks. */
ssize_t sched_write_all_until(int fd,
                              const void *buf,
                              size_t n,
                              sched_time deadline,
                              struct scheduler *s);

/* As sched_read, into count buffers: see readv(2).
 *
 * Returns the number of bytes, 0 at the end of the file; or -1 with errno: ECANCELED (the caller's
 * group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close
 * has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
 * readv(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of readv(2); a wait costs one system call more, and one or two switches
 * of stacks. */
ssize_t sched_readv(int fd,
                    const struct iovec *v,
                    int count,
                    struct scheduler *s);

/* As sched_readv, but waits no longer than until deadline; if that has passed, it does not wait.
 *
 * Returns the number of bytes, 0 at the end of the file; or -1 with errno: ETIMEDOUT (the deadline
 * has passed), ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd
 * is not open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the
 * run of s has ended), or an error of readv(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of readv(2); a wait costs one system call more, and one or two switches
 * of stacks. */
ssize_t sched_readv_until(int fd,
                          const struct iovec *v,
                          int count,
                          sched_time deadline,
                          struct scheduler *s);

/* As sched_write, from count buffers: see writev(2).
 *
 * Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is written),
 * ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd is not
 * open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the run of s has
 * ended), or an error of writev(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of writev(2); a wait costs one system call more, and one or two switches
 * of stacks. */
ssize_t sched_writev(int fd,
                     const struct iovec *v,
                     int count,
                     struct scheduler *s);

/* As sched_writev, but waits no longer than until deadline; if that has passed, it does not wait.
 *
 * Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is written),
 * ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group is cancelled: see
 * sched_group_cancel(3)), EBADF (fd is not open, or sched_close has closed it), ENOMEM
 * (there is no memory), EINVAL (the run of s has ended), or an error of writev(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of writev(2); a wait costs one system call more, and one or two switches
 * of stacks. */
ssize_t sched_writev_until(int fd,
                           const struct iovec *v,
                           int count,
                           sched_time deadline,
                           struct scheduler *s);

/* Receives as recv(2) does from a socket without O_NONBLOCK. With MSG_DONTWAIT in flags it does
 * not wait.
 *
 * Returns the number of bytes, 0 at the end of a stream; or -1 with errno: ECANCELED (the caller's
 * group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close
 * has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
 * recv(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of recv(2); a wait costs one system call more, and one or two switches
 * of stacks. */
ssize_t sched_recv(int fd,
                   void *buf,
                   size_t n,
                   int flags,
                   struct scheduler *s);

/* As sched_recv, but waits no longer than until deadline; if that has passed, it does not wait.
 *
 * Returns the number of bytes, 0 at the end of a stream; or -1 with errno: ETIMEDOUT (the deadline
 * has passed), ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd
 * is not open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the
 * run of s has ended), or an error of recv(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of recv(2); a wait costs one system call more, and one or two switches
 * of stacks. */
ssize_t sched_recv_until(int fd,
                         void *buf,
                         size_t n,
                         int flags,
                         sched_time deadline,
                         struct scheduler *s);

/* Sends as send(2) does to a socket without O_NONBLOCK: waits until all n bytes are sent. If an
 * error, the deadline or a cancellation comes when some are sent, the call returns their number.
 * With MSG_DONTWAIT in flags it does not wait. The signal SIGPIPE is not raised.
 *
 * Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is sent), ECANCELED
 * (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open,
 * or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or
 * an error of send(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of send(2); a wait costs one system call more, and one or two switches
 * of stacks. */
ssize_t sched_send(int fd,
                   const void *buf,
                   size_t n,
                   int flags,
                   struct scheduler *s);

/* As sched_send, but waits no longer than until deadline; if that has passed, it does not wait.
 *
 * Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is sent), ETIMEDOUT
 * (the deadline has passed), ECANCELED (the caller's group is cancelled: see
 * sched_group_cancel(3)), EBADF (fd is not open, or sched_close has closed it), ENOMEM
 * (there is no memory), EINVAL (the run of s has ended), or an error of send(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of send(2); a wait costs one system call more, and one or two switches
 * of stacks. */
ssize_t sched_send_until(int fd,
                         const void *buf,
                         size_t n,
                         int flags,
                         sched_time deadline,
                         struct scheduler *s);

/* As sched_recv, with the message of recvmsg(2).
 *
 * Returns the number of bytes, 0 at the end of a stream; or -1 with errno: ECANCELED (the caller's
 * group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close
 * has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
 * recvmsg(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of recvmsg(2); a wait costs one system call more, and one or two
 * switches of stacks. */
ssize_t sched_recvmsg(int fd,
                      struct msghdr *message,
                      int flags,
                      struct scheduler *s);

/* As sched_recvmsg, but waits no longer than until deadline; if that has passed, it does not wait.
 *
 * Returns the number of bytes, 0 at the end of a stream; or -1 with errno: ETIMEDOUT (the deadline
 * has passed), ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd
 * is not open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the
 * run of s has ended), or an error of recvmsg(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of recvmsg(2); a wait costs one system call more, and one or two
 * switches of stacks. */
ssize_t sched_recvmsg_until(int fd,
                            struct msghdr *message,
                            int flags,
                            sched_time deadline,
                            struct scheduler *s);

/* As sched_send, with the message of sendmsg(2). Its control data are sent once, with the first
 * byte.
 *
 * Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is sent), ECANCELED
 * (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open,
 * or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or
 * an error of sendmsg(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of sendmsg(2); a wait costs one system call more, and one or two
 * switches of stacks. */
ssize_t sched_sendmsg(int fd,
                      const struct msghdr *message,
                      int flags,
                      struct scheduler *s);

/* As sched_sendmsg, but waits no longer than until deadline; if that has passed, it does not wait.
 *
 * Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is sent), ETIMEDOUT
 * (the deadline has passed), ECANCELED (the caller's group is cancelled: see
 * sched_group_cancel(3)), EBADF (fd is not open, or sched_close has closed it), ENOMEM
 * (there is no memory), EINVAL (the run of s has ended), or an error of sendmsg(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of sendmsg(2); a wait costs one system call more, and one or two
 * switches of stacks. */
ssize_t sched_sendmsg_until(int fd,
                            const struct msghdr *message,
                            int flags,
                            sched_time deadline,
                            struct scheduler *s);

/* Accepts a connection as accept(2) does, and waits for one. O_NONBLOCK is set for the listening
 * socket, and stays set. The new descriptor does not have it.
 *
 * Returns the descriptor of the connection; or -1 with errno: ECANCELED (the caller's group is
 * cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close has
 * closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
 * accept(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of accept(2); a wait costs one system call more, and one or two switches
 * of stacks.
 *
 * Example:
 *
 *     for (int client; (client = sched_accept(listener, NULL, NULL, s)) >= 0;)
 *         if (sched_spawn(serve, (void *)(intptr_t)client, s) != 0)
 *             sched_close(client); */
int sched_accept(int fd,
                 struct sockaddr *address,
                 socklen_t *length,
                 struct scheduler *s);

/* As sched_accept, but waits no longer than until deadline; if that has passed, it does not wait.
 *
 * Returns the descriptor of the connection; or -1 with errno: ETIMEDOUT (the deadline has passed),
 * ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd is not
 * open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the run of s has
 * ended), or an error of accept(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of accept(2); a wait costs one system call more, and one or two switches
 * of stacks. */
int sched_accept_until(int fd,
                       struct sockaddr *address,
                       socklen_t *length,
                       sched_time deadline,
                       struct scheduler *s);

/* As sched_accept, with the flags of accept4(2): SOCK_CLOEXEC, SOCK_NONBLOCK.
 *
 * Returns the descriptor of the connection; or -1 with errno: ECANCELED (the caller's group is
 * cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close has
 * closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
 * accept4(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of accept4(2); a wait costs one system call more, and one or two
 * switches of stacks. */
int sched_accept4(int fd,
                  struct sockaddr *address,
                  socklen_t *length,
                  int flags,
                  struct scheduler *s);

/* As sched_accept4, but waits no longer than until deadline; if that has passed, it does not wait.
 *
 * Returns the descriptor of the connection; or -1 with errno: ETIMEDOUT (the deadline has passed),
 * ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd is not
 * open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the run of s has
 * ended), or an error of accept4(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of accept4(2); a wait costs one system call more, and one or two
 * switches of stacks. */
int sched_accept4_until(int fd,
                        struct sockaddr *address,
                        socklen_t *length,
                        int flags,
                        sched_time deadline,
                        struct scheduler *s);

/* Connects a socket as connect(2) does, and waits until it is connected. During the call
 * O_NONBLOCK is set for the socket. After a failure the state of the socket is not known: it
 * should be closed.
 *
 * Returns 0; or -1 with errno: ECANCELED (the caller's group is cancelled: see
 * sched_group_cancel(3)), EBADF (fd is not open, or sched_close has closed it), ENOMEM
 * (there is no memory), EINVAL (the run of s has ended), or an error of connect(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of connect(2); a wait costs one system call more, and one or two
 * switches of stacks. */
int sched_connect(int fd,
                  const struct sockaddr *address,
                  socklen_t length,
                  struct scheduler *s);

/* As sched_connect, but waits no longer than until deadline; if that has passed, it does not wait.
 *
 * Returns 0; or -1 with errno: ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group
 * is cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close has
 * closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
 * connect(2).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of connect(2); a wait costs one system call more, and one or two
 * switches of stacks. */
int sched_connect_until(int fd,
                        const struct sockaddr *address,
                        socklen_t length,
                        sched_time deadline,
                        struct scheduler *s);

/* Closes a descriptor as close(2) does. Tasks that wait for it end their waits with EBADF. (If
 * close(2) closes a descriptor for which tasks wait, they learn of it some time later, or when
 * somebody waits for the next descriptor of that number.)
 *
 * Returns 0, or -1 with errno: EBADF (fd is not open), or an error of close(2).
 * Thread-safe. Cost: that of close(2). */
int sched_close(int fd);

#ifdef __cplusplus
}
#endif

#endif
