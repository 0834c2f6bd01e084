// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory of a running JVM, in its heap and outside, by the VM's own counters: what Native
 * Memory Tracking would report for heap, metaspace, code cache and threads, without its switch; and
 * the buffers of java.nio. Nothing is stopped; if a collection is under way, all is read again.
 *
 * Not in the VM's description: the number of full collections, which follows that of all
 * collections (gc/shared/collectedHeap.hpp), and metaspace. Since 16
 * (src/hotspot/share/memory/metaspace) a ClassLoaderData has, behind its loader, a
 * ClassLoaderMetaspace {lock, type, arena, arena of classes}; an arena is {lock, manager, policy,
 * first chunk, chunks, free blocks}; a chunk {base, used words, committed words, level, state,
 * node, previous, next}; a manager begins with its list {…, words reserved, words committed}. All
 * of it is checked: chunks have at most 16 MiB, belong to no file, and are as many as the arena
 * counts. Contradictions may come from a change under way, so all is read again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "binary/arch/machine.h"
#include "heap/runtime/hotspot/hotspot.h"
#include "heap/runtime/hotspot/reader.h"
#include "heap/runtime/runtime.h"
#include "report/figures.h"
#include "report/memory_report.h"
#include "heap/runtime/loaded_symbols.h"
#include "heap/runtime/mapping_shape.h"

#define TRIES 4 /* while it collects, or loads classes */
#define LOADERS_SHOWN 32
#define CODE_HEAPS_MAX 16

/* Words of ClassLoaderMetaspace, of an arena, of a chunk and of a list, 8 bytes each. */
#define METASPACE_ARENAS 2 /* followed by the arena of classes */
#define ARENA_MANAGER 1
#define ARENA_CHUNK 3
#define ARENA_COUNT 4
#define CHUNK_BASE 0
#define CHUNK_USED 1
#define CHUNK_COMMITTED 2
#define CHUNK_LEVEL 3 /* a byte, followed by one for the state */
#define CHUNK_NEXT 6
#define CHUNK_WORDS 7
#define LIST_RESERVED 5
#define LIST_COMMITTED 6
#define LIST_WORDS 7
#define CHUNK_BYTES_MAX (16ull << 20)
#define CHUNK_LEVELS 15u
#define CHUNK_IN_USE 1u
#define GRANULE (64ull << 10) /* unit of commitment */
#define CLASS_ARENA 1

/* PerfData (runtime/perfMemory.hpp), version 2. */
#define COUNTERS_MAGIC 0xc0c0fecau /* in network byte order */
#define COUNTERS_BYTES_MAX (1u << 20)
#define COUNTERS_ENTRIES 24 /* offset of the first counter, 4 bytes; then their number */
#define COUNTER_NAME 4
#define COUNTER_DATA 16
#define COUNTER_BYTES 20

struct reading {
	struct hotspot *hotspot;
	struct java_memory *java;
	struct hash index; /* hash of a loader's name -> its place plus 1 */
	uint64_t lists[2]; /* of metaspace, and of the class space; 0: not found yet */
	bool contradicts;  /* metaspace is inconsistent */
};

/* -------- heap */

static const struct {
	enum hotspot_flag flag;
	const char *name;
} collectors[] = {
	{HOTSPOT_G1, "G1"}, {HOTSPOT_SERIAL, "Serial"},		{HOTSPOT_PARALLEL, "Parallel"},
	{HOTSPOT_Z, "ZGC"}, {HOTSPOT_SHENANDOAH, "Shenandoah"}, {HOTSPOT_EPSILON, "Epsilon"},
};

