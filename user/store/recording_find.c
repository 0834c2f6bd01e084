// SPDX-License-Identifier: GPL-2.0-or-later
/* What --at and @ may say. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/recording_state.h"

#define NS_PER_S INT64_C(1000000000)

/* What is found: snapshots, or runs of `leakmon retain`. */
struct moment {
	uint64_t number;
	struct timespec time;
	const char *label;
};

struct moments {
	const char *path, *what;
	bool thinned;		 /* by --keep, perhaps */
	VEC(struct moment) list; /* at least one */
};

static const struct moment *last_of(const struct moments *moments)
{
	return &moments->list.items[moments->list.count - 1];
}

/* -ENOENT: there is no such number. */
static int find_sequence(const struct moments *moments, uint64_t sequence, size_t *position)
{
	for (size_t i = 0; i < moments->list.count; i++) {
		if (moments->list.items[i].number == sequence) {
			*position = i;
			return 0;
		}
	}
	log_error("%s has no %s %llu: it holds %zu, from %llu to %llu%s", moments->path,
		  moments->what, (unsigned long long)sequence, moments->list.count,
		  (unsigned long long)moments->list.items[0].number,
		  (unsigned long long)last_of(moments)->number,
		  moments->thinned && moments->list.count > 1 ? " (--keep may have thinned them)"
							      : "");
	return -ENOENT;
}

static bool find_label(const struct moments *moments, const char *label, size_t *position)
{
	for (size_t i = moments->list.count; i-- > 0;) {
		const char *text = moments->list.items[i].label;

		if (text && !strcmp(text, label)) {
			*position = i;
			return true;
		}
	}
	return false;
}

static bool parse_clock(const char *text, const struct tm *day, time_t *time)
{
	static const char *const forms[] = {"%H:%M:%S", "%H:%M"};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm moment = *day;
		const char *end;

		moment.tm_sec = 0;
		end = strptime(text, forms[i], &moment);
		if (end && !*end) {
			moment.tm_isdst = -1;
			*time = mktime(&moment);
			return true;
		}
	}
	return false;
}

/* "2026-11-20 13:00", "2026-11-20T13:00:05", or the clock alone: local time. */
static bool parse_time(const struct moments *moments, const char *text, time_t *time)
{
	const struct moment *last = last_of(moments);
	struct tm day = {0};
	const char *clock;

	localtime_r(&last->time.tv_sec, &day);
	if (parse_clock(text, &day, time))
		return true;
	clock = strptime(text, "%Y-%m-%d", &day);
	return clock && (*clock == ' ' || *clock == 'T') && parse_clock(clock + 1, &day, time);
}

/* "-10min", "-90s", "-1.5h" before the last. */
static bool parse_before(const struct moments *moments, const char *text, int64_t *time_ns)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
	const struct moment *last = last_of(moments);
	char *unit;
	double number;

	if (*text != '-' || !isdigit((unsigned char)text[1]))
		return false;
	number = strtod(text + 1, &unit);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(unit, units[i].name) != 0)
			continue;
		*time_ns = (int64_t)last->time.tv_sec * NS_PER_S + last->time.tv_nsec -
			   (int64_t)(MIN(number * units[i].seconds, 1e9) * 1e9);
		return true;
	}
	return false;
}

static int find_time(const struct moments *moments, int64_t time_ns, size_t *position)
{
	const struct moment *all = moments->list.items;
	size_t i = moments->list.count;

	while (i && (int64_t)all[i - 1].time.tv_sec * NS_PER_S + all[i - 1].time.tv_nsec > time_ns)
		i--;
	if (!i) {
		log_error("%s begins later than that: its first %s is number %llu, see "
			  "`leakmon report FILE --at first`",
			  moments->path, moments->what, (unsigned long long)all[0].number);
		return -ENOENT;
	}
	*position = i - 1;
	return 0;
}

static int find(const struct moments *moments, const char *at, size_t *position)
{
	size_t length = at ? strlen(at) : 0;
	int64_t time_ns;
	time_t seconds;

	if (!at || !strcmp(at, "last")) {
		*position = moments->list.count - 1;
		return 0;
	}
	if (!strcmp(at, "first")) {
		*position = 0;
		return 0;
	}
	if (find_label(moments, at, position))
		return 0;
	if (length && strspn(at, "0123456789") == length)
		return find_sequence(moments, strtoull(at, NULL, 10), position);
	if (parse_before(moments, at, &time_ns))
		return find_time(moments, time_ns, position);
	/* The whole of the second that was named. */
	if (parse_time(moments, at, &seconds))
		return find_time(moments, (int64_t)seconds * NS_PER_S + NS_PER_S - 1, position);
	log_error("`%s` is no %s of %s: give its number, a label, `first`, `last`, a time such as "
		  "13:00, '2026-11-20 13:00' or -10min",
		  at, moments->what, moments->path);
	return -EINVAL;
}

static int add(struct moments *moments, uint64_t number, struct timespec time, const char *label)
{
	struct moment *moment = vec_push(&moments->list);

	if (!moment) {
		log_error("out of memory");
		return -ENOMEM;
	}
	*moment = (struct moment){number, time, label};
	return 0;
}

int recording_find(const struct recording *recording, const char *at, size_t *position)
{
	struct moments moments = {.path = recording->path, .what = "snapshot", .thinned = true};
	int error = 0;

	if (!recording->snapshots.count) {
		log_error("%s holds no snapshots, only runs of `leakmon retain`: add --retain",
			  recording->path);
		return -ENOENT;
	}
	for (size_t i = 0; i < recording->snapshots.count && !error; i++) {
		const struct recording_snapshot *snapshot = &recording->snapshots.items[i];

		error = add(&moments, snapshot->sequence, snapshot->time, snapshot->label);
	}
	if (!error)
		error = find(&moments, at, position);
	vec_free(&moments.list);
	return error;
}

int recording_find_retain(const struct recording *recording, const char *at, size_t *position)
{
	struct moments moments = {.path = recording->path, .what = "retain run"};
	int error = 0;

	if (!recording->retains.count) {
		log_error("%s holds no run of `leakmon retain`: `leakmon retain -p PID -o %s` adds "
			  "one",
			  recording->path, recording->path);
		return -ENOENT;
	}
	for (size_t i = 0; i < recording->retains.count && !error; i++) {
		const struct recording_retain *run = &recording->retains.items[i];

		error = add(&moments, (uint64_t)run->number, run->time, run->label);
	}
	if (!error)
		error = find(&moments, at, position);
	vec_free(&moments.list);
	return error;
}
