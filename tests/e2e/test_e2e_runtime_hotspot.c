// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of a Java program, compared with its own counts (tests/runtimes/HotspotCensus.java), and
 * with the VM's own histogram, class by class. No BPF is needed.
 */
#include "java_tree.h"

#include <signal.h>
#include <unistd.h>

#define JAVA "/usr/bin/java"
#define JAVA_25 "/usr/lib/jvm/temurin-25-jdk-amd64/bin/java" /* is left out if it is not there */
#define PLANTED 300
#define CENSUS "HotspotCensus$"

/* Starts Java; `options` end with NULL. Skips the test without a JDK. */
static struct child *start(struct harness *harness, const char *java, const char *const *options)
{
	const char *argv[16] = {"java", "-Xmx128m"}, *const * option;
	char classes[256];
	size_t count = 2;

	if (access("/usr/bin/javac", X_OK) || access("/usr/bin/jcmd", X_OK))
		skip();
	snprintf(classes, sizeof(classes), "%s/classes", harness->directory);
	if (access(classes, R_OK))
		free(shell(harness, 0,
			   "javac -d %s -Xlint:-options tests/runtimes/HotspotCensus.java",
			   classes));
	for (option = options; *option; option++)
		argv[count++] = *option;
	argv[count++] = "-cp";
	argv[count++] = classes;
	argv[count++] = "HotspotCensus";
	argv[count++] = "300";
	return start_ready(harness, java, argv, NULL);
}

/* Live objects only, or garbage, too. */
static json_int_t count_of(json_t *report, const char *name, bool live)
{
	json_int_t count = 0;
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!strcmp(text_at(class, "name"), name) &&
		    !strcmp(text_at(class, "module"), "hotspot"))
			count += live ? number_at(json_object_get(class, "held"), "blocks")
				      : number_at(class, "count");
	}
	return count;
}

static void expect_planted(json_t *truth, json_t *report)
{
	json_t *count;
	const char *name;

	json_object_foreach(json_object_get(truth, "classes"), name, count)
	{
		if (count_of(report, name, true) != json_integer_value(count))
			fail_msg("%s: %lld objects, not %lld", name,
				 (long long)count_of(report, name, true),
				 (long long)json_integer_value(count));
	}
}

/* Returns the live objects of each class, as counted by the VM after a collection: {"[I": 12}. */
static json_t *histogram_of(struct harness *harness, const struct child *target)
{
	char *text = shell(
		     harness, 0,
		     "jcmd -J-XX:+UseSerialGC -J-XX:TieredStopAtLevel=1 %s GC.class_histogram",
		     target->pid_text),
	     *rest;
	json_t *histogram = json_object();
	char name[512];
	long long count, bytes;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (sscanf(line, " %*d: %lld %lld %511s", &count, &bytes, name) != 3)
			continue;
		name[strcspn(name, "/")] = '\0';
		count += json_integer_value(json_object_get(histogram, name));
		json_object_set_new(histogram, name, json_integer(count));
	}
	free(text);
	return histogram;
}

/* Excludes arrays: the VM writes them as descriptors, and fills holes with some. */
static void expect_histogram(json_t *histogram, json_t *report)
{
	json_int_t all = 0, differences = 0, greatest = 0;
	const char *name, *worst = "";
	json_t *count;

	json_object_foreach(histogram, name, count)
	{
		json_int_t expected = json_integer_value(count), difference;

		if (name[0] == '[')
			continue;
		if (!strcmp(name, CENSUS "Worker"))
			expected -= PLANTED; /* they have ended */
		difference = llabs(expected - count_of(report, name, true));
		if (difference > greatest) {
			greatest = difference;
			worst = name;
		}
		all += expected;
		differences += difference;
	}
	/* Differences come from jcmd's own thread; with Shenandoah also from references in compiled
	 * code only. */
	if (all < 5000 || differences > all / 300)
		fail_msg("%lld of %lld objects are of other classes: %lld of %s",
			 (long long)differences, (long long)all, (long long)greatest, worst);
}

/* "\tat java.lang.Thread.sleep(java.base@17/Thread.java:5)": the function, and the line or 0. */
static bool parse_frame(const char *line, char function[256], json_int_t *number)
{
	char place[256], *hidden;

	if (sscanf(line, " at %255[^(](%255[^)])", function, place) != 2)
		return false;
	/* The address of a hidden class. */
	hidden = strstr(function, "/0x");
	if (hidden && strchr(hidden, '.'))
		memmove(hidden, strchr(hidden, '.'), strlen(strchr(hidden, '.')) + 1);
	*number = strchr(place, ':') ? strtol(strrchr(place, ':') + 1, NULL, 10) : 0;
	return true;
}

