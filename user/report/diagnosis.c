// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/diagnosis.h"

#include "base/cleanup.h"

const char *diagnosis_verdict_name(enum diagnosis_verdict verdict)
{
	static const char *const names[] = {
		[DIAGNOSIS_UNKNOWN] = "unknown",
		[DIAGNOSIS_NO_LEAK] = "no-leak",
		[DIAGNOSIS_GROWS] = "grows",
		[DIAGNOSIS_LEAKS] = "leaks",
	};

	_Static_assert(ARRAY_SIZE(names) == DIAGNOSIS_VERDICT_MAX_, "a name for each verdict");
	return names[verdict];
}

struct part_row {
	const char *name, *words;
};

static const struct part_row parts[] = {
	[DIAGNOSED_NOTHING] = {"nothing", "nothing"},
	[DIAGNOSED_BLOCKS] = {"native-blocks", "live malloc blocks"},
	[DIAGNOSED_OBJECTS] = {"managed-objects", "objects of the managed heap"},
	[DIAGNOSED_GOROUTINES] = {"goroutines", "goroutines"},
	[DIAGNOSED_THREADS] = {"threads", "threads"},
	[DIAGNOSED_DESCRIPTORS] = {"descriptors", "open descriptors"},
	[DIAGNOSED_TMPFS] = {"tmpfs", "a file in memory (tmpfs)"},
	[DIAGNOSED_KERNEL] = {"kernel-memory", "memory of the kernel"},
	[DIAGNOSED_SYSV] = {"sysv-segments", "System V shared memory"},
	[DIAGNOSED_MEMORY] = {NULL, NULL},
};
_Static_assert(ARRAY_SIZE(parts) == DIAGNOSED_MAX_, "a row for each part");

const char *diagnosis_part_name(enum diagnosis_part part, enum memory_group group)
{
	return part == DIAGNOSED_MEMORY ? memory_group_name(group) : parts[part].name;
}

const char *diagnosis_part_words(enum diagnosis_part part, enum memory_group group)
{
	return part == DIAGNOSED_MEMORY ? memory_group_words(group) : parts[part].words;
}
