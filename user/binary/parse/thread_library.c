// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/parse/thread_library.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "base/sandbox/bytes.h"
#include "binary/arch/code.h"
#include "binary/arch/control_flow.h"
#include "binary/arch/machine.h"
#include "binary/arch/placement.h"
#include "binary/elf/tls_layout.h"
#include "binary/parse/plan.h"
#include "binary/parse/wire.h"
#include "leakmon_thread.h"

const struct thread_probe_info thread_probes[] = {
	[THREAD_PROBE_RETURN] = {"thread_return"},
	[THREAD_PROBE_FREED] = {"thread_freed", .arguments = 1},
	[THREAD_PROBE_JOINED] = {"thread_joined"},
	[THREAD_PROBE_JOIN] = {"thread_join", .arguments = 1},
	[THREAD_PROBE_DETACH] = {"thread_detach", .arguments = 1, .returns = true},
	[THREAD_PROBE_CREATE] = {"thread_create", .arguments = 3, .returns = true},
};

_Static_assert(ARRAY_SIZE(thread_probes) == THREAD_PROBE_MAX_, "a row for every probe");

static const struct glibc_descriptor rows[] = {
	{"_thread_db_pthread_list", offsetof(struct thread_layout, list_at), 128, 1},
	{"_thread_db_pthread_tid", offsetof(struct thread_layout, tid_at), 32, 1},
	{"_thread_db_pthread_start_routine", offsetof(struct thread_layout, start_routine_at), 64,
	 1},
	{"_thread_db_pthread_cancelhandling", offsetof(struct thread_layout, state_at), 32, 1},
	{"_thread_db_list_t_next", offsetof(struct thread_layout, next_at), 64, 1},
	{"_thread_db_list_t_prev", offsetof(struct thread_layout, prev_at), 64, 1},
	{"_thread_db_sizeof_pthread", offsetof(struct thread_layout, descriptor_size), 0, 0},
	/* A shared libc has them in _rtld_global; in a static program they are variables. */
	{"_thread_db_rtld_global__dl_stack_used", offsetof(struct thread_layout, used_at), 128, 1},
	{"_thread_db_rtld_global__dl_stack_user", offsetof(struct thread_layout, user_at), 128, 1},
};

enum { HEADS = 7, ROWS_ALL = (1 << ARRAY_SIZE(rows)) - 1, ROWS_STATIC = (1 << HEADS) - 1 };

/* Variables of the library. */
enum { VARIABLE_GLOBAL, VARIABLE_USED, VARIABLE_USER, VARIABLE_MAX_ };

static const char *const variables[VARIABLE_MAX_] = {"__nptl_rtld_global", "_dl_stack_used",
						     "_dl_stack_user"};

struct reading {
	const struct elf_file *file;
	struct thread_layout layout;
	struct glibc_descriptors descriptors;
	uint64_t variables[VARIABLE_MAX_];
};

static int take_object(struct reading *reading, const struct elf_symbol *object)
{
	for (size_t i = 0; i < VARIABLE_MAX_; i++) {
		if (!strcmp(object->name, variables[i]))
			reading->variables[i] = object->value;
	}
	return glibc_descriptors_take(&reading->descriptors, reading->file, object);
}

/* Finds the list heads. */
static bool find_heads(struct reading *reading)
{
	const uint64_t used = reading->variables[VARIABLE_USED];
	const uint64_t user = reading->variables[VARIABLE_USER];
	struct thread_layout *layout = &reading->layout;

	if (reading->descriptors.found == ROWS_ALL && reading->variables[VARIABLE_GLOBAL]) {
		layout->heads_at = reading->variables[VARIABLE_GLOBAL];
		layout->indirect = 1;
		return true;
	}
	if (reading->descriptors.found != ROWS_STATIC || !used || !user)
		return false;
	layout->heads_at = MIN(used, user);
	if (MAX(used, user) - layout->heads_at > THREAD_LAYOUT_MAX)
		return false;
	layout->used_at = (uint32_t)(used - layout->heads_at);
	layout->user_at = (uint32_t)(user - layout->heads_at);
	return true;
}

