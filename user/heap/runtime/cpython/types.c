// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Types, names and dictionaries. A type is believed if its chain of types ends at `type` itself,
 * and if it is ready, as each is before its first object is created.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/cpython/cpython.h"

/* Value in type_index. */
#define TYPE_IS_NONE UINT64_MAX
/* Most addresses remembered as not being types. */
#define NO_TYPES_MAX (1u << 20)

#define META_MAX 4
#define BASES_MAX 64
#define SIZE_MAX_ (1u << 20) /* limit of an object without its items */
#define ENTRIES_MAX (1ull << 32)

/* PyObject, since 3.14: ob_refcnt, ob_overflow, ob_flags; immortal with the highest bit of the
 * first. Up to 3.13: ob_refcnt alone; since 3.12, immortal with all bits of its lower half. */
#define COUNT_OVERFLOW(word) ((word) >> 32 & 0xffff)
#define COUNT_FLAGS(word) ((word) >> 48)
#define COUNT_FLAGS_MAX 0x3f

bool cpython_is_alive(const struct cpython *python, uint64_t references)
{
	/* A free-threaded build has several kinds of counts. */
	if (python->layout->shift)
		return true;
	if (python->layout->flagged_counts)
		return (uint32_t)references && !COUNT_OVERFLOW(references) &&
		       COUNT_FLAGS(references) <= COUNT_FLAGS_MAX;
	return (references && references < 1u << 31) || references == UINT32_MAX;
}

struct type_head {
	uint64_t references, type, name, basicsize, itemsize, flags;
};

static bool read_head(struct cpython *python, uint64_t address, struct type_head *head)
{
	uint64_t words[TYPE_FLAGS / 8 + 1];

	if (address % 8 ||
	    target_read(python->memory, address + python->layout->shift, words, sizeof(words)))
		return false;
	*head = (struct type_head){words[OBJECT_REFCOUNT / 8], words[OBJECT_TYPE / 8],
				   words[TYPE_NAME / 8],       words[TYPE_BASICSIZE / 8],
				   words[TYPE_ITEMSIZE / 8],   words[TYPE_FLAGS / 8]};
	return cpython_is_alive(python, head->references) && head->flags & FLAG_READY &&
	       head->basicsize >= 16 && head->basicsize <= SIZE_MAX_ && head->itemsize <= SIZE_MAX_;
}

/* Returns whether the chain of types of a type ends at `type`. */
static bool is_type(struct cpython *python, uint64_t address, struct type_head *head)
{
	struct type_head meta;

	if (!read_head(python, address, head))
		return false;
	meta = *head;
	for (size_t i = 0; i < META_MAX; i++) {
		if (meta.type == python->type_type)
			return true;
		if (!read_head(python, meta.type, &meta) || !(meta.flags & FLAG_TYPE))
			return false;
	}
	return false;
}

static uint64_t type_word(struct cpython *python, uint64_t type, uint32_t field)
{
	return target_word(python->memory, type + python->layout->shift + field);
}

bool cpython_derives(struct cpython *python, uint64_t type, uint64_t from)
{
	for (size_t i = 0; from && type && i < BASES_MAX; i++) {
		if (type == from)
			return true;
		type = type_word(python, type, TYPE_BASE);
	}
	return false;
}

static bool c_string(struct cpython *python, uint64_t address, char *text, size_t size);

/* Returns the kind, by name, of a C module's type that no exported variable points to. */
static enum cpython_kind kind_by_name(struct cpython *python, uint64_t type)
{
	static const struct {
		const char *name;
		enum cpython_kind kind;
	} named[] = {{"collections.deque", CPYTHON_DEQUE},
		     {"_thread.lock", CPYTHON_LOCK},
		     {"functools._lru_cache_wrapper", CPYTHON_LRU_CACHE},
		     {"_thread.RLock", CPYTHON_LOCK},
		     {"array.array", CPYTHON_ARRAY},
		     {"decimal.Decimal", CPYTHON_DECIMAL},
		     {"itertools._tee_dataobject", CPYTHON_TEE},
		     {"datetime.date", CPYTHON_DATE},
		     {"datetime.time", CPYTHON_DATE},
		     {"datetime.datetime", CPYTHON_DATETIME},
		     {"datetime.timedelta", CPYTHON_DATETIME},
		     {"itertools.count", CPYTHON_COUNT}};
	char name[sizeof("functools._lru_cache_wrapper") + 1];

