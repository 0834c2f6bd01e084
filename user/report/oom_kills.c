// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/oom_kills.h"

#include <string.h>

char *oom_kill_limit_group(const struct oom_kill *kill)
{
	if (!kill->cgroup)
		return NULL;
	return kill->limit_length ? strndup(kill->cgroup, kill->limit_length) : strdup("/");
}
