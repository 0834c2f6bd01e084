// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The descriptors family, at the places where the kernel itself changes a descriptor table
 * (fs/file.c), whatever call led there: open, socket, accept4, pipe, a descriptor in a message,
 * io_uring.
 *
 *   opened   fd_install() and do_dup2() (dup2, dup3, replace_fd) have returned
 *   closed   close_fd(), file_close_fd() and related functions are entered; close_range has
 * returned exec     the descriptors that it closed are no longer in the table
 *
 * A birth counts after the table has the file, a death before the number is free: a reused number
 * is entered after its old descriptor was struck off. Each looks at the table itself: close(2) of a
 * number that is only reserved (a bug seen in programs) fails, and takes nothing off the ledger.
 *
 * Some kernels lack some of these functions, and some kernels permit no probes at all. System calls
 * (sys_enter, sys_exit of the whole machine) replace them: a death when close is entered, a birth
 * when a call returns. Calls by io_uring and 32-bit programs are then missed: /proc/PID/fd corrects
 * the count. User space chooses (loader.c).
 */
#define LEAKMON_UNWIND_ELSEWHERE
#define LEAKMON_SITES_ELSEWHERE
#include "account.bpf.h"
#include "leakmon_descriptor.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct___files {
	struct files_struct *files;
};

#pragma clang attribute pop

/* --- followed thread groups, put here by user space: tgid -> index of its table --- */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* --descriptors: set at load */
	__type(key, u32);
	__type(value, u32);
} descriptor_targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__type(value, struct lm_descriptor_table);
} descriptor_tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set at load */
	__type(key, struct lm_descriptor_key);
	__type(value, struct lm_descriptor);
} descriptors SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__type(value, struct lm_descriptor_site);
} descriptor_sites SEC(".maps");

static __always_inline struct files_struct *files_of(struct task_struct *task)
{
	return BPF_CORE_READ((struct task_struct___files *)task, files);
}

