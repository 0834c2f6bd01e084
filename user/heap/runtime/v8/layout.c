// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * V8's description of itself, and the location of its heap.
 *
 * The header of a chunk has the bounds of its objects, the heap, and the space that owns it, which
 * leads back to the heap (src/heap/basic-memory-chunk.h, base-space.h). Allocation areas are three
 * words each, start, top and limit, near the heap or in its spaces (linear-allocation-area.h); the
 * young generation's pages in use are a list (semi-space: new-spaces.h).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "heap/runtime/mapping_shape.h"
#include "heap/runtime/v8/v8.h"

#define PREFIX "v8dbg_"
#define TYPE_PREFIX PREFIX "type_"

#define CHUNK_BYTES_MAX (1ull << 40)
#define FIRST_CHUNKS 8 /* candidates per mapping */
#define READ_ONLY_BYTES_MAX (16ull << 20)
#define AREA_OFFSET_MAX (64ull << 10)

#define SPACE_HEAP 8 /* BaseSpace::heap_ */
#define SPACE_BYTES 512
/* The areas are in IsolateData, within this distance before the heap in the isolate. */
#define ISOLATE_BEFORE (128ull << 10)
#define HEAP_BYTES 8192 /* of the heap itself, with its allocators */
#define AREA_WORDS 3

struct v8_chunk_layout {
	const char *versions;
	bool apart; /* the header is elsewhere: its address follows the flags */
	uint16_t self, size, flags, heap, start, end, owner;
};

/* src/heap/basic-memory-chunk.h, memory-chunk-layout.h; from 13 on, memory-chunk-metadata.h */
static const struct v8_chunk_layout layouts[] = {
	{"10.2 to 11.3", false, 80, 0, 8, 16, 24, 32, 64},
	{"12.4", false, 8, 16, 0, 24, 32, 40, 72},
	{"13.6 to 14.6", true, 8, 16, 0, 64, 72, 56, 80},
};

/* Flags of the halves of the young generation. */
#define FLAG_FROM (1u << 3)
#define FLAG_TO (1u << 4)

#define HEADER_BYTES 128
#define LINKS_END 512

