// SPDX-License-Identifier: GPL-2.0-or-later
#include "threads/thread_library.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "leakmon_thread.h"
#include "probe/code_walk.h"
#include "probe/plan.h"

const struct thread_probe_info thread_probes[] = {
	[THREAD_PROBE_RETURN] = {"thread_return"},
	[THREAD_PROBE_FREED] = {"thread_freed", .arguments = 1},
	[THREAD_PROBE_JOINED] = {"thread_joined"},
	[THREAD_PROBE_JOIN] = {"thread_join", .arguments = 1},
	[THREAD_PROBE_DETACH] = {"thread_detach", .arguments = 1, .returns = true},
	[THREAD_PROBE_CREATE] = {"thread_create", .arguments = 3, .returns = true},
};
_Static_assert(ARRAY_SIZE(thread_probes) == THREAD_PROBE_MAX_, "a row for every probe");

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

/* Functions that only glibc has, in a static program too. */
static const char *const glibc_names[] = {"gnu_get_libc_version", "__libc_fatal",
					  "__nptl_deallocate_stack", "__nptl_create_event"};

/* struct pthread_attr: flags are at 8; ATTR_FLAG_DETACHSTATE 1, ATTR_FLAG_STACKADDR 8. */
#define GLIBC_ATTR LM_ATTR_COOKIE(8, 1, 8, 8)
/* pthread_attr_t: _a_detach is int 6, _a_stackaddr is long 2 (any bit of it). */
#define MUSL_ATTR LM_ATTR_COOKIE(24, 0xffff, 16, 0xffff)

struct function {
	enum thread_probe probe;
	uint64_t vaddr, size;
};

struct reader {
	struct elf_file file;
	struct elf_symbols symbols;
	struct code_bounds bounds;
	VEC(struct function) functions;
	bool glibc;
	struct thread_library library;
};

static void reader_free(struct reader *reader)
{
	elf_file_close(&reader->file);
	elf_symbols_free(&reader->symbols);
	code_bounds_free(&reader->bounds);
	vec_free(&reader->functions);
	thread_library_free(&reader->library);
}

/* --- functions by name --- */

static bool has_function(const struct reader *reader, uint64_t vaddr)
{
	for (size_t i = 0; i < reader->functions.count; i++) {
		if (reader->functions.items[i].vaddr == vaddr)
			return true;
	}
	return false;
}

static int take_symbol(struct reader *reader, const struct elf_symbol *symbol)
{
	struct function *function;

	if (symbol->binding == STB_LOCAL || symbol->type != STT_FUNC)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(glibc_names); i++)
		reader->glibc |= !strcmp(symbol->name, glibc_names[i]);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		if (strcmp(symbol->name, functions[i].name) != 0 ||
		    has_function(reader, symbol->value))
			continue;
		if (reader->functions.count == THREAD_MAX_POINTS)
			return -E2BIG;
		function = vec_push(&reader->functions);
		if (!function)
			return -ENOMEM;
		*function = (struct function){functions[i].probe, symbol->value, symbol->size};
	}
	return 0;
}

static const struct function *first_of(const struct reader *reader, enum thread_probe probe)
{
	for (size_t i = 0; i < reader->functions.count; i++) {
		if (reader->functions.items[i].probe == probe)
			return &reader->functions.items[i];
	}
	return NULL;
}

static bool is_thread_library(const struct reader *reader)
{
	return first_of(reader, THREAD_PROBE_CREATE) && first_of(reader, THREAD_PROBE_DETACH) &&
	       first_of(reader, THREAD_PROBE_JOIN);
}

/* --- points --- */

static int add_point(struct reader *reader, enum thread_probe probe, uint64_t offset)
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

static int add_point_at(struct reader *reader, enum thread_probe probe, uint64_t vaddr)
{
	uint64_t offset;
	int error = elf_file_offset(&reader->file, vaddr, &offset);

	if (error || !plan_is_congruent(vaddr, offset))
		return -EBADMSG;
	return add_point(reader, probe, offset);
}

/* Where the return address and the arguments are still as the caller left them. */
static int add_entry(struct reader *reader, const struct function *function)
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

	if (error || !plan_is_congruent(function->vaddr, entry))
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

static int add_entries(struct reader *reader, enum thread_probe probe)
{
	int error = 0;

	for (size_t i = 0; i < reader->functions.count && !error; i++) {
		if (reader->functions.items[i].probe == probe)
			error = add_entry(reader, &reader->functions.items[i]);
	}
	return error;
}

/* --- glibc: the function that frees a descriptor --- */

struct detach_walk {
	uint64_t freeing; /* what it calls */
	size_t callees;	  /* different ones */
	bool argument_lost;
};

static bool writes_rdi(csh decoder, const cs_insn *instruction)
{
	cs_regs read, written;
	uint8_t read_count, written_count;

	if (cs_regs_access(decoder, instruction, read, &read_count, written, &written_count))
		return true;
	for (uint8_t i = 0; i < written_count; i++) {
		if (written[i] == X86_REG_RDI || written[i] == X86_REG_EDI ||
		    written[i] == X86_REG_DI || written[i] == X86_REG_DIL)
			return true;
	}
	return false;
}

static int visit_detach(csh decoder, const cs_insn *instruction, void *context)
{
	struct detach_walk *walk = context;
	uint64_t target;

	if (code_is_call(decoder, instruction, &target)) {
		walk->callees += target != walk->freeing;
		walk->freeing = target;
	} else if (cs_insn_group(decoder, instruction, CS_GRP_CALL) ||
		   writes_rdi(decoder, instruction)) {
		walk->argument_lost = true;
	}
	return 0;
}

