// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Report: kubernetes/kubernetes#10421. One inotify descriptor gets watches that are never removed:
 * kernel memory grows, the number of descriptors does not. `fixed`: watch and folder are removed.
 *
 * kind: kernel memory
 * leak inotify-watches: SHM
 *   part: .*(kernel|slab|inotify).*|tmpfs
 *   code: watch_cgroup
 * healthy inotify-removed: SHM fixed
 */
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static int watch_cgroup(int descriptor, const char *folder, unsigned number)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/container-%u", folder, number);
	mkdir(path, 0700);
	return inotify_add_watch(descriptor, path, IN_CREATE | IN_DELETE);
}

int main(int count, char **arguments)
{
	int descriptor = inotify_init1(IN_NONBLOCK);
	int fixed = count > 2 && !strcmp(arguments[2], "fixed");
	char events[65536];

	for (unsigned number = 0; count > 1 && number < 2000000; number++) {
		int watch = watch_cgroup(descriptor, arguments[1], number);
		char path[512];

		if (watch < 0)
			pause();
		if (fixed) {
			inotify_rm_watch(descriptor, watch);
			snprintf(path, sizeof(path), "%s/container-%u", arguments[1], number);
			rmdir(path);
		}
		while (read(descriptor, events, sizeof(events)) > 0)
			;
		usleep(500);
	}
}
