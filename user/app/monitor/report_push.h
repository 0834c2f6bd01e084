/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pushes reports (base/serve/pusher.h): to --push, a profile of each process for Pyroscope's
 * /ingest; to --webhook, an event whenever a process begins to leak or a memory limit comes near;
 * to --otlp, metrics, and a log record whenever a verdict changes.
 *
 * The API: https://grafana.com/docs/pyroscope/latest/reference-server-api/, "Ingestion"; the form
 * with the profile and the meaning of its sample types as in its section on pprof.
 */
#ifndef LEAKMON_MONITOR_REPORT_PUSH_H
#define LEAKMON_MONITOR_REPORT_PUSH_H

#include "base/serve/pusher.h"
#include "base/vec.h"
#include "output/output.h"
#include "report/pushed.h"

struct report_push;

/* Processes pushed per report: those that hold or grow most. */
#define PUSH_PROCESSES_MAX 64
/* Call stacks of a process considered for events. */
#define PUSH_SITES_MAX 64
/* A leak that stopped, or a limit no longer near, is reported again only after this. */
#define PUSH_QUIET_S 600

/*
 * Opens the destinations. Returns 0, or -errno after an error message; *push is NULL if none is
 * given.
 */
int report_push_open(struct report_push **push, const struct push_options *options);
/*
 * Pushes a report if its kind can be pushed, and ignores others. Failures are logged. NULL is
 * allowed.
 */
void report_push_take(struct report_push *push, enum output_kind kind, const void *report);
/*
 * Pushes an answer of `diagnose` (an object of "processes" in user/schema/diagnosis.schema.json, as
 * text) as an event of --webhook and a log record of --otlp. NULL is allowed.
 */
void report_push_answer(struct report_push *push, const char *answer);
/* Returns the counts so far. NULL is allowed. */
struct pushed report_push_state(const struct report_push *push);
/*
 * Waits a bounded time for pending documents; returns the number of lost documents. NULL is
 * allowed.
 */
uint64_t report_push_close(struct report_push *push);

/*
 * The name of a series, "NAME{host=...,pid=...,namespace=...,pod=...,container=...}",
 * percent-encoded, with labels that are proven. Invalid characters become "_".
 */
struct push_series {
	const char *comm, *host;
	uint64_t pid;
	const struct container *container; /* NULL: not in a container */
};
void push_series_print(FILE *out, const struct push_series *series);

/* Recent messages. Zero-initialise; free `seen`. */
struct news {
	VEC(struct news_seen {
		uint64_t key;
		double last_s;
	})
	seen;
};
/*
 * Returns whether `key`, which identifies the present state, was not seen in the last PUSH_QUIET_S.
 */
bool news_is_new(struct news *news, uint64_t key, double now_s);

struct hash; /* base/hash.h */
/*
 * Returns whether a log record is due: the verdict on the subject `key` differs from that of its
 * last record, *was (NULL: none), or a suspect no longer is one. Remembers only suspects, by their
 * words, which are static.
 */
bool verdict_has_changed(struct hash *verdicts, uint64_t key, const char *verdict, bool suspect,
			 const char **was);

#endif
