// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Roots of OCaml's blocks: fields of modules, finalisers, the last raised exception. Stacks and
 * variables of C are read as in any program. The collector's own records hold no blocks.
 */
#include "heap/runtime/ocaml/ocaml.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "heap/allocators/heap_image.h"
#include "process/proc/process_list.h"

#define PAGE_TABLE_ENTRIES 32 /* memory.h: struct page_table */
#define SIGNAL_STACKS 64      /* or the number of threads, if larger */
#define MALLOC_SLACK 16	      /* most bytes by which glibc's blocks exceed the requested size */

/* Called for each block of a module whose fields are roots. 0 or an error. */
typedef int visit_module(void *context, uint64_t block, uint64_t fields);

/* Returns the number of fields, limited by the memory behind the block. */
static uint64_t fields_of(const struct ocaml *ocaml, uint64_t block, uint64_t header)
{
	const struct mapping *mapping = maps_find(ocaml->memory->maps, block);

	return mapping ? MIN(HEADER_SIZE(header), (mapping->end - block) / 8) : 0;
}

/* Visits all modules (startup_nat.c, caml_init_atom_table and roots_nat.c): caml_globals leads to a
 * list of blocks of each module. */
static int visit_modules(const struct ocaml *ocaml, visit_module *visit, void *context)
{
	uint64_t globals = ocaml_symbol(ocaml, "caml_globals");
	int error = 0;

	for (size_t i = 0; !error && globals; i++) {
		uint64_t list = target_word(ocaml->memory, globals + i * 8);

		if (!list)
			break;
		for (size_t j = 0; !error; j++) {
			uint64_t block = target_word(ocaml->memory, list + j * 8), header;

			if (!block || !ocaml_header(ocaml, block, &header))
				break;
			error = visit(context, block, fields_of(ocaml, block, header));
		}
	}
	return error;
}

struct visit {
	struct ocaml *ocaml;
	struct heap_sink *sink;
};

/* Reads the name of a constructor (stdlib/obj.ml, Extension_constructor): a block with a name and a
 * number. */
static bool constructor_name(const struct ocaml *ocaml, uint64_t value, char *name, size_t size)
{
	uint64_t header;

	return ocaml_header(ocaml, value, &header) && HEADER_TAG(header) == TAG_OBJECT &&
	       HEADER_SIZE(header) == 2 &&
	       ocaml_text(ocaml, target_word(ocaml->memory, value), name, size);
}

static int add_exception(struct visit *visit, uint64_t constructor)
{
	char text[OCAML_NAME_BYTES - 16], name[OCAML_NAME_BYTES];
	uint64_t *place;
	uint32_t class;
	int error;

	if (!constructor_name(visit->ocaml, constructor, text, sizeof(text)))
		return 0;
	snprintf(name, sizeof(name), "exception %s", text);
	error = ocaml_class(visit->ocaml, visit->sink, constructor, name, true, &class);
	place = error ? NULL : hash_put(&visit->ocaml->exceptions, constructor, NULL);
	if (!place)
		return error ? error : -ENOMEM;
	*place = class + 1;
	return 0;
}

static int find_exceptions_in(void *context, uint64_t block, uint64_t fields)
{
	struct visit *visit = context;
	int error = 0;

	for (uint64_t i = 0;
	     !error && i < fields && !target_memory_overworked(visit->ocaml->memory); i++)
		error = add_exception(visit, target_word(visit->ocaml->memory, block + i * 8));
	return error;
}

int ocaml_find_exceptions(struct ocaml *ocaml, struct heap_sink *sink)
{
	/* fail_nat.c, and predefined ones of the language. */
	static const char *const predefined[] = {
		"caml_exn_Out_of_memory",
		"caml_exn_Sys_error",
		"caml_exn_Failure",
		"caml_exn_Invalid_argument",
		"caml_exn_Match_failure",
		"caml_exn_Assert_failure",
		"caml_exn_Undefined_recursive_module",
	};
	struct visit visit = {ocaml, sink};
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(predefined); i++)
		error = add_exception(&visit, ocaml_symbol(ocaml, predefined[i]));
	return error ? error : visit_modules(ocaml, find_exceptions_in, &visit);
}

/* Fields of modules. */

