// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HotSpot (libjvm.so). The heap lies below 32 GiB, within reach of compressed pointers; so may the
 * class space, in its own 1 GiB. A heap without compressed pointers is the reservation with most
 * memory in use. ZGC maps a memfd named java_heap.
 *
 * Objects lie one after the other in ranges defined by the collector: G1's regions, the spaces of
 * Serial, Parallel and Epsilon, pages of ZGC. Each begins with its Klass, which gives its size; the
 * threads' allocation buffers are skipped.
 */
#include "heap/runtime/hotspot/hotspot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "heap/runtime/class_origin.h"
#include "heap/runtime/hotspot/reader.h"
#include "heap/runtime/mapping_shape.h"
#include "heap/runtime/runtime.h"

/* Reach of 32 bits shifted by three (-XX:+UseCompressedOops). */
#define COMPRESSED_REACH (32ull << 30)

/* -XX:CompressedClassSpaceSize. */
#define CLASS_SPACE (1ull << 30)

#define STARTS 16

#define GROWTH_MAX (1ull << 30)
#define STREAM_BYTES (256u << 10)
#define OBJECT_BYTES_MIN 8

struct survey {
	struct largest_reservation reservation;
	uint64_t low_start, low_end;	     /* bounds of all low memory in use */
	uint64_t classes_start, classes_end; /* end 0: no class space below 32 GiB */
	uint64_t starts[STARTS];	     /* starts of the latest low mappings, a ring */
	unsigned start_count;
};

static bool detect(const struct mapping *mapping)
{
	static const struct module_name names[] = {{"libjvm.so", true}};

	return mapping_is_module(mapping, names, ARRAY_SIZE(names));
}

/* Finds the class space: a reservation of 1 GiB, partly unused. */
static void find_classes(struct survey *survey, const struct mapping *mapping)
{
	for (size_t i = 0; i < MIN(survey->start_count, (unsigned)STARTS); i++) {
		if (!mapping->readable && survey->starts[i] == mapping->end - CLASS_SPACE) {
			survey->classes_start = survey->starts[i];
			survey->classes_end = mapping->end;
		}
	}
}

static void add_low(struct survey *survey, const struct mapping *mapping)
{
	survey->starts[survey->start_count++ % STARTS] = mapping->start;
	find_classes(survey, mapping);
	if (!mapping_is_data(mapping) || mapping->path[0])
		return;
	if (!survey->low_end)
		survey->low_start = mapping->start;
	survey->low_end = mapping->end;
}

static void survey_add(void *state, const struct mapping *mapping)
{
	struct survey *survey = state;

	if (mapping_is_anonymous(mapping) && mapping->end <= COMPRESSED_REACH + CLASS_SPACE)
		add_low(survey, mapping);
	largest_reservation_add(&survey->reservation, mapping);
}

/* Returns whether memory below 32 GiB other than the class space is in use. */
static bool is_low(const struct survey *survey)
{
	return survey->low_end &&
	       (!survey->classes_end || survey->low_start < survey->classes_start ||
		survey->low_end > survey->classes_end);
}

static bool owns(const void *state, const struct mapping *mapping)
{
	const struct survey *survey = state;

	if (!strncmp(mapping->path, "/memfd:java_heap", 16))
		return true;
	if (!mapping_is_anonymous(mapping) || !mapping_is_data(mapping) ||
	    (survey->classes_end && mapping->start >= survey->classes_start &&
	     mapping->end <= survey->classes_end))
		return false;
	return is_low(survey) ? mapping->end <= COMPRESSED_REACH
			      : reservation_has(&survey->reservation.best, mapping);
}

/* Words of the VM. */

uint64_t hotspot_member(struct hotspot *hotspot, uint64_t structure, enum hotspot_place place)
{
	return structure && hotspot_has(hotspot, place)
		       ? target_word(hotspot->memory, structure + hotspot_place(hotspot, place))
		       : 0;
}

uint32_t hotspot_number(struct hotspot *hotspot, uint64_t address)
{
	uint32_t number;

	return target_read(hotspot->memory, address, &number, sizeof(number)) ? 0 : number;
}

