/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The strings and frames of a page, each written once: everything else refers to them by number.
 * Texts are borrowed until the page is written.
 */
#ifndef LEAKMON_OUTPUT_HTML_NAMES_H
#define LEAKMON_OUTPUT_HTML_NAMES_H

#include "analyze/report.h"
#include "base/hash.h"
#include "output/json_writer.h"

/* Numbers of strings but for the last three. 0 stands for NULL. */
struct html_frame {
	uint32_t function, module, build_id, file, why;
	uint32_t line;
	uint64_t offset, place; /* within the function, the module; without a module, an address */
	bool inlined;
};

struct html_names {
	struct hash string_numbers, frame_numbers;
	VEC(const char *) strings; /* from number 1 on */
	VEC(struct html_frame) frames;
	bool failed; /* out of memory: what was written is no page */
};

/* A member "stack": numbers of frames, the allocator's caller first. */
void html_stack_write(struct json_writer *json, struct html_names *names,
		      const struct report_site *site);

/* The members "frames" and "strings". */
void html_names_write(struct json_writer *json, const struct html_names *names);
void html_names_free(struct html_names *names);

#endif
