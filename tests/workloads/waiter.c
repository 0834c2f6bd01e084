// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waiter [FILTER]: a thread in each kind of system call that blocks, for an hour or for ever. None
 * of them has a signal handler, so none may return: a stop and release of the process must go
 * unnoticed. Calls that return all the same are counted and repeated.
 *
 * FILTER: strict kills the process when it calls restart_syscall(2), errno fails that call with
 * EPERM, lenient allows all.
 *
 *   start  makes the threads, and waits until each is in its call
 *   more   an epoll_wait() that is interrupted a thousand times a second, by a signal that has a
 *          handler: each time it must fail with EINTR
 *   vfork  a thread that waits for its vfork child for a minute, uninterruptibly
 *   sleep  sleeps for a second
 *          {"ms": N, "error": 0}
 *   truth  {"calls": [{"kind": "poll", "returns": 0, "error": 0}, ...], "interrupted": {"handled":
 *          N, "failed": N, "others": 0}}
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_OFD_SETLKW, unshare() */
#endif
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "calls_32.h"
#include "raw_call.h"
#include "workload.h"

#define HOUR_S 3600
#define HOUR_MS (HOUR_S * 1000)

static const struct timespec hour = {.tv_sec = HOUR_S};
static char directory[] = "/tmp/waiter-XXXXXX";

