/* render: a picture by path tracing, on all processors, written as PNG.  pkg-config: libpng (libpng-dev)
 *
 * It teaches a loop that is repeated: each pass is one sched_for over the tiles of the picture, and adds one sample to
 * each pixel. The random numbers of a sample depend on the pixel and on the pass alone, and the samples of a pixel are
 * added in the order of the passes; so the picture is the same, to the byte, for any number of threads and any
 * scheduler. Between two passes the picture may be written as far as it is: a task of a group compresses it while the
 * next pass goes on, and writes it in a blocking section, so that no worker waits for a disk.
 *
 * render_scene.h has what is computed, without tasks. */

#define _GNU_SOURCE
#include <png.h>
#include <signal.h>
#include <sys/stat.h>

#include "program.h"
#include "render_scene.h"

enum { TILE = 16, MOST_SIDE = 16384, MOST_PIXELS = 1 << 26 };

/* --- the picture ------------------------------------------------------------------------------------------------- */

struct picture {
    int width, height, columns, tiles, samples, pass;
    uint64_t seed;
    vec *sums;        /* for each pixel, what its samples have added up to */
    int *passes;      /* for each tile, how many have been added */
    png_byte *pixels; /* what is written, three bytes a pixel */
    const char *name, *target; /* the file as it was named, and without symbolic links */
    int replaces;              /* it is a file, or will be one, and no device or pipe */
    mode_t mode;
    double every; /* seconds between previews; 0: none */
    double last;  /* when the last one was begun */
    sched_group writer;
    int written;  /* the last time, without an error */
    int complete; /* all tiles have all passes */
    struct progress progress;
};

static volatile sig_atomic_t ended, wanted; /* by a signal */

static void on_signal(int signal)
{
    if (signal == SIGUSR1)
        wanted = 1;
    else
        ended = 1;
}

struct part { int left, right, top, bottom; };

static struct part part_of(const struct picture *p, size_t tile)
{
    int left = (int)tile % p->columns * TILE, top = (int)tile / p->columns * TILE;
    return (struct part){ left, left + TILE < p->width ? left + TILE : p->width, top,
                          top + TILE < p->height ? top + TILE : p->height };
}

/* One more sample for each pixel of some tiles. */
static void trace_tiles(size_t lo, size_t hi, void *picture, struct scheduler *s)
{
    (void)s;
    struct picture *p = picture;
    for (size_t tile = lo; tile < hi && !ended; tile++) {
        struct part part = part_of(p, tile);
        for (int y = part.top; y < part.bottom; y++) {
            for (int x = part.left; x < part.right; x++) {
                size_t pixel = (size_t)y * (size_t)p->width + (size_t)x;
                p->sums[pixel] = add(p->sums[pixel], sample(x, y, p->width, p->height, p->pass, p->seed));
            }
        }
        p->passes[tile]++;
        progress_add(&p->progress, 1);
    }
}

/* A film's curve, and the bytes of sRGB. */
static png_byte byte_of(float light)
{
    light *= 0.9f;
    light = light * (2.51f * light + 0.03f) / (light * (2.43f * light + 0.59f) + 0.14f);
    light = fminf(1, fmaxf(0, light));
    return (png_byte)(0.5f + 255 * (light <= 0.0031308f ? 12.92f * light : 1.055f * powf(light, 1 / 2.4f) - 0.055f));
}

static void develop_tiles(size_t lo, size_t hi, void *picture, struct scheduler *s)
{
    (void)s;
    struct picture *p = picture;
    for (size_t tile = lo; tile < hi; tile++) {
        struct part part = part_of(p, tile);
        float share = p->passes[tile] > 0 ? 1 / (float)p->passes[tile] : 0;
        for (int y = part.top; y < part.bottom; y++) {
            for (int x = part.left; x < part.right; x++) {
                size_t pixel = (size_t)y * (size_t)p->width + (size_t)x;
                vec light = scale(p->sums[pixel], share);
                png_byte *bytes = p->pixels + 3 * pixel;
                bytes[0] = byte_of(light.x);
                bytes[1] = byte_of(light.y);
                bytes[2] = byte_of(light.z);
            }
        }
    }
}

