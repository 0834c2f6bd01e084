// SPDX-License-Identifier: GPL-2.0-or-later
/* Two stacks in one mapping, as with glibc 2.42: the unused part of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "binary/elf/elf_abi.h"
#include "heap/allocators/heap_image_zones.h"
#include "own_registers.h"

#define STACK_BYTES (16 * MEMORY_PAGE)
#define MAPPING_BYTES (2 * STACK_BYTES)
/* struct pthread, from the end of a stack; and within it, the description of the stack. */
#define THREAD_BYTES 0x900
#define BLOCK_AT 0x690
#define USED_BYTES (2 * MEMORY_PAGE)

struct fixture {
	uint64_t start;
	struct mapping mapping;
	struct heap_image heap_image;
	struct peek peek;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	void *memory = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	fixture->start = (uintptr_t)memory;
	fixture->mapping = (struct mapping){.start = fixture->start,
					    .end = fixture->start + MAPPING_BYTES,
					    .path = "",
					    .readable = true,
					    .writable = true};
	fixture->heap_image.maps.list.items = &fixture->mapping;
	fixture->heap_image.maps.list.count = 1;
	fixture->peek = (struct peek){.source = live_memory(getpid()), .pagemap = -1};
	peek_forget(&fixture->peek);
	*state = fixture;
	return memory == MAP_FAILED;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	peek_free(&fixture->peek);
	vec_free(&fixture->heap_image.zones);
	vec_free(&fixture->heap_image.threads);
	munmap((void *)(uintptr_t)fixture->start, MAPPING_BYTES);
	free(fixture);
	return 0;
}

/* Adds the zones of a thread on the second stack, with `size` and `guard` from its descriptor. */
static void add_thread(struct fixture *fixture, uint64_t size, uint64_t guard)
{
	uint64_t stack = fixture->start + STACK_BYTES, end = stack + STACK_BYTES;
	uint64_t descriptor = end - THREAD_BYTES, sp = end - USED_BYTES;
	uint64_t pointer = machine_abi.tls.is_variant_1 ? end - 64 : descriptor;
	uint64_t *words = (uint64_t *)(uintptr_t)(descriptor + BLOCK_AT);
	struct stop stop = {0};
	struct deadline deadline = {0};

	words[0] = stack;
	words[1] = size;
	words[2] = guard;
	peek_forget(&fixture->peek);
	*(struct stopped_thread *)vec_push(&stop.threads) =
		(struct stopped_thread){.registers = own_registers(sp, pointer)};
	assert_int_equal(zones_add_threads(&fixture->heap_image, &stop, &fixture->peek, &deadline),
			 0);
	assert_int_equal(zones_finish(&fixture->heap_image), 0);
	stop_free(&stop);
}

static void expect(const struct fixture *fixture, uint64_t distance, enum zone_kind kind)
{
	const struct zone *zone = heap_image_zone(&fixture->heap_image, fixture->start + distance);

	assert_non_null(zone);
	assert_int_equal(zone->kind, kind);
}

static void expect_none(const struct fixture *fixture, uint64_t distance)
{
	assert_null(heap_image_zone(&fixture->heap_image, fixture->start + distance));
}

static void a_stack_is_unused_from_its_guard_up_to_the_stack_pointer(void **state)
{
	struct fixture *fixture = *state;
	uint64_t used = MAPPING_BYTES - USED_BYTES;

	add_thread(fixture, STACK_BYTES, MEMORY_PAGE);
	expect_none(fixture, 0);
	expect_none(fixture, STACK_BYTES - 8);
	expect_none(fixture, STACK_BYTES + MEMORY_PAGE - 8);
	expect(fixture, STACK_BYTES + MEMORY_PAGE, ZONE_NOTHING);
	expect(fixture, used - MACHINE_RED_ZONE - 8, ZONE_NOTHING);
	expect(fixture, used - MACHINE_RED_ZONE, ZONE_STACK);
	expect(fixture, MAPPING_BYTES - 8, ZONE_STACK);
}

static void a_stack_without_a_guard_begins_with_its_memory(void **state)
{
	struct fixture *fixture = *state;

	add_thread(fixture, STACK_BYTES, 0);
	expect_none(fixture, STACK_BYTES - 8);
	expect(fixture, STACK_BYTES, ZONE_NOTHING);
}

static void words_that_describe_no_such_stack_describe_nothing(void **state)
{
	static const struct {
		uint64_t size, guard;
	} cases[] = {
		{STACK_BYTES - MEMORY_PAGE, MEMORY_PAGE},  /* ends before the descriptor */
		{STACK_BYTES + (4ull << 20), MEMORY_PAGE}, /* far after it */
		{UINT64_MAX & ~(MEMORY_PAGE - 1), MEMORY_PAGE},
		{STACK_BYTES, 15 * MEMORY_PAGE}, /* the guard would be in use */
		{STACK_BYTES, STACK_BYTES},
		{STACK_BYTES, 8},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fixture->heap_image.zones.count = fixture->heap_image.threads.count = 0;
		add_thread(fixture, cases[i].size, cases[i].guard);
		expect_none(fixture, STACK_BYTES + MEMORY_PAGE);
		expect_none(fixture, MAPPING_BYTES - USED_BYTES - MACHINE_RED_ZONE - 8);
		expect(fixture, MAPPING_BYTES - 8, ZONE_STACK);
	}
}

int main(void)
{
#define WITH_STACKS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_STACKS(a_stack_is_unused_from_its_guard_up_to_the_stack_pointer),
		WITH_STACKS(a_stack_without_a_guard_begins_with_its_memory),
		WITH_STACKS(words_that_describe_no_such_stack_describe_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
