// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/cgroup_report.h"

#include <stdlib.h>

#include "base/cleanup.h"

const char *cgroup_verdict_name(enum cgroup_verdict verdict)
{
	static const char *const names[] = {
		[CGROUP_STEADY] = "steady",	    [CGROUP_PROCESSES] = "processes",
		[CGROUP_PAGE_CACHE] = "page-cache", [CGROUP_SHARED] = "shared-memory",
		[CGROUP_KERNEL] = "kernel",	    [CGROUP_MIXED] = "mixed",
	};

	_Static_assert(ARRAY_SIZE(names) == CGROUP_VERDICT_MAX_, "a name for every verdict");
	return names[verdict];
}

void cgroup_memory_free(struct cgroup_memory *group)
{
	free(group->path);
	container_free(group->container);
	vec_free(&group->members);
}

void cgroup_memories_free(struct cgroup_memories *groups)
{
	for (size_t i = 0; i < groups->list.count; i++)
		cgroup_memory_free(&groups->list.items[i]);
	vec_free(&groups->list);
}
