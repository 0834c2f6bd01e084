// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The .NET collector's data of each generation: number of collections, time of the last one,
 * allocation budget until the next. These are in dynamic_data (gc/gcpriv.h, the same in 8, 9 and
 * 10), consecutive for five generations, at an undocumented place: among the collector's variables,
 * or in each heap of the server's.
 *
 * The place is found by invariants: the last words point to consecutive settings that begin with
 * the minimum budget; collections are numbered by those of generation 0; large and pinned objects
 * are collected with generation 2, older generations less often than younger ones. Exactly one
 * place must fit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "heap/runtime/dotnet/dotnet.h"
#include "heap/runtime/dotnet/reader.h"
#include "heap/runtime/runtime.h"
#include "report/figures.h"
#include "report/memory_report.h"
#include "heap/runtime/loaded_symbols.h"
#include "heap/runtime/mapping_shape.h"

#define SEARCHED_MAX (4u << 20) /* of the collector's variables */
#define HEAP_SEARCHED (64u << 10)
#define HEAPS_MAX 1024
#define TRIES 3
#define NS_PER_US 1000ull

/* Words of dynamic_data. */
#define WORDS 21
#define TABLE_WORDS (WORDS * DOTNET_GENERATIONS)
#define WORD_LEFT 0    /* rest of the budget; negative: exceeded */
#define WORD_BUDGET 3  /* desired_allocation */
#define WORD_KEPT 10   /* current_size: of objects, after the last collection */
#define WORD_COUNT 11  /* collection_count */
#define WORD_NUMBER 15 /* gc_clock: the last collection's */
#define WORD_TIME 16   /* time_clock: when it began, in us */
#define WORD_LEAST 19  /* min_size */
#define WORD_SETTINGS 20
#define SETTINGS_BYTES 56 /* static_data: begins with min_size */

#define GENERATION_LARGE 3
#define GENERATION_PINNED 4

struct search {
	struct dotnet *dotnet;
	uint64_t found;
	uint32_t count; /* number of places found */
};

static uint64_t word(const uint64_t *table, size_t generation, size_t place)
{
	return table[generation * WORDS + place];
}

static bool has_settings(struct dotnet *dotnet, const uint64_t *table)
{
	for (size_t i = 0; i < DOTNET_GENERATIONS; i++) {
		uint64_t settings = word(table, i, WORD_SETTINGS);

		if (!settings || settings & 7 ||
		    settings != word(table, 0, WORD_SETTINGS) + i * SETTINGS_BYTES ||
		    target_word(dotnet->memory, settings) != word(table, i, WORD_LEAST))
			return false;
	}
	return true;
}

static bool counts_fit(const uint64_t *table)
{
	uint64_t counts[DOTNET_GENERATIONS];

	for (size_t i = 0; i < DOTNET_GENERATIONS; i++)
		counts[i] = word(table, i, WORD_COUNT);
	return word(table, 0, WORD_NUMBER) == counts[0] && counts[0] >= counts[1] &&
	       counts[1] >= counts[2] && counts[GENERATION_LARGE] == counts[2] &&
	       counts[GENERATION_PINNED] == counts[2] && word(table, 1, WORD_NUMBER) <= counts[0] &&
	       word(table, 2, WORD_NUMBER) <= word(table, 1, WORD_NUMBER) &&
	       word(table, 0, WORD_TIME) >= word(table, 1, WORD_TIME) &&
	       word(table, 1, WORD_TIME) >= word(table, 2, WORD_TIME);
}

static bool budgets_fit(const uint64_t *table)
{
	for (size_t i = 0; i < DOTNET_GENERATIONS; i++) {
		uint64_t budget = word(table, i, WORD_BUDGET);

		if (!budget || budget > INT64_MAX ||
		    (int64_t)word(table, i, WORD_LEFT) > (int64_t)budget)
			return false;
	}
	return true;
}

static bool is_table(struct dotnet *dotnet, const uint64_t *table)
{
	return counts_fit(table) && budgets_fit(table) && has_settings(dotnet, table);
}

static int search(struct search *search, uint64_t start, uint64_t end)
{
	size_t size = (size_t)MIN(end - start, (uint64_t)SEARCHED_MAX) & ~(size_t)7;
	_cleanup_free_ uint64_t *words = NULL;

	if (start & 7 || size < TABLE_WORDS * sizeof(*words))
		return 0;
	words = malloc(size);
	if (!words)
		return -ENOMEM;
	for (size_t at = 0; at < size;) {
		size_t part = MIN(size - at, (size_t)MEMORY_PAGE);

		if (target_read(search->dotnet->memory, start + at, (char *)words + at, part))
			memset((char *)words + at, 0, part);
		at += part;
	}
	for (size_t i = 0; i + TABLE_WORDS <= size / 8; i++) {
		if (!words[i + WORD_SETTINGS] ||
		    words[i + WORDS + WORD_SETTINGS] != words[i + WORD_SETTINGS] + SETTINGS_BYTES ||
		    !is_table(search->dotnet, &words[i]))
			continue;
		search->found = start + i * 8;
		search->count++;
	}
	return 0;
}

