/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values as an operator writes them, and how the rows of options take them. Strict: no blanks, no
 * sign, nothing behind the number, no wrap-around, the same in every locale.
 */
#ifndef LEAKMON_CLI_VALUES_H
#define LEAKMON_CLI_VALUES_H

#include <stdint.h>

struct option_row;

/* 0; -EINVAL: not of that form; -ERANGE: too large. The result is untouched on failure. */

/* "500" */
int value_parse_number(const char *text, uint64_t *number);

/* "4096", "64K", "10M", "2G" (also in lower case), with K = 1024. */
int value_parse_size(const char *text, uint64_t *bytes);

/* "5", "0.5": seconds, with up to nine decimals. */
int value_parse_seconds(const char *text, uint64_t *ns);

/* "30s", "30min", "24h", "7d" */
int value_parse_age(const char *text, uint64_t *ns);

/* 0, or -ERANGE: outside the limits of a row, which are those of what was typed. */
int value_check_range(const struct option_row *row, uint64_t value);

/* For option_row.parse; the field is of the type that stands beside. */
typedef int value_set(void *field, const struct option_row *row, const char *text);

value_set value_set_flag;	  /* bool: true */
value_set value_set_text;	  /* const char *, not empty */
value_set value_set_prefix;	  /* const char * */
value_set value_set_number;	  /* uint64_t */
value_set value_set_size;	  /* uint64_t, bytes */
value_set value_set_address;	  /* uint64_t, hexadecimal, 0x or not */
value_set value_set_milliseconds; /* uint64_t, ns */
value_set value_set_percent;	  /* double, a share: "1%", "0.5" (of a hundred) */
value_set value_set_duration;	  /* uint64_t, ns: "30s", "2m", "1h", "30" */
value_set value_set_choice;	  /* an enum of the argument's words, in order */
value_set value_set_word;	  /* const char *: one of the argument's words */

#endif
