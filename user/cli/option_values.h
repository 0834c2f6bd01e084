/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an option's value may be: one parse function per kind, for the rows of the option table. */
#ifndef LEAKMON_CLI_OPTION_VALUES_H
#define LEAKMON_CLI_OPTION_VALUES_H

#include "cli/option_table.h"

/* The contract of all of them is that of option_row.parse; the comment names the field's type. */
int option_set_flag(struct options *, const struct option_row *, const char *);	  /* bool */
int option_set_text(struct options *, const struct option_row *, const char *);	  /* const char *, not empty */
int option_set_prefix(struct options *, const struct option_row *, const char *); /* const char * */
int option_set_number(struct options *, const struct option_row *, const char *); /* uint64_t */
int option_set_size(struct options *, const struct option_row *, const char *);	  /* uint64_t, bytes */
int option_set_milliseconds(struct options *, const struct option_row *, const char *); /* uint64_t, ns */
int option_set_top(struct options *, const struct option_row *, const char *);
int option_set_pids(struct options *, const struct option_row *, const char *);
int option_set_command(struct options *, const struct option_row *, const char *);
int option_set_format(struct options *, const struct option_row *, const char *);
int option_set_sort(struct options *, const struct option_row *, const char *);
int option_set_probe_at(struct options *, const struct option_row *, const char *);
int option_set_attach(struct options *, const struct option_row *, const char *);
int option_show_help(struct options *, const struct option_row *, const char *);
int option_show_version(struct options *, const struct option_row *, const char *);

#endif
