/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts a program under observation, from its first allocation.
 *
 * The child waits for permission to exec. At each exec the BPF side stops it (SIGSTOP) before its
 * first instruction; then it is followed, system call by system call, while its loader maps
 * libraries, and probed as soon as an allocator is mapped. Nothing is written to it, and it runs
 * untraced as soon as the loader is done.
 */
#ifndef LEAKMON_PROBE_LAUNCH_H
#define LEAKMON_PROBE_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

struct launch {
	pid_t pid;
	int go_fd;     /* write end: a byte lets the child exec */
	int result_fd; /* read end: the errno of a failed exec, or end of file */
};

/* Forks the waiting child; a `silent` one reads and writes /dev/null. Returns 0 or -errno. */
int launch_prepare(struct launch *launch, char **argv, bool silent);

/* Lets it exec. Returns 0 when it is stopped at its first instruction, or -errno of the exec. */
int launch_start(struct launch *launch);

/*
 * Called for a stopped child whenever new code may be mapped. Returns the number of allocator
 * functions probed so far, or -errno to end the following.
 */
typedef int (*launch_mapped)(void *context);

/*
 * Follows the loader of a child stopped after an exec, and lets it run. Returns 0 when it runs (or
 * ended meanwhile), or -errno; in either case it is neither stopped nor traced.
 */
int launch_follow(pid_t pid, launch_mapped mapped, void *context);

/* Ends a child that never execed, and closes the descriptors. */
void launch_close(struct launch *launch);

#endif
