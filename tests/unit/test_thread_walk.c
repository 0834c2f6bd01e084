// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists of threads in untrusted memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "heap/threads/thread_walk.h"

#define BASE 0x7f0000000000ull
#define HEADS (BASE + 0x100)
#define THREADS (BASE + 0x1000)
#define DESCRIPTOR 0x200
#define COUNT 6

static const struct thread_layout layout = {
	.heads_at = 0x10,
	.indirect = 1,
	.used_at = 0x40,
	.user_at = 0x20,
	.list_at = 0x80,
	.tid_at = 0x90,
	.start_routine_at = 0x1f8,
	.state_at = 0x94,
	.next_at = 0,
	.prev_at = 8,
	.descriptor_size = DESCRIPTOR,
	.joinid_at = 0x100,
};

/* A process' memory, with a list of threads in it. */
struct scene {
	char bytes[0x2000];
	unsigned reads, fail_at; /* from that read on: */
	int error;
	void (*then)(struct scene *scene); /* at that read, once */
};

static uint64_t *word(struct scene *scene, uint64_t address)
{
	return (uint64_t *)(scene->bytes + (address - BASE));
}

static uint64_t thread_at(unsigned i)
{
	return THREADS + i * DESCRIPTOR;
}

static uint64_t node_at(unsigned i)
{
	return thread_at(i) + layout.list_at;
}

static void link_nodes(struct scene *scene, uint64_t left, uint64_t right)
{
	*word(scene, left) = right;
	*word(scene, right + 8) = left;
}

static void set_thread(struct scene *scene, unsigned i, uint32_t tid, uint32_t state)
{
	uint32_t words[] = {tid, state};

	memcpy(word(scene, thread_at(i) + layout.tid_at), words, sizeof(words));
	*word(scene, thread_at(i)) = thread_at(i);
	*word(scene, thread_at(i) + layout.start_routine_at) = 0x1000 + i;
}

/* Threads 0..4 on the list of own stacks, thread 5 on the other. */
static void scene_init(struct scene *scene)
{
	const uint64_t used = HEADS + layout.used_at, user = HEADS + layout.user_at;

	memset(scene, 0, sizeof(*scene));
	*word(scene, BASE + layout.heads_at) = HEADS;
	for (unsigned i = 0; i < COUNT; i++)
		set_thread(scene, i, 100 + i, 0);
	link_nodes(scene, used, node_at(0));
	for (unsigned i = 0; i < 4; i++)
		link_nodes(scene, node_at(i), node_at(i + 1));
	link_nodes(scene, node_at(4), used);
	link_nodes(scene, user, node_at(5));
	link_nodes(scene, node_at(5), user);
}

static int scene_read(void *context, uint64_t address, void *buffer, size_t size)
{
	struct scene *scene = context;

	if (++scene->reads == scene->fail_at && scene->then)
		scene->then(scene);
	if (scene->error && scene->reads >= scene->fail_at)
		return scene->error;
	if (address < BASE || address - BASE > sizeof(scene->bytes) - size)
		return -EFAULT;
	memcpy(buffer, scene->bytes + (address - BASE), size);
	return 0;
}

static int walk(struct scene *scene, struct listed_threads *threads, const char **why)
{
	const struct thread_memory memory = {scene_read, scene};

	*why = NULL;
	return thread_walk(&memory, &layout, BASE, threads, why);
}

