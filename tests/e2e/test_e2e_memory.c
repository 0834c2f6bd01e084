// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `leakmon memory` compared with programs' knowledge of their own memory: glibc's mallinfo2; no
 * BPF.
 */
#include "retain_json.h"
#include "shell.h"

#include <signal.h>
#include <sys/stat.h>

#define MEMORY(harness, target, ...)                                                               \
	json_array_get(json_object_get(report_of(harness, MONITOR(harness, "memory", "-p",         \
								  (target)->pid_text, "--format",  \
								  "json", ##__VA_ARGS__)),         \
				       "processes"),                                               \
		       0)

static json_t *share_at(json_t *object, const char *list, const char *name)
{
	return json_object_get(json_object_get(object, list), name);
}

/* Requirements of every report, for any heap; nothing is missing from the sum. */
static void expect_sums(json_t *process)
{
	json_int_t sum = 0;
	const char *name;
	json_t *share;

	json_object_foreach(json_object_get(process, "parts"), name, share) sum +=
		number_at(share, "resident_bytes");
	assert_int_equal(sum + number_at(process, "difference_bytes"),
			 number_at(process, "rss_bytes"));
	assert_int_equal(number_at(process, "difference_bytes"), 0);
	assert_int_equal(number_at(share_at(process, "parts", "heap_unknown"), "size_bytes"), 0);
}

static void expect_mallinfo(json_t *process, json_t *truth)
{
	json_t *allocator = json_object_get(process, "allocator"), *main_arena;

	assert_int_equal(number_at(allocator, "system_bytes"), number_at(truth, "arena"));
	assert_int_equal(number_at(allocator, "used_bytes"), number_at(truth, "uordblks"));
	assert_int_equal(number_at(allocator, "free_bytes"), number_at(truth, "fordblks"));
	assert_int_equal(number_at(allocator, "fast_bytes"), number_at(truth, "fsmblks"));
	assert_int_equal(number_at(allocator, "mapped_bytes"), number_at(truth, "hblkhd"));
	assert_int_equal(number_at(allocator, "mapped_blocks"), number_at(truth, "hblks"));
	main_arena = json_array_get(json_object_get(allocator, "arena_list"), 0);
	assert_true(json_is_true(json_object_get(main_arena, "main")));
	assert_int_equal(number_at(json_object_get(main_arena, "tops"), "bytes"),
			 number_at(truth, "keepcost"));
	expect_sums(process);
}

/* Reads it, and checks it against the program's own figures while it is idle. */
static json_t *compare(struct harness *harness, struct child *target)
{
	json_t *truth = workload_ask(harness, target, "truth");
	json_t *process = MEMORY(harness, target);

	expect_mallinfo(process, truth);
	return json_object_get(process, "allocator");
}

static void the_parts_of_one_arena_are_mallinfos(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "mallinfo");
	json_t *allocator;

	workload_do(harness, target, "mixed");
	allocator = compare(harness, target);
	assert_int_equal(strncmp(text_at(allocator, "name"), "glibc 2.", 8), 0);
	assert_int_equal(number_at(allocator, "bins_bytes"),
			 number_at(allocator, "unsorted_bytes") +
				 number_at(allocator, "small_bytes") +
				 number_at(allocator, "large_bytes"));
}

static void fast_bins_and_a_full_cache_are_mallinfos(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "mallinfo");
	json_t *allocator;

	workload_do(harness, target, "fast");
	allocator = compare(harness, target);
	/* 80 blocks of each size, of which the cache has room for seven. */
	assert_int_equal(number_at(allocator, "fast_bytes"), 73 * (32 + 48 + 64 + 80 + 96));
	workload_do(harness, target, "cache");
	allocator = compare(harness, target);
	/* Seven of each of its 64 sizes, and its own record. */
	assert_int_equal(number_at(allocator, "cached_bytes"),
			 7 * (64 * 32 + 16 * 63 * 64 / 2) + 0x290);
}

static void sixty_four_arenas_are_mallinfos(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "mallinfo");
	json_t *process, *stacks, *arena;
	size_t i;

	workload_do(harness, target, "arenas");
	assert_int_equal(number_at(compare(harness, target), "arenas"), 65);
	process = MEMORY(harness, target);
	stacks = json_object_get(process, "stacks");
	assert_int_equal(number_at(stacks, "live"), 65);
	assert_int_equal(number_at(stacks, "ended"), 0);
	json_array_foreach(share_at(process, "allocator", "arena_list"), i, arena)
		assert_int_equal(number_at(arena, "threads"), 1);
}