/* The file to write. One that is to be replaced is written beside its place and renamed when it is complete; so a
 * viewer always finds a whole picture. */
static FILE *begin_file(const struct picture *p, char beside[PATH_MAX])
{
    beside[0] = '\0';
    if (strcmp(p->name, "-") == 0)
        return fdopen(dup(STDOUT_FILENO), "wb");
    if (!p->replaces)
        return fopen(p->name, "wb");
    if (snprintf(beside, PATH_MAX, "%s.XXXXXX", p->target) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    int file = mkstemp(beside);
    if (file < 0)
        return NULL;
    if (fchmod(file, p->mode) != 0)
        complain(errno, "%s", beside);
    return fdopen(file, "wb");
}

/* A task: writes p->pixels. Its errno is that of one thread from the beginning of the section to its end. */
OWN_ERRNO static void write_picture(void *picture, struct scheduler *s)
{
    struct picture *p = picture;
    char beside[PATH_MAX];
    png_image image = { .version = PNG_IMAGE_VERSION, .width = (png_uint_32)p->width,
                        .height = (png_uint_32)p->height, .format = PNG_FORMAT_RGB };
    sched_block_begin(s);
    errno = 0;
    FILE *file = begin_file(p, beside);
    p->written = file != NULL && png_image_write_to_stdio(&image, file, 0, p->pixels, 0, NULL);
    int error = errno;
    if (file != NULL && fclose(file) != 0 && p->written) {
        error = errno;
        p->written = 0;
    }
    if (p->written && p->replaces && rename(beside, p->target) != 0) {
        error = errno;
        p->written = 0;
    }
    if (!p->written) {
        const char *name = strcmp(p->name, "-") == 0 ? "standard output" : p->name;
        complain(error, "%s%s%s", name, error != 0 ? "" : ": ", error != 0 ? "" : image.message);
        if (file != NULL && p->replaces)
            unlink(beside);
    }
    sched_block_end(s);
}

OWN_ERRNO static void loop(struct picture *p, sched_range body, struct scheduler *s)
{
    if (sched_for(0, (size_t)p->tiles, 0, body, p, s) != 0)
        fatal(errno, "sched_for");
}

/* The first task of the run. */
static void render(void *picture, struct scheduler *s)
{
    struct picture *p = picture;
    for (p->pass = 0; p->pass < p->samples && !ended; p->pass++) {
        loop(p, trace_tiles, s);
        if (ended || p->pass + 1 == p->samples)
            continue;
        double now = (double)progress_ms(&p->progress) / 1000;
        if (!wanted && (p->every <= 0 || now - p->last < p->every))
            continue;
        wanted = 0;
        p->last = now;
        sched_group_wait(&p->writer, s); /* it reads the pixels that are made now */
        loop(p, develop_tiles, s);
        /* Where there is no other worker, a task would wait until the end. */
        if (sched_worker_count(s) == 1 || sched_group_spawn(&p->writer, write_picture, p, s) != 0)
            write_picture(p, s);
    }
    sched_group_wait(&p->writer, s);
    loop(p, develop_tiles, s);
    write_picture(p, s);
    p->complete = 1;
    for (int tile = 0; tile < p->tiles; tile++)
        p->complete &= p->passes[tile] == p->samples;
}

/* --- the command line -------------------------------------------------------------------------------------------- */

static const char usage[] =
    "usage: render [options]\n"
    "Computes a picture of spheres by path tracing and writes it as PNG.\n"
    "\n"
    "  -o, --output FILE     write to FILE; -: standard output [render.png]\n"
    "  -s, --size WxH        width and height in pixels [640x360]\n"
    "  -n, --samples N       samples of a pixel, more for less noise [64]\n"
    "  -p, --preview SECONDS write what is there so far every so many seconds, as at SIGUSR1\n"
    "      --seed N          seed of the random numbers [1]\n"
    "  -j, --threads N       number of threads [one for each processor]\n"
    "  -v, --verbose         say at the end how long it took\n"
    "  -h, --help            print this\n"
    "      --version         print the version\n"
    "\n"
    "SIGINT ends it early: the picture is written with the samples that are there.\n";

static void size_of(const char *text, struct picture *p)
{
    char end;
    if (strspn(text, "0123456789x") != strlen(text)
        || sscanf(text, "%5dx%5d%c", &p->width, &p->height, &end) != 2 || p->width < 1 || p->height < 1
        || p->width > MOST_SIDE || p->height > MOST_SIDE || p->width * p->height > MOST_PIXELS) {
        complain(0, "--size %s: WIDTHxHEIGHT is expected, each from 1 to %d, and together at most %d pixels", text,
                 MOST_SIDE, MOST_PIXELS);
        exit(STATUS_TROUBLE);
    }
}

/* That the output cannot be written is better said now than at the end. */
static void look_at_output(struct picture *p)
{
    static char real[PATH_MAX];
    char beside[PATH_MAX];
    struct stat status;
    if (strcmp(p->name, "-") == 0)
        return;
    int there = stat(p->name, &status) == 0;
    mode_t mask = umask(0);
    umask(mask);
    p->mode = there ? status.st_mode & 0777 : 0666 & ~mask;
    p->replaces = !there || S_ISREG(status.st_mode);
    p->target = there && realpath(p->name, real) != NULL ? real : p->name;
    if (!p->replaces && !S_ISDIR(status.st_mode))
        return;
    FILE *file = begin_file(p, beside);
    if (file == NULL)
        fatal(errno, "%s", p->name);
    fclose(file);
    unlink(beside);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "output", required_argument, NULL, 'o' },  { "size", required_argument, NULL, 's' },
        { "samples", required_argument, NULL, 'n' }, { "preview", required_argument, NULL, 'p' },
        { "seed", required_argument, NULL, 'S' },    { "threads", required_argument, NULL, 'j' },
        { "verbose", no_argument, NULL, 'v' },       { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'V' },       { NULL, 0, NULL, 0 },
    };
    static struct picture p = { .width = 640, .height = 360, .samples = 64, .seed = 1, .name = "render.png" };
    int threads = 0, verbose = 0, option;
    program_name = "render";
    while ((option = getopt_long(argc, argv, "o:s:n:p:j:vh", options, NULL)) != -1) {
        switch (option) {
        case 'o': p.name = optarg; break;
        case 's': size_of(optarg, &p); break;
        case 'n': p.samples = (int)number_of(optarg, "--samples", 1, 1 << 20); break;
        case 'p': p.every = (double)number_of(optarg, "--preview", 1, 86400); break;
        case 'S': p.seed = (uint64_t)number_of(optarg, "--seed", 0, LLONG_MAX); break;
        case 'j': threads = (int)number_of(optarg, "--threads", 0, 4096); break;
        case 'v': verbose = 1; break;
        case 'h': return say(usage);
        case 'V': return say_version();
        default: return STATUS_TROUBLE;
        }
    }
    if (optind < argc)
        fatal(0, "%s: there are no arguments but options", argv[optind]);
    if (strcmp(p.name, "-") == 0 && (p.every > 0 || isatty(STDOUT_FILENO)))
        fatal(0, p.every > 0 ? "--preview needs a file to replace" : "a terminal shows no PNG: use --output");
    look_at_output(&p);
    make_scene();
    size_t pixels = (size_t)p.width * (size_t)p.height;
    p.columns = (p.width + TILE - 1) / TILE;
    p.tiles = p.columns * ((p.height + TILE - 1) / TILE);
    p.sums = allocate(pixels, sizeof *p.sums);
    p.passes = allocate((size_t)p.tiles, sizeof *p.passes);
    p.pixels = allocate(pixels, 3);
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags |= (int)SA_RESETHAND; /* the second one ends the program at once */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    progress_begin(&p.progress, "tiles", (double)p.tiles * p.samples);
    if (sched_init(threads, 0, render, &p) != 0)
        fatal(errno, "sched_init");
    double seconds = (double)progress_ms(&p.progress) / 1000;
    progress_end(&p.progress);
    if (verbose)
        fprintf(stderr, "render: %dx%d pixels, %d samples each, %.1f s\n", p.width, p.height, p.pass, seconds);
    return !p.written ? STATUS_TROUBLE : p.complete ? STATUS_OK : STATUS_NO;
}