/* 0: not found. */
static uint64_t freeing_function(const struct reader *reader)
{
	const struct function *detach = first_of(reader, THREAD_PROBE_DETACH);
	struct detach_walk walk = {0};
	int error = code_walk(&reader->file, &reader->bounds, detach->vaddr, visit_detach, &walk);

	return error || walk.callees != 1 || walk.argument_lost ? 0 : walk.freeing;
}

struct join_walk {
	struct reader *reader;
	uint64_t freeing;
	size_t sites;
	bool marks_joined;
};

/* `movl $-1, tid(%reg)` */
static bool stores_joined(const struct join_walk *walk, const cs_insn *instruction)
{
	const cs_x86_op *to = &instruction->detail->x86.operands[0];
	const cs_x86_op *from = &instruction->detail->x86.operands[1];

	return instruction->id == X86_INS_MOV && instruction->detail->x86.op_count == 2 &&
	       to->type == X86_OP_MEM && from->type == X86_OP_IMM && (int32_t)from->imm == -1 &&
	       to->size == 4 && to->mem.disp == walk->reader->library.layout.tid_at;
}

static int visit_join(csh decoder, const cs_insn *instruction, void *context)
{
	struct join_walk *walk = context;
	uint64_t target;

	walk->marks_joined |= stores_joined(walk, instruction);
	if (!code_is_call(decoder, instruction, &target) &&
	    !code_is_jump(decoder, instruction, &target))
		return 0;
	if (target != walk->freeing)
		return 0;
	walk->sites++;
	return add_point_at(walk->reader, THREAD_PROBE_FREED, instruction->address);
}

/* Called functions are joins of their own: thrd_join calls pthread_join. */
static bool calls_a_join(const struct reader *reader, uint64_t target)
{
	for (size_t i = 0; i < reader->functions.count; i++) {
		if (reader->functions.items[i].probe == THREAD_PROBE_JOIN &&
		    reader->functions.items[i].vaddr == target)
			return true;
	}
	return false;
}

struct wrapper_walk {
	const struct reader *reader;
	bool wraps;
};

static int visit_wrapper(csh decoder, const cs_insn *instruction, void *context)
{
	struct wrapper_walk *walk = context;
	uint64_t target;

	walk->wraps |=
		code_is_call(decoder, instruction, &target) && calls_a_join(walk->reader, target);
	return 0;
}

static bool is_wrapper(const struct reader *reader, const struct function *join)
{
	struct wrapper_walk walk = {.reader = reader};

	return !code_walk(&reader->file, &reader->bounds, join->vaddr, visit_wrapper, &walk) &&
	       walk.wraps;
}

static int add_freed(struct reader *reader)
{
	uint64_t freeing = reader->glibc ? freeing_function(reader) : 0;
	int error = freeing ? 0 : -EOPNOTSUPP;

	for (size_t i = 0; i < reader->functions.count && !error; i++) {
		const struct function *join = &reader->functions.items[i];
		struct join_walk walk = {.reader = reader, .freeing = freeing};

		if (join->probe != THREAD_PROBE_JOIN || is_wrapper(reader, join))
			continue;
		error = code_walk(&reader->file, &reader->bounds, join->vaddr, visit_join, &walk);
		if (!error && (!walk.sites || (reader->library.has_layout && !walk.marks_joined)))
			error = -EOPNOTSUPP;
	}
	return error;
}

/* --- elsewhere: every `ret` of the join functions --- */

static int visit_return(csh decoder, const cs_insn *instruction, void *context)
{
	struct reader *reader = context;

	(void)decoder;
	if (instruction->id != X86_INS_RET)
		return 0;
	return add_point_at(reader, THREAD_PROBE_JOINED, instruction->address);
}

static int add_returns(struct reader *reader)
{
	int error = 0;

	for (size_t i = 0; i < reader->functions.count && !error; i++) {
		const struct function *join = &reader->functions.items[i];

		if (join->probe != THREAD_PROBE_JOIN)
			continue;
		error = code_walk(&reader->file, &reader->bounds, join->vaddr, visit_return,
				  reader);
		if (!error)
			error = add_entry(reader, join);
	}
	return error;
}

/* --- all of it --- */

static int by_probe(const void *left, const void *right)
{
	const struct thread_point *a = left, *b = right;

	if (a->probe != b->probe)
		return a->probe < b->probe ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static int add_joins(struct reader *reader)
{
	int error = add_freed(reader);

	if (error != -EOPNOTSUPP)
		return error;
	reader->library.points.count = 0;
	return add_returns(reader);
}

static int plan(struct reader *reader)
{
	struct thread_library *library = &reader->library;
	int error;

	library->attr_cookie = reader->glibc ? GLIBC_ATTR : MUSL_ATTR;
	library->has_layout = !thread_layout_read(&reader->file, &library->layout);
	error = add_joins(reader);
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
			 "the code of its join functions cannot be followed to its end");
		return 0;
	}
	return error;
}

int thread_library_read(int fd, struct thread_library *library)
{
	_cleanup_(reader_free) struct reader reader = {.file = {.fd = -1}};
	int error = elf_file_open(fd, &reader.file);

	if (!error)
		error = elf_symbols_read(&reader.file, &reader.symbols);
	for (size_t i = 0; i < reader.symbols.list.count && !error; i++)
		error = take_symbol(&reader, &reader.symbols.list.items[i]);
	if (!error && is_thread_library(&reader)) {
		error = code_bounds_read(&reader.file, &reader.symbols, &reader.bounds);
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
