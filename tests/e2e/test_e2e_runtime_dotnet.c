// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of .NET programs, compared with their own counts (tests/runtimes/dotnet_stories.cs).
 * `scripts/deps.sh dotnet` fetches the runtimes. No BPF is needed.
 */
#include "containers.h"
#include "retain_json.h"
#include "shell.h"

#include <unistd.h>

/* The version under test. */
static const char *version;

#define STOPS 3
#define GCORE "/usr/bin/gcore"

/* The path of the program for that version; NULL: it is not there. */
static char *find_program(void)
{
	char command[64], path[512] = "";
	FILE *script;

	snprintf(command, sizeof(command), "tests/runtimes/dotnet.sh %s", version);
	script = popen(command, "r");
	if (!script)
		return NULL;
	if (!fgets(path, sizeof(path), script))
		path[0] = '\0';
	pclose(script);
	path[strcspn(path, "\n")] = '\0';
	return path[0] ? strdup(path) : NULL;
}

static void choose_culture(void)
{
	setenv("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1", 1);
}

static void say_skipped(void)
{
	fprintf(stderr,
		"SKIPPED, nothing was tested: there is no .NET %s (scripts/deps.sh dotnet)\n",
		version);
}

/* NULL: that runtime is not there. */
static struct child *start(struct harness *harness, const char *story, const char *count)
{
	char *path = find_program();
	struct child *child;

	if (!path) {
		say_skipped();
		return NULL;
	}
	child = start_ready(harness, path, ARGUMENTS("stories", story, count), choose_culture);
	free(path);
	return child;
}

static struct child *start_or_skip(struct harness *harness, const char *story, const char *count)
{
	struct child *child = start(harness, story, count);

	if (!child)
		skip();
	return child;
}

/* Classes of one name may be of several types: of the same name in several assemblies. */
static json_int_t count_of(json_t *report, const char *name)
{
	json_int_t count = 0;
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!strcmp(text_at(class, "name"), name) &&
		    !strcmp(text_at(class, "module"), "dotnet"))
			count += number_at(class, "count");
	}
	return count;
}

static void expect_classes(json_t *truth, json_t *report)
{
	json_t *runtime = runtime_of(report, "dotnet"), *count;
	const char *name;

	assert_string_equal(text_at(runtime, "why_not_walked"), "");
	assert_string_equal(text_at(runtime, "version"), version);
	assert_int_equal(number_at(runtime, "nonsense"), 0);
	json_object_foreach(json_object_get(truth, "classes"), name, count)
	{
		if (count_of(report, name) != json_integer_value(count))
			fail_msg(".NET %s: %s: %lld objects, not %lld", version, name,
				 (long long)count_of(report, name),
				 (long long)json_integer_value(count));
	}
}

/* The path to the class that the report was asked for: its root, its steps as "label class". */
static json_t *path_of(json_t *report)
{
	return json_array_get(json_object_get(report, "paths"), 0);
}

static void expect_root(json_t *report, const char *kind, const char *name)
{
	json_t *root = json_object_get(path_of(report), "root");

	assert_string_equal(text_at(root, "name"), name);
	assert_string_equal(text_at(root, "kind"), kind);
}

static void objects_are_counted_as_the_program_counts_them(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start_or_skip(harness, "census", "300");
	json_t *report = RETAIN(harness, target, "--top", "0", "--class", "Planted.Subscriber");

	expect_classes(workload_ask(harness, target, "truth"), report);
	assert_int_equal(number_at(path_of(report), "sharing"), 300);
	expect_root(report, "managed", "static Planted.Publisher.Changed");
}

/* Objects that are held, of all classes. */
static json_int_t held_objects(json_t *report)
{
	json_int_t held = 0;
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!strcmp(text_at(class, "kind"), "managed class"))
			held += number_at(json_object_get(class, "held"), "blocks");
	}
	return held;
}

/*
 * Compares with the runtime's own graph of live objects, after a collection, within a tolerance per
 * thousand.
 */
