// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon's stack equals gdb's, for a thread that has just allocated. */
#include "harness.h"

#include <inttypes.h>

#define GDB "/usr/bin/gdb"
#define MAX_FRAMES 128
#define BLOCK_SIZE 12345

struct stack {
	uint64_t frames[MAX_FRAMES];
	size_t depth;
};

/* One line per thread, innermost frame first; inlined calls have no separate frame. */
static const char print_stacks[] =
	"python\n"
	"for thread in gdb.selected_inferior().threads():\n"
	"    thread.switch()\n"
	"    frame, line = gdb.newest_frame(), 'stack:'\n"
	"    while frame:\n"
	"        if frame.type() != gdb.INLINE_FRAME: line += ' %d' % frame.pc()\n"
	"        frame = frame.older()\n"
	"    print(line)\n"
	"end\n";

static void stack_push(struct stack *stack, uint64_t address)
{
	assert_true(stack->depth < MAX_FRAMES);
	stack->frames[stack->depth++] = address;
}

static void stack_of_block(json_t *process, struct stack *stack)
{
	json_t *site, *frame;
	size_t i, j;

	*stack = (struct stack){0};
	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		if (number_at(site, "bytes") != BLOCK_SIZE)
			continue;
		json_array_foreach(json_object_get(site, "frames"), j, frame)
		{
			if (!json_is_true(json_object_get(frame, "inlined")))
				stack_push(stack, (uint64_t)number_at(frame, "address"));
		}
		return;
	}
	fail_msg("no site holds %d bytes", BLOCK_SIZE);
}

static bool stack_parse(char *line, struct stack *stack)
{
	char *rest, *word = strtok_r(line, " ", &rest);

	*stack = (struct stack){0};
	if (!word || strcmp(word, "stack:") != 0)
		return false;
	while ((word = strtok_r(NULL, " ", &rest)))
		stack_push(stack, strtoull(word, NULL, 10));
	return true;
}

/* The innermost frame, which allocated, has advanced since; all callers are unchanged. */
static bool stacks_agree(const struct stack *leakmon, const struct stack *gdb)
{
	size_t callers = leakmon->depth - 1;

	return gdb->depth > callers &&
	       !memcmp(&leakmon->frames[1], &gdb->frames[gdb->depth - callers],
		       callers * sizeof(uint64_t)) &&
	       gdb->frames[gdb->depth - callers - 1] - leakmon->frames[0] < 256;
}

static struct child *gdb_start(struct harness *harness, const struct child *workload,
			       const char *commands)
{
	static char script[64];
	FILE *file;

	snprintf(script, sizeof(script), "%s/gdb", harness->directory);
	file = fopen(script, "we");
	assert_true(file && fputs(commands, file) >= 0 && fclose(file) == 0);
	return child_start(harness, GDB,
			   ARGUMENTS("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off",
				     "-iex", "set backtrace past-main on", "-p", workload->pid_text,
				     "-x", script),
			   NULL);
}

static void skip_without_gdb(struct harness *harness)
{
	struct child *gdb;

	if (access(GDB, X_OK) == 0) {
		gdb = child_start(harness, GDB,
				  ARGUMENTS("gdb", "-nx", "-batch", "-ex", "python print(1)"),
				  NULL);
		if (child_end(harness, gdb) == 0 && gdb->out.size)
			return;
	}
	fprintf(stderr, "SKIPPED, nothing was tested: there is no gdb with Python\n");
	skip();
}

static void a_stack_is_what_gdb_shows(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct stack leakmon, gdb_stack;
	struct child *workload, *gdb;
	char *line, *rest;
	json_t *report;

	skip_without_gdb(harness);
	workload = WORKLOAD(harness, "deep");
	report = WATCH(harness, workload, "park", "-T", "0");
	stack_of_block(process_of(report, workload->pid), &leakmon);
	/* park_here, 11 × park_below, std::function, park, and the frames that start a thread. */
	assert_true(leakmon.depth >= 16);
	gdb = gdb_start(harness, workload, print_stacks);
	child_end(harness, gdb);
	line = gdb->out.text ? strtok_r(gdb->out.text, "\n", &rest) : NULL;
	for (; line; line = strtok_r(NULL, "\n", &rest)) {
		if (stack_parse(line, &gdb_stack) && stacks_agree(&leakmon, &gdb_stack))
			return;
	}
	for (size_t i = 0; i < leakmon.depth; i++)
		print_error("leakmon: %" PRIu64 "\n", leakmon.frames[i]);
	child_fail(gdb, "no thread stands where leakmon saw it allocate");
}

