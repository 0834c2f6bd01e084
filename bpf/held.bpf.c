// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The held family: addresses that the kernel keeps for a process and uses or returns later,
 * although no word of the process may hold them. A separate object, without probes: two iterators,
 * over the threads of one process and over its descriptors, which user space reads while the
 * process is stopped.
 *
 * Kernel objects are read without their locks: a list that changes meanwhile may yield fewer
 * entries, or garbage, which only adds false roots. So user space compares with the kernel's own
 * counts.
 */
#include "kernel.h"
#include "leakmon_held.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct llist_node {
	struct llist_node *next;
};

struct llist_head {
	struct llist_node *first;
};

struct io_hash_bucket {
	struct hlist_head list;
};

struct io_hash_table {
	struct io_hash_bucket *hbs;
	unsigned int hash_bits;
};

struct io_uring {
	u32 head, tail;
};

struct io_uring_cqe {
	u64 user_data;
};

struct io_uring_sqe {
	u64 user_data;
};

struct io_rings {
	struct io_uring sq, cq;
	struct io_uring_cqe cqes[1];
};

struct io_overflow_cqe {
	struct list_head list;
	struct io_uring_cqe cqe;
};

struct io_mapped_ubuf {
	u64 ubuf;
};

struct io_rsrc_node {
	struct io_mapped_ubuf *buf;
};

struct io_rsrc_data {
	unsigned int nr;
	struct io_rsrc_node **nodes;
};

struct io_ring_ctx {
	unsigned int flags;
	struct io_rings *rings;
	u32 *sq_array;
	struct io_uring_sqe *sq_sqes;
	unsigned int sq_entries, cq_entries;
	struct io_hash_table cancel_table;
	struct list_head timeout_list, ltimeout_list, cq_overflow_list;
	struct llist_head work_llist; /* of IORING_SETUP_DEFER_TASKRUN */
};

/* Up to 6.12 */
struct io_ring_ctx___locked {
	struct io_hash_table cancel_table_locked;
};

struct io_ring_ctx___old_buffers {
	unsigned int nr_user_bufs;
	struct io_mapped_ubuf **user_bufs;
};

/* Since 6.13 */
struct io_ring_ctx___buffers {
	struct io_rsrc_data buf_table;
};

/* Since 6.7 */
struct io_ring_ctx___waits {
	struct hlist_head waitid_list, futex_list;
};

/* Since 6.8 */
struct io_ring_ctx___commands {
	struct hlist_head cancelable_uring_cmd;
};

struct io_wq_work_node {
	struct io_wq_work_node *next;
};

struct io_wq_work_list {
	struct io_wq_work_node *first;
};

struct io_wq_work {
	struct io_wq_work_node list;
};

struct io_wq_acct {
	struct io_wq_work_list work_list;
};

struct io_wq {
	struct io_wq_acct acct[2];
};

struct io_worker {
	struct io_wq_work *cur_work;
};

struct io_cqe {
	u64 user_data;
};

struct io_cmd_data {
	struct file *file;
};

struct io_task_work {
	struct llist_node node;
};

struct io_kiocb {
	struct io_cmd_data cmd;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
	struct io_task_work io_task_work;
	struct hlist_node hash_node;
	struct io_kiocb *link;
	struct io_wq_work work;
};

/* Up to 6.13 */
struct io_kiocb___task {
	struct task_struct *task;
};

struct io_timeout {
	struct list_head list;
};

struct percpu_counter {
	s64 count;
	s32 *counters;
};

struct io_uring_task {
	int cached_refs;
	const struct io_ring_ctx *last;
	struct io_wq *io_wq;
	struct file *registered_rings[16];
	struct percpu_counter inflight;
	struct llist_head task_list;
};

/* Since 6.14 a request has this instead of its task. */
struct io_uring_task___owner {
	struct task_struct *task;
};

struct io_kiocb___owner {
	struct io_uring_task___owner *tctx;
};

struct io_event {
	u64 data, obj;
};

struct aio_kiocb {
	struct io_event ki_res;
	struct list_head ki_list;
};

struct kioctx_cpu {
	unsigned int reqs_available;
};