static const struct {
	const char *name; /* without the prefix; for a member, also without the type behind it */
	bool required;
	int32_t otherwise;
} places[] = {
	[V8_FIRST_NONSTRING] = {"FirstNonstringType", true},
	[V8_FIRST_CONTEXT] = {"FirstContextType", true},
	[V8_LAST_CONTEXT] = {"LastContextType", true},
	[V8_TYPE_MAP] = {"type_Map__MAP_TYPE", true},
	[V8_TYPE_FUNCTION] = {"type_JSFunction__JS_FUNCTION_TYPE", true},
	[V8_TYPE_SHARED] = {"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", true},
	[V8_TYPE_SCOPE_INFO] = {"type_ScopeInfo__SCOPE_INFO_TYPE", true},
	[V8_TYPE_PROPERTY_CELL] = {"type_PropertyCell__PROPERTY_CELL_TYPE", true},
	[V8_TYPE_GLOBAL] = {"type_JSGlobalObject__JS_GLOBAL_OBJECT_TYPE", true},
	[V8_TYPE_JS_MAP] = {"type_JSMap__JS_MAP_TYPE", true},
	[V8_TYPE_JS_SET] = {"type_JSSet__JS_SET_TYPE", true},
	[V8_TYPE_WEAK_MAP] = {"type_JSWeakMap__JS_WEAK_MAP_TYPE", true},
	[V8_TYPE_WEAK_SET] = {"type_JSWeakSet__JS_WEAK_SET_TYPE", true},
	[V8_TYPE_WEAK_REF] = {"type_JSWeakRef__JS_WEAK_REF_TYPE", true},
	[V8_TYPE_WEAK_CELL] = {"type_WeakCell__WEAK_CELL_TYPE", true},
	[V8_TYPE_PROPERTY_ARRAY] = {"type_PropertyArray__PROPERTY_ARRAY_TYPE", true},
	[V8_TYPE_BUFFER] = {"type_JSArrayBuffer__JS_ARRAY_BUFFER_TYPE", false, 0},
	[V8_BUFFER_BYTES] = {"class_JSArrayBuffer__byte_length__", false, 0},
	[V8_BUFFER_STORE] = {"class_JSArrayBuffer__backing_store__", false, 0},
	[V8_REPRESENTATION_MASK] = {"StringRepresentationMask", true},
	[V8_ENCODING_MASK] = {"StringEncodingMask", true},
	[V8_REPRESENTATION_CONS] = {"ConsStringTag", true},
	[V8_REPRESENTATION_EXTERNAL] = {"ExternalStringTag", true},
	[V8_REPRESENTATION_SLICED] = {"SlicedStringTag", true},
	[V8_REPRESENTATION_THIN] = {"ThinStringTag", true},
	[V8_MAP_SIZE] = {"class_Map__instance_size_in_words__", true},
	[V8_MAP_INOBJECT] = {"class_Map__inobject_properties_start_or_constructor_function_index__",
			     true},
	[V8_MAP_TYPE] = {"class_Map__instance_type__", true},
	[V8_MAP_BITS2] = {"class_Map__bit_field2__", true},
	[V8_MAP_BITS3] = {"class_Map__bit_field3__", true},
	[V8_MAP_PROTOTYPE] = {"class_Map__prototype__", false, 24},
	[V8_MAP_CONSTRUCTOR] = {"class_Map__constructor_or_back_pointer__", true},
	[V8_MAP_DESCRIPTORS] = {"class_Map__instance_descriptors__", true},
	[V8_DICTIONARY_SHIFT] = {"bit_field3_is_dictionary_map_shift", true},
	[V8_DESCRIPTORS_SHIFT] = {"bit_field3_number_of_own_descriptors_shift", true},
	[V8_DESCRIPTORS_MASK] = {"bit_field3_number_of_own_descriptors_mask", true},
	[V8_STRING_LENGTH] = {"class_String__length__", true},
	[V8_STRING_CHARACTERS] = {"class_SeqOneByteString__chars__", true},
	[V8_CONS_FIRST] = {"class_ConsString__first__", true},
	[V8_CONS_SECOND] = {"class_ConsString__second__", true},
	[V8_THIN_ACTUAL] = {"class_ThinString__actual__", true},
	[V8_ARRAY_LENGTH] = {"class_FixedArrayBase__length__", true},
	[V8_ARRAY_DATA] = {"class_FixedArray__data__", true},
	[V8_BYTECODE_DATA] = {"class_BytecodeArray__data__", true},
	[V8_BYTECODE_WRAPPER] = {"class_BytecodeArray__wrapper_", false, 0},
	[V8_DESCRIPTORS_HEADER] = {"class_DescriptorArray__header_size__", true},
	[V8_OBJECT_PROPERTIES] = {"class_JSReceiver__raw_properties_or_hash__", true},
	[V8_OBJECT_ELEMENTS] = {"class_JSObject__elements__", true},
	[V8_FUNCTION_SHARED] = {"class_JSFunction__shared__", true},
	[V8_SHARED_NAME] = {"class_SharedFunctionInfo__name_or_scope_info__", true},
	[V8_SCOPE_FIRST] = {"scopeinfo_idx_first_vars", true},
	[V8_SCOPE_LOCALS] = {"scopeinfo_idx_ncontextlocals", true},
	[V8_CONTEXT_SCOPE] = {"context_idx_scope_info", false, 0},
	[V8_CONTEXT_SLOTS] = {"context_min_slots", true},
	[V8_DESCRIPTOR_WORDS] = {"prop_desc_size", true},
	[V8_DESCRIPTOR_KEY] = {"prop_desc_key", false, 0},
	[V8_DESCRIPTOR_DETAILS] = {"prop_desc_details", true},
	[V8_DESCRIPTOR_VALUE] = {"prop_desc_value", true},
	[V8_LOCATION_MASK] = {"prop_location_mask", true},
	[V8_INDEX_MASK] = {"prop_index_mask", true},
	[V8_INDEX_SHIFT] = {"prop_index_shift", true},
	[V8_FUNCTION_CONTEXT] = {"class_JSFunction__context_", false, 0},
	[V8_CONTEXT_PREVIOUS] = {"context_idx_prev", false, 1},
	[V8_SHARED_SCRIPT] = {"class_SharedFunctionInfo__script_", false, 0},
	[V8_SCRIPT_NAME] = {"class_Script__name_", false, 0},
	[V8_SCRIPT_SOURCE] = {"class_Script__source_", false, 0},
	[V8_SCRIPT_LINES] = {"class_Script__line_ends_", false, 0},
	[V8_UNCOMPILED_START] = {"class_UncompiledData__start_position_", false, 0},
	[V8_TYPE_SCRIPT] = {"type_Script__SCRIPT_TYPE", false, 0},
	[V8_TYPE_ES_MODULE] = {"type_SourceTextModule__SOURCE_TEXT_MODULE_TYPE", false, 0},
	[V8_TYPE_CELL] = {"type_Cell__CELL_TYPE", false, 0},
	[V8_TYPE_PROMISE] = {"type_JSPromise__JS_PROMISE_TYPE", false, 0},
	[V8_TYPE_REACTION] = {"type_PromiseReaction__PROMISE_REACTION_TYPE", false, 0},
	[V8_TYPE_CALL] = {"type_JSAsyncFunctionObject__JS_ASYNC_FUNCTION_OBJECT_TYPE", false, 0},
	[V8_TYPE_GENERATOR_CALL] = {"type_JSAsyncGeneratorObject__JS_ASYNC_GENERATOR_OBJECT_TYPE",
				    false, 0},
};
_Static_assert(ARRAY_SIZE(places) == V8_PLACE_MAX_, "a row for every place");

