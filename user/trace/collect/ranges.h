/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Disjoint address ranges, each with the tag of its mapping call: an address space as mmap and
 * munmap see it. A treap (Aragon and Seidel, "Randomized Search Trees", 1989): ordered by address,
 * balanced by random priorities; removing any range takes two splits, O(log n).
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
 * Adds [start, end), no part of which may be present yet (ranges_cut it first). Returns 0; -EINVAL
 * if empty; -ENOMEM.
 */
int ranges_insert(struct ranges *ranges, uint64_t start, uint64_t end, const struct range_tag *tag);

/*
 * Moves every part within [start, end) to *taken, which is overwritten; a range across an edge is
 * cut in two there. Returns 0, or -ENOMEM with nothing changed.
 */
int ranges_cut(struct ranges *ranges, uint64_t start, uint64_t end, struct ranges *taken);

/* Moves all of *from, no part of which may be in *to, to *to; *from is then empty. */
void ranges_absorb(struct ranges *to, struct ranges *from);

/* Adds `distance` (modulo 2^64) to every address. */
void ranges_shift(struct ranges *ranges, uint64_t distance);

/*
 * Visits ranges in ascending order; neighbours with equal tags are visited as one, because a failed
 * call may have left one range cut in two. A visit returns 0 to continue; any other result ends the
 * walk and is returned.
 */
typedef int (*range_visit)(const struct range *range, void *context);
int ranges_walk(const struct ranges *ranges, range_visit visit, void *context);

/* Returns the range that ends last, or NULL. Valid until the set changes. */
const struct range *ranges_last(const struct ranges *ranges);

void ranges_free(struct ranges *ranges);

#endif
