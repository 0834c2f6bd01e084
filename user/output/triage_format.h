/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a triage report is written; the contract is that of output.h. */
#ifndef LEAKMON_OUTPUT_TRIAGE_FORMAT_H
#define LEAKMON_OUTPUT_TRIAGE_FORMAT_H

#include "output/formats.h"
#include "triage/triage_report.h"

int output_triage_text_write(FILE *out, const struct triage_report *report);
int output_triage_json_write(FILE *out, const struct triage_report *report);
int output_triage_prom_write(FILE *out, const struct triage_report *report);

/* What an escalation found, below its process. */
void output_triage_sites_write(FILE *out, const struct triage_sites *sites);

/* Of the growth in its window, what a site explains: what it allocated then and still holds. 0..1,
 * above 1 when the program reused memory that it had. */
double output_triage_share(const struct triage_sites *sites, const struct site *site);

#endif
