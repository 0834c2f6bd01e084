// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists of stacks kept by a C library, in untrusted memory: our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/parse/thread_library.h"
#include "heap/allocators/ended_stacks.h"
#include "own_registers.h"

#define STACKS 6
#define STACK_BYTES (4 * MEMORY_PAGE)
#define THREAD_BYTES 512
#define MANY_THREADS 65600

enum { CACHED, CACHED_TOO, DEAD, RUNNING, STARTING, CACHED_LAST };

/* The layout in _rtld_global. */
struct heads {
	uint64_t used[2], user[2], cache[2], sum;
};

/* struct pthread: the fields read. */
struct fake_thread {
	uint64_t self, vector, rest[6];
	uint64_t node[2];
	uint32_t tid, state;
	uint64_t more[5];
	uint64_t block, size, guard, reported;
	uint64_t padding[THREAD_BYTES / 8 - 20];
};

_Static_assert(sizeof(struct fake_thread) == THREAD_BYTES, "at the top of a stack");

struct scene {
	char *stacks;
	struct heads heads;
	uint64_t global; /* in the library: points to heads */
	struct c_library library;
	struct heap_image heap_image;
	struct stop stop;
	struct peek *peek;
};

static uint64_t at(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static struct fake_thread *thread_of(const struct scene *scene, size_t i)
{
	return (struct fake_thread *)(scene->stacks + (i + 1) * STACK_BYTES - THREAD_BYTES);
}

static uint64_t start_of(const struct scene *scene, size_t i)
{
	return at(scene->stacks + i * STACK_BYTES);
}

static void link_nodes(uint64_t left, uint64_t right)
{
	((uint64_t *)(uintptr_t)left)[0] = right;
	((uint64_t *)(uintptr_t)right)[1] = left;
}

static void make_thread(struct scene *scene, size_t i, uint32_t tid, uint32_t state)
{
	struct fake_thread *thread = thread_of(scene, i);

	memset(thread, 0, sizeof(*thread));
	thread->self = at(thread);
	thread->tid = tid;
	thread->state = state;
	thread->block = start_of(scene, i);
	thread->size = STACK_BYTES;
	thread->guard = thread->reported = MEMORY_PAGE;
}

static void make_lists(struct scene *scene)
{
	uint64_t cache = at(scene->heads.cache), used = at(scene->heads.used);

	link_nodes(cache, at(thread_of(scene, CACHED)->node));
	link_nodes(at(thread_of(scene, CACHED)->node), at(thread_of(scene, CACHED_TOO)->node));
	link_nodes(at(thread_of(scene, CACHED_TOO)->node), at(thread_of(scene, CACHED_LAST)->node));
	link_nodes(at(thread_of(scene, CACHED_LAST)->node), cache);
	link_nodes(used, at(thread_of(scene, DEAD)->node));
	link_nodes(at(thread_of(scene, DEAD)->node), at(thread_of(scene, RUNNING)->node));
	link_nodes(at(thread_of(scene, RUNNING)->node), at(thread_of(scene, STARTING)->node));
	link_nodes(at(thread_of(scene, STARTING)->node), used);
	link_nodes(at(scene->heads.user), at(scene->heads.user));
	scene->heads.sum = 3 * STACK_BYTES;
}

static void add_stopped(struct scene *scene, uint64_t sp, uint64_t pointer)
{
	struct stopped_thread *thread = vec_push(&scene->stop.threads);

	*thread = (struct stopped_thread){.registers = own_registers(sp, pointer)};
}

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	scene->stacks = mmap(NULL, STACKS * STACK_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	make_thread(scene, CACHED, UINT32_MAX, THREAD_STATE_EXITING);
	make_thread(scene, CACHED_TOO, 0, THREAD_STATE_EXITING);
	make_thread(scene, CACHED_LAST, UINT32_MAX, THREAD_STATE_EXITING);
	make_thread(scene, DEAD, 0, THREAD_STATE_EXITING);
	make_thread(scene, RUNNING, 77, 0);
	make_thread(scene, STARTING, 0, 0);
	make_lists(scene);
	scene->global = at(&scene->heads);
	scene->library.bias = at(&scene->global) - 0x100;
	scene->library.layout = (struct tls_layout){
		.heads_at = 0x100,
		.thread_size = THREAD_BYTES,
		.used_at = offsetof(struct heads, used),
		.user_at = offsetof(struct heads, user),
		.prev_at = 8,
		.node_at = offsetof(struct fake_thread, node),
		.tid_at = offsetof(struct fake_thread, tid),
		.state_at = offsetof(struct fake_thread, state),
	};
	scene->peek = calloc(1, sizeof(*scene->peek));
	scene->peek->source = live_memory(getpid());
	scene->peek->pagemap = -1;
	peek_forget(scene->peek);
	add_stopped(scene, start_of(scene, RUNNING) + 2 * MEMORY_PAGE,
		    at(thread_of(scene, RUNNING)));
	*state = scene;
	return maps_read(getpid(), MAPS_ALL, &scene->heap_image.maps);
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	munmap(scene->stacks, STACKS * STACK_BYTES);
	peek_free(scene->peek);
	free(scene->peek);
	vec_free(&scene->stop.threads);
	heap_image_free(&scene->heap_image);
	free(scene);
	return 0;
}

static size_t find(struct scene *scene)
{
	scene->heap_image.ended.count = 0;
	scene->heap_image.why_not_ended = NULL;
	peek_forget(scene->peek);
	assert_int_equal(
		ended_stacks_find(&scene->heap_image, &scene->library, &scene->stop, scene->peek),
		0);
	return scene->heap_image.ended.count;
}

static const struct ended_stack *found(const struct scene *scene, size_t i)
{
	for (size_t j = 0; j < scene->heap_image.ended.count; j++) {
		if (scene->heap_image.ended.items[j].start == start_of(scene, i) + MEMORY_PAGE)
			return &scene->heap_image.ended.items[j];
	}
	return NULL;
}

static void stacks_that_are_kept_and_those_of_the_dead_are_found(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(find(scene), 4);
	assert_null(scene->heap_image.why_not_ended);
	assert_true(found(scene, CACHED)->cached);
	assert_true(found(scene, CACHED_TOO)->cached);
	assert_true(found(scene, CACHED_LAST)->cached);
	assert_false(found(scene, DEAD)->cached);
	assert_true(found(scene, CACHED)->end == start_of(scene, CACHED) + STACK_BYTES);
	assert_true(found(scene, CACHED)->descriptor == at(thread_of(scene, CACHED)));
}

/* A stack that is unlinked while in use; a foreign fibre. */
static void where_a_thread_stands_nothing_has_ended(void **state)
{
	struct scene *scene = *state;

	add_stopped(scene, start_of(scene, STARTING), at(thread_of(scene, CACHED)));
	add_stopped(scene, start_of(scene, DEAD) + MEMORY_PAGE, 0);
	thread_of(scene, CACHED_TOO)->tid = 99;
	assert_int_equal(find(scene), 1);
	assert_null(scene->heap_image.why_not_ended);
	assert_non_null(found(scene, CACHED_LAST));
}

/* glibc puts them on the list in a child that was forked: they ran in its parent. */
static void stacks_of_threads_that_a_child_has_not_are_left_alone(void **state)
{
	struct scene *scene = *state;

	thread_of(scene, CACHED)->tid = 0;
	thread_of(scene, CACHED)->state = 0;
	assert_int_equal(find(scene), 3);
	assert_null(scene->heap_image.why_not_ended);
	assert_null(found(scene, CACHED));
}

static void lists_may_be_empty(void **state)
{
	struct scene *scene = *state;

	link_nodes(at(scene->heads.cache), at(scene->heads.cache));
	link_nodes(at(scene->heads.used), at(scene->heads.used));
	scene->heads.sum = 0;
	assert_int_equal(find(scene), 0);
	assert_null(scene->heap_image.why_not_ended);
}

static void expect_none(struct scene *scene)
{
	assert_int_equal(find(scene), 0);
	assert_non_null(scene->heap_image.why_not_ended);
}

/* Each word alone makes nonsense of all. */
static void whatever_contradicts_itself_is_not_believed(void **state)
{
	struct scene *scene = *state;
	struct fake_thread *cached = thread_of(scene, CACHED), *dead = thread_of(scene, DEAD);
	struct {
		uint64_t *word, value;
	} lies[] = {
		{&scene->heads.sum, 2 * STACK_BYTES},
		{&scene->heads.sum, 0},
		{&scene->heads.cache[1], at(cached->node)},
		{&scene->heads.cache[0], 0},
		{&scene->heads.cache[0], 8},
		{&scene->global, 0},
		{&scene->global, at(&scene->heads) + 4},
		{&cached->self, at(dead)},
		{&cached->node[0], at(cached->node)},
		{&cached->node[0], at(cached->node) + 8},
		{&cached->node[1], at(dead->node)},
		{&cached->block, start_of(scene, CACHED) + 8},
		{&cached->block, start_of(scene, CACHED_TOO)},
		{&cached->size, 3 * STACK_BYTES},
		{&cached->guard, STACK_BYTES},
	};

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		uint64_t truth = *lies[i].word;

		*lies[i].word = lies[i].value;
		expect_none(scene);
		*lies[i].word = truth;
	}
	assert_int_equal(find(scene), 4);
}

