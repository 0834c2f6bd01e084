// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects that the kernel allocates while it works for one process, by the process's own call
 * stack: unfreed objects are growth that no reading of the process's memory shows. Also the
 * process's children, because kernel state that they leave behind bears their PIDs.
 *
 * The programs run at all tracepoints of the kernel's allocators: for other processes an allocation
 * costs the comparison of a number, a free one map lookup. An interrupt's allocations are charged
 * to the process that it interrupts.
 *
 * Maps are created with all entries: memory for new ones would come from the watched allocators.
 */
#define LEAKMON_UNWIND_ELSEWHERE
#define LEAKMON_SITES_ELSEWHERE
#include "account.bpf.h"
#include "leakmon_object.h"

/* kmalloc(0) returns (void *)16, and kfree accepts it (include/linux/slab.h, ZERO_SIZE_PTR). */
#define ZERO_SIZE_PTR 16ull
/*
 * Pointers that one rcu_invoke_kfree_bulk_callback may name: one page of them, of 64 KiB at most.
 */
#define BULK_MAX 8192

const volatile __u32 object_tgid = 0;
/*
 * One object in 1 << object_shift is followed, selected by its address, so that its free is
 * recognized.
 */
const volatile __u32 object_shift = 0;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kmem_cache {
	unsigned int object_size;
	const char *name;
};
#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load */
	__type(key, u64);
	__type(value, struct lm_object);
} objects SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load */
	__type(key, struct lm_object_key);
	__type(value, struct lm_object_sum);
} object_sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lm_object_counts);
} object_counts SEC(".maps");

/* Thread groups that descend from the process, including ended ones. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__type(value, u32);
} object_children SEC(".maps");

/*
 * Nearly all frees of a machine are of other processes' objects. A bit is set for each followed
 * address: a free searches the map only if its bit is set. Bits are never cleared; the more are
 * set, the higher the cost.
 */
#define FILTER_BITS_SHIFT 20
__u64 object_filter[1 << (FILTER_BITS_SHIFT - 6)] = {};

/* The frees that each CPU has seen, one cache line each. An array needs no map lookup. */
struct lm_object_frees object_frees[LM_OBJECT_FREE_COUNTERS] = {};

/* Objects lie at multiples of 8, mostly of 64: multiplication makes all bits count (Knuth, 6.4). */
static __always_inline u64 address_hash(u64 address)
{
	return address * 0x9E3779B97F4A7C15ull;
}

static __always_inline __u64 *filter_word(u64 hash)
{
	return &object_filter[hash >> (64 - FILTER_BITS_SHIFT + 6)];
}

/*
 * The lowest bits of the hash depend only on the multiplier: those below the word's index choose
 * the bit.
 */
static __always_inline u64 filter_bit(u64 hash)
{
	return 1ull << (hash >> (64 - FILTER_BITS_SHIFT) & 63);
}

static __always_inline struct lm_object_counts *counts_of(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&object_counts, &zero);
}

static __always_inline bool is_followed(u64 hash)
{
	/* Uses other bits than the filter's word index. */
	return !object_shift || !((hash >> 20) & ((1ull << (object_shift & 31)) - 1));
}

static __always_inline void sum_take_off(const struct lm_object *object)
{
	struct lm_object_key key = {.caller = object->caller, .site = object->site};
	struct lm_object_sum *sum = bpf_map_lookup_elem(&object_sums, &key);

	if (!sum)
		return;
	__sync_fetch_and_add(&sum->bytes, -(s64)object->size);
	__sync_fetch_and_add(&sum->count, -1);
}

static __always_inline void object_end(u64 address)
{
	struct lm_object *found = bpf_map_lookup_elem(&objects, &address), object;

	if (!found)
		return;
	object = *found;
	if (!bpf_map_delete_elem(&objects, &address))
		sum_take_off(&object);
}

static __always_inline struct lm_object_sum *sum_of(const struct lm_object *object,
						    const struct kmem_cache *cache)
{
	struct lm_object_key key = {.caller = object->caller, .site = object->site};
	struct lm_object_sum *sum = bpf_map_lookup_elem(&object_sums, &key);
	struct lm_object_sum fresh = {};

	if (sum)
		return sum;
	if (cache)
		bpf_probe_read_kernel_str(fresh.cache, sizeof(fresh.cache),
					  BPF_CORE_READ(cache, name));
	bpf_map_update_elem(&object_sums, &key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&object_sums, &key);
}

/* States of counts->busy. */
enum { IDLE, COUNTING, GROWING };

