/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the separate debug file of a stripped one, as gdb does (its manual, "Separate Debug
 * Files"): by build-id, then by .gnu_debuglink. Only a file with the same build-id is taken.
 */
#ifndef LEAKMON_SYMBOL_DEBUG_FILE_H
#define LEAKMON_SYMBOL_DEBUG_FILE_H

struct debug_request {
	int fd;		      /* the stripped file */
	const char *build_id; /* its build-id; "": nothing can be found */
	const char *path;     /* where its process maps it from; may be "" */
	int task;	      /* whose root is searched before our own; 0: our own only */
};

/* A descriptor that the caller closes; -ENOENT; -ENOMEM. */
int debug_file_open(const struct debug_request *request);

/*
 * The same for what dwz moved out into a file shared by several (.gnu_debugaltlink). `name` may be
 * relative to the directory of the debug file, for which the usual place is taken.
 */
int debug_file_open_alt(int task, const char *name, const char *build_id);

#endif