/* From the handler to where the thread began: names, inlined calls too. */
static const char print_names[] =
	"python\n"
	"for thread in gdb.selected_inferior().threads():\n"
	"    thread.switch()\n"
	"    frame, names = gdb.newest_frame(), []\n"
	"    while frame:\n"
	"        signal = frame.type() == gdb.SIGTRAMP_FRAME\n"
	"        names.append('<signal handler called>' if signal else str(frame.name()))\n"
	"        frame = frame.older()\n"
	"    if 'on_illegal' in names and 'stand' in names:\n"
	"        first, last = names.index('on_illegal'), names.index('stand')\n"
	"        print('names: ' + ' '.join(names[first:last + 1]))\n"
	"end\n";

static json_t *site_of_size(json_t *process, json_int_t bytes)
{
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		if (number_at(site, "bytes") == bytes)
			return site;
	}
	fail_msg("no site holds %lld bytes", (long long)bytes);
	return NULL;
}

/* "names: on_illegal … stand", in gdb's form. */
static void names_print(json_t *site, char *text, size_t size)
{
	size_t length = (size_t)snprintf(text, size, "names:");
	json_t *frame;
	size_t i;

	json_array_foreach(json_object_get(site, "frames"), i, frame)
	{
		const char *function = json_string_value(json_object_get(frame, "function"));

		length += (size_t)snprintf(text + length, size - length, " %s",
					   function ? function : "?");
		assert_true(length < size);
		if (function && !strcmp(function, "stand"))
			break;
	}
}

/* A function that a signal interrupted at its first instruction: not the one before it. */
static void an_interrupted_function_is_named_as_gdb_names_it(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload, *gdb;
	char expected[512];
	json_t *report, *site;

	skip_without_gdb(harness);
	workload = WORKLOAD(harness, "interrupted");
	report = WATCH(harness, workload, "park", "-T", "0");
	site = site_of_size(process_of(report, workload->pid), 4242);
	names_print(site, expected, sizeof(expected));
	assert_string_equal(expected, "names: on_illegal <signal handler called> raises_at_once "
				      "interrupted_caller stand");
	gdb = gdb_start(harness, workload, print_names);
	child_end(harness, gdb);
	if (!gdb->out.text || !strstr(gdb->out.text, expected))
		child_fail(gdb, "gdb does not say `%s` but `%s`", expected, gdb->out.text);
}

static void an_interrupted_frame_has_its_exact_address(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "interrupted");
	json_t *report = WATCH(harness, workload, "go", "-T", "0"), *frames, *handler, *frame;
	json_t *site = site_of_size(process_of(report, workload->pid), 7770);

	frames = json_object_get(site, "frames");
	handler = json_array_get(frames, 1);
	frame = json_array_get(frames, 2);
	assert_string_equal(json_string_value(json_object_get(handler, "function")),
			    "<signal handler called>");
	assert_int_equal(number_at(handler, "offset"), 0);
	assert_string_equal(json_string_value(json_object_get(frame, "function")),
			    "raises_at_once");
	assert_int_equal(number_at(frame, "offset"), 0);
	assert_true(number_at(frame, "address") > 0);
	expect_truth(report, workload_ask(harness, workload, "ledger"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_stack_is_what_gdb_shows),
		e2e_test(an_interrupted_function_is_named_as_gdb_names_it),
		e2e_test(an_interrupted_frame_has_its_exact_address),
	};

	return cmocka_run_group_tests_name("e2e_gdb", tests, NULL, NULL);
}
