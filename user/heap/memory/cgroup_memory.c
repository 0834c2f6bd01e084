// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/memory/cgroup_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "heap/memory/conclusion.h"
#include "process/proc/cgroup.h"

/*
 * Growth needs a cause by the rule for processes after this time; the threshold is lower in
 * proportion for shorter times, down to the minimum share: the kernel charges up to 64 pages at
 * once for each CPU.
 */
#define GROWTH_SPAN_MS 30000.0
#define GROWTH_SHARE_MIN (1.0 / 8)

/* Lines "NAME NUMBER" of a file, by the name in each version; v1's include subgroups. */
struct stat_field {
	const char *file[2], *name[2]; /* v1, v2; NULL: missing */
	size_t offset;
};

#define FIELD(member) offsetof(struct cgroup_figures, member)
static const struct stat_field fields[] = {
	{{"memory.usage_in_bytes", "memory.current"}, {"", ""}, FIELD(current)},
	{{"memory.limit_in_bytes", "memory.max"}, {"", ""}, FIELD(limit)},
	{{"memory.stat", NULL}, {"total_swap", NULL}, FIELD(swap)},
	{{NULL, "memory.swap.current"}, {NULL, ""}, FIELD(swap)},
	{{"memory.stat", "memory.stat"}, {"total_rss", "anon"}, FIELD(anon)},
	{{"memory.stat", "memory.stat"}, {"total_cache", "file"}, FIELD(file)},
	{{"memory.stat", "memory.stat"}, {"total_shmem", "shmem"}, FIELD(shmem)},
	{{"memory.stat", "memory.stat"},
	 {"total_inactive_file", "inactive_file"},
	 FIELD(inactive_file)},
	{{"memory.kmem.usage_in_bytes", NULL}, {"", NULL}, FIELD(kernel)},
	{{NULL, "memory.stat"}, {NULL, "kernel"}, FIELD(kernel)},
	{{NULL, "memory.stat"}, {NULL, "slab"}, FIELD(slab)},
	{{"memory.kmem.tcp.usage_in_bytes", NULL}, {"", NULL}, FIELD(sock)},
	{{NULL, "memory.stat"}, {NULL, "sock"}, FIELD(sock)},
	{{NULL, "memory.stat"}, {NULL, "pagetables"}, FIELD(page_tables)},
	{{NULL, "memory.stat"}, {NULL, "kernel_stack"}, FIELD(kernel_stack)},
	{{"memory.oom_control", "memory.events"}, {"oom_kill", "oom_kill"}, FIELD(oom_kills)},
};
#undef FIELD

static FILE *open_in(const char *directory, const char *name)
{
	char path[4096 + 64];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path))
		return NULL;
	return fopen(path, "re");
}

/* Returns the number of a line; the name is empty for a file with only a number. */
static uint64_t number_of(const char *directory, const char *file_name, const char *name)
{
	_cleanup_fclose_ FILE *file = open_in(directory, file_name);
	char word[64];
	uint64_t number;

	if (!file)
		return CGROUP_NOT_KNOWN;
	if (!*name)
		return fscanf(file, "%" SCNu64, &number) == 1 ? number : CGROUP_NOT_KNOWN;
	while (fscanf(file, "%63s %" SCNu64, word, &number) == 2) {
		if (strcmp(word, name) == 0)
			return number;
	}
	return CGROUP_NOT_KNOWN;
}

static void read_pressure(const char *directory, struct cgroup_pressure *pressure)
{
	_cleanup_fclose_ FILE *file = open_in(directory, "memory.pressure");
	double some_10s, some_60s, full_10s, full_60s;

	/* Since 5.2, if the kernel measures it (CONFIG_PSI). */
	if (!file || fscanf(file, "some avg10=%lf avg60=%lf %*[^\n] full avg10=%lf avg60=%lf",
			    &some_10s, &some_60s, &full_10s, &full_60s) != 4)
		return;
	*pressure = (struct cgroup_pressure){true, some_10s, some_60s, full_10s, full_60s};
}

/* Kernels before 5.18 do not report the sum. */
static uint64_t sum_kernel(const struct cgroup_figures *figures)
{
	const uint64_t parts[] = {figures->slab, figures->page_tables, figures->kernel_stack};
	uint64_t sum = 0;

	if (figures->kernel != CGROUP_NOT_KNOWN)
		return figures->kernel;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (parts[i] == CGROUP_NOT_KNOWN)
			return CGROUP_NOT_KNOWN;
		sum += parts[i];
	}
	return sum;
}

