/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Age and contents as witnesses. For a block held only by weak words (a stack, a register, a stale
 * word, memory without known blocks) reachability proves nothing: a leftover word may hold it. Two
 * scans at least a minute apart reveal more: if it is the same block with the same contents, still
 * weakly held, while nearly all others of its kind were freed or written to meanwhile, it is
 * probably lost. That is no proof, and is counted separately from unreachable blocks.
 *
 * A kind is a class of blocks, or their allocation site if known.
 */
#ifndef LEAKMON_RETAIN_WITNESS_H
#define LEAKMON_RETAIN_WITNESS_H

#include <sys/types.h>

#include "base/vec.h"
#include "report/retain_result.h"

/* Minimum distance of two scans to be compared. */
#define WITNESS_S 60

/* Minimum number of others of a kind, and the share of them that must be gone. */
#define WITNESS_OTHERS 8
#define WITNESS_GONE 0.9

struct witness_block {
	uint64_t address, size;
	uint64_t kind; /* the same in every scan */
	uint64_t hash; /* of its contents; 0: not read */
	bool weak;
};

struct witness_look {
	uint64_t time_ns;		  /* CLOCK_MONOTONIC; 0: none */
	VEC(struct witness_block) blocks; /* by address, of kinds with weak ones */
};

struct witness_kind {
	uint64_t kind;
	struct retention_total probable;
	uint64_t others, gone; /* of the first scan */
};

struct witness_kinds {
	VEC(struct witness_kind) list; /* those with something probably lost, by kind */
};

/* Compares two scans. Returns 0 or -ENOMEM, then *kinds is still to be freed. */
int witness_compare(const struct witness_look *first, const struct witness_look *now,
		    struct witness_kinds *kinds);

struct retain;

void witness_look_free(struct witness_look *look);

/*
 * Makes a scan, adds the result of its comparison with *before if that is old enough, and then
 * replaces *before. Returns 0 or -ENOMEM.
 */
int witness_confirm_stale(const struct retain *retain, struct witness_look *before,
			  struct retain_result *result);

#endif
