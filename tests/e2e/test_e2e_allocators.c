// SPDX-License-Identifier: GPL-2.0-or-later
/* Every allocator, with the real library: counts equal the truth, to the last byte. */
#include "harness.h"

#include <signal.h>

#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"
#define JEMALLOC LIBRARIES "libjemalloc.so.2"
#define TCMALLOC LIBRARIES "libtcmalloc_minimal.so.4"
#define TCMALLOC_FULL LIBRARIES "libtcmalloc.so.4"
#define TCMALLOC_DEBUG LIBRARIES "libtcmalloc_minimal_debug.so.4"
#define MIMALLOC LIBRARIES "libmimalloc.so.2.0"

static const char *preload; /* for the child that is started next */

static void set_preload(void)
{
	setenv("LD_PRELOAD", preload, 1);
}

/* Starts a workload with another allocator; NULL: its own. */
static struct child *start(struct harness *harness, const char *name, const char *library)
{
	struct child *workload;
	char path[256], *line;

	if (!library)
		return WORKLOAD(harness, name);
	if (!strchr(library, ':') && access(library, R_OK))
		fail_msg("%s is not there: run scripts/deps.sh", library);
	snprintf(path, sizeof(path), "%s/%s",
		 getenv("LEAKMON_WORKLOADS") ? getenv("LEAKMON_WORKLOADS") : "build/workloads",
		 name);
	preload = library;
	workload = child_start(harness, path, ARGUMENTS(name), set_preload);
	line = child_line(harness, workload, &workload->out);
	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	return workload;
}

/*
 * An operator that gets its block from malloc is in the stack as malloc's caller. Here only its own
 * caller matters.
 */
static void take_off_operators(json_t *report, pid_t pid)
{
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(process_of(report, pid), "sites"), i, site)
	{
		json_t *frames = json_object_get(site, "frames");
		const char *name =
			json_string_value(json_object_get(json_array_get(frames, 0), "function"));

		if (name && (!strncmp(name, "operator new", 12) || !strncmp(name, "mi_new", 6)))
			json_array_remove(frames, 0);
		name = json_string_value(json_object_get(json_array_get(frames, 0), "function"));
		if (name && !strncmp(name, "operator new", 12))
			json_array_remove(frames, 0); /* new[] calls new */
	}
}

static void expect_exact(struct harness *harness, const char *name, const char *library,
			 const char *command, const char *const *options)
{
	struct child *workload = start(harness, name, library);
	const char *argv[16] = {"leakmon", "-p", workload->pid_text, "-o", "0", "--format", "json"};
	size_t count = 7;
	json_t *report;

	while (options && *options)
		argv[count++] = *options++;
	argv[count] = "3600";
	print_message("  %s above %s%s%s\n", name, library ? library : "its own allocator",
		      count > 7 ? " " : "", count > 7 ? argv[7] : "");
	report = watch(harness, workload, command, argv);
	take_off_operators(report, workload->pid);
	expect_truth(report, workload_ask(harness, workload, "ledger"));
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

/* Uses every method of attaching that this kernel supports. */
static void expect_exact_always(struct harness *harness, const char *name, const char *library,
				const char *command)
{
	expect_exact(harness, name, library, command, NULL);
	expect_exact(harness, name, library, command, ARGUMENTS("--attach=multi"));
	expect_exact(harness, name, library, command, ARGUMENTS("--probe-at=entry"));
}

static void c_functions_are_exact_above_every_allocator(void **state)
{
	static const char *const libraries[] = {NULL,	       JEMALLOC,       TCMALLOC,
						TCMALLOC_FULL, TCMALLOC_DEBUG, MIMALLOC};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		expect_exact(harness, "portable", libraries[i], "go", NULL);
}

static void operators_are_exact_in_every_form_above_every_allocator(void **state)
{
	/* The debugging tcmalloc is not in the list: it allocates for itself, with operator new. */
	static const char *const libraries[] = {NULL, JEMALLOC, TCMALLOC, TCMALLOC_FULL, MIMALLOC};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		expect_exact(harness, "operators", libraries[i], "go", NULL);
}

static void operators_are_exact_however_probes_attach(void **state)
{
	struct harness *harness = harness_bpf(state);

	expect_exact_always(harness, "operators", JEMALLOC, "go");
	expect_exact_always(harness, "operators", TCMALLOC, "go");
	expect_exact(harness, "operators", JEMALLOC, "go", ARGUMENTS("--attach=perf"));
}

/* Fast paths, slow paths, refills: a hundred thousand of each. */
static void a_storm_of_operators_is_exact(void **state)
{
	static const char *const libraries[] = {NULL, JEMALLOC, TCMALLOC, MIMALLOC};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		expect_exact(harness, "operators", libraries[i], "many", NULL);
}

static void own_names_are_exact(void **state)
{
	static const char *const names[] = {"jemalloc_api", "tcmalloc_api", "mimalloc_api"};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < 3; i++)
		expect_exact_always(harness, names[i], NULL, "go");
}

static void musl_is_exact_dynamic_and_static(void **state)
{
	struct harness *harness = harness_bpf(state);

	expect_exact_always(harness, "portable_musl", NULL, "go");
	expect_exact_always(harness, "portable_musl_static", NULL, "go");
}

