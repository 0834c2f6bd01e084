/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the result of `leakmon retain` is written. Contents of blocks are in none of it. */
#ifndef LEAKMON_OUTPUT_RETAIN_H
#define LEAKMON_OUTPUT_RETAIN_H

#include <stdio.h>

#include "analyze/report.h"
#include "retain/changes.h"

struct retain_report {
	const struct retain *retain;
	const struct class_change *changes;	/* of its classes; NULL: this is the first run */
	const struct report_site *const *sites; /* of tracked blocks, by number - 1; or NULL */
	size_t site_count;
	size_t top; /* rows of each list; 0: all */
	bool colour;
};

/* The site of a number, or NULL: not known. */
const struct report_site *retain_report_site(const struct retain_report *report, uint32_t site);

/* 0, or -EIO when the stream failed. Flushes. */
int retain_text_write(FILE *out, const struct retain_report *report);
int retain_json_write(FILE *out, const struct retain_report *report);

#endif