/* Returns whether every field is within its limits: for a layout from another process. */
static bool is_sound(const struct thread_layout *layout)
{
	uint32_t size = layout->descriptor_size;

	return layout->heads_at && layout->indirect <= 1 && size <= THREAD_LAYOUT_MAX &&
	       size >= 64 && layout->used_at <= THREAD_LAYOUT_MAX &&
	       layout->user_at <= THREAD_LAYOUT_MAX && layout->used_at != layout->user_at &&
	       layout->list_at <= size - 16 && layout->tid_at <= size - 4 &&
	       layout->start_routine_at <= size - 8 && layout->state_at <= size - 4 &&
	       layout->joinid_at <= size - 8 && layout->next_at <= 8 && layout->prev_at <= 8 &&
	       layout->next_at != layout->prev_at;
}

/*
 * Returns 0; -ENOENT: descriptors are missing or inconsistent; -EBADMSG; -EIO; -ENOMEM. *layout is
 * untouched on error.
 */
static int thread_layout_read(const struct elf_file *file, struct thread_layout *layout)
{
	_cleanup_(elf_symbols_free) struct elf_symbols objects = {0};
	struct reading reading = {.file = file};
	int error = elf_objects_read(file, &objects);

	reading.descriptors = (struct glibc_descriptors){
		.rows = rows, .count = ARRAY_SIZE(rows), .into = &reading.layout};
	for (size_t i = 0; i < objects.list.count && !error; i++)
		error = take_object(&reading, &objects.list.items[i]);
	if (error)
		return error;
	if (!find_heads(&reading) || !is_sound(&reading.layout))
		return -ENOENT;
	*layout = reading.layout;
	return 0;
}

/* The state of thread_library_read(). */

struct thread_function {
	enum thread_probe probe;
	uint64_t vaddr, size;
};

struct thread_reader {
	struct elf_file file;
	struct elf_symbols symbols;
	struct code *code;
	VEC(struct thread_function) functions;
	bool glibc;
	uint64_t self; /* pthread_self(), 0: not there */
	struct thread_library library;
};

static const struct thread_function *thread_reader_first(const struct thread_reader *reader,
							 enum thread_probe probe)
{
	for (size_t i = 0; i < reader->functions.count; i++) {
		if (reader->functions.items[i].probe == probe)
			return &reader->functions.items[i];
	}
	return NULL;
}

static int add_point(struct thread_reader *reader, enum thread_probe probe, uint64_t offset)
{
	struct thread_point *point;

	for (size_t i = 0; i < reader->library.points.count; i++) {
		point = &reader->library.points.items[i];
		if (point->offset == offset)
			return point->probe == probe ? 0 : -EOPNOTSUPP;
	}
	if (reader->library.points.count == THREAD_MAX_POINTS)
		return -E2BIG;
	point = vec_push(&reader->library.points);
	if (!point)
		return -ENOMEM;
	*point = (struct thread_point){probe, offset};
	return 0;
}

/* Adds a point. Returns 0; -EOPNOTSUPP: another probe is there; -EBADMSG; -E2BIG; -ENOMEM. */
static int thread_reader_add(struct thread_reader *reader, enum thread_probe probe, uint64_t vaddr)
{
	uint64_t offset;
	int error = elf_file_offset(&reader->file, vaddr, &offset);

	if (error || !page_is_congruent(vaddr, offset))
		return -EBADMSG;
	return add_point(reader, probe, offset);
}

/* Adds the entry, where the return address and the arguments are still as the caller left them. */
static int thread_reader_add_entry(struct thread_reader *reader,
				   const struct thread_function *function)
{
	uint8_t code[PLAN_CODE_BYTES];
	struct placement_request request = {
		.code = code,
		.arguments = thread_probes[function->probe].arguments,
		.returns = true,
	};
	struct placement placement;
	uint64_t entry;
	ssize_t count;
	int error = elf_file_offset(&reader->file, function->vaddr, &entry);

	if (error || !page_is_congruent(function->vaddr, entry))
		return -EBADMSG;
	count = elf_file_read(&reader->file, entry, code, MIN(function->size, sizeof(code)));
	if (count <= 0)
		return -EBADMSG;
	request.size = (size_t)count;
	placement_choose(&request, &placement);
	if (placement.refused)
		return -EOPNOTSUPP;
	return add_point(reader, function->probe, entry + placement.offset);
}

