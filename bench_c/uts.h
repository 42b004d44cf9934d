/* uts.h: the Unbalanced Tree Search of Olivier and others (2006), our own words and code.
 *
 * A node is a SHA-1 digest, which alone decides how many children the node has; child i is the digest of the node
 * followed by i. So the tree is the same everywhere, and its shape is known only after a walk through it. The published
 * trees of four million nodes:
 *
 *   T1  geometric, b0 = 4 to depth 10, seed 19:          4,130,071 nodes, shallow
 *   T3  binomial, b0 = 2000, m = 8, q = 0.124875, seed 42: 4,112,897 nodes, 1,572 deep
 *
 * Here -n is the depth of T1, and the root's b0 of T3. */

#ifndef UTS_H
#define UTS_H

#include "measure.h"

#include <math.h>

enum uts_shape { UTS_GEOMETRIC, UTS_BINOMIAL };

enum { UTS_MOST = 100, UTS_BINOMIAL_CHILDREN = 8 }; /* children of a node, but for T3's root */

struct uts_node {
    uint32_t digest[5];
    int depth;
};

struct uts_tree {
    enum uts_shape shape;
    long n;
    double log_failure; /* of the geometric distribution, with mean 4 */
};

static inline uint32_t uts_rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

/* Word i of the schedule. It is computed from the sixteen words before it, and replaces the oldest of them. */
static inline uint32_t uts_word(uint32_t w[16], int i)
{
    if (i >= 16)
        w[i & 15] = uts_rotate(w[(i + 13) & 15] ^ w[(i + 8) & 15] ^ w[(i + 2) & 15] ^ w[i & 15], 1);
    return w[i & 15];
}

static inline uint32_t uts_mix(int i, uint32_t b, uint32_t c, uint32_t d)
{
    return i < 20 ? (d ^ (b & (c ^ d))) + 0x5a827999
         : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
         : i < 60 ? ((b & c) | (d & (b | c))) + 0x8f1bbcdc
                  : (b ^ c ^ d) + 0xca62c1d6;
}

/* One round. The five words are not moved; instead the caller rotates their names. */
#define UTS_ROUND(a, b, c, d, e, i)                                        \
    (e += uts_rotate(a, 5) + uts_mix(i, b, c, d) + uts_word(w, i), b = uts_rotate(b, 30))

/* SHA-1 of a message of `words` words, few enough for one block. */
static inline void uts_sha1(const uint32_t *message, int words, uint32_t digest[5])
{
    uint32_t w[16] = {0};
    memcpy(w, message, (size_t)words * sizeof *w);
    w[words] = 0x80000000;
    w[15] = 32 * (uint32_t)words;
    uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, e = 0xc3d2e1f0;
#pragma GCC unroll 16
    for (int i = 0; i < 80; i += 5) {
        UTS_ROUND(a, b, c, d, e, i);
        UTS_ROUND(e, a, b, c, d, i + 1);
        UTS_ROUND(d, e, a, b, c, i + 2);
        UTS_ROUND(c, d, e, a, b, i + 3);
        UTS_ROUND(b, c, d, e, a, i + 4);
    }
    digest[0] = 0x67452301 + a;
    digest[1] = 0xefcdab89 + b;
    digest[2] = 0x98badcfe + c;
    digest[3] = 0x10325476 + d;
    digest[4] = 0xc3d2e1f0 + e;
}

static inline struct uts_tree uts_tree(enum uts_shape shape, long n)
{
    struct uts_tree tree;
    tree.shape = shape;
    tree.n = n;
    tree.log_failure = log(1 - 1 / (1 + 4.0));
    return tree;
}

static inline struct uts_node uts_root(const struct uts_tree *tree)
{
    struct uts_node root;
    uint32_t seed[5] = {0, 0, 0, 0, 42};
    if (tree->shape == UTS_GEOMETRIC)
        seed[4] = 19;
    uts_sha1(seed, 5, root.digest);
    root.depth = 0;
    return root;
}

static inline struct uts_node uts_child(const struct uts_node *node, int i)
{
    uint32_t message[6];
    struct uts_node child;
    memcpy(message, node->digest, sizeof node->digest);
    message[5] = (uint32_t)i;
    uts_sha1(message, 6, child.digest);
    child.depth = node->depth + 1;
    return child;
}

/* How many children a node has. */
static inline int uts_children(const struct uts_tree *tree, const struct uts_node *node)
{
    double chance = (double)(node->digest[4] & 0x7fffffff) / 2147483648.0;
    if (tree->shape == UTS_BINOMIAL) {
        if (node->depth == 0)
            return (int)tree->n;
        return chance < 0.124875 ? UTS_BINOMIAL_CHILDREN : 0;
    }
    if (node->depth >= tree->n)
        return 0;
    int count = (int)floor(log(1 - chance) / tree->log_failure);
    return count < UTS_MOST ? count : UTS_MOST;
}

/* The nodes of the tree below `node`, itself included. */
static inline long uts_count(const struct uts_tree *tree, const struct uts_node *node)
{
    long sum = 1;
    int children = uts_children(tree, node);
    for (int i = 0; i < children; i++) {
        struct uts_node child = uts_child(node, i);
        sum += uts_count(tree, &child);
    }
    return sum;
}

/* The published number; for a size that was not published, our own count. */
static inline long uts_nodes(const struct uts_tree *tree)
{
    if (tree->shape == UTS_GEOMETRIC && tree->n == 10)
        return 4130071;
    if (tree->shape == UTS_BINOMIAL && tree->n == 2000)
        return 4112897;
    struct uts_node root = uts_root(tree);
    return uts_count(tree, &root);
}

#endif
