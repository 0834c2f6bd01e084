// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/thread_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *thread_holding_why(const struct thread_holding *holding)
{
	int error = holding->err;

	if (error == -ESRCH)
		return "the process has ended";
	if (error == -EPERM || error == -EACCES)
		return "its memory cannot be read without CAP_SYS_PTRACE";
	return strerror(-error);
}

static void thread_holding_free(struct thread_holding *holding)
{
	if (holding)
		retain_result_free(&holding->result);
	free(holding);
}

static void live_group_free(struct live_group *group)
{
	for (size_t i = 0; i < group->waits.count; i++)
		vec_free(&group->waits.items[i].stack.list);
	vec_free(&group->waits);
	vec_free(&group->stack.list);
	vec_free(&group->start.list);
}

void thread_census_free(struct thread_census *census)
{
	for (size_t i = 0; i < census->live.count; i++)
		live_group_free(&census->live.items[i]);
	vec_free(&census->live);
	for (size_t i = 0; i < census->groups.count; i++) {
		vec_free(&census->groups.items[i].stack.list);
		vec_free(&census->groups.items[i].start.list);
		vec_free(&census->groups.items[i].holders.list);
	}
	thread_holding_free(census->holding);
	if (census->goroutines)
		goroutine_report_free(census->goroutines);
	free(census->goroutines);
	if (census->python)
		python_stacks_free(census->python);
	free(census->python);
	if (census->java)
		java_thread_report_free(census->java);
	free(census->java);
	vec_free(&census->groups);
	vec_free(&census->dead);
}

void thread_report_free(struct thread_report *report)
{
	for (size_t i = 0; i < report->processes.count; i++)
		thread_census_free(&report->processes.items[i]);
	vec_free(&report->processes);
}