static int add_fields(void *context, uint64_t block, uint64_t fields)
{
	const struct visit *visit = context;
	char name[OCAML_NAME_BYTES] = "", root[OCAML_NAME_BYTES + 24];
	uint64_t distance = 0;
	int error = 0;

	if (!ocaml_name_at(visit->ocaml, block, name, &distance) || distance)
		snprintf(name, sizeof(name), "module at 0x%llx", (unsigned long long)block);
	for (uint64_t i = 0;
	     !error && i < fields && !target_memory_overworked(visit->ocaml->memory); i++) {
		uint64_t value = target_word(visit->ocaml->memory, block + i * 8);

		if (value % 8 || heap_sink_node(visit->sink, value) == BLOCK_NONE)
			continue;
		snprintf(root, sizeof(root), "%s[%llu]", name, (unsigned long long)i);
		error = heap_sink_root(visit->sink, OCAML_KEY, root, value);
	}
	return error;
}

/* Finalisers: finalise.c. */

/* struct finalisable */
#define FINALISABLE_TABLE 0
#define FINALISABLE_USED 16 /* young ones come last */
#define FINALISABLE_SIZE 24
/* struct final */
#define FINAL_BYTES 24
#define FINAL_FUNCTION 0
#define FINAL_VALUE 8

struct finalisers {
	uint64_t table, used;
	struct hash counts; /* code of a function -> number of finalisers */
	bool values;	    /* their values stay alive until they run */
};

static uint64_t function_code(const struct ocaml *ocaml, uint64_t closure)
{
	uint64_t fields[3] = {0}, header;
	size_t count;

	if (!ocaml_header(ocaml, closure, &header) ||
	    (HEADER_TAG(header) != TAG_CLOSURE && HEADER_TAG(header) != TAG_INFIX))
		return 0;
	count = MIN(HEADER_SIZE(header), ARRAY_SIZE(fields));
	if (target_read(ocaml->memory, closure, fields, count * 8))
		return 0;
	return ocaml_closure_code(fields, count);
}

/* Returns whether a table fits into its block of malloc's, or into one mapping if blocks are
 * unknown. */
static bool table_fits(const struct ocaml *ocaml, const struct heap_sink *sink, uint64_t table,
		       uint64_t entries)
{
	uint32_t node = heap_sink_node(sink, table);
	const struct mapping *mapping;

	if (node != BLOCK_NONE)
		return entries <= sink->sizes[node] / FINAL_BYTES;
	mapping = table % 8 ? NULL : maps_find(ocaml->memory->maps, table);
	return mapping && mapping->writable && entries <= (mapping->end - table) / FINAL_BYTES;
}

/* Notes a lost table: without it, values that await finalisers look like garbage. */
static void note_lost_table(const struct ocaml *ocaml, struct heap_sink *sink)
{
	struct walk_report *report = &sink->reports.items[ocaml->report];

	report->nonsense++;
	report->all_roots = false;
}

static int count_finalisers(struct ocaml *ocaml, struct heap_sink *sink, uint64_t finalisable,
			    struct finalisers *finalisers)
{
	struct target_memory *memory = ocaml->memory;
	uint64_t table = target_word(memory, finalisable + FINALISABLE_TABLE);
	uint64_t used = target_word(memory, finalisable + FINALISABLE_USED);
	uint64_t size = target_word(memory, finalisable + FINALISABLE_SIZE);

	if (used > size || !table_fits(ocaml, sink, table, size)) {
		if (table)
			note_lost_table(ocaml, sink);
		return 0;
	}
	finalisers->table = table;
	finalisers->used = used;
	for (uint64_t i = 0; i < used && !target_memory_overworked(memory); i++) {
		uint64_t function = target_word(memory, table + i * FINAL_BYTES + FINAL_FUNCTION);
		uint64_t *count =
			hash_put(&finalisers->counts, function_code(ocaml, function), NULL);

		if (!count)
			return -ENOMEM;
		++*count;
	}
	return ocaml_claim_block(sink, table);
}

/* Names of roots, cached by the code of a function, which many finalisers may share. */
struct finaliser_names {
	uint64_t code;
	char function[OCAML_NAME_BYTES + 64], value[OCAML_NAME_BYTES + 64]; /* "": none yet */
};

