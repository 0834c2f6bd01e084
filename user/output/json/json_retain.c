// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes one object on one line per run: "schema" 1, as in json_report.c; fields may be added. */

#include "base/cleanup.h"
#include "output/json/json_writer.h"
#include "output/output.h"
#include "output/json/json.h"

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

static void totals_write(struct json_writer *json, const struct retain_result *result)
{
	struct retention_total stale = retain_result_stale(result);
	struct retention_total lost = retain_result_lost(result);

	json_open(json, "totals", '{');
	total_write(json, "unreachable", &result->totals[VERDICT_LOST]);
	total_write(json, "held", &result->totals[VERDICT_HELD]);
	total_write(json, "untracked", &result->totals[VERDICT_UNTRACKED]);
	total_write(json, "passing", &result->passing);
	total_write(json, "through", &result->through);
	total_write(json, "stale", &stale);
	total_write(json, "lost", &lost);
	total_write(json, "direct", &result->direct);
	total_write(json, "indirect", &result->indirect);
	json_close(json, '}');
}

/* Writes generations, if the runtime has them and they are read. */
static void parts_write(struct json_writer *json, const struct retained_runtime *runtime)
{
	if (!runtime->parts[0].name)
		return;
	json_open(json, "parts", '[');
	for (size_t i = 0; i < HEAP_PARTS_MAX && runtime->parts[i].name; i++) {
		json_open(json, NULL, '{');
		json_put_string(json, "name", runtime->parts[i].name);
		json_put_number(json, "objects", runtime->parts[i].objects);
		json_put_number(json, "bytes", runtime->parts[i].bytes);
		json_put_number(json, "free_bytes", runtime->parts[i].free_bytes);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* Writes classes loaded by several class loaders, if any. */
static void copies_write(struct json_writer *json, const struct retained_runtime *runtime)
{
	if (!runtime->copied_classes)
		return;
	json_put_number(json, "copied_classes", runtime->copied_classes);
	json_open(json, "class_copies", '[');
	for (size_t i = 0; i < CLASS_COPIES_MAX && runtime->copies[i].name; i++) {
		json_open(json, NULL, '{');
		json_put_string(json, "class", runtime->copies[i].name);
		json_put_string(json, "loader", runtime->copies[i].loader);
		json_put_number(json, "copies", runtime->copies[i].copies);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* Writes emitters of events with many listeners, if any. */
static void crowds_write(struct json_writer *json, const struct retained_runtime *runtime)
{
	if (!runtime->crowded_events)
		return;
	json_put_number(json, "crowded_events", runtime->crowded_events);
	json_open(json, "listeners", '[');
	for (size_t i = 0; i < LISTENER_CROWDS_MAX && runtime->crowds[i].event; i++) {
		const struct listener_crowd *crowd = &runtime->crowds[i];

		json_open(json, NULL, '{');
		json_put_string(json, "emitter", crowd->emitter);
		json_put_string(json, "event", crowd->event[0] ? crowd->event : NULL);
		json_put_number(json, "listeners", crowd->listeners);
		json_put_string(json, "handler", crowd->handler[0] ? crowd->handler : NULL);
		json_put_number(json, "of_handler", crowd->same);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void runtimes_write(struct json_writer *json, const struct retain_result *result)
{
	json_open(json, "runtimes", '[');
	for (size_t i = 0; i < result->runtimes.count; i++) {
		const struct retained_runtime *runtime = &result->runtimes.items[i];

		json_open(json, NULL, '{');
		json_put_string(json, "runtime", runtime->key);
		json_put_string(json, "version", runtime->version[0] ? runtime->version : NULL);
		if (runtime->untested)
			json_put_bool(json, "version_untested", true);
		json_put_string(json, "why_not_walked", runtime->why);
		json_put_number(json, "objects", runtime->objects);
		json_put_number(json, "bytes", runtime->bytes);
		json_put_number(json, "heap_bytes", runtime->heap_bytes);
		json_put_number(json, "free_bytes", runtime->free_bytes);
		json_put_number(json, "unread_bytes", runtime->unread_bytes);
		json_put_number(json, "nonsense", runtime->nonsense);
		json_put_number(json, "retries", runtime->retries);
		if (runtime->all_roots || runtime->counted) {
			json_put_number(json, "unreached_objects", runtime->unreached);
			json_put_number(json, "unreached_bytes", runtime->unreached_bytes);
		}
		if (runtime->collector_off)
			json_put_bool(json, "collector_off", true);
		if (runtime->by_request)
			json_put_bool(json, "freed_by_request", true);
		if (runtime->frozen) {
			json_put_number(json, "frozen_objects", runtime->frozen);
			json_put_number(json, "frozen_bytes", runtime->frozen_bytes);
		}
		if (runtime->finalizable)
			json_put_number(json, "finalizable_objects", runtime->finalizable);
		parts_write(json, runtime);
		copies_write(json, runtime);
		crowds_write(json, runtime);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void site_write(struct json_writer *json, const struct retained_site *site)
{
	if (!site) {
		json_put_null(json, "site");
		return;
	}
	json_open(json, "site", '{');
	json_id_write(json, "id", site->id);
	json_stack_write(json, NULL, 0, &site->frames);
	json_close(json, '}');
}

static void json_retain_class(struct json_writer *json, const struct retain_result *result,
			      const struct retained_class *class)
{
	json_figures_write(json, &retained_class_figures, class);
	if (class->kind == CLASS_SITE)
		site_write(json, retained_site(result, class->site));
}

static void class_write(struct json_writer *json, const struct retain_result *result,
			uint32_t class)
{
	json_open(json, "class", '{');
	json_retain_class(json, result, &result->classes.items[class]);
	json_close(json, '}');
}

static void leaks_write(struct json_writer *json, const struct retain_report *report)
{
	const struct retain_result *result = report->result;

	json_open(json, "leaks", '[');
	for (size_t i = 0; i < shown(report, result->leaks.count); i++) {
		const struct retained_leak *leak = &result->leaks.items[i];
		struct retention_total held;

		json_open(json, NULL, '{');
		class_write(json, result, leak->class);
		site_write(json, retained_site(result, leak->site));
		json_figures_write(json, &retained_leak_figures, leak);
		if (retained_leak_held(result, leak, &held))
			total_write(json, "held", &held);
		json_put_number(json, "example", leak->example);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* Writes probable leaks, if two looks were far enough apart. */
static void probable_write(struct json_writer *json, const struct retain_report *report)
{
	const struct retain_result *result = report->result;

	if (!result->witness_ns)
		return;
	json_put_number(json, "witness_ms", result->witness_ns / 1000000);
	json_open(json, "probably_lost", '[');
	for (size_t i = 0; i < shown(report, result->probable.count); i++) {
		const struct retained_probable *probable = &result->probable.items[i];

		json_open(json, NULL, '{');
		class_write(json, result, probable->class);
		total_write(json, "total", &probable->total);
		json_put_number(json, "others", probable->others);
		json_put_number(json, "others_gone", probable->gone);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void roots_write(struct json_writer *json, const struct retain_report *report)
{
	const struct retain_result *result = report->result;

	json_open(json, "roots", '[');
	for (size_t i = 0; i < shown(report, result->retaining); i++) {
		const struct retained_root *root = &result->roots.items[i];

		json_open(json, NULL, '{');
		json_figures_write(json, &retained_root_figures, root);
		json_figures_write(json, &retained_root_amounts, root);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void change_write(struct json_writer *json, const struct retain_report *report,
			 uint32_t place)
{
	const struct retained_change *change;

	if (!report->diff || report->diff->of_classes[place] == RESULT_NONE)
		return;
	change = &report->diff->classes.list.items[report->diff->of_classes[place]];
	json_open(json, "change", '{');
	json_put_signed(json, "count", change_blocks(change));
	json_put_signed(json, "bytes", change_bytes(change));
	json_put_number(json, "farther", change->farther);
	json_close(json, '}');
}

/* Writes the sizes at each of the runs. */
static void evolution_write(struct json_writer *json, const struct class_history *history,
			    const struct retained_class *class)
{
	const struct class_series *series = history ? class_history_find(history, class->id) : NULL;

	if (!series)
		return;
	json_put_real(json, "integral_byte_s", series->integral_byte_s);
	json_open(json, "evolution", '[');
	for (size_t i = 0; i < series->bytes.count; i++)
		json_put_number(json, NULL, series->bytes.items[i]);
	json_close(json, ']');
}

static void runs_write(struct json_writer *json, const struct class_history *history)
{
	json_open(json, "runs", '[');
	for (size_t i = 0; i < history->times.count; i++)
		json_time_write(json, NULL, &history->times.items[i]);
	json_close(json, ']');
}

static void classes_write(struct json_writer *json, const struct retain_report *report)
{
	const struct retain_result *result = report->result;
	_cleanup_free_ uint32_t *places =
		report->history ? calloc(result->classes.count + 1, sizeof(*places)) : NULL;

	if (places && class_history_order(report->history, result, places))
		free(TAKE_PTR(places));
	json_open(json, "classes", '[');
	for (size_t i = 0; i < shown(report, result->classes.count); i++) {
		const struct retained_class *class = &result->classes.items[places ? places[i] : i];

		json_open(json, NULL, '{');
		json_retain_class(json, result, class);
		json_figures_write(json, &retained_class_amounts, class);
		evolution_write(json, report->history, class);
		change_write(json, report, (uint32_t)(class - result->classes.items));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void step_write(struct json_writer *json, const struct retain_result *result,
		       const struct retained_step *step)
{
	json_open(json, NULL, '{');
	json_put_number(json, "offset", step->offset == STEP_NOWHERE ? 0 : step->offset);
	if (step->label || step->offset == STEP_NOWHERE)
		json_put_string(json, "label", step->label);
	json_figures_write(json, &retained_step_figures, step);
	if (step->branches) {
		json_open(json, "branches", '[');
		for (uint32_t i = 0; i < step->branches; i++) {
			uint64_t offset = step->fields[i].offset;

			json_open(json, NULL, '{');
			json_put_number(json, "offset", offset == STEP_NOWHERE ? 0 : offset);
			json_put_string(json, "label", step->fields[i].label);
			json_close(json, '}');
		}
		json_close(json, ']');
	}
	class_write(json, result, step->class);
	json_close(json, '}');
}

void json_retain_way(struct json_writer *json, const struct retain_result *result,
		     const struct retained_path *path, size_t steps)
{
	json_open(json, "root", '{');
	json_figures_write(json, &retained_root_figures, &result->roots.items[path->root]);
	json_close(json, '}');
	json_open(json, "steps", '[');
	for (size_t i = 0; i < steps; i++)
		step_write(json, result, &path->steps.items[i]);
	json_close(json, ']');
}

static void referrers_write(struct json_writer *json, const struct retain_result *result,
			    const struct referrer_tree *tree)
{
	if (!tree->rows.count)
		return;
	json_open(json, "referrers", '{');
	json_put_number(json, "held", tree->held);
	json_put_number(json, "sampled", tree->sampled);
	json_open(json, "rows", '[');
	for (size_t i = 0; i < tree->rows.count; i++) {
		const struct retained_referrer *row = &tree->rows.items[i];

		json_open(json, NULL, '{');
		json_put_number(json, "depth", row->depth);
		json_put_number(json, "blocks", row->blocks);
		json_put_number(json, "bytes", row->bytes);
		json_put_number(json, "least", row->least);
		json_put_number(json, "most", row->most);
		if (row->root != RESULT_NONE) {
			json_open(json, "root", '{');
			json_figures_write(json, &retained_root_figures,
					   &result->roots.items[row->root]);
			json_close(json, '}');
		} else {
			json_open(json, "classes", '[');
			for (uint32_t j = 0; j < row->period; j++) {
				json_open(json, NULL, '{');
				json_retain_class(json, result,
						  &result->classes.items[row->classes[j]]);
				json_close(json, '}');
			}
			json_close(json, ']');
		}
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void pile_write(struct json_writer *json, const struct retain_result *result,
		       const struct retained_pile *pile)
{
	if (!pile->many)
		return;
	json_open(json, "pile", '{');
	json_put_number(json, "many", pile->many);
	json_put_bool(json, "chain", pile->chain);
	if (pile->tree)
		json_put_bool(json, "tree", true);
	if (pile->root != RESULT_NONE) {
		json_open(json, "root", '{');
		json_figures_write(json, &retained_root_figures, &result->roots.items[pile->root]);
		json_close(json, '}');
	}
	json_open(json, "classes", '[');
	for (uint32_t i = 0; i < pile->count; i++) {
		json_open(json, NULL, '{');
		class_write(json, result, pile->classes[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

/*
 * Writes a path. Referrers are not recorded, so without a request for them a run equals its
 * recording.
 */
static void path_write(struct json_writer *json, const struct retain_report *report,
		       const struct retained_path *path)
{
	const struct retain_result *result = report->result;

	json_open(json, NULL, '{');
	class_write(json, result, path->class);
	json_figures_write(json, &retained_path_figures, path);
	pile_write(json, result, &path->pile);
	if (path->awaited) {
		json_open(json, "awaited", '{');
		class_write(json, result, path->awaited - 1);
		json_close(json, '}');
	}
	json_retain_way(json, result, path, path->steps.count);
	if (report->referrers || json->embedded)
		referrers_write(json, result, &path->referrers);
	json_close(json, '}');
}

static void paths_write(struct json_writer *json, const struct retain_report *report)
{
	const struct retain_result *result = report->result;

	json_open(json, "paths", '[');
	for (size_t i = 0; i < result->paths.count; i++)
		path_write(json, report, &result->paths.items[i]);
	json_close(json, ']');
}

static void limits_json(struct json_writer *json, const char *key, const struct bounds *limits)
{
	json_open(json, key, '[');
	json_put_real(json, NULL, limits->low);
	json_put_real(json, NULL, limits->high);
	json_close(json, ']');
}

static void heap_site_json(struct json_writer *json, const struct heap_profile *profile,
			   const struct heap_profile_site *site)
{
	json_open(json, NULL, '{');
	json_id_write(json, "id", site->id);
	json_put_known(json, "size", site->size, site->size);
	json_put_real(json, "objects", site->objects);
	json_put_real(json, "bytes", site->bytes);
	limits_json(json, "bytes_limits", &site->limits);
	json_put_number(json, "sampled_allocated_objects", site->allocated.objects);
	json_put_number(json, "sampled_allocated_bytes", site->allocated.bytes);
	json_put_number(json, "sampled_freed_objects", site->freed.objects);
	json_put_number(json, "sampled_freed_bytes", site->freed.bytes);
	if (profile->readings) {
		json_put_real(json, "growth", site->growth);
		limits_json(json, "growth_limits", &site->growth_limits);
	}
	json_stack_write(json, NULL, 0, &site->frames);
	json_close(json, '}');
}

static void heap_profile_json(struct json_writer *json, const struct heap_profile *profile,
			      size_t top)
{
	if (!profile)
		return;
	json_open(json, "heap_profile", '{');
	json_put_string(json, "source", profile->source);
	json_put_string(json, "lacks", profile->lacks);
	json_put_string(json, "version", profile->version[0] ? profile->version : NULL);
	json_put_string(json, "cannot_tell", profile->why);
	json_put_known(json, "rate", profile->rate, profile->rate);
	json_put_bool(json, "collected", profile->collected);
	json_put_known(json, "collections", profile->collections, profile->collections);
	json_put_known(json, "collected_ms", profile->collected_ns,
		       profile->collected_ns / 1000000);
	json_put_known(json, "since_ms", profile->readings, profile->span_ns / 1000000);
	json_put_real(json, "objects", profile->objects);
	json_put_real(json, "bytes", profile->bytes);
	limits_json(json, "bytes_limits", &profile->limits);
	json_open(json, "sites", '[');
	for (size_t i = 0; i < profile->sites.count && (!top || i < top); i++)
		heap_site_json(json, profile, &profile->sites.items[i]);
	json_close(json, ']');
	json_close(json, '}');
}

void json_retain_object(struct json_writer *json, const struct retain_report *report)
{
	const struct retain_result *result = report->result;

	json_open(json, NULL, '{');
	json_put_number(json, "schema", 1);
	json_figures_write(json, &retain_head_figures, result);
	if (report->history)
		runs_write(json, report->history);
	json_figures_write(json, &retain_image_figures, result);
	/* Only if there are any, so that reports of native programs are unchanged. */
	if (result->runtimes.count)
		runtimes_write(json, result);
	json_managed_share_write(json, result->pid, &result->managed);
	heap_profile_json(json, result->heap_profile, report->top);
	totals_write(json, result);
	leaks_write(json, report);
	probable_write(json, report);
	roots_write(json, report);
	classes_write(json, report);
	paths_write(json, report);
	json_close(json, '}');
}

int json_retain_write(FILE *out, const void *data)
{
	const struct retain_report *report = data;
	struct json_writer json = {.out = out};

	json_retain_object(&json, report);
	fputc('\n', out);
	return output_finish(out);
}

/* -------- changes between two runs: classes, and retained sizes of roots */

static void side_json(struct json_writer *json, const char *key, const char *name, int64_t number,
		      const char *label, const struct retain_result *result)
{
	json_open(json, key, '{');
	json_put_string(json, "recording", name);
	json_put_signed(json, "run", number);
	json_time_write(json, "time", &result->time);
	json_put_string(json, "label", label);
	json_put_number(json, "pid", (uint64_t)result->pid);
	json_put_string(json, "comm", result->comm);
	json_close(json, '}');
}

static void amounts_json(struct json_writer *json, const struct retention_total *was,
			 const struct retention_total *is)
{
	json_amounts_write(json, "bytes", was->bytes, is->bytes);
	json_amounts_write(json, "count", was->blocks, is->blocks);
}

static void total_json(struct json_writer *json, const char *key, struct retention_total was,
		       struct retention_total is)
{
	json_open(json, key, '{');
	amounts_json(json, &was, &is);
	json_close(json, '}');
}

static void class_json(struct json_writer *json, const struct retain_diff *diff,
		       const struct retained_change *change)
{
	const struct retain_result *result = retained_change_side(diff, change);

	json_put_number(json, "farther", change->farther);
	json_retain_class(json, result, &result->classes.items[retained_change_place(change)]);
}

static void root_json(struct json_writer *json, const struct retain_diff *diff,
		      const struct retained_change *change)
{
	const struct retain_result *result = retained_change_side(diff, change);

	json_figures_write(json, &retained_root_figures,
			   &result->roots.items[retained_change_place(change)]);
}

static void changes_json(struct json_writer *json, const struct retain_diff_report *report,
			 const char *key, const struct retained_changes *changes,
			 void (*write)(struct json_writer *, const struct retain_diff *,
				       const struct retained_change *))
{
	size_t shown = 0;

	json_open(json, key, '[');
	for (size_t i = 0; i < changes->list.count; i++) {
		const struct retained_change *change = &changes->list.items[i];

		if (!retained_change_is_news(change) || (report->top && shown++ >= report->top))
			continue;
		json_open(json, NULL, '{');
		json_put_string(json, "state", diff_state_name(retained_change_state(change)));
		amounts_json(json, &change->was, &change->is);
		write(json, report->diff, change);
		json_close(json, '}');
	}
	json_close(json, ']');
}

int json_retain_diff_write(FILE *out, const void *data)
{
	const struct retain_diff_report *report = data;
	const struct retain_result *before = report->diff->before, *after = report->diff->after;
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	json_put_string(&json, "kind", "retain_diff");
	side_json(&json, "from", report->before_name, report->before_number, report->before_label,
		  before);
	side_json(&json, "to", report->after_name, report->after_number, report->after_label,
		  after);
	total_json(&json, "total", retain_result_total(before), retain_result_total(after));
	total_json(&json, "unreachable", before->totals[VERDICT_LOST], after->totals[VERDICT_LOST]);
	changes_json(&json, report, "classes", &report->diff->classes, class_json);
	changes_json(&json, report, "roots", &report->diff->roots, root_json);
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}