	for (size_t i = 0; type && i < BASES_MAX; i++) {
		bool is_text =
			c_string(python, type_word(python, type, TYPE_NAME), name, sizeof(name));

		for (size_t j = 0; is_text && j < ARRAY_SIZE(named); j++) {
			if (!strcmp(name, named[j].name))
				return named[j].kind;
		}
		type = type_word(python, type, TYPE_BASE);
	}
	return CPYTHON_OTHER;
}

static enum cpython_kind kind_of(struct cpython *python, uint64_t address, uint64_t flags)
{
	static const struct {
		uint64_t flag;
		enum cpython_kind kind;
	} flagged[] = {{FLAG_LIST, CPYTHON_LIST},
		       {FLAG_TUPLE, CPYTHON_TUPLE},
		       {FLAG_DICT, CPYTHON_DICT},
		       {FLAG_STR, CPYTHON_STR},
		       {FLAG_TYPE, CPYTHON_TYPE}};

	for (size_t i = 0; i < ARRAY_SIZE(flagged); i++) {
		if (flags & flagged[i].flag)
			return flagged[i].kind;
	}
	/* Subclasses have attributes. */
	if ((flags & (FLAG_INT | FLAG_BYTES) && !(flags & FLAG_HEAP_TYPE)) ||
	    address == python->float_type || address == python->complex_type)
		return CPYTHON_DATA;
	if (cpython_derives(python, address, python->float_type))
		return CPYTHON_FLOAT;
	if (cpython_derives(python, address, python->complex_type))
		return CPYTHON_COMPLEX;
	if (cpython_derives(python, address, python->set_type) ||
	    cpython_derives(python, address, python->frozenset_type))
		return CPYTHON_SET;
	if (cpython_derives(python, address, python->module_type))
		return CPYTHON_MODULE;
	for (size_t i = 0; i < ARRAY_SIZE(python->frame_types); i++) {
		if (address == python->frame_types[i])
			return i + 1 < ARRAY_SIZE(python->frame_types) ? CPYTHON_GENERATOR
								       : CPYTHON_FRAME;
	}
	if (address == python->code_type)
		return CPYTHON_CODE;
	if (cpython_derives(python, address, python->weakref_type))
		return CPYTHON_WEAKREF;
	if (cpython_derives(python, address, python->bytearray_type))
		return CPYTHON_BYTEARRAY;
	if (address == python->memoryview_type)
		return CPYTHON_MEMORYVIEW;
	return kind_by_name(python, address);
}

static void describe(struct cpython *python, uint64_t address, const struct type_head *head,
		     struct cpython_type *type)
{
	uint64_t dictoffset = type_word(python, address, TYPE_DICTOFFSET);
	uint64_t weaklistoffset = type_word(python, address, TYPE_WEAKLISTOFFSET);

	*type = (struct cpython_type){
		.address = address,
		.flags = head->flags,
		.basicsize = head->basicsize,
		.itemsize = head->itemsize,
		.dictoffset = (int64_t)dictoffset,
		.weaklistoffset = (int64_t)weaklistoffset,
		.prefix = head->flags & FLAG_COLLECTED ? COLLECTOR_LINKS : 0,
		.class = UINT32_MAX,
		.kind = kind_of(python, address, head->flags),
	};
	if (head->flags & python->layout->preheader_flags)
		type->prefix += 16;
	for (size_t i = 0; i < ARRAY_SIZE(python->frame_types); i++)
		type->whole_block |=
			python->layout->frames_inside && address == python->frame_types[i];
	cpython_quiet(python, type);
}

struct cpython_type *cpython_type_at(struct cpython *python, uint64_t address)
{
	uint64_t *place = hash_get(&python->type_index, address);
	struct cpython_type *type;
	struct type_head head;
	bool valid;

	if (place)
		return *place == TYPE_IS_NONE ? NULL : &python->types.items[*place - 1];
	valid = is_type(python, address, &head);
	if (!valid && python->type_index.count > NO_TYPES_MAX)
		return NULL;
	place = hash_put(&python->type_index, address, NULL);
	if (!place)
		return NULL;
	*place = TYPE_IS_NONE;
	type = valid ? vec_push(&python->types) : NULL;
	if (!type)
		return NULL;
	describe(python, address, &head, type);
	*place = python->types.count;
	return type;
}

