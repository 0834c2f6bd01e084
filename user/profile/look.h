/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at blocks of a running process from outside: whether what stands at their beginning is what
 * stood there. Of the contents only a hash is kept, under a key that is made for the run and known
 * to nobody. Pages that are absent or swapped out are left so.
 */
#ifndef LEAKMON_PROFILE_LOOK_H
#define LEAKMON_PROFILE_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/siphash.h"

/* So much of a block is looked at: allocators write to the beginning of what is freed. */
#define LOOK_BYTES 64

struct look_request {
	uint64_t address, size;
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
};

struct look {
	struct siphash_key key;
};

/* 0 or -errno. */
int look_open(struct look *look);

/*
 * Fills in one result for each request; they should ascend by address. 0; -ESRCH: the process is
 * gone; -EPERM: it may not be read; -ENOMEM.
 */
int look_at(const struct look *look, pid_t pid, const struct look_request *requests, size_t count,
	    struct look_result *results);

#endif