int cgroup_memory_read_in(const char *directory, bool unified, struct cgroup_figures *figures,
			  struct cgroup_pressure *pressure)
{
	struct cgroup_figures read;

	memset(&read, 0xff, sizeof(read)); /* CGROUP_NOT_KNOWN */
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].file[unified])
			*(uint64_t *)((char *)&read + fields[i].offset) = number_of(
				directory, fields[i].file[unified], fields[i].name[unified]);
	}
	if (read.current == CGROUP_NOT_KNOWN || read.anon == CGROUP_NOT_KNOWN)
		return -ENOENT;
	if (read.limit > CGROUP_LIMIT_MAX)
		read.limit = CGROUP_NOT_KNOWN;
	if (read.shmem != CGROUP_NOT_KNOWN && read.file != CGROUP_NOT_KNOWN)
		read.file -= MIN(read.shmem, read.file);
	read.kernel = sum_kernel(&read);
	read.working_set = read.inactive_file == CGROUP_NOT_KNOWN
				   ? CGROUP_NOT_KNOWN
				   : read.current - MIN(read.inactive_file, read.current);
	*figures = read;
	read_pressure(directory, pressure);
	return 0;
}

static struct cgroup_memory *find(const struct cgroup_memories *groups, const char *path)
{
	for (size_t i = 0; i < groups->list.count; i++) {
		if (strcmp(groups->list.items[i].path, path) == 0)
			return &groups->list.items[i];
	}
	return NULL;
}

static int add_member(struct cgroup_memory *group, const struct cgroup_member *member)
{
	struct cgroup_member *added = vec_push(&group->members);

	if (!added)
		return -ENOMEM;
	*added = *member;
	group->processes_pss += member->pss;
	group->processes_anon += member->anon;
	return 0;
}

int cgroup_memories_add(struct cgroup_memories *groups, const struct cgroup_member *member)
{
	bool unified = false;
	_cleanup_free_ char *path = cgroup_memory_path(member->pid, &unified);
	struct cgroup_memory *group = path ? find(groups, path) : NULL;

	if (!path)
		return 0; /* it has ended */
	if (!group) {
		group = vec_push(&groups->list);
		if (!group)
			return -ENOMEM;
		group->path = TAKE_PTR(path);
		group->unified = unified;
	}
	return add_member(group, member);
}

/* Joins nested groups: the outer one is kept, because its figures include the inner one's. */
/* 0 or -ENOMEM. */
static int join(struct cgroup_memories *groups)
{
	struct cgroup_memory *items = groups->list.items;

	for (size_t i = 0; i < groups->list.count;) {
		struct cgroup_memory *outer = NULL;

		for (size_t j = 0; j < groups->list.count && !outer; j++) {
			if (j != i && cgroup_is_within(items[i].path, items[j].path))
				outer = &items[j];
		}
		if (!outer) {
			i++;
			continue;
		}
		for (size_t j = 0; j < items[i].members.count; j++) {
			if (add_member(outer, &items[i].members.items[j]))
				return -ENOMEM;
		}
		cgroup_memory_free(&items[i]);
		items[i] = items[--groups->list.count];
	}
	return 0;
}

/* Reads the group at group->path, where hierarchies are usually mounted, and sets group->known. */
static void read_group(struct cgroup_memory *group)
{
	char directory[4096];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	group->known = false;
	group->time_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	for (size_t i = 0; i < CGROUP_MOUNTS; i++) {
		/* From another cgroup namespace it begins with /.. */
		if (cgroup_mounts[i].unified != group->unified || strstr(group->path, "/..") ||
		    (size_t)snprintf(directory, sizeof(directory), "%s%s", cgroup_mounts[i].point,
				     group->path) >= sizeof(directory))
			continue;
		if (!cgroup_memory_read_in(directory, group->unified, &group->figures,
					   &group->pressure)) {
			group->known = true;
			return;
		}
	}
}

int cgroup_memories_read(struct cgroup_memories *groups)
{
	if (join(groups))
		return -ENOMEM;
	for (size_t i = 0; i < groups->list.count; i++)
		read_group(&groups->list.items[i]);
	return 0;
}