uint32_t hotspot_member32(struct hotspot *hotspot, uint64_t structure, enum hotspot_place place)
{
	return structure && hotspot_has(hotspot, place)
		       ? hotspot_number(hotspot, structure + hotspot_place(hotspot, place))
		       : 0;
}

uint64_t hotspot_static(struct hotspot *hotspot, enum hotspot_place place)
{
	return hotspot_has(hotspot, place)
		       ? target_word(hotspot->memory, hotspot_place(hotspot, place))
		       : 0;
}

static uint32_t static32(struct hotspot *hotspot, enum hotspot_place place)
{
	return (uint32_t)hotspot_static(hotspot, place);
}

/* Objects. */

uint32_t hotspot_oop_bytes(const struct hotspot *hotspot)
{
	return hotspot->layout.flags[HOTSPOT_COMPRESSED_OOPS] ? 4 : 8;
}

uint64_t hotspot_decode(const struct hotspot *hotspot, uint64_t reference)
{
	if (hotspot->z.used)
		return hotspot_z_decode(hotspot, reference);
	if (!reference || !hotspot->layout.flags[HOTSPOT_COMPRESSED_OOPS])
		return reference;
	return hotspot->oop_base + (reference << hotspot->oop_shift);
}

uint64_t hotspot_oop(struct hotspot *hotspot, uint64_t address)
{
	uint64_t reference = hotspot->layout.flags[HOTSPOT_COMPRESSED_OOPS]
				     ? hotspot_number(hotspot, address)
				     : target_word(hotspot->memory, address);

	return hotspot_decode(hotspot, reference);
}

uint64_t hotspot_handle(const struct hotspot *hotspot, uint64_t address)
{
	uint64_t object = target_word(hotspot->memory, address);

	return hotspot->z.used ? hotspot_z_decode(hotspot, object) : object;
}

/*
 * The length follows the mark word and the Klass, which has 4 or 8 bytes, or is in the mark itself.
 */
uint32_t hotspot_length_offset(const struct hotspot *hotspot)
{
	if (hotspot->layout.flags[HOTSPOT_COMPACT_HEADERS])
		return 8;
	return hotspot->layout.flags[HOTSPOT_COMPRESSED_KLASSES] ? 12 : 16;
}

static uint64_t decode_klass(const struct hotspot *hotspot, const uint64_t words[2])
{
	uint64_t narrow = (uint32_t)words[1];

	if (hotspot->layout.flags[HOTSPOT_COMPACT_HEADERS])
		narrow = words[0] >> (hotspot_place(hotspot, HOTSPOT_MARK_KLASS_SHIFT) & 63);
	else if (!hotspot->layout.flags[HOTSPOT_COMPRESSED_KLASSES])
		return words[1];
	return narrow ? hotspot->klass_base + (narrow << hotspot->klass_shift) : 0;
}

uint64_t hotspot_klass_of(struct hotspot *hotspot, uint64_t object)
{
	uint64_t words[2];

	return target_read(hotspot->memory, object, words, sizeof(words))
		       ? 0
		       : decode_klass(hotspot, words);
}

/* Finding the VM. */

static const char *why_unread(const struct hotspot *hotspot)
{
	const uint64_t *flags = hotspot->layout.flags;

	if (flags[HOTSPOT_COMPACT_HEADERS] && !hotspot_has(hotspot, HOTSPOT_MARK_KLASS_SHIFT))
		return "compact object headers of this version: not read yet";
	if (!flags[HOTSPOT_G1] && !flags[HOTSPOT_SERIAL] && !flags[HOTSPOT_PARALLEL] &&
	    !flags[HOTSPOT_SHENANDOAH] && !flags[HOTSPOT_EPSILON] && !flags[HOTSPOT_Z])
		return "its collector is not known";
	return NULL;
}

