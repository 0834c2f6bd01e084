// SPDX-License-Identifier: GPL-2.0-or-later
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ATTACH_LIMIT_NS INT64_C(30000000000)

static const char *const programs[] = {"memleak", "memleak-bpfcc"};

/* First address of a mapped file of that name; 0: none. */
static uintptr_t mapped_at(pid_t pid, const char *name)
{
	char path[32], line[512];
	_cleanup_fclose_ FILE *maps = NULL;
	unsigned long start;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, name) && sscanf(line, "%lx-", &start) == 1)
			return start;
	}
	return 0;
}

static bool has_breakpoint(pid_t pid, uintptr_t function)
{
	uintptr_t own = mapped_at(getpid(), "/libc.so.6"), theirs = mapped_at(pid, "/libc.so.6");
	unsigned char byte = 0;
	_cleanup_close_ int fd = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && own && theirs &&
	       pread(fd, &byte, 1, (off_t)(function - own + theirs)) == 1 && byte == 0xcc;
}

static int is_probed(struct child *target, pid_t pid, bool *probed)
{
	char *answer;
	int error;

	if (!target) {
		*probed = has_breakpoint(pid, (uintptr_t)malloc) &&
			  has_breakpoint(pid, (uintptr_t)free);
		return 0;
	}
	error = child_ask(target, "probed", &answer);
	if (!error)
		*probed = !strcmp(answer, "2");
	return error;
}

/* memleak does not report readiness, so the target's code has to show it. */
static int wait_probed(struct child *peer, struct child *target, pid_t pid)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	int64_t deadline_ns = now_ns() + ATTACH_LIMIT_NS;
	bool probed = false;
	int error;

	for (;;) {
		error = is_probed(target, pid, &probed);
		if (error || probed)
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
		error = wait_probed(started, target, pid);
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