struct kioctx {
	struct kioctx_cpu *cpu;
	unsigned int nr_events, completed_events;
	atomic_t reqs_available;
	struct list_head active_reqs;
};

struct kioctx_table {
	unsigned int nr;
	struct kioctx *table[1];
};

struct mm_struct___aio {
	struct kioctx_table *ioctx_table;
};

struct kernel_siginfo {
	int si_signo;
};

struct sigqueue {
	struct list_head list;
	struct kernel_siginfo info;
};

struct sigpending {
	struct list_head list;
};

struct signal_struct___pending {
	struct sigpending shared_pending;
};

struct syscall_user_dispatch {
	char *selector;
};

struct task_struct___signals {
	struct sigpending pending;
	struct signal_struct___pending *signal;
};

struct task_struct___dispatch {
	struct syscall_user_dispatch syscall_dispatch;
};

struct task_struct___futex {
	void *robust_list;
};

struct task_struct___rseq {
	void *rseq;
};

/* Since 6.19 */
struct rseq_data {
	void *usrptr;
};

struct task_struct___rseq_data {
	struct rseq_data rseq;
};

struct task_struct___tid {
	int *clear_child_tid;
};

struct task_struct___uring {
	struct io_uring_task *io_uring;
	void *worker_private;
};

/* Its value comes first (include/uapi/asm-generic/siginfo.h). */
struct notice {
	u64 value;
};

struct super_block {
	unsigned long s_magic;
};

struct inode {
	struct super_block *i_sb;
};

struct sk_buff {
	unsigned char *data;
};

struct mqueue_inode_info {
	struct inode vfs_inode;
	struct notice notify;
	struct pid *notify_owner;
	struct sk_buff *notify_cookie;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
};

struct bpf_array {
	void *pptrs[1];
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

#pragma clang attribute pop

/* include/uapi/linux/magic.h; ipc/mqueue.c */
#define ANON_INODE_FS_MAGIC 0x09041934
#define MQUEUE_MAGIC 0x19800202
/*
 * include/uapi/linux/mqueue.h: the value that the kernel keeps for the thread that mq_notify(3)
 * starts
 */
#define NOTIFY_COOKIE_WORDS 4
/* include/uapi/linux/io_uring.h */
#define IORING_SETUP_SQE128 (1u << 10)
#define IORING_SETUP_CQE32 (1u << 11)
#define IORING_SETUP_NO_SQARRAY (1u << 16)
#define SQE_BYTES 64
#define CQE_BYTES 16
#define COMMAND_WORDS 8 /* of io_kiocb.cmd; the first is the file */
/* include/uapi/asm-generic/siginfo.h: offset of a signal's value from the start of its info */
#define SIGNAL_VALUE_AT 24

/* A list that changes during the read may never end. */
#define LIST_MAX (1u << 17)
#define BUCKETS_MAX (1u << 16)
#define RING_MAX (1u << 16)
#define CONTEXTS_MAX 4096
#define CPUS_MAX 8192

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LM_HELD_WORDS);
	__type(key, u32);
	__type(value, struct lm_held_word);
} words SEC(".maps");

struct lm_held_counts counts = {};

const volatile __u32 cpu_count = 1;

/*
 * Locates each CPU's copy of a percpu variable of the kernel: no helper does that for a variable
 * that a kernel object points to. But for this map the kernel reveals both the percpu pointer that
 * it holds and the address of each CPU's element.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} anchor SEC(".maps");

#define MAP_BYTES 1024
char map_copy[MAP_BYTES] = {};
__u64 anchor_pointer = 0; /* 0: unknown */
__u64 anchor_place = 0;

static __always_inline void anchor_find(void)
{
	u32 at = bpf_core_field_offset(struct bpf_array, pptrs);

	/* Or clang folds the offset into the load, which libbpf refuses. */
	barrier_var(at);
	if (at > MAP_BYTES - sizeof(u64) || bpf_probe_read_kernel(map_copy, MAP_BYTES, &anchor))
		return;
	anchor_pointer = *(u64 *)(map_copy + at);
}

