/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings of each kind of evidence in one form, diagnosis_finding. They compete by their share of
 * the counted growth. Pure functions; in words: user/doc/diagnose.md.
 */
#ifndef LEAKMON_DIAGNOSE_FINDINGS_H
#define LEAKMON_DIAGNOSE_FINDINGS_H

#include "app/diagnose/conclude.h"

/*
 * Fills diagnosis->findings, the greatest first, and grown_bytes. *diagnosis must already have the
 * evidence's figures.
 */
void findings_collect(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis);

/*
 * Returns whether the findings make an answer: the first one, or the first few of its part
 * together, explain half of the growth. Fills diagnosis->explained.
 */
bool findings_answer(struct diagnosis *diagnosis);

/* Returns the growth of unreachable blocks from the first scan to the last, in bytes; 0: none. */
uint64_t diagnose_lost_growth(const struct diagnosis *diagnosis);

/*
 * Returns whether memory grew in the last third of the time as in the first: not a warm-up that is
 * over.
 */
bool diagnose_goes_on(const struct diagnosis_evidence *evidence);

/* Returns the growth of a process's own copies of file pages, in bytes. */
int64_t diagnose_written_growth(const struct diagnosis_evidence *evidence);

/*
 * Returns the threads that ended and were never joined, at the first reading and at the last, if
 * their number rose and memory continued to grow; else unknown.
 */
struct diagnosed_count diagnose_ended_threads(const struct diagnosis_evidence *evidence);

#endif
