// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/plan.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_dynamic.h"

/* One bit for each prefix under which the file has a C function that allocates, or frees. */
struct prefixes_seen {
	unsigned allocate, free;
};

struct finder {
	const struct elf_symbols *symbols;
	const char *own_prefix;
	struct probe_plan *plan;
};

static bool has_global_name(const struct elf_symbols *symbols, uint64_t value)
{
	for (size_t i = 0; i < symbols->list.count; i++) {
		if (symbols->list.items[i].value == value &&
		    symbols->list.items[i].binding != STB_LOCAL)
			return true;
	}
	return false;
}

/* The row of a function that is not the file's private business, or -ENOENT. */
static int find_function(const struct finder *finder, const struct elf_symbol *symbol,
			 enum allocator_prefix *prefix)
{
	int function;

	if (symbol->type != STT_FUNC)
		return -ENOENT;
	function = allocator_find(symbol->name, finder->own_prefix, prefix);
	/* Linked into a static-pie, glibc's malloc is local; __malloc, the same one, is not. */
	if (function >= 0 && symbol->binding == STB_LOCAL &&
	    !(finder->plan->is_static && has_global_name(finder->symbols, symbol->value)))
		return -ENOENT;
	return function;
}

static void see_prefix(const struct finder *finder, const struct elf_symbol *symbol,
		       struct prefixes_seen *seen)
{
	enum allocator_prefix prefix = PREFIX_NONE;
	int function = find_function(finder, symbol, &prefix);
	enum call_shape shape;

	if (function < 0 || allocator_is_operator((size_t)function))
		return;
	shape = allocator_functions[function].shape;
	seen->allocate |= (unsigned)call_shapes[shape].allocates << prefix;
	seen->free |= (unsigned)(shape == SHAPE_FREE) << prefix;
}

static struct probe_point *find_point(const struct probe_plan *plan, uint64_t vaddr)
{
	for (size_t i = 0; i < plan->points.count; i++) {
		if (plan->points.items[i].vaddr == vaddr)
			return &plan->points.items[i];
	}
	return NULL;
}

static bool may_throw(size_t function)
{
	return call_shapes[allocator_functions[function].shape].throws;
}

/* Of names that share an address the one that asks for most care wins, then the first. */
static bool is_stronger(size_t function, enum allocator_prefix prefix,
			const struct probe_point *than)
{
	if (may_throw(function) != may_throw(than->function))
		return may_throw(function);
	if (function != than->function)
		return function < than->function;
	return prefix < than->prefix;
}

static int add_symbol(const struct finder *finder, const struct elf_symbol *symbol,
		      unsigned prefixes)
{
	enum allocator_prefix prefix = PREFIX_NONE;
	int function = find_function(finder, symbol, &prefix);
	struct probe_plan *plan = finder->plan;
	struct probe_point *point;

	if (function < 0 || !(prefixes & 1u << prefix))
		return 0;
	point = find_point(plan, symbol->value);
	if (point && !is_stronger((size_t)function, prefix, point))
		return 0;
	if (!point && plan->points.count == PLAN_MAX_POINTS)
		return -E2BIG;
	if (!point)
		point = vec_push(&plan->points);
	if (!point)
		return -ENOMEM;
	point->function = (size_t)function;
	point->prefix = prefix;
	point->vaddr = symbol->value;
	point->placement.offset = (uint32_t)MIN(symbol->size, PLAN_CODE_BYTES); /* until placed */
	return 0;
}

static uint8_t find_family(const struct elf_symbols *symbols)
{
	for (size_t family = 0; family < allocator_family_count; family++) {
		for (size_t i = 0; i < symbols->list.count; i++) {
			if (!strcmp(symbols->list.items[i].name, allocator_families[family].symbol))
				return (uint8_t)(family + 1);
		}
	}
	return 0;
}

static int by_function(const void *left, const void *right)
{
	const struct probe_point *a = left, *b = right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return a->vaddr < b->vaddr ? -1 : a->vaddr > b->vaddr;
}

static int add_symbols(const struct finder *finder)
{
	const struct elf_symbols *symbols = finder->symbols;
	struct probe_plan *plan = finder->plan;
	struct prefixes_seen seen = {0};
	int error = 0;

	for (size_t i = 0; i < symbols->list.count; i++)
		see_prefix(finder, &symbols->list.items[i], &seen);
	/* A program that is linked statically and never frees has no free. */
	if (plan->is_static)
		seen.free = seen.allocate;
	if (!(seen.allocate & seen.free))
		return 0;
	for (size_t i = 0; i < symbols->list.count && !error; i++)
		error = add_symbol(finder, &symbols->list.items[i], seen.allocate & seen.free);
	plan->family = find_family(symbols);
	if (plan->points.count)
		qsort(plan->points.items, plan->points.count, sizeof(*plan->points.items),
		      by_function);
	return error;
}

static int plan_symbols(const struct elf_file *file, const char *own_prefix, enum probe_at probe_at,
			struct probe_plan *plan)
{
	struct elf_symbols symbols = {0};
	struct finder finder = {.symbols = &symbols, .own_prefix = own_prefix, .plan = plan};
	int error = elf_symbols_read(file, &symbols);

	if (error)
		return error;
	plan->has_names = symbols.list.count > 0;
	error = add_symbols(&finder);
	if (!error)
		error = plan_place(file, &symbols, probe_at, plan);
	elf_symbols_free(&symbols);
	return error;
}

int probe_plan_file(int fd, const char *symbol_prefix, enum probe_at probe_at,
		    struct probe_plan *plan)
{
	struct probe_plan planned = {0};
	struct elf_file file;
	int error = elf_file_open(fd, &file);

	if (error)
		return error;
	snprintf(planned.build_id, sizeof(planned.build_id), "%s", file.build_id);
	planned.is_static = elf_is_static(&file);
	error = plan_symbols(&file, symbol_prefix, probe_at, &planned);
	elf_file_close(&file);
	if (error) {
		probe_plan_free(&planned);
		return error;
	}
	*plan = planned;
	return 0;
}

void probe_plan_free(struct probe_plan *plan)
{
	vec_free(&plan->points);
}