/* Places reached by successful joins: see thread_library.h. */

typedef int (*step_visit)(const struct code *code, const struct step *step, void *context);

/*
 * Visits every instruction that a function can reach, including tail calls, past calls but not into
 * them. Returns 0; -EOPNOTSUPP: a part could not be followed; the result of `visit`; -ENOMEM.
 */
static int each_step(struct thread_reader *reader, uint64_t entry, step_visit visit, void *context)
{
	struct results_request request = {.entry = entry};
	_cleanup_(control_flow_free) struct control_flow flow = {0};
	int error = control_flow_follow(reader->code, &request, true, &flow);

	if (!error && flow.stopped[0])
		return -EOPNOTSUPP;
	for (size_t i = 0; i < flow.steps.count && !error; i++) {
		error = code_decode(reader->code, flow.steps.items[i].vaddr);
		if (!error)
			error = visit(reader->code, &flow.steps.items[i], context);
	}
	return error;
}

/* Returns the target of a direct call or jump, or 0. */
static uint64_t step_goes_to(const struct code *code, const struct step *step)
{
	uint64_t target = 0;

	if (step->kind == STEP_PLAIN || step->kind == STEP_RETURN ||
	    !code_direct_target(code, &target))
		return 0;
	return target;
}

/* --- glibc: the function that frees a descriptor --- */

struct detach_walk {
	uint64_t freeing; /* the candidate it calls */
	size_t callees;	  /* number of distinct ones */
	bool argument_lost;
	uint64_t joinid_at;
	size_t exchanges;
};

/* A detached thread waits for itself: its descriptor is exchanged into its joinid. */
static void see_exchange(const struct code *code, struct detach_walk *walk)
{
	int64_t at;

	if (!code_is_exchange(code))
		return;
	walk->exchanges++;
	if (code_exchanges_argument(code, &at) && at > 0)
		walk->joinid_at = (uint64_t)at;
}

static int visit_detach(const struct code *code, const struct step *step, void *context)
{
	struct detach_walk *walk = context;
	uint64_t target = step_goes_to(code, step);

	see_exchange(code, walk);
	if (!code_is_call(code)) {
		walk->argument_lost |= code_writes_argument(code);
	} else if (target) {
		walk->callees += target != walk->freeing;
		walk->freeing = target;
	} else {
		walk->argument_lost = true;
	}
	return 0;
}

/* Returns 0 if not found. */
static uint64_t freeing_function(struct thread_reader *reader)
{
	const struct thread_function *detach = thread_reader_first(reader, THREAD_PROBE_DETACH);
	struct detach_walk walk = {0};
	int error = each_step(reader, detach->vaddr, visit_detach, &walk);
	struct thread_layout *layout = &reader->library.layout;

	if (!error && walk.exchanges == 1 && walk.joinid_at <= layout->descriptor_size - 8)
		layout->joinid_at = (uint32_t)walk.joinid_at;
	return error || walk.callees != 1 || walk.argument_lost ? 0 : walk.freeing;
}

struct join_walk {
	struct thread_reader *reader;
	uint64_t freeing;
	size_t sites;
	bool marks_joined;
	bool wraps;
};

/* A called function may itself be a join: thrd_join calls pthread_join. */
static bool is_a_join(const struct thread_reader *reader, uint64_t vaddr)
{
	for (size_t i = 0; i < reader->functions.count; i++) {
		if (reader->functions.items[i].probe == THREAD_PROBE_JOIN &&
		    reader->functions.items[i].vaddr == vaddr)
			return true;
	}
	return false;
}

static int visit_join(const struct code *code, const struct step *step, void *context)
{
	struct join_walk *walk = context;
	uint64_t target = step_goes_to(code, step);

	walk->marks_joined |= code_stores(code, -1, walk->reader->library.layout.tid_at);
	walk->wraps |= target && code_is_call(code) && is_a_join(walk->reader, target);
	if (!target || target != walk->freeing)
		return 0;
	walk->sites++;
	return thread_reader_add(walk->reader, THREAD_PROBE_FREED, step->vaddr);
}

