// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of the kernel that one process makes more and more of, without descriptors. `timers`:
 * POSIX timers that are never deleted. `locks`: record locks on one file, byte by byte. `fixed`:
 * timers that are deleted.
 *
 * kind: kernel memory
 * leak posix-timers: timers HOME
 *   part: .*(kernel|slab|timer).*
 *   code: timeout_set
 * leak record-locks: locks HOME
 *   part: .*(kernel|slab|lock).*
 *   code: row_lock
 * healthy posix-timers-deleted: fixed HOME
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define CALLED __attribute__((noinline))

static CALLED void timeout_set(int fixed)
{
	struct sigevent event = {.sigev_notify = SIGEV_NONE};
	struct itimerspec after = {.it_value = {.tv_sec = 3600}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		pause();
	timer_settime(timer, 0, &after, NULL);
	if (fixed)
		timer_delete(timer);
}

static CALLED void row_lock(int file, long row)
{
	struct flock lock = {.l_type = F_WRLCK, .l_start = row * 2, .l_len = 1};

	if (fcntl(file, F_SETLK, &lock))
		pause();
}

int main(int count, char **arguments)
{
	const char *mode = count > 2 ? arguments[1] : "fixed";
	struct rlimit limit = {10000000, 10000000};
	char path[512];
	int file;

	setrlimit(RLIMIT_SIGPENDING, &limit);
	snprintf(path, sizeof(path), "%s/rows", count > 2 ? arguments[2] : "/tmp");
	file = open(path, O_CREAT | O_RDWR, 0600);
	for (long number = 0;; number++) {
		if (!strcmp(mode, "locks"))
			row_lock(file, 3000000 - number);
		else
			timeout_set(!strcmp(mode, "fixed"));
		if (number % 10 == 9)
			usleep(10000);
	}
}
