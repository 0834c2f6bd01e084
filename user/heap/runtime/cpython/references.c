// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * References of objects: lists, tuples, dictionaries, sets, weak references, and attributes of
 * instances, classes and modules. Other objects' references are the addresses among their words.
 *
 * The arrays of an object are parts of it: an array shared by several objects is read only for the
 * first, because n times m references would exhaust memory. The number of entries read is limited
 * by the array's block, never only by its own count.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/cpython/cpython.h"

#define CHUNK 64
/* Names shared by the instances of a class; a byte counts their values (SHARED_KEYS_MAX_SIZE, since
 * 3.11: 30). */
#define SHARED_NAMES_MAX 254
/* Names of one module, such as os.path and posixpath. */
#define MODULE_NAMES_MAX 16
/* Attributes charged to an object even if another one has the same dictionary. */
#define FEW_ATTRIBUTES 30

/* PySetObject, PyModuleObject, PyWeakReference */
#define SET_SMALL_TABLE 64
#define SET_ENTRY 16
#define MODULE_DICT 16
#define WEAKREF_CALLBACK 24

/* Modules/_collectionsmodule.c: dequeobject, BLOCK */
#define DEQUE_ITEMS 64
#define DEQUE_DATA 8
#define DEQUE_RIGHT 520
/* Since 3.11: spare blocks, and their number. */
#define DEQUE_SPARE_COUNT 72
#define DEQUE_SPARE 80
#define DEQUE_SPARE_MAX 16
#define DEQUE_LIMIT 64 /* maxlen; negative: none */

/* Modules/_functoolsmodule.c: lru_cache_object, the same from 3.8 to 3.15 */
#define LRU_CACHE 72
#define LRU_FIELDS 5 /* cache, hits, func, maxsize, misses */
#define DICT_USED 16

/* Modules/_threadmodule.c: lockobject, rlockobject */
#define LOCK_NATIVE 16
/* Modules/arraymodule.c: arrayobject; PyByteArrayObject */
#define ARRAY_ITEMS 24
#define BYTEARRAY_ALLOCATED 24
#define BYTEARRAY_BYTES 32
/* Modules/itertoolsmodule.c: teedataobject */
#define TEE_COUNT 24
/* Modules/_decimal/_decimal.c: PyDecObject.dec.data; and the embedded digits. */
#define DECIMAL_DATA 64
#define TEE_ITEMS 40
#define TEE_ITEMS_MAX 57

/* Before an object with FLAG_MANAGED_DICT. */
#define MANAGED_DICT (-24)
#define MANAGED_VALUES (-32) /* in 3.11 */

struct referrer {
	struct cpython *python;
	struct heap_sink *sink;
	uint32_t node;
	uint64_t object;
	struct cpython_type *type;
};

static int refer_to(const struct referrer *referrer, uint64_t to, uint32_t label)
{
	uint32_t *counts = referrer->sink->counts;

	if (to == referrer->object && counts && counts[referrer->node])
		counts[referrer->node]--;
	return to ? heap_sink_reference(referrer->sink, referrer->node, to, label) : 0;
}

/* Returns the number of entries from `address` to the end of its node. */
static uint64_t room(const struct heap_sink *sink, uint64_t address, uint32_t stride)
{
	uint32_t node = heap_sink_node(sink, address);

	if (node == BLOCK_NONE)
		return 0;
	return (sink->starts[node] + sink->sizes[node] - address) / stride;
}

/* Adds the references of `count` consecutive pointers to objects. */
static int refer_items(const struct referrer *referrer, uint64_t address, uint64_t count)
{
	uint64_t words[CHUNK];
	int error = 0;

	count = MIN(count, room(referrer->sink, address, 8));
	for (uint64_t i = 0; !error && i < count; i += CHUNK) {
		size_t here = (size_t)MIN(count - i, (uint64_t)CHUNK);

		if (target_read(referrer->python->memory, address + i * 8, words, here * 8))
			continue;
		for (size_t j = 0; !error && j < here; j++)
			error = refer_to(referrer, words[j], label_index(i + j));
	}
	return error;
}

static int refer_list(const struct referrer *referrer)
{
	uint64_t words[3]; /* ob_size, ob_item, allocated */

	if (target_read(referrer->python->memory, referrer->object + OBJECT_SIZE, words,
			sizeof(words)) ||
	    !words[1] ||
	    !heap_sink_part(referrer->sink, referrer->node, words[1],
			    words[2] < UINT64_MAX / 8 ? words[2] * 8 : 0, true))
		return 0;
	return refer_items(referrer, words[1], words[0]);
}

