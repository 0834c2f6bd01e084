// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel family: the kernel's own allocations, by kernel stack. A separate object (it shares no
 * program with the others), on the same maps: the kernel is one process of the ledger.
 *
 * Raw tracepoints: their arguments are plain numbers; up to 6.12 the verifier refuses `const void
 * *` arguments of other kinds. User space checks the order of the arguments (feature_probe.h).
 *
 * An interrupt may allocate while one of these programs runs: the kernel skips a program that
 * interrupts itself, and counts that (recursion_misses in bpf_prog_info); one that interrupts
 * another has its own stack buffer (level_enter).
 */
#define LEAKMON_UNWIND_ELSEWHERE
#define LEAKMON_SITES_ELSEWHERE
#include "account.bpf.h"
#include "leakmon_kernel.h"

/* kmalloc(0) returns (void *)16, and kfree accepts it (include/linux/slab.h, ZERO_SIZE_PTR). */
#define ZERO_SIZE_PTR 16ull
/* enum migratetype, include/linux/mmzone.h: pages of processes and of the page cache */
#define MIGRATE_MOVABLE 1
/* More than the number of contexts that can interrupt each other: task, softirq, irq, NMI. */
#define LEVELS 4
/*
 * Pointers that one rcu_invoke_kfree_bulk_callback may name: one page of them, of 64 KiB at most.
 */
#define BULK_MAX 8192

/* Allocations of leakmon's own system calls are left out. */
const volatile __u32 own_tgid = 0;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kmem_cache {
	unsigned int object_size;
};
#pragma clang attribute pop

struct kernel_stack {
	u64 frames[LM_MAX_FRAMES + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LEVELS);
	__type(key, u32);
	__type(value, struct kernel_stack);
} kernel_stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} kernel_level SEC(".maps");

/*
 * All entries are preallocated: the kernel would count a later allocation among those that this
 * program watches.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LM_KERNEL_OWNERS_MAX);
	__type(key, struct lm_kernel_owner_key);
	__type(value, struct lm_kernel_owner);
} kernel_owners SEC(".maps");

static __always_inline bool is_own(void)
{
	return bpf_get_current_pid_tgid() >> 32 == own_tgid;
}

static __always_inline u32 *level_of(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&kernel_level, &zero);
}

/* Tracepoints run with preemption off: an interrupting program ends before this one resumes. */
static __always_inline struct kernel_stack *level_enter(void)
{
	u32 *level = level_of(), mine;

	if (!level)
		return NULL;
	mine = *level;
	*level = mine + 1;
	return bpf_map_lookup_elem(&kernel_stacks, &mine);
}

static __always_inline void level_leave(void)
{
	u32 *level = level_of();

	if (level)
		*level -= 1;
}

/* Gives a new stack its index. */
static __noinline u32 kernel_site_open(struct kernel_stack *from, u64 hash, u32 depth, u32 kind,
				       u32 *cause)
{
	u32 index = site_take();
	struct lm_stack *stack = bpf_map_lookup_elem(&stacks, &index);
	struct lm_site *site = bpf_map_lookup_elem(&sites, &index);

	if (index == LM_SITE_LOST || !stack || !site || !from || depth > LM_MAX_FRAMES)
		return LM_SITE_LOST;
	barrier_var(depth);
	bpf_probe_read_kernel(stack->frames, (depth & LM_MAX_FRAMES) * sizeof(u64), from->frames);
	site->hash = hash;
	site->depth = depth;
	site->end = LM_WALK_ROOT;
	site->kind = kind;
	site->process = LM_KERNEL_KEY;
	return site_publish(site, index, hash, cause);
}

