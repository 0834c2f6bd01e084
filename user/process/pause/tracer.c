// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/pause/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define TRACER_NAME "pause-tracer"
/* How often it checks whether its monitor is stopped. */
#define TICK_NS 5000000ull
/* Resuming more threads takes longer than any pause. */
#define THREADS_MAX 65536

/* Stopped threads. Only the pages of used entries take memory. */
struct tracer_shared {
	struct stopped_thread threads[THREADS_MAX];
};

struct request {
	pid_t pid;
	uint64_t max_pause_ns;
};

/* Sent after the stop, and again after the resume. */
struct answer {
	int error;
	size_t threads, repeated;
	uint64_t began_ns, ended_ns, resume_ns;
	uint64_t let_go_ns; /* the first resume */
};

/* The tracer's arguments. */
struct served {
	struct tracer_shared *shared;
	int socket;	 /* its end of file means that the monitor is gone */
	int process;	 /* pidfd(2) of the monitor */
	int status;	 /* its /proc/PID/stat */
	char *arguments; /* of this program, as ps(1) shows them */
	size_t arguments_size;
};

/* -------- the tracer */

/* As in proc(5): after the name, which may contain any bytes. */
static bool is_stopped(int status)
{
	char text[512];
	ssize_t got = pread(status, text, sizeof(text) - 1, 0);
	const char *name_end;

	if (got <= 0)
		return false;
	text[got] = '\0';
	name_end = strrchr(text, ')');
	return name_end && name_end[1] == ' ' && name_end[2] == 'T';
}

/* Returns true if the monitor asks, or is gone. */
static bool is_asked(const struct served *served, const struct timespec *wait)
{
	struct pollfd polled[] = {{.fd = served->socket, .events = POLLIN},
				  {.fd = served->process, .events = POLLIN}};

	return ppoll(polled, ARRAY_SIZE(polled), wait, NULL) > 0;
}

/*
 * Receives the next request; the tracer ends with its monitor, another child of which may hold the
 * same end of the socket.
 */
static void await_request(const struct served *served, void *request, size_t size)
{
	is_asked(served, NULL);
	if (recv(served->socket, request, size, MSG_DONTWAIT) != (ssize_t)size)
		_exit(0);
}

/*
 * Waits until the monitor asks, or is gone (0), is stopped (-ECANCELED), or time is up
 * (-ETIMEDOUT).
 */
static int hold_until(const struct served *served, uint64_t resume_ns)
{
	for (;;) {
		uint64_t now_ns = monotonic_ns();
		uint64_t wait_ns = now_ns < resume_ns ? MIN(resume_ns - now_ns, TICK_NS) : 0;

		if (is_asked(served, &(struct timespec){.tv_nsec = (long)wait_ns}))
			return 0;
		if (is_stopped(served->status))
			return -ECANCELED;
		if (monotonic_ns() >= resume_ns)
			return -ETIMEDOUT;
	}
}

static struct answer answer_of(const struct stop *stop, int error)
{
	return (struct answer){.error = error,
			       .threads = stop->threads.count,
			       .repeated = stop->repeated,
			       .began_ns = stop->began_ns,
			       .ended_ns = stop->ended_ns,
			       .resume_ns = stop->resume_ns};
}

/* Copies the threads to memory shared with the monitor. */
static int hand_over(const struct served *served, const struct stop *stop)
{
	if (stop->threads.count > THREADS_MAX)
		return -ETIMEDOUT;
	if (stop->threads.count)
		memcpy(served->shared->threads, stop->threads.items,
		       stop->threads.count * sizeof(*stop->threads.items));
	return 0;
}

/* *stop is never freed: the process ends, and so releases any thread still stopped (stop.h). */
static _Noreturn void serve(const struct served *served, const struct request *request)
{
	struct answer answer;
	struct stop stop;
	uint64_t let_go_ns;
	char byte;
	int error = stop_process(request->pid, request->max_pause_ns, &stop);

	if (!error) {
		error = hand_over(served, &stop);
		if (error)
			stop_resume(&stop);
	}
	answer = answer_of(&stop, error);
	/* hold_until() notices if there is no receiver. */
	(void)!send(served->socket, &answer, sizeof(answer), MSG_NOSIGNAL);
	if (error)
		_exit(0);
	error = hold_until(served, stop.resume_ns);
	let_go_ns = monotonic_ns();
	stop_resume(&stop);
	await_request(served, &byte, sizeof(byte));
	answer = answer_of(&stop, error);
	answer.let_go_ns = let_go_ns;
	(void)!send(served->socket, &answer, sizeof(answer), MSG_NOSIGNAL);
	_exit(0);
}

static int compare_descriptors(const void *left_pointer, const void *right_pointer)
{
	const int *left = left_pointer, *right = right_pointer;

	return *left < *right ? -1 : *left > *right;
}

static void close_all_but(int *kept, size_t count)
{
	unsigned int from = 0;

	qsort(kept, count, sizeof(*kept), compare_descriptors);
	for (size_t i = 0; i < count; i++) {
		if ((unsigned int)kept[i] > from)
			syscall(SYS_close_range, from, (unsigned int)kept[i] - 1, 0);
		from = (unsigned int)kept[i] + 1;
	}
	syscall(SYS_close_range, from, UINT_MAX, 0);
}

