/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From one frame to its caller, by the rules of leakmon_unwind.h. */
#ifndef LEAKMON_BPF_UNWIND_STEP_H
#define LEAKMON_BPF_UNWIND_STEP_H

#include "process.bpf.h"

#define LM_UNWIND_MEMORY void
#define LM_UNWIND_READ(memory, to, size, address)                                                  \
	((void)(memory), bpf_probe_read_user(to, size, (void *)(address)))
#include "leakmon_unwind.h"

#ifndef LEAKMON_UNWIND_ELSEWHERE
#include "unwind_rows.bpf.h"
#include "made_code.bpf.h"
#endif

/* The largest plausible step between two frames by a frame pointer: a larger value is data. */
#define UNWIND_MAX_STEP (8ull << 20)

static __always_inline int walk_end(struct unwind_state *state, u32 end)
{
	state->end = end;
	return 1;
}

/* Only machines with a link register need it. */
static __always_inline void state_link(struct unwind_state *state, u64 link)
{
	if (!machine_frame.return_words)
		state->link = link;
}

/* The number of nested calls under return probes that are distinguished here. */
#define UNWIND_HIJACKED_MAX 8

/*
 * Returns the value at this place on the stack before a return probe replaced it: a function up the
 * stack is probed, by leakmon (pthread_create while it maps a stack, an allocator that maps an
 * arena) or by another monitor. `found` itself if no probe replaced it; 0: unknown.
 */
static __noinline u64 return_address_at(u64 place, u64 found)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct return_instance *instance;

	if (found != return_trampoline())
		return found;
	instance = BPF_CORE_READ(task, utask, return_instances);
	for (u32 i = 0; i < UNWIND_HIJACKED_MAX && instance; i++) {
		if (BPF_CORE_READ(instance, stack) == place)
			return BPF_CORE_READ(instance, orig_ret_vaddr);
		instance = BPF_CORE_READ(instance, next);
	}
	return 0;
}

/* The words that a step reads. */
struct frame_words {
	u64 return_address, fp;
};

/* Takes one of the words just below the CFA. */
static __always_inline bool near_word(const u64 *words, u64 below, u64 *word)
{
	if (below > UNWIND_NEAR_WORDS * sizeof(u64) || below < sizeof(u64) || below & 7)
		return false;
	*word = words[(UNWIND_NEAR_WORDS - below / sizeof(u64)) & (UNWIND_NEAR_WORDS - 1)];
	return true;
}

/*
 * Usually both are within a few words: one read gets them. The BPF stack has no room for these: on
 * 6.1 all functions from a program to here share 512 bytes.
 */
static __always_inline bool frame_read_near(struct thread *thread, const struct lm_caller *caller,
					    struct frame_words *read)
{
	u64 *words = thread->trail.window;
	u64 below = caller->sp - caller->fp_at;

	if (bpf_probe_read_user(words, UNWIND_NEAR_WORDS * sizeof(u64),
				(void *)(caller->sp - UNWIND_NEAR_WORDS * sizeof(u64))))
		return false;
	if (!near_word(words, caller->sp - caller->return_at, &read->return_address))
		return false;
	if (!caller->fp_at)
		return true;
	if (!near_word(words, below, &read->fp))
		return false;
	thread->walk.fp_words = -(s32)(below / sizeof(u64));
	return true;
}

/* Cases in order of frequency. Without `fp_words` the places of both are unknown. */
static __always_inline int frame_read(struct thread *thread, const struct lm_caller *caller,
				      struct frame_words *read)
{
	struct unwind_state *state = &thread->walk;

	state->fp_words = 0;
	if (frame_read_near(thread, caller, read)) {
		if (lm_return_words(&machine_frame, state->fp_words) * (s64)sizeof(u64) !=
		    (s64)(caller->return_at - caller->sp))
			state->fp_words = UNWIND_OPAQUE;
		return 0;
	}
	state->fp_words = UNWIND_OPAQUE;
	if (!machine_frame.return_words && !caller->return_at)
		read->return_address = state->link;
	else if (bpf_probe_read_user(&read->return_address, sizeof(u64), (void *)caller->return_at))
		return -1;
	return caller->fp_at ? bpf_probe_read_user(&read->fp, sizeof(u64), (void *)caller->fp_at)
			     : 0;
}

static __always_inline int leave_frame(struct thread *thread, const struct lm_caller *caller)
{
	struct unwind_state *state = &thread->walk;
	struct frame_words read = {};
	u64 return_address;

	if (frame_read(thread, caller, &read))
		return walk_end(state, LM_WALK_UNREADABLE);
	if (caller->fp_at)
		state->fp = read.fp;
	return_address = read.return_address & machine_frame.code_mask;
	if ((return_address & TRAMPOLINE_BITS) == TRAMPOLINE_BITS) {
		state->fp_words = UNWIND_OPAQUE;
		return_address = return_address_at(return_probe_place(caller->sp), return_address);
	}
	if (return_address < LM_UNWIND_MIN_ADDRESS)
		return walk_end(state, LM_WALK_ROOT);
	if (return_address >= USER_MAX_ADDRESS)
		return walk_end(state, LM_WALK_UNREADABLE);
	state->ip = return_address;
	state->sp = caller->sp;
	state_link(state, 0);
	state->exact_ip = false;
	return 0;
}

static __always_inline int step_by_frame_pointer(struct thread *thread, u32 otherwise)
{
	struct unwind_state *state = &thread->walk;
	struct lm_caller caller = lm_caller_by_fp(state->fp);
	u64 fp = state->fp;

	if (fp - state->sp > UNWIND_MAX_STEP || fp & 7)
		return walk_end(state, otherwise);
	return leave_frame(thread, &caller);
}

