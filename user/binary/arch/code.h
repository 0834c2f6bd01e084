/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file's code, decoded one instruction at a time, and where its jumps lead. */
#ifndef LEAKMON_ARCH_CODE_H
#define LEAKMON_ARCH_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "binary/elf/elf_file.h"

struct code;

#define CODE_NAME_BYTES 96
#define CODE_FORWARD_BYTES 8 /* enough to see whether a function jumps away */

/* A function, or a part of one that lies elsewhere. */
struct code_extent {
	uint64_t start, end;
};

/* Where a jump or a call leads. */
struct code_target {
	uint64_t vaddr;		    /* 0: to another file */
	char name[CODE_NAME_BYTES]; /* of the symbol, if it leads through the PLT; else "" */
};

/*
 * 0; -ENOMEM; -errno as eh_frame_parse(): a file without .eh_frame has no bounds of functions.
 * `symbols`, if not NULL, are believed where unwind information is missing.
 */
int code_open(const struct elf_file *file, const struct elf_symbols *symbols, struct code **code);
void code_close(struct code **code);

/* 0, or -EBADMSG: no code that can be decoded, or too much was. */
int code_decode(struct code *code, uint64_t vaddr);

/* Whether too much was decoded for one file. */
bool code_is_exhausted(const struct code *code);

/* The end of the function that `vaddr` is in; 0: not known. */
uint64_t code_function_end(const struct code *code, uint64_t vaddr);

/* What unwind information says of the one that `vaddr` is in; false: nothing. */
bool code_function(const struct code *code, uint64_t vaddr, struct code_extent *function);

/* Bytes of the instruction decoded last. */
size_t code_bytes(const struct code *code);

/* Sees through a PLT entry at `vaddr`; decodes. */
void code_follow(struct code *code, uint64_t vaddr, struct code_target *target);

/* Whether the function at `vaddr` is nothing but a direct jump; decodes. The second one looks at
 * its first bytes alone: whether decoding is worth it. */
bool code_forwards(struct code *code, uint64_t vaddr, uint64_t *target);
bool code_may_forward(const uint8_t first[CODE_FORWARD_BYTES]);

/* The kind of the instruction decoded last, and its effect on a function's first argument. */
bool code_is_call(const struct code *code);
bool code_writes_argument(const struct code *code);

/* A compare-and-exchange; of the argument itself, if still in its register, with *(argument +
 * *at). */
bool code_is_exchange(const struct code *code);
bool code_exchanges_argument(const struct code *code, int64_t *at);

/* Whether it stores this constant of 32 bits at this distance from some register. */
bool code_stores(const struct code *code, int32_t constant, int64_t distance);

/*
 * How far below the thread pointer the pthread_t is, by the code of pthread_self() at `vaddr`,
 * which it decodes (0: not there): false if nothing says so.
 */
bool code_thread_self_below(struct code *code, uint64_t vaddr, uint64_t *distance);

/* The target of a direct jump, branch or call, or false. */
bool code_direct_target(const struct code *code, uint64_t *target);

#endif
