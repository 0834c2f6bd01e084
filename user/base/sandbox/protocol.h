/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages between the monitor and its parser process.
 *
 * The monitor sends one packet per request, with descriptors (unix(7), SCM_RIGHTS); one request at
 * a time. The parser answers with a struct worker_answer in a separate packet, then its body in
 * packets of WORKER_CHUNK_BYTES, the last one shorter. Bodies are copied out of the socket before
 * they are checked (struct parse_kind), so that a hijacked parser cannot change them afterwards, as
 * it could in shared memory.
 *
 * Both ends are the same program: the layout needs no versions.
 */
#ifndef LEAKMON_SANDBOX_PROTOCOL_H
#define LEAKMON_SANDBOX_PROTOCOL_H

#include <stdint.h>

/* Releases the state of all kinds; no files, no question, no body. */
#define WORKER_RELEASE UINT32_MAX

#define WORKER_MAX_FILES 2
#define WORKER_MAX_QUESTION 2560 /* bytes */
#define WORKER_CHUNK_BYTES (64u << 10)
#define WORKER_MAX_ANSWER_BYTES (512ull << 20)

struct worker_request {
	uint32_t id;   /* not 0 */
	uint32_t kind; /* row of the table of kinds, or WORKER_RELEASE */
	uint32_t file_count;
	uint32_t cpu_seconds; /* CPU time after which the parser ends itself */
	uint32_t question_size;
	uint32_t padding_;
	uint8_t question[WORKER_MAX_QUESTION] __attribute__((aligned(8)));
};

/* The first answer, with id 0, reports the sandbox: 0: it is closed; or -errno. */
struct worker_answer {
	uint32_t id;	/* of the request */
	int32_t status; /* 0 or -errno, then without a body */
	uint64_t size;	/* of the body */
};

#endif
