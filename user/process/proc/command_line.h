/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process runs, for telling apart processes of one name: five that are all "java". */
#ifndef LEAKMON_PROC_COMMAND_LINE_H
#define LEAKMON_PROC_COMMAND_LINE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * The word of a command line that names the program within an interpreter: the first argument that
 * is no option, nor the value of one that is known to take a class path; of a path, its last part.
 * `arguments` is as in /proc/PID/cmdline, of `size` bytes. Untrusted; owned by the caller. NULL:
 * there is none, or no memory.
 */
char *command_line_subject(const char *arguments, size_t size);

/* The same of a process. NULL: it has none, is gone, or must not be read. */
char *command_line_read_subject(pid_t pid);

#endif
