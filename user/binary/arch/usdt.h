/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processor's part of probes that programs carry (USDT): the notation of argument places in
 * their notes, and the instruction at a probe. Source of the notation: "User Space Probe
 * Implementation" of SystemTap, and the assembler's operands.
 */
#ifndef LEAKMON_ARCH_USDT_H
#define LEAKMON_ARCH_USDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leakmon_usdt.h"

/*
 * Parses one argument such as "-4@$7", "8@%reg", "8@16(%reg)". Returns NULL, or why a probe cannot
 * read it (static text); *operand is then untouched. `text` needs no NUL.
 */
const char *usdt_operand_read(const char *text, size_t length, struct lm_usdt_operand *operand);

/*
 * Parses a number and moves *at past it, for usdt_place_read(). Returns false if there is none, or
 * it is too large.
 */
bool usdt_take_number(const char **at, int64_t *number);
/* The reason for a malformed operand. */
extern const char usdt_malformed[];

/*
 * The processor's part: parses the place after "SIZE@", NUL-terminated. Returns NULL, or why a
 * probe cannot read it (static text).
 */
const char *usdt_place_read(const char *at, struct lm_usdt_operand *operand);

/* Returns whether an operand may name this register. */
bool usdt_has_register(uint8_t number);

/*
 * Returns NULL if the instruction at `code` has no effect and may safely carry a probe, else why
 * not (static text). `size` bytes are available.
 */
const char *usdt_place_check(const uint8_t *code, size_t size);

#endif