struct percpu_sum {
	u64 pointer;
	s64 sum;
	bool failed;
};

static int percpu_add(u32 cpu, struct percpu_sum *sum)
{
	u32 zero = 0;
	void *place = bpf_map_lookup_percpu_elem(&anchor, &zero, cpu);
	s32 part = 0;

	if (!place || !anchor_pointer) {
		sum->failed = true;
		return 1;
	}
	anchor_place = (u64)place;
	barrier();
	if (bpf_probe_read_kernel(&part, sizeof(part),
				  (void *)(sum->pointer + (anchor_place - anchor_pointer))))
		sum->failed = true;
	sum->sum += part;
	return 0;
}

/* Sums a percpu variable of 32 bits. Returns false if the sum is unknown. */
static __always_inline bool percpu_total(const void *pointer, s64 *total)
{
	struct percpu_sum sum = {.pointer = (u64)pointer};

	if (!anchor_pointer)
		anchor_find();
	bpf_loop(cpu_count < CPUS_MAX ? cpu_count : CPUS_MAX, percpu_add, &sum, 0);
	*total = sum.sum;
	return !sum.failed;
}

static __always_inline bool is_user_address(u64 value)
{
	return value >= 4096 && value < USER_MAX_ADDRESS;
}

/* Returns false if there is no room. */
static __always_inline bool word_put(u32 kind, u64 owner, s32 number, u64 value)
{
	u32 index = __sync_fetch_and_add(&counts.words, 1);
	struct lm_held_word *word = bpf_map_lookup_elem(&words, &index);

	if (!word)
		return false;
	*word = (struct lm_held_word){
		.value = value, .owner = owner, .kind = kind, .number = number};
	return true;
}

static __always_inline void address_put(u32 kind, u64 owner, s32 number, u64 value)
{
	if (is_user_address(value))
		word_put(kind, owner, number, value);
}

/* A walk along a linked list of any objects. */
struct chain {
	u64 node, end; /* the next node, and the node that ends the list */
	u64 next_at;   /* from a node to its pointer to the next one */
	u64 to_object; /* from the start of the object to its node */
	u64 link;      /* a linked request that follows the last one, off the list */
	u32 tgid;      /* requests of other thread groups are skipped */
	s32 number;
};

static __always_inline u32 request_tgid(const struct io_kiocb *request)
{
	if (bpf_core_field_exists(struct io_kiocb___owner, tctx))
		return BPF_CORE_READ((const struct io_kiocb___owner *)request, tctx, task, tgid);
	return BPF_CORE_READ((const struct io_kiocb___task *)request, task, tgid);
}

/* Returns false if there is no room. */
static __noinline bool request_put(u64 address, u32 tgid, s32 number)
{
	const struct io_kiocb *request = (void *)address;
	u64 command[COMMAND_WORDS] = {};

	if (request_tgid(request) != tgid)
		return true;
	if (!word_put(LM_HELD_URING_REQUEST, address, number,
		      BPF_CORE_READ(request, cqe.user_data)))
		return false;
	bpf_probe_read_kernel(command, sizeof(command), &request->cmd);
	for (u32 i = 1; i < COMMAND_WORDS; i++)
		address_put(LM_HELD_URING_ARGUMENT, address, number, command[i]);
	return true;
}

static int request_step(u32 i, struct chain *chain)
{
	u64 node = chain->node, link = chain->link, next = 0;

	(void)i;
	if (link) {
		chain->link = (u64)BPF_CORE_READ((struct io_kiocb *)link, link);
		return !request_put(link, chain->tgid, chain->number);
	}
	if (!node || node == chain->end)
		return 1;
	bpf_probe_read_kernel(&next, sizeof(next), (void *)(node + chain->next_at));
	chain->node = next;
	node -= chain->to_object;
	chain->link = (u64)BPF_CORE_READ((struct io_kiocb *)node, link);
	return !request_put(node, chain->tgid, chain->number);
}