static void expect_held_as_in_graph(struct harness *harness, struct child *target, json_int_t held,
				    json_int_t thousandths)
{
	char *text =
		shell(harness, 0, "python3 tests/runtimes/dotnet_graph.py %s", target->pid_text);
	json_t *graph = json_loads(text, 0, NULL);

	free(text);
	assert_non_null(graph);
	assert_int_equal(number_at(graph, "references"), number_at(graph, "declared"));
	if (llabs(held - number_at(graph, "objects")) >
	    number_at(graph, "objects") * thousandths / 1000)
		fail_msg("%lld objects are held, not %lld", (long long)held,
			 (long long)number_at(graph, "objects"));
	json_decref(graph);
}

static void held_objects_are_as_many_as_in_the_graph_of_the_runtime(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start_or_skip(harness, "census", "300");

	expect_held_as_in_graph(harness, target,
				held_objects(RETAIN(harness, target, "--top", "0")), 1);
}

#define SETTLED_TRIES 60
#define STARTED 10000 /* objects */

/* A .NET 10 server that waits for requests on its input; it prints no line when ready. */
static void objects_of_a_foreign_program_are_those_of_its_graph(void **state)
{
	struct harness *harness = harness_any(state);
	char *path = find_program();
	json_int_t held = 0, before;
	struct child *target;
	json_t *report, *runtime;

	if (!path) {
		say_skipped();
		skip();
	}
	target = child_start(harness, path, ARGUMENTS("fabmcp", "server", "start"), choose_culture);
	free(path);
	for (int i = 0; i < SETTLED_TRIES; i++) {
		sleep(1);
		/* The first session itself makes objects that stay. */
		if (i == SETTLED_TRIES / 10)
			free(shell(harness, 0, "python3 tests/runtimes/dotnet_graph.py %s",
				   target->pid_text));
		before = held;
		report = RETAIN(harness, target, "--top", "0");
		held = is_exact(report, "dotnet") ? held_objects(report) : 0;
		if (i > SETTLED_TRIES / 10 && held > STARTED && held == before)
			break;
	}
	runtime = runtime_of(report, "dotnet");
	assert_string_equal(text_at(runtime, "version"), version);
	assert_int_equal(number_at(runtime, "nonsense"), 0);
	/* Its threads come and go, and a session itself allocates objects. */
	expect_held_as_in_graph(harness, target, held, 30);
}

/* The heap is found however small, and told from thread stacks. */
static void memory_has_the_heap(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start_or_skip(harness, "census", "300");
	json_t *runtime = runtime_of(RETAIN(harness, target, "--top", "0"), "dotnet"), *parts;

	parts = json_object_get(
		process_of(report_of(harness, MONITOR(harness, "memory", "-p", target->pid_text,
						      "--format", "json")),
			   target->pid),
		"parts");
	assert_true(number_at(json_object_get(parts, "managed_heap"), "size_bytes") >=
		    number_at(runtime, "bytes"));
}

static void what_holds_an_object_has_a_name(void **state)
{
	static const struct {
		const char *class, *root;
	} held[] = {
		{"Planted.Left", "static Planted.Census.holder"},
		{"Planted.OfStrongHandle", "strong handle"},
		{"Planted.OfPinnedHandle", "pinned handle"},
		{"Planted.Finalised", "static Planted.Census.finalised"},
	};
	struct harness *harness = harness_any(state);
	struct child *target = start_or_skip(harness, "census", "300");

	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		expect_root(RETAIN(harness, target, "--class", held[i].class), "managed",
			    held[i].root);
}

/* Returns the element with that name in a list of a report or a comparison, or NULL. */
static json_t *named(json_t *report, const char *list, const char *name)
{
	json_t *found;
	size_t i;

	json_array_foreach(json_object_get(report, list), i, found)
	{
		if (!strcmp(text_at(found, "name"), name))
			return found;
	}
	return NULL;
}

