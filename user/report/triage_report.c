// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/triage_report.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

const char *growth_kind_name(enum quantity kind)
{
	static const char *const names[] = {
		[QUANTITY_HEAP] = "heap",	[QUANTITY_MAPPING] = "mapping",
		[QUANTITY_THREADS] = "threads", [QUANTITY_FILES] = "files",
		[QUANTITY_CHARGED] = "charged",
	};
	_Static_assert(ARRAY_SIZE(names) == QUANTITY_MAX_, "a name for every quantity");

	return names[kind];
}

bool growth_is_early(const struct growth *growth)
{
	return growth->verdict == TREND_TOO_EARLY && growth->early.grows;
}

const char *limit_kind_name(enum limit_kind kind)
{
	static const char *const names[] = {
		[LIMIT_MAX] = "memory.max",
		[LIMIT_HIGH] = "memory.high",
		[LIMIT_MACHINE] = "machine",
	};
	_Static_assert(ARRAY_SIZE(names) == LIMIT_KIND_MAX_, "a name for every kind");

	return names[kind];
}

const char *triage_entry_verdict(const struct triage_entry *entry)
{
	if (entry->cause && entry->cause->no_leak && trend_is_suspect(entry->growth.verdict))
		return entry->cause->verdict;
	return trend_verdict_name(entry->growth.verdict);
}

static double figure_of(uint64_t figure)
{
	return figure == CGROUP_NOT_KNOWN ? NAN : (double)figure;
}

/* Descending by growth; unknown growth last. */
static int by_growth(const void *left, const void *right)
{
	const struct triage_part *a = left, *b = right;
	double mine = isnan(a->grown) ? -INFINITY : a->grown;
	double its = isnan(b->grown) ? -INFINITY : b->grown;

	if (mine != its)
		return mine < its ? 1 : -1;
	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

size_t triage_split_parts(const struct triage_split *split,
			  struct triage_part parts[TRIAGE_PARTS_MAX])
{
#define PART(member) offsetof(struct cgroup_figures, member)
	static const struct {
		const char *name, *words;
		size_t offset;
	} rows[] = {
		{"anonymous", "anonymous", PART(anon)},
		{"swap", "swapped out", PART(swap)},
		{"tmpfs", "tmpfs and shared memory", PART(shmem)},
		{"page-cache", "page cache", PART(file)},
		{"kernel", "kernel", PART(kernel)},
		{"slab", "of it slab", PART(slab)},
		{"page-tables", "of it page tables", PART(page_tables)},
		{"sock", "sockets", PART(sock)},
		{"kernel-stacks", "of it kernel stacks", PART(kernel_stack)},
	};
#undef PART
	_Static_assert(ARRAY_SIZE(rows) <= TRIAGE_PARTS_MAX, "room for all");
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *now = (const char *)&split->now, *before = (const char *)&split->before;
		double bytes = figure_of(*(const uint64_t *)(const void *)(now + rows[i].offset));
		double was = figure_of(*(const uint64_t *)(const void *)(before + rows[i].offset));

		if (!isnan(bytes) && (bytes > 0 || was > 0))
			parts[count++] = (struct triage_part){rows[i].name, rows[i].words, bytes,
							      bytes - was};
	}
	if (count)
		qsort(parts, count, sizeof(*parts), by_growth);
	return count;
}

static const struct {
	const char *name, *words;
	enum quantity quantity;
	bool kernels;
} machine_parts[] = {
	[MACHINE_SLAB] = {"slab", "slab", QUANTITY_CHARGED, true},
	[MACHINE_PAGE_TABLES] = {"page-tables", "page tables", QUANTITY_CHARGED, false},
	[MACHINE_SHARED] = {"shared", "tmpfs and shared memory", QUANTITY_CHARGED, false},
	[MACHINE_SEGMENTS] = {"sysv", "of it System V", QUANTITY_CHARGED, false},
	[MACHINE_SOCKETS] = {"sockets", "sockets", QUANTITY_CHARGED, false},
	[MACHINE_PER_CPU] = {"percpu", "per CPU", QUANTITY_CHARGED, true},
	[MACHINE_VMALLOC] = {"vmalloc", "vmalloc", QUANTITY_CHARGED, true},
	[MACHINE_STACKS] = {"kernel-stacks", "kernel stacks", QUANTITY_CHARGED, false},
	[MACHINE_CACHES] = {"reclaimable", "reclaimable slab", QUANTITY_CHARGED, true},
	[MACHINE_DYING_GROUPS] = {"dying-cgroups", "dying cgroups", QUANTITY_FILES, false},
};
_Static_assert(ARRAY_SIZE(machine_parts) == MACHINE_PART_MAX_, "a row for every part");

