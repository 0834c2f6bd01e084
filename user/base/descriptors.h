/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many files may be open at once (RLIMIT_NOFILE). */
#ifndef LEAKMON_BASE_DESCRIPTORS_H
#define LEAKMON_BASE_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Asks for as many as are allowed (the hard limit) and returns how many that is. Programs started
 * later inherit it: fork before those that must not.
 */
size_t descriptors_raise_limit(void);

/*
 * Those of standard input, output and error that nobody opened for us are opened the wrong way
 * round: use of them fails, and no file or map that is opened later takes their number, and then
 * what is written to standard output. main() calls it first.
 */
void descriptors_reserve_standard(void);

/* Whether so many more can be opened now. It opens them for a moment. */
bool descriptors_left(size_t wanted);

/* The descriptors that any probing needs before there is a target. 0; -EMFILE, after a message. */
int descriptors_check_start(void);

/* Whether -errno says that there are none: in this process, or on the whole machine. */
bool descriptors_are_out(int error);

#endif