/* Requests on the list that begins at `first`, and those linked to them. */
static __always_inline void requests_put(struct chain *chain, const void *first, const void *end,
					 u64 to_object)
{
	chain->node = (u64)first;
	chain->end = (u64)end;
	chain->to_object = to_object;
	/* Zero, but unknown to the verifier: up to 6.6 it checks one step only. */
	bpf_probe_read_kernel(&chain->link, sizeof(chain->link), NULL);
	bpf_loop(LIST_MAX, request_step, chain, 0);
}

struct table_walk {
	u64 buckets;
	u32 tgid;
	s32 number;
};

static int bucket_step(u32 i, struct table_walk *walk)
{
	struct io_hash_bucket *bucket =
		(void *)(walk->buckets + (u64)i * bpf_core_type_size(struct io_hash_bucket));
	struct chain chain = {.tgid = walk->tgid, .number = walk->number};
	void *first = BPF_CORE_READ(bucket, list.first);

	if (first)
		requests_put(&chain, first, NULL,
			     bpf_core_field_offset(struct io_kiocb, hash_node));
	return 0;
}

static __noinline int table_put(u64 buckets, u32 bits, u32 tgid, s32 number)
{
	struct table_walk walk = {.buckets = buckets, .tgid = tgid, .number = number};

	if (buckets)
		bpf_loop(bits < 16 ? 1u << bits : BUCKETS_MAX, bucket_step, &walk, 0);
	return 0;
}

static __noinline int hash_list_put(u64 first, u32 tgid, s32 number)
{
	struct chain chain = {.tgid = tgid, .number = number};

	if (first)
		requests_put(&chain, (void *)first, NULL,
			     bpf_core_field_offset(struct io_kiocb, hash_node));
	return 0;
}

static __noinline int timeouts_put(u64 head, u32 tgid, s32 number)
{
	struct chain chain = {.tgid = tgid, .number = number};
	struct list_head *list = (void *)head;

	requests_put(&chain, BPF_CORE_READ(list, next), list,
		     bpf_core_field_offset(struct io_kiocb, cmd) +
			     bpf_core_field_offset(struct io_timeout, list));
	return 0;
}

/* Requests whose event has come, and whose completion awaits their thread. */
static __noinline int task_work_put(u64 first, u32 tgid, s32 number)
{
	struct chain chain = {.tgid = tgid, .number = number};

	if (first)
		requests_put(&chain, (void *)first, NULL,
			     bpf_core_field_offset(struct io_kiocb, io_task_work.node));
	return 0;
}

static __noinline int work_list_put(u64 first, u32 tgid)
{
	struct chain chain = {.tgid = tgid, .number = -1};

	if (first)
		requests_put(&chain, (void *)first, NULL,
			     bpf_core_field_offset(struct io_kiocb, work));
	return 0;
}

/* The entries of a ring between its head and its tail. */
struct entries {
	u64 at; /* address of the user_data of entry 0 */
	u64 size;
	u64 array; /* numbers of the entries; 0: in order */
	u64 owner;
	u32 head, mask;
	s32 number;
};

static int entry_step(u32 i, struct entries *entries)
{
	u32 number = (entries->head + i) & entries->mask;
	u64 value = 0;

	if (entries->array &&
	    bpf_probe_read_kernel(&number, sizeof(number),
				  (void *)(entries->array + number * sizeof(u32))))
		return 1;
	number &= entries->mask;
	bpf_probe_read_kernel(&value, sizeof(value),
			      (void *)(entries->at + number * entries->size));
	address_put(LM_HELD_URING_UNREAD, entries->owner, entries->number, value);
	return 0;
}

static __always_inline void entries_put(struct entries *entries, u32 tail)
{
	u32 count = tail - entries->head;

	if (count <= entries->mask + 1)
		bpf_loop(count < RING_MAX ? count : RING_MAX, entry_step, entries, 0);
}

/* Completions not yet reaped by the process. */
static __noinline int completions_put(u64 address, s32 number)
{
	struct io_ring_ctx *ring = (void *)address;
	struct io_rings *rings = BPF_CORE_READ(ring, rings);
	struct entries entries = {.owner = address, .number = number};

	if (!rings)
		return 0;
	entries.at = (u64)rings + bpf_core_field_offset(struct io_rings, cqes) +
		     bpf_core_field_offset(struct io_uring_cqe, user_data);
	entries.size = BPF_CORE_READ(ring, flags) & IORING_SETUP_CQE32 ? 2 * CQE_BYTES : CQE_BYTES;
	entries.head = BPF_CORE_READ(rings, cq.head);
	entries.mask = BPF_CORE_READ(ring, cq_entries) - 1;
	entries_put(&entries, BPF_CORE_READ(rings, cq.tail));
	return 0;
}

