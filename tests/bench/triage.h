/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the measurements of leakmon without a target. */
#ifndef LEAKMON_BENCH_TRIAGE_H
#define LEAKMON_BENCH_TRIAGE_H

#include "bench.h"

/* leakmon without a target, a report of JSON every 5 s. */
int triage_start(struct child **monitor, struct why *why);

/* Whether redis-server notices. */
int triage_redis_run(struct bench *bench);

#endif
