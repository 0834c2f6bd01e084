/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The suspect family's part of the ABI (see leakmon_abi.h for the rules): samples of the events
 * that make a triage suspect grow, each with its call stack.
 */
#ifndef LEAKMON_SUSPECT_H
#define LEAKMON_SUSPECT_H

#include "leakmon_abi.h"

enum lm_sample_kind {
	LM_SAMPLE_FAULT = 1, /* a page was touched for the first time */
	LM_SAMPLE_MAPPING,   /* mmap found room for a mapping */
	LM_SAMPLE_THREAD,    /* a thread was created */
};

#define LM_MAX_SUSPECTS 16

/*
 * Sampling of one thread group, which user space adds and removes. The kernel side sets the rate
 * itself: about LM_SAMPLES_MANY events in LM_SAMPLES_NS.
 */
struct lm_suspect {
	__u32 kind;	 /* enum lm_sample_kind */
	__u32 every;	 /* sampling probability 1/every; initially 1 */
	__u64 window_ns; /* start of the count, CLOCK_MONOTONIC */
	__u32 count;	 /* samples since window_ns */
	__u32 padding_;
};

#define LM_SAMPLES_MANY 10
#define LM_SAMPLES_FEW 4
#define LM_SAMPLES_NS 100000000ull

struct lm_sample {
	lm_process_key process;
	__u64 address; /* of the fault; start of the room; the new thread's TID */
	__u64 length;  /* of the room, in bytes; includes room for alignment */
	__u64 weight;  /* events that the sample represents */
	__u32 kind;    /* enum lm_sample_kind */
	__u32 site;    /* index into `sites` */
};

_Static_assert(sizeof(struct lm_suspect) == 24, "ABI");
_Static_assert(sizeof(struct lm_sample) == 40, "ABI");

#endif
