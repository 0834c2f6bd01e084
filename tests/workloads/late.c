// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * late LIBRARY [SOURCE | PID]: `load` maps an allocator with dlopen, in the middle of life; `go`
 * uses it, under its own names. Between the two nothing else is allocated.
 *
 *   away  a mount namespace of its own, where LIBRARY, in a file system of its own, is a copy of
 *         SOURCE
 *   join  the mount namespace of process PID
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* unshare() */
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/sendfile.h>

#include "workload.h"

enum { LATE, SITES_ };

static struct truth truth = {.sites = {[LATE] = {.function = "late_blocks"}}};
static const char *library, *source;
static void *(*allocate)(size_t);
static void (*release)(void *);

static void load(void)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		say("%s\n", dlerror());
	else {
		*(void **)&allocate = dlsym(handle, "make_block");
		if (!allocate)
			*(void **)&allocate = dlsym(handle, "malloc");
		*(void **)&release = dlsym(handle, "free");
	}
	if (!allocate || !release)
		_exit(110);
}

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	say("%s: %s\n", what, strerror(errno));
	_exit(114);
}

static void go_away(void)
{
	char directory[4096];
	off_t at = 0;
	int from = open(source, O_RDONLY), to;

	snprintf(directory, sizeof(directory), "%s", library);
	must(!unshare(CLONE_NEWNS), "unshare");
	must(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
	must(!mount("none", dirname(directory), "tmpfs", 0, NULL), "mount");
	to = open(library, O_WRONLY | O_CREAT | O_EXCL, 0755);
	must(from >= 0 && to >= 0, "copy");
	while (sendfile(to, from, &at, 1 << 20) > 0)
		;
	must(at > 0, "copy");
	close(from);
	close(to);
}

static void join(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/ns/mnt", source);
	fd = open(path, O_RDONLY);
	must(fd >= 0 && !setns(fd, CLONE_NEWNS), "setns");
	close(fd);
}

SITE void late_blocks(void)
{
	for (size_t size = 1; size <= 100; size++) {
		void *block = allocate(size);

		if (!OPAQUE(block))
			_exit(113);
		truth_born(&truth, LATE, size);
		if (size % 2 == 0)
			continue;
		release(block);
		truth_died(&truth, LATE, size);
	}
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{.name = "load", .run = load},
						  {.name = "away", .run = go_away},
						  {.name = "join", .run = join},
						  {.name = "go", .run = late_blocks}};

	library = argc > 1 ? argv[1] : "";
	source = argc > 2 ? argv[2] : "";
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
