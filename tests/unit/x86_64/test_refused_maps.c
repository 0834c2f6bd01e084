// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The heap's programs, where the kernel refuses access to their maps: all losses are counted, by
 * cause, and the ledger balances.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/bpf_host.h"

#define LEAKMON_UNWIND_ELSEWHERE
#include "../../../bpf/heap.bpf.c"

#define TRAMPOLINE 0x7fffffffe000ull
#define RETURN_ADDRESS 0x401000ull
#define NODE(i) (0x10000ull + 64 * (i))

static struct xol_area xol = {.vaddr = TRAMPOLINE};
static struct mm_struct mm = {.uprobes_state = {&xol}};
static struct task_struct task = {.tgid = 77, .pid = 77, .mm = &mm, .start_boottime = 50000000};
static struct thread storage;
static u64 stack[16];

static struct task_struct *host_task(void)
{
	return &task;
}

/* Stacks are one frame deep. */
int unwind_step(struct thread *thread)
{
	thread->walk.end = LM_WALK_ROOT;
	return 1;
}

static struct host_map *map_add(const void *map, size_t key_size, size_t value_size, bool is_array)
{
	struct host_map *host = &host_maps[host_map_count++];

	*host = (struct host_map){
		.map = map, .key_size = key_size, .value_size = value_size, .is_array = is_array};
	return host;
}

static struct host_map *live_set, *site_hashes, *process_keys, *site_queue, *slot_queue;

static int set_up(void **state)
{
	(void)state;
	host_map_count = 0;
	live_set = map_add(&blocks, sizeof(struct lm_block_key), sizeof(struct lm_block), false);
	site_hashes = map_add(&site_index, 8, 4, false);
	process_keys = map_add(&process_index, 8, 4, false);
	site_queue = map_add(&free_sites, 0, 4, false);
	slot_queue = map_add(&free_slots, 0, 4, false);
	map_add(&sites, 4, sizeof(struct lm_site), true);
	map_add(&stacks, 4, sizeof(struct lm_stack), true);
	map_add(&processes, 4, sizeof(struct lm_process), true);
	map_add(&ledgers, 4, sizeof(struct lm_ledger), true);
	max_sites = max_processes = HOST_ENTRIES;
	max_size = ~0ull;
	site_count = process_count = 1;
	strays = 0;
	processes_alive = 0;
	task.group_leader = &task;
	mm.owner = &task;
	storage = (struct thread){0};
	host_storage = &storage;
	return 0;
}

static struct pt_regs *call_from(int caller)
{
	static struct pt_regs registers;

	stack[8] = RETURN_ADDRESS;
	registers = (struct pt_regs){.rsp = (u64)&stack[8], .rip = RETURN_ADDRESS + 16 * caller};
	return &registers;
}

static void call_return(struct pt_regs *registers, u64 result)
{
	registers->rax = result;
	registers->rsp += sizeof(u64);
	heap_return(registers);
}

static void allocate(int caller, u64 address)
{
	struct pt_regs *registers = call_from(caller);

	registers->rdi = 100;
	host_cookie = (u64)LM_ARGUMENTS_SIZE << LM_COOKIE_ARGUMENTS_SHIFT;
	assert_int_equal(heap_call(registers), 0);
	call_return(registers, address);
}

static void resize(u64 address, u64 result)
{
	struct pt_regs *registers = call_from(0);

	registers->rdi = address;
	registers->rsi = 200;
	host_cookie = (u64)LM_ARGUMENTS_POINTER_SIZE << LM_COOKIE_ARGUMENTS_SHIFT;
	assert_int_equal(heap_call(registers), 0);
	call_return(registers, result);
}

static void release(u64 address)
{
	struct pt_regs *registers = call_from(0);

	registers->rdi = address;
	heap_free(registers);
}

static struct lm_ledger *ledger_at(u32 slot)
{
	return bpf_map_lookup_elem(&ledgers, &slot);
}

static struct lm_site *site_at(u32 index)
{
	return bpf_map_lookup_elem(&sites, &index);
}

/* Sums over all slots; the first has events without a process. */
static u64 sum_of(size_t offset)
{
	u64 sum = 0;

	for (u32 slot = 0; slot < 3; slot++)
		sum += *(u64 *)(void *)((char *)ledger_at(slot) + offset);
	return sum;
}
#define SUM(field) sum_of(offsetof(struct lm_ledger, field))

