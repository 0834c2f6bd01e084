/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trees of other releases, made by `scripts/deps.sh RELEASE`: trixie (Debian 13) and bullseye (11),
 * with compilers newer or older than this system's. Their programs run in them.
 */
#ifndef LEAKMON_E2E_TREE_H
#define LEAKMON_E2E_TREE_H

#include <unistd.h>

#include "shell.h"

#define CHROOT "/usr/sbin/chroot"

/* The tree's folder; false: it is not there, has no such program, or only root could use it. */
static inline bool tree_has(const char *release, const char *program, char *root, size_t size)
{
	const char *runtimes = getenv("LEAKMON_RUNTIMES"), *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	char path[512];

	if (runtimes)
		snprintf(root, size, "%s/%s", runtimes, release);
	else if (cache)
		snprintf(root, size, "%s/leakmon/runtimes/%s", cache, release);
	else
		snprintf(root, size, "%s/.cache/leakmon/runtimes/%s", home ? home : "/root",
			 release);
	snprintf(path, sizeof(path), "%s%s", root, program);
	return !geteuid() && !access(path, X_OK);
}

/* A fresh folder in the tree, as its programs see it, one for each program of tests. */
static inline void tree_directory(struct harness *harness, const char *root, const char *name,
				  char *directory, size_t size)
{
	snprintf(directory, size, "/tmp/leakmon-e2e-%s", name);
	free(shell(harness, 0, "rm -rf %s%s && mkdir -p %s%s", root, directory, root, directory));
}

#endif
