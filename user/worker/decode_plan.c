// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/decode.h"

#include <errno.h>

#include "base/cleanup.h"
#include "worker/cursor.h"
#include "worker/decode_text.h"
#include "worker/protocol.h"

static bool has_point(const struct probe_plan *plan, const struct wire_point *wire)
{
	for (size_t i = 0; i < plan->points.count; i++) {
		if (plan->points.items[i].vaddr == wire->vaddr &&
		    plan->points.items[i].is_result == wire->is_result)
			return true;
	}
	return false;
}

/* Where the result lies: what the kernel side is told in the cookie. */
static bool is_result(const struct wire_point *wire)
{
	if (!wire->is_result)
		return !wire->number && !wire->condition && !wire->words;
	return wire->number < 16 && wire->condition <= 16 && wire->words <= RESULTS_MAX_WORDS &&
	       !wire->placement_offset;
}

/* Only programs that are told where arguments are can take them from another place. */
static bool are_registers(const struct wire_point *wire)
{
	const struct call_shape_info *shape =
		&call_shapes[allocator_functions[wire->function].shape];

	for (size_t i = 0; i < sizeof(wire->registers); i++) {
		if (wire->registers[i] >= 16)
			return false;
	}
	return !wire->moved || (shape->size && (shape->returns || shape->throws));
}

/* Entries in the order of the table, then results. */
static bool is_in_order(const struct wire_point *wire, const struct probe_plan *plan)
{
	const struct probe_point *last;

	if (!plan->points.count)
		return true;
	last = &plan->points.items[plan->points.count - 1];
	if (last->is_result)
		return wire->is_result;
	return wire->is_result || wire->function >= last->function;
}

static bool is_point(const struct wire_point *wire, uint64_t file_size)
{
	return wire->function < allocator_function_count && wire->emulated <= 1 &&
	       wire->refused <= 1 && wire->needless <= 1 && wire->is_result <= 1 &&
	       wire->moved <= 1 && wire->prefix < PREFIX_MAX_ &&
	       is_terminated(wire->reason, sizeof(wire->reason)) &&
	       wire->placement_offset < PLAN_CODE_BYTES && wire->offset < file_size &&
	       wire->offset >= wire->placement_offset &&
	       plan_is_congruent(wire->vaddr, wire->offset - wire->placement_offset);
}

static int add_point(const struct wire_point *wire, uint64_t file_size, struct probe_plan *plan)
{
	struct probe_point *point;

	if (!is_point(wire, file_size) || !are_registers(wire) || !is_result(wire) ||
	    has_point(plan, wire) || !is_in_order(wire, plan))
		return -EPROTO;
	point = vec_push(&plan->points);
	if (!point)
		return -ENOMEM;
	*point = (struct probe_point){.function = wire->function,
				      .vaddr = wire->vaddr,
				      .offset = wire->offset,
				      .prefix = (enum allocator_prefix)wire->prefix,
				      .placement = {.offset = wire->placement_offset,
						    .emulated = wire->emulated,
						    .refused = wire->refused,
						    .needless = wire->needless,
						    .moved = wire->moved},
				      .is_result = wire->is_result,
				      .result = {.vaddr = wire->is_result ? wire->vaddr : 0,
						 .number = wire->number,
						 .condition = wire->condition,
						 .words = wire->words,
						 .emulated = wire->emulated}};
	memcpy(point->placement.reason, wire->reason, sizeof(point->placement.reason));
	memcpy(point->placement.registers, wire->registers, sizeof(point->placement.registers));
	return 0;
}

int decode_plan(const struct bytes *body, uint64_t file_size, struct probe_plan *plan)
{
	_cleanup_(probe_plan_free) struct probe_plan read = {0};
	struct cursor cursor = {body->data, body->size};
	struct wire_plan wire;
	int err = cursor_take_one(&cursor, &wire, sizeof(wire));

	if (err || wire.count > PLAN_MAX_POINTS || !is_hex(wire.build_id, sizeof(wire.build_id)) ||
	    wire.family > allocator_family_count || wire.has_names > 1 || wire.is_static > 1)
		return -EPROTO;
	for (uint32_t i = 0; !err && i < wire.count; i++) {
		struct wire_point point;

		err = cursor_take_one(&cursor, &point, sizeof(point));
		if (!err)
			err = add_point(&point, file_size, &read);
	}
	if (err || cursor.left)
		return err ? err : -EPROTO;
	memcpy(read.build_id, wire.build_id, sizeof(read.build_id));
	read.family = wire.family;
	read.has_names = wire.has_names;
	read.is_static = wire.is_static;
	*plan = read;
	read = (struct probe_plan){0};
	return 0;
}
