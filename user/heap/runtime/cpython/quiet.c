// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Words of objects that are numbers: counts, hashes, versions, flags, bytecode, letters. A program
 * that is not position-independent has malloc's heap below 4 GiB, where such a number may look like
 * the address of a block.
 *
 * Objects compiled into the interpreter and its modules (types; since 3.11 code, names and
 * constants of frozen modules) lie among variables, and have such words, too.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/cpython/cpython.h"

#define SCAN_BYTES (64u << 10)
/* Limits of the searched data of a module, and of objects found there. */
#define SCAN_BYTES_MAX (64ull << 20)
#define STATIC_OBJECTS_MAX (1u << 20)
/* _PyObject_IMMORTAL_REFCNT of 3.11, minus decrements since; 3.12 and 3.13: all bits; 3.14: 3 <<
 * 30. */
#define LASTING_REFERENCES 900000000u
/* od_fast_nodes_size, od_state */
#define ORDERED_WORDS (OBJECT_WORD(7) | OBJECT_WORD(9))

static const uint64_t quiet_of_kinds[CPYTHON_KIND_MAX_] = {
	/* ob_size, allocated */
	[CPYTHON_LIST] = OBJECT_WORD(2) | OBJECT_WORD(4),
	/* ma_used, ma_version_tag */
	[CPYTHON_DICT] = OBJECT_WORD(2) | OBJECT_WORD(3),
	/* fill, used, mask, hash, finger, smalltable: its keys are references */
	[CPYTHON_SET] = OBJECT_WORD(2) | OBJECT_WORD(3) | OBJECT_WORD(4) | OBJECT_WORD(6) |
			OBJECT_WORD(7) | 0xffffull << 8,
	/* ob_size, tp_basicsize, tp_itemsize, tp_vectorcall_offset, tp_flags,
	 * tp_weaklistoffset, tp_dictoffset, tp_version_tag */
	[CPYTHON_TYPE] = OBJECT_WORD(2) | OBJECT_WORD(4) | OBJECT_WORD(5) | OBJECT_WORD(7) |
			 OBJECT_WORD(21) | OBJECT_WORD(26) | OBJECT_WORD(36) | OBJECT_WORD(48),
	/* ob_size, leftindex, rightindex, state, maxlen */
	[CPYTHON_DEQUE] =
		OBJECT_WORD(2) | OBJECT_WORD(5) | OBJECT_WORD(6) | OBJECT_WORD(7) | OBJECT_WORD(8),
	/* ob_size, allocated, ob_exports */
	[CPYTHON_ARRAY] = OBJECT_WORD(2) | OBJECT_WORD(4) | OBJECT_WORD(7),
	/* ob_size, ob_alloc, ob_exports */
	[CPYTHON_BYTEARRAY] = OBJECT_WORD(2) | OBJECT_WORD(3) | OBJECT_WORD(6),
	/* hash, flags, exports; view: len, itemsize, readonly and ndim */
	[CPYTHON_MEMORYVIEW] = OBJECT_WORD(4) | OBJECT_WORD(5) | OBJECT_WORD(6) | OBJECT_WORD(9) |
			       OBJECT_WORD(10) | OBJECT_WORD(11),
	/* ob_fval; cval of complex */
	[CPYTHON_FLOAT] = OBJECT_WORD(2),
	[CPYTHON_COMPLEX] = OBJECT_WORD(2) | OBJECT_WORD(3),
	/* hashcode, hastzinfo with data; of timedelta days, seconds, microseconds */
	[CPYTHON_DATE] = OBJECT_WORD(2) | OBJECT_WORD(3),
	[CPYTHON_DATETIME] = OBJECT_WORD(2) | OBJECT_WORD(3) | OBJECT_WORD(4),
	/* cnt */
	[CPYTHON_COUNT] = OBJECT_WORD(2),
};

uint64_t cpython_quiet_words(const struct cpython *python, enum cpython_kind kind)
{
	const struct cpython_layout *layout = python->layout;

	switch (kind) {
	case CPYTHON_CODE:
		return layout->quiet_code;
	case CPYTHON_STR: /* length, hash, state; utf8_length and, up to 3.11, wstr_length */
		return OBJECT_WORD(2) | OBJECT_WORD(3) | OBJECT_WORD(4) |
		       OBJECT_WORD(layout->ascii_bytes / 8) |
		       (layout->ascii_bytes == 48 ? OBJECT_WORD(8) : 0);
	case CPYTHON_DEQUE: /* numfreeblocks */
		return quiet_of_kinds[kind] | (layout->version >= 0x030b ? OBJECT_WORD(9) : 0);
	case CPYTHON_GENERATOR: /* flags, with the state of its frame */
		return layout->frames.generator_state
			       ? OBJECT_WORD(layout->frames.generator_state / 8)
			       : 0;
	case CPYTHON_FRAME: /* f_lineno, with flags */
		return layout->frames.kind == FRAMES_OBJECTS ? 0 : OBJECT_WORD(5);
	default:
		return quiet_of_kinds[kind];
	}
}

