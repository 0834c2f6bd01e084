// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/output.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/formats.h"
#include "output/retain_format.h"
#include "output/triage_format.h"

static const struct output_format formats[] = {
	{.name = "text",
	 .report = output_text_write,
	 .diff = output_text_diff_write,
	 .triage = output_triage_text_write,
	 .retain = retain_text_write,
	 .retain_diff = retain_text_diff_write,
	 .threads = output_text_census_write,
	 .profile = profile_text_write,
	 .profile_diff = profile_text_diff_write,
	 .memory = memory_text_write,
	 .default_top = 10,
	 .retain_top = 10},
	{.name = "json",
	 .report = output_json_write,
	 .diff = output_json_diff_write,
	 .triage = output_triage_json_write,
	 .retain = retain_json_write,
	 .retain_diff = retain_json_diff_write,
	 .threads = output_json_census_write,
	 .profile = profile_json_write,
	 .profile_diff = profile_json_diff_write,
	 .memory = memory_json_write},
	{.name = "folded",
	 .report = output_folded_write,
	 .diff = output_folded_diff_write,
	 .retain = retain_folded_write,
	 .profile = profile_folded_write,
	 .single = true,
	 .wants_samples = true},
	{.name = "pprof",
	 .report = output_pprof_write,
	 .retain = retain_pprof_write,
	 .profile = profile_pprof_write,
	 .single = true,
	 .wants_samples = true},
	{.name = "prom",
	 .report = output_prom_write,
	 .triage = output_triage_prom_write,
	 .profile = profile_prom_write,
	 .memory = memory_prom_write,
	 .single = true},
	{.name = "html",
	 .report = output_html_write,
	 .diff = output_html_diff_write,
	 .retain = retain_html_write,
	 .profile = profile_html_write,
	 .memory = memory_html_write,
	 .single = true,
	 .wants_history = true,
	 .wants_retained = true,
	 .retain_top = 200},
	{.name = "junit", .report = output_junit_write, .single = true},
};

const struct output_format *output_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (!strcmp(name, formats[i].name))
			return &formats[i];
	}
	return NULL;
}

const struct output_format *output_at(size_t i)
{
	return i < ARRAY_SIZE(formats) ? &formats[i] : NULL;
}

bool output_has(const struct output_format *format, enum output_kind kind)
{
	const bool has[] = {
		[OUTPUT_REPORT] = format->report,
		[OUTPUT_DIFF] = format->diff,
		[OUTPUT_TRIAGE] = format->triage,
		[OUTPUT_RETAIN] = format->retain,
		[OUTPUT_RETAIN_DIFF] = format->retain_diff,
		[OUTPUT_THREADS] = format->threads,
		[OUTPUT_PROFILE] = format->profile,
		[OUTPUT_PROFILE_DIFF] = format->profile_diff,
		[OUTPUT_MEMORY] = format->memory,
	};
	_Static_assert(ARRAY_SIZE(has) == OUTPUT_KIND_MAX_, "every kind");

	return has[kind];
}

/* Derived from the table once. */
static char words[OUTPUT_KIND_MAX_][64];

static void words_fill(void)
{
	for (size_t kind = 0; kind < OUTPUT_KIND_MAX_; kind++) {
		char *at = words[kind];

		for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
			if (!output_has(&formats[i], kind))
				continue;
			if (at != words[kind])
				*at++ = '|';
			at = stpcpy(at, formats[i].name);
		}
	}
}

const char *output_words(unsigned kind)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, words_fill);
	return words[kind];
}

int output_finish(FILE *out)
{
	if (fflush(out))
		return -errno;
	if (!ferror(out))
		return 0;
	/* A stream forgets why it failed. What it holds is broken anyway: one byte more asks. */
	return fputc('\n', out) == EOF || fflush(out) ? -errno : -EIO;
}

const char *output_explain(int error, char text[OUTPUT_EXPLANATION_SIZE])
{
	static const struct {
		int error;
		const char *advice;
	} known[] = {
		{ENOSPC, "free space on its file system, or name another one"},
		{EDQUOT, "the disk quota of this user is used up: raise it, or free space"},
		{EFBIG, "files of this process may not grow further: raise ulimit -f"},
		{EROFS, "name a file in a directory that you may write to"},
		{EACCES, "name a file in a directory that you may write to"},
		{EPERM, "name a file in a directory that you may write to"},
		{ENOENT, "name a file in a directory that exists"},
		{ENXIO, "nobody has the FIFO open for reading: start the reader first"},
		{EPIPE, "the reader has gone"},
		{EEXIST, "only a regular file is replaced here: remove what is there"},
		{ENOTSUP, "a report goes to a file, a FIFO or a character device"},
	};
	const char *advice = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].error == -error)
			advice = known[i].advice;
	}
	snprintf(text, OUTPUT_EXPLANATION_SIZE, "%s%s%s%s", strerror(-error), advice ? " (" : "",
		 advice ? advice : "", advice ? ")" : "");
	return text;
}
