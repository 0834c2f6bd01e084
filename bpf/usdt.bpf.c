// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes that programs carry: otel_memory:alloc(ptr, size, weight), where the program has sampled
 * an allocation, and otel_memory:free(ptr), where a sampled one ends. The attach cookie names the
 * spec with the places of the arguments (user/binary/parse/stapsdt.c).
 *
 * Samples have their own live set, with their weights; sites, ledgers and processes are those of
 * the heap family. A process is followed in one way or the other, never in both.
 */
#define LEAKMON_UNWIND_ELSEWHERE
#define LEAKMON_SITES_ELSEWHERE
#include "account.bpf.h"
#include "leakmon_usdt.h"
#include "own_stack.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__type(value, struct lm_usdt_spec);
} usdt_specs SEC(".maps");

/* Memory is allocated on demand: most processes have no samples. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set at load: --max-blocks */
	__type(key, struct lm_block_key);
	__type(value, struct lm_usdt_block);
} usdt_blocks SEC(".maps");

static __noinline u64 operand_register(struct pt_regs *ctx, u32 number)
{
	return number == STACK_POINTER ? PT_REGS_SP(ctx) : register_at(ctx, number);
}

/* Cut to the width that the spec declares. */
static __always_inline u64 operand_fit(u64 value, u32 size, bool is_signed)
{
	u32 shift = (64 - 8 * size) & 63;

	value <<= shift;
	return is_signed ? (u64)((s64)value >> shift) : value >> shift;
}

/* Reads `size` bytes, 8 or fewer, with one call per size: older verifiers lose variable bounds. */
static __always_inline bool memory_take(u64 at, u32 size, u64 *value)
{
	if (size == sizeof(*value))
		return !bpf_probe_read_user(value, sizeof(*value), (void *)at);
	return !bpf_probe_read_user(value, size & (sizeof(*value) - 1), (void *)at);
}

/* Returns false if it lies in memory that is unreadable now. */
static __noinline bool operand_take(struct pt_regs *ctx, const struct lm_usdt_operand *operand,
				    u64 *value)
{
	u64 taken = operand->value, at;
	u32 size = operand->size;

	if (operand->kind != LM_USDT_CONSTANT)
		taken += operand_register(ctx, operand->base);
	if (operand->kind == LM_USDT_MEMORY) {
		at = taken + operand_register(ctx, operand->index) * operand->scale;
		taken = 0;
		if (!memory_take(at, size, &taken))
			return false;
	}
	*value = operand_fit(taken, size, operand->is_signed);
	return true;
}

static __always_inline const struct lm_usdt_spec *spec_of(struct pt_regs *ctx)
{
	u32 index = bpf_get_attach_cookie(ctx);

	return bpf_map_lookup_elem(&usdt_specs, &index);
}

struct sample {
	u64 address, size, weight;
};

static __always_inline bool sample_take(struct pt_regs *ctx, const struct lm_usdt_spec *spec,
					struct sample *sample)
{
	return operand_take(ctx, &spec->arguments[0], &sample->address) &&
	       operand_take(ctx, &spec->arguments[1], &sample->size) &&
	       operand_take(ctx, &spec->arguments[2], &sample->weight);
}

static __always_inline void sample_count_death(const struct lm_usdt_block *sample)
{
	u32 index = sample->block.site;
	struct lm_site *site = bpf_map_lookup_elem(&sites, &index);

	if (!site || !sample->block.size)
		return;
	__sync_fetch_and_add(&site->freed_bytes, LM_USDT_BYTES(sample->weight));
	__sync_fetch_and_add(&site->freed_count, LM_USDT_COUNT(sample->weight, sample->block.size));
}

/* Takes a sample off its live set, like block_remove(). */
static __noinline bool sample_remove(struct thread *thread, struct lm_ledger *ledger,
				     const struct lm_block_key *at, struct lm_usdt_block *sample)
{
	struct lm_block_key key = *at;
	struct lm_usdt_block *found = bpf_map_lookup_elem(&usdt_blocks, &key);

	if (!found)
		return false;
	*sample = *found;
	ledger_add(&ledger->begun, 1);
	return block_removed(thread, ledger, bpf_map_delete_elem(&usdt_blocks, &key));
}

