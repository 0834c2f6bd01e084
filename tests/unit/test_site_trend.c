// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/analyze/fleet_build.h"
#include "report/fleet.h"
#include "report/analyze/report_build.h"
#include "report/analyze/site_trend.h"
#include "base/cleanup.h"
#include "unit/site_kinds.h"

#define TICK_NS UINT64_C(5000000000)
#define TICKS 200
#define SEEDS 24

/* A history of one process with one site of every kind; it began when the history does. */
static void history_make_every(struct history *history, uint64_t seed, size_t ticks,
			       uint64_t tick_ns)
{
	struct simulated_site *sites = calloc(BEHAVIOURS, sizeof(*sites));
	struct snapshot snapshot = {.has_ages = true};
	struct snapshot_process *process = vec_push(&snapshot.processes);

	assert_non_null(sites);
	*process = (struct snapshot_process){.key = 77ull << 32 | 1, .pid = 77, .comm = "kinds"};
	for (uint32_t i = 0; i < BEHAVIOURS; i++) {
		simulated_init(&sites[i], (enum site_behaviour)i, seed);
		((struct site *)vec_push(&process->sites))->index = i + 1;
	}
	for (size_t tick = 0; tick < ticks; tick++) {
		snapshot.sequence++;
		snapshot.monotonic_ns += tick_ns;
		process->age_ns = snapshot.monotonic_ns;
		for (size_t i = 0; i < BEHAVIOURS; i++)
			simulated_step(&sites[i], tick_ns, &process->sites.items[i]);
		assert_int_equal(history_add(history, &snapshot, NULL), 0);
	}
	free(sites);
	snapshot_free(&snapshot);
}

static void history_make(struct history *history, uint64_t seed, size_t ticks)
{
	history_make_every(history, seed, ticks, TICK_NS);
}

static void matrix_print(size_t matrix[BEHAVIOURS][TREND_MAX_])
{
	print_message("%-22s", "kind \\ verdict");
	for (enum trend_verdict v = 0; v < TREND_MAX_; v++)
		print_message("%10s", trend_verdict_name(v));
	print_message("\n");
	for (size_t kind = 0; kind < BEHAVIOURS; kind++) {
		print_message("%-22s", behaviours[kind].name);
		for (size_t v = 0; v < TREND_MAX_; v++)
			print_message("%9zu%c", matrix[kind][v],
				      matrix[kind][v] && !(behaviours[kind].right >> v & 1) ? '!'
											    : ' ');
		print_message("\n");
	}
}

static void no_cache_is_called_a_leak_and_no_leak_is_overlooked(void **state)
{
	size_t matrix[BEHAVIOURS][TREND_MAX_] = {0}, right = 0, false_leaks = 0, missed = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		_cleanup_(history_free) struct history history = {0};

		history_make(&history, seed, TICKS);
		assert_int_equal(history.sites.count, BEHAVIOURS);
		for (size_t kind = 0; kind < BEHAVIOURS; kind++) {
			struct site_trend trend;

			site_trend_of(&trend, &history, &history.sites.items[kind]);
			matrix[kind][trend.verdict]++;
			right += behaviours[kind].right >> trend.verdict & 1;
			false_leaks += !behaviours[kind].leaks && trend.verdict == TREND_LEAKING;
			missed += behaviours[kind].leaks && !trend_is_suspect(trend.verdict);
		}
	}
	matrix_print(matrix);
	print_message("%zu of %d right, %zu false leaks, %zu leaks missed\n", right,
		      SEEDS * BEHAVIOURS, false_leaks, missed);
	assert_int_equal(false_leaks, 0);
	assert_int_equal(missed, 0);
	assert_true(right * 100 >= (size_t)SEEDS * BEHAVIOURS * 97);
}

static void survival_is_the_share_of_blocks_that_are_still_there(void **state)
{
	_cleanup_(history_free) struct history history = {0};
	struct site_trend trend;

	(void)state;
	history_make(&history, 1, TICKS);
	site_trend_of(&trend, &history, &history.sites.items[LEAK_STEADY]);
	assert_true(trend.survival == 1);
	assert_true(trend.turnover == 0);
	site_trend_of(&trend, &history, &history.sites.items[LEAK_PARTIAL]);
	assert_true(trend.survival > 0.0099 && trend.survival < 0.0101);
	site_trend_of(&trend, &history, &history.sites.items[START_UP]);
	assert_true(trend.survival < 0); /* nothing was allocated since */
}

