// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * leakmon profile killed at the worst times: while a window's probes are set, while they are
 * removed, and in between. The kernel cannot remove breakpoints on behalf of a process that is
 * being killed (see trace/probe/attach.h), and a profile does so about once a second, for days.
 */
#include "code_bytes.h"
#include "harness.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>

enum moment { WHEN_THEY_COME, WHEN_THEY_STAND, WHEN_THEY_GO, MOMENTS };

static const char *const moment_names[MOMENTS] = {
	[WHEN_THEY_COME] = "while its probes come",
	[WHEN_THEY_STAND] = "while they stand",
	[WHEN_THEY_GO] = "while they go",
};

/* Locations of probes, for readers of single bytes only. */
struct places {
	uint64_t addresses[CODE_BYTES_MAX];
	unsigned char alone[CODE_BYTES_MAX];
	size_t count;
	int memory;
};

static unsigned char byte_at(const struct places *places, size_t i)
{
	unsigned char byte = 0;

	assert_int_equal(pread(places->memory, &byte, 1, (off_t)places->addresses[i]), 1);
	return byte;
}

static size_t set_now(const struct places *places)
{
	size_t set = 0;

	for (size_t i = 0; i < places->count; i++)
		set += byte_at(places, i) != places->alone[i];
	return set;
}

static void find_places(struct harness *harness, struct child *workload, const char *method,
			struct places *places)
{
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--attach",
						 method, "--no-threads", "3600");
	char path[64];

	places->count = code_bytes_changed(workload->pid, places->addresses);
	assert_true(places->count >= 4 && places->count < CODE_BYTES_MAX);
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	code_bytes_wait_clean(workload->pid);
	snprintf(path, sizeof(path), "/proc/%d/mem", workload->pid);
	places->memory = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(places->memory >= 0);
	for (size_t i = 0; i < places->count; i++)
		places->alone[i] = byte_at(places, i);
}

/* A window soon reaches this state: it takes half of the time. */
static void wait_for_moment(const struct places *places, enum moment moment)
{
	size_t most = 0, now;

	while (set_now(places))
		sched_yield();
	while (!(now = set_now(places)))
		;
	if (moment == WHEN_THEY_COME)
		return;
	for (int same = 0; same<20; same = now> most ? 0 : same + 1) {
		most = now > most ? now : most;
		now = set_now(places);
	}
	while (moment == WHEN_THEY_GO && set_now(places) >= most)
		;
}

static void killed_at(struct harness *harness, const char *method, enum moment moment, int times)
{
	struct child *workload = WORKLOAD(harness, "dripper", "200", "20");
	struct places places;

	find_places(harness, workload, method, &places);
	for (int i = 0; i < times; i++) {
		struct child *monitor =
			MONITOR_ATTACHED(harness, "profile", "-p", workload->pid_text, "--overhead",
					 "50%", "--attach", method, "3600");

		wait_for_moment(&places, moment);
		child_signal(monitor, SIGKILL);
		assert_int_equal(child_end(harness, monitor), 128 + SIGKILL);
		for (int tries = 0; tries < 500 && code_difference(workload->pid); tries++)
			usleep(20000);
		if (code_difference(workload->pid))
			fail_msg("killed %s (%s), time %d: %zu bytes of code are not the file's",
				 moment_names[moment], method, i, code_difference(workload->pid));
	}
	close(places.memory);
	child_signal(workload, SIGTERM);
	assert_int_equal(child_end(harness, workload), 0);
}

static int times(int fallback)
{
	const char *given = getenv("LEAKMON_RUNS");

	return given ? atoi(given) : fallback;
}

static void a_profile_killed_while_probes_come_leaves_none(void **state)
{
	killed_at(harness_bpf(state), "auto", WHEN_THEY_COME, times(5));
}

static void a_profile_killed_while_probes_stand_leaves_none(void **state)
{
	killed_at(harness_bpf(state), "auto", WHEN_THEY_STAND, times(2));
}

static void a_profile_killed_while_probes_go_leaves_none(void **state)
{
	killed_at(harness_bpf(state), "auto", WHEN_THEY_GO, times(6));
}

static void the_same_with_perf_events(void **state)
{
	killed_at(harness_bpf(state), "perf", WHEN_THEY_COME, times(2));
	killed_at(harness_bpf(state), "perf", WHEN_THEY_GO, times(2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_profile_killed_while_probes_come_leaves_none),
		e2e_test(a_profile_killed_while_probes_stand_leaves_none),
		e2e_test(a_profile_killed_while_probes_go_leaves_none),
		e2e_test(the_same_with_perf_events),
	};

	return cmocka_run_group_tests_name("e2e_profile_death", tests, NULL, NULL);
}
