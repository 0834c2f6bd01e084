/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks that are known and accepted, by rules in LeakSanitizer's syntax (the LLVM project's
 * documentation, "AddressSanitizer: Suppressing memory leaks"): a line each,
 *
 *     leak:PATTERN
 *
 * which is accepted if any frame's function, source file or module contains PATTERN; `*` stands for
 * any text, `^` at the front and `$` at the end for its ends. Empty lines and lines that begin with
 * `#` say nothing.
 */
#ifndef LEAKMON_ANALYZE_SUPPRESS_H
#define LEAKMON_ANALYZE_SUPPRESS_H

#include "report/report.h"

struct suppressions {
	VEC(struct suppression) list;
	unsigned bad_line; /* that suppressions_parse() did not understand */
};

/* Adds the rules of a file's text. 0; -EINVAL: bad_line is no rule; -ENOMEM. To be freed anyway. */
int suppressions_parse(struct suppressions *suppressions, const char *text);
void suppressions_free(struct suppressions *suppressions);

/* The rule that accepts a call stack, the first of several; or NULL. */
struct suppression *suppressions_find(struct suppressions *suppressions,
				      const struct frames *frames);

/*
 * Takes what is accepted out of a report that has all its sites, with names: into
 * report_process.suppressed, which keeps them for whoever lists them. 0 or -ENOMEM.
 */
int suppressions_apply(struct suppressions *suppressions, struct report *report);

#endif
