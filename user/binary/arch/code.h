/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file's code, decoded one instruction at a time, and the targets of its jumps. */
#ifndef LEAKMON_ARCH_CODE_H
#define LEAKMON_ARCH_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "binary/elf/elf_file.h"

struct code;

#define CODE_NAME_BYTES 96
#define CODE_FORWARD_BYTES 8 /* enough to recognize a function that jumps away */

/* A function, or a part of one placed elsewhere. */
struct code_extent {
	uint64_t start, end;
};

/* The target of a jump or a call. */
struct code_target {
	uint64_t vaddr;		    /* 0: in another file */
	char name[CODE_NAME_BYTES]; /* of the symbol, if reached through the PLT; else "" */
};

/*
 * Opens a file's code. Returns 0; -ENOMEM; -errno as eh_frame_parse(): without .eh_frame a file has
 * no function bounds. `symbols`, if not NULL, supply bounds where unwind information is missing.
 */
int code_open(const struct elf_file *file, const struct elf_symbols *symbols, struct code **code);
void code_close(struct code **code);

/*
 * Decodes the instruction at `vaddr`. Returns 0, or -EBADMSG: undecodable, or over the file's
 * limit.
 */
int code_decode(struct code *code, uint64_t vaddr);

/* Returns whether the limit of decoded instructions per file was reached. */
bool code_is_exhausted(const struct code *code);

/* Returns the end of the function that contains `vaddr`; 0 if unknown. */
uint64_t code_function_end(const struct code *code, uint64_t vaddr);

/*
 * Looks up the function that contains `vaddr` in the unwind information. Returns false if there is
 * none.
 */
bool code_function(const struct code *code, uint64_t vaddr, struct code_extent *function);

/* Returns the size of the instruction decoded last, in bytes. */
size_t code_bytes(const struct code *code);

/* Resolves the target at `vaddr`, through a PLT entry if there is one; decodes. */
void code_follow(struct code *code, uint64_t vaddr, struct code_target *target);

/*
 * code_forwards() returns whether the function at `vaddr` is only a direct jump; decodes.
 * code_may_forward() checks its first bytes only, to see whether decoding is worthwhile.
 */
bool code_forwards(struct code *code, uint64_t vaddr, uint64_t *target);
bool code_may_forward(const uint8_t first[CODE_FORWARD_BYTES]);

/* The kind of the instruction decoded last, and its effect on a function's first argument. */
bool code_is_call(const struct code *code);
bool code_writes_argument(const struct code *code);

/*
 * Return whether it is a compare-and-exchange; and whether it exchanges the argument, still in its
 * register, with *(argument + *at).
 */
bool code_is_exchange(const struct code *code);
bool code_exchanges_argument(const struct code *code, int64_t *at);

/* Returns whether it stores this 32-bit constant at this distance from a register. */
bool code_stores(const struct code *code, int32_t constant, int64_t distance);

/*
 * Finds the distance of the pthread_t below the thread pointer, in bytes, from the code of
 * pthread_self() at `vaddr`, which it decodes (0: not present). Returns false if unknown.
 */
bool code_thread_self_below(struct code *code, uint64_t vaddr, uint64_t *distance);

/* Returns the target of a direct jump, branch or call, or false. */
bool code_direct_target(const struct code *code, uint64_t *target);

#endif
