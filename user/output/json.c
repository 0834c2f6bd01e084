// SPDX-License-Identifier: GPL-2.0-or-later
/* One object on one line per snapshot: schema 1. Fields may be added, none changes its meaning. */
#include <inttypes.h>
#include <time.h>

#include "output/formats.h"
#include "output/json_container.h"
#include "output/json_writer.h"
#include "output/trend_parts.h"

#define NS_PER_MS UINT64_C(1000000)

static void time_write(struct json_writer *json, const char *key, const struct timespec *time)
{
	char seconds[32], text[40];
	struct tm utc = {0};

	gmtime_r(&time->tv_sec, &utc);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text, sizeof(text), "%s.%03uZ", seconds,
		 (unsigned int)(time->tv_nsec / NS_PER_MS) % 1000);
	json_put_string(json, key, text);
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

/* Readers refuse numbers from 2^63 on: addresses in the kernel lose their highest bit. */
static void address_write(struct json_writer *json, uint64_t address)
{
	json_put_number(json, "address", address & INT64_MAX);
}

static void frame_write(struct json_writer *json, const struct frame *frame)
{
	json_open(json, NULL, '{');
	json_put_string(json, "function", frame->function);
	json_put_number(json, "offset", frame->offset);
	json_put_string(json, "module", frame->module);
	json_put_string(json, "build_id", frame->build_id);
	address_write(json, frame->address);
	json_put_string(json, "file", frame->file);
	json_put_known(json, "line", frame->line, frame->line);
	json_put_bool(json, "inlined", frame->inlined);
	if (frame->module)
		json_put_number(json, "module_offset", frame->module_offset);
	if (!frame->function)
		json_put_string(json, "why", frame->why);
	json_close(json, '}');
}

void output_json_frames_write(struct json_writer *json, const struct report_site *site)
{
	json_open(json, "frames", '[');
	for (size_t i = 0; i < site->frames.list.count; i++)
		frame_write(json, &site->frames.list.items[i]);
	for (size_t i = 0; !site->frames.list.count && i < site->site->depth; i++)
		frame_write(json,
			    &(struct frame){.address = LM_FRAME_ADDRESS(site->site->addresses[i]),
					    .why = "not looked up"});
	json_close(json, ']');
}

void output_json_named_write(struct json_writer *json, const struct frames *frames)
{
	static const struct site none;
	struct report_site stack = {.site = &none};

	stack.frames = *frames;
	output_json_frames_write(json, &stack);
}

static void age_write(struct json_writer *json, const char *key, bool has_ages, uint64_t age_ns)
{
	json_put_known(json, key, has_ages, age_ns / NS_PER_MS);
}

static void blocks_write(struct json_writer *json, const struct report_site *site, bool has_ages,
			 bool has_owners)
{
	json_open(json, "blocks", '[');
	for (size_t i = 0; i < site->blocks.count; i++) {
		const struct block *block = &site->blocks.items[i];

		json_open(json, NULL, '{');
		address_write(json, block->address);
		json_put_number(json, "size", block->size);
		age_write(json, "age_ms", has_ages, block->age_ns);
		json_put_number(json, "tid", block->tid);
		if (has_owners)
			json_put_bool(json, "by_dead", block->by_dead);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void site_write(struct json_writer *json, const struct report *report,
		       const struct report_site *ranked)
{
	const struct site *site = ranked->site;
	bool has_ages = report->snapshot->has_ages;
	bool has_owners = report->snapshot->has_owners && site->family == FAMILY_HEAP;
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, ranked->id);
	json_open(json, NULL, '{');
	json_put_string(json, "id", id);
	json_put_string(json, "lost", site->lost ? lost_name(site->lost) : NULL);
	json_put_string(json, "end", walk_end_name(site->end));
	json_put_string(json, "family", family_name(site->family));
	json_put_string(json, "kind", kind_name(site->kind));
	json_put_number(json, "bytes", site->bytes);
	json_put_number(json, "count", site->count);
	json_put_number(json, "allocated_bytes", site->allocated_bytes);
	json_put_number(json, "allocated_count", site->allocated_count);
	json_put_number(json, "freed_bytes", site->freed_bytes);
	json_put_number(json, "freed_count", site->freed_count);
	json_put_known(json, "by_dead_bytes", has_owners, site->by_dead_bytes);
	json_put_known(json, "by_dead_count", has_owners, site->by_dead_count);
	age_write(json, "oldest_ms", has_ages, site->oldest_ns);
	output_json_frames_write(json, ranked);
	output_json_trend_write(json, report, ranked);
	if (report->show_allocs)
		blocks_write(json, ranked, has_ages, has_owners);
	json_close(json, '}');
}

static void process_write(struct json_writer *json, const struct report *report,
			  const struct report_process *ranked)
{
	const struct snapshot_process *process = ranked->process;

	json_open(json, NULL, '{');
	json_put_number(json, "pid", process->pid);
	json_put_string(json, "comm", process->comm);
	json_put_string(json, "exe", process->exe);
	json_container(json, process->container);
	json_put_bool(json, "exact", process->exact);
	json_put_bool(json, "exited", process->exited);
	json_put_number(json, "outstanding_bytes", process->outstanding_bytes);
	json_put_number(json, "outstanding_count", process->outstanding_count);
	json_put_number(json, "sites_total", ranked->sites_total);
	if (report->snapshot->has_mappings)
		output_json_mapping_write(json, &process->mapping);
	json_open(json, "sites", '[');
	for (size_t i = 0; i < ranked->sites.count; i++)
		site_write(json, report, &ranked->sites.items[i]);
	json_close(json, ']');
	output_json_threads_write(json, ranked);
	json_close(json, '}');
}

void output_json_site_write(struct json_writer *json, const struct report *report,
			    const struct report_site *ranked)
{
	site_write(json, report, ranked);
}

void output_json_time(struct json_writer *json, const char *key, const struct timespec *time)
{
	time_write(json, key, time);
}

int output_json_write(FILE *out, const struct report *report)
{
	const struct snapshot *snapshot = report->snapshot;
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	time_write(&json, "time", &snapshot->time);
	json_put_number(&json, "sequence", snapshot->sequence);
	json_put_bool(&json, "sampled", snapshot->sampled);
	output_json_ledger_write(&json, snapshot);
	if (snapshot->has_mappings)
		output_json_mapping_write(&json, &snapshot->mapping);
	json_open(&json, "processes", '[');
	for (size_t i = 0; i < report->processes.count; i++)
		process_write(&json, report, &report->processes.items[i]);
	json_close(&json, ']');
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}
