/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Known and accepted call stacks, by rules in LeakSanitizer's syntax (the LLVM project's
 * documentation, "AddressSanitizer: Suppressing memory leaks"): one line each,
 *
 *     leak:PATTERN
 *
 * which matches if any frame's function, source file or module contains PATTERN; `*` matches any
 * text, `^` at the front and `$` at the end match its ends. Empty lines and lines that begin with
 * `#` are ignored.
 */
#ifndef LEAKMON_ANALYZE_SUPPRESS_H
#define LEAKMON_ANALYZE_SUPPRESS_H

#include "report/report.h"

struct suppressions {
	VEC(struct suppression) list;
	unsigned bad_line; /* rejected by suppressions_parse() */
};

/*
 * Adds the rules of a file's text. Returns 0; -EINVAL: bad_line is malformed; -ENOMEM. To be freed
 * in any case.
 */
int suppressions_parse(struct suppressions *suppressions, const char *text);
void suppressions_free(struct suppressions *suppressions);

/* Returns the first rule that matches a call stack, or NULL. */
struct suppression *suppressions_find(struct suppressions *suppressions,
				      const struct frames *frames);

/*
 * Moves accepted sites of a report with all its sites, named, to report_process.suppressed, which
 * keeps them for listings. Returns 0 or -ENOMEM.
 */
int suppressions_apply(struct suppressions *suppressions, struct report *report);

#endif