/* Constants. */

static enum v8_kind kind_named(const char *name, size_t length, bool *known)
{
	static const struct {
		const char *name;
		enum v8_kind kind;
	} kinds[] = {
		{"ByteArray", V8_BYTES},
		{"BytecodeArray", V8_BYTECODE},
		{"FreeSpace", V8_FREE},
		{"PropertyArray", V8_PROPERTIES},
		{"DescriptorArray", V8_DESCRIPTORS},
		{"StrongDescriptorArray", V8_DESCRIPTORS},
		{"WeakArrayList", V8_LIST},
		{"FixedDoubleArray", V8_DOUBLES},
		{"InstructionStream", V8_CODE},
		{"Code", V8_CODE},
		{"FeedbackVector", V8_FEEDBACK},
		{"ScopeInfo", V8_SCOPED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		*known = strlen(kinds[i].name) == length && !memcmp(name, kinds[i].name, length);
		if (*known)
			return kinds[i].kind;
	}
	return V8_WORDS;
}

/* Reads a constant; untouched memory reads as 0. */
static int32_t constant_at(struct v8 *v8, uint64_t address)
{
	int32_t number;

	return target_read(v8->memory, address, &number, sizeof(number)) ? 0 : number;
}

int32_t v8_constant(struct v8 *v8, const char *name, int32_t otherwise)
{
	uint64_t address = target_variable(v8->module, name);

	return address ? constant_at(v8, address) : otherwise;
}

static bool is_type_name(const char *name, size_t length, const char *wanted)
{
	return strlen(wanted) == length && !memcmp(name, wanted, length);
}

static void note_native(struct v8_type *type, size_t length)
{
	static const char *const natives[] = {"Foreign", "EmbedderDataArray", "CppHeapExternal"};

	for (size_t i = 0; i < ARRAY_SIZE(natives); i++)
		type->is_native |= is_type_name(type->name, length, natives[i]);
	type->is_embedder = is_type_name(type->name, length, "EmbedderDataArray");
}

static bool is_receiver_name(const char *name)
{
	return !strncmp(name, "JS", 2);
}

static void note_type(struct v8 *v8, const char *name, int32_t number)
{
	const char *end = strstr(name, "__");
	struct v8_type *type;

	if (!end || number < 0 || number >= V8_TYPES)
		return;
	type = &v8->types[number];
	type->name = name;
	type->kind = kind_named(name, (size_t)(end - name), &type->known);
	note_native(type, (size_t)(end - name));
	v8->has_free |= type->known && type->kind == V8_FREE;
	if (is_receiver_name(name) && number < v8->first_receiver)
		v8->first_receiver = (uint16_t)number;
}

/* The spelling of the types of members depends on the version. */
static bool is_name(const char *name, const char *wanted)
{
	size_t length = strlen(wanted);

	return wanted[length - 1] == '_' ? !strncmp(name, wanted, length) : !strcmp(name, wanted);
}

static void note_place(struct v8 *v8, const char *name, int32_t number, bool *found)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (!is_name(name, places[i].name))
			continue;
		v8->places[i] = number;
		found[i] = true;
	}
}

