// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/groups.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/proc/host_file.h"
#include "process/proc/mounts.h"

/*
 * A process alive when its kill was counted is found gone within this many polls; one that was
 * never listed is never found.
 */
#define UNCLAIMED_POLLS 3

struct mount_line {
	char root[PATH_MAX], point[PATH_MAX], type[32], super[256];
};

static void memory_mount_free(struct memory_mount *mount);

/* ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE SUPER (man 5 proc) */
static bool mount_line_parse(const char *line, struct mount_line *mount)
{
	const char *separator = strstr(line, " - "), *end = line + strcspn(line, "\n");

	_Static_assert(PATH_MAX == 4096, "the widths below");
	return separator && separator < end &&
	       sscanf(line, "%*u %*u %*s %4095s %4095s ", mount->root, mount->point) == 2 &&
	       sscanf(separator, " - %31s %*s %255s", mount->type, mount->super) == 2;
}

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = strstr(words, word); at; at = strstr(at + 1, word)) {
		if ((at == words || at[-1] == ',') && (!at[length] || at[length] == ','))
			return true;
	}
	return false;
}

static int mount_take(struct memory_mount *mount, const struct mount_line *line, bool unified)
{
	memory_mount_free(mount);
	mount->point = strdup(line->point);
	mount->root = strdup(line->root);
	mount->unified = unified;
	return mount->point && mount->root ? 0 : -ENOMEM;
}