static int add_freed_of(struct thread_reader *reader, const struct thread_function *join,
			uint64_t freeing)
{
	struct join_walk walk = {.reader = reader, .freeing = freeing};
	int error = each_step(reader, join->vaddr, visit_join, &walk);

	if (error || walk.wraps)
		return error;
	return walk.sites && (!reader->library.has_layout || walk.marks_joined) ? 0 : -EOPNOTSUPP;
}

static int add_freed(struct thread_reader *reader)
{
	uint64_t freeing = reader->glibc ? freeing_function(reader) : 0;
	int error = freeing ? 0 : -EOPNOTSUPP;

	for (size_t i = 0; i < reader->functions.count && !error; i++) {
		if (reader->functions.items[i].probe == THREAD_PROBE_JOIN)
			error = add_freed_of(reader, &reader->functions.items[i], freeing);
	}
	return error;
}

/* --- other libraries: every `ret` of the join functions --- */

static int visit_return(const struct code *code, const struct step *step, void *context)
{
	(void)code;
	return step->kind == STEP_RETURN
		       ? thread_reader_add(context, THREAD_PROBE_JOINED, step->vaddr)
		       : 0;
}

static int add_returns(struct thread_reader *reader)
{
	int error = 0;

	for (size_t i = 0; i < reader->functions.count && !error; i++) {
		const struct thread_function *join = &reader->functions.items[i];

		if (join->probe != THREAD_PROBE_JOIN)
			continue;
		error = each_step(reader, join->vaddr, visit_return, reader);
		if (!error)
			error = thread_reader_add_entry(reader, join);
	}
	return error;
}

/*
 * Adds the points where joins have succeeded. Returns 0; -EOPNOTSUPP: none can be proven; -errno.
 */
static int thread_joins_add(struct thread_reader *reader)
{
	int error = add_freed(reader);

	if (error != -EOPNOTSUPP)
		return error;
	reader->library.points.count = 0;
	return add_returns(reader);
}

static const struct {
	const char *name;
	enum thread_probe probe;
} functions[] = {
	{"pthread_create", THREAD_PROBE_CREATE},
	{"pthread_detach", THREAD_PROBE_DETACH},
	{"pthread_join", THREAD_PROBE_JOIN},
	{"pthread_tryjoin_np", THREAD_PROBE_JOIN},
	{"pthread_timedjoin_np", THREAD_PROBE_JOIN},
	{"pthread_clockjoin_np", THREAD_PROBE_JOIN},
	{"pthread_timedjoin_np64", THREAD_PROBE_JOIN},
	{"pthread_clockjoin_np64", THREAD_PROBE_JOIN},
	{"thrd_join", THREAD_PROBE_JOIN},
};

/* Functions found only in glibc, including static programs. */
static const char *const glibc_names[] = {"gnu_get_libc_version", "__libc_fatal",
					  "__nptl_deallocate_stack", "__nptl_create_event"};

/* struct pthread_attr: flags are at 8; ATTR_FLAG_DETACHSTATE 1, ATTR_FLAG_STACKADDR 8. */
#define GLIBC_ATTR LM_ATTR_COOKIE(8, 1, 8, 8)

/* pthread_attr_t: _a_detach is int 6, _a_stackaddr is long 2 (any bit of it). */
#define MUSL_ATTR LM_ATTR_COOKIE(24, 0xffff, 16, 0xffff)

static void reader_free(struct thread_reader *reader)
{
	elf_file_close(&reader->file);
	elf_symbols_free(&reader->symbols);
	code_close(&reader->code);
	vec_free(&reader->functions);
	thread_library_free(&reader->library);
}

/* --- functions by name --- */

static bool has_function(const struct thread_reader *reader, uint64_t vaddr)
{
	for (size_t i = 0; i < reader->functions.count; i++) {
		if (reader->functions.items[i].vaddr == vaddr)
			return true;
	}
	return false;
}

