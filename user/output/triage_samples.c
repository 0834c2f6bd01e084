// SPDX-License-Identifier: GPL-2.0-or-later
/* The call stacks at which a suspect's growth was sampled, and what to run to see more. */
#include <math.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/json_writer.h"
#include "output/report_json.h"
#include "output/report_text.h"
#include "output/triage_format.h"

/*
 * sampled   what was sampled
 * unit      of what was added; NULL: bytes
 * next      what shows more: its PID goes where %d stands
 */
static const struct {
	const char *sampled, *unit, *next;
} kinds[] = {
	[QUANTITY_HEAP] = {"page faults", NULL, "leakmon -p %d"},
	[QUANTITY_MAPPING] = {"mmap", "mappings", "leakmon --mappings -p %d"},
	[QUANTITY_THREADS] = {"thread creation", "threads", "leakmon threads -p %d"},
	[QUANTITY_FILES] = {"open files", "files", "ls -l /proc/%d/fd"},
};
_Static_assert(ARRAY_SIZE(kinds) == QUANTITY_MAX_, "a row for every quantity");

/* So many stacks that came without a thread are no coincidence. */
#define ORPHANS_MIN 3

static bool has_dead_threads(const struct triage_samples *sampled)
{
	return sampled->orphans_added >= ORPHANS_MIN;
}

static void next_format(char text[64], const struct triage_entry *entry)
{
	enum quantity kind =
		has_dead_threads(entry->sampled) ? QUANTITY_THREADS : entry->sampled->kind;
	const char *format = kinds[kind].next;
	size_t head = strcspn(format, "%");

	snprintf(text, 64, "%.*s%d%s", (int)head, format, entry->pid, format + head + 2);
}

static void amount_format(char text[32], enum quantity kind, double amount)
{
	if (kinds[kind].unit)
		snprintf(text, 32, "%+.0f %s", amount, kinds[kind].unit);
	else
		units_bytes(text, amount, "+");
}

static void loss_write(FILE *out, const struct triage_samples *sampled)
{
	if (sampled->lost)
		fprintf(out, "         %llu samples were lost: they came too fast\n",
			(unsigned long long)sampled->lost);
	if (sampled->missed)
		fprintf(out, "         %zu of its threads are not sampled: there are too many\n",
			sampled->missed);
}

static void stacks_write(FILE *out, bool colour, const struct triage_samples *sampled)
{
	char added[32], units[32];

	amount_format(added, sampled->kind, sampled->added);
	fprintf(out,
		"         %s sampled for %.0f s: what came then and is there explains ~%.0f %% of "
		"%s\n",
		kinds[sampled->kind].sampled, sampled->window_s, 100 * sampled->share, added);
	loss_write(out, sampled);
	for (size_t i = 0; i < sampled->stacks.count; i++) {
		const struct triage_stack *stack = &sampled->stacks.items[i];

		amount_format(units, sampled->kind, stack->units);
		fprintf(out, "      ~%3.0f %%\t~%s in %zu samples from stack\n", 100 * stack->share,
			units + 1, stack->samples);
		output_text_stack_write(out, colour, &stack->named);
	}
	if (sampled->stacks_total > sampled->stacks.count)
		fprintf(out, "\t… and %zu more stacks\n",
			sampled->stacks_total - sampled->stacks.count);
}

static void files_write(FILE *out, const struct triage_samples *sampled)
{
	for (size_t i = 0; i < sampled->files.count; i++) {
		const struct triage_file_kind *kind = &sampled->files.items[i];

		fprintf(out, "       %+8.0f in %.0f s: ", kind->added, sampled->window_s);
		text_print_inert(out, kind->name);
		fprintf(out, ", %.0f open\n", kind->open);
	}
}

void output_triage_samples_write(FILE *out, bool colour, const struct triage_entry *entry)
{
	const struct triage_samples *sampled = entry->sampled;
	char next[64];

	if (sampled->why)
		fprintf(out, "         %s not sampled: %s\n", kinds[sampled->kind].sampled,
			sampled->why);
	else if (sampled->kind != QUANTITY_FILES)
		stacks_write(out, colour, sampled);
	files_write(out, sampled);
	if (has_dead_threads(sampled))
		fprintf(out,
			"         ~%.0f threads ended and were not joined: their stacks are "
			"mapped, "
			"%.0f more than %.0f s ago\n",
			sampled->orphans, sampled->orphans_added, sampled->window_s);
	next_format(next, entry);
	fprintf(out, "         next: %s\n", next);
}

static void stack_json(struct json_writer *json, const struct triage_stack *stack)
{
	char id[24];

	json_open(json, NULL, '{');
	snprintf(id, sizeof(id), "%016llx", (unsigned long long)stack->named.id);
	json_put_string(json, "id", id);
	json_put_real(json, "units", stack->units);
	json_put_real(json, "explained", stack->share);
	json_put_number(json, "samples", stack->samples);
	output_json_frames_write(json, &stack->named);
	json_close(json, '}');
}

static void files_json(struct json_writer *json, const struct triage_samples *sampled)
{
	json_open(json, "files", '[');
	for (size_t i = 0; i < sampled->files.count; i++) {
		const struct triage_file_kind *kind = &sampled->files.items[i];

		json_open(json, NULL, '{');
		json_put_string(json, "kind", kind->name);
		json_put_real(json, "open", kind->open);
		json_put_real(json, "added", kind->added);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void output_triage_samples_json(struct json_writer *json, const struct triage_entry *entry)
{
	const struct triage_samples *sampled = entry->sampled;
	char next[64];

	json_open(json, "sampled", '{');
	json_put_string(json, "kind", growth_kind_name(sampled->kind));
	json_put_string(json, "event", kinds[sampled->kind].sampled);
	json_put_real(json, "window_s", sampled->window_s);
	json_put_real(json, "added", sampled->added);
	json_put_real(json, "explained", sampled->share);
	json_put_number(json, "samples", sampled->taken);
	json_put_number(json, "samples_lost", sampled->lost);
	json_put_number(json, "threads_missed", sampled->missed);
	json_put_string(json, "refused", sampled->why);
	json_put_number(json, "stacks_total", sampled->stacks_total);
	json_open(json, "stacks", '[');
	for (size_t i = 0; i < sampled->stacks.count; i++)
		stack_json(json, &sampled->stacks.items[i]);
	json_close(json, ']');
	files_json(json, sampled);
	json_put_real(json, "dead_threads", sampled->orphans);
	json_put_real(json, "dead_threads_added", sampled->orphans_added);
	next_format(next, entry);
	json_put_string(json, "next", next);
	json_close(json, '}');
}