/* Reads the constants; returns whether all required ones are present. */
static bool read_constants(struct v8 *v8, const struct data_module *module)
{
	const struct symbol_table *table = &module->image->table;
	bool found[V8_PLACE_MAX_] = {false};

	memset(v8->types, 0, sizeof(v8->types));
	v8->first_receiver = V8_TYPES;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		v8->places[i] = places[i].otherwise;
	for (size_t i = 0; i < table->count; i++) {
		const char *name = table->names + table->symbols[i].name;
		int32_t number;

		if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		number = constant_at(v8, module->bias + table->symbols[i].address);
		note_place(v8, name + strlen(PREFIX), number, found);
		if (!strncmp(name, TYPE_PREFIX, strlen(TYPE_PREFIX)))
			note_type(v8, name + strlen(TYPE_PREFIX), number);
	}
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (places[i].required && !found[i])
			return false;
		if (v8->places[i] < 0)
			return false;
	}
	return v8->first_receiver < V8_TYPES;
}

#define TAGGED_SIZE "v8dbg_TaggedSize"

const char *const v8_version_symbols[V8_VERSION_SYMBOLS] = {
	"_ZN2v88internal7Version6major_E", "_ZN2v88internal7Version6minor_E",
	"_ZN2v88internal7Version6build_E", "_ZN2v88internal7Version6patch_E", TAGGED_SIZE};

static bool read_numbers(struct v8 *v8, const struct data_module *module, int32_t numbers[4])
{
	for (size_t i = 0; i < 4; i++) {
		uint64_t address = target_variable(module, v8_version_symbols[i]);

		if (!address)
			return false;
		numbers[i] = constant_at(v8, address);
	}
	return true;
}

void v8_read_version(struct v8 *v8, const struct data_module *module, char version[24])
{
	int32_t numbers[4];

	if (read_numbers(v8, module, numbers))
		snprintf(version, 24, "%d.%d.%d.%d", numbers[0] % 1000, numbers[1] % 1000,
			 numbers[2] % 10000, numbers[3] % 1000);
}

bool v8_read_versions(struct v8 *v8, const struct data_module *module, int32_t *major,
		      int32_t *minor)
{
	int32_t numbers[4];

	if (!read_numbers(v8, module, numbers))
		return false;
	*major = numbers[0];
	*minor = numbers[1];
	return true;
}

bool v8_is_compressed(struct v8 *v8, const struct data_module *module)
{
	uint64_t tagged = target_variable(module, TAGGED_SIZE);

	return tagged && constant_at(v8, tagged) != 8;
}

bool v8_is_module(const struct data_module *module)
{
	return target_variable(module, PREFIX "type_Map__MAP_TYPE") != 0;
}

int v8_find(struct v8 *v8, char version[24], const char **why)
{
	const struct data_modules *modules = v8->memory->modules;

	*why = "no program or library with the constants v8dbg_* is mapped";
	for (size_t i = 0; i < modules->list.count; i++) {
		const struct data_module *module = &modules->list.items[i];

		if (!v8_is_module(module))
			continue;
		v8_read_version(v8, module, version);
		*why = "pointers are compressed: not read yet";
		if (v8_is_compressed(v8, module))
			return -ENOENT;
		*why = "its constants v8dbg_* lack some that are needed: another version";
		if (!read_constants(v8, module))
			return -ENOENT;
		v8->module = module;
		return 0;
	}
	return -ENOENT;
}

