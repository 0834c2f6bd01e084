/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs for JDK 11 and 21 in trees of Debian 11 and 13 (scripts/deps.sh bullseye trixie), and
 * for 27 of sid with the libraries that it needs (runtimes). */
#ifndef LEAKMON_E2E_JAVA_TREE_H
#define LEAKMON_E2E_JAVA_TREE_H

#include "retain_json.h"
#include "shell.h"
#include "tree.h"

#ifdef __aarch64__
#define JAVA_IN_TREE(version) "/usr/lib/jvm/java-" version "-openjdk-arm64/bin/java"
#else
#define JAVA_IN_TREE(version) "/usr/lib/jvm/java-" version "-openjdk-amd64/bin/java"
#endif
#define JAVA_11 JAVA_IN_TREE("11")
#define JAVA_21 JAVA_IN_TREE("21")
#define JAVA_27 JAVA_IN_TREE("27")

static inline const char *java_release(const char *java)
{
	if (!strcmp(java, JAVA_27))
		return "jdk-27";
	return strcmp(java, JAVA_11) ? "trixie" : "bullseye";
}

/*
 * Compiles tests/runtimes/NAME.java there and starts it with JAVA_11, _21 or _27; returns after it
 * has printed "ready". NULL: that JDK is missing. Java finds its libraries through /proc, mounted
 * there for it alone.
 */
static inline struct child *start_in_java_tree(struct harness *harness, const char *java,
					       const char *name, const char *options,
					       const char *arguments)
{
	char directory[256], root[256], command[1024];

	if (!tree_has(java_release(java), java, root, sizeof(root)))
		return NULL;
	tree_directory(harness, root, name, directory, sizeof(directory));
	free(shell(harness, 0,
		   "cp tests/runtimes/%s.java %s%s && unshare -m sh -c 'mount -t proc proc %s/proc "
		   "&& exec chroot %s %sc -Xlint:-options -d %s %s/%s.java' 2>&1",
		   name, root, directory, root, root, java, directory, directory, name));
	snprintf(command, sizeof(command),
		 "mount -t proc proc %s/proc && exec chroot %s %s -Xmx256m %s -cp %s %s %s", root,
		 root, java, options, directory, name, arguments);
	return start_ready(harness, "/usr/bin/unshare",
			   ARGUMENTS("unshare", "-m", "/bin/sh", "-c", command), NULL);
}

#endif
