/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of the lists of `leakmon top`: copies from a report, so that the screen can be paused while
 * reports go on. Text is raw from the target: make it inert before display.
 */
#ifndef LEAKMON_TOP_ROW_H
#define LEAKMON_TOP_ROW_H

#include "report/report.h"
#include "report/analyze/trend.h"
#include "report/profile_report.h"
#include "report/triage_report.h"

/* Sort keys, and fields of columns. An unknown field is NAN. */
enum top_field {
	TOP_URGENCY,  /* the triage's ranking: the first has most */
	TOP_BYTES,    /* outstanding; in a triage: anonymous memory */
	TOP_COUNT,    /* blocks */
	TOP_GROWTH,   /* bytes per second; in a triage: of its own kind */
	TOP_INTEGRAL, /* byte-seconds */
	TOP_AGE,      /* seconds: of the oldest block; of a process, since it was first seen */
	TOP_THREADS,
	TOP_FILES,
	TOP_MAPPINGS,
	TOP_SITES,	/* call stacks with outstanding blocks */
	TOP_PROCESSES,	/* in a container or cgroup */
	TOP_CONFIDENCE, /* confidence in the verdict, 0..1 */
	TOP_LEAST,	/* in a profile: certain growth */
	TOP_BIRTHS,	/* blocks per second */
	TOP_UNTOUCHED,	/* untouched share of them at the age TOP_AGE */
	TOP_FIELD_MAX_,
};

#define TOP_SPARK_POINTS 64

struct top_row {
	uint64_t identity; /* the same in every report: keeps the selection on its row */
	uint64_t process;  /* identity of a call stack's process */
	pid_t pid;	   /* 0: a container or cgroup, or the kernel */
	char *name;	   /* comm; owned; NULL for a call stack */
	char *place;	   /* container, pod, cgroup; owned; may be NULL */
	double fields[TOP_FIELD_MAX_];
	enum quantity kind; /* growing quantity, in a triage */
	enum trend_verdict verdict;
	const char *said; /* replaces the verdict's name; static; NULL: no replacement */
	char *evidence;	  /* for the verdict; owned; NULL: none yet */
	unsigned char spark[TOP_SPARK_POINTS]; /* heights, 0 (nothing) to 8, oldest first */
	size_t spark_count;
	bool inexact;
	/* Of a call stack; strings in frames belong to the session. */
	struct site site; /* without its addresses */
	struct frames frames;
	bool has_ages;
	char *numbers; /* in a profile: text of its page; owned; else NULL */
	char *details; /* in a triage: lines about the growing part; owned; else NULL */
	bool managed;  /* in a triage: a runtime's heap grows */
};

struct top_rows {
	VEC(struct top_row) list;
};

void top_rows_free(struct top_rows *rows);

/* Returns its verdict. Static. */
const char *top_row_verdict(const struct top_row *row);

/* Finds a row by its identity, or returns NULL. */
const struct top_row *top_rows_find(const struct top_rows *rows, uint64_t identity);

/* Returns whether a row's names contain `words`, ignoring case. All contain "". */
bool top_row_holds(const struct top_row *row, const char *words);

/*
 * Append the rows of a report to empty lists. Return 0 or -ENOMEM. `trends`: number of sites, in
 * the report's ranking, whose growth is judged, which takes 100 µs for one that changes.
 */
int top_rows_of_report(const struct report *report, size_t trends, struct top_rows *processes,
		       struct top_rows *sites);
int top_rows_of_profile(const struct profile_report *report, struct top_rows *processes,
			struct top_rows *sites);
int top_rows_of_triage(const struct triage_entries *entries, struct top_rows *rows);

#endif