static void static_programs_are_exact(void **state)
{
	struct harness *harness = harness_bpf(state);

	expect_exact(harness, "portable_static", NULL, "go", NULL);
	expect_exact(harness, "portable_static_pie", NULL, "go", NULL);
	expect_exact(harness, "operators_static", NULL, "go", NULL);
}

static void a_private_allocator_is_found_by_its_prefix(void **state)
{
	struct harness *harness = harness_bpf(state);

	expect_exact(harness, "private_heap", NULL, "go", ARGUMENTS("-S", "pool_"));
}

/* Its other heap, the C library's, is left out by --obj. */
static void a_known_prefix_needs_no_option(void **state)
{
	struct harness *harness = harness_bpf(state);
	const char *directory = getenv("LEAKMON_WORKLOADS");
	char path[256], resolved[4096];

	snprintf(path, sizeof(path), "%s/je_heap", directory ? directory : "build/workloads");
	assert_non_null(realpath(path, resolved));
	expect_exact(harness, "je_heap", NULL, "go", ARGUMENTS("--obj", resolved));
	expect_exact(harness, "je_heap", NULL, "go", ARGUMENTS("-S", "je_"));
}

static void a_stripped_static_program_has_no_allocator_to_find(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "portable_stripped");

	monitor_expect_error(harness, MONITOR(harness, "-p", workload->pid_text), 1,
			     "is linked statically and stripped: no allocator can be found in it");
	workload_do(harness, workload, "go");
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

/* A library above an allocator hands each block on to it: one allocation, and one free. */
static void layers_are_counted_once(void **state)
{
	struct harness *harness = harness_bpf(state);
	const char *directory = getenv("LEAKMON_TRUTH");
	char above[512], both[1024];

	snprintf(above, sizeof(above), "%s/counting_preload.so",
		 directory ? directory : "build/truth");
	expect_exact(harness, "portable", above, "go", NULL);
	snprintf(both, sizeof(both), "%s:" JEMALLOC, above);
	expect_exact(harness, "portable", both, "go", NULL);
	expect_exact(harness, "operators", both, "go", NULL);
}

/* Mapped after the attach: probed before the next report at the latest. */
static void an_allocator_that_is_loaded_later_is_probed(void **state)
{
	static const char *const libraries[] = {TCMALLOC, MIMALLOC};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		struct child *workload = WORKLOAD(harness, "late", libraries[i]);
		struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o",
							 "0", "--format", "json", "3600");
		json_t *report;

		workload_do(harness, workload, "load");
		child_signal(monitor, SIGUSR1);
		monitor_report(harness, monitor);
		child_wait_text(harness, monitor, &monitor->err, "mapped another allocator");
		workload_do(harness, workload, "go");
		report = monitor_stop(harness, monitor);
		expect_balance(report);
		expect_held(process_of(report, workload->pid), "late_blocks", 50, 2550);
		workload_send(workload, "quit");
		assert_int_equal(child_end(harness, workload), 0);
	}
}

/*
 * A throwing operator new under probes, a thousand times: the process continues, every exception is
 * caught, and the ledger balances. The exceptions themselves are allocated by malloc and freed.
 */
static void failures_do_no_harm(struct harness *harness, const char *library, const char *command)
{
	struct child *workload = start(harness, "operators", library);
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *report, *process;

	print_message("  %s above %s\n", command, library ? library : "its own allocator");
	workload_do(harness, workload, command);
	workload_do(harness, workload, "linger");
	child_signal(monitor, SIGUSR1);
	report = monitor_report(harness, monitor);
	process = process_of(report, workload->pid);
	expect_balance(report);
	assert_int_equal(dropped_sum(report), 0);
	assert_int_equal(ledger_at(report, "untracked_frees"), 0);
	/* A call that threw is abandoned, or the malloc in it failed. */
	assert_true(ledger_at(report, "failed") + ledger_at(report, "abandoned") >= 2000);
	take_off_operators(report, workload->pid);
	expect_held(process, "new_lingering", 1, 77);
	assert_int_equal(ledger_at(report, "outstanding"), 1);
	workload_send(workload, "leave");
	assert_int_equal(child_end(harness, workload), 43);
	assert_int_equal(child_end(harness, monitor), 0);
}

static void exceptions_of_operator_new_do_no_harm(void **state)
{
	/* mimalloc's operator new ends the process when out of memory: it is built as C. */
	static const char *const libraries[] = {NULL, JEMALLOC, TCMALLOC, TCMALLOC_FULL};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		failures_do_no_harm(harness, libraries[i], "fail");
		failures_do_no_harm(harness, libraries[i], "limit");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(c_functions_are_exact_above_every_allocator),
		e2e_test(operators_are_exact_in_every_form_above_every_allocator),
		e2e_test(operators_are_exact_however_probes_attach),
		e2e_test(a_storm_of_operators_is_exact),
		e2e_test(own_names_are_exact),
		e2e_test(musl_is_exact_dynamic_and_static),
		e2e_test(static_programs_are_exact),
		e2e_test(a_private_allocator_is_found_by_its_prefix),
		e2e_test(a_known_prefix_needs_no_option),
		e2e_test(a_stripped_static_program_has_no_allocator_to_find),
		e2e_test(layers_are_counted_once),
		e2e_test(an_allocator_that_is_loaded_later_is_probed),
		e2e_test(exceptions_of_operator_new_do_no_harm),
	};

	return cmocka_run_group_tests_name("e2e_allocators", tests, NULL, NULL);
}
