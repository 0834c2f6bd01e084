/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The suspect family's part of the ABI (see leakmon_abi.h for the rules): samples of what makes a
 * suspect of the triage grow, each with the call stack that did it.
 */
#ifndef LEAKMON_SUSPECT_H
#define LEAKMON_SUSPECT_H

#include "leakmon_abi.h"

enum lm_sample_kind {
	LM_SAMPLE_FAULT = 1, /* a page was touched that was not there */
	LM_SAMPLE_MAPPING,   /* mmap found room for a mapping */
	LM_SAMPLE_THREAD,    /* a thread was created */
};

#define LM_MAX_SUSPECTS 16

/*
 * Sampling of one thread group; user space adds and removes it. The kernel side chooses the rate by
 * itself: about LM_SAMPLES_MANY events in LM_SAMPLES_NS.
 */
struct lm_suspect {
	__u32 kind;	 /* enum lm_sample_kind */
	__u32 every;	 /* each with probability 1/every; at first 1 */
	__u64 window_ns; /* when the count was begun, CLOCK_MONOTONIC */
	__u32 count;	 /* samples since */
	__u32 padding_;
};

#define LM_SAMPLES_MANY 10
#define LM_SAMPLES_FEW 4
#define LM_SAMPLES_NS 100000000ull

struct lm_sample {
	lm_process_key process;
	__u64 address; /* of the fault; where the room begins; the new thread's TID */
	__u64 length;  /* of the room, in bytes, larger where it is to be aligned */
	__u64 weight;  /* events that it stands for */
	__u32 kind;    /* enum lm_sample_kind */
	__u32 site;    /* index into `sites` */
};

_Static_assert(sizeof(struct lm_suspect) == 24, "ABI");
_Static_assert(sizeof(struct lm_sample) == 40, "ABI");

#endif
