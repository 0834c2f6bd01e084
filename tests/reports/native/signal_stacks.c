// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Report: llvm/llvm-project#63313, and each BEAM: signal stacks from malloc, which the kernel alone
 * knows. None of them is lost.
 *
 * kind: memory that the kernel points to
 * healthy signal-stacks:
 *   lost: 0
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void *work(void *unused)
{
	stack_t stack = {.ss_size = 14528, .ss_sp = calloc(1, 14528)};

	sigaltstack(&stack, NULL);
	stack.ss_sp = NULL;
	__asm__ volatile("" ::: "memory");
	for (;;)
		pause();
	return unused;
}

static void __attribute__((noinline)) stack_clear(void)
{
	volatile char below[8192];

	for (size_t i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

int main(void)
{
	pthread_t thread;

	for (int i = 0; i < 5; i++)
		pthread_create(&thread, NULL, work, NULL);
	stack_clear();
	for (;;)
		pause();
}
