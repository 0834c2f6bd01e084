/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of the lists of `leakmon top`: copies of what a report says, so that the screen can stand
 * still while reports go on. Text is as the target has it: whoever shows it makes it inert.
 */
#ifndef LEAKMON_TOP_ROW_H
#define LEAKMON_TOP_ROW_H

#include "report/report.h"
#include "report/analyze/trend.h"
#include "report/profile_report.h"
#include "report/triage_report.h"

/* Keys for sorting, and fields of columns. A field that is not known is NAN. */
enum top_field {
	TOP_URGENCY,  /* as the triage ranks: the first has most */
	TOP_BYTES,    /* outstanding; of a triage: anonymous memory */
	TOP_COUNT,    /* blocks */
	TOP_GROWTH,   /* bytes per second; of a triage: of its own kind */
	TOP_INTEGRAL, /* byte-seconds */
	TOP_AGE,      /* seconds: of the oldest block; of a process, since it was first seen */
	TOP_THREADS,
	TOP_FILES,
	TOP_MAPPINGS,
	TOP_SITES,	/* call stacks that hold something */
	TOP_PROCESSES,	/* in a container or cgroup */
	TOP_CONFIDENCE, /* confidence in the verdict, 0..1 */
	TOP_LEAST,	/* of a profile: the growth that is sure */
	TOP_BIRTHS,	/* blocks per second */
	TOP_UNTOUCHED,	/* share of them that are, at the age TOP_AGE */
	TOP_FIELD_MAX_,
};

#define TOP_SPARK_POINTS 64

struct top_row {
	uint64_t identity; /* the same in every report: what a selection sticks to */
	uint64_t process;  /* identity of a call stack's process */
	pid_t pid;	   /* 0: a container or cgroup, or the kernel */
	char *name;	   /* comm; owned; NULL for a call stack */
	char *place;	   /* container, pod, cgroup; owned; may be NULL */
	double fields[TOP_FIELD_MAX_];
	enum quantity kind; /* what grows, of a triage */
	enum trend_verdict verdict;
	const char *said; /* instead of the verdict's name; static; NULL: that */
	char *evidence;	  /* for the verdict; owned; NULL: none yet */
	unsigned char spark[TOP_SPARK_POINTS]; /* heights, 0 (nothing) to 8, oldest first */
	size_t spark_count;
	bool inexact;
	/* For a call stack; strings in frames belong to the session. */
	struct site site; /* without its addresses */
	struct frames frames;
	bool has_ages;
	char *numbers; /* of a profile: what its page says; owned; else NULL */
	char *details; /* of a triage: where it grows, in lines; owned; else NULL */
	bool managed;  /* of a triage: it grows in the heap of a runtime */
};

struct top_rows {
	VEC(struct top_row) list;
};

void top_rows_free(struct top_rows *rows);

/* Its verdict. Static. */
const char *top_row_verdict(const struct top_row *row);

/* Looks for an identity. NULL: there is none. */
const struct top_row *top_rows_find(const struct top_rows *rows, uint64_t identity);

/* Case-insensitive: whether a row's names hold `words`. "" is in all. */
bool top_row_holds(const struct top_row *row, const char *words);

/*
 * Each appends to what is empty. 0 or -ENOMEM. `trends` is for how many sites, by the report's
 * ranking, growth is judged: that takes 100 µs for one that moves.
 */
int top_rows_of_report(const struct report *report, size_t trends, struct top_rows *processes,
		       struct top_rows *sites);
int top_rows_of_profile(const struct profile_report *report, struct top_rows *processes,
			struct top_rows *sites);
int top_rows_of_triage(const struct triage_entries *entries, struct top_rows *rows);

#endif
