// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Virtual threads of a Java program (tests/runtimes/VirtualThreads.java): their wait locations,
 * compared with the VM's own dump of threads; and objects held by their stacks, compared with the
 * planted ones. With JDK 25, and 21 in a tree of Debian 13. Only `threads` needs BPF.
 */
#include "java_tree.h"

#include <signal.h>
#include <unistd.h>

#define JDK_25 "/usr/lib/jvm/temurin-25-jdk-amd64/bin/"
#define PROGRAM "tests/runtimes/VirtualThreads.java"
#define WAITING 300
#define SLEEPING 100
#define NEW 5
#define ENDED 7

struct run {
	const char *options[4];
	const char *in_tree; /* the JDK there; NULL: 25 */
};

static const struct run runs[] = {
	{{"-XX:+UseG1GC"}, NULL},
	{{"-XX:+UseSerialGC", "-Xint"}, NULL},
	{{"-XX:+UseZGC"}, NULL},
	{{"-XX:+UseG1GC", "-XX:+UseCompactObjectHeaders"}, NULL},
	{{"-XX:+UseG1GC"}, JAVA_21},
	{{"-XX:+UseParallelGC", "-Xint", "-XX:-UseCompressedOops"}, JAVA_21},
	{{"-XX:+UseZGC", "-XX:+ZGenerational"}, JAVA_21},
	{{"-XX:+UseZGC"}, JAVA_21},
	{{"-XX:+UseG1GC"}, JAVA_27},
	{{"-XX:+UseZGC"}, JAVA_27},
	{{"-XX:+UseParallelGC", "-XX:-UseCompressedOops", "-XX:-UseCompactObjectHeaders"}, JAVA_27},
};

/* Returns NULL if that JDK is missing. */
static struct child *start(struct harness *harness, const struct run *run)
{
	char directory[256], options[256] = "", arguments[32], command[512];

	for (size_t i = 0; i < 4 && run->options[i]; i++)
		snprintf(options + strlen(options), sizeof(options) - strlen(options), "%s ",
			 run->options[i]);
	snprintf(arguments, sizeof(arguments), "%d %d", WAITING, SLEEPING);
	if (run->in_tree)
		return start_in_java_tree(harness, run->in_tree, "VirtualThreads", options,
					  arguments);
	if (access(JDK_25 "javac", X_OK))
		return NULL;
	snprintf(directory, sizeof(directory), "%s/virtual", harness->directory);
	if (access(directory, R_OK))
		free(shell(harness, 0, JDK_25 "javac -d %s " PROGRAM, directory));
	snprintf(command, sizeof(command),
		 "exec " JDK_25 "java -Xmx256m %s -cp %s VirtualThreads %s", options, directory,
		 arguments);
	return start_ready(harness, "/bin/sh", ARGUMENTS("sh", "-c", command), NULL);
}

static json_t *threads_of(struct harness *harness, struct child *monitor)
{
	json_t *report = monitor_report(harness, monitor);

	return json_array_get(json_object_get(report, "processes"), 0);
}

static json_t *virtual_of(struct harness *harness, const struct child *target)
{
	struct child *monitor =
		MONITOR(harness, "threads", "-p", target->pid_text, "--format", "json", "1", "1");
	json_t *process = threads_of(harness, monitor);

	child_end(harness, monitor);
	return process;
}

/* The VM leaves frames of lambdas and such out. */
static bool is_hidden(const char *function)
{
	return strstr(function, "$$Lambda") || !strcmp(function, "java.lang.Thread.runWith");
}

/* "java.base/java.lang.VirtualThread.park(VirtualThread.java:742)". */
static bool is_frame(const char *dumped, json_t *frame)
{
	const char *function = text_at(frame, "function"), *end = strchr(dumped, '(');
	const char *module = strchr(dumped, '/'), *line = end ? strchr(end, ':') : NULL;

	if (module && end && module < end)
		dumped = module + 1;
	return end && strlen(function) == (size_t)(end - dumped) &&
	       !strncmp(dumped, function, strlen(function)) &&
	       (line ? strtol(line + 1, NULL, 10) : 0) ==
		       json_integer_value(json_object_get(frame, "line"));
}

static bool is_stack(json_t *dumped, json_t *frames)
{
	json_t *frame;
	size_t i, next = 0;

	json_array_foreach(frames, i, frame)
	{
		const char *line = json_string_value(json_array_get(dumped, next));

		if (is_hidden(text_at(frame, "function")))
			continue;
		if (!line || !is_frame(line, frame))
			return false;
		next++;
	}
	return next && next == json_array_size(dumped);
}

/* Virtual threads with these frames, as the VM has them; frames NULL: all that have any. */
static json_int_t count_dumped(json_t *dump, json_t *frames)
{
	json_t *containers =
		json_object_get(json_object_get(dump, "threadDump"), "threadContainers");
	json_t *container, *thread;
	json_int_t count = 0;
	size_t i, j;

	json_array_foreach(containers, i, container)
	{
		json_array_foreach(json_object_get(container, "threads"), j, thread)
		{
			json_t *stack = json_object_get(thread, "stack");

			if (!json_is_true(json_object_get(thread, "virtual")) ||
			    !json_array_size(stack))
				continue;
			count += !frames || is_stack(stack, frames);
		}
	}
	return count;
}

static json_t *dump_of(struct harness *harness, const struct child *target)
{
	char path[256];
	json_t *dump;

	snprintf(path, sizeof(path), "%s/dump.json", harness->directory);
	free(shell(harness, 0, JDK_25 "jcmd %s Thread.dump_to_file -overwrite -format=json %s",
		   target->pid_text, path));
	dump = json_load_file(path, 0, NULL);
	assert_non_null(dump);
	return dump;
}

