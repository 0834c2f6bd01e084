/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs with an allocator of this system, or of another release of Debian's. */
#ifndef LEAKMON_E2E_ALLOCATOR_PROGRAMS_H
#define LEAKMON_E2E_ALLOCATOR_PROGRAMS_H

#include "shell.h"

struct allocator_program {
	const char *program;
	const char *release; /* NULL: this system's */
	const char *name;    /* leakmon's name for it */
};

/* Ready; NULL: that release's allocators are not there. */
static inline struct child *allocator_start(struct harness *harness,
					    const struct allocator_program *program)
{
	char *path;
	struct child *child;

	if (!program->release)
		return WORKLOAD(harness, program->program);
	path = shell(harness, 0, "tests/runtimes/allocators.sh %s %s || test $? = 77",
		     program->release, program->program);
	path[strcspn(path, "\n")] = '\0';
	if (!*path)
		fprintf(stderr, "SKIPPED: %s of %s is not there\n", program->program,
			program->release);
	child = *path ? workload_start_at(harness, path, ARGUMENTS(program->program)) : NULL;
	free(path);
	return child;
}

#endif
