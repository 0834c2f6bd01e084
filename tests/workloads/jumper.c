// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jumper: allocator calls that are interrupted by a signal handler on an alternate stack. The fault
 * is posix_memalign's store through its out-pointer into a read-only page: by then the allocator
 * holds no lock and its heap is consistent, so the handler may allocate and may jump away.
 *
 *   altstack      raise(): the handler allocates 3 blocks of 48 bytes
 *   nested_low    posix_memalign(…, 500) faults; the handler, on a stack below the thread's own,
 *                 allocates 2 blocks of 56 bytes and lets the call finish: 3 blocks outstanding
 *   nested_high   the same with a handler stack above the interrupted frame. Under return probes
 *                 the kernel kills a process that does this (arch_uretprobe_is_alive compares stack
 *                 pointers and knows no alternate stack): not for a test, but to show the limit
 *   longjmp       posix_memalign(…, 600) faults and is left by siglongjmp: a call that never
 *                 returns; then 1 block of 72 bytes
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "workload.h"

enum { HANDLER, INTERRUPTED, AFTER_JUMP };

static struct truth truth = {
	.sites =
		{
			[HANDLER] = {.function = "handler_allocate"},
			[INTERRUPTED] = {.function = "interrupted_allocate"},
			[AFTER_JUMP] = {.function = "after_jump_allocate"},
		},
};
static void **read_only; /* a separate page */
static volatile bool jump_away;
static sigjmp_buf back;
static char low_stack[65536];
static char *high_stack;

static SITE void handler_allocate(size_t size)
{
	OPAQUE(malloc(size));
	truth_born(&truth, HANDLER, size);
}

static SITE void interrupted_allocate(size_t size)
{
	if (OPAQUE(posix_memalign(read_only, 64, size)))
		_exit(113);
	truth_born(&truth, INTERRUPTED, size);
}

static SITE void after_jump_allocate(void)
{
	OPAQUE(malloc(72));
	truth_born(&truth, AFTER_JUMP, 72);
}

static void on_raise(int signal)
{
	(void)signal;
	for (int i = 0; i < 3; i++)
		handler_allocate(48);
}

static void on_fault(int signal)
{
	(void)signal;
	if (jump_away)
		siglongjmp(back, 1);
	handler_allocate(56);
	handler_allocate(56);
	mprotect(read_only, 4096, PROT_READ | PROT_WRITE);
}

static void use_stack(char *stack)
{
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(low_stack)};

	if (sigaltstack(&alternate, NULL) || mprotect(read_only, 4096, PROT_READ))
		_exit(115);
}

static void altstack(void)
{
	use_stack(low_stack);
	raise(SIGUSR2);
}

static SITE void nested_low(void)
{
	use_stack(low_stack);
	interrupted_allocate(500);
}

static SITE void nested_high(void)
{
	use_stack(high_stack);
	interrupted_allocate(500);
}

static SITE void jump(void)
{
	use_stack(low_stack);
	jump_away = true;
	if (!sigsetjmp(back, 1))
		interrupted_allocate(600);
	jump_away = false;
	truth.abandoned++;
	after_jump_allocate();
}

static void handle(int signal, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	sigaction(signal, &action, NULL);
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "altstack", .run = altstack},
		{.name = "nested_low", .run = nested_low},
		{.name = "nested_high", .run = nested_high},
		{.name = "longjmp", .run = jump},
	};
	char in_this_frame[sizeof(low_stack)];

	high_stack = OPAQUE(in_this_frame);
	read_only = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (read_only == MAP_FAILED)
		return 1;
	handle(SIGUSR2, on_raise);
	handle(SIGSEGV, on_fault);
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
