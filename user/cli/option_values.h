/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an option's value may be: one parse function per kind, for the rows of the option table. */
#ifndef LEAKMON_CLI_OPTION_VALUES_H
#define LEAKMON_CLI_OPTION_VALUES_H

#include "cli/option_table.h"

/* The contract of all of them is that of option_row.parse. */
typedef int option_parse(struct options *options, const struct option_row *row, const char *text);

/* The field of a row; and whether what was typed is within its limits: 0 or -ERANGE. */
void *option_field(struct options *options, const struct option_row *row);
int option_in_range(const struct option_row *row, uint64_t value);

/* Into the field at row->offset. */
option_parse option_set_flag;		/* bool: true */
option_parse option_set_text;		/* const char *, not empty */
option_parse option_set_prefix;		/* const char * */
option_parse option_set_number;		/* uint64_t */
option_parse option_set_size;		/* uint64_t, bytes */
option_parse option_set_address;	/* uint64_t, hexadecimal, 0x or not */
option_parse option_set_milliseconds;	/* uint64_t, ns */
option_parse option_set_percent;	/* double, a share: "1%", "0.5" (of a hundred) */
option_parse option_set_duration;	/* uint64_t, ns: "30s", "2m", "1h", "30" */
option_parse option_set_count_or_three; /* uint64_t; 3 without a value */
option_parse option_set_choice; /* an enum whose values are the argument's words, in order */

/* Into the fields of that name. */
option_parse option_set_top;
option_parse option_set_format;
option_parse option_set_sort;
option_parse option_set_keep; /* a size into keep_bytes, a time into keep_ns */

/* In place of a run. */
option_parse option_show_help;
option_parse option_show_version;
option_parse option_show_completion; /* "bash" */

#endif
