/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a profile is written; the contract is that of output.h. */
#ifndef LEAKMON_OUTPUT_PROFILE_FORMAT_H
#define LEAKMON_OUTPUT_PROFILE_FORMAT_H

#include <stdio.h>

#include "profile/profile_report.h"

int profile_text_write(FILE *out, const struct profile_report *report);
int profile_json_write(FILE *out, const struct profile_report *report);
int profile_prom_write(FILE *out, const struct profile_report *report);

#endif