uint64_t hotspot_counter(struct hotspot *hotspot, const char *name)
{
	uint64_t start = hotspot_static(hotspot, HOTSPOT_COUNTERS_START);
	uint64_t top = hotspot_static(hotspot, HOTSPOT_COUNTERS_TOP), value = 0;
	_cleanup_free_ unsigned char *bytes = NULL;
	uint32_t at, count, magic, entry[COUNTER_BYTES / 4];
	size_t size = (size_t)(top - start), length = strlen(name) + 1;

	if (!start || top < start || size > COUNTERS_BYTES_MAX || size < 32)
		return 0;
	bytes = malloc(size);
	if (!bytes || target_read(hotspot->memory, start, bytes, size))
		return 0;
	memcpy(&magic, bytes, sizeof(magic));
	memcpy(&at, bytes + COUNTERS_ENTRIES, sizeof(at));
	memcpy(&count, bytes + COUNTERS_ENTRIES + 4, sizeof(count));
	for (; magic == COUNTERS_MAGIC && count && at + COUNTER_BYTES <= size; count--) {
		memcpy(entry, bytes + at, sizeof(entry));
		if (entry[0] < COUNTER_BYTES || entry[0] > size - at)
			break;
		if (entry[COUNTER_NAME / 4] <= entry[0] - MIN(length, (size_t)entry[0]) &&
		    entry[COUNTER_DATA / 4] <= entry[0] - sizeof(value) &&
		    !memcmp(bytes + at + entry[COUNTER_NAME / 4], name, length)) {
			memcpy(&value, bytes + at + entry[COUNTER_DATA / 4], sizeof(value));
			break;
		}
		at += entry[0];
	}
	return value;
}

/* G1 frees old objects after a concurrent cycle, which has two short pauses each. Shenandoah has
 * one counter for all its operations. */
static void read_collections(struct hotspot *hotspot, struct java_memory *java)
{
	uint64_t at = hotspot->heap + hotspot_place(hotspot, HOTSPOT_HEAP_COLLECTIONS);
	uint32_t counts[2] = {0, 0};

	target_read(hotspot->memory, at, counts, sizeof(counts));
	java->collections = counts[0];
	java->full_collections = MIN(counts[0], counts[1]);
	java->has_counts = !hotspot->layout.flags[HOTSPOT_SHENANDOAH];
	if (hotspot->layout.flags[HOTSPOT_G1])
		java->full_collections +=
			hotspot_counter(hotspot, "sun.gc.collector.2.invocations") / 2;
	else if (!java->has_counts)
		java->full_collections = hotspot_counter(hotspot, "sun.gc.collector.1.invocations");
}

static int read_heap(struct hotspot *hotspot, struct java_memory *java)
{
	struct walk_report report = {0};
	int error = hotspot_find_ranges(hotspot, &report);

	for (size_t i = 0; i < ARRAY_SIZE(collectors); i++) {
		if (hotspot->layout.flags[collectors[i].flag])
			java->collector = collectors[i].name;
	}
	java->committed = report.heap_bytes;
	java->used = report.heap_bytes - report.free_bytes;
	java->kept = java->used - MIN(hotspot->eden_bytes, java->used);
	java->maximum = hotspot->layout.flags[HOTSPOT_MAX_HEAP];
	read_collections(hotspot, java);
	return error;
}

/* -------- code cache */

static uint64_t space_bytes(struct hotspot *hotspot, uint64_t space)
{
	uint64_t low = hotspot_member(hotspot, space, HOTSPOT_SPACE_LOW);
	uint64_t high = hotspot_member(hotspot, space, HOTSPOT_SPACE_HIGH);

	return low <= high && high >> MACHINE_USER_BITS == 0 ? high - low : 0;
}

static void read_code(struct hotspot *hotspot, struct java_memory *java)
{
	uint64_t heaps = hotspot_static(hotspot, HOTSPOT_CODE_HEAPS);
	uint32_t count = hotspot_member32(hotspot, heaps, HOTSPOT_ARRAY_LENGTH);
	uint64_t items = hotspot_member(hotspot, heaps, HOTSPOT_ARRAY_DATA);

	for (uint32_t i = 0; items && i < MIN(count, (uint32_t)CODE_HEAPS_MAX); i++) {
		uint64_t heap = target_word(hotspot->memory, items + i * 8ull);

		if (!heap || !hotspot_has(hotspot, HOTSPOT_CODE_SEGMENTS))
			continue;
		java->code +=
			space_bytes(hotspot, heap + hotspot_place(hotspot, HOTSPOT_CODE_MEMORY)) +
			space_bytes(hotspot, heap + hotspot_place(hotspot, HOTSPOT_CODE_SEGMENTS));
	}
	java->code_limit = hotspot->layout.flags[HOTSPOT_CODE_LIMIT];
}

