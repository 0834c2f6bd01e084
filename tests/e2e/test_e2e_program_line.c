// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Native memory that a library or a runtime allocates: the line of the program itself that asked
 * for it. Programs of Python and OCaml, and of Go with C (tests/runtimes/go/cgo.go), each with one
 * leak of a known size.
 */
#include "retain_json.h"
#include "shell.h"

#include <unistd.h>

#define LEAKS 200

/* Each object has memory of zlib's. */
#define PYTHON_PROGRAM                                                                             \
	"import sys, time, zlib\n"                                                                 \
	"kept = []\n"                                                                              \
	"def keep():\n"                                                                            \
	"    kept.append(zlib.compressobj())\n"                                                    \
	"def serve(count):\n"                                                                      \
	"    for _ in range(count): keep()\n"                                                      \
	"print('ready', flush=True)\n"                                                             \
	"for line in sys.stdin:\n"                                                                 \
	"    if line == 'drip\\n':\n"                                                              \
	"        while True: keep(); time.sleep(0.005)\n"                                          \
	"    serve(int(line))\n"                                                                   \
	"    print('done', flush=True)\n"

/* Each channel has a buffer of the runtime's. (open_in would be inlined, with the library's
 * line.) */
#define OCAML_PROGRAM                                                                              \
	"let kept = ref []\n"                                                                      \
	"let keep () = kept := open_in_gen [] 0 \"/dev/null\" :: !kept\n"                          \
	"let serve count = for _ = 1 to count do keep () done\n"                                   \
	"let () =\n"                                                                               \
	"  print_endline \"ready\";\n"                                                             \
	"  try while true do serve (int_of_string (read_line ())); print_endline \"done\" done\n"  \
	"  with End_of_file -> ()\n"

static json_t *frame_at(json_t *site, const char *key)
{
	json_t *place = json_object_get(site, key);

	return json_is_integer(place) ? json_array_get(json_object_get(site, "frames"),
						       (size_t)json_integer_value(place))
				      : NULL;
}

static bool is_called(json_t *frame, const char *function)
{
	const char *name = json_string_value(json_object_get(frame, "function"));

	return name && strstr(name, function);
}

/* Blocks of stacks through `library`, where the program's frame is in `function`, at that line. */
static json_int_t blocks_from(json_t *process, const char *library, const char *function,
			      json_int_t line)
{
	json_int_t blocks = 0;
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		json_t *frame = frame_at(site, "program_frame");

		if (!stack_has_function(site, library) || !is_called(frame, function))
			continue;
		assert_int_equal(number_at(frame, "line"), line);
		blocks += number_at(site, "count");
	}
	return blocks;
}

static struct child *start_script(struct harness *harness, const char *name, const char *text)
{
	char path[128];
	FILE *script;

	snprintf(path, sizeof(path), "%s/%s", harness->directory, name);
	script = fopen(path, "w");
	assert_non_null(script);
	fputs(text, script);
	assert_int_equal(fclose(script), 0);
	return start_ready(harness, "/usr/bin/python3", ARGUMENTS("python3", path), NULL);
}

static void a_python_program_is_named_behind_a_library(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target = start_script(harness, "keeper.py", PYTHON_PROGRAM);
	json_t *report = WATCH(harness, target, "200");
	json_t *process = process_of(report, target->pid);
	json_int_t blocks = blocks_from(process, "deflateInit2_", "keep", 4);

	/* Some for each object, and all of them from there. */
	assert_true(blocks > 0);
	assert_int_equal(blocks % LEAKS, 0);
	expect_held(process, "deflateInit2_", blocks, held_by(process, "deflateInit2_").bytes);
}

static bool has_line(json_t *process, const char *beginning, const char *end)
{
	json_t *line;
	size_t i;

	json_array_foreach(json_object_get(process, "text"), i, line)
	{
		const char *text = json_string_value(line);

		if (strstr(text, beginning) && strstr(text, end))
			return true;
	}
	return false;
}

/* Longer, if the machine had no time for it. */
static void the_answer_of_diagnose_has_the_line_of_the_program(void **state)
{
	static const char *const times[] = {"15s", "45s", "75s"};
	struct harness *harness = harness_bpf(state);
	struct child *target = start_script(harness, "keeper.py", PYTHON_PROGRAM);
	json_t *process = NULL;

	workload_send(target, "drip");
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct child *monitor =
			MONITOR(harness, "diagnose", "-p", target->pid_text, "--for", times[i],
				"--overhead", "20%", "--format", "json");

		child_end(harness, monitor);
		process = process_of(monitor_report(harness, monitor), target->pid);
		if (has_line(process, "code ", " ← keep keeper.py:4 ← <module>"))
			return;
	}
	fail_msg("%s", json_dumps(process, JSON_INDENT(1)));
}