/* Chunks. */

struct header {
	uint64_t words[HEADER_BYTES / 8];
};

static uint64_t header_word(const struct header *header, uint16_t offset)
{
	return header->words[offset / 8];
}

/* Returns whether the bounds of its objects fit the chunk. */
static bool is_chunk(const struct v8_chunk *chunk)
{
	return chunk->size >= MEMORY_PAGE && chunk->size <= CHUNK_BYTES_MAX &&
	       chunk->start > chunk->base && chunk->start - chunk->base <= AREA_OFFSET_MAX &&
	       chunk->end > chunk->start && chunk->end <= chunk->base + chunk->size &&
	       !((chunk->start | chunk->end) & 7);
}

/* Returns whether a chunk belongs to a heap whose space leads back to it. */
static bool is_owned(struct v8 *v8, const struct v8_chunk_layout *layout,
		     const struct v8_chunk *chunk, const struct header *header)
{
	return chunk->heap && !(chunk->heap & 7) && chunk->owner && !(chunk->owner & 7) &&
	       header_word(header, layout->self) == chunk->base &&
	       target_word(v8->memory, chunk->owner + SPACE_HEAP) == chunk->heap;
}

/*
 * Returns whether a chunk is read-only: it has no owner, and the map of its first object's map is
 * the map of maps, which is its own map. Since 14.6 there are several such chunks; the maps are in
 * the first one.
 */
static bool is_read_only(struct v8 *v8, struct v8_chunk *chunk)
{
	uint64_t map, meta;

	if (chunk->heap || chunk->owner)
		return false;
	map = target_word(v8->memory, chunk->start);
	meta = v8_is_object(map) ? target_word(v8->memory, map - V8_TAG) : 0;
	if (!v8_is_object(meta) || target_word(v8->memory, meta - V8_TAG) != meta ||
	    (map & ~(V8_PAGE - 1)) != (meta & ~(V8_PAGE - 1)))
		return false;
	chunk->meta = meta;
	return true;
}

static bool read_chunk(struct v8 *v8, const struct v8_chunk_layout *layout, uint64_t base,
		       struct v8_chunk *chunk)
{
	uint64_t words[2], at = base;
	struct header header;

	if (target_read(v8->memory, base, words, sizeof(words)))
		return false;
	at = layout->apart ? words[1] : base;
	if (at & 7 || target_read(v8->memory, at, &header, sizeof(header)))
		return false;
	*chunk = (struct v8_chunk){.base = base,
				   .start = header_word(&header, layout->start),
				   .end = header_word(&header, layout->end),
				   .size = header_word(&header, layout->size),
				   .heap = header_word(&header, layout->heap),
				   .owner = header_word(&header, layout->owner),
				   .header = at,
				   .flags = layout->apart ? words[0]
							  : header_word(&header, layout->flags)};
	chunk->limit = chunk->end;
	/* A read-only chunk may have no size. */
	if (!chunk->size && chunk->end > base)
		chunk->size = chunk->end - base;
	return is_chunk(chunk) && (is_owned(v8, layout, chunk, &header) || is_read_only(v8, chunk));
}

/* Scans a mapping for chunks, `step` bytes apart. */
static int scan_mapping(struct v8 *v8, const struct v8_chunk_layout *layout,
			const struct mapping *mapping, uint64_t step)
{
	uint64_t base = align_up(mapping->start, V8_PAGE);

	while (base >= mapping->start && base < mapping->end) {
		struct v8_chunk chunk, *added;

		if (!read_chunk(v8, layout, base, &chunk)) {
			base += step;
			continue;
		}
		added = vec_push(&v8->chunks);
		if (!added)
			return -ENOMEM;
		*added = chunk;
		base += MAX(align_up(chunk.size, V8_PAGE), step);
	}
	return 0;
}

static bool may_have_chunks(const struct mapping *mapping)
{
	return mapping->readable && !mapping->shared && mapping_is_anonymous(mapping);
}