static const char *in_directory(const char *name)
{
	static _Thread_local char path[64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static bool has_calls_32;

/* Makes a system call like a 32-bit program; pointers must be below 4 GiB. */
static long call_32(long number, long a, long b, long c, long d)
{
	long result;

	if (!has_calls_32)
		return -ENOSYS;
#if defined(__x86_64__)
	__asm__ volatile("push %%rbx\n"
			 "mov %[first], %%rbx\n"
			 "int $0x80\n"
			 "pop %%rbx\n"
			 : "=a"(result)
			 : "0"(number), [first] "r"(a), "c"(b), "d"(c), "S"(d)
			 : "r8", "r9", "r10", "r11", "memory");
#else
	(void)number, (void)a, (void)b, (void)c, (void)d;
	result = -ENOSYS;
#endif
	return (int)result;
}

static void *low_memory(void)
{
#if !defined(MAP_32BIT)
#define MAP_32BIT 0 /* without 32-bit calls it may lie anywhere */
#endif
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1,
		    0);
}

/* A socket without input, with a time limit on its calls. */
static int timed_socket(int option)
{
	const struct timeval limit = {.tv_sec = HOUR_S};
	int ends[2];

	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	setsockopt(ends[0], SOL_SOCKET, option, &limit, sizeof(limit));
	return ends[0];
}

static int listener(bool timed, const char *name, struct sockaddr_un *address)
{
	const struct timeval limit = {.tv_sec = HOUR_S};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof(address->sun_path), "%s", in_directory(name));
	bind(fd, (struct sockaddr *)address, sizeof(*address));
	listen(fd, 0);
	if (timed)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

static int empty_pipe(void)
{
	int ends[2];

	return pipe(ends) ? -1 : ends[0];
}

static long in_nanosleep(void)
{
	return CALL(nanosleep, &hour, NULL, 0, 0, 0, 0);
}

static long in_clock_nanosleep(void)
{
	return CALL(clock_nanosleep, CLOCK_MONOTONIC, 0, &hour, NULL, 0, 0);
}

static long in_clock_nanosleep_until(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += HOUR_S;
	return CALL(clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL, 0, 0);
}

static long in_poll(void)
{
	struct pollfd polled = {.fd = empty_pipe(), .events = POLLIN};

	return raw_poll(&polled, 1, HOUR_MS);
}

static long in_poll_for_ever(void)
{
	return raw_poll(NULL, 0, -1);
}

static long in_ppoll(void)
{
	struct timespec limit = hour;

	return CALL(ppoll, NULL, 0, &limit, NULL, 0, 0);
}

static long in_select(void)
{
	return raw_select(HOUR_S);
}

static long in_pselect(void)
{
	struct timespec limit = hour;

	return CALL(pselect6, 0, NULL, NULL, NULL, &limit, NULL);
}

static long in_epoll_wait(void)
{
	struct epoll_event event;

	return raw_epoll_wait(epoll_create1(0), &event, -1);
}

static long in_epoll_wait_timed(void)
{
	struct epoll_event event;

	return raw_epoll_wait(epoll_create1(0), &event, HOUR_MS);
}

static long in_epoll_pwait(void)
{
	struct epoll_event event;
	uint64_t mask = 0;

	return CALL(epoll_pwait, epoll_create1(0), &event, 1, -1, &mask, sizeof(mask));
}

static long in_epoll_pwait2(void)
{
	struct epoll_event event;

	return CALL(epoll_pwait2, epoll_create1(0), &event, 1, &hour, NULL, 8);
}

static uint32_t word;

static long in_futex(void)
{
	return CALL(futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static long in_futex_timed(void)
{
	return CALL(futex, &word, FUTEX_WAIT, 0, &hour, NULL, 0);
}

static long in_futex_until(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += HOUR_S;
	return CALL(futex, &word, FUTEX_WAIT_BITSET, 0, &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

static int semaphores(void)
{
	return semget(IPC_PRIVATE, 1, 0600);
}

static long in_semop(void)
{
	struct sembuf down = {.sem_op = -1};

	return CALL(semop, semaphores(), &down, 1, 0, 0, 0);
}

static long in_semtimedop(void)
{
	struct sembuf down = {.sem_op = -1};

	return CALL(semtimedop, semaphores(), &down, 1, &hour, 0, 0);
}

static long in_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} message;

	return CALL(msgrcv, msgget(IPC_PRIVATE, 0600), &message, 8, 0, 0, 0);
}

static long in_sigtimedwait(void)
{
	uint64_t set = 1ull << (SIGRTMAX - 1);

	return CALL(rt_sigtimedwait, &set, NULL, &hour, 8, 0, 0);
}

static long in_sigwaitinfo(void)
{
	uint64_t set = 1ull << (SIGRTMAX - 1);

	return CALL(rt_sigtimedwait, &set, NULL, NULL, 8, 0, 0);
}

static long in_pause(void)
{
	return raw_pause();
}

static long in_sigsuspend(void)
{
	uint64_t mask = 0;

	return CALL(rt_sigsuspend, &mask, 8, 0, 0, 0, 0);
}

static long in_wait(void)
{
	static _Atomic pid_t child;

	if (!child) {
		child = fork();
		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	return CALL(wait4, child, NULL, 0, NULL, 0, 0);
}

static long read_from(int fd)
{
	char buffer[4096];

	return CALL(read, fd, buffer, sizeof(buffer), 0, 0, 0);
}

static long in_read_pipe(void)
{
	return read_from(empty_pipe());
}

static long in_read_eventfd(void)
{
	return read_from(eventfd(0, 0));
}

static long in_read_inotify(void)
{
	int fd = inotify_init1(0);

	inotify_add_watch(fd, directory, IN_DELETE_SELF);
	return read_from(fd);
}

static long in_read_timerfd(void)
{
	const struct itimerspec once = {.it_value = hour};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	timerfd_settime(fd, 0, &once, NULL);
	return read_from(fd);
}

static long in_read_signalfd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMAX);
	return read_from(signalfd(-1, &set, 0));
}

static long in_read_socket(void)
{
	return read_from(timed_socket(SO_RCVTIMEO));
}

static long in_recv(void)
{
	char buffer[64];
	int ends[2];

	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	return CALL(recvfrom, ends[0], buffer, sizeof(buffer), 0, NULL, NULL);
}

static long in_recv_timed(void)
{
	char buffer[64];

	return CALL(recvfrom, timed_socket(SO_RCVTIMEO), buffer, sizeof(buffer), 0, NULL, NULL);
}

static long in_recvmsg_timed(void)
{
	char buffer[64];
	struct iovec part = {buffer, sizeof(buffer)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	return CALL(recvmsg, timed_socket(SO_RCVTIMEO), &message, 0, 0, 0, 0);
}

static long in_recvmmsg_timed(void)
{
	char buffer[64];
	struct iovec part = {buffer, sizeof(buffer)};
	struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
	struct timespec limit = hour;

	return CALL(recvmmsg, timed_socket(SO_RCVTIMEO), &message, 1, 0, &limit, 0);
}

static long in_accept(void)
{
	struct sockaddr_un address;

	return CALL(accept, listener(false, "accept", &address), NULL, NULL, 0, 0, 0);
}

static long in_accept_timed(void)
{
	struct sockaddr_un address;

	return CALL(accept4, listener(true, "accept-timed", &address), NULL, NULL, 0, 0, 0);
}

/* To one with a full queue. */
static long in_connect_timed(void)
{
	const struct timeval limit = {.tv_sec = HOUR_S};
	struct sockaddr_un address;
	int fd = -1;

	listener(false, "connect", &address);
	for (int i = 0; i < 2; i++) {
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (i == 0)
			CALL(connect, fd, &address, sizeof(address), 0, 0, 0);
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return CALL(connect, fd, &address, sizeof(address), 0, 0, 0);
}

/* Fills it until not one more byte fits. */
static void fill(int fd)
{
	static const char bytes[4096];
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	while (write(fd, bytes, 1) > 0)
		;
	fcntl(fd, F_SETFL, flags);
}

static long in_send_timed(void)
{
	int fd = timed_socket(SO_SNDTIMEO);

	fill(fd);
	return CALL(sendto, fd, "x", 1, 0, NULL, 0);
}

static long in_write_socket(void)
{
	int fd = timed_socket(SO_SNDTIMEO);

	fill(fd);
	return CALL(write, fd, "x", 1, 0, 0, 0);
}

static long in_write_pipe(void)
{
	int ends[2];

	if (pipe(ends))
		return -1;
	fill(ends[1]);
	return CALL(write, ends[1], "x", 1, 0, 0, 0);
}

static long io_events(const struct timespec *limit)
{
	aio_context_t context = 0;
	struct io_event event;
	long err = CALL(io_setup, 1, &context, 0, 0, 0, 0);

	return err ? err : CALL(io_getevents, context, 1, 1, &event, limit, 0);
}

static long in_io_getevents(void)
{
	return io_events(NULL);
}

static long in_io_getevents_timed(void)
{
	return io_events(&hour);
}

static long in_io_uring_enter(void)
{
	struct io_uring_params parameters = {0};
	long fd = CALL(io_uring_setup, 1, &parameters, 0, 0, 0, 0);

	return fd < 0 ? fd : CALL(io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static long in_mq_timedreceive(void)
{
	struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 16};
	struct timespec until;
	char name[32], buffer[16];
	mqd_t queue;

	snprintf(name, sizeof(name), "/waiter-%d", getpid());
	queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
	if (queue < 0)
		return -errno;
	mq_unlink(name);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += HOUR_S;
	return CALL(mq_timedreceive, queue, buffer, sizeof(buffer), NULL, &until, 0);
}

static long in_flock(void)
{
	int holder = open(in_directory("flock"), O_RDWR | O_CREAT, 0600);
	int fd = open(in_directory("flock"), O_RDWR);

	flock(holder, LOCK_EX);
	return CALL(flock, fd, LOCK_EX, 0, 0, 0, 0);
}

static long in_fcntl_lock(void)
{
	struct flock lock = {.l_type = F_WRLCK};
	int holder = open(in_directory("fcntl"), O_RDWR | O_CREAT, 0600);
	int fd = open(in_directory("fcntl"), O_RDWR);

	fcntl(holder, F_OFD_SETLK, &lock);
	return CALL(fcntl, fd, F_OFD_SETLKW, &lock, 0, 0, 0);
}

static long in_open_fifo(void)
{
	mkfifo(in_directory("fifo"), 0600);
	return raw_open(in_directory("fifo"), O_RDONLY);
}

static long in_nanosleep_32(void)
{
	int32_t *limit = low_memory();

	limit[0] = HOUR_S;
	return call_32(162, (long)limit, 0, 0, 0);
}

static long in_poll_32(void)
{
	return call_32(168, 0, 0, HOUR_MS, 0);
}

static long in_epoll_wait_32(void)
{
	return call_32(256, epoll_create1(0), (long)low_memory(), 1, HOUR_MS);
}

static long in_sigtimedwait_32(void)
{
	int32_t *limit = low_memory();
	uint64_t *set = (uint64_t *)(limit + 2);

	limit[0] = HOUR_S;
	*set = 1ull << (SIGRTMAX - 1);
	return call_32(177, (long)set, 0, (long)limit, 8);
}

/*
 * Makes no system call, with a value like a call's result in its register, which must not change.
 */
static long spin(long value)
{
	static const long turns = 1000000;
	long left = turns;
	long kept = value;

	while (kept == value) {
		left = turns;
#if defined(__aarch64__)
		register long x0 __asm__("x0") = kept;

		__asm__ volatile("1: subs %1, %1, #1\n"
				 "b.ne 1b\n"
				 : "+r"(x0), "+r"(left)
				 :
				 : "cc");
		kept = x0;
#else
		__asm__ volatile("1: dec %1\n"
				 "jnz 1b\n"
				 : "+a"(kept), "+r"(left));
#endif
		/* Leave processor time for others. */
		poll(NULL, 0, 1);
	}
	return kept;
}

static long in_no_call_eintr(void)
{
	return spin(-EINTR);
}

static long in_no_call_restart(void)
{
	return spin(-516);
}

struct kind {
	const char *name;
	long (*call)(void);
	_Atomic pid_t tid;
	_Atomic long returns, error;
};

#define KIND(call)                                                                                 \
	{                                                                                          \
#call, in_##call, 0, 0, 0                                                          \
	}
static struct kind kinds[] = {
	KIND(nanosleep),
	KIND(clock_nanosleep),
	KIND(clock_nanosleep_until),
	KIND(poll),
	KIND(poll_for_ever),
	KIND(ppoll),
	KIND(select),
	KIND(pselect),
	KIND(epoll_wait),
	KIND(epoll_wait_timed),
	KIND(epoll_pwait),
	KIND(epoll_pwait2),
	KIND(futex),
	KIND(futex_timed),
	KIND(futex_until),
	KIND(semop),
	KIND(semtimedop),
	KIND(msgrcv),
	KIND(sigtimedwait),
	KIND(sigwaitinfo),
	KIND(pause),
	KIND(sigsuspend),
	KIND(wait),
	KIND(read_pipe),
	KIND(read_eventfd),
	KIND(read_inotify),
	KIND(read_timerfd),
	KIND(read_signalfd),
	KIND(read_socket),
	KIND(recv),
	KIND(recv_timed),
	KIND(recvmsg_timed),
	KIND(recvmmsg_timed),
	KIND(accept),
	KIND(accept_timed),
	KIND(connect_timed),
	KIND(send_timed),
	KIND(write_socket),
	KIND(write_pipe),
	KIND(io_getevents),
	KIND(io_getevents_timed),
	KIND(io_uring_enter),
	KIND(mq_timedreceive),
	KIND(flock),
	KIND(fcntl_lock),
	KIND(open_fifo),
	KIND(nanosleep_32),
	KIND(poll_32),
	KIND(epoll_wait_32),
	KIND(sigtimedwait_32),
	KIND(no_call_eintr),
	KIND(no_call_restart),
};

static void *run(void *argument)
{
	struct kind *kind = argument;

	kind->tid = (pid_t)syscall(SYS_gettid);
	for (;;) {
		long result = kind->call();

		if (!kind->returns++)
			kind->error = result;
		/* A call that is impossible here, or has failed often enough. */
		if (result == -ENOSYS || result == -EPERM || result == -EINVAL ||
		    kind->returns >= 1000)
			break;
	}
	for (;;)
		raw_pause();
	return NULL;
}

static char state_of(pid_t tid)
{
	char path[64], line[512], *name_end;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY);
	got = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (got <= 0)
		return 0;
	line[got] = '\0';
	name_end = strrchr(line, ')');
	return name_end ? name_end[2] : 0;
}

static pthread_attr_t small;

static void start(void)
{
	pthread_t thread;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		pthread_create(&thread, &small, run, &kinds[i]);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		while (!kinds[i].tid ||
		       (state_of(kinds[i].tid) != 'S' && kinds[i].call != in_no_call_eintr &&
			kinds[i].call != in_no_call_restart))
			usleep(1000);
	}
	/* A thread with setup slept before its call. */
	usleep(100000);
}

static atomic_long handled, failed, others;

static void on_signal(int signal)
{
	(void)signal;
	handled++;
}

/* The signal gets through in the call only: none comes too early, and none is lost. */
static void *be_interrupted(void *argument)
{
	const struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2};
	int epoll = epoll_create1(0);
	struct epoll_event ready;
	uint64_t none = 0;
	sigset_t set;
	timer_t timer;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	for (;;) {
		long before = handled, result;

		timer_settime(timer, 0, &soon, NULL);
		result = CALL(epoll_pwait, epoll, &ready, 1, -1, &none, sizeof(none));
		if (result == -EINTR && handled == before + 1)
			failed++;
		else
			others++;
	}
	return argument;
}

static void more(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	pthread_t thread;

	sigaction(SIGUSR2, &action, NULL);
	pthread_create(&thread, &small, be_interrupted, NULL);
	while (failed < 10)
		usleep(1000);
}

static void *wait_for_vfork(void *argument)
{
	static const struct timespec minute = {.tv_sec = 60};
	struct kind *vforking = argument;

	vforking->tid = (pid_t)syscall(SYS_gettid);
	if (!vfork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		CALL(nanosleep, &minute, NULL, 0, 0, 0, 0);
		_exit(0);
	}
	return NULL;
}

static void wait_uninterruptibly(void)
{
	static struct kind vforking;
	pthread_t thread;

	pthread_create(&thread, &small, wait_for_vfork, &vforking);
	while (!vforking.tid || state_of(vforking.tid) != 'D')
		usleep(1000);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void sleep_a_second(void)
{
	const struct timespec second = {.tv_sec = 1};
	uint64_t begin = now_ms();
	long error = -CALL(nanosleep, &second, NULL, 0, 0, 0, 0);

	say("{\"ms\": %lu, \"error\": %ld}\n", (unsigned long)(now_ms() - begin), error);
}

static void print_truth(void)
{
	char line[8000] = "";
	int size = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		size += snprintf(line + size, sizeof(line) - (size_t)size,
				 "%s{\"kind\": \"%s\", \"returns\": %ld, \"error\": %ld}",
				 i ? ", " : "", kinds[i].name, (long)kinds[i].returns,
				 -(long)kinds[i].error);
	say("{\"calls\": [%s], \"interrupted\": {\"handled\": %ld, \"failed\": %ld, "
	    "\"others\": %ld}}\n",
	    line, (long)handled, (long)failed, (long)others);
}

#if defined(__aarch64__)
#define NATIVE_CALLS AUDIT_ARCH_AARCH64
#else
#define NATIVE_CALLS AUDIT_ARCH_X86_64
#endif

/* The call's number is the same for no other call of the other architecture that is made here. */
static void filter_restarts(uint32_t action)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_CALLS, 2, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {ARRAY_SIZE(program), program};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(1);
}

static void filter_as(const char *name)
{
	static const struct {
		const char *name;
		uint32_t action;
	} filters[] = {{"strict", SECCOMP_RET_KILL_PROCESS},
		       {"errno", SECCOMP_RET_ERRNO | EPERM},
		       {"lenient", SECCOMP_RET_ALLOW}};

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		if (strcmp(filters[i].name, name) == 0)
			filter_restarts(filters[i].action);
	}
}

static int end(int code)
{
	static const char *const names[] = {"accept", "accept-timed", "connect",
					    "flock",  "fcntl",	      "fifo"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlink(in_directory(names[i]));
	rmdir(directory);
	return code;
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "start", .run = start},
		{.name = "more", .run = more},
		{.name = "vfork", .run = wait_uninterruptibly},
		{.name = "sleep", .run = sleep_a_second, .silent = true},
		{.name = "truth", .run = print_truth, .silent = true},
	};
	static const struct truth nothing = {0};

	has_calls_32 = takes_32_bit_calls();
	/* Remaining queues and semaphores end with the process. */
	unshare(CLONE_NEWIPC);
	if (!mkdtemp(directory))
		return 1;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	if (argc > 1)
		filter_as(argv[1]);
	return end(workload_serve(commands, ARRAY_SIZE(commands), &nothing));
}
