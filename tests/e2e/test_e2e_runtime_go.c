// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Go programs from outside, compared with figures of their own runtime (tests/runtimes/go):
 * runtime.Stack, runtime.MemProfile, runtime.MemStats. tests/runtimes/go.sh compiles them; missing
 * versions are skipped. No BPF is needed.
 */
#include "retain_json.h"
#include "shell.h"
#include "tree.h"

#include <signal.h>
#include <stdlib.h>

#define WAITING 300

static struct child *start_as(struct harness *harness, const char *kind, void (*prepare)(void))
{
	char *path = shell(harness, 0, "tests/runtimes/go.sh %s || test $? = 77", kind);
	struct child *target;

	path[strcspn(path, "\n")] = '\0';
	if (!*path) {
		free(path);
		fprintf(stderr, "SKIPPED, nothing was tested: there is no Go %s\n", kind);
		skip();
	}
	target = start_ready(harness, path, ARGUMENTS("stories"), prepare);
	free(path);
	return target;
}

static struct child *start(struct harness *harness, const char *kind)
{
	return start_as(harness, kind, NULL);
}

static void send(struct harness *harness, struct child *target, const char *command)
{
	char *line;

	workload_send(target, command);
	line = child_line(harness, target, &target->out);
	assert_string_equal(line, "done");
	free(line);
}

static json_t *process_in(json_t *report)
{
	json_t *processes = json_object_get(report, "processes");

	assert_int_equal(json_array_size(processes), 1);
	return json_array_get(processes, 0);
}

static json_t *goroutines_of(json_t *report)
{
	json_t *found = json_object_get(process_in(report), "goroutines");

	assert_non_null(found);
	assert_string_equal(text_at(found, "cannot_tell"), "");
	return found;
}

/* Returns "main.spawn stories.go:41" of the n-th frame, or "". */
static const char *frame_text(json_t *stack, size_t n, char text[256])
{
	json_t *frame = json_array_get(json_object_get(stack, "frames"), n);
	const char *file = frame ? text_at(frame, "file") : "", *base = strrchr(file, '/');

	*text = '\0';
	if (frame)
		snprintf(text, 256, "%s %s:%lld", text_at(frame, "function"),
			 base ? base + 1 : file, (long long)number_at(frame, "line"));
	return text;
}

/* Accepts a frame that begins with `wanted`, too. */
static bool has_frame(json_t *stack, const char *wanted)
{
	char text[256];

	for (size_t i = 0; i < json_array_size(json_object_get(stack, "frames")); i++) {
		if (!strncmp(frame_text(stack, i, text), wanted, strlen(wanted)))
			return true;
	}
	return false;
}

static bool is_group(json_t *group, json_t *truth)
{
	char text[256];

	return !strcmp(text_at(group, "state"), text_at(truth, "state")) &&
	       !strcmp(frame_text(json_object_get(group, "created_by"), 0, text),
		       text_at(truth, "creator")) &&
	       has_frame(json_object_get(group, "waits_at"), text_at(truth, "where"));
}

/* Compares all goroutines except the one that reports. */
static void expect_goroutines(json_t *found, json_t *truth)
{
	json_t *expected, *group;
	size_t i, j;

	assert_int_equal(number_at(found, "count"), number_at(truth, "count"));
	assert_int_equal(number_at(found, "unread"), 0);
	json_array_foreach(json_object_get(truth, "goroutines"), i, expected)
	{
		json_int_t count = 0;

		if (!strcmp(text_at(expected, "state"), "running"))
			continue;
		json_array_foreach(json_object_get(found, "groups"), j, group) count +=
			is_group(group, expected) ? number_at(group, "count") : 0;
		if (count != number_at(expected, "count"))
			fail_msg("%lld goroutines wait in %s at %s, not %lld",
				 (long long)number_at(expected, "count"),
				 text_at(expected, "state"), text_at(expected, "where"),
				 (long long)count);
	}
}

static json_t *first_group(json_t *found)
{
	return json_array_get(json_object_get(found, "groups"), 0);
}

