/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of --webhook: something has begun to leak, or a memory limit is near. All borrowed. */
#ifndef LEAKMON_REPORT_LEAK_EVENT_H
#define LEAKMON_REPORT_LEAK_EVENT_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct container;
struct frames;
struct limit;

enum leak_event_kind {
	EVENT_LEAKING,
	EVENT_LIMIT_NEAR,
	EVENT_KIND_MAX_,
};

struct leak_event {
	enum leak_event_kind kind;
	struct timespec time;
	const char *host;
	/* The process: of a limit, the one below it that grows most; pid 0: none, but a control
	 * group or the machine. Texts are untrusted; NULL: not known. */
	pid_t pid;
	const char *comm, *exe, *cgroup;
	const struct container *container; /* NULL: none */
	const char *quantity;		   /* of EVENT_LEAKING: "heap", "mapping", ...; static */
	double bytes_per_s, confidence;	   /* NAN: not known */
	uint64_t site;			   /* symbolizer_stack_id of the call stack; 0: of no one */
	const struct frames *frames;	   /* likewise; or NULL */
	const struct limit *limit;	   /* of EVENT_LIMIT_NEAR */
};

#endif
