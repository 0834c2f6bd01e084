// SPDX-License-Identifier: GPL-2.0-or-later
/* A call stack and what it holds. */
#include <inttypes.h>

#include "output/json_parts.h"
#include "output/json_writer.h"
#include "output/trend_parts.h"

#define NS_PER_MS UINT64_C(1000000)

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

void output_json_site_write(struct json_writer *json, const struct report *report,
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
