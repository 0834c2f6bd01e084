// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * in_kernel: blocks whose addresses only the kernel has. `truth` prints, for each kind of holder,
 * the number of its blocks: 0 if this kernel lacks a requirement. The addresses of 7 more blocks
 * are nowhere.
 */
#include "workload.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <malloc.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define LOST 7
#define THREADS 5
#define POLLS 100
#define TIMEOUTS 10
#define READS 4
#define WAITING_READS 3
#define FAR_POLLS 10
#define DEFERRED 5
#define CALLS 20
#define SIGNALS 10
/* Twice as many completions have room; more overflow. */
#define SMALL_RING 4
#define COMPLETIONS 20
#define UNSUBMITTED 2

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif

struct ring {
	int fd;
	unsigned *sq_tail, *sq_array, *cq_head, *cq_tail, mask, entries;
	struct io_uring_sqe *sqes;
};

enum kind {
	STACK,
	REQUEST,
	QUEUE,
	BUFFER,
	AIO,
	SIGNAL,
	NOTICE,
	SELECTOR,
	CHILD_TID,
	FUTEXES,
	KINDS
};

static const char *const names[KINDS] = {
	[STACK] = "alternate signal stack",
	[REQUEST] = "io_uring request",
	[QUEUE] = "io_uring queue",
	[BUFFER] = "io_uring buffer",
	[AIO] = "AIO request",
	[SIGNAL] = "pending signal",
	[NOTICE] = "message queue",
	[SELECTOR] = "system call selector",
	[CHILD_TID] = "thread ID to clear",
	[FUTEXES] = "list of robust futexes",
};

static unsigned held[KINDS], parked, drained;
static uint64_t lost_bytes;
static int empty_pipe[2];
static struct ring requests;

