// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does triage find the leaking process among a hundred? Simulated nodes with a simulated clock, and
 * the real code behind the reading of /proc: series, verdicts, ranking.
 *
 *   settled node  warm-up ends within two minutes, batches come every 15 to 50 s: the leak of
 *                 1 MiB a minute must be the first of all after 3 minutes
 *   busy node     caches warm up for ten minutes, batches take up to 8: after 3 minutes much
 *                 really grows; after 40 all has settled but the leak
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "app/triage/growth.h"
#include "base/cleanup.h"
#include "series_fixture.h"

/* LEAKMON_SEEDS=N tries N others, and asserts nothing: its figures are in the documentation. */
#define SCENARIOS 24
#define OTHER_SEEDS SCENARIOS
#define PROCESSES 100
#define POLL_S 5.0
#define LEAK_KIB_PER_S (1024.0 / 60)
#define WORKERS 6 /* of a fork server */

enum role {
	ROLE_LEAK,
	ROLE_CACHE,
	ROLE_BATCH,
	ROLE_COLLECTOR,
	ROLE_FORK_SERVER,
	ROLE_WORKER,
	ROLE_NOISE,
	ROLE_STEP,
	ROLE_IDLE,
	ROLE_MAX_
};
static const char *const role_names[ROLE_MAX_] = {
	"leak",	       "cache", "batch", "collector", "fork server",
	"its workers", "noise", "step",	 "idle",
};

struct process {
	enum role role;
	enum course_kind kind;
	struct course course;
	double born_s, lives_s; /* lives_s 0: for ever */
	struct series series;
	struct growth growth;
};

struct node {
	struct random random;
	bool busy;
	struct process processes[PROCESSES];
};

/* Processes of a node besides the leak; idle ones fill the rest. */
static const struct {
	enum role role;
	unsigned count;
	enum course_kind kinds[3];
} population[] = {
	{ROLE_LEAK, 1, {COURSE_LEAK, COURSE_LEAK_BURSTS, COURSE_LEAK_NOISE}},
	{ROLE_CACHE, 15, {COURSE_CACHE, COURSE_CACHE_LINE, COURSE_CACHE}},
	{ROLE_BATCH, 12, {COURSE_BATCH, COURSE_HYSTERESIS, COURSE_BATCH}},
	{ROLE_COLLECTOR, 10, {COURSE_SAWTOOTH, COURSE_SAWTOOTH, COURSE_SAWTOOTH}},
	{ROLE_FORK_SERVER, 1, {COURSE_NOISE, COURSE_NOISE, COURSE_NOISE}},
	{ROLE_WORKER, WORKERS, {COURSE_CACHE, COURSE_CACHE_LINE, COURSE_CACHE}},
	{ROLE_NOISE, 20, {COURSE_NOISE, COURSE_WANDER, COURSE_SHRINK}},
	{ROLE_STEP, 6, {COURSE_STEP, COURSE_SPIKE, COURSE_STEP}},
	{ROLE_IDLE, 29, {COURSE_IDLE, COURSE_IDLE, COURSE_IDLE}},
};

static void times_choose(struct process *process, bool busy, struct random *random)
{
	struct course *course = &process->course;

	switch (process->role) {
	case ROLE_CACHE: /* an exponential one is warm after five time constants */
		course->time_s = process->kind == COURSE_CACHE
					 ? random_between(random, 8, busy ? 150 : 20)
					 : random_between(random, 20, busy ? 600 : 90);
		break;
	case ROLE_BATCH:
		course->time_s =
			busy ? random_between(random, 60, 480) : random_between(random, 15, 50);
		break;
	case ROLE_STEP:
		course->time_s = random_between(random, 30, busy ? 1500 : 150);
		break;
	default:
		course->time_s = random_between(random, 10, 40);
	}
}

static void process_begin(struct process *process, bool busy, double now_s, struct random *random)
{
	struct course *course = &process->course;

	*course = (struct course){
		.random.state = (uint64_t)random_between(random, 0, 1e15),
		.level_kib = random_between(random, 2000, 800000),
		.amplitude_kib = random_between(random, 4000, 200000),
		.noise_kib = random_between(random, 0, 400),
	};
	times_choose(process, busy, random);
	process->born_s = now_s;
	if (process->role == ROLE_LEAK)
		course->amplitude_kib = LEAK_KIB_PER_S;
	if (process->kind == COURSE_SHRINK)
		course->amplitude_kib = random_between(random, 1, 100);
	if (process->role == ROLE_WORKER) {
		course->amplitude_kib = random_between(random, 1000, 30000);
		process->lives_s = random_between(random, 15, 120);
	}
}

static void node_begin(struct node *node, unsigned seed)
{
	size_t next = 0;

	*node = (struct node){.random.state = seed * 1000003u + 17, .busy = seed % 2};
	for (size_t i = 0; i < ARRAY_SIZE(population); i++) {
		for (unsigned j = 0; j < population[i].count; j++) {
			struct process *process = &node->processes[next++];

			process->role = population[i].role;
			process->kind = population[i].kinds[(j + seed / 2) % 3];
			process_begin(process, node->busy, 0, &node->random);
		}
	}
	assert_int_equal(next, PROCESSES);
}

/* A worker that ends returns as another process. */
static void node_poll(struct node *node, double now_s)
{
	double read_s = now_s + random_between(&node->random, 0, 0.05);

	for (size_t i = 0; i < PROCESSES; i++) {
		struct process *process = &node->processes[i];
		struct quantities quantities = {.values = {[QUANTITY_MAPPING] = 60,
							   [QUANTITY_THREADS] = 4,
							   [QUANTITY_FILES] = 12}};

		if (process->lives_s && now_s - process->born_s > process->lives_s) {
			series_free(&process->series);
			process_begin(process, node->busy, now_s, &node->random);
		}
		quantities.values[QUANTITY_HEAP] =
			1024 * course_kib(&process->course, process->kind, now_s - process->born_s);
		assert_int_equal(series_add(&process->series, read_s, &quantities), 0);
	}
}

