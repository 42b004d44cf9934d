/* render_scene.h: what render computes: one sample of one pixel. Nothing here knows of tasks; any thread may call
 * sample(), at the end.
 *
 * The scene: spheres on a floor, in the spiral of a sunflower. Some are of glass, some of metal, some glow. A path
 * begins at the camera, and at each surface goes on in one direction, chosen by chance. */

#ifndef RENDER_SCENE_H
#define RENDER_SCENE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { SPHERES = 420, DEPTH = 12, STRATA = 12 };

/* --- vectors, and random numbers --------------------------------------------------------------------------------- */

typedef struct { float x, y, z; } vec;

static inline vec add(vec a, vec b) { return (vec){ a.x + b.x, a.y + b.y, a.z + b.z }; }
static inline vec sub(vec a, vec b) { return (vec){ a.x - b.x, a.y - b.y, a.z - b.z }; }
static inline vec mul(vec a, vec b) { return (vec){ a.x * b.x, a.y * b.y, a.z * b.z }; }
static inline vec scale(vec a, float k) { return (vec){ a.x * k, a.y * k, a.z * k }; }
static inline float dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline vec unit(vec a) { return scale(a, 1 / sqrtf(dot(a, a))); }
static inline vec cross(vec a, vec b)
{
    return (vec){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x };
}


static inline vec mix(vec a, vec b, float k) { return add(scale(a, 1 - k), scale(b, k)); }
static inline float largest(vec a) { return fmaxf(a.x, fmaxf(a.y, a.z)); }

/* The numbers of one sample of one pixel. The first STRATA of them are terms of a sequence that fills the unit cube
 * evenly over the passes, shifted for each pixel: much less noise than with independent numbers. */
struct numbers {
    uint64_t state;
    uint32_t pass, shift;
    int next;
};

static uint32_t steps[STRATA]; /* of the sequence, as fractions of 2^32 */