static __always_inline u32 kernel_site(void *ctx, struct lm_ledger *ledger, u32 kind)
{
	struct kernel_stack *stack = level_enter();
	u32 index = LM_SITE_LOST, depth = 0, cause = LM_LOST_SITES_FULL;
	u64 hash = kind + 1;
	long size = -1;
	u32 *known;

	if (stack)
		size = bpf_get_stack(ctx, stack->frames, LM_MAX_FRAMES * sizeof(u64), 0);
	if (stack && size > 0) {
		depth = (u32)size / sizeof(u64);
		for (u32 i = 0; i < LM_MAX_FRAMES; i++) {
			if (i >= depth)
				break;
			hash = unwind_hash(hash, stack->frames[i]);
		}
		known = bpf_map_lookup_elem(&site_index, &hash);
		index = known ? *known : kernel_site_open(stack, hash, depth, kind, &cause);
	}
	level_leave();
	if (index == LM_SITE_LOST)
		ledger_add(&ledger->lost_stacks[cause == LM_LOST_BUSY ? LM_LOST_BUSY
								      : LM_LOST_SITES_FULL],
			   1);
	return index;
}

/* Allocations without room in kernel_owners. */
__u64 owners_lost = 0;

/*
 * The block's tid is a thread group, which must be known whoever frees the block. A pair with
 * nothing outstanding makes room; an allocation counted in it at that moment is lost to it.
 */
static __always_inline void owner_count(const struct lm_block *block, s64 sign)
{
	struct lm_kernel_owner_key key = {.site = block->site, .tgid = block->tid};
	struct lm_kernel_owner *owner = bpf_map_lookup_elem(&kernel_owners, &key);
	struct lm_kernel_owner fresh = {};
	s64 weight = (s64)sample_weight(block->size) * sign;

	if (!owner && sign > 0) {
		struct task_struct *task = bpf_get_current_task_btf();

		bpf_probe_read_kernel_str(fresh.comm, sizeof(fresh.comm),
					  BPF_CORE_READ(task, group_leader)->comm);
		bpf_map_update_elem(&kernel_owners, &key, &fresh, BPF_NOEXIST);
		owner = bpf_map_lookup_elem(&kernel_owners, &key);
	}
	if (!owner) {
		if (sign > 0)
			__sync_fetch_and_add(&owners_lost, 1);
		return;
	}
	__sync_fetch_and_add(&owner->bytes, (s64)block->size * weight);
	if (__sync_fetch_and_add(&owner->count, weight) + weight <= 0)
		bpf_map_delete_elem(&kernel_owners, &key);
}

/* Takes a block off the live set, like block_remove. */
static __always_inline bool kernel_remove(struct lm_ledger *ledger, u64 address,
					  struct lm_block *block)
{
	struct lm_block_key key = {.address = address, .process = LM_KERNEL_KEY};
	struct lm_block *found = bpf_map_lookup_elem(&blocks, &key);
	int error;

	if (!found)
		return false;
	*block = *found;
	ledger_add(&ledger->begun, 1);
	error = bpf_map_delete_elem(&blocks, &key);
	if (!error)
		return true;
	ledger_add(&ledger->settled, 1);
	if (error != -ENOENT)
		ledger_drop(ledger, LM_DROP_BUSY);
	return false;
}

/* Returns the cause of a drop, or LM_DROP_MAX_, like block_insert. */
static __always_inline u32 kernel_insert(struct lm_ledger *ledger, u64 address,
					 struct lm_block *block)
{
	struct lm_block_key key = {.address = address, .process = LM_KERNEL_KEY};
	struct lm_block old;
	int error = bpf_map_update_elem(&blocks, &key, block, BPF_NOEXIST);

	if (error == -EEXIST) {
		if (kernel_remove(ledger, address, &old)) {
			ledger_add(&ledger->dropped[LM_DROP_UNTRACED_FREE], 1);
			ledger_add(&ledger->settled, 1);
			site_count_death(old.site, old.size);
			owner_count(&old, -1);
		}
		error = bpf_map_update_elem(&blocks, &key, block, BPF_NOEXIST);
	}
	if (error)
		return map_is_full(error) ? LM_DROP_BLOCKS_FULL : LM_DROP_BUSY;
	return LM_DROP_MAX_;
}

