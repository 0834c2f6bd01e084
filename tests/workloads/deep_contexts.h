/* SPDX-License-Identifier: GPL-2.0-or-later */
// The stacks of deep without a call at their start: a signal handler's, a coroutine's.
#ifndef LEAKMON_WORKLOAD_DEEP_CONTEXTS_H
#define LEAKMON_WORKLOAD_DEEP_CONTEXTS_H

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <ctime>
#include <ucontext.h>

#include "deep.h"

// Signals: sent by a call, on the stack that runs and on another one; a fault in a function's
/* first instruction, which another function's end precedes; and one at any instruction. */
static sigjmp_buf after_fault;
static volatile sig_atomic_t ticks;

static void on_signal(int)
{
	leak(48);
}

static void on_fault(int)
{
	leak(56);
	siglongjmp(after_fault, 1);
}

static void on_tick(int)
{
	leak(40);
	ticks = ticks + 1;
}

#if defined(__aarch64__)
#define FAULT ".balign 4\nfault_at_once:\n.cfi_startproc\nudf #0\n"
#else
#define FAULT "fault_at_once:\n.cfi_startproc\nud2\n"
#endif

extern "C" void fault_at_once();
__asm__(".text\n.type fault_at_once, @function\n" FAULT ".cfi_endproc\n"
	".size fault_at_once, . - fault_at_once\n");

static void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = {};

	action.sa_handler = handler;
	action.sa_flags = flags;
	sigaction(signal, &action, nullptr);
}

SITE static unsigned leaf_work(unsigned seed, unsigned rounds)
{
	while (rounds--)
		seed = seed * 1103515245 + 12345;
	return seed;
}

SITE static unsigned work(unsigned seed)
{
	char text[32];

	for (unsigned i = 0; i < 16; i++) {
		seed = leaf_work(seed, 20);
		memset(text, (int)seed, opaque(sizeof(text)));
		seed += (unsigned)strlen(strncpy(text, "some words", opaque(sizeof(text))));
	}
	return seed;
}

// Shots one by one, at odd times: a slow handler would leave no time to a periodic timer's victim,
// and would hit it at the same instruction again and again.
static void interrupted_anywhere()
{
	unsigned seed = work(1); // once beforehand: then libc's functions are bound
	struct sigevent event = {};
	timer_t timer;

	ticks = 0;
	handle(SIGUSR2, on_tick, SA_RESTART);
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGUSR2;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		return;
	for (sig_atomic_t shot = 0; shot < 50; shot++) {
		struct itimerspec soon = {{0, 0}, {0, 20000 + seed % 30000}};

		timer_settime(timer, 0, &soon, nullptr);
		while (ticks == shot)
			seed = work(seed);
	}
	timer_delete(timer);
	opaque(seed);
}

static void signals()
{
	static char memory[65536];
	stack_t stack = {};

	stack.ss_sp = memory;
	stack.ss_size = sizeof(memory);
	sigaltstack(&stack, nullptr);
	handle(SIGUSR1, on_signal, 0);
	raise(SIGUSR1);
	handle(SIGUSR1, on_signal, SA_ONSTACK);
	raise(SIGUSR1);
	handle(SIGILL, on_fault, SA_NODEFER);
	if (!sigsetjmp(after_fault, 1))
		fault_at_once();
	interrupted_anywhere();
}

// A stack of our own making.
static ucontext_t outside, inside;

static void coroutine()
{
	leak(72);
	swapcontext(&inside, &outside);
	leak(80);
}

static void coroutines()
{
	static char stack[65536];

	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	swapcontext(&outside, &inside);
	swapcontext(&outside, &inside);
}

#endif
