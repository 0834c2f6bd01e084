/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heaps that a garbage collector runs, told by how a process is mapped: which runtime it has, and
 * which of its mappings are that runtime's heap. What grows there is objects of the language, which
 * no probe on malloc sees: the runtime's own tool knows them.
 *
 *   HotSpot   libjvm.so. The heap lies below 32 GiB, where compressed pointers reach it; the space
 * of classes may lie there, too, in 1 GiB of its own. A heap without compressed pointers is the
 * reservation of which most is in use. ZGC maps a memfd named java_heap. V8        a program or
 * library called node, nodejs, libnode, libv8, electron or deno. Chunks of 256 KiB at multiples of
 * it, larger objects likewise. Go        a mapping begins at 0xc000000000, where its arenas begin;
 * from 1.25 on they are named. Mono      libmono*, mono-sgen: everything anonymous that is of no
 * other owner, but stacks. .NET      libcoreclr.so: the reservation of which most is in use.
 *
 * Names and addresses are the target's word: they decide over words of a report, and nothing else.
 */
#ifndef LEAKMON_PROC_MANAGED_HEAP_H
#define LEAKMON_PROC_MANAGED_HEAP_H

#include <sys/types.h>

#include "proc/maps.h"

enum managed_runtime {
	MANAGED_NONE,
	MANAGED_HOTSPOT,
	MANAGED_V8,
	MANAGED_GO,
	MANAGED_MONO,
	MANAGED_DOTNET,
	MANAGED_MAX_
};

struct managed_heap {
	enum managed_runtime runtime;
	/* The reservation that it is in; end 0: none is needed, or there is none. */
	uint64_t start, end;
	/* HotSpot's space of classes, which is no part of it; end 0: not below 32 GiB. */
	uint64_t classes_start, classes_end;
};

/* What lies side by side, and how much of it is in use. */
struct managed_run {
	uint64_t start, end, used;
};

#define MANAGED_STARTS 16

/* Of all mappings of a process, in order: call it for each, begin with zeros. */
struct managed_search {
	struct managed_heap heap;
	uint64_t low_start, low_end; /* between them is all low memory that is in use */
	struct managed_run run, best;
	uint64_t starts[MANAGED_STARTS]; /* of the latest mappings below 32 GiB, a ring */
	unsigned start_count;
};
void managed_search_add(struct managed_search *search, const struct mapping *mapping);
struct managed_heap managed_search_end(const struct managed_search *search);

/* Of what no other owner is known: whether the mapping is the runtime's heap. */
bool managed_heap_has(const struct managed_heap *heap, const struct mapping *mapping);

/* Of the process's mappings now. 0 or -errno as maps_read(). */
int managed_heap_find(pid_t pid, struct managed_heap *heap);

/* "JVM", "V8", ...; NULL for MANAGED_NONE. And as it stands in JSON: "hotspot", ... Static. */
const char *managed_runtime_name(enum managed_runtime runtime);
const char *managed_runtime_key(enum managed_runtime runtime);

/* What shows the objects of that heap: "jcmd 1234 GC.class_histogram ...". Returns text. */
#define MANAGED_TOOL_SIZE 160
char *managed_runtime_tool(enum managed_runtime runtime, pid_t pid, char text[MANAGED_TOOL_SIZE]);

#endif
