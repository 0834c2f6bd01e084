/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to the parser process. The sandbox knows no kinds of files: whoever starts a worker
 * hands it a table of these, the same one in the monitor and in the parser process.
 */
#ifndef LEAKMON_SANDBOX_PARSE_KIND_H
#define LEAKMON_SANDBOX_PARSE_KIND_H

#include <stddef.h>
#include <stdint.h>

#include "base/sandbox/bytes.h"

/*
 * The parser processes, each started when first needed. One is waited for; one takes long, and need
 * not be; one is replaced between files, because what it answers about one file is trusted with
 * more than that file (worker_leave()).
 */
enum worker_lane {
	WORKER_LANE_AWAITED,
	WORKER_LANE_BACKGROUND,
	WORKER_LANE_PER_FILE,
	WORKER_LANE_MAX_
};

/* When the monitor is asked to end (base/interrupt.h), for how much longer an answer is waited. */
enum lane_haste { LANE_FOR_A_REPORT, LANE_AT_ONCE };

struct parse_input {
	const int *files; /* borrowed */
	size_t file_count;
	const void *question; /* aligned to 8 bytes */
	size_t question_size;
	void **state; /* of this kind: NULL at first, kept between requests, see `release` */
};

/* The request that an answer must fit. */
struct parse_origin {
	uint64_t file_size;
	size_t question_size;
};

struct parse_kind {
	const char *name;
	enum worker_lane lane;
	enum lane_haste haste;		   /* AT_ONCE: no last report needs it */
	size_t max_files;		   /* at least one */
	size_t min_question, max_question; /* bytes */
	/* In the sandbox. Appends the answer's body. 0, or -errno as its status; -EINVAL: not a
	 * question. */
	int (*parse)(const struct parse_input *input, struct bytes *body);
	/*
	 * In the monitor. A hostile file may have taken the parser over, so every count, place and
	 * string is checked; what passes is safe to use, though it may lie about names. 0; -EPROTO:
	 * not an answer that an honest parser gives; -ENOMEM. *out is untouched on errors.
	 */
	int (*decode)(const struct bytes *body, const struct parse_origin *origin, void *out);
	void (*release)(void *state); /* NULL: it keeps none */
};

struct parse_kinds {
	const struct parse_kind *const *rows;
	size_t count;
};

#endif
