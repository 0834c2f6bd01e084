// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of native allocations of Node's programs, against the stacks that V8 itself has for them
 * (tests/runtimes/js_frames.js): interpreted, compiled in one way or another, and as it comes.
 */
#include "retain_json.h"
#include "tree.h"

#define NODE "/usr/bin/node"
#define PROGRAMS_MAX 18
#define OPTIONS_MAX 4
#define SCRIPT "tests/runtimes/js_frames.js"

/* The part of V8's stack that must be present. */
enum truth {
	WHOLE,	  /* all */
	OUTLINED, /* functions that are not inlined; optimized ones have their first line */
};

/* `runtime`: of `scripts/deps.sh runtimes`, which is left out if it is not there; NULL: NODE. */
static const struct program {
	const char *runtime, *options[OPTIONS_MAX];
	enum truth truth;
} programs[] = {
	{NULL, {"--no-opt", "--no-sparkplug"}, WHOLE},
	{NULL, {"--jitless"}, WHOLE},
	{NULL, {"--no-opt", "--always-sparkplug"}, WHOLE},
	{NULL, {NULL}, OUTLINED},
	{"node-18", {"--no-opt", "--no-sparkplug"}, WHOLE},
	{"node-18", {NULL}, OUTLINED},
	{"node-22", {"--no-opt", "--no-sparkplug", "--no-maglev"}, WHOLE},
	{"node-22", {"--no-opt", "--always-sparkplug", "--no-maglev"}, WHOLE},
	{"node-22", {"--maglev"}, OUTLINED},
	{"node-24", {"--no-opt", "--no-sparkplug", "--no-maglev"}, WHOLE},
	{"node-24", {"--no-opt", "--always-sparkplug", "--no-maglev"}, WHOLE},
	{"node-24", {NULL}, OUTLINED},
	{"node-25", {"--no-opt", "--no-sparkplug", "--no-maglev"}, WHOLE},
	{"node-25", {"--no-opt", "--always-sparkplug", "--no-maglev"}, WHOLE},
	{"node-25", {NULL}, OUTLINED},
	{"node-26", {"--no-opt", "--no-sparkplug", "--no-maglev"}, WHOLE},
	{"node-26", {"--no-opt", "--always-sparkplug", "--no-maglev"}, WHOLE},
	{"node-26", {NULL}, OUTLINED},
};

/*
 * A kind of native memory: number of allocations, and the bytes of each; 0: they vary. V8's own
 * allocations for the call have other sizes.
 */
