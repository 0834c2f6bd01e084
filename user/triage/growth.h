/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of a process grows, how fast and how surely: the trends of its series on every resolution
 * and of every quantity, weighed against each other.
 */
#ifndef LEAKMON_TRIAGE_GROWTH_H
#define LEAKMON_TRIAGE_GROWTH_H

#include "analyze/trend.h"
#include "triage/series.h"

/* Everything grows in its first minutes: the readings that a first verdict takes. */
#define GROWTH_READINGS_MIN 24

struct growth {
	enum quantity kind;
	enum trend_verdict verdict;
	double confidence;     /* 0..1, of the verdict's growth; 0 when nothing grows */
	double per_s;	       /* of the kind's own unit */
	double low_per_s;      /* 95 % */
	double high_per_s;     /* 95 % */
	double memory_per_s;   /* bytes of anonymous memory, whatever the kind */
	double urgency;	       /* for ranking: per_s in bytes (see growth.c) times confidence */
	struct trend evidence; /* of the window that decided */
	size_t level;	       /* of the series: its resolution */
};

/* Whether it is a suspect, and as surely as is worth the probes of a closer look. */
bool growth_is_worth_probes(const struct growth *growth);

/* The most urgent of all quantities; the heap if none grows. */
void growth_of(struct growth *growth, const struct series *series);

/* For sorting: below 0 when `one` concerns an operator more than `other`. */
int growth_compare(const struct growth *one, const struct growth *other);

/* "heap", "mapping", "threads", "files": as JSON has it. */
const char *growth_kind_name(enum quantity kind);

#endif
