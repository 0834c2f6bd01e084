/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Age and contents as witnesses. Of a block that only weak words lead to (a stack, a register, a
 * stale word, memory that no block is known in) reachability proves nothing: a left-over word may
 * hold it. Two looks a minute or more apart show more: where it is the same block with the same
 * contents, still weakly held, while nearly all others of its kind were freed or written to
 * meanwhile, it is probably lost. That is no proof, and is counted apart from what is unreachable.
 *
 * A kind is a class of blocks, or where they were allocated if that is known.
 */
#ifndef LEAKMON_RETAIN_WITNESS_H
#define LEAKMON_RETAIN_WITNESS_H

#include <sys/types.h>

#include "base/vec.h"
#include "report/retain_result.h"

/* Looks that are closer together are not compared. */
#define WITNESS_S 60

/* So many others of a kind there must have been, and such a share of them must be gone. */
#define WITNESS_OTHERS 8
#define WITNESS_GONE 0.9

struct witness_block {
	uint64_t address, size;
	uint64_t kind; /* the same in every look */
	uint64_t hash; /* of its contents; 0: not read */
	bool weak;
};

struct witness_look {
	uint64_t time_ns;		  /* CLOCK_MONOTONIC; 0: none */
	VEC(struct witness_block) blocks; /* by address, of kinds that have weak ones */
};

struct witness_kind {
	uint64_t kind;
	struct retention_total probable;
	uint64_t others, gone; /* of the first look */
};

struct witness_kinds {
	VEC(struct witness_kind) list; /* those with something probably lost, by kind */
};

/* 0 or -ENOMEM, then *kinds is to be freed all the same. */
int witness_compare(const struct witness_look *first, const struct witness_look *now,
		    struct witness_kinds *kinds);

struct retain;

void witness_look_free(struct witness_look *look);

/*
 * Takes a look, puts what the comparison with *before shows into the result if that was long enough
 * ago, and becomes *before itself then. 0 or -ENOMEM.
 */
int witness_confirm_stale(const struct retain *retain, struct witness_look *before,
			  struct retain_result *result);

#endif
