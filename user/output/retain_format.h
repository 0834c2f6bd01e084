/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the result of `leakmon retain` is written. Contents of blocks are in none of it. */
#ifndef LEAKMON_OUTPUT_RETAIN_FORMAT_H
#define LEAKMON_OUTPUT_RETAIN_FORMAT_H

#include <stdio.h>

#include "report/retain_result.h"
#include "report/retain_diff.h"

struct retain_report {
	const struct retain_result *result;
	const struct retain_diff *diff; /* to the run before; NULL: this is the first one */
	size_t top;			/* rows of each list; 0: all */
	bool colour;
};

/* What changed from one run to another, of one recording or of two. */
struct retain_diff_report {
	const struct retain_diff *diff;
	const char *before_name, *after_name;	/* of the recordings, untrusted */
	int64_t before_number, after_number;	/* of the runs in them */
	const char *before_label, *after_label; /* or NULL */
	size_t top;
	bool colour;
};

int retain_text_write(FILE *out, const struct retain_report *report);
int retain_json_write(FILE *out, const struct retain_report *report);
int retain_folded_write(FILE *out, const struct retain_report *report);
int retain_pprof_write(FILE *out, const struct retain_report *report);
int retain_html_write(FILE *out, const struct retain_report *report);
int retain_text_diff_write(FILE *out, const struct retain_diff_report *report);
int retain_json_diff_write(FILE *out, const struct retain_diff_report *report);

/* Pieces of the two for other reports. "global cache [holder]": */
void retain_root_write(FILE *out, const struct retained_root *root);
/* "class std::string", "blocks of 56 bytes", ... */
void retain_class_write(FILE *out, const struct retain_result *result,
			const struct retained_class *class);
/* The innermost function of its stack that is not the C++ library's. */
void retain_site_write(FILE *out, const struct retained_site *site);

/* " → +0x8 → blocks of 56 bytes", or " → one of 400 pointers → …" where many stand together. */
void retain_step_write(FILE *out, const struct retain_result *result,
		       const struct retained_step *step);

/* The same as strings that the caller frees; NULL: out of memory. */
char *retain_class_text(const struct retain_result *result, const struct retained_class *class);

/* Who holds the blocks of a sample: a root, "[unreachable]", ... */
char *retain_holder_text(const struct retain_result *result, const struct retained_sample *sample);

struct json_writer;
/* The whole of it, as a member of an array or a document of its own. */
void retain_json_object(struct json_writer *json, const struct retain_report *report);
/* The members of an object. */
void retain_json_root(struct json_writer *json, const struct retained_root *root);
void retain_json_class(struct json_writer *json, const struct retain_result *result,
		       const struct retained_class *class);
/* "root" and the first `steps` of "steps". */
void retain_json_way(struct json_writer *json, const struct retain_result *result,
		     const struct retained_path *path, size_t steps);

#endif
