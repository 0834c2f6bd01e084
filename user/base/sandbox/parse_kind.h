/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to the parser process. The sandbox knows no file formats: whoever starts a worker passes
 * a table of these, the same one in the monitor and in the parser process.
 */
#ifndef LEAKMON_SANDBOX_PARSE_KIND_H
#define LEAKMON_SANDBOX_PARSE_KIND_H

#include <stddef.h>
#include <stdint.h>

#include "base/sandbox/bytes.h"

/*
 * The parser processes, each started on demand. AWAITED: the monitor waits for answers; BACKGROUND:
 * long requests that nobody waits for; the third is replaced between files, because its answer
 * about one file decides about more than that file (worker_leave()).
 */
enum worker_lane {
	WORKER_LANE_AWAITED,
	WORKER_LANE_BACKGROUND,
	WORKER_LANE_PER_FILE,
	WORKER_LANE_MAX_
};

/* How much longer to wait for an answer after the monitor was asked to end (base/interrupt.h). */
enum lane_haste { LANE_FOR_A_REPORT, LANE_AT_ONCE };

struct parse_input {
	const int *files; /* borrowed */
	size_t file_count;
	const void *question; /* aligned to 8 bytes */
	size_t question_size;
	void **state; /* of this kind: initially NULL, kept between requests, see `release` */
};

/* The request against which an answer is checked. */
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
	/*
	 * Runs in the sandbox. Appends the answer's body. Returns 0, or -errno as its status;
	 * -EINVAL: malformed question.
	 */
	int (*parse)(const struct parse_input *input, struct bytes *body);
	/*
	 * Runs in the monitor. A hostile file may have taken over the parser, so every count,
	 * offset and string is checked; a decoded answer is safe to use, though it may lie about
	 * names. Returns 0; -EPROTO: no honest parser gives this answer; -ENOMEM. *out is untouched
	 * on errors.
	 */
	int (*decode)(const struct bytes *body, const struct parse_origin *origin, void *out);
	void (*release)(void *state); /* NULL: no state is kept */
};

struct parse_kinds {
	const struct parse_kind *const *rows;
	size_t count;
};

#endif
