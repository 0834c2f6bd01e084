// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of managed heaps: their figures, and what collections prove. */
#include "base/cleanup.h"
#include "report/dotnet_memory.h"
#include "report/figures.h"
#include "report/go_memory.h"
#include "report/heap_floor.h"
#include "report/java_memory.h"
#include "report/js_memory.h"
#include "report/python_memory.h"

#define NS_PER_MS 1000000

/* -------- Go */

static bool go_is_known(const void *go)
{
	return !((const struct go_memory *)go)->why;
}

static bool go_has_stats(const void *go)
{
	return go_is_known(go) && ((const struct go_memory *)go)->has_stats;
}

static bool go_has_limit(const void *go)
{
	return go_is_known(go) && ((const struct go_memory *)go)->limit != GO_NO_LIMIT;
}

#define GO(member) offsetof(struct go_memory, member)
static const struct figure go_figures[] = {
	FIGURE("version", NULL, NOTE, GO(version)),
	FIGURE("cannot_tell", NULL, TEXT, GO(why)),
	FIGURE("live_bytes", NULL, NUMBER, GO(live), .shown = go_is_known),
	FIGURE("allocated_since_bytes", NULL, NUMBER, GO(allocated), .shown = go_is_known),
	FIGURE("in_use_bytes", NULL, NUMBER, GO(in_use), .shown = go_is_known),
	FIGURE("free_bytes", NULL, NUMBER, GO(free), .shown = go_is_known),
	FIGURE("released_bytes", NULL, NUMBER, GO(released), .shown = go_is_known),
	FIGURE("stack_bytes", NULL, NUMBER, GO(stacks), .shown = go_has_stats),
	FIGURE("own_bytes", NULL, NUMBER, GO(own), .shown = go_has_stats),
	FIGURE("goal_bytes", NULL, SOME, GO(goal), .shown = go_is_known),
	FIGURE("gogc", NULL, SIGNED, GO(percent), .shown = go_is_known),
	FIGURE("gomemlimit_bytes", NULL, NUMBER, GO(limit), .shown = go_has_limit),
	FIGURE("collections", NULL, SOME, GO(collections)),
	FIGURE("collected_ms", NULL, SOME, GO(collected_ns), .per = NS_PER_MS),
};
const struct figures go_memory_figures = FIGURES(go_figures);

/* -------- Python */

static bool python_is_known(const void *python)
{
	return !((const struct python_memory *)python)->why;
}

#define PYTHON(member) offsetof(struct python_memory, member)
static const struct figure python_figures[] = {
	FIGURE("version", NULL, NOTE, PYTHON(version)),
	FIGURE("cannot_tell", NULL, TEXT, PYTHON(why)),
	FIGURE("arenas", NULL, NUMBER, PYTHON(arenas), .shown = python_is_known),
	FIGURE("arena_bytes", NULL, NUMBER, PYTHON(bytes), .shown = python_is_known),
	FIGURE("used_bytes", NULL, NUMBER, PYTHON(used), .shown = python_is_known),
	FIGURE("pool_free_bytes", NULL, NUMBER, PYTHON(pool_free), .shown = python_is_known),
	FIGURE("free_bytes", NULL, NUMBER, PYTHON(free), .shown = python_is_known),
	FIGURE("changed_pools", NULL, NUMBER, PYTHON(nonsense), .shown = python_is_known),
	FIGURE("sparse_arenas", NULL, NUMBER, PYTHON(sparse), .shown = python_is_known),
	FIGURE("sparse_free_bytes", NULL, NUMBER, PYTHON(sparse_free), .shown = python_is_known),
};
const struct figures python_memory_figures = FIGURES(python_figures);

#define PIN(member) offsetof(struct python_pin, member)
static const struct figure pin_figures[] = {
	FIGURE("class", NULL, TEXT, PIN(name)),
	FIGURE("objects", NULL, NUMBER, PIN(objects)),
	FIGURE("bytes", NULL, NUMBER, PIN(bytes)),
	FIGURE("arenas", NULL, NUMBER, PIN(arenas)),
};
const struct figures python_pin_figures = FIGURES(pin_figures);

void python_memory_free(struct python_memory *python)
{
	for (size_t i = 0; i < python->pins.count; i++)
		free(python->pins.items[i].name);
	vec_free(&python->pins);
	*python = (struct python_memory){0};
}

/* -------- JavaScript */

static bool js_is_known(const void *js)
{
	return !((const struct js_memory *)js)->why;
}

static bool js_has_buffers(const void *js)
{
	return js_is_known(js) && ((const struct js_memory *)js)->has_buffers;
}

static bool js_has_counts(const void *js)
{
	return js_is_known(js) && ((const struct js_memory *)js)->has_collections;
}

