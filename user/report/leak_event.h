/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of --webhook and --otlp: a verdict has changed, a memory limit is near, or `diagnose` has
 * an answer. All texts are borrowed.
 */
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
	EVENT_VERDICT,	 /* a verdict other than leaking; not for --webhook */
	EVENT_DIAGNOSED, /* `diagnose` has an answer */
	EVENT_KIND_MAX_,
};

struct leak_event {
	enum leak_event_kind kind;
	struct timespec time;
	const char *host;
	/*
	 * The process; for a limit, the one below it that grows most; pid 0: a control group or the
	 * machine. Texts are untrusted; NULL: unknown.
	 */
	pid_t pid;
	const char *comm, *exe, *cgroup;
	const struct container *container; /* NULL: none */
	const char *quantity;		   /* "heap", "mapping", ...; static; NULL: of a limit */
	/* Names of this verdict and of the previous one; static; NULL: a limit's; unknown. */
	const char *verdict, *was;
	/*
	 * The class of the growing blocks, and the root that holds them; untrusted; NULL: unknown.
	 */
	const char *class, *holder;
	/*
	 * Of EVENT_DIAGNOSED: a sentence, untrusted; and an object of "processes" in
	 * user/schema/diagnosis.schema.json, as text.
	 */
	const char *answer, *answer_json;
	double bytes_per_s, confidence; /* NAN: unknown */
	uint64_t site;			/* symbolizer_stack_id of the call stack; 0: none */
	const struct frames *frames;	/* of the call stack, or NULL */
	const struct limit *limit;	/* of EVENT_LIMIT_NEAR */
};

#endif
