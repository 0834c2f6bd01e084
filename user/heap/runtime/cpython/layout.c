// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Offsets of the members that leakmon reads, a row for each version of CPython.
 *
 * Since 3.13 the interpreter describes a part of them itself: _Py_DebugOffsets, at the start of
 * _PyRuntime (Include/internal/pycore_runtime.h of 3.13, pycore_debug_offsets.h since 3.14). It
 * verifies the row: if a release has moved a member, the described offset is used; if it
 * contradicts a value common to all rows, nothing is read. So later releases and versions are read
 * if they are compatible.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/cpython/cpython.h"
#include "leakmon_abi.h"

#define FIRST_DESCRIBED 0x030d

#define ARENA_SMALL CPYTHON_ARENA_LEAST
#define ARENA_LARGE (1u << 20)
#define POOL_SMALL (4u << 10)
#define POOL_LARGE CPYTHON_POOL_USUAL

#define TUPLE_BARE 24
#define TUPLE_HASHED 32 /* with a hash, since 3.14 */

/* Later releases of 3.13 have the generations 4 bytes earlier (gh-127545). */
#define COLLECTOR_ALIGNED                                                                          \
	{                                                                                          \
		.enabled = 12, .generations = 24, .first = 96, .permanent = 104                    \
	}
#define COLLECTOR_PACKED                                                                           \
	{                                                                                          \
		.enabled = 12, .generations = 20, .first = 96, .permanent = 104                    \
	}

/* Common to 3.13, 3.14 and 3.15. */
#define FRAMES_LATE                                                                                \
	.kind = FRAMES_OWNED, .line_kind = LINES_LOCATIONS, .globals = 24, .frame = 72,            \
	.current = NO_CFRAME, .code = 0, .previous = 8, .instruction = 56, .stack_top = 64,        \
	.first_line = 68, .file = 112, .name = 120, .qualified = 128, .lines = 136, .names = {96}, \
	.local_count = 72, .stack_size = 64, .generator = 72, .generator_state = 67

#define OBJECTS_LATE                                                                               \
	.arenas = ARENAS_BY_INTERPRETER, .arena_bytes = ARENA_LARGE, .pool_bytes = POOL_LARGE,     \
	.preheader_flags = 1ull << 3 | FLAG_MANAGED_DICT, .split_values = 8,                       \
	.values = VALUES_INLINE, .ascii_bytes = 40, .compact_bytes = 56, .tagged_digits = true,    \
	.frames_inside = true

#define QUIET_CODE_LATE                                                                            \
	(OBJECT_WORD(2) | OBJECT_WORD(6) | OBJECT_WORD(7) | OBJECT_WORD(8) | OBJECT_WORD(9) |      \
	 OBJECT_WORD(10) | OBJECT_WORD(11) | OBJECT_WORD(21) | OBJECT_WORD(23))

