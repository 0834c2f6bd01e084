// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/triage/managed_look.h"
#include "heap/memory/managed_share.h"

/* A triage passes over its own children: this one is a child's, and ends with it. */
static pid_t start_another(pid_t *parent)
{
	pid_t *child = mmap(NULL, sizeof(*child), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t started;

	assert_ptr_not_equal(child, MAP_FAILED);
	*parent = fork();
	if (!*parent) {
		started = fork();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (started)
			__atomic_store_n(child, started, __ATOMIC_RELEASE);
		for (;;)
			pause();
	}
	while (!(started = __atomic_load_n(child, __ATOMIC_ACQUIRE)))
		usleep(1000);
	munmap(child, sizeof(*child));
	return started;
}

/* A triage of one suspect. */
struct suspect {
	struct triage_entry entry;
	struct triage_report report;
	struct triage triage;
	struct member *member;
	pid_t parent;
};

static void open_suspect(struct suspect *suspect)
{
	*suspect = (struct suspect){
		.entry = {.growth = {.kind = QUANTITY_HEAP, .verdict = TREND_LEAKING}},
		.report = {.processes = {&suspect->entry, 1, 1}},
	};
	suspect->entry.pid = start_another(&suspect->parent);
	assert_int_equal(triage_open(&suspect->triage, 5, 1), 0);
	assert_int_equal(triage_poll(&suspect->triage), 0);
	suspect->member = population_find(&suspect->triage.population, suspect->entry.pid);
	assert_non_null(suspect->member);
	suspect->triage.budget.credit_s = 0;
}

static void close_suspect(struct suspect *suspect)
{
	triage_close(&suspect->triage);
	kill(suspect->parent, SIGKILL);
	waitpid(suspect->parent, NULL, 0);
}

/* A first look decides whether call stacks are sampled; further ones leave their share alone. */
static void reads_of_managed_heaps_leave_the_share_of_call_stacks(void **state)
{
	struct suspect suspect;
	struct triage *triage = &suspect.triage;
	struct managed_growth *managed;

	(void)state;
	open_suspect(&suspect);
	managed = &suspect.member->managed;
	triage->stacks_reserve_s = budget_stacks_reserve_s();
	triage->budget.last_cost.escalation_s = 0;
	managed_look(triage, &suspect.report);
	assert_true(managed->last_s == 0);
	triage->budget.credit_s = budget_stacks_reserve_s();
	managed_look(triage, &suspect.report);
	assert_true(managed->last_s > 0);
	managed->last_s = -3600;
	managed_look(triage, &suspect.report);
	assert_true(managed->last_s == -3600);
	triage->budget.credit_s = 2 * budget_stacks_reserve_s();
	managed_look(triage, &suspect.report);
	assert_true(managed->last_s > 0);
	close_suspect(&suspect);
}

static void code_that_was_made_while_it_ran_is_counted(void **state)
{
	const size_t size = 64 * 4096;
	struct managed_share before, after;
	void *code;

	(void)state;
	assert_int_equal(managed_share_read(getpid(), &before), 0);
	code = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	assert_ptr_not_equal(code, MAP_FAILED);
	memset(code, 0xcc, size);
	assert_int_equal(managed_share_read(getpid(), &after), 0);
	assert_int_equal(after.code_bytes - before.code_bytes, size);
	munmap(code, size);
}

static enum trend_verdict judged(struct suspect *suspect)
{
	suspect->entry.growth.verdict = TREND_LEAKING;
	suspect->report.processes.verdicts[TREND_LEAKING] = 1;
	managed_look(&suspect->triage, &suspect->report);
	return suspect->entry.growth.verdict;
}

/* One suspect is looked at each time some seconds have passed; unused time is not saved up. */
static void what_was_not_looked_at_is_not_called_leaking(void **state)
{
	struct suspect suspect;
	struct managed_growth *managed;

	(void)state;
	open_suspect(&suspect);
	managed = &suspect.member->managed;
	suspect.triage.owed_look_s = triage_now(&suspect.triage);
	assert_int_equal(judged(&suspect), TREND_GROWING);
	assert_true(managed->last_s == 0);
	suspect.triage.owed_look_s = -10;
	assert_int_equal(judged(&suspect), TREND_LEAKING);
	assert_true(managed->last_s > 0);
	assert_true(suspect.triage.owed_look_s > 0);
	/* Its memory will never be read. */
	*managed = (struct managed_growth){.unreadable = true};
	assert_int_equal(judged(&suspect), TREND_LEAKING);
	/* Entries far down the list were examined, too. */
	*managed = (struct managed_growth){
		.runtime = {.key = "hotspot", .name = "JVM", .collects = true},
		.first_s = 1,
		.last_s = triage_now(&suspect.triage),
	};
	assert_int_equal(judged(&suspect), TREND_GROWING);
	assert_ptr_equal(suspect.entry.managed, managed);
	close_suspect(&suspect);
}

static void
a_heap_that_is_collected_is_looked_at_twice_and_grows_by_1_mib_before_a_verdict(void **state)
{
	static const struct {
		struct managed_growth growth;
		bool undecided;
	} cases[] = {
		{{.last_s = 0}, true},
		{{.unreadable = true}, false},
		{{.first_s = 5, .last_s = 5}, false},
		{{.runtime = {.key = "python"}, .first_s = 5, .last_s = 5}, false},
		{{.runtime = {.key = "v8", .collects = true}, .first_s = 5, .last_s = 5}, true},
		{{.runtime = {.key = "v8", .collects = true},
		  .first_s = 5,
		  .last_s = 65,
		  .all_grown = (1 << 20) - 1},
		 true},
		{{.runtime = {.key = "v8", .collects = true},
		  .first_s = 5,
		  .last_s = 65,
		  .all_grown = 1 << 20},
		 false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (managed_growth_is_undecided(&cases[i].growth) != cases[i].undecided)
			fail_msg("case %zu", i);
	}
}

/* A container with a JVM that fills its young generation, and others. */
static void a_group_is_not_called_leaking_for_processes_that_are_not(void **state)
{
	static const struct {
		double doubted_per_s, warming_per_s, leaking_per_s;
		const char *cgroup; /* of the processes */
		enum trend_verdict verdict;
	} cases[] = {
		{100, 0, 0, "/web", TREND_GROWING},   {0, 100, 0, "/web", TREND_GROWING},
		{30, 30, 40, "/web", TREND_GROWING},  {20, 20, 60, "/web", TREND_LEAKING},
		{0, 0, 100, "/web", TREND_LEAKING},   {0, 0, 100, "/web/a", TREND_LEAKING},
		{0, 0, 40, "/web", TREND_GROWING},    {0, 0, 100, "/website", TREND_GROWING},
		{0, 0, 100, "/other", TREND_GROWING}, {0, 0, 100, NULL, TREND_GROWING},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct growth heap = {.kind = QUANTITY_HEAP, .verdict = TREND_LEAKING};
		struct triage_entry processes[3] = {{.pid = 1}, {.pid = 2}, {.pid = 3}};
		struct triage_entry group = {.cgroup = "/web", .growth = heap};
		struct triage_report report = {
			.processes = {processes, 3, 3, {[TREND_LEAKING] = 2, [TREND_GROWING] = 1}},
			.groups = {&group, 1, 1, {[TREND_LEAKING] = 1}},
		};

		for (size_t j = 0; j < 3; j++) {
			processes[j].cgroup = cases[i].cgroup;
			processes[j].growth = heap;
		}
		group.growth.per_s = 100;
		processes[0].growth.memory_per_s = cases[i].doubted_per_s;
		processes[1].growth.memory_per_s = cases[i].warming_per_s;
		processes[1].growth.warms_up = true;
		processes[1].growth.verdict = TREND_GROWING;
		processes[2].growth.memory_per_s = cases[i].leaking_per_s;
		triage_report_doubt(&report, &processes[0]);
		assert_int_equal(processes[0].growth.verdict, TREND_GROWING);
		triage_report_doubt_groups(&report);
		assert_int_equal(group.growth.verdict, cases[i].verdict);
		assert_int_equal(report.groups.verdicts[cases[i].verdict], 1);
		assert_int_equal(report.processes.verdicts[TREND_LEAKING], 1);
	}
}

/* Processes that pile up, each as large as it was; and suspects that a short list has no room
 * for. */
static void
a_group_that_multiplies_is_called_leaking_and_so_is_one_with_unlisted_suspects(void **state)
{
	static const struct {
		bool multiplies;
		size_t total;
		enum trend_verdict last, verdict;
	} cases[] = {
		{false, 1, TREND_STEADY, TREND_GROWING},
		{true, 1, TREND_STEADY, TREND_LEAKING},
		{false, 9, TREND_STEADY, TREND_GROWING},
		{false, 9, TREND_GROWING, TREND_LEAKING},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct triage_entry process = {.pid = 1, .growth.verdict = cases[i].last};
		struct triage_entry group = {
			.cgroup = "/web",
			.growth = {.kind = QUANTITY_HEAP, .verdict = TREND_LEAKING, .per_s = 100},
			.multiplies = cases[i].multiplies,
		};
		struct triage_report report = {
			.processes = {&process, 1, cases[i].total, {0}},
			.groups = {&group, 1, 1, {[TREND_LEAKING] = 1}},
		};

		triage_report_doubt_groups(&report);
		assert_int_equal(group.growth.verdict, cases[i].verdict);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_is_not_called_leaking_for_processes_that_are_not),
		cmocka_unit_test(
			a_group_that_multiplies_is_called_leaking_and_so_is_one_with_unlisted_suspects),
		cmocka_unit_test(code_that_was_made_while_it_ran_is_counted),
		cmocka_unit_test(reads_of_managed_heaps_leave_the_share_of_call_stacks),
		cmocka_unit_test(what_was_not_looked_at_is_not_called_leaking),
		cmocka_unit_test(
			a_heap_that_is_collected_is_looked_at_twice_and_grows_by_1_mib_before_a_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
