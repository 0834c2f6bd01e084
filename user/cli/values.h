/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers as an operator writes them. Strict: no blanks, no sign, nothing behind the number, no
 * wrap-around, the same in every locale. 0; -EINVAL: not of that form; -ERANGE: too large.
 */
#ifndef LEAKMON_CLI_VALUES_H
#define LEAKMON_CLI_VALUES_H

#include <stdint.h>

/* "500" */
int value_parse_number(const char *text, uint64_t *number);

/* "4096", "64K", "10M", "2G" (also in lower case), with K = 1024. */
int value_parse_size(const char *text, uint64_t *bytes);

/* "5", "0.5": seconds, with up to nine decimals. */
int value_parse_seconds(const char *text, uint64_t *ns);

#endif
