/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The objects of one process by class, for `leakmon top`: counted by another leakmon (`leakmon
 * retain --census`), which stops the process for a moment. The screen goes on meanwhile.
 *
 *	class_count_start(&count, pid);		on a key; one at a time
 *	pollfds_add(fds, count.fd);		while it is >= 0
 *	if (class_count_take(&count))		whenever something came: count.text is new
 */
#ifndef LEAKMON_TOP_CLASS_COUNT_H
#define LEAKMON_TOP_CLASS_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct class_count {
	pid_t pid;	    /* whose; 0: none was asked for */
	char *text;	    /* lines for people; owned; untrusted; NULL: not yet */
	pid_t child;	    /* that counts; 0: none */
	int fd;		    /* where its words come from; -1: none */
	double cpu_s;	    /* that counting has taken so far, this one and those before */
	double begin_cpu_s; /* of it, before this one */
	char *said;	    /* so far; owned */
	size_t size;
};

#define CLASS_COUNT_NONE                                                                           \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Ends one that runs. 0 or -errno: then nothing runs. */
int class_count_start(struct class_count *count, pid_t pid);
/* Takes what has come, without waiting, and what it cost. True: it is complete, and count->text is
 * set. */
bool class_count_take(struct class_count *count);
void class_count_free(struct class_count *count);

/* The shown part of such a leakmon's words: its messages, and one line of JSON. Owned by the
 * caller; NULL: out of memory. */
char *class_count_text(const char *said);

#endif