static void blocks_with_their_own_mappings_are_counted_apart(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "mallinfo");
	json_t *process;

	workload_do(harness, target, "mapped");
	compare(harness, target);
	process = MEMORY(harness, target);
	assert_int_equal(number_at(share_at(process, "parts", "mapped_blocks"), "size_bytes"),
			 number_at(json_object_get(process, "allocator"), "mapped_bytes"));
}

/* In static programs the arenas, and the version, if any, are in the program's own data. */
static void a_static_programs_parts_are_mallinfos(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "mallinfo_static");

	workload_do(harness, target, "mixed");
	compare(harness, target);
	workload_do(harness, target, "fast");
	workload_do(harness, target, "mapped");
	compare(harness, target);
}

/* Blocks of musl have a resident part, and its sum is that of the process. */
static void the_heap_of_musl_is_split_as_well(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "portable_musl");
	json_t *process;

	workload_do(harness, target, "go");
	process = MEMORY(harness, target);
	assert_string_equal(text_at(process, "not_known"), "");
	assert_true(number_at(share_at(process, "parts", "live_blocks"), "resident_bytes") > 0);
	expect_sums(process);
}

/* The prediction equals the kernel's figure afterwards, to the page. */
static void what_malloc_trim_gives_back_is_known_before(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "mallinfo");
	json_int_t promised, before, after;

	/* Other pages touched by a first call. */
	workload_do(harness, target, "trim");
	workload_ask(harness, target, "truth");
	workload_do(harness, target, "mixed");
	workload_do(harness, target, "drop");
	workload_do(harness, target, "fast");
	before = number_at(workload_ask(harness, target, "truth"), "anonymous");
	promised = number_at(compare(harness, target), "trimmable_bytes");
	workload_do(harness, target, "trim");
	after = number_at(workload_ask(harness, target, "truth"), "anonymous");
	assert_true(promised > 40 << 20);
	assert_int_equal(before - after, promised);
	assert_int_equal(number_at(compare(harness, target), "trimmable_bytes"), 0);
}

/* Started before something happens, and asked afterwards. */
static struct child *memory_watch(struct harness *harness, struct child *target)
{
	struct child *monitor =
		MONITOR(harness, "memory", "-p", target->pid_text, "--format", "json", "3600");

	child_wait_text(harness, monitor, &monitor->err, "what has grown since");
	return monitor;
}

static json_t *conclusion_of(json_t *report)
{
	return json_object_get(json_array_get(json_object_get(report, "processes"), 0),
			       "conclusion");
}

static const struct cause {
	const char *command, *verdict, *words;
	const char *first; /* before the first reading; NULL: nothing */
} causes[] = {
	{"leak", "live", "a leak if this goes on", NULL},
	{"retain", "retained", "not a leak; malloc keeps it. malloc_trim(3)", NULL},
	{"fragment", "fragmentation", "not a leak; fragmentation", NULL},
	{"arenas", "arenas", "MALLOC_ARENA_MAX=2 (mallopt(3))", NULL},
	{"caches", "thread-caches", "glibc.malloc.tcache_count", NULL},
	{"stacks", "stacks", "17 stacks of threads that live (1 before)", NULL},
	{"file", "files", "not a leak; pages of mapped files are page cache", NULL},
	{"shared", "shared-memory", "shm_unlink(3)", NULL},
	{"tables", "page-tables", "a large sparse address range stays mapped", NULL},
	{"copy", "copy-on-write", "pages shared by fork become private", "fork"},
	{"fill", "fills", "not a leak; it fills a mapping of 64.0 MiB", "map"},
	{"fill", "fills", "75 % full: 24.0 MiB → 48.0 MiB, bounded by that size, unless",
	 "map-own"},
};

static void expect_conclusion(json_t *conclusion, const struct cause *cause)
{
	if (strcmp(text_at(conclusion, "verdict"), cause->verdict) != 0)
		print_error("%s: %s\n", cause->command, text_at(conclusion, "text"));
	assert_string_equal(text_at(conclusion, "verdict"), cause->verdict);
	assert_non_null(strstr(text_at(conclusion, "text"), cause->words));
}

