// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/parse/allocators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "leakmon_abi.h"

#define C_FUNCTION .allocates = true, .returns = true

const struct call_shape_info call_shapes[] = {
	[SHAPE_SIZE] = {.arguments = 1, C_FUNCTION, .usual = LM_ARGUMENTS_SIZE, .size = 1},
	[SHAPE_COUNT_SIZE] = {.arguments = 2,
			      C_FUNCTION,
			      .usual = LM_ARGUMENTS_COUNT_SIZE,
			      .count = 1,
			      .size = 2},
	[SHAPE_ALIGN_SIZE] = {.arguments = 2,
			      C_FUNCTION,
			      .usual = LM_ARGUMENTS_ANY_SIZE,
			      .size = 2},
	/* Its operands are unknown. */
	[SHAPE_OUT_ALIGN_SIZE] = {.arguments = 3, C_FUNCTION, .usual = LM_ARGUMENTS_OUT_ANY_SIZE},
	[SHAPE_RESIZE] = {.arguments = 2,
			  C_FUNCTION,
			  .usual = LM_ARGUMENTS_POINTER_SIZE,
			  .pointer = 1,
			  .size = 2},
	[SHAPE_RESIZE_COUNT] = {.arguments = 3,
				C_FUNCTION,
				.usual = LM_ARGUMENTS_POINTER_COUNT_SIZE,
				.pointer = 1,
				.count = 2,
				.size = 3},
	[SHAPE_FREE] = {.arguments = 1, .null_is_trivial = true},

	[SHAPE_HEAP_COUNT_SIZE] = {.arguments = 3, C_FUNCTION, .count = 2, .size = 3},
	[SHAPE_HEAP_RESIZE] = {.arguments = 3, C_FUNCTION, .pointer = 2, .size = 3},
	[SHAPE_HEAP_RESIZE_COUNT] =
		{.arguments = 4, C_FUNCTION, .pointer = 2, .count = 3, .size = 4},
	[SHAPE_RESIZE_OR_FREE] =
		{.arguments = 2, C_FUNCTION, .pointer = 1, .size = 2, .or_free = true},
	[SHAPE_HEAP_RESIZE_OR_FREE] =
		{.arguments = 3, C_FUNCTION, .pointer = 2, .size = 3, .or_free = true},
	[SHAPE_RESIZE_IN_PLACE] =
		{.arguments = 2, C_FUNCTION, .pointer = 1, .size = 2, .in_place = true},

	[SHAPE_NEW] = {.arguments = 1, .allocates = true, .throws = true, .size = 1},
	[SHAPE_NEW_COUNT] =
		{.arguments = 2, .allocates = true, .throws = true, .count = 1, .size = 2},
	[SHAPE_HEAP_NEW] = {.arguments = 2, .allocates = true, .throws = true, .size = 2},
	[SHAPE_HEAP_NEW_COUNT] =
		{.arguments = 3, .allocates = true, .throws = true, .count = 2, .size = 3},
};
_Static_assert(ARRAY_SIZE(call_shapes) == SHAPE_MAX_, "a row for every shape");

const char *const allocator_prefixes[] = {
	[PREFIX_NONE] = "",  [PREFIX_JE] = "je_", [PREFIX_RJEM] = "_rjem_",
	[PREFIX_TC] = "tc_", [PREFIX_MI] = "mi_",
};
_Static_assert(ARRAY_SIZE(allocator_prefixes) == PREFIX_MAX_, "a row for every prefix");

#define PLAIN (1u << PREFIX_NONE)
#define JE (PLAIN | 1u << PREFIX_JE | 1u << PREFIX_RJEM)
#define TC (1u << PREFIX_TC)
#define MI (1u << PREFIX_MI)
#define ALL (JE | TC | MI)

/*
 * ISO C11 7.22.3, C23 7.24.3, POSIX.1-2017, malloc(3) and glibc's compatibility functions (cfree);
 * jemalloc(3); gperftools' tcmalloc.h; mimalloc.h. C++17 21.6.2 under the names of the Itanium C++
 * ABI. Of names that share an address the first row is shown. Left out: pure queries
 * (malloc_usable_size, nallocx, sallocx), and functions that get their block from one listed here
 * (mi_strdup, mi_new_realloc).
 */
