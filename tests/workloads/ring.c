// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program with an io_uring and kernel threads in the process (IORING_SETUP_SQPOLL: one that polls
 * for requests, without a system call).
 *
 *   go      allocates 100 blocks of 64 bytes        nops    1,000 requests, each answered
 *   ring    whether the kernel supports such a ring: {"ring": 1}
 */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "workload.h"

#define ENTRIES 8
#define NOPS 1000

enum { SITE_GO };

static struct truth truth = {.sites = {[SITE_GO] = {.function = "go"}}};
static struct io_uring_params parameters;
static char *submissions, *completions;
static struct io_uring_sqe *requests;
static int ring;
static bool offered;

SITE static void go(void)
{
	for (size_t i = 0; i < 100; i++) {
		truth.sites[SITE_GO].line = __LINE__ + 1;
		if (OPAQUE(malloc(64)))
			truth_born(&truth, SITE_GO, 64);
	}
}

static unsigned *field(char *area, unsigned offset)
{
	return (unsigned *)(void *)(area + offset);
}

static bool ring_open(void)
{
	size_t bytes;

	parameters.flags = IORING_SETUP_SQPOLL;
	parameters.sq_thread_idle = 100;
	ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &parameters);
	if (ring < 0)
		return false;
	bytes = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
	submissions = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
			   IORING_OFF_SQ_RING);
	bytes = parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe);
	completions = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
			   IORING_OFF_CQ_RING);
	requests = mmap(NULL, parameters.sq_entries * sizeof(*requests), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	return submissions != MAP_FAILED && completions != MAP_FAILED && requests != MAP_FAILED;
}

/* The next request goes to the kernel's thread, which may have fallen asleep. */
static void submit(unsigned number)
{
	unsigned tail = *field(submissions, parameters.sq_off.tail);
	unsigned at = tail & *field(submissions, parameters.sq_off.ring_mask);

	requests[at] = (struct io_uring_sqe){.opcode = IORING_OP_NOP, .user_data = number};
	field(submissions, parameters.sq_off.array)[at] = at;
	__atomic_store_n(field(submissions, parameters.sq_off.tail), tail + 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(field(submissions, parameters.sq_off.flags), __ATOMIC_SEQ_CST) &
	    IORING_SQ_NEED_WAKEUP)
		syscall(SYS_io_uring_enter, ring, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
}

/* Returns 0 or the result of the request. */
static int wait_for_answer(unsigned number)
{
	unsigned *head = field(completions, parameters.cq_off.head);
	unsigned mask = *field(completions, parameters.cq_off.ring_mask);
	const struct io_uring_cqe *answers = (void *)(completions + parameters.cq_off.cqes);
	int result;

	while (*head ==
	       __atomic_load_n(field(completions, parameters.cq_off.tail), __ATOMIC_ACQUIRE))
		sched_yield();
	result = answers[*head & mask].user_data == number ? answers[*head & mask].res : -EPROTO;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

static void nops(void)
{
	for (unsigned i = 0; i < NOPS; i++) {
		submit(i);
		if (wait_for_answer(i))
			_exit(1);
	}
}

static void print_truth(void)
{
	say("{\"ring\": %d}\n", offered);
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "nops", .run = nops},
		{.name = "ring", .run = print_truth, .silent = true},
	};

	offered = ring_open();
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
