// SPDX-License-Identifier: GPL-2.0-or-later
/* A run of `leakmon retain` as a page of its own. */
#include "output/page.h"
#include "output/html.h"
#include "output/retain.h"

int retain_html_write(FILE *out, const struct retain_report *report)
{
	struct json_writer json = page_json(out);

	page_begin(out);
	json_open(&json, NULL, '{');
	html_head_write(&json, "retention");
	json_open(&json, "retention", '[');
	retain_json_object(&json, report);
	json_close(&json, ']');
	json_close(&json, '}');
	return page_end(out);
}