static int take_symbol(struct thread_reader *reader, const struct elf_symbol *symbol)
{
	struct thread_function *function;

	if (symbol->binding == STB_LOCAL || symbol->type != STT_FUNC)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(glibc_names); i++)
		reader->glibc |= !strcmp(symbol->name, glibc_names[i]);
	if (!strcmp(symbol->name, "pthread_self"))
		reader->self = symbol->value;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		if (strcmp(symbol->name, functions[i].name) != 0 ||
		    has_function(reader, symbol->value))
			continue;
		if (reader->functions.count == THREAD_MAX_POINTS)
			return -E2BIG;
		function = vec_push(&reader->functions);
		if (!function)
			return -ENOMEM;
		*function =
			(struct thread_function){functions[i].probe, symbol->value, symbol->size};
	}
	return 0;
}

static bool is_thread_library(const struct thread_reader *reader)
{
	return thread_reader_first(reader, THREAD_PROBE_CREATE) &&
	       thread_reader_first(reader, THREAD_PROBE_DETACH) &&
	       thread_reader_first(reader, THREAD_PROBE_JOIN);
}

/* --- points --- */

static int add_entries(struct thread_reader *reader, enum thread_probe probe)
{
	int error = 0;

	for (size_t i = 0; i < reader->functions.count && !error; i++) {
		if (reader->functions.items[i].probe == probe)
			error = thread_reader_add_entry(reader, &reader->functions.items[i]);
	}
	return error;
}

/* --- the whole library --- */

