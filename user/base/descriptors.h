/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The limit of open files (RLIMIT_NOFILE). */
#ifndef LEAKMON_BASE_DESCRIPTORS_H
#define LEAKMON_BASE_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Raises the soft limit to the hard limit and returns it. Programs started later inherit it: fork
 * before those that must not.
 */
size_t descriptors_raise_limit(void);

/*
 * Opens those of standard input, output and error that are closed, in the wrong direction: using
 * them fails, and no file or map opened later takes their numbers and, with them, output meant for
 * standard output. main() calls it first.
 */
void descriptors_reserve_standard(void);

/* Returns whether `wanted` more files can be opened now, by opening them for a moment. */
bool descriptors_left(size_t wanted);

/*
 * Checks that the descriptors needed before any target are available. Returns 0; -EMFILE, after a
 * message.
 */
int descriptors_check_start(void);

/*
 * Returns whether -errno means that descriptors ran out, in this process or on the whole machine.
 */
bool descriptors_are_out(int error);

#endif
