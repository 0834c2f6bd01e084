/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program that a process runs, to tell apart processes of one name: five called "java". */
#ifndef LEAKMON_PROC_COMMAND_LINE_H
#define LEAKMON_PROC_COMMAND_LINE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Returns the word of a command line that names the program within an interpreter: the first
 * argument that is neither an option nor the value of an option known to take a class path; of a
 * path, its last part. `arguments` is as in /proc/PID/cmdline, of `size` bytes. Untrusted; owned by
 * the caller. NULL: none, or out of memory.
 */
char *command_line_subject(const char *arguments, size_t size);

/*
 * Returns that word of a process's command line; the caller frees. NULL: none, the process is gone
 * or must not be read, or out of memory.
 */
char *command_line_read_subject(pid_t pid);

#endif
