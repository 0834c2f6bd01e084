// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the probes of a plan go, which are needless, and where results are known. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "parse/plan.h"

struct placer {
	const struct elf_file *file;
	struct probe_plan *plan;
	const struct elf_symbols *symbols; /* whose sizes bound functions without unwind rows */
	struct code *code;		   /* NULL: not needed yet, or it cannot be had */
	size_t entries;			   /* points before the results */
	struct allocator_index names;
};

static const struct call_shape_info *shape_of(const struct probe_point *point)
{
	return &call_shapes[allocator_functions[point->function].shape];
}

static int place(const struct elf_file *file, enum probe_at probe_at, struct probe_point *point)
{
	const struct call_shape_info *shape = shape_of(point);
	uint8_t code[PLAN_CODE_BYTES];
	struct placement_request request = {
		.code = code,
		.arguments = shape->arguments,
		/* Whoever waits for the result knows the call by the place of its return address.
		 */
		.returns = shape->returns || shape->throws,
		.null_is_trivial = shape->null_is_trivial,
		/* The shared programs can be told any register. */
		.movable = shape->size && (shape->returns || shape->throws) &&
			   probe_at == PROBE_AT_BEST,
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

static struct probe_point *entry_at(const struct placer *placer, uint64_t vaddr)
{
	for (size_t i = 0; i < placer->entries; i++) {
		if (placer->plan->points.items[i].vaddr == vaddr)
			return &placer->plan->points.items[i];
	}
	return NULL;
}

/* Reads what is needed to follow jumps. 0, -ENOMEM; `placer->code` stays NULL when it cannot. */
static int open_code(struct placer *placer)
{
	int error = placer->code ? 0 : code_open(placer->file, placer->symbols, &placer->code);

	return error == -ENOMEM ? error : 0;
}

static void mark(struct probe_point *point, bool *flag, const char *why, const char *what)
{
	*flag = true;
	snprintf(point->placement.reason, sizeof(point->placement.reason), "%s%.100s", why, what);
}

/* Whether the first instruction jumps away, as far as its bytes tell. */
static bool may_forward(const struct placer *placer, const struct probe_point *point)
{
	uint8_t first[CODE_FORWARD_BYTES];
	uint64_t offset = point->offset - point->placement.offset;

	return elf_file_read(placer->file, offset, first, sizeof(first)) == sizeof(first) &&
	       code_may_forward(first);
}

/* A function that is nothing but a jump to another one of its kind: that one is probed. */
static int find_forward(struct placer *placer, struct probe_point *point)
{
	struct probe_point *other;
	struct code_target target;
	uint64_t vaddr;
	int error = may_forward(placer, point) ? open_code(placer) : -ENOENT;

	if (error || !placer->code)
		return error == -ENOMEM ? error : 0;
	if (!code_forwards(placer->code, point->vaddr, &vaddr))
		return 0;
	code_follow(placer->code, vaddr, &target);
	other = target.vaddr ? entry_at(placer, target.vaddr) : NULL;
	if (other && other != point && plan_is_used(other) &&
	    allocator_functions[other->function].shape ==
		    allocator_functions[point->function].shape)
		mark(point, &point->placement.needless, "not probed: goes on to ",
		     allocator_functions[other->function].name);
	return 0;
}

/* Whether a call of this gives a block that is on the ledger when it returns. */
static bool is_probed(const struct code_target *target, void *context)
{
	const struct placer *placer = context;
	const struct probe_point *point = entry_at(placer, target->vaddr);
	enum allocator_prefix prefix;
	int function;

	if (target->vaddr)
		return point && plan_is_used(point) && shape_of(point)->returns;
	function = allocator_index_find(&placer->names, target->name, "", &prefix);
	return function >= 0 && call_shapes[allocator_functions[function].shape].returns;
}

static int add_result(struct placer *placer, size_t function, const struct result_site *site)
{
	struct probe_point *point;
	uint64_t offset;
	int error = elf_file_offset(placer->file, site->vaddr, &offset);

	for (size_t i = 0; i < placer->plan->points.count; i++) {
		point = &placer->plan->points.items[i];
		if (point->is_result && point->vaddr == site->vaddr)
			return 0; /* shared code: functions that may throw return the same way */
	}
	if (!error && !plan_is_congruent(site->vaddr, offset))
		error = -EBADMSG;
	if (!error && placer->plan->points.count == PLAN_MAX_POINTS)
		error = -E2BIG;
	point = error ? NULL : vec_push(&placer->plan->points);
	if (!point)
		return error ? error : -ENOMEM;
	*point = (struct probe_point){.function = function,
				      .vaddr = site->vaddr,
				      .offset = offset,
				      .placement = {.emulated = site->emulated},
				      .is_result = true,
				      .result = *site};
	snprintf(point->placement.reason, sizeof(point->placement.reason), "result known%s: %s",
		 site->condition ? " on one side of a branch" : "",
		 site->emulated ? "emulated" : "at a `ret`, stepped");
	return 0;
}

/* Two probes at one instruction come in no certain order. */
static bool hits_entry(const struct placer *placer, const struct results *results)
{
	for (size_t i = 0; i < placer->entries; i++) {
		const struct probe_point *point = &placer->plan->points.items[i];

		for (size_t j = 0; j < results->sites.count; j++) {
			if (plan_is_used(point) &&
			    results->sites.items[j].vaddr == point->vaddr + point->placement.offset)
				return true;
		}
	}
	return false;
}

static int take_results(struct placer *placer, size_t index, const struct results *results)
{
	struct probe_point *point = &placer->plan->points.items[index];
	size_t function = point->function;
	int error = 0;

	if (results->kind == RESULTS_COME_BACK)
		mark(point, &point->placement.needless, "not probed: ", results->reason);
	else if (results->kind == RESULTS_UNKNOWN)
		mark(point, &point->placement.refused, "it may throw, and ", results->reason);
	else if (hits_entry(placer, results))
		mark(point, &point->placement.refused, "it may throw, and ",
		     "its result is known where a function begins");
	else
		for (size_t i = 0; i < results->sites.count && !error; i++)
			error = add_result(placer, function, &results->sites.items[i]);
	return error;
}

static int find_results(struct placer *placer, size_t index)
{
	struct probe_point *point = &placer->plan->points.items[index];
	struct results_request request = {
		.entry = point->vaddr, .is_probed = is_probed, .context = placer};
	struct results results = {0};
	int error = open_code(placer);

	if (error)
		return error;
	if (!placer->code) {
		mark(point, &point->placement.refused, "it may throw, and ",
		     "its file does not say where functions end");
		return 0;
	}
	error = results_find(placer->code, &request, &results);
	if (!error && placer->code->decoded > CODE_MAX_DECODED)
		error = -E2BIG;
	if (!error)
		error = take_results(placer, index, &results);
	results_free(&results);
	return error;
}

int plan_place(const struct elf_file *file, const struct elf_symbols *symbols,
	       enum probe_at probe_at, struct probe_plan *plan)
{
	struct placer placer = {
		.file = file, .symbols = symbols, .plan = plan, .entries = plan->points.count};
	int error = 0;

	allocator_index_make(&placer.names);
	for (size_t i = 0; i < placer.entries && !error; i++)
		error = place(file, probe_at, &plan->points.items[i]);
	for (size_t i = 0; i < placer.entries && !error; i++)
		error = find_forward(&placer, &plan->points.items[i]);
	for (size_t i = 0; i < placer.entries && !error; i++) {
		const struct probe_point *point = &plan->points.items[i];

		if (plan_is_used(point) && shape_of(point)->throws)
			error = find_results(&placer, i);
	}
	code_close(&placer.code);
	return error;
}
