/* hpp_io: sched_io.hpp: descriptors that are owned, bytes of any type, errors as exceptions, and deadlines of std::chrono. */
#include "case.h"
#include "places.hpp"
#include <sched_io.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;
using sched::descriptor;
using std::chrono::steady_clock;

struct two {
    descriptor in, out;
};

static two make_pipe()
{
    int ends[2];
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
    return {descriptor(ends[0]), descriptor(ends[1])};
}

static two make_pair()
{
    int ends[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    return {descriptor(ends[0]), descriptor(ends[1])};
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* hpp_owner: sched_io.hpp: a descriptor is closed once, by its last owner.
 * ctest: static debug
 * ctest: matrix few */
static_assert(!std::is_copy_constructible_v<descriptor> && !std::is_copy_assignable_v<descriptor>);
static_assert(std::is_nothrow_move_constructible_v<descriptor> && std::is_nothrow_move_assignable_v<descriptor>);
static_assert(!std::is_convertible_v<int, descriptor> && !std::is_convertible_v<descriptor, int>);

static void owns()
{
    auto [in, out] = make_pipe();
    int first = in.get(), second = out.get();
    {
        descriptor moved(std::move(in)), none;
        CHECK(!in);
        CHECK_EQ(in.get(), -1);
        CHECK(!none);
        CHECK_EQ(moved.get(), first);
        none = std::move(moved);
        CHECK(none);
        CHECK(!moved);
        none = std::move(out);
        CHECK(!is_open(first));
        CHECK(is_open(second));
        descriptor &same = none;
        none = std::move(same);
        CHECK_EQ(none.get(), second);
        none.swap(moved);
        CHECK_EQ(moved.get(), second);
    }
    CHECK(!is_open(second));

    two released = make_pipe();
    int left;
    {
        descriptor owner(std::move(released.in));
        left = owner.release();
        CHECK(!owner);
    }
    CHECK(is_open(left));
    descriptor again(left);
    again.close();
    CHECK(!again);
    CHECK(!is_open(left));
    CHECK_EQ(error_of([&] { again.close(); }), EBADF);
    CHECK_EQ(error_of([] { descriptor none(socket(-1, 0, 0)); }), EAFNOSUPPORT);
}

CASE(hpp_owner)
{
    sched::run(2, owns);
    owns();
}

/* hpp_bytes: sched_io.hpp: what is written, from containers, arrays and texts, comes whole and in order.
 * ctest: static debug
 * ctest: matrix few */
template <class From> constexpr bool can_write = std::is_convertible_v<From, sched::const_bytes>;
template <class To> constexpr bool can_read = std::is_convertible_v<To, sched::bytes>;
static_assert(can_write<const char *> && can_write<const char (&)[3]> && can_write<std::string &> && can_write<std::string_view>);
static_assert(can_write<int (&)[3]> && can_write<const std::vector<double> &> && can_write<unsigned char (&)[3]>);
static_assert(!can_write<char (&)[3]> && !can_write<std::vector<std::string> &> && !can_write<int> && !can_write<int *>);
static_assert(can_read<char (&)[3]> && can_read<std::string &> && can_read<std::vector<int> &> && can_read<std::array<long, 3> &>);
static_assert(!can_read<const char (&)[3]> && !can_read<std::string_view> && !can_read<const std::string &> && !can_read<char *>);

static void exchanges()
{
    two pipe = make_pipe();
    sched::group writers;
    writers.spawn([&] {
        const std::vector<int> numbers = {1, -2, 3};
        unsigned char raw[] = {0, 255};
        char array[] = {'x', 'y', 'z'};
        sched::write_all(pipe.out, "text");
        sched::write_all(pipe.out, std::string("a\0b", 3));
        CHECK_EQ(sched::write(pipe.out, numbers), 3 * sizeof(int));
        CHECK_EQ(sched::write(pipe.out.get(), raw), 2);
        CHECK_EQ(sched::write(pipe.out, {array, 2}), 2);
        CHECK_EQ(sched::writev(pipe.out, {"(", std::string_view("view"), raw}), 7);
        CHECK_EQ(sched::writev_until(pipe.out, {")"}, 1h).value(), 1);
        pipe.out.close();
    });
    char first[4];
    std::string second(3, '-');
    std::array<int, 3> third{};
    unsigned char raw[2], last[2];
    CHECK_EQ(sched::poll(pipe.in, POLLIN) & POLLIN, POLLIN);
    auto whole = [&](sched::bytes to) {
        for (size_t n; to.size > 0; to = {static_cast<char *>(to.at) + n, to.size - n})
            CHECK((n = sched::read(pipe.in, to)) > 0);
    };
    whole(first);
    whole(second);
    whole(third);
    whole(raw);
    CHECK(std::string_view(first, 4) == "text");
    CHECK(second == std::string("a\0b", 3));
    CHECK(third == (std::array{1, -2, 3}));
    CHECK(raw[0] == 0 && raw[1] == 255);
    CHECK(writers.wait());
    char xy[2], view[5];
    CHECK_EQ(sched::readv(pipe.in, {xy, view, last}), 9);
    CHECK(std::string_view(xy, 2) == "xy");
    CHECK(std::string_view(view, 5) == "(view");
    CHECK(last[0] == 0 && last[1] == 255);
    CHECK_EQ(sched::readv_until(pipe.in, {xy, view}, 0s).value(), 1);
    CHECK_EQ(xy[0], ')');
    CHECK_EQ(sched::read(pipe.in, xy), 0);
    CHECK_EQ(sched::read_until(pipe.in, xy, 1h).value(), 0); /* the end is a value */
    CHECK_EQ(error_of([&] { sched::write_all(-1, "x"); }), EBADF);
    pipe = make_pipe();
    pipe.in.close();
    CHECK_EQ(error_of([&] { sched::write(pipe.out, "x"); }), EPIPE);
    CHECK_EQ(error_of([&] { sched::write_all_until(pipe.out, "x", 1h); }), EPIPE);

    two pair = make_pair();
    CHECK_EQ(sched::send(pair.in, "abc", MSG_DONTWAIT), 3);
    CHECK_EQ(sched::recv(pair.out, second, MSG_PEEK), 3);
    CHECK_EQ(sched::recv(pair.out, second), 3);
    CHECK(second == "abc");
    CHECK_EQ(error_of([&] { sched::recv(pair.out, second, MSG_DONTWAIT); }), EAGAIN);
    iovec part = {first, 4};
    msghdr message = {};
    message.msg_iov = &part, message.msg_iovlen = 1;
    CHECK_EQ(sched::sendmsg(pair.out, message), 4);
    CHECK_EQ(sched::sendmsg_until(pair.out, message, 0, 0s).value(), 4);
    CHECK_EQ(sched::recvmsg(pair.in, message, MSG_WAITALL), 4);
    CHECK_EQ(sched::recvmsg_until(pair.in, message, 0, 1h).value(), 4);
}

CASE(hpp_bytes)
{
    in_each_place(exchanges);
}

/* hpp_until: sched_io.hpp: a deadline that has come is a value, not an exception; a cancelled wait is an exception that the
 * group drops; a wait for a descriptor that is closed throws EBADF.
 * ctest: static debug
 * ctest: matrix few */
static void times_out()
{
    two pair = make_pair(), pipe = make_pipe();
    char bytes[1 << 16] = "", byte[1];
    iovec part = {byte, 1};
    msghdr message = {};
    message.msg_iov = &part, message.msg_iovlen = 1;
    while (sched::poll_until(pipe.out, POLLOUT, 0s) != 0)
        sched::write_until(pipe.out, {bytes, sizeof bytes}, 0s);
    while (sched::send_until(pair.out, {bytes, sizeof bytes}, 0, 0s)) {}
    std::function<bool()> calls[] = {
        [&] { return sched::poll_until(pair.out, POLLIN, steady_clock::now() + 1ms) != 0; },
        [&] { return sched::read_until(pair.out, byte, 1ms).has_value(); },
        [&] { return sched::readv_until(pair.out, {byte, bytes}, 1ms).has_value(); },
        [&] { return sched::recv_until(pair.out, byte, 0, 1ms).has_value(); },
        [&] { return sched::recvmsg_until(pair.out, message, 0, 1ms).has_value(); },
        [&] { return sched::write_until(pipe.out, "x", std::chrono::system_clock::now() + 1ms).has_value(); },
        [&] { return sched::writev_until(pipe.out, {"x", "y"}, 1ms).has_value(); },
        [&] { return sched::write_all_until(pipe.out, "x", 1ms); },
        [&] { return sched::send_until(pair.out, "x", 0, 1ms).has_value(); },
        [&] { return sched::sendmsg_until(pair.out, message, 0, -1s).has_value(); },
    };
    for (auto &call : calls)
        CHECK(!call());
    CHECK_EQ(error_of([&] { sched::read_until(-1, byte, 0s); }), EBADF);
}

static void cancelled()
{
    two pair = make_pair();
    std::atomic<int> cut{0}, waiting{0};
    char byte[1];
    std::function<void()> waits[] = {
        [&] { sched::read(pair.in, byte); },
        [&] { sched::read_until(pair.in, byte, 1h); },
        [&] { sched::poll(pair.in, POLLIN); },
        [&] { sched::recv(pair.out, byte); },
    };
    sched::group g;
    for (auto &wait : waits)
        g.spawn([&] {
            waiting++;
            try {
                wait();
            } catch (const std::system_error &e) {
                CHECK(e.code() == std::errc::operation_canceled);
                cut++;
                throw;
            }
        });
    while (waiting < (int)std::size(waits))
        sched::sleep_for(1ms);
    g.cancel();
    CHECK(!g.wait());
    CHECK_EQ(cut, std::size(waits));
}

static void closed_under_a_wait()
{
    two pair = make_pair();
    std::atomic<bool> begins{false};
    int error = 0;
    sched::group g;
    g.spawn([&, fd = pair.in.get()] {
        char byte[1];
        begins = true;
        error = error_of([&] { sched::read(fd, byte); });
    });
    while (!begins)
        sched::sleep_for(1ms);
    sched::sleep_for(1ms);
    pair.in = descriptor(); /* its number stays free: nothing is opened before the wait ends */
    CHECK(g.wait());
    CHECK_EQ(error, EBADF);
}

CASE(hpp_until)
{
    in_each_place([] {
        times_out();
        cancelled();
    });
    sched::run(1, closed_under_a_wait);
    sched::run(4, closed_under_a_wait);
}

/* hpp_accept: sched_io.hpp: connections are made and accepted, with and without a deadline; a refused one is an exception.
 * ctest: static debug
 * ctest: matrix few */
static void connects()
{
    descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    socklen_t length = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto *general = reinterpret_cast<sockaddr *>(&address);
    CHECK_EQ(bind(listener.get(), general, length), 0);
    CHECK_EQ(listen(listener.get(), 10), 0);
    CHECK_EQ(getsockname(listener.get(), general, &length), 0);
    CHECK(!sched::accept_until(listener, 1ms));

    sched::group g;
    g.spawn([&] {
        for (int i = 0; i < 4; i++) {
            descriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            switch (i) {
            case 0: sched::connect(client, address); break;
            case 1: sched::connect(client, general, length); break;
            case 2: CHECK(sched::connect_until(client, address, 1h)); break;
            default: CHECK(sched::connect_until(client, general, length, steady_clock::now() + 1h));
            }
            sched::write_all(client, {&i, sizeof i});
        }
    });
    for (int i = 0; i < 4; i++) {
        descriptor peer = i % 2 ? sched::accept(listener) : sched::accept_until(listener, 1h).value();
        int got[1] = {-1};
        CHECK_EQ(fcntl(peer.get(), F_GETFD), FD_CLOEXEC);
        CHECK_EQ(sched::recv(peer, got, MSG_WAITALL), sizeof got);
        CHECK_EQ(got[0], i);
    }
    CHECK(g.wait());
    listener.close();
    descriptor late(socket(AF_INET, SOCK_STREAM, 0));
    CHECK_EQ(error_of([&] { sched::connect_until(late, address, 1h); }), ECONNREFUSED);
    CHECK_EQ(error_of([&] { sched::accept_until(late, 1h); }), EINVAL);
    sockaddr_un nowhere = {};
    nowhere.sun_family = AF_UNIX;
    strcpy(nowhere.sun_path, "nowhere");
    late = descriptor(socket(AF_UNIX, SOCK_STREAM, 0));
    CHECK_EQ(error_of([&] { sched::connect(late, nowhere); }), ENOENT);
}

CASE(hpp_accept)
{
    in_each_place(connects);
}
