// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of a day's recording: 24 hours at 5 s with 1,000 sites, by a simulated clock. Prints
 * size, time per append, drift of our memory, and how long a diff and a report take to read.
 *
 *	build/bench/store [--all-change] [--leave] [DIRECTORY]
 *
 * Sites behave in eighteen ways (tests/unit/site_kinds.h). In a program that runs for a day most
 * call stacks are quiet after its start: seven of ten of these. With --all-change none is. With
 * --leave the recording stays, as leakmon-bench-store.lkm.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "report/analyze/diff_build.h"
#include "report/diff.h"
#include "report/analyze/report_build.h"
#include "report/analyze/site_trend.h"
#include "base/cleanup.h"
#include "output/output.h"
#include "report/store/recorder.h"
#include "report/store/recording.h"
#include "unit/site_kinds.h"

#define SITES 1000
#define FRAMES 20
#define TICK_NS UINT64_C(5000000000)
#define TICKS 17280 /* 24 h */
/* For the five seconds without an append: background work may continue in them. */
#define PAUSE_NS 3000000

struct day {
	struct simulated_site *sites;
	struct snapshot snapshot;
	struct report report;
	struct frame *frames;
	bool all_change;
	double *append_ms, *own_ms; /* own: without runs in which others had the CPU */
};

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* For this thread (Documentation/scheduler/sched-stats.rst); 0: not counted by the kernel. */
static double starved_ms(void)
{
	FILE *stat = fopen("/proc/thread-self/schedstat", "re");
	unsigned long ns = 0;

	if (stat && fscanf(stat, "%*u %lu", &ns) != 1)
		ns = 0;
	if (stat)
		fclose(stat);
	return (double)ns / 1e6;
}

static double rss_mb(void)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (statm && fscanf(statm, "%*u %lu", &pages) != 1)
		pages = 0;
	if (statm)
		fclose(statm);
	return (double)pages * 4096 / (1 << 20);
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Names that are as long as C++ makes them, shared between the stacks as callers are. */
static void frames_make(struct day *day)
{
	day->frames = calloc((size_t)SITES * FRAMES, sizeof(*day->frames));
	if (!day->frames)
		die("calloc");
	for (size_t i = 0; i < (size_t)SITES * FRAMES; i++) {
		size_t site = i / FRAMES, depth = i % FRAMES, place = site >> depth;
		struct frame *frame = &day->frames[i];
		char *name, *file;

		if (asprintf(&name, "server::handlers::Request<%zu>::step_%zu(std::string const&)",
			     place, depth) < 0 ||
		    asprintf(&file, "/usr/src/server/handlers/part_%zu.cc", place) < 0)
			die("asprintf");
		*frame = (struct frame){.function = name,
					.file = file,
					.line = (uint32_t)(place % 5000 + 1),
					.module = "/usr/bin/server",
					.build_id = "0123456789abcdef0123456789abcdef01234567",
					.module_offset = place * 64 + depth,
					.address = 0x555500000000 + place * 64 + depth,
					.offset = depth};
	}
}

static enum site_behaviour behaviour_of(const struct day *day, size_t i)
{
	if (day->all_change)
		return LEAK_STEADY;
	return i % 10 < 7 ? START_UP : (enum site_behaviour)(i / 10 * 3 % BEHAVIOURS);
}

static void day_make(struct day *day)
{
	struct snapshot_process *process = vec_push(&day->snapshot.processes);
	struct report_process *ranked = vec_push(&day->report.processes);

	day->sites = calloc(SITES, sizeof(*day->sites));
	day->append_ms = calloc(TICKS, sizeof(*day->append_ms));
	day->own_ms = calloc(TICKS, sizeof(*day->own_ms));
	if (!process || !ranked || !day->sites || !day->append_ms || !day->own_ms)
		die("calloc");
	frames_make(day);
	*process = (struct snapshot_process){
		.key = 4711ull << 32 | 1, .pid = 4711, .comm = "server", .exact = true};
	day->snapshot.has_ages = true;
	day->snapshot.time.tv_sec = 1795179600;
	for (uint32_t i = 0; i < SITES; i++) {
		simulated_init(&day->sites[i], behaviour_of(day, i), i);
		((struct site *)vec_push(&process->sites))->index = i + 1;
	}
	ranked->process = process;
	for (size_t i = 0; i < SITES; i++) {
		struct report_site *site = vec_push(&ranked->sites);

		site->site = &process->sites.items[i];
		site->frames.list.items = day->frames + i * FRAMES;
		site->frames.list.count = FRAMES;
		site->id = symbolizer_stack_id(&site->frames);
	}
	day->report.snapshot = &day->snapshot;
}

