/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heap profiles that processes keep of themselves: an allocator or a runtime samples its own
 * allocations, and keeps the call stacks of the live ones, starting long before leakmon. They are
 * read from outside, without a probe and without a stop. An allocator has one file and one row of
 * the table in own_profile.c; a runtime has its source in its own row (runtime.h).
 *
 * Nothing that is read is trusted: each reader documents which figures must agree before it
 * believes any.
 */
#ifndef LEAKMON_RUNTIME_OWN_PROFILE_H
#define LEAKMON_RUNTIME_OWN_PROFILE_H

#include "heap/runtime/target_memory.h"
#include "report/heap_profile.h"

struct own_profile_source {
	const char *name; /* of the allocator or the runtime: "jemalloc" */
	/*
	 * Reads the profile of a running process; *profile is zeroed before. 0: the process keeps a
	 * profile, and profile->why says why it cannot be read (NULL: it was read); -ENOENT: it
	 * keeps none; -ENOMEM.
	 */
	int (*read)(const struct maps *maps, struct heap_profile *profile);
};

/*
 * Reads the first profile, in the order of the table's sources, that the process keeps, and
 * estimates the live bytes. Sites have frames, or addresses still to be named. 0; -ENOENT: the
 * process keeps no profile known to leakmon; -ENOMEM. The caller calls heap_profile_free() in any
 * case.
 */
int own_profile_read(const struct maps *maps, struct heap_profile *profile);

/* The sources' names, separated by commas, for messages. */
#define OWN_PROFILE_SOURCES                                                                        \
	"Go, tracemalloc, Google TCMalloc, gperftools (HEAPPROFILE), jemalloc 5.3 (prof:true)"

/* For sources. */

/*
 * Calls visit() with the words of all modules' data, in parts that overlap by `overlap` words (at
 * most 512), until one call returns true. Returns whether one did. Pages that are not in memory
 * are zeros.
 */
typedef bool own_profile_visit(void *context, uint64_t address, const uint64_t *words,
			       size_t count);
bool own_profile_scan(struct target_memory *memory, size_t overlap, own_profile_visit *visit,
		      void *context);
/* Returns whether code is mapped at an address. */
bool own_profile_is_code(const struct target_memory *memory, uint64_t address);

#endif
