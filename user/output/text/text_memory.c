// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon memory` as text: a bar for every part, then what is known of the allocator. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/text/text.h"
#include "output/output.h"
#include "report/memory_report.h"

#define BAR_CELLS 20

/* Eighths of a cell. */
static void bar_write(FILE *out, uint64_t bytes, uint64_t of)
{
	static const char *const partial[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	double share = of ? (double)bytes / (double)of : 0;
	unsigned eighths = (unsigned)(MIN(share, 1.0) * BAR_CELLS * 8 + 0.5), cells = eighths / 8;

	for (unsigned i = 0; i < cells; i++)
		fputs("█", out);
	if (eighths % 8) {
		fputs(partial[eighths % 8], out);
		cells++;
	}
	fprintf(out, "%*s", (int)(BAR_CELLS - cells), "");
}

static const char *bytes_text(char text[16], uint64_t bytes)
{
	return units_bytes(text, (double)bytes, "");
}

static void part_write(FILE *out, const struct memory_process *process, enum memory_part part)
{
	const struct memory_share *share = &process->parts[part];
	char resident[16], swapped[16];

	if (!share->resident && !share->swapped)
		return;
	fprintf(out, "\t%10s %5.1f %% ", bytes_text(resident, share->resident),
		process->sum.rss ? 100 * (double)share->resident / (double)process->sum.rss : 0.0);
	bar_write(out, share->resident, process->sum.rss);
	fprintf(out, " %s", memory_part_words(part));
	if (share->swapped)
		fprintf(out, "; in swap: %s", bytes_text(swapped, share->swapped));
	fputc('\n', out);
}

static void difference_write(FILE *out, const struct memory_process *process)
{
	char text[16];

	if (!process->difference)
		return;
	fprintf(out, "\t%10s         %*s difference: Rss of smaps less these parts\n",
		units_bytes(text, (double)process->difference, "+"), BAR_CELLS, "");
}

/* A malloc that cuts its arenas into chunks, in the words of mallinfo2(3) and malloc_trim(3). */
static void libc_write(FILE *out, const struct allocator_report *report)
{
	const uint64_t *figures = report->figures;
	bool mapped_known = figures[ALLOCATOR_MAPPED_BYTES] != ALLOCATOR_NOT_KNOWN;
	char first[16], second[16], third[16];

	fprintf(out, "\tmalloc (%s): %s used, %s free (mallinfo2), %s in own mappings; ",
		report->name, bytes_text(first, figures[ALLOCATOR_USED]),
		bytes_text(second, figures[ALLOCATOR_FREE]),
		mapped_known ? bytes_text(third, figures[ALLOCATOR_MAPPED_BYTES]) : "unknown");
	fprintf(out, "%" PRIu64 " arena%s", figures[ALLOCATOR_ARENAS],
		figures[ALLOCATOR_ARENAS] == 1 ? "" : "s");
	if (figures[ALLOCATOR_IDLE_ARENAS])
		fprintf(out, " (%" PRIu64 " without a thread)", figures[ALLOCATOR_IDLE_ARENAS]);
	fprintf(out,
		"\n\tlive: %" PRIu64 " blocks, of which headers take %s; what was asked for is at "
		"most 24 bytes less in each block\n",
		figures[ALLOCATOR_LIVE_BLOCKS], bytes_text(first, figures[ALLOCATOR_HEADERS]));
	fprintf(out,
		"\tmalloc_trim(3) would give back %s of %s that are free and resident; largest "
		"free run: %s; fragmentation: %.1f %%\n",
		bytes_text(first, figures[ALLOCATOR_TRIMMABLE]),
		bytes_text(second, figures[ALLOCATOR_PROCESS_FREE]),
		bytes_text(third, figures[ALLOCATOR_LARGEST_FREE]), 100 * report->fragmentation);
}

static void live_write(FILE *out, const struct allocator_report *report)
{
	const uint64_t *figures = report->figures;
	uint64_t arenas = figures[ALLOCATOR_ARENAS], caches = figures[ALLOCATOR_CACHES];
	char first[16], second[16], third[16];

	fprintf(out, "\tmalloc (%s): %s live in %" PRIu64 " blocks", report->name,
		bytes_text(first, figures[ALLOCATOR_LIVE]), figures[ALLOCATOR_LIVE_BLOCKS]);
	if (caches)
		fprintf(out, ", %s in caches of threads (%" PRIu64 ")",
			bytes_text(second, figures[ALLOCATOR_CACHED]), caches);
	if (figures[ALLOCATOR_TRANSFER])
		fprintf(out, ", %s on the way between threads",
			bytes_text(third, figures[ALLOCATOR_TRANSFER]));
	/* Without caches, each thread has a heap to itself. */
	if (arenas)
		fprintf(out, "; %" PRIu64 " %s%s", arenas, caches ? "arena" : "heap",
			arenas == 1 ? "" : "s");
	fputc('\n', out);
}

static void other_write(FILE *out, const struct allocator_report *report)
{
	const uint64_t *figures = report->figures;
	char first[16], second[16], third[16], fourth[16];

	live_write(out, report);
	fprintf(out, "\tallocated: %s, active: %s, metadata: %s, mapped: %s; ",
		bytes_text(first, figures[ALLOCATOR_ALLOCATED]),
		bytes_text(second, figures[ALLOCATOR_ACTIVE]),
		bytes_text(third, figures[ALLOCATOR_METADATA]),
		bytes_text(fourth, figures[ALLOCATOR_MAPPED]));
	fprintf(out, "dirty: %s, muzzy: %s, retained: %s\n",
		bytes_text(first, figures[ALLOCATOR_DIRTY]),
		bytes_text(second, figures[ALLOCATOR_MUZZY]),
		bytes_text(third, figures[ALLOCATOR_RETAINED]));
	fprintf(out,
		"\t%s of %s that are free and resident could be given back; fragmentation: %.1f "
		"%%\n",
		bytes_text(first, figures[ALLOCATOR_PROCESS_TRIMMABLE]),
		bytes_text(second, figures[ALLOCATOR_PROCESS_FREE]), 100 * report->fragmentation);
}

static void allocators_write(FILE *out, const struct allocator_reports *reports)
{
	static void (*const writers[])(FILE * out, const struct allocator_report *report) = {
		[ALLOCATOR_LIBC] = libc_write,
		[ALLOCATOR_OTHER] = other_write,
	};
	_Static_assert(ARRAY_SIZE(writers) == ALLOCATOR_KIND_MAX_, "a writer for every kind");

	for (size_t i = 0; i < reports->list.count; i++)
		writers[reports->list.items[i].kind](out, &reports->list.items[i]);
}

static void stacks_write(FILE *out, const struct memory_process *process)
{
	fprintf(out, "\tstacks: %zu of threads that live", process->live_stacks);
	if (process->ended_stacks)
		fprintf(out, ", %zu of threads that have ended: never joined, or kept for reuse",
			process->ended_stacks);
	if (process->joined_stacks)
		fprintf(out, ", %zu of joined threads, kept for reuse", process->joined_stacks);
	fputc('\n', out);
}

static void huge_write(FILE *out, const struct memory_huge *huge)
{
	char first[16], second[16], third[16];

	if (!huge->bytes)
		return;
	fprintf(out, "\thuge pages: %s", bytes_text(first, huge->bytes));
	if (huge->checked)
		fprintf(out, "; of %s that were read, %s are zero: hardly ever written to",
			bytes_text(second, huge->checked), bytes_text(third, huge->zero));
	fputc('\n', out);
}

/* A heap that changes too fast is read at a stop. */
static void stop_write(FILE *out, const struct memory_process *process)
{
	if (process->pause_ns)
		fprintf(out,
			"\tstopped for %.1f ms: its heap changes too fast to be read otherwise\n",
			(double)process->pause_ns / 1e6);
	else if (process->why_not_stopped)
		fprintf(out, "\tnot stopped to read its heap, which changes too fast: %s\n",
			process->why_not_stopped);
}

static void kernel_write(FILE *out, const struct memory_process *process)
{
	char first[16], second[16];

	/* No core file has what the kernel knew of it. */
	if (process->core)
		return;
	fprintf(out, "\tlocked: %s", bytes_text(first, process->status.locked));
	if (process->sum.hugetlb)
		fprintf(out, ", hugetlb: %s (no part of Rss)",
			bytes_text(second, process->sum.hugetlb));
	fputc('\n', out);
}

static void items_write(FILE *out, const struct memory_report *report,
			const struct memory_process *process)
{
	size_t count = process->items.count;
	char text[16];

	for (size_t i = 0; i < (report->top ? MIN(count, report->top) : count); i++) {
		const struct memory_item *item = &process->items.items[i];

		if (!item->share.resident && !item->share.swapped)
			continue;
		fprintf(out, "\t%10s %s: ", bytes_text(text, item->share.resident),
			memory_part_words(item->part));
		text_print_inert(out, item->name);
		fputc('\n', out);
	}
}

static void managed_write(FILE *out, const struct memory_report *report,
			  const struct memory_process *process)
{
	char tool[RUNTIME_TOOL_SIZE];

	if (process->runtime.key)
		fprintf(out, "\t%s with a garbage-collected heap: %s\n", process->runtime.name,
			runtime_label_tool(&process->runtime, process->pid, tool));
	for (size_t i = 0; i < process->runtimes.count; i++)
		text_runtime_write(out, &report->form, &process->runtimes.items[i].figures);
}

/* Pages that a relative has as well only if there are any. */
static void own_write(FILE *out, const struct memory_process *process)
{
	char own[16], shared[16];

	fprintf(out, "\tprivate: %s", bytes_text(own, memory_own(process)));
	if (process->forked.shared)
		fprintf(out, "; anonymous memory shared with relatives (fork): %s",
			bytes_text(shared, process->forked.shared));
	fputc('\n', out);
}

static void process_write(FILE *out, const struct memory_report *report,
			  const struct memory_process *process)
{
	char first[16], second[16], third[16];

	fprintf(out, "process %d ", process->pid);
	text_print_inert(out, process->comm);
	if (process->core) {
		fputs(", from the core file ", out);
		text_print_inert(out, process->core);
		fprintf(out, ": %s in pages with contents\n", bytes_text(first, process->sum.rss));
	} else {
		fprintf(out, ": %s resident, %s proportional, %s in swap\n",
			bytes_text(first, process->sum.rss), bytes_text(second, process->sum.pss),
			bytes_text(third, process->sum.swap));
		own_write(out, process);
	}
	for (size_t part = 0; part < MEMORY_RESIDENT_PARTS; part++)
		part_write(out, process, part);
	difference_write(out, process);
	part_write(out, process, MEMORY_PAGE_TABLES);
	allocators_write(out, &process->allocators);
	managed_write(out, report, process);
	if (process->why && !process->no_malloc)
		fprintf(out, "\tnot known: %s\n", process->why);
	stop_write(out, process);
	stacks_write(out, process);
	huge_write(out, &process->huge);
	kernel_write(out, process);
	items_write(out, report, process);
	if (process->has_conclusion)
		fprintf(out, "\t%s\n", process->conclusion.text);
}

/* Groups: what the kernel charges to them. */

static void figure_write(FILE *out, const struct cgroup_memory *group, const char *words,
			 uint64_t value, int64_t grown)
{
	char text[16];

	if (value == CGROUP_NOT_KNOWN || !value)
		return;
	fprintf(out, "\t%10s %5.1f %% ", bytes_text(text, value),
		group->figures.current ? 100 * (double)value / (double)group->figures.current
				       : 0.0);
	bar_write(out, value, group->figures.current);
	fprintf(out, " %s", words);
	if (grown)
		fprintf(out, ", %s", units_bytes(text, (double)grown, "+"));
	fputc('\n', out);
}

static void group_head_write(FILE *out, const struct cgroup_memory *group)
{
	const struct cgroup_figures *figures = &group->figures;
	char text[16];

	fprintf(out, ": %s charged", bytes_text(text, figures->current));
	if (figures->limit == CGROUP_NOT_KNOWN)
		fputs(", no limit", out);
	else
		fprintf(out, ", limit %s", bytes_text(text, figures->limit));
	if (figures->working_set != CGROUP_NOT_KNOWN)
		fprintf(out, ", working set %s", bytes_text(text, figures->working_set));
	if (figures->oom_kills != CGROUP_NOT_KNOWN)
		fprintf(out, ", OOM kills: %" PRIu64, figures->oom_kills);
	fputc('\n', out);
}

struct group_part {
	const char *words;
	uint64_t value;
	int64_t grown;
};

/* Less comes and goes. */
#define GROUP_GROWTH_MIN (64 << 10)

/* The greatest growth first, then the largest. */
static int by_growth(const void *left, const void *right)
{
	const struct group_part *a = left, *b = right;
	int64_t one = a->grown < GROUP_GROWTH_MIN ? 0 : a->grown;
	int64_t other = b->grown < GROUP_GROWTH_MIN ? 0 : b->grown;

	if (one != other)
		return one < other ? 1 : -1;
	return (a->value < b->value) - (a->value > b->value);
}

static int64_t grown_by(const struct cgroup_memory *group, const char *name)
{
	for (size_t i = 0; i < group->conclusion.cause_count && group->has_conclusion; i++) {
		if (!strcmp(group->conclusion.causes[i].name, name))
			return group->conclusion.causes[i].bytes;
	}
	return 0;
}

static void figures_write(FILE *out, const struct cgroup_memory *group)
{
	const struct cgroup_figures *figures = &group->figures;
	const struct cgroup_conclusion *grown = &group->conclusion;
	struct group_part parts[] = {
		{"anonymous", figures->anon, grown->anon},
		{"page cache", figures->file, grown->file},
		{"tmpfs and shared memory", figures->shmem, grown->shmem},
		{"kernel", figures->kernel, grown->kernel},
		{"kernel: slab", figures->slab, grown_by(group, "slab")},
		{"kernel: sockets", figures->sock, grown_by(group, "sock")},
		{"kernel: page tables", figures->page_tables, grown_by(group, "page-tables")},
		{"kernel: stacks", figures->kernel_stack, grown_by(group, "kernel-stacks")},
	};

	if (group->has_conclusion)
		qsort(parts, ARRAY_SIZE(parts), sizeof(*parts), by_growth);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		figure_write(out, group, parts[i].words, parts[i].value,
			     group->has_conclusion ? parts[i].grown : 0);
}

/* The path's last component may be 64 digits, which the name stands for. */
static void group_name_write(FILE *out, const struct cgroup_memory *group, bool verbose)
{
	_cleanup_free_ char *name = NULL;
	size_t size;
	FILE *text = group->container ? open_memstream(&name, &size) : NULL;

	if (text) {
		container_print_name(text, group->container);
		fclose(text);
	}
	if (name) {
		fputs("container ", out);
		text_print_inert(out, name);
		if (strncmp(name, group->container->id, 12) != 0)
			fprintf(out, " (%.12s)", group->container->id);
	}
	if (name && !verbose)
		return;
	fputs(name ? ", control group " : "control group ", out);
	text_print_inert(out, group->path);
}

static void group_write(FILE *out, const struct cgroup_memory *group, bool verbose)
{
	char pss[16], anon[16];

	group_name_write(out, group, verbose);
	if (!group->known) {
		fputs(": not known: its files are not below /sys/fs/cgroup here\n", out);
		return;
	}
	group_head_write(out, group);
	if (group->has_conclusion)
		fprintf(out, "\t%s\n", group->conclusion.text);
	figures_write(out, group);
	fprintf(out, "\t%zu process%s %s of it, proportionally; %s of that is anonymous\n",
		group->members.count, group->members.count == 1 ? " has" : "es have",
		bytes_text(pss, group->processes_pss), bytes_text(anon, group->processes_anon));
	if (group->pressure.known)
		fprintf(out,
			"\tpressure: some tasks waited for memory %.1f %% of the last minute, all "
			"%.1f %%\n",
			group->pressure.some_60s, group->pressure.full_60s);
}

/* A whole machine: a row for each process. */

struct column {
	const char *heading;
	uint64_t (*value)(const struct memory_process *process);
};

static uint64_t rss(const struct memory_process *process)
{
	return process->sum.rss;
}

static uint64_t live(const struct memory_process *process)
{
	return process->parts[MEMORY_LIVE].resident + process->parts[MEMORY_MAPPED_BLOCKS].resident;
}

static uint64_t trimmable(const struct memory_process *process)
{
	return memory_trimmable(process);
}

static uint64_t stacks(const struct memory_process *process)
{
	return process->parts[MEMORY_STACKS].resident +
	       process->parts[MEMORY_ENDED_STACKS].resident;
}

static uint64_t files(const struct memory_process *process)
{
	return process->parts[MEMORY_FILES].resident +
	       process->parts[MEMORY_FILES_WRITTEN].resident;
}

static uint64_t shared(const struct memory_process *process)
{
	return process->parts[MEMORY_SHARED].resident;
}

static uint64_t anonymous(const struct memory_process *process)
{
	return process->parts[MEMORY_ANONYMOUS].resident;
}

/* The last one only with -v: the others fill a line of TEXT_WIDTH columns. */
static const struct column columns[] = {
	{"RSS", rss},	     {"LIVE", live},	  {"FREE", memory_free_resident},
	{"STACKS", stacks},  {"FILES", files},	  {"SHARED", shared},
	{"ANON", anonymous}, {"TRIM", trimmable},
};

static void table_write(FILE *out, const struct memory_report *report)
{
	size_t count = report->processes.count,
	       shown = report->top ? MIN(count, report->top) : count;
	size_t width = ARRAY_SIZE(columns) - !report->form.verbose;
	char text[16];

	fprintf(out, "%7s", "PID");
	for (size_t i = 0; i < width; i++)
		fprintf(out, " %10s", columns[i].heading);
	fputs(" COMMAND\n", out);
	for (size_t i = 0; i < shown; i++) {
		const struct memory_process *process = &report->processes.items[i];

		fprintf(out, "%7d", process->pid);
		for (size_t j = 0; j < width; j++)
			fprintf(out, " %10s", bytes_text(text, columns[j].value(process)));
		fputc(' ', out);
		text_print_inert(out, process->comm);
		fputc('\n', out);
	}
	for (size_t i = 0; i < count; i++) {
		const struct memory_process *process = &report->processes.items[i];

		if (process->has_conclusion && process->conclusion.verdict != MEMORY_STEADY)
			fprintf(out, "process %d: %s\n", process->pid, process->conclusion.text);
	}
	fprintf(out, "%zu of %zu processes; %zu may not be read\n", shown, count,
		report->unreadable);
}

/* System V shared memory: what its owners have forgotten. */

static void segment_write(FILE *out, const struct sysv_segment *segment)
{
	char resident[16], size[16];

	fprintf(out, "\t%10s of %s: id %" PRIu32 ", key 0x%08" PRIx32 ", created by PID %d (",
		bytes_text(resident, segment->resident + segment->swapped),
		bytes_text(size, segment->size), segment->id, segment->key, segment->creator);
	if (*segment->comm)
		text_print_inert(out, segment->comm);
	else
		fputs("ended", out);
	fprintf(out, "), UID %" PRIu32 ", attached %" PRIu64 " time%s%s\n", segment->uid,
		segment->attached, segment->attached == 1 ? "" : "s",
		segment->is_new ? ", new" : "");
}

static void sysv_write(FILE *out, const struct memory_report *report)
{
	const struct sysv_report *sysv = &report->sysv;
	size_t count = sysv->list.count;
	char all[16], unattached[16], grown[16];

	if (!count)
		return;
	fprintf(out,
		"System V shared memory: %" PRIu64 " segment%s, %s; unattached: %" PRIu64
		", %s; of these, created by processes that have ended: %" PRIu64 "\n",
		sysv->all.segments, sysv->all.segments == 1 ? "" : "s",
		bytes_text(all, sysv->all.bytes), sysv->unattached.segments,
		bytes_text(unattached, sysv->unattached.bytes), sysv->orphans.segments);
	if (sysv->has_growth && sysv->growth > 0)
		fprintf(out,
			"\tunattached memory grew by %s in %s: it stays until it is removed "
			"(shmctl(2), IPC_RMID; ipcrm(1))\n",
			units_bytes(grown, (double)sysv->growth, ""),
			units_time(all, (double)sysv->since_ms / 1000));
	for (size_t i = 0; i < (report->top ? MIN(count, report->top) : count); i++)
		segment_write(out, &sysv->list.items[i]);
	if (sysv->partial)
		fputs("\tthere are more segments than were read\n", out);
}

int text_memory_write(FILE *stream, const void *data)
{
	const struct memory_report *report = data;
	struct text_page page;
	FILE *out = text_page_begin(&page, stream, &report->form);
	char clock[TEXT_TIME_SIZE];

	text_clock(clock, report->time.tv_sec);
	fprintf(out, "[%s] Memory, by what it is used for:\n", clock);
	for (size_t i = 0; i < report->groups.list.count; i++)
		group_write(out, &report->groups.list.items[i], report->form.verbose);
	if (report->everywhere)
		table_write(out, report);
	else
		for (size_t i = 0; i < report->processes.count; i++)
			process_write(out, report, &report->processes.items[i]);
	sysv_write(out, report);
	fputc('\n', out);
	return text_page_end(&page);
}
