// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long a process is stopped for a heap image: every part ends in time, and nothing stays
 * stopped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/allocators/glibc_walk.h"
#include "heap/allocators/heap_image.h"
#include "heap/allocators/heap_image_zones.h"
#include "process/proc/process_list.h"

#define THREADS 40
#define LONG_NS 60000000000ull

/* Counters of the child's threads. */
struct shared {
	atomic_ulong turns[THREADS];
	atomic_uint ready;
};

struct fixture {
	struct shared *shared;
	pid_t child;
};

static struct shared *shared;

static void *take_turns(void *argument)
{
	const struct timespec pause = {.tv_nsec = 100000};

	atomic_fetch_add(&shared->ready, 1);
	for (;;) {
		atomic_fetch_add(&shared->turns[(uintptr_t)argument], 1);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void be_child(bool main_ends)
{
	pthread_attr_t attributes;
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread, &attributes, take_turns, (void *)i);
	if (main_ends)
		pthread_exit(NULL);
	for (;;)
		pause();
}

static int start(void **state, bool main_ends)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	fixture->shared = shared;
	fixture->child = fork();
	if (!fixture->child)
		be_child(main_ends);
	while (atomic_load(&shared->ready) < THREADS)
		usleep(1000);
	*state = fixture;
	return 0;
}

static int setup(void **state)
{
	return start(state, false);
}

static int setup_without_main(void **state)
{
	const struct fixture *fixture;
	int error = start(state, true);

	fixture = *state;
	while (process_task_state(fixture->child, fixture->child) != 'Z')
		usleep(1000);
	return error;
}

/* A program without the terabytes that the address sanitizer maps. */
static int setup_program(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char path[64], comm[16] = "";

	fixture->child = fork();
	if (!fixture->child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	snprintf(path, sizeof(path), "/proc/%d/comm", fixture->child);
	while (strcmp(comm, "sleep\n") != 0) {
		FILE *file = fopen(path, "r");

		assert_non_null(file);
		assert_non_null(fgets(comm, sizeof(comm), file));
		fclose(file);
		usleep(1000);
	}
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	kill(fixture->child, SIGKILL);
	waitpid(fixture->child, NULL, 0);
	if (fixture->shared)
		munmap(fixture->shared, sizeof(*fixture->shared));
	free(fixture);
	return 0;
}

static unsigned long turns(const struct fixture *fixture)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < THREADS; i++)
		sum += atomic_load(&fixture->shared->turns[i]);
	return sum;
}

/* Every thread runs, and none is traced. */
static void expect_all_run(const struct fixture *fixture)
{
	for (size_t i = 0; i < THREADS; i++) {
		unsigned long before = atomic_load(&fixture->shared->turns[i]);

		for (int tries = 0; tries < 10000; tries++) {
			if (atomic_load(&fixture->shared->turns[i]) != before)
				break;
			usleep(1000);
		}
		assert_true(atomic_load(&fixture->shared->turns[i]) != before);
	}
}

static int tracer_of(pid_t pid)
{
	char path[64], line[256];
	FILE *file;
	int tracer = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "TracerPid: %d", &tracer);
	fclose(file);
	return tracer;
}

/* As stop.h requires: by a thread that ends. */
struct holding {
	const struct fixture *fixture;
	uint64_t max_pause_ns;
	size_t threads;
	unsigned long before, after;
	uint64_t stood_ns;
	int error;
};

static void *hold(void *argument)
{
	struct holding *holding = argument;
	struct stop stop;

	holding->error = stop_process(holding->fixture->child, holding->max_pause_ns, &stop);
	holding->threads = stop.threads.count;
	holding->before = turns(holding->fixture);
	if (!holding->error)
		usleep(5000);
	holding->after = turns(holding->fixture);
	stop_resume(&stop);
	holding->stood_ns = stop.ended_ns - stop.began_ns;
	stop_free(&stop);
	return NULL;
}

static void hold_by_thread(struct holding *holding)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, hold, holding), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void all_threads_stand_until_they_are_let_go(void **state)
{
	struct fixture *fixture = *state;
	struct holding holding = {.fixture = fixture, .max_pause_ns = LONG_NS};

	hold_by_thread(&holding);
	assert_int_equal(holding.error, 0);
	assert_int_equal(holding.threads, THREADS + 1);
	assert_int_equal(holding.after, holding.before);
	assert_true(holding.stood_ns >= 5000000);
	expect_all_run(fixture);
	assert_int_equal(tracer_of(fixture->child), 0);
}