struct cpython_type *cpython_type_of(struct cpython *python, uint64_t object)
{
	uint64_t words[2];

	if (!object || object % 8 ||
	    target_read(python->memory, object + python->layout->shift, words, sizeof(words)) ||
	    !cpython_is_alive(python, words[0]))
		return NULL;
	return cpython_type_at(python, words[1]);
}

/* Text of a str, for names. */

/* PyASCIIObject.state */
#define STATE_INTERNED 3u
#define STATE_KIND(state) ((state) >> 2 & 7)
#define STATE_COMPACT (1u << 5)
#define STATE_ASCII (1u << 6)

static size_t put_utf8(char *text, uint32_t letter)
{
	if (letter < 0x80) {
		text[0] = (char)letter;
		return 1;
	}
	if (letter < 0x800) {
		text[0] = (char)(0xc0 | letter >> 6);
		text[1] = (char)(0x80 | (letter & 0x3f));
		return 2;
	}
	if (letter < 0x10000) {
		text[0] = (char)(0xe0 | letter >> 12);
		text[1] = (char)(0x80 | (letter >> 6 & 0x3f));
		text[2] = (char)(0x80 | (letter & 0x3f));
		return 3;
	}
	text[0] = (char)(0xf0 | (letter >> 18 & 7));
	text[1] = (char)(0x80 | (letter >> 12 & 0x3f));
	text[2] = (char)(0x80 | (letter >> 6 & 0x3f));
	text[3] = (char)(0x80 | (letter & 0x3f));
	return 4;
}

/* Reads letters of 1, 2 or 4 bytes. */
static bool read_letters(struct cpython *python, uint64_t from, uint32_t width, uint64_t count,
			 char *text, size_t size)
{
	size_t used = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint32_t letter = 0;

		if (used + 5 > size ||
		    target_read(python->memory, from + i * width, &letter, width) || !letter)
			return false;
		used += put_utf8(text + used, letter);
	}
	text[used] = '\0';
	return count > 0;
}

/* Returns whether a text is a name as in source code; letters beyond ASCII may be part of one. */
static bool is_name(const char *text)
{
	for (const char *at = text; *at; at++) {
		bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
			      *at == '_' || *at & 0x80;

		if (!letter && (at == text || *at < '0' || *at > '9'))
			return false;
	}
	return *text;
}

bool cpython_text(struct cpython *python, uint64_t object, char *text, size_t size,
		  bool *identifier)
{
	const struct cpython_type *type = cpython_type_of(python, object);
	uint64_t fields = object + python->layout->shift;
	uint64_t length = target_word(python->memory, fields + OBJECT_SIZE);
	uint32_t state, width;
	bool ascii;

	if (!type || !(type->flags & FLAG_STR) || length >= size ||
	    target_read(python->memory, fields + STR_STATE, &state, sizeof(state)))
		return false;
	ascii = state & STATE_ASCII;
	width = STATE_KIND(state);
	if (!(state & STATE_COMPACT) || (width != 1 && width != 2 && width != 4) ||
	    !read_letters(
		    python,
		    fields + (ascii ? python->layout->ascii_bytes : python->layout->compact_bytes),
		    ascii ? 1 : width, length, text, size))
		return false;
	if (identifier)
		*identifier = state & STATE_INTERNED && is_name(text);
	return true;
}

/* Dictionaries. */

struct keys_head {
	uint64_t references, places; /* of the table of indices */
	uint64_t head, indices, count;
	bool names_only; /* without hashes */
};

static bool read_old_keys(struct cpython *python, uint64_t keys, struct keys_head *head)
{
	uint64_t words[5], width;

	if (target_read(python->memory, keys, words, sizeof(words)))
		return false;
	width = words[1] <= 0xff ? 1 : words[1] <= 0xffff ? 2 : words[1] <= UINT32_MAX ? 4 : 8;
	*head = (struct keys_head){.references = words[0],
				   .places = words[1],
				   .head = sizeof(words),
				   .count = words[4]};
	head->indices = words[1] <= ENTRIES_MAX ? words[1] * width : 0;
	return true;
}

