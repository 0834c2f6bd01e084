// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/descriptors.h"
#include "base/log.h"

/* Searches for limits at every Nth poll, and whenever groups were added. */
#define LOOK_EVERY 12
/* A limit stays near until usage is this much lower, or the time left this much longer. */
#define STAYS_SHARE 0.02
#define STAYS_TIMES 1.5
/* v1 writes "no limit" as a number larger than any memory. */
#define NO_LIMIT ((double)(INT64_MAX / 2))
/* Number of readings of a process over which growth is measured. */
#define SUSPECT_READINGS 12

static const struct {
	const char *file[2]; /* names in v1, v2; NULL: absent */
} kinds[] = {
	[LIMIT_MAX] = {{"memory.limit_in_bytes", "memory.max"}},
	[LIMIT_HIGH] = {{NULL, "memory.high"}},
	[LIMIT_MACHINE] = {{NULL, NULL}},
};
_Static_assert(ARRAY_SIZE(kinds) == LIMIT_KIND_MAX_, "a row for every kind");

static void limit_free(struct limit_watch *limit)
{
	cleanup_close(&limit->limit_fd);
	cleanup_close(&limit->usage_fd);
	cleanup_close(&limit->stat_fd);
	cleanup_close(&limit->pressure_fd);
	free(limit->facts.path);
	free(limit);
}

void limits_free(struct limits *limits)
{
	for (size_t i = 0; i < limits->list.count; i++)
		limit_free(limits->list.items[i]);
	vec_free(&limits->list);
	hash_free(&limits->places);
}

static bool text_of(int fd, char *text, size_t size)
{
	ssize_t got = fd < 0 ? -1 : pread(fd, text, size - 1, 0);

	if (got < 0)
		return false;
	text[got] = '\0';
	return true;
}

/* Returns NAN for "max" and for unreadable files. */
static double number_of(int fd)
{
	char text[64], *end;
	double number;

	if (!text_of(fd, text, sizeof(text)))
		return NAN;
	number = strtod(text, &end);
	return end == text || number > NO_LIMIT ? (double)NAN : number;
}

