/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Workloads on a FUSE file system whose server the test has in its hand (silent_fs). */
#ifndef LEAKMON_E2E_SERVED_H
#define LEAKMON_E2E_SERVED_H

#include "harness.h"

#include <sys/stat.h>
#include <unistd.h>

struct served {
	struct child *workload;
	pid_t server;
};

/* A workload, started from a FUSE file system. */
static inline struct served serve(struct harness *harness, const char *name)
{
	struct served served;
	char program[256], directory[64], pid_file[64];
	FILE *file;
	int pid;

	if (access("/dev/fuse", R_OK | W_OK)) {
		fprintf(stderr, "SKIPPED, nothing was tested: there is no FUSE here\n");
		skip();
	}
	const char *programs = getenv("LEAKMON_WORKLOADS");

	snprintf(program, sizeof(program), "%s/%s", programs ? programs : "build/workloads", name);
	snprintf(directory, sizeof(directory), "%s/mount", harness->directory);
	snprintf(pid_file, sizeof(pid_file), "%s/server", harness->directory);
	assert_int_equal(mkdir(directory, 0755), 0);
	served.workload = WORKLOAD(harness, "silent_fs", directory, pid_file, program);
	file = fopen(pid_file, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	fclose(file);
	served.server = pid;
	return served;
}

#endif
