// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/machine.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "process/proc/host_file.h"

#define TEXT_MAX_BYTES (64u << 10)

/* Parses the number after a name at the beginning of a line; returns false if it is missing. */
static bool line_number(const char *text, const char *name, uint64_t *number)
{
	size_t length = strlen(name);

	while (*text) {
		if (!strncmp(text, name, length))
			return sscanf(text + length, "%" SCNu64, number) == 1;
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return false;
}

void machine_parse_meminfo(const char *text, double now[MACHINE_PART_MAX_])
{
	static const struct {
		const char *name;
		enum machine_part part;
	} rows[] = {
		{"SUnreclaim:", MACHINE_SLAB},	   {"PageTables:", MACHINE_PAGE_TABLES},
		{"Shmem:", MACHINE_SHARED},	   {"VmallocUsed:", MACHINE_VMALLOC},
		{"Percpu:", MACHINE_PER_CPU},	   {"KernelStack:", MACHINE_STACKS},
		{"SReclaimable:", MACHINE_CACHES},
	};
	uint64_t kib;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (line_number(text, rows[i].name, &kib))
			now[rows[i].part] = 1024.0 * (double)kib;
	}
}

/* "TCP: inuse 12 orphan 0 tw 3 alloc 20 mem 5", in pages; UDP has one too. */
void machine_parse_sockets(const char *text, double now[MACHINE_PART_MAX_])
{
	double pages = 0;
	bool any = false;

	for (const char *at = text; (at = strstr(at, " mem ")); at++) {
		uint64_t some;

		if (sscanf(at, " mem %" SCNu64, &some) != 1)
			continue;
		pages += (double)some;
		any = true;
	}
	if (any)
		now[MACHINE_SOCKETS] = pages * (double)page_size();
}

/* Columns of man 5 proc: key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime
 * rss swap. */
void machine_parse_segments(const char *text, double now[MACHINE_PART_MAX_])
{
	const char *line = strchr(text, '\n');
	double bytes = 0;

	if (!line)
		return;
	while (*++line) {
		uint64_t resident, swap;

		if (sscanf(line,
			   "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64
			   " %" SCNu64,
			   &resident, &swap) == 2)
			bytes += (double)resident + (double)swap;
		line += strcspn(line, "\n");
		if (!*line)
			break;
	}
	now[MACHINE_SEGMENTS] = bytes;
}

void machine_parse_dying(const char *text, double now[MACHINE_PART_MAX_])
{
	uint64_t dying;

	if (line_number(text, "nr_dying_descendants ", &dying))
		now[MACHINE_DYING_GROUPS] = (double)dying;
}

static void read_part(const char *path,
		      void (*parse)(const char *text, double now[MACHINE_PART_MAX_]),
		      double now[MACHINE_PART_MAX_])
{
	_cleanup_free_ char *text = NULL;

	if (!small_file_read(path, TEXT_MAX_BYTES, &text))
		parse(text, now);
}

int machine_poll(struct machine *machine, double now_s)
{
	int error = 0;

	for (size_t i = 0; i < MACHINE_PART_MAX_; i++)
		machine->now[i] = NAN;
	read_part("/proc/meminfo", machine_parse_meminfo, machine->now);
	read_part("/proc/net/sockstat", machine_parse_sockets, machine->now);
	read_part("/proc/sysvipc/shm", machine_parse_segments, machine->now);
	read_part("/sys/fs/cgroup/cgroup.stat", machine_parse_dying, machine->now);
	if (isnan(machine->now[MACHINE_DYING_GROUPS]))
		read_part("/sys/fs/cgroup/unified/cgroup.stat", machine_parse_dying, machine->now);
	for (size_t i = 0; i < MACHINE_PART_MAX_ && !error; i++) {
		struct quantities reading;

		for (size_t j = 0; j < QUANTITY_MAX_; j++)
			reading.values[j] = NAN;
		reading.values[triage_machine_quantity(i)] = machine->now[i];
		if (!isnan(machine->now[i]))
			error = series_add(&machine->series[i], now_s, &reading);
	}
	return error;
}

void machine_report(const struct machine *machine, struct triage_machine *report)
{
	for (size_t i = 0; i < MACHINE_PART_MAX_; i++) {
		struct machine_figure *figure = &report->parts[i];
		struct growth growth;

		*figure = (struct machine_figure){.now = machine->now[i]};
		if (isnan(figure->now))
			continue;
		growth_of_quantity(&growth, &machine->series[i], triage_machine_quantity(i), NAN);
		figure->verdict = growth.verdict;
		if (trend_is_suspect(growth.verdict))
			figure->per_s = growth.per_s;
	}
}

void machine_free(struct machine *machine)
{
	for (size_t i = 0; i < MACHINE_PART_MAX_; i++)
		series_free(&machine->series[i]);
}