static int by_probe(const void *left, const void *right)
{
	const struct thread_point *a = left, *b = right;

	if (a->probe != b->probe)
		return a->probe < b->probe ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static int read_code_shift(struct thread_reader *reader)
{
	uint64_t vaddr = thread_reader_first(reader, THREAD_PROBE_CREATE)->vaddr, offset;

	if (elf_file_offset(&reader->file, vaddr, &offset))
		return -EBADMSG;
	reader->library.code_shift = vaddr - offset;
	return 0;
}

/*
 * Without pthread_self(), as in static programs, uses the descriptor's size from gdb's description.
 */
static int add_self(struct thread_reader *reader)
{
	struct thread_library *library = &reader->library;
	uint64_t below;

	if (!code_thread_self_below(reader->code, reader->self, &below)) {
		if (!library->has_layout)
			return -EOPNOTSUPP;
		below = library->layout.descriptor_size;
	}
	if (below > LM_ATTR_SELF_MAX)
		return -EOPNOTSUPP;
	library->attr_cookie |= below << LM_ATTR_SELF_SHIFT;
	return 0;
}

static int plan(struct thread_reader *reader)
{
	struct thread_library *library = &reader->library;
	int error;

	library->glibc = reader->glibc;
	library->attr_cookie = reader->glibc ? GLIBC_ATTR : MUSL_ATTR;
	library->has_layout = !thread_layout_read(&reader->file, &library->layout);
	error = read_code_shift(reader);
	if (!error)
		error = add_self(reader);
	if (!error)
		error = thread_joins_add(reader);
	if (!error)
		error = add_entries(reader, THREAD_PROBE_DETACH);
	if (!error)
		error = add_entries(reader, THREAD_PROBE_CREATE);
	if (!error)
		qsort(library->points.items, library->points.count, sizeof(*library->points.items),
		      by_probe);
	if (error == -EOPNOTSUPP) {
		library->points.count = 0;
		snprintf(library->why, sizeof(library->why),
			 "the code of its thread functions cannot be followed to its end");
		return 0;
	}
	return error;
}

int thread_library_read(int fd, struct thread_library *library)
{
	_cleanup_(reader_free) struct thread_reader reader = {.file = {.fd = -1}};
	int error = elf_file_open(fd, &machine_abi, &reader.file);

	if (!error)
		error = elf_symbols_read(&reader.file, &reader.symbols);
	for (size_t i = 0; i < reader.symbols.list.count && !error; i++)
		error = take_symbol(&reader, &reader.symbols.list.items[i]);
	if (!error && is_thread_library(&reader)) {
		error = code_open(&reader.file, &reader.symbols, &reader.code);
		if (!error)
			error = plan(&reader);
	}
	if (error)
		return error;
	*library = reader.library;
	reader.library = (struct thread_library){0};
	return 0;
}

void thread_library_free(struct thread_library *library)
{
	vec_free(&library->points);
}

#define WIRE_WORDS (sizeof(((struct wire_threads *)0)->layout) / sizeof(uint32_t))

_Static_assert(sizeof(struct thread_layout) >= sizeof(uint64_t) + WIRE_WORDS * sizeof(uint32_t),
	       "the words behind heads_at");

static int encode_threads(const struct thread_library *library, struct bytes *body)
{
	struct wire_threads wire = {
		.attr_cookie = library->attr_cookie,
		.code_shift = library->code_shift,
		.glibc = library->glibc,
		.heads_at = library->layout.heads_at,
		.count = (uint32_t)library->points.count,
		.has_layout = library->has_layout,
	};
	int error;

	_Static_assert(sizeof(wire.why) == sizeof(library->why), "the same text");
	memcpy(wire.layout, &library->layout.indirect, sizeof(wire.layout));
	memcpy(wire.why, library->why, sizeof(wire.why));
	error = bytes_append(body, &wire, sizeof(wire));
	for (size_t i = 0; !error && i < library->points.count; i++) {
		struct wire_thread_point point = {.offset = library->points.items[i].offset,
						  .probe = library->points.items[i].probe};

		error = bytes_append(body, &point, sizeof(point));
	}
	return error;
}

static int add_answered_point(const struct wire_thread_point *wire, uint64_t file_size,
			      struct thread_library *library)
{
	size_t count = library->points.count;
	struct thread_point *point;

	if (wire->probe >= THREAD_PROBE_MAX_ || wire->probe == THREAD_PROBE_RETURN ||
	    wire->offset >= file_size)
		return -EPROTO;
	if (count && wire->probe < library->points.items[count - 1].probe)
		return -EPROTO;
	for (size_t i = 0; i < count; i++) {
		if (library->points.items[i].offset == wire->offset)
			return -EPROTO;
	}
	point = vec_push(&library->points);
	if (!point)
		return -ENOMEM;
	*point = (struct thread_point){wire->probe, wire->offset};
	return 0;
}

static int take_header(const struct wire_threads *wire, struct thread_library *library)
{
	if (wire->count > THREAD_MAX_POINTS || wire->has_layout > 1 || wire->glibc > 1 ||
	    !memchr(wire->why, '\0', sizeof(wire->why)))
		return -EPROTO;
	library->attr_cookie = wire->attr_cookie;
	library->code_shift = wire->code_shift;
	library->glibc = wire->glibc;
	library->has_layout = wire->has_layout;
	library->layout.heads_at = wire->heads_at;
	memcpy(&library->layout.indirect, wire->layout, sizeof(wire->layout));
	memcpy(library->why, wire->why, sizeof(library->why));
	return library->has_layout && !is_sound(&library->layout) ? -EPROTO : 0;
}

/*
 * Checks that points are of known kinds, in order, inside a file of `file_size` bytes, and the
 * layout sound.
 */
static int decode_threads(const struct bytes *body, uint64_t file_size,
			  struct thread_library *library)
{
	_cleanup_(thread_library_free) struct thread_library read = {0};
	struct cursor cursor = {body->data, body->size};
	struct wire_threads wire;
	int error = cursor_take_one(&cursor, &wire, sizeof(wire));

	if (!error)
		error = take_header(&wire, &read);
	for (uint32_t i = 0; !error && i < wire.count; i++) {
		struct wire_thread_point point;

		error = cursor_take_one(&cursor, &point, sizeof(point));
		if (!error)
			error = add_answered_point(&point, file_size, &read);
	}
	if (error || cursor.left)
		return error ? error : -EPROTO;
	*library = read;
	read = (struct thread_library){0};
	return 0;
}

static int parse(const struct parse_input *input, struct bytes *body)
{
	_cleanup_(thread_library_free) struct thread_library library = {0};
	int error = thread_library_read(input->files[0], &library);

	return error ? error : encode_threads(&library, body);
}

static int decode(const struct bytes *body, const struct parse_origin *origin, void *out)
{
	return decode_threads(body, origin->file_size, out);
}

const struct parse_kind threads_kind = {
	.name = "thread library",
	.lane = WORKER_LANE_PER_FILE,
	.haste = LANE_AT_ONCE,
	.max_files = 1,
	.parse = parse,
	.decode = decode,
};
