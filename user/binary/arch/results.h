/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the result of a function is known, without a return probe.
 *
 * A function that may throw (operator new) must not carry a return probe: an exception that meets
 * the kernel's return trampoline ends the process. Plain probes do no harm, but the obvious place,
 * `ret`, is single-stepped, which costs five times a plain hit or more. Mostly a cheaper place can
 * be proven: an emulated instruction (a conditional branch, a jump, a push) from which nothing but
 * straight code leads to the `ret`, while the result already lies in a register. Of a branch only
 * one side does, and the probe's program asks the flags which side will be taken.
 *
 * How: the control flow is followed from the entry, through jumps out of the function as well (tail
 * calls, also through the PLT into the same file); then from each `ret` backwards, along every
 * path, up to the first emulated instruction. On the way the result may be moved from register to
 * register, and what is popped is counted, so that the place of the return address is known. A path
 * that cannot be proven gives its `ret` itself. What cannot be followed at all gives nothing, with
 * the reason: then the function is not probed.
 *
 * Code of one function may be shared by others; the program compares the place of the return
 * address with that of the call that is pending.
 */
#ifndef LEAKMON_ARCH_RESULTS_H
#define LEAKMON_ARCH_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "binary/arch/code.h"

struct result_site {
	uint64_t vaddr;
	uint8_t number;	   /* of the register that holds the result, as the processor encodes it */
	uint8_t condition; /* 0: always; else 1 + a conditional branch's, as it encodes it */
	uint16_t words;	   /* by which the stack pointer is lower than at the entry */
	bool emulated;
};

enum results_kind {
	RESULTS_FOUND,
	RESULTS_COME_BACK, /* every path that returns calls a function that is probed itself */
	RESULTS_UNKNOWN,   /* see the reason */
};

struct results {
	enum results_kind kind;
	VEC(struct result_site) sites;
	char reason[128];
};

struct results_request {
	uint64_t entry;
	/* Whether a call of this target (by address, or by name alone) gives a block by itself.
	 * control_flow_follow() with `through` does not ask. */
	bool (*is_probed)(const struct code_target *target, void *context);
	void *context;
};

#define RESULTS_MAX_STEPS 8192
#define RESULTS_MAX_SITES 64
#define RESULTS_MAX_WORDS 4096

/* 0 or -ENOMEM. The caller frees *results. */
int results_find(struct code *code, const struct results_request *request, struct results *results);
void results_free(struct results *results);

/* The part of the attach cookie that says where the result is (include/leakmon_abi.h). */
uint64_t result_cookie(const struct result_site *site);

#endif