#define JS(member) offsetof(struct js_memory, member)
#define HAS_COUNTS .shown = js_has_counts
static const struct figure js_figures[] = {
	FIGURE("version", NULL, NOTE, JS(version)),
	FIGURE("cannot_tell", NULL, TEXT, JS(why)),
	FIGURE("heaps", NULL, NUMBER, JS(heaps), .shown = js_is_known),
	FIGURE("external_bytes", NULL, NUMBER, JS(external), .shown = js_is_known),
	FIGURE("array_buffer_bytes", NULL, NUMBER, JS(array_buffers), .shown = js_has_buffers),
	FIGURE("committed_bytes", NULL, NUMBER, JS(committed), .shown = js_is_known),
	FIGURE("collections", NULL, NUMBER, JS(collections), HAS_COUNTS),
	FIGURE("full_collections", NULL, NUMBER, JS(full_collections), HAS_COUNTS),
	FIGURE("kept_bytes", NULL, NUMBER, JS(kept), HAS_COUNTS),
};
const struct figures js_memory_figures = FIGURES(js_figures);

/* -------- .NET */

static bool dotnet_is_known(const void *dotnet)
{
	return !((const struct dotnet_memory *)dotnet)->why;
}

#define DOTNET(member) offsetof(struct dotnet_memory, member)
#define DOTNET_FIGURE(name, member)                                                                \
	FIGURE(name, NULL, NUMBER, DOTNET(member), .shown = dotnet_is_known)
static const struct figure dotnet_figures[] = {
	FIGURE("version", NULL, NOTE, DOTNET(version)),
	FIGURE("cannot_tell", NULL, TEXT, DOTNET(why)),
	DOTNET_FIGURE("heaps", heaps),
	DOTNET_FIGURE("collections", collections[0]),
	DOTNET_FIGURE("generation_1_collections", collections[1]),
	DOTNET_FIGURE("full_collections", collections[2]),
	FIGURE("collected_ms", NULL, SOME, DOTNET(collected_ns), .per = NS_PER_MS,
	       .shown = dotnet_is_known),
	FIGURE("full_collected_ms", NULL, SOME, DOTNET(full_ns), .per = NS_PER_MS,
	       .shown = dotnet_is_known),
	DOTNET_FIGURE("budget_bytes", small.allowed),
	DOTNET_FIGURE("allocated_since_bytes", small.allocated),
	DOTNET_FIGURE("large_budget_bytes", large.allowed),
	DOTNET_FIGURE("large_allocated_since_bytes", large.allocated),
	DOTNET_FIGURE("pinned_budget_bytes", pinned.allowed),
	DOTNET_FIGURE("pinned_allocated_since_bytes", pinned.allocated),
	DOTNET_FIGURE("kept_bytes", kept),
};
const struct figures dotnet_memory_figures = FIGURES(dotnet_figures);

/* -------- Java */

static bool java_is_known(const void *java)
{
	return !((const struct java_memory *)java)->why;
}

#define JAVA(member) offsetof(struct java_memory, member)
#define HAS(flag) .known = JAVA(flag)
static const struct figure java_figures[] = {
	FIGURE("version", NULL, NOTE, JAVA(version)),
	FIGURE("cannot_tell", NULL, TEXT, JAVA(why)),
	FIGURE("collector", NULL, TEXT, JAVA(collector)),
	FIGURE("used_bytes", NULL, NUMBER, JAVA(used), .shown = java_is_known),
	FIGURE("committed_bytes", NULL, NUMBER, JAVA(committed), .shown = java_is_known),
	FIGURE("limit_bytes", NULL, SOME, JAVA(maximum), .shown = java_is_known),
	FIGURE("kept_bytes", NULL, NUMBER, JAVA(kept), .shown = java_is_known),
	FIGURE("collections", NULL, NUMBER, JAVA(collections), HAS(has_counts)),
	FIGURE("full_collections", NULL, NUMBER, JAVA(full_collections), HAS(has_counts)),
	FIGURE("metaspace_bytes", NULL, NUMBER, JAVA(metaspace), HAS(has_metaspace)),
	FIGURE("metaspace_used_bytes", NULL, NUMBER, JAVA(metaspace_used), HAS(has_metaspace)),
	FIGURE("class_space_bytes", NULL, NUMBER, JAVA(class_space), HAS(has_metaspace)),
	FIGURE("classes", NULL, NUMBER, JAVA(classes), .shown = java_is_known),
};
const struct figures java_memory_figures = FIGURES(java_figures);

#define LOADERS(member) offsetof(struct java_loaders, member)
static const struct figure loader_figures[] = {
	FIGURE("name", NULL, TEXT, LOADERS(name)),
	FIGURE("loaders", NULL, NUMBER, LOADERS(loaders)),
	FIGURE("classes", NULL, NUMBER, LOADERS(classes)),
	FIGURE("metaspace_bytes", NULL, NUMBER, LOADERS(committed), .conditional = true),
	FIGURE("metaspace_used_bytes", NULL, NUMBER, LOADERS(used), .conditional = true),
};
const struct figures java_loaders_figures = FIGURES(loader_figures);