static void read_statics(struct hotspot *hotspot)
{
	hotspot->heap = hotspot_static(hotspot, HOTSPOT_HEAP);
	hotspot->oop_base = hotspot_static(hotspot, HOTSPOT_OOP_BASE);
	hotspot->oop_shift = static32(hotspot, HOTSPOT_OOP_SHIFT) & 31;
	hotspot->klass_base = hotspot_static(hotspot, HOTSPOT_KLASS_BASE);
	hotspot->klass_shift = static32(hotspot, HOTSPOT_KLASS_SHIFT) & 31;
	hotspot->object_klass = hotspot_static(hotspot, HOTSPOT_OBJECT_KLASS);
	hotspot->class_klass = hotspot_static(hotspot, HOTSPOT_CLASS_KLASS);
	hotspot->thread_klass = hotspot_static(hotspot, HOTSPOT_THREAD_KLASS);
}

static void read_version(struct hotspot *hotspot, char version[24])
{
	if (hotspot_has(hotspot, HOTSPOT_VERSION_MAJOR))
		snprintf(version, 24, "%u.%u.%u", static32(hotspot, HOTSPOT_VERSION_MAJOR) % 1000,
			 static32(hotspot, HOTSPOT_VERSION_MINOR) % 1000,
			 static32(hotspot, HOTSPOT_VERSION_SECURITY) % 1000);
}

int hotspot_find(struct hotspot *hotspot, char version[24], const char **why)
{
	const struct data_modules *modules = hotspot->memory->modules;
	int error;

	*why = "no library with the variable gHotSpotVMStructs is mapped";
	for (size_t i = 0; i < modules->list.count; i++) {
		const struct data_module *module = &modules->list.items[i];

		if (!target_variable(module, "gHotSpotVMStructs"))
			continue;
		error = hotspot_layout_read(hotspot->memory, module, &hotspot->layout, why);
		hotspot->module = module;
		read_version(hotspot, version);
		if (error)
			return error;
		read_statics(hotspot);
		*why = "it has not started";
		if (!hotspot->heap || !hotspot->object_klass)
			return -ENOENT;
		*why = why_unread(hotspot);
		if (!*why)
			*why = hotspot_disproof(hotspot);
		if (*why)
			return -ENOENT;
		return hotspot->layout.flags[HOTSPOT_Z] ? hotspot_z_find(hotspot, why) : 0;
	}
	return -ENOENT;
}

uint32_t hotspot_collections(struct hotspot *hotspot)
{
	uint32_t count = 0;

	target_read_now(hotspot->memory,
			hotspot->heap + hotspot_place(hotspot, HOTSPOT_HEAP_COLLECTIONS), &count,
			sizeof(count));
	return count;
}

bool hotspot_has_moved(struct hotspot *hotspot, uint32_t collections)
{
	return hotspot_is_collecting(hotspot) || hotspot_collections(hotspot) != collections;
}

/* Objects in ranges. */

struct walk {
	struct hotspot *hotspot;
	struct walk_report *report;
	int (*each)(void *context, size_t place, uint64_t object, uint64_t size);
	void *context;
	unsigned char *bytes; /* STREAM_BYTES, whole pages, from `at` on */
	uint64_t at;	      /* 0: nothing read yet */
	uint64_t bytes_left;  /* limit of further reading */
};

/* Reads the first words of a possible object. */
static void read_head(struct walk *walk, uint64_t address, uint64_t end, uint64_t words[3])
{
	size_t size = (size_t)MIN(end - address, (uint64_t)24);

	if (!walk->at || address < walk->at || address + 24 > walk->at + STREAM_BYTES) {
		uint64_t start = address & ~(MEMORY_PAGE - 1);
		size_t bytes =
			(size_t)MIN((uint64_t)STREAM_BYTES, align_up(end - start, MEMORY_PAGE));

		memset(walk->bytes, 0, STREAM_BYTES);
		target_read_pages(walk->hotspot->memory, start, walk->bytes, bytes);
		walk->at = start;
	}
	memset(words, 0, 24);
	memcpy(words, walk->bytes + (address - walk->at), size);
}

/* Returns the address of the next nonzero word, or the end of the bytes read. */
static uint64_t skip_zeros(const struct walk *walk, uint64_t address, uint64_t end)
{
	uint64_t last = MIN(end, walk->at + STREAM_BYTES), word = 0;

	/* All further reads fail. */
	if (target_memory_overworked(walk->hotspot->memory))
		return end;
	for (; !word && address + 8 <= last; address += word ? 0 : 8)
		memcpy(&word, walk->bytes + (address - walk->at), sizeof(word));
	return address;
}