/* -------- threads */

static int read_threads(struct hotspot *hotspot, struct java_memory *java)
{
	int error = hotspot_read_threads(hotspot);

	java->threads = hotspot->threads.count;
	for (size_t i = 0; i < hotspot->threads.count; i++)
		java->thread_stacks += hotspot_member(hotspot, hotspot->threads.items[i],
						      HOTSPOT_THREAD_STACK_BYTES) &
				       UINT32_MAX;
	return error;
}

/* -------- buffers of java.nio */

struct number {
	struct hotspot *hotspot;
	uint64_t mirror;
	const char *name;
	uint64_t value;
	bool found;
};

static int take_number(void *context, const struct hotspot_declared *field)
{
	struct number *number = context;
	struct hotspot *hotspot = number->hotspot;
	uint64_t at = number->mirror + field->offset, object;
	uint32_t offset;

	if (!field->is_static || strcmp(field->name, number->name) != 0)
		return 0;
	if (field->type == 'I')
		number->value = hotspot_number(hotspot, at);
	else if (field->type == 'J')
		number->value = target_word(hotspot->memory, at);
	number->found = field->type == 'I' || field->type == 'J';
	/* java.util.concurrent.atomic.AtomicLong. */
	object = field->type == 'L' ? hotspot_oop(hotspot, at) : 0;
	offset = object ? hotspot_field_offset(hotspot, hotspot_klass_of(hotspot, object), "value")
			: 0;
	if (offset) {
		number->value = target_word(hotspot->memory, object + offset);
		number->found = true;
	}
	return -EEXIST;
}

/* Reads a static field of a class; returns false if it is missing or implausible. */
static bool read_number(struct hotspot *hotspot, uint64_t klass, const char *name, uint64_t *value)
{
	uint64_t handle = hotspot_member(hotspot, klass, HOTSPOT_KLASS_MIRROR);
	struct number number = {.hotspot = hotspot,
				.mirror = handle ? hotspot_handle(hotspot, handle) : 0,
				.name = name};

	if (number.mirror)
		hotspot_each_field(hotspot, klass, take_number, &number);
	if (!number.found || number.value >> MACHINE_USER_BITS)
		return false;
	*value += number.value;
	return true;
}

static void take_direct(struct hotspot *hotspot, uint64_t klass, struct java_memory *java)
{
	java->direct.known = read_number(hotspot, klass, "COUNT", &java->direct.count) &&
			     read_number(hotspot, klass, "RESERVED_MEMORY", &java->direct.bytes);
	read_number(hotspot, klass, "MAX_MEMORY", &java->direct_limit);
}

/* Adds one of several kinds of mapped buffers. */
static void take_mapped(struct hotspot *hotspot, uint64_t klass, struct java_memory *java)
{
	java->mapped.known |= read_number(hotspot, klass, "count", &java->mapped.count) &&
			      read_number(hotspot, klass, "totalSize", &java->mapped.bytes);
}

/* Classes of the JDK that count their allocations. */
static const struct {
	const char *symbol;
	void (*take)(struct hotspot *hotspot, uint64_t klass, struct java_memory *java);
} counting[] = {
	{"java/nio/Bits", take_direct},
	{"sun/nio/ch/FileChannelImpl$DefaultUnmapper", take_mapped},
	{"sun/nio/ch/FileChannelImpl$SyncUnmapper", take_mapped},
};

static void take_class(struct hotspot *hotspot, uint64_t klass, struct java_memory *java)
{
	uint64_t symbol = hotspot_member(hotspot, klass, HOTSPOT_KLASS_NAME);
	uint16_t length = 0;
	char name[64];

	if (!symbol ||
	    target_read(hotspot->memory, symbol + hotspot_place(hotspot, HOTSPOT_SYMBOL_LENGTH),
			&length, sizeof(length)))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(counting); i++) {
		if (strlen(counting[i].symbol) != length)
			continue;
		hotspot_symbol(hotspot, symbol, name, sizeof(name));
		if (!strcmp(name, counting[i].symbol))
			counting[i].take(hotspot, klass, java);
	}
}

