/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process behind --push, --webhook and --otlp: the same program, started again with
 * PUSH_ARGUMENT (by pusher.h), without privileges. It knows no reports: it sends documents that the
 * monitor has finished, by libcurl, which only this process loads, at run time: no other start of
 * the program pays for its thirty libraries. Without libcurl it posts to http:// only
 * (push_transport.h).
 *
 * Neither the server nor the network is trusted: answers are read to a bound, redirections are not
 * followed, certificates are verified. Each lane has a queue (push_queue.h) and one request at a
 * time, so that events do not wait behind profiles.
 */
#ifndef LEAKMON_SERVE_PUSH_PROCESS_H
#define LEAKMON_SERVE_PUSH_PROCESS_H

#include <stdint.h>

#include "base/serve/push_queue.h"

#define PUSH_ARGUMENT "--push-process"
#define PUSH_CONTROL 3 /* SOCK_SEQPACKET: packets here, struct push_status back */

/* The process's first answer if it posts to http:// only: libcurl is missing or too old. */
#define PUSH_NO_LIBRARY 1
/* As above: the program is static, and cannot load a library. */
#define PUSH_STATIC 2

/* Separates the parts of a profile's form: long enough not to occur in a gzip stream by chance. */
#define PUSH_BOUNDARY "leakmon-5d1c5a3f0b9e4f3c8a71"

/* --push; --webhook; the two of --otlp. */
enum push_lane { PUSH_PROFILES, PUSH_EVENTS, PUSH_METRICS, PUSH_LOGS, PUSH_LANE_MAX_ };

enum push_packet_kind {
	/*
	 * its file: URL, content type, CA certificates or "", headers, each NUL-terminated; the
	 * last text has one header per line
	 */
	PUSH_CONFIGURE,
	PUSH_SEND,   /* its file is the body */
	PUSH_FINISH, /* sends the rest within that time, and ends */
};

struct push_packet {
	uint32_t kind;
	uint32_t lane;
	uint64_t size;	      /* of the file */
	uint32_t deadline_ms; /* PUSH_FINISH */
	char query[PUSH_QUERY_SIZE];
};

#define PUSH_PROBLEM_SIZE 256

/* A lane's counts since the process began. */
struct push_status {
	uint32_t lane;
	uint32_t waiting;
	uint64_t delivered, lost, retries;
	uint32_t finished;		 /* no more documents to send */
	char problem[PUSH_PROBLEM_SIZE]; /* of the latest attempt, or ""; untrusted */
};

/* Returns unless this process was started to push. Called first in main(). */
void push_process_enter(int argc, char **argv);

#endif