#define THREADS(harness, target, ...)                                                              \
	MONITOR(harness, "threads", "-p", (target)->pid_text, "--format", "json", ##__VA_ARGS__)

/* The program is idle except for commands of the test. */
static void goroutines_are_those_of(void **state, const char *kind)
{
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, kind), *monitor;
	json_t *truth, *group;

	send(harness, target, "spawn 300");
	send(harness, target, "gc");
	truth = workload_ask(harness, target, "truth");
	monitor = THREADS(harness, target, "3600");
	child_wait_text(harness, monitor, &monitor->err, "goroutines are read");
	expect_goroutines(goroutines_of(monitor_snapshot(harness, monitor)), truth);
	/* Four readings, with new ones each time, then one at which some end. */
	for (int i = 0; i < 3; i++) {
		send(harness, target, "spawn 2");
		group = first_group(goroutines_of(monitor_snapshot(harness, monitor)));
	}
	assert_int_equal(number_at(group, "count"), WAITING + 6);
	assert_int_equal(number_at(group, "first_count"), WAITING);
	assert_int_equal(number_at(group, "come"), 6);
	assert_int_equal(number_at(group, "gone"), 0);
	assert_string_equal(text_at(group, "verdict"), "leaking");
	assert_true(number_at(group, "longest_wait_ms") >= number_at(group, "shortest_wait_ms"));
	send(harness, target, "end 100");
	group = first_group(goroutines_of(monitor_stop(harness, monitor)));
	assert_int_equal(number_at(group, "count"), WAITING + 6 - 100);
	assert_int_equal(number_at(group, "gone"), 100);
	assert_string_equal(text_at(group, "verdict"), "steady");
}

static void goroutines_wait_where_the_program_reports(void **state)
{
	goroutines_are_those_of(state, "1.19 plain");
}

static void a_stripped_program_is_read_as_well(void **state)
{
	goroutines_are_those_of(state, "1.19 stripped");
}

static void so_is_a_later_one_at_any_address(void **state)
{
	goroutines_are_those_of(state, "1.24 pie");
}

static void so_is_one_without_build_information(void **state)
{
	goroutines_are_those_of(state, "1.24 bare");
}

static json_t *stored(struct harness *harness, const char *command, const char *path,
		      const char *at)
{
	return report_of(harness, MONITOR(harness, command, path, "--format", "json",
					  at ? "--at" : NULL, at));
}

/* A recording of a program without malloc, with its first reading compared with its last. */
static void a_recording_has_its_goroutines(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, "1.19 plain"), *monitor;
	char path[96], page[96], text[64];
	json_t *group;

	snprintf(path, sizeof(path), "%s/go.lkm", harness->directory);
	snprintf(page, sizeof(page), "%s/go.html", harness->directory);
	send(harness, target, "spawn 300");
	monitor = MONITOR(harness, "record", "-p", target->pid_text, "-o", path, "3600");
	child_wait_text(harness, monitor, &monitor->err, "goroutines are recorded");
	for (int i = 2; i <= 5; i++) {
		send(harness, target, "spawn 2");
		snprintf(text, sizeof(text), "reading %d of goroutines is recorded", i);
		child_signal(monitor, SIGUSR1);
		child_wait_text(harness, monitor, &monitor->err, text);
	}
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	group = first_group(goroutines_of(stored(harness, "report", path, "5")));
	assert_int_equal(number_at(group, "count"), WAITING + 8);
	assert_int_equal(number_at(group, "first_count"), WAITING);
	assert_int_equal(number_at(group, "come"), 8);
	assert_int_equal(number_at(group, "gone"), 0);
	assert_string_equal(text_at(group, "verdict"), "leaking");
	assert_true(has_frame(json_object_get(group, "waits_at"), "main.worker stories.go:"));
	assert_true(has_frame(json_object_get(group, "created_by"), "main.spawn stories.go:"));
	group = first_group(goroutines_of(stored(harness, "report", path, "first")));
	assert_int_equal(number_at(group, "count"), WAITING);
	group = first_group(goroutines_of(stored(harness, "diff", path, NULL)));
	assert_int_equal(number_at(group, "first_count"), WAITING);
	assert_int_equal(number_at(group, "come"), 8);
	assert_int_equal(child_end(harness, MONITOR(harness, "report", path, "--format", "html",
						    "--output", page)),
			 0);
	free(shell(harness, 0, "grep -q '\"evolution\":\\[300,302,304,306,308' %s", page));
}

/* -------- the heap profile */

