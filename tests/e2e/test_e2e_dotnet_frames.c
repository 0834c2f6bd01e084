// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of native allocations of .NET's programs, against the methods that the runtime itself has
 * for them (tests/runtimes/dotnet_frames.cs), before and after they are compiled again.
 */
#include "retain_json.h"

#define PROGRAMS_MAX 4
#define ROUNDS 3

static const char *const versions[] = {"8", "9"};

/* A kind of native memory, by its size, which nothing else has. */
static const struct kind {
	const char *name;
	json_int_t times, bytes;
} kinds[] = {
	{"leak", 400, 10007},  {"box", 40, 20011},    {"shared", 40, 30011},
	{"lambda", 40, 40009}, {"context", 5, 50021},
};

/* The last kind's method is precompiled, and has no name in a single-file program. */
#define KINDS_OF_FILES (KINDS - 1)
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct run {
	const char *version;
	struct child *target;
	json_t *truths[KINDS]; /* the target's answer for each kind */
};

/* All versions, for one attach. */
struct together {
	struct run runs[PROGRAMS_MAX];
	size_t count;
	char pids[PROGRAMS_MAX * 12];
};

static void choose_culture(void)
{
	setenv("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1", 1);
}

/* NULL: that version is not there. */
static struct child *start(struct harness *harness, const char *version)
{
	char command[128], path[512] = "";
	FILE *script;

	snprintf(command, sizeof(command),
		 "tests/runtimes/dotnet.sh %s tests/runtimes/dotnet_frames.cs", version);
	script = popen(command, "r");
	assert_non_null(script);
	if (!fgets(path, sizeof(path), script))
		path[0] = '\0';
	pclose(script);
	path[strcspn(path, "\n")] = '\0';
	if (!path[0]) {
		fprintf(stderr, "there is no .NET %s (scripts/deps.sh dotnet)\n", version);
		return NULL;
	}
	return start_ready(harness, path, ARGUMENTS("frames", "census"), choose_culture);
}

static void start_all(struct harness *harness, struct together *together)
{
	*together = (struct together){0};
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct run *run = &together->runs[together->count];
		size_t used = strlen(together->pids);

		run->version = versions[i];
		run->target = start(harness, versions[i]);
		if (!run->target)
			continue;
		snprintf(together->pids + used, sizeof(together->pids) - used, "%s%s",
			 used ? "," : "", run->target->pid_text);
		together->count++;
	}
	if (!together->count)
		skip();
}

/* Returns whether a frame is a .NET method, except allocating ones, which may be inlined. */
static bool is_own(json_t *frame)
{
	return json_is_string(json_object_get(frame, "module")) &&
	       !strcmp(text_at(frame, "module"), "dotnet") &&
	       strncmp(text_at(frame, "function"), "System.Runtime.InteropServices.", 31) != 0 &&
	       strncmp(text_at(frame, "function"), "Interop.", 8) != 0 &&
	       strncmp(text_at(frame, "function"), "IL_STUB_", 8) != 0;
}

static bool has_frames(json_t *site, json_t *truth)
{
	json_t *frame, *wanted = json_object_get(truth, "frames");
	size_t i, own = 0;

	json_array_foreach(json_object_get(site, "frames"), i, frame)
	{
		const char *expected = json_string_value(json_array_get(wanted, own));

		if (!is_own(frame))
			continue;
		if (!expected || strcmp(text_at(frame, "function"), expected))
			return false;
		own++;
	}
	return own == json_array_size(wanted);
}

/*
 * Checks all complete stacks of that size. In code that is just being mapped, a walk ends early and
 * reports so.
 */
static void expect_kind(json_t *process, const struct run *run, const struct kind *kind,
			json_t *truth)
{
	json_int_t count = 0;
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		if (number_at(site, "bytes") != number_at(site, "count") * kind->bytes ||
		    strcmp(text_at(site, "end"), "root"))
			continue;
		if (!has_frames(site, truth))
			fail_msg(".NET %s: %s: %s", run->version, kind->name,
				 json_dumps(site, JSON_COMPACT));
		count += number_at(site, "count");
	}
	if (count < kind->times || count > kind->times * ROUNDS)
		fail_msg(".NET %s: %s: %lld allocations", run->version, kind->name,
			 (long long)count);
}

/* Between rounds the runtime recompiles frequently called methods. */
static void allocate(struct harness *harness, struct run *run)
{
	char command[64];

	for (size_t i = 0; i < ROUNDS * KINDS; i++) {
		const struct kind *kind = &kinds[i % KINDS];

		snprintf(command, sizeof(command), "%s %d", kind->name, (int)kind->times);
		run->truths[i % KINDS] = workload_ask(harness, run->target, command);
		if (i % KINDS == KINDS - 1)
			workload_ask(harness, run->target, "settle 400");
	}
}

static void stacks_of_native_memory_have_the_methods_that_the_runtime_has(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct together together;
	struct child *monitor;
	json_t *report;

	start_all(harness, &together);
	monitor = MONITOR(harness, "-p", together.pids, "-o", "0", "--top", "0", "--format", "json",
			  "3600");
	for (size_t i = 0; i < together.count; i++)
		monitor_wait_attached(harness, monitor, together.runs[i].target->pid);
	for (size_t i = 0; i < together.count; i++)
		allocate(harness, &together.runs[i]);
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	for (size_t i = 0; i < together.count; i++) {
		struct run *run = &together.runs[i];
		size_t count = strcmp(run->version, "8") ? KINDS : KINDS_OF_FILES;

		for (size_t j = 0; j < count; j++)
			expect_kind(process_of(report, run->target->pid), run, &kinds[j],
				    run->truths[j]);
	}
}

/* The program of dotnet_trimmed.cs: of the kinds it has the first one. */
static void methods_of_a_trimmed_file_have_names(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct run run = {.version = "10-trimmed", .target = start(harness, "10-trimmed")};
	struct child *monitor;

	if (!run.target)
		skip();
	monitor = MONITOR(harness, "-p", run.target->pid_text, "-o", "0", "--top", "0", "--format",
			  "json", "3600");
	monitor_wait_attached(harness, monitor, run.target->pid);
	for (size_t i = 0; i < ROUNDS; i++)
		run.truths[0] = workload_ask(harness, run.target, "leak");
	expect_kind(process_of(monitor_stop(harness, monitor), run.target->pid), &run, &kinds[0],
		    run.truths[0]);
}

static void the_answer_names_the_method_that_leaks(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target = start(harness, "9"), *monitor;
	json_t *process, *code;

	if (!target)
		skip();
	workload_send(target, "drip");
	monitor = MONITOR(harness, "diagnose", "-p", target->pid_text, "--for", "20s", "--format",
			  "json");
	child_end(harness, monitor);
	process = process_of(monitor_report(harness, monitor), target->pid);
	code = json_object_get(process, "code");
	if (!json_is_object(code) || strcmp(text_at(code, "function"), "Planted.Cart.Leak"))
		fail_msg("%s", json_dumps(process, JSON_COMPACT));
	assert_string_equal(text_at(process, "part"), "native-blocks");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(stacks_of_native_memory_have_the_methods_that_the_runtime_has),
		e2e_test(methods_of_a_trimmed_file_have_names),
		e2e_test(the_answer_names_the_method_that_leaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