static void each_cause_of_growth_gets_its_sentence(void **state)
{
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		struct child *target = WORKLOAD(harness, "keeper"), *monitor;
		json_t *conclusion;

		if (causes[i].first)
			workload_do(harness, target, causes[i].first);
		monitor = memory_watch(harness, target);
		assert_string_equal(
			text_at(conclusion_of(monitor_snapshot(harness, monitor)), "verdict"),
			"steady");
		workload_do(harness, target, causes[i].command);
		conclusion = conclusion_of(monitor_snapshot(harness, monitor));
		expect_conclusion(conclusion, &causes[i]);
		assert_null(strstr(text_at(conclusion, "text"), "besides"));
		workload_do(harness, target, "besides");
		conclusion = conclusion_of(monitor_stop(harness, monitor));
		expect_conclusion(conclusion, &causes[i]);
		assert_int_equal(strstr(text_at(conclusion, "text"), "besides") != NULL, i != 0);
	}
}

static json_int_t difference_of(json_t *conclusion, const char *figure)
{
	return number_at(json_object_get(conclusion, figure), "difference");
}

/*
 * Rss is constant: 5120 page tables of one page each, for 2 MiB of addresses each, and their
 * parents.
 */
static void page_tables_are_counted_beside_rss(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "keeper");
	struct child *monitor = memory_watch(harness, target);
	json_t *report, *process, *conclusion;
	json_int_t grown;

	workload_do(harness, target, "tables");
	report = monitor_stop(harness, monitor);
	process = json_array_get(json_object_get(report, "processes"), 0);
	expect_sums(process);
	conclusion = conclusion_of(report);
	grown = difference_of(conclusion, "page_table_bytes");
	assert_in_range(grown, 5120 * 4096, 5120 * 4096 + (1 << 20));
	assert_int_equal(number_at(json_object_get(conclusion, "growth"), "page-tables"), grown);
	assert_true(number_at(conclusion, "growth_bytes") - grown < 1 << 20);
	assert_true(number_at(process, "page_table_bytes") >= grown);
	assert_false(json_is_true(json_object_get(conclusion, "no_leak")));
}

/* 24 MiB are copied, and the readings copy nothing: 8 MiB stay shared. */
static void pages_that_are_copied_after_fork_are_growth(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "keeper"), *monitor;
	json_t *process, *conclusion, *report;
	json_int_t shared;

	workload_do(harness, target, "fork");
	assert_true(number_at(MEMORY(harness, target), "shared_by_fork_bytes") >= 32 << 20);
	monitor = memory_watch(harness, target);
	report = monitor_snapshot(harness, monitor);
	process = json_array_get(json_object_get(report, "processes"), 0);
	shared = number_at(process, "shared_by_fork_bytes");
	assert_true(shared >= 32 << 20);
	assert_int_equal(difference_of(conclusion_of(report), "private_bytes"), 0);
	workload_do(harness, target, "copy");
	report = monitor_stop(harness, monitor);
	process = json_array_get(json_object_get(report, "processes"), 0);
	conclusion = conclusion_of(report);
	assert_in_range(number_at(json_object_get(conclusion, "growth"), "unshared"), 24 << 20,
			(24 << 20) + (256 << 10));
	assert_in_range(difference_of(conclusion, "private_bytes"), 24 << 20,
			(24 << 20) + (256 << 10));
	assert_in_range(shared - number_at(process, "shared_by_fork_bytes"), 24 << 20,
			(24 << 20) + (256 << 10));
	expect_sums(process);
}

/* Its creator has ended, but it stays, and no process has attached it. */
static void a_segment_that_nobody_removed_is_listed(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "keeper");
	struct child *monitor = memory_watch(harness, target);
	json_t *sysv, *segment, *found = NULL;
	size_t i;

	workload_do(harness, target, "orphan");
	sysv = json_object_get(monitor_stop(harness, monitor), "sysv_shm");
	workload_do(harness, target, "remove");
	assert_true(json_is_object(sysv));
	assert_true(number_at(json_object_get(sysv, "orphans"), "bytes") >= 2 << 20);
	json_array_foreach(json_object_get(sysv, "segments"), i, segment)
	{
		if (json_is_true(json_object_get(segment, "is_new")))
			found = segment;
	}
	assert_non_null(found);
	assert_int_equal(number_at(found, "size_bytes"), 2 << 20);
	assert_int_equal(number_at(found, "resident_bytes") + number_at(found, "swap_bytes"),
			 2 << 20);
	assert_int_equal(number_at(found, "attached"), 0);
	assert_true(json_is_null(json_object_get(found, "creator_comm")));
	assert_int_equal(number_at(found, "uid"), geteuid());
	/* Other processes may remove theirs at the same time. */
	assert_true(json_is_integer(json_object_get(sysv, "growth_bytes")));
}

