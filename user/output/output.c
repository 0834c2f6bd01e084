// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/output.h"

#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/formats.h"
#include "output/retain.h"
#include "output/triage_format.h"

static const struct output_format formats[] = {
	{.name = "text",
	 .report = output_text_write,
	 .diff = output_text_diff_write,
	 .triage = output_triage_text_write,
	 .retain = retain_text_write,
	 .retain_diff = retain_text_diff_write,
	 .threads = output_text_census_write,
	 .default_top = 10,
	 .retain_top = 10},
	{.name = "json",
	 .report = output_json_write,
	 .diff = output_json_diff_write,
	 .triage = output_triage_json_write,
	 .retain = retain_json_write,
	 .retain_diff = retain_json_diff_write,
	 .threads = output_json_census_write},
	{.name = "folded",
	 .report = output_folded_write,
	 .diff = output_folded_diff_write,
	 .retain = retain_folded_write,
	 .single = true,
	 .wants_samples = true},
	{.name = "pprof",
	 .report = output_pprof_write,
	 .retain = retain_pprof_write,
	 .single = true,
	 .wants_samples = true},
	{.name = "prom",
	 .report = output_prom_write,
	 .triage = output_triage_prom_write,
	 .single = true},
	{.name = "html",
	 .report = output_html_write,
	 .diff = output_html_diff_write,
	 .retain = retain_html_write,
	 .single = true,
	 .wants_history = true,
	 .wants_retained = true,
	 .retain_top = 200},
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
		[OUTPUT_REPORT] = format->report,	    [OUTPUT_DIFF] = format->diff,
		[OUTPUT_TRIAGE] = format->triage,	    [OUTPUT_RETAIN] = format->retain,
		[OUTPUT_RETAIN_DIFF] = format->retain_diff, [OUTPUT_THREADS] = format->threads,
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