/* -------- class loaders and their metaspace */

/* Returns whether an address is memory of no file; it may have been only reserved when the mappings
 * were read. */
static bool is_memory(const struct hotspot *hotspot, uint64_t address)
{
	const struct mapping *mapping = maps_find(hotspot->memory->maps, address);

	return mapping && !mapping->inode;
}

/* Adds one chunk to the loaders; returns false if it is none. */
static bool add_chunk(struct reading *reading, const uint64_t chunk[CHUNK_WORDS],
		      struct java_loaders *loaders)
{
	uint64_t base = chunk[CHUNK_BASE], used = chunk[CHUNK_USED];
	uint64_t committed = chunk[CHUNK_COMMITTED], level = chunk[CHUNK_LEVEL] & 0xff;

	if (!base || base & 7 || level >= CHUNK_LEVELS ||
	    (chunk[CHUNK_LEVEL] >> 8 & 0xff) != CHUNK_IN_USE || used > committed ||
	    committed > (CHUNK_BYTES_MAX >> level) / 8 || !is_memory(reading->hotspot, base))
		return false;
	loaders->used += used * 8;
	loaders->committed += committed * 8;
	return true;
}

/* Finds the list that supplies an arena's memory. */
static void find_list(struct reading *reading, uint64_t manager, uint64_t *list)
{
	uint64_t words[LIST_WORDS], found = target_word(reading->hotspot->memory, manager);

	if (*list == found)
		return;
	if (*list || !found || target_read(reading->hotspot->memory, found, words, sizeof(words)) ||
	    words[LIST_COMMITTED] > words[LIST_RESERVED] || words[LIST_RESERVED] * 8 % GRANULE ||
	    words[LIST_COMMITTED] * 8 % GRANULE || words[LIST_RESERVED] >> (MACHINE_USER_BITS - 3))
		reading->contradicts = true;
	*list = found;
}

static void add_arena(struct reading *reading, uint64_t arena, uint64_t *list,
		      struct java_loaders *loaders)
{
	struct target_memory *memory = reading->hotspot->memory;
	uint64_t words[ARENA_COUNT + 1], chunk[CHUNK_WORDS] = {0}, at, count;

	if (!arena)
		return;
	if (arena & 7 || target_read(memory, arena, words, sizeof(words))) {
		reading->contradicts = true;
		return;
	}
	find_list(reading, words[ARENA_MANAGER], list);
	count = words[ARENA_COUNT] & UINT32_MAX;
	for (at = words[ARENA_CHUNK]; at && count && !reading->contradicts; count--) {
		if (target_read(memory, at, chunk, sizeof(chunk)) ||
		    !add_chunk(reading, chunk, loaders))
			reading->contradicts = true;
		at = chunk[CHUNK_NEXT];
	}
	if (at || count)
		reading->contradicts = true;
}

static void add_metaspace(struct reading *reading, uint64_t loader, struct java_loaders *loaders)
{
	struct target_memory *memory = reading->hotspot->memory;
	uint64_t at = loader + hotspot_place(reading->hotspot, HOTSPOT_LOADER_OBJECT) + 8;
	uint64_t metaspace = target_word(memory, at);

	for (size_t i = 0; metaspace && !reading->contradicts && i < 2; i++)
		add_arena(reading, target_word(memory, metaspace + (METASPACE_ARENAS + i) * 8),
			  &reading->lists[i], loaders);
}

static void count_classes(struct reading *reading, uint64_t loader, struct java_loaders *loaders)
{
	struct hotspot *hotspot = reading->hotspot;
	uint64_t klass = hotspot_member(hotspot, loader, HOTSPOT_LOADER_KLASSES);
	struct loop loop = {0};

	while (klass && !loop_found(&loop, klass)) {
		take_class(hotspot, klass, reading->java);
		loaders->classes++;
		klass = hotspot_member(hotspot, klass, HOTSPOT_KLASS_NEXT);
	}
}

