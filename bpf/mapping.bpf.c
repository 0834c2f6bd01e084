// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mapping family: mmap, munmap, mremap and brk of the traced processes, from the tracepoints of
 * every system call of the machine (without tracefs there are no others): hence opt-in, and the
 * call's number is checked before anything else.
 *
 * Arguments are read at the exit, too: the kernel keeps them in the saved registers.
 */
#define LEAKMON_UNWIND_ELSEWHERE
#define LEAKMON_SITES_ELSEWHERE
#include "account.bpf.h"
#include "call.bpf.h"
#include "leakmon_mapping.h"

/* include/uapi/asm-generic/mman-common.h, include/uapi/linux/mman.h */
#define PROT_NONE 0
#define MAP_FIXED 0x10
#define MAP_ANONYMOUS 0x20
#define MAP_STACK 0x20000
#define MAP_HUGETLB 0x40000
#define MAP_FIXED_NOREPLACE 0x100000
#define MAP_HUGE_SHIFT 26
#define HUGE_DEFAULT_SHIFT 21
#define MREMAP_FIXED 2
#define MREMAP_DONTUNMAP 4

#define MAX_ERRNO 4095ull

/* Thread groups with followed mappings, entered by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__type(value, u32);
} mapping_targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* --mappings: set at load */
} mapping_events SEC(".maps");

__u64 mapping_events_lost = 0;

static __always_inline u64 page_up(u64 address)
{
	return (address + page_size - 1) & ~(page_size - 1);
}

static __always_inline bool is_error(u64 result)
{
	return result > ~0ull - MAX_ERRNO;
}

static __always_inline bool is_mapping_call(u64 number)
{
	if (number == NR_MMAP || number == NR_MUNMAP || number == NR_BRK || number == NR_MREMAP)
		return !task_is_compat(bpf_get_current_task_btf());
	return false;
}

/* As 64-bit calls these numbers are rare ones: recvfrom, chmod, fchmod, acct, lgetxattr. */
static __always_inline bool is_mapping_call_compat(u64 number)
{
	return syscall_is_mapping_compat(number) && task_is_compat(bpf_get_current_task_btf());
}

/*
 * Returns the calling thread, if its address space is followed; a vfork child works on its
 * parent's.
 */
static __always_inline struct thread *thread_followed(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tgid = BPF_CORE_READ(heap_owner(task), tgid);
	struct thread *thread;

	if (!bpf_map_lookup_elem(&mapping_targets, &tgid))
		return NULL;
	thread = thread_current();
	if (!thread)
		__sync_fetch_and_add(&mapping_events_lost, 1);
	return thread;
}

static __always_inline void mapping_send(const struct lm_mapping_event *from)
{
	struct lm_mapping_event *event = bpf_ringbuf_reserve(&mapping_events, sizeof(*event), 0);

	if (!event) {
		__sync_fetch_and_add(&mapping_events_lost, 1);
		return;
	}
	*event = *from;
	event->tid = (u32)bpf_get_current_pid_tgid();
	event->time_ns = bpf_ktime_get_ns();
	bpf_ringbuf_submit(event, 0);
}

static __always_inline void send_range(struct thread *thread, u32 op, u64 start, u64 length)
{
	struct lm_mapping_event event = {
		.op = op, .process = thread->process, .start = start, .length = page_up(length)};

	mapping_send(&event);
}

/*
 * Returns whether mmap replaces mappings. MAP_FIXED_NOREPLACE never does, whatever the other flags.
 */
static __always_inline bool mmap_replaces(u64 flags)
{
	return flags & MAP_FIXED && !(flags & MAP_FIXED_NOREPLACE);
}

static __always_inline void brk_begin(struct thread *thread, u64 asked)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 now = BPF_CORE_READ(task, mm, brk), first = BPF_CORE_READ(task, mm, start_brk);

	thread->brk = now;
	if (asked >= first && page_up(asked) < page_up(now))
		send_range(thread, LM_MAPPING_REMOVE, page_up(asked),
			   page_up(now) - page_up(asked));
}

/* Reads the break itself, not the result of brk: an unmoved break is no error. */
static __always_inline int begin_compat(u64 number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = number == NR_COMPAT_BRK ? thread_followed() : NULL;

	if (thread)
		thread->brk = BPF_CORE_READ(task, mm, brk);
	return 0;
}

