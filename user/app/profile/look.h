/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at blocks of a running process from outside: has the beginning of each block changed? Only
 * a hash of the contents is kept, under a secret key made for the run. Absent or swapped pages are
 * not touched.
 *
 * For blocks of glibc's malloc, its own state is read as well: the size before each block, the
 * in-use flag in the next chunk, and membership in a list of free chunks. That detects a free even
 * if the contents stay (a chunk merged with the free chunk before it, or with the top, is not
 * written to), and distinguishes it from a write to a live block.
 * Source: glibc 2.26 to 2.43, malloc/malloc.c (struct malloc_chunk, tcache_entry, PROTECT_PTR).
 */
#ifndef LEAKMON_PROFILE_LOOK_H
#define LEAKMON_PROFILE_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"

/* Bytes examined at the beginning of a block: allocators write there when a block is freed. */
#define LOOK_BYTES 64

struct look_request {
	uint64_t address, size;
	bool find_chunk; /* request look_result.chunk */
	uint32_t chunk;	 /* chunk from an earlier look, to request look_result.freed; 0: do not */
};

enum look_state {
	LOOK_READ,     /* `hash` and `uniform` are filled in */
	LOOK_ABSENT,   /* its page is mapped but not present: never written, or given back */
	LOOK_SWAPPED,  /* unknown */
	LOOK_UNMAPPED, /* its memory is unmapped */
};

struct look_result {
	enum look_state state;
	uint64_t hash;
	bool uniform; /* all bytes are equal */
	/* The chunk size, if the word before the block is what glibc writes before blocks of this
	 * size, else 0. Elsewhere it may match by accident: require many to agree. */
	uint32_t chunk;
	bool freed; /* the block is free, or its memory has been divided anew since */
};

struct look {
	struct siphash_key key;
};

/* Makes the key. Returns 0 or -errno. */
int look_open(struct look *look);

/*
 * Fills in one result for each request; they should ascend by address. Returns 0; -ESRCH: the
 * process is gone or being killed, and the results are invalid; -EPERM: it may not be read; or
 * -ENOMEM.
 */
int look_at(const struct look *look, pid_t pid, const struct look_request *requests, size_t count,
	    struct look_result *results);

#endif
