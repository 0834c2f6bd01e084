// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/output.h"

#include <string.h>

#include "base/cleanup.h"
#include "output/formats.h"
#include "output/triage_format.h"

static const struct output_format formats[] = {
	{.name = "text",
	 .write = output_text_write,
	 .write_triage = output_triage_text_write,
	 .write_diff = output_text_diff_write,
	 .default_top = 10},
	{.name = "json",
	 .write = output_json_write,
	 .write_triage = output_triage_json_write,
	 .write_diff = output_json_diff_write,
	 .default_top = 0},
	{.name = "folded",
	 .write = output_folded_write,
	 .write_diff = output_folded_diff_write,
	 .single = true},
	{.name = "pprof", .write = output_pprof_write, .single = true},
	{.name = "prom",
	 .write = output_prom_write,
	 .write_triage = output_triage_prom_write,
	 .single = true},
	{.name = "html",
	 .write = output_html_write,
	 .write_diff = output_html_diff_write,
	 .single = true,
	 .wants_history = true,
	 .wants_retained = true},
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
