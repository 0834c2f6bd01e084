// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Classes loaded by several class loaders. The VM stores each name once, so that equal names have
 * the same Symbol (src/hotspot/share/classfile/symbolTable.hpp). Arrays and hidden classes are left
 * out.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "heap/runtime/hotspot/hotspot.h"

struct copied {
	uint64_t symbol;
	uint64_t loader; /* the last one with this class: ClassLoaderData */
	uint32_t copies;
};

struct copying {
	struct hotspot *hotspot;
	struct hash index; /* Symbol -> place plus 1 */
	VEC(struct copied) list;
};

static int add_class(struct copying *copying, uint64_t klass, uint64_t loader)
{
	struct hotspot *hotspot = copying->hotspot;
	uint64_t symbol = hotspot_member(hotspot, klass, HOTSPOT_KLASS_NAME), *slot;
	struct copied *copied;

	/* The layout of an array is negative. */
	if (!symbol || (int32_t)hotspot_member32(hotspot, klass, HOTSPOT_KLASS_LAYOUT) < 0)
		return 0;
	slot = hash_put(&copying->index, symbol, NULL);
	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		if (!hotspot_pay(hotspot))
			return 0;
		copied = vec_push(&copying->list);
		if (!copied)
			return -ENOMEM;
		*copied = (struct copied){.symbol = symbol};
		*slot = copying->list.count;
	}
	copied = &copying->list.items[*slot - 1];
	copied->copies += copied->loader != loader;
	copied->loader = loader;
	return 0;
}

static int add_loader(struct copying *copying, uint64_t loader)
{
	struct hotspot *hotspot = copying->hotspot;
	uint64_t klass = hotspot_member(hotspot, loader, HOTSPOT_LOADER_KLASSES);
	struct loop loop = {0};
	int error = 0;

	if ((uint8_t)hotspot_member(hotspot, loader, HOTSPOT_LOADER_IS_OF_MIRROR))
		return 0;
	while (!error && klass && !loop_found(&loop, klass)) {
		error = add_class(copying, klass, loader);
		klass = hotspot_member(hotspot, klass, HOTSPOT_KLASS_NEXT);
	}
	return error;
}

static int by_copies(const void *left_pointer, const void *right_pointer)
{
	const struct copied *left = left_pointer, *right = right_pointer;

	if (left->copies != right->copies)
		return left->copies > right->copies ? -1 : 1;
	return left->symbol < right->symbol ? -1 : left->symbol > right->symbol;
}

/* Interns the names in the sink's strings. */
static int name_copies(struct hotspot *hotspot, struct heap_sink *sink, const struct copied *copied,
		       struct class_copies *copies)
{
	char name[HOTSPOT_NAME_BYTES];

	copies->copies = copied->copies;
	hotspot_symbol_name(hotspot, copied->symbol, name);
	copies->name = intern_string(sink->strings, name);
	hotspot_loader_name(hotspot, copied->loader, name);
	copies->loader = intern_string(sink->strings, name);
	return copies->name && copies->loader ? 0 : -ENOMEM;
}

static int report_copies(struct copying *copying, struct heap_sink *sink,
			 struct walk_report *report)
{
	int error = 0;

	if (copying->list.count)
		qsort(copying->list.items, copying->list.count, sizeof(*copying->list.items),
		      by_copies);
	for (size_t i = 0; !error && i < copying->list.count && copying->list.items[i].copies > 1;
	     i++) {
		if (i < CLASS_COPIES_MAX)
			error = name_copies(copying->hotspot, sink, &copying->list.items[i],
					    &report->copies[i]);
		report->copied_classes++;
	}
	return error;
}

int hotspot_find_copies(struct hotspot *hotspot, struct heap_sink *sink, struct walk_report *report)
{
	struct copying copying = {.hotspot = hotspot};
	int error = 0;

	for (size_t i = 0; !error && i < hotspot->loaders.count; i++)
		error = add_loader(&copying, hotspot->loaders.items[i].address);
	if (!error)
		error = report_copies(&copying, sink, report);
	hash_free(&copying.index);
	vec_free(&copying.list);
	return error;
}
