// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of io_uring in flight: the kernel alone has the address of their data (user_data). None
 * of it is lost.
 *
 * kind: memory that the kernel points to
 * healthy uring-in-flight:
 *   lost: 0
 */
#include <linux/io_uring.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct io_uring_sqe *entries;
static unsigned *tail, *array, mask;
static int ring;

static void submit(struct io_uring_sqe entry)
{
	unsigned at = *tail & mask;

	entries[at] = entry;
	array[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0);
}

static void __attribute__((noinline)) requests(int fd)
{
	for (int i = 0; i < 100; i++) {
		void *data = calloc(1, 1000);

		submit((struct io_uring_sqe){.opcode = IORING_OP_POLL_ADD,
					     .fd = fd,
					     .poll32_events = POLLIN,
					     .user_data = (uintptr_t)data});
	}
}

static void __attribute__((noinline)) stack_clear(void)
{
	volatile char below[16384];

	for (size_t i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

int main(void)
{
	struct io_uring_params params = {0};
	int pipes[2];
	char *submissions;

	if (pipe(pipes))
		return 1;
	ring = (int)syscall(SYS_io_uring_setup, 256, &params);
	if (ring < 0)
		return 1;
	submissions = mmap(0, params.sq_off.array + params.sq_entries * 4, PROT_READ | PROT_WRITE,
			   MAP_SHARED, ring, IORING_OFF_SQ_RING);
	entries = mmap(0, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED,
		       ring, IORING_OFF_SQES);
	tail = (unsigned *)(submissions + params.sq_off.tail);
	array = (unsigned *)(submissions + params.sq_off.array);
	mask = *(unsigned *)(submissions + params.sq_off.ring_mask);
	requests(pipes[0]);
	for (int i = 0; i < 512; i++)
		submit((struct io_uring_sqe){.opcode = IORING_OP_NOP});
	stack_clear();
	for (;;)
		pause();
}
