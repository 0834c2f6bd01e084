/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the memory of a JVM goes, its heap and what is outside of it, as the VM counts it: plain
 * data, made by runtime/hotspot_memory.c. In bytes. */
#ifndef LEAKMON_REPORT_JAVA_MEMORY_H
#define LEAKMON_REPORT_JAVA_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* Class loaders of one class. */
struct java_loaders {
	char *name; /* of their class, or as paths name those of the JDK; untrusted; owned */
	uint64_t loaders, classes;
	uint64_t committed, used; /* metaspace */
};

/* Buffers of java.nio outside the heap. */
struct java_buffers {
	bool known;
	uint64_t count, bytes;
};

struct java_memory {
	char version[24];      /* "17.0.15"; "": not known */
	const char *why;       /* nothing is known; static; NULL: it is */
	const char *collector; /* "G1"; static */
	/* The heap: what objects, garbage among them, take; memory for it; -Xmx. */
	uint64_t used, committed, maximum;
	uint64_t kept; /* of `used`, what is not in Eden: collections have left it */
	/* As the VM counts them; and those of them, or cycles, that free old objects, too. Without
	 * counts that is any number that grows with each such one. */
	uint64_t collections, full_collections;
	bool has_counts;
	bool has_metaspace;
	uint64_t metaspace, metaspace_used; /* class space included */
	uint64_t class_space;		    /* of `metaspace` */
	uint64_t classes;		    /* arrays included */
	VEC(struct java_loaders) loaders;   /* those with most metaspace first */
	uint64_t code, code_limit;	    /* code cache, with its maps; 0: not known */
	uint64_t threads, thread_stacks;    /* of Java; address space, not resident */
	struct java_buffers direct, mapped;
	uint64_t direct_limit; /* 0: not known */
};

/*
 * What collections of all of the heap leave, to be compared with later. Until the first one, old
 * garbage counts as kept: then the least that was seen since the first reading is the base of what
 * is compared, and the next such collection is the first that proves anything.
 */
struct java_floor {
	bool known;
	bool is_base;
	uint64_t kept, full; /* bytes outside Eden; collections: see struct java_memory */
};

struct java_floor java_floor_of(const struct java_memory *java);
void java_floor_rebase(struct java_floor *first, const struct java_floor *now);

enum java_proof {
	JAVA_UNPROVEN,	   /* what the heap grew by may be garbage */
	JAVA_KEEPS_MORE,   /* objects, by a fifth of what it grew by at least */
	JAVA_KEEPS_AS_MUCH /* garbage, and free room */
};

/* `grown`: bytes of the heap, between the two. Both are known. */
enum java_proof java_floor_compare(const struct java_floor *first, const struct java_floor *now,
				   int64_t grown);

/* Of a struct java_memory, before and after its loaders; and theirs: those of metaspace are known
 * if java_memory.has_metaspace. */
struct figures;
extern const struct figures java_memory_figures, java_outside_figures, java_loaders_figures;

void java_memory_free(struct java_memory *java);

#endif