static int scan_all(struct v8 *v8, const struct v8_chunk_layout *layout, uint64_t step)
{
	const struct maps *maps = v8->memory->maps;
	int error = 0;

	v8->chunks.count = 0;
	for (size_t i = 0; !error && i < maps->list.count; i++) {
		if (may_have_chunks(&maps->list.items[i]))
			error = scan_mapping(v8, layout, &maps->list.items[i], step);
	}
	return error;
}

/* Counts the chunks that are valid by a layout; *owned 0: not the layout of this heap. */
static int scan(struct v8 *v8, const struct v8_chunk_layout *layout, size_t *owned)
{
	int error = scan_all(v8, layout, V8_PAGE);

	*owned = 0;
	for (size_t i = 0; i < v8->chunks.count; i++)
		*owned += v8->chunks.items[i].owner != 0;
	return error;
}

/* Exactly one layout must match. */
int v8_find_layout(struct v8 *v8, const char **why)
{
	size_t owned, matching = 0;
	int error = 0;

	*why = "its chunks have a layout that is not known: another version";
	for (size_t i = 0; !error && i < ARRAY_SIZE(layouts); i++) {
		error = scan(v8, &layouts[i], &owned);
		if (error || !owned)
			continue;
		v8->layout = &layouts[i];
		matching++;
	}
	if (!error && matching != 1)
		error = -ENOENT;
	return error ? error : scan(v8, v8->layout, &owned);
}

const struct v8_chunk *v8_chunk_at(const struct v8 *v8, uint64_t address)
{
	size_t place =
		SORTED_BEFORE(other, v8->chunks.items, v8->chunks.count, other->base <= address);
	const struct v8_chunk *chunk = place ? &v8->chunks.items[place - 1] : NULL;

	return chunk && address - chunk->base < chunk->size ? chunk : NULL;
}

/* Allocation areas. */

static bool is_area(const struct v8 *v8, const uint64_t words[AREA_WORDS])
{
	const struct v8_chunk *chunk;

	if (!words[0] || (words[0] | words[1] | words[2]) & 7 || words[0] > words[1] ||
	    words[1] >= words[2])
		return false;
	chunk = v8_chunk_at(v8, words[0]);
	return chunk && words[0] >= chunk->start && words[2] <= chunk->end;
}

static int scan_areas(struct v8 *v8, uint64_t start, uint64_t end)
{
	uint64_t words[AREA_WORDS] = {0};

	for (uint64_t at = start; at + 8 <= end; at += 8) {
		struct v8_area *area;

		words[0] = words[1];
		words[1] = words[2];
		words[2] = target_word(v8->memory, at);
		if (!is_area(v8, words))
			continue;
		area = vec_push(&v8->areas);
		if (!area)
			return -ENOMEM;
		*area = (struct v8_area){words[1], words[2]};
	}
	return 0;
}

static int compare_areas(const void *left_pointer, const void *right_pointer)
{
	const struct v8_area *left = left_pointer, *right = right_pointer;

	return left->top < right->top ? -1 : left->top > right->top;
}

/* Finds the allocation areas of all heaps and spaces, without duplicates. */
static int find_areas(struct v8 *v8)
{
	_cleanup_(hash_free) struct hash seen = {0};
	int error = 0;

	v8->areas.count = 0;
	for (size_t i = 0; !error && i < v8->chunks.count; i++) {
		const struct v8_chunk *chunk = &v8->chunks.items[i];
		bool fresh_heap, fresh_owner;

		if (!chunk->owner)
			continue;
		if (!hash_put(&seen, chunk->heap, &fresh_heap) ||
		    !hash_put(&seen, chunk->owner, &fresh_owner))
			return -ENOMEM;
		if (fresh_heap)
			error = scan_areas(v8, chunk->heap - MIN(chunk->heap, ISOLATE_BEFORE),
					   chunk->heap + HEAP_BYTES);
		if (!error && fresh_owner)
			error = scan_areas(v8, chunk->owner, chunk->owner + SPACE_BYTES);
	}
	if (v8->areas.count)
		qsort(v8->areas.items, v8->areas.count, sizeof(*v8->areas.items), compare_areas);
	return error;
}

