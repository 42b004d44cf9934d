/* strassen_address.c: strassen.c by the addresses of the products. */

#define BY_ADDRESS
#include "strassen.c"