/* Allocates a distinct size for each kind. */
static SITE void *block(enum kind kind)
{
	return opaque_pointer(calloc(1, 4096 + 64 * (unsigned)kind));
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

static bool ring_open(struct ring *ring, unsigned entries, unsigned flags)
{
	struct io_uring_params params = {.flags = flags};
	int protection = PROT_READ | PROT_WRITE;
	char *queues;

	ring->fd = (int)syscall(SYS_io_uring_setup, entries, &params);
	if (ring->fd < 0)
		return false;
	queues = mmap(NULL,
		      params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe) +
			      params.sq_entries * sizeof(unsigned),
		      protection, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
	ring->entries = params.sq_entries;
	ring->sqes = mmap(NULL, ring->entries * sizeof(*ring->sqes), protection, MAP_SHARED,
			  ring->fd, IORING_OFF_SQES);
	if (queues == MAP_FAILED || ring->sqes == MAP_FAILED)
		return false;
	ring->sq_tail = (unsigned *)(queues + params.sq_off.tail);
	ring->sq_array = (unsigned *)(queues + params.sq_off.array);
	ring->cq_head = (unsigned *)(queues + params.cq_off.head);
	ring->cq_tail = (unsigned *)(queues + params.cq_off.tail);
	ring->mask = ring->entries - 1;
	return true;
}

static void ring_put(struct ring *ring, struct io_uring_sqe sqe)
{
	unsigned at = *ring->sq_tail & ring->mask;

	ring->sqes[at] = sqe;
	ring->sq_array[at] = at;
	__atomic_store_n(ring->sq_tail, *ring->sq_tail + 1, __ATOMIC_RELEASE);
}

static bool ring_submit(struct ring *ring, unsigned count)
{
	return syscall(SYS_io_uring_enter, ring->fd, count, 0, 0, NULL, 0) == count;
}

/* Removes submitted and completed requests from the process's own memory. */
static void ring_forget(struct ring *ring)
{
	for (unsigned i = 0; i < 4 * ring->entries; i++) {
		ring_put(ring, (struct io_uring_sqe){.opcode = IORING_OP_NOP});
		ring_submit(ring, 1);
		*ring->cq_head = *ring->cq_tail;
	}
}

static SITE bool poll_once(struct ring *ring, int fd)
{
	ring_put(ring, (struct io_uring_sqe){.opcode = IORING_OP_POLL_ADD,
					     .fd = fd,
					     .poll32_events = POLLIN,
					     .user_data = (uintptr_t)block(REQUEST)});
	return ring_submit(ring, 1);
}

/* Its end is on the ring's list of timeouts. */
static SITE bool time_out_once(struct ring *ring)
{
	static const struct __kernel_timespec hour = {.tv_sec = 3600};

	ring_put(ring, (struct io_uring_sqe){.opcode = IORING_OP_TIMEOUT,
					     .addr = (uintptr_t)&hour,
					     .len = 1,
					     .off = 1u << 30, /* completions */
					     .user_data = (uintptr_t)block(REQUEST)});
	return ring_submit(ring, 1);
}

/* Reads into a block; `flags`: of the request. Another request with a separate block follows it. */
static SITE bool read_once(struct ring *ring, unsigned flags)
{
	ring_put(ring, (struct io_uring_sqe){.opcode = IORING_OP_READ,
					     .flags = (uint8_t)(flags | IOSQE_IO_LINK),
					     .fd = empty_pipe[0],
					     .addr = (uintptr_t)block(REQUEST) + 8,
					     .len = 16,
					     .user_data = (uintptr_t)block(REQUEST)});
	ring_put(ring, (struct io_uring_sqe){.opcode = IORING_OP_NOP,
					     .user_data = (uintptr_t)block(REQUEST)});
	return ring_submit(ring, 2);
}

static SITE void request(struct ring *ring)
{
	for (int i = 0; i < POLLS; i++)
		held[REQUEST] += poll_once(ring, empty_pipe[0]);
	for (int i = 0; i < TIMEOUTS; i++)
		held[REQUEST] += time_out_once(ring);
	for (int i = 0; i < READS; i++)
		held[REQUEST] += 3 * read_once(ring, 0);
	/* Each is done by a worker. */
	for (int i = 0; i < WAITING_READS; i++)
		held[REQUEST] += 3 * read_once(ring, IOSQE_ASYNC);
	ring_forget(ring);
}

/* A ring without a descriptor, which its thread has registered. */
static SITE void request_far(void)
{
	struct io_uring_rsrc_update update = {.offset = -1u};
	struct ring ring;

	if (!ring_open(&ring, 64, 0))
		return;
	update.data = (unsigned)ring.fd;
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_RING_FDS, &update, 1) == 1) {
		for (int i = 0; i < FAR_POLLS; i++)
			held[REQUEST] += poll_once(&ring, empty_pipe[0]);
		ring_forget(&ring);
	}
	close(ring.fd);
}

/* Requests whose event has come, but which complete only when their thread asks for completions. */
static SITE void request_deferred(void)
{
	struct ring ring;
	int fds[2];

	if (!ring_open(&ring, 64, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN) ||
	    pipe(fds))
		return;
	for (int i = 0; i < DEFERRED; i++)
		held[REQUEST] += poll_once(&ring, fds[0]);
	ring_forget(&ring);
	if (write(fds[1], "", 1) != 1)
		exit(1);
}

/* Completions in the ring, overflowing ones, and requests written but not submitted. */
static SITE void queue(void)
{
	struct ring ring;

	if (!ring_open(&ring, SMALL_RING, 0))
		return;
	for (int i = 0; i < COMPLETIONS; i++) {
		ring_put(&ring, (struct io_uring_sqe){.opcode = IORING_OP_NOP,
						      .user_data = (uintptr_t)block(QUEUE)});
		held[QUEUE] += ring_submit(&ring, 1);
	}
	memset(ring.sqes, 0, ring.entries * sizeof(*ring.sqes));
	for (int i = 0; i < UNSUBMITTED; i++)
		ring_put(&ring, (struct io_uring_sqe){.opcode = IORING_OP_NOP,
						      .user_data = (uintptr_t)block(QUEUE)});
	held[QUEUE] += UNSUBMITTED;
}

/* Requests on a list that leakmon does not read: it only knows their number. */
static SITE void drain(void)
{
	ring_put(&requests, (struct io_uring_sqe){.opcode = IORING_OP_NOP,
						  .flags = IOSQE_IO_DRAIN,
						  .user_data = (uintptr_t)block(REQUEST)});
	drained += ring_submit(&requests, 1);
	memset(requests.sqes, 0, requests.entries * sizeof(*requests.sqes));
	wipe();
}

