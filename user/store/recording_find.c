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

/* -ENOENT: there is no such number. */
static int find_sequence(const struct recording *recording, uint64_t sequence, size_t *position)
{
	for (size_t i = 0; i < recording->snapshots.count; i++) {
		if (recording->snapshots.items[i].sequence == sequence) {
			*position = i;
			return 0;
		}
	}
	log_error("%s has no snapshot %llu: it holds %zu, from %llu to %llu%s", recording->path,
		  (unsigned long long)sequence, recording->snapshots.count,
		  (unsigned long long)recording->snapshots.items[0].sequence,
		  (unsigned long long)recording->snapshots.items[recording->snapshots.count - 1]
			  .sequence,
		  recording->snapshots.count > 1 ? " (--keep may have thinned them)" : "");
	return -ENOENT;
}

static bool find_label(const struct recording *recording, const char *label, size_t *position)
{
	for (size_t i = recording->snapshots.count; i-- > 0;) {
		const char *text = recording->snapshots.items[i].label;

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
static bool parse_time(const struct recording *recording, const char *text, time_t *time)
{
	const struct recording_snapshot *last =
		&recording->snapshots.items[recording->snapshots.count - 1];
	struct tm day = {0};
	const char *clock;

	localtime_r(&last->time.tv_sec, &day);
	if (parse_clock(text, &day, time))
		return true;
	clock = strptime(text, "%Y-%m-%d", &day);
	return clock && (*clock == ' ' || *clock == 'T') && parse_clock(clock + 1, &day, time);
}

/* "-10min", "-90s", "-1.5h" before the last. */
static bool parse_before(const struct recording *recording, const char *text, int64_t *time_ns)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
	const struct recording_snapshot *last =
		&recording->snapshots.items[recording->snapshots.count - 1];
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

static int find_time(const struct recording *recording, int64_t time_ns, size_t *position)
{
	const struct recording_snapshot *all = recording->snapshots.items;
	size_t i = recording->snapshots.count;

	while (i && (int64_t)all[i - 1].time.tv_sec * NS_PER_S + all[i - 1].time.tv_nsec > time_ns)
		i--;
	if (!i) {
		log_error("%s begins later than that: its first snapshot is number %llu, see "
			  "`leakmon report FILE --at first`",
			  recording->path, (unsigned long long)all[0].sequence);
		return -ENOENT;
	}
	*position = i - 1;
	return 0;
}

int recording_find(const struct recording *recording, const char *at, size_t *position)
{
	size_t length = at ? strlen(at) : 0;
	int64_t time_ns;
	time_t seconds;

	if (!at || !strcmp(at, "last")) {
		*position = recording->snapshots.count - 1;
		return 0;
	}
	if (!strcmp(at, "first")) {
		*position = 0;
		return 0;
	}
	if (find_label(recording, at, position))
		return 0;
	if (length && strspn(at, "0123456789") == length)
		return find_sequence(recording, strtoull(at, NULL, 10), position);
	if (parse_before(recording, at, &time_ns))
		return find_time(recording, time_ns, position);
	/* The whole of the second that was named. */
	if (parse_time(recording, at, &seconds))
		return find_time(recording, (int64_t)seconds * NS_PER_S + NS_PER_S - 1, position);
	log_error("`%s` is no snapshot of %s: give its number, a label, `first`, `last`, a time "
		  "such as 13:00, '2026-11-20 13:00' or -10min",
		  at, recording->path);
	return -EINVAL;
}
