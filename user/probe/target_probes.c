// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/target_probes.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"

/*
 * The order in which shapes are attached: programs one after another, and in each link the kernel
 * keeps the order of its places. Returns and results come before all (one without a noted beginning
 * is ignored), then whatever ends a block, and only then what begins one: no block can get on the
 * ledger whose end would be missed.
 */
static const enum call_shape attach_order[] = {
	SHAPE_FREE,
	SHAPE_RESIZE,
	SHAPE_RESIZE_COUNT,
	SHAPE_HEAP_RESIZE,
	SHAPE_HEAP_RESIZE_COUNT,
	SHAPE_RESIZE_OR_FREE,
	SHAPE_HEAP_RESIZE_OR_FREE,
	SHAPE_RESIZE_IN_PLACE,
	SHAPE_SIZE,
	SHAPE_COUNT_SIZE,
	SHAPE_ALIGN_SIZE,
	SHAPE_OUT_ALIGN_SIZE,
	SHAPE_HEAP_COUNT_SIZE,
	SHAPE_NEW,
	SHAPE_NEW_COUNT,
	SHAPE_HEAP_NEW,
	SHAPE_HEAP_NEW_COUNT,
};
_Static_assert(ARRAY_SIZE(attach_order) == SHAPE_MAX_, "every shape is attached");

struct offsets {
	VEC(uint64_t) offsets;
	VEC(uint64_t) cookies;
};

static int offsets_add(struct offsets *offsets, const struct probe_point *point)
{
	uint64_t *offset = vec_push(&offsets->offsets);
	uint64_t *cookie = vec_push(&offsets->cookies);

	if (!offset || !cookie)
		return -ENOMEM;
	*offset = point->offset;
	*cookie = point->is_result ? point->function | result_cookie(&point->result)
				   : allocator_cookie(point->function, point->placement.registers,
						      point->placement.moved);
	return 0;
}

static enum heap_program program_of(const struct call_shape_info *shape)
{
	if (shape->throws)
		return HEAP_PROGRAM_NEW;
	return shape->returns ? HEAP_PROGRAM_CALL : HEAP_PROGRAM_FREE;
}

static bool is_selected(const struct probe_point *point, enum heap_program program,
			enum call_shape wanted)
{
	enum call_shape shape = allocator_functions[point->function].shape;

	if (!plan_is_used(point) || shape != wanted ||
	    point->is_result != (program == HEAP_PROGRAM_RESULT))
		return false;
	if (program == HEAP_PROGRAM_RETURN)
		return call_shapes[shape].returns;
	return point->is_result || program_of(&call_shapes[shape]) == program;
}

static int select_points(const struct probe_plan *plan, enum heap_program program,
			 struct offsets *selected)
{
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(attach_order); i++) {
		for (size_t j = 0; j < plan->points.count && !error; j++) {
			if (is_selected(&plan->points.items[j], program, attach_order[i]))
				error = offsets_add(selected, &plan->points.items[j]);
		}
	}
	return error;
}

static int attach_program(struct attachments *attachments, const struct probes_request *request,
			  enum heap_program program)
{
	struct attach_request wanted = {.program_fd = request->bpf->heap_fds[program],
					.file_fd = request->file_fd,
					.pid = request->pid};
	struct offsets selected = {0};
	int error = select_points(request->plan, program, &selected);

	if (program == HEAP_PROGRAM_RETURN)
		wanted.point = POINT_RETURN;
	else if (program == HEAP_PROGRAM_CALL && request->method == ATTACH_SESSION)
		wanted.point = POINT_BOTH;
	wanted.offsets = selected.offsets.items;
	wanted.cookies = selected.cookies.items;
	wanted.count = selected.offsets.count;
	if (!error && wanted.count)
		error = attach(attachments, request->method, &wanted);
	vec_free(&selected.offsets);
	vec_free(&selected.cookies);
	return error;
}

int probes_attach(struct attachments *attachments, const struct probes_request *request)
{
	int error = 0;

	for (enum heap_program program = 0; program < HEAP_PROGRAM_MAX_ && !error; program++) {
		if (program != HEAP_PROGRAM_RETURN || request->method != ATTACH_SESSION)
			error = attach_program(attachments, request, program);
	}
	return error;
}

int probes_check(const struct probe_plan *plan, const char *path, bool *left_out)
{
	*left_out = false;
	for (size_t i = 0; i < plan->points.count; i++) {
		const struct probe_point *point = &plan->points.items[i];
		const struct allocator_function *function = &allocator_functions[point->function];
		const char *prefix = allocator_prefixes[point->prefix];

		log_debug("%s%s in %s: %s", prefix, function->name, path, point->placement.reason);
		if (!point->placement.refused)
			continue;
		*left_out = true;
		if (call_shapes[function->shape].throws) {
			log_warning("%s%s in %s is not probed: %s; the blocks that it gives are "
				    "not seen",
				    prefix, function->name, path, point->placement.reason);
			continue;
		}
		log_error("%s%s in %s cannot be probed without risk to the process: %s; it is left "
			  "alone",
			  prefix, function->name, path, point->placement.reason);
		return -EOPNOTSUPP;
	}
	return 0;
}

size_t probes_count(const struct probe_plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->points.count; i++)
		count += plan_is_used(&plan->points.items[i]) && !plan->points.items[i].is_result;
	return count;
}

void probes_print(FILE *out, const struct probe_plan *plan)
{
	fprintf(out, "    allocator %s\n",
		plan->family ? allocator_families[plan->family - 1].name : "of its own");
	for (size_t i = 0; i < plan->points.count; i++) {
		const struct probe_point *point = &plan->points.items[i];
		const struct allocator_function *function = &allocator_functions[point->function];
		const char *prefix = point->is_result ? "" : allocator_prefixes[point->prefix];

		fprintf(out, "    %s%-*s 0x%llx+%u  ", prefix, 16 - (int)strlen(prefix),
			point->is_result ? "(result)" : function->name,
			(unsigned long long)point->vaddr, point->placement.offset);
		text_print_inert(out, point->placement.reason);
		fputc('\n', out);
	}
}