/* Every object is in one generation; survivors of three collections are in the oldest. */
static void expect_generations(json_t *report, json_int_t old)
{
	json_t *runtime = runtime_of(report, "dotnet"), *part;
	json_int_t objects = 0;
	size_t i;

	json_array_foreach(json_object_get(runtime, "parts"), i, part) objects +=
		number_at(part, "objects");
	assert_int_equal(objects, number_at(runtime, "objects"));
	assert_true(number_at(named(runtime, "parts", "generation 2"), "objects") >= old);
	assert_int_equal(number_at(named(runtime, "parts", "large objects"), "objects"), 1);
	assert_true(number_at(named(runtime, "parts", "large objects"), "bytes") > 200000);
	assert_true(number_at(named(runtime, "parts", "frozen objects"), "objects") > 0);
}

/* Objects hold native memory by its address, too. */
static void expect_held_native(json_t *report)
{
	json_int_t held = 0;
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		/* malloc adds a rest that is too small for a block. */
		if (strcmp(text_at(class, "kind"), "size") || number_at(class, "size") < 4328 ||
		    number_at(class, "size") > 4344)
			continue;
		held += number_at(json_object_get(class, "held"), "blocks");
		assert_int_equal(number_at(json_object_get(class, "unreachable"), "blocks"), 0);
	}
	assert_int_equal(held, 25);
}

/* To the object. */
static void fields_retain_what_nothing_else_reaches(void **state)
{
	/* 300 subscribers, their delegates, the list of the delegates, and the delegate that has
	 * the list. An array in a list in a field of a type without an object. 300 sessions with
	 * their payloads, 40 of which are in another field's dictionary, too. */
	static const struct {
		const char *root;
		json_int_t blocks;
	} retained[] = {
		{"static Planted.Publisher.Changed", 602},
		{"static Planted.Generic<Planted.Pair[]>.Kept", 3},
		{"static Planted.Census.cache", 2 + 260 * 2},
		{"static Planted.Census.large", 1},
		{"thread static Planted.Census.own (thread planter #)", 1},
	};
	struct harness *harness = harness_any(state);
	struct child *target = start_or_skip(harness, "census", "300");
	json_t *report = RETAIN(harness, target, "--top", "0"), *root;

	for (size_t i = 0; i < sizeof(retained) / sizeof(retained[0]); i++) {
		root = named(report, "roots", retained[i].root);
		if (!root)
			fail_msg("there is no %s", retained[i].root);
		assert_int_equal(number_at(root, "retained_blocks"), retained[i].blocks);
	}
	expect_held_native(report);
	expect_generations(report, 300 * 2 + 300 * 2);
}

static void record(struct harness *harness, const char *pid, const char *path)
{
	struct child *monitor = MONITOR(harness, "retain", "-p", pid, "--census", "-o", path);

	if (child_end(harness, monitor))
		child_fail(monitor, "retain -o failed");
}

/* Compares two looks at a process, between which the target repeated its work. */
static json_t *compare_looks(struct harness *harness, struct child *target, const char *pid)
{
	char path[256], *text;
	json_t *comparison;

	snprintf(path, sizeof(path), "%s/looks.lkm", harness->directory);
	record(harness, pid, path);
	workload_do(harness, target, "more");
	record(harness, pid, path);
	text = shell(harness, 0, "build/leakmon diff %s --retain --format json", path);
	comparison = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(comparison);
	return comparison;
}

static json_int_t change_of(json_t *comparison, const char *list, const char *name)
{
	json_t *row = named(comparison, list, name);

	if (!row)
		fail_msg("%s has not changed", name);
	return number_at(json_object_get(row, "count"), "difference");
}

/* Expects three classes in turn as referrers of the class, that many times. */
static void expect_chain(json_t *path, json_int_t times, const char *first)
{
	json_t *rows = json_object_get(json_object_get(path, "referrers"), "rows"), *row, *classes;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (number_at(row, "most") == 1)
			continue;
		classes = json_object_get(row, "classes");
		assert_int_equal(number_at(row, "most"), times);
		assert_int_equal(json_array_size(classes), 3);
		assert_string_equal(text_at(json_array_get(classes, 0), "name"), first);
		return;
	}
	fail_msg("no chain");
}

