/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the memory of a JVM goes, its heap and what is outside of it, as the VM counts it: plain
 * data, made by heap/runtime/hotspot/memory.c. In bytes. */
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

/* Of a struct java_memory, before and after its loaders; and theirs: those of metaspace are known
 * if java_memory.has_metaspace. */
struct figures;
extern const struct figures java_memory_figures, java_outside_figures, java_loaders_figures;

void java_memory_free(struct java_memory *java);

#endif
