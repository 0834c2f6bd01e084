// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * opener [THREADS [CALLS [SEED]]]: opens and closes descriptors in every way, by several threads
 * that share one table, and keeps a ledger of its own: "descriptors" prints it.
 *
 *   go      each thread makes CALLS calls; it closes and replaces only what it opened
 *   others  children of fork and vfork open and close in tables of their own; calls that fail
 *   sweep   one call closes all that "go" left
 *   exec    replaces itself, half of what is open marked close-on-exec; what is left was before
 *
 * Before it is ready it has opened BEFORE descriptors, which "go" leaves alone.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "workload.h"

#define MAX_THREADS 16
#define HELD_MAX 48
#define BEFORE 40
#define PASSED 3 /* in one message */

enum site {
	OPEN,
	OPENAT2,
	SOCKET,
	ACCEPT,
	DUP,
	DUP2,
	DUP3,
	FCNTL,
	PIPE,
	SOCKETPAIR,
	EPOLL,
	EVENTFD,
	MEMFD,
	TIMERFD,
	SIGNALFD,
	PIDFD,
	RECEIVE,
	RECEIVE_MANY,
	SITES_
};

struct held {
	int fd;
	enum site site;
};

struct worker {
	uint64_t random, opened, closed;
	int listening, passing[2]; /* opened before */
	struct sockaddr_un address;
	socklen_t address_length;
	struct held held[HELD_MAX + 8];
	size_t count;
};

static struct worker workers[MAX_THREADS];
static pthread_barrier_t start, finish;
static uint64_t threads, calls, before = 3;

static uint64_t next(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

static void must(bool good, const char *what)
{
	if (good)
		return;
	say("%s failed: %s\n", what, strerror(errno));
	_exit(112);
}

static void hold(struct worker *worker, int fd, enum site site)
{
	must(fd >= 0, "opening");
	worker->held[worker->count++] = (struct held){fd, site};
	worker->opened++;
}

/* -------- one call each; their names are the sites of the truth */

SITE static void call_open(struct worker *worker)
{
	hold(worker, open("/etc/passwd", O_RDONLY), OPEN);
}

SITE static void call_openat2(struct worker *worker)
{
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC};

	hold(worker, (int)syscall(SYS_openat2, AT_FDCWD, "/tmp", &how, sizeof(how)), OPENAT2);
}

SITE static void call_socket(struct worker *worker)
{
	hold(worker, socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), SOCKET);
}

/* Both ends: the connecting one is call_accept's, too. */
SITE static void call_accept(struct worker *worker)
{
	int client = socket(AF_UNIX, SOCK_STREAM, 0);

	hold(worker, client, ACCEPT);
	must(!connect(client, (struct sockaddr *)&worker->address, worker->address_length),
	     "connecting");
	hold(worker, accept4(worker->listening, NULL, NULL, SOCK_CLOEXEC), ACCEPT);
}

SITE static void call_dup(struct worker *worker)
{
	hold(worker, dup(0), DUP);
}

/* Duplicates over a descriptor of its own, and over itself, which changes nothing. */
SITE static void call_dup2(struct worker *worker)
{
	struct held *over = &worker->held[next(worker) % worker->count];

	must(dup2(over->fd, over->fd) == over->fd, "dup2");
	must(dup2(1, over->fd) == over->fd, "dup2");
	over->site = DUP2;
	worker->opened++;
	worker->closed++;
}

SITE static void call_dup3(struct worker *worker)
{
	struct held *over = &worker->held[next(worker) % worker->count];

	must(dup3(1, over->fd, O_CLOEXEC) == over->fd, "dup3");
	over->site = DUP3;
	worker->opened++;
	worker->closed++;
}

SITE static void call_fcntl(struct worker *worker)
{
	bool cloexec = next(worker) & 1;

	hold(worker, fcntl(2, cloexec ? F_DUPFD_CLOEXEC : F_DUPFD, 500), FCNTL);
	must(fcntl(2, F_GETFL) >= 0, "F_GETFL");
}

SITE static void call_pipe(struct worker *worker)
{
	int ends[2];

	must(!(next(worker) & 1 ? pipe2(ends, O_CLOEXEC) : pipe(ends)), "pipe");
	hold(worker, ends[0], PIPE);
	hold(worker, ends[1], PIPE);
}

SITE static void call_socketpair(struct worker *worker)
{
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
	hold(worker, ends[0], SOCKETPAIR);
	hold(worker, ends[1], SOCKETPAIR);
}

SITE static void call_epoll(struct worker *worker)
{
	hold(worker, epoll_create1(EPOLL_CLOEXEC), EPOLL);
}

SITE static void call_eventfd(struct worker *worker)
{
	hold(worker, eventfd(0, 0), EVENTFD);
}

SITE static void call_memfd(struct worker *worker)
{
	hold(worker, memfd_create("opener", MFD_CLOEXEC), MEMFD);
}

SITE static void call_timerfd(struct worker *worker)
{
	hold(worker, timerfd_create(CLOCK_MONOTONIC, 0), TIMERFD);
}