static json_t *profile_of(json_t *report)
{
	json_t *profile = json_object_get(report, "heap_profile");

	assert_non_null(profile);
	assert_string_equal(text_at(profile, "cannot_tell"), "");
	return profile;
}

/* The runtime's own frames are left out at the end where the allocation is, as pprof does. */
static bool is_record(json_t *site, json_t *record)
{
	json_t *frames = json_object_get(record, "frames");
	size_t count = json_array_size(json_object_get(site, "frames"));
	size_t first = json_array_size(frames) - count;
	char text[256];

	if (count > json_array_size(frames) ||
	    number_at(site, "sampled_allocated_objects") !=
		    number_at(record, "allocated_objects") ||
	    number_at(site, "sampled_freed_objects") != number_at(record, "freed_objects") ||
	    number_at(site, "sampled_allocated_bytes") != number_at(record, "allocated_bytes") ||
	    number_at(site, "sampled_freed_bytes") != number_at(record, "freed_bytes"))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(frame_text(site, i, text),
			   json_string_value(json_array_get(frames, first + i))) != 0)
			return false;
	}
	return true;
}

/* Each record with something in use is there, and nothing else. */
static void expect_records(json_t *profile, json_t *truth)
{
	json_t *sites = json_object_get(profile, "sites"), *record, *site;
	size_t in_use = 0, i, j;

	json_array_foreach(json_object_get(truth, "records"), i, record)
	{
		size_t found = 0;

		if (number_at(record, "allocated_objects") == number_at(record, "freed_objects"))
			continue;
		in_use++;
		json_array_foreach(sites, j, site) found += is_record(site, record);
		if (!found)
			fail_msg("no site for the record %s", json_dumps(record, JSON_COMPACT));
	}
	assert_int_equal(json_array_size(sites), in_use);
}

static json_t *site_in(json_t *profile, const char *frame)
{
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(profile, "sites"), i, site)
	{
		if (has_frame(site, frame))
			return site;
	}
	fail_msg("no site %s", frame);
	return NULL;
}

#define BLOCK (64 << 10)
#define KEPT 400
#define RETAIN_GO(harness, target, ...)                                                            \
	MONITOR(harness, "retain", "-p", (target)->pid_text, "--format", "json", "--top", "0",     \
		##__VA_ARGS__)

static void heap_profiles_are_those_of(void **state, const char *kind)
{
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, kind), *monitor;
	json_t *truth, *profile, *site, *limits;

	/* None was collected yet: all that was sampled is in use. */
	send(harness, target, "keep 400");
	profile = profile_of(report_of(harness, RETAIN_GO(harness, target)));
	assert_int_equal(number_at(site_in(profile, "main.block "), "size"), BLOCK);
	send(harness, target, "gc");
	truth = workload_ask(harness, target, "truth");
	monitor = RETAIN_GO(harness, target, "1", "3");
	profile = profile_of(monitor_report(harness, monitor));
	expect_records(profile, truth);
	assert_int_equal(number_at(profile, "rate"), number_at(truth, "rate"));
	/* The limits contain the kept bytes in all but one of 10^9 runs: 12 standard deviations. */
	limits = json_object_get(site_in(profile, "main.keep "), "bytes_limits");
	assert_true(json_number_value(json_array_get(limits, 0)) < 2.0 * KEPT * BLOCK);
	assert_true(json_number_value(json_array_get(limits, 1)) > 0.5 * KEPT * BLOCK);
	send(harness, target, "keep 400");
	send(harness, target, "gc");
	monitor_report(harness, monitor);
	site = site_in(profile_of(monitor_report(harness, monitor)), "main.keep ");
	assert_true(real_at(site, "growth") > 0);
	assert_int_equal(child_end(harness, monitor), 0);
}

static void the_heap_profile_is_the_programs_own(void **state)
{
	heap_profiles_are_those_of(state, "1.19 stripped");
}

static void so_is_that_of_a_later_one(void **state)
{
	heap_profiles_are_those_of(state, "1.24 pie");
}