/* Everything: that many blocks, drops of one cause and no other, and nothing pending. */
static void expect(u64 allocations, u64 frees, size_t outstanding, enum lm_drop cause, u64 drops)
{
	u64 dropped = 0;

	for (int i = 0; i < LM_DROP_MAX_; i++)
		dropped += sum_of(offsetof(struct lm_ledger, dropped) + (size_t)i * sizeof(u64));
	assert_int_equal(sum_of(offsetof(struct lm_ledger, dropped) + cause * sizeof(u64)), drops);
	assert_int_equal(dropped, drops);
	assert_int_equal(live_set->count, outstanding);
	assert_int_equal(SUM(frees), frees);
	assert_int_equal(SUM(allocations), allocations);
	assert_int_equal(allocations, frees + outstanding + SUM(purged) + dropped);
	assert_int_equal(SUM(allocations) + SUM(begun), SUM(settled) + SUM(frees));
}

static void without_refusals_the_ledger_is_exact(void **state)
{
	(void)state;
	allocate(1, NODE(1));
	allocate(2, NODE(2));
	allocate(1, NODE(3));
	resize(NODE(2), NODE(4));
	release(NODE(1));
	expect(4, 2, 2, LM_DROP_BUSY, 0);
	assert_int_equal(site_at(1)->allocated_count, 2);
	assert_int_equal(site_at(1)->freed_bytes, 100);
}

static void a_block_that_cannot_be_put_on_the_live_set_is_dropped(void **state)
{
	static const struct {
		int error;
		enum lm_drop cause;
	} cases[] = {{-EBUSY, LM_DROP_BUSY},
		     {-EDEADLK, LM_DROP_BUSY},
		     {-ETIMEDOUT, LM_DROP_BUSY},
		     {-ENOMEM, LM_DROP_BLOCKS_FULL},
		     {-E2BIG, LM_DROP_BLOCKS_FULL}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up(state);
		live_set->updates[0] = cases[i].error;
		allocate(1, NODE(1));
		expect(1, 0, 0, cases[i].cause, 1);
		allocate(1, NODE(2));
		expect(2, 0, 1, cases[i].cause, 1);
		assert_int_equal(site_at(1)->allocated_count, 1);
	}
}

/* Its end is known, and cannot be written down: it counts as a second block, which was dropped. */
static void a_free_that_is_refused_leaves_its_block_and_counts(void **state)
{
	(void)state;
	allocate(1, NODE(1));
	live_set->deletes[0] = -EBUSY;
	release(NODE(1));
	expect(2, 0, 1, LM_DROP_BUSY, 1);
	assert_int_equal(site_at(1)->freed_count, 0);
	release(NODE(1));
	expect(2, 1, 0, LM_DROP_BUSY, 1);
}

/* A thread without memory for its state frees all the same. */
static void a_free_of_a_thread_without_state_counts_its_refusal(void **state)
{
	(void)state;
	allocate(1, NODE(1));
	allocate(1, NODE(2));
	host_storage = NULL;
	live_set->deletes[0] = -EBUSY;
	release(NODE(1));
	expect(3, 0, 2, LM_DROP_BUSY, 1);
	release(NODE(2));
	expect(3, 1, 1, LM_DROP_BUSY, 1);
}

static void a_stale_block_that_stays_costs_the_new_one(void **state)
{
	(void)state;
	allocate(1, NODE(1));
	live_set->deletes[0] = -EBUSY;
	allocate(2, NODE(1));
	/* The free that was not seen, and the block that found its place taken. */
	expect(3, 0, 1, LM_DROP_BUSY, 2);
	assert_int_equal(site_at(2)->allocated_count, 0);
}

static void a_resize_that_cannot_take_its_block_counts_it(void **state)
{
	(void)state;
	allocate(1, NODE(1));
	live_set->deletes[0] = -EBUSY;
	resize(NODE(1), NODE(2));
	expect(3, 0, 2, LM_DROP_BUSY, 1);
}

static void a_block_that_a_failed_resize_cannot_put_back_is_dropped(void **state)
{
	(void)state;
	allocate(1, NODE(1));
	live_set->updates[0] = -EBUSY;
	resize(NODE(1), 0);
	expect(1, 0, 0, LM_DROP_RESTORE, 1);
	assert_int_equal(site_at(1)->freed_bytes, 100);
}

