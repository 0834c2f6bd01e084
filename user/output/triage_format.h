/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a triage report is written; the contract is that of output.h. */
#ifndef LEAKMON_OUTPUT_TRIAGE_FORMAT_H
#define LEAKMON_OUTPUT_TRIAGE_FORMAT_H

#include "output/json_writer.h"
#include "report/triage_report.h"

int output_triage_text_write(FILE *out, const struct triage_report *report);
int output_triage_json_write(FILE *out, const struct triage_report *report);
int output_triage_prom_write(FILE *out, const struct triage_report *report);

/* Where it runs, as shortly as it can be told: pod/container, container id, service. Untrusted.
 * Returns text. */
#define TRIAGE_PLACE_SIZE 128
char *output_triage_place(char text[TRIAGE_PLACE_SIZE], const struct triage_entry *entry);

/* Its course between the lowest and the highest point, for what moves is what matters: heights for
 * sparkline_block(). Returns how many. */
size_t output_triage_heights(const struct triage_entry *entry,
			     unsigned char heights[TRIAGE_SPARK_POINTS]);

/* "+2.32 MiB", "+1.5 threads": what comes in a minute. Returns text. */
#define TRIAGE_RATE_SIZE 32
char *output_triage_rate(char text[TRIAGE_RATE_SIZE], enum quantity kind, double per_s);

/* Why a verdict is what it is, without a newline. */
void output_triage_evidence_write(FILE *out, const struct growth *growth);
/* Likewise, of an entry with a garbage collector: what its heap has to do with the growth. */
void output_triage_managed_write(FILE *out, const struct triage_entry *entry);

/* Of the growth in its window, what a site explains: what it allocated then and still holds. 0..1,
 * above 1 when the program reused memory that it had. */
double output_triage_share(const struct triage_sites *sites, const struct site *site);

/* What sampling has shown, and what to run to see more, below its process. */
void output_triage_samples_write(FILE *out, bool colour, const struct triage_entry *entry);
void output_triage_samples_json(struct json_writer *json, const struct triage_entry *entry);

#endif