static SITE void register_buffer(struct ring *ring)
{
	struct {
		void *base;
		size_t length;
	} buffer = {block(BUFFER), 4096};

	held[BUFFER] +=
		!syscall(SYS_io_uring_register, ring->fd, IORING_REGISTER_BUFFERS, &buffer, 1);
	buffer.base = opaque_pointer(NULL);
}

static SITE bool aio_once(aio_context_t context)
{
	struct iocb *iocb = block(AIO);

	iocb->aio_lio_opcode = IOCB_CMD_POLL;
	iocb->aio_fildes = (unsigned)empty_pipe[0];
	iocb->aio_buf = POLLIN;
	iocb->aio_data = (uintptr_t)block(AIO);
	if (syscall(SYS_io_submit, context, 1, &iocb) != 1)
		return false;
	iocb->aio_data = 0;
	return true;
}

static SITE void call(void)
{
	aio_context_t context = 0;

	if (syscall(SYS_io_setup, CALLS, &context))
		return;
	for (int i = 0; i < CALLS; i++)
		held[AIO] += 2 * aio_once(context);
}

static SITE void send_signals(void)
{
	for (int i = 0; i < SIGNALS; i++)
		held[SIGNAL] +=
			!sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_ptr = block(SIGNAL)});
}

static SITE void ask_for_notice(void)
{
	struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
	mqd_t messages;

	messages = mq_open("/leakmon-in-kernel", O_CREAT | O_RDONLY, 0600, &attributes);
	if (messages < 0)
		return;
	mq_unlink("/leakmon-in-kernel");
	event.sigev_value.sival_ptr = block(NOTICE);
	held[NOTICE] += !mq_notify(messages, &event);
	event.sigev_value.sival_ptr = opaque_pointer(NULL);
}

static SITE void take_stack(void)
{
	stack_t stack = {.ss_sp = block(STACK), .ss_size = 4096};

	__atomic_fetch_add(&held[STACK], !sigaltstack(&stack, NULL), __ATOMIC_RELAXED);
	stack.ss_sp = opaque_pointer(NULL);
}

static SITE void give_selector(void)
{
	held[SELECTOR] +=
		!prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, block(SELECTOR));
}

static SITE void give_tid(void)
{
	held[CHILD_TID] += syscall(SYS_set_tid_address, block(CHILD_TID)) > 0;
}

static SITE void give_futexes(void)
{
	held[FUTEXES] += !syscall(SYS_set_robust_list, block(FUTEXES), 3 * sizeof(void *));
}

static void park(void)
{
	wipe();
	__atomic_fetch_add(&parked, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static void *thread(void *what)
{
	take_stack();
	if (!what) {
		give_tid();
		give_futexes();
		give_selector();
	}
	park();
	return NULL;
}

static SITE void lose(void)
{
	for (int i = 0; i < LOST; i++)
		lost_bytes += malloc_usable_size(opaque_pointer(calloc(1, 1000)));
}

static void go(void)
{
	sigset_t blocked;
	pthread_t threads[THREADS];

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	if (pipe(empty_pipe))
		exit(1);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	if (ring_open(&requests, 256, 0)) {
		request(&requests);
		register_buffer(&requests);
		request_far();
		request_deferred();
		queue();
	}
	call();
	send_signals();
	ask_for_notice();
	lose();
	while (__atomic_load_n(&parked, __ATOMIC_ACQUIRE) < THREADS)
		sched_yield();
	wipe();
}

static void print_truth(void)
{
	say("{\"lost_blocks\":%d,\"lost_bytes\":%lu,\"drained\":%u,\"kinds\":[", LOST, lost_bytes,
	    drained);
	for (int i = 0; i < KINDS; i++)
		say("%s{\"name\":\"%s\",\"blocks\":%u}", i ? "," : "", names[i], held[i]);
	say("]}\n");
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "drain", .run = drain},
		{.name = "truth", .run = print_truth, .silent = true},
	};
	static const struct truth truth = {0};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