const struct allocator_function allocator_functions[] = {
	{"malloc", SHAPE_SIZE, ALL},
	{"calloc", SHAPE_COUNT_SIZE, ALL},
	{"realloc", SHAPE_RESIZE, ALL},
	{"reallocarray", SHAPE_RESIZE_COUNT, ALL},
	{"memalign", SHAPE_ALIGN_SIZE, ALL},
	{"aligned_alloc", SHAPE_ALIGN_SIZE, ALL},
	{"posix_memalign", SHAPE_OUT_ALIGN_SIZE, ALL},
	{"valloc", SHAPE_SIZE, ALL},
	{"pvalloc", SHAPE_SIZE, ALL},
	{"free", SHAPE_FREE, ALL},
	{"cfree", SHAPE_FREE, ALL},
	{"reallocf", SHAPE_RESIZE_OR_FREE, ALL},
	{"free_sized", SHAPE_FREE, ALL},
	{"free_aligned_sized", SHAPE_FREE, ALL},

	{"_Znwm", SHAPE_NEW, PLAIN}, /* operator new(size) */
	{"_Znam", SHAPE_NEW, PLAIN}, /* operator new[](size) */
	{"_ZnwmSt11align_val_t", SHAPE_NEW, PLAIN},
	{"_ZnamSt11align_val_t", SHAPE_NEW, PLAIN},
	{"_ZnwmRKSt9nothrow_t", SHAPE_SIZE, PLAIN},
	{"_ZnamRKSt9nothrow_t", SHAPE_SIZE, PLAIN},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", SHAPE_SIZE, PLAIN},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", SHAPE_SIZE, PLAIN},
	{"_ZdlPv", SHAPE_FREE, PLAIN}, /* operator delete(pointer) */
	{"_ZdaPv", SHAPE_FREE, PLAIN}, /* operator delete[](pointer) */
	{"_ZdlPvm", SHAPE_FREE, PLAIN},
	{"_ZdaPvm", SHAPE_FREE, PLAIN},
	{"_ZdlPvRKSt9nothrow_t", SHAPE_FREE, PLAIN},
	{"_ZdaPvRKSt9nothrow_t", SHAPE_FREE, PLAIN},
	{"_ZdlPvSt11align_val_t", SHAPE_FREE, PLAIN},
	{"_ZdaPvSt11align_val_t", SHAPE_FREE, PLAIN},
	{"_ZdlPvmSt11align_val_t", SHAPE_FREE, PLAIN},
	{"_ZdaPvmSt11align_val_t", SHAPE_FREE, PLAIN},
	{"_ZdlPvSt11align_val_tRKSt9nothrow_t", SHAPE_FREE, PLAIN},
	{"_ZdaPvSt11align_val_tRKSt9nothrow_t", SHAPE_FREE, PLAIN},

	{"mallocx", SHAPE_SIZE, JE},
	{"rallocx", SHAPE_RESIZE, JE},
	{"xallocx", SHAPE_RESIZE_IN_PLACE, JE},
	{"dallocx", SHAPE_FREE, JE},
	{"sdallocx", SHAPE_FREE, JE},

	{"malloc_skip_new_handler", SHAPE_SIZE, TC},
	{"newarray", SHAPE_NEW, TC},
	{"newarray_aligned", SHAPE_NEW, TC},
	{"newarray_nothrow", SHAPE_SIZE, TC},
	{"newarray_aligned_nothrow", SHAPE_SIZE, TC},
	{"delete", SHAPE_FREE, TC},
	{"delete_sized", SHAPE_FREE, TC},
	{"delete_nothrow", SHAPE_FREE, TC},
	{"delete_aligned", SHAPE_FREE, TC},
	{"delete_sized_aligned", SHAPE_FREE, TC},
	{"delete_aligned_nothrow", SHAPE_FREE, TC},
	{"deletearray", SHAPE_FREE, TC},
	{"deletearray_sized", SHAPE_FREE, TC},
	{"deletearray_nothrow", SHAPE_FREE, TC},
	{"deletearray_aligned", SHAPE_FREE, TC},
	{"deletearray_sized_aligned", SHAPE_FREE, TC},
	{"deletearray_aligned_nothrow", SHAPE_FREE, TC},

	{"new", SHAPE_NEW, TC | MI},
	{"new_aligned", SHAPE_NEW, TC | MI},
	{"new_nothrow", SHAPE_SIZE, TC | MI},
	{"new_aligned_nothrow", SHAPE_SIZE, TC | MI},
	{"new_n", SHAPE_NEW_COUNT, MI},
	{"heap_alloc_new", SHAPE_HEAP_NEW, MI},
	{"heap_alloc_new_n", SHAPE_HEAP_NEW_COUNT, MI},
	{"free_size", SHAPE_FREE, MI},
	{"free_aligned", SHAPE_FREE, MI},
	{"free_size_aligned", SHAPE_FREE, MI},
	{"malloc_small", SHAPE_SIZE, MI},
	{"zalloc", SHAPE_SIZE, MI},
	{"zalloc_small", SHAPE_SIZE, MI},
	{"malloc_aligned", SHAPE_SIZE, MI},
	{"malloc_aligned_at", SHAPE_SIZE, MI},
	{"zalloc_aligned", SHAPE_SIZE, MI},
	{"zalloc_aligned_at", SHAPE_SIZE, MI},
	{"mallocn", SHAPE_COUNT_SIZE, MI},
	{"calloc_aligned", SHAPE_COUNT_SIZE, MI},
	{"calloc_aligned_at", SHAPE_COUNT_SIZE, MI},
	{"expand", SHAPE_RESIZE, MI},
	{"rezalloc", SHAPE_RESIZE, MI},
	{"realloc_aligned", SHAPE_RESIZE, MI},
	{"realloc_aligned_at", SHAPE_RESIZE, MI},
	{"rezalloc_aligned", SHAPE_RESIZE, MI},
	{"rezalloc_aligned_at", SHAPE_RESIZE, MI},
	{"reallocn", SHAPE_RESIZE_COUNT, MI},
	{"recalloc", SHAPE_RESIZE_COUNT, MI},
	{"recalloc_aligned", SHAPE_RESIZE_COUNT, MI},
	{"recalloc_aligned_at", SHAPE_RESIZE_COUNT, MI},
	{"aligned_recalloc", SHAPE_RESIZE_COUNT, MI},
	{"aligned_offset_recalloc", SHAPE_RESIZE_COUNT, MI},
	{"heap_malloc", SHAPE_ALIGN_SIZE, MI},
	{"heap_malloc_small", SHAPE_ALIGN_SIZE, MI},
	{"heap_zalloc", SHAPE_ALIGN_SIZE, MI},
	{"heap_malloc_aligned", SHAPE_ALIGN_SIZE, MI},
	{"heap_malloc_aligned_at", SHAPE_ALIGN_SIZE, MI},
	{"heap_zalloc_aligned", SHAPE_ALIGN_SIZE, MI},
	{"heap_zalloc_aligned_at", SHAPE_ALIGN_SIZE, MI},
	{"heap_calloc", SHAPE_HEAP_COUNT_SIZE, MI},
	{"heap_mallocn", SHAPE_HEAP_COUNT_SIZE, MI},
	{"heap_calloc_aligned", SHAPE_HEAP_COUNT_SIZE, MI},
	{"heap_calloc_aligned_at", SHAPE_HEAP_COUNT_SIZE, MI},
	{"heap_realloc", SHAPE_HEAP_RESIZE, MI},
	{"heap_rezalloc", SHAPE_HEAP_RESIZE, MI},
	{"heap_realloc_aligned", SHAPE_HEAP_RESIZE, MI},
	{"heap_realloc_aligned_at", SHAPE_HEAP_RESIZE, MI},
	{"heap_rezalloc_aligned", SHAPE_HEAP_RESIZE, MI},
	{"heap_rezalloc_aligned_at", SHAPE_HEAP_RESIZE, MI},
	{"heap_reallocf", SHAPE_HEAP_RESIZE_OR_FREE, MI},
	{"heap_reallocn", SHAPE_HEAP_RESIZE_COUNT, MI},
	{"heap_recalloc", SHAPE_HEAP_RESIZE_COUNT, MI},
	{"heap_recalloc_aligned", SHAPE_HEAP_RESIZE_COUNT, MI},
	{"heap_recalloc_aligned_at", SHAPE_HEAP_RESIZE_COUNT, MI},
};
const size_t allocator_function_count = ARRAY_SIZE(allocator_functions);
_Static_assert(ARRAY_SIZE(allocator_functions) <= LM_COOKIE_FUNCTION_MASK, "rows fit the cookie");