/* Two runs of `retain -o`: the recorded results equal those shown, with the growth in between. */
static void a_recording_has_heap_profiles(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, "1.24 stripped");
	json_t *shown, *kept, *first;
	char path[96];

	snprintf(path, sizeof(path), "%s/heap.lkm", harness->directory);
	send(harness, target, "keep 400");
	send(harness, target, "gc");
	first = profile_of(report_of(harness, RETAIN_GO(harness, target, "-o", path)));
	send(harness, target, "keep 800");
	send(harness, target, "gc");
	shown = profile_of(report_of(harness, RETAIN_GO(harness, target, "-o", path)));
	kept = profile_of(report_of(harness, MONITOR(harness, "report", path, "--format", "json")));
	assert_true(real_at(kept, "bytes") == real_at(shown, "bytes"));
	assert_int_equal(json_array_size(json_object_get(kept, "sites")),
			 json_array_size(json_object_get(shown, "sites")));
	assert_true(real_at(site_in(kept, "main.keep "), "growth") > 0);
	kept = profile_of(report_of(
		harness, MONITOR(harness, "report", path, "--format", "json", "--at", "first")));
	assert_true(real_at(kept, "bytes") == real_at(first, "bytes"));
	kept = profile_of(report_of(harness, MONITOR(harness, "diff", path, "--format", "json")));
	assert_true(real_at(site_in(kept, "main.keep "), "growth") > 0);
}

/* Objects by size, sampled ones by allocator, and the variable that holds them. */
static void objects_and_their_holder_are_found_in(void **state, const char *kind, bool named)
{
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, kind);
	json_t *report, *one, *truth;
	json_int_t blocks = 0, in_use;
	bool holds = false;
	size_t i;

	send(harness, target, "keep 400");
	send(harness, target, "gc");
	truth = workload_ask(harness, target, "stats");
	report = report_of(harness, RETAIN_GO(harness, target, "--census"));
	/* The answer itself takes a few spans more. */
	in_use = number_at(truth, "heap_in_use");
	assert_in_range(number_at(walked_runtime_of(report, "go"), "heap_bytes"), in_use,
			in_use + (256 << 10));
	json_array_foreach(json_object_get(report, "classes"), i, one)
	{
		const char *name = text_at(one, "name");

		if (strcmp(name, "65536-byte object without pointers") != 0 &&
		    strncmp(name, "main.block stories.go:", 22) != 0)
			continue;
		blocks += number_at(one, "count");
		assert_int_equal(number_at(json_object_get(one, "held"), "blocks"),
				 number_at(one, "count"));
	}
	assert_int_equal(blocks, KEPT);
	json_array_foreach(json_object_get(report, "roots"), i, one)
	{
		holds |= (!named || !strcmp(text_at(one, "name"), "main.kept")) &&
			 number_at(one, "led_bytes") > KEPT * BLOCK / 2;
	}
	assert_true(holds);
}

static void objects_of_a_program_and_their_holder_are_found(void **state)
{
	objects_and_their_holder_are_found_in(state, "1.19 plain", true);
}

static void so_are_those_of_a_later_stripped_one(void **state)
{
	objects_and_their_holder_are_found_in(state, "1.24 pie", false);
}

static void so_are_those_of_one_without_build_information(void **state)
{
	objects_and_their_holder_are_found_in(state, "1.24 bare", false);
}

static json_t *go_in(json_t *report)
{
	json_t *found = json_object_get(process_in(report), "go");

	assert_non_null(found);
	assert_string_equal(text_at(found, "cannot_tell"), "");
	return found;
}

/* Its service, as Vite starts it: Go 1.26 without build information, and a heap anywhere. */
static void esbuild_is_read(void **state)
{
	struct harness *harness = harness_any(state);
	char root[256], path[300];
	struct child *target;
	json_t *runtime, *tasks, *go;

	if (!tree_has("esbuild", "/bin/esbuild", root, sizeof(root))) {
		fprintf(stderr, "SKIPPED, nothing was tested: no esbuild\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/bin/esbuild", root);
	target = child_start(harness, path, ARGUMENTS("esbuild", "--service=0.28.2", "--ping"),
			     NULL);
	sleep(1);
	runtime = runtime_of(report_of(harness, RETAIN_GO(harness, target, "--census")), "go");
	assert_string_equal(text_at(runtime, "version"), "1.26.5");
	assert_string_equal(text_at(runtime, "why_not_walked"), "");
	assert_in_range(number_at(runtime, "objects"), 1000, 100000);
	/* It has no malloc: the report mentions none. */
	free(shell(harness, 1,
		   "${LEAKMON_PROGRAM:-build/leakmon} retain --census -p %s 2>&1 | grep glibc",
		   target->pid_text));
	go = go_in(report_of(
		harness, MONITOR(harness, "memory", "-p", target->pid_text, "--format", "json")));
	assert_string_equal(text_at(go, "version"), "1.26.5");
	assert_true(number_at(go, "in_use_bytes") > 0);
	tasks = goroutines_of(monitor_report(harness, THREADS(harness, target, "1", "1")));
	assert_int_equal(json_array_size(json_object_get(tasks, "groups")), 3);
}

/* From 1.26 on a heap begins anywhere. */
static void so_are_those_of_a_heap_at_any_address(void **state)
{
	objects_and_their_holder_are_found_in(state, "1.26 stripped", false);
}

/* pprof merges leakmon's profile with the one that the program writes itself. */
static json_int_t objects_of(json_t *report, const char *class)
{
	json_t *found;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, found)
	{
		if (!strcmp(text_at(found, "name"), class))
			return number_at(found, "count");
	}
	return 0;
}