static uint64_t hash(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* From 0 to 1, without 1. */
static float number(struct numbers *n)
{
    n->state = n->state * 6364136223846793005 + 1442695040888963407;
    uint32_t bits = (uint32_t)(n->state >> 32);
    if (n->next < STRATA) {
        n->shift = n->shift * 0x915f77f5 + 0x3c6ef372;
        bits = (uint32_t)hash(n->shift) + n->pass * steps[n->next++];
    }
    return (float)(bits >> 8) / (1 << 24);
}

/* The sequence takes multiples of 1/g, 1/g^2 ..., where g^(STRATA + 1) = g + 1. */
static void make_steps(void)
{
    double g = 1.1, power = 1;
    for (int i = 0; i < 60; i++)
        g = pow(1 + g, 1.0 / (STRATA + 1));
    for (int i = 0; i < STRATA; i++)
        steps[i] = (uint32_t)(4294967296.0 * (power /= g));
}

/* A unit vector at the given cosine from the axis, turned about it by a share of a full circle. */
static vec around(vec axis, float cosine, float turn)
{
    float sine = sqrtf(fmaxf(0, 1 - cosine * cosine)), angle = 6.2831853f * turn;
    vec side = unit(cross(fabsf(axis.x) > 0.5f ? (vec){ 0, 1, 0 } : (vec){ 1, 0, 0 }, axis));
    return add(scale(axis, cosine),
               add(scale(side, sine * cosf(angle)), scale(cross(axis, side), sine * sinf(angle))));
}

/* --- the scene --------------------------------------------------------------------------------------------------- */

enum material { COATED, METAL, GLASS, LIGHT };

struct sphere {
    vec centre;
    float radius;
    vec colour; /* of a light: what it emits */
    enum material material;
};

/* A box around some spheres: its own, if count is not 0, else those of the two boxes at `first`. */
struct box {
    vec low, high;
    int first, count;
};

static struct sphere spheres[SPHERES];
static struct box boxes[2 * SPHERES];
static int sphere_count, box_count, lights[SPHERES], light_count;

static vec hue(float h, float saturation, float value)
{
    vec c = { cosf(6.2831853f * h), cosf(6.2831853f * (h - 1 / 3.f)), cosf(6.2831853f * (h - 2 / 3.f)) };
    return scale(mix((vec){ 1, 1, 1 }, scale(add(c, (vec){ 1, 1, 1 }), 0.5f), saturation), value);
}

static void place(float x, float y, float z, float radius, enum material material, vec colour)
{
    spheres[sphere_count++] = (struct sphere){ { x, y, z }, radius, colour, material };
}

static int split_axis; /* of the comparison below */

static int by_place(const void *a, const void *b)
{
    const float *p = &((const struct sphere *)a)->centre.x, *q = &((const struct sphere *)b)->centre.x;
    return (p[split_axis] > q[split_axis]) - (p[split_axis] < q[split_axis]);
}

static void enclose(int box, int first, int count)
{
    vec low = { INFINITY, INFINITY, INFINITY }, high = { -INFINITY, -INFINITY, -INFINITY };
    for (int i = first; i < first + count; i++) {
        vec c = spheres[i].centre;
        float r = spheres[i].radius;
        low = (vec){ fminf(low.x, c.x - r), fminf(low.y, c.y - r), fminf(low.z, c.z - r) };
        high = (vec){ fmaxf(high.x, c.x + r), fmaxf(high.y, c.y + r), fmaxf(high.z, c.z + r) };
    }
    boxes[box] = (struct box){ low, high, first, count };
    if (count <= 2)
        return;
    vec extent = sub(high, low);
    split_axis = extent.x > extent.z ? 0 : 2;
    qsort(&spheres[first], (size_t)count, sizeof *spheres, by_place);
    int halves = box_count;
    box_count += 2;
    boxes[box].first = halves;
    boxes[box].count = 0;
    enclose(halves, first, count / 2);
    enclose(halves + 1, first + count / 2, count - count / 2);
}

static void make_scene(void)
{
    make_steps();
    place(0, 1.15f, 0, 1.15f, GLASS, (vec){ 1, 1, 1 });
    for (int i = 14; i < SPHERES - 4; i++) {
        float angle = 2.3999632f * (float)i, r = 0.37f * sqrtf((float)i), share = (float)i / SPHERES;
        float radius = 0.21f + 0.09f * share;
        int kind = (int)(hash((uint64_t)i) % 100);
        enum material material = kind < 5 ? LIGHT : kind < 16 ? METAL : kind < 26 ? GLASS : COATED;
        vec colour = hue(0.93f - 0.75f * share, 0.85f, 0.8f);
        if (material == LIGHT)
            colour = (vec){ 2.4f, 1.02f, 0.3f };
        else if (material == METAL)
            colour = mix(colour, (vec){ 0.95f, 0.93f, 0.9f }, 0.6f);
        else if (material == GLASS)
            colour = mix(colour, (vec){ 1, 1, 1 }, 0.75f);
        place(r * cosf(angle), radius, r * sinf(angle), radius, material, colour);
    }
    place(-9, 13, 6, 3.2f, LIGHT, (vec){ 7.5f, 6.6f, 5.6f });
    box_count = 1;
    enclose(0, 0, sphere_count);
    for (int i = 0; i < sphere_count; i++)
        if (spheres[i].material == LIGHT)
            lights[light_count++] = i;
}

/* The sky at dusk, and what lies in the haze before it. */
static const vec horizon = { 0.62f, 0.27f, 0.17f };

static vec sky(vec d)
{
    float up = fmaxf(d.y, 0);
    vec colour = mix(horizon, (vec){ 0.17f, 0.1f, 0.24f }, fminf(1, up * 7));
    return mix(colour, (vec){ 0.02f, 0.045f, 0.13f }, fminf(1, up * 2.6f));
}

/* --- paths ------------------------------------------------------------------------------------------------------- */

struct ray { vec from, to; }; /* to: of length 1 */

static float meets(const struct sphere *s, const struct ray *r, float nearest)
{
    vec o = sub(r->from, s->centre);
    float b = dot(o, r->to);
    vec across = sub(o, scale(r->to, b)); /* better in float than dot(o, o) - b * b */
    float d = s->radius * s->radius - dot(across, across);
    if (d < 0)
        return nearest;
    d = sqrtf(d);
    float t = -b - d > 1e-3f ? -b - d : -b + d;
    return t > 1e-3f && t < nearest ? t : nearest;
}

static int enters(const struct box *b, vec from, vec per, float nearest)
{
    float x0 = (b->low.x - from.x) * per.x, x1 = (b->high.x - from.x) * per.x;
    float y0 = (b->low.y - from.y) * per.y, y1 = (b->high.y - from.y) * per.y;
    float z0 = (b->low.z - from.z) * per.z, z1 = (b->high.z - from.z) * per.z;
#define LESS(a, b) ((a) < (b) ? (a) : (b))
#define MORE(a, b) ((a) > (b) ? (a) : (b))
    float in = MORE(MORE(LESS(x0, x1), LESS(y0, y1)), LESS(z0, z1));
    float out = LESS(LESS(MORE(x0, x1), MORE(y0, y1)), MORE(z0, z1));
    return out >= MORE(in, 0) && in < nearest;
}

/* The number of the nearest sphere within *distance, which becomes its distance; -1: none; -2: the floor. */
static int hit(const struct ray *r, float *distance)
{
    int found = -1, stack[32], depth = 0;
    vec per = { 1 / r->to.x, 1 / r->to.y, 1 / r->to.z };
    if (r->to.y < 0 && -r->from.y * per.y > 1e-3f && -r->from.y * per.y < *distance) {
        *distance = -r->from.y * per.y;
        found = -2;
    }
    for (stack[depth++] = 0; depth > 0;) {
        const struct box *b = &boxes[stack[--depth]];
        if (!enters(b, r->from, per, *distance))
            continue;
        if (b->count == 0) {
            const struct box *half = &boxes[b->first];
            int near_second = dot(sub(add(half[1].low, half[1].high), add(half[0].low, half[0].high)), r->to) < 0;
            stack[depth++] = b->first + !near_second;
            stack[depth++] = b->first + near_second;
        }
        for (int i = b->first; i < b->first + b->count; i++) {
            float t = meets(&spheres[i], r, *distance);
            if (t < *distance) {
                *distance = t;
                found = i;
            }
        }
    }
    return found;
}

/* What one light, chosen by chance, sends to the point p of a surface with the normal n. */
static vec direct(vec p, vec n, struct numbers *numbers)
{
    float weight[SPHERES], sum = 0;
    for (int i = 0; i < light_count; i++) {
        const struct sphere *l = &spheres[lights[i]];
        vec to = sub(l->centre, p);
        float square = dot(to, to);
        weight[i] = dot(to, n) + l->radius <= 0 ? 0 : largest(l->colour) * l->radius * l->radius / square;
        sum += weight[i];
    }
    float chosen = number(numbers) * sum, u = number(numbers), v = number(numbers);
    int i = 0;
    while (i < light_count - 1 && chosen >= weight[i])
        chosen -= weight[i++];
    const struct sphere *l = &spheres[lights[i]];
    vec to = sub(l->centre, p);
    float square = dot(to, to), sine2 = l->radius * l->radius / square;
    if (weight[i] <= 0 || sine2 >= 1)
        return (vec){ 0, 0, 0 };
    /* A direction within the cone in which the light is seen: its solid angle is 2 pi (1 - cosine). */
    float cone = sine2 / (1 + sqrtf(1 - sine2));
    struct ray r = { p, around(scale(to, 1 / sqrtf(square)), 1 - u * cone, v) };
    float cosine = dot(r.to, n), distance = sqrtf(square); /* what lies behind it is of no interest */
    if (cosine <= 0 || hit(&r, &distance) != lights[i])
        return (vec){ 0, 0, 0 };
    return scale(l->colour, cosine * 2 * cone * sum / weight[i]);
}

/* The light that comes along the ray, as one path finds it. */
static vec trace(struct ray r, struct numbers *n)
{
    vec light = { 0, 0, 0 }, share = { 1, 1, 1 };
    int mirrored = 1, scattered = 0; /* the last surface was a mirror; there was one that was not */
    for (int depth = 0; depth < DEPTH; depth++) {
        float distance = INFINITY, limit = scattered ? 1 : INFINITY; /* against rare bright paths through glass */
        int found = hit(&r, &distance);
        vec emitted = found >= 0 && spheres[found].material == LIGHT ? spheres[found].colour : sky(r.to);
        float haze = found == -1 ? 0 : 1 - expf(-0.001f * distance * distance);
        if (found == -1 || (found >= 0 && spheres[found].material == LIGHT)) {
            if (found == -1 || mirrored) {
                vec more = mul(share, emitted);
                light = add(light, scale(more, fminf(1, limit / fmaxf(largest(more), 1e-6f))));
            }
            return light;
        }
        light = add(light, mul(scale(share, haze), horizon));
        share = scale(share, 1 - haze);
        vec p = add(r.from, scale(r.to, distance)), normal = { 0, 1, 0 }, colour = { 0.16f, 0.16f, 0.19f };
        enum material material = COATED;
        float rough = 0.02f;
        if (found >= 0) {
            const struct sphere *s = &spheres[found];
            normal = scale(sub(p, s->centre), 1 / s->radius);
            colour = s->colour;
            material = s->material;
            rough = material == METAL ? 0.03f : 0;
        }
        int leaves = dot(r.to, normal) > 0; /* glass, from within */
        if (leaves)
            normal = scale(normal, -1);
        float cosine = fminf(1, -dot(r.to, normal)), index = leaves ? 1.5f : 1 / 1.5f;
        float inner = 1 - index * index * (1 - cosine * cosine); /* cosine of the refracted ray, squared */
        float angle = leaves && inner > 0 ? sqrtf(inner) : cosine;
        float fresnel = inner <= 0 ? 1 : 0.04f + 0.96f * powf(1 - angle, 5);
        vec mirror = add(r.to, scale(normal, 2 * cosine));
        r.from = p;
        if (material == GLASS) {
            mirrored = 1;
            if (number(n) < fresnel) {
                r.to = mirror;
            } else {
                r.to = unit(add(scale(r.to, index), scale(normal, index * cosine - sqrtf(inner))));
                share = mul(share, colour);
            }
            continue;
        }
        float chance = material == METAL ? 1 : 0.2f + 0.6f * fresnel; /* of going on as from a mirror */
        if (number(n) < chance) {
            share = material == METAL ? mul(share, mix(colour, (vec){ 1, 1, 1 }, powf(1 - cosine, 5)))
                                      : scale(share, fresnel / chance);
            if (rough > 0) {
                float u = number(n), v = number(n);
                mirror = unit(add(mirror, scale(around(mirror, 1 - 2 * u, v), rough)));
            }
            if (dot(mirror, normal) <= 0)
                return light;
            r.to = mirror;
            mirrored = 1;
        } else {
            share = scale(mul(share, colour), (1 - fresnel) / (1 - chance));
            vec more = mul(share, direct(p, normal, n));
            light = add(light, scale(more, fminf(1, limit / fmaxf(largest(more), 1e-6f))));
            float u = number(n), v = number(n);
            r.to = around(normal, sqrtf(1 - u), v);
            mirrored = 0;
            scattered = 1;
        }
        if (depth > 2) { /* what carries little more light ends, by chance */
            float stay = fminf(0.95f, largest(share));
            if (number(n) >= stay)
                return light;
            share = scale(share, 1 / stay);
        }
    }
    return light;
}

/* --- the camera -------------------------------------------------------------------------------------------------- */

/* The light that the pixel x, y of a picture of that size gets by one path: the same whenever it is computed. */
static vec sample(int x, int y, int width, int height, int pass, uint64_t seed)
{
    const vec eye = { -1.3f, 2.5f, -9.4f }, target = { 0.25f, 1.02f, 0.4f };
    const float focus = 8.6f, aperture = 0.09f, zoom = 1.12f;
    vec ahead = unit(sub(target, eye)), right = unit(cross((vec){ 0, 1, 0 }, ahead)), up = cross(ahead, right);
    uint64_t own = hash(seed ^ hash((uint64_t)y * (uint64_t)width + (uint64_t)x));
    struct numbers n = { hash(own + (uint64_t)pass), (uint32_t)pass, (uint32_t)own, 0 };
    float u = number(&n), v = number(&n), bow = sqrtf(number(&n)) * aperture, turn = 6.2831853f * number(&n);
    float across = ((float)x + u - 0.5f * (float)width) * zoom / (float)width;
    float down = ((float)y + v - 0.5f * (float)height) * zoom / (float)width;
    vec lens = add(scale(right, bow * cosf(turn)), scale(up, bow * sinf(turn)));
    vec point = scale(add(ahead, add(scale(right, across), scale(up, -down))), focus);
    return trace((struct ray){ add(eye, lens), unit(sub(point, lens)) }, &n);
}

#endif