static void huge_pages_of_which_a_tenth_is_used_are_no_leak(void **state)
{
	static const struct cause cause = {"huge", "huge-pages", "MADV_NOHUGEPAGE", NULL};
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "keeper");
	struct child *monitor = memory_watch(harness, target);
	json_t *report, *huge;

	workload_do(harness, target, "huge");
	report = monitor_stop(harness, monitor);
	huge = json_object_get(json_array_get(json_object_get(report, "processes"), 0),
			       "huge_pages");
	if (number_at(huge, "bytes") < 64 << 20) {
		print_message("SKIPPED: the kernel gave %lld bytes in huge pages\n",
			      number_at(huge, "bytes"));
		skip();
	}
	assert_int_equal(number_at(huge, "checked_bytes"), 64 << 20);
	assert_int_equal(number_at(huge, "zero_bytes"), (64 << 20) - 32 * 51 * 4096);
	expect_conclusion(conclusion_of(report), &cause);
}

static json_t *group_of(json_t *report)
{
	json_t *groups = json_object_get(report, "cgroups");

	assert_int_equal(json_array_size(groups), 1);
	return json_array_get(groups, 0);
}

static void expect_group_cause(struct harness *harness, const struct cause *cause,
			       const char *first_cause)
{
	struct child *target = WORKLOAD(harness, "keeper"), *monitor;
	json_t *group, *first;
	char path[96];

	memory_group_make(target, path, sizeof(path));
	monitor = MONITOR(harness, "memory", "--cgroup", path, "--format", "json", "3600");
	child_wait_text(harness, monitor, &monitor->err, "what has grown since");
	workload_do(harness, target, cause->command);
	group = group_of(monitor_stop(harness, monitor));
	workload_send(target, "quit");
	child_end(harness, target);
	rmdir(path);
	assert_int_equal(number_at(group, "processes"), 1);
	assert_true(number_at(group, "current_bytes") >= number_at(group, "working_set_bytes"));
	expect_conclusion(json_object_get(group, "conclusion"), cause);
	first = json_array_get(json_object_get(json_object_get(group, "conclusion"), "causes"), 0);
	assert_string_equal(text_at(first, "cause"), first_cause);
	assert_true(number_at(first, "growth_bytes") >= 16 << 20);
}

/* Page cache is charged to the first reader of a file, and belongs to no process. */
static void what_grows_in_a_group_may_be_no_processs(void **state)
{
	static const struct {
		struct cause cause;
		const char *first;
	} groups[] = {
		{{"leak", "processes", "anonymous memory of its processes", NULL}, "process"},
		{{"file", "page-cache", "no process's: page cache", NULL}, "page-cache"},
		{{"shared", "shared-memory", "stay until they are removed", NULL}, "tmpfs"},
	};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		expect_group_cause(harness, &groups[i].cause, groups[i].first);
}

/* Ten readings; the arena leaves the mappings before both are read. */
static void a_heap_that_never_stands_still_is_read_every_time(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "restless");

	for (int i = 0; i < 10; i++) {
		json_t *process = MEMORY(harness, target);

		assert_true(number_at(share_at(process, "parts", "live_blocks"),
				      "resident_bytes") >= 1000 * 1000);
		assert_true(json_is_object(json_object_get(process, "allocator")));
	}
	for (int i = 0; i < 10; i++)
		assert_int_equal(number_at(MEMORY(harness, target, "--no-stop"), "pause_us"), 0);
}

static char *workload_path(const char *name)
{
	const char *directory = getenv("LEAKMON_WORKLOADS");
	char path[512], *found;

	snprintf(path, sizeof(path), "%s/%s", directory ? directory : "build/workloads", name);
	found = realpath(path, NULL);
	assert_non_null(found);
	return found;
}

