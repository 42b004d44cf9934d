/* counted.hpp: a class that counts its objects. */
#ifndef COUNTED_HPP
#define COUNTED_HPP

#include <atomic>

static std::atomic<long> alive;

struct Counted {
    Counted() { alive++; }
    Counted(const Counted &) { alive++; }
    Counted(Counted &&) noexcept { alive++; }
    Counted &operator=(const Counted &) = default;
    ~Counted() { alive--; }
};

#endif