/* Its frames as the VM prints them, one by one. */
static void expect_frames(const char *stacks, const char *name, json_t *group)
{
	json_t *frames = json_object_get(group, "frames");
	const char *at = strstr(stacks, name);
	size_t count = 0;
	json_int_t line;
	char function[256];

	assert_non_null(at);
	at = strchr(strchr(at, '\n') + 1, '\n') + 1;
	for (; parse_frame(at, function, &line); at = strchr(at, '\n') + 1, count++) {
		json_t *frame = json_array_get(frames, count);

		assert_string_equal(text_at(frame, "function"), function);
		assert_int_equal(json_integer_value(json_object_get(frame, "line")), line);
	}
	assert_true(count > 2);
	assert_int_equal(json_array_size(frames), count);
}

/* No thread is stopped for it. */
static void expect_threads(struct harness *harness, const struct child *target)
{
	char *stacks = shell(harness, 0,
			     "jcmd -J-XX:+UseSerialGC -J-XX:TieredStopAtLevel=1 %s Thread.print",
			     target->pid_text);
	char *ended =
		shell(harness, 0,
		      "jcmd -J-XX:+UseSerialGC -J-XX:TieredStopAtLevel=1 %s PerfCounter.print |"
		      " awk -F= '/^java.threads.started=/ {n += $2} /^java.threads.live=/ {n -= "
		      "$2} END {print n}'",
		      target->pid_text);
	struct child *monitor =
		MONITOR(harness, "threads", "-p", target->pid_text, "--format", "json", "1", "1");
	json_t *report = monitor_report(harness, monitor), *group;
	json_t *threads = json_object_get(json_array_get(json_object_get(report, "processes"), 0),
					  "java_threads");
	size_t i, found = 0;

	json_array_foreach(json_object_get(threads, "groups"), i, group)
	{
		if (strcmp(text_at(group, "name"), "holder of stack") != 0)
			continue;
		found++;
		assert_string_equal(text_at(group, "group"), "main");
		assert_string_equal(text_at(group, "state"), "sleeping");
		expect_frames(stacks, "\"holder of stack\"", group);
	}
	assert_int_equal(found, 1);
	/* The JVM's own count. */
	assert_int_equal(number_at(threads, "ended"), strtoll(ended, NULL, 10));
	assert_true(number_at(threads, "ended") >= PLANTED);
	child_end(harness, monitor);
	free(stacks);
	free(ended);
}

static void expect_tested(json_t *runtime)
{
	assert_null(json_object_get(runtime, "version_untested"));
}

/* JDK 11, and ZGC without generations where there is the other one, too. */
static void objects_of_other_jdks_are_counted(void **state)
{
	static const struct {
		const char *java, *options;
	} runs[] = {{JAVA_11, "-XX:+UseG1GC"},
		    {JAVA_11, "-XX:+UseParallelGC"},
		    {JAVA_21, "-XX:+UseZGC"},
		    {JAVA_21, "-XX:+UseZGC -XX:+ZGenerational"},
		    {JAVA_27, "-XX:+UseG1GC"},
		    {JAVA_27, "-XX:+UseZGC"},
		    {JAVA_27, "-XX:+UseParallelGC"},
		    {JAVA_27, "-XX:+UseSerialGC -XX:-UseCompactObjectHeaders"}};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		json_t *truth, *report;
		struct child *target = start_in_java_tree(harness, runs[i].java, "HotspotCensus",
							  runs[i].options, "300");

		if (!target) {
			fprintf(stderr, "left out: no tree with %s\n", runs[i].java);
			continue;
		}
		truth = workload_ask(harness, target, "truth");
		/* A stack may still reach the objects left by that. */
		workload_do(harness, target, "collect");
		report = RETAIN(harness, target, "--top", "0");
		expect_tested(walked_runtime_of(report, "hotspot"));
		expect_planted(truth, report);
		child_kill(target);
	}
}

