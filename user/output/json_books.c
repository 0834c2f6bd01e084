// SPDX-License-Identifier: GPL-2.0-or-later
/* When it was, whose it is, and what the books say: the same in every kind of object. */
#include <time.h>

#include "output/json_container.h"
#include "output/json_parts.h"
#include "output/json_writer.h"

#define NS_PER_MS UINT64_C(1000000)

void output_json_time(struct json_writer *json, const char *key, const struct timespec *time)
{
	char seconds[32], text[40];
	struct tm utc = {0};

	gmtime_r(&time->tv_sec, &utc);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text, sizeof(text), "%s.%03uZ", seconds,
		 (unsigned int)(time->tv_nsec / NS_PER_MS) % 1000);
	json_put_string(json, key, text);
}

/* Only with a cause, which older recordings do not hold. */
static void inexact_write(struct json_writer *json, const struct snapshot_process *process)
{
	if (!process->inexact)
		return;
	json_open(json, "inexact", '[');
	for (size_t i = 0; i < INEXACT_MAX_; i++) {
		if (process->inexact & 1u << i)
			json_put_string(json, NULL, inexact_name(i));
	}
	json_close(json, ']');
	if (!process->hidden_tasks)
		return;
	json_open(json, "shared_memory", '{');
	json_put_number(json, "count", process->hidden_tasks);
	json_put_number(json, "pid", process->hidden_pid);
	json_close(json, '}');
}

void output_json_process_write(struct json_writer *json, const struct snapshot_process *process)
{
	json_put_number(json, "pid", process->pid);
	json_put_string(json, "comm", process->comm);
	json_put_string(json, "exe", process->exe);
	json_container(json, process->container);
	json_put_bool(json, "exact", process->exact);
	inexact_write(json, process);
	json_put_bool(json, "exited", process->exited);
}

static void dropped_write(struct json_writer *json, const struct ledger *ledger)
{
	json_open(json, "dropped", '{');
	for (size_t i = 0; i < LM_DROP_MAX_; i++) {
		if (ledger->dropped[i])
			json_put_number(json, drop_name(i), ledger->dropped[i]);
	}
	json_close(json, '}');
}

static void lost_stacks_write(struct json_writer *json, const struct ledger *ledger)
{
	json_open(json, "lost_stacks", '{');
	for (size_t i = LM_LOST_NONE + 1; i < LM_LOST_MAX_; i++) {
		if (ledger->lost_stacks[i])
			json_put_number(json, lost_name(i), ledger->lost_stacks[i]);
	}
	json_close(json, '}');
}

static void walk_ends_write(struct json_writer *json, const struct ledger *ledger)
{
	json_open(json, "walk_ends", '{');
	for (size_t i = LM_WALK_ROOT + 1; i < LM_WALK_MAX_; i++) {
		if (ledger->walk_ends[i])
			json_put_number(json, walk_end_name(i), ledger->walk_ends[i]);
	}
	json_close(json, '}');
}

void output_json_ledger_write(struct json_writer *json, const struct snapshot *snapshot)
{
	const struct ledger *ledger = &snapshot->ledger;

	json_open(json, "ledger", '{');
	json_put_number(json, "allocations", ledger->allocations);
	json_put_number(json, "frees", ledger->frees);
	json_put_number(json, "outstanding", ledger->outstanding);
	json_put_number(json, "purged", ledger->purged);
	dropped_write(json, ledger);
	json_put_number(json, "untracked_frees", ledger->untracked_frees);
	json_put_number(json, "outstanding_bytes", ledger->outstanding_bytes);
	json_put_number(json, "inherited_frees", ledger->inherited_frees);
	json_put_number(json, "filtered", ledger->filtered);
	json_put_number(json, "unsampled", ledger->unsampled);
	json_put_number(json, "failed", ledger->failed);
	json_put_number(json, "abandoned", ledger->abandoned);
	lost_stacks_write(json, ledger);
	walk_ends_write(json, ledger);
	/* Without ages the live set was not read: no count to show. */
	json_put_known(json, "scanned", snapshot->has_ages, ledger->scanned);
	json_put_number(json, "moved", ledger->moved);
	json_close(json, '}');
}

/* Bytes, but for `ranges` and `events_lost`. */
void output_json_mapping_write(struct json_writer *json, const struct mapping_ledger *ledger)
{
	json_open(json, "mappings", '{');
	json_put_number(json, "mapped_bytes", ledger->mapped);
	json_put_number(json, "unmapped_bytes", ledger->unmapped);
	json_put_number(json, "outstanding_bytes", ledger->outstanding);
	json_put_number(json, "purged_bytes", ledger->purged);
	json_put_number(json, "ranges", ledger->ranges);
	json_put_number(json, "events_lost", ledger->events_lost);
	json_put_number(json, "missed_bytes", ledger->missed);
	json_put_number(json, "healed_bytes", ledger->healed);
	json_close(json, '}');
}
