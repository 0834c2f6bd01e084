/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who holds the pthread_ts of one group of dead threads; nothing is written if it was not asked. */
#ifndef LEAKMON_OUTPUT_THREADS_HOLDERS_H
#define LEAKMON_OUTPUT_THREADS_HOLDERS_H

#include "output/json_writer.h"
#include "threads/thread_report.h"

void threads_holders_text(FILE *out, const struct thread_census *census,
			  const struct thread_group *group);
void threads_holders_json(struct json_writer *json, const struct thread_census *census,
			  const struct thread_group *group);

#endif
