/* A task that has returned and did not join what it forked, in frames as small as a compiler makes them: with one
 * worker the process ends with a message.
 * ctest: static
 * ctest: matrix idle=park threads=1 */
#include "forgotten.h"

int main(void)
{
    check_forgotten();
    return 0;
}
