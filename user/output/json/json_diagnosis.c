// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/json/json.h"
#include "output/output.h"
#include "output/text/text.h"
#include "process/symbol/site_label.h"
#include "report/diagnosis.h"
#include "report/family.h"
#include "report/stored_diagnosis.h"

static void count_write(struct json_writer *json, const char *key,
			const struct diagnosed_count *count)
{
	if (!count->known) {
		json_put_null(json, key);
		return;
	}
	json_amounts_write(json, key, count->before, count->now);
}

static void code_write(struct json_writer *json, const struct profile_report_site *site)
{
	if (!site) {
		json_put_null(json, "code");
		return;
	}
	json_open(json, "code", '{');
	json_id_write(json, "site", site->id);
	json_put_string(json, "function", site_label_function(&site->frames));
	json_put_real(json, "growth_bytes_per_s", site->judgement.growth_bytes_per_s.estimate);
	json_put_real(json, "low", site->judgement.growth_bytes_per_s.low);
	json_put_real(json, "high", site->judgement.growth_bytes_per_s.high);
	json_put_string(json, "verdict", profile_verdict_name(site->judgement.verdict));
	json_stack_write(json, NULL, 0, &site->frames);
	json_close(json, '}');
}

static void class_write(struct json_writer *json, const char *key,
			const struct diagnosis *diagnosis, const struct diagnosed_class *found,
			const char *blocks)
{
	const struct retained_class *class = &diagnosis->retention->classes.items[found->class];

	json_open(json, key, '{');
	json_put_string(json, "name", class->name);
	json_put_string(json, class->kind == CLASS_RUNTIME ? "runtime" : "module", class->module);
	json_amounts_write(json, blocks, found->was.blocks, found->is.blocks);
	json_amounts_write(json, "bytes", found->was.bytes, found->is.bytes);
	if (class->kind != CLASS_RUNTIME) {
		json_put_string(json, "kind", class_kind_name(class->kind));
		json_put_known(json, "size", class->kind == CLASS_SIZE, class->size);
	}
	json_close(json, '}');
}

static void root_write(struct json_writer *json, const struct diagnosis *diagnosis,
		       const struct diagnosis_finding *finding)
{
	const struct retained_root *root = &diagnosis->retention->roots.items[finding->root];

	json_open(json, "root", '{');
	json_put_string(json, "kind", root_kind_name(root->kind));
	json_put_string(json, "name", root->name);
	json_put_string(json, "module", root->module);
	json_amounts_write(json, "bytes", finding->root_was_bytes, root->led.bytes);
	json_close(json, '}');
}

