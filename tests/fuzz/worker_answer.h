/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first byte of an input of fuzz_worker_answer: the type of the rest. */
#ifndef LEAKMON_TESTS_FUZZ_WORKER_ANSWER_H
#define LEAKMON_TESTS_FUZZ_WORKER_ANSWER_H

enum fuzz_use {
	FUZZ_DESCRIPTION,
	FUZZ_IMAGE,
	FUZZ_LINES,
	FUZZ_UNWIND,
	FUZZ_PLAN,
	FUZZ_PACKETS,
	FUZZ_USE_MAX_
};

/* How many a FUZZ_LINES answers. */
#define FUZZ_ADDRESSES 3

#endif
