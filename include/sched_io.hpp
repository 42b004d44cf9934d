/* sched_io.hpp: the functions of sched_io.h for C++17 and later. The manual page is sched_io.hpp(3). It includes sched.hpp,
 * whose rules for threads, exceptions and suspension points also hold here.
 *
 *     while (auto n = sched::read_until(client, buffer, 30s)) {
 *         if (*n == 0) break;
 *         sched::write_all(client, {buffer, *n});
 *     }
 *
 * A task that waits is suspended, a thread blocks. An error is a std::system_error with errno. The name of a function
 * with a deadline ends with _until. Its value is false if the deadline has come: an empty optional, false, or no event.
 * A deadline is a time of a clock of std::chrono, or a duration from now on. If the group of the calling task is
 * cancelled, a wait throws std::errc::operation_canceled, with a deadline or without one. */
#ifndef LIBSCHED_SCHED_IO_HPP
#define LIBSCHED_SCHED_IO_HPP
#include "sched.hpp"
#if __cplusplus >= 201703L && defined __cpp_exceptions
#include <array>
#include <cstring>
#include "sched_io.h"
namespace sched {
/* Owns a descriptor. The destructor closes it by sched_close, which ends the waits of other tasks for it. */
class descriptor {
    int fd = -1;
public:
    descriptor() noexcept = default; /* owns no descriptor */
    explicit descriptor(int own) : fd(own) { if (own < 0) detail::fail("sched::descriptor"); } /* -1, as from socket: throws errno */
    descriptor(descriptor &&from) noexcept : fd(from.release()) {}
    descriptor &operator=(descriptor &&from) noexcept { return descriptor(std::move(from)).swap(*this), *this; }
    ~descriptor() { if (fd >= 0) sched_close(fd); }
    void swap(descriptor &other) noexcept { std::swap(fd, other.fd); }
    int get() const noexcept { return fd; }
    int release() noexcept { return std::exchange(fd, -1); } /* no longer owned */
    explicit operator bool() const noexcept { return fd >= 0; }
    void close() { detail::check(sched_close(release()), "sched_close"); } /* throws what the destructor would ignore */
};
struct any_descriptor { /* the argument of the functions: a number, or an owned descriptor */
    int fd;
    any_descriptor(int number) noexcept : fd(number) {}
    any_descriptor(const descriptor &owned) noexcept : fd(owned.get()) {}
};
namespace detail {
template <class C> using element_of = std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>;
template <class C, bool written>
using if_bytes = std::enable_if_t<std::is_trivially_copyable_v<element_of<C>> && !(written && std::is_const_v<element_of<C>>)>;
inline size_t number(ssize_t n, const char *call) { return n < 0 ? (fail(call), 0) : size_t(n); }
/* Nothing: the deadline has come. (A connection may also fail with ETIMEDOUT, before that.) */
template <class T = size_t, class R> std::optional<T> until(R result, deadline end, const char *call)
{
    if (result >= 0) return T(result);
    if (error() == ETIMEDOUT && sched_now() >= end.at) return std::nullopt;
    fail(call);
}
} // namespace detail
/* Where a call stores bytes: an array, vector, string, span, or what else has std::data and std::size; its elements are
 * trivially copyable. */
struct bytes {
    void *at;
    size_t size;
    bytes(void *to, size_t n) noexcept : at(to), size(n) {}
    template <class C, class = detail::if_bytes<C, true>>
    bytes(C &&to) noexcept : at(std::data(to)), size(std::size(to) * sizeof(detail::element_of<C>)) {}
};
/* The bytes that a call sends: of an object, or of a text up to its zero. An array of char may be a
 * text or not, so write {array, size}. */
struct const_bytes {
    const void *at;
    size_t size;
    const_bytes(const void *from, size_t n) noexcept : at(from), size(n) {}
    const_bytes(const char *text) noexcept : at(text), size(std::strlen(text)) {}
    template <size_t n> const_bytes(char (&)[n]) = delete;
    template <class C, class = detail::if_bytes<const C, false>>
    const_bytes(const C &from) noexcept : at(std::data(from)), size(std::size(from) * sizeof(detail::element_of<const C>)) {}
};

/* sched_poll: waits for one of the events, and returns those that have happened. */
inline short poll(any_descriptor of, short events)
{ return short(detail::check(sched_poll(of.fd, events, SCHED_FOREVER, nullptr), "sched_poll")); }
inline short poll_until(any_descriptor of, short events, deadline end)
{ return detail::until<short>(sched_poll(of.fd, events, end.at, nullptr), end, "sched_poll").value_or(0); }

/* sched_read, sched_recv: the number of bytes that have come; 0 at the end. */
inline size_t read(any_descriptor of, bytes to)
{ return detail::number(sched_read(of.fd, to.at, to.size, nullptr), "sched_read"); }
inline std::optional<size_t> read_until(any_descriptor of, bytes to, deadline end)
{ return detail::until(sched_read_until(of.fd, to.at, to.size, end.at, nullptr), end, "sched_read_until"); }
inline size_t recv(any_descriptor of, bytes to, int flags = 0)
{ return detail::number(sched_recv(of.fd, to.at, to.size, flags, nullptr), "sched_recv"); }
inline std::optional<size_t> recv_until(any_descriptor of, bytes to, int flags, deadline end)
{ return detail::until(sched_recv_until(of.fd, to.at, to.size, flags, end.at, nullptr), end, "sched_recv_until"); }

/* sched_write, sched_send: the number of bytes written; all, unless something prevented the others. */
inline size_t write(any_descriptor of, const_bytes from)
{ return detail::number(sched_write(of.fd, from.at, from.size, nullptr), "sched_write"); }
inline std::optional<size_t> write_until(any_descriptor of, const_bytes from, deadline end)
{ return detail::until(sched_write_until(of.fd, from.at, from.size, end.at, nullptr), end, "sched_write_until"); }
inline size_t send(any_descriptor of, const_bytes from, int flags = 0)
{ return detail::number(sched_send(of.fd, from.at, from.size, flags, nullptr), "sched_send"); }
inline std::optional<size_t> send_until(any_descriptor of, const_bytes from, int flags, deadline end)
{ return detail::until(sched_send_until(of.fd, from.at, from.size, flags, end.at, nullptr), end, "sched_send_until"); }
/* sched_write_all: all bytes, or an exception, or false. Then a part of them may have been written. */
inline void write_all(any_descriptor of, const_bytes from)
{ detail::number(sched_write_all(of.fd, from.at, from.size, nullptr), "sched_write_all"); }
inline bool write_all_until(any_descriptor of, const_bytes from, deadline end)
{ return bool(detail::until(sched_write_all_until(of.fd, from.at, from.size, end.at, nullptr), end, "sched_write_all_until")); }

/* sched_readv, sched_writev: readv(fd, {head, body}). sched_recvmsg, sched_sendmsg. */
namespace detail {
template <class Bytes, size_t n> std::array<iovec, n> vectors(Bytes (&parts)[n])
{
    std::array<iovec, n> all;
    for (size_t i = 0; i < n; i++) all[i] = {const_cast<void *>(parts[i].at), parts[i].size};
    return all;
}
} // namespace detail
template <size_t n> size_t readv(any_descriptor of, const bytes (&to)[n])
{ return detail::number(sched_readv(of.fd, detail::vectors(to).data(), int(n), nullptr), "sched_readv"); }
template <size_t n> std::optional<size_t> readv_until(any_descriptor of, const bytes (&to)[n], deadline end)
{ return detail::until(sched_readv_until(of.fd, detail::vectors(to).data(), int(n), end.at, nullptr), end, "sched_readv_until"); }
template <size_t n> size_t writev(any_descriptor of, const const_bytes (&from)[n])
{ return detail::number(sched_writev(of.fd, detail::vectors(from).data(), int(n), nullptr), "sched_writev"); }
template <size_t n> std::optional<size_t> writev_until(any_descriptor of, const const_bytes (&from)[n], deadline end)
{ return detail::until(sched_writev_until(of.fd, detail::vectors(from).data(), int(n), end.at, nullptr), end, "sched_writev_until"); }
inline size_t recvmsg(any_descriptor of, msghdr &message, int flags = 0)
{ return detail::number(sched_recvmsg(of.fd, &message, flags, nullptr), "sched_recvmsg"); }
inline std::optional<size_t> recvmsg_until(any_descriptor of, msghdr &message, int flags, deadline end)
{ return detail::until(sched_recvmsg_until(of.fd, &message, flags, end.at, nullptr), end, "sched_recvmsg_until"); }
inline size_t sendmsg(any_descriptor of, const msghdr &message, int flags = 0)
{ return detail::number(sched_sendmsg(of.fd, &message, flags, nullptr), "sched_sendmsg"); }
inline std::optional<size_t> sendmsg_until(any_descriptor of, const msghdr &message, int flags, deadline end)
{ return detail::until(sched_sendmsg_until(of.fd, &message, flags, end.at, nullptr), end, "sched_sendmsg_until"); }

/* sched_accept4: a connection. (getpeername tells with whom.) */
inline descriptor accept(any_descriptor listener, int flags = SOCK_CLOEXEC)
{ return descriptor(detail::check(sched_accept4(listener.fd, nullptr, nullptr, flags, nullptr), "sched_accept4")); }
inline std::optional<descriptor> accept_until(any_descriptor listener, deadline end, int flags = SOCK_CLOEXEC)
{ return detail::until<descriptor>(sched_accept4_until(listener.fd, nullptr, nullptr, flags, end.at, nullptr), end, "sched_accept4_until"); }
/* sched_connect. An address of its own type, such as sockaddr_in, needs no length. */
inline void connect(any_descriptor of, const sockaddr *address, socklen_t length)
{ detail::check(sched_connect(of.fd, address, length, nullptr), "sched_connect"); }
inline bool connect_until(any_descriptor of, const sockaddr *address, socklen_t length, deadline end)
{ return bool(detail::until(sched_connect_until(of.fd, address, length, end.at, nullptr), end, "sched_connect_until")); }
template <class A> void connect(any_descriptor of, const A &address)
{ connect(of, reinterpret_cast<const sockaddr *>(&address), socklen_t(sizeof address)); }
template <class A> bool connect_until(any_descriptor of, const A &address, deadline end)
{ return connect_until(of, reinterpret_cast<const sockaddr *>(&address), socklen_t(sizeof address), end); }
} // namespace sched
#endif
#endif
