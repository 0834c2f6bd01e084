/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An idle child with copies of our mappings, which ends with us. Include it after cmocka.h. */
#ifndef LEAKMON_CHILD_FIXTURE_H
#define LEAKMON_CHILD_FIXTURE_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static inline pid_t start_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static inline void stop_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
