// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/family.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "report/profile_report.h"
#include "output/formats.h"
#include "output/output.h"
#include "output/text/text.h"
#include "process/symbol/symbolizer.h"

/* -------- pieces of folded stacks */

/*
 * Folded stacks for flame graph programs: one line per site, the root first, frames separated by
 * ";", then a blank and the outstanding bytes. The first frame is the program's name.
 */

/* Writes a name without characters that would end the frame or the line. */
static void name_write(FILE *out, const char *name)
{
	_cleanup_free_ char *inert = text_inert(name);

	for (char *c = inert; c && *c; c++) {
		if (*c == ';')
			*c = ':';
	}
	/* An empty name would not count as a frame; and a reader may trim blanks at both ends. */
	fputs(inert && *inert ? inert : "?", out);
}

static void frame_write(FILE *out, const struct frame *frame)
{
	fputc(';', out);
	if (frame->function) {
		name_write(out, frame->function);
	} else if (frame->module) {
		fputc('[', out);
		name_write(out, text_path_base(frame->module));
		fprintf(out, "+0x%" PRIx64 "]", frame->module_offset);
	} else {
		fprintf(out, "[0x%" PRIx64 "]", frame->address);
	}
}

static void stack_write(FILE *out, const char *comm, const struct report_site *site)
{
	const struct site *numbers = site->site;

	name_write(out, comm);
	/* Separate roots: blocks lie in mappings, and the kernel's slabs in pages. */
	if (numbers->family != FAMILY_HEAP)
		fprintf(out, ";[%s]", family_name(numbers->family));
	if (kind_name(numbers->kind) &&
	    strcmp(kind_name(numbers->kind), family_name(numbers->family)) != 0)
		fprintf(out, ";[%s]", kind_name(numbers->kind));
	if (numbers->lost)
		fprintf(out, ";[lost: %s]", lost_name(numbers->lost));
	for (size_t i = site->frames.list.count; i-- > 0;)
		frame_write(out, &site->frames.list.items[i]);
	for (size_t i = site->frames.list.count ? 0 : numbers->depth; i-- > 0;)
		fprintf(out, ";[0x%" PRIx64 "]",
			(uint64_t)(numbers->addresses[i] & ~LM_FRAME_EXACT));
}

static int folded_report_write(FILE *out, const void *data)
{
	const struct report *report = data;

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++) {
			const struct report_site *site = &process->sites.items[j];

			uint64_t weight = family_get(site->site->family)->counted[0]
						  ? site->site->count
						  : site->site->bytes;

			if (!weight)
				continue;
			stack_write(out, process->process->comm, site);
			fprintf(out, " %" PRIu64 "\n", weight);
		}
	}
	return output_finish(out);
}

/* Writes growth as a flame graph, which cannot show shrinking sites. */
static int folded_diff_write(FILE *out, const void *data)
{
	const struct diff *diff = data;

	for (size_t i = 0; i < diff->rows.count; i++) {
		const struct diff_row *row = &diff->rows.items[i];

		if (diff_bytes(row) <= 0)
			continue;
		if (row->name)
			name_write(out, row->name);
		else
			stack_write(out, row->comm, row->site);
		fprintf(out, " %" PRId64 "\n", diff_bytes(row));
	}
	return output_finish(out);
}

/* Writes a profile's growth per hour. */
static int folded_profile_write(FILE *out, const void *data)
{
	const struct profile_report *report = data;

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct profile_report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++) {
			const struct profile_report_site *site = &process->sites.items[j];
			uint64_t bytes =
				profile_hourly(site->judgement.growth_bytes_per_s.estimate);

			if (!bytes)
				continue;
			name_write(out, process->comm);
			for (size_t k = site->frames.list.count; k-- > 0;)
				frame_write(out, &site->frames.list.items[k]);
			fprintf(out, " %" PRIu64 "\n", bytes);
		}
	}
	return output_finish(out);
}

/*
 * Writes retention as folded stacks: the root, the call stack, the kind of block, and the bytes. In
 * a flame graph each root is as wide as the bytes that its shortest paths reach.
 */

static bool retained_sample_write(FILE *out, const struct retain_result *result,
				  const struct retained_sample *sample)
{
	const struct retained_class *class = &result->classes.items[sample->class];
	const struct retained_site *site = retained_site(result, sample->site);
	_cleanup_free_ char *holder = text_retain_holder(result, sample);
	_cleanup_free_ char *name = text_retain_class(result, class);

	if (!holder || !name)
		return false;
	name_write(out, holder);
	for (size_t i = site ? site->frames.list.count : 0; i-- > 0;)
		frame_write(out, &site->frames.list.items[i]);
	/* A class that is a call stack is already shown by its frames. */
	if (!site || class->kind != CLASS_SITE || class->name) {
		fputc(';', out);
		name_write(out, class->kind == CLASS_SITE && site ? class->name : name);
	}
	fprintf(out, " %" PRIu64 "\n", sample->total.bytes);
	return true;
}

/* Writes a Go program's own profile: call stacks and bytes in use. */
static int heap_profile_write(FILE *out, const struct retain_result *result)
{
	for (size_t i = 0; i < result->heap_profile->sites.count; i++) {
		const struct heap_profile_site *site = &result->heap_profile->sites.items[i];

		name_write(out, result->comm);
		for (size_t j = site->frames.list.count; j-- > 0;)
			frame_write(out, &site->frames.list.items[j]);
		fprintf(out, " %" PRIu64 "\n", (uint64_t)site->bytes);
	}
	return output_finish(out);
}

static int folded_retain_write(FILE *out, const void *data)
{
	const struct retain_report *report = data;
	const struct retain_result *result = report->result;

	if (result->profile_only)
		return heap_profile_write(out, result);
	for (size_t i = 0; i < result->samples.count; i++) {
		if (result->samples.items[i].total.bytes &&
		    !retained_sample_write(out, result, &result->samples.items[i]))
			return -ENOMEM;
	}
	return output_finish(out);
}

const struct output_format output_folded = {
	.name = "folded",
	.write = {[OUTPUT_REPORT] = folded_report_write,
		  [OUTPUT_DIFF] = folded_diff_write,
		  [OUTPUT_RETAIN] = folded_retain_write,
		  [OUTPUT_PROFILE] = folded_profile_write},
	.single = true,
	.wants_samples = true,
};