/* Returns the end of the allocation buffer at `address`; `address` if there is none. */
static uint64_t skip_buffers(const struct hotspot *hotspot, uint64_t address)
{
	size_t low = SORTED_BEFORE(buffer, hotspot->buffers.items, hotspot->buffers.count,
				   buffer->top < address);

	if (low == hotspot->buffers.count || hotspot->buffers.items[low].top != address)
		return address;
	return hotspot->buffers.items[low].end;
}

/* Returns an object's size. Klass::layout_helper of an array has the header's size and the log2 of
 * an item's. */
static uint64_t object_bytes(const struct hotspot *hotspot, const struct hotspot_class *class,
			     const uint64_t words[3])
{
	uint32_t helper = (uint32_t) class->layout, offset = hotspot_length_offset(hotspot), length;
	uint64_t alignment = hotspot->layout.flags[HOTSPOT_ALIGNMENT];

	if (alignment < 8 || alignment > 256 || alignment & (alignment - 1))
		alignment = 8;
	if (class->layout > 0)
		return helper & ~7u;
	memcpy(&length, (const unsigned char *)words + offset, sizeof(length));
	return align_up((helper >> 16 & 0xff) + ((uint64_t)length << (helper & 15)), alignment);
}

/* An object of java.lang.Class contains static fields behind its own; its size is recorded in
 * words. */
static uint64_t mirror_bytes(struct hotspot *hotspot, uint64_t object)
{
	uint32_t offset = static32(hotspot, HOTSPOT_MIRROR_SIZE) & 0xffff;

	return (uint64_t)hotspot_number(hotspot, object + offset) * 8;
}

/* Returns the size of the object at `address`; 0: none begins there. */
static uint64_t size_at(struct walk *walk, uint64_t address, const uint64_t words[3], size_t *place)
{
	struct hotspot *hotspot = walk->hotspot;
	const struct hotspot_class *class = hotspot_class_at(hotspot, decode_klass(hotspot, words));

	if (!class)
		return 0;
	*place = (size_t)(class - hotspot->classes.items);
	switch (class->kind) {
	case HOTSPOT_MIRROR:
		return mirror_bytes(hotspot, address);
	case HOTSPOT_CHUNK:
		return hotspot_chunk_bytes(hotspot, class, address);
	default:
		return object_bytes(hotspot, class, words);
	}
}

/* Visits the objects of a range. Where no object begins, it resynchronises at the next plausible
 * one: that memory belongs to an unloaded class, or to an object under construction. */
static int walk_objects(struct walk *walk, const struct hotspot_range *range)
{
	uint64_t address = range->start, end = range->end, step = MAX(range->step, 8u);
	int error = 0;

	while (!error && address + OBJECT_BYTES_MIN <= end) {
		uint64_t words[3], next = skip_buffers(walk->hotspot, address), size;
		size_t place = 0;

		if (next != address) {
			address = next;
			continue;
		}
		read_head(walk, address, end, words);
		/* Since 21, the mark alone is 0 while a thread holds the object's lock. */
		if (!words[0] && !words[1]) {
			address = align_up(skip_zeros(walk, address, end), step);
			continue;
		}
		size = size_at(walk, address, words, &place);
		if (size < OBJECT_BYTES_MIN || size > end - address) {
			walk->report->free_bytes += step;
			address += step;
			continue;
		}
		error = walk->each(walk->context, place, address, size);
		address += align_up(size, step);
	}
	return error;
}

static int walk_ranges(struct walk *walk)
{
	struct hotspot *hotspot = walk->hotspot;
	uint64_t last = 0;
	int error = 0;

	for (size_t i = 0; !error && i < hotspot->ranges.count; i++) {
		const struct hotspot_range *range = &hotspot->ranges.items[i];

		if (range->start < last || range->end - range->start > walk->bytes_left) {
			walk->report->nonsense++;
			continue;
		}
		last = range->end;
		walk->bytes_left -= range->end - range->start;
		walk->at = 0;
		error = walk_objects(walk, range);
	}
	return error;
}

