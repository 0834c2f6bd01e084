// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of native allocations of Java programs, against the stacks that the VM itself has for them
 * (tests/runtimes/JavaFrames.java): interpreted, compiled by C1, by C2, and as it comes.
 */
#include "java_tree.h"

#include <unistd.h>

#define JAVA "/usr/bin/java"
#define JAVA_25 "/usr/lib/jvm/temurin-25-jdk-amd64/bin/java" /* is left out if it is not there */
#define PROGRAMS_MAX 11
#define OPTIONS_MAX 4
#define OWN "JavaFrames" /* classes of the program begin so */

static const struct program {
	const char *java, *options[OPTIONS_MAX];
} programs[] = {
	{JAVA, {"-Xint"}},
	{JAVA, {"-XX:TieredStopAtLevel=1"}},
	{JAVA, {"-XX:-TieredCompilation"}},
	{JAVA, {"-XX:+UseParallelGC"}},
	{JAVA, {"-XX:+UseShenandoahGC"}},
	{JAVA_25, {"-XX:+UseZGC"}},
	{JAVA_11, {"-XX:+UseG1GC"}},
	{JAVA_21, {"-XX:+UseG1GC"}},
	{JAVA_21, {"-XX:-TieredCompilation"}},
	{JAVA_27, {"-XX:+UseG1GC"}},
	{JAVA_27, {"-XX:-TieredCompilation"}},
};

/*
 * A kind of native memory: number of allocations, the native method in its stacks, and the bytes of
 * each; 0: they vary. The VM's own allocations for the call have other sizes.
 */
static const struct kind {
	const char *command, *function;
	json_int_t times, bytes;
} kinds[] = {
	{"allocate 20000", "jdk.internal.misc.Unsafe.allocateMemory0", 20000, 40},
	{"deflate 500", "java.util.zip.Deflater.init", 500, 0},
	{"start 20", "java.lang.Thread.start0", 20, 0},
};

/* All programs, for one attach. */
struct together {
	struct child *targets[PROGRAMS_MAX];
	const struct program *programs[PROGRAMS_MAX];
	size_t count;
	char pids[PROGRAMS_MAX * 12];
};

/* Returns NULL if that JDK is missing. */
static struct child *start_program(struct harness *harness, const struct program *program,
				   const char *classes)
{
	const char *argv[OPTIONS_MAX + 6] = {"java", "-Xmx128m"};
	size_t count = 2;

	if (strcmp(program->java, JAVA) != 0 && strcmp(program->java, JAVA_25) != 0)
		return start_in_java_tree(harness, program->java, "JavaFrames", program->options[0],
					  "");
	if (access(program->java, X_OK))
		return NULL;
	for (size_t i = 0; i < OPTIONS_MAX && program->options[i]; i++)
		argv[count++] = program->options[i];
	argv[count++] = "-cp";
	argv[count++] = classes;
	argv[count++] = "JavaFrames";
	return start_ready(harness, program->java, argv, NULL);
}

static void start(struct harness *harness, const struct program *program, const char *classes,
		  struct together *together)
{
	struct child *target = start_program(harness, program, classes);
	size_t used = strlen(together->pids);

	if (!target)
		return;
	snprintf(together->pids + used, sizeof(together->pids) - used, "%s%s", used ? "," : "",
		 target->pid_text);
	together->programs[together->count] = program;
	together->targets[together->count++] = target;
}

/* Starts those of JDK 27, or all others: beside ten others, stacks of JDK 27 lacked methods. */
static void start_all(struct harness *harness, struct together *together, bool newest)
{
	char classes[256];

	*together = (struct together){0};
	if (access("/usr/bin/javac", X_OK) || access(JAVA, X_OK))
		skip();
	snprintf(classes, sizeof(classes), "%s/frames", harness->directory);
	free(shell(harness, 0, "javac -d %s -Xlint:-options tests/runtimes/JavaFrames.java 2>&1",
		   classes));
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (newest == !strcmp(programs[i].java, JAVA_27))
			start(harness, &programs[i], classes, together);
	}
}

static bool is_of(json_t *site, const char *function)
{
	json_t *frame;
	size_t i;

	json_array_foreach(json_object_get(site, "frames"), i, frame)
	{
		if (json_is_string(json_object_get(frame, "function")) &&
		    !strcmp(text_at(frame, "function"), function))
			return true;
	}
	return false;
}

