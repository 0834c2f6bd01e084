// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/managed_heap.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Shifted by three bits, 32 bits reach so far (-XX:+UseCompressedOops). */
#define COMPRESSED_REACH (32ull << 30)

/* V8's kPageSizeBits is 18. */
#define V8_PAGE (256ull << 10)

/* runtime/malloc.go: arena hints begin at 0x00c0 << 32. */
#define GO_ARENAS 0xc000000000ull
#define GO_ARENAS_END 0x10000000000ull

/* malloc/arena.c: HEAP_MAX_SIZE. */
#define MALLOC_HEAP_MAX (64ull << 20)

/* -XX:CompressedClassSpaceSize. */
#define CLASS_SPACE (1ull << 30)

static const struct {
	enum managed_runtime runtime;
	const char *prefix; /* of the last part of a path */
	bool whole;	    /* it is all of it */
} modules[] = {
	{MANAGED_HOTSPOT, "libjvm.so", true}, {MANAGED_V8, "node", true},
	{MANAGED_V8, "nodejs", true},	      {MANAGED_V8, "libnode.so", false},
	{MANAGED_V8, "libv8.so", false},      {MANAGED_V8, "electron", true},
	{MANAGED_V8, "deno", true},	      {MANAGED_MONO, "libmono", false},
	{MANAGED_MONO, "mono-sgen", false},   {MANAGED_DOTNET, "libcoreclr.so", true},
};

static const struct {
	const char *key, *name, *tool;
} runtimes[] = {
	[MANAGED_NONE] = {NULL, NULL, NULL},
	[MANAGED_HOTSPOT] = {"hotspot", "JVM",
			     "`jcmd %d GC.class_histogram` counts its objects by class, `jcmd %d "
			     "GC.heap_dump FILE` (jmap) keeps them"},
	[MANAGED_V8] = {"v8", "JavaScript engine (V8)",
			"a heap snapshot shows its objects: `node --heapsnapshot-signal=SIGUSR2`, "
			"v8.writeHeapSnapshot(), or Chrome's DevTools"},
	[MANAGED_GO] = {"go", "Go runtime",
			"`go tool pprof http://…/debug/pprof/heap` (net/http/pprof) shows who "
			"allocates in it"},
	[MANAGED_MONO] = {"mono", "Mono runtime",
			  "`mono --profile=log:heapshot` and mprof-report show its objects"},
	[MANAGED_DOTNET] = {"dotnet", ".NET runtime",
			    "`dotnet-gcdump collect -p %d` keeps its objects, dotnet-counters "
			    "watches it"},
};
_Static_assert(ARRAY_SIZE(runtimes) == MANAGED_MAX_, "a row for every runtime");

static enum managed_runtime runtime_of_module(const char *path)
{
	const char *name = text_path_base(path);

	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		if (modules[i].whole ? !strcmp(name, modules[i].prefix)
				     : !strncmp(name, modules[i].prefix, strlen(modules[i].prefix)))
			return modules[i].runtime;
	}
	return MANAGED_NONE;
}

static bool is_anonymous(const struct mapping *mapping)
{
	return !mapping->inode && !mapping->shared &&
	       (!mapping->path[0] || !strncmp(mapping->path, "[anon:", 6));
}

static bool is_data(const struct mapping *mapping)
{
	return mapping->readable && mapping->writable && !mapping->executable;
}

/* What is reserved in one piece, of whatever protections. */
static void measure_run(struct managed_search *search, const struct mapping *mapping)
{
	struct managed_run *run = &search->run;

	if (!is_anonymous(mapping) || mapping->executable)
		return;
	if (mapping->start != run->end)
		*run = (struct managed_run){.start = mapping->start};
	run->end = mapping->end;
	run->used += is_data(mapping) ? mapping->end - mapping->start : 0;
	if (run->used > search->best.used)
		search->best = *run;
	else if (run->start == search->best.start)
		search->best.end = run->end;
}

/* A reservation of 1 GiB whose rest is not used yet. */
static void find_classes(struct managed_search *search, const struct mapping *mapping)
{
	for (size_t i = 0; i < MIN(search->start_count, (unsigned)MANAGED_STARTS); i++) {
		if (!mapping->readable && search->starts[i] == mapping->end - CLASS_SPACE) {
			search->heap.classes_start = search->starts[i];
			search->heap.classes_end = mapping->end;
		}
	}
}

