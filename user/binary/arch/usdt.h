/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that programs carry (USDT), as far as the processor has a say in them: how their notes
 * write down where an argument is, and what instruction stands where the probe goes. Source of the
 * notation: "User Space Probe Implementation" of SystemTap, and the assembler's operands.
 */
#ifndef LEAKMON_ARCH_USDT_H
#define LEAKMON_ARCH_USDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leakmon_usdt.h"

/*
 * One argument such as "-4@$7", "8@%reg", "8@16(%reg)". NULL, or why it cannot be read by a probe
 * (static text); *operand is untouched then. `text` needs no NUL.
 */
const char *usdt_operand_read(const char *text, size_t length, struct lm_usdt_operand *operand);

/* For usdt_place_read(). Passes a number; false: there is none, or it is too large. */
bool usdt_take_number(const char **at, int64_t *number);
/* Why an operand cannot be read. */
extern const char usdt_malformed[];

/*
 * The processor's part: the place behind "SIZE@", with its NUL. NULL, or why it cannot be read by a
 * probe (static text).
 */
const char *usdt_place_read(const char *at, struct lm_usdt_operand *operand);

/* Whether an operand may name it. */
bool usdt_has_register(uint8_t number);

/*
 * Whether what stands at `code` does nothing, and may carry a probe without harm. NULL, or why not
 * (static text). `size` is how many bytes there are.
 */
const char *usdt_place_check(const uint8_t *code, size_t size);

#endif
