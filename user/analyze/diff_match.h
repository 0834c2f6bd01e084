/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which call stacks of two snapshots are the same. A stack's number is made of build-ids and
 * addresses, so it is the same on every run and host, but not when a program was built anew. Stacks
 * that go through a file of which the other side has another build are compared by the names of
 * their functions (and of their program, unless each side has only one). Where several stacks of
 * one build have the same names (calls from several lines of one function), they are paired in the
 * order of their addresses, which a rebuild keeps as a rule; if the other build has more or fewer
 * of them, all of these stacks are one row.
 */
#ifndef LEAKMON_ANALYZE_DIFF_MATCH_H
#define LEAKMON_ANALYZE_DIFF_MATCH_H

#include "analyze/report.h"
#include "base/hash.h"

struct diff_match {
	struct hash keys; /* of a site of one build -> of both */
};

/* Both reports must be named. 0 or -ENOMEM (then *match is untouched). */
int diff_match_build(struct diff_match *match, const struct report *before,
		     const struct report *after);
void diff_match_free(struct diff_match *match);

/* Sites with the same key are the same; *by_name tells whether their names say so. */
uint64_t diff_match_key(const struct diff_match *match, const struct snapshot_process *process,
			const struct report_site *site, bool *by_name);

#endif
