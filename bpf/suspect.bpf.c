// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The suspect family: code that touches new pages, maps memory and creates threads, in the few
 * processes that the triage suspects. A separate object, small enough to be loaded when the first
 * suspect appears.
 *
 * Other processes pay nothing: page faults come from perf events of the suspects' own threads; the
 * two tracepoints cover events that are rare and expensive in themselves (a tracepoint for
 * particular system calls would slow all of them), and are loaded only when a suspect needs them.
 */
#include <linux/bpf_perf_event.h>

#include "account.bpf.h"
#include "leakmon_suspect.h"

#define MAX_ERRNO 4095ull

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct vm_unmapped_area_info {
	unsigned long length;
};
#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LM_MAX_SUSPECTS);
	__type(key, u32); /* tgid */
	__type(value, struct lm_suspect);
} suspects SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} samples SEC(".maps");

__u64 samples_lost = 0;

/*
 * Samples more often: fewer events came than allowed, and the probability doubles with each window.
 */
static __always_inline u32 pace_down(struct lm_suspect *suspect, u64 now_ns)
{
	u64 windows = (now_ns - suspect->window_ns) / LM_SAMPLES_NS;
	u32 every = suspect->every;

	if (!windows)
		return every;
	if (suspect->count < LM_SAMPLES_FEW)
		every = windows < 31 ? every >> windows : 0;
	suspect->every = every;
	suspect->count = 0;
	suspect->window_ns = now_ns;
	return every;
}

/*
 * Samples less often: more events came than allowed. Concurrent threads may lose a doubling: the
 * next event makes it.
 */
static __always_inline void pace_up(struct lm_suspect *suspect, u64 now_ns)
{
	if (__sync_fetch_and_add(&suspect->count, 1) + 1 < LM_SAMPLES_MANY)
		return;
	if (suspect->every < 1u << 30)
		suspect->every = suspect->every ? suspect->every * 2 : 2;
	suspect->count = 0;
	suspect->window_ns = now_ns;
}

/* Returns whether this event is to be sampled; multiplies *weight by the events it represents. */
static __always_inline bool sampled(u32 kind, u64 *weight)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32, every;
	struct lm_suspect *suspect = bpf_map_lookup_elem(&suspects, &tgid);
	u64 now_ns;

	if (!suspect || suspect->kind != kind)
		return false;
	now_ns = bpf_ktime_get_ns();
	every = pace_down(suspect, now_ns);
	if (every > 1 && bpf_get_prandom_u32() % every)
		return false;
	*weight *= every > 1 ? every : 1;
	pace_up(suspect, now_ns);
	return true;
}

static __always_inline void sample_send(struct thread *thread, const struct lm_sample *from)
{
	struct lm_sample *sample = bpf_ringbuf_reserve(&samples, sizeof(*sample), 0);

	if (!sample) {
		__sync_fetch_and_add(&samples_lost, 1);
		return;
	}
	*sample = *from;
	sample->process = thread->process;
	bpf_ringbuf_submit(sample, 0);
}

static __always_inline int sample_take(struct lm_sample *sample, const struct unwind_start *start)
{
	struct thread *thread = thread_current();
	struct lm_ledger *ledger = thread ? ledger_of(thread->slot) : NULL;

	if (!ledger)
		return 0;
	sample->site = site_walked(start, thread, ledger);
	sample_send(thread, sample);
	return 0;
}

/* Returns the registers with which user space entered the kernel. */
static __always_inline const struct pt_regs *user_regs(void)
{
	return (const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

static __always_inline struct unwind_start user_start(bool exact)
{
	return unwind_start_at(user_regs(), exact);
}

/* A fault of user space itself, or of the kernel within its system call. */
SEC("perf_event")
int suspect_fault(struct bpf_perf_event_data *ctx)
{
	struct lm_sample sample = {
		.kind = LM_SAMPLE_FAULT, .address = ctx->addr, .weight = ctx->sample_period};
	struct unwind_start start;

	if (!sampled(LM_SAMPLE_FAULT, &sample.weight))
		return 0;
	if (regs_are_of_user(&ctx->regs))
		start = user_start(true);
	else
		start = user_start(false);
	return sample_take(&sample, &start);
}

SEC("tp_btf/vm_unmapped_area")
int BPF_PROG(suspect_mapping, unsigned long address, struct vm_unmapped_area_info *info)
{
	struct lm_sample sample = {.kind = LM_SAMPLE_MAPPING, .address = address, .weight = 1};
	struct unwind_start start;

	if (address > ~0ull - MAX_ERRNO || !sampled(LM_SAMPLE_MAPPING, &sample.weight))
		return 0;
	sample.length = info->length;
	start = user_start(false);
	return sample_take(&sample, &start);
}

/*
 * The C libraries' clone has no unwind information behind its system call, so a new thread's stack
 * would end there. It has pushed nothing: the caller's frame is as at the entry.
 */
static __always_inline void leave_clone(struct unwind_start *start)
{
	const struct pt_regs *regs = user_regs();
	u64 caller = 0;

	if (!caller_address(regs, 0, &caller) || !caller)
		return;
	start->ip = caller;
	start->sp = caller_sp(regs, 0);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(suspect_thread, struct task_struct *parent, struct task_struct *child)
{
	struct lm_sample sample = {
		.kind = LM_SAMPLE_THREAD, .address = (u32)child->pid, .weight = 1};
	struct unwind_start start;

	if (child->tgid != parent->tgid || !sampled(LM_SAMPLE_THREAD, &sample.weight))
		return 0;
	start = user_start(false);
	leave_clone(&start);
	return sample_take(&sample, &start);
}

char LICENSE[] SEC("license") = "GPL";