void cpython_quiet(struct cpython *python, struct cpython_type *type)
{
	uint64_t words = cpython_quiet_words(python, type->kind);
	/* In a subclass, it follows the items, and counts. */
	bool dict = type->dictoffset < 0 && !(type->flags & FLAG_MANAGED_DICT);

	if (type->kind == CPYTHON_DICT && type->basicsize > 80 &&
	    cpython_derives(python, type->address, python->ordered_type))
		words |= ORDERED_WORDS;
	/* ob_size; items that are no pointers. */
	if (type->itemsize && !type->whole_block)
		words |= OBJECT_WORD(OBJECT_SIZE / 8);
	if (type->itemsize % 8)
		type->quiet_from = (uint32_t)(type->basicsize - (dict ? 8 : 0)) & ~7u;
	/* ob_shash */
	if (type->flags & FLAG_BYTES)
		words |= OBJECT_WORD(3);
	type->quiet_words = words | OBJECT_WORD(OBJECT_REFCOUNT / 8);
}

/* Objects among variables. */

struct scan {
	struct cpython *python;
	struct heap_sink *sink;
	uint64_t end; /* of the mapping */
	uint32_t found;
};

/* Returns whether memory with a pointer to a type is an object: types are verified by themselves,
 * other objects by their reference counts. */
static bool is_static(struct scan *scan, uint64_t object, const struct cpython_type *type)
{
	uint64_t references = target_word(scan->python->memory, object + OBJECT_REFCOUNT);

	if (type->kind == CPYTHON_TYPE)
		return cpython_type_at(scan->python, object);
	if (scan->python->layout->flagged_counts)
		return cpython_is_alive(scan->python, references) &&
		       (uint32_t)references >= LASTING_REFERENCES;
	return references >= LASTING_REFERENCES && references <= UINT32_MAX;
}

static int claim_words(struct scan *scan, uint64_t object, uint64_t words, uint64_t size)
{
	int error = 0;

	for (uint64_t i = 0; !error && words >> i && i < 64 && (i + 1) * 8 <= size; i++) {
		if (words >> i & 1)
			error = heap_sink_claim(scan->sink, object + i * 8, 8, false);
	}
	return error;
}

/* Returns whether an object has only data: a str without another block, an int, bytes. */
static bool is_all_data(const struct cpython_type *type)
{
	return type->kind == CPYTHON_DATA || type->kind == CPYTHON_STR;
}

static int claim_object(struct scan *scan, uint64_t object, const struct cpython_type *found)
{
	struct cpython *python = scan->python;
	const struct cpython_type type = *found;
	unsigned char head[CPYTHON_STATIC_HEAD];
	uint64_t size;

	if (scan->end - object < sizeof(head) || scan->found >= STATIC_OBJECTS_MAX ||
	    !is_static(scan, object, &type) ||
	    target_read(python->memory, object, head, sizeof(head)))
		return 0;
	size = cpython_object_bytes(python, &type, head, sizeof(head));
	if (size > scan->end - object)
		return 0;
	scan->found++;
	if (is_all_data(&type))
		return heap_sink_claim(scan->sink, object, (size + 7) & ~7ull, false);
	if (type.quiet_from && type.quiet_from < size) {
		int error = heap_sink_claim(scan->sink, object + type.quiet_from,
					    (size - type.quiet_from + 7) & ~7ull, false);

		if (error)
			return error;
	}
	return claim_words(scan, object, type.quiet_words, size);
}

static int scan_words(struct scan *scan, uint64_t address, const uint64_t *words, size_t count)
{
	const uint64_t *types = scan->python->static_types;
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		uint64_t object = address + i * 8 - OBJECT_TYPE;
		const struct cpython_type *type = NULL;

		for (size_t j = 0; !type && words[i] && j < CPYTHON_STATIC_TYPES; j++) {
			if (words[i] == types[j])
				type = cpython_type_at(scan->python, words[i]);
		}
		if (type)
			error = claim_object(scan, object, type);
	}
	return error;
}

static int scan_range(struct scan *scan, uint64_t start, uint64_t *buffer)
{
	int error = 0;

	for (uint64_t at = start; !error && at < scan->end; at += SCAN_BYTES) {
		size_t size = (size_t)MIN(scan->end - at, (uint64_t)SCAN_BYTES);

		if (target_memory_overworked(scan->python->memory) ||
		    !target_memory_work(scan->python->memory, size / 64))
			return 0;
		target_read_pages(scan->python->memory, at, buffer, size);
		error = scan_words(scan, at, buffer, size / 8);
	}
	return error;
}

int cpython_claim_static(struct cpython *python, struct heap_sink *sink)
{
	const struct data_modules *modules = python->memory->modules;
	const struct maps *maps = python->memory->maps;
	_cleanup_free_ uint64_t *buffer = malloc(SCAN_BYTES);
	struct scan scan = {.python = python, .sink = sink};
	uint64_t left = SCAN_BYTES_MAX;
	int error = buffer ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		const struct data_module *module = data_modules_at(modules, mapping->start);

		if (!module || !mapping->writable || mapping->shared)
			continue;
		scan.end = MIN(mapping->end, module->end & ~7ull);
		if (scan.end <= mapping->start || scan.end - mapping->start > left)
			continue;
		left -= scan.end - mapping->start;
		error = scan_range(&scan, mapping->start, buffer);
	}
	return error;
}