static void preload_unknown_allocator(void)
{
	setenv("LD_PRELOAD", workload_path("bump.so"), 1);
}

/* glibc is mapped, but its malloc was never called: a stop would show nothing more. */
static void a_program_without_a_known_heap_is_never_stopped(void **state)
{
	struct harness *harness = harness_any(state);
	char *path = workload_path("keeper");
	struct child *target =
		child_start(harness, path, ARGUMENTS("keeper"), preload_unknown_allocator);

	free(child_line(harness, target, &target->out));
	for (int i = 0; i < 3; i++) {
		json_t *process = MEMORY(harness, target);

		assert_true(json_is_null(json_object_get(process, "allocator")));
		assert_int_equal(number_at(process, "pause_us"), 0);
	}
	free(path);
}

static void json_is_valid_by_the_published_schema(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "mallinfo");
	char path[64];

	workload_do(harness, target, "mixed");
	snprintf(path, sizeof(path), "%s/memory.json", harness->directory);
	assert_int_equal(
		child_end(harness, MONITOR(harness, "memory", "-p", target->pid_text, "--format",
					   "json", "--output", path, "0.01", "1")),
		0);
	free(shell(harness, 0,
		   "python3 -W ignore -m jsonschema -i %s user/schema/memory.schema.json", path));
}

/* Two snapshots, between which the target leaks 20 MiB. */
static void record_a_leak(struct harness *harness, const char *path)
{
	struct child *target = WORKLOAD(harness, "keeper");
	struct child *monitor = MONITOR_ATTACHED(harness, "record", "-p", target->pid_text, "-o",
						 path, "--label", "before", "3600");

	child_signal(monitor, SIGUSR1);
	child_wait_text(harness, monitor, &monitor->err, "snapshot 1 is recorded");
	workload_do(harness, target, "leak");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	workload_send(target, "quit");
	child_end(harness, target);
}

static long long grown(json_t *change, const char *group)
{
	return number_at(json_object_get(json_object_get(change, "groups"), group), "difference");
}

/* Output of a command in a file, which is valid. */
static json_t *json_of(struct harness *harness, struct child *command, const char *path,
		       const char *schema)
{
	json_t *made;

	assert_int_equal(child_end(harness, command), 0);
	made = json_load_file(path, 0, NULL);
	assert_non_null(made);
	free(shell(harness, 0, "python3 -W ignore -m jsonschema -i %s user/schema/%s", path,
		   schema));
	return made;
}

static void a_recording_keeps_where_memory_was(void **state)
{
	static const struct cause cause = {"leak", "live", "a leak if this goes on", NULL};
	struct harness *harness = harness_bpf(state);
	char path[64], out[64];
	json_t *report, *memory, *change;

	snprintf(path, sizeof(path), "%s/run.lkm", harness->directory);
	snprintf(out, sizeof(out), "%s/out.json", harness->directory);
	record_a_leak(harness, path);
	report = json_of(harness,
			 MONITOR(harness, "report", path, "--format", "json", "--output", out), out,
			 "report.schema.json");
	memory = json_object_get(json_array_get(json_object_get(report, "processes"), 0), "memory");
	expect_conclusion(json_object_get(memory, "conclusion"), &cause);
	assert_true(number_at(json_object_get(json_object_get(memory, "parts"), "live_blocks"),
			      "resident_bytes") >= 20 << 20);
	json_decref(report);
	report = json_of(harness,
			 MONITOR(harness, "diff", path, "--format", "json", "--output", out), out,
			 "diff.schema.json");
	assert_int_equal(json_array_size(json_object_get(report, "memory")), 1);
	change = json_array_get(json_object_get(report, "memory"), 0);
	assert_true(grown(change, "live") >= 20 << 20);
	assert_true(grown(change, "stacks") < 1 << 20);
	expect_conclusion(json_object_get(change, "conclusion"), &cause);
	json_decref(report);
}