static void name_finaliser(const struct ocaml *ocaml, const struct finalisers *finalisers,
			   uint64_t code, struct finaliser_names *names)
{
	const uint64_t *found = hash_get(&finalisers->counts, code);
	unsigned long long count = found ? *found : 0;
	char name[OCAML_NAME_BYTES];

	if (names->function[0] && names->code == code)
		return;
	names->code = code;
	ocaml_code_name(ocaml, code, name);
	snprintf(names->function, sizeof(names->function), "finaliser %s × %llu", name, count);
	snprintf(names->value, sizeof(names->value), "value that awaits finaliser %s × %llu", name,
		 count);
}

/* Adds finalisers: their functions hold their environment; the values only wait, and not even that
 * if they may be lost before the call (Gc.finalise_last). */
static int add_finalisers(struct ocaml *ocaml, struct heap_sink *sink,
			  const struct finalisers *finalisers)
{
	struct finaliser_names names = {0};
	int error = 0;

	for (uint64_t i = 0;
	     !error && i < finalisers->used && !target_memory_overworked(ocaml->memory); i++) {
		uint64_t place = finalisers->table + i * FINAL_BYTES;
		uint64_t function = target_word(ocaml->memory, place + FINAL_FUNCTION);

		name_finaliser(ocaml, finalisers, function_code(ocaml, function), &names);
		error = heap_sink_root(sink, OCAML_KEY, names.function, function);
		if (error || !finalisers->values)
			continue;
		error = heap_sink_waiting_root(sink, OCAML_KEY, names.value,
					       target_word(ocaml->memory, place + FINAL_VALUE));
	}
	return error;
}

int ocaml_add_finalisable(struct ocaml *ocaml, struct heap_sink *sink, uint64_t finalisable,
			  bool values)
{
	struct finalisers finalisers = {.values = values};
	int error = 0;

	if (finalisable)
		error = count_finalisers(ocaml, sink, finalisable, &finalisers);
	if (!error)
		error = add_finalisers(ocaml, sink, &finalisers);
	hash_free(&finalisers.counts);
	return error;
}

/* In a stripped program both lists are found by their shape. Confusing them matters little: both
 * hold their functions' environments. */

#define FINALISABLE_OLD 8
#define FINALISABLE_LISTS 2
#define PROVED 64 /* entries checked in each */

/* Returns whether it is a block of malloc's with functions, each with a value. */
static bool is_finalisable(const struct ocaml *ocaml, const struct heap_sink *sink, uint64_t at)
{
	struct target_memory *memory = ocaml->memory;
	uint64_t table = target_word(memory, at + FINALISABLE_TABLE), old, used, size;
	uint32_t node = table % 16 ? BLOCK_NONE : heap_sink_node(sink, table);

	if (node == BLOCK_NONE || sink->starts[node] != table || sink->whats[node] != NODE_PLAIN)
		return false;
	old = target_word(memory, at + FINALISABLE_OLD);
	used = target_word(memory, at + FINALISABLE_USED);
	size = target_word(memory, at + FINALISABLE_SIZE);
	if (!used || old > used || used > size || size > sink->sizes[node] / FINAL_BYTES)
		return false;
	for (uint64_t i = 0; i < MIN(used, (uint64_t)PROVED); i++) {
		uint64_t place = table + i * FINAL_BYTES;
		uint32_t value = heap_sink_node(sink, target_word(memory, place + FINAL_VALUE));

		if (!function_code(ocaml, target_word(memory, place + FINAL_FUNCTION)) ||
		    value == BLOCK_NONE || !node_has_class(sink->whats[value]))
			return false;
	}
	return true;
}

/* Adds the lists found by shape; none if there are more than two, because the shape is then
 * ambiguous. */
static int add_finalisable_by_shape(struct ocaml *ocaml, struct heap_sink *sink)
{
	const struct maps *maps = ocaml->memory->maps;
	uint64_t found[FINALISABLE_LISTS];
	size_t count = 0;
	int error = 0;

	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		uint64_t end = MIN(mapping->end, ocaml->module->end);

		if (!mapping->writable || mapping->start < ocaml->module->start)
			continue;
		for (uint64_t at = mapping->start; at + 32 <= end; at += 8) {
			if (!is_finalisable(ocaml, sink, at))
				continue;
			if (count == FINALISABLE_LISTS)
				return 0;
			found[count++] = at;
		}
	}
	for (size_t i = 0; !error && i < count; i++)
		error = ocaml_add_finalisable(ocaml, sink, found[i], true);
	return error;
}