static __always_inline int kernel_birth(void *ctx, u64 address, u64 size, u32 kind)
{
	struct lm_ledger *ledger = ledger_of(LM_KERNEL_SLOT);
	struct lm_block block = {.size = size};
	u32 cause;

	if (!ledger || address == ZERO_SIZE_PTR || is_own())
		return 0;
	if (!address) {
		ledger_add(&ledger->failed, 1);
		return 0;
	}
	if (size < min_size || size > max_size) {
		ledger_add(&ledger->filtered, 1);
		return 0;
	}
	if (!sample_keeps(size)) {
		ledger_add(&ledger->unsampled, 1);
		return 0;
	}
	block.born_ns = bpf_ktime_get_ns();
	block.tid = bpf_get_current_pid_tgid() >> 32;
	block.site = kernel_site(ctx, ledger, kind);
	ledger_add(&ledger->allocations, 1);
	cause = kernel_insert(ledger, address, &block);
	if (cause == LM_DROP_MAX_) {
		site_count_birth(block.site, size);
		owner_count(&block, 1);
	} else {
		ledger_add(&ledger->dropped[cause == LM_DROP_BUSY ? LM_DROP_BUSY
								  : LM_DROP_BLOCKS_FULL],
			   1);
	}
	ledger_add(&ledger->settled, 1);
	return 0;
}

static __always_inline int kernel_death(u64 address, bool count_untracked)
{
	struct lm_ledger *ledger = ledger_of(LM_KERNEL_SLOT);
	struct lm_block block;

	if (!ledger || address <= ZERO_SIZE_PTR)
		return 0;
	if (kernel_remove(ledger, address, &block)) {
		ledger_add(&ledger->frees, 1);
		site_count_death(block.site, block.size);
		owner_count(&block, -1);
	} else if (count_untracked && !is_own()) {
		ledger_add(&ledger->untracked_frees, 1);
	}
	return 0;
}

SEC("raw_tp/kmalloc")
int BPF_PROG(kernel_kmalloc, unsigned long caller, const void *pointer, unsigned long bytes_asked)
{
	return kernel_birth(ctx, (u64)pointer, bytes_asked, LM_KERNEL_KMALLOC);
}

SEC("raw_tp/kfree")
int BPF_PROG(kernel_kfree, unsigned long caller, const void *pointer)
{
	return kernel_death((u64)pointer, true);
}

SEC("raw_tp/kmem_cache_alloc")
int BPF_PROG(kernel_cache_alloc, unsigned long caller, const void *pointer,
	     struct kmem_cache *cache)
{
	return kernel_birth(ctx, (u64)pointer, BPF_CORE_READ(cache, object_size), LM_KERNEL_CACHE);
}

SEC("raw_tp/kmem_cache_free")
int BPF_PROG(kernel_cache_free, unsigned long caller, const void *pointer)
{
	return kernel_death((u64)pointer, true);
}

/* Pages are identified by the address of their struct page, which no other block has. */
SEC("raw_tp/mm_page_alloc")
int BPF_PROG(kernel_page_alloc, void *page, unsigned int order, unsigned int flags,
	     int migrate_type)
{
	if (migrate_type == MIGRATE_MOVABLE)
		return 0;
	return kernel_birth(ctx, (u64)page, page_size << (order & 31), LM_KERNEL_PAGES);
}

/* Most freed pages are pages of processes. Their frees do not count as untracked. */
SEC("raw_tp/mm_page_free")
int BPF_PROG(kernel_page_free, void *page)
{
	return kernel_death((u64)page, false);
}

struct bulk {
	void **pointers;
	unsigned long count;
};

static int bulk_death(u32 i, struct bulk *bulk)
{
	void *pointer;

	if (i >= bulk->count ||
	    bpf_probe_read_kernel(&pointer, sizeof(pointer), bulk->pointers + i))
		return 1;
	kernel_death((u64)pointer, true);
	return 0;
}

/* kfree_rcu frees by the hundred, without an event per object. */
SEC("raw_tp/rcu_invoke_kfree_bulk_callback")
int BPF_PROG(kernel_rcu_bulk, const char *name, unsigned long count, void **pointers)
{
	struct bulk bulk = {pointers, count};

	bpf_loop(BULK_MAX, bulk_death, &bulk, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