/* Adds a loader to the row of its class. 0 or -ENOMEM. */
static int add_loader(struct reading *reading, const char *name, const struct java_loaders *added)
{
	uint64_t *slot = hash_put(&reading->index, hash_text(name) | 1, NULL);
	struct java_loaders *loaders;

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		loaders = vec_push(&reading->java->loaders);
		if (!loaders)
			return -ENOMEM;
		*loaders = (struct java_loaders){.name = strdup(name)};
		if (!loaders->name) {
			reading->java->loaders.count--;
			return -ENOMEM;
		}
		*slot = reading->java->loaders.count;
	}
	loaders = &reading->java->loaders.items[*slot - 1];
	loaders->loaders++;
	loaders->classes += added->classes;
	loaders->committed += added->committed;
	loaders->used += added->used;
	return 0;
}

static int read_loader(struct reading *reading, uint64_t loader)
{
	struct java_loaders loaders = {0};
	char name[HOTSPOT_NAME_BYTES];

	hotspot_loader_name(reading->hotspot, loader, name);
	count_classes(reading, loader, &loaders);
	add_metaspace(reading, loader, &loaders);
	reading->java->classes += loaders.classes;
	reading->java->metaspace_used += loaders.used;
	return add_loader(reading, name, &loaders);
}

static int by_metaspace(const void *left_pointer, const void *right_pointer)
{
	const struct java_loaders *left = left_pointer, *right = right_pointer;

	if (left->committed != right->committed)
		return left->committed > right->committed ? -1 : 1;
	if (left->classes != right->classes)
		return left->classes > right->classes ? -1 : 1;
	return strcmp(left->name, right->name);
}

static void finish_metaspace(struct reading *reading)
{
	struct java_memory *java = reading->java;
	struct target_memory *memory = reading->hotspot->memory;

	java->has_metaspace = !reading->contradicts && reading->lists[0];
	for (size_t i = 0; java->has_metaspace && i < 2; i++)
		java->metaspace +=
			reading->lists[i]
				? target_word(memory, reading->lists[i] + LIST_COMMITTED * 8ull) * 8
				: 0;
	if (java->has_metaspace && reading->lists[CLASS_ARENA])
		java->class_space =
			target_word(memory, reading->lists[CLASS_ARENA] + LIST_COMMITTED * 8ull) *
			8;
	if (java->loaders.count)
		qsort(java->loaders.items, java->loaders.count, sizeof(*java->loaders.items),
		      by_metaspace);
	while (java->loaders.count > LOADERS_SHOWN)
		free(java->loaders.items[--java->loaders.count].name);
	for (size_t i = 0; i < java->loaders.count; i++)
		java->loaders.items[i].has_metaspace = java->has_metaspace;
}

static int read_loaders(struct hotspot *hotspot, struct java_memory *java)
{
	struct reading reading = {.hotspot = hotspot, .java = java};
	uint64_t loader = hotspot_static(hotspot, HOTSPOT_LOADERS);
	struct loop loop = {0};
	int error = 0;

	while (!error && loader && !loop_found(&loop, loader)) {
		error = read_loader(&reading, loader);
		loader = hotspot_member(hotspot, loader, HOTSPOT_LOADER_NEXT);
	}
	finish_metaspace(&reading);
	hash_free(&reading.index);
	return !error && reading.contradicts ? -EAGAIN : error;
}

/* -------- all */

/* Returns -EAGAIN if a collection ran during the reading, or metaspace is inconsistent; the other
 * figures are known then. */
static int read_once(struct target_memory *memory, struct java_memory *java)
{
	struct hotspot *hotspot = hotspot_open(memory);
	struct java_memory again = {0};
	int error = hotspot ? hotspot_find(hotspot, java->version, &java->why) : -ENOMEM;

	if (!error) {
		java->why = NULL;
		error = hotspot_is_collecting(hotspot) ? -EAGAIN : read_heap(hotspot, java);
	}
	if (!error)
		read_code(hotspot, java);
	if (!error)
		error = read_threads(hotspot, java);
	if (!error)
		error = read_loaders(hotspot, java);
	if (error != -ENOMEM && target_memory_overworked(memory)) {
		java->why = target_memory_overworked(memory);
		error = -ENOENT;
	}
	if (!error) {
		target_memory_forget(memory);
		read_collections(hotspot, &again);
		if (again.collections != java->collections || hotspot_is_collecting(hotspot))
			error = -EAGAIN;
	}
	if (hotspot)
		hotspot_close(hotspot);
	return error;
}

