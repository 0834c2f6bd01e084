// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files in memory. `log`: a log in /dev/shm grows. `deleted`: the same, but its name is gone.
 * `memfd`: it never had one. `rotated`: the log begins again at 1 MiB. `fixed`: the memfd is a
 * ring.
 *
 * kind: files in memory
 * leak tmpfs-log: log SHM
 *   part: tmpfs
 *   holder: /dev/shm/
 * leak tmpfs-deleted: deleted SHM
 *   part: tmpfs|shared
 * leak memfd-frames: memfd SHM
 *   part: tmpfs|shared
 *   holder: memfd:frames
 * healthy tmpfs-log-rotated: rotated SHM
 * healthy memfd-ring: ring SHM
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALLED __attribute__((noinline))

static CALLED void log_write(int file, const char *line, size_t size)
{
	if (write(file, line, size) < 0)
		pause();
}

int main(int count, char **arguments)
{
	static char line[20000];
	const char *mode = count > 2 ? arguments[1] : "log";
	char path[512];
	int file;

	snprintf(path, sizeof(path), "%s/service.log", count > 2 ? arguments[2] : "/dev/shm");
	if (!strcmp(mode, "memfd") || !strcmp(mode, "ring"))
		file = memfd_create("frames", 0);
	else
		file = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
	if (!strcmp(mode, "deleted"))
		unlink(path);
	memset(line, 'l', sizeof(line));
	for (int number = 0;; number++) {
		log_write(file, line, sizeof(line));
		if (!strcmp(mode, "rotated") && number % 50 == 49 && ftruncate(file, 0))
			return 1;
		if (!strcmp(mode, "ring") && number % 50 == 49)
			lseek(file, 0, SEEK_SET);
		usleep(20000);
	}
}
