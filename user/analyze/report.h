/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A snapshot ranked and named: the struct that every output format gets. */
#ifndef LEAKMON_ANALYZE_REPORT_H
#define LEAKMON_ANALYZE_REPORT_H

#include "collect/snapshot.h"
#include "symbol/symbolizer.h"

enum sort_key { SORT_BYTES, SORT_COUNT, SORT_MAX_ };

struct report_site {
	const struct site *site;
	uint64_t id;		  /* symbolizer_stack_id */
	struct frames frames;	  /* owned; empty for a lost site */
	VEC(struct block) blocks; /* owned; with --show-allocs: of this site, oldest first */
};

struct report_process {
	const struct snapshot_process *process;
	VEC(struct report_site) sites; /* ranked, at most `top` */
	size_t sites_total;	       /* before the cut */
};

struct report {
	const struct snapshot *snapshot; /* borrowed, must outlive the report */
	bool show_allocs;
	bool colour;
	VEC(struct report_process) processes; /* most outstanding bytes first */
};

struct report_options {
	size_t top; /* sites per process; 0: all */
	enum sort_key sort;
	bool show_allocs;
};

/* Ranks and cuts; frames are still empty. 0 or -ENOMEM (then *report is untouched). */
int report_build(struct report *report, const struct snapshot *snapshot,
		 const struct report_options *options);
void report_free(struct report *report);

/* "bytes" -> SORT_BYTES; -EINVAL for anything unknown. */
int sort_key_parse(const char *text, enum sort_key *key);

#endif