/* The young generation: in the half in use, pages contain objects in the order of its list, up to
 * the one being filled; the other half is empty. */

static void close_chunk(struct v8 *v8, const struct v8_chunk *chunk)
{
	v8->chunks.items[chunk - v8->chunks.items].limit = chunk->start;
}

/* Returns the next chunk in the list of a space, by two words that point to each other
 * (heap/list.h); their offset in the header, *place, depends on the version. */
static const struct v8_chunk *behind(struct v8 *v8, const struct v8_chunk *chunk, uint64_t *place)
{
	for (uint64_t at = HEADER_BYTES; at < LINKS_END; at += 8) {
		uint64_t next = target_word(v8->memory, chunk->header + at);
		uint64_t base =
			next && !(next & 7) ? target_word(v8->memory, next + v8->layout->self) : 0;
		const struct v8_chunk *found = base ? v8_chunk_at(v8, base) : NULL;

		if (found && found != chunk && found->header == next &&
		    found->owner == chunk->owner &&
		    target_word(v8->memory, next + at + 8) == chunk->header) {
			*place = at;
			return found;
		}
	}
	return NULL;
}

static void close_behind(struct v8 *v8, const struct v8_chunk *chunk)
{
	uint64_t place;

	for (size_t i = 0; chunk && i < v8->chunks.count; i++) {
		chunk = behind(v8, chunk, &place);
		if (chunk)
			close_chunk(v8, chunk);
	}
}

static bool is_linked(struct v8 *v8, const struct v8_chunk *chunk, uint64_t place)
{
	return target_word(v8->memory, chunk->header + place) ||
	       target_word(v8->memory, chunk->header + place + 8);
}

/*
 * Empties chunks that wait to be freed: a collection has moved their objects, and they have left
 * the list of their space. 0 or -ENOMEM.
 */
static int close_left(struct v8 *v8)
{
	_cleanup_(hash_free) struct hash linked = {0};
	uint64_t place = 0;

	for (size_t i = 0; !place && i < v8->chunks.count; i++) {
		if (v8->chunks.items[i].owner)
			behind(v8, &v8->chunks.items[i], &place);
	}
	for (size_t i = 0; place && i < v8->chunks.count; i++) {
		const struct v8_chunk *chunk = &v8->chunks.items[i];
		uint64_t *count = chunk->owner ? hash_put(&linked, chunk->owner, NULL) : NULL;

		if (chunk->owner && !count)
			return -ENOMEM;
		if (count)
			*count += is_linked(v8, chunk, place);
	}
	for (size_t i = 0; place && i < v8->chunks.count; i++) {
		const struct v8_chunk *chunk = &v8->chunks.items[i];
		const uint64_t *count = chunk->owner ? hash_get(&linked, chunk->owner) : NULL;

		if (count && *count > 1 && !is_linked(v8, chunk, place))
			close_chunk(v8, chunk);
	}
	return 0;
}

static void close_unused(struct v8 *v8)
{
	for (size_t i = 0; i < v8->chunks.count; i++) {
		if (v8->chunks.items[i].flags & FLAG_FROM)
			close_chunk(v8, &v8->chunks.items[i]);
	}
	for (size_t i = 0; i < v8->areas.count; i++) {
		const struct v8_chunk *chunk = v8_chunk_at(v8, v8->areas.items[i].top);

		if (chunk && chunk->flags & FLAG_TO)
			close_behind(v8, chunk);
	}
}

int v8_find_chunks(struct v8 *v8, const char **why)
{
	int error = v8_find_layout(v8, why);

	if (!error)
		error = find_areas(v8);
	if (!error)
		error = close_left(v8);
	if (!error)
		close_unused(v8);
	return error;
}

static const struct v8_chunk_layout *layout_at(struct v8 *v8, uint64_t base, struct v8_chunk *chunk)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (read_chunk(v8, &layouts[i], base, chunk) && chunk->heap)
			return &layouts[i];
	}
	return NULL;
}