static void a_stop_that_takes_too_long_holds_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct holding holding = {.fixture = fixture, .max_pause_ns = 1};

	hold_by_thread(&holding);
	assert_int_equal(holding.error, -ETIMEDOUT);
	expect_all_run(fixture);
	assert_int_equal(tracer_of(fixture->child), 0);
}

/* It is listed while the others live, and cannot be traced. */
static void a_main_thread_that_has_ended_is_no_refusal(void **state)
{
	struct fixture *fixture = *state;
	struct holding holding = {.fixture = fixture, .max_pause_ns = LONG_NS};

	hold_by_thread(&holding);
	assert_int_equal(holding.error, 0);
	assert_int_equal(holding.threads, THREADS);
	assert_int_equal(holding.after, holding.before);
	expect_all_run(fixture);
}

static void a_picture_that_takes_too_long_is_one_without_a_stop(void **state)
{
	struct fixture *fixture = *state;
	const struct heap_image_options options = {.max_pause_ns = 1, .threads = 1};
	struct heap_image heap_image = {0};

	assert_int_equal(heap_image_take(fixture->child, &options, &heap_image), 0);
	assert_false(heap_image.stopped);
	assert_non_null(heap_image.why_not_stopped);
	assert_non_null(strstr(heap_image.why_not_stopped, "--max-pause"));
	assert_int_equal(heap_image.threads.count, 1);
	assert_int_equal(heap_image.threads.items[0].stack_words, 0);
	heap_image_free(&heap_image);
	assert_int_equal(tracer_of(fixture->child), 0);
}

static void a_picture_of_a_process_that_stands_has_its_stacks(void **state)
{
	struct fixture *fixture = *state;
	const struct heap_image_options options = {.max_pause_ns = LONG_NS, .threads = 1};
	struct heap_image heap_image = {0};

	assert_int_equal(heap_image_take(fixture->child, &options, &heap_image), 0);
	assert_true(heap_image.stopped);
	assert_int_equal(heap_image.stacks_missing, 0);
	assert_int_equal(heap_image.threads.count, 1);
	assert_string_equal(heap_image.threads.items[0].comm, "sleep");
	assert_true(heap_image.threads.items[0].stack_words > 0);
	heap_image_free(&heap_image);
	assert_int_equal(tracer_of(fixture->child), 0);
}

/* Counts the calls, and agrees at the `ready_at`-th. */
struct readiness {
	unsigned asked, ready_at;
	pid_t child;
	bool ran; /* while it was asked */
};

static bool is_ready(void *context)
{
	struct readiness *readiness = context;

	readiness->ran |= !tracer_of(readiness->child);
	return ++readiness->asked == readiness->ready_at;
}

static void at_a_bad_moment_it_goes_on_and_is_stopped_again(void **state)
{
	/* The last process is never ready: in the end it is read nevertheless. */
	static const unsigned ready_at[] = {1, 4, 0};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(ready_at); i++) {
		struct readiness readiness = {.ready_at = ready_at[i], .child = fixture->child};
		const struct heap_image_options options = {.max_pause_ns = LONG_NS,
							   .threads = 1,
							   .keep = true,
							   .is_ready = is_ready,
							   .context = &readiness};
		struct heap_image heap_image = {0};

		assert_int_equal(heap_image_take(fixture->child, &options, &heap_image), 0);
		assert_true(heap_image.stopped);
		if (ready_at[i])
			assert_int_equal(heap_image.stops_repeated, ready_at[i] - 1);
		assert_int_equal(readiness.asked, heap_image.stops_repeated + 1);
		assert_int_equal(heap_image.unready, !ready_at[i]);
		assert_false(readiness.ran);
		assert_int_equal(heap_image.threads.count, 1);
		heap_image_free(&heap_image);
		assert_int_equal(tracer_of(fixture->child), 0);
	}
}

/* A loop with an expired deadline; its state is that of this process. */
static int read_mappings(struct peek *peek)
{
	struct maps maps = {0};

	return maps_read_until(getpid(), peek->deadline, &maps);
}

static int refresh_arenas(struct peek *peek)
{
	static const struct malloc_layout layout = {.size = 16};
	struct malloc_arena arena = {.address = (uintptr_t)&arena & ~7ull, .layout = &layout};
	struct malloc_arenas arenas = {0};
	struct filter heaps = {0};
	int error;

	arena.main = true;
	*(struct malloc_arena *)vec_push(&arenas.list) = arena;
	error = malloc_arenas_refresh(peek, &heaps, &arenas);
	assert_int_equal(arenas.list.count, 1);
	vec_free(&arenas.list);
	return error;
}

