/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints results: a table for people, one JSON object for scripts. */
#ifndef LEAKMON_BENCH_TABLE_H
#define LEAKMON_BENCH_TABLE_H

#include <stdio.h>

#include "figures.h"
#include "machine.h"

void table_print(FILE *out, const struct machine *machine, const struct results *results,
		 bool quick);
/* One line. -ENOMEM, -EIO or 0. */
int json_print(FILE *out, const struct machine *machine, const struct results *results, bool quick);

#endif