static const struct cpython_layout layouts[] = {
	{.version = 0x0309,
	 .interpreters = 32,
	 .next = 0,
	 .threads = 8,
	 .modules = 856,
	 .collector = 616,
	 .collectors = {COLLECTOR_ALIGNED},
	 .arenas = ARENAS_IN_VARIABLE,
	 .arena_bytes = ARENA_SMALL,
	 .pool_bytes = POOL_SMALL,
	 .qualname = 856,
	 .cached_keys = 864,
	 .tuple_items = TUPLE_BARE,
	 .old_keys = true,
	 .ascii_bytes = 48,
	 .compact_bytes = 72,
	 .quiet_code = OBJECT_WORD(2) | OBJECT_WORD(3) | OBJECT_WORD(4) | OBJECT_WORD(5) |
		       OBJECT_WORD(21),
	 .frames = {.kind = FRAMES_OBJECTS,
		    .line_kind = LINES_STEPS,
		    .frame = 24,
		    .current = NO_CFRAME,
		    .handle = 176,
		    .code = 32,
		    .previous = 24,
		    .instruction = 104,
		    .stack_top = 72,
		    .locals = 360,
		    .dead_frame = 128,
		    .first_line = 40,
		    .file = 104,
		    .name = 112,
		    .lines = 120,
		    .names = {72, 88, 80},
		    .local_count = 28,
		    .stack_size = 32}},
	{.version = 0x030a,
	 .interpreters = 32,
	 .next = 0,
	 .threads = 8,
	 .modules = 856,
	 .collector = 616,
	 .collectors = {COLLECTOR_ALIGNED},
	 .arenas = ARENAS_IN_VARIABLE,
	 .arena_bytes = ARENA_LARGE,
	 .pool_bytes = POOL_LARGE,
	 .qualname = 864,
	 .cached_keys = 872,
	 .tuple_items = TUPLE_BARE,
	 .old_keys = true,
	 .ascii_bytes = 48,
	 .compact_bytes = 72,
	 .quiet_code = OBJECT_WORD(2) | OBJECT_WORD(3) | OBJECT_WORD(4) | OBJECT_WORD(5) |
		       OBJECT_WORD(21),
	 .frames = {.kind = FRAMES_OBJECTS,
		    .line_kind = LINES_RANGES,
		    .frame = 24,
		    .current = NO_CFRAME,
		    .handle = 176,
		    .code = 32,
		    .previous = 24,
		    .instruction = 96,
		    .stack_top = 80,
		    .locals = 352,
		    .first_line = 40,
		    .file = 104,
		    .name = 112,
		    .lines = 120,
		    .names = {72, 88, 80},
		    .local_count = 28,
		    .stack_size = 32}},
	{.version = 0x030b,
	 .interpreters = 40,
	 .next = 0,
	 .threads = 16,
	 .modules = 888,
	 .collector = 648,
	 .collectors = {COLLECTOR_ALIGNED},
	 .arenas = ARENAS_IN_VARIABLE,
	 .arena_bytes = ARENA_LARGE,
	 .pool_bytes = POOL_LARGE,
	 .qualname = 864,
	 .cached_keys = 872,
	 .tuple_items = TUPLE_BARE,
	 .preheader_flags = FLAG_MANAGED_DICT,
	 .values = VALUES_BEFORE,
	 .frames_inside = true,
	 .ascii_bytes = 48,
	 .compact_bytes = 72,
	 .quiet_code = OBJECT_WORD(2) | OBJECT_WORD(6) | OBJECT_WORD(7) | OBJECT_WORD(8) |
		       OBJECT_WORD(9) | OBJECT_WORD(10) | OBJECT_WORD(11) | OBJECT_WORD(21),
	 .frames = {.kind = FRAMES_ENTERED,
		    .line_kind = LINES_LOCATIONS,
		    .globals = 8,
		    .frame = 56,
		    .current = 8,
		    .handle = 152,
		    .native = 160,
		    .chunk = 296,
		    .code = 32,
		    .previous = 48,
		    .instruction = 56,
		    .stack_top = 64,
		    .owner = 68,
		    .locals = 72,
		    .first_line = 72,
		    .file = 112,
		    .name = 120,
		    .qualified = 128,
		    .lines = 136,
		    .bytecode = 184,
		    .names = {96},
		    .local_count = 76,
		    .stack_size = 68,
		    .generator = 80,
		    .generator_state = 75,
		    .generator_ended = 4}},
	{.version = 0x030c,
	 .interpreters = 40,
	 .next = 0,
	 .threads = 72,
	 .modules = 944,
	 .collector = 112,
	 .collectors = {COLLECTOR_ALIGNED},
	 .obmalloc = 3960,
	 .arenas = ARENAS_IN_INTERPRETER,
	 .arena_bytes = ARENA_LARGE,
	 .pool_bytes = POOL_LARGE,
	 .qualname = 872,
	 .cached_keys = 880,
	 .tuple_items = TUPLE_BARE,
	 .preheader_flags = 1ull << 3 | FLAG_MANAGED_DICT, /* and of types with weak references */
	 .values = VALUES_TAGGED,
	 .ascii_bytes = 40,
	 .compact_bytes = 56,
	 .tagged_digits = true,
	 .frames_inside = true,
	 .quiet_code = OBJECT_WORD(2) | OBJECT_WORD(6) | OBJECT_WORD(7) | OBJECT_WORD(8) |
		       OBJECT_WORD(9) | OBJECT_WORD(10) | OBJECT_WORD(11) | OBJECT_WORD(20) |
		       OBJECT_WORD(22),
	 .frames = {.kind = FRAMES_OWNED,
		    .line_kind = LINES_LOCATIONS,
		    .globals = 24,
		    .frame = 56,
		    .current = 0,
		    .handle = 136,
		    .native = 144,
		    .chunk = 232,
		    .code = 0,
		    .previous = 8,
		    .instruction = 56,
		    .stack_top = 64,
		    .owner = 70,
		    .locals = 72,
		    .first_line = 68,
		    .file = 112,
		    .name = 120,
		    .qualified = 128,
		    .lines = 136,
		    .bytecode = 192,
		    .names = {96},
		    .local_count = 72,
		    .stack_size = 64,
		    .generator = 72,
		    .generator_state = 67,
		    .generator_ended = 4}},
	{.version = 0x030d,
	 .tested = 0x030d12,
	 .interpreters = 632,
	 .next = 7264,
	 .threads = 7344,
	 .modules = 7656,
	 .collector = 7400,
	 .collectors = {COLLECTOR_PACKED, COLLECTOR_ALIGNED},
	 .obmalloc = 10800,
	 .qualname = 872,
	 .cached_keys = 880,
	 .tuple_items = TUPLE_BARE,
	 .quiet_code = QUIET_CODE_LATE,
	 OBJECTS_LATE,
	 .frames = {FRAMES_LATE, .handle = 152, .native = 160, .chunk = 232, .owner = 70,
		    .locals = 72, .bytecode = 200, .generator_ended = 4}},
	{.version = 0x030e,
	 .tested = 0x030e0a,
	 .interpreters = 808,
	 .next = 7272,
	 .threads = 7344,
	 .modules = 7688,
	 .collector = 7408,
	 .collectors = {{.enabled = 12, .generations = 24, .first = 256, .permanent = 96}},
	 .obmalloc = 10904,
	 .qualname = 872,
	 .cached_keys = 880,
	 .flagged_counts = true,
	 .tuple_items = TUPLE_HASHED,
	 .quiet_code = QUIET_CODE_LATE | OBJECT_WORD(24),
	 OBJECTS_LATE,
	 .frames = {FRAMES_LATE, .handle = 152, .native = 160, .chunk = 232, .tags = 3,
		    .top_is_address = true, .owner = 74, .locals = 80, .bytecode = 208,
		    .generator_ended = 4}},
	{.version = 0x030f,
	 .tested = 0x030f02,
	 .interpreters = 936,
	 .next = 7264,
	 .threads = 7336,
	 .modules = 7592,
	 .collector = 7400,
	 .collectors = {{.enabled = 0, .generations = 8, .first = 168, .permanent = 80}},
	 .obmalloc = 10880,
	 .qualname = 880,
	 .cached_keys = 888,
	 .flagged_counts = true,
	 .tuple_items = TUPLE_HASHED,
	 .quiet_code = QUIET_CODE_LATE | OBJECT_WORD(24),
	 OBJECTS_LATE,
	 .frames = {FRAMES_LATE, .handle = 176, .native = 184, .chunk = 256, .tags = 3,
		    .top_is_address = true, .owner = 74, .locals = 80, .bytecode = 208,
		    .generator_ended = 5}},
};

