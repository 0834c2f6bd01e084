// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/plan.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_file.h"

/* The row whose name is `symbol` behind the prefix, or -ENOENT. */
static int find_function(const char *symbol, const char *prefix)
{
	size_t length = strlen(prefix);

	if (strncmp(symbol, prefix, length) != 0)
		return -ENOENT;
	for (size_t i = 0; i < allocator_function_count; i++) {
		if (!strcmp(symbol + length, allocator_functions[i].name))
			return (int)i;
	}
	return -ENOENT;
}

static bool has_address(const struct probe_plan *plan, uint64_t vaddr)
{
	for (size_t i = 0; i < plan->points.count; i++) {
		if (plan->points.items[i].vaddr == vaddr)
			return true;
	}
	return false;
}

static int add_symbol(struct probe_plan *plan, const struct elf_symbol *symbol, const char *prefix)
{
	int function = find_function(symbol->name, prefix);
	struct probe_point *point;

	/* A local function of that name is the file's private business. */
	if (function < 0 || symbol->binding == STB_LOCAL || symbol->type != STT_FUNC)
		return 0;
	if (has_address(plan, symbol->value))
		return 0;
	if (plan->points.count == PLAN_MAX_POINTS)
		return -E2BIG;
	point = vec_push(&plan->points);
	if (!point)
		return -ENOMEM;
	point->function = (size_t)function;
	point->vaddr = symbol->value;
	point->placement.offset = (uint32_t)MIN(symbol->size, PLAN_CODE_BYTES); /* until placed */
	return 0;
}

static int by_function(const void *left, const void *right)
{
	const struct probe_point *a = left, *b = right;

	return a->function < b->function ? -1 : a->function > b->function;
}

static bool is_allocator(const struct probe_plan *plan)
{
	bool allocates = false, frees = false;

	for (size_t i = 0; i < plan->points.count; i++) {
		enum call_shape shape = allocator_functions[plan->points.items[i].function].shape;

		frees |= shape == SHAPE_FREE;
		allocates |= call_shapes[shape].returns;
	}
	return allocates && frees;
}

static int place(const struct elf_file *file, enum probe_at probe_at, struct probe_point *point)
{
	enum call_shape shape = allocator_functions[point->function].shape;
	uint8_t code[PLAN_CODE_BYTES];
	struct placement_request request = {
		.code = code,
		.arguments = call_shapes[shape].arguments,
		.returns = call_shapes[shape].returns,
		.null_is_trivial = call_shapes[shape].null_is_trivial,
	};
	uint64_t entry;
	ssize_t count;
	int error = elf_file_offset(file, point->vaddr, &entry);

	if (error)
		return error;
	if (!plan_is_congruent(point->vaddr, entry))
		return -EBADMSG;
	count = elf_file_read(file, entry, code, point->placement.offset);
	if (count <= 0)
		return -EBADMSG;
	request.size = (size_t)count;
	placement_choose(&request, &point->placement);
	if (probe_at == PROBE_AT_ENTRY && !point->placement.refused) {
		point->placement.offset = 0;
		snprintf(point->placement.reason, sizeof(point->placement.reason),
			 "at the entry, as --probe-at=entry asks");
	}
	point->offset = entry + point->placement.offset;
	return 0;
}

static int plan_symbols(const struct elf_file *file, const char *prefix, enum probe_at probe_at,
			struct probe_plan *plan)
{
	struct elf_symbols symbols = {0};
	int error = elf_symbols_read(file, &symbols);

	for (size_t i = 0; i < symbols.list.count && !error; i++)
		error = add_symbol(plan, &symbols.list.items[i], prefix);
	elf_symbols_free(&symbols);
	if (error)
		return error;
	if (!is_allocator(plan)) {
		vec_free(&plan->points);
		return 0;
	}
	qsort(plan->points.items, plan->points.count, sizeof(*plan->points.items), by_function);
	for (size_t i = 0; i < plan->points.count && !error; i++)
		error = place(file, probe_at, &plan->points.items[i]);
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