const struct allocator_family allocator_families[] = {
	{"mi_malloc", "mimalloc"},     {"tc_malloc", "tcmalloc"},
	{"mallocx", "jemalloc"},       {"je_mallocx", "jemalloc"},
	{"_rjem_mallocx", "jemalloc"}, {"gnu_get_libc_version", "glibc"},
	{"__libc_setup_tls", "glibc"}, {"__dls3", "musl"},
	{"__init_libc", "musl"},
};
const size_t allocator_family_count = ARRAY_SIZE(allocator_families);

_Static_assert(ARRAY_SIZE(allocator_functions) <= ALLOCATOR_MAX_ROWS, "rows fit the index");

static int by_name(const void *left, const void *right)
{
	const uint8_t *a = left, *b = right;

	return strcmp(allocator_functions[*a].name, allocator_functions[*b].name);
}

void allocator_index_make(struct allocator_index *index)
{
	for (size_t i = 0; i < allocator_function_count; i++)
		index->rows[i] = (uint8_t)i;
	qsort(index->rows, allocator_function_count, sizeof(index->rows[0]), by_name);
}

static int compare_name(const void *name, const void *row)
{
	return strcmp(name, allocator_functions[*(const uint8_t *)row].name);
}

/* Returns the row called `name` that exists with one of these prefixes, or -ENOENT. */
static int find_row(const struct allocator_index *index, const char *name, unsigned prefixes)
{
	const uint8_t *row = bsearch(name, index->rows, allocator_function_count,
				     sizeof(index->rows[0]), compare_name);

	return row && allocator_functions[*row].prefixes & prefixes ? *row : -ENOENT;
}