static void the_living_and_the_unjoined_dead_are_listed(void **state)
{
	_cleanup_(listed_threads_free) struct listed_threads threads = {0};
	struct scene scene;
	const char *why;

	(void)state;
	scene_init(&scene);
	set_thread(&scene, 1, 0, THREAD_STATE_EXITING);		 /* dead */
	set_thread(&scene, 2, 0, 0);				 /* not cloned yet */
	set_thread(&scene, 3, UINT32_MAX, THREAD_STATE_EXITING); /* joined */
	*word(&scene, thread_at(4) + layout.joinid_at) = thread_at(4);
	assert_int_equal(walk(&scene, &threads, &why), 0);
	assert_int_equal(threads.list.count, 4);
	assert_int_equal(threads.unfinished, 2);
	assert_int_equal(threads.list.items[0].tid, 100);
	assert_int_equal(threads.list.items[0].handle, thread_at(0));
	assert_int_equal(threads.list.items[0].start_routine, 0x1000);
	assert_false(threads.list.items[0].detached);
	assert_int_equal(threads.list.items[1].tid, 0);
	assert_int_equal(threads.list.items[1].start_routine, 0x1001);
	assert_true(threads.list.items[2].detached);
	assert_false(threads.list.items[2].own_stack);
	assert_int_equal(threads.list.items[3].tid, 105);
	assert_true(threads.list.items[3].own_stack);
}

static void one_that_ends_detached_is_not_dead(void **state)
{
	_cleanup_(listed_threads_free) struct listed_threads threads = {0};
	struct scene scene;
	const char *why;

	(void)state;
	scene_init(&scene);
	set_thread(&scene, 0, 0, THREAD_STATE_EXITING);
	*word(&scene, thread_at(0) + layout.joinid_at) = thread_at(0);
	assert_int_equal(walk(&scene, &threads, &why), 0);
	assert_int_equal(threads.list.count, COUNT - 1);
}

static void empty_lists_close(void **state)
{
	_cleanup_(listed_threads_free) struct listed_threads threads = {0};
	struct scene scene;
	const char *why;

	(void)state;
	scene_init(&scene);
	link_nodes(&scene, HEADS + layout.used_at, HEADS + layout.used_at);
	link_nodes(&scene, HEADS + layout.user_at, HEADS + layout.user_at);
	assert_int_equal(walk(&scene, &threads, &why), 0);
	assert_int_equal(threads.list.count, 0);
}

/* -------- lasting damage */

static void next_outside(struct scene *scene)
{
	*word(scene, node_at(2)) = BASE + (1 << 20) + layout.list_at;
}

static void next_null(struct scene *scene)
{
	*word(scene, node_at(2)) = 0;
}

static void next_misaligned(struct scene *scene)
{
	*word(scene, node_at(2)) += 8;
}

static void next_kernel(struct scene *scene)
{
	*word(scene, node_at(2)) = 0xffff800000000000 + layout.list_at;
}

static void next_no_thread(struct scene *scene)
{
	*word(scene, thread_at(3)) = 1;
}

static void next_back(struct scene *scene)
{
	*word(scene, node_at(3)) = node_at(1);
}

static void next_itself(struct scene *scene)
{
	link_nodes(scene, node_at(2), node_at(2));
}

static void prev_wrong(struct scene *scene)
{
	*word(scene, node_at(3) + 8) = node_at(0);
}

static void head_not_closed(struct scene *scene)
{
	*word(scene, HEADS + layout.used_at + 8) = node_at(1);
}

static void heads_null(struct scene *scene)
{
	*word(scene, BASE + layout.heads_at) = 0;
}

static void heads_zero(struct scene *scene)
{
	memset(word(scene, HEADS + layout.used_at), 0, 16);
}

static void heads_kernel(struct scene *scene)
{
	*word(scene, BASE + layout.heads_at) = 0xffff800000000000;
}

static void heads_outside(struct scene *scene)
{
	*word(scene, BASE + layout.heads_at) = BASE + (1 << 20);
}

