// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of Ruby programs, against what the programs know themselves and what their own runtime
 * dumps (ObjectSpace.dump_all: tests/runtimes/ruby_census.rb). They run on Debian 12's Ruby 3.1, on
 * Debian 13's 3.3 (scripts/deps.sh trixie) and on 3.4 (scripts/deps.sh runtimes); without any ruby
 * there is nothing to test. No BPF is needed.
 */
#include "retain_json.h"
#include "shell.h"
#include "tree.h"

#include <unistd.h>

#define RUBY "/usr/bin/ruby3.1"
#define CENSUS "tests/runtimes/ruby_census.rb"
#define BUSY "tests/runtimes/ruby_busy.rb"
#define DIRECTORY "/tmp/leakmon-e2e-ruby"
#define EACH 1000
#define ENDED 40
#define SESSIONS 3000
#define PASSING 50	/* one round's, which a variable has */
#define CONSERVATIVE 20 /* words of stacks that look like addresses */
#define STOPS 4

/* A release of Ruby: here, or in a tree. */
struct release {
	const char *version, *tree, *program, *options;
};

static const struct release releases[] = {
	{"3.1", NULL, RUBY, ""},
	{"3.3", "trixie", "/usr/bin/ruby3.3", ""},
	{"3.4", "ruby-3.4", "/usr/bin/ruby3.4", "--disable-gems"},
};

/* Starts a program; NULL: that release is not here. *root: in which its files are. */
static struct child *start_on(struct harness *harness, const struct release *release,
			      const char *script, const char *argument, char root[256])
{
	char command[1024];

	root[0] = '\0';
	if (release->tree ? !tree_has(release->tree, release->program, root, 256)
			  : access(release->program, X_OK)) {
		fprintf(stderr, "SKIPPED: there is no Ruby %s\n", release->version);
		return NULL;
	}
	free(shell(harness, 0, "mkdir -p %s%s && cp %s %s%s", root, DIRECTORY, script, root,
		   DIRECTORY));
	snprintf(command, sizeof(command), "exec %s %s %s %s %s%s %s", release->tree ? CHROOT : "",
		 root, release->program, release->options, DIRECTORY, strrchr(script, '/'),
		 argument);
	return start_ready(harness, "/bin/sh", ARGUMENTS("sh", "-c", command), NULL);
}

static json_t *ruby_class(json_t *report, const char *name)
{
	json_t *found;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, found)
	{
		if (!strcmp(text_at(found, "name"), name) &&
		    !strcmp(text_at(found, "module"), "ruby"))
			return found;
	}
	return NULL;
}

static json_int_t held_of(json_t *report, const char *name)
{
	json_t *class = ruby_class(report, name);

	return class ? number_at(json_object_get(class, "held"), "blocks") : 0;
}

static json_int_t count_of(json_t *report, const char *name)
{
	json_t *class = ruby_class(report, name);

	return class ? number_at(class, "count") : 0;
}

static const struct {
	const char *class, *root; /* root: that the path begins at; NULL: one of two */
	json_int_t count;
} holders[] = {
	{"ByConst", "Store::CACHE", EACH},
	{"ByModule", "Library::Inner::ITEMS", EACH},
	{"ByGlobal", "$list", EACH},
	{"ByClassVariable", "Store.@@all", EACH},
	{"ByClassIvar", "Store.@registry", EACH},
	{"ByIvar", "$store", EACH},
	{"ByStruct", "$pairs", EACH},
	{"ByHash", NULL, EACH},
	{"ByNested", "$nested", EACH},
	{"BySplit", "$many", EACH},
	{"ByDefault", "$default", EACH},
	{"ByBigHash", "$big", EACH},
	{"Keyed", "$by_identity", EACH},
	{"ByAnonymous", "$anonymous", EACH},
	{"ByGeneric", "$text", EACH},
	{"ByMethod", "$method", EACH},
	{"ByQueue", "$queue", EACH},
	{"ByEnumerator", "$enumerator", EACH},
	{"ByClosure", "$callbacks", EACH},
	{"ByBinding", "$binding", EACH},
	{"ByFiber", "$fiber", EACH},
	{"ByThreadLocal", "$worker", EACH},
	{"ByThreadVariable", "$worker", EACH},
	{"ByLocal", "frame work() → mine", EACH},
	{"ByFinalizer", "finalizers", 300},
	{"Thread (ended)", NULL, ENDED},
};
#define HOLDERS (sizeof(holders) / sizeof(holders[0]))