static void findings_write(struct json_writer *json, const struct diagnosis *diagnosis)
{
	json_put_real(json, "grown_bytes", diagnosis->grown_bytes);
	json_put_real(json, "share",
		      diagnosis->finding_count ? diagnosis->findings[0].share : (double)NAN);
	json_open(json, "findings", '[');
	for (size_t i = 0; i < diagnosis->finding_count; i++) {
		const struct diagnosis_finding *finding = &diagnosis->findings[i];

		json_open(json, NULL, '{');
		json_put_string(json, "part", diagnosis_part_name(finding->part, finding->group));
		json_put_string(json, "verdict", diagnosis_verdict_name(finding->verdict));
		json_put_real(json, "bytes", finding->bytes);
		if (finding->high > 0) {
			json_open(json, "limits", '[');
			json_put_real(json, NULL, finding->low);
			json_put_real(json, NULL, finding->high);
			json_close(json, ']');
		}
		json_put_real(json, "share", finding->share);
		json_put_bool(json, "exact", finding->exact);
		if (finding->site) {
			json_put_string(json, "function",
					site_label_function(&finding->site->frames));
			json_stack_write(json, NULL, 0, &finding->site->frames);
		}
		if (finding->has_root)
			root_write(json, diagnosis, finding);
		if (finding->has_class)
			class_write(json, "class", diagnosis, &finding->class, "blocks");
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void sampled_write(struct json_writer *json, const struct diagnosis *diagnosis)
{
	const struct heap_profile_site *site = diagnosis->sampled;

	if (!site) {
		json_put_null(json, "sampled");
		return;
	}
	json_open(json, "sampled", '{');
	json_id_write(json, "id", site->id);
	json_put_string(json, "function", site_label_function(&site->frames));
	json_put_real(json, "seconds", diagnosis->sampled_s);
	json_put_real(json, "growth_bytes", site->growth);
	json_put_real(json, "low", site->growth_limits.low);
	json_put_real(json, "high", site->growth_limits.high);
	json_stack_write(json, NULL, 0, &site->frames);
	json_close(json, '}');
}

static void opener_write(struct json_writer *json, const struct diagnosed_opener *found)
{
	const struct report_site *opener = found->site;

	if (!opener) {
		json_put_null(json, "opener");
		return;
	}
	json_open(json, "opener", '{');
	json_id_write(json, "id", opener->id);
	json_put_string(json, "function", site_label_function(&opener->frames));
	json_put_string(json, "kind", kind_name(opener->site->kind));
	json_put_string(json, "patterns", opener->site->patterns);
	json_put_number(json, "opened", found->opened);
	json_put_number(json, "closed", found->closed);
	json_put_number(json, "open", found->open);
	json_put_number(json, "staying", found->staying);
	json_put_number(json, "oldest_ms", found->oldest_ns / 1000000);
	json_put_number(json, "closes_reach_ms", found->closes_reach_ns / 1000000);
	json_put_real(json, "share", found->share);
	json_stack_write(json, NULL, 0, &opener->frames);
	json_close(json, '}');
}

static void mapper_write(struct json_writer *json, const struct diagnosed_mapper *mapper)
{
	if (!mapper->site) {
		json_put_null(json, "mapper");
		return;
	}
	json_open(json, "mapper", '{');
	json_id_write(json, "id", mapper->site->id);
	json_put_string(json, "function", site_label_function(&mapper->site->frames));
	json_put_number(json, "bytes", mapper->bytes);
	json_put_number(json, "resident", mapper->resident);
	json_put_number(json, "count", mapper->count);
	json_put_real(json, "share", mapper->share);
	json_stack_write(json, NULL, 0, &mapper->site->frames);
	json_close(json, '}');
}

static void kernel_write(struct json_writer *json, const struct diagnosed_kernel *kernel)
{
	if (!(kernel->bytes > 0)) {
		json_put_null(json, "kernel");
		if (!kernel->things.known)
			return;
		json_open(json, "kernel_counted", '{');
		json_put_string(json, "what", kernel->what);
		count_write(json, "things", &kernel->things);
		json_close(json, '}');
		return;
	}
	json_open(json, "kernel", '{');
	json_put_string(json, "what", kernel->what);
	json_put_string(json, "kernel_function", kernel->function);
	json_put_string(json, "cache", *kernel->cache ? kernel->cache : NULL);
	json_put_number(json, "count", kernel->count);
	json_put_real(json, "bytes", kernel->bytes);
	json_put_real(json, "seconds", kernel->seconds);
	json_put_bool(json, "exact", kernel->exact);
	count_write(json, "things", &kernel->things);
	json_put_string(json, "function", site_label_function(kernel->frames));
	json_stack_write(json, NULL, 0, kernel->frames);
	json_close(json, '}');
}

static void sysv_write(struct json_writer *json, const struct diagnosed_sysv *sysv)
{
	if (!sysv->segments) {
		json_put_null(json, "sysv");
		return;
	}
	json_open(json, "sysv", '{');
	json_put_number(json, "segments", sysv->segments);
	json_put_number(json, "bytes", sysv->bytes);
	json_put_bool(json, "by_children", sysv->by_children);
	json_close(json, '}');
}

static void creator_write(struct json_writer *json, const struct diagnosis *diagnosis)
{
	const struct live_group *group = diagnosis->creator;

	if (!group) {
		json_put_null(json, "creator");
		return;
	}
	json_open(json, "creator", '{');
	json_id_write(json, "id", group->id);
	json_put_string(json, "function", site_label_function(&group->stack));
	json_put_number(json, "count", group->count);
	json_put_real(json, "share", diagnosis->creator_share);
	json_put_string(json, "runs",
			group->start.list.count ? group->start.list.items[0].function : NULL);
	json_stack_write(json, NULL, 0, &group->stack);
	json_close(json, '}');
}

static void ended_write(struct json_writer *json, const struct diagnosed_ended *ended)
{
	if (!ended->threads.known) {
		json_put_null(json, "ended_threads");
		return;
	}
	json_open(json, "ended_threads", '{');
	count_write(json, "threads", &ended->threads);
	json_put_number(json, "stack_bytes", ended->stack_bytes);
	if (ended->group) {
		json_put_string(json, "function", site_label_function(&ended->group->stack));
		json_put_number(json, "count", ended->group->count);
		json_put_real(json, "share", ended->share);
		json_put_string(json, "runs",
				ended->group->start.list.count
					? ended->group->start.list.items[0].function
					: NULL);
		json_stack_write(json, NULL, 0, &ended->group->stack);
	}
	json_close(json, '}');
}

static void goroutines_write(struct json_writer *json, const struct task_group *group)
{
	if (!group) {
		json_put_null(json, "goroutines");
		return;
	}
	json_open(json, "goroutines", '{');
	json_id_write(json, "id", group->id);
	json_put_string(json, "state", group->state);
	json_amounts_write(json, "count", group->growth.first_count, group->count);
	json_put_number(json, "gone", group->growth.gone);
	json_stack_write(json, NULL, 0, &group->stack);
	json_open(json, "creator", '{');
	json_stack_write(json, NULL, 0, &group->creator);
	json_close(json, '}');
	json_close(json, '}');
}

static void classes_write(struct json_writer *json, const struct diagnosis *diagnosis)
{
	json_open(json, "classes", '[');
	for (size_t i = 0; i < diagnosis->class_count; i++)
		class_write(json, NULL, diagnosis, &diagnosis->classes[i], "held");
	json_close(json, ']');
	if (diagnosis->has_awaited)
		class_write(json, "awaited", diagnosis, &diagnosis->awaited, "garbage");
	if (diagnosis->has_lost_class)
		class_write(json, "lost_class", diagnosis, &diagnosis->lost_class, "lost");
	else
		json_put_null(json, "lost_class");
}

static void holder_write(struct json_writer *json, const struct diagnosis *diagnosis)
{
	if (!diagnosis->path) {
		json_put_null(json, "holder");
		return;
	}
	json_open(json, "holder", '{');
	json_retain_way(json, diagnosis->retention, diagnosis->path, diagnosis->path->steps.count);
	json_close(json, '}');
}

static void filling_write(struct json_writer *json, const struct diagnosis *diagnosis)
{
	if (!diagnosis->filling.limit)
		return;
	json_open(json, "filling", '{');
	json_amounts_write(json, "entries", diagnosis->filling_was, diagnosis->filling.entries);
	json_put_number(json, "limit", diagnosis->filling.limit);
	json_close(json, '}');
}

static void file_write(struct json_writer *json, const struct diagnosis *diagnosis)
{
	if (!diagnosis->file.path) {
		json_put_null(json, "file");
		return;
	}
	json_open(json, "file", '{');
	json_put_string(json, "path", diagnosis->file.path);
	json_amounts_write(json, "bytes", diagnosis->file.before, diagnosis->file.now);
	json_put_bool(json, "open", diagnosis->file.open);
	json_close(json, '}');
}

static void evidence_write(struct json_writer *json, const struct diagnosis *diagnosis)
{
	json_open(json, "blocks", '{');
	json_put_number(json, "checked", diagnosis->blocks.checked);
	json_put_number(json, "unreachable", diagnosis->blocks.unreachable);
	json_put_number(json, "held", diagnosis->blocks.held);
	json_close(json, '}');
	count_write(json, "rss_bytes", &diagnosis->rss);
	json_open(json, "memory_growth", '{');
	for (unsigned i = 0; diagnosis->conclusion && i < GROUP_MAX_; i++)
		json_put_signed(json, memory_group_name(i),
				diagnosis->conclusion->growth.groups[i]);
	json_close(json, '}');
	count_write(json, "threads", &diagnosis->threads);
	count_write(json, "descriptors", &diagnosis->descriptors);
	count_write(json, "lost_blocks", &diagnosis->lost_blocks);
	count_write(json, "lost_bytes", &diagnosis->lost_bytes);
	json_put_known(json, "limit_bytes", diagnosis->limit_bytes, diagnosis->limit_bytes);
	json_put_real(json, "limit_in_s",
		      diagnosis->limit_in_s < 0 ? (double)NAN : diagnosis->limit_in_s);
}

static void cost_write(struct json_writer *json, const struct diagnosis *diagnosis)
{
	json_open(json, "cost", '{');
	json_put_real(json, "spent", diagnosis->profile ? diagnosis->profile->spent : 0);
	json_put_real(json, "core", diagnosis->spent_core);
	json_put_number(json, "windows",
			diagnosis->profile ? diagnosis->profile->judgement.windows : 0);
	json_put_real(json, "exact_s", diagnosis->profile ? diagnosis->profile->exact_s : 0);
	json_put_real(json, "hits_per_s", diagnosis->profile ? diagnosis->profile->hits_per_s : 0);
	json_put_real(json, "own_cpu_s", diagnosis->own_cpu_s);
	json_put_number(json, "scans", diagnosis->scans);
	json_put_real(json, "scan_left_out_s",
		      diagnosis->scan_left_out_s > 0 ? diagnosis->scan_left_out_s : (double)NAN);
	json_put_number(json, "stops", diagnosis->stops);
	json_put_number(json, "longest_stop_ns", diagnosis->longest_stop_ns);
	json_close(json, '}');
}

/* Writes the text answer, line by line. */
static void text_write(struct json_writer *json, const struct diagnosis *diagnosis)
{
	const struct diagnosis_report alone = {.items = diagnosis, .count = 1};
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	char *rest, *line;

	if (out) {
		text_diagnosis_write(out, &alone);
		fclose(out);
	}
	rest = text;
	json_open(json, "text", '[');
	while ((line = strsep(&rest, "\n"))) {
		if (*line)
			json_put_string(json, NULL, line);
	}
	json_close(json, ']');
}

/* Pages get only the text of answers, because they draw nothing else. */
void json_stored_diagnoses_write(struct json_writer *json, const struct stored_diagnoses *diagnoses)
{
	if (!diagnoses || !diagnoses->list.count)
		return;
	json_open(json, "diagnoses", '[');
	for (size_t i = 0; i < diagnoses->list.count; i++) {
		const struct stored_diagnosis *diagnosis = &diagnoses->list.items[i];

		json_open(json, NULL, '{');
		json_time_write(json, "time", &diagnosis->time);
		json_put_number(json, "pid", (uint64_t)diagnosis->pid);
		json_put_string(json, "comm", diagnosis->comm);
		json_put_string(json, "reason", diagnosis->reason);
		if (json->embedded) {
			json_put_string(json, "because", stored_diagnosis_reason(diagnosis));
			json_open(json, "text", '[');
			for (size_t j = 0; j < diagnosis->lines.count; j++)
				json_put_string(json, NULL, diagnosis->lines.items[j]);
			json_close(json, ']');
		} else {
			json_put_verbatim(json, "answer", diagnosis->answer);
		}
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void diagnosis_write(struct json_writer *json, const struct diagnosis *diagnosis)
{
	json_open(json, NULL, '{');
	json_put_number(json, "pid", (uint64_t)diagnosis->pid);
	json_put_string(json, "comm", diagnosis->comm);
	json_container_write(json, diagnosis->container);
	json_put_bool(json, "exited", diagnosis->ended);
	json_put_real(json, "seconds", diagnosis->seconds);
	json_put_string(json, "verdict", diagnosis_verdict_name(diagnosis->verdict));
	json_put_string(json, "part", diagnosis_part_name(diagnosis->part, diagnosis->group));
	json_put_string(json, "why", diagnosis->why);
	findings_write(json, diagnosis);
	code_write(json, diagnosis->site);
	sampled_write(json, diagnosis);
	opener_write(json, &diagnosis->opener);
	mapper_write(json, &diagnosis->mapper);
	kernel_write(json, &diagnosis->kernel);
	sysv_write(json, &diagnosis->sysv);
	creator_write(json, diagnosis);
	ended_write(json, &diagnosis->ended_threads);
	goroutines_write(json, diagnosis->goroutines);
	classes_write(json, diagnosis);
	holder_write(json, diagnosis);
	filling_write(json, diagnosis);
	file_write(json, diagnosis);
	evidence_write(json, diagnosis);
	cost_write(json, diagnosis);
	json_put_string(json, "next", diagnosis->next[0] ? diagnosis->next : NULL);
	if (!json->embedded)
		text_write(json, diagnosis);
	json_close(json, '}');
}

void json_diagnosis_members(struct json_writer *json, const void *data)
{
	const struct diagnosis_report *report = data;

	json_put_bool(json, "diagnosis", true);
	json_time_write(json, "time", &report->time);
	json_open(json, "processes", '[');
	for (size_t i = 0; i < report->count; i++)
		diagnosis_write(json, &report->items[i]);
	json_close(json, ']');
}

int json_diagnosis_write(FILE *out, const void *data)
{
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	json_diagnosis_members(&json, data);
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}
