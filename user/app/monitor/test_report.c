// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/monitor/test_report.h"

#include <errno.h>
#include <unistd.h>

#include "app/monitor/emit.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "output/output.h"
#include "output/replace_file.h"
#include "process/proc/host_file.h"

#define MAX_RULES_BYTES (1u << 20)

static int read_rules(const char *path, struct suppressions *accepted)
{
	_cleanup_free_ char *text = NULL;
	int error = small_file_read(path, MAX_RULES_BYTES, &text);

	if (!error)
		error = suppressions_parse(accepted, text);
	if (error == -EINVAL && accepted->bad_line)
		log_error("%s:%u: expected leak:PATTERN, e.g. leak:read_config", path,
			  accepted->bad_line);
	else if (error)
		log_error("cannot read --suppress %s: %s", path, strerror(-error));
	return error;
}

/* Expands %p to our PID, so that parallel runs have separate files. NULL: out of memory. */
static char *expand_path(const char *path)
{
	const char *at = strstr(path, "%p");
	char *expanded;

	if (!at)
		return strdup(path);
	if (asprintf(&expanded, "%.*s%d%s", (int)(at - path), path, getpid(), at + 2) < 0)
		return NULL;
	return expanded;
}

int test_report_open(struct test_report *tests, const struct output_options *options)
{
	int error = 0;

	if (!options->suppress && !options->junit)
		return 0;
	tests->options = options;
	if (options->suppress)
		error = read_rules(options->suppress, &tests->accepted);
	if (error || !options->junit)
		return error;
	tests->path = expand_path(options->junit);
	if (!tests->path)
		return -ENOMEM;
	tests->junit = *options;
	tests->junit.format = "junit";
	tests->junit.path = tests->path;
	tests->junit.textfile_dir = NULL;
	return emitter_open(&tests->emitter, &tests->junit, EMIT_ONCE);
}

void test_report_close(struct test_report *tests)
{
	emitter_close(&tests->emitter);
	suppressions_free(&tests->accepted);
	free(tests->path);
	*tests = (struct test_report){0};
}

bool test_report_is_wanted(const struct output_options *options)
{
	return options->suppress || options->junit || options->fail_over != UINT64_MAX;
}

static void name_unused(const struct test_report *tests)
{
	for (size_t i = 0; i < tests->accepted.list.count; i++) {
		const struct suppression *rule = &tests->accepted.list.items[i];

		if (!rule->used)
			log_warning("%s:%u: leak:%s accepted nothing", tests->options->suppress,
				    rule->line, rule->pattern);
	}
}

int test_report_take(struct test_report *tests, struct report *report, bool last,
		     uint64_t *accepted_bytes)
{
	int error;

	*accepted_bytes = 0;
	if (!tests->options)
		return 0;
	error = suppressions_apply(&tests->accepted, report);
	if (error)
		return error;
	*accepted_bytes = report_suppressed_heap_bytes(report);
	if (last && tests->path)
		error = emit(&tests->emitter, OUTPUT_REPORT, report, true);
	report_cut(report, tests->options->report.top);
	if (last)
		name_unused(tests);
	return error;
}