static void expect_holders(struct harness *harness, const struct release *release)
{
	char root[256];
	struct child *target = start_on(harness, release, CENSUS, "", root);
	json_t *report, *runtime;

	if (!target)
		return;
	report = RETAIN(harness, target, "--top", "0");
	runtime = walked_runtime_of(report, "ruby");
	assert_string_equal(text_at(runtime, "version"), release->version);
	for (size_t i = 0; i < HOLDERS; i++) {
		if (count_of(report, holders[i].class) != holders[i].count ||
		    held_of(report, holders[i].class) != holders[i].count)
			fail_msg("%s: %lld objects of %s, %lld held", release->version,
				 (long long)count_of(report, holders[i].class), holders[i].class,
				 (long long)held_of(report, holders[i].class));
	}
	assert_true(held_of(report, "InCycle") <= CONSERVATIVE);
	assert_true(held_of(report, "Weak") <= CONSERVATIVE);
	/* A few keyword tables of the compiler's. */
	assert_true(total_at(report, "lost", "bytes") < 256);
	child_kill(target);
}

static void what_the_program_holds_is_held(void **state)
{
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++)
		expect_holders(harness, &releases[i]);
}

static const char *path_root(struct harness *harness, struct child *target, const char *class)
{
	json_t *report = RETAIN(harness, target, "--top", "1", "--class", class);

	return text_at(json_object_get(json_array_get(json_object_get(report, "paths"), 0), "root"),
		       "name");
}

static void holders_have_the_names_that_the_program_gave_them(void **state)
{
	struct harness *harness = harness_any(state);
	char root[256];
	struct child *target = start_on(harness, &releases[0], CENSUS, "", root);

	if (!target)
		skip();
	for (size_t i = 0; i < HOLDERS; i++) {
		if (holders[i].root)
			assert_string_equal(path_root(harness, target, holders[i].class),
					    holders[i].root);
	}
}

/* The dump: a line for each object, classes among them. */

struct dump {
	json_t *names;	/* address of a class -> its name */
	json_t *supers; /* of one without a name -> the class above it */
	json_t *unsure; /* names of classes with subclasses or singletons that have none */
	json_t *counts; /* name of a class -> objects */
	long objects;
};

/* Returns whether objects of the type neither appear nor disappear after the dump. */
static bool is_compared(const char *type)
{
	return !strcmp(type, "OBJECT") || !strcmp(type, "STRUCT") || !strcmp(type, "REGEXP");
}

static const char *class_name(const struct dump *dump, const char *address)
{
	for (int i = 0; i < 8 && *address; i++) {
		const char *name = text_at(dump->names, address);

		if (*name)
			return name;
		address = text_at(dump->supers, address);
	}
	return "";
}

static void note_class(struct dump *dump, json_t *object)
{
	const char *address = text_at(object, "address");

	if (*text_at(object, "name"))
		json_object_set(dump->names, address, json_object_get(object, "name"));
	else if (*text_at(object, "superclass"))
		json_object_set(dump->supers, address, json_object_get(object, "superclass"));
}

static void count_object(struct dump *dump, json_t *object)
{
	const char *name = class_name(dump, text_at(object, "class"));
	json_int_t known = json_integer_value(json_object_get(dump->counts, name));

	if (!*name || !is_compared(text_at(object, "type")))
		return;
	if (strcmp(name, text_at(dump->names, text_at(object, "class"))) != 0)
		json_object_set_new(dump->unsure, name, json_true());
	json_object_set_new(dump->counts, name, json_integer(known + 1));
	dump->objects++;
}

static void each_line(char *text, struct dump *dump, bool names)
{
	char *rest, *line = strtok_r(text, "\n", &rest);

	for (; line; line = strtok_r(NULL, "\n", &rest)) {
		json_t *object = json_loads(line, 0, NULL);
		const char *type = text_at(object, "type");

		if (!names)
			count_object(dump, object);
		else if (!strcmp(type, "CLASS") || !strcmp(type, "MODULE"))
			note_class(dump, object);
		json_decref(object);
	}
}