/* Makes a copy that owns its members. 0 or -ENOMEM. */
static int keep(const struct cgroup_memory *group, struct cgroup_memory *kept)
{
	struct cgroup_memory copy = *group;
	int error = 0;

	copy.path = strdup(group->path);
	copy.container = NULL;
	memset(&copy.members, 0, sizeof(copy.members));
	copy.processes_pss = copy.processes_anon = 0;
	for (size_t i = 0; i < group->members.count && !error; i++)
		error = add_member(&copy, &group->members.items[i]);
	if (!error && copy.path) {
		*kept = copy;
		return 0;
	}
	cgroup_memory_free(&copy);
	return -ENOMEM;
}

int cgroup_memories_conclude(struct cgroup_memories *first, struct cgroup_memories *now)
{
	for (size_t i = 0; i < now->list.count; i++) {
		struct cgroup_memory *group = &now->list.items[i];
		const struct cgroup_memory *before = find(first, group->path);
		struct cgroup_memory *kept;

		if (before && before->known && group->known)
			cgroup_conclude(before, group);
		if (before)
			continue;
		kept = vec_push(&first->list);
		if (!kept)
			return -ENOMEM;
		if (keep(group, kept)) {
			first->list.count--;
			return -ENOMEM;
		}
	}
	return 0;
}

/* The cause of growth, and the process. */

static const char *const verdict_words[] = {
	[CGROUP_STEADY] = "no growth to explain",
	[CGROUP_PROCESSES] = "anonymous memory of its processes",
	[CGROUP_PAGE_CACHE] = "no process's: page cache, which the kernel takes back before the "
			      "limit is reached (posix_fadvise(2))",
	[CGROUP_SHARED] = "tmpfs and shared memory, which stay until they are removed, whatever "
			  "process ends (tmpfs(5), shm_overview(7))",
	[CGROUP_KERNEL] = "no process's: the kernel's own memory for it (slab, sockets, page "
			  "tables). `leakmon kernel` shows which code allocates it",
	[CGROUP_MIXED] = "no part makes up half of it",
};
_Static_assert(ARRAY_SIZE(verdict_words) == CGROUP_VERDICT_MAX_, "words for every verdict");

static int64_t growth(uint64_t before, uint64_t now)
{
	return before == CGROUP_NOT_KNOWN || now == CGROUP_NOT_KNOWN ? 0 : (int64_t)(now - before);
}

static bool is_steady(const struct cgroup_memory *before, const struct cgroup_memory *now)
{
	const struct cgroup_conclusion *grown = &now->conclusion;
	const int64_t parts[] = {grown->anon, grown->file, grown->shmem, grown->kernel};
	double share = (double)(now->time_ms - before->time_ms) / GROWTH_SPAN_MS;
	int64_t most = 0;

	share = fmin(fmax(share, GROWTH_SHARE_MIN), 1);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		most = MAX(most, parts[i]);
	return memory_is_steady((int64_t)((double)MIN(grown->total, 2 * most) / share),
				before->figures.current);
}

static enum cgroup_verdict decide(const struct cgroup_memory *before,
				  const struct cgroup_memory *now)
{
	static const enum cgroup_verdict verdicts[] = {CGROUP_PROCESSES, CGROUP_PAGE_CACHE,
						       CGROUP_SHARED, CGROUP_KERNEL, CGROUP_MIXED};
	const struct cgroup_conclusion *grown = &now->conclusion;
	const int64_t parts[] = {grown->anon, grown->file, grown->shmem, grown->kernel};

	if (is_steady(before, now))
		return CGROUP_STEADY;
	return verdicts[memory_main_part(grown->total, parts, ARRAY_SIZE(parts))];
}

/* Smallest cause. */
#define CAUSE_MIN (64 << 10)

static void add_cause(struct cgroup_conclusion *grown, const struct cgroup_cause *cause)
{
	size_t at = grown->cause_count;

	if (cause->bytes < CAUSE_MIN)
		return;
	while (at && grown->causes[at - 1].bytes < cause->bytes)
		at--;
	if (at == CGROUP_CAUSES_MAX)
		return;
	grown->cause_count = MIN(grown->cause_count + 1, (size_t)CGROUP_CAUSES_MAX);
	memmove(&grown->causes[at + 1], &grown->causes[at],
		(grown->cause_count - 1 - at) * sizeof(*grown->causes));
	grown->causes[at] = *cause;
}

/* Returns a member's earlier anonymous memory; 0: a new member. */
static uint64_t anon_before(const struct cgroup_memory *before, const struct cgroup_member *member)
{
	for (size_t i = 0; i < before->members.count; i++) {
		const struct cgroup_member *was = &before->members.items[i];

		if (was->pid == member->pid && was->start_ticks == member->start_ticks)
			return was->anon;
	}
	return 0;
}

