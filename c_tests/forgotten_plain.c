/* Like forgotten.c, in frames that no compiler has made smaller.
 * ctest: static cflags=-O0,-U_FORTIFY_SOURCE
 * ctest: matrix idle=park threads=1 */
#include "forgotten.h"

int main(void)
{
    check_forgotten();
    return 0;
}
