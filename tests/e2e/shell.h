/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that read leakmon's output, run by a shell. */
#ifndef LEAKMON_E2E_SHELL_H
#define LEAKMON_E2E_SHELL_H

#include "harness.h"

/* Standard output of a shell command that must end with `code`; the caller frees it. */
char *shell(struct harness *harness, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The path of a program that scripts/consumers.sh unpacked; skips the test when it is not there. */
const char *consumer(const char *name);

/* Skips the test when Python has no jsonschema. */
void need_schema_checker(void);

/* A report is valid by user/schema/NAME.schema.json. */
void expect_schema(struct harness *harness, json_t *report, const char *name);

#endif
