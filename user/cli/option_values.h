/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an option's value may be: one parse function per kind, for the rows of the option table. */
#ifndef LEAKMON_CLI_OPTION_VALUES_H
#define LEAKMON_CLI_OPTION_VALUES_H

#include "cli/option_table.h"

/* The contract of all of them is that of option_row.parse. */
typedef int option_parse(struct options *options, const struct option_row *row, const char *text);

/* Into the field at row->offset. */
option_parse option_set_flag;	      /* bool: true */
option_parse option_set_text;	      /* const char *, not empty */
option_parse option_set_prefix;	      /* const char * */
option_parse option_set_number;	      /* uint64_t */
option_parse option_set_size;	      /* uint64_t, bytes */
option_parse option_set_address;      /* uint64_t, hexadecimal, 0x or not */
option_parse option_set_milliseconds; /* uint64_t, ns */
option_parse option_set_choice;	      /* an enum whose values are the argument's words, in order */

/* Appended to the struct option_words at row->offset. */
option_parse option_add_word;	   /* not empty */
option_parse option_add_container; /* a name or digits of an id; containerd://ID, too */
option_parse option_add_pod;	   /* NAME, NAMESPACE/NAME */

/* Into the fields of that name. */
option_parse option_set_top;
option_parse option_set_pids;
option_parse option_set_command;
option_parse option_set_format;
option_parse option_set_sort;
option_parse option_set_keep; /* a size into keep_bytes, a time into keep_ns */

/* To standard output. */
option_parse option_show_help;
option_parse option_show_version;
option_parse option_show_completion; /* "bash" */

#endif