#define DIRECT .section = "direct_buffers", HAS(direct.known)
#define MAPPED .section = "mapped_buffers", HAS(mapped.known)
static const struct figure outside_figures[] = {
	FIGURE("code_cache_bytes", NULL, SOME, JAVA(code), .shown = java_is_known),
	FIGURE("code_cache_limit_bytes", NULL, SOME, JAVA(code_limit), .shown = java_is_known),
	FIGURE("threads", NULL, NUMBER, JAVA(threads), .shown = java_is_known),
	FIGURE("thread_stack_bytes", NULL, NUMBER, JAVA(thread_stacks), .shown = java_is_known),
	FIGURE("count", NULL, NUMBER, JAVA(direct.count), DIRECT),
	FIGURE("bytes", NULL, NUMBER, JAVA(direct.bytes), DIRECT),
	FIGURE("direct_buffers_limit_bytes", NULL, SOME, JAVA(direct_limit)),
	FIGURE("count", NULL, NUMBER, JAVA(mapped.count), MAPPED),
	FIGURE("bytes", NULL, NUMBER, JAVA(mapped.bytes), MAPPED),
};
const struct figures java_outside_figures = FIGURES(outside_figures);

/* -------- floors */

/* What is kept changes a little with each collection. */
#define GROWTH_MIN (1 << 20)
#define V8_OUTSIDE_LIMIT (64u << 20)

struct heap_floor java_floor_of(const struct java_memory *java)
{
	if (!java || java->why)
		return (struct heap_floor){0};
	return (struct heap_floor){
		.known = true, .kept = java->kept, .full = java->full_collections};
}

struct heap_floor dotnet_floor_of(const struct dotnet_memory *dotnet)
{
	if (!dotnet || dotnet->why)
		return (struct heap_floor){0};
	return (struct heap_floor){
		.known = true, .kept = dotnet->kept, .full = dotnet->collections[2]};
}

/* Each of its collections is of all. */
struct heap_floor go_floor_of(const struct go_memory *go)
{
	if (!go || go->why)
		return (struct heap_floor){0};
	return (struct heap_floor){.known = true,
				   .is_base = go->collections > 0,
				   .kept = go->collections ? go->live : 0,
				   .full = go->collections,
				   .none_yet = !go->collections};
}

struct heap_floor js_floor_of(const struct js_memory *js)
{
	if (!js || js->why || !js->has_collections)
		return (struct heap_floor){0};
	return (struct heap_floor){.known = true,
				   .is_base = true,
				   .kept = js->kept,
				   .full = js->full_collections,
				   .none_yet = js->uncollected > 0,
				   .uncollected = js->uncollected,
				   .key = js->heaps_key,
				   .outside_limit = V8_OUTSIDE_LIMIT};
}

/* Before a first collection all of a heap may be kept; if its size is unknown, that is what this
 * collection has left. */
static uint64_t most_kept(const struct heap_floor *first, const struct heap_floor *now)
{
	if (first->none_yet && !first->uncollected)
		return now->kept;
	return MIN(first->kept + first->uncollected, now->kept);
}

void heap_floor_rebase(struct heap_floor *first, const struct heap_floor *now)
{
	if (!first->known || !now->known || now->full <= first->full)
		return;
	first->kept = most_kept(first, now);
	first->none_yet = false;
	first->uncollected = 0;
	if (!first->is_base)
		first->full = now->full;
	first->is_base = true;
}

enum heap_proof heap_floor_compare(const struct heap_floor *first, const struct heap_floor *now,
				   int64_t grown)
{
	if (now->full <= first->full)
		return HEAP_UNPROVEN;
	if ((int64_t)(now->kept - first->kept) >= MAX(grown, GROWTH_MIN) / 5)
		return HEAP_KEEPS_MORE;
	return first->is_base ? HEAP_KEEPS_AS_MUCH : HEAP_UNPROVEN;
}

void heap_outside_look(struct heap_outside *outside, const struct heap_floor *now, int64_t bytes)
{
	if (!now->known)
		return;
	if (!outside->known || outside->key != now->key) {
		*outside = (struct heap_outside){.known = true,
						 .first = bytes,
						 .last = bytes,
						 .full = now->full,
						 .key = now->key};
		return;
	}
	if (now->full <= outside->full)
		return;
	/* What was there at the first look may have been garbage's. */
	if (!outside->is_base)
		outside->first = bytes;
	outside->is_base = true;
	outside->last = bytes;
	outside->full = now->full;
}

bool heap_outside_is_proven(const struct heap_outside *outside, const struct heap_floor *now,
			    int64_t bytes)
{
	if (!outside->known || !now->outside_limit ||
	    bytes - outside->last > (int64_t)now->outside_limit)
		return true;
	return outside->last - outside->first >= MAX((bytes - outside->first) / 2, GROWTH_MIN);
}

void java_memory_free(struct java_memory *java)
{
	for (size_t i = 0; i < java->loaders.count; i++)
		free(java->loaders.items[i].name);
	vec_free(&java->loaders);
	*java = (struct java_memory){0};
}