static __always_inline int step_out_of_signal(struct unwind_state *state)
{
	struct lm_frame frame = {.sp = state->sp};

	state->fp_words = UNWIND_OPAQUE;
	if (lm_signal_leave(&machine_frame, NULL, &frame))
		return walk_end(state, LM_WALK_UNREADABLE);
	state->sp = frame.sp;
	state->fp = frame.fp;
	state->ip = frame.ip;
	state_link(state, frame.link);
	state->exact_ip = true;
	if (state->ip >= USER_MAX_ADDRESS)
		return walk_end(state, LM_WALK_UNREADABLE);
	return state->ip < LM_UNWIND_MIN_ADDRESS ? walk_end(state, LM_WALK_ROOT) : 0;
}

static __always_inline u64 interpreted_word(const u64 *words, int place)
{
	return words[place - LM_INTERPRETED_WORD_AT];
}

/* Its caller's stack pointer is not just above the frame: arguments may lie between. */
static __always_inline int step_out_of_interpreter(struct thread *thread)
{
	struct unwind_state *state = &thread->walk;
	u64 *words = thread->trail.window;
	u64 sp, ip, method;

	state->fp_words = UNWIND_OPAQUE;
	if (state->fp & 7 ||
	    bpf_probe_read_user(words, LM_INTERPRETED_WORDS * sizeof(u64),
				(void *)(state->fp + LM_INTERPRETED_WORD_AT * (s64)sizeof(u64))))
		return walk_end(state, LM_WALK_UNREADABLE);
	method = interpreted_word(words, LM_INTERPRETED_WORD_METHOD) >> 3;
	state->note = LM_FRAME_INTERPRETED | (method & ((1ull << LM_INTERPRETED_METHOD_BITS) - 1));
	state->note |= (interpreted_word(words, LM_INTERPRETED_WORD_AT) & LM_INTERPRETED_AT_MASK)
		       << LM_INTERPRETED_METHOD_BITS;
	sp = interpreted_word(words, LM_INTERPRETED_WORD_SP);
	ip = interpreted_word(words, LM_INTERPRETED_WORD_RETURN) & machine_frame.code_mask;
	if (sp <= state->sp || sp - state->sp > UNWIND_MAX_STEP || ip < LM_UNWIND_MIN_ADDRESS ||
	    ip >= USER_MAX_ADDRESS)
		return walk_end(state, LM_WALK_UNREADABLE);
	state->fp = interpreted_word(words, 0);
	state->sp = sp;
	state->ip = ip;
	state_link(state, 0);
	state->exact_ip = false;
	return 0;
}

static __always_inline int step_by_row(struct thread *thread, struct lm_unwind_row row)
{
	struct unwind_state *state = &thread->walk;
	const struct lm_frame frame = {state->ip, state->sp, state->fp, state->link};
	struct lm_caller caller = {};
	int ended;
	u32 end;

	if (row.kind == LM_UNWIND_SIGNAL)
		return step_out_of_signal(state);
	if (row.kind == LM_UNWIND_INTERPRETED)
		return step_out_of_interpreter(thread);
	end = lm_row_apply(&machine_frame, row, &frame, NULL, &caller);
	if (end != LM_WALK_MAX_) {
		state->closed = end == LM_WALK_ROOT;
		return walk_end(state, end);
	}
	ended = leave_frame(thread, &caller);
	/* The step depends on more words than those read. */
	if (row.kind == LM_UNWIND_FP_DEREF || row.kind == LM_UNWIND_SP_DEREF)
		state->fp_words = UNWIND_OPAQUE;
	return ended;
}

#ifdef LEAKMON_UNWIND_ELSEWHERE
/* Defined in one object only, along with the maps of rows (unwind_maps.bpf.h). */
extern int unwind_step(struct thread *thread);
#else
/*
 * Steps from one frame to its caller. Returns 0, or 1 when the walk has ended. A global function,
 * so that the verifier checks it once and not once per frame.
 */
__noinline int unwind_step(struct thread *thread)
{
	struct lm_unwind_row row = {};
	struct unwind_state *state;
	u64 made_ip;
	bool exact;
	int found;

	if (!thread)
		return 1;
	state = &thread->walk;
	if (stack_walk == LM_STACK_WALK_FP)
		return step_by_frame_pointer(thread, LM_WALK_ROOT);
	found = unwind_row_known(thread, state->exact_ip ? state->ip : state->ip - 1, &row);
	if (found == UNWIND_ROW_FOUND && row.kind == LM_UNWIND_MADE)
		found = made_row(thread, &row);
	if (found == UNWIND_ROW_FOUND && row.kind != LM_UNWIND_NONE)
		return step_by_row(thread, row);
	if (found != UNWIND_ROW_FOUND)
		return walk_end(state, LM_WALK_NO_ROWS);
	made_ip = row.cfa_words == UNWIND_NO_FILE ? state->ip : 0;
	exact = state->exact_ip;
	if (stack_walk == LM_STACK_WALK_CFI || step_by_frame_pointer(thread, LM_WALK_NO_FDE))
		return walk_end(state, LM_WALK_NO_FDE);
	/* The value may be data: it is accepted only if it leads to code. */
	if (unwind_row_known(thread, state->ip - 1, &row) != UNWIND_ROW_FOUND)
		return walk_end(state, LM_WALK_NO_FDE);
	if (!exact)
		state->note = js_note(thread, made_ip);
	return 0;
}
#endif

#endif
