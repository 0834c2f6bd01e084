/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at blocks of a running process from outside: whether what stands at their beginning is what
 * stood there. Of the contents only a hash is kept, under a key that is made for the run and known
 * to nobody. Pages that are absent or swapped out are left so.
 *
 * Of blocks of glibc's malloc its own state is read beside them: the size before each block, the
 * flag in the next chunk that says whether this one is in use, and whether it stands in a list of
 * free chunks. So a death is seen also where the contents stay (what is joined with the free chunk
 * before it, or with the top, is not written to), and distinguished from a write to what is alive.
 * Source: glibc 2.26 to 2.43, malloc/malloc.c (struct malloc_chunk, tcache_entry, PROTECT_PTR).
 */
#ifndef LEAKMON_PROFILE_LOOK_H
#define LEAKMON_PROFILE_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"

/* So much of a block is looked at: allocators write to the beginning of what is freed. */
#define LOOK_BYTES 64

struct look_request {
	uint64_t address, size;
	bool find_chunk; /* look_result.chunk is wanted */
	uint32_t chunk;	 /* what an earlier look found: look_result.freed is wanted; 0: it is not */
};

enum look_state {
	LOOK_READ,     /* `hash` and `uniform` are filled in */
	LOOK_ABSENT,   /* its page is mapped, and holds nothing: never written, or given back */
	LOOK_SWAPPED,  /* not to be known */
	LOOK_UNMAPPED, /* its memory is gone */
};

struct look_result {
	enum look_state state;
	uint64_t hash;
	bool uniform; /* all bytes are equal */
	/* The size of the chunk, if what stands before the block is what glibc has before blocks of
	 * this size, else 0. By accident it may be so elsewhere: many must agree. */
	uint32_t chunk;
	bool freed; /* the block is free, or its memory is cut in another way by now */
};

struct look {
	struct siphash_key key;
};

/* 0 or -errno. */
int look_open(struct look *look);

/*
 * Fills in one result for each request; they should ascend by address. 0; -ESRCH: the process is
 * gone, or being killed, and no result is of use; -EPERM: it may not be read; -ENOMEM.
 */
int look_at(const struct look *look, pid_t pid, const struct look_request *requests, size_t count,
	    struct look_result *results);

#endif