const struct cpython_layout *cpython_layout(unsigned version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].version == version)
			return &layouts[i];
	}
	return NULL;
}

/* _Py_DebugOffsets */

#define DESCRIBED_VERSIONS 3  /* one column for each of 3.13, 3.14, 3.15 */
#define DESCRIPTION_WORDS 111 /* length of the longest description */
#define DESCRIPTION_COOKIE 0
#define DESCRIPTION_VERSION 1
#define DESCRIPTION_FREE_THREADED 2

/* Limits of offsets; the kernel side, too, reads a frame in one piece. */
#define PLACE_MAX (16u << 20)
#define THREAD_MAX (UINT16_MAX - 7u)
#define FRAME_MAX (LM_PYTHON_NEAR_BYTES - 7u)

struct described {
	const char *contradiction;
	uint32_t limit; /* limit of a movable offset; 0: not movable */
	union {
		size_t member; /* offset in struct cpython_layout of a uint32_t */
		uint32_t same; /* value in all versions */
	};
	bool of_object; /* counted from the target of references, so it is shifted */
	uint8_t bytes;	/* size of the member; the offset is a multiple of it */
	uint8_t words[DESCRIBED_VERSIONS]; /* index of its description; 0: not described */
};

#define CONTRADICTION(field) "its _Py_DebugOffsets contradict what is known of " field
#define MOVED(field, figure, most, size, ...)                                                      \
	{                                                                                          \
		.contradiction = CONTRADICTION(field), .limit = (most),                            \
		.member = offsetof(struct cpython_layout, figure), .bytes = (size), .words = {     \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define SAME(field, place, ...)                                                                    \
	{                                                                                          \
		.contradiction = CONTRADICTION(field), .same = (place), .bytes = 1, .words = {     \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define OBJECT_MOVED(field, figure, ...)                                                           \
	{                                                                                          \
		.contradiction = CONTRADICTION(field), .limit = THREAD_MAX, .of_object = true,     \
		.member = offsetof(struct cpython_layout, figure), .bytes = 8, .words = {          \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define OBJECT_SAME(field, place, ...)                                                             \
	{                                                                                          \
		.contradiction = CONTRADICTION(field), .same = (place), .of_object = true,         \
		.bytes = 1, .words = {                                                             \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

static const struct described description[] = {
	MOVED("_PyRuntimeState.interpreters.head", interpreters, PLACE_MAX, 8, 5, 5, 5),
	MOVED("PyInterpreterState", interpreter_bytes, PLACE_MAX, 8, 6, 6, 6),
	MOVED("PyInterpreterState.next", next, PLACE_MAX, 8, 8, 8, 8),
	MOVED("PyInterpreterState.threads.head", threads, PLACE_MAX, 8, 9, 9, 9),
	MOVED("PyInterpreterState.gc", collector, PLACE_MAX, 8, 10, 11, 11),
	MOVED("PyInterpreterState.imports.modules", modules, PLACE_MAX, 8, 11, 12, 12),
	SAME("PyThreadState.next", THREAD_NEXT, 21, 24, 24),
	SAME("PyThreadState.interp", THREAD_INTERPRETER, 22, 25, 25),
	MOVED("PyThreadState.current_frame", frames.frame, THREAD_MAX, 8, 23, 26, 26),
	MOVED("PyThreadState.thread_id", frames.handle, THREAD_MAX, 8, 24, 27, 30),
	MOVED("PyThreadState.native_thread_id", frames.native, THREAD_MAX, 8, 25, 28, 31),
	MOVED("PyThreadState.datastack_chunk", frames.chunk, THREAD_MAX, 8, 26, 29, 32),
	MOVED("_PyInterpreterFrame.previous", frames.previous, FRAME_MAX, 8, 29, 32, 40),
	MOVED("_PyInterpreterFrame.f_executable", frames.code, FRAME_MAX, 8, 30, 33, 41),
	MOVED("_PyInterpreterFrame.instr_ptr", frames.instruction, FRAME_MAX, 8, 31, 34, 42),
	MOVED("_PyInterpreterFrame.localsplus", frames.locals, CPYTHON_FRAME_BYTES, 8, 32, 35, 43),
	MOVED("_PyInterpreterFrame.owner", frames.owner, LM_PYTHON_NEAR_BYTES, 1, 33, 36, 44),
	MOVED("_PyInterpreterFrame.stackpointer", frames.stack_top, FRAME_MAX, 8, 0, 37, 45),
	MOVED("_PyInterpreterFrame.tlbc_index", frames.copies_index, FRAME_MAX, 4, 0, 38, 46),
	MOVED("PyCodeObject.co_tlbc", frames.copies, THREAD_MAX, 8, 0, 49, 57),
	MOVED("PyCodeObject.co_filename", frames.file, THREAD_MAX, 8, 35, 40, 48),
	MOVED("PyCodeObject.co_name", frames.name, THREAD_MAX, 8, 36, 41, 49),
	MOVED("PyCodeObject.co_qualname", frames.qualified, THREAD_MAX, 8, 37, 42, 50),
	MOVED("PyCodeObject.co_linetable", frames.lines, THREAD_MAX, 8, 38, 43, 51),
	MOVED("PyCodeObject.co_firstlineno", frames.first_line, THREAD_MAX, 4, 39, 44, 52),
	MOVED("PyCodeObject.co_localsplusnames", frames.names[0], THREAD_MAX, 8, 41, 46, 54),
	MOVED("PyCodeObject.co_code_adaptive", frames.bytecode, THREAD_MAX, 8, 43, 48, 56),
	OBJECT_SAME("PyObject.ob_type", OBJECT_TYPE, 45, 51, 59),
	OBJECT_SAME("PyTypeObject.tp_name", TYPE_NAME, 47, 53, 61),
	OBJECT_SAME("PyTypeObject.tp_flags", TYPE_FLAGS, 49, 55, 63),
	OBJECT_SAME("PyTypeObject.tp_basicsize", TYPE_BASICSIZE, 0, 0, 64),
	OBJECT_SAME("PyTypeObject.tp_dictoffset", TYPE_DICTOFFSET, 0, 0, 65),
	MOVED("PyHeapTypeObject.ht_cached_keys", cached_keys, THREAD_MAX, 8, 0, 0, 67),
	OBJECT_MOVED("PyTupleObject.ob_item", tuple_items, 51, 57, 69),
	OBJECT_SAME("PyTupleObject.ob_size", OBJECT_SIZE, 52, 58, 70),
	OBJECT_SAME("PyListObject.ob_item", LIST_ITEMS, 54, 60, 72),
	OBJECT_SAME("PyListObject.ob_size", OBJECT_SIZE, 55, 61, 73),
	OBJECT_SAME("PySetObject.table", SET_TABLE, 0, 64, 76),
	OBJECT_SAME("PySetObject.mask", SET_MASK, 0, 65, 77),
	OBJECT_SAME("PyDictObject.ma_keys", DICT_KEYS, 57, 67, 79),
	OBJECT_SAME("PyDictObject.ma_values", DICT_VALUES, 58, 68, 80),
	OBJECT_SAME("PyLongObject.lv_tag", OBJECT_SIZE, 62, 72, 84),
	OBJECT_SAME("PyBytesObject.ob_sval", BYTES_TEXT, 66, 76, 88),
	OBJECT_SAME("PyUnicodeObject.state", STR_STATE, 68, 78, 90),
	OBJECT_SAME("PyUnicodeObject.length", OBJECT_SIZE, 69, 79, 91),
	OBJECT_MOVED("PyASCIIObject", ascii_bytes, 70, 80, 92),
	OBJECT_MOVED("PyCompactUnicodeObject", compact_bytes, 0, 0, 93),
	MOVED("PyGenObject.gi_iframe", frames.generator, THREAD_MAX, 8, 0, 85, 101),
	MOVED("PyGenObject.gi_frame_state", frames.generator_state, THREAD_MAX, 1, 0, 86, 102),
};

/* Takes one offset; returns false if it is implausible. */
static bool take_figure(struct cpython_layout *layout, const struct described *described,
			uint64_t place)
{
	uint32_t figure;

	if (described->of_object)
		place -= layout->shift;
	figure = (uint32_t)place;
	if (!described->limit)
		return place == described->same;
	if (place >= described->limit || place % described->bytes)
		return false;
	memcpy((char *)layout + described->member, &figure, sizeof(figure));
	return true;
}

/* Takes the interpreter's description. Returns the contradiction, or NULL. */
static const char *take_description(struct cpython_layout *layout, size_t version,
				    const uint64_t *words)
{
	uint32_t keys = layout->cached_keys;

	for (size_t i = 0; i < ARRAY_SIZE(description); i++) {
		uint8_t word = description[i].words[version];

		if (word && !take_figure(layout, &description[i], words[word]))
			return description[i].contradiction;
	}
	/* It precedes cached_keys. */
	layout->qualname += layout->cached_keys - keys;
	return NULL;
}

/* Returns the row of a version; a later version is read like the last one. */
static const struct cpython_layout *row_of(unsigned version)
{
	const struct cpython_layout *last = &layouts[ARRAY_SIZE(layouts) - 1];

	return version > last->version && version >> 8 == last->version >> 8
		       ? last
		       : cpython_layout(version);
}

/*
 * struct _object with Py_GIL_DISABLED (Include/object.h): two words with the thread's and the
 * collector's data precede the reference counts. Undescribed offsets of code are shifted with it.
 */
#define FREE_THREADED_SHIFT 16

static void take_free_threaded(struct cpython_layout *layout)
{
	layout->shift = FREE_THREADED_SHIFT;
	layout->frames.local_count += FREE_THREADED_SHIFT;
	layout->frames.stack_size += FREE_THREADED_SHIFT;
}

int cpython_describe(struct cpython *python, uint32_t release, const char **why)
{
	const struct cpython_layout *row = row_of(release >> 16);
	uint64_t words[DESCRIPTION_WORDS] = {0};

	*why = "this version's objects are not known: 3.9 to 3.15 are, and later ones that "
	       "describe "
	       "themselves";
	if (!row)
		return -ENOENT;
	python->layout = row;
	if (row->version < FIRST_DESCRIBED)
		return 0;
	if (target_read(python->memory, python->runtime, words, sizeof(words)) ||
	    memcmp(&words[DESCRIPTION_COOKIE], "xdebugpy", sizeof(words[0])) != 0)
		return row->version == release >> 16 ? 0 : -ENOENT;
	*why = CONTRADICTION("its version");
	if (words[DESCRIPTION_VERSION] != release)
		return -ENOENT;
	python->described = *row;
	if (words[DESCRIPTION_FREE_THREADED])
		take_free_threaded(&python->described);
	*why = take_description(&python->described, row->version - FIRST_DESCRIBED, words);
	if (*why)
		return -ENOENT;
	python->layout = &python->described;
	python->untested = release >> 8 > row->tested || python->layout->shift;
	return 0;
}
