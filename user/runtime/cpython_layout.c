// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where each version of CPython has what leakmon reads: a row each.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/cpython.h"

#define ARENA_SMALL CPYTHON_ARENA_LEAST
#define ARENA_LARGE (1u << 20)
#define POOL_SMALL (4u << 10)
#define POOL_LARGE CPYTHON_POOL_USUAL

#define TUPLE_BARE 24
#define TUPLE_HASHED 32 /* with a hash, from 3.14 on */

/* Later releases of 3.13 have the generations 4 bytes earlier (gh-127545). */
#define COLLECTOR_ALIGNED                                                                          \
	{                                                                                          \
		.enabled = 12, .generations = 24, .first = 96, .permanent = 104                    \
	}
#define COLLECTOR_PACKED                                                                           \
	{                                                                                          \
		.enabled = 12, .generations = 20, .first = 96, .permanent = 104                    \
	}

/* The same in 3.13, 3.14 and 3.15. */
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
	 .preheader_flags = 1ull << 3 | FLAG_MANAGED_DICT, /* weak references, too */
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
