/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the result of `leakmon retain` is written. Contents of blocks are in none of it. */
#ifndef LEAKMON_OUTPUT_RETAIN_H
#define LEAKMON_OUTPUT_RETAIN_H

#include <stdio.h>

#include "retain/result.h"
#include "retain/result_diff.h"

struct retain_report {
	const struct retain_result *result;
	const struct retain_diff *diff; /* to the run before; NULL: this is the first one */
	size_t top;			/* rows of each list; 0: all */
	bool colour;
};

/* 0, or -EIO when the stream failed. Flushes. */
int retain_text_write(FILE *out, const struct retain_report *report);
int retain_json_write(FILE *out, const struct retain_report *report);

/* Pieces of the two for other reports. "global cache [holder]": */
void retain_root_write(FILE *out, const struct retained_root *root);
/* "class std::string", "blocks of 56 bytes", ... */
void retain_class_write(FILE *out, const struct retain_result *result,
			const struct retained_class *class);
/* The function that called the allocator. */
void retain_site_write(FILE *out, const struct retained_site *site);

/* "+0x8", or "one of 400 pointers" where many stand beside each other. */
void retain_field_write(FILE *out, const struct retained_step *step);

/* The same as strings that the caller frees; NULL: out of memory. */
char *retain_root_text(const struct retained_root *root);
char *retain_class_text(const struct retain_result *result, const struct retained_class *class);

struct json_writer;
/* The members of an object. */
void retain_json_root(struct json_writer *json, const struct retained_root *root);
void retain_json_class(struct json_writer *json, const struct retain_result *result,
		       const struct retained_class *class);
/* "root" and the first `steps` of "steps". */
void retain_json_way(struct json_writer *json, const struct retain_result *result,
		     const struct retained_path *path, size_t steps);

#endif