/* Claims a block of the collector. */

int ocaml_claim_block(struct heap_sink *sink, uint64_t address)
{
	uint32_t node = heap_sink_node(sink, address);

	if (node == BLOCK_NONE || node_has_class(sink->whats[node]))
		return 0;
	return heap_sink_claim(sink, sink->starts[node], sink->sizes[node], true);
}

/* major_gc.c of 4.11: gray_vals, gray_vals_cur and gray_vals_end; the second one moves within a
 * block of 2^n words, by which they are found in a stripped program. */
#define GRAY_BYTES_MIN 16384
#define GRAY_WORDS 4 /* most distance between them */

static bool is_gray_values(const struct ocaml *ocaml, const struct heap_sink *sink, uint64_t at)
{
	uint64_t values = target_word(ocaml->memory, at), end;
	uint32_t node = values % 16 ? BLOCK_NONE : heap_sink_node(sink, values);

	if (node == BLOCK_NONE || sink->starts[node] != values || sink->whats[node] != NODE_PLAIN ||
	    sink->sizes[node] < GRAY_BYTES_MIN)
		return false;
	end = values + (1ull << (63 - __builtin_clzll(sink->sizes[node])));
	for (uint64_t i = 1; i <= GRAY_WORDS; i++) {
		if (target_word(ocaml->memory, at + i * 8) == end ||
		    target_word(ocaml->memory, at - i * 8) == end)
			return true;
	}
	return false;
}

/* Returns the address of gray_vals; 0: not found. */
static uint64_t find_gray_values(const struct ocaml *ocaml, const struct heap_sink *sink)
{
	const struct maps *maps = ocaml->memory->maps;
	uint64_t named = ocaml_symbol(ocaml, "gray_vals");

	for (size_t i = 0; !named && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		uint64_t end = MIN(mapping->end, ocaml->module->end);

		if (!mapping->writable || mapping->start < ocaml->module->start)
			continue;
		for (uint64_t at = mapping->start; !named && at + 8 <= end; at += 8) {
			if (is_gray_values(ocaml, sink, at))
				named = at;
		}
	}
	return named;
}

/* Claims the tables of minor_gc.h, struct caml_ref_table, and major_gc.c, struct mark_stack, which
 * begin with a pointer to their contents. */
static int claim_tables(const struct ocaml *ocaml, struct heap_sink *sink)
{
	int error = heap_sink_claim(sink, ocaml->state, STATE_BYTES, true);

	for (size_t i = STATE_REMEMBERED; !error && i + ocaml->gray <= STATE_MARK_STACK; i++)
		error = ocaml_claim_block(sink,
					  target_word(ocaml->memory, ocaml_state_word(ocaml, i)));
	if (!error && ocaml->gray)
		error = ocaml_claim_block(
			sink, target_word(ocaml->memory, find_gray_values(ocaml, sink)));
	return error;
}

/* Returns whether a variable holds nothing: the collector's own, and stale ones of extern.c,
 * intern.c and obj.c. A function's static variable has a number behind its name. */
static bool is_left_out(const char *name)
{
	static const char *const names[] = {
		"caml_heap_start",     "caml_gc_sweep_hp",
		"caml_fl_merge",       "markhp",
		"caml_ephe_list_head", "ephes_checked_if_pure",
		"ephes_to_check",      "pos_table_entries_init",
		"extern_stack_init",   "intern_stack_init",
		"first_chunk",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t length = strlen(names[i]);

		if (!strncmp(name, names[i], length) && (!name[length] || name[length] == '.'))
			return true;
	}
	return false;
}

