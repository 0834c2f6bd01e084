/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports that are pushed (base/serve/pusher.h): to --push, a profile of each process, as
 * Pyroscope's /ingest takes it; to --webhook, an event whenever something has begun to leak or a
 * memory limit has come near; to --otlp, metrics, and a log record whenever a verdict has changed.
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

/* In each report, the processes that hold or grow most. */
#define PUSH_PROCESSES_MAX 64
/* Call stacks of a process that are looked at for events. */
#define PUSH_SITES_MAX 64
/* A leak that stopped, or a limit that is not near any more, is no news again before that. */
#define PUSH_QUIET_S 600

/* 0, or -errno after an error message; *push is NULL if nothing is to be pushed. */
int report_push_open(struct report_push **push, const struct push_options *options);
/* Takes a report of a kind that can be pushed, and ignores others. Failures are said. NULL is
 * allowed. */
void report_push_take(struct report_push *push, enum output_kind kind, const void *report);
/*
 * Takes an answer of `diagnose` (an object of "processes" in user/schema/diagnosis.schema.json, as
 * text): an event of --webhook and a log record of --otlp. NULL is allowed.
 */
void report_push_answer(struct report_push *push, const char *answer);
/* What became of it so far. NULL is allowed. */
struct pushed report_push_state(const struct report_push *push);
/* Waits a bounded time for what is left; returns how many documents were lost. NULL is allowed. */
uint64_t report_push_close(struct report_push *push);

/*
 * "NAME{host=...,pid=...,namespace=...,pod=...,container=...}", percent-encoded: what a series is
 * called, with the labels that are proven. What such a name cannot hold becomes "_".
 */
struct push_series {
	const char *comm, *host;
	uint64_t pid;
	const struct container *container; /* NULL: none */
};
void push_series_print(FILE *out, const struct push_series *series);

/* Remembers what was said. Zero-initialise; free `seen`. */
struct news {
	VEC(struct news_seen {
		uint64_t key;
		double last_s;
	})
	seen;
};
/* Whether it was not seen in the last PUSH_QUIET_S: `key` stands for what is so now. */
bool news_is_new(struct news *news, uint64_t key, double now_s);

struct hash; /* base/hash.h */
/*
 * Whether a log record is due: the verdict on what `key` stands for is another one than that of the
 * last record, *was (NULL: there was none), or a suspect no longer is one. Remembers suspects
 * alone, by their words, which are static.
 */
bool verdict_has_changed(struct hash *verdicts, uint64_t key, const char *verdict, bool suspect,
			 const char **was);

#endif