static int finish_walk(struct peek *peek)
{
	uint64_t heap[8] = {0, 0x21};
	struct heap_span span = {.start = (uintptr_t)heap, .end = (uintptr_t)(heap + 8)};
	int error;

	span.next = span.start;
	error = heap_span_finish(&span, peek);
	assert_false(span.broken);
	vec_free(&span.chunks);
	return error;
}

static int mend_walk(struct peek *peek)
{
	uint64_t heap[8] = {0, 0x21};
	struct page_table table = {0};
	struct heap_span older = {.start = (uintptr_t)heap, .end = (uintptr_t)(heap + 8)};
	struct heap_span span = older;
	int error;

	span.next = span.start;
	error = heap_span_mend(&span, &older, &table, peek);
	assert_false(span.broken);
	vec_free(&span.chunks);
	return error;
}

static int add_threads(struct peek *peek)
{
	struct heap_image heap_image = {.pid = getpid()};
	struct stop stop = {0};
	int error;

	((struct stopped_thread *)vec_push(&stop.threads))->tid = getpid();
	error = zones_add_threads(&heap_image, &stop, peek, peek->deadline);
	assert_int_equal(heap_image.threads.count, 0);
	stop_free(&stop);
	heap_image_free(&heap_image);
	return error;
}

/* Only names need them: they are counted instead. */
static int copy_stacks(struct peek *peek)
{
	struct heap_image heap_image = {.pid = getpid()};
	size_t missing;
	int error;

	vec_push(&heap_image.threads);
	vec_push(&heap_image.threads);
	error = stacks_copy(&heap_image, -1, peek->deadline, &missing);
	heap_image_free(&heap_image);
	return error ? error : missing == 2 ? -ETIMEDOUT : 0;
}

/* A list of chunks that leads to itself is as long as one likes. */
static int follow_free_chunks(struct peek *peek)
{
	uint64_t heap[8] __attribute__((aligned(16))) = {0, 0x21};
	struct heap_spans spans = {0};
	struct malloc_arenas arenas = {0};
	struct free_chunks free_chunks = {0};
	struct heap_span *span = vec_push(&spans.list);
	struct malloc_arena *arena = vec_push(&arenas.list);
	int error;

	span->start = (uintptr_t)heap;
	span->end = (uintptr_t)(heap + 8);
	heap[2] = span->start;
	arena->fastbins[0] = span->start;
	error = free_lists_add_fastbins(&free_chunks, peek, &arenas, &spans);
	assert_int_equal(free_chunks.list.count, 0);
	free_lists_free(&free_chunks);
	vec_free(&arenas.list);
	heap_spans_free(&spans);
	return error ? error : peek->deadline->passed ? -ETIMEDOUT : 0;
}

static void every_loop_of_a_pause_ends_with_it(void **state)
{
	int (*const loops[])(struct peek *) = {read_mappings,	  refresh_arenas, finish_walk,
					       mend_walk,	  add_threads,	  copy_stacks,
					       follow_free_chunks};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
		struct deadline deadline = {.at_ns = 1};
		struct peek peek = {
			.source = live_memory(getpid()), .pagemap = -1, .deadline = &deadline};

		peek_forget(&peek);
		assert_int_equal(loops[i](&peek), -ETIMEDOUT);
		peek_free(&peek);
	}
}

int main(void)
{
#define WITH_CHILD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define WITH_PROGRAM(test) cmocka_unit_test_setup_teardown(test, setup_program, teardown)
	const struct CMUnitTest tests[] = {
		WITH_CHILD(all_threads_stand_until_they_are_let_go),
		WITH_CHILD(a_stop_that_takes_too_long_holds_nothing),
		cmocka_unit_test_setup_teardown(a_main_thread_that_has_ended_is_no_refusal,
						setup_without_main, teardown),
		WITH_PROGRAM(a_picture_that_takes_too_long_is_one_without_a_stop),
		WITH_PROGRAM(a_picture_of_a_process_that_stands_has_its_stacks),
		WITH_PROGRAM(at_a_bad_moment_it_goes_on_and_is_stopped_again),
		cmocka_unit_test(every_loop_of_a_pause_ends_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
