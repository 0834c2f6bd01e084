// SPDX-License-Identifier: GPL-2.0-or-later
/* Handmade stacks of threads, consecutive in one mapping, as with glibc 2.42. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "heap/memory/thread_stacks.h"

#define STACKS 4
#define STACK_BYTES (8 * MEMORY_PAGE)
#define MANY_STACKS 65600ull
#define THREAD_BYTES 0x900
#define BLOCK_AT 0x690
#define MAIN_TID 500

struct fixture {
	struct mapping mapping;
	struct peek peek;
	struct thread_stacks stacks;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	void *memory = mmap(NULL, STACKS * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	fixture->mapping = (struct mapping){.start = (uintptr_t)memory,
					    .end = (uintptr_t)memory + STACKS * STACK_BYTES};
	fixture->peek = (struct peek){.source = live_memory(getpid()), .pagemap = -1};
	*state = fixture;
	return memory == MAP_FAILED;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	peek_free(&fixture->peek);
	vec_free(&fixture->stacks.ranges);
	munmap((void *)(uintptr_t)fixture->mapping.start, STACKS * STACK_BYTES);
	free(fixture);
	return 0;
}

static uint64_t stack_start(const struct fixture *fixture, size_t i)
{
	return fixture->mapping.start + i * STACK_BYTES;
}

static uint64_t *descriptor(const struct fixture *fixture, size_t i)
{
	return (uint64_t *)(uintptr_t)(stack_start(fixture, i + 1) - THREAD_BYTES);
}

static void make_thread(struct fixture *fixture, size_t i, int32_t tid)
{
	uint64_t *words = descriptor(fixture, i);

	words[0] = words[MACHINE_THREAD_SELF_AT / 8] = (uintptr_t)words;
	*(int32_t *)((char *)words + MACHINE_THREAD_TID_AT) = tid;
	words[BLOCK_AT / 8] = stack_start(fixture, i);
	words[BLOCK_AT / 8 + 1] = STACK_BYTES;
	words[BLOCK_AT / 8 + 2] = MEMORY_PAGE;
}

static void find(struct fixture *fixture)
{
	vec_free(&fixture->stacks.ranges);
	fixture->stacks = (struct thread_stacks){0};
	peek_forget(&fixture->peek);
	assert_int_equal(
		thread_stacks_find(&fixture->peek, &fixture->mapping, MAIN_TID, &fixture->stacks),
		0);
}

static void all_stacks_of_a_mapping_are_found_from_its_end_on(void **state)
{
	struct fixture *fixture = *state;
	const struct thread_stacks *stacks = &fixture->stacks;

	if (!MACHINE_THREAD_SELF_AT)
		skip();
	make_thread(fixture, 0, -1);
	make_thread(fixture, 1, 501);
	make_thread(fixture, 2, 0);
	make_thread(fixture, 3, 502);
	find(fixture);
	assert_int_equal(stacks->live, 2);
	assert_int_equal(stacks->ended, 1);
	assert_int_equal(stacks->joined, 1);
	assert_int_equal(stacks->ranges.count, 2);
	assert_int_equal(stacks->ranges.items[0].start, stack_start(fixture, 2));
	assert_int_equal(stacks->ranges.items[0].end, stack_start(fixture, 3));
	assert_int_equal(stacks->ranges.items[1].start, stack_start(fixture, 0));
	assert_int_equal(stacks->ranges.items[1].end, stack_start(fixture, 1));
}

static void what_describes_no_stack_ends_the_search(void **state)
{
	struct fixture *fixture = *state;

	if (!MACHINE_THREAD_SELF_AT)
		skip();
	make_thread(fixture, 1, 501);
	make_thread(fixture, 2, MAIN_TID);
	make_thread(fixture, 3, 502);
	find(fixture);
	assert_int_equal(fixture->stacks.live, 1);
	/* A stack of which the bounds are not known is the rest of its mapping. */
	make_thread(fixture, 2, 0);
	descriptor(fixture, 2)[BLOCK_AT / 8 + 1] = 0;
	find(fixture);
	assert_int_equal(fixture->stacks.live, 1);
	assert_int_equal(fixture->stacks.ended, 1);
	assert_int_equal(fixture->stacks.ranges.items[0].start, fixture->mapping.start);
	assert_int_equal(fixture->stacks.ranges.items[0].end, stack_start(fixture, 3));
}

/* Guard pages without separate mappings (MADV_GUARD_INSTALL) leave them in one. */
static void a_mapping_may_hold_any_number_of_stacks(void **state)
{
	struct fixture *fixture = *state;
	const struct mapping own = fixture->mapping;
	uint64_t bytes = MANY_STACKS * STACK_BYTES;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (!MACHINE_THREAD_SELF_AT)
		skip();
	assert_true(memory != MAP_FAILED);
	fixture->mapping =
		(struct mapping){.start = (uintptr_t)memory, .end = (uintptr_t)memory + bytes};
	for (size_t i = 0; i < MANY_STACKS; i++)
		make_thread(fixture, i, i ? 501 : 0);
	find(fixture);
	assert_int_equal(fixture->stacks.live, MANY_STACKS - 1);
	assert_int_equal(fixture->stacks.ended, 1);
	munmap(memory, bytes);
	fixture->mapping = own;
}

int main(void)
{
#define WITH_STACKS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_STACKS(all_stacks_of_a_mapping_are_found_from_its_end_on),
		WITH_STACKS(what_describes_no_stack_ends_the_search),
		WITH_STACKS(a_mapping_may_hold_any_number_of_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