static json_t *group_of(json_t *virtual, const char *place)
{
	json_t *group, *frame;
	size_t i, j;

	json_array_foreach(json_object_get(virtual, "groups"), i, group)
	{
		json_array_foreach(json_object_get(json_object_get(group, "waits_at"), "frames"), j,
				   frame)
		{
			if (!strcmp(text_at(frame, "function"), place))
				return group;
		}
	}
	fail_msg("no virtual thread waits at %s", place);
	return NULL;
}

static void expect_groups(json_t *virtual)
{
	assert_int_equal(number_at(virtual, "count"), WAITING + SLEEPING + NEW);
	assert_int_equal(number_at(virtual, "ended"), ENDED);
	assert_int_equal(number_at(virtual, "unread"), 0);
	assert_true(json_is_false(json_object_get(virtual, "moved")));
	assert_int_equal(json_array_size(json_object_get(virtual, "groups")), 3);
	assert_int_equal(number_at(group_of(virtual, "VirtualThreads.await"), "count"), WAITING);
	assert_int_equal(number_at(group_of(virtual, "VirtualThreads.sleep"), "count"), SLEEPING);
}

/* Frame by frame, thread by thread. */
static void expect_dump(json_t *dump, json_t *virtual)
{
	json_t *group;
	json_int_t sum = 0;
	size_t i;

	json_array_foreach(json_object_get(virtual, "groups"), i, group)
	{
		json_t *frames = json_object_get(json_object_get(group, "waits_at"), "frames");

		if (!json_array_size(frames))
			continue;
		assert_int_equal(count_dumped(dump, frames), number_at(group, "count"));
		sum += number_at(group, "count");
	}
	assert_int_equal(count_dumped(dump, NULL), sum);
}

/* Each has one value of a dead ThreadLocal. */
static void expect_gone_locals(json_t *process)
{
	json_t *java = json_object_get(process, "java_threads");
	json_t *gone = json_array_get(json_object_get(java, "gone_locals"), 0);

	assert_int_equal(number_at(java, "gone_local_values"), WAITING);
	assert_string_equal(text_at(gone, "class"), "VirtualThreads$OfGoneLocal");
	assert_true(json_is_true(json_object_get(gone, "virtual")));
	assert_int_equal(number_at(gone, "count"), WAITING);
}

static json_int_t live_of(json_t *report, const char *name)
{
	json_int_t held = 0;
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!strcmp(text_at(class, "name"), name))
			held += number_at(json_object_get(class, "held"), "blocks");
	}
	return held;
}

/* Each of the five calls of waiting threads has one, and the call of sleeping threads. */
static void expect_planted(struct harness *harness, const struct child *target)
{
	json_t *report = RETAIN(harness, target, "--top", "0"), *steps, *last;

	walked_runtime_of(report, "hotspot");
	assert_int_equal(live_of(report, "VirtualThreads$OfStack"), 5 * WAITING + SLEEPING);
	assert_int_equal(live_of(report, "VirtualThreads$OfLocal"), WAITING);
	assert_int_equal(live_of(report, "java.lang.VirtualThread"), WAITING + SLEEPING + NEW);
	assert_int_equal(live_of(report, "java.lang.VirtualThread (ended)"), ENDED);
	report = RETAIN(harness, target, "--class", "VirtualThreads$OfStack");
	steps = json_object_get(json_array_get(json_object_get(report, "paths"), 0), "steps");
	last = json_array_get(steps, json_array_size(steps) - 1);
	assert_int_equal(strncmp(text_at(last, "label"), ".<stack, VirtualThreads.", 24), 0);
}

static void virtual_threads_wait_where_the_vm_says(void **state)
{
	struct harness *harness = harness_bpf(state);
	size_t tested = 0;

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct child *target = start(harness, &runs[i]);
		json_t *process, *virtual, *dump;

		if (!target)
			continue;
		tested++;
		process = virtual_of(harness, target);
		virtual = json_object_get(process, "virtual_threads");
		expect_groups(virtual);
		expect_gone_locals(process);
		expect_planted(harness, target);
		if (!runs[i].in_tree) {
			dump = dump_of(harness, target);
			expect_dump(dump, virtual);
			json_decref(dump);
		}
		child_signal(target, SIGKILL);
		child_end(harness, target);
	}
	if (!tested) {
		fprintf(stderr, "SKIPPED, nothing was tested: no JDK 25, and no Debian 13 "
				"(scripts/deps.sh trixie)\n");
		skip();
	}
}

/* Ten more come between two reports, and none ends. */
static void virtual_threads_that_become_more_are_named(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target = start(harness, &runs[0]), *monitor;
	json_t *group;

	if (!target)
		skip();
	monitor = MONITOR(harness, "threads", "-p", target->pid_text, "--format", "json", "1");
	group = group_of(json_object_get(threads_of(harness, monitor), "virtual_threads"),
			 "VirtualThreads.await");
	assert_true(json_is_null(json_object_get(group, "first_count")));
	workload_do(harness, target, "more");
	do {
		group = group_of(json_object_get(threads_of(harness, monitor), "virtual_threads"),
				 "VirtualThreads.await");
	} while (number_at(group, "count") != WAITING + 10);
	assert_int_equal(number_at(group, "first_count"), WAITING);
	assert_int_equal(number_at(group, "come"), 10);
	assert_int_equal(number_at(group, "gone"), 0);
	child_signal(monitor, SIGINT);
	child_end(harness, monitor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(virtual_threads_wait_where_the_vm_says),
		e2e_test(virtual_threads_that_become_more_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
