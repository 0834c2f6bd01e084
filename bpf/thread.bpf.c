// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threads family: creation, end and reaping of the threads of probed processes.
 *
 *   created   pthread_create is entered (stack, start routine, attributes), and the same thread
 *             then clones one of its own thread group: the child's thread pointer is its pthread_t
 *   ended     sched_process_exit
 *   detached  by attribute, or pthread_detach returned 0
 *   joined    the place in the C library that frees the descriptor for a join was reached, or
 *             (where there is no such place) a join function is about to return 0
 *
 * No join function gets a return probe: they are cancellation points. A join that times out, finds
 * the thread busy or is cancelled reaches neither place.
 *
 * A pthread_t can come back as soon as it is reaped, on another CPU. So records have identities of
 * their own, and what takes more than one event holds on to the identity that it began with.
 */
#define LEAKMON_UNWIND_ELSEWHERE
#include "account.bpf.h"
#include "leakmon_thread.h"

/* include/linux/sched/signal.h */
#define SIGNAL_GROUP_EXIT 0x4

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set at load */
	__type(key, lm_thread_id);
	__type(value, struct lm_thread);
} thread_records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set at load */
	__type(key, struct lm_thread_handle);
	__type(value, lm_thread_id);
} thread_handles SEC(".maps");

/* Of living threads. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__type(value, lm_thread_id);
} thread_tids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load */
	__type(key, lm_process_key);
	__type(value, struct lm_thread_books);
} thread_books SEC(".maps");

__u64 thread_count = 0; /* the latest lm_thread_id */

enum thread_call_kind {
	THREAD_CALL_NONE,
	THREAD_CALL_CREATE,
	THREAD_CALL_DETACH,
	THREAD_CALL_JOIN,
};

/* A call in flight of one thread. */
struct thread_call {
	lm_process_key process;
	lm_thread_id id; /* whom it is about; CREATE: whom it made, 0: nobody yet */
	u64 sp;		 /* at the function's entry */
	u64 start_routine;
	u32 site;
	u32 flags; /* enum lm_thread_flag */
	u32 kind;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_call);
} thread_calls SEC(".maps");

static __always_inline lm_process_key process_of(struct task_struct *task)
{
	struct task_struct *owner = heap_owner(task);

	return process_key(owner, owner->self_exec_id);
}

static __always_inline struct lm_thread_books *books_of(lm_process_key process)
{
	return bpf_map_lookup_elem(&thread_books, &process);
}

static __noinline struct lm_thread_books *books_open(lm_process_key process)
{
	struct lm_thread_books empty = {}, *books = books_of(process);

	if (books)
		return books;
	bpf_map_update_elem(&thread_books, &process, &empty, BPF_NOEXIST);
	return books_of(process);
}