/* The story: a loop; each turn awaits the one before. */
static void a_chain_of_continuations_grows_with_its_messages(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start_or_skip(harness, "continuations", "0");
	json_t *comparison = compare_looks(harness, target, target->pid_text), *report, *path;

	assert_int_equal(change_of(comparison, "classes", "Continuations.Message"), 300);
	assert_int_equal(
		number_at(named(comparison, "classes", "Continuations.Message"), "farther"), 3);
	assert_int_equal(change_of(comparison, "classes", "Continuations.Continuation"), 1);
	json_decref(comparison);
	report = RETAIN(harness, target, "--class", "Continuations.Message");
	path = path_of(report);
	expect_root(report, "managed", "static Continuations.Mailbox.loop");
	assert_int_equal(number_at(path, "sharing"), 300);
	expect_chain(path, 2, "Continuations.Closure");
	assert_int_equal(number_at(named(report, "roots", "static Continuations.Mailbox.loop"),
				   "retained_blocks"),
			 600 + 2 * 3 + 2);
}

/* An image with the program and the libraries of this system that it needs, in app/. */
static void make_image(struct harness *harness, char path[64])
{
	char *program = find_program();

	if (!program) {
		say_skipped();
		skip();
	}
	snprintf(path, 64, "%s/image", harness->directory);
	free(shell(harness, 0,
		   "mkdir -p %s/proc %s/dev %s/tmp && d=$(dirname %s) && "
		   "{ cp -al $d %s/app 2>/dev/null || cp -a $d %s/app; } && "
		   "ln -s $(basename %s) %s/app/stories && "
		   "for l in $(ldd %s $(ls $d/libcoreclr.so $d/libSystem.Native.so 2>/dev/null) | "
		   "grep -v ':$' | grep -o '/[^ ]*' | sort -u); "
		   "do mkdir -p %s$(dirname $l) && cp -L $l %s$l || exit; done",
		   path, path, path, program, path, path, program, path, program, path, path));
	free(program);
}

static struct running *start_worker(struct harness *harness, const char *image, const char *runtime,
				    const char *story)
{
	const struct container_spec spec = {
		.runtime = runtime,
		.pod = "worker-0",
		.lower = image,
		.path = "/app/stories",
		.argument = story,
		.variable = "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1",
	};

	return container_start(harness, &spec);
}

static json_t *retain_container(struct harness *harness, const struct running *worker,
				const char *class)
{
	return report_of(harness, MONITOR(harness, "retain", "--container", worker->id, "--census",
					  "--format", "json", "--top", "0", "--class", class));
}

/* Expects the tree of references to a class to end at a root with that many blocks. */
static void expect_referred_from(json_t *path, const char *root, json_int_t blocks)
{
	json_t *rows = json_object_get(json_object_get(path, "referrers"), "rows"), *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (strcmp(text_at(json_object_get(row, "root"), "name"), root) != 0)
			continue;
		assert_int_equal(number_at(row, "blocks"), blocks);
		return;
	}
	fail_msg("not referred from %s", root);
}

#define DICTIONARY 3
#define CACHE "static MemoryLeak.MyWorker._memoryCache"

/* The story: a worker in a container, with a static dictionary from which nothing is removed. */
static void a_static_cache_of_a_container_that_grows_is_named(void **state)
{
	struct harness *harness = containers_any(state);
	struct running *worker;
	json_t *comparison, *report;
	char image[64], pid[16];

	make_image(harness, image);
	worker = start_worker(harness, image, "runc", "cache");
	snprintf(pid, sizeof(pid), "%d", worker->pid);
	comparison = compare_looks(harness, worker->child, pid);
	assert_int_equal(change_of(comparison, "classes", "MemoryLeak.Entry"), 300);
	/* Each entry with its key and its bytes. */
	assert_int_equal(change_of(comparison, "roots", CACHE), 900);
	json_decref(comparison);
	report = retain_container(harness, worker, "MemoryLeak.Entry");
	assert_int_equal(number_at(report, "pid"), worker->pid);
	expect_root(report, "managed", CACHE);
	expect_referred_from(path_of(report), CACHE, 600);
}