/* Returns the number after NAME and a colon or blank; 0: absent. */
static double line_number(const char *text, const char *name)
{
	size_t length = strlen(name);

	while (*text) {
		if (!strncmp(text, name, length) && (text[length] == ' ' || text[length] == ':'))
			return strtod(text + length + 1, NULL);
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return 0;
}

double limits_parse_cache(const char *text, bool unified)
{
	return unified ? line_number(text, "active_file") + line_number(text, "inactive_file")
		       : line_number(text, "total_active_file") +
				 line_number(text, "total_inactive_file");
}

bool limits_parse_machine(const char *text, double *used, double *bytes)
{
	double total = line_number(text, "MemTotal"), swap = line_number(text, "SwapTotal");
	double available = line_number(text, "MemAvailable");

	if (total <= 0 || available <= 0)
		return false;
	*bytes = 1024 * (total + swap);
	*used = *bytes - 1024 * (available + line_number(text, "SwapFree"));
	return true;
}

static uint64_t limit_key(const char *path, enum limit_kind kind)
{
	return hash_mix(hash_text(path)) + kind;
}

static struct limit_watch *limit_find(const struct limits *limits, const char *path,
				      enum limit_kind kind)
{
	const uint64_t *place = hash_get(&limits->places, limit_key(path, kind));

	return place ? limits->list.items[*place] : NULL;
}

static struct limit_watch *limit_add(struct limits *limits, const char *path, enum limit_kind kind)
{
	struct limit_watch *limit = calloc(1, sizeof(*limit)), **slot;
	uint64_t *place;

	if (!limit)
		return NULL;
	limit->limit_fd = limit->usage_fd = limit->stat_fd = limit->pressure_fd = -1;
	limit->facts.kind = kind;
	limit->facts.path = strdup(path);
	slot = limit->facts.path ? vec_push(&limits->list) : NULL;
	if (!slot) {
		limit_free(limit);
		return NULL;
	}
	*slot = limit;
	place = hash_put(&limits->places, limit_key(path, kind), NULL);
	if (!place)
		return NULL;
	*place = limits->list.count - 1;
	return limit;
}

static int open_in(const char *directory, const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void tell_out(struct limits *limits)
{
	if (!limits->told_out)
		log_warning(
			"out of file descriptors: memory limits of some cgroups are not watched; raise `ulimit -n` (its hard limit)");
	limits->told_out = true;
}

/* Adds the limit of that kind, if the group has one. Returns 0 or -ENOMEM. */
static int look_at(struct limits *limits, const struct memory_mount *mount, const char *path,
		   enum limit_kind kind)
{
	char directory[PATH_MAX];
	struct limit_watch *limit = limit_find(limits, path, kind);
	int fd;

	if (limit || !kinds[kind].file[mount->unified]) {
		if (limit)
			limit->seen = true;
		return 0;
	}
	if (!memory_mount_directory(mount, path, directory))
		return 0;
	fd = open_in(directory, kinds[kind].file[mount->unified]);
	if (fd < 0 && descriptors_are_out(-errno))
		tell_out(limits);
	if (isnan(number_of(fd))) {
		cleanup_close(&fd);
		return 0;
	}
	limit = limit_add(limits, path, kind);
	if (!limit) {
		cleanup_close(&fd);
		return -ENOMEM;
	}
	limit->limit_fd = fd;
	limit->usage_fd =
		open_in(directory, mount->unified ? "memory.current" : "memory.usage_in_bytes");
	limit->stat_fd = open_in(directory, "memory.stat");
	limit->pressure_fd = open_in(directory, "memory.pressure");
	limit->seen = true;
	return 0;
}

/* Adds the limits of a group and all groups above it. Returns 0 or -ENOMEM. */
static int look_above(struct limits *limits, const struct memory_mount *mount, const char *path)
{
	_cleanup_free_ char *part = strdup(path);
	int error = part ? 0 : -ENOMEM;

	while (!error && *part) {
		error = look_at(limits, mount, part, LIMIT_MAX);
		if (!error)
			error = look_at(limits, mount, part, LIMIT_HIGH);
		*strrchr(part, '/') = '\0';
		if (!strchr(part, '/'))
			break;
	}
	return error;
}

/* Drops limits that the latest search did not find. Returns 0 or -ENOMEM. */
static int drop_unseen(struct limits *limits)
{
	size_t kept = 0;

	hash_free(&limits->places);
	for (size_t i = 0; i < limits->list.count; i++) {
		struct limit_watch *limit = limits->list.items[i];
		uint64_t *place;

		if (!limit->seen) {
			limit_free(limit);
			continue;
		}
		place = hash_put(&limits->places, limit_key(limit->facts.path, limit->facts.kind),
				 NULL);
		if (place)
			*place = kept;
		limits->list.items[kept++] = limit;
	}
	limits->list.count = kept;
	return limits->places.count == kept ? 0 : -ENOMEM;
}

static int look(struct limits *limits, const struct groups *groups)
{
	struct limit_watch *machine = limit_find(limits, "", LIMIT_MACHINE);
	int error = 0;

	for (size_t i = 0; i < limits->list.count; i++)
		limits->list.items[i]->seen = false;
	if (!machine) {
		machine = limit_add(limits, "", LIMIT_MACHINE);
		if (!machine)
			return -ENOMEM;
		machine->stat_fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
		machine->pressure_fd = open("/proc/pressure/memory", O_RDONLY | O_CLOEXEC);
	}
	machine->seen = true;
	for (size_t i = 0; i < groups->list.count && !error; i++) {
		if (groups->list.items[i]->path[0] == '/')
			error = look_above(limits, &groups->mount, groups->list.items[i]->path);
	}
	limits->groups = groups->list.count;
	return error ? error : drop_unseen(limits);
}

/* Returns false if the files are gone or empty. */
static bool limit_read(struct limit_watch *limit, bool unified)
{
	char text[8192];
	double usage;

	if (limit->facts.kind == LIMIT_MACHINE)
		return text_of(limit->stat_fd, text, sizeof(text)) &&
		       limits_parse_machine(text, &limit->facts.used, &limit->facts.bytes);
	limit->facts.bytes = number_of(limit->limit_fd);
	usage = number_of(limit->usage_fd);
	if (isnan(limit->facts.bytes) || isnan(usage) || limit->facts.bytes <= 0 ||
	    !text_of(limit->stat_fd, text, sizeof(text)))
		return false;
	limit->facts.used = fmax(usage - limits_parse_cache(text, unified), 0);
	return true;
}

static void read_pressure(struct limit_watch *limit)
{
	char text[512];
	double some;

	limit->facts.pressure = NAN;
	if (text_of(limit->pressure_fd, text, sizeof(text)) &&
	    sscanf(text, "some avg10=%lf", &some) == 1)
		limit->facts.pressure = some / 100;
}

static void limit_poll(struct limits *limits, struct limit_watch *limit, bool unified, double now_s)
{
	bool was_near = limit->near;
	double share, soon_s;

	if (!limit_read(limit, unified)) {
		limit->near = false;
		limit->count = 0;
		return;
	}
	if (limit->count == LIMIT_POINTS)
		memmove(limit->points, limit->points + 1, --limit->count * sizeof(*limit->points));
	limit->points[limit->count++] = (struct trend_point){now_s, limit->facts.used};
	time_left_judge(&limit->facts.left, limit->points, limit->count, limit->facts.bytes);
	limit->facts.left.known &= now_s - limit->points[0].time_s >= LIMIT_SPAN_S;
	read_pressure(limit);
	share = limits->near_share - (was_near ? STAYS_SHARE : 0);
	soon_s = LIMIT_SOON_S * (was_near ? STAYS_TIMES : 1);
	limit->near = limit->facts.used >= share * limit->facts.bytes ||
		      (limit->facts.left.known && limit->facts.left.seconds <= soon_s);
	if (!limit->near || was_near || (limit->told_s > 0 && now_s - limit->told_s < LIMIT_TOLD_S))
		return;
	limit->told_s = now_s;
	limits->news = true;
}

int limits_poll(struct limits *limits, const struct groups *groups, double now_s)
{
	int error = 0;

	if (limits->near_share <= 0)
		return 0;
	if (limits->polls++ % LOOK_EVERY == 0 || limits->groups != groups->list.count)
		error = look(limits, groups);
	for (size_t i = 0; i < limits->list.count && !error; i++)
		limit_poll(limits, limits->list.items[i], groups->mount.unified, now_s);
	return error;
}

static double latest_growth(const struct member *member)
{
	struct trend_point points[SERIES_POINTS];
	size_t count = series_points(&member->series, 0, QUANTITY_HEAP, points);

	if (!count)
		return 0;
	return points[count - 1].value -
	       points[count > SUSPECT_READINGS ? count - SUSPECT_READINGS : 0].value;
}

struct member *limit_suspect(const struct limit *limit, const struct population *population)
{
	struct member *suspect = NULL;
	double most = -1;

	for (size_t i = 0; i < population->members.count; i++) {
		struct member *member = population->members.items[i];
		double heap = member->reading.quantities.values[QUANTITY_HEAP];
		double weight;

		if (!member->reading.has_memory || isnan(heap) ||
		    (*limit->path &&
		     (!member->group || !cgroup_is_within(member->group->path, limit->path))))
			continue;
		/* Any growth outweighs size. */
		weight = fmax(latest_growth(member), 0) * 1e3 + heap;
		if (weight <= most)
			continue;
		most = weight;
		suspect = member;
	}
	return suspect;
}