/* Searches the mapping of the collector's variables. */
static int search_variables(struct search *searched)
{
	struct dotnet *dotnet = searched->dotnet;
	uint64_t table = dotnet_collector_place(dotnet, COLLECTOR_TABLE);
	const struct mapping *mapping = maps_find(dotnet->memory->maps, table);

	return mapping ? search(searched, mapping->start, mapping->end) : 0;
}

static void add_budget(struct dotnet_budget *budget, const uint64_t *table, size_t generation)
{
	uint64_t allowed = word(table, generation, WORD_BUDGET);

	budget->allowed += allowed;
	budget->allocated += allowed - word(table, generation, WORD_LEFT);
}

/* Returns the time since a collection; 0: none yet, or another clock. */
static uint64_t since(uint64_t time_us, uint64_t count, uint64_t now_ns)
{
	uint64_t then_ns = time_us * NS_PER_US;

	return count && time_us && time_us < UINT64_MAX / NS_PER_US && then_ns <= now_ns
		       ? MAX(now_ns - then_ns, (uint64_t)1)
		       : 0;
}

/*
 * Adds a heap's table; the server's heaps are collected together, and differ only in their budgets.
 */
static int add_table(struct dotnet *dotnet, uint64_t place, struct dotnet_memory *memory)
{
	uint64_t table[TABLE_WORDS], now_ns;

	if (target_read_now(dotnet->memory, place, table, sizeof(table)) ||
	    !is_table(dotnet, table))
		return -EAGAIN;
	now_ns = monotonic_ns();
	for (size_t i = 0; i < ARRAY_SIZE(memory->collections); i++)
		memory->collections[i] = MAX(memory->collections[i], word(table, i, WORD_COUNT));
	memory->collected_ns = since(word(table, 0, WORD_TIME), memory->collections[0], now_ns);
	memory->full_ns = since(word(table, 2, WORD_TIME), memory->collections[2], now_ns);
	if (dotnet->memory->maps->source.core)
		memory->collected_ns = memory->full_ns = 0;
	add_budget(&memory->small, table, 0);
	add_budget(&memory->large, table, GENERATION_LARGE);
	add_budget(&memory->pinned, table, GENERATION_PINNED);
	for (size_t i = 0; i < DOTNET_GENERATIONS; i++)
		memory->kept += word(table, i, WORD_KEPT);
	memory->heaps++;
	return 0;
}

/* Adds the table that was found. -ENOENT: none, or several. */
static int add_found(const struct search *searched, struct dotnet_memory *memory)
{
	return searched->count == 1 ? add_table(searched->dotnet, searched->found, memory)
				    : -ENOENT;
}

/* Returns the limit of a heap: the start of the next one. */
static uint64_t end_of_heap(const uint64_t *heaps, uint32_t count, uint64_t heap)
{
	uint64_t end = heap + HEAP_SEARCHED;

	for (uint32_t i = 0; i < count; i++) {
		if (heaps[i] > heap)
			end = MIN(end, heaps[i]);
	}
	return end;
}

static int read_server(struct dotnet *dotnet, uint32_t count, struct dotnet_memory *memory)
{
	uint64_t list = dotnet_collector_word(dotnet, COLLECTOR_HEAP_LIST);
	uint64_t heaps[HEAPS_MAX];
	int error = 0;

	if (count > HEAPS_MAX || target_read(dotnet->memory, list, heaps, count * sizeof(heaps[0])))
		return -ENOENT;
	for (uint32_t i = 0; !error && i < count; i++) {
		struct search searched = {.dotnet = dotnet};

		error = heaps[i] && heaps[i] <= UINT64_MAX - HEAP_SEARCHED
				? search(&searched, heaps[i], end_of_heap(heaps, count, heaps[i]))
				: -ENOENT;
		if (!error)
			error = add_found(&searched, memory);
	}
	return error;
}

static int read_all(struct dotnet *dotnet, struct dotnet_memory *memory)
{
	uint32_t heaps = (uint32_t)dotnet_collector_word(dotnet, COLLECTOR_HEAPS);
	struct search searched = {.dotnet = dotnet};
	int error;

	if (heaps && dotnet_collector_place(dotnet, COLLECTOR_HEAP_LIST))
		return read_server(dotnet, heaps, memory);
	error = search_variables(&searched);
	return error ? error : add_found(&searched, memory);
}