/* Its second call changes the first one's descriptor. */
SITE static void call_signalfd(struct worker *worker)
{
	sigset_t none;
	int fd;

	sigemptyset(&none);
	fd = signalfd(-1, &none, 0);
	hold(worker, fd, SIGNALFD);
	must(signalfd(fd, &none, 0) == fd, "signalfd");
}

SITE static void call_pidfd(struct worker *worker)
{
	hold(worker, (int)syscall(SYS_pidfd_open, getpid(), 0), PIDFD);
}

static void pass(struct worker *worker, const char *bytes)
{
	char control[CMSG_SPACE(PASSED * sizeof(int))] = {0};
	struct iovec io = {(void *)bytes, 1};
	struct msghdr message = {.msg_iov = &io, .msg_iovlen = 1};
	const int fds[PASSED] = {0, 1, 2};
	struct cmsghdr *header;

	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(header), fds, sizeof(fds));
	must(sendmsg(worker->passing[0], &message, 0) == 1, "sendmsg");
}

static void take(struct worker *worker, struct msghdr *message, enum site site)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fds[PASSED];

	must(header && header->cmsg_len == CMSG_LEN(sizeof(fds)), "receiving");
	memcpy(fds, CMSG_DATA(header), sizeof(fds));
	for (size_t i = 0; i < PASSED; i++)
		hold(worker, fds[i], site);
}

SITE static void call_receive(struct worker *worker)
{
	char control[CMSG_SPACE(PASSED * sizeof(int))], byte;
	struct iovec io = {&byte, 1};
	struct msghdr message = {.msg_iov = &io,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};

	pass(worker, "x");
	must(recvmsg(worker->passing[1], &message, MSG_CMSG_CLOEXEC) == 1, "recvmsg");
	take(worker, &message, RECEIVE);
}

SITE static void call_receive_many(struct worker *worker)
{
	char control[2][CMSG_SPACE(PASSED * sizeof(int))], bytes[2];
	struct mmsghdr messages[2] = {0};
	struct iovec io[2];

	for (size_t i = 0; i < 2; i++) {
		pass(worker, "y");
		io[i] = (struct iovec){&bytes[i], 1};
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &io[i],
						      .msg_iovlen = 1,
						      .msg_control = control[i],
						      .msg_controllen = sizeof(control[i])};
	}
	must(recvmmsg(worker->passing[1], messages, 2, 0, NULL) == 2, "recvmmsg");
	for (size_t i = 0; i < 2; i++)
		take(worker, &messages[i].msg_hdr, RECEIVE_MANY);
}

static const struct {
	const char *name;
	void (*run)(struct worker *worker);
} openers[] = {
	[OPEN] = {"call_open", call_open},
	[OPENAT2] = {"call_openat2", call_openat2},
	[SOCKET] = {"call_socket", call_socket},
	[ACCEPT] = {"call_accept", call_accept},
	[DUP] = {"call_dup", call_dup},
	[DUP2] = {"call_dup2", call_dup2},
	[DUP3] = {"call_dup3", call_dup3},
	[FCNTL] = {"call_fcntl", call_fcntl},
	[PIPE] = {"call_pipe", call_pipe},
	[SOCKETPAIR] = {"call_socketpair", call_socketpair},
	[EPOLL] = {"call_epoll", call_epoll},
	[EVENTFD] = {"call_eventfd", call_eventfd},
	[MEMFD] = {"call_memfd", call_memfd},
	[TIMERFD] = {"call_timerfd", call_timerfd},
	[SIGNALFD] = {"call_signalfd", call_signalfd},
	[PIDFD] = {"call_pidfd", call_pidfd},
	[RECEIVE] = {"call_receive", call_receive},
	[RECEIVE_MANY] = {"call_receive_many", call_receive_many},
};
_Static_assert(ARRAY_SIZE(openers) == SITES_, "a row for every site");

/* -------- and their ends */

static void close_one(struct worker *worker)
{
	size_t place = next(worker) % worker->count;
	int fd = worker->held[place].fd;

	worker->held[place] = worker->held[--worker->count];
	worker->closed++;
	if (next(worker) % 4)
		must(!close(fd), "close");
	else
		must(!close_range((unsigned)fd, (unsigned)fd, 0), "close_range");
}

/* Closes nothing: no such number, and only a mark. */
static void close_none(struct worker *worker)
{
	int fd = worker->held[0].fd;

	must(close(-1) && close(900000), "close of none");
	must(!close_range((unsigned)fd, (unsigned)fd, CLOSE_RANGE_CLOEXEC), "close_range");
}

static void step(struct worker *worker)
{
	uint64_t choice = next(worker) % 100;

	if (worker->count < 2)
		call_open(worker);
	else if (choice < 45 || worker->count > HELD_MAX - 8)
		close_one(worker);
	else if (choice < 48)
		close_none(worker);
	else
		openers[next(worker) % SITES_].run(worker);
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	for (;;) {
		pthread_barrier_wait(&start);
		for (uint64_t i = 0; i < calls; i++)
			step(worker);
		pthread_barrier_wait(&finish);
	}
	return NULL;
}

