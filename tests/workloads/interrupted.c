// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * interrupted: functions with a first instruction that raises a signal, and a handler that leaks.
 * The byte before that instruction belongs to another function, so treating the interrupted
 * frame as a return address gives the wrong function.
 *
 *   go    leaks 10 blocks of 777 bytes, each in a handler of its own signal
 *   park  leaks one of 4242 bytes in a handler, which then waits there until `quit`
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* REG_RIP */
#endif
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <ucontext.h>

#include "workload.h"

static struct truth truth = {.sites[0] = {.function = "on_illegal"}};
static volatile bool parking;
static sem_t parked;

void neighbour(void);
void raises_at_once(void);

__asm__(".text\n"
	".type neighbour, @function\n"
	"neighbour:\n"
	"	.cfi_startproc\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size neighbour, . - neighbour\n"
	".type raises_at_once, @function\n"
	"raises_at_once:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size raises_at_once, . - raises_at_once\n");

static SITE void on_illegal(int signal, siginfo_t *info, void *context)
{
	size_t size = parking ? 4242 : 777;

	(void)signal;
	(void)info;
	OPAQUE(malloc(size));
	truth_born(&truth, 0, size);
	if (parking) {
		sem_post(&parked);
		for (;;)
			pause();
	}
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* after the ud2 */
}

static SITE void interrupted_caller(void)
{
	raises_at_once();
	OPAQUE(NULL);
}

static void go(void)
{
	for (int i = 0; i < 10; i++)
		interrupted_caller();
}

static void *stand(void *argument)
{
	interrupted_caller();
	return argument;
}

static void park(void)
{
	pthread_t thread;

	parking = true;
	if (pthread_create(&thread, NULL, stand, NULL) == 0)
		sem_wait(&parked);
}

int main(void)
{
	static const struct command commands[] = {{.name = "go", .run = go},
						  {.name = "park", .run = park}};
	struct sigaction action = {.sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO};

	sigaction(SIGILL, &action, NULL);
	sem_init(&parked, 0, 0);
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
