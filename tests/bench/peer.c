// SPDX-License-Identifier: GPL-2.0-or-later
#include "peer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"

#define ATTACH_LIMIT_NS INT64_C(30000000000)

static const char *const programs[] = {"memleak", "memleak-bpfcc"};

/* memleak says nothing when it is ready, so the target is asked whether its code has changed. */
static int wait_probed(struct child *peer, struct child *target)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	int64_t deadline_ns = now_ns() + ATTACH_LIMIT_NS;
	char *answer;
	int error;

	for (;;) {
		error = child_ask(target, "probed", &answer);
		if (error || !strcmp(answer, "2"))
			return error;
		error = child_drain(peer, &pause);
		if (error)
			return error;
		if (!peer->pid)
			return child_fail(peer, -EPIPE, "ended too early");
		if (now_ns() > deadline_ns)
			return child_fail(peer, -ETIMEDOUT, "put no probes in");
	}
}

static int program_start(struct child **peer, const char *program, struct child *target, pid_t pid,
			 struct why *why)
{
	_cleanup_(child_cleanup) struct child *started = NULL;
	char pid_text[16];
	int error;

	snprintf(pid_text, sizeof(pid_text), "%d", pid);
	error = child_start(&started, ARGUMENTS(program, "-p", pid_text, "3600"), why);
	if (!error)
		error = wait_probed(started, target);
	if (!error)
		*peer = TAKE_PTR(started);
	return error;
}

int memleak_start(struct child **peer, struct child *target, pid_t pid, struct why *why)
{
	const char *chosen = getenv("LEAKMON_BENCH_MEMLEAK");
	int error = -ENOENT;

	if (chosen && *chosen)
		return program_start(peer, chosen, target, pid, why);
	for (size_t i = 0; i < ARRAY_SIZE(programs) && error && error != -EINTR; i++)
		error = program_start(peer, programs[i], target, pid, why);
	return error;
}