/* The block counts, without a stack; and its index is taken by the next. */
static void a_site_that_is_refused_costs_a_stack_and_no_index(void **state)
{
	(void)state;
	site_hashes->updates[0] = -EBUSY;
	allocate(1, NODE(1));
	expect(1, 0, 1, LM_DROP_BUSY, 0);
	assert_int_equal(SUM(lost_stacks[LM_LOST_BUSY]), 1);
	assert_int_equal(SUM(lost_stacks[LM_LOST_SITES_FULL]), 0);
	assert_int_equal(site_queue->count, 1);
	assert_int_equal(site_count, 2);
	allocate(1, NODE(2));
	assert_int_equal(site_queue->count, 0);
	assert_int_equal(site_count, 2);
	assert_int_equal(site_at(1)->allocated_count, 1);
	assert_int_equal(strays, 0);
	site_hashes->updates[0] = -E2BIG;
	allocate(2, NODE(3));
	assert_int_equal(SUM(lost_stacks[LM_LOST_SITES_FULL]), 1);
	expect(3, 0, 3, LM_DROP_BUSY, 0);
}

/* If the queue refuses it, too, user space is notified (test_purge.c). */
static void an_index_that_the_queue_refuses_is_marked(void **state)
{
	(void)state;
	site_hashes->updates[0] = -EBUSY;
	site_queue->pushes[0] = -EBUSY;
	allocate(1, NODE(1));
	assert_int_equal(strays, 1);
	assert_int_equal(site_at(1)->state, LM_INDEX_STRAY);
	assert_int_equal(site_at(1)->process, 0);
	allocate(1, NODE(2));
	assert_int_equal(site_at(1)->state, LM_INDEX_STRAY);
	assert_int_equal(site_at(2)->state, LM_INDEX_USUAL);
	assert_int_equal(site_at(2)->allocated_count, 1);
	expect(2, 0, 2, LM_DROP_BUSY, 0);
}

static void a_process_that_is_refused_is_tried_again(void **state)
{
	u32 slot = 1;

	(void)state;
	/* Once where the call begins, and once where it returns. */
	process_keys->updates[0] = process_keys->updates[1] = -EBUSY;
	allocate(1, NODE(1));
	assert_int_equal(ledger_at(LM_SLOT_LOST)->dropped[LM_DROP_BUSY], 1);
	expect(1, 0, 0, LM_DROP_BUSY, 1);
	assert_int_equal(slot_queue->count, 1);
	allocate(1, NODE(2));
	assert_int_equal(slot_queue->count, 0);
	assert_int_equal(ledger_at(slot)->allocations, 1);
	assert_int_equal(processes_alive, 1);
	expect(2, 0, 1, LM_DROP_BUSY, 1);
}

static void a_slot_that_the_queue_refuses_is_marked(void **state)
{
	u32 first = 1, second = 2;
	struct lm_process *process = bpf_map_lookup_elem(&processes, &first);

	(void)state;
	process_keys->updates[0] = process_keys->updates[1] = -E2BIG;
	slot_queue->pushes[0] = -EBUSY;
	allocate(1, NODE(1));
	expect(1, 0, 0, LM_DROP_PROCESSES_FULL, 1);
	assert_int_equal(strays, 1);
	assert_int_equal(process->key, 0);
	assert_int_equal(process->state, LM_PROCESS_STRAY);
	allocate(1, NODE(2));
	assert_int_equal(ledger_at(second)->allocations, 1);
	assert_int_equal(process->state, LM_PROCESS_STRAY);
	expect(2, 0, 1, LM_DROP_PROCESSES_FULL, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(without_refusals_the_ledger_is_exact, set_up),
		cmocka_unit_test_setup(a_block_that_cannot_be_put_on_the_live_set_is_dropped,
				       set_up),
		cmocka_unit_test_setup(a_free_that_is_refused_leaves_its_block_and_counts, set_up),
		cmocka_unit_test_setup(a_free_of_a_thread_without_state_counts_its_refusal, set_up),
		cmocka_unit_test_setup(a_stale_block_that_stays_costs_the_new_one, set_up),
		cmocka_unit_test_setup(a_resize_that_cannot_take_its_block_counts_it, set_up),
		cmocka_unit_test_setup(a_block_that_a_failed_resize_cannot_put_back_is_dropped,
				       set_up),
		cmocka_unit_test_setup(a_site_that_is_refused_costs_a_stack_and_no_index, set_up),
		cmocka_unit_test_setup(an_index_that_the_queue_refuses_is_marked, set_up),
		cmocka_unit_test_setup(a_process_that_is_refused_is_tried_again, set_up),
		cmocka_unit_test_setup(a_slot_that_the_queue_refuses_is_marked, set_up),
	};

	return cmocka_run_group_tests_name("refused_maps", tests, NULL, NULL);
}
