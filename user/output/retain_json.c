// SPDX-License-Identifier: GPL-2.0-or-later
/* One object on one line per run: "schema" 1, as in json.c; fields may be added. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "output/formats.h"
#include "output/json_writer.h"
#include "output/retain.h"

static size_t shown(const struct retain_report *report, size_t count)
{
	return report->top ? MIN(report->top, count) : count;
}

static void total_write(struct json_writer *json, const char *key,
			const struct retention_total *total)
{
	json_open(json, key, '{');
	json_put_number(json, "blocks", total->blocks);
	json_put_number(json, "bytes", total->bytes);
	json_close(json, '}');
}

static void totals_write(struct json_writer *json, const struct retention *retention)
{
	json_open(json, "totals", '{');
	total_write(json, "unreachable", &retention->totals[VERDICT_LOST]);
	total_write(json, "direct", &retention->direct);
	total_write(json, "indirect", &retention->indirect);
	total_write(json, "held", &retention->totals[VERDICT_HELD]);
	total_write(json, "untracked", &retention->totals[VERDICT_UNTRACKED]);
	json_close(json, '}');
}

static void picture_write(struct json_writer *json, const struct retain *retain)
{
	const struct picture *picture = &retain->picture;

	json_open(json, "picture", '{');
	json_put_bool(json, "stopped", picture->stopped);
	json_put_string(json, "why_not_stopped", picture->why_not_stopped);
	json_put_number(json, "pause_ns", picture->pause_ns);
	json_put_number(json, "max_pause_ns", picture->max_pause_ns);
	json_put_number(json, "read_ns", picture->read_ns);
	json_put_number(json, "total_ns", retain->total_ns);
	json_put_number(json, "own_peak_bytes", retain->rss_bytes);
	json_put_number(json, "writable_bytes", picture->writable_bytes);
	json_put_number(json, "read_bytes", picture->read_bytes);
	json_put_number(json, "swapped_bytes", picture->swapped_bytes);
	json_put_number(json, "pages_checked", picture->pages_checked);
	json_put_number(json, "pages_changed", picture->pages_changed);
	json_put_bool(json, "soft_dirty", picture->soft_dirty);
	json_put_bool(json, "pagemap", picture->pagemap_readable);
	json_close(json, '}');
}

static void heap_write(struct json_writer *json, const struct retain *retain)
{
	const struct picture *picture = &retain->picture;

	json_open(json, "heap", '{');
	json_put_string(json, "allocator", retain->allocator);
	json_put_number(json, "blocks", retain->graph.blocks);
	json_put_number(json, "walked", retain->graph.census_blocks);
	json_put_number(json, "tracked", retain->graph.tracked_blocks);
	json_put_number(json, "arenas", picture->arenas.list.count);
	json_put_number(json, "broken", picture->broken_spans);
	if (picture->broken_spans)
		json_put_number(json, "broken_at", picture->broken_address);
	json_put_number(json, "broken_free_lists", picture->free_chunks.broken);
	json_close(json, '}');
}

static void site_write(struct json_writer *json, const struct retain_report *report,
		       uint32_t number)
{
	const struct report_site *site = retain_report_site(report, number);
	char id[17];

	if (!site) {
		json_put_null(json, "site");
		return;
	}
	snprintf(id, sizeof(id), "%016" PRIx64, site->id);
	json_open(json, "site", '{');
	json_put_string(json, "id", id);
	output_json_frames_write(json, site);
	json_close(json, '}');
}

static void class_fields(struct json_writer *json, const struct retain_report *report,
			 const struct block_class *class)
{
	json_put_string(json, "kind", class_kind_name(class->kind));
	json_put_string(json, "name", class->name);
	json_put_string(json, "module", class->module);
	if (class->kind == CLASS_OPS)
		json_put_number(json, "offset", class->offset);
	if (class->kind == CLASS_SIZE)
		json_put_number(json, "size", class->size);
	if (class->kind == CLASS_SITE)
		site_write(json, report, class->site);
}

static void class_write(struct json_writer *json, const char *key,
			const struct retain_report *report, const struct block_class *class)
{
	json_open(json, key, '{');
	class_fields(json, report, class);
	json_close(json, '}');
}

static void leaks_write(struct json_writer *json, const struct retain_report *report)
{
	const struct retain *retain = report->retain;

	json_open(json, "leaks", '[');
	for (size_t i = 0; i < shown(report, retain->leaks.count); i++) {
		const struct retain_leak *leak = &retain->leaks.items[i];

		json_open(json, NULL, '{');
		class_write(json, "class", report, &retain->classes.list.items[leak->class]);
		site_write(json, report, leak->site);
		total_write(json, "direct", &leak->direct);
		total_write(json, "indirect", &leak->indirect);
		json_put_number(json, "example", retain->graph.starts[leak->example]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void root_fields(struct json_writer *json, const struct root_group *group)
{
	json_put_string(json, "kind", root_kind_name(group->kind));
	json_put_string(json, "name", group->name);
	json_put_string(json, "module", group->module && group->module[0] ? group->module : NULL);
	json_put_number(json, "address", group->address);
	json_put_number(json, "offset", group->offset);
	if (group->tid) {
		json_put_number(json, "tid", (uint64_t)group->tid);
		json_put_string(json, "comm", group->comm);
	}
	json_put_number(json, "words", group->words);
}

static void roots_write(struct json_writer *json, const struct retain_report *report)
{
	const struct retain *retain = report->retain;

	json_open(json, "roots", '[');
	for (size_t i = 0; i < shown(report, retain->ranked_roots.list.count); i++) {
		uint32_t group = retain->ranked_roots.list.items[i];

		json_open(json, NULL, '{');
		root_fields(json, &retain->groups.list.items[group]);
		json_put_number(json, "retained_bytes", retain->retention.retained[group]);
		json_put_number(json, "retained_blocks", retain->retention.retained_blocks[group]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void change_write(struct json_writer *json, const struct class_change *change)
{
	json_open(json, "change", '{');
	json_put_signed(json, "count", change->count);
	json_put_signed(json, "bytes", change->bytes);
	json_put_number(json, "farther", change->farther);
	json_close(json, '}');
}

static void classes_write(struct json_writer *json, const struct retain_report *report)
{
	const struct retain *retain = report->retain;

	json_open(json, "classes", '[');
	for (size_t i = 0; i < shown(report, retain->ranked_classes.list.count); i++) {
		uint32_t number = retain->ranked_classes.list.items[i];
		const struct block_class *class = &retain->classes.list.items[number];

		json_open(json, NULL, '{');
		class_fields(json, report, class);
		json_put_number(json, "count", class->count);
		json_put_number(json, "bytes", class->bytes);
		total_write(json, "unreachable", &class->verdicts[VERDICT_LOST]);
		total_write(json, "held", &class->verdicts[VERDICT_HELD]);
		total_write(json, "untracked", &class->verdicts[VERDICT_UNTRACKED]);
		json_put_number(json, "distance", class->distance);
		if (report->changes)
			change_write(json, &report->changes[number]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void step_write(struct json_writer *json, const struct retain_report *report,
		       const struct path_step *step)
{
	const struct retain *retain = report->retain;

	json_open(json, NULL, '{');
	json_put_number(json, "offset", step->offset);
	json_put_number(json, "width", step->width);
	json_put_number(json, "address", retain->graph.starts[step->block]);
	json_put_number(json, "size", retain->graph.sizes[step->block]);
	json_put_number(json, "repeated", step->repeated);
	class_write(json, "class", report, &retain->classes.list.items[step->class]);
	json_close(json, '}');
}

static void paths_write(struct json_writer *json, const struct retain_report *report)
{
	const struct retain *retain = report->retain;

	json_open(json, "paths", '[');
	for (size_t i = 0; i < retain->paths.count; i++) {
		const struct retain_path *shown_path = &retain->paths.items[i];
		const struct path *path = &shown_path->path;

		json_open(json, NULL, '{');
		class_write(json, "class", report, &retain->classes.list.items[shown_path->class]);
		json_put_number(json, "sharing", path->sharing);
		json_put_number(json, "sampled", path->sampled);
		json_open(json, "root", '{');
		root_fields(json, &retain->groups.list.items[path->group]);
		json_close(json, '}');
		json_open(json, "steps", '[');
		for (size_t j = 0; j < path->steps.count; j++)
			step_write(json, report, &path->steps.items[j]);
		json_close(json, ']');
		json_close(json, '}');
	}
	json_close(json, ']');
}

int retain_json_write(FILE *out, const struct retain_report *report)
{
	const struct retain *retain = report->retain;
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	output_json_time(&json, "time", &retain->time);
	json_put_number(&json, "pid", (uint64_t)retain->pid);
	json_put_string(&json, "comm", retain->comm);
	json_put_bool(&json, "settled", retain->settled);
	picture_write(&json, retain);
	heap_write(&json, retain);
	totals_write(&json, &retain->retention);
	leaks_write(&json, report);
	roots_write(&json, report);
	classes_write(&json, report);
	paths_write(&json, report);
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}