/* Finds a heap's first chunk near the start of a mapping; returns its layout. */
static const struct v8_chunk_layout *find_first(struct v8 *v8, struct v8_chunk *chunk)
{
	const struct maps *maps = v8->memory->maps;
	const struct v8_chunk_layout *found = NULL;

	for (size_t i = 0; !found && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		uint64_t base = align_up(mapping->start, V8_PAGE);

		if (!mapping_is_data(mapping) || !mapping_is_anonymous(mapping))
			continue;
		for (uint32_t j = 0; !found && j < FIRST_CHUNKS && base < mapping->end; j++) {
			found = layout_at(v8, base, chunk);
			base += V8_PAGE;
		}
	}
	return found;
}

uint64_t v8_first_heap(struct v8 *v8)
{
	struct v8_chunk chunk;

	return find_first(v8, &chunk) ? chunk.heap : 0;
}

int v8_find_first_layout(struct v8 *v8, const char **why)
{
	struct v8_chunk chunk;

	*why = "it has no heap yet, or its chunks have a layout that is not known";
	v8->layout = find_first(v8, &chunk);
	v8->by_need = true;
	return v8->layout ? 0 : -ENOENT;
}

/* A heap of a gigabyte has 4,000 chunks, each of which takes two to four system calls. */
#define SAMPLED_CHUNKS 512

int v8_sample_chunks(struct v8 *v8, uint64_t *step, const char **why)
{
	const struct maps *maps = v8->memory->maps;
	uint64_t candidates = 0;
	int error = v8_find_first_layout(v8, why);

	if (error)
		return error;
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (may_have_chunks(mapping))
			candidates += (mapping->end - mapping->start) / V8_PAGE;
	}
	*step = (candidates / SAMPLED_CHUNKS + 1) * V8_PAGE;
	return scan_all(v8, v8->layout, *step);
}

/* Returns the map of a type in a read-only chunk, tagged; 0: none. */
static uint64_t find_map(struct v8 *v8, const struct v8_chunk *chunk, uint16_t type)
{
	for (uint64_t at = chunk->start; at + 8 <= chunk->end; at += 8) {
		uint16_t found;

		if (target_word(v8->memory, at) == chunk->meta &&
		    !target_read(v8->memory, at + v8_place(v8, V8_MAP_TYPE), &found,
				 sizeof(found)) &&
		    found == type)
			return at | V8_TAG;
	}
	return 0;
}

static uint64_t find_map_in(struct v8 *v8, const struct mapping *mapping, uint16_t type)
{
	uint64_t base = align_up(mapping->start, V8_PAGE), found = 0;
	struct v8_chunk chunk;

	for (uint32_t i = 0; !found && i < FIRST_CHUNKS && base < mapping->end; i++) {
		if (read_chunk(v8, v8->layout, base, &chunk) && chunk.meta &&
		    chunk.size <= READ_ONLY_BYTES_MAX)
			found = find_map(v8, &chunk, type);
		base += V8_PAGE;
	}
	return found;
}

uint64_t v8_map_of_kind(struct v8 *v8, enum v8_kind kind)
{
	const struct maps *maps = v8->memory->maps;
	uint64_t found = 0;
	uint16_t type = 0;

	while (type < V8_TYPES && !(v8->types[type].known && v8->types[type].kind == kind))
		type++;
	for (size_t i = 0; type < V8_TYPES && !found && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping->readable && !mapping->shared && mapping_is_anonymous(mapping))
			found = find_map_in(v8, mapping, type);
	}
	return found;
}

/* A large object begins in the first V8_PAGE of its chunk. */
bool v8_has_chunk(struct v8 *v8, uint64_t address)
{
	uint64_t base = address & ~(V8_PAGE - 1), *slot;
	struct v8_chunk chunk;

	if (!v8->by_need)
		return v8_chunk_at(v8, address) != NULL;
	slot = hash_put(&v8->chunk_index, base, NULL);
	if (!slot)
		return false;
	if (!*slot)
		*slot = 1u + read_chunk(v8, v8->layout, base, &chunk);
	return *slot == 2;
}
