/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Byte-for-byte comparison with a committed file. LEAKMON_UPDATE_GOLDEN=1 in the environment
 * rewrites the files; read the difference before committing it.
 */
#ifndef LEAKMON_TESTS_GOLDEN_H
#define LEAKMON_TESTS_GOLDEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/output.h"
#include "report/report.h"

/* Output of `format` for `report`; the caller frees it. */
static inline char *golden_render(const char *format, const struct report *report)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(output_find(format)->write[OUTPUT_REPORT](out, report), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

static inline void golden_check(const char *path, const char *actual)
{
	size_t size = strlen(actual);
	char *expected = malloc(size + 1);
	FILE *file;

	if (getenv("LEAKMON_UPDATE_GOLDEN")) {
		file = fopen(path, "w");
		assert_non_null(file);
		fputs(actual, file);
		fclose(file);
	}
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(expected);
	expected[fread(expected, 1, size, file)] = '\0';
	assert_string_equal(actual, expected);
	assert_int_equal(fgetc(file), EOF);
	fclose(file);
	free(expected);
}

#endif
