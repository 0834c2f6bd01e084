/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The grammar of Prometheus' text format 0.0.4. */
#ifndef LEAKMON_OUTPUT_PROM_H
#define LEAKMON_OUTPUT_PROM_H

#include <stdio.h>

#include "proc/container.h"

/* HELP and TYPE of leakmon_NAME; once for each metric, before its first sample. */
void prom_header(FILE *out, const char *name, const char *type, const char *help);

/* KEY="VALUE" after `before`, the value made inert and escaped; NULL is "". */
void prom_label(FILE *out, const char *key, const char *value, const char *before);

/* As cAdvisor names them, each after a comma; nothing for a process outside any container (NULL).
 */
void prom_container_labels(FILE *out, const struct container *container);

struct oom_kills; /* report/report.h */
/* The counter of kills, if there was one; NULL: nothing. */
void prom_lost_reports_write(FILE *out, uint64_t count);
void prom_kills_write(FILE *out, const struct oom_kills *kills);

#endif
