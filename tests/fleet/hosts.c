// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hosts SEED [HOSTS]: half an hour of many hosts that leakmon watches, as Prometheus would scrape
 * them every two minutes. The memory is simulated, leakmon's output is not: each host has the
 * history, the verdicts and the Prometheus output of a real run that takes a snapshot every
 * 15 s.
 *
 * Three programs run everywhere. At some time a part of the hosts gets another build of one of
 * them, within two minutes, which leaks in four of five runs; caches that fill and batches that
 * come and go are everywhere, more so after a start.
 *
 * Standard output: a line `# TRUTH {...}`, then for each minute and host "# AT MINUTE HOST" and the
 * series that rules over a fleet use. Standard error: the maximum of series per host.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/analyze/report_build.h"
#include "report/history.h"
#include "report/report.h"
#include "base/cleanup.h"
#include "output/output.h"
#include "unit/series_fixture.h"

#define SECOND UINT64_C(1000000000)
#define MINUTES 26
#define SCRAPE_MINUTES 2
#define SNAPSHOT_S 15
#define PROGRAMS 3
#define SITES 4
#define HISTORY_TIMES 120
#define BLOCK 256

static const char *const names[PROGRAMS] = {"web", "api", "cached"};
static const enum course_kind kinds[PROGRAMS][SITES] = {
	{COURSE_IDLE, COURSE_CACHE, COURSE_NOISE, COURSE_BATCH},
	{COURSE_CACHE_LINE, COURSE_SAWTOOTH, COURSE_WANDER, COURSE_IDLE},
	{COURSE_CACHE, COURSE_STEP, COURSE_NOISE, COURSE_HYSTERESIS},
};

struct call_stack {
	enum course_kind kind;
	struct course course;
	uint64_t bytes, allocated, freed;
};

struct program {
	unsigned build; /* counts up */
	uint64_t key;
	double start_s;
	struct call_stack stacks[SITES];
};

struct host {
	struct random random;
	struct program programs[PROGRAMS];
	double update_s; /* when it gets the new build; INFINITY: never */
	struct history history;
};

struct plan {
	unsigned program; /* that gets a new build */
	bool leaks;
	double start_s, kib_per_s;
};

static void stack_start(struct call_stack *stack, enum course_kind kind, struct random *random)
{
	*stack = (struct call_stack){
		.kind = kind,
		.course = {.level_kib = random_between(random, 64, 4096),
			   .amplitude_kib = random_between(random, 128, 8192),
			   .time_s = random_between(random, 20, 240),
			   .noise_kib = random_between(random, 4, 64),
			   .random = {.state = (uint64_t)(random_unit(random) * 1e18)}}};
}

static void program_start(struct host *host, const struct plan *plan, unsigned i, double now_s)
{
	static uint64_t keys;
	struct program *program = &host->programs[i];
	struct call_stack *lost = &program->stacks[0];

	program->start_s = now_s;
	program->key = ++keys << 32;
	for (size_t j = 0; j < SITES; j++)
		stack_start(&program->stacks[j], kinds[i][j], &host->random);
	if (!program->build || i != plan->program || !plan->leaks)
		return;
	/* Traffic differs from host to host. */
	lost->kind = random_unit(&host->random) < 0.5 ? COURSE_LEAK : COURSE_LEAK_NOISE;
	lost->course.amplitude_kib = plan->kib_per_s * random_between(&host->random, 0.3, 1.7);
	lost->course.noise_kib = lost->course.amplitude_kib * 5;
}

static bool is_young(const struct call_stack *stack)
{
	return stack->kind == COURSE_NOISE || stack->kind == COURSE_BATCH ||
	       stack->kind == COURSE_SAWTOOTH || stack->kind == COURSE_WANDER;
}

static void stack_move(struct call_stack *stack, double age_s)
{
	/* An exact count has no steps of an arena in it. */
	double kib = stack->kind == COURSE_LEAK
			     ? stack->course.level_kib + stack->course.amplitude_kib * age_s
			     : course_kib(&stack->course, stack->kind, age_s);
	uint64_t bytes = (uint64_t)(kib * 1024 / BLOCK) * BLOCK;
	uint64_t churn = is_young(stack) ? bytes : 0;

	stack->allocated += churn + (bytes > stack->bytes ? bytes - stack->bytes : 0);
	stack->freed += churn + (bytes < stack->bytes ? stack->bytes - bytes : 0);
	stack->bytes = bytes;
}

static void snapshot_fill(struct host *host, double now_s, struct snapshot *snapshot)
{
	for (unsigned i = 0; i < PROGRAMS; i++) {
		struct program *program = &host->programs[i];
		struct snapshot_process *process = vec_push(&snapshot->processes);
		double age_s = now_s - program->start_s;

		process->key = program->key;
		process->pid = i + 100;
		process->exact = true;
		process->age_ns = (uint64_t)(age_s * 1e9);
		strcpy(process->comm, names[i]);
		for (uint32_t j = 0; j < SITES; j++) {
			struct call_stack *stack = &program->stacks[j];
			struct site *site = vec_push(&process->sites);

			stack_move(stack, age_s);
			*site = (struct site){.index = j + 1,
					      .bytes = stack->bytes,
					      .count = stack->bytes / BLOCK,
					      .allocated_bytes = stack->allocated,
					      .allocated_count = stack->allocated / BLOCK,
					      .freed_bytes = stack->freed,
					      .freed_count = stack->freed / BLOCK,
					      .oldest_ns = is_young(stack) ? 5 * SECOND
									   : process->age_ns};
			process->outstanding_bytes += site->bytes;
			process->outstanding_count += site->count;
		}
	}
}