/* -------- commands */

static void go(void)
{
	pthread_barrier_wait(&start);
	pthread_barrier_wait(&finish);
}

static int other_table(void *argument)
{
	int fds[2];

	(void)argument;
	for (int i = 0; i < 100; i++) {
		if (pipe(fds) || close(fds[0]))
			_exit(1);
	}
	close_range(3, ~0u, 0);
	_exit(0);
}

static void others(void)
{
	static char stack[65536];
	int status;
	pid_t child;

	for (int i = 0; i < 10; i++) {
		child = fork();
		if (!child)
			other_table(NULL);
		must(waitpid(child, &status, 0) == child && !status, "fork");
		/* Its memory is ours, its table is not. */
		child = clone(other_table, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
			      NULL);
		must(waitpid(child, &status, 0) == child && !status, "vfork");
	}
	must(open("/nowhere/at/all", O_RDONLY) < 0 && dup(899999) < 0 && dup2(899999, 3) < 0,
	     "a call that fails");
}

/* Descriptors opened before have lower numbers. */
static void sweep(void)
{
	int lowest = INT32_MAX, highest = 0;

	for (size_t i = 0; i < threads; i++) {
		for (size_t j = 0; j < workers[i].count; j++) {
			int fd = workers[i].held[j].fd;

			lowest = fd < lowest ? fd : lowest;
			highest = fd > highest ? fd : highest;
		}
		workers[i].closed += workers[i].count;
		workers[i].count = 0;
	}
	must(lowest >= (int)before, "the order of numbers");
	must(!close_range((unsigned)lowest, (unsigned)highest, 0), "close_range");
}

static void descriptors_say(void)
{
	uint64_t opened = 0, closed = 0, held = 0, sites[SITES_] = {0};
	char text[2048];
	int used = 0;

	for (size_t i = 0; i < threads; i++) {
		opened += workers[i].opened;
		closed += workers[i].closed;
		held += workers[i].count;
		for (size_t j = 0; j < workers[i].count; j++)
			sites[workers[i].held[j].site]++;
	}
	for (size_t i = 0; i < SITES_; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used,
				 "%s{\"function\":\"%s\",\"count\":%lu}", i ? "," : "",
				 openers[i].name, sites[i]);
	say("{\"pid\":%d,\"opened\":%lu,\"closed\":%lu,\"open_before\":%lu,\"outstanding\":%lu,"
	    "\"sites\":[%s]}\n",
	    getpid(), opened, closed, before, before + held, text);
}

/* How many are left, for the program that it becomes. */
static void replace(void)
{
	uint64_t marked = 0;
	char text[24];

	for (size_t i = 0; i < threads; i++) {
		for (size_t j = 0; j < workers[i].count; j++, marked++)
			must(!fcntl(workers[i].held[j].fd, F_SETFD, marked & 1 ? FD_CLOEXEC : 0),
			     "F_SETFD");
	}
	snprintf(text, sizeof(text), "%lu", before + (marked + 1) / 2);
	execl("/proc/self/exe", "opener", "--after", text, NULL);
	must(false, "exec");
}

static void worker_begin(struct worker *worker, uint64_t seed)
{
	pthread_t thread;

	worker->random = seed * 0x9E3779B97F4A7C15ull;
	worker->address.sun_family = AF_UNIX;
	worker->address_length = sizeof(worker->address);
	worker->listening = socket(AF_UNIX, SOCK_STREAM, 0);
	must(!bind(worker->listening, (struct sockaddr *)&worker->address,
		   sizeof(worker->address.sun_family)) &&
		     !listen(worker->listening, 8) &&
		     !getsockname(worker->listening, (struct sockaddr *)&worker->address,
				  &worker->address_length) &&
		     !socketpair(AF_UNIX, SOCK_DGRAM, 0, worker->passing),
	     "sockets");
	before += 3;
	must(!pthread_create(&thread, NULL, work, worker), "pthread_create");
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "others", .run = others},
		{.name = "sweep", .run = sweep},
		{.name = "exec", .run = replace, .silent = true},
		{.name = "descriptors", .run = descriptors_say, .silent = true},
	};
	static const struct truth none;

	if (argc == 3 && !strcmp(argv[1], "--after")) {
		before = argument(argc, argv, 2, 0);
		return workload_serve(commands, ARRAY_SIZE(commands), &none);
	}
	threads = argument(argc, argv, 1, 4);
	calls = argument(argc, argv, 2, 10000);
	if (threads < 1 || threads > MAX_THREADS)
		return 2;
	pthread_barrier_init(&start, NULL, threads + 1);
	pthread_barrier_init(&finish, NULL, threads + 1);
	/* The parent may leave more than three open. */
	must(!close_range(3, ~0u, 0), "close_range");
	for (size_t i = 0; i < threads; i++)
		worker_begin(&workers[i], argument(argc, argv, 3, 1) + i);
	for (; before < BEFORE; before++)
		must(open("/dev/null", O_RDONLY) >= 0, "open");
	return workload_serve(commands, ARRAY_SIZE(commands), &none);
}