/* Changes the name that pkill(1) matches, with -f and without. */
static void change_name(const struct served *served)
{
	prctl(PR_SET_NAME, TRACER_NAME);
	if (served->arguments_size < sizeof(TRACER_NAME))
		return;
	memset(served->arguments, 0, served->arguments_size);
	memcpy(served->arguments, TRACER_NAME, sizeof(TRACER_NAME));
}

/* It must be on time even if its targets, or its monitor, use all CPUs. */
static void go_first(void)
{
	const struct sched_param above = {.sched_priority = sched_get_priority_min(SCHED_RR) + 1};

	sched_setscheduler(0, SCHED_RR, &above);
}

static _Noreturn void be_tracer(const struct served *served)
{
	int kept[] = {STDERR_FILENO, served->socket, served->process, served->status};
	struct request request;

	setsid();
	change_name(served);
	go_first();
	close_all_but(kept, ARRAY_SIZE(kept));
	await_request(served, &request, sizeof(request));
	serve(served, &request);
}

/* -------- the monitor */

/* proc(5), /proc/PID/stat, fields 48 and 49. */
static void find_arguments(struct served *served)
{
	unsigned long start = 0, end = 0;
	char text[1024], *at;
	ssize_t got = pread(served->status, text, sizeof(text) - 1, 0);

	if (got <= 0)
		return;
	text[got] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 48; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%lu %lu", &start, &end) != 2 || !start || end < start)
		return;
	served->arguments = (char *)start;
	served->arguments_size = end - start;
}

/* The fork inherits the tracer's signal mask: no signal comes in between. */
static pid_t start_blocked(const struct served *served)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (!pid)
		be_tracer(served);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

static int start(struct served *served, struct tracer *tracer)
{
	_cleanup_close_ int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	_cleanup_close_ int status = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int theirs = -1, ours = -1;
	int ends[2];

	if (process < 0 || status < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	theirs = ends[0];
	ours = ends[1];
	served->socket = theirs;
	served->process = process;
	served->status = status;
	find_arguments(served);
	tracer->pid = start_blocked(served);
	if (tracer->pid < 0)
		return -errno;
	tracer->socket = TAKE_FD(ours);
	return 0;
}

int tracer_start(struct tracer *tracer)
{
	struct tracer started = {.socket = -1};
	struct served served = {0};
	int error;

	started.shared = mmap(NULL, sizeof(*started.shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (started.shared == MAP_FAILED)
		return -errno;
	served.shared = started.shared;
	error = start(&served, &started);
	if (error)
		munmap(started.shared, sizeof(*started.shared));
	else
		*tracer = started;
	return error;
}

static int receive(const struct tracer *tracer, struct answer *answer)
{
	ssize_t got;

	do
		got = recv(tracer->socket, answer, sizeof(*answer), 0);
	while (got < 0 && errno == EINTR);
	return got == sizeof(*answer) ? 0 : -EAGAIN;
}

static void take(const struct answer *answer, struct stop *stop)
{
	stop->began_ns = answer->began_ns;
	stop->ended_ns = answer->ended_ns;
	stop->resume_ns = answer->resume_ns;
	stop->repeated = answer->repeated;
}

static int take_threads(const struct tracer *tracer, size_t count, struct stop *stop)
{
	struct stopped_thread *threads = malloc(count * sizeof(*threads));

	if (!threads)
		return -ENOMEM;
	memcpy(threads, tracer->shared->threads, count * sizeof(*threads));
	stop->threads.items = threads;
	stop->threads.count = stop->threads.capacity = count;
	return 0;
}

int tracer_stop(struct tracer *tracer, pid_t pid, uint64_t max_pause_ns, struct stop *stop)
{
	const struct request request = {.pid = pid, .max_pause_ns = max_pause_ns};
	struct answer answer;
	int error;

	*stop = (struct stop){0};
	if (!tracer->pid ||
	    send(tracer->socket, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request))
		return -EAGAIN;
	error = receive(tracer, &answer);
	if (error)
		return error;
	take(&answer, stop);
	if (answer.error)
		return answer.error;
	error = take_threads(tracer, answer.threads, stop);
	if (error)
		tracer_resume(tracer, stop);
	return error;
}

int tracer_resume(struct tracer *tracer, struct stop *stop)
{
	uint64_t asked_ns = monotonic_ns();
	struct answer answer;

	if (send(tracer->socket, "", 1, MSG_NOSIGNAL) != 1 || receive(tracer, &answer)) {
		stop->ended_ns = asked_ns;
		return -EAGAIN;
	}
	take(&answer, stop);
	return answer.let_go_ns < asked_ns ? answer.error : 0;
}

void tracer_end(struct tracer *tracer)
{
	if (!tracer->pid)
		return;
	/* It never ends before it has resumed all threads. Another child may hold this end, too. */
	shutdown(tracer->socket, SHUT_RDWR);
	close(tracer->socket);
	while (waitpid(tracer->pid, NULL, 0) < 0 && errno == EINTR)
		;
	munmap(tracer->shared, sizeof(*tracer->shared));
	*tracer = (struct tracer){.socket = -1};
}
