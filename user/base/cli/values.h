/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values as an operator writes them, and the parsers that option rows use. Strict: no blanks, no
 * sign, no trailing characters, no wrap-around, the same in every locale.
 */
#ifndef LEAKMON_CLI_VALUES_H
#define LEAKMON_CLI_VALUES_H

#include <stdint.h>

struct option_row;

/* These return 0; -EINVAL: malformed; -ERANGE: too large. The result is untouched on failure. */

/* "500" */
int value_parse_number(const char *text, uint64_t *number);

/* "4096", "64K", "10M", "2G" (also in lower case), with K = 1024. */
int value_parse_size(const char *text, uint64_t *bytes);

/* "5", "0.5": seconds, with up to nine decimals. */
int value_parse_seconds(const char *text, uint64_t *ns);

/* "30s", "30min", "24h", "7d" */
int value_parse_age(const char *text, uint64_t *ns);

/* Returns 0, or -ERANGE if the value, as typed, is outside the limits of its row. */
int value_check_range(const struct option_row *row, uint64_t value);

/* Functions for option_row.parse; the type of the field is given beside each. */
typedef int value_set(void *field, const struct option_row *row, const char *text);

value_set value_set_flag;	  /* bool: true */
value_set value_set_text;	  /* const char *, not empty */
value_set value_set_prefix;	  /* const char * */
value_set value_set_number;	  /* uint64_t */
value_set value_set_size;	  /* uint64_t, bytes */
value_set value_set_address;	  /* uint64_t, hexadecimal, with or without 0x */
value_set value_set_milliseconds; /* uint64_t, ns */
value_set value_set_percent;	  /* double, a fraction: "1%", "0.5" (percent) */
value_set value_set_duration;	  /* uint64_t, ns: "30s", "2m", "1h", "30" */
value_set value_set_choice;	  /* an enum: the index of the argument's word */
value_set value_set_word;	  /* const char *: one of the argument's words */

#endif
