// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/parse/plan.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "base/sandbox/bytes.h"
#include "binary/arch/machine.h"
#include "binary/elf/elf_dynamic.h"
#include "binary/parse/wire.h"

/* Chooses the places of a plan's probes, and finds redundant ones and known results. */

struct placer {
	const struct elf_file *file;
	struct probe_plan *plan;
	const struct elf_symbols *symbols; /* their sizes bound functions without unwind rows */
	struct code *code;		   /* NULL: not needed yet, or unavailable */
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
		/* Result probes identify the call by the place of its return address. */
		.returns = shape->returns || shape->throws,
		.null_is_trivial = shape->null_is_trivial,
		/* The shared programs take any register. */
		.movable = shape->size && (shape->returns || shape->throws) &&
			   probe_at == PROBE_AT_BEST,
	};
	uint64_t entry;
	ssize_t count;
	int error = elf_file_offset(file, point->vaddr, &entry);

	if (error)
		return error;
	if (!page_is_congruent(point->vaddr, entry))
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

/*
 * Reads the data needed to follow jumps. Returns 0, -ENOMEM; leaves `placer->code` NULL if
 * unavailable.
 */
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

/* Returns whether the first instruction, by its bytes, may jump away. */
static bool may_forward(const struct placer *placer, const struct probe_point *point)
{
	uint8_t first[CODE_FORWARD_BYTES];
	uint64_t offset = point->offset - point->placement.offset;

	return elf_file_read(placer->file, offset, first, sizeof(first)) == sizeof(first) &&
	       code_may_forward(first);
}

/* A function that only jumps to another one of its kind: that one is probed. */
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

/* Returns whether a block from this call is on the ledger when the call returns. */
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
	if (!error && !page_is_congruent(site->vaddr, offset))
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

/* Two probes at one instruction run in no certain order. */
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
	if (!error && code_is_exhausted(placer->code))
		error = -E2BIG;
	if (!error)
		error = take_results(placer, index, &results);
	results_free(&results);
	return error;
}

