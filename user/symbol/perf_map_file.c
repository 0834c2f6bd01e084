// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "parse/perf_map.h"

struct task_status {
	uint32_t user;	/* the effective one */
	uint32_t group; /* of threads: its number in its innermost PID namespace */
};

/* The last of the numbers in "NStgid:\t812\t1": the outer namespaces come first. */
static bool read_last(const char *numbers, uint32_t *last)
{
	bool found = false;
	char *end;

	for (;; numbers = end) {
		unsigned long number = strtoul(numbers, &end, 10);

		if (end == numbers || number > UINT32_MAX)
			return found;
		*last = (uint32_t)number;
		found = true;
		if (*end == '\n')
			return true;
	}
}

/* man 5 proc, /proc/PID/status. The name in its first line cannot hold a newline: it is escaped. */
static int read_status(int task, struct task_status *status)
{
	struct task_status read = {0};
	_cleanup_fclose_ FILE *file = NULL;
	bool has_user = false, has_group = false;
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%d/status", task);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "NStgid:", 7))
			has_group = read_last(line + 7, &read.group);
		else if (sscanf(line, "Uid:\t%*u\t%" SCNu32, &read.user) == 1)
			has_user = true;
	}
	if (!has_user || !has_group)
		return -ENOENT;
	*status = read;
	return 0;
}

static int open_place(int task, uint32_t number)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int root = -1;
	char path[64];
	long fd;

	snprintf(path, sizeof(path), "/proc/%d/root", task);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", number);
	fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

int perf_map_open(int task)
{
	_cleanup_close_ int place = -1;
	struct task_status status = {0};
	struct stat found;
	char path[64];
	int err = read_status(task, &status), fd;

	if (err)
		return err;
	/* First only a place: opening a FIFO or a device to read from it has effects. */
	place = open_place(task, status.group);
	if (place < 0)
		return TAKE_FD(place);
	if (fstat(place, &found) < 0)
		return -errno;
	if (!S_ISREG(found.st_mode))
		return -EINVAL;
	if (found.st_uid && found.st_uid != status.user)
		return -EACCES;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}
