// SPDX-License-Identifier: GPL-2.0-or-later
#include "pause/pause_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define GUARD_NAME "pause-guard"
#define TICK_MS 5
/*
 * For those, as many pass before it is killed as make a second. They are counted, not timed: a
 * machine that stood still, and its clock not, has not kept it from letting go.
 */
#define TICKS_OVERDUE 200

struct guard_state {
	_Atomic uint64_t until_ns;
	atomic_bool continued;
};

/* The guard's arguments. */
struct watched {
	struct guard_state *state;
	int wake;	 /* readable: there is something to watch; at its end, nobody is left */
	int process;	 /* pidfd(2) */
	int status;	 /* its /proc/PID/stat; -1: none */
	char *arguments; /* of this program, as ps(1) shows them */
	size_t arguments_size;
};

/* As in proc(5): after the name, which may hold anything. */
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

static void send_signal(const struct watched *watched, int signal)
{
	syscall(SYS_pidfd_send_signal, watched->process, signal, NULL, 0);
}

static void kill_late_one(const struct watched *watched)
{
	static const char why[] = "leakmon: killed: it did not let the process that it had stopped "
				  "go on in time\n";

	send_signal(watched, SIGKILL);
	if (write(STDERR_FILENO, why, sizeof(why) - 1) < 0)
		_exit(1);
	_exit(0);
}

static void look_after(const struct watched *watched)
{
	unsigned int overdue = 0;
	char bytes[64];

	for (;;) {
		struct pollfd polled = {.fd = watched->wake, .events = POLLIN};
		uint64_t until_ns = atomic_load(&watched->state->until_ns);
		int ready = poll(&polled, 1, until_ns ? TICK_MS : -1);

		if (ready > 0 && read(watched->wake, bytes, sizeof(bytes)) <= 0)
			_exit(0);
		until_ns = atomic_load(&watched->state->until_ns);
		if (!until_ns) {
			overdue = 0;
			continue;
		}
		if (is_stopped(watched->status)) {
			atomic_store(&watched->state->continued, true);
			send_signal(watched, SIGCONT);
		}
		overdue = monotonic_ns() > until_ns ? overdue + 1 : 0;
		if (overdue > TICKS_OVERDUE)
			kill_late_one(watched);
	}
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
		if (kept[i] < 0)
			continue;
		if ((unsigned int)kept[i] > from)
			syscall(SYS_close_range, from, (unsigned int)kept[i] - 1, 0);
		from = (unsigned int)kept[i] + 1;
	}
	syscall(SYS_close_range, from, UINT_MAX, 0);
}

/* The name that pkill(1) matches, with -f and without. */
static void change_name(const struct watched *watched)
{
	prctl(PR_SET_NAME, GUARD_NAME);
	if (watched->arguments_size < sizeof(GUARD_NAME))
		return;
	memset(watched->arguments, 0, watched->arguments_size);
	memcpy(watched->arguments, GUARD_NAME, sizeof(GUARD_NAME));
}

/* It must be on time where those that it watches take all CPUs for themselves. */
static void go_first(void)
{
	const struct sched_param above = {.sched_priority = sched_get_priority_min(SCHED_RR) + 1};

	sched_setscheduler(0, SCHED_RR, &above);
}

static void be_guard(const struct watched *watched)
{
	int kept[] = {STDERR_FILENO, watched->wake, watched->process, watched->status};

	setsid();
	change_name(watched);
	go_first();
	close_all_but(kept, ARRAY_SIZE(kept));
	look_after(watched);
}

/* proc(5), /proc/PID/stat, fields 48 and 49. */
static void find_arguments(struct watched *watched)
{
	unsigned long start = 0, end = 0;
	char text[1024], *at;
	ssize_t got = pread(watched->status, text, sizeof(text) - 1, 0);

	if (got <= 0)
		return;
	text[got] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 48; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%lu %lu", &start, &end) != 2 || !start || end < start)
		return;
	watched->arguments = (char *)start;
	watched->arguments_size = end - start;
}

/* The guard's own mask is what the fork finds: no signal comes in between. */
static pid_t start_blocked(const struct watched *watched)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (!pid)
		be_guard(watched);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

static int start(struct watched *watched, struct pause_guard *guard)
{
	_cleanup_close_ int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	_cleanup_close_ int status = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int wake_end = -1, wake = -1;
	int ends[2];

	if (process < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	wake_end = ends[0];
	wake = ends[1];
	watched->wake = wake_end;
	watched->process = process;
	watched->status = status;
	find_arguments(watched);
	guard->pid = start_blocked(watched);
	if (guard->pid < 0)
		return -errno;
	guard->wake = TAKE_FD(wake);
	return 0;
}

int pause_guard_start(struct pause_guard *guard)
{
	struct pause_guard started = {.wake = -1};
	struct watched watched = {0};
	int error;

	started.state = mmap(NULL, sizeof(*started.state), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (started.state == MAP_FAILED)
		return -errno;
	watched.state = started.state;
	error = start(&watched, &started);
	if (error)
		munmap(started.state, sizeof(*started.state));
	else
		*guard = started;
	return error;
}

void pause_guard_watch(struct pause_guard *guard, uint64_t until_ns)
{
	if (!guard || !guard->pid)
		return;
	/* Full: it is awake, or about to be. */
	if (!atomic_exchange(&guard->state->until_ns, until_ns) && until_ns &&
	    write(guard->wake, "", 1) < 0)
		return;
}

bool pause_guard_end(struct pause_guard *guard)
{
	bool continued;

	if (!guard->pid)
		return false;
	kill(guard->pid, SIGKILL);
	while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
		;
	continued = atomic_load(&guard->state->continued);
	close(guard->wake);
	munmap(guard->state, sizeof(*guard->state));
	*guard = (struct pause_guard){.wake = -1};
	return continued;
}
