/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process behind --push, --webhook and --otlp: the same program, started again with
 * PUSH_ARGUMENT (pusher.h does), without privileges. It knows no reports: it sends documents that
 * the monitor has finished, by libcurl, which only this process loads, and at run time: no other
 * start of the program pays for its thirty libraries.
 *
 * The server is not trusted, nor is the network: answers are read to a bound, redirections are not
 * followed, certificates are verified. Each lane has a queue (push_queue.h) and one
 * request at a time, so that events do not wait behind profiles.
 */
#ifndef LEAKMON_SERVE_PUSH_PROCESS_H
#define LEAKMON_SERVE_PUSH_PROCESS_H

#include <stdint.h>

#include "base/serve/push_queue.h"

#define PUSH_ARGUMENT "--push-process"
#define PUSH_CONTROL 3 /* SOCK_SEQPACKET: packets here, struct push_status back */

/* The first answer of the process, if it cannot load libcurl, or this libcurl is too old. */
#define PUSH_NO_LIBRARY (-1000)
/* The program is static: a library cannot be loaded into it. */
#define PUSH_STATIC (-1001)

/* Separates the parts of a profile's form: no gzip stream has it by chance. */
#define PUSH_BOUNDARY "leakmon-5d1c5a3f0b9e4f3c8a71"

#define PUSH_ATTEMPT_MS 30000 /* for all of a request */
#define PUSH_CONNECT_MS 10000

/* --push; --webhook; both of --otlp. */
enum push_lane { PUSH_PROFILES, PUSH_EVENTS, PUSH_METRICS, PUSH_LOGS, PUSH_LANE_MAX_ };

enum push_packet_kind {
	PUSH_CONFIGURE, /* its file: URL, content type, CA certificates or "", headers, each with
			   its NUL; a header on each line of the last one */
	PUSH_SEND,	/* its file is the body */
	PUSH_FINISH,	/* sends what is left within that time, and ends */
};

struct push_packet {
	uint32_t kind;
	uint32_t lane;
	uint64_t size;	      /* of the file */
	uint32_t deadline_ms; /* PUSH_FINISH */
	char query[PUSH_QUERY_SIZE];
};

#define PUSH_PROBLEM_SIZE 256

/* How a lane stands, since the process began. */
struct push_status {
	uint32_t lane;
	uint32_t waiting;
	uint64_t delivered, lost, retries;
	uint32_t finished;		 /* nothing comes any more */
	char problem[PUSH_PROBLEM_SIZE]; /* of the latest attempt; ""; untrusted */
};

/* Called first in main(): returns unless this process was started to push. */
void push_process_enter(int argc, char **argv);

#endif