static void the_fixed_cache_of_a_container_holds_nothing(void **state)
{
	struct harness *harness = containers_any(state);
	struct running *worker;
	json_t *comparison, *report;
	char image[64], pid[16];

	make_image(harness, image);
	worker = start_worker(harness, image, "crun", "fixed");
	snprintf(pid, sizeof(pid), "%d", worker->pid);
	comparison = compare_looks(harness, worker->child, pid);
	assert_null(named(comparison, "classes", "MemoryLeak.Entry"));
	/* A stack may hold the dictionary itself, with its two arrays, at one of the looks. */
	if (named(comparison, "roots", CACHE))
		assert_int_equal(llabs(change_of(comparison, "roots", CACHE)), DICTIONARY);
	json_decref(comparison);
	report = retain_container(harness, worker, "MyWorker");
	assert_int_equal(count_of(report, "MemoryLeak.Entry"), 0);
}

/* From the handle of an operation, by its callback and the target of that, to the thread. */
static void expect_path_to_ended(json_t *path, json_int_t ended)
{
	static const char *const steps[] = {"System.Threading.Overlapped",
					    "System.Threading.IOCompletionCallback",
					    "Threads.Callback", "System.Threading.Thread (ended)"};
	json_t *root = json_object_get(path, "root"), *step;
	size_t i;

	assert_int_equal(number_at(path, "sharing"), ended);
	assert_string_equal(text_at(root, "kind"), "managed");
	assert_string_equal(text_at(root, "name"), "strong handle");
	assert_int_equal(json_array_size(json_object_get(path, "steps")), 4);
	json_array_foreach(json_object_get(path, "steps"), i, step)
		assert_string_equal(text_at(json_object_get(step, "class"), "name"), steps[i]);
}

/* The story: operations that never complete hold the threads that began them. */
static void threads_that_have_ended_are_counted_with_what_holds_them(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start_or_skip(harness, "threads", "100");
	json_t *truth = workload_ask(harness, target, "truth"), *report;
	json_int_t ended = number_at(truth, "ended");

	report = RETAIN(harness, target, "--top", "0", "--class", "(ended)");
	assert_int_equal(count_of(report, "System.Threading.Thread (ended)"), ended);
	expect_path_to_ended(path_of(report), ended);
}

static void threads_has_those_that_have_ended_with_their_holders(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target = start_or_skip(harness, "threads", "100");
	json_t *managed, *ended;

	managed = json_object_get(
		json_object_get(
			process_of(report_of(harness,
					     MONITOR(harness, "threads", "-p", target->pid_text,
						     "--holders", "--max-pause", "5000", "--format",
						     "json", "1", "1")),
				   target->pid),
			"threads"),
		"managed");
	assert_true(json_is_null(json_object_get(managed, "cannot_tell")));
	assert_int_equal(json_array_size(json_object_get(managed, "ended")), 1);
	ended = json_array_get(json_object_get(managed, "ended"), 0);
	assert_string_equal(text_at(ended, "class"), "System.Threading.Thread (ended)");
	assert_int_equal(number_at(ended, "held"), 100);
	expect_path_to_ended(ended, 100);
}

/* Two threads allocate without a pause. */
static json_t *figures_of(struct harness *harness, const struct child *target)
{
	json_t *report = monitor_report(
		harness, MONITOR(harness, "memory", "-p", target->pid_text, "--format", "json"));
	json_t *figures =
		json_object_get(json_array_get(json_object_get(report, "processes"), 0), "dotnet");

	assert_string_equal(text_at(figures, "cannot_tell"), "");
	assert_memory_equal(text_at(figures, "version"), version, strcspn(version, "-"));
	return figures;
}

static void expect_counts(json_t *figures, json_t *truth)
{
	static const char *const names[] = {"collections", "generation_1_collections",
					    "full_collections"};
	json_t *counts = json_object_get(truth, "counts");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(number_at(figures, names[i]),
				 json_integer_value(json_array_get(counts, i)));
}

