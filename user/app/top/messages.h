/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Captures standard error in memory while a program draws on the terminal: the latest 64 KiB. */
#ifndef LEAKMON_TOP_MESSAGES_H
#define LEAKMON_TOP_MESSAGES_H

#include <stddef.h>

struct messages {
	int fd;	    /* standard error meanwhile; -1: not capturing */
	int saved;  /* the original standard error */
	char *text; /* lines; owned */
	size_t size;
	char latest[256];
};

#define MESSAGES_CLOSED ((struct messages){.fd = -1, .saved = -1})

/* Begins to capture standard error. Returns 0 or -errno. */
int messages_open(struct messages *messages);

/* Restores standard error and prints the last captured lines. */
void messages_close(struct messages *messages);

/* Returns the latest line since the last call; NULL: none. Untrusted; valid until the next call. */
const char *messages_take(struct messages *messages);

#endif