static int claim_variables(const struct ocaml *ocaml, struct heap_sink *sink)
{
	const struct symbol_table *symbols = ocaml->symbols;
	uint64_t pages = ocaml_symbol(ocaml, "caml_page_table");
	int error = 0;

	for (size_t i = 0; !error && i < symbols->count; i++) {
		if (is_left_out(symbols->names + symbols->symbols[i].name))
			error = heap_sink_claim(sink,
						ocaml->module->bias + symbols->symbols[i].address,
						symbols->symbols[i].size, true);
	}
	if (!error && pages)
		error = ocaml_claim_block(sink,
					  target_word(ocaml->memory, pages + PAGE_TABLE_ENTRIES));
	return error;
}

/* Claims the data of modules, of which the collector reads only the modules' roots. */
static int claim_data(const struct ocaml *ocaml, struct heap_sink *sink)
{
	uint64_t segments = ocaml_symbol(ocaml, "caml_data_segments");
	int error = 0;

	for (size_t i = 0; !error && segments; i++) {
		uint64_t start = target_word(ocaml->memory, segments + i * 16);
		uint64_t last = target_word(ocaml->memory, segments + i * 16 + 8);

		if (!start || last < start)
			break;
		error = heap_sink_claim(sink, start, last - start, false);
	}
	return error;
}

static int claim_all(const struct ocaml *ocaml, struct heap_sink *sink)
{
	int error = heap_sink_claim(sink, ocaml->young.start, ocaml->young.end - ocaml->young.start,
				    false);

	for (size_t i = 0; !error && i < ocaml->chunks.count; i++)
		error = heap_sink_claim(sink, ocaml->chunks.items[i].start,
					ocaml->chunks.items[i].end - ocaml->chunks.items[i].start,
					false);
	if (!error)
		error = claim_tables(ocaml, sink);
	if (!error)
		error = claim_variables(ocaml, sink);
	return error ? error : claim_data(ocaml, sink);
}

/* Ephemerons and weak arrays: weak.h. Their keys are weak. */

#define EPHEMERON_DATA 8

/* Returns whether it is an ephemeron; other abstract blocks are not precise. */
static bool is_ephemeron(const struct ocaml *ocaml, uint32_t what)
{
	return ocaml->has_ephemerons && what & NODE_PRECISE &&
	       (what & NODE_CLASS) == ocaml->abstract_class;
}

void ocaml_find_ephemerons(struct ocaml *ocaml, struct heap_sink *sink, uint64_t first)
{
	struct loop loop = {0};

	for (uint64_t at = first, header;
	     !loop_found(&loop, at) && ocaml_header(ocaml, at, &header) &&
	     HEADER_TAG(header) == TAG_ABSTRACT;
	     at = target_word(ocaml->memory, at)) {
		uint32_t node = heap_sink_node(sink, at);

		if (node == BLOCK_NONE || sink->starts[node] + HEADER_BYTES != at ||
		    !node_has_class(sink->whats[node]))
			continue;
		if (!ocaml->has_ephemerons)
			ocaml->abstract_class = sink->whats[node] & NODE_CLASS;
		ocaml->has_ephemerons = true;
		if ((sink->whats[node] & NODE_CLASS) == ocaml->abstract_class)
			sink->whats[node] |= NODE_PRECISE;
	}
}

int ocaml_refer(void *state, struct heap_sink *sink, uint32_t node)
{
	struct ocaml *ocaml = state;
	uint64_t value = sink->starts[node] + HEADER_BYTES;
	bool done = false;
	int error = ocaml->domains.count ? ocaml5_refer(ocaml, sink, node, &done) : 0;

	if (error || done)
		return error;
	if (!is_ephemeron(ocaml, sink->whats[node]))
		return 0;
	return heap_sink_reference(sink, node, target_word(ocaml->memory, value + EPHEMERON_DATA),
				   heap_sink_label(sink, LABEL_ATTRIBUTE, "data"));
}

static int add_exceptions(const struct ocaml *ocaml, struct heap_sink *sink)
{
	int error = heap_sink_root(sink, OCAML_KEY, "exception being raised",
				   ocaml_state_word(ocaml, STATE_EXCEPTION - ocaml->gray));

	return error ? error
		     : heap_sink_root(sink, OCAML_KEY, "last exception (backtrace)",
				      ocaml_state_word(ocaml, STATE_LAST_EXCEPTION - ocaml->gray));
}

/* Stacks for signals: signals_nat.c, caml_setup_stack_overflow_detection. */