static json_int_t grown(json_t *after, json_t *before, const char *figure)
{
	return number_at(after, figure) - number_at(before, figure);
}

static void expect_collections(struct harness *harness, struct child *target, json_int_t heaps)
{
	json_t *first = figures_of(harness, target), *then;

	expect_counts(first, workload_ask(harness, target, "collections"));
	assert_int_equal(number_at(first, "heaps"), heaps);
	assert_true(number_at(first, "collected_ms") > 0);
	assert_true(number_at(first, "kept_bytes") > 0);
	workload_do(harness, target, "young");
	then = figures_of(harness, target);
	expect_counts(then, workload_ask(harness, target, "collections"));
	assert_int_equal(grown(then, first, "collections"), 1);
	assert_int_equal(grown(then, first, "full_collections"), 0);
}

/* Small objects are made in pieces of 8 KiB that threads get. */
static void expect_allocated(struct harness *harness, struct child *target)
{
	json_t *first = figures_of(harness, target), *then;

	workload_do(harness, target, "small");
	then = figures_of(harness, target);
	assert_int_equal(grown(then, first, "collections"), 0);
	assert_in_range(grown(then, first, "allocated_since_bytes"), 1000000, 1100000);
	first = then;
	workload_do(harness, target, "large");
	then = figures_of(harness, target);
	assert_in_range(grown(then, first, "large_allocated_since_bytes"), 1000000, 1001000);
	assert_true(number_at(then, "large_allocated_since_bytes") <
		    number_at(then, "large_budget_bytes"));
}

static void collections_are_those_that_the_program_counts(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start_or_skip(harness, "census", "300");

	expect_collections(harness, target, 1);
	expect_allocated(harness, target);
	setenv("DOTNET_gcServer", "1", 1);
	setenv("DOTNET_GCHeapCount", "2", 1);
	target = start(harness, "census", "300");
	unsetenv("DOTNET_gcServer");
	unsetenv("DOTNET_GCHeapCount");
	expect_collections(harness, target, 2);
}

static void a_busy_program_is_counted_exactly_or_marked_inexact(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start_or_skip(harness, "busy", "300");
	int exact = 0;

	for (int i = 0; i < STOPS; i++) {
		json_t *report = RETAIN(harness, target, "--top", "0");

		if (!is_exact(report, "dotnet"))
			continue;
		exact++;
		assert_int_equal(count_of(report, "Planted.Subscriber"), 300);
	}
	assert_true(exact > 0);
}

/* Counts planted objects in a trimmed program: .NET 10, without most types of the other stories. */
static void objects_of_a_trimmed_program_are_counted(void **state)
{
	static const struct {
		const char *class;
		json_int_t count;
	} planted[] = {
		{"Planted.Subscriber", 300},
		{"Planted.Subscriber[]", 1},
		{"Planted.Subscriber[,]", 7},
		{"Planted.Pair[]", 1},
	};
	struct harness *harness = harness_any(state);
	struct child *target = start_or_skip(harness, "census", "300");
	json_t *report = RETAIN(harness, target, "--top", "0"), *root;
	json_int_t held = 0, own = 0;
	size_t i;

	walked_runtime_of(report, "dotnet");
	for (i = 0; i < sizeof(planted) / sizeof(planted[0]); i++)
		assert_int_equal(count_of(report, planted[i].class), planted[i].count);
	json_array_foreach(json_object_get(report, "roots"), i, root)
	{
		const char *name = text_at(root, "name");

		if (!strcmp(name, "static Planted.Census.pairs"))
			held = number_at(root, "retained_bytes");
		if (!strncmp(name, "thread static Planted.Census.own", 32))
			own = number_at(root, "retained_bytes");
	}
	/* 50 arrays of 10 to 59 numbers, and the array of pairs. */
	assert_int_equal(held, 9024);
	/* Seven arrays of 0, 2 ... 12 references, with two bounds each, and the array that contains
	 * them. */
	assert_int_equal(own, 696);
}