/* In a hybrid setup both are mounted, and v1 has the memory controller. */
static int find(struct memory_mount *mount, const char *mountinfo)
{
	_cleanup_free_ struct mount_line *parsed = malloc(sizeof(*parsed));
	int error = parsed ? 0 : -ENOMEM;

	for (const char *line = mountinfo; *line && !error;) {
		if (mount_line_parse(line, parsed)) {
			if (!strcmp(parsed->type, "cgroup") && has_word(parsed->super, "memory"))
				return mount_take(mount, parsed, false);
			if (!strcmp(parsed->type, "cgroup2"))
				error = mount_take(mount, parsed, true);
		}
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return error;
}

static int memory_mount_find(struct memory_mount *mount)
{
	_cleanup_free_ char *mountinfo = NULL;

	*mount = (struct memory_mount){0};
	if (small_file_read("/proc/self/mountinfo", MOUNTINFO_MAX_BYTES, &mountinfo))
		return 0;
	return find(mount, mountinfo);
}

static void memory_mount_free(struct memory_mount *mount)
{
	free(mount->point);
	free(mount->root);
	*mount = (struct memory_mount){0};
}

const char *memory_mount_path(const struct cgroup_paths *paths)
{
	const char *unified = NULL;

	for (size_t i = 0; i < paths->list.count; i++) {
		if (has_word(paths->list.items[i].controllers, "memory"))
			return paths->list.items[i].path;
		if (!paths->list.items[i].hierarchy)
			unified = paths->list.items[i].path;
	}
	return unified;
}

bool memory_mount_directory(const struct memory_mount *mount, const char *path,
			    char directory[PATH_MAX])
{
	size_t length;
	int size;

	if (!mount->point)
		return false;
	length = strcmp(mount->root, "/") ? strlen(mount->root) : 0;
	if (!strncmp(path, "/..", 3) || strncmp(path, mount->root, length) != 0)
		return false;
	size = snprintf(directory, PATH_MAX, "%s%s", mount->point, path + length);
	return size > 0 && size < PATH_MAX;
}

int groups_init(struct groups *groups)
{
	*groups = (struct groups){.containers = container_cache_new()};
	return groups->containers ? memory_mount_find(&groups->mount) : -ENOMEM;
}

static void group_free(struct group *group)
{
	cleanup_close(&group->stat_fd);
	cleanup_close(&group->swap_fd);
	cleanup_close(&group->oom_fd);
	cleanup_close(&group->kernel_fd);
	cleanup_close(&group->sock_fd);
	container_free(group->container);
	series_free(&group->series);
	free(group->path);
	free(group);
}

static void forget_ended(struct groups *groups)
{
	for (size_t i = 0; i < groups->ended.count; i++)
		group_free(groups->ended.items[i]);
	groups->ended.count = 0;
}

void groups_free(struct groups *groups)
{
	for (size_t i = 0; i < groups->list.count; i++)
		group_free(groups->list.items[i]);
	forget_ended(groups);
	vec_free(&groups->ended);
	vec_free(&groups->killed);
	vec_free(&groups->list);
	container_cache_free(groups->containers);
	memory_mount_free(&groups->mount);
	*groups = (struct groups){0};
}

void groups_cut_path(char *path, const char *id)
{
	char *found = strstr(path, id);

	if (found)
		found[strcspn(found, "/")] = '\0';
}

static bool stat_number(const char *text, const char *name, uint64_t *number)
{
	size_t length = strlen(name);

	while (*text) {
		if (!strncmp(text, name, length) && text[length] == ' ')
			return sscanf(text + length, "%" SCNu64, number) == 1;
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return false;
}

static bool file_text(int fd, char *text, size_t size)
{
	ssize_t got = fd < 0 ? -1 : pread(fd, text, size - 1, 0);

	if (got < 0)
		return false;
	text[got] = '\0';
	return true;
}

uint64_t groups_parse_kills(const char *text)
{
	uint64_t kills = 0;

	return stat_number(text, "oom_kill", &kills) ? kills : 0;
}

static uint64_t read_kills(const struct group *group)
{
	char text[1024];

	return file_text(group->oom_fd, text, sizeof(text)) ? groups_parse_kills(text)
							    : group->oom_kills;
}

static void open_files(const struct groups *groups, struct group *group)
{
	_cleanup_free_ char *directory = malloc(PATH_MAX);
	_cleanup_close_ int fd = -1;

	if (!directory || !memory_mount_directory(&groups->mount, group->path, directory))
		return;
	fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	group->stat_fd = openat(fd, "memory.stat", O_RDONLY | O_CLOEXEC);
	/* A container's count includes the groups in it; other groups count for themselves. */
	group->oom_fd = openat(fd,
			       !groups->mount.unified ? "memory.oom_control"
			       : group->container     ? "memory.events"
						      : "memory.events.local",
			       O_RDONLY | O_CLOEXEC);
	group->oom_kills = read_kills(group);
	if (groups->mount.unified) {
		group->swap_fd = openat(fd, "memory.swap.current", O_RDONLY | O_CLOEXEC);
		return;
	}
	group->kernel_fd = openat(fd, "memory.kmem.usage_in_bytes", O_RDONLY | O_CLOEXEC);
	group->sock_fd = openat(fd, "memory.kmem.tcp.usage_in_bytes", O_RDONLY | O_CLOEXEC);
}

static struct group *group_new(struct groups *groups, const char *path,
			       const struct container *container, double now_s)
{
	struct group **slot, *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->stat_fd = group->swap_fd = group->oom_fd = group->kernel_fd = group->sock_fd = -1;
	group->before_s = group->next_s = -1;
	group->first_seen_s = now_s;
	group->path = strdup(path);
	group->container = container_copy(container);
	slot = group->path && (group->container || !container) ? vec_push(&groups->list) : NULL;
	if (!slot) {
		group_free(group);
		return NULL;
	}
	*slot = group;
	open_files(groups, group);
	return group;
}

/* Returns NULL in the root cgroup, or if unknown. */
static struct group *group_of(struct groups *groups, pid_t pid, double now_s)
{
	_cleanup_(cgroup_paths_free) struct cgroup_paths paths = {0};
	_cleanup_free_ char *path = NULL;
	const struct container *container;
	struct container_id id = {0};
	const char *memory;

	if (cgroup_paths_read(pid, &paths))
		return NULL;
	container = container_find_by_paths(groups->containers, pid, &paths, &id);
	memory = memory_mount_path(&paths);
	/* A container that its runtime put only into other hierarchies has no memory figures. */
	if (!memory || (!strcmp(memory, "/") && !container))
		return NULL;
	path = strdup(memory);
	if (!path)
		return NULL;
	if (container && id.source == CONTAINER_BY_PATH)
		groups_cut_path(path, container->id);
	for (size_t i = 0; i < groups->list.count; i++) {
		if (!strcmp(groups->list.items[i]->path, path))
			return groups->list.items[i];
	}
	return group_new(groups, path, container, now_s);
}

static void count_member(struct group *group, const struct member *member)
{
	const struct quantities *quantities = &member->reading.quantities;

	group->processes++;
	group->born_s = fmin(group->born_s, member->born_s);
	for (size_t i = 0; i < QUANTITY_MAX_; i++) {
		if (!isnan(quantities->values[i]))
			group->quantities.values[i] += quantities->values[i];
	}
}

static void count_members(struct groups *groups, struct population *population, double now_s)
{
	for (size_t i = 0; i < groups->list.count; i++) {
		groups->list.items[i]->processes = 0;
		groups->list.items[i]->born_s = now_s;
		groups->list.items[i]->quantities = (struct quantities){0};
	}
	for (size_t i = 0; i < population->members.count; i++) {
		struct member *member = population->members.items[i];

		if (!member->reading.has_memory) {
			member->group = NULL; /* the group may end now */
			continue;
		}
		/* Repeat this: a runtime moves a process into its container after the fork. */
		if (process_reading_is_refresh(&member->reading))
			member->group = group_of(groups, member->reading.pid, now_s);
		if (member->group)
			count_member(member->group, member);
	}
}

static void end_group(struct groups *groups, struct group *group)
{
	struct group **slot = vec_push(&groups->ended);

	if (slot)
		*slot = group;
	else
		group_free(group);
}

/* Returns the ended, unreported process of the group that had most memory, or NULL. */
static struct member *likely_victim(const struct population *population, const struct group *group)
{
	struct member *likely = NULL;

	for (size_t i = 0; i < population->ended.count + population->members.count; i++) {
		struct member *member =
			i < population->ended.count
				? population->ended.items[i]
				: population->members.items[i - population->ended.count];
		const double *values = member->reading.quantities.values;

		if (member->group != group || member->oom_told || member->oom_counted ||
		    (i >= population->ended.count && member->reading.has_memory))
			continue;
		if (!likely ||
		    values[QUANTITY_HEAP] > likely->reading.quantities.values[QUANTITY_HEAP])
			likely = member;
	}
	return likely;
}

/* Assigns each new kill in the group's count to an ended process. Returns 0 or -ENOMEM. */
static int blame(struct groups *groups, const struct population *population, struct group *group)
{
	uint64_t count = read_kills(group);
	struct member *victim;

	while (group->oom_kills < count && (victim = likely_victim(population, group))) {
		struct group_kill *kill = vec_push(&groups->killed);

		if (!kill)
			return -ENOMEM;
		victim->oom_counted = true;
		*kill = (struct group_kill){victim, group};
		group->oom_kills++;
		group->unclaimed = 0;
	}
	if (group->oom_kills == count || ++group->unclaimed < UNCLAIMED_POLLS)
		return 0;
	group->oom_kills = count;
	group->unclaimed = 0;
	return 0;
}

static void drop_empty(struct groups *groups)
{
	size_t kept = 0;

	for (size_t i = 0; i < groups->list.count; i++) {
		struct group *group = groups->list.items[i];

		if (group->processes)
			groups->list.items[kept++] = group;
		else
			end_group(groups, group);
	}
	groups->list.count = kept;
}

double groups_parse_stat(const char *text, bool unified)
{
	uint64_t anonymous, swap = 0;

	if (!stat_number(text, unified ? "anon" : "total_rss", &anonymous))
		return NAN;
	if (!unified)
		stat_number(text, "total_swap", &swap);
	return (double)anonymous + (double)swap;
}

void groups_parse_split(const char *text, bool unified, struct cgroup_figures *figures)
{
#define FIGURE(member) offsetof(struct cgroup_figures, member)
	static const struct {
		const char *name[2]; /* names in v1, v2; NULL: absent */
		size_t offset;
	} rows[] = {
		{{"total_rss", "anon"}, FIGURE(anon)},
		{{"total_swap", NULL}, FIGURE(swap)},
		{{"total_cache", "file"}, FIGURE(file)},
		{{"total_shmem", "shmem"}, FIGURE(shmem)},
		{{NULL, "kernel"}, FIGURE(kernel)},
		{{NULL, "slab"}, FIGURE(slab)},
		{{NULL, "sock"}, FIGURE(sock)},
		{{NULL, "pagetables"}, FIGURE(page_tables)},
		{{NULL, "kernel_stack"}, FIGURE(kernel_stack)},
	};
#undef FIGURE

	memset(figures, 0xff, sizeof(*figures)); /* CGROUP_NOT_KNOWN */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].name[unified])
			stat_number(text, rows[i].name[unified],
				    (uint64_t *)(void *)((char *)figures + rows[i].offset));
	}
	if (figures->shmem != CGROUP_NOT_KNOWN && figures->file != CGROUP_NOT_KNOWN)
		figures->file -= MIN(figures->shmem, figures->file);
}

