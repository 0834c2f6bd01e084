/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds places where a function's result is known, without a return probe.
 *
 * A function that may throw (operator new) must not carry a return probe: an exception that reaches
 * the kernel's return trampoline ends the process. Plain probes do no harm, but the obvious place,
 * `ret`, is single-stepped, which costs at least five times a plain hit. Usually a cheaper place
 * can be proven: an emulated instruction (a conditional branch, a jump, a push) from which only
 * straight code leads to the `ret`, while the result is already in a register. If only one side of
 * a branch leads there, the probe's program tests the flags.
 *
 * Method: the control flow is followed from the entry, also through jumps out of the function (tail
 * calls, including those through the PLT into the same file); then from each `ret` backwards, along
 * every path, to the first emulated instruction. On the way moves of the result between registers
 * are followed, and popped words are counted, so that the place of the return address is known. A
 * path that cannot be proven uses its `ret` itself. If the control flow cannot be followed at all,
 * there are no places, with a reason: then the function is not probed.
 *
 * Functions may share code; the program compares the place of the return address with that of the
 * pending call.
 */
#ifndef LEAKMON_ARCH_RESULTS_H
#define LEAKMON_ARCH_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "binary/arch/code.h"

struct result_site {
	uint64_t vaddr;
	uint8_t number;	   /* of the result's register, as the processor encodes it */
	uint8_t condition; /* 0: always; else 1 + a conditional branch's, as it encodes it */
	uint16_t words;	   /* distance of the stack pointer below its value at the entry */
	bool emulated;
};

enum results_kind {
	RESULTS_FOUND,
	RESULTS_COME_BACK, /* every path that returns calls another probed function */
	RESULTS_UNKNOWN,   /* unknown: see the reason */
};

struct results {
	enum results_kind kind;
	VEC(struct result_site) sites;
	char reason[128];
};

struct results_request {
	uint64_t entry;
	/*
	 * Returns whether a call of this target (by address, or by name alone) is itself probed.
	 * control_flow_follow() with `through` does not ask.
	 */
	bool (*is_probed)(const struct code_target *target, void *context);
	void *context;
};

#define RESULTS_MAX_STEPS 8192
#define RESULTS_MAX_SITES 64
#define RESULTS_MAX_WORDS 4096

/* Finds the places of a function. Returns 0 or -ENOMEM. The caller frees *results. */
int results_find(struct code *code, const struct results_request *request, struct results *results);
void results_free(struct results *results);

/* Returns the part of the attach cookie that locates the result (include/leakmon_abi.h). */
uint64_t result_cookie(const struct result_site *site);

#endif