static void the_objects_of_every_collector_are_counted_as_the_vm_counts_them(void **state)
{
	static const struct {
		const char *java, *options[4];
	} runs[] = {
		{JAVA, {"-XX:+UseG1GC"}},
		{JAVA,
		 {"-XX:+UseSerialGC", "-XX:-UseCompressedOops", "-XX:-UseCompressedClassPointers"}},
		{JAVA, {"-XX:+UseParallelGC"}},
		{JAVA, {"-XX:+UseShenandoahGC"}},
		{JAVA, {"-XX:+UseZGC"}},
		{JAVA_25, {"-XX:+UseG1GC", "-XX:+UseCompactObjectHeaders"}},
		{JAVA_25, {"-XX:+UseZGC"}},
	};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		json_t *truth, *histogram, *report;
		struct child *target;

		if (access(runs[i].java, X_OK))
			continue;
		target = start(harness, runs[i].java, runs[i].options);
		truth = workload_ask(harness, target, "truth");
		histogram = histogram_of(harness, target);
		report = RETAIN(harness, target, "--top", "0");
		walked_runtime_of(report, "hotspot");
		expect_planted(truth, report);
		expect_histogram(histogram, report);
		if (!strcmp(runs[i].options[0], "-XX:+UseG1GC"))
			expect_threads(harness, target);
		json_decref(histogram);
		child_signal(target, SIGKILL);
		child_end(harness, target);
	}
}

static json_t *path_of(json_t *report)
{
	return json_array_get(json_object_get(report, "paths"), 0);
}

struct holder {
	const char *class, *root;
	const char *steps[8]; /* their classes */
};

static void expect_holder(struct harness *harness, struct child *target, const struct holder *held)
{
	json_t *path = path_of(RETAIN(harness, target, "--class", held->class)), *step;
	size_t i;

	assert_string_equal(text_at(json_object_get(path, "root"), "name"), held->root);
	json_array_foreach(json_object_get(path, "steps"), i, step)
	{
		assert_true(i < sizeof(held->steps) / sizeof(held->steps[0]));
		if (!held->steps[i])
			break;
		assert_string_equal(text_at(json_object_get(step, "class"), "name"),
				    held->steps[i]);
	}
}

/* When a collection has cleared their entries, values of dead ThreadLocals are labelled so. */
static void expect_gone_locals(struct harness *harness, struct child *target)
{
	json_t *steps, *report, *last;

	workload_ask(harness, target, "truth");
	report = RETAIN(harness, target, "--class", CENSUS "OfGoneLocal");
	steps = json_object_get(path_of(report), "steps");
	last = json_array_get(steps, json_array_size(steps) - 1);
	assert_string_equal(text_at(last, "label"), ".<value of a ThreadLocal that is gone>");
}

/* Unreachable objects are counted, but are not a leak. */
static void expect_garbage(json_t *report)
{
	static const char *const lost[] = {CENSUS "Garbage", CENSUS "LostLink", CENSUS "LostValue",
					   CENSUS "LostNode"};

	assert_in_range(number_at(runtime_of(report, "hotspot"), "unreached_objects"), PLANTED,
			100 * PLANTED);
	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		assert_int_equal(count_of(report, lost[i], false), PLANTED);
		assert_int_equal(count_of(report, lost[i], true), 0);
	}
	assert_int_equal(count_of(report, CENSUS "Worker (ended)", true), PLANTED);
}

/*
 * Stale words in the stacks of native code and of the VM's own threads hold no lost object, not
 * even a half word that equals a compressed reference: one such word would hold a whole ring.
 * Locals of the program do hold their objects.
 */
static void what_is_lost_is_garbage_under_every_collector(void **state)
{
	static const struct {
		const char *java, *options[2];
	} runs[] = {
		{JAVA, {"-XX:+UseSerialGC"}},	  {JAVA, {"-XX:+UseParallelGC"}},
		{JAVA, {"-XX:+UseShenandoahGC"}}, {JAVA, {"-XX:+UseZGC"}},
		{JAVA_25, {"-XX:+UseZGC"}},
	};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct child *target;
		json_t *report;

		if (access(runs[i].java, X_OK))
			continue;
		target = start(harness, runs[i].java, runs[i].options);
		workload_do(harness, target, "lose");
		report = RETAIN(harness, target, "--top", "0");
		assert_int_equal(count_of(report, CENSUS "LostLink", true), 0);
		assert_int_equal(count_of(report, CENSUS "LostNode", true), 0);
		expect_garbage(report);
		assert_int_equal(count_of(report, CENSUS "OfStack", true), PLANTED);
		assert_int_equal(count_of(report, CENSUS "OfThreadLocal", true), PLANTED);
		child_kill(target);
	}
}