/* Returns the site of the process's own call stack, at its entry into the kernel. */
static __always_inline u32 caller_site(struct lm_object_counts *counts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread;
	struct lm_ledger *ledger;

	if (task->flags & (PF_IO_WORKER | PF_USER_WORKER | PF_EXITING))
		return LM_SITE_LOST;
	/* A thread's first call allocates its state: leakmon's memory, not the process's. */
	if (!bpf_task_storage_get(&threads, task, 0, 0))
		counts->busy = GROWING;
	thread = thread_current();
	counts->busy = COUNTING;
	if (!thread)
		return LM_SITE_LOST;
	ledger = ledger_of(thread->slot);
	if (!ledger)
		return LM_SITE_LOST;
	return site_current((struct pt_regs *)bpf_task_pt_regs(task), thread, ledger);
}

/* Returns false if there is no room. */
static __always_inline bool object_put(u64 address, struct lm_object *object,
				       const struct kmem_cache *cache,
				       struct lm_object_counts *counts)
{
	struct lm_object_sum *sum;

	object->site = caller_site(counts);
	sum = sum_of(object, cache);
	if (!sum)
		return false;
	object_end(address); /* its free was missed */
	if (bpf_map_update_elem(&objects, &address, object, BPF_NOEXIST))
		return false;
	__sync_fetch_and_add(&sum->bytes, object->size);
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->allocated, 1);
	return true;
}

static __always_inline int object_birth(u64 caller, u64 address, u64 size,
					const struct kmem_cache *cache)
{
	struct lm_object object = {.caller = caller, .size = (u32)size};
	struct lm_object_counts *counts;
	u64 begin_ns, hash = address_hash(address);

	if (bpf_get_current_pid_tgid() >> 32 != object_tgid || address <= ZERO_SIZE_PTR ||
	    !is_followed(hash))
		return 0;
	counts = counts_of();
	if (!counts)
		return 0;
	if (counts->busy) {
		counts->missed += counts->busy == COUNTING;
		return 0;
	}
	counts->busy = COUNTING;
	begin_ns = bpf_ktime_get_ns();
	__sync_fetch_and_or(filter_word(hash), filter_bit(hash));
	if (object_put(address, &object, cache, counts))
		counts->births++;
	else
		counts->dropped++;
	counts->spent_ns += bpf_ktime_get_ns() - begin_ns;
	counts->busy = IDLE;
	return 0;
}

static __always_inline int object_death(u64 address)
{
	u64 hash = address_hash(address);

	object_frees[bpf_get_smp_processor_id() & (LM_OBJECT_FREE_COUNTERS - 1)].frees++;
	if (*filter_word(hash) & filter_bit(hash))
		object_end(address);
	return 0;
}

SEC("raw_tp/kmalloc")
int BPF_PROG(object_kmalloc, unsigned long caller, const void *pointer, unsigned long bytes_asked)
{
	return object_birth(caller, (u64)pointer, bytes_asked, NULL);
}

SEC("raw_tp/kfree")
int BPF_PROG(object_kfree, unsigned long caller, const void *pointer)
{
	return object_death((u64)pointer);
}

SEC("raw_tp/kmem_cache_alloc")
int BPF_PROG(object_cache_alloc, unsigned long caller, const void *pointer,
	     struct kmem_cache *cache)
{
	if (bpf_get_current_pid_tgid() >> 32 != object_tgid)
		return 0;
	return object_birth(caller, (u64)pointer, BPF_CORE_READ(cache, object_size), cache);
}

SEC("raw_tp/kmem_cache_free")
int BPF_PROG(object_cache_free, unsigned long caller, const void *pointer)
{
	return object_death((u64)pointer);
}

struct object_bulk {
	void **pointers;
	unsigned long count;
};

static int object_bulk_death(u32 i, struct object_bulk *bulk)
{
	void *pointer;

	if (i >= bulk->count ||
	    bpf_probe_read_kernel(&pointer, sizeof(pointer), bulk->pointers + i))
		return 1;
	object_death((u64)pointer);
	return 0;
}

/* kfree_rcu frees by the hundred, without an event per object. */
SEC("raw_tp/rcu_invoke_kfree_bulk_callback")
int BPF_PROG(object_rcu_bulk, const char *name, unsigned long count, void **pointers)
{
	struct object_bulk bulk = {pointers, count};

	bpf_loop(BULK_MAX, object_bulk_death, &bulk, 0);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(object_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 from = BPF_CORE_READ(parent, tgid), tgid = BPF_CORE_READ(child, tgid), one = 1;

	if (tgid != from && (from == object_tgid || bpf_map_lookup_elem(&object_children, &from)))
		bpf_map_update_elem(&object_children, &tgid, &one, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
