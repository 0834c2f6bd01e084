// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a join has succeeded: see thread_library.h. */
#include <errno.h>

#include "base/cleanup.h"
#include "probe/control_flow.h"
#include "threads/thread_reader.h"

typedef int (*step_visit)(const struct code *code, const struct step *step, void *context);

/* Every instruction that a function can reach, tail calls included, past calls but not into them.
 * 0; -EOPNOTSUPP: there is more that could not be followed; what `visit` returned; -ENOMEM. */
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

/* The target of a direct call or jump, or 0. */
static uint64_t step_goes_to(const struct code *code, const struct step *step)
{
	uint64_t target = 0;

	if (step->kind == STEP_PLAIN || step->kind == STEP_RETURN ||
	    !code_direct_target(code->instruction, &target))
		return 0;
	return target;
}

static bool step_is_call(const struct code *code)
{
	return cs_insn_group(code->decoder, code->instruction, CS_GRP_CALL);
}

/* --- glibc: the function that frees a descriptor --- */

struct detach_walk {
	uint64_t freeing; /* what it calls */
	size_t callees;	  /* different ones */
	bool argument_lost;
	uint64_t joinid_at;
	size_t exchanges;
};

/* `lock cmpxchg %rdi, joinid(%rdi)`: a thread that is detached waits for itself. */
static void see_exchange(const struct code *code, struct detach_walk *walk)
{
	const cs_x86_op *to = &code->instruction->detail->x86.operands[0];
	const cs_x86_op *from = &code->instruction->detail->x86.operands[1];

	if (code->instruction->id != X86_INS_CMPXCHG)
		return;
	walk->exchanges++;
	if (to->type == X86_OP_MEM && to->mem.base == X86_REG_RDI &&
	    to->mem.index == X86_REG_INVALID && to->mem.disp > 0 && from->type == X86_OP_REG &&
	    from->reg == X86_REG_RDI)
		walk->joinid_at = (uint64_t)to->mem.disp;
}

static bool writes_rdi(const struct code *code)
{
	cs_regs read, written;
	uint8_t read_count, written_count;

	if (cs_regs_access(code->decoder, code->instruction, read, &read_count, written,
			   &written_count))
		return true;
	for (uint8_t i = 0; i < written_count; i++) {
		if (written[i] == X86_REG_RDI || written[i] == X86_REG_EDI ||
		    written[i] == X86_REG_DI || written[i] == X86_REG_DIL)
			return true;
	}
	return false;
}

static int visit_detach(const struct code *code, const struct step *step, void *context)
{
	struct detach_walk *walk = context;
	uint64_t target = step_goes_to(code, step);

	see_exchange(code, walk);
	if (!step_is_call(code)) {
		walk->argument_lost |= writes_rdi(code);
	} else if (target) {
		walk->callees += target != walk->freeing;
		walk->freeing = target;
	} else {
		walk->argument_lost = true;
	}
	return 0;
}

/* 0: not found. */
static uint64_t freeing_function(struct thread_reader *reader)
{
	const struct thread_function *detach = thread_reader_first(reader, THREAD_PROBE_DETACH);
	struct detach_walk walk = {0};
	int error = each_step(reader, detach->vaddr, visit_detach, &walk);
	struct thread_layout *layout = &reader->library.layout;

	if (error || walk.callees != 1 || walk.argument_lost)
		return 0;
	if (walk.exchanges == 1 && walk.joinid_at <= layout->descriptor_size - 8)
		layout->joinid_at = (uint32_t)walk.joinid_at;
	return walk.freeing;
}

struct join_walk {
	struct thread_reader *reader;
	uint64_t freeing;
	size_t sites;
	bool marks_joined;
	bool wraps;
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

/* Called functions are joins of their own: thrd_join calls pthread_join. */
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

	walk->marks_joined |= stores_joined(walk, code->instruction);
	walk->wraps |= target && step_is_call(code) && is_a_join(walk->reader, target);
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

/* --- elsewhere: every `ret` of the join functions --- */

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

int thread_joins_add(struct thread_reader *reader)
{
	int error = add_freed(reader);

	if (error != -EOPNOTSUPP)
		return error;
	reader->library.points.count = 0;
	return add_returns(reader);
}