/* Requests written by the process, not yet taken by the kernel. */
static __noinline int submissions_put(u64 address, s32 number)
{
	struct io_ring_ctx *ring = (void *)address;
	struct io_rings *rings = BPF_CORE_READ(ring, rings);
	struct entries entries = {.owner = address, .number = number};
	u32 flags = BPF_CORE_READ(ring, flags);

	if (!rings)
		return 0;
	entries.at = (u64)BPF_CORE_READ(ring, sq_sqes) +
		     bpf_core_field_offset(struct io_uring_sqe, user_data);
	entries.size = flags & IORING_SETUP_SQE128 ? 2 * SQE_BYTES : SQE_BYTES;
	if (!(flags & IORING_SETUP_NO_SQARRAY))
		entries.array = (u64)BPF_CORE_READ(ring, sq_array);
	entries.head = BPF_CORE_READ(rings, sq.head);
	entries.mask = BPF_CORE_READ(ring, sq_entries) - 1;
	entries_put(&entries, BPF_CORE_READ(rings, sq.tail));
	return 0;
}

/* Completions that found no room in the ring. */
static int overflow_step(u32 i, struct chain *chain)
{
	struct io_overflow_cqe *overflow = (void *)(chain->node - chain->to_object);

	(void)i;
	if (!chain->node || chain->node == chain->end)
		return 1;
	chain->node = (u64)BPF_CORE_READ(overflow, list.next);
	return !word_put(LM_HELD_URING_UNREAD, (u64)overflow, chain->number,
			 BPF_CORE_READ(overflow, cqe.user_data));
}

static __noinline int overflow_put(u64 address, s32 number)
{
	struct io_ring_ctx *ring = (void *)address;
	struct list_head *list =
		(void *)(address + bpf_core_field_offset(struct io_ring_ctx, cq_overflow_list));
	struct chain chain = {
		.node = (u64)BPF_CORE_READ(ring, cq_overflow_list.next),
		.end = (u64)list,
		.to_object = bpf_core_field_offset(struct io_overflow_cqe, list),
		.number = number,
	};

	bpf_loop(LIST_MAX, overflow_step, &chain, 0);
	return 0;
}

struct buffers {
	u64 list;
	bool nodes; /* of io_rsrc_node, else of io_mapped_ubuf */
	s32 number;
};

static int buffer_step(u32 i, struct buffers *buffers)
{
	u64 buffer = 0;

	bpf_probe_read_kernel(&buffer, sizeof(buffer),
			      (void *)(buffers->list + (u64)i * sizeof(u64)));
	if (buffer && buffers->nodes)
		buffer = (u64)BPF_CORE_READ((struct io_rsrc_node *)buffer, buf);
	if (buffer)
		address_put(LM_HELD_URING_BUFFER, buffer, buffers->number,
			    BPF_CORE_READ((struct io_mapped_ubuf *)buffer, ubuf));
	return 0;
}

static __noinline int buffers_put(u64 address, s32 number)
{
	struct io_ring_ctx___buffers *ring = (void *)address;
	struct io_ring_ctx___old_buffers *old = (void *)address;
	struct buffers buffers = {.number = number};
	u32 count = 0;

	if (bpf_core_field_exists(ring->buf_table)) {
		buffers.list = (u64)BPF_CORE_READ(ring, buf_table.nodes);
		buffers.nodes = true;
		count = BPF_CORE_READ(ring, buf_table.nr);
	} else if (bpf_core_field_exists(old->user_bufs)) {
		buffers.list = (u64)BPF_CORE_READ(old, user_bufs);
		count = BPF_CORE_READ(old, nr_user_bufs);
	}
	if (buffers.list)
		bpf_loop(count < RING_MAX ? count : RING_MAX, buffer_step, &buffers, 0);
	return 0;
}