double groups_charged(const struct cgroup_figures *figures, uint64_t reclaimable_slab)
{
	const uint64_t parts[] = {figures->shmem, figures->kernel, figures->sock};
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (parts[i] != CGROUP_NOT_KNOWN)
			sum += parts[i];
	}
	return figures->shmem == CGROUP_NOT_KNOWN ? NAN
						  : (double)(sum - MIN(reclaimable_slab, sum));
}

/* How long the parts of a split are compared with the same earlier reading. */
#define SPLIT_S 300.0

static void take_split(struct group *group, const struct cgroup_figures *figures, double now_s)
{
	struct triage_split *split = &group->split;

	if (group->before_s < 0) {
		split->before = group->next = *figures;
		group->before_s = group->next_s = now_s;
	}
	if (now_s - group->next_s >= SPLIT_S) {
		split->before = group->next;
		group->before_s = group->next_s;
		group->next = *figures;
		group->next_s = now_s;
	}
	split->now = *figures;
	split->since_s = now_s - group->before_s;
}

static void read_number(int fd, uint64_t *number)
{
	char text[32];

	if (file_text(fd, text, sizeof(text)))
		sscanf(text, "%" SCNu64, number);
}

static void read_split(struct group *group, const char *text, bool unified, double now_s)
{
	struct cgroup_figures figures;
	uint64_t reclaimable = 0;

	groups_parse_split(text, unified, &figures);
	if (unified) {
		stat_number(text, "slab_reclaimable", &reclaimable);
		read_number(group->swap_fd, &figures.swap);
	} else {
		read_number(group->kernel_fd, &figures.kernel);
		read_number(group->sock_fd, &figures.sock);
	}
	group->quantities.values[QUANTITY_CHARGED] = groups_charged(&figures, reclaimable);
	take_split(group, &figures, now_s);
}