static uint64_t dict_place(const struct referrer *referrer);

/* Adds the references of an object whose other words are not read: its class and its dictionary. */
static int refer_own(const struct referrer *referrer)
{
	const struct cpython_type *type = referrer->type;
	bool is_managed = type->flags & FLAG_MANAGED_DICT && type->prefix > COLLECTOR_LINKS;
	uint64_t place = is_managed	    ? referrer->object + (uint64_t)MANAGED_DICT
			 : type->dictoffset ? dict_place(referrer)
					    : 0;
	int error = type->flags & FLAG_HEAP_TYPE ? refer_to(referrer, type->address, 0) : 0;

	if (error || heap_sink_node(referrer->sink, place) != referrer->node)
		return error;
	/* An odd word leads to values. */
	place = target_word(referrer->python->memory, place);
	return place & 1 ? 0 : refer_to(referrer, place, 0);
}

static int refer_tuple(const struct referrer *referrer)
{
	uint64_t count = target_word(referrer->python->memory, referrer->object + OBJECT_SIZE);
	int error;

	referrer->sink->whats[referrer->node] |= NODE_PRECISE;
	error = refer_items(referrer, referrer->object + referrer->python->layout->tuple_items,
			    count);
	return error ? error : refer_own(referrer);
}

static int refer_set(const struct referrer *referrer)
{
	struct target_memory *memory = referrer->python->memory;
	uint64_t mask = target_word(memory, referrer->object + SET_MASK);
	uint64_t table = target_word(memory, referrer->object + SET_TABLE);
	uint64_t count = mask < UINT32_MAX ? mask + 1 : 0;
	int error = 0;

	if (table != referrer->object + SET_SMALL_TABLE &&
	    !heap_sink_part(referrer->sink, referrer->node, table, count * SET_ENTRY, true))
		count = 0;
	count = MIN(count, room(referrer->sink, table, SET_ENTRY));
	for (uint64_t i = 0; !error && i < count; i++)
		error = refer_to(referrer, target_word(memory, table + i * SET_ENTRY), 0);
	return error;
}

uint32_t cpython_name_label(struct cpython *python, struct heap_sink *sink, uint64_t key)
{
	char name[CPYTHON_NAME_BYTES];
	bool identifier = false;

	if (!cpython_text(python, key, name, sizeof(name), &identifier) || !identifier)
		return 0;
	return heap_sink_label(sink, LABEL_ATTRIBUTE, name);
}

/*
 * Returns the number of a dictionary's entries within its block, because the process may have
 * changed the count. The table of an empty dictionary, or one older than known blocks, is in no
 * block.
 */
static uint64_t entry_count(const struct cpython *python, const struct heap_sink *sink,
			    const struct cpython_dict *dict)
{
	uint64_t count = dict->count;

	if (dict->values)
		count = MIN(count, room(sink, dict->values, 8));
	return heap_sink_node(sink, dict->keys) == BLOCK_NONE
		       ? target_room(python->memory, dict->entries, count * dict->stride) /
				 dict->stride
		       : MIN(count, room(sink, dict->entries, dict->stride));
}

static bool may_go_on(const struct cpython *python)
{
	return !target_memory_overworked(python->memory);
}

/* Adds the values in a dictionary as attributes of the node; except for a module: its variables are
 * roots, and held by nothing else. */
static int refer_attributes(const struct referrer *referrer, uint64_t object)
{
	struct cpython_dict dict;
	uint64_t count;
	int error = 0;

	if (hash_get(&referrer->python->namespaces, object) ||
	    !cpython_dict_open(referrer->python, object, &dict))
		return 0;
	count = entry_count(referrer->python, referrer->sink, &dict);
	if (count > FEW_ATTRIBUTES) {
		bool first = true;

		if (!hash_put(&referrer->python->attributed, object, &first))
			return -ENOMEM;
		count = first ? count : 0;
	}
	for (uint64_t i = 0; !error && i < count && may_go_on(referrer->python); i++) {
		struct cpython_entry entry;

		if (cpython_dict_entry(referrer->python, &dict, i, &entry) && entry.value &&
		    heap_sink_node(referrer->sink, entry.value) != BLOCK_NONE)
			error = refer_to(
				referrer, entry.value,
				cpython_name_label(referrer->python, referrer->sink, entry.key));
	}
	return error;
}

