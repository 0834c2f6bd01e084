/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads family's maps: threads on the ledger, and the current call of each. */
#ifndef LEAKMON_BPF_THREAD_LEDGER_H
#define LEAKMON_BPF_THREAD_LEDGER_H

#include "account.bpf.h"
#include "leakmon_thread.h"

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

/* Records of live threads, by pthread_t and by tid. */
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
	__type(value, struct lm_thread_ledger);
} thread_ledgers SEC(".maps");

__u64 thread_count = 0; /* the latest lm_thread_id */
__u64 threads_lost = 0; /* events that could be put on no ledger */

enum thread_call_kind {
	THREAD_CALL_NONE,
	THREAD_CALL_CREATE,
	THREAD_CALL_DETACH,
	THREAD_CALL_JOIN,
};

/* A call in flight of one thread. */
struct thread_call {
	lm_process_key process;
	lm_thread_id id; /* its subject; CREATE: the new thread, 0: none yet */
	u64 sp;		 /* the caller's */
	u64 start_routine;
	u32 site;
	u32 flags; /* enum lm_thread_flag */
	u32 kind;
	u32 self_below; /* distance of its pthread_t below the thread pointer */
	u32 padding_;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_call);
} thread_calls SEC(".maps");

/*
 * Returns whether the return of this call is not followed; without sessions, fatal return probes
 * are not set.
 */
static __always_inline bool return_is_unseen(void)
{
	return (dispatch_kills && !session) || return_obstacle() != LM_DROP_MAX_;
}

static __always_inline lm_process_key process_of(struct task_struct *task)
{
	return heap_key(task);
}

static __always_inline struct lm_thread_ledger *thread_ledger_of(lm_process_key process)
{
	return bpf_map_lookup_elem(&thread_ledgers, &process);
}

static __noinline struct lm_thread_ledger *thread_ledger_open(lm_process_key process)
{
	struct lm_thread_ledger empty = {}, *ledger = thread_ledger_of(process);

	if (ledger)
		return ledger;
	bpf_map_update_elem(&thread_ledgers, &process, &empty, BPF_NOEXIST);
	return thread_ledger_of(process);
}

static __always_inline void count(u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/*
 * Takes a thread off the ledger. Returns true to the one caller that did. A refusal by the kernel
 * is a loss.
 */
static __always_inline bool record_remove(struct lm_thread_ledger *ledger, lm_thread_id id)
{
	int error = bpf_map_delete_elem(&thread_records, &id);

	if (error && error != -ENOENT && ledger)
		count(&ledger->dropped);
	return !error;
}

static __always_inline lm_thread_id id_of(lm_process_key process, u64 handle)
{
	struct lm_thread_handle key = {.handle = handle, .process = process};
	lm_thread_id *id = bpf_map_lookup_elem(&thread_handles, &key);

	return id ? *id : 0;
}

#endif