/* Returns the file at `fd` in the calling thread's table; NULL if empty. */
static __always_inline u64 file_at(u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(files_of(bpf_get_current_task_btf()), fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	u64 file = 0;

	if (fd < BPF_CORE_READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return file;
}

/*
 * Returns the followed table that this thread's call changes, and its index in *key; NULL if none.
 * Each program asks this first: for all other processes it is also the last step.
 */
static __always_inline struct lm_descriptor_table *table_followed(struct lm_descriptor_key *key)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	u32 *index = bpf_map_lookup_elem(&descriptor_targets, &tgid);
	struct task_struct *task = bpf_get_current_task_btf();
	struct lm_descriptor_table *table;
	struct files_struct *of_leader;

	if (!index)
		return NULL;
	key->table = *index;
	table = bpf_map_lookup_elem(&descriptor_tables, &key->table);
	if (!table)
		return NULL;
	/* The main thread may have ended, and its table with it. */
	of_leader = files_of(BPF_CORE_READ(task, group_leader));
	if (!of_leader || of_leader == files_of(task))
		return table;
	__sync_fetch_and_add(&table->foreign, 1);
	return NULL;
}

static __always_inline void opener_count_opened(u32 index)
{
	struct lm_descriptor_site *site = bpf_map_lookup_elem(&descriptor_sites, &index);

	if (site && index != LM_SITE_LOST)
		__sync_fetch_and_add(&site->opened, 1);
}

/*
 * Returns the number of bits that `value` needs. Without a branch: the verifier would walk each
 * path separately.
 */
static __always_inline u32 bits_of(u32 value)
{
	value |= value >> 1;
	value |= value >> 2;
	value |= value >> 4;
	value |= value >> 8;
	value |= value >> 16;
	value -= value >> 1 & 0x55555555;
	value = (value & 0x33333333) + (value >> 2 & 0x33333333);
	return ((value + (value >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

static __always_inline void opener_count_closed(u32 index, u64 age_ns)
{
	struct lm_descriptor_site *site = bpf_map_lookup_elem(&descriptor_sites, &index);
	u64 units = age_ns >> LM_DESCRIPTOR_AGE_SHIFT;

	if (!site || index == LM_SITE_LOST)
		return;
	units = units < 0x7fffffff ? units : 0x7fffffff;
	__sync_fetch_and_add(&site->closed, 1);
	__sync_fetch_and_add(&site->closed_ages[bits_of(units) & (LM_DESCRIPTOR_AGES - 1)], 1);
}

/* Resets a site that belonged to another process. */
static __always_inline void opener_claim(u32 index, lm_process_key process)
{
	struct lm_descriptor_site *site = bpf_map_lookup_elem(&descriptor_sites, &index);

	if (!site || site->process == process)
		return;
	site->opened = 0;
	site->closed = 0;
	__builtin_memset(site->closed_ages, 0, sizeof(site->closed_ages));
	site->process = process;
}

/* Strikes off the descriptor in the slot; of two concurrent callers, one does. */
static __always_inline void slot_close(struct lm_descriptor_table *table,
				       struct lm_descriptor *slot)
{
	u32 site = slot->site;
	u64 born = slot->born_ns;

	if (born == LM_DESCRIPTOR_CLOSED ||
	    __sync_val_compare_and_swap(&slot->born_ns, born, LM_DESCRIPTOR_CLOSED) != born)
		return;
	__sync_fetch_and_add(&table->closed, 1);
	if (site != LM_SITE_LOST)
		opener_count_closed(site, bpf_ktime_get_ns() - born);
}

static __always_inline int closed(u32 fd)
{
	struct lm_descriptor_key key = {.fd = fd};
	struct lm_descriptor_table *table = table_followed(&key);
	struct lm_descriptor unknown = {};
	struct lm_descriptor *slot;

	if (!table || !file_at(fd))
		return 0;
	slot = bpf_map_lookup_elem(&descriptors, &key);
	if (!slot && table->seeding) {
		/* User space may be about to enter this number, which it saw open before. */
		if (!bpf_map_update_elem(&descriptors, &key, &unknown, BPF_NOEXIST))
			return 0;
		slot = bpf_map_lookup_elem(&descriptors, &key);
	}
	if (slot)
		slot_close(table, slot);
	return 0;
}

/* Records the call stack and the other properties of a new descriptor in *slot. */
static __always_inline bool describe(struct lm_descriptor *slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = thread_current();
	struct lm_ledger *ledger;

	slot->born_ns = bpf_ktime_get_ns();
	slot->by_worker = (task->flags & PF_IO_WORKER) != 0;
	if (!thread)
		return false;
	ledger = ledger_of(thread->slot);
	if (!ledger || slot->by_worker)
		return true;
	slot->site = site_current((struct pt_regs *)bpf_task_pt_regs(task), thread, ledger);
	if (slot->site != LM_SITE_LOST)
		opener_claim(slot->site, thread->process);
	return true;
}

static __always_inline void slot_open(struct lm_descriptor_table *table, struct lm_descriptor *slot,
				      const struct lm_descriptor *opened)
{
	/* Still on the ledger: it was replaced (dup2), or its close was missed. */
	slot_close(table, slot);
	slot->site = opened->site;
	slot->by_worker = opened->by_worker;
	__sync_lock_test_and_set(&slot->born_ns, opened->born_ns);
}

/* The descriptors that one call opens, which share one call stack. */
struct birth {
	struct lm_descriptor_table *table;
	struct lm_descriptor is;
	u32 index; /* of the table */
};

/* Returns false if the process is not followed. */
static __always_inline bool birth_begin(struct birth *birth)
{
	struct lm_descriptor_key key = {};

	birth->table = table_followed(&key);
	birth->index = key.table;
	if (birth->table)
		describe(&birth->is);
	return birth->table;
}

/* `file` is the file that the table was given; 0: unknown. */
static __noinline int opened(struct birth *birth, u32 fd, u64 file)
{
	struct lm_descriptor_key key = {.table = birth->index, .fd = fd};
	struct lm_descriptor_table *table = birth->table;
	struct lm_descriptor *slot;
	u64 there = file_at(fd);

	__sync_fetch_and_add(&table->opened, 1);
	opener_count_opened(birth->is.site);
	/* Another thread closed it before it could be entered. */
	if (!there || (file && there != file)) {
		__sync_fetch_and_add(&table->closed, 1);
		opener_count_closed(birth->is.site, 0);
		return 0;
	}
	if (fd > table->highest)
		table->highest = fd;
	slot = bpf_map_lookup_elem(&descriptors, &key);
	if (!slot) {
		if (!bpf_map_update_elem(&descriptors, &key, &birth->is, BPF_NOEXIST))
			return 0;
		slot = bpf_map_lookup_elem(&descriptors, &key);
	}
	if (slot) {
		slot_open(table, slot, &birth->is);
		return 0;
	}
	__sync_fetch_and_add(&table->dropped, 1);
	opener_count_closed(birth->is.site, 0);
	return 0;
}

static __always_inline int opened_one(u32 fd, u64 file)
{
	struct birth birth = {};

	return birth_begin(&birth) ? opened(&birth, fd, file) : 0;
}

SEC("fexit/fd_install")
int BPF_PROG(descriptor_installed, unsigned int fd, struct file *file)
{
	return opened_one(fd, (u64)file);
}

SEC("fexit/do_dup2")
int BPF_PROG(descriptor_duplicated, struct files_struct *files, struct file *file, unsigned int fd,
	     unsigned int flags, int result)
{
	return result < 0 ? 0 : opened_one(fd, (u64)file);
}

SEC("fentry/close_fd")
int BPF_PROG(descriptor_closed, unsigned int fd)
{
	return closed(fd);
}

SEC("fentry/file_close_fd") /* 6.8 on */
int BPF_PROG(descriptor_closed_file, unsigned int fd)
{
	return closed(fd);
}

SEC("fentry/file_close_fd_locked") /* io_uring's */
int BPF_PROG(descriptor_closed_locked, struct files_struct *files, unsigned int fd)
{
	return closed(fd);
}

SEC("fentry/close_fd_get_file") /* up to 6.7 */
int BPF_PROG(descriptor_closed_get, unsigned int fd)
{
	return closed(fd);
}

SEC("fentry/__close_fd_get_file")
int BPF_PROG(descriptor_closed_get_locked, unsigned int fd)
{
	return closed(fd);
}

/* Walks over open slots. */
enum sweep_kind {
	SWEEP_CLOSED, /* strikes off descriptors that left the table */
	SWEEP_ALL,    /* also those about to leave it */
	SWEEP_EXECED, /* as CLOSED, and marks the rest as open before */
};

struct sweep {
	struct lm_descriptor_table *table;
	struct file **files;
	u32 index, first, max_fds;
	enum sweep_kind kind;
};

static int sweep_one(u32 i, struct sweep *sweep)
{
	struct lm_descriptor_key key = {.table = sweep->index, .fd = sweep->first + i};
	struct lm_descriptor *slot = bpf_map_lookup_elem(&descriptors, &key);
	u64 file = 0;

	if (!slot || slot->born_ns == LM_DESCRIPTOR_CLOSED)
		return 0;
	if (key.fd < sweep->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), sweep->files + key.fd);
	if (!file || sweep->kind == SWEEP_ALL) {
		slot_close(sweep->table, slot);
	} else if (sweep->kind == SWEEP_EXECED) {
		/* Its call stack belongs to the previous program. */
		slot->site = LM_SITE_LOST;
		slot->born_ns = LM_DESCRIPTOR_BEFORE;
	}
	return 0;
}

#define SWEEP_MAX (1u << 20) /* below bpf_loop's own limit */

static __noinline int sweep(u32 first, u32 last, enum sweep_kind kind)
{
	struct lm_descriptor_key key = {};
	struct sweep sweep = {.first = first, .kind = kind};
	struct fdtable *table;
	u32 count;

	sweep.table = table_followed(&key);
	if (!sweep.table)
		return 0;
	last = last < sweep.table->highest ? last : sweep.table->highest;
	if (first > last)
		return 0;
	table = BPF_CORE_READ(files_of(bpf_get_current_task_btf()), fdt);
	sweep.index = key.table;
	sweep.files = BPF_CORE_READ(table, fd);
	sweep.max_fds = BPF_CORE_READ(table, max_fds);
	count = last - first + 1;
	bpf_loop(count < SWEEP_MAX ? count : SWEEP_MAX, sweep_one, &sweep, 0);
	return 0;
}

/* The name of the system call's function depends on the processor: set at load. */
SEC("fexit")
int BPF_PROG(descriptor_swept, struct pt_regs *regs)
{
	return sweep(PT_REGS_PARM1_SYSCALL(regs), PT_REGS_PARM2_SYSCALL(regs), SWEEP_CLOSED);
}

/* --- the same events, by system calls --- */

/* enum lm_descriptor_call by number */
const volatile __u8 descriptor_calls[LM_DESCRIPTOR_CALLS] = {};

/* include/uapi/linux/fcntl.h, include/uapi/linux/sched.h, include/linux/socket.h */
#define F_DUPFD 0
#define F_DUPFD_CLOEXEC 1030
#define CLONE_PIDFD 0x1000
#define SOL_SOCKET 1
#define SCM_RIGHTS 1
#define SCM_MAX_FD 253
/*
 * Bytes of one message (net.core.optmem_max is far less); steps of a walk over all messages of a
 * call.
 */
#define CONTROL_MAX (1u << 20)
#define RECEIPT_STEPS_MAX (1u << 17)

/* The 64-bit layouts (struct user_msghdr, mmsghdr, cmsghdr). */
struct message_of_many {
	u64 name, name_length, io, io_length, control, control_length, flags, length;
};
/* Read separately: up to 6.1 the combined stack of all functions hardly suffices. */
struct message_controls {
	u64 at, length;
};
struct control {
	u64 length;
	u32 level, type;
};

static __always_inline u32 call_of(u64 number)
{
	if (number >= LM_DESCRIPTOR_CALLS || task_is_compat(bpf_get_current_task_btf()))
		return LM_CALL_OTHER;
	return descriptor_calls[number & (LM_DESCRIPTOR_CALLS - 1)];
}

static __always_inline bool is_followed(void)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;

	return bpf_map_lookup_elem(&descriptor_targets, &tgid) != NULL;
}

/* Returns whether the ledger has it open. */
static __always_inline bool is_known(u32 fd)
{
	struct lm_descriptor_key key = {.fd = fd};
	struct lm_descriptor *slot;

	if (!table_followed(&key))
		return true;
	slot = bpf_map_lookup_elem(&descriptors, &key);
	return slot && slot->born_ns != LM_DESCRIPTOR_CLOSED;
}

static __always_inline void opened_at(struct birth *birth, u64 address)
{
	u32 fd;

	if (!bpf_probe_read_user(&fd, sizeof(fd), (void *)address))
		opened(birth, fd, 0);
}

/* Walks the descriptors that came with messages; all nested loops in one. */
struct receipt {
	struct birth *birth;
	u64 messages, message_count;	   /* remaining */
	u64 control, control_end;	   /* the rest of this message */
	u64 descriptors, descriptor_count; /* the rest of this control message */
};

static __always_inline bool message_controls(u64 message, struct message_controls *controls)
{
	return !bpf_probe_read_user(controls, sizeof(*controls),
				    (void *)(message + offsetof(struct message_of_many, control)));
}

static __always_inline bool receipt_next_message(struct receipt *receipt)
{
	struct message_controls controls;

	if (!receipt->message_count || !message_controls(receipt->messages, &controls))
		return false;
	receipt->message_count--;
	receipt->messages += sizeof(struct message_of_many);
	receipt->control = controls.at;
	receipt->control_end = controls.at + controls.length;
	return true;
}

static __always_inline bool receipt_next_control(struct receipt *receipt)
{
	struct control control;
	u64 at = receipt->control, room = receipt->control_end - at, count;

	if (room < sizeof(control) || room > CONTROL_MAX)
		return false;
	if (bpf_probe_read_user(&control, sizeof(control), (void *)at) ||
	    control.length < sizeof(control) || control.length > room)
		return false;
	count = (control.length - sizeof(control)) / sizeof(u32);
	if (control.level == SOL_SOCKET && control.type == SCM_RIGHTS && count <= SCM_MAX_FD) {
		receipt->descriptors = at + sizeof(control);
		receipt->descriptor_count = count;
	}
	control.length = (control.length + 7) & ~7ull;
	receipt->control = control.length < room ? at + control.length : receipt->control_end;
	return true;
}

/* Takes one step of the walk, at the innermost level with anything left. */
static int receipt_step(u32 i, struct receipt *receipt)
{
	(void)i;
	if (receipt->descriptor_count) {
		opened_at(receipt->birth, receipt->descriptors);
		receipt->descriptor_count--;
		receipt->descriptors += sizeof(u32);
		return 0;
	}
	if (receipt_next_control(receipt))
		return 0;
	return !receipt_next_message(receipt);
}

/* Most messages carry no descriptors: no call stack is walked for them. */
static __noinline bool brings_some(u64 messages, u64 count)
{
	struct message_controls first;

	return count > 1 ||
	       (message_controls(messages, &first) && first.length > sizeof(struct control));
}

static __noinline int received(struct birth *birth, u64 messages, u64 count)
{
	struct receipt receipt = {.birth = birth, .messages = messages, .message_count = count};

	/*
	 * Zeros that the verifier does not know: up to 6.6 it checks one step only, and would treat
	 * code that this step cannot reach as dead.
	 */
	bpf_probe_read_kernel(&receipt.control, sizeof(receipt) - offsetof(struct receipt, control),
			      NULL);
	bpf_loop(RECEIPT_STEPS_MAX, receipt_step, &receipt, 0);
	return 0;
}

/* The fields of struct clone_args that matter here. */
struct clone_arguments {
	u64 flags, pidfd;
};

/* Returns the address where a call stored its new descriptors, or 0. */
static __always_inline u64 result_place(const struct pt_regs *regs, u32 call)
{
	u64 first = PT_REGS_PARM1_SYSCALL(regs), third = PT_REGS_PARM3_SYSCALL(regs);
	u64 fourth = PT_REGS_PARM4_SYSCALL(regs);
	struct clone_arguments arguments = {};

	/* Or clang merges several loads into one, which the verifier refuses. */
	barrier_var(first);
	barrier_var(third);
	barrier_var(fourth);
	if (call == LM_CALL_PAIR)
		return first;
	if (call == LM_CALL_SOCKETPAIR)
		return fourth;
	if (call == LM_CALL_CLONE && first & CLONE_PIDFD)
		return third;
	if (call == LM_CALL_CLONE3 &&
	    !bpf_probe_read_user(&arguments, sizeof(arguments), (void *)first) &&
	    arguments.flags & CLONE_PIDFD)
		return arguments.pidfd;
	return 0;
}

static __always_inline bool returns_one(const struct pt_regs *regs, u32 call, u64 result)
{
	u64 first = PT_REGS_PARM1_SYSCALL(regs), second = PT_REGS_PARM2_SYSCALL(regs);

	if (call == LM_CALL_DUPLICATE)
		return (u32)first != (u32)second;
	if (call == LM_CALL_FCNTL)
		return (u32)second == F_DUPFD || (u32)second == F_DUPFD_CLOEXEC;
	if (call == LM_CALL_SIGNALFD)
		return (u32)first == ~0u; /* otherwise it changes the existing one */
	if (call == LM_CALL_MAY_OPEN)
		return file_at(result) && !is_known(result);
	return call == LM_CALL_OPEN;
}

/*
 * Only here is the call stack walked: up to 6.1 the combined stack of all functions hardly
 * suffices.
 */
static __always_inline void call_returned(const struct pt_regs *regs, u32 call, u64 result)
{
	bool receives = call == LM_CALL_RECEIVE || call == LM_CALL_RECEIVE_MANY;
	u64 place = 0, messages = PT_REGS_PARM2_SYSCALL(regs);
	u64 count = call == LM_CALL_RECEIVE ? 1 : result;
	struct birth birth = {};

	if (call == LM_CALL_CLOSE_RANGE) {
		sweep(PT_REGS_PARM1_SYSCALL(regs), PT_REGS_PARM2_SYSCALL(regs), SWEEP_CLOSED);
		return;
	}
	if (!receives)
		place = result_place(regs, call);
	if (receives ? !brings_some(messages, count) : !place && !returns_one(regs, call, result))
		return;
	if (!birth_begin(&birth))
		return;
	if (receives) {
		received(&birth, messages, count);
	} else if (place) {
		opened_at(&birth, place);
		if (call == LM_CALL_PAIR || call == LM_CALL_SOCKETPAIR)
			opened_at(&birth, place + sizeof(u32));
	} else {
		opened(&birth, result, 0);
	}
}

SEC("tp_btf/sys_enter")
int BPF_PROG(descriptor_call_begin, struct pt_regs *regs, long number)
{
	u32 call = call_of(number);

	if (call == LM_CALL_CLOSE)
		return closed(PT_REGS_PARM1_SYSCALL(regs));
	/*
	 * With flags, it closes nothing, or closes in a private table. Descriptors that other
	 * threads open during the call are struck off at its end.
	 */
	if (call == LM_CALL_CLOSE_RANGE && !PT_REGS_PARM3_SYSCALL(regs))
		sweep(PT_REGS_PARM1_SYSCALL(regs), PT_REGS_PARM2_SYSCALL(regs), SWEEP_ALL);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(descriptor_call_end, struct pt_regs *regs, long result)
{
	u32 call = call_of(syscall_number(regs));

	if (call != LM_CALL_OTHER && call != LM_CALL_CLOSE && result >= 0 && is_followed())
		call_returned(regs, call, result);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(descriptor_exec, struct task_struct *task)
{
	return sweep(0, ~0u, SWEEP_EXECED);
}

/* A reused PID belongs to another process. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(descriptor_exit, struct task_struct *task)
{
	struct lm_descriptor_table *table;
	u32 tgid = task->tgid, *index;

	index = bpf_map_lookup_elem(&descriptor_targets, &tgid);
	if (!index || BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0;
	table = bpf_map_lookup_elem(&descriptor_tables, index);
	if (table)
		table->ended = 1;
	bpf_map_delete_elem(&descriptor_targets, &tgid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
