// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/urgency.h"

#include <sys/resource.h>

#define NICE_FIRST (-20)

void urgency_begin(struct urgency *before)
{
	const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};

	*before = (struct urgency){.policy = sched_getscheduler(0),
				   .nice = getpriority(PRIO_PROCESS, 0)};
	sched_getparam(0, &before->param);
	setpriority(PRIO_PROCESS, 0, NICE_FIRST);
	/* A higher value would make other real-time threads wait. */
	if (before->policy == SCHED_OTHER || before->policy == SCHED_BATCH)
		sched_setscheduler(0, SCHED_RR, &lowest);
}

void urgency_renounce(void)
{
	const struct sched_param none = {0};

	if (sched_getscheduler(0) == SCHED_RR)
		sched_setscheduler(0, SCHED_OTHER, &none);
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
}

void urgency_end(const struct urgency *before)
{
	sched_setscheduler(0, before->policy, &before->param);
	setpriority(PRIO_PROCESS, 0, before->nice);
}