const char *triage_machine_name(enum machine_part part)
{
	return machine_parts[part].name;
}

const char *triage_machine_words(enum machine_part part)
{
	return machine_parts[part].words;
}

enum quantity triage_machine_quantity(enum machine_part part)
{
	return machine_parts[part].quantity;
}

bool triage_machine_is_kernels(enum machine_part part)
{
	return machine_parts[part].kernels;
}

void triage_samples_free(struct triage_samples *samples)
{
	for (size_t i = 0; i < samples->stacks.count; i++) {
		free(samples->stacks.items[i].site.addresses);
		vec_free(&samples->stacks.items[i].named.frames.list);
	}
	vec_free(&samples->stacks);
	for (size_t i = 0; i < samples->files.count; i++)
		free(samples->files.items[i].name);
	vec_free(&samples->files);
}

bool triage_samples_keep(struct triage_samples *samples, struct triage_samples *now, double ago_s)
{
	if (now->stacks.count || now->files.count || !samples->stacks.count ||
	    samples->kind != now->kind)
		return false;
	samples->ago_s = ago_s;
	samples->why = now->why;
	samples->orphans = now->orphans;
	samples->orphans_added = now->orphans_added;
	triage_samples_free(now);
	return true;
}

void triage_report_free(struct triage_report *report)
{
	free(report->processes.items);
	free(report->groups.items);
	vec_free(&report->limits);
	*report = (struct triage_report){0};
}

/* Sites of other kinds are tracked as well. */
bool triage_site_counts(const struct triage_sites *sites, const struct site *site)
{
	return site->family == (sites->kind == QUANTITY_MAPPING ? FAMILY_MAPPING : FAMILY_HEAP);
}

double triage_site_share(const struct triage_sites *sites, const struct site *site)
{
	double grown = sites->growth_per_s * sites->counted_s;
	uint64_t kept = sites->kind == QUANTITY_MAPPING ? site->count : site->bytes;

	return grown > 0 && triage_site_counts(sites, site) ? (double)kept / grown : 0;
}

/*
 * sampled   the sampled events unit      of the growth; NULL: bytes next      the command that
 * shows more: %d is the PID
 */
static const struct {
	const char *sampled, *unit, *next;
} sampling[] = {
	[QUANTITY_HEAP] = {"page faults", NULL, "leakmon diagnose -p %d"},
	[QUANTITY_MAPPING] = {"mmap", "mappings", "leakmon --mappings -p %d"},
	[QUANTITY_THREADS] = {"thread creation", "threads", "leakmon threads -p %d"},
	[QUANTITY_FILES] = {"open files", "files", "ls -l /proc/%d/fd"},
	[QUANTITY_CHARGED] = {"charges", NULL, "leakmon memory -p %d 60"},
};
_Static_assert(ARRAY_SIZE(sampling) == QUANTITY_MAX_, "a row for every quantity");

const char *triage_samples_event(enum quantity kind)
{
	return sampling[kind].sampled;
}

const char *triage_samples_unit(enum quantity kind)
{
	return sampling[kind].unit;
}

/* Too many stacks without a thread for a coincidence. */
#define ORPHANS_MIN 3

bool triage_samples_have_dead_threads(const struct triage_samples *sampled)
{
	return sampled->orphans_added >= ORPHANS_MIN;
}

bool triage_entry_is_managed(const struct triage_entry *entry)
{
	const struct managed_growth *managed = entry->managed;

	return managed && entry->growth.kind == QUANTITY_HEAP &&
	       (managed->last_s <= managed->first_s ||
		2 * managed->heap_grown >= managed->all_grown);
}

