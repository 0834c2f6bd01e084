/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reported figures, figure by figure: for each member of a struct one row with all of its names.
 * Recordings, JSON and Prometheus loop over these rows.
 */
#ifndef LEAKMON_REPORT_FIGURES_H
#define LEAKMON_REPORT_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts by cause, which a ledger has several of. */
struct causes {
	unsigned first, count; /* what stands before `first` is no loss */
	const char *(*name)(unsigned cause);
	const char *(*advice)(unsigned cause);
	const char *recorded;	 /* their `kind` among the losses of a recording */
	const char *line, *what; /* of the text: "LINE: N WHAT: advice" */
	const char *label;	 /* on the page */
};

/* The member, and what stands for nothing where that is not zero. */
enum figure_type {
	FIGURE_NUMBER, /* uint64_t, size_t */
	FIGURE_SOME,   /* uint64_t, 0; in JSON null */
	FIGURE_KNOWN,  /* uint64_t, UINT64_MAX; in JSON null */
	FIGURE_SIGNED, /* int64_t */
	FIGURE_PID,    /* pid_t, uint32_t */
	FIGURE_INDEX,  /* uint32_t, UINT32_MAX excluded */
	FIGURE_FLAG,   /* bool */
	FIGURE_REAL,   /* double, NaN; in JSON null */
	FIGURE_WHOLE,  /* likewise, without a fraction in JSON */
	FIGURE_CHARS,  /* char[size] */
	FIGURE_NOTE,   /* char[size], "": null */
	FIGURE_TEXT,   /* const char *, NULL */
	FIGURE_TIME,   /* struct timespec; recorded in ns since 1970 */
	FIGURE_NAME,   /* an enum; recorded and written by its name */
	FIGURE_ID,     /* uint64_t; recorded and written as 16 hex digits */
	FIGURE_CALL,   /* no member: a text that `text` makes of the others; not recorded */
	FIGURE_MADE,   /* no member: a number that `real` makes of the others; NaN; not recorded */
	/* Not recorded: */
	FIGURE_LIST,	/* VEC of structs of `size` bytes each with the figures `items` */
	FIGURE_NUMBERS, /* VEC of uint32_t; 0 is left out */
	FIGURE_STACK,	/* struct frames; in JSON its members; `place` has the frame that counts */
};

/* Where a figure stands in the line that shows that a ledger balances. */
enum figure_term {
	TERM_NONE,
	TERM_SUM,
	TERM_ADDED, /* to the sum */
	TERM_FIRST,
	TERM_PART,
	TERM_BESIDE,
	TERM_UNLESS_ZERO
};

/* Counters are of all processes together, gauges of each program. */
enum figure_metric { METRIC_NONE, METRIC_COUNTER, METRIC_GAUGE };

struct frame;
struct frames;

struct figure {
	const char *json;   /* its member; NULL: not in JSON */
	const char *column; /* in recordings; NULL: called as in JSON */
	size_t offset;	    /* in the struct of figures */
	enum figure_type type;
	bool unrecorded;
	size_t size; /* of an array of characters; of an item of a list */
	const struct figures *items;
	const struct frame *(*place)(const struct frames *stack);
	/* For an enum: its names, how many; an unknown one is the first, not an error. */
	const char *(*name)(unsigned value);
	unsigned names;
	bool lenient;
	const char *(*text)(const void *figures);
	double (*real)(const void *figures);
	uint64_t per;		     /* in JSON, one for so many: 1000000 of ns for ms; 0: 1 */
	const struct causes *causes; /* it is a uint64_t for each of them */
	size_t known;		     /* offset of a bool: whether it is known; 0: always */
	/* The object in JSON that it stands in, with the figures beside it; NULL: the struct's. */
	const char *section;
	/* Whether JSON has it, or all of the section that begins with it: else that is null. */
	bool (*shown)(const void *figures);
	bool conditional; /* known when its report says so: snapshot.has_ages, thread_report.heap */
	bool left_out;	  /* of JSON when it is not known or shown; else it is null */
	enum figure_term term;
	const char *label; /* of the term */
	enum figure_metric metric;
	const char *metric_name, *help;
	/* Above 0 it is a loss: "inexact: N INEXACT", with `mended` "; MENDED M bytes". */
	const char *inexact, *mended;
	size_t mended_bytes; /* offset of M */
};

struct figures {
	const struct figure *items;
	size_t count;
};
/* A row; what follows the offset is as it is named in the struct. */
#define FIGURE(in_json, in_column, of_type, at, ...)                                               \
	{                                                                                          \
		.json = (in_json), .column = (in_column), .type = FIGURE_##of_type,                \
		.offset = (at), ##__VA_ARGS__                                                      \
	}
#define FIGURES(rows)                                                                              \
	{                                                                                          \
		(rows), ARRAY_SIZE(rows)                                                           \
	}

bool figure_is_known(const struct figure *figure, const void *figures);
/* Known, and to be shown. */
bool figure_is_shown(const struct figure *figure, const void *figures);
/* A number, a flag, an enum, the sum over causes; 0 for anything else. */
uint64_t figure_value(const struct figure *figure, const void *figures);
uint64_t figure_by_cause(const struct figure *figure, const void *figures, unsigned cause);
/* Of a REAL, WHOLE, MADE one. */
double figure_real(const struct figure *figure, const void *figures);
/* The number at an offset of the figures. */
uint64_t figure_number(const void *figures, size_t offset);
/* NULL: it has none; what is counted by cause stands in `losses`. */
const char *figure_column(const struct figure *figure);

/* Returns the figure with such a name in JSON, behind its section's: "direct_buffers.bytes"; or, if
 * it is not in JSON, with such a column. NULL: there is none. `name` need not end after `length`.
 */
const struct figure *figures_find(const struct figures *figures, const char *name, size_t length);

/* The items of a list, in the struct of its figures. */
size_t figure_list_count(const struct figure *list, const void *figures);
const void *figure_list_item(const struct figure *list, const void *figures, size_t i);

#endif