/* Request lists that only some kernels have. */
static __always_inline void newer_lists_put(u64 address, u32 tgid, s32 number)
{
	struct io_ring_ctx___locked *locked = (void *)address;
	struct io_ring_ctx___waits *waits = (void *)address;
	struct io_ring_ctx___commands *commands = (void *)address;

	if (bpf_core_field_exists(locked->cancel_table_locked))
		table_put((u64)BPF_CORE_READ(locked, cancel_table_locked.hbs),
			  BPF_CORE_READ(locked, cancel_table_locked.hash_bits), tgid, number);
	if (bpf_core_field_exists(waits->waitid_list))
		hash_list_put((u64)BPF_CORE_READ(waits, waitid_list.first), tgid, number);
	if (bpf_core_field_exists(waits->futex_list))
		hash_list_put((u64)BPF_CORE_READ(waits, futex_list.first), tgid, number);
	if (bpf_core_field_exists(commands->cancelable_uring_cmd))
		hash_list_put((u64)BPF_CORE_READ(commands, cancelable_uring_cmd.first), tgid,
			      number);
}

static __noinline int ring_put(u64 address, u32 tgid, s32 number)
{
	struct io_ring_ctx *ring = (void *)address;

	if (!address)
		return 0;
	__sync_fetch_and_add(&counts.rings, 1);
	table_put((u64)BPF_CORE_READ(ring, cancel_table.hbs),
		  BPF_CORE_READ(ring, cancel_table.hash_bits), tgid, number);
	timeouts_put(address + bpf_core_field_offset(struct io_ring_ctx, timeout_list), tgid,
		     number);
	timeouts_put(address + bpf_core_field_offset(struct io_ring_ctx, ltimeout_list), tgid,
		     number);
	newer_lists_put(address, tgid, number);
	task_work_put((u64)BPF_CORE_READ(ring, work_llist.first), tgid, number);
	completions_put(address, number);
	submissions_put(address, number);
	overflow_put(address, number);
	return buffers_put(address, number);
}

/* --- by descriptor --- */