static struct managed_span recent_of(const struct managed_growth *managed)
{
	const struct managed_span *last = &managed->recent[0], *before = &managed->recent[1];

	return (struct managed_span){
		.began_s = before->began_s ? before->began_s : last->began_s,
		.heap = last->heap + before->heap,
		.code = last->code + before->code,
		.all = last->all + before->all,
	};
}

bool triage_entry_compiles(const struct triage_entry *entry)
{
	const struct managed_growth *managed = entry->managed;
	struct managed_span recent;

	if (!managed || entry->growth.kind != QUANTITY_HEAP)
		return false;
	recent = recent_of(managed);
	return recent.code > 0 && recent.code >= recent.heap &&
	       recent.code >= recent.all - recent.heap - recent.code;
}

/* Too short to measure growth beside the code. */
#define RECENT_MIN_S 60

/*
 * Returns whether heap and code grow more than all else, or that is unknown. A heap that a
 * collection has shrunk since the first look may fill again.
 */
static bool grows_by_itself(const struct managed_growth *managed)
{
	struct managed_span recent = recent_of(managed);

	if (managed->last_s - recent.began_s < RECENT_MIN_S)
		return managed->code;
	return (recent.code > 0 || recent.heap > 0) &&
	       recent.code + MAX(recent.heap, 0) >= recent.all - recent.heap - recent.code;
}

/* Growth of a program with a collector; less is a side effect of its compiler and its threads. */
#define DECIDING_BYTES (1 << 20)

bool managed_growth_is_undecided(const struct managed_growth *managed)
{
	if (managed->unreadable)
		return false;
	return !managed->last_s ||
	       (managed->runtime.collects &&
		(managed->last_s <= managed->first_s || managed->all_grown < DECIDING_BYTES));
}

int64_t managed_growth_outside(const struct managed_growth *managed)
{
	return (int64_t)(managed->all - managed->heap - managed->code);
}

bool triage_entry_may_be_held_by_garbage(const struct triage_entry *entry)
{
	const struct managed_growth *managed = entry->managed;

	return managed && entry->growth.kind == QUANTITY_HEAP && !triage_entry_is_managed(entry) &&
	       !heap_outside_is_proven(&managed->outside, &managed->now,
				       managed_growth_outside(managed));
}

bool triage_entry_is_unproven(const struct triage_entry *entry)
{
	const struct managed_growth *managed = entry->managed;

	if (!managed || entry->growth.kind != QUANTITY_HEAP)
		return false;
	if (!managed->first.known || !managed->now.known)
		return triage_entry_compiles(entry);
	if ((triage_entry_is_managed(entry) || grows_by_itself(managed)) &&
	    heap_floor_compare(&managed->first, &managed->now, managed->heap_grown) !=
		    HEAP_KEEPS_MORE)
		return true;
	return triage_entry_may_be_held_by_garbage(entry);
}

/* By then the budget's share of one per cent is 0.3 s. */
#define START_S 30

char *triage_cost_text(const struct triage_report *report, char text[TRIAGE_COST_SIZE])
{
	double share = report->running_s > 0 ? report->cpu_s / report->running_s : 0;

	if (share > report->budget_limit && report->running_s < START_S)
		snprintf(text, TRIAGE_COST_SIZE, "%.2f s of CPU time", report->cpu_s);
	else
		snprintf(text, TRIAGE_COST_SIZE, "%.2g %% of a core", 100 * share);
	return text;
}

char *triage_samples_next(const struct triage_entry *entry, char text[TRIAGE_NEXT_SIZE])
{
	enum quantity kind = triage_samples_have_dead_threads(entry->sampled)
				     ? QUANTITY_THREADS
				     : entry->sampled->kind;
	const char *format = sampling[kind].next;
	size_t head = strcspn(format, "%");

	snprintf(text, TRIAGE_NEXT_SIZE, "%.*s%d%s", (int)head, format, entry->pid,
		 format + head + 2);
	return text;
}
