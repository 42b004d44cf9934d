/* library.h: shared objects that a test loads itself. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include "check.h"
#include <dlfcn.h>

static inline void *load(const char *path, int flags)
{
    void *library = dlopen(path, flags);
    if (!library) {
        check_say(dlerror());
        _exit(1);
    }
    return library;
}

/* Stores the address of the library's function in a pointer to a function. ISO C has no cast between pointers to
 * objects and to functions. */
static inline void find_function(void *library, const char *name, void *pointer)
{
    void *symbol = dlsym(library, name);
    CHECK(symbol != NULL);
    memcpy(pointer, &symbol, sizeof symbol);
}

static inline int is_loaded(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL;
}

#endif