static void an_ocaml_program_is_named_behind_its_runtime(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target;
	json_t *process;
	char path[128];
	FILE *source;

	if (access("/usr/bin/ocamlopt", X_OK)) {
		fprintf(stderr, "SKIPPED, nothing was tested: there is no ocamlopt (ocaml-nox)\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/keeper.ml", harness->directory);
	source = fopen(path, "w");
	assert_non_null(source);
	fputs(OCAML_PROGRAM, source);
	assert_int_equal(fclose(source), 0);
	free(shell(harness, 0, "cd %s && ocamlopt -g -inline 0 keeper.ml -o keeper 2>&1",
		   harness->directory));
	snprintf(path, sizeof(path), "%s/keeper", harness->directory);
	target = start_ready(harness, path, ARGUMENTS("keeper"), NULL);
	process = process_of(WATCH(harness, target, "200"), target->pid);
	assert_int_equal(blocks_from(process, "caml_open_descriptor_in", "camlKeeper__keep", 2),
			 LEAKS);
}

/* Returns NULL if that Go is missing. */
static struct child *start_go(struct harness *harness, const char *kind)
{
	char *path = shell(harness, 0, "tests/runtimes/go.sh %s cgo || test $? = 77", kind);
	struct child *target = NULL;

	path[strcspn(path, "\n")] = '\0';
	if (*path)
		target = start_ready(harness, path, ARGUMENTS("cgo"), NULL);
	else
		fprintf(stderr, "SKIPPED for Go %s\n", kind);
	free(path);
	return target;
}

/* Expects the Go line for memory that C allocates for Go, on either of its stacks. */
static void expect_go_line(struct harness *harness, struct child *target, const char *command)
{
	json_t *process = process_of(WATCH(harness, target, command), target->pid), *site;
	size_t i;

	assert_int_equal(blocks_from(process, "runtime.asmcgocall.abi0", "main.bind", 19), LEAKS);
	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		if (!is_called(frame_at(site, "program_frame"), "main.bind"))
			continue;
		assert_true(is_called(frame_at(site, "label_frame"), "main.bind"));
		assert_true(stack_has_function(site, "main.leak"));
		assert_true(stack_has_function(site, "runtime.goexit.abi0"));
		assert_int_equal(stack_has_function(site, "main.deeper"),
				 !strncmp(command, "leak-deep", 9));
	}
}

static void a_go_program_is_named_behind_c(void **state)
{
#ifdef __x86_64__
	static const char *const kinds[] = {"1.19 plain", "1.24 plain"};
	struct harness *harness = harness_bpf(state);
	size_t tested = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct child *target = start_go(harness, kinds[i]);

		if (!target)
			continue;
		expect_go_line(harness, target, "leak 200");
		child_kill(target);
		target = start_go(harness, kinds[i]);
		expect_go_line(harness, target, "leak-deep 200");
		tested++;
	}
	if (!tested)
		skip();
#else
	(void)state;
	skip();
#endif
}

/* Without names, by the depth. */
static void a_stripped_go_program_has_whole_stacks(void **state)
{
#ifdef __x86_64__
	static const char *const kinds[] = {"1.19 stripped", "1.24 stripped", "1.19 pie",
					    "1.24 pie"};
	struct harness *harness = harness_bpf(state);
	size_t tested = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct child *target = start_go(harness, kinds[i]);
		json_t *process, *site;
		json_int_t deep = 0;
		size_t j;

		if (!target)
			continue;
		process = process_of(WATCH(harness, target, "leak-deep 200"), target->pid);
		json_array_foreach(json_object_get(process, "sites"), j, site)
		{
			if (json_array_size(json_object_get(site, "frames")) >= 15)
				deep += number_at(site, "count");
		}
		assert_int_equal(deep, LEAKS);
		tested++;
	}
	if (!tested)
		skip();
#else
	(void)state;
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_python_program_is_named_behind_a_library),
		e2e_test(the_answer_of_diagnose_has_the_line_of_the_program),
		e2e_test(an_ocaml_program_is_named_behind_its_runtime),
		e2e_test(a_go_program_is_named_behind_c),
		e2e_test(a_stripped_go_program_has_whole_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