static void shares_older_than_each_age_follow_the_blocks(void **state)
{
	_cleanup_(history_free) struct history history = {0};
	struct site_trend trend;

	(void)state;
	/* A steady leak over 600 s, after 120 ticks of 5 s: all are over 1 s old, 118 of 120
	 * ticks over 10 s, 108 over a minute, none over ten minutes. */
	history_make(&history, 3, 120);
	site_trend_of(&trend, &history, &history.sites.items[LEAK_STEADY]);
	assert_true(trend.has_ages);
	assert_true(fabs(trend.older_share[0] - 1) < 1e-9);
	assert_true(fabs(trend.older_share[1] - 118.0 / 120) < 1e-9);
	assert_true(fabs(trend.older_share[2] - 108.0 / 120) < 1e-9);
	assert_true(trend.older_share[3] == 0);
	site_trend_of(&trend, &history, &history.sites.items[START_UP]);
	assert_true(trend.older_share[2] == 1);
}

static void growth_ranks_only_what_grows_for_sure(void **state)
{
	_cleanup_(history_free) struct history history = {0};

	(void)state;
	history_make(&history, 5, TICKS);
	for (size_t kind = 0; kind < BEHAVIOURS; kind++) {
		struct site_trend trend;

		site_trend_of(&trend, &history, &history.sites.items[kind]);
		if (behaviours[kind].leaks)
			assert_true(site_trend_growth(&trend) > 0);
		else if (kind != RISING_TRAFFIC)
			assert_true(site_trend_growth(&trend) == 0);
	}
}

static void a_steady_leak_is_measured_to_the_byte_per_second(void **state)
{
	_cleanup_(history_free) struct history history = {0};
	struct simulated_site site;
	char evidence[EVIDENCE_SIZE];
	struct site_trend trend;

	(void)state;
	history_make(&history, 7, TICKS);
	simulated_init(&site, LEAK_STEADY, 7);
	site_trend_of(&trend, &history, &history.sites.items[LEAK_STEADY]);
	assert_true(fabs(trend.trend.slope - (double)(site.rate * site.size) / 5) < 1e-6);
	assert_true(trend.trend.r_squared > 0.9999);
	assert_non_null(strstr(site_trend_evidence(&trend, evidence),
			       "100% of the blocks it allocated since are still there"));
	assert_non_null(strstr(evidence, "% of its blocks are over 1 min old"));
}

static void too_few_snapshots_give_no_verdict(void **state)
{
	_cleanup_(history_free) struct history history = {0};
	struct simulated_site site;
	char evidence[EVIDENCE_SIZE];
	struct site_trend trend;

	(void)state;
	history_make(&history, 9, 5);
	site_trend_of(&trend, &history, &history.sites.items[LEAK_STEADY]);
	assert_int_equal(trend.verdict, TREND_TOO_EARLY);
	assert_int_equal(trend.early.readings, 5);
	assert_true(trend.early.grows);
	simulated_init(&site, LEAK_STEADY, 9);
	assert_true(fabs(trend.early.per_s - (double)(site.rate * site.size) / 5) < 1e-6);
	assert_non_null(
		strstr(site_trend_evidence(&trend, evidence), "/min so far, only 5 snapshots yet"));
	site_trend_of(&trend, &history, &history.sites.items[START_UP]);
	assert_string_equal(site_trend_evidence(&trend, evidence), "only 5 snapshots yet");
	site_trend_of_process(&trend, &history, &history.processes.items[0]);
	assert_int_equal(trend.verdict, TREND_TOO_EARLY);
}