static void two_runs_are_compared_by_the_name_of_the_program(void **state)
{
	struct harness *harness = harness_bpf(state);
	char first[64], second[64], before[96], out[64];
	json_t *report, *change;

	snprintf(first, sizeof(first), "%s/a.lkm", harness->directory);
	snprintf(second, sizeof(second), "%s/b.lkm", harness->directory);
	snprintf(before, sizeof(before), "%s@before", first);
	snprintf(out, sizeof(out), "%s/out.json", harness->directory);
	record_a_leak(harness, first);
	record_a_leak(harness, second);
	report = json_of(
		harness,
		MONITOR(harness, "diff", before, second, "--format", "json", "--output", out), out,
		"diff.schema.json");
	assert_int_equal(json_array_size(json_object_get(report, "memory")), 1);
	change = json_array_get(json_object_get(report, "memory"), 0);
	assert_true(json_is_null(json_object_get(change, "pid")));
	assert_true(json_is_null(json_object_get(change, "conclusion")));
	assert_true(grown(change, "live") >= 20 << 20);
	json_decref(report);
}

/* Returns the value of a series, given as its name and labels. */
static long long sample_of(const char *text, const char *series)
{
	const char *at = strstr(text, series);

	if (!at)
		fail_msg("no series %s in %s", series, text);
	return strtoll(at + strlen(series), NULL, 10);
}

static void prometheus_gets_the_same_split(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "mallinfo"), *monitor;
	long long sum = 0;
	json_t *process;
	char series[96], path[64], *text;
	static const char *const groups[] = {"live",  "free",	"malloc",  "stacks",
					     "files", "shared", "managed", "other"};

	workload_do(harness, target, "mixed");
	process = MEMORY(harness, target);
	snprintf(path, sizeof(path), "%s/memory.prom", harness->directory);
	monitor = MONITOR(harness, "memory", "-p", target->pid_text, "--format", "prom", "--output",
			  path);
	assert_int_equal(child_end(harness, monitor), 0);
	text = shell(harness, 0, "cat %s", path);
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		snprintf(series, sizeof(series),
			 "leakmon_memory_bytes{comm=\"mallinfo\",part=\"%s\"} ", groups[i]);
		sum += sample_of(text, series);
	}
	assert_int_equal(sum + number_at(process, "difference_bytes"),
			 number_at(process, "rss_bytes"));
	assert_int_equal(sample_of(text, "leakmon_memory_rss_bytes{comm=\"mallinfo\"} "),
			 number_at(process, "rss_bytes"));
	assert_int_equal(sample_of(text, "leakmon_memory_trimmable_bytes{comm=\"mallinfo\"} "),
			 number_at(json_object_get(process, "allocator"), "trimmable_bytes"));
	assert_int_equal(sample_of(text, "leakmon_memory_page_table_bytes{comm=\"mallinfo\"} "),
			 number_at(process, "page_table_bytes"));
	assert_int_equal(sample_of(text, "leakmon_memory_private_bytes{comm=\"mallinfo\"} "),
			 number_at(process, "private_clean_bytes") +
				 number_at(process, "private_dirty_bytes"));
	assert_int_equal(sample_of(text, "leakmon_memory_processes{comm=\"mallinfo\"} "), 1);
	free(text);
	text = shell(harness, 0, "%s check metrics < %s 2>&1", consumer("promtool"), path);
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(the_parts_of_one_arena_are_mallinfos),
		e2e_test(fast_bins_and_a_full_cache_are_mallinfos),
		e2e_test(sixty_four_arenas_are_mallinfos),
		e2e_test(blocks_with_their_own_mappings_are_counted_apart),
		e2e_test(a_static_programs_parts_are_mallinfos),
		e2e_test(the_heap_of_musl_is_split_as_well),
		e2e_test(what_malloc_trim_gives_back_is_known_before),
		e2e_test(each_cause_of_growth_gets_its_sentence),
		e2e_test(page_tables_are_counted_beside_rss),
		e2e_test(pages_that_are_copied_after_fork_are_growth),
		e2e_test(a_segment_that_nobody_removed_is_listed),
		e2e_test(huge_pages_of_which_a_tenth_is_used_are_no_leak),
		e2e_test(what_grows_in_a_group_may_be_no_processs),
		e2e_test(a_heap_that_never_stands_still_is_read_every_time),
		e2e_test(a_program_without_a_known_heap_is_never_stopped),
		e2e_test(json_is_valid_by_the_published_schema),
		e2e_test(a_recording_keeps_where_memory_was),
		e2e_test(two_runs_are_compared_by_the_name_of_the_program),
		e2e_test(prometheus_gets_the_same_split),
	};

	return cmocka_run_group_tests_name("e2e_memory", tests, NULL, NULL);
}