/* They began with the node, or when a worker took another's place. */
static void node_judge(struct node *node)
{
	for (size_t i = 0; i < PROCESSES; i++) {
		struct process *process = &node->processes[i];

		growth_of(&process->growth, &process->series, process->born_s);
	}
}

static void node_end(struct node *node)
{
	for (size_t i = 0; i < PROCESSES; i++)
		series_free(&node->processes[i].series);
}

/* 1: the first of all. Equals do not rank above. */
static unsigned rank_of_leak(const struct node *node)
{
	unsigned rank = 1;

	for (size_t i = 1; i < PROCESSES; i++)
		rank += growth_compare(&node->processes[i].growth, &node->processes[0].growth) < 0;
	return rank;
}

struct tally {
	unsigned flagged[ROLE_MAX_], seen[ROLE_MAX_];
	unsigned verdicts[ROLE_MAX_][TREND_MAX_];
};

static void tally_add(struct tally *tally, const struct node *node)
{
	for (size_t i = 0; i < PROCESSES; i++) {
		const struct process *process = &node->processes[i];

		tally->seen[process->role]++;
		tally->flagged[process->role] += trend_is_suspect(process->growth.verdict);
		tally->verdicts[process->role][process->growth.verdict]++;
	}
}

static unsigned tally_false(const struct tally *tally)
{
	unsigned sum = 0;

	for (enum role i = ROLE_LEAK + 1; i < ROLE_MAX_; i++)
		sum += tally->flagged[i];
	return sum;
}

static void tally_print(const struct tally *tally, const char *title)
{
	unsigned leaks = tally->flagged[ROLE_LEAK], others = tally_false(tally);

	printf("%s: precision %.3f, recall %.3f\n%12s", title,
	       (double)leaks / MAX(leaks + others, 1u), (double)leaks / tally->seen[ROLE_LEAK], "");
	for (enum trend_verdict i = 0; i < TREND_MAX_; i++)
		printf(" %9s", trend_verdict_name(i));
	for (enum role i = 0; i < ROLE_MAX_; i++) {
		printf("\n%12s", role_names[i]);
		for (enum trend_verdict j = 0; j < TREND_MAX_; j++)
			printf(" %9u", tally->verdicts[i][j]);
	}
	puts("");
}

/* The wrongly accused, with the evidence against them. */
static void accused_print(const struct node *node, unsigned seed)
{
	for (size_t i = 0; i < PROCESSES; i++) {
		const struct process *process = &node->processes[i];
		const struct trend *evidence = &process->growth.evidence;

		if ((process->role == ROLE_LEAK) == trend_is_suspect(process->growth.verdict))
			continue;
		printf("seed %u: %s (%s, time %.0f s, amplitude %.0f KiB, noise %.0f KiB) is "
		       "called %s: "
		       "level %zu, %.0f KiB in %.0f s, z %.1f, recent %.2f, noise %.0f KiB\n",
		       seed, role_names[process->role], course_names[process->kind],
		       process->course.time_s, process->course.amplitude_kib,
		       process->course.noise_kib, trend_verdict_name(process->growth.verdict),
		       process->growth.level, evidence->growth / 1024, evidence->span_s,
		       evidence->z, evidence->recent, evidence->noise / 1024);
	}
}

/* Spreads polls like triage_poll(). */
static double next_pause_s(struct node *node)
{
	return POLL_S * random_between(&node->random, 0.8, 1.2);
}

/* Runs a node until `until_s`; returns the leak's rank. */
static unsigned node_run(struct node *node, unsigned seed, double until_s, struct tally *tally)
{
	unsigned rank;

	node_begin(node, seed);
	for (double now_s = 0; now_s <= until_s; now_s += next_pause_s(node))
		node_poll(node, now_s);
	node_judge(node);
	tally_add(tally, node);
	accused_print(node, seed);
	rank = rank_of_leak(node);
	node_end(node);
	return rank;
}

/* Runs nodes of one kind; every one must be judged correctly, unless other seeds are requested. */
static void nodes_run(bool busy, double until_s, const char *title)
{
	const char *others = getenv("LEAKMON_SEEDS");
	unsigned seeds = others ? (unsigned)atoi(others) : SCENARIOS, first = 0;
	static struct node node;
	struct tally tally = {0};

	for (unsigned i = 0; i < seeds; i++) {
		unsigned seed = 2 * (i + (others ? OTHER_SEEDS : 0)) + busy;

		first += node_run(&node, seed, until_s, &tally) == 1;
	}
	tally_print(&tally, title);
	printf("the first of all in %u of %u\n", first, seeds);
	if (others)
		return;
	assert_int_equal(first, SCENARIOS);
	assert_int_equal(tally.flagged[ROLE_LEAK], SCENARIOS);
	assert_int_equal(tally_false(&tally), 0);
}

static void a_leak_of_1_mib_a_minute_is_the_first_of_100_within_3_minutes(void **state)
{
	(void)state;
	nodes_run(false, 180, "settled nodes after 3 minutes");
}

static void after_40_minutes_of_a_busy_node_only_the_leak_is_flagged(void **state)
{
	(void)state;
	nodes_run(true, 2400, "busy nodes after 40 minutes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leak_of_1_mib_a_minute_is_the_first_of_100_within_3_minutes),
		cmocka_unit_test(after_40_minutes_of_a_busy_node_only_the_leak_is_flagged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