static json_int_t words_of_root(json_t *report, const char *name)
{
	json_int_t words = 0;
	json_t *root;
	size_t i;

	json_array_foreach(json_object_get(report, "roots"), i, root)
	{
		/* It leads to everything, and holds nothing. */
		assert_string_not_equal(text_at(root, "name"), "runtime.allgptr");
		if (!strcmp(text_at(root, "name"), name))
			words += number_at(root, "words");
	}
	return words;
}

static void timers_are_roots_by_what_they_call(void **state)
{
	static const char *const kinds[] = {"1.19 plain", "1.24 pie"};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct child *target = start(harness, kinds[i]);
		json_t *report;

		send(harness, target, "forget 500");
		send(harness, target, "gc");
		report = report_of(harness, RETAIN_GO(harness, target, "--census", "--top", "0"));
		assert_int_equal(words_of_root(report, "timer of time.AfterFunc: main.expire"),
				 500);
		assert_int_equal(words_of_root(report, "timer of time.After or time.NewTimer"),
				 500);
		assert_int_equal(objects_of(report, "time.Timer"), 500);
		assert_int_equal(objects_of(report, "chan time.Time"), 500);
	}
}

static void pprof_merges_it_with_the_programs_own(void **state)
{
	static const char go[] = "/usr/lib/go-1.19/bin/go";
	struct harness *harness = harness_any(state);
	struct child *target, *monitor;
	char path[64];
	char *text;

	if (access(go, X_OK)) {
		fprintf(stderr, "SKIPPED, nothing was tested: there is no %s\n", go);
		skip();
	}
	target = start(harness, "1.19 plain");
	send(harness, target, "keep 400");
	send(harness, target, "gc");
	snprintf(path, sizeof(path), "%s/read", harness->directory);
	monitor = MONITOR(harness, "retain", "-p", target->pid_text, "--format", "pprof",
			  "--output", path);
	assert_int_equal(child_end(harness, monitor), 0);
	snprintf(path, sizeof(path), "write %s/own", harness->directory);
	send(harness, target, path);
	text = shell(harness, 0,
		     "cd %s && HOME=$PWD %s tool pprof -top -inuse_objects -unit=1 "
		     "-base own read 2>/dev/null | grep -c main.keep; "
		     "HOME=$PWD %s tool pprof -top own read 2>/dev/null | grep main.keep",
		     harness->directory, go, go);
	/* No difference has a row; the sum has one. */
	assert_int_equal(strncmp(text, "0\n", 2), 0);
	assert_non_null(strstr(text, "main.keep"));
	free(text);
}

/* -------- memory */

/* Telling them takes some spans itself. */
#define TELLING (256 << 10)

static void expect_near(json_int_t found, json_int_t truth)
{
	if (llabs(found - truth) > TELLING)
		fail_msg("%lld, not %lld", (long long)found, (long long)truth);
}

