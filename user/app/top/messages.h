/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * While a program draws on the terminal, whatever it writes to standard error is kept instead, in
 * memory: the latest 64 KiB.
 */
#ifndef LEAKMON_TOP_MESSAGES_H
#define LEAKMON_TOP_MESSAGES_H

#include <stddef.h>

struct messages {
	int fd;	    /* what standard error is meanwhile; -1: nothing is kept */
	int saved;  /* what it was */
	char *text; /* lines; owned */
	size_t size;
	char latest[256];
};

#define MESSAGES_CLOSED ((struct messages){.fd = -1, .saved = -1})

/* 0 or -errno. */
int messages_open(struct messages *messages);

/* Gives standard error back and prints the last lines of what was kept there. */
void messages_close(struct messages *messages);

/* The latest line since the last call; NULL: there is none. Untrusted; good until the next call. */
const char *messages_take(struct messages *messages);

#endif
