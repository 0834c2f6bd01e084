/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The objects of one process by class, for `leakmon top`: counted by another leakmon (`leakmon
 * retain --census`), which stops the process for a moment while the screen goes on.
 *
 *	class_count_start(&count, pid);		on a key; one at a time
 *	pollfds_add(fds, count.fd);		while it is >= 0
 *	if (class_count_take(&count))		after every event: count.text is new
 */
#ifndef LEAKMON_TOP_CLASS_COUNT_H
#define LEAKMON_TOP_CLASS_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct class_count {
	pid_t pid;	    /* of the counted process; 0: none requested */
	char *text;	    /* text for people; owned; untrusted; NULL: not yet */
	pid_t child;	    /* the counting process; 0: none */
	int fd;		    /* its output; -1: none */
	double cpu_s;	    /* CPU time of this count so far and of all earlier ones */
	double begin_cpu_s; /* CPU time of the earlier ones */
	char *said;	    /* output so far; owned */
	size_t size;
};

#define CLASS_COUNT_NONE                                                                           \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Starts a count; ends a running one. Returns 0 or -errno; on error none runs. */
int class_count_start(struct class_count *count, pid_t pid);
/*
 * Takes the output and the cost so far, without waiting. Returns true when the count is complete
 * and count->text is set.
 */
bool class_count_take(struct class_count *count);
void class_count_free(struct class_count *count);

/*
 * Returns the displayed part of the output of the counting leakmon: its messages, and one line of
 * JSON. The caller frees it; NULL: out of memory.
 */
char *class_count_text(const char *said);

#endif
