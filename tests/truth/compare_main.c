// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * compare start TRUTH              from now on allocations are recorded
 * compare stop TRUTH               no more; run it before leakmon ends
 * compare NAME TRUTH REPORT SHARE  compares the last report of REPORT (JSON lines); exit code 1 if
 *                                  less than SHARE percent of the stacks are equal, or if a block
 *                                  is missing
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

static json_t *last_report(const char *path)
{
	FILE *file = fopen(path, "re");
	json_t *report = NULL, *line;

	if (!file)
		return NULL;
	while ((line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL))) {
		json_decref(report);
		report = line;
	}
	fclose(file);
	return report;
}

static int judge(const char *name, const struct truth_file *truth, const char *path, double share)
{
	struct comparison *comparison = calloc(1, sizeof(*comparison));
	json_t *report = last_report(path);
	bool enough = false;

	if (comparison && report && !compare(report, truth, comparison)) {
		comparison_print(stdout, name, comparison, truth);
		enough = comparison->equal && !comparison->missing &&
			 (double)comparison->different * share <=
				 (double)comparison->equal * (100.0 - share);
	} else {
		fprintf(stderr, "compare: %s holds no report, or there is no memory\n", path);
	}
	json_decref(report);
	free(comparison);
	return enough ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct truth_file *truth = argc > 2 ? truth_map(argv[2]) : NULL;
	int code = EXIT_SUCCESS;

	if (!truth) {
		fprintf(stderr, "compare: %s: %s\n", argc > 2 ? argv[2] : "usage", strerror(errno));
		return 2;
	}
	if (argc == 3)
		__atomic_store_n(&truth->header.recording, !strcmp(argv[1], "start"),
				 __ATOMIC_RELEASE);
	else if (argc == 5)
		code = judge(argv[1], truth, argv[3], atof(argv[4]));
	else
		code = 2;
	truth_unmap(truth);
	return code;
}