/* Returns whether values are inside an instance. */
static bool is_embedded(const struct referrer *referrer, uint64_t values)
{
	unsigned char head[INLINE_VALUES];

	return referrer->python->layout->values == VALUES_INLINE &&
	       (target_read(referrer->python->memory, values, head, sizeof(head)) ||
		head[INLINE_EMBEDDED]);
}

static struct cpython_type *type_of_node(struct cpython *python, const struct heap_sink *sink,
					 uint32_t node)
{
	uint32_t class = sink->whats[node] & NODE_CLASS;

	if (class < python->first_class || class - python->first_class >= python->class_types.count)
		return NULL;
	return &python->types.items[python->class_types.items[class - python->first_class]];
}

/* Returns whether the instance with the values also has the dictionary. */
static bool is_of_instance(const struct referrer *referrer, uint64_t values)
{
	const struct heap_sink *sink = referrer->sink;
	uint32_t node = heap_sink_node(sink, values);
	const struct cpython_type *type =
		node == BLOCK_NONE ? NULL : type_of_node(referrer->python, sink, node);

	return type && target_word(referrer->python->memory,
				   sink->starts[node] + type->prefix + (uint64_t)MANAGED_DICT) ==
			       referrer->object;
}

/* Returns whether the entries belong to this dictionary alone. */
static bool owns_entries(const struct referrer *referrer, const struct cpython_dict *dict)
{
	struct heap_sink *sink = referrer->sink;

	if (!dict->values)
		return heap_sink_node(sink, dict->keys) == BLOCK_NONE ||
		       heap_sink_part(sink, referrer->node, dict->keys, dict->keys_bytes, true);
	/* Other keys belong to a class, whose instances share them. */
	if (dict->keys_references == 1)
		heap_sink_part(sink, referrer->node, dict->keys, dict->keys_bytes, true);
	return is_embedded(referrer, dict->values_block)
		       ? is_of_instance(referrer, dict->values_block)
		       : heap_sink_part(sink, referrer->node, dict->values_block, 0, true);
}

static int refer_dict(const struct referrer *referrer)
{
	struct cpython_dict dict;
	uint64_t count;
	int error = 0;

	if (!cpython_dict_open(referrer->python, referrer->object, &dict))
		return 0;
	if (hash_get(&referrer->python->namespaces, referrer->object)) {
		heap_sink_part(referrer->sink, referrer->node, dict.keys, dict.keys_bytes, true);
		return 0;
	}
	if (!owns_entries(referrer, &dict))
		return 0;
	count = entry_count(referrer->python, referrer->sink, &dict);
	for (uint64_t i = 0; !error && i < count && may_go_on(referrer->python); i++) {
		struct cpython_entry entry;

		if (!cpython_dict_entry(referrer->python, &dict, i, &entry))
			continue;
		error = refer_to(referrer, entry.key, 0);
		if (!error)
			error = refer_to(referrer, entry.value, 0);
	}
	return error;
}

/* Reads the names of attributes stored outside a dictionary by instances of a type. */
static void read_labels(const struct referrer *referrer)
{
	struct cpython_type *type = referrer->type;
	struct cpython *python = referrer->python;
	struct cpython_dict keys;
	uint64_t count;

	type->labels_read = true;
	if (!(type->flags & FLAG_HEAP_TYPE) ||
	    !cpython_keys_open(
		    python,
		    target_word(python->memory, type->address + python->layout->cached_keys),
		    &keys))
		return;
	count = MIN(entry_count(referrer->python, referrer->sink, &keys),
		    (uint64_t)SHARED_NAMES_MAX);
	type->labels = calloc(count + 1, sizeof(*type->labels));
	for (uint64_t i = 0; type->labels && i < count; i++) {
		struct cpython_entry entry;

		if (cpython_dict_entry(python, &keys, i, &entry))
			type->labels[i] = cpython_name_label(python, referrer->sink, entry.key);
		type->label_count = (uint32_t)i + 1;
	}
}

static int refer_values(const struct referrer *referrer, uint64_t values)
{
	struct cpython_type *type = referrer->type;
	uint64_t count;
	int error = 0;

	if (!type->labels_read)
		read_labels(referrer);
	count = MIN(type->label_count, room(referrer->sink, values, 8));
	for (uint32_t i = 0; !error && i < count; i++)
		error = refer_to(referrer,
				 target_word(referrer->python->memory, values + (uint64_t)i * 8),
				 type->labels[i]);
	return error;
}

