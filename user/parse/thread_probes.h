/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs that follow threads (bpf/thread.bpf.c), by where they are put. */
#ifndef LEAKMON_PARSE_THREAD_PROBES_H
#define LEAKMON_PARSE_THREAD_PROBES_H

#include <stdbool.h>

enum thread_probe {
	/* In the order of attaching: what ends a thread before what begins one. */
	THREAD_PROBE_RETURN, /* no point of its own: of DETACH and CREATE, without sessions */
	THREAD_PROBE_FREED,
	THREAD_PROBE_JOINED,
	THREAD_PROBE_JOIN,
	THREAD_PROBE_DETACH,
	THREAD_PROBE_CREATE,
	THREAD_PROBE_MAX_,
};

struct thread_probe_info {
	const char *program;
	unsigned arguments; /* integer argument registers that the program reads */
	bool returns;	    /* its return is probed too */
};
extern const struct thread_probe_info thread_probes[THREAD_PROBE_MAX_];

#endif
