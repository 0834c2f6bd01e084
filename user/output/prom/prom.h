/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prometheus' text format 0.0.4: a writer for each kind of report, and the grammar. The contract of
 * writers is in output.h. */
#ifndef LEAKMON_OUTPUT_PROM_PROM_H
#define LEAKMON_OUTPUT_PROM_PROM_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "report/pushed.h"
#include "process/proc/container.h"

int prom_triage_write(FILE *out, const void *data);
int prom_profile_write(FILE *out, const void *data);
int prom_memory_write(FILE *out, const void *data);
int prom_threads_write(FILE *out, const void *data);

/* Writes HELP and TYPE of leakmon_NAME; once for each metric, before its first sample. */
void prom_header(FILE *out, const char *name, const char *type, const char *help);

/* Metrics without labels. */
struct prom_value {
	const char *name, *type, *help;
	double value;
};
void prom_values_write(FILE *out, const struct prom_value *values, size_t count);

struct figures;
/* Writes the gauges among the figures, without labels. */
void prom_figures_write(FILE *out, const struct figures *figures, const void *row);
/*
 * Writes the gauges of many rows: row() returns the figures of one, or NULL; labels() writes from
 * "{" up to, but not including, "}". Unknown figures have no series.
 */
struct prom_series {
	size_t count;
	const void *(*row)(const void *report, size_t i);
	void (*labels)(FILE *out, const void *report, size_t i);
};
void prom_series_write(FILE *out, const struct figures *figures, const struct prom_series *series,
		       const void *report);

/* Writes the monitor's own CPU time and memory, and the time of measurement. */
void prom_monitor_write(FILE *out, double cpu_s, uint64_t rss_bytes, const struct timespec *time);
/* Writes the time of a report, to the millisecond. */
void prom_time_write(FILE *out, const struct timespec *time);

/* Writes KEY="VALUE" after `before`, with the value inert and escaped; NULL is "". */
void prom_label(FILE *out, const char *key, const char *value, const char *before);

/* Writes leakmon's version: once in each document. */
void prom_build_info_write(FILE *out);

/* Writes function="NAME", with template arguments collapsed. */
void prom_function_label(FILE *out, const char *function);

struct frame; /* process/symbol/symbolizer.h */
/* Writes ,KEY="main.worker worker.go:31"; NULL is "". Returns 0 or -ENOMEM. */
int prom_place_label(FILE *out, const char *key, const struct frame *frame);

/*
 * Writes labels with cAdvisor's names, each after a comma; nothing for NULL, a process outside of
 * any container.
 */
void prom_container_labels(FILE *out, const struct container *container);

struct oom_kills; /* report/report.h */
/* Writes the counter of lost reports. */
void prom_lost_reports_write(FILE *out, uint64_t count);
/*
 * prom_pushed_write() writes nothing if nothing is pushed; prom_kills_write() writes the counter of
 * kills if there was one; NULL: nothing.
 */
void prom_pushed_write(FILE *out, const struct pushed *pushed);
void prom_kills_write(FILE *out, const struct oom_kills *kills);

#endif