/* Adds values in a separate block. */
static int refer_block(const struct referrer *referrer, uint64_t values)
{
	return heap_sink_part(referrer->sink, referrer->node, values, 0, true)
		       ? refer_values(referrer, values)
		       : 0;
}

static int refer_inline(const struct referrer *referrer)
{
	uint64_t values = referrer->object + referrer->type->basicsize;
	unsigned char head[INLINE_VALUES];

	if (!(referrer->type->flags & FLAG_INLINE_VALUES) ||
	    target_read(referrer->python->memory, values, head, sizeof(head)) ||
	    !head[INLINE_VALID])
		return 0;
	return refer_values(referrer, values + INLINE_VALUES);
}

static uint64_t word_before(const struct referrer *referrer, int64_t offset)
{
	return target_word(referrer->python->memory, referrer->object + (uint64_t)offset);
}

static int refer_managed(const struct referrer *referrer)
{
	uint64_t dict = word_before(referrer, MANAGED_DICT);
	int error = 0;

	switch (referrer->python->layout->values) {
	case VALUES_IN_DICT:
		return 0;
	case VALUES_BEFORE:
		if (word_before(referrer, MANAGED_VALUES))
			error = refer_block(referrer, word_before(referrer, MANAGED_VALUES));
		break;
	case VALUES_TAGGED:
		if (dict & 1)
			return refer_block(referrer, dict + 1);
		break;
	case VALUES_INLINE:
		error = refer_inline(referrer);
		break;
	}
	return error || !dict ? error : refer_attributes(referrer, dict);
}

/* Returns the address of an object's pointer to its dictionary; behind its items if the offset is
 * negative. */
static uint64_t dict_place(const struct referrer *referrer)
{
	const struct cpython_type *type = referrer->type;
	int64_t size;

	if (type->dictoffset >= 0)
		return referrer->object + (uint64_t)type->dictoffset;
	size = (int64_t)target_word(referrer->python->memory, referrer->object + OBJECT_SIZE);
	size = MIN(size < 0 ? -size : size, INT64_MAX / 64);
	return referrer->object +
	       (uint64_t)((((int64_t)type->basicsize + size * (int64_t)type->itemsize + 7) & ~7) +
			  type->dictoffset);
}

static int refer_instance(const struct referrer *referrer)
{
	const struct cpython_type *type = referrer->type;
	uint64_t place;

	if (type->flags & FLAG_MANAGED_DICT && type->prefix > COLLECTOR_LINKS)
		return refer_managed(referrer);
	if (!type->dictoffset || type->dictoffset < -(int64_t)CPYTHON_NAME_BYTES ||
	    type->itemsize > CPYTHON_NAME_BYTES)
		return 0;
	place = dict_place(referrer);
	if (heap_sink_node(referrer->sink, place) != referrer->node)
		return 0;
	return refer_attributes(referrer, target_word(referrer->python->memory, place));
}

/* PyASCIIObject.state, followed by wstr, up to 3.11; utf8, unless all letters are ASCII; the
 * letters, unless they are in the object. */
#define STR_COMPACT (1u << 5)
#define STR_COMPACT_ASCII (3u << 5)
#define STR_WIDE 40
#define STR_WIDE_ASCII_BYTES 48

/* Adds letters in other blocks. */
static int refer_letters(const struct referrer *referrer)
{
	const struct cpython_layout *layout = referrer->python->layout;
	uint64_t places[3], size = referrer->sink->sizes[referrer->node] - referrer->type->prefix;
	uint32_t state =
		(uint32_t)target_word(referrer->python->memory, referrer->object + STR_STATE);
	size_t count = 0;

	if (layout->ascii_bytes == STR_WIDE_ASCII_BYTES)
		places[count++] = STR_WIDE;
	if ((state & STR_COMPACT_ASCII) != STR_COMPACT_ASCII)
		places[count++] = layout->ascii_bytes + 8;
	if (!(state & STR_COMPACT))
		places[count++] = layout->compact_bytes;
	for (size_t i = 0; i < count; i++) {
		if (places[i] + 8 <= size)
			heap_sink_part(
				referrer->sink, referrer->node,
				target_word(referrer->python->memory, referrer->object + places[i]),
				0, true);
	}
	/* Objects of subclasses may have more references. */
	if (!(referrer->type->flags & FLAG_HEAP_TYPE))
		referrer->sink->whats[referrer->node] |= NODE_PRECISE;
	return 0;
}