/* Thirty snapshots in 2.9 s, in 19.7 s, and in 20.3 s. */
static void nothing_leaks_at_once_and_a_young_process_is_marked(void **state)
{
	static const struct {
		uint64_t tick_ns;
		enum trend_verdict verdict;
		const char *words;
	} cases[] = {
		{100000000, TREND_GROWING,
		 ", too short to tell (2.9 s), warming up (started 3 s ago)"},
		{680000000, TREND_GROWING,
		 ", too short to tell (19.7 s), warming up (started 20 s ago)"},
		{700000000, TREND_LEAKING, ", warming up (started 21 s ago)"},
		{20000000000, TREND_LEAKING, "% of its blocks are over 1 min old"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(history_free) struct history history = {0};
		char evidence[EVIDENCE_SIZE];
		struct site_trend trend;
		size_t length, words = strlen(cases[i].words);

		history_make_every(&history, 7, 30, cases[i].tick_ns);
		site_trend_of(&trend, &history, &history.sites.items[LEAK_STEADY]);
		assert_int_equal(trend.verdict, cases[i].verdict);
		length = strlen(site_trend_evidence(&trend, evidence));
		assert_true(length > words);
		assert_string_equal(evidence + length - words, cases[i].words);
	}
}

/* A site of a program that samples itself, hit by hit; blocks of 1 KiB that live for a while. */
#define HIT_BYTES (512 << 10)
struct sampled_case {
	double births;	/* hits a tick */
	double lives;	/* ticks on average; 0: for ever */
	double leaks;	/* hits a tick, of blocks that live for ever */
	size_t suspect; /* of 100 seeds: at most, or at least if it leaks */
};

static size_t hits_of_tick(uint64_t *random, double mean)
{
	double limit = exp(-mean), product = 1;
	size_t hits = 0;

	for (;; hits++) {
		product *= (double)(kinds_random(random) >> 11) / 9007199254740992.0;
		if (product <= limit)
			return hits;
	}
}

struct sampled_site {
	struct site numbers;
	struct {
		size_t born, dies;
	} hits[4096];
	size_t count;
};

static void sampled_step(struct sampled_site *site, const struct sampled_case *sampled,
			 uint64_t *random, size_t tick)
{
	size_t births = hits_of_tick(random, sampled->births), kept = 0, oldest = tick;
	size_t leaks = hits_of_tick(random, sampled->leaks), before = site->count;

	for (size_t i = 0; i < births + leaks; i++) {
		double unit = (double)((kinds_random(random) >> 11) + 1) / 9007199254740993.0;
		size_t dies = tick + (size_t)ceil(-log(unit) * sampled->lives);

		assert_true(site->count < ARRAY_SIZE(site->hits));
		site->hits[site->count].born = tick;
		site->hits[site->count++].dies = i < births ? dies : SIZE_MAX;
	}
	for (size_t i = 0; i < site->count; i++) {
		if (site->hits[i].dies <= tick)
			continue;
		oldest = MIN(oldest, site->hits[i].born);
		site->hits[kept++] = site->hits[i];
	}
	site->numbers.allocated_bytes += (births + leaks) * HIT_BYTES;
	site->numbers.freed_bytes += (before + births + leaks - kept) * HIT_BYTES;
	site->numbers.allocated_count = site->numbers.allocated_bytes / 1024;
	site->numbers.freed_count = site->numbers.freed_bytes / 1024;
	site->numbers.bytes = kept * HIT_BYTES;
	site->numbers.count = site->numbers.bytes / 1024;
	site->numbers.oldest_ns = (tick - oldest) * TICK_NS + TICK_NS / 2;
	site->count = kept;
}

static enum trend_verdict sampled_verdict(const struct sampled_case *sampled, uint64_t seed)
{
	_cleanup_(history_free) struct history history = {0};
	struct snapshot snapshot = {.has_ages = true};
	struct snapshot_process *process = vec_push(&snapshot.processes);
	struct sampled_site *site = calloc(1, sizeof(*site));
	uint64_t random = seed * 1000003;
	struct site_trend trend;
	struct site *numbers;

	assert_non_null(site);
	*process = (struct snapshot_process){.key = 77ull << 32 | 1, .pid = 77, .comm = "samples"};
	numbers = vec_push(&process->sites);
	site->numbers = (struct site){.index = 1, .hit_bytes = HIT_BYTES};
	for (size_t tick = 0; tick < TICKS; tick++) {
		snapshot.sequence++;
		snapshot.monotonic_ns += TICK_NS;
		process->age_ns = snapshot.monotonic_ns;
		sampled_step(site, sampled, &random, tick);
		*numbers = site->numbers;
		process->outstanding_bytes = numbers->bytes;
		assert_int_equal(history_add(&history, &snapshot, NULL), 0);
	}
	site_trend_of(&trend, &history, &history.sites.items[0]);
	free(site);
	snapshot_free(&snapshot);
	return trend.verdict;
}

/*
 * Verdicts of 100 seeds each. A few samples are chance; so, with few exceptions, are fluctuations
 * of samples with blocks that live for a fifth of the observed time.
 */
static void what_chance_may_have_done_is_no_growth_and_leaks_are_found(void **state)
{
	static const struct sampled_case cases[] = {
		{0.05, 40, 0, 0}, {0.4, 5, 0, 0},  {0.5, 40, 0, 5}, {4, 5, 0, 0},
		{40, 0.5, 0, 0},  {2.5, 40, 0, 7}, {20, 5, 0, 0},   {0, 0, 0.01, 0},
		{0, 0, 0.2, 100}, {0, 0, 1, 100},  {4, 5, 0.2, 70}, {4, 5, 1, 100},
		{20, 5, 1, 100},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t leaking = 0, suspect = 0;

		for (uint64_t seed = 1; seed <= 100; seed++) {
			enum trend_verdict verdict = sampled_verdict(&cases[i], seed);

			leaking += verdict == TREND_LEAKING;
			suspect += trend_is_suspect(verdict);
		}
		print_message("%g hits a tick for %g, %g leak: %zu leaking, %zu suspect of 100\n",
			      cases[i].births, cases[i].lives, cases[i].leaks, leaking, suspect);
		/* Two samples of a leak do not suffice. */
		if (cases[i].leaks > 0.1)
			assert_true(suspect >= cases[i].suspect);
		else
			assert_true(suspect <= cases[i].suspect);
	}
}

/* One block more every fifth reading. */
static void evidence_counts_samples_and_not_the_blocks_that_they_stand_for(void **state)
{
	static const struct {
		size_t ticks;
		enum trend_verdict verdict;
		const char *words;
	} cases[] = {
		{30, TREND_STEADY, ", by 5 samples (95%: +3.21 KiB to +5.83 MiB): too few to tell"},
		{150, TREND_LEAKING, ", by 27 samples (95%: +8.54 MiB to +19.6 MiB)"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(history_free) struct history history = {0};
		struct snapshot snapshot = {.has_ages = true};
		struct snapshot_process *process = vec_push(&snapshot.processes);
		char evidence[EVIDENCE_SIZE];
		struct site_trend trend;
		struct site *numbers;

		*process = (struct snapshot_process){.key = 77ull << 32 | 1, .pid = 77};
		numbers = vec_push(&process->sites);
		*numbers = (struct site){.index = 1, .hit_bytes = HIT_BYTES};
		for (size_t tick = 0; tick < cases[i].ticks; tick++) {
			snapshot.monotonic_ns += TICK_NS;
			process->age_ns = snapshot.monotonic_ns;
			numbers->bytes = (tick / 5 + 1) * HIT_BYTES;
			numbers->count = numbers->bytes / 256;
			numbers->allocated_bytes = numbers->bytes;
			numbers->allocated_count = numbers->count;
			numbers->oldest_ns = snapshot.monotonic_ns;
			assert_int_equal(history_add(&history, &snapshot, NULL), 0);
		}
		site_trend_of(&trend, &history, &history.sites.items[0]);
		site_trend_evidence(&trend, evidence);
		print_message("%s: %s\n", trend_verdict_name(trend.verdict), evidence);
		assert_int_equal(trend.verdict, cases[i].verdict);
		assert_non_null(strstr(evidence, cases[i].words));
		snapshot_free(&snapshot);
	}
}

/* Makes a history of one process present throughout, and of one that came late. */
static void history_make_late(struct history *history, size_t before, size_t ticks)
{
	struct snapshot snapshot = {0};
	struct simulated_site site;

	simulated_init(&site, LEAK_STEADY, 11);
	*(struct snapshot_process *)vec_push(&snapshot.processes) =
		(struct snapshot_process){.key = 76ull << 32 | 1, .pid = 76, .comm = "old"};
	for (size_t tick = 0; tick < before + ticks; tick++) {
		snapshot.sequence++;
		snapshot.monotonic_ns += TICK_NS;
		if (tick == before) {
			struct snapshot_process *late = vec_push(&snapshot.processes);

			*late = (struct snapshot_process){
				.key = 77ull << 32 | 1, .pid = 77, .comm = "late"};
			((struct site *)vec_push(&late->sites))->index = 1;
		}
		if (tick >= before) {
			struct snapshot_process *late = &snapshot.processes.items[1];

			late->age_ns = (tick - before + 1) * TICK_NS;
			simulated_step(&site, TICK_NS, &late->sites.items[0]);
			late->outstanding_bytes = late->sites.items[0].bytes;
		}
		assert_int_equal(history_add(history, &snapshot, NULL), 0);
	}
	snapshot_free(&snapshot);
}

/* Not judged by the time before it existed, when it held nothing. */
static void a_process_that_comes_late_is_judged_as_if_it_had_been_watched_alone(void **state)
{
	static const struct {
		size_t ticks;
		enum trend_verdict verdict;
	} cases[] = {{5, TREND_TOO_EARLY}, {14, TREND_LEAKING}, {40, TREND_LEAKING}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(history_free) struct history late = {0}, alone = {0};
		char said[EVIDENCE_SIZE], expected[EVIDENCE_SIZE];
		struct site_trend trend, other;

		history_make_late(&late, 100, cases[i].ticks);
		history_make_late(&alone, 0, cases[i].ticks);
		site_trend_of(&trend, &late, &late.sites.items[0]);
		site_trend_of(&other, &alone, &alone.sites.items[0]);
		assert_int_equal(trend.verdict, cases[i].verdict);
		assert_int_equal(other.verdict, cases[i].verdict);
		assert_string_equal(site_trend_evidence(&trend, said),
				    site_trend_evidence(&other, expected));
		assert_int_equal(trend.trend.points, cases[i].ticks);
		site_trend_of_process(&trend, &late, &late.processes.items[1]);
		assert_int_equal(trend.verdict, cases[i].verdict);
	}
}

/* One block of 100 bytes at every reading, as a runtime's that compiles method by method. */
static void what_has_gained_little_is_growing_and_not_called_leaking(void **state)
{
	static const struct {
		uint64_t age_s; /* at the end */
		uint64_t block_bytes;
		enum trend_verdict verdict;
		const char *words;
	} cases[] = {
		{599, 100, TREND_GROWING,
		 ", too little to tell (+5.76 KiB), warming up (started 599 s ago)"},
		{601, 100, TREND_GROWING, ", too little to tell (+5.76 KiB)"},
		{601, 2200, TREND_GROWING, ", too little to tell (+127 KiB)"},
		{599, 2300, TREND_LEAKING, ", warming up (started 599 s ago)"},
		{601, 2300, TREND_LEAKING, "100% of the blocks"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(history_free) struct history history = {0};
		struct snapshot snapshot = {0};
		struct snapshot_process *process = vec_push(&snapshot.processes);
		char evidence[EVIDENCE_SIZE];
		struct site_trend trend;
		struct site *site;

		*process = (struct snapshot_process){.key = 77ull << 32 | 1, .pid = 77};
		site = vec_push(&process->sites);
		*site = (struct site){.index = 1};
		for (uint64_t tick = 1; tick <= 60; tick++) {
			snapshot.monotonic_ns += TICK_NS;
			process->age_ns = cases[i].age_s * 1000000000;
			site->count = site->allocated_count = tick;
			site->bytes = site->allocated_bytes = tick * cases[i].block_bytes;
			process->outstanding_bytes = site->bytes;
			assert_int_equal(history_add(&history, &snapshot, NULL), 0);
		}
		site_trend_of(&trend, &history, &history.sites.items[0]);
		assert_int_equal(trend.verdict, cases[i].verdict);
		assert_non_null(strstr(site_trend_evidence(&trend, evidence), cases[i].words));
		snapshot_free(&snapshot);
	}
}

/* A call that is recompiled every few readings, each time with another stack. */
#define COMPILED_EVERY 12
#define COMPILED_STACKS 5

struct moving_case {
	uint64_t leaks;	    /* blocks of 1,000 bytes that are never freed, at each reading */
	uint64_t native[2]; /* of the call, and of one with earlier blocks */
	size_t leaking;	    /* of COMPILED_STACKS */
};

static void moving_add(struct snapshot_process *process, uint64_t native, uint64_t blocks)
{
	struct site *site = vec_push(&process->sites);

	*site = (struct site){
		.index = (uint32_t)process->sites.count, .native = native, .count = blocks};
}

static void moving_step(struct snapshot_process *process, const struct moving_case *moving,
			uint64_t tick)
{
	if (!process->sites.count)
		moving_add(process, moving->native[1], 1000);
	if (tick % COMPILED_EVERY == 0)
		moving_add(process, moving->native[0], 0);
	process->sites.items[process->sites.count - 1].count += moving->leaks;
	process->outstanding_bytes = 0;
	for (size_t i = 0; i < process->sites.count; i++) {
		struct site *site = &process->sites.items[i];

		site->allocated_count = site->count;
		site->bytes = site->allocated_bytes = 1000 * site->count;
		process->outstanding_bytes += site->bytes;
	}
}

/* Judges a fleet's build, of a host recorded from the second snapshot on. */
static double build_leaks_per_s(const struct history *history, const struct snapshot *snapshot)
{
	const struct report_host host = {
		.name = "a", .first_ns = 2 * TICK_NS, .last_ns = snapshot->monotonic_ns};
	const struct report_options options = {.history = history};
	struct report report;
	struct fleet fleet;
	double per_s;

	assert_int_equal(report_build(&report, snapshot, &options), 0);
	/* The stacks have no names here, and one number each. */
	for (size_t i = 0; i < report.processes.items[0].sites.count; i++)
		report.processes.items[0].sites.items[i].id = i + 1;
	report.hosts = &host;
	report.host_count = 1;
	assert_int_equal(fleet_build(&fleet, &report), 0);
	assert_int_equal(fleet.builds.count, 1);
	per_s = fleet.builds.items[0].leak_bytes_per_s;
	fleet_free(&fleet);
	report_free(&report);
	return per_s;
}

static void a_leak_by_code_that_moves_is_one_leak(void **state)
{
	static const struct moving_case cases[] = {
		{4, {9, 9}, COMPILED_STACKS},
		{4, {9, 8}, COMPILED_STACKS},
		{4, {0, 0}, 0}, /* nothing was compiled: each counts alone */
		{0, {9, 9}, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(history_free) struct history history = {0};
		struct snapshot snapshot = {0};
		struct snapshot_process *process = vec_push(&snapshot.processes);
		char evidence[EVIDENCE_SIZE];
		size_t leaking = 0;
		double growth = 0;

		*process = (struct snapshot_process){
			.key = 77ull << 32 | 1, .pid = 77, .host = strdup("a")};
		for (uint64_t tick = 0; tick < COMPILED_STACKS * COMPILED_EVERY; tick++) {
			snapshot.monotonic_ns += TICK_NS;
			snapshot.time.tv_sec = (time_t)(snapshot.monotonic_ns / 1000000000);
			moving_step(process, &cases[i], tick);
			assert_int_equal(history_add(&history, &snapshot, NULL), 0);
		}
		assert_int_equal(history.sites.count, 1 + COMPILED_STACKS);
		for (size_t j = 0; j <= COMPILED_STACKS; j++) {
			struct site_trend trend;

			site_trend_of(&trend, &history, &history.sites.items[j]);
			leaking += trend.verdict == TREND_LEAKING;
			/* A site without growth is not accused for others. */
			if (!j)
				assert_false(trend_is_suspect(trend.verdict));
			if (trend.verdict != TREND_LEAKING)
				continue;
			assert_int_equal(trend.merged.stacks,
					 COMPILED_STACKS +
						 (cases[i].native[0] == cases[i].native[1]));
			assert_non_null(strstr(site_trend_evidence(&trend, evidence),
					       " call stacks through compiled code that hold "));
			growth += site_trend_growth(&trend);
			assert_true(trend.merged.trend.slope > 799 &&
				    trend.merged.trend.slope < 801);
		}
		/* Sums over stacks are right. */
		print_message("together %g B/s, as a build %g\n", growth,
			      build_leaks_per_s(&history, &snapshot));
		assert_true(fabs(growth - (cases[i].leaking ? 800 : 0)) < 1);
		assert_true(fabs(build_leaks_per_s(&history, &snapshot) - growth) < 1);
		print_message("%zu of %d stacks leaking\n", leaking, COMPILED_STACKS);
		assert_int_equal(leaking, cases[i].leaking);
		snapshot_free(&snapshot);
	}
}

/* The rest of the process, besides the observed site. */
struct company {
	uint64_t held;	/* bytes that it holds all the time */
	uint64_t age_s; /* when it is seen first */
};

/*
 * Takes a site's bytes at each reading, in blocks of 100 bytes; returns when it is first called
 * leaking, in seconds, or 0; and the final verdict.
 */
static uint64_t leaking_after_s(const uint64_t *bytes, size_t count, const struct company *company,
				enum trend_verdict *last)
{
	_cleanup_(history_free) struct history history = {0};
	struct snapshot snapshot = {0};
	struct snapshot_process *process = vec_push(&snapshot.processes);
	uint64_t found_s = 0;

	*process = (struct snapshot_process){.key = 77ull << 32 | 1, .pid = 77};
	*(struct site *)vec_push(&process->sites) = (struct site){.index = 1};
	for (size_t i = 0; i < count; i++) {
		struct site *site = &process->sites.items[0];
		struct site_trend trend;

		snapshot.monotonic_ns += TICK_NS;
		process->age_ns = company->age_s * 1000000000 + snapshot.monotonic_ns;
		site->bytes = site->allocated_bytes = bytes[i];
		site->count = site->allocated_count = bytes[i] / 100;
		process->outstanding_bytes = company->held + bytes[i];
		assert_int_equal(history_add(&history, &snapshot, NULL), 0);
		site_trend_of(&trend, &history, &history.sites.items[0]);
		if (trend.verdict == TREND_LEAKING && !found_s)
			found_s = (i + 1) * TICK_NS / 1000000000;
		*last = trend.verdict;
	}
	snapshot_free(&snapshot);
	return found_s;
}

/* A table of the methods that a JVM (OpenJDK 17, 40 requests a second) has compiled, of two runs
 * and of two call stacks, every 15 s from the first minute on: then it is full. */
#define COURSE_READINGS 264

static const uint64_t compiled_methods[][41] = {
	{5144,	5784,  8784,  10600, 13664, 23472, 24160, 25400, 26008, 29536, 29584,
	 29584, 34232, 34360, 37976, 37976, 38592, 38784, 38840, 40416, 43792, 48560,
	 51656, 51656, 51656, 51656, 52288, 53056, 53056, 53056, 53056, 61280, 63776,
	 63776, 63776, 63816, 65440, 65440, 65440, 65440, 65848},
	{5312,	7696,  9248,  10984, 14040, 24048, 24736, 26040, 26488, 29912, 29992,
	 30480, 33464, 35360, 38520, 38592, 39112, 39112, 39360, 40032, 43488, 48984,
	 54680, 54680, 54704, 54704, 56336, 57080, 57080, 57080, 57080, 63520, 65168,
	 65168, 65168, 65168, 65576, 65576, 65576, 65576, 65576},
	{83736, 86584, 86584, 86584, 86632, 86680, 86680, 86680, 86680, 86680, 86680,
	 86680, 86680, 86680, 86680, 86680, 86680, 86680, 86680, 86680, 86680, 86680,
	 86680, 86680, 86680, 86680, 86680, 86680, 86680, 86680, 86680, 86680, 86680,
	 86680, 86680, 86680, 86680, 86680, 86680, 86704, 86704},
};

/* Its bytes at a reading: none before the first, then continued. */
static uint64_t course_at(const uint64_t course[41], size_t reading)
{
	size_t place;

	if (reading < 12)
		return course[0] * reading / 12;
	place = (reading - 12) / 3;
	if (place >= 40)
		return course[40];
	return course[place] + (course[place + 1] - course[place]) * ((reading - 12) % 3) / 3;
}

static void what_fills_until_a_runtime_has_warmed_up_is_never_called_leaking(void **state)
{
	/* From its start on, and with an attach too late to detect the warm-up. */
	static const struct company companies[] = {{340000, 0}, {0, 0}, {340000, 3600}, {0, 3600}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(compiled_methods); i++) {
		uint64_t bytes[COURSE_READINGS];

		for (size_t j = 0; j < COURSE_READINGS; j++)
			bytes[j] = course_at(compiled_methods[i], j);
		for (size_t j = 0; j < ARRAY_SIZE(companies); j++) {
			enum trend_verdict last;

			assert_int_equal(
				leaking_after_s(bytes, COURSE_READINGS, &companies[j], &last), 0);
			assert_false(trend_is_suspect(last));
		}
	}
}

/* Ten blocks of 100 bytes a second, and one; in a process of 300 MiB, and in one of nothing
 * else. */
static void a_slow_leak_of_small_blocks_is_called_leaking_within_minutes(void **state)
{
	static const struct {
		uint64_t bytes_per_s, within_s;
		struct company company;
	} cases[] = {
		{1000, 140, {300 << 20, 3600}},
		{1000, 140, {300 << 20, 0}},
		{1000, 140, {0, 3600}},
		{10000, 60, {300 << 20, 3600}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t bytes[COURSE_READINGS], seconds;
		enum trend_verdict last;

		for (size_t j = 0; j < COURSE_READINGS; j++)
			bytes[j] = cases[i].bytes_per_s * (j + 1) * TICK_NS / 1000000000;
		seconds = leaking_after_s(bytes, COURSE_READINGS, &cases[i].company, &last);
		print_message("%d B/s beside %d MiB: leaking after %d s\n",
			      (int)cases[i].bytes_per_s, (int)(cases[i].company.held >> 20),
			      (int)seconds);
		assert_true(seconds > 0 && seconds <= cases[i].within_s);
		assert_int_equal(last, TREND_LEAKING);
	}
}

/*
 * Two sites and their process, at each reading: their gain, and the fate of untracked blocks.
 * Sampled: one block in a hundred.
 */
static void what_replaces_untracked_blocks_is_not_called_leaking(void **state)
{
	static const struct {
		uint64_t gained[2], untracked_frees, unsampled;
		enum trend_verdict verdicts[2];
	} cases[] = {
		{{10, 0}, 10, 0, {TREND_GROWING, TREND_STEADY}},     /* a cache */
		{{10, 10}, 20, 0, {TREND_GROWING, TREND_GROWING}},   /* entries with a value each */
		{{10, 0}, 0, 0, {TREND_LEAKING, TREND_STEADY}},	     /* a leak */
		{{10, 0}, 4, 0, {TREND_LEAKING, TREND_STEADY}},	     /* with a small cache */
		{{10, 10}, 10, 0, {TREND_LEAKING, TREND_LEAKING}},   /* with one as large */
		{{30, 10}, 30, 0, {TREND_GROWING, TREND_LEAKING}},   /* with a larger one */
		{{10, 0}, 1000, 990, {TREND_GROWING, TREND_STEADY}}, /* a cache, sampled */
		{{10, 0}, 0, 990, {TREND_LEAKING, TREND_STEADY}},    /* a leak, sampled */
		{{10, 0}, 99000, 99990, {TREND_LEAKING, TREND_STEADY}}, /* below churning */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(history_free) struct history history = {0};
		struct snapshot snapshot = {0};
		struct snapshot_process *process = vec_push(&snapshot.processes);

		*process = (struct snapshot_process){.key = 77ull << 32 | 1, .pid = 77};
		for (uint32_t j = 0; j < 2; j++)
			*(struct site *)vec_push(&process->sites) = (struct site){.index = j + 1};
		/* More than the history keeps: it is thinned out. */
		for (uint64_t tick = 1; tick <= 300; tick++) {
			uint64_t young = 6 * (300 - tick);

			snapshot.monotonic_ns += TICK_NS;
			process->age_ns = 3600 * UINT64_C(1000000000);
			process->ledger.untracked_frees = tick * cases[i].untracked_frees + young;
			process->ledger.unsampled = tick * cases[i].unsampled;
			process->outstanding_count = process->outstanding_bytes = 0;
			for (size_t j = 0; j < 2; j++) {
				struct site *site = &process->sites.items[j];

				site->count = site->allocated_count = tick * cases[i].gained[j];
				site->bytes = site->allocated_bytes = site->count * 2300;
				process->outstanding_count += site->count;
				process->outstanding_bytes += site->bytes;
			}
			/* Young blocks are in the ledger alone, fewer as the process does less. */
			process->ledger.outstanding = process->outstanding_count + young;
			assert_int_equal(history_add(&history, &snapshot, NULL), 0);
		}
		for (size_t j = 0; j < 2; j++) {
			struct site_trend trend;
			char evidence[EVIDENCE_SIZE];

			site_trend_of(&trend, &history, &history.sites.items[j]);
			assert_int_equal(trend.verdict, cases[i].verdicts[j]);
			assert_int_equal(!!strstr(site_trend_evidence(&trend, evidence),
						  ", as many untracked blocks were freed"),
					 trend.verdict == TREND_GROWING);
		}
		snapshot_free(&snapshot);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_replaces_untracked_blocks_is_not_called_leaking),
		cmocka_unit_test(what_has_gained_little_is_growing_and_not_called_leaking),
		cmocka_unit_test(
			a_process_that_comes_late_is_judged_as_if_it_had_been_watched_alone),
		cmocka_unit_test(a_leak_by_code_that_moves_is_one_leak),
		cmocka_unit_test(what_fills_until_a_runtime_has_warmed_up_is_never_called_leaking),
		cmocka_unit_test(a_slow_leak_of_small_blocks_is_called_leaking_within_minutes),
		cmocka_unit_test(no_cache_is_called_a_leak_and_no_leak_is_overlooked),
		cmocka_unit_test(survival_is_the_share_of_blocks_that_are_still_there),
		cmocka_unit_test(shares_older_than_each_age_follow_the_blocks),
		cmocka_unit_test(growth_ranks_only_what_grows_for_sure),
		cmocka_unit_test(a_steady_leak_is_measured_to_the_byte_per_second),
		cmocka_unit_test(too_few_snapshots_give_no_verdict),
		cmocka_unit_test(nothing_leaks_at_once_and_a_young_process_is_marked),
		cmocka_unit_test(what_chance_may_have_done_is_no_growth_and_leaks_are_found),
		cmocka_unit_test(evidence_counts_samples_and_not_the_blocks_that_they_stand_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