/* Returns the size by sysconf(3), _SC_SIGSTKSZ: a core's kernel is assumed to be like this one.
 * Programs compiled with a constant SIGSTKSZ have stacks of MACHINE_SIGNAL_STACK. */
static uint64_t signal_stack_bytes(const struct memory_source *source)
{
	uint64_t minimum = source->core ? getauxval(AT_MINSIGSTKSZ)
					: process_auxiliary(source->task, AT_MINSIGSTKSZ);

	return MAX(minimum, MACHINE_SIGNAL_STACK_MIN) * 4;
}

/* Returns whether no signal ever used a stack. */
static bool is_untouched(const struct ocaml *ocaml, uint64_t start, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes / 8; i++) {
		if (target_word(ocaml->memory, start + i * 8))
			return false;
	}
	return true;
}

static bool may_be_signal_stack(const struct heap_sink *sink, uint32_t node, uint64_t bytes)
{
	return sink->whats[node] == NODE_PLAIN && sink->sizes[node] >= bytes &&
	       sink->sizes[node] < bytes + MALLOC_SLACK;
}

/*
 * Adds signal stacks: each thread gets one from malloc, and only the kernel keeps its address, so
 * an unreferenced block of that size may be one. If there are more such blocks than threads, only
 * untouched ones count, up to that number.
 */
static int add_signal_stacks(const struct ocaml *ocaml, struct heap_sink *sink, uint64_t bytes)
{
	const struct heap_image *image = ocaml->memory->image;
	uint64_t most = MAX(image ? image->threads.count : 0, (size_t)SIGNAL_STACKS), count = 0;
	bool crowded;
	int error = 0;

	for (uint32_t i = 0; i < sink->count && count <= most; i++)
		count += may_be_signal_stack(sink, i, bytes);
	crowded = count > most;
	count = 0;
	for (uint32_t i = 0; !error && i < sink->count && count < most; i++) {
		if (!may_be_signal_stack(sink, i, bytes) ||
		    (crowded && !is_untouched(ocaml, sink->starts[i], sink->sizes[i])))
			continue;
		count++;
		error = heap_sink_waiting_root(sink, OCAML_KEY, "signal stack", sink->starts[i]);
	}
	return error;
}

static int add_all_signal_stacks(const struct ocaml *ocaml, struct heap_sink *sink)
{
	uint64_t bytes = signal_stack_bytes(&ocaml->memory->maps->source);
	int error = add_signal_stacks(ocaml, sink, bytes);

	return error || bytes == MACHINE_SIGNAL_STACK
		       ? error
		       : add_signal_stacks(ocaml, sink, MACHINE_SIGNAL_STACK);
}

static int ocaml4_roots(struct ocaml *ocaml, struct heap_sink *sink)
{
	uint64_t first = ocaml_symbol(ocaml, "finalisable_first");
	uint64_t last = ocaml_symbol(ocaml, "finalisable_last");
	int error = first || last ? ocaml_add_finalisable(ocaml, sink, first, true)
				  : add_finalisable_by_shape(ocaml, sink);

	if (!error)
		error = ocaml_add_finalisable(ocaml, sink, last, false);
	if (!error)
		error = add_exceptions(ocaml, sink);
	ocaml_find_ephemerons(
		ocaml, sink,
		target_word(ocaml->memory, ocaml_symbol(ocaml, "caml_ephe_list_head")));
	return error ? error : claim_all(ocaml, sink);
}

static int add_doomed(const struct ocaml *ocaml, struct heap_sink *sink)
{
	int error = 0;

	for (size_t i = 0; !error && i < ocaml->doomed.count; i++)
		error = heap_sink_waiting_root(sink, OCAML_KEY, "garbage that awaits the sweep",
					       ocaml->doomed.items[i]);
	return error;
}

int ocaml_roots(void *state, struct heap_sink *sink)
{
	struct visit visit = {state, sink};
	int error = visit_modules(visit.ocaml, add_fields, &visit);

	if (!error)
		error = add_doomed(visit.ocaml, sink);
	if (!error)
		error = add_all_signal_stacks(visit.ocaml, sink);
	if (error)
		return error;
	return visit.ocaml->domains.count ? ocaml5_roots(visit.ocaml, sink)
					  : ocaml4_roots(visit.ocaml, sink);
}