/* Adds the references of a weak reference; in a subclass, also those of its additional words. */
static int refer_weakly(const struct referrer *referrer)
{
	uint64_t more = referrer->python->weakref_bytes;
	int error;

	referrer->sink->whats[referrer->node] |= NODE_PRECISE;
	error = refer_items(referrer, referrer->object + WEAKREF_CALLBACK, 1);
	if (!error && more && referrer->type->basicsize > more)
		error = refer_items(referrer, referrer->object + more,
				    (referrer->type->basicsize - more) / 8);
	return error ? error : refer_own(referrer);
}

/* Adds the references of a deque's block; words outside the deque's ends are stale. */
static int refer_deque_block(const struct referrer *referrer, uint64_t block, uint64_t begin,
			     uint64_t count, uint64_t number)
{
	uint64_t words[DEQUE_ITEMS];
	int error = 0;

	if (target_read(referrer->python->memory, block + DEQUE_DATA, words, sizeof(words)))
		return 0;
	for (uint64_t i = 0; !error && i < count; i++)
		error = refer_to(referrer, words[begin + i], label_index(number + i));
	return error;
}

static void take_spare_blocks(const struct referrer *referrer)
{
	struct target_memory *memory = referrer->python->memory;
	uint64_t count = target_word(memory, referrer->object + DEQUE_SPARE_COUNT);

	if (referrer->type->basicsize < DEQUE_SPARE + DEQUE_SPARE_MAX * 8)
		return;
	for (uint64_t i = 0; i < MIN(count, (uint64_t)DEQUE_SPARE_MAX); i++)
		heap_sink_part(referrer->sink, referrer->node,
			       target_word(memory, referrer->object + DEQUE_SPARE + i * 8), 0,
			       true);
}

/* Notes the limit of a container. An impossibly large one means none: maxlen and maxsize are -1
 * then. */
static int note_limit(const struct referrer *referrer, uint64_t entries, uint64_t limit)
{
	if (!limit || limit > INT64_MAX || entries > limit)
		return 0;
	return heap_sink_bounded(referrer->sink, referrer->node, entries, limit);
}

/* Notes an lru_cache if its members agree: each entry of the dictionary was missed once. */
static int note_lru_cache(const struct referrer *referrer)
{
	struct target_memory *memory = referrer->python->memory;
	uint64_t words[LRU_FIELDS], used;
	const struct cpython_type *type;

	if (target_read(memory, referrer->object + LRU_CACHE, words, sizeof(words)))
		return 0;
	type = words[0] ? cpython_type_of(referrer->python, words[0]) : NULL;
	if (!type || type->kind != CPYTHON_DICT)
		return 0;
	used = target_word(memory, words[0] + DICT_USED);
	return words[1] <= INT64_MAX && words[4] <= INT64_MAX && used <= words[4]
		       ? note_limit(referrer, used, words[3])
		       : 0;
}

static int refer_deque(const struct referrer *referrer)
{
	struct target_memory *memory = referrer->python->memory;
	uint64_t words[5]; /* ob_size, leftblock, rightblock, leftindex, rightindex */
	uint64_t done = 0, block, begin;
	int error = 0;

	if (target_read(memory, referrer->object + OBJECT_SIZE, words, sizeof(words)) ||
	    words[3] >= DEQUE_ITEMS)
		return 0;
	take_spare_blocks(referrer);
	block = words[1];
	begin = words[3];
	error = note_limit(referrer, words[0], target_word(memory, referrer->object + DEQUE_LIMIT));
	/* An empty deque has a block, too. */
	for (bool first = true; !error && block && (first || done < words[0]); first = false) {
		uint64_t count = MIN(words[0] - done, DEQUE_ITEMS - begin);

		/* Ends circular lists: the block is already a part. */
		if (!heap_sink_part(referrer->sink, referrer->node, block, 0, true))
			break;
		error = refer_deque_block(referrer, block, begin, count, done);
		done += count;
		begin = 0;
		block = target_word(memory, block + DEQUE_RIGHT);
	}
	return error;
}