/* Limits reading to the possible size of the process, whatever the VM claims. */
static uint64_t bytes_at_most(const struct hotspot *hotspot)
{
	const struct maps *maps = hotspot->memory->maps;
	uint64_t bytes = GROWTH_MAX;

	for (size_t i = 0; i < maps->list.count; i++) {
		if (maps->list.items[i].writable)
			bytes += maps->list.items[i].end - maps->list.items[i].start;
	}
	return bytes;
}

int hotspot_each_object(struct hotspot *hotspot, struct walk_report *report,
			int (*each)(void *context, size_t place, uint64_t object, uint64_t size),
			void *context)
{
	_cleanup_free_ unsigned char *bytes = malloc(STREAM_BYTES);
	struct walk walk = {.hotspot = hotspot,
			    .report = report,
			    .each = each,
			    .context = context,
			    .bytes = bytes,
			    .bytes_left = bytes_at_most(hotspot)};

	return bytes ? walk_ranges(&walk) : -ENOMEM;
}

struct adding {
	struct hotspot *hotspot;
	struct heap_sink *sink;
	uint64_t objects;
};

static int give_class(struct adding *adding, size_t place, const char *more, uint32_t *number)
{
	struct hotspot *hotspot = adding->hotspot;
	char name[HOTSPOT_NAME_BYTES + 16];
	struct managed_class class = {.name = name,
				      .runtime = HOTSPOT_KEY,
				      .describes =
					      hotspot->classes.items[place].kind == HOTSPOT_MIRROR};
	uint32_t *added;
	int error;

	hotspot_class_name(hotspot, hotspot->classes.items[place].address, name);
	strcat(name, more);
	error = heap_sink_class(adding->sink, &class, number);
	added = error ? NULL : vec_push(&hotspot->class_types);
	if (!added)
		return error ? error : -ENOMEM;
	*added = (uint32_t)place;
	return 0;
}

static int add_object(void *context, size_t place, uint64_t address, uint64_t size)
{
	struct adding *adding = context;
	struct hotspot *hotspot = adding->hotspot;
	struct hotspot_class *class = &hotspot->classes.items[place];
	bool ended = class->is_virtual ? hotspot_virtual_ended(hotspot, address)
				       : class->is_thread && hotspot_thread_ended(hotspot, address);
	uint32_t *number = ended ? &class->ended_number : &class->number;
	int error = 0;

	if (*number == UINT32_MAX)
		error = give_class(adding, place, ended ? RUNTIME_ENDED : "", number);
	adding->objects++;
	return error ? error : heap_sink_add(adding->sink, address, size, *number | NODE_OBJECT);
}

static int prove_heap(struct hotspot *hotspot, struct walk_report *report, uint32_t collections)
{
	const char *why = hotspot_heap_disproof(hotspot);

	if (why && hotspot_has_moved(hotspot, collections))
		return -EAGAIN;
	report->why = why;
	return why ? -ENOENT : 0;
}

static int walk_all(struct hotspot *hotspot, struct heap_sink *sink, struct walk_report *report)
{
	struct adding adding = {.hotspot = hotspot, .sink = sink};
	uint32_t collections = hotspot_collections(hotspot);
	int error;

	if (hotspot_is_collecting(hotspot))
		return -EAGAIN;
	error = hotspot_read_threads(hotspot);
	if (!error)
		error = hotspot_read_loaders(hotspot);
	if (!error)
		error = hotspot_find_copies(hotspot, sink, report);
	if (!error)
		error = hotspot_find_ranges(hotspot, report);
	if (!error)
		error = prove_heap(hotspot, report, collections);
	if (!error)
		error = hotspot_each_object(hotspot, report, add_object, &adding);
	report->objects = adding.objects;
	return !error && hotspot_has_moved(hotspot, collections) ? -EAGAIN : error;
}