/* The classes keep their names. */
static void expect_copies(json_t *report)
{
	json_t *runtime = runtime_of(report, "hotspot"), *copies;

	assert_int_equal(number_at(runtime, "copied_classes"), 1);
	copies = json_array_get(json_object_get(runtime, "class_copies"), 0);
	assert_string_equal(text_at(copies, "class"), CENSUS "Plugin");
	assert_string_equal(text_at(copies, "loader"), "java.net.URLClassLoader");
	assert_int_equal(number_at(copies, "copies"), 3);
}

/* A Cleaner holds native memory of objects that are garbage. */
static void expect_awaited(json_t *report, const char *class)
{
	json_t *path, *awaited;
	size_t i;

	json_array_foreach(json_object_get(report, "paths"), i, path)
	{
		awaited = json_object_get(json_object_get(path, "awaited"), "class");
		if (awaited && !strcmp(text_at(awaited, "name"), class))
			return;
	}
	fail_msg("no path awaits the collection of %s", class);
}

static void what_holds_an_object_has_a_name(void **state)
{
	static const struct holder held[] = {
		{CENSUS "Session",
		 "class HotspotCensus$Cache static map",
		 {"java.util.HashMap", "java.util.HashMap$Node[]", "java.util.HashMap$Node",
		  CENSUS "Session"}},
		{CENSUS "OfLambda", "class HotspotCensus static lambdas", {"java.util.ArrayList"}},
		{CENSUS "Worker (ended)",
		 "class HotspotCensus static dead",
		 {"java.util.ArrayList"}},
		{CENSUS "OfStack",
		 "stack of thread holder of stack, HotspotCensus.lambda$hold$2 "
		 "HotspotCensus.java:183",
		 {CENSUS "OfStack[]"}},
		{CENSUS "OfThreadLocal", "thread holder of stack", {"java.lang.Thread"}},
		{CENSUS "Plugin", "class HotspotCensus static kept", {"java.util.ArrayList"}},
	};
	static const char *const options[] = {"-XX:+UseG1GC", NULL};
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, JAVA, options);

	workload_do(harness, target, "lose");
	expect_garbage(RETAIN(harness, target, "--top", "0"));
	expect_copies(RETAIN(harness, target, "--top", "0"));
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		expect_holder(harness, target, &held[i]);
	expect_gone_locals(harness, target);
	workload_do(harness, target, "drop");
	expect_awaited(RETAIN(harness, target, "--top", "0"), "java.nio.DirectByteBuffer");
}

/* Bytes that the VM's own tracking has mapped for something: "Code (reserved=…" is followed by
 * "(mmap: reserved=247688KB, committed=7548KB)". */
static json_int_t tracked(const char *text, const char *what)
{
	const char *at = strstr(text, what), *committed;

	assert_non_null(at);
	at = strstr(at, "(mmap: reserved=");
	assert_non_null(at);
	committed = strstr(at, "committed=");
	assert_non_null(committed);
	return strtol(committed + strlen("committed="), NULL, 10) * 1024;
}

static char *track(struct harness *harness, const struct child *target)
{
	return shell(harness, 0,
		     "jcmd -J-XX:+UseSerialGC -J-XX:TieredStopAtLevel=1 %s VM.native_memory",
		     target->pid_text);
}

static json_t *java_of(struct harness *harness, const struct child *target)
{
	json_t *report = monitor_report(
		harness, MONITOR(harness, "memory", "-p", target->pid_text, "--format", "json"));

	return json_object_get(json_array_get(json_object_get(report, "processes"), 0), "java");
}

static void expect_buffers(json_t *java, const char *name, json_t *truth, const char *pool)
{
	json_t *buffers = json_object_get(java, name), *expected = json_object_get(truth, pool);

	assert_true(number_at(expected, "count") > 0);
	assert_int_equal(number_at(buffers, "count"), number_at(expected, "count"));
	assert_int_equal(number_at(buffers, "bytes"), number_at(expected, "bytes"));
}

static void expect_loader(json_t *java, const char *name, json_int_t count)
{
	json_t *loaders;
	size_t i;

	json_array_foreach(json_object_get(java, "loaders"), i, loaders)
	{
		if (strcmp(text_at(loaders, "name"), name) != 0)
			continue;
		assert_int_equal(number_at(loaders, "loaders"), count);
		assert_int_equal(number_at(loaders, "classes"), count);
		assert_true(number_at(loaders, "metaspace_bytes") > 0);
		return;
	}
	fail_msg("no loader %s", name);
}