/* Puts a sample on its live set, like block_insert(). */
static __always_inline u32 sample_insert(struct thread *thread, struct lm_ledger *ledger,
					 u64 address, const struct lm_usdt_block *sample)
{
	struct lm_block_key key = {.address = address, .process = thread->process};
	struct lm_usdt_block old;
	int error = bpf_map_update_elem(&usdt_blocks, &key, sample, BPF_NOEXIST);

	if (error == -EEXIST) {
		if (sample_remove(thread, ledger, &key, &old)) {
			ledger_add(&ledger->dropped[LM_DROP_MISSED_FREE], 1);
			ledger_add(&ledger->settled, 1);
			sample_count_death(&old);
		}
		error = bpf_map_update_elem(&usdt_blocks, &key, sample, BPF_NOEXIST);
	}
	if (error)
		return map_is_full(error) ? LM_DROP_BLOCKS_FULL : LM_DROP_BUSY;
	block_share(thread, 1);
	return LM_DROP_MAX_;
}

/* Updates the estimated distance between its samples: one allocation may take several hits. */
static __always_inline void interval_note(struct thread *thread, u64 weight, bool without_free)
{
	u32 slot = thread->slot;
	struct lm_process *process = bpf_map_lookup_elem(&processes, &slot);

	if (!process)
		return;
	process->without_free = without_free;
	if (!process->interval || weight < process->interval)
		process->interval = weight;
}

static __always_inline void sample_count_birth(const struct lm_usdt_block *sample)
{
	u32 index = sample->block.site;
	struct lm_site *site = bpf_map_lookup_elem(&sites, &index);

	if (!site || !sample->block.size)
		return;
	__sync_fetch_and_add(&site->allocated_bytes, LM_USDT_BYTES(sample->weight));
	__sync_fetch_and_add(&site->allocated_count,
			     LM_USDT_COUNT(sample->weight, sample->block.size));
}

static __always_inline u32 sample_site(struct pt_regs *ctx, struct thread *thread,
				       struct lm_ledger *ledger)
{
	struct unwind_start start = unwind_start_at(ctx, true);

	return site_walked(&start, thread, ledger);
}

static __always_inline void sample_account(struct pt_regs *ctx, struct thread *thread,
					   struct lm_ledger *ledger, const struct sample *sampled,
					   bool without_free)
{
	struct lm_usdt_block sample = {.block = {.size = sampled->size}, .weight = sampled->weight};
	u32 cause;

	interval_note(thread, sampled->weight, without_free);
	sample.block.born_ns = bpf_ktime_get_ns();
	sample.block.tid = (u32)bpf_get_current_pid_tgid();
	sample.block.site = sample_site(ctx, thread, ledger);
	if (without_free) {
		sample_count_birth(&sample);
		return;
	}
	ledger_add(&ledger->allocations, 1);
	cause = sample_insert(thread, ledger, sampled->address, &sample);
	if (cause != LM_DROP_MAX_)
		ledger_add(&ledger->dropped[cause == LM_DROP_BUSY ? LM_DROP_BUSY
								  : LM_DROP_BLOCKS_FULL],
			   1);
	else
		sample_count_birth(&sample);
	ledger_add(&ledger->settled, 1);
}

SEC("uprobe")
int usdt_allocate(struct pt_regs *ctx)
{
	const struct lm_usdt_spec *spec = spec_of(ctx);
	struct thread *thread = spec && !empty_programs ? thread_current() : NULL;
	struct lm_ledger *ledger = thread ? ledger_of(thread->slot) : NULL;
	struct sample sampled = {};

	keep_own_stack(ctx);
	if (!spec || !ledger)
		return 0;
	if (!sample_take(ctx, spec, &sampled))
		ledger_drop(ledger, LM_DROP_OUT_POINTER);
	else if (!sampled.address || !sampled.size || !sampled.weight ||
		 sampled.weight > LM_USDT_MAX_WEIGHT)
		ledger_add(&ledger->failed, 1);
	else if (sampled.size < min_size || sampled.size > max_size)
		ledger_add(&ledger->filtered, 1);
	else if (thread->slot == LM_SLOT_LOST)
		ledger_drop(ledger, thread->slot_cause);
	else if (block_over_share(thread))
		ledger_drop(ledger, LM_DROP_SHARE);
	else
		sample_account(ctx, thread, ledger, &sampled, spec->without_free);
	return 0;
}

SEC("uprobe")
int usdt_free(struct pt_regs *ctx)
{
	const struct lm_usdt_spec *spec = spec_of(ctx);
	struct thread *thread = spec && !empty_programs ? thread_current() : NULL;
	struct lm_ledger *ledger = thread ? ledger_of(thread->slot) : NULL;
	struct lm_usdt_block sample;
	struct lm_block_key key = {};

	keep_own_stack(ctx);
	if (!spec || !ledger || !operand_take(ctx, &spec->arguments[0], &key.address) ||
	    !key.address)
		return 0;
	key.process = thread->process;
	if (sample_remove(thread, ledger, &key, &sample)) {
		ledger_add(&ledger->frees, 1);
		sample_count_death(&sample);
	} else {
		account_untracked(thread, ledger, key.address, &usdt_blocks);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