static int read_found(struct dotnet *dotnet, struct dotnet_memory *memory)
{
	struct dotnet_memory empty = *memory;
	int error = -ENOENT;

	for (unsigned i = 0; error && error != -ENOMEM && i < TRIES; i++) {
		*memory = empty;
		target_memory_forget(dotnet->memory);
		error = read_all(dotnet, memory);
	}
	memory->why = error ? "its collector has no figures where versions that are known have them"
			    : NULL;
	return error == -ENOMEM ? error : 0;
}

int dotnet_memory_of(struct target_memory *memory, struct dotnet_memory *found)
{
	struct dotnet *dotnet = calloc(1, sizeof(*dotnet));
	int error;

	if (!dotnet)
		return -ENOMEM;
	dotnet->memory = memory;
	error = dotnet_find(dotnet, found->version, &found->why);
	if (!error)
		error = read_found(dotnet, found);
	dotnet_free(dotnet);
	free(dotnet);
	return error == -ENOMEM ? error : 0;
}

static const char *const exported[] = {"g_dacTable", "DotNetRuntimeContractDescriptor"};

/* Returns whether a library, or the program itself, may contain the runtime. */
static bool may_have_runtime(const struct mapping *mapping)
{
	static const struct module_name names[] = {{"libcoreclr.so", true}};

	return !mapping->offset && mapping->path[0] == '/' &&
	       (mapping_is_module(mapping, names, ARRAY_SIZE(names)) ||
		!strstr(mapping->path, ".so"));
}

int dotnet_memory_read(const struct maps *maps, struct dotnet_memory *dotnet)
{
	struct loaded_module *module = malloc(sizeof(*module));
	struct target_memory memory;
	int error = module ? target_memory_open(maps, NULL, NULL, &memory) : -ENOMEM;

	*dotnet = (struct dotnet_memory){
		.why = "no program or library with the variable g_dacTable is mapped"};
	if (error) {
		free(module);
		return error;
	}
	for (size_t i = 0; !error && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (!may_have_runtime(mapping) ||
		    loaded_module_read(&memory, mapping, exported, ARRAY_SIZE(exported), module))
			continue;
		memory.modules = &module->modules;
		error = dotnet_memory_of(&memory, dotnet);
		break;
	}
	target_memory_close(&memory);
	free(module);
	return error;
}

/* -------- as reports have them */

#define NS_PER_MS 1000000

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
static const struct figures dotnet_memory_figures = FIGURES(dotnet_figures);

static const struct figure_words dotnet_words[] = {
	SAY(": collections: {collections}"),
	SAY_FROM(1, "collected_ms", ", the last one {collected_ms} ago"),
	SAY("; {full_collections} of them of the whole heap"),
	SAY_FROM(1, "full_collected_ms", ", the last one {full_collected_ms} ago"),
	SAY_FROM(1, "collections", "; they left {kept_bytes} in objects"),
	SAY_FROM(2, "heaps", "; in {heaps} heaps"),
	SAY("\n\tallocated since then, of what is allowed until the next one, garbage or not: "
	    "small objects: {allocated_since_bytes} of {budget_bytes}, large ones: "
	    "{large_allocated_since_bytes} of {large_budget_bytes}, pinned ones: "
	    "{pinned_allocated_since_bytes} of {pinned_budget_bytes}\n"),
};

static const struct runtime_view dotnet_view = {.key = "dotnet",
						.name = ".NET",
						.unknown = "its collections are not known",
						.figures = &dotnet_memory_figures,
						FIGURE_WORDS(dotnet_words),
						.size = sizeof(struct dotnet_memory)};

struct heap_floor dotnet_floor_of(const struct dotnet_memory *dotnet)
{
	if (!dotnet || dotnet->why)
		return (struct heap_floor){0};
	return (struct heap_floor){
		.known = true, .kept = dotnet->kept, .full = dotnet->collections[2]};
}

static void dotnet_count(const void *figures, struct runtime_memory *memory)
{
	const struct dotnet_memory *dotnet = figures;

	memory->floor = dotnet_floor_of(dotnet);
	memory->words = (struct heap_words){.kept = "in objects",
					    .room = dotnet->small.allowed,
					    .before = "new small objects may take",
					    .after = " until the next collection"};
}

static int dotnet_read(const struct maps *maps, void *figures)
{
	return dotnet_memory_read(maps, figures);
}

const struct memory_reader dotnet_memory_reader = {
	.view = &dotnet_view, .read = dotnet_read, .count = dotnet_count};
