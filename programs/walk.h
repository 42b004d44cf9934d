/* walk.h: the files below a folder, in the order of the bytes of their paths, which is that of LC_ALL=C sort.
 *
 * Only one folder of each level is in memory, with the names in it. Symbolic links below the first folder are not
 * followed, and what is neither a file nor a folder is left out. */

#ifndef WALK_H
#define WALK_H

#include <dirent.h>
#include <sys/stat.h>

#include "blocking.h"

struct walk {
    /* Whether an entry is wanted; NULL: all are. */
    int (*wanted)(const char *name, int is_folder, void *ctx);
    /* Called for each file. */
    void (*file)(const char *path, void *ctx, struct scheduler *s);
    void *ctx;
    int trouble; /* the exit status if a folder cannot be read */
};

struct folder {
    char *names;        /* one behind the other: the name, a slash if it is a folder's, '\0' */
    char **entries;     /* sorted: with the slash, in the order of the paths below */
    size_t size, room;  /* bytes of names */
    size_t count, next; /* entries; the one whose turn it is */
    size_t length;      /* of the folder's path */
};

static int walk_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads the names in a folder, in a blocking section; 0, or errno. */
OWN_ERRNO static int walk_read(const struct walk *w, const char *path, int flags, struct folder *f, struct scheduler *s)
{
    int began = sched_block_begin(s) == 0;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags), error = fd < 0 ? errno : 0;
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && folder == NULL)
        no_memory();
    for (struct dirent *e; folder != NULL && (errno = 0, e = readdir(folder)) != NULL;) {
        const char *name = e->d_name;
        unsigned char type = e->d_type;
        struct stat st;
        if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0')))
            continue;
        if (type == DT_UNKNOWN && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            type = IFTODT(st.st_mode);
        if ((type != DT_REG && type != DT_DIR) || (w->wanted != NULL && !w->wanted(name, type == DT_DIR, w->ctx)))
            continue;
        size_t most = strlen(name) + 2;
        if (f->room - f->size < most)
            f->names = reallocate(f->names, f->room = 2 * f->room + 4096, 1);
        f->size += (size_t)sprintf(f->names + f->size, "%s%s", name, type == DT_DIR ? "/" : "") + 1;
        f->count++;
    }
    if (folder != NULL) {
        error = errno;
        closedir(folder);
    }
    f->entries = allocate(f->count, sizeof *f->entries);
    size_t n = 0;
    for (char *name = f->names; n < f->count; name += strlen(name) + 1)
        f->entries[n++] = name;
    qsort(f->entries, f->count, sizeof *f->entries, walk_by_name);
    if (began)
        sched_block_end(s);
    return error;
}

/* Calls w->file for each file below the folder at `top`, which may be a symbolic link; NULL is the working folder,
 * whose name is left out of the paths. */
__attribute__((unused)) static void walk(const struct walk *w, const char *top, struct scheduler *s)
{
    size_t length = top == NULL ? 0 : strlen(top), room = length + NAME_MAX + 3;
    char *path = allocate(room, 1);
    struct folder *stack = NULL;
    memcpy(path, top == NULL ? "" : top, length);
    for (size_t depth = 0, reading = 1;;) {
        if (reading) { /* the folder at path */
            stack = reallocate(stack, ++depth, sizeof *stack);
            stack[depth - 1] = (struct folder){.length = length};
            path[length] = '\0';
            int error = walk_read(w, length == 0 ? "." : path, depth > 1 ? O_NOFOLLOW : 0, &stack[depth - 1], s);
            if (error != 0)
                fail(w->trouble, error, "%s", length == 0 ? "." : path);
        }
        struct folder *f = &stack[depth - 1];
        reading = 0;
        if (f->next == f->count) {
            free(f->names);
            free(f->entries);
            if (--depth == 0)
                break;
            continue;
        }
        const char *entry = f->entries[f->next++];
        length = f->length;
        size_t more = strcspn(entry, "/");
        if (room < length + more + 2)
            path = reallocate(path, room = 2 * (length + more + 2), 1);
        if (length > 0 && path[length - 1] != '/')
            path[length++] = '/';
        memcpy(path + length, entry, more + 1);
        length += more;
        if (entry[more] == '/')
            reading = 1;
        else
            w->file(path, w->ctx, s);
    }
    free(stack);
    free(path);
}

#endif