static void read_dump(struct harness *harness, const char *root, struct dump *dump)
{
	*dump = (struct dump){json_object(), json_object(), json_object(), json_object(), 0};
	for (int names = 1; names >= 0; names--) {
		char *text = shell(harness, 0, "cat %s%s/dump", root, DIRECTORY);

		each_line(text, dump, names);
		free(text);
	}
}

static void compare_with_dump(struct harness *harness, const struct release *release)
{
	char root[256];
	struct child *target = start_on(harness, release, CENSUS, DIRECTORY "/dump", root);
	struct dump dump;
	json_t *report, *count;
	const char *name;

	if (!target)
		return;
	report = RETAIN(harness, target, "--top", "0");
	walked_runtime_of(report, "ruby");
	expect_schema(harness, report, "retain");
	read_dump(harness, root, &dump);
	assert_true(dump.objects > 20 * EACH);
	assert_true(json_object_size(dump.counts) > json_object_size(dump.unsure) + HOLDERS);
	json_object_foreach(dump.counts, name, count)
	{
		if (!json_object_get(dump.unsure, name) &&
		    count_of(report, name) != json_integer_value(count))
			fail_msg("%s: %lld objects of %s, not %lld", release->version,
				 (long long)count_of(report, name), name,
				 (long long)json_integer_value(count));
	}
	json_decref(dump.names);
	json_decref(dump.supers);
	json_decref(dump.unsure);
	json_decref(dump.counts);
	child_kill(target);
}

static void classes_have_as_many_objects_as_in_the_runtimes_own_dump(void **state)
{
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++)
		compare_with_dump(harness, &releases[i]);
}

/* Whether it marks, sweeps or moves at the stop. */
static void expect_busy(struct harness *harness, const struct release *release, const char *how)
{
	char root[256];
	struct child *target = start_on(harness, release, BUSY, how, root);
	int exact = 0;

	for (int i = 0; target && i < STOPS; i++) {
		json_t *report = RETAIN(harness, target, "--top", "0");
		json_int_t held = held_of(report, "Session");

		if (!is_exact(report, "ruby"))
			continue;
		exact++;
		if (held < SESSIONS || held > SESSIONS + PASSING + CONSERVATIVE)
			fail_msg("%s: %lld sessions held", release->version, (long long)held);
	}
	if (!target)
		return;
	assert_true(exact > 0);
	child_kill(target);
}

static void garbage_is_not_held_while_a_program_collects(void **state)
{
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++)
		expect_busy(harness, &releases[i], "");
}

static void while_objects_move_the_report_says_so_or_is_right(void **state)
{
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++)
		expect_busy(harness, &releases[i], "compact");
}

/* Their shape cache is 404 MiB of memory that nobody has touched. */
static void untouched_memory_stays_untouched(void **state)
{
	struct harness *harness = harness_any(state);
	char root[256], *before, *after;
	struct child *target = start_on(harness, &releases[1], CENSUS, "", root);

	if (!target)
		skip();
	before = shell(harness, 0, "grep VmPTE /proc/%s/status", target->pid_text);
	RETAIN(harness, target, "--top", "0");
	after = shell(harness, 0, "grep VmPTE /proc/%s/status", target->pid_text);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void memory_names_the_runtime_of_the_heap(void **state)
{
	struct harness *harness = harness_any(state);
	char root[256];
	struct child *target = start_on(harness, &releases[0], CENSUS, "", root);
	json_t *report, *process;

	if (!target)
		skip();
	report = report_of(harness,
			   MONITOR(harness, "memory", "-p", target->pid_text, "--format", "json"));
	expect_schema(harness, report, "memory");
	process = json_array_get(json_object_get(report, "processes"), 0);
	assert_string_equal(text_at(json_object_get(process, "managed"), "runtime"), "ruby");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(what_the_program_holds_is_held),
		e2e_test(holders_have_the_names_that_the_program_gave_them),
		e2e_test(classes_have_as_many_objects_as_in_the_runtimes_own_dump),
		e2e_test(garbage_is_not_held_while_a_program_collects),
		e2e_test(while_objects_move_the_report_says_so_or_is_right),
		e2e_test(untouched_memory_stays_untouched),
		e2e_test(memory_names_the_runtime_of_the_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
