/* modes.h: the rounding mode in force. */
#ifndef MODES_H
#define MODES_H

#include "check.h"
#include <fenv.h>

/* True if numbers are rounded as fesetround says. Valgrind stores the mode, but always rounds to nearest. */
__attribute__((noinline, unused)) static int rounds_as_told(void)
{
    volatile double one = 1, three = 3;
    int before = fegetround();
    fesetround(FE_UPWARD);
    volatile double third = one / three; /* computed between the two calls of fesetround */
    fesetround(before);
    return third > 0x1.5555555555555p-2;
}

/* Returns the mode that fegetround reports, after checking that numbers are rounded in that mode. (On x86-64 fegetround
 * reads the register of the x87 unit, and the register of SSE decides how numbers are rounded.) */
__attribute__((noinline, unused)) static int mode_now(void)
{
    volatile double one = 1, minus_one = -1, three = 3, five = 5;
    int mode = FE_TOWARDZERO;
    if (one / three > 0x1.5555555555555p-2)
        mode = FE_UPWARD;
    else if (minus_one / three < -0x1.5555555555555p-2)
        mode = FE_DOWNWARD;
    else if (one / five > 0x1.9999999999999p-3)
        mode = FE_TONEAREST;
    if (mode != fegetround())
        CHECK(!rounds_as_told());
    return fegetround();
}

#endif
