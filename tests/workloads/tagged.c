// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks that each are held in one way, and one that nothing holds; `truth` prints it.
 *
 *   by a tagged pointer   in a global; tagged only where the processor ignores the top byte
 *   by mapped memory      blocks so large that malloc maps each: a global holds one, that the other
 *   by a thread           its thread-local, and its value of a key (pthread_setspecific(3))
 *   by nothing            mapped, too: the kernel joins its mapping with the stack of the thread
 */
#include "workload.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__aarch64__)
#define TAG (0xa5ull << 56)
#else
#define TAG 0
#endif

#define STACK_BYTES (256u << 10)
#define GUARD_BYTES (64u << 10) /* a page of any machine */

/* volatile: otherwise a variable that is never read would be removed. */
static volatile uint64_t tagged;
static char **volatile mapped;
static __thread char *volatile local;
static pthread_key_t key;
static uint64_t lost_bytes;
static int started[2];

static SITE void hold(void)
{
	tagged = (uint64_t)malloc(1000) | TAG;
	mapped = calloc(1, 300000);
	mapped[20000] = calloc(1, 400000);
}

static SITE void hold_by_thread(void)
{
	local = malloc(3000);
	pthread_setspecific(key, malloc(5000));
}

static SITE void lose(void)
{
	char *volatile block = calloc(1, 500000);

	lost_bytes += malloc_usable_size(block);
	block = NULL;
}

/* Left-over words of calls, below and in registers, must not hold anything. */
static SITE void wipe(void)
{
	volatile char stack[16384];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
	for (size_t i = 0; i < sizeof(stack); i++)
		(void)stack[i];
}

static void *run(void *nothing)
{
	hold_by_thread();
	wipe();
	if (write(started[1], "", 1) == 1)
		pause();
	return nothing;
}

/*
 * Maps a stack as glibc does before Linux 6.7: without a mark that would keep the kernel from
 * joining mappings. The guard below shows that nothing under the stack pointer is in use.
 */
static int start_below_lost(void)
{
	char *stack = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	if (stack == MAP_FAILED || mprotect(stack, GUARD_BYTES, PROT_NONE) ||
	    pthread_attr_init(&attributes) ||
	    pthread_attr_setstack(&attributes, stack + GUARD_BYTES, STACK_BYTES))
		return -1;
	return pthread_create(&thread, &attributes, run, NULL);
}

static void go(void)
{
	char byte;

	hold();
	lose();
	if (start_below_lost() || read(started[0], &byte, 1) != 1)
		exit(1);
	wipe();
}

static void print_truth(void)
{
	say("{\"lost_blocks\":1,\"lost_bytes\":%lu,\"held_by_tag\":%d}\n", lost_bytes, TAG != 0);
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "truth", .run = print_truth, .silent = true},
	};
	static const struct truth truth = {0};

	if (pthread_key_create(&key, NULL) || pipe(started))
		return 1;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