int allocator_index_find(const struct allocator_index *index, const char *symbol,
			 const char *own_prefix, enum allocator_prefix *prefix)
{
	size_t length = strlen(own_prefix);
	int row;

	for (unsigned i = 0; i < PREFIX_MAX_; i++) {
		const char *known = allocator_prefixes[i];

		if (length && strcmp(own_prefix, known) != 0)
			continue;
		if (strncmp(symbol, known, strlen(known)) != 0)
			continue;
		row = find_row(index, symbol + strlen(known), 1u << i);
		if (row >= 0) {
			*prefix = (enum allocator_prefix)i;
			return row;
		}
	}
	if (!length || strncmp(symbol, own_prefix, length) != 0)
		return -ENOENT;
	*prefix = PREFIX_NONE;
	return find_row(index, symbol + length, PLAIN);
}

bool allocator_is_operator(size_t function)
{
	return !strncmp(allocator_functions[function].name, "_Z", 2);
}

/*
 * Returns 1 + the number of the register that holds the n-th argument, from 1; 0 if there is none.
 */
static uint64_t operand(unsigned n, const uint8_t *registers)
{
	return n ? 1u + registers[n - 1] : 0;
}

uint64_t allocator_cookie(size_t function, const uint8_t *registers, bool moved)
{
	const struct call_shape_info *shape = &call_shapes[allocator_functions[function].shape];

	return function | operand(shape->size, registers) << LM_COOKIE_SIZE_SHIFT |
	       operand(shape->count, registers) << LM_COOKIE_COUNT_SHIFT |
	       operand(shape->pointer, registers) << LM_COOKIE_POINTER_SHIFT |
	       (moved ? 0 : (uint64_t)shape->usual << LM_COOKIE_ARGUMENTS_SHIFT) |
	       (shape->or_free ? LM_COOKIE_OR_FREE : 0) |
	       (shape->in_place ? LM_COOKIE_IN_PLACE : 0);
}