/* As the symbolizer does. */
static void report_name(const struct host *host, struct report *report)
{
	static char ids[PROGRAMS][2][41];
	static char functions[SITES][16];

	for (size_t i = 0; i < report->processes.count; i++) {
		struct report_process *process = &report->processes.items[i];
		unsigned place = process->process->pid - 100;
		unsigned build = host->programs[place].build;

		snprintf(ids[place][build], sizeof(ids[0][0]), "%040x", place * 16 + build + 1);
		for (size_t j = 0; j < process->sites.count; j++) {
			struct report_site *site = &process->sites.items[j];
			uint32_t number = site->site->index - 1;
			struct frame *frame = vec_push(&site->frames.list);

			snprintf(functions[number], sizeof(functions[0]), "work_%u", number);
			*frame = (struct frame){.function = functions[number],
						.module = "/usr/bin/program",
						.module_offset = number * 64,
						.build_id = ids[place][build]};
			frame = vec_push(&site->frames.list);
			*frame = (struct frame){.function = "_start",
						.module = "/usr/bin/program",
						.module_offset = 4096,
						.build_id = ids[place][build]};
			site->id = symbolizer_stack_id(&site->frames);
		}
	}
}

static bool is_for_rules(const char *line)
{
	return !strncmp(line, "leakmon_build_", 14) || !strncmp(line, "leakmon_site_leak_", 18);
}

/* Series for the rules; returns the number of all series. */
static size_t scrape(struct host *host, const struct snapshot *snapshot)
{
	const struct report_options all = {.sort = SORT_BYTES, .history = &host->history};
	struct report report;
	char *text = NULL, *rest, *line;
	size_t size, series = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out || report_build(&report, snapshot, &all))
		abort();
	report_name(host, &report);
	if (output_find("prom")->write[OUTPUT_REPORT](out, &report))
		abort();
	fclose(out);
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		series += *line && *line != '#';
		if (is_for_rules(line))
			puts(line);
	}
	free(text);
	report_free(&report);
	return series;
}

static struct plan make_plan(struct random *random, unsigned seed)
{
	return (struct plan){
		.program = (unsigned)random_between(random, 0, PROGRAMS),
		.leaks = seed % 5 != 0,
		.start_s = 60 * floor(random_between(random, 8, 14)),
		.kib_per_s = exp(random_between(random, log(1), log(64))),
	};
}

static struct host *hosts_make(struct random *random, const struct plan *plan, unsigned count,
			       unsigned *updated)
{
	struct host *hosts = calloc(count, sizeof(*hosts));
	double share = random_between(random, 0.3, 1);

	*updated = 0;
	for (unsigned i = 0; hosts && i < count; i++) {
		struct host *host = &hosts[i];

		host->random.state = random->state + i * 7919;
		host->history.limits.max_times = HISTORY_TIMES;
		host->update_s = INFINITY;
		if (random_unit(random) < share) {
			host->update_s = plan->start_s + random_between(random, 0, 120);
			++*updated;
		}
		/* Most have run for long, and some have just started. */
		for (unsigned j = 0; j < PROGRAMS; j++)
			program_start(host, plan, j, -random_between(&host->random, 0, 7200));
	}
	return hosts;
}

static size_t step(struct host *host, const struct plan *plan, unsigned now_s, bool scraped)
{
	_cleanup_(snapshot_free) struct snapshot snapshot = {
		.sequence = now_s / SNAPSHOT_S + 1,
		.time = {.tv_sec = (time_t)now_s + 1700000000},
		.monotonic_ns = (now_s + 1000) * SECOND,
		.has_ages = true,
	};

	if (host->update_s <= now_s) {
		host->update_s = INFINITY;
		host->programs[plan->program].build++;
		program_start(host, plan, plan->program, now_s);
	}
	snapshot_fill(host, now_s, &snapshot);
	if (history_add(&host->history, &snapshot, NULL))
		abort();
	return scraped ? scrape(host, &snapshot) : 0;
}

int main(int argc, char **argv)
{
	unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1, updated;
	unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 200;
	struct random random = {.state = seed * UINT64_C(1000003)};
	struct plan plan = make_plan(&random, seed);
	struct host *hosts = hosts_make(&random, &plan, count, &updated);
	size_t most = 0;

	printf("# TRUTH {\"comm\": \"%s\", \"build_id\": \"%040x\", \"leaks\": %s, \"minute\": "
	       "%.0f, "
	       "\"hosts\": %u, \"kib_per_s\": %.2f}\n",
	       names[plan.program], plan.program * 16 + 2, plan.leaks ? "true" : "false",
	       plan.start_s / 60, updated, plan.kib_per_s);
	for (unsigned now_s = 0; now_s <= MINUTES * 60; now_s += SNAPSHOT_S) {
		for (unsigned i = 0; hosts && i < count; i++) {
			size_t series;

			if (now_s % (SCRAPE_MINUTES * 60) == 0)
				printf("# AT %u %u\n", now_s / 60, i);
			series = step(&hosts[i], &plan, now_s, now_s % (SCRAPE_MINUTES * 60) == 0);
			most = MAX(most, series);
		}
	}
	fprintf(stderr, "%zu\n", most);
	for (unsigned i = 0; hosts && i < count; i++)
		history_free(&hosts[i].history);
	free(hosts);
	return 0;
}