static void free_all(struct hotspot *hotspot)
{
	for (size_t i = 0; i < hotspot->classes.count; i++) {
		vec_free(&hotspot->classes.items[i].maps);
		vec_free(&hotspot->classes.items[i].fields);
	}
	vec_free(&hotspot->classes);
	vec_free(&hotspot->class_types);
	vec_free(&hotspot->ranges);
	vec_free(&hotspot->archived);
	vec_free(&hotspot->buffers);
	vec_free(&hotspot->threads);
	vec_free(&hotspot->loaders);
	hash_free(&hotspot->class_index);
	hash_free(&hotspot->thread_index);
	hash_free(&hotspot->live_threads);
	hash_free(&hotspot->loader_index);
	hash_free(&hotspot->owner_index);
	hash_free(&hotspot->chunk_labels);
	hash_free(&hotspot->code_index);
	vec_free(&hotspot->codes);
	vec_free(&hotspot->scopes);
}

/* Returns whether a collection has begun to move objects. */
static bool moves(struct target_memory *memory)
{
	const struct data_modules *modules = memory->modules;
	struct hotspot hotspot = {.memory = memory};

	for (size_t i = 0; i < modules->list.count; i++) {
		const struct data_module *module = &modules->list.items[i];

		if (!target_variable(module, "gHotSpotVMStructs"))
			continue;
		if (!hotspot_layout_read_heap(memory, module, &hotspot.layout))
			return false;
		hotspot.heap = hotspot_static(&hotspot, HOTSPOT_HEAP);
		return hotspot.heap && hotspot_is_collecting(&hotspot);
	}
	return false;
}

struct hotspot *hotspot_open(struct target_memory *memory)
{
	struct hotspot *hotspot = calloc(1, sizeof(*hotspot));

	if (hotspot)
		hotspot->memory = memory;
	return hotspot;
}

void hotspot_close(struct hotspot *hotspot)
{
	free_all(hotspot);
	free(hotspot);
}

static void end(void *state)
{
	hotspot_close(state);
}

static int walk_found(struct hotspot *hotspot, struct heap_sink *sink, struct walk_report *report)
{
	int error = hotspot_find(hotspot, report->version, &report->why);

	if (error)
		return error;
	report->untested = !hotspot_is_tested(report->version);
	return walk_all(hotspot, sink, report);
}

static int walk_heap(struct target_memory *memory, struct heap_sink *sink,
		     struct walk_report *report, void **state)
{
	struct hotspot *hotspot = hotspot_open(memory);

	if (!hotspot)
		return -ENOMEM;
	hotspot->report = (size_t)(report - sink->reports.items);
	hotspot->first_class = (uint32_t)sink->classes.count;
	*state = hotspot;
	return walk_found(hotspot, sink, report);
}

static const struct heap_walker walker = {.moves = moves,
					  .walk = walk_heap,
					  .refer = hotspot_refer,
					  .roots = hotspot_roots,
					  .end = end};

static struct heap_floor java_floor(const struct maps *maps)
{
	struct java_memory java = {0};
	struct heap_floor floor = {0};

	if (!java_memory_read(maps, &java))
		floor = java_floor_of(&java);
	java_memory_free(&java);
	return floor;
}

/* The origin of classes, see class_origin.h. */
static const char *const language_classes[] = {"boolean", "byte", "char",  "double", "float",
					       "int",	  "long", "short", NULL};
static const char *const library_names[] = {"java.", "javax.", "jdk.", "sun.", "com.sun.", NULL};
static const struct class_names class_names = {
	.language = language_classes, .libraries = library_names, .without_packages = true};

const struct runtime runtime_hotspot = {
	.classes = &class_names,
	.key = "hotspot",
	.name = "JVM",
	.tool = "`leakmon retain --census -p %d` counts its objects by class, `jcmd %d "
		"GC.heap_dump FILE` keeps them",
	.refusal = java_refusal,
	.other_tool =
		"`jcmd %d GC.class_histogram` counts its objects; those of this version are not "
		"read here",
	.collects = true,
	.floor = java_floor,
	.memory = &java_memory_reader,
	.threads = &java_thread_reader,
	.detect = detect,
	.survey = survey_add,
	.state_size = sizeof(struct survey),
	.owns = owns,
	.walker = &walker,
	.code = &hotspot_code_reader,
	.has_threads = true,
};
