/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing array of any element type:
 *
 *   struct { struct site *items; size_t count, capacity; } sites = {0};
 *   struct site *site = vec_push(&sites);   // zeroed, or NULL when out of memory
 *
 * The pointer is good until the next push. The holder frees vec->items.
 */
#ifndef LEAKMON_BASE_VEC_H
#define LEAKMON_BASE_VEC_H

#include <stdlib.h>
#include <string.h>

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count, capacity;                                                            \
	}

static inline void *vec_push_(void **items, size_t *count, size_t *capacity, size_t size)
{
	if (*count == *capacity) {
		size_t grown = *capacity ? *capacity * 2 : 8;
		void *moved = reallocarray(*items, grown, size);

		if (!moved)
			return NULL;
		*items = moved;
		*capacity = grown;
	}
	return memset((char *)*items + size * (*count)++, 0, size);
}

#define vec_push(vec)                                                                              \
	((__typeof__((vec)->items))vec_push_((void **)&(vec)->items, &(vec)->count,                \
					     &(vec)->capacity, sizeof(*(vec)->items)))
#define vec_free(vec)                                                                              \
	do {                                                                                       \
		free((vec)->items);                                                                \
		memset((vec), 0, sizeof(*(vec)));                                                  \
	} while (0)

#endif