/* Adds a block without pointers as a part of an object. */
static int take_block(const struct referrer *referrer, uint32_t place, uint64_t size)
{
	uint64_t block = target_word(referrer->python->memory, referrer->object + place);

	heap_sink_part(referrer->sink, referrer->node, block, size, true);
	return 0;
}

/* Adds the references to the results kept by a tee. */
static int refer_tee(const struct referrer *referrer)
{
	uint64_t word = target_word(referrer->python->memory, referrer->object + TEE_COUNT);
	uint64_t count = MIN((uint32_t)word, TEE_ITEMS_MAX);

	if (count == TEE_ITEMS_MAX)
		return 0;
	return heap_sink_claim_within(referrer->sink, referrer->object + TEE_ITEMS + count * 8,
				      (TEE_ITEMS_MAX - count) * 8);
}

/* Adds a type's parts: names shared by its instances, and its text. */
static int refer_type(const struct referrer *referrer)
{
	struct cpython *python = referrer->python;
	struct cpython_dict keys;
	struct cpython_entry entry;
	uint64_t count;
	int error = refer_attributes(referrer,
				     target_word(python->memory, referrer->object + TYPE_DICT));

	take_block(referrer, TYPE_DOC, 0);
	if (error ||
	    !cpython_keys_open(
		    python,
		    target_word(python->memory, referrer->object + python->layout->cached_keys),
		    &keys) ||
	    !heap_sink_part(referrer->sink, referrer->node, keys.keys, keys.keys_bytes, true))
		return error;
	count = entry_count(referrer->python, referrer->sink, &keys);
	for (uint64_t i = 0; !error && i < count && may_go_on(python); i++) {
		if (cpython_dict_entry(python, &keys, i, &entry))
			error = refer_to(referrer, entry.key, 0);
	}
	return error;
}

/* A frame kept for the next call of its code still contains references of the last call. */
static int refer_code(const struct referrer *referrer)
{
	uint32_t place = referrer->python->layout->frames.dead_frame;

	if (place)
		heap_sink_part(referrer->sink, referrer->node,
			       target_word(referrer->python->memory, referrer->object + place), 0,
			       true);
	return 0;
}

static int refer_contents(const struct referrer *referrer)
{
	struct target_memory *memory = referrer->python->memory;

	switch (referrer->type->kind) {
	case CPYTHON_LIST:
		return refer_list(referrer);
	case CPYTHON_TUPLE:
		return refer_tuple(referrer);
	case CPYTHON_DICT:
		return refer_dict(referrer);
	case CPYTHON_SET:
		return refer_set(referrer);
	case CPYTHON_TYPE:
		return refer_type(referrer);
	case CPYTHON_MODULE:
		return refer_attributes(referrer,
					target_word(memory, referrer->object + MODULE_DICT));
	case CPYTHON_STR:
		return refer_letters(referrer);
	case CPYTHON_WEAKREF:
		return refer_weakly(referrer);
	case CPYTHON_CODE:
		return refer_code(referrer);
	case CPYTHON_DEQUE:
		return refer_deque(referrer);
	case CPYTHON_LRU_CACHE:
		return note_lru_cache(referrer);
	case CPYTHON_LOCK:
		return take_block(referrer, LOCK_NATIVE, 0);
	case CPYTHON_ARRAY:
		return take_block(referrer, ARRAY_ITEMS, 0);
	case CPYTHON_BYTEARRAY:
		return take_block(referrer, BYTEARRAY_BYTES,
				  target_word(memory, referrer->object + BYTEARRAY_ALLOCATED));
	case CPYTHON_DECIMAL:
		referrer->sink->whats[referrer->node] |=
			referrer->type->dictoffset ? 0 : NODE_PRECISE;
		take_block(referrer, DECIMAL_DATA, 0);
		return refer_own(referrer);
	case CPYTHON_DATA:
		referrer->sink->whats[referrer->node] |= NODE_PRECISE;
		return 0;
	case CPYTHON_MEMORYVIEW: /* sizes follow its basic size */
		return heap_sink_claim_within(
			referrer->sink, referrer->object + referrer->type->basicsize,
			referrer->sink->sizes[referrer->node] - referrer->type->prefix -
				referrer->type->basicsize);
	case CPYTHON_TEE:
		return refer_tee(referrer);
	case CPYTHON_FRAME:
	case CPYTHON_GENERATOR:
		return cpython_frame_refer(referrer->python, referrer->sink, referrer->node,
					   referrer->object, referrer->type->kind);
	default:
		break;
	}
	/* Its dictionary may follow items that are no pointers. */
	return referrer->type->quiet_from && referrer->type->dictoffset < 0 ? refer_own(referrer)
									    : 0;
}

