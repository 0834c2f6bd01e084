/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A redis-server of the benchmark's own, on a socket and without files. */
#ifndef LEAKMON_BENCH_REDIS_H
#define LEAKMON_BENCH_REDIS_H

#include "bench.h"
#include "child.h"

/* Starts it; and waits until it listens. 0 or -errno. */
int redis_start(struct bench *bench, struct child **server, const char *socket);
int redis_wait(struct bench *bench, const char *socket);

#endif