int java_memory_of(struct target_memory *memory, struct java_memory *java)
{
	int error = -EAGAIN;

	for (int i = 0; error == -EAGAIN && i < TRIES; i++) {
		java_memory_free(java);
		target_memory_forget(memory);
		error = read_once(memory, java);
	}
	/* Counters read during a collection are better than none. */
	if (error == -EAGAIN && !java->collector)
		java->why = "it collects whenever it is read";
	return error == -ENOMEM ? error : 0;
}

static const char *const exported[] = {
	"gHotSpotVMStructs",
	"gHotSpotVMStructEntryTypeNameOffset",
	"gHotSpotVMStructEntryFieldNameOffset",
	"gHotSpotVMStructEntryIsStaticOffset",
	"gHotSpotVMStructEntryOffsetOffset",
	"gHotSpotVMStructEntryAddressOffset",
	"gHotSpotVMStructEntryArrayStride",
	"gHotSpotVMTypes",
	"gHotSpotVMTypeEntryTypeNameOffset",
	"gHotSpotVMTypeEntrySizeOffset",
	"gHotSpotVMTypeEntryArrayStride",
	"gHotSpotVMLongConstants",
	"gHotSpotVMLongConstantEntryNameOffset",
	"gHotSpotVMLongConstantEntryValueOffset",
	"gHotSpotVMLongConstantEntryArrayStride",
};
_Static_assert(ARRAY_SIZE(exported) <= LOADED_SYMBOLS_MAX, "room for all");

static const struct mapping *find_library(const struct maps *maps)
{
	static const struct module_name names[] = {{"libjvm.so", true}};

	for (size_t i = 0; i < maps->list.count; i++) {
		if (!maps->list.items[i].offset &&
		    mapping_is_module(&maps->list.items[i], names, ARRAY_SIZE(names)))
			return &maps->list.items[i];
	}
	return NULL;
}

/* Calls `read` with memory that has this library as its module. Returns its result; 0 without a
 * library, or -ENOMEM. */
static int with_library(const struct maps *maps, void *context,
			int (*read)(struct target_memory *memory, void *context))
{
	const struct mapping *library = find_library(maps);
	struct loaded_module *module = malloc(sizeof(*module));
	struct target_memory memory;
	int error = module ? target_memory_open(maps, NULL, NULL, &memory) : -ENOMEM;

	if (error) {
		free(module);
		return error;
	}
	if (library &&
	    !loaded_module_read(&memory, library, exported, ARRAY_SIZE(exported), module)) {
		memory.modules = &module->modules;
		error = read(&memory, context);
	}
	target_memory_close(&memory);
	free(module);
	return error;
}

static int read_memory(struct target_memory *memory, void *context)
{
	return java_memory_of(memory, context);
}

int java_memory_read(const struct maps *maps, struct java_memory *java)
{
	*java = (struct java_memory){.why = "its library describes no structures"};
	return with_library(maps, java, read_memory);
}

/* A VM that has just started has no description yet. */
static int read_refusal(struct target_memory *memory, void *context)
{
	struct hotspot *hotspot = hotspot_open(memory);
	const char **refusal = context, *why = NULL;
	char version[24] = "";

	if (!hotspot)
		return -ENOMEM;
	if (hotspot_find(hotspot, version, &why) && version[0])
		*refusal = why;
	hotspot_close(hotspot);
	return 0;
}

const char *java_refusal(const struct maps *maps)
{
	const char *refusal = NULL;

	return with_library(maps, &refusal, read_refusal) ? NULL : refusal;
}

/* -------- as reports have them */

void java_memory_free(struct java_memory *java)
{
	for (size_t i = 0; i < java->loaders.count; i++)
		free(java->loaders.items[i].name);
	vec_free(&java->loaders);
	*java = (struct java_memory){0};
}

static bool java_is_known(const void *java)
{
	return !((const struct java_memory *)java)->why;
}

