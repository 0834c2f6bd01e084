// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/interrupt.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fatal_signal.h"

#define SAME_WISH_NS 250000000u

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* Handlers get no context, and run in any thread at any time: their state is atomic. */
static struct {
	int number;   /* of the first signal; 0: none */
	pid_t sender; /* of the first signal; 0: not a process, or unknown */
	uint64_t at_ns;
	bool ends;
	int fd;
	pid_t owner;	  /* a forked child is ignored */
	bool is_database; /* `removed` is a database */
	char *removed;	  /* one of `paths`, or NULL */
	char *spare;	  /* the other one */
} state = {.fd = -1};

/* SQLite's files beside an open database; the database itself comes last. */
static const char *const suffixes[] = {"-wal", "-shm", "-journal"};

static char paths[2][PATH_MAX + 16];

#define get(field) __atomic_load_n(&state.field, __ATOMIC_SEQ_CST)
#define set(field, value) __atomic_store_n(&state.field, value, __ATOMIC_SEQ_CST)

static void remove_database(char *path)
{
	char *end = path + strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		strcpy(end, suffixes[i]); /* fits: see PATH_MAX + 16 */
		unlink(path);
	}
	*end = '\0';
}

void interrupt_end(int code)
{
	char *path = get(removed);

	if (path && get(is_database))
		remove_database(path);
	if (path)
		unlink(path);
	_exit(code);
}

static _Noreturn void end_now(int number)
{
	fatal_signal_act_last();
	interrupt_explain();
	interrupt_end(128 + number);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno, first = get(number);
	uint64_t one = 1, now_ns = monotonic_ns();

	(void)context;
	if (getpid() != state.owner)
		return;
	if (!first) {
		set(at_ns, now_ns);
		set(sender, info->si_code <= 0 ? info->si_pid : 0);
		set(number, number);
		/* Already full, hence readable. */
		if (write(state.fd, &one, sizeof(one)) < 0)
			errno = saved;
	} else if (now_ns - get(at_ns) > SAME_WISH_NS) {
		set(ends, true);
	}
	if (get(ends))
		end_now(get(number));
	errno = saved;
}

static int handle(int number)
{
	struct sigaction before, action = {
					 .sa_sigaction = on_signal,
					 .sa_flags = SA_RESTART | SA_SIGINFO,
				 };
	sigset_t one;

	if (sigaction(number, NULL, &before))
		return -errno;
	/*
	 * A shell ignores SIGINT for background commands of a script; a SIGINT sent to leakmon is
	 * meant for it.
	 */
	if (number == SIGHUP && before.sa_handler == SIG_IGN)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&action.sa_mask, signals[i]);
	sigemptyset(&one);
	sigaddset(&one, number);
	if (sigaction(number, &action, NULL) || sigprocmask(SIG_UNBLOCK, &one, NULL))
		return -errno;
	return 0;
}

int interrupt_open(void)
{
	int error = 0;

	if (state.fd >= 0)
		return 0;
	state.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (state.fd < 0)
		return -errno;
	state.owner = getpid();
	state.spare = paths[0];
	for (size_t i = 0; i < ARRAY_SIZE(signals) && !error; i++)
		error = handle(signals[i]);
	return error;
}

int interrupt_check(void)
{
	return get(number) ? -EINTR : 0;
}

uint64_t interrupt_time_ns(void)
{
	return get(number) ? get(at_ns) : 0;
}

int interrupt_fd(void)
{
	return state.fd;
}

int interrupt_exit_code(int otherwise)
{
	int number = get(number);

	return number ? 128 + number : otherwise;
}

void interrupt_explain(void)
{
	int number = get(number);

	if (number == SIGTERM || number == SIGHUP)
		fatal_signal_explain(number, get(sender));
}

void interrupt_ends(bool ends)
{
	int number;

	set(ends, ends);
	number = get(number);
	if (ends && number)
		end_now(number);
}

void interrupt_removes(const char *path)
{
	char *place = state.spare ? state.spare : paths[0], *before = get(removed);
	size_t length = path ? strlen(path) : PATH_MAX;

	set(is_database, false);
	if (length >= PATH_MAX) {
		set(removed, NULL);
		return;
	}
	memcpy(place, path, length + 1);
	set(removed, place);
	/*
	 * A handler may be reading the previous one: it is overwritten only after the next change.
	 */
	state.spare = before ? before : place == paths[0] ? paths[1] : paths[0];
}

void interrupt_removes_database(const char *path)
{
	interrupt_removes(path);
	set(is_database, true);
}

void interrupt_close(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
	cleanup_close(&state.fd);
	memset(&state, 0, sizeof(state));
	state.fd = -1;
}
