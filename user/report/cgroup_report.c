// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/cgroup_report.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "report/figures.h"

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

/* -------- figures */

#define GROUP(member) offsetof(struct cgroup_memory, member)
#define CHARGE(in_json, member)                                                                    \
	FIGURE(in_json, NULL, KNOWN, GROUP(figures.member), .known = GROUP(known))
#define PRESSURE(member)                                                                           \
	FIGURE(#member, NULL, REAL, GROUP(pressure.member), .known = GROUP(pressure.known),        \
	       .section = "pressure")
static const struct figure group_figures[] = {
	CHARGE("current_bytes", current),
	CHARGE("limit_bytes", limit),
	CHARGE("swap_bytes", swap),
	CHARGE("working_set_bytes", working_set),
	CHARGE("anon_bytes", anon),
	CHARGE("file_bytes", file),
	CHARGE("inactive_file_bytes", inactive_file),
	CHARGE("shmem_bytes", shmem),
	CHARGE("kernel_bytes", kernel),
	CHARGE("slab_bytes", slab),
	CHARGE("sock_bytes", sock),
	CHARGE("page_table_bytes", page_tables),
	CHARGE("kernel_stack_bytes", kernel_stack),
	CHARGE("oom_kills", oom_kills),
	PRESSURE(some_10s),
	PRESSURE(some_60s),
	PRESSURE(full_10s),
	PRESSURE(full_60s),
	FIGURE("processes", NULL, NUMBER, GROUP(members.count)),
	FIGURE("processes_pss_bytes", NULL, NUMBER, GROUP(processes_pss)),
	FIGURE("processes_anon_bytes", NULL, NUMBER, GROUP(processes_anon)),
};
_Static_assert(CGROUP_NOT_KNOWN == UINT64_MAX, "as FIGURE_KNOWN has it");
const struct figures cgroup_memory_figures = FIGURES(group_figures);

static const char *verdict_name(unsigned verdict)
{
	return cgroup_verdict_name((enum cgroup_verdict)verdict);
}

#define CONCLUSION(member) offsetof(struct cgroup_conclusion, member)
static const struct figure conclusion_figures[] = {
	FIGURE("verdict", NULL, NAME, CONCLUSION(verdict), .name = verdict_name,
	       .names = CGROUP_VERDICT_MAX_),
	FIGURE("text", NULL, CHARS, CONCLUSION(text)),
	FIGURE("growth_bytes", NULL, SIGNED, CONCLUSION(total)),
	FIGURE("anon_growth_bytes", NULL, SIGNED, CONCLUSION(anon)),
	FIGURE("file_growth_bytes", NULL, SIGNED, CONCLUSION(file)),
	FIGURE("shmem_growth_bytes", NULL, SIGNED, CONCLUSION(shmem)),
	FIGURE("kernel_growth_bytes", NULL, SIGNED, CONCLUSION(kernel)),
};
const struct figures cgroup_conclusion_figures = FIGURES(conclusion_figures);

static bool is_process(const void *cause)
{
	return ((const struct cgroup_cause *)cause)->pid;
}

#define CAUSE(member) offsetof(struct cgroup_cause, member)
static const struct figure cause_figures[] = {
	FIGURE("cause", NULL, TEXT, CAUSE(name)),
	FIGURE("pid", NULL, PID, CAUSE(pid), .shown = is_process),
	FIGURE("comm", NULL, CHARS, CAUSE(comm), .shown = is_process),
	FIGURE("growth_bytes", NULL, SIGNED, CAUSE(bytes)),
};
const struct figures cgroup_cause_figures = FIGURES(cause_figures);
