// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes JUnit XML, the form in which forges show test results: a suite per process, a test case
 * per call stack. Outstanding blocks fail if the whole run exceeds --fail-over; accepted sites are
 * skipped. The elements are those of the Jenkins xUnit plugin's junit-10.xsd.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "report/family.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "output/formats.h"
#include "output/output.h"
#include "output/text/text.h"
#include "process/symbol/site_label.h"

/* Writes text for attributes or elements; text_inert() removes all characters outside XML 1.0. */
static void text_write(FILE *out, const char *text)
{
	static const char *const entities[] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};
	_cleanup_free_ char *inert = text_inert(text);

	for (const char *at = inert; at && *at; at++) {
		unsigned char byte = (unsigned char)*at;
		const char *entity = byte < ARRAY_SIZE(entities) ? entities[byte] : NULL;

		if (entity)
			fputs(entity, out);
		else
			fputc(byte, out);
	}
}

/* Functions in the name of a test case, from the label on: stable from one build to the next. */
#define NAMED_FRAMES 3

static void frame_name_write(FILE *out, const struct frame *frame)
{
	_cleanup_free_ char *name = frame->function ? site_label_collapse(frame->function) : NULL;

	if (name) {
		text_write(out, name);
	} else if (frame->module) {
		text_write(out, text_path_base(frame->module));
		fprintf(out, "+0x%" PRIx64, frame->module_offset);
	} else {
		fputs("?", out);
	}
}

static void name_write(FILE *out, const struct report_site *site)
{
	const struct frames *frames = &site->frames;
	const struct frame *label = site_label_frame(frames);
	const struct frame *end = frames->list.items + frames->list.count;

	for (const struct frame *frame = label;
	     label && frame < end && frame < label + NAMED_FRAMES; frame++) {
		fputs(frame == label ? "" : " ← ", out);
		frame_name_write(out, frame);
	}
	if (!label) {
		fprintf(out, "stack %016" PRIx64, site->id);
	} else if (label->module) {
		fputs(" [", out);
		text_write(out, text_path_base(label->module));
		fputc(']', out);
	}
}

/* Writes the stack of the text format, escaped for XML. */
static int stack_write(FILE *out, const struct report_site *site)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return -ENOMEM;
	text_stack_write(memory, &(const struct text_form){.verbose = true}, site);
	if (fclose(memory))
		return -ENOMEM;
	for (char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		fputs("\n    ", out);
		text_write(out, line + strspn(line, "\t"));
	}
	fputc('\n', out);
	return 0;
}

static bool is_over(const struct report *report)
{
	uint64_t bytes = report->snapshot->ledger.outstanding_bytes,
		 accepted = report_suppressed_heap_bytes(report);

	return bytes > accepted && bytes - accepted > report->fail_over;
}

static void amount_write(FILE *out, const struct site *site)
{
	fprintf(out, "%" PRIu64 " bytes in %" PRIu64 " %s outstanding", site->bytes, site->count,
		family_get(site->family)->noun);
}

static int case_write(FILE *out, const struct report_process *process,
		      const struct report_site *site, bool failed)
{
	int error;

	fputs("  <testcase classname=\"", out);
	text_write(out, process->process->comm);
	fputs("\" name=\"", out);
	name_write(out, site);
	fputs("\">\n", out);
	if (site->rule) {
		fputs("   <skipped message=\"", out);
		amount_write(out, site->site);
		fputs("; accepted by leak:", out);
		text_write(out, site->rule->pattern);
		fputs("\"/>\n  </testcase>\n", out);
		return 0;
	}
	fputs(failed ? "   <failure type=\"leak\" message=\"" : "   <system-out>", out);
	amount_write(out, site->site);
	fputs(failed ? "\">" : "", out);
	error = stack_write(out, site);
	fputs(failed ? "   </failure>\n  </testcase>\n" : "   </system-out>\n  </testcase>\n", out);
	return error;
}

static int suite_write(FILE *out, const struct report *report, const struct report_process *process,
		       bool failed)
{
	size_t cases = process->sites.count + process->suppressed.count;
	char when[32];
	struct tm utc = {0};
	int error = 0;

	gmtime_r(&report->snapshot->time.tv_sec, &utc);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
	fputs(" <testsuite name=\"leakmon: ", out);
	text_write(out, process->process->comm);
	fprintf(out, " (PID %" PRIu32 ")\"", process->process->pid);
	fprintf(out,
		" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\" timestamp=\"%s\">\n",
		cases ? cases : 1, failed ? process->sites.count : 0, process->suppressed.count,
		when);
	if (!cases) {
		fputs("  <testcase classname=\"", out);
		text_write(out, process->process->comm);
		fputs("\" name=\"nothing is outstanding\"/>\n", out);
	}
	for (size_t i = 0; i < process->sites.count && !error; i++)
		error = case_write(out, process, &process->sites.items[i], failed);
	for (size_t i = 0; i < process->suppressed.count && !error; i++)
		error = case_write(out, process, &process->suppressed.items[i], false);
	fputs(" </testsuite>\n", out);
	return error;
}

static int junit_report_write(FILE *out, const void *data)
{
	const struct report *report = data;
	bool failed = is_over(report);
	int error = 0;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
	for (size_t i = 0; i < report->processes.count && !error; i++)
		error = suite_write(out, report, &report->processes.items[i], failed);
	fputs("</testsuites>\n", out);
	return error ? error : output_finish(out);
}

const struct output_format output_junit = {
	.name = "junit",
	.write = {[OUTPUT_REPORT] = junit_report_write},
	.single = true,
};
