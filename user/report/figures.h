/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of reported figures: for each member of a struct one row with all of its names.
 * Recordings, JSON and Prometheus loop over these rows.
 */
#ifndef LEAKMON_REPORT_FIGURES_H
#define LEAKMON_REPORT_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One ledger's counts by cause. */
struct causes {
	unsigned first, count; /* causes before `first` are no losses */
	const char *(*name)(unsigned cause);
	const char *(*advice)(unsigned cause);
	const char *recorded;	 /* their `kind` among the losses of a recording */
	const char *line, *what; /* in text: "LINE: N WHAT: advice" */
	const char *label;	 /* on the page */
};

/* The type of the member, and its null value where that is not 0. */
enum figure_type {
	FIGURE_NUMBER, /* uint64_t, size_t */
	FIGURE_SOME,   /* uint64_t, 0; in JSON null */
	FIGURE_KNOWN,  /* uint64_t, UINT64_MAX; in JSON null */
	FIGURE_SIGNED, /* int64_t */
	FIGURE_PID,    /* pid_t, uint32_t */
	FIGURE_INDEX,  /* uint32_t; UINT32_MAX: null */
	FIGURE_FLAG,   /* bool */
	FIGURE_REAL,   /* double, NaN; in JSON null */
	FIGURE_WHOLE,  /* double, NaN; in JSON null, or a number without a fraction */
	FIGURE_CHARS,  /* char[size] */
	FIGURE_NOTE,   /* char[size], "": null */
	FIGURE_TEXT,   /* const char *, NULL */
	FIGURE_TIME,   /* struct timespec; recorded in ns since 1970 */
	FIGURE_NAME,   /* an enum; recorded and written by its name */
	FIGURE_ID,     /* uint64_t; recorded and written as 16 hex digits */
	FIGURE_CALL,   /* no member: a text that `text` derives from the others; not recorded */
	FIGURE_MADE,   /* no member: a number derived by `real`; NaN: null; not recorded */
	/* Not recorded: */
	FIGURE_LIST,	/* VEC of structs of `size` bytes each with the figures `items` */
	FIGURE_NUMBERS, /* VEC of uint32_t; 0 is left out */
	/* struct frames; in JSON its members; `place` finds the significant frame */
	FIGURE_STACK,
};

/* The role of a figure in the line of a ledger's balance. */
enum figure_term {
	TERM_NONE,
	TERM_SUM,
	TERM_ADDED, /* to the sum */
	TERM_FIRST,
	TERM_PART,
	TERM_BESIDE,
	TERM_UNLESS_ZERO
};

/* Counters are sums over all processes, gauges are per program. */
enum figure_metric { METRIC_NONE, METRIC_COUNTER, METRIC_GAUGE };

struct frame;
struct frames;

struct figure {
	const char *json;   /* its member; NULL: not in JSON */
	const char *column; /* in recordings; NULL: the JSON name */
	size_t offset;	    /* in the struct of figures */
	enum figure_type type;
	bool unrecorded;
	size_t size; /* of an array of characters, or of an item of a list */
	const struct figures *items;
	const struct frame *(*place)(const struct frames *stack);
	/* For an enum: its names and their number; `lenient`: an unknown name is read as the first,
	 * without an error. */
	const char *(*name)(unsigned value);
	unsigned names;
	bool lenient;
	const char *(*text)(const void *figures);
	double (*real)(const void *figures);
	uint64_t per;		     /* divisor in JSON: 1000000 to show ns as ms; 0: 1 */
	const struct causes *causes; /* the member is an array of uint64_t, one per cause */
	/* offset of a bool that tells if it is known; 0: always known */
	size_t known;
	/* The JSON object that contains it and its neighbours; NULL: the struct's. */
	const char *section;
	/* Returns whether JSON shows it, or the whole section that begins with it; otherwise that
	 * is null. */
	bool (*shown)(const void *figures);
	/* known if its report has a flag for it: snapshot.has_ages, thread_report.heap */
	bool conditional;
	bool left_out; /* from JSON if unknown or not shown; otherwise it is null */
	enum figure_term term;
	const char *label; /* of the term in the balance */
	enum figure_metric metric;
	const char *metric_name, *help;
	/* A value above 0 is a loss: "inexact: N INEXACT", with `mended` "; MENDED M bytes". */
	const char *inexact, *mended;
	size_t mended_bytes; /* offset of M */
};

struct figures {
	const struct figure *items;
	size_t count;
};
/* A row; arguments after the offset are designated initialisers. */
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
/* Returns whether a figure is known and shown. */
bool figure_is_shown(const struct figure *figure, const void *figures);
/* Returns a number, a flag, an enum, or the sum over causes; 0 for any other type. */
uint64_t figure_value(const struct figure *figure, const void *figures);
uint64_t figure_by_cause(const struct figure *figure, const void *figures, unsigned cause);
/* Returns the value of a REAL, WHOLE or MADE figure. */
double figure_real(const struct figure *figure, const void *figures);
/* Returns the number at an offset of the figures. */
uint64_t figure_number(const void *figures, size_t offset);
/* Returns a figure's column; NULL: not recorded, or counted by cause and recorded in `losses`. */
const char *figure_column(const struct figure *figure);

/* Returns the figure with this JSON name, prefixed by its section's, "direct_buffers.bytes"; or, if
 * it is not in JSON, with this column. NULL: none. `name` need not end after `length`. */
const struct figure *figures_find(const struct figures *figures, const char *name, size_t length);

/*
 * Return the number of items of a list, and the i-th item, which is in the struct of its figures.
 */
size_t figure_list_count(const struct figure *list, const void *figures);
const void *figure_list_item(const struct figure *list, const void *figures, size_t i);

#endif