/*
 * Returns whether a frame is the program's own; the VM hides those it generates for lambdas, which
 * have no file.
 */
static bool is_own(json_t *frame)
{
	return json_is_string(json_object_get(frame, "module")) &&
	       !strcmp(text_at(frame, "module"), "java") &&
	       json_is_string(json_object_get(frame, "file")) &&
	       !strncmp(text_at(frame, "function"), OWN, strlen(OWN));
}

static bool is_same(json_t *frame, json_t *truth)
{
	return truth &&
	       !strcmp(text_at(frame, "function"), json_string_value(json_array_get(truth, 0))) &&
	       !strcmp(text_at(frame, "file"), json_string_value(json_array_get(truth, 1))) &&
	       number_at(frame, "line") == json_integer_value(json_array_get(truth, 2));
}

static void expect_frames(json_t *site, json_t *truth)
{
	json_t *frame, *wanted = json_object_get(truth, "frames");
	size_t i, own = 0;
	bool same = true;

	json_array_foreach(json_object_get(site, "frames"), i, frame)
	{
		if (is_own(frame))
			same &= is_same(frame, json_array_get(wanted, own++));
	}
	if (!same || own != json_array_size(wanted))
		fail_msg("%s, not %s", json_dumps(site, JSON_COMPACT),
			 json_dumps(truth, JSON_COMPACT));
}

/* The VM also starts threads of its own. */
static bool has_own(json_t *site)
{
	json_t *frame;
	size_t i;

	json_array_foreach(json_object_get(site, "frames"), i, frame)
	{
		if (is_own(frame))
			return true;
	}
	return false;
}

static void expect_kind(json_t *process, const struct program *program, const struct kind *kind,
			json_t *truth)
{
	json_int_t count = 0;
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		if (!is_of(site, kind->function) || !has_own(site))
			continue;
		expect_frames(site, truth);
		if (!kind->bytes ||
		    number_at(site, "bytes") == number_at(site, "count") * kind->bytes)
			count += number_at(site, "count");
	}
	if (kind->bytes ? count != kind->times : count < kind->times)
		fail_msg("%s %s: %s: %lld allocations", program->java, program->options[0],
			 kind->command, (long long)count);
}

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void expect_methods_and_lines(void **state, bool newest)
{
	struct harness *harness = harness_bpf(state);
	json_t *truths[PROGRAMS_MAX][KINDS], *report;
	struct together together;
	struct child *monitor;

	start_all(harness, &together, newest);
	if (!together.count)
		skip();
	monitor = MONITOR(harness, "-p", together.pids, "-o", "0", "--top", "0", "--format", "json",
			  "3600");
	for (size_t i = 0; i < together.count; i++)
		monitor_wait_attached(harness, monitor, together.targets[i]->pid);
	for (size_t i = 0; i < together.count * KINDS; i++)
		truths[i / KINDS][i % KINDS] = workload_ask(harness, together.targets[i / KINDS],
							    kinds[i % KINDS].command);
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	for (size_t i = 0; i < together.count * KINDS; i++)
		expect_kind(process_of(report, together.targets[i / KINDS]->pid),
			    together.programs[i / KINDS], &kinds[i % KINDS],
			    truths[i / KINDS][i % KINDS]);
}

static void stacks_of_native_memory_have_the_methods_and_lines_that_the_vm_has(void **state)
{
	expect_methods_and_lines(state, false);
}

static void so_have_those_of_the_newest_vm(void **state)
{
	expect_methods_and_lines(state, true);
}

static void mappings_have_them_too(void **state)
{
	static const struct kind map = {"map 200", "sun.nio.ch.FileChannelImpl.map0", 200, 4096};
	struct harness *harness = harness_bpf(state);
	struct together together;
	struct child *monitor;
	json_t *truth;

	start_all(harness, &together, false);
	monitor = MONITOR_ATTACHED(harness, "-p", together.targets[0]->pid_text, "-o", "0", "--top",
				   "0", "--mappings", "--format", "json", "3600");
	truth = workload_ask(harness, together.targets[0], map.command);
	expect_kind(process_of(monitor_stop(harness, monitor), together.targets[0]->pid),
		    together.programs[0], &map, truth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(stacks_of_native_memory_have_the_methods_and_lines_that_the_vm_has),
		e2e_test(so_have_those_of_the_newest_vm),
		e2e_test(mappings_have_them_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
