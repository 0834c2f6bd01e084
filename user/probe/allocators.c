// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/allocators.h"

#include "base/cleanup.h"

const struct call_shape_info call_shapes[] = {
	[SHAPE_SIZE] = {"heap_size", .arguments = 1, .returns = true},
	[SHAPE_COUNT_SIZE] = {"heap_count_size", .arguments = 2, .returns = true},
	[SHAPE_ALIGN_SIZE] = {"heap_align_size", .arguments = 2, .returns = true},
	[SHAPE_OUT_ALIGN_SIZE] = {"heap_out_align_size", .arguments = 3, .returns = true},
	[SHAPE_RESIZE] = {"heap_resize", .arguments = 2, .returns = true},
	[SHAPE_RESIZE_COUNT] = {"heap_resize_count", .arguments = 3, .returns = true},
	[SHAPE_FREE] = {"heap_free", .arguments = 1, .null_is_trivial = true},
};
_Static_assert(ARRAY_SIZE(call_shapes) == SHAPE_MAX_, "a row for every shape");

/* ISO C11 7.22.3, POSIX.1-2017, malloc(3), and what glibc keeps for old binaries (cfree). */
const struct allocator_function allocator_functions[] = {
	{"malloc", SHAPE_SIZE},
	{"calloc", SHAPE_COUNT_SIZE},
	{"realloc", SHAPE_RESIZE},
	{"reallocarray", SHAPE_RESIZE_COUNT},
	{"memalign", SHAPE_ALIGN_SIZE},
	{"aligned_alloc", SHAPE_ALIGN_SIZE},
	{"posix_memalign", SHAPE_OUT_ALIGN_SIZE},
	{"valloc", SHAPE_SIZE},
	{"pvalloc", SHAPE_SIZE},
	{"free", SHAPE_FREE},
	{"cfree", SHAPE_FREE},
};
const size_t allocator_function_count = ARRAY_SIZE(allocator_functions);