static void what_is_broken_is_named_and_nothing_is_listed(void **state)
{
	static const struct {
		void (*damage)(struct scene *scene);
		const char *why;
		int error;
	} cases[] = {
		{next_outside, "a list of threads leads to memory that is not there", -EBADMSG},
		{next_null, "a list of threads leads to an address that no thread has", -EBADMSG},
		{next_misaligned, "a list of threads leads to an address that no thread has",
		 -EBADMSG},
		{next_kernel, "a list of threads leads to an address that no thread has", -EBADMSG},
		{next_no_thread, "a list of threads leads to what is no thread", -EBADMSG},
		{next_back, "the links of a list of threads contradict each other", -EBADMSG},
		{next_itself, "the links of a list of threads contradict each other", -EBADMSG},
		{prev_wrong, "the links of a list of threads contradict each other", -EBADMSG},
		{head_not_closed, "a list of threads does not close", -EBADMSG},
		{heads_null, "its C library is not set up yet", -ENODATA},
		{heads_zero, "its C library is not set up yet", -ENODATA},
		{heads_kernel, "its C library is not where it should be", -EBADMSG},
		{heads_outside, "a list of threads leads to memory that is not there", -EBADMSG},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct listed_threads threads = {.unfinished = 77};
		struct scene scene;
		const char *why;

		/* A thread is recognised by its own address in its descriptor, if the machine's ABI
		 * puts one there. */
		if (cases[i].damage == next_no_thread && !MACHINE_THREAD_SELF_AT)
			continue;
		scene_init(&scene);
		cases[i].damage(&scene);
		assert_int_equal(walk(&scene, &threads, &why), cases[i].error);
		assert_string_equal(why, cases[i].why);
		assert_null(threads.list.items);
		assert_int_equal(threads.unfinished, 77);
	}
}

static void a_process_that_ends_ends_the_walk(void **state)
{
	(void)state;
	for (unsigned at = 1; at <= 11; at++) {
		struct listed_threads threads = {0};
		struct scene scene;
		const char *why;

		scene_init(&scene);
		scene.fail_at = at;
		scene.error = -ESRCH;
		assert_int_equal(walk(&scene, &threads, &why), -ESRCH);
		assert_int_equal(scene.reads, at);
		assert_null(threads.list.items);
	}
}

/* -------- changes during the walk */

static void first_comes(struct scene *scene)
{
	link_nodes(scene, HEADS + layout.user_at, HEADS + layout.user_at);
	link_nodes(scene, HEADS + layout.used_at, node_at(5));
	link_nodes(scene, node_at(5), node_at(0));
}

static void third_goes(struct scene *scene)
{
	link_nodes(scene, node_at(1), node_at(3));
	link_nodes(scene, node_at(2), node_at(2));
}

static void a_change_at_any_time_gives_one_state_or_the_other(void **state)
{
	static const struct {
		void (*change)(struct scene *scene);
		size_t after;
	} cases[] = {{first_comes, COUNT}, {third_goes, COUNT - 1}};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases) * 16; i++) {
		_cleanup_(listed_threads_free) struct listed_threads threads = {0};
		struct scene scene;
		const char *why;

		scene_init(&scene);
		scene.fail_at = i / ARRAY_SIZE(cases) + 1;
		scene.then = cases[i % ARRAY_SIZE(cases)].change;
		assert_int_equal(walk(&scene, &threads, &why), 0);
		/* Threads that move during the walk are missing, but none is there twice. */
		assert_in_range(threads.list.count, COUNT - 1, COUNT);
		if (scene.reads < scene.fail_at)
			assert_int_equal(threads.list.count, COUNT);
		else if (scene.fail_at == 1)
			assert_int_equal(threads.list.count, cases[i % ARRAY_SIZE(cases)].after);
		for (size_t j = 0; j < threads.list.count; j++)
			for (size_t k = 0; k < j; k++)
				assert_int_not_equal(threads.list.items[j].handle,
						     threads.list.items[k].handle);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_living_and_the_unjoined_dead_are_listed),
		cmocka_unit_test(one_that_ends_detached_is_not_dead),
		cmocka_unit_test(empty_lists_close),
		cmocka_unit_test(what_is_broken_is_named_and_nothing_is_listed),
		cmocka_unit_test(a_process_that_ends_ends_the_walk),
		cmocka_unit_test(a_change_at_any_time_gives_one_state_or_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