static void add_low(struct managed_search *search, const struct mapping *mapping)
{
	search->starts[search->start_count++ % MANAGED_STARTS] = mapping->start;
	find_classes(search, mapping);
	if (!is_data(mapping) || mapping->path[0])
		return;
	if (!search->low_end)
		search->low_start = mapping->start;
	search->low_end = mapping->end;
}

void managed_search_add(struct managed_search *search, const struct mapping *mapping)
{
	enum managed_runtime runtime = MANAGED_NONE;

	if (mapping->inode)
		runtime = runtime_of_module(mapping->path);
	else if (is_anonymous(mapping) && mapping->start == GO_ARENAS)
		runtime = MANAGED_GO;
	if (search->heap.runtime == MANAGED_NONE)
		search->heap.runtime = runtime;
	if (is_anonymous(mapping) && mapping->end <= COMPRESSED_REACH + CLASS_SPACE)
		add_low(search, mapping);
	measure_run(search, mapping);
}

struct managed_heap managed_search_end(const struct managed_search *search)
{
	struct managed_heap heap = search->heap;
	bool low =
		search->low_end && (!heap.classes_end || search->low_start < heap.classes_start ||
				    search->low_end > heap.classes_end);
	bool reserves = heap.runtime == MANAGED_DOTNET || (heap.runtime == MANAGED_HOTSPOT && !low);

	if (reserves) {
		heap.start = search->best.start;
		heap.end = search->best.end;
	}
	return heap;
}

int managed_heap_find(pid_t pid, struct managed_heap *heap)
{
	_cleanup_(maps_free) struct maps maps = {0};
	struct managed_search search = {0};
	int error = maps_read(pid, MAPS_ALL, &maps);

	if (error)
		return error;
	for (size_t i = 0; i < maps.list.count; i++)
		managed_search_add(&search, &maps.list.items[i]);
	*heap = managed_search_end(&search);
	return 0;
}

/* glibc's arenas begin at multiples of 64 MiB. Whoever has no way to tell them loses a chunk here
 * and there to them. */
static bool may_be_arena(const struct mapping *mapping)
{
	return mapping->start % MALLOC_HEAP_MAX == 0 &&
	       mapping->end - mapping->start < MALLOC_HEAP_MAX;
}

static bool in_reservation(const struct managed_heap *heap, const struct mapping *mapping)
{
	return mapping->start >= heap->start && mapping->end <= heap->end;
}

bool managed_heap_has(const struct managed_heap *heap, const struct mapping *mapping)
{
	bool anonymous = is_anonymous(mapping) && is_data(mapping);

	switch (heap->runtime) {
	case MANAGED_HOTSPOT:
		if (!strncmp(mapping->path, "/memfd:java_heap", 16))
			return true;
		if (!anonymous || (heap->classes_end && mapping->start >= heap->classes_start &&
				   mapping->end <= heap->classes_end))
			return false;
		return heap->end ? in_reservation(heap, mapping) : mapping->end <= COMPRESSED_REACH;
	case MANAGED_V8:
		return anonymous && mapping->start % V8_PAGE == 0 && !may_be_arena(mapping);
	case MANAGED_GO:
		return anonymous &&
		       (!strncmp(mapping->path, "[anon: Go: heap", 15) ||
			(mapping->start >= GO_ARENAS && mapping->end <= GO_ARENAS_END));
	case MANAGED_MONO:
		return anonymous && !may_be_arena(mapping);
	case MANAGED_DOTNET:
		return anonymous && in_reservation(heap, mapping);
	default:
		return false;
	}
}

const char *managed_runtime_name(enum managed_runtime runtime)
{
	return runtimes[runtime].name;
}

const char *managed_runtime_key(enum managed_runtime runtime)
{
	return runtimes[runtime].key;
}

char *managed_runtime_tool(enum managed_runtime runtime, pid_t pid, char text[MANAGED_TOOL_SIZE])
{
	const char *from = runtimes[runtime].tool ? runtimes[runtime].tool : "";
	FILE *out = fmemopen(text, MANAGED_TOOL_SIZE, "w");

	*text = '\0';
	if (!out)
		return text;
	for (; *from; from++) {
		if (from[0] == '%' && from[1] == 'd') {
			fprintf(out, "%d", pid);
			from++;
		} else {
			fputc(*from, out);
		}
	}
	fclose(out);
	text[MANAGED_TOOL_SIZE - 1] = '\0';
	return text;
}