#define LOADERS(member) offsetof(struct java_loaders, member)
static const struct figure loader_figures[] = {
	FIGURE("name", NULL, TEXT, LOADERS(name)),
	FIGURE("loaders", NULL, NUMBER, LOADERS(loaders)),
	FIGURE("classes", NULL, NUMBER, LOADERS(classes)),
	FIGURE("metaspace_bytes", NULL, NUMBER, LOADERS(committed),
	       .known = LOADERS(has_metaspace)),
	FIGURE("metaspace_used_bytes", NULL, NUMBER, LOADERS(used),
	       .known = LOADERS(has_metaspace)),
};
static const struct figures java_loaders_figures = FIGURES(loader_figures);

#define JAVA(member) offsetof(struct java_memory, member)
#define HAS(flag) .known = JAVA(flag)
#define DIRECT .section = "direct_buffers", HAS(direct.known)
#define MAPPED .section = "mapped_buffers", HAS(mapped.known)
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
	FIGURE("loaders", NULL, LIST, JAVA(loaders), .size = sizeof(struct java_loaders),
	       .items = &java_loaders_figures),
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
static const struct figures java_memory_figures = FIGURES(java_figures);

static bool java_has_direct_limit(const void *java)
{
	const struct java_memory *memory = java;

	return memory->direct.known && memory->direct_limit;
}

static bool loaders_are_several(const void *loaders)
{
	const struct java_loaders *of_class = loaders;

	return of_class->committed && of_class->loaders > 1;
}

static const struct figure_words loaders_words[] = {
	SAY_FROM(1, "metaspace_bytes", "\t    {metaspace_bytes:10} in {classes} classes: {name}"),
	SAY_IF(loaders_are_several, " × {loaders}"),
	SAY_FROM(1, "metaspace_bytes", "\n"),
};

static const struct list_words java_loaders_words = {
	.name = "loaders", .most = 5, FIGURE_WORDS(loaders_words)};

static const struct figure_words java_words[] = {
	SAY(", {collector}: {used_bytes} used, {committed_bytes} committed (limit "
	    "{limit_bytes})"),
	SAY_KNOWN("collections",
		  "; collections: {collections}, {full_collections} of them of the whole "
		  "heap; outside Eden: {kept_bytes}"),
	SAY("\n\toff its heap: code cache: {code_cache_bytes} (limit "
	    "{code_cache_limit_bytes}), {threads} threads with {thread_stack_bytes} for "
	    "stacks"),
	SAY_KNOWN("direct_buffers.bytes",
		  ", direct buffers: {direct_buffers.bytes} in {direct_buffers.count}"),
	SAY_IF(java_has_direct_limit, " (limit {direct_buffers_limit_bytes})"),
	SAY_KNOWN("mapped_buffers.bytes",
		  ", mapped buffers: {mapped_buffers.bytes} in {mapped_buffers.count}"),
	SAY("\n"),
	SAY_KNOWN("metaspace_bytes",
		  "\tmetaspace: {metaspace_bytes}, {metaspace_used_bytes} of it used, "
		  "for {classes} classes\n"),
	{.known = "metaspace_bytes", .list = &java_loaders_words},
};

static void java_free(void *figures)
{
	java_memory_free(figures);
}

static const struct runtime_view java_view = {.key = "java",
					      .name = "JVM",
					      .unknown = "where its memory goes is not known",
					      .figures = &java_memory_figures,
					      FIGURE_WORDS(java_words),
					      .size = sizeof(struct java_memory),
					      .free = java_free};

struct heap_floor java_floor_of(const struct java_memory *java)
{
	if (!java || java->why)
		return (struct heap_floor){0};
	return (struct heap_floor){
		.known = true, .kept = java->kept, .full = java->full_collections};
}

static void java_count(const void *figures, struct runtime_memory *memory)
{
	const struct java_memory *java = figures;

	memory->floor = java_floor_of(java);
	memory->words = (struct heap_words){.kept = "outside Eden",
					    .room = java->maximum,
					    .before = "it may become",
					    .after = " (-Xmx)"};
}

static int java_read(const struct maps *maps, void *figures)
{
	return java_memory_read(maps, figures);
}

const struct memory_reader java_memory_reader = {
	.view = &java_view, .read = java_read, .count = java_count};