/* Notes ob_refcnt; immortal objects have one that is negative as an int (since 3.12). */
static int note_count(const struct referrer *referrer)
{
	uint32_t references =
		(uint32_t)target_word(referrer->python->memory, referrer->object + OBJECT_REFCOUNT);

	return heap_sink_counted(referrer->sink, referrer->node,
				 references > INT32_MAX ? UINT32_MAX : references);
}

int cpython_refer(void *state, struct heap_sink *sink, uint32_t node)
{
	struct cpython *python = state;
	struct referrer referrer = {.python = python,
				    .sink = sink,
				    .node = node,
				    .type = type_of_node(python, sink, node)};
	size_t place;
	int error;

	if (!referrer.type)
		return 0;
	place = (size_t)(referrer.type - python->types.items);
	referrer.object = sink->starts[node] + referrer.type->prefix;
	error = note_count(&referrer);
	if (!error)
		error = refer_contents(&referrer);
	/* The list may have been reallocated meanwhile. */
	referrer.type = &python->types.items[place];
	return error ? error : refer_instance(&referrer);
}

/* Variables of modules. */

static int add_variable(struct cpython *python, struct heap_sink *sink, const char *module,
			const struct cpython_entry *entry)
{
	char name[CPYTHON_NAME_BYTES], root[2 * CPYTHON_NAME_BYTES + 16];
	bool identifier = false;

	if (!cpython_text(python, entry->key, name, sizeof(name), &identifier) || !identifier)
		snprintf(root, sizeof(root), "module %s", module);
	else
		snprintf(root, sizeof(root), "module %s → %s", module, name);
	return heap_sink_root(sink, "cpython", root, entry->value);
}

/* Returns whether an object is a module: variables of a module do not hold modules. */
static bool is_module(struct cpython *python, uint64_t object)
{
	const struct cpython_type *type = cpython_type_of(python, object);

	return type && type->kind == CPYTHON_MODULE;
}

static int add_module(struct cpython *python, struct heap_sink *sink, uint64_t key, uint64_t module)
{
	uint64_t object = target_word(python->memory, module + MODULE_DICT), count, *names;
	char name[CPYTHON_NAME_BYTES];
	struct cpython_dict dict;
	int error = 0;

	if (!is_module(python, module) || !cpython_text(python, key, name, sizeof(name), NULL) ||
	    !cpython_dict_open(python, object, &dict))
		return 0;
	names = hash_put(&python->namespaces, object, NULL);
	if (!names)
		return -ENOMEM;
	if (++*names > MODULE_NAMES_MAX)
		return 0;
	count = entry_count(python, sink, &dict);
	for (uint64_t i = 0; !error && i < count && may_go_on(python); i++) {
		struct cpython_entry entry;

		if (cpython_dict_entry(python, &dict, i, &entry) && entry.value &&
		    !is_module(python, entry.value))
			error = add_variable(python, sink, name, &entry);
	}
	return error ? error : heap_sink_namespace(sink, heap_sink_node(sink, object));
}

static int add_modules(struct cpython *python, struct heap_sink *sink, uint64_t modules)
{
	struct cpython_dict dict;
	struct cpython_entry entry;
	uint64_t count;
	int error = 0;

	if (!cpython_dict_open(python, modules, &dict))
		return 0;
	count = entry_count(python, sink, &dict);
	for (uint64_t i = 0; !error && i < count && may_go_on(python); i++) {
		if (cpython_dict_entry(python, &dict, i, &entry) && entry.value)
			error = add_module(python, sink, entry.key, entry.value);
	}
	return error;
}

int cpython_roots(void *state, struct heap_sink *sink)
{
	struct cpython *python = state;
	int error = 0;

	cpython_collectors(python, sink, &sink->reports.items[python->report]);
	for (size_t i = 0; !error && i < python->interpreters.count; i++)
		error = add_modules(python, sink,
				    target_word(python->memory, python->interpreters.items[i] +
									python->layout->modules));
	for (size_t i = 0; !error && i < python->interpreters.count; i++)
		error = cpython_frame_roots(python, sink, python->interpreters.items[i]);
	return error ? error : cpython_claim_static(python, sink);
}