/* Chooses the place of each point, and adds the results. Returns 0 or -errno. */
static int plan_place(const struct elf_file *file, const struct elf_symbols *symbols,
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

/* One bit for each prefix under which the file has a C function that allocates, or frees. */
struct prefixes_seen {
	unsigned allocate, free;
};

/* A symbol named in the allocator table. */
struct candidate {
	const struct elf_symbol *symbol;
	size_t function;
	enum allocator_prefix prefix;
};

struct finder {
	const struct elf_symbols *symbols;
	const char *own_prefix;
	struct probe_plan *plan;
	struct allocator_index names;
	/*
	 * Addresses with a global name; ascending. Sorted, not hashed: the file's author chooses
	 * the addresses, and could choose colliding ones.
	 */
	VEC(uint64_t) global_values;
	VEC(struct candidate) candidates;
};

static void finder_free(struct finder *finder)
{
	vec_free(&finder->global_values);
	vec_free(&finder->candidates);
}

static int compare_values(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int index_global_values(struct finder *finder)
{
	const struct elf_symbols *symbols = finder->symbols;

	for (size_t i = 0; i < symbols->list.count; i++) {
		uint64_t *value;

		if (symbols->list.items[i].binding == STB_LOCAL)
			continue;
		value = vec_push(&finder->global_values);
		if (!value)
			return -ENOMEM;
		*value = symbols->list.items[i].value;
	}
	if (finder->global_values.count)
		qsort(finder->global_values.items, finder->global_values.count,
		      sizeof(*finder->global_values.items), compare_values);
	return 0;
}

static bool has_global_name(const struct finder *finder, uint64_t value)
{
	return finder->global_values.count &&
	       bsearch(&value, finder->global_values.items, finder->global_values.count,
		       sizeof(value), compare_values);
}

/* Returns whether the function is visible outside the file. */
static bool is_public(const struct finder *finder, const struct elf_symbol *symbol)
{
	/* In a static-pie, glibc's malloc is local; its alias __malloc is not. */
	return symbol->binding != STB_LOCAL ||
	       (finder->plan->is_static && has_global_name(finder, symbol->value));
}

static int find_candidates(struct finder *finder)
{
	const struct elf_symbols *symbols = finder->symbols;

	for (size_t i = 0; i < symbols->list.count; i++) {
		const struct elf_symbol *symbol = &symbols->list.items[i];
		enum allocator_prefix prefix = PREFIX_NONE;
		struct candidate *candidate;
		int function;

		if (symbol->type != STT_FUNC || !is_public(finder, symbol))
			continue;
		function = allocator_index_find(&finder->names, symbol->name, finder->own_prefix,
						&prefix);
		if (function < 0)
			continue;
		candidate = vec_push(&finder->candidates);
		if (!candidate)
			return -ENOMEM;
		*candidate = (struct candidate){symbol, (size_t)function, prefix};
	}
	return 0;
}

static void see_prefix(const struct candidate *candidate, struct prefixes_seen *seen)
{
	enum call_shape shape = allocator_functions[candidate->function].shape;

	if (allocator_is_operator(candidate->function))
		return;
	seen->allocate |= (unsigned)call_shapes[shape].allocates << candidate->prefix;
	seen->free |= (unsigned)(shape == SHAPE_FREE) << candidate->prefix;
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

/* Of names that share an address, the one that needs most care wins, then the first. */
static bool is_stronger(size_t function, enum allocator_prefix prefix,
			const struct probe_point *than)
{
	if (may_throw(function) != may_throw(than->function))
		return may_throw(function);
	if (function != than->function)
		return function < than->function;
	return prefix < than->prefix;
}

static int add_candidate(const struct finder *finder, const struct candidate *candidate)
{
	const struct elf_symbol *symbol = candidate->symbol;
	struct probe_plan *plan = finder->plan;
	struct probe_point *point = find_point(plan, symbol->value);

	if (point && !is_stronger(candidate->function, candidate->prefix, point))
		return 0;
	if (!point && plan->points.count == PLAN_MAX_POINTS)
		return -E2BIG;
	if (!point)
		point = vec_push(&plan->points);
	if (!point)
		return -ENOMEM;
	point->function = candidate->function;
	point->prefix = candidate->prefix;
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

static int add_candidates(const struct finder *finder)
{
	struct probe_plan *plan = finder->plan;
	struct prefixes_seen seen = {0};
	int error = 0;

	for (size_t i = 0; i < finder->candidates.count; i++)
		see_prefix(&finder->candidates.items[i], &seen);
	/* A statically linked program that never frees has no free. */
	if (plan->is_static)
		seen.free = seen.allocate;
	if (!(seen.allocate & seen.free))
		return 0;
	for (size_t i = 0; i < finder->candidates.count && !error; i++) {
		const struct candidate *candidate = &finder->candidates.items[i];

		if (seen.allocate & seen.free & 1u << candidate->prefix)
			error = add_candidate(finder, candidate);
	}
	plan->family = find_family(finder->symbols);
	if (plan->points.count)
		qsort(plan->points.items, plan->points.count, sizeof(*plan->points.items),
		      by_function);
	return error;
}

static int add_symbols(const struct elf_symbols *symbols, const char *own_prefix,
		       struct probe_plan *plan)
{
	_cleanup_(finder_free) struct finder finder = {
		.symbols = symbols, .own_prefix = own_prefix, .plan = plan};
	int error = plan->is_static ? index_global_values(&finder) : 0;

	allocator_index_make(&finder.names);
	if (!error)
		error = find_candidates(&finder);
	return error ? error : add_candidates(&finder);
}

static int plan_symbols(const struct elf_file *file, const char *own_prefix, enum probe_at probe_at,
			struct probe_plan *plan)
{
	struct elf_symbols symbols = {0};
	int error = elf_symbols_read(file, &symbols);

	if (error)
		return error;
	plan->has_names = symbols.list.count > 0;
	error = add_symbols(&symbols, own_prefix, plan);
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
	int error = elf_file_open(fd, &machine_abi, &file);

	if (error)
		return error;
	snprintf(planned.build_id, sizeof(planned.build_id), "%s", file.build_id);
	planned.is_static = elf_is_static(&file);
	error = plan_symbols(&file, symbol_prefix, probe_at, &planned);
	if (!error)
		error = stapsdt_read(&file, &planned.carried);
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
	stapsdt_free(&plan->carried);
}

static int encode_point(const struct probe_point *point, struct bytes *body)
{
	struct wire_point wire = {
		.vaddr = point->vaddr,
		.offset = point->offset,
		.function = (uint32_t)point->function,
		.placement_offset = point->placement.offset,
		.emulated = point->placement.emulated,
		.refused = point->placement.refused,
		.needless = point->placement.needless,
		.prefix = (uint8_t)point->prefix,
		.is_result = point->is_result,
		.number = point->result.number,
		.condition = point->result.condition,
		.words = point->result.words,
		.moved = point->placement.moved,
	};

	_Static_assert(sizeof(wire.reason) == sizeof(point->placement.reason), "the same text");
	_Static_assert(sizeof(wire.registers) == sizeof(point->placement.registers), "as many");
	memcpy(wire.reason, point->placement.reason, sizeof(wire.reason));
	memcpy(wire.registers, point->placement.registers, sizeof(wire.registers));
	return bytes_append(body, &wire, sizeof(wire));
}

int encode_plan(const struct probe_plan *plan, struct bytes *body)
{
	struct wire_plan wire = {.count = (uint32_t)plan->points.count,
				 .family = plan->family,
				 .has_names = plan->has_names,
				 .is_static = plan->is_static};
	int error;

	_Static_assert(sizeof(wire.build_id) == sizeof(plan->build_id), "the same text");
	memcpy(wire.build_id, plan->build_id, sizeof(wire.build_id));
	error = bytes_append(body, &wire, sizeof(wire));
	for (size_t i = 0; !error && i < plan->points.count; i++)
		error = encode_point(&plan->points.items[i], body);
	return error ? error : encode_stapsdt(&plan->carried, body);
}

static bool has_point(const struct probe_plan *plan, const struct wire_point *wire)
{
	for (size_t i = 0; i < plan->points.count; i++) {
		if (plan->points.items[i].vaddr == wire->vaddr &&
		    plan->points.items[i].is_result == wire->is_result)
			return true;
	}
	return false;
}

/* Returns whether the result's location is valid for the cookie. */
static bool is_result(const struct wire_point *wire)
{
	if (!wire->is_result)
		return !wire->number && !wire->condition && !wire->words;
	return wire->number < 16 && wire->condition <= 16 && wire->words <= RESULTS_MAX_WORDS &&
	       !wire->placement_offset;
}

/* Only programs that are told the arguments' places can take them from another place. */
static bool are_registers(const struct wire_point *wire)
{
	const struct call_shape_info *shape =
		&call_shapes[allocator_functions[wire->function].shape];

	for (size_t i = 0; i < sizeof(wire->registers); i++) {
		if (wire->registers[i] >= LM_COOKIE_OPERAND_MASK)
			return false;
	}
	return !wire->moved || (shape->size && (shape->returns || shape->throws));
}

/* Entries in table order, then results. */
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
	       page_is_congruent(wire->vaddr, wire->offset - wire->placement_offset);
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

/*
 * Checks that points are of known functions, inside the file, near their function. Only the parser
 * can tell whether an instruction begins there: see worker_leave().
 */
static int decode(const struct bytes *body, const struct parse_origin *origin, void *out)
{
	struct probe_plan *plan = out;
	_cleanup_(probe_plan_free) struct probe_plan read = {0};
	struct cursor cursor = {body->data, body->size};
	struct wire_plan wire;
	int error = cursor_take_one(&cursor, &wire, sizeof(wire));

	if (error || wire.count > PLAN_MAX_POINTS ||
	    !is_hex(wire.build_id, sizeof(wire.build_id)) || wire.family > allocator_family_count ||
	    wire.has_names > 1 || wire.is_static > 1)
		return -EPROTO;
	for (uint32_t i = 0; !error && i < wire.count; i++) {
		struct wire_point point;

		error = cursor_take_one(&cursor, &point, sizeof(point));
		if (!error)
			error = add_point(&point, origin->file_size, &read);
	}
	if (!error)
		error = decode_stapsdt(&cursor, origin->file_size, &read.carried);
	if (error || cursor.left)
		return error ? error : -EPROTO;
	memcpy(read.build_id, wire.build_id, sizeof(read.build_id));
	read.family = wire.family;
	read.has_names = wire.has_names;
	read.is_static = wire.is_static;
	*plan = read;
	read = (struct probe_plan){0};
	return 0;
}

static int parse(const struct parse_input *input, struct bytes *body)
{
	_cleanup_(probe_plan_free) struct probe_plan plan = {0};
	const struct wire_plan_question *question = input->question;
	int error;

	if (question->probe_at > PROBE_AT_ENTRY ||
	    !is_terminated(question->symbol_prefix, sizeof(question->symbol_prefix)))
		return -EINVAL;
	error = probe_plan_file(input->files[0], question->symbol_prefix, question->probe_at,
				&plan);
	return error ? error : encode_plan(&plan, body);
}

const struct parse_kind plan_kind = {
	.name = "probe plan",
	.lane = WORKER_LANE_PER_FILE,
	.haste = LANE_AT_ONCE,
	.max_files = 1,
	.min_question = sizeof(struct wire_plan_question),
	.max_question = sizeof(struct wire_plan_question),
	.parse = parse,
	.decode = decode,
};