static const struct kind {
	const char *command;
	json_int_t times, bytes;
} kinds[] = {
	{"allocate 2000", 2000, 1000}, {"deflate 100", 100, 0}, {"method 2000", 2000, 1000},
	{"each 2000", 2000, 1000},     {"start 1", 1, 0},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct run {
	const struct program *program;
	struct child *target;
	json_t *truths[KINDS]; /* the target's answer to each command */
};

/* All programs, for one attach. */
struct together {
	struct run runs[PROGRAMS_MAX];
	size_t count;
	char pids[PROGRAMS_MAX * 12];
};

static bool find_node(const struct program *program, char *path, size_t size)
{
	char root[256];

	snprintf(path, size, NODE);
	if (program->runtime && !tree_has(program->runtime, "/bin/node", root, sizeof(root)))
		return false;
	if (program->runtime)
		snprintf(path, size, "%s/bin/node", root);
	return !access(path, X_OK);
}

static void start(struct harness *harness, const struct program *program, struct together *together)
{
	/* An idle V8 would compact its heap before the report, which comes late here. */
	const char *argv[OPTIONS_MAX + 4] = {"node", "--no-memory-reducer"};
	size_t count = 2, used = strlen(together->pids);
	struct run *run = &together->runs[together->count];
	char path[300];

	if (!find_node(program, path, sizeof(path)))
		return;
	for (size_t i = 0; i < OPTIONS_MAX && program->options[i]; i++)
		argv[count++] = program->options[i];
	argv[count++] = SCRIPT;
	*run = (struct run){program, start_ready(harness, path, argv, NULL), {NULL}};
	snprintf(together->pids + used, sizeof(together->pids) - used, "%s%s", used ? "," : "",
		 run->target->pid_text);
	together->count++;
}

static void start_all(struct harness *harness, struct together *together)
{
	*together = (struct together){0};
	if (access(NODE, X_OK))
		skip();
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		start(harness, &programs[i], together);
}

/* The script's own frame; Node's are between its first one and the native ones. */
static bool is_own(json_t *frame)
{
	return json_is_string(json_object_get(frame, "module")) &&
	       !strcmp(text_at(frame, "module"), "javascript") &&
	       json_is_string(json_object_get(frame, "file")) &&
	       strstr(text_at(frame, "file"), SCRIPT);
}

static bool is_same(json_t *frame, json_t *truth, bool with_line)
{
	return !strcmp(text_at(frame, "function"), json_string_value(json_array_get(truth, 0))) &&
	       !strcmp(text_at(frame, "file"), json_string_value(json_array_get(truth, 1))) &&
	       (!with_line ||
		number_at(frame, "line") == json_integer_value(json_array_get(truth, 2)));
}

/* Returns whether its frames in the script are those that must be present. */
static bool has_frames(json_t *site, json_t *truth, enum truth how)
{
	json_t *frame, *wanted = json_object_get(truth, "frames");
	size_t i, own = 0, at = 0;

	json_array_foreach(json_object_get(site, "frames"), i, frame)
	{
		if (!is_own(frame))
			continue;
		while (how == OUTLINED && at < json_array_size(wanted) &&
		       !is_same(frame, json_array_get(wanted, at), false))
			at++;
		if (at == json_array_size(wanted) ||
		    !is_same(frame, json_array_get(wanted, at++), how == WHOLE))
			return false;
		own++;
	}
	return how == OUTLINED ? own >= 2 : own == json_array_size(wanted);
}

static json_int_t count_sites(json_t *process, const struct kind *kind, json_t *truth,
			      enum truth how)
{
	json_int_t count = 0;
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		if ((!kind->bytes ||
		     number_at(site, "bytes") == number_at(site, "count") * kind->bytes) &&
		    has_frames(site, truth, how))
			count += number_at(site, "count");
	}
	return count;
}

/* Without some functions, stacks of two kinds may look the same. */
static void expect_kinds(json_t *process, const struct run *run)
{
	for (size_t i = 0; i < KINDS; i++) {
		const struct kind *kind = &kinds[i];
		enum truth how = run->program->truth;
		json_int_t count = count_sites(process, kind, run->truths[i], how);

		if (kind->bytes && how != OUTLINED ? count != kind->times : count < kind->times)
			fail_msg("%s %s: %s: %lld allocations: %s",
				 run->program->runtime ? run->program->runtime : NODE,
				 run->program->options[0] ? run->program->options[0] : "",
				 kind->command, (long long)count,
				 json_dumps(process, JSON_COMPACT));
	}
}

static void stacks_of_native_memory_have_the_functions_and_lines_that_v8_has(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct together together;
	struct child *monitor;
	json_t *report;

	start_all(harness, &together);
	monitor = MONITOR(harness, "-p", together.pids, "-o", "0", "--top", "0", "--max-sites",
			  "262144", "--format", "json", "3600");
	for (size_t i = 0; i < together.count; i++)
		monitor_wait_attached(harness, monitor, together.runs[i].target->pid);
	for (size_t i = 0; i < together.count * KINDS; i++)
		together.runs[i / KINDS].truths[i % KINDS] = workload_ask(
			harness, together.runs[i / KINDS].target, kinds[i % KINDS].command);
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	for (size_t i = 0; i < together.count; i++)
		expect_kinds(process_of(report, together.runs[i].target->pid), &together.runs[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(stacks_of_native_memory_have_the_functions_and_lines_that_v8_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
