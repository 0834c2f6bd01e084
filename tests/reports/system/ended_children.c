// SPDX-License-Identifier: GPL-2.0-or-later
// Kind: a supervisor that starts jobs and never waits for them. `fixed`: it waits.
//
// kind: kernel memory
// leak children-unwaited: leak
//   part: kernel-memory
//   code: job_start
// healthy children-waited: fixed
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static pid_t job_start(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid;
}

int main(int argc, char **argv)
{
	int waits = argc > 1 && !strcmp(argv[1], "fixed");

	for (;;) {
		pid_t pid = job_start();

		if (waits)
			waitpid(pid, NULL, 0);
		usleep(50000);
	}
}