static __always_inline int end_compat(u64 number, u64 result)
{
	struct lm_mapping_event event = {.op = LM_MAPPING_UNTOLD};
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = thread_followed();

	if (!thread)
		return 0;
	if (number == NR_COMPAT_BRK ? thread->brk == BPF_CORE_READ(task, mm, brk)
				    : is_error(result))
		return 0;
	event.process = thread->process;
	mapping_send(&event);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(mapping_begin, struct pt_regs *regs, long number)
{
	struct thread *thread;

	if (is_mapping_call_compat(number))
		return begin_compat(number);
	if (!is_mapping_call(number))
		return 0;
	thread = thread_followed();
	if (!thread)
		return 0;
	if (number == NR_MUNMAP) {
		send_range(thread, LM_MAPPING_REMOVE, PT_REGS_PARM1_SYSCALL(regs),
			   PT_REGS_PARM2_SYSCALL(regs));
	} else if (number == NR_MMAP) {
		if (mmap_replaces(PT_REGS_PARM4_SYSCALL(regs)))
			send_range(thread, LM_MAPPING_REMOVE, PT_REGS_PARM1_SYSCALL(regs),
				   PT_REGS_PARM2_SYSCALL(regs));
	} else if (number == NR_BRK) {
		brk_begin(thread, PT_REGS_PARM1_SYSCALL(regs));
	} else {
		send_range(thread, LM_MAPPING_LIFT, PT_REGS_PARM1_SYSCALL(regs),
			   PT_REGS_PARM2_SYSCALL(regs));
		if (PT_REGS_PARM4_SYSCALL(regs) & MREMAP_FIXED)
			send_range(thread, LM_MAPPING_REMOVE, PT_REGS_PARM5_SYSCALL(regs),
				   PT_REGS_PARM3_SYSCALL(regs));
	}
	return 0;
}

/* Returns whether a probed allocator is running: its mappings are its arenas. */
static __always_inline bool inside_allocator(struct pt_regs *regs, struct thread *thread)
{
	u64 sp = PT_REGS_SP(regs);

	return call_is_running(&thread->calls[on_signal_stack(sp)], sp);
}

static __always_inline u32 mmap_kind(u64 protection, u64 flags)
{
	if (!(flags & MAP_ANONYMOUS))
		return LM_KIND_FILE;
	if (flags & MAP_STACK)
		return LM_KIND_THREAD_STACK;
	return protection == PROT_NONE ? LM_KIND_RESERVATION : LM_KIND_MAPPING;
}

/* The kernel rounds anonymous huge pages up to their own size. */
static __always_inline u64 mmap_length(u64 length, u64 flags)
{
	u64 shift = flags >> MAP_HUGE_SHIFT & 63, size;

	if (!(flags & MAP_HUGETLB) || !(flags & MAP_ANONYMOUS))
		return page_up(length);
	size = 1ull << (shift ? shift : HUGE_DEFAULT_SHIFT);
	return (length + size - 1) & ~(size - 1);
}

/* Records how the call ended; a new range gets the call stack that requested it. */
static __always_inline void mapping_settle(struct pt_regs *regs, struct thread *thread,
					   struct lm_mapping_event *event)
{
	struct lm_ledger *ledger = ledger_of(thread->slot);

	if (inside_allocator(regs, thread))
		event->kind = LM_KIND_ARENA;
	if (ledger && event->op != LM_MAPPING_DONE && event->op != LM_MAPPING_FAILED)
		event->site = site_current(regs, thread, ledger);
	event->process = thread->process;
	mapping_send(event);
}

static __always_inline void mmap_end(struct pt_regs *regs, u64 result,
				     struct lm_mapping_event *event)
{
	event->op = LM_MAPPING_INSERT;
	event->start = result;
	event->length = mmap_length(PT_REGS_PARM2_SYSCALL(regs), PT_REGS_PARM4_SYSCALL(regs));
	event->kind = mmap_kind(PT_REGS_PARM3_SYSCALL(regs), PT_REGS_PARM4_SYSCALL(regs));
}

static __always_inline void mremap_end(struct pt_regs *regs, u64 result,
				       struct lm_mapping_event *event)
{
	/* With length 0, it is a second view of shared pages. */
	bool stays = PT_REGS_PARM4_SYSCALL(regs) & MREMAP_DONTUNMAP || !PT_REGS_PARM2_SYSCALL(regs);

	event->op = stays ? LM_MAPPING_COPY : LM_MAPPING_MOVE;
	event->start = result;
	event->length = page_up(PT_REGS_PARM3_SYSCALL(regs));
	event->old_start = PT_REGS_PARM1_SYSCALL(regs);
	event->old_length = page_up(PT_REGS_PARM2_SYSCALL(regs));
	event->kind = LM_KIND_MAPPING;
}

/* brk returns the break, moved or not; there is no other error. */
static __always_inline void brk_end(struct pt_regs *regs, struct thread *thread, u64 result,
				    struct lm_mapping_event *event)
{
	u64 before = page_up(thread->brk), after = page_up(result);

	event->kind = LM_KIND_BRK;
	event->op = result == PT_REGS_PARM1_SYSCALL(regs) ? LM_MAPPING_DONE : LM_MAPPING_FAILED;
	if (event->op == LM_MAPPING_FAILED || after <= before)
		return;
	event->op = LM_MAPPING_INSERT;
	event->start = before;
	event->length = after - before;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(mapping_end, struct pt_regs *regs, long result)
{
	u64 number = syscall_number(regs);
	struct lm_mapping_event event = {.op = LM_MAPPING_DONE};
	struct thread *thread;

	if (is_mapping_call_compat(number))
		return end_compat(number, result);
	if (!is_mapping_call(number))
		return 0;
	thread = thread_followed();
	if (!thread)
		return 0;
	if (number == NR_BRK)
		brk_end(regs, thread, result, &event);
	else if (is_error(result))
		event.op = LM_MAPPING_FAILED;
	else if (number == NR_MMAP)
		mmap_end(regs, result, &event);
	else if (number == NR_MREMAP)
		mremap_end(regs, result, &event);
	mapping_settle(regs, thread, &event);
	return 0;
}

/* A reused PID belongs to another process. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(mapping_exit, struct task_struct *task)
{
	u32 tgid = task->tgid;

	if (BPF_CORE_READ(task, signal, live.counter) == 0)
		bpf_map_delete_elem(&mapping_targets, &tgid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
