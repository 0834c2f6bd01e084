/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of a child on one pipe, read in large pieces and returned by lines. */
#ifndef LEAKMON_BENCH_STREAM_H
#define LEAKMON_BENCH_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#define READ_SIZE (1u << 20)

struct stream {
	int fd; /* -1: closed */
	char *text;
	size_t size, capacity;
	size_t taken;	/* bytes handed out as lines */
	size_t scanned; /* bytes known to hold no further newline */
};

/* Reads once; closes at the end of the file. -ENOMEM or 0. */
int stream_read(struct stream *stream);
/* Returns one complete line without its newline, valid until the next read; false: none yet. */
bool stream_take(struct stream *stream, char **line, size_t *size);
/* Length (at most 140) and start of the last line, where programs report their errors. */
int stream_last_line(const struct stream *stream, const char **line);
void stream_free(struct stream *stream);

#endif
