/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each kind of evidence says grows, in one shape: diagnosis_finding. They compete by the share
 * of the counted growth that they explain. Pure functions; in words: user/doc/diagnose.md.
 */
#ifndef LEAKMON_DIAGNOSE_FINDINGS_H
#define LEAKMON_DIAGNOSE_FINDINGS_H

#include "app/diagnose/conclude.h"

/* Fills diagnosis->findings, the greatest first, and grown_bytes. The evidence's figures stand in
 * *diagnosis already. */
void findings_collect(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis);

/* Whether the findings make an answer: the first one, or the first few of its part together,
 * explain half of what grew. Fills diagnosis->explained. */
bool findings_answer(struct diagnosis *diagnosis);

/* Unreachable blocks that became more from the first scan to the last, in bytes; 0: they did
 * not. */
uint64_t diagnose_lost_growth(const struct diagnosis *diagnosis);

/* Whether memory grew in the last third of the time as in the first: it is no warm-up that is
 * over. */
bool diagnose_goes_on(const struct diagnosis_evidence *evidence);

/* Growth of a process's own copies of files' pages, in bytes. */
int64_t diagnose_written_growth(const struct diagnosis_evidence *evidence);

/* Threads that ended and were never joined, at the first reading and at the last, where these
 * became more and memory went on to grow; else not known. */
struct diagnosed_count diagnose_ended_threads(const struct diagnosis_evidence *evidence);

#endif