static void find_causes(const struct cgroup_memory *before, const struct cgroup_memory *now,
			struct cgroup_conclusion *grown)
{
	const struct cgroup_figures *from = &before->figures, *to = &now->figures;
	const struct {
		const char *name;
		uint64_t from, to;
	} figures[] = {
		{"page-cache", from->file, to->file},
		{"tmpfs", from->shmem, to->shmem},
		{"slab", from->slab, to->slab},
		{"sock", from->sock, to->sock},
		{"page-tables", from->page_tables, to->page_tables},
		{"kernel-stacks", from->kernel_stack, to->kernel_stack},
	};
	int64_t kernel = growth(from->kernel, to->kernel);

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		struct cgroup_cause cause = {.name = figures[i].name,
					     .bytes = growth(figures[i].from, figures[i].to)};

		add_cause(grown, &cause);
		/* v1 reports no part of kernel memory but sockets. */
		kernel -= i >= 2 ? cause.bytes : 0;
	}
	add_cause(grown, &(struct cgroup_cause){.name = "kernel-other", .bytes = kernel});
	for (size_t i = 0; i < now->members.count; i++) {
		const struct cgroup_member *member = &now->members.items[i];
		struct cgroup_cause cause = {
			.name = "process",
			.pid = member->pid,
			.bytes = (int64_t)(member->anon - anon_before(before, member))};

		memcpy(cause.comm, member->comm, sizeof(cause.comm));
		add_cause(grown, &cause);
	}
}

/* Writes "; most of all slab +12.0 MiB". */
static void say_first_cause(struct cgroup_conclusion *grown)
{
	const struct cgroup_cause *first = grown->causes;
	size_t length = strlen(grown->text);
	char bytes[16], process[32] = "";

	if (!grown->cause_count || grown->verdict == CGROUP_STEADY)
		return;
	if (first->pid)
		snprintf(process, sizeof(process), " %d", (int)first->pid);
	snprintf(grown->text + length, sizeof(grown->text) - length, "; most of all %s%s %s",
		 first->name, process, units_bytes(bytes, (double)first->bytes, "+"));
}

void cgroup_conclude(const struct cgroup_memory *before, struct cgroup_memory *now)
{
	const struct cgroup_figures *from = &before->figures, *to = &now->figures;
	struct cgroup_conclusion *grown = &now->conclusion;
	char total[16], time[16], anon[16], file[16], shmem[16], kernel[16], processes[16];

	grown->anon = growth(from->anon, to->anon);
	grown->file = growth(from->file, to->file);
	grown->shmem = growth(from->shmem, to->shmem);
	grown->kernel = growth(from->kernel, to->kernel);
	grown->total = growth(from->current, to->current);
	grown->verdict = decide(before, now);
	now->has_conclusion = true;
	snprintf(grown->text, sizeof(grown->text),
		 "the group changed by %s in %s: anonymous %s, page cache %s, shared memory %s, "
		 "kernel %s; anonymous memory of its processes %s: %s",
		 units_bytes(total, (double)grown->total, "+"),
		 units_time(time, (double)(now->time_ms - before->time_ms) / 1000),
		 units_bytes(anon, (double)grown->anon, "+"),
		 units_bytes(file, (double)grown->file, "+"),
		 units_bytes(shmem, (double)grown->shmem, "+"),
		 units_bytes(kernel, (double)grown->kernel, "+"),
		 units_bytes(processes,
			     (double)(int64_t)(now->processes_anon - before->processes_anon), "+"),
		 verdict_words[grown->verdict]);
	grown->cause_count = 0;
	find_causes(before, now, grown);
	say_first_cause(grown);
}

bool cgroup_memory_limit(pid_t pid, uint64_t *limit, uint64_t *used)
{
	_cleanup_(cgroup_memories_free) struct cgroup_memories groups = {0};
	const struct cgroup_member member = {.pid = pid};
	struct cgroup_place place = {0};
	bool known;

	cgroup_place_read(&place, pid);
	known = place.known && place.limit != CGROUP_NOT_KNOWN &&
		!cgroup_memories_add(&groups, &member) && !cgroup_memories_read(&groups) &&
		groups.list.count && groups.list.items[0].known;
	if (known) {
		*limit = place.limit;
		*used = groups.list.items[0].figures.working_set;
	}
	cgroup_place_free(&place);
	return known;
}