static bool read_new_keys(struct cpython *python, uint64_t keys, struct keys_head *head)
{
	unsigned char bytes[32];
	uint64_t count;

	if (target_read(python->memory, keys, bytes, sizeof(bytes)) || bytes[8] > 32 ||
	    bytes[9] > 35)
		return false;
	*head = (struct keys_head){.places = 1ull << bytes[8],
				   .head = sizeof(bytes),
				   .indices = 1ull << bytes[9],
				   .names_only = bytes[10] != 0};
	memcpy(&head->references, bytes, sizeof(head->references));
	memcpy(&count, bytes + 24, sizeof(count));
	head->count = count;
	return true;
}

bool cpython_keys_open(struct cpython *python, uint64_t keys, struct cpython_dict *dict)
{
	struct keys_head head;

	if (!keys || keys % 8 ||
	    !(python->layout->old_keys ? read_old_keys : read_new_keys)(python, keys, &head) ||
	    !head.places || head.places & (head.places - 1) || head.places > ENTRIES_MAX ||
	    head.count > head.places)
		return false;
	*dict = (struct cpython_dict){.keys = keys,
				      .keys_references = head.references,
				      .entries = keys + head.head + head.indices,
				      .count = head.count,
				      .stride = head.names_only ? 16 : 24,
				      .key = head.names_only ? 0 : 8,
				      .value = head.names_only ? 8 : 16};
	dict->keys_bytes = head.head + head.indices + head.places * 2 / 3 * dict->stride;
	return true;
}

bool cpython_dict_open(struct cpython *python, uint64_t object, struct cpython_dict *dict)
{
	uint64_t words[2];

	if (!object || target_read(python->memory, object + DICT_KEYS, words, sizeof(words)) ||
	    !cpython_keys_open(python, words[0], dict))
		return false;
	if (words[1]) {
		dict->values_block = words[1];
		dict->values = words[1] + python->layout->split_values;
	}
	return true;
}

bool cpython_dict_entry(struct cpython *python, const struct cpython_dict *dict, uint64_t i,
			struct cpython_entry *entry)
{
	uint64_t words[3];

	if (target_read(python->memory, dict->entries + i * dict->stride, words, dict->stride))
		return false;
	*entry = (struct cpython_entry){words[dict->key / 8], words[dict->value / 8]};
	if (dict->values)
		entry->value = target_word(python->memory, dict->values + i * 8);
	return true;
}

/* Names of types. */

#define ATTRIBUTES_MAX 4096

/* Reads the str of a name in a type's dictionary. */
static bool attribute_text(struct cpython *python, uint64_t type, const char *name, char *text,
			   size_t size)
{
	struct cpython_dict dict;
	struct cpython_entry entry;
	char key[32];

	if (!cpython_dict_open(python, target_word(python->memory, type + TYPE_DICT), &dict))
		return false;
	for (uint64_t i = 0; i < MIN(dict.count, (uint64_t)ATTRIBUTES_MAX); i++) {
		if (cpython_dict_entry(python, &dict, i, &entry) && entry.value &&
		    cpython_text(python, entry.key, key, sizeof(key), NULL) && !strcmp(key, name))
			return cpython_text(python, entry.value, text, size, NULL);
	}
	return false;
}

/* Reads a C string of letters valid in names. */
static bool c_string(struct cpython *python, uint64_t address, char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (target_read(python->memory, address + i, &text[i], 1))
			return false;
		if (!text[i])
			return i > 0;
		if (text[i] < ' ' || text[i] == 0x7f)
			return false;
	}
	return false;
}

void cpython_type_name(struct cpython *python, const struct cpython_type *type,
		       char name[CPYTHON_NAME_BYTES])
{
	char module[CPYTHON_NAME_BYTES / 2], qualified[CPYTHON_NAME_BYTES / 2 - 1];
	bool heap = type->flags & FLAG_HEAP_TYPE;

	if (heap &&
	    cpython_text(python,
			 target_word(python->memory, type->address + python->layout->qualname),
			 qualified, sizeof(qualified), NULL)) {
		if (attribute_text(python, type->address, "__module__", module, sizeof(module)) &&
		    strcmp(module, "builtins") != 0)
			snprintf(name, CPYTHON_NAME_BYTES, "%s.%s", module, qualified);
		else
			snprintf(name, CPYTHON_NAME_BYTES, "%s", qualified);
		return;
	}
	if (!c_string(python, target_word(python->memory, type->address + TYPE_NAME), name,
		      CPYTHON_NAME_BYTES))
		snprintf(name, CPYTHON_NAME_BYTES, "?");
}