static __always_inline bool is_io_uring(struct file *file)
{
	char name[12] = {};
	const char uring[] = "[io_uring]";

	if (BPF_CORE_READ(file, f_inode, i_sb, s_magic) != ANON_INODE_FS_MAGIC)
		return false;
	bpf_probe_read_kernel_str(name, sizeof(name),
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	for (u32 i = 0; i < sizeof(uring); i++) {
		if (name[i] != uring[i])
			return false;
	}
	return true;
}

/* The process to be notified of a message to an empty queue, and the value it receives. */
static __always_inline void queue_put(struct inode *inode, s32 number)
{
	struct mqueue_inode_info *queue =
		(void *)((u64)inode - bpf_core_field_offset(struct mqueue_inode_info, vfs_inode));
	u64 cookie[NOTIFY_COOKIE_WORDS] = {}, value = 0;
	struct sk_buff *buffer;

	if (!BPF_CORE_READ(queue, notify_owner))
		return;
	bpf_probe_read_kernel(&value, sizeof(value), &queue->notify);
	address_put(LM_HELD_QUEUE_NOTICE, (u64)queue, number, value);
	buffer = BPF_CORE_READ(queue, notify_cookie);
	if (!buffer || bpf_probe_read_kernel(cookie, sizeof(cookie), BPF_CORE_READ(buffer, data)))
		return;
	for (u32 i = 0; i < NOTIFY_COOKIE_WORDS; i++)
		address_put(LM_HELD_QUEUE_NOTICE, (u64)queue, number, cookie[i]);
}

SEC("iter/task_file")
int held_by_files(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct inode *inode;

	if (!task || !file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	if (bpf_core_type_exists(struct io_ring_ctx) && is_io_uring(file))
		return ring_put((u64)BPF_CORE_READ(file, private_data), task->tgid, ctx->fd);
	if (bpf_core_type_exists(struct mqueue_inode_info) &&
	    BPF_CORE_READ(inode, i_sb, s_magic) == MQUEUE_MAGIC)
		queue_put(inode, ctx->fd);
	return 0;
}

/* --- by thread --- */

static int signal_step(u32 i, struct chain *chain)
{
	struct sigqueue *queued = (void *)(chain->node - chain->to_object);
	u64 value = 0;

	(void)i;
	if (!chain->node || chain->node == chain->end)
		return 1;
	chain->node = (u64)BPF_CORE_READ(queued, list.next);
	bpf_probe_read_kernel(&value, sizeof(value), (char *)&queued->info + SIGNAL_VALUE_AT);
	address_put(LM_HELD_SIGNAL, (u64)queued, -1, value);
	return 0;
}

static __noinline int signals_put(u64 head)
{
	struct list_head *list = (void *)head;
	struct chain chain = {.node = (u64)BPF_CORE_READ(list, next),
			      .end = head,
			      .to_object = bpf_core_field_offset(struct sigqueue, list)};

	bpf_loop(LIST_MAX, signal_step, &chain, 0);
	return 0;
}

static __always_inline void thread_words_put(struct task_struct *task)
{
	u64 owner = (u64)task;
	struct task_struct___futex *futex = (void *)task;
	struct task_struct___rseq_data *rseq_data = (void *)task;
	struct task_struct___rseq *rseq = (void *)task;
	struct task_struct___dispatch *dispatch = (void *)task;
	struct task_struct___tid *tid = (void *)task;

	if (BPF_CORE_READ(task, sas_ss_size))
		address_put(LM_HELD_SIGNAL_STACK, owner, -1, BPF_CORE_READ(task, sas_ss_sp));
	if (bpf_core_field_exists(futex->robust_list))
		address_put(LM_HELD_ROBUST_FUTEXES, owner, -1,
			    (u64)BPF_CORE_READ(futex, robust_list));
	if (bpf_core_type_exists(struct rseq_data))
		address_put(LM_HELD_RSEQ, owner, -1, (u64)BPF_CORE_READ(rseq_data, rseq.usrptr));
	else if (bpf_core_field_exists(rseq->rseq))
		address_put(LM_HELD_RSEQ, owner, -1, (u64)BPF_CORE_READ(rseq, rseq));
	address_put(LM_HELD_CHILD_TID, owner, -1, (u64)BPF_CORE_READ(tid, clear_child_tid));
	if (bpf_core_field_exists(dispatch->syscall_dispatch))
		address_put(LM_HELD_SYSCALL_FILTER, owner, -1,
			    (u64)BPF_CORE_READ(dispatch, syscall_dispatch.selector));
}

/* Requests that an io_uring worker has taken, and that are on no list read elsewhere. */
static __always_inline void worker_put(struct task_struct *task)
{
	struct io_worker *worker =
		BPF_CORE_READ((struct task_struct___uring *)task, worker_private);
	u64 work = worker ? (u64)BPF_CORE_READ(worker, cur_work) : 0;

	if (work)
		request_put(work - bpf_core_field_offset(struct io_kiocb, work), task->tgid, -1);
}

static __always_inline void waiting_work_put(const struct io_wq *wq, u32 tgid)
{
	if (!wq || !bpf_core_field_exists(wq->acct))
		return;
	work_list_put((u64)BPF_CORE_READ(wq, acct[0].work_list.first), tgid);
	work_list_put((u64)BPF_CORE_READ(wq, acct[1].work_list.first), tgid);
}

static int registered_step(u32 i, struct chain *rings)
{
	struct io_uring_task *uring = (void *)rings->node;
	struct file *file = NULL;

	bpf_probe_read_kernel(&file, sizeof(file),
			      (char *)&uring->registered_rings + i * sizeof(file));
	if (file)
		ring_put((u64)BPF_CORE_READ(file, private_data), rings->tgid, -1);
	return 0;
}

/* One thread's requests in flight, and rings without a descriptor. */
static __noinline int uring_put(u64 address, u32 tgid)
{
	struct io_uring_task *uring = (void *)address;
	struct chain rings = {.node = address, .tgid = tgid};
	s64 total = 0;

	if (percpu_total(BPF_CORE_READ(uring, inflight.counters), &total))
		counts.uring += BPF_CORE_READ(uring, inflight.count) + total -
				BPF_CORE_READ(uring, cached_refs);
	else
		counts.uring_uncounted++;
	waiting_work_put(BPF_CORE_READ(uring, io_wq), tgid);
	task_work_put((u64)BPF_CORE_READ(uring, task_list.first), tgid, -1);
	ring_put((u64)BPF_CORE_READ(uring, last), tgid, -1);
	bpf_loop(bpf_core_field_size(uring->registered_rings) / sizeof(void *), registered_step,
		 &rings, 0);
	return 0;
}

static int aio_step(u32 i, struct chain *chain)
{
	struct aio_kiocb *request = (void *)(chain->node - chain->to_object);

	(void)i;
	if (!chain->node || chain->node == chain->end)
		return 1;
	chain->node = (u64)BPF_CORE_READ(request, ki_list.next);
	address_put(LM_HELD_AIO, (u64)request, -1, BPF_CORE_READ(request, ki_res.data));
	/* The iocb, which every request has. */
	return !word_put(LM_HELD_AIO, (u64)request, -1, BPF_CORE_READ(request, ki_res.obj));
}

static __always_inline void aio_context_put(struct kioctx *context)
{
	u64 head = (u64)context + bpf_core_field_offset(struct kioctx, active_reqs);
	struct chain chain = {.node = (u64)BPF_CORE_READ(context, active_reqs.next),
			      .end = head,
			      .to_object = bpf_core_field_offset(struct aio_kiocb, ki_list)};
	s64 free = 0;

	if (percpu_total(BPF_CORE_READ(context, cpu), &free))
		counts.aio += (s64)BPF_CORE_READ(context, nr_events) - 1 - free -
			      BPF_CORE_READ(context, reqs_available.counter) -
			      BPF_CORE_READ(context, completed_events);
	else
		counts.aio_uncounted++;
	bpf_loop(LIST_MAX, aio_step, &chain, 0);
}

static int aio_table_step(u32 i, struct chain *chain)
{
	struct kioctx_table *table = (void *)chain->node;
	struct kioctx *context = NULL;

	bpf_probe_read_kernel(&context, sizeof(context),
			      (char *)&table->table + (u64)i * sizeof(u64));
	if (context)
		aio_context_put(context);
	return 0;
}

/* Puts the words of all AIO contexts of the process. */
static __noinline int aio_put(u64 table)
{
	struct chain chain = {.node = table};
	u32 count = BPF_CORE_READ((struct kioctx_table *)table, nr);

	bpf_loop(count < CONTEXTS_MAX ? count : CONTEXTS_MAX, aio_table_step, &chain, 0);
	return 0;
}

static __always_inline void process_words_put(struct task_struct *task)
{
	struct task_struct___signals *signals = (void *)task;
	struct mm_struct___aio *mm = (void *)BPF_CORE_READ(task, mm);
	u64 table;

	signals_put((u64)BPF_CORE_READ(signals, signal) +
		    bpf_core_field_offset(struct signal_struct___pending, shared_pending) +
		    bpf_core_field_offset(struct sigpending, list));
	if (!mm || !bpf_core_field_exists(mm->ioctx_table))
		return;
	table = (u64)BPF_CORE_READ(mm, ioctx_table);
	if (table)
		aio_put(table);
}

SEC("iter/task")
int held_by_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct io_uring_task *uring;

	if (!task)
		return 0;
	if (task->flags & PF_IO_WORKER) {
		worker_put(task);
		return 0;
	}
	/* The main thread may have ended; then it has no memory. */
	if (!counts.process_seen && BPF_CORE_READ(task, mm)) {
		counts.process_seen = 1;
		process_words_put(task);
	}
	thread_words_put(task);
	signals_put((u64)task + bpf_core_field_offset(struct task_struct___signals, pending) +
		    bpf_core_field_offset(struct sigpending, list));
	uring = BPF_CORE_READ((struct task_struct___uring *)task, io_uring);
	if (uring)
		uring_put((u64)uring, task->tgid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