static void read_charge(const struct groups *groups, struct group *group, double now_s)
{
	char text[8192];
	double bytes;

	group->quantities.values[QUANTITY_CHARGED] = NAN;
	if (!file_text(group->stat_fd, text, sizeof(text)))
		return;
	read_split(group, text, groups->mount.unified, now_s);
	bytes = groups_parse_stat(text, groups->mount.unified);
	if (isnan(bytes))
		return;
	if (groups->mount.unified && file_text(group->swap_fd, text, sizeof(text)))
		bytes += strtod(text, NULL);
	group->quantities.values[QUANTITY_HEAP] = bytes;
	group->charged = true;
}

int groups_poll(struct groups *groups, struct population *population, double now_s)
{
	int error = 0;

	forget_ended(groups);
	groups->killed.count = 0;
	for (size_t i = 0; i < groups->list.count && !error; i++)
		error = blame(groups, population, groups->list.items[i]);
	count_members(groups, population, now_s);
	drop_empty(groups);
	for (size_t i = 0; i < groups->list.count && !error; i++) {
		struct group *group = groups->list.items[i];

		read_charge(groups, group, now_s);
		/* Sums over processes that come and go are not meaningful for mappings. */
		group->quantities.values[QUANTITY_MAPPING] = NAN;
		error = series_add(&group->series, now_s, &group->quantities);
	}
	return error;
}