/* Only threads on the list of the cache are proven. */
static void a_list_of_threads_that_lies_costs_its_own_only(void **state)
{
	struct scene *scene = *state;
	struct fake_thread *dead = thread_of(scene, DEAD);
	struct {
		uint64_t *word, value;
	} lies[] = {
		{&scene->heads.used[0], UINT64_MAX},
		{&scene->heads.used[0], at(thread_of(scene, CACHED)->node)},
		{&dead->self, at(dead) + 64},
		{&dead->node[1], at(dead->node)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		uint64_t truth = *lies[i].word;

		*lies[i].word = lies[i].value;
		assert_int_equal(find(scene), 3);
		assert_non_null(scene->heap_image.why_not_ended);
		assert_null(found(scene, DEAD));
		*lies[i].word = truth;
	}
	dead->size = 0;
	assert_int_equal(find(scene), 3);
	assert_null(scene->heap_image.why_not_ended);
}

/* Without a cache, the dead must agree. */
static void stacks_are_found_from_ended_threads_alone(void **state)
{
	struct scene *scene = *state;

	make_thread(scene, RUNNING, 0, THREAD_STATE_EXITING);
	make_lists(scene);
	link_nodes(at(scene->heads.cache), at(scene->heads.cache));
	scene->heads.sum = 0;
	scene->stop.threads.count = 0;
	assert_int_equal(find(scene), 2);
	assert_null(scene->heap_image.why_not_ended);
	assert_false(found(scene, RUNNING)->cached);
	thread_of(scene, RUNNING)->size = 0;
	expect_none(scene);
}

/* Two places in the descriptor have the same value: ambiguous. */
static void what_is_ambiguous_is_not_believed(void **state)
{
	struct scene *scene = *state;

	for (size_t i = 0; i < STACKS; i++)
		memcpy(thread_of(scene, i)->padding, &thread_of(scene, i)->block,
		       3 * sizeof(uint64_t));
	expect_none(scene);
	/* One thread decides. */
	thread_of(scene, CACHED_TOO)->padding[1] = 0;
	assert_int_equal(find(scene), 4);
}

static void a_stack_that_lies_in_other_memory_is_left_out(void **state)
{
	struct scene *scene = *state;
	char *stack = scene->stacks + CACHED_TOO * STACK_BYTES;

	assert_int_equal(mprotect(stack + 2 * MEMORY_PAGE, MEMORY_PAGE, PROT_READ), 0);
	maps_free(&scene->heap_image.maps);
	assert_int_equal(maps_read(getpid(), MAPS_ALL, &scene->heap_image.maps), 0);
	assert_int_equal(find(scene), 3);
	assert_null(found(scene, CACHED_TOO));
}

/* Live threads, in the list of used stacks after those of the scene. */
static void a_process_may_have_any_number_of_threads(void **state)
{
	struct scene *scene = *state;
	uint64_t used = at(scene->heads.used), last = at(thread_of(scene, STARTING)->node);
	struct fake_thread *threads = calloc(MANY_THREADS, sizeof(*threads));

	assert_non_null(threads);
	for (size_t i = 0; i < MANY_THREADS; i++) {
		threads[i].self = at(&threads[i]);
		threads[i].tid = 100 + (uint32_t)i;
		link_nodes(last, at(threads[i].node));
		last = at(threads[i].node);
	}
	link_nodes(last, used);
	assert_int_equal(find(scene), 4);
	assert_null(scene->heap_image.why_not_ended);
	free(threads);
}

static void without_time_none_is_known(void **state)
{
	struct scene *scene = *state;
	struct deadline deadline = {.at_ns = 1};

	scene->peek->deadline = &deadline;
	expect_none(scene);
	scene->peek->deadline = NULL;
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		IN_SCENE(stacks_that_are_kept_and_those_of_the_dead_are_found),
		IN_SCENE(where_a_thread_stands_nothing_has_ended),
		IN_SCENE(stacks_of_threads_that_a_child_has_not_are_left_alone),
		IN_SCENE(lists_may_be_empty),
		IN_SCENE(whatever_contradicts_itself_is_not_believed),
		IN_SCENE(a_list_of_threads_that_lies_costs_its_own_only),
		IN_SCENE(stacks_are_found_from_ended_threads_alone),
		IN_SCENE(what_is_ambiguous_is_not_believed),
		IN_SCENE(a_stack_that_lies_in_other_memory_is_left_out),
		IN_SCENE(a_process_may_have_any_number_of_threads),
		IN_SCENE(without_time_none_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