static void figures_are_those_of(void **state, const char *kind)
{
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, kind);
	json_t *truth = NULL, *found = NULL;

	send(harness, target, "keep 400");
	send(harness, target, "gc");
	/* The runtime may start goroutines of its own during the report. */
	for (int i = 0; i < 5; i++) {
		workload_ask(harness, target, "stats");
		truth = workload_ask(harness, target, "stats");
		found = go_in(report_of(harness, MONITOR(harness, "memory", "-p", target->pid_text,
							 "--format", "json")));
		if (number_at(workload_ask(harness, target, "stats"), "stack_in_use") ==
		    number_at(truth, "stack_in_use"))
			break;
	}
	expect_near(number_at(found, "in_use_bytes"), number_at(truth, "heap_in_use"));
	expect_near(number_at(found, "released_bytes"), number_at(truth, "heap_released"));
	expect_near(number_at(found, "free_bytes") + number_at(found, "released_bytes"),
		    number_at(truth, "heap_idle"));
	assert_int_equal(number_at(found, "stack_bytes"), number_at(truth, "stack_in_use"));
	assert_int_equal(number_at(found, "goal_bytes"), number_at(truth, "next_gc"));
	assert_int_equal(number_at(found, "collections"), number_at(truth, "collections"));
	assert_int_equal(number_at(found, "gogc"), 100);
	assert_true(json_is_null(json_object_get(found, "gomemlimit_bytes")));
	assert_true(number_at(found, "live_bytes") >= KEPT * BLOCK);
	assert_true(number_at(found, "live_bytes") < KEPT * BLOCK + (4 << 20));
}

static void so_is_that_of_one_without_build_information(void **state)
{
	figures_are_those_of(state, "1.24 bare");
}

static void memory_is_what_the_runtime_counts(void **state)
{
	figures_are_those_of(state, "1.19 plain");
}

static void so_is_that_of_a_later_heap(void **state)
{
	figures_are_those_of(state, "1.24 pie");
}

static void collect_seldom(void)
{
	setenv("GOGC", "500", 1);
}

static json_t *conclusion_of(json_t *report)
{
	json_t *found = json_object_get(process_in(report), "conclusion");

	if (strcmp(text_at(found, "verdict"), "managed") != 0)
		fail_msg("%s", text_at(found, "text"));
	return found;
}

/* Garbage that no collection has found yet is not a leak; live growth may be one. */
static void a_heap_within_its_target_is_no_leak(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start_as(harness, "1.19 stripped", collect_seldom), *monitor;
	json_t *found;

	send(harness, target, "keep 400");
	send(harness, target, "gc");
	monitor = MONITOR(harness, "memory", "-p", target->pid_text, "--format", "json", "3600");
	child_wait_text(harness, monitor, &monitor->err, "what has grown since");
	send(harness, target, "churn 1200");
	found = conclusion_of(monitor_snapshot(harness, monitor));
	assert_null(strstr(text_at(found, "text"), "not a leak"));
	assert_non_null(strstr(text_at(found, "text"), "No garbage collection has run since"));
	/* Until a collection has run: the harness limits how long. */
	do {
		send(harness, target, "churn 4000");
		found = conclusion_of(monitor_snapshot(harness, monitor));
	} while (!strstr(text_at(found, "text"), "not a leak; the heap is as large as its "
						 "target allows"));
	send(harness, target, "keep 1200");
	send(harness, target, "gc");
	found = conclusion_of(monitor_stop(harness, monitor));
	assert_null(strstr(text_at(found, "text"), "not a leak"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(goroutines_wait_where_the_program_reports),
		e2e_test(a_stripped_program_is_read_as_well),
		e2e_test(so_is_a_later_one_at_any_address),
		e2e_test(so_is_one_without_build_information),
		e2e_test(a_recording_has_its_goroutines),
		e2e_test(the_heap_profile_is_the_programs_own),
		e2e_test(so_is_that_of_a_later_one),
		e2e_test(a_recording_has_heap_profiles),
		e2e_test(objects_of_a_program_and_their_holder_are_found),
		e2e_test(so_are_those_of_a_later_stripped_one),
		e2e_test(so_are_those_of_one_without_build_information),
		e2e_test(so_are_those_of_a_heap_at_any_address),
		e2e_test(esbuild_is_read),
		e2e_test(timers_are_roots_by_what_they_call),
		e2e_test(pprof_merges_it_with_the_programs_own),
		e2e_test(memory_is_what_the_runtime_counts),
		e2e_test(so_is_that_of_a_later_heap),
		e2e_test(so_is_that_of_one_without_build_information),
		e2e_test(a_heap_within_its_target_is_no_leak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
