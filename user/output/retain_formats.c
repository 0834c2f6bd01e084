// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "base/cleanup.h"
#include "output/retain.h"

static const struct retain_format formats[] = {
	{"text", retain_text_write, retain_text_diff_write, .default_top = 10},
	{"json", retain_json_write, retain_json_diff_write, .samples = false},
	{"folded", retain_folded_write, .samples = true},
	{"pprof", retain_pprof_write, .samples = true},
	{"html", retain_html_write, .default_top = 200},
};

const struct retain_format *retain_format_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	}
	return NULL;
}