static void day_tick(struct day *day)
{
	struct snapshot_process *process = &day->snapshot.processes.items[0];

	day->snapshot.sequence++;
	day->snapshot.monotonic_ns += TICK_NS;
	day->snapshot.time.tv_sec += 5;
	process->outstanding_bytes = process->outstanding_count = 0;
	process->ledger = (struct ledger){0};
	for (size_t i = 0; i < SITES; i++) {
		struct site *site = &process->sites.items[i];

		simulated_step(&day->sites[i], TICK_NS, site);
		process->outstanding_bytes += site->bytes;
		process->outstanding_count += site->count;
		process->ledger.allocations += site->allocated_count;
		process->ledger.frees += site->freed_count;
	}
	day->snapshot.ledger = process->ledger;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void print_times(const char *what, double *ms)
{
	double sum = 0;

	for (size_t i = 0; i < TICKS; i++)
		sum += ms[i];
	qsort(ms, TICKS, sizeof(*ms), compare_doubles);
	printf("%-21s %10.2f ms mean, %.2f median, %.2f p99, %.2f p99.9, %.2f greatest\n", what,
	       sum / TICKS, ms[TICKS / 2], ms[TICKS * 99 / 100], ms[TICKS * 999 / 1000],
	       ms[TICKS - 1]);
}

static int day_append(struct day *day, struct recorder *recorder, size_t tick)
{
	double starved = starved_ms(), from = now_ms();
	int error = recorder_append(recorder, &day->report, NULL, tick + 1 == TICKS);

	day->append_ms[tick] = now_ms() - from;
	day->own_ms[tick] = day->append_ms[tick] - (starved_ms() - starved);
	return error;
}

static double process_cpu_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

static void record(struct day *day, const char *path)
{
	const struct recorder_options keep = {.keep_bytes = RECORDER_KEEP_BYTES_DEFAULT};
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct recorder *recorder;
	double before_mb = 0, cpu_ms = 0;
	struct stat file;

	if (recorder_open(&recorder, path, &keep))
		exit(1);
	for (size_t i = 0; i < TICKS; i++) {
		double from;

		day_tick(day);
		from = process_cpu_ms();
		if (day_append(day, recorder, i))
			exit(1);
		nanosleep(&pause, NULL);
		cpu_ms += process_cpu_ms() - from;
		if (i == 720) /* an hour: every page of the simulation has been touched */
			before_mb = rss_mb();
	}
	printf("snapshots kept        %10llu of %d\n",
	       (unsigned long long)recorder_snapshots(recorder), TICKS);
	printf("memory drift          %10.2f MB after the first hour (%.1f MB)\n",
	       rss_mb() - before_mb, rss_mb());
	recorder_close(recorder);
	printf("first append          %10.2f ms, of %d new stacks\n", day->append_ms[0], SITES);
	print_times("append", day->append_ms);
	print_times("append, CPU waits off", day->own_ms);
	printf("CPU time              %10.2f ms mean, with checkpoints\n", cpu_ms / TICKS);
	if (stat(path, &file))
		die(path);
	printf("recording             %10.1f MB\n", (double)file.st_size / 1e6);
}

struct read_back {
	struct recording *recording;
	struct snapshot snapshots[2];
	struct report reports[2];
	struct history history;
};

static void read_side(struct read_back *back, int side, const char *at)
{
	const struct report_options all = {.sort = SORT_BYTES};
	size_t position;

	if (recording_find(back->recording, at, &position) ||
	    recording_read(back->recording, position, &back->snapshots[side]) ||
	    report_build(&back->reports[side], &back->snapshots[side], &all) ||
	    recording_name(back->recording, &back->reports[side]))
		exit(1);
}

/* As `leakmon report FILE --format html`, including the opening. */
static void write_page(const char *path)
{
	struct report_options options = {.sort = SORT_BYTES};
	struct recording *recording;
	struct snapshot snapshot;
	struct history history = {0};
	struct report report;
	double from = now_ms();
	char *page = NULL;
	size_t position, size;
	FILE *out = open_memstream(&page, &size);

	options.history = &history;
	if (!out || recording_open(&recording, path) ||
	    recording_find(recording, NULL, &position) ||
	    recording_history(recording, position, &history) ||
	    recording_read(recording, position, &snapshot) ||
	    report_build(&report, &snapshot, &options) || recording_name(recording, &report) ||
	    output_find("html")->write[OUTPUT_REPORT](out, &report))
		exit(1);
	fclose(out);
	printf("HTML page             %10.2f s with opening, %.1f MB\n", (now_ms() - from) / 1e3,
	       (double)size / 1e6);
	free(page);
	report_free(&report);
	snapshot_free(&snapshot);
	history_free(&history);
	recording_close(recording);
}

static void read_all(const char *path)
{
	struct read_back back = {0};
	struct diff diff = {0};
	double from = now_ms();
	size_t count;

	if (recording_open(&back.recording, path))
		exit(1);
	printf("open and check        %10.2f s\n", (now_ms() - from) / 1e3);
	read_side(&back, 0, "first");
	read_side(&back, 1, "last");
	if (diff_build(&diff, &back.reports[0], &back.reports[1], DIFF_BY_SITE, SORT_BYTES))
		exit(1);
	printf("diff, first to last   %10.2f s with opening, %zu rows\n", (now_ms() - from) / 1e3,
	       diff.rows.count);
	from = now_ms();
	recording_snapshots(back.recording, &count);
	if (recording_history(back.recording, count - 1, &back.history))
		exit(1);
	printf("history               %10.2f s, %zu points of %zu sites\n", (now_ms() - from) / 1e3,
	       back.history.times.count, back.history.sites.count);
	from = now_ms();
	for (size_t i = 0; i < back.history.sites.count; i++) {
		struct site_trend trend;

		site_trend_of(&trend, &back.history, &back.history.sites.items[i]);
	}
	printf("verdicts              %10.2f s\n", (now_ms() - from) / 1e3);
	diff_free(&diff);
	history_free(&back.history);
	recording_close(back.recording);
}

int main(int argc, char **argv)
{
	struct day day = {0};
	const char *directory = "/tmp";
	bool leave = false;
	char path[4096];

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--all-change"))
			day.all_change = true;
		else if (!strcmp(argv[i], "--leave"))
			leave = true;
		else
			directory = argv[i];
	}
	snprintf(path, sizeof(path), "%s/leakmon-bench-store.lkm", directory);
	unlink(path);
	day_make(&day);
	printf("24 h at 5 s, %d sites%s\n", SITES,
	       day.all_change ? ", all of which change every time" : "");
	record(&day, path);
	read_all(path);
	write_page(path);
	if (!leave)
		unlink(path);
	return 0;
}