/* The VM tracks its memory only if started with an option; leakmon's reading needs none. */
static void memory_off_the_heap_is_what_the_vm_tracks(void **state)
{
	static const struct {
		const char *java, *options[3];
		bool counts;
	} runs[] = {
		{JAVA, {"-XX:NativeMemoryTracking=summary", "-XX:+UseG1GC"}, true},
		{JAVA, {"-XX:NativeMemoryTracking=summary", "-XX:+UseShenandoahGC"}, false},
		{JAVA, {"-XX:NativeMemoryTracking=summary", "-XX:+UseZGC"}, true},
		{JAVA_25, {"-XX:NativeMemoryTracking=summary", "-XX:+UseParallelGC"}, true},
	};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct child *target;
		char *before, *after;
		json_t *java, *truth;
		json_int_t collections;

		if (access(runs[i].java, X_OK))
			continue;
		target = start(harness, runs[i].java, runs[i].options);
		workload_do(harness, target, "map");
		truth = workload_ask(harness, target, "buffers");
		before = track(harness, target);
		java = java_of(harness, target);
		after = track(harness, target);
		/* The second time, classes loaded by jcmd are already there. */
		assert_in_range(number_at(java, "metaspace_bytes"),
				tracked(before, " Metaspace (") + tracked(before, " Class ("),
				tracked(after, " Metaspace (") + tracked(after, " Class ("));
		assert_in_range(number_at(java, "class_space_bytes"), tracked(before, " Class ("),
				tracked(after, " Class ("));
		assert_in_range(number_at(java, "code_cache_bytes"), tracked(before, " Code ("),
				tracked(after, " Code ("));
		assert_int_equal(number_at(java, "limit_bytes"), 128 << 20);
		expect_buffers(java, "direct_buffers", truth, "direct");
		expect_buffers(java, "mapped_buffers", truth, "mapped");
		expect_loader(java, "java.net.URLClassLoader", 3);
		if (runs[i].counts) {
			collections = number_at(java, "full_collections");
			workload_do(harness, target, "collect");
			java = java_of(harness, target);
			assert_int_equal(number_at(java, "full_collections"), collections + 1);
		}
		free(before);
		free(after);
		child_signal(target, SIGKILL);
		child_end(harness, target);
	}
}

static bool has_verdict(json_t *process, const char *verdict)
{
	return process && !strcmp(text_at(json_object_get(process, "growth"), "verdict"), verdict);
}

static struct child *start_shape(struct harness *harness, const char *shape, const char *young,
				 const char *collect)
{
	char classes[256];

	snprintf(classes, sizeof(classes), "%s/classes", harness->directory);
	if (access(classes, R_OK))
		free(shell(harness, 0, "javac -d %s tests/runtimes/HeapShapes.java", classes));
	return start_ready(harness, JAVA,
			   (const char *[]){"java", "-XX:+UseSerialGC", "-Xmx2g", young, collect,
					    "-cp", classes, "HeapShapes", shape, NULL},
			   NULL);
}

/* To the kernel, both grow alike. */
static void a_jvm_leaks_only_if_its_collections_leave_more(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *leak, *garbage, *monitor;
	bool leaks = false, grows = false;

	if (access("/usr/bin/javac", X_OK))
		skip();
	leak = start_shape(harness, "leak", "-Xmn16m", "-XX:-DisableExplicitGC");
	garbage = start_shape(harness, "garbage", "-Xmn1900m", "-XX:+DisableExplicitGC");
	monitor = MONITOR(harness, "triage", "--budget", "50%", "--top", "0", "--format", "json",
			  "2");
	for (int reports = 0; !leaks || !grows; reports++) {
		json_t *report = monitor_report(harness, monitor), *process;

		assert_true(reports < 150);
		process = process_of(report, leak->pid);
		leaks |= has_verdict(process, "leaking") &&
			 json_is_false(
				 json_object_get(json_object_get(process, "managed"), "unproven"));
		process = process_of(report, garbage->pid);
		grows |= has_verdict(process, "growing") &&
			 json_is_true(
				 json_object_get(json_object_get(process, "managed"), "unproven"));
		assert_false(has_verdict(process, "leaking"));
	}
	child_signal(monitor, SIGINT);
	child_end(harness, monitor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(what_is_lost_is_garbage_under_every_collector),
		e2e_test(the_objects_of_every_collector_are_counted_as_the_vm_counts_them),
		e2e_test(objects_of_other_jdks_are_counted),
		e2e_test(what_holds_an_object_has_a_name),
		e2e_test(memory_off_the_heap_is_what_the_vm_tracks),
		e2e_test(a_jvm_leaks_only_if_its_collections_leave_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
