/* walk.h: the files below a folder, always in the same order: the entries of a folder in the order of their bytes.
 *
 * Only one folder of each level is in memory, with the names in it. Symbolic links below the first folder are not
 * followed, and what is neither a file nor a folder is left out. */

#ifndef WALK_H
#define WALK_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "program.h"

struct walk {
    /* Whether an entry is wanted; NULL: all are. */
    int (*wanted)(const char *name, int is_folder, void *ctx);
    /* Called for each file. */
    void (*file)(const char *path, void *ctx, struct scheduler *s);
    void *ctx;
    int trouble; /* becomes 1 if a folder could not be read */
};

struct folder {
    char *names;             /* one behind the other: d_type, the name, '\0' */
    char **entries;          /* sorted */
    size_t size, room;       /* bytes of names */
    size_t count, next;      /* entries; the one whose turn it is */
    size_t length;           /* of the folder's path */
};

static int walk_by_name(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x + 1, *y + 1);
}

/* Reads the names in a folder; 0, or errno. */
static int walk_read(const struct walk *w, const char *path, int flags, struct folder *f)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (fd < 0)
        return errno;
    DIR *folder = fdopendir(fd);
    if (folder == NULL)
        no_memory();
    for (struct dirent *e; (void)(errno = 0), (e = readdir(folder)) != NULL;) {
        const char *name = e->d_name;
        unsigned char type = e->d_type;
        struct stat st;
        if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0')))
            continue;
        if (type == DT_UNKNOWN && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            type = S_ISREG(st.st_mode) ? DT_REG : S_ISDIR(st.st_mode) ? DT_DIR : DT_UNKNOWN;
        if ((type != DT_REG && type != DT_DIR) || (w->wanted != NULL && !w->wanted(name, type == DT_DIR, w->ctx)))
            continue;
        size_t length = strlen(name) + 2;
        if (f->room - f->size < length)
            f->names = reallocate(f->names, f->room = 2 * f->room + 4096, 1);
        f->names[f->size] = (char)type;
        memcpy(f->names + f->size + 1, name, length - 1);
        f->size += length;
        f->count++;
    }
    int error = errno;
    closedir(folder);
    f->entries = allocate(f->count, sizeof *f->entries);
    size_t n = 0;
    for (char *name = f->names; n < f->count; name += strlen(name + 1) + 2)
        f->entries[n++] = name;
    qsort(f->entries, f->count, sizeof *f->entries, walk_by_name);
    return error;
}

/* Calls w->file for each file below the folder at `top`, which may be a symbolic link; NULL is the working folder,
 * whose name is left out of the paths. */
__attribute__((unused)) static void walk(struct walk *w, const char *top, struct scheduler *s)
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
            int error = walk_read(w, length == 0 ? "." : path, depth > 1 ? O_NOFOLLOW : 0, &stack[depth - 1]);
            if (error != 0) {
                complain(error, "%s", length == 0 ? "." : path);
                w->trouble = 1;
            }
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
        size_t more = strlen(entry + 1);
        if (room < length + more + 2)
            path = reallocate(path, room = 2 * (length + more + 2), 1);
        if (length > 0 && path[length - 1] != '/')
            path[length++] = '/';
        memcpy(path + length, entry + 1, more + 1);
        length += more;
        if (entry[0] == DT_DIR)
            reading = 1;
        else
            w->file(path, w->ctx, s);
    }
    free(stack);
    free(path);
}

#endif