/* Compares counts, and names of statics. */
static void expect_same_classes(json_t *live, json_t *core)
{
	json_t *class;
	size_t i, compared = 0;

	json_array_foreach(json_object_get(live, "classes"), i, class)
	{
		const char *name = text_at(class, "name");

		if (strcmp(text_at(class, "module"), "dotnet"))
			continue;
		if (count_of(core, name) != count_of(live, name))
			fail_msg("%s: %lld in the core, not %lld", name,
				 (long long)count_of(core, name), (long long)count_of(live, name));
		compared++;
	}
	assert_true(compared > 50);
	assert_int_equal(number_at(walked_runtime_of(core, "dotnet"), "objects"),
			 number_at(walked_runtime_of(live, "dotnet"), "objects"));
}

static void expect_same_in_core(struct harness *harness, json_t *live)
{
	char core[256];
	json_t *report;

	snprintf(core, sizeof(core), "%s/core", harness->directory);
	report = report_of(harness, MONITOR(harness, "retain", "--core", core, "--census",
					    "--format", "json", "--top", "0"));
	expect_same_classes(live, report);
	assert_int_equal(count_of(report, "Planted.Subscriber"), 300);
	unlink(core);
}

/* createdump is one of .NET 9's, and writes a process of 8 as well. gdb leaves files out, which are
 * read from where they are. */
static void a_core_file_has_the_same_objects(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start_or_skip(harness, "census", "300");
	/* However busy this machine is. */
	json_t *live = RETAIN(harness, target, "--top", "0", "--max-pause", "5000");

	free(shell(harness, 0,
		   "cd %s && d=$(dirname \"$($OLDPWD/tests/runtimes/dotnet.sh 9)\") && "
		   "cp $d/createdump . && chmod +x createdump && "
		   "LD_LIBRARY_PATH=$d ./createdump --full -f core %s >/dev/null",
		   harness->directory, target->pid_text));
	expect_same_in_core(harness, live);
	if (access(GCORE, X_OK)) {
		fprintf(stderr, "SKIPPED for gdb: there is no %s\n", GCORE);
		return;
	}
	free(shell(harness, 0, "cd %s && %s -o gcore %s >/dev/null 2>&1 && mv gcore.* core",
		   harness->directory, GCORE, target->pid_text));
	expect_same_in_core(harness, live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(objects_are_counted_as_the_program_counts_them),
		e2e_test(held_objects_are_as_many_as_in_the_graph_of_the_runtime),
		e2e_test(memory_has_the_heap),
		e2e_test(what_holds_an_object_has_a_name),
		e2e_test(fields_retain_what_nothing_else_reaches),
		e2e_test(a_chain_of_continuations_grows_with_its_messages),
		container_test(a_static_cache_of_a_container_that_grows_is_named),
		container_test(the_fixed_cache_of_a_container_holds_nothing),
		e2e_test(threads_that_have_ended_are_counted_with_what_holds_them),
		e2e_test(threads_has_those_that_have_ended_with_their_holders),
		e2e_test(collections_are_those_that_the_program_counts),
		e2e_test(a_busy_program_is_counted_exactly_or_marked_inexact),
		e2e_test(a_core_file_has_the_same_objects),
	};

	const struct CMUnitTest trimmed[] = {
		e2e_test(objects_of_a_trimmed_program_are_counted),
		e2e_test(collections_are_those_that_the_program_counts),
		e2e_test(a_busy_program_is_counted_exactly_or_marked_inexact),
		e2e_test(a_core_file_has_the_same_objects),
	};

	const struct CMUnitTest foreign[] = {
		e2e_test(objects_of_a_foreign_program_are_those_of_its_graph),
	};
	static const char *const versions[] = {"8", "9"};
	int failed = 0;

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		version = versions[i];
		failed |= cmocka_run_group_tests_name(version, tests, NULL, NULL);
	}
	version = "10-trimmed";
	failed |= cmocka_run_group_tests_name(version, trimmed, NULL, NULL);
	version = "10";
	return failed | cmocka_run_group_tests_name(version, foreign, NULL, NULL);
}