static __always_inline void count(u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

static __always_inline lm_thread_id id_of(lm_process_key process, u64 handle)
{
	struct lm_thread_handle key = {.handle = handle, .process = process};
	lm_thread_id *id = bpf_map_lookup_elem(&thread_handles, &key);

	return id ? *id : 0;
}

/* --- creation --- */

/* The attributes of the thread to be; what cannot be read (glibc's thrd_create) is the default. */
static __always_inline u32 attributes(u64 attr, u64 cookie)
{
	u32 flags = 0, word;

	if (!attr)
		return 0;
	if (!bpf_probe_read_user(&word, sizeof(word), (void *)(attr + (cookie & 0xffff))) &&
	    word & (cookie >> 16 & 0xffff))
		flags |= LM_THREAD_DETACHED;
	if (!bpf_probe_read_user(&word, sizeof(word), (void *)(attr + (cookie >> 32 & 0xffff))) &&
	    word & (u32)(s64)(short)(cookie >> 48))
		flags |= LM_THREAD_OWN_STACK;
	return flags;
}

/* The walk begins in the caller's frame, and here the function has only just been entered. */
static __always_inline u32 site_of_caller(struct pt_regs *ctx, struct thread *thread)
{
	struct lm_ledger *ledger = ledger_of(thread->slot);
	u64 sp = PT_REGS_SP(ctx);
	struct pt_regs caller;
	u64 return_address;

	if (!ledger || thread->slot == LM_SLOT_LOST ||
	    bpf_probe_read_user(&return_address, sizeof(return_address), (void *)sp))
		return LM_SITE_LOST;
	caller.rip = return_address;
	caller.rsp = sp + sizeof(u64);
	caller.rbp = PT_REGS_FP(ctx);
	return site_current(&caller, thread, ledger);
}

static __always_inline int create_begin(struct pt_regs *ctx)
{
	u64 attr = PT_REGS_PARM2(ctx);
	struct thread_call *call;
	struct thread *thread;

	call = bpf_task_storage_get(&thread_calls, bpf_get_current_task_btf(), 0,
				    BPF_LOCAL_STORAGE_GET_F_CREATE);
	thread = thread_current();
	if (!call || !thread)
		return session ? 1 : 0;
	call->process = thread->process;
	call->id = 0;
	call->sp = PT_REGS_SP(ctx);
	call->start_routine = PT_REGS_PARM3(ctx);
	call->site = site_of_caller(ctx, thread);
	call->flags = attributes(attr, bpf_get_attach_cookie(ctx));
	call->kind = THREAD_CALL_CREATE;
	/* Without attributes there is nothing to set in the new thread: it cannot fail late. */
	return session && !attr ? 1 : 0;
}

/* pthread_create failed: a thread that was cloned already ends on its own, and is nobody's. */
static __always_inline int create_end(struct pt_regs *ctx, struct thread_call *call)
{
	struct lm_thread_books *books;

	call->kind = THREAD_CALL_NONE;
	if (!(u32)PT_REGS_RC(ctx) || !call->id)
		return 0;
	books = books_of(call->process);
	if (!bpf_map_delete_elem(&thread_records, &call->id) && books)
		count(&books->failed);
	return 0;
}

/* How the thread was reaped whose pthread_t comes back before the call that did it returns. */
static __always_inline void count_reaped(struct lm_thread_books *books, u32 flags)
{
	if (flags & LM_THREAD_DETACHED)
		return; /* counted when that became known */
	if (flags & LM_THREAD_DETACHING)
		count(&books->detached);
	else if (flags & LM_THREAD_JOINING)
		count(&books->joined);
	else
		count(&books->reaped_unseen);
}

/* Whose pthread_t comes back was reaped, seen or not. */
static __always_inline void handle_take(const struct lm_thread_handle *key,
					struct lm_thread_books *books, lm_thread_id id)
{
	lm_thread_id *old = bpf_map_lookup_elem(&thread_handles, key), old_id;
	struct lm_thread *record;
	u32 flags;

	if (old) {
		old_id = *old;
		record = bpf_map_lookup_elem(&thread_records, &old_id);
		flags = record ? record->flags : 0;
		if (record && !bpf_map_delete_elem(&thread_records, &old_id))
			count_reaped(books, flags);
	}
	if (bpf_map_update_elem(&thread_handles, key, &id, BPF_ANY))
		count(&books->dropped);
}

static __always_inline void thread_born(struct thread_call *call, struct task_struct *child)
{
	struct lm_thread_books *books = books_open(call->process);
	struct lm_thread_handle key = {.handle = child->thread.fsbase, .process = call->process};
	struct lm_thread record = {
		.process = call->process,
		.handle = key.handle,
		.born_ns = bpf_ktime_get_ns(),
		.start_routine = call->start_routine,
		.tid = child->pid,
		.site = call->site,
		.flags = call->flags,
	};
	lm_thread_id id = __sync_fetch_and_add(&thread_count, 1) + 1;
	u32 tid = child->pid;

	if (!books)
		return;
	count(&books->created);
	if (call->flags & LM_THREAD_DETACHED)
		count(&books->detached);
	if (bpf_map_update_elem(&thread_records, &id, &record, BPF_NOEXIST)) {
		count(&books->dropped);
		return;
	}
	handle_take(&key, books, id);
	bpf_map_update_elem(&thread_tids, &tid, &id, BPF_ANY);
	call->id = id;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(thread_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread_call *call;

	if (child->tgid != parent->tgid)
		return 0;
	call = bpf_task_storage_get(&thread_calls, parent, 0, 0);
	if (call && call->kind == THREAD_CALL_CREATE && !call->id)
		thread_born(call, child);
	return 0;
}

/* --- end --- */

static __always_inline void end_untracked(struct task_struct *task)
{
	struct lm_thread_books *books;

	if (task->pid == task->tgid)
		return;
	books = books_of(process_of(task));
	if (books)
		count(&books->untracked_ends);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(thread_exit, struct task_struct *task)
{
	struct lm_thread_books *books;
	struct lm_thread *record;
	lm_thread_id *found, id;
	u32 tid = task->pid;

	/* What ends with its process leaves nothing behind. */
	if (task->signal->flags & SIGNAL_GROUP_EXIT || task->signal->group_exec_task)
		return 0;
	found = bpf_map_lookup_elem(&thread_tids, &tid);
	if (!found) {
		end_untracked(task);
		return 0;
	}
	id = *found;
	bpf_map_delete_elem(&thread_tids, &tid);
	record = bpf_map_lookup_elem(&thread_records, &id);
	if (!record) /* joined: on older kernels the joiner is woken before we are told */
		return 0;
	books = books_of(record->process);
	if (books)
		count(&books->ended);
	/* Whoever of this and pthread_detach's return comes second takes it off the books. */
	__sync_lock_test_and_set(&record->died_ns, bpf_ktime_get_ns());
	if (record->flags & LM_THREAD_DETACHED)
		bpf_map_delete_elem(&thread_records, &id);
	return 0;
}

/* --- reaping --- */

static __always_inline void reap(lm_process_key process, lm_thread_id id)
{
	struct lm_thread_books *books;

	if (id && !bpf_map_delete_elem(&thread_records, &id)) {
		books = books_of(process);
		if (books)
			count(&books->joined);
		return;
	}
	books = books_open(process);
	if (books)
		count(&books->untracked_joins);
}

/* glibc is about to free the descriptor that it was given to join. */
SEC("uprobe")
int thread_freed(struct pt_regs *ctx)
{
	lm_process_key process = process_of(bpf_get_current_task_btf());
	struct lm_thread_handle key = {.handle = PT_REGS_PARM1(ctx), .process = process};

	reap(process, id_of(process, key.handle));
	/* Nobody can be given this pthread_t before we are through. */
	bpf_map_delete_elem(&thread_handles, &key);
	return 0;
}

static __always_inline struct thread_call *call_note(struct pt_regs *ctx, u32 kind, u32 flag)
{
	struct lm_thread *record;
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_call *call;

	call = bpf_task_storage_get(&thread_calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call)
		return NULL;
	/* musl detaches a thread that has ended by a jump to pthread_join: it remains a detach. */
	if (kind == THREAD_CALL_JOIN && call->kind == THREAD_CALL_DETACH &&
	    call->sp == PT_REGS_SP(ctx) && call->id)
		return call;
	call->process = process_of(task);
	call->id = id_of(call->process, PT_REGS_PARM1(ctx));
	call->sp = PT_REGS_SP(ctx);
	call->kind = kind;
	record = bpf_map_lookup_elem(&thread_records, &call->id);
	if (record)
		__sync_fetch_and_or(&record->flags, flag);
	return call;
}

SEC("uprobe")
int thread_join(struct pt_regs *ctx)
{
	call_note(ctx, THREAD_CALL_JOIN, LM_THREAD_JOINING);
	return 0;
}

/* On the `ret` of a join function. */
SEC("uprobe")
int thread_joined(struct pt_regs *ctx)
{
	struct thread_call *call =
		bpf_task_storage_get(&thread_calls, bpf_get_current_task_btf(), 0, 0);

	if (!call || call->kind != THREAD_CALL_JOIN || call->sp != PT_REGS_SP(ctx))
		return 0;
	call->kind = THREAD_CALL_NONE;
	/* Whom another thread has already replaced was counted then. */
	if (!(u32)PT_REGS_RC(ctx) && (!call->id || bpf_map_lookup_elem(&thread_records, &call->id)))
		reap(call->process, call->id);
	return 0;
}

static __always_inline int detach_end(struct pt_regs *ctx, struct thread_call *call)
{
	struct lm_thread_books *books;
	struct lm_thread *record;

	call->kind = THREAD_CALL_NONE;
	if ((u32)PT_REGS_RC(ctx))
		return 0;
	books = books_of(call->process);
	record = bpf_map_lookup_elem(&thread_records, &call->id);
	if (!record)
		return 0;
	if (!(__sync_fetch_and_or(&record->flags, LM_THREAD_DETACHED) & LM_THREAD_DETACHED) &&
	    books)
		count(&books->detached);
	if (record->died_ns || !record->tid)
		bpf_map_delete_elem(&thread_records, &call->id);
	return 0;
}

static __noinline int call_end(struct pt_regs *ctx)
{
	struct thread_call *call =
		bpf_task_storage_get(&thread_calls, bpf_get_current_task_btf(), 0, 0);

	/* `ret` has popped the return address. */
	if (!call || call->sp + sizeof(u64) != PT_REGS_SP(ctx))
		return 0;
	if (call->kind == THREAD_CALL_CREATE)
		return create_end(ctx, call);
	return call->kind == THREAD_CALL_DETACH ? detach_end(ctx, call) : 0;
}

/* heap.bpf.c: a session program also runs at the return; the others have thread_return there. */
extern int session_is_return(void);

SEC("uprobe")
int thread_return(struct pt_regs *ctx)
{
	return call_end(ctx);
}

SEC("uprobe")
int thread_create(struct pt_regs *ctx)
{
	return session_is_return() ? call_end(ctx) : create_begin(ctx);
}

SEC("uprobe")
int thread_detach(struct pt_regs *ctx)
{
	struct thread_call *call;

	if (session_is_return())
		return call_end(ctx);
	call = call_note(ctx, THREAD_CALL_DETACH, LM_THREAD_DETACHING);
	if (call && !call->id)
		call->kind = THREAD_CALL_NONE;
	return session && (!call || !call->id) ? 1 : 0;
}

char LICENSE[] SEC("license") = "GPL";
