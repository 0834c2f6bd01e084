/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Disjoint address ranges, each with the tag of the mapping call: what an address space looks like
 * to mmap and munmap. A treap (Aragon and Seidel, "Randomized Search Trees", 1989): ordered by
 * address, balanced by random priorities; taking any stretch out of it is two splits, O(log n).
 */
#ifndef LEAKMON_COLLECT_RANGES_H
#define LEAKMON_COLLECT_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct range_tag {
	uint64_t born_ns;
	uint32_t site, kind;
};

struct range {
	uint64_t start, end; /* [start, end) */
	struct range_tag tag;
};

struct range_node;

struct ranges {
	struct range_node *root; /* owned; {0} is the empty set */
	uint64_t random;
};

/*
 * Adds [start, end), of which no part may be there yet (ranges_cut it first). 0, -EINVAL when it is
 * empty, -ENOMEM.
 */
int ranges_insert(struct ranges *ranges, uint64_t start, uint64_t end, const struct range_tag *tag);

/*
 * Moves every part that lies in [start, end) to *taken, which is overwritten; a range across an
 * edge is cut in two there. 0, or -ENOMEM with nothing changed.
 */
int ranges_cut(struct ranges *ranges, uint64_t start, uint64_t end, struct ranges *taken);

/* Moves all of *from, none of which may be in *to, over; *from is empty then. */
void ranges_absorb(struct ranges *to, struct ranges *from);

/* Adds `distance` (modulo 2^64) to every address. */
void ranges_shift(struct ranges *ranges, uint64_t distance);

/*
 * In ascending order; neighbours with equal tags are visited as one: a call that failed may have
 * left one range cut in two. A visit returns 0 to go on, else the walk ends and returns the same.
 */
typedef int (*range_visit)(const struct range *range, void *context);
int ranges_walk(const struct ranges *ranges, range_visit visit, void *context);

/* The range that ends last, or NULL. Good until the set changes. */
const struct range *ranges_last(const struct ranges *ranges);

void ranges_free(struct ranges *ranges);

#endif
