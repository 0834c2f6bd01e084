// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "output/formats.h"
#include "unit/options_fixture.h"

static const struct output_format *const formats[] = {OUTPUT_FORMATS(OUTPUT_FORMAT_ROW)};

/* Sends descriptor fd into a file until capture_end, which reads it into text. */
struct capture {
	FILE *file;
	int fd, saved;
};

static void capture_begin(struct capture *capture, FILE *stream)
{
	fflush(stream);
	capture->fd = fileno(stream);
	capture->file = tmpfile();
	assert_non_null(capture->file);
	capture->saved = dup(capture->fd);
	assert_true(dup2(fileno(capture->file), capture->fd) >= 0);
}

static void capture_end(struct capture *capture, FILE *stream, char *text, size_t size)
{
	size_t length;

	fflush(stream);
	assert_true(dup2(capture->saved, capture->fd) >= 0);
	close(capture->saved);
	rewind(capture->file);
	length = fread(text, 1, size - 1, capture->file);
	text[length] = '\0';
	fclose(capture->file);
}

static void bad_usage_is_refused_with_what_why_and_what_to_do(void **state)
{
	static const struct {
		const char *text, *message;
	} examples[] = {
		{"leakmon --trace", "--trace is for `leakmon watch`: there is no target; add one"},
		{"leakmon watch --trace", "--trace is for `leakmon watch`: there is no target"},
		{"leakmon -o 5", "no target: --older applies to probes; add a target"},
		{"leakmon -f", "no target: --follow-forks applies to probes; add a target"},
		{"leakmon --stack-walk fp",
		 "no target: --stack-walk applies to probes; add a target"},
		{"leakmon --window 5s", "--window applies to probes; add a target"},
		{"leakmon --window 5s", "or --escalate --exact"},
		{"leakmon --escalate --window 5s",
		 "--window applies to exact tracking: add --exact, or leave --window out"},
		{"leakmon --escalate -o 5", "--older applies to exact tracking: add --exact"},
		{"leakmon --exact", "--exact is for --escalate: add it"},
		{"leakmon -p 1 --budget 2%",
		 "--budget is for `leakmon triage`: leave out the target"},
		{"leakmon --budget 0", "--budget `0`: out of range, expected 0.001% to 100%"},
		{"leakmon --near-limit 0.5%",
		 "--near-limit `0.5%`: out of range, expected 1% to 100%"},
		{"leakmon --budget 1%%", "--budget `1%%`: expected a percentage, e.g. 1%"},
		{"leakmon --escalate=0", "--escalate `0`: out of range, expected 1 to 50"},
		{"leakmon --escalate --window 5d", "--window `5d`: expected a time, e.g. 30s"},
		{"leakmon --escalate --window 2h",
		 "--window `2h`: out of range, expected 1s to 1h"},
		{"leakmon triage -p 1", "--pid is not supported by `leakmon triage`, only by "
					"diagnose, watch, profile, record, retain, "
					"threads, memory, top and doctor: see "
					"`leakmon help triage`"},
		{"leakmon --kernel -p 1",
		 "--pid is for `leakmon watch`: the kernel's memory belongs to no process"},
		{"leakmon --kernel --trace", "--trace is for `leakmon watch`: the kernel's memory"},
		{"leakmon --kernel --mappings", "--mappings is for `leakmon watch`"},
		{"leakmon --kernel --by-dead-threads", "--by-dead-threads is for `leakmon watch`"},
		{"leakmon --kernel -- ls", "`leakmon kernel` starts no command"},
		{"leakmon kernel -p 1",
		 "--pid is not supported by `leakmon kernel`, only by diagnose, watch"},
		{"leakmon --label x",
		 "--label is not supported by `leakmon triage`, only by record, retain and top"},
		{"leakmon recrod", "unknown command `recrod`: did you mean `record`?"},
		{"leakmon recrod -p 1 -o x", "unknown command `recrod`: did you mean `record`?"},
		{"leakmon help recrod", "unknown command `recrod`: did you mean `record`?"},
		{"leakmon help a b", "`b` is one word too many: `leakmon help` takes only COMMAND"},
		{"leakmon -p 1 record -o x", "`record` is a command: name it first, as in "},
		{"leakmon record", "no file to record to: name one"},
		{"leakmon record -p 1", "no file to record to: name one"},
		{"leakmon record -o x", "no target: name a process, as in `leakmon record -p PID"},
		{"leakmon record -p 1 -o x --overhead 2%",
		 "--overhead is for --profile: give both, or neither"},
		{"leakmon record --profile -p 1 -o x --older 5",
		 "--older is not for --profile, which tracks in short windows"},
		{"leakmon record --profile -p 1 -o x --label y",
		 "--label is not for --profile, which tracks in short windows"},
		{"leakmon report", "no recording: name one that `leakmon record -o FILE` made"},
		{"leakmon report ''", "the file name is empty: name a recording"},
		{"leakmon report a b",
		 "`b` is one word too many: `leakmon report` takes only FILE"},
		{"leakmon report a --retain --format prom",
		 "--format prom cannot show runs of `leakmon retain`: choose text, json"},
		{"leakmon report a -- ls", "`leakmon report` starts no command"},
		{"leakmon merge -o f",
		 "no recording: name those that `leakmon record -o FILE` made"},
		{"leakmon merge a b", "no output file: name one"},
		{"leakmon diff", "no recording: name one"},
		{"leakmon diff a b c",
		 "`c` is one word too many: `leakmon diff` takes only OLD and NEW"},
		{"leakmon diff a --format prom",
		 "--format `prom`: expected text, json, folded or html"},
		{"leakmon diff a --retain --format html",
		 "--format html cannot show runs of `leakmon retain`: choose text or json"},
		{"leakmon retain", "no target: name a process, as in `leakmon retain -p PID`"},
		{"leakmon retain --census -- ls", "--census and --command contradict each other"},
		{"leakmon retain --core c -p 1", "--core and --pid contradict each other: a core "
						 "file is what is left of one process"},
		{"leakmon retain --core c 60", "--core and INTERVAL contradict each other"},
		{"leakmon memory --core c --no-stop", "--core and --no-stop contradict each other"},
		{"leakmon retain -p 1 --exe f",
		 "--exe is about a core file: give --core FILE, too"},
		{"leakmon retain -p 1 --format prom",
		 "--format `prom`: expected text, json, folded, pprof or html"},
		{"leakmon retain -p 1 --addr x", "--addr `x`: expected an address, e.g. 0x55d0"},
		{"leakmon retain --hlep", "unknown option `--hlep`: did you mean `--help`?"},
		{"leakmon threads --heap", "no target, and --heap needs one: name it, as in"},
		{"leakmon threads -f", "no target, and --follow-forks needs one"},
		{"leakmon threads -p 1 --max-blocks 5",
		 "--max-blocks applies to the heap: add --heap"},
		{"leakmon threads -p 1 --format pprof",
		 "--format `pprof`: expected text, json, prom or html"},
		{"leakmon top --format json", "--format is not supported by `leakmon top`, only by "
					      "triage, diagnose, watch, profile, report, diff"},
		{"leakmon --format yaml", "--format `yaml`: expected text, json, "},
		{"leakmon record -p 1 -o f --keep 30m", "--keep `30m`: expected a size"},
		{"leakmon record -p 1 -o f --keep 10", "--keep `10`: expected a size"},
		{"leakmon report a --older 1",
		 "--older is not supported by `leakmon report`, only by"},
		{"leakmon -p 1 --listen localhost:80",
		 "--listen `localhost:80`: expected a port, 127.0.0.1:9464 or [::1]:9464"},
		{"leakmon -p 1 --textfile-dir /tmp", "--textfile-dir is for --format prom"},
		{"leakmon grow -p 1",
		 "unknown command `grow`: see `leakmon help`; to start a program, write "
		 "`leakmon -- grow`"},
		{"leakmon -p abc", "--pid `abc`: expected PIDs separated by commas, e.g. 1234"},
		{"leakmon -p 1,,2", "--pid `1,,2`: expected PIDs"},
		{"leakmon -p 1,", "--pid `1,`: expected"},
		{"leakmon -p ''", "--pid ``: expected"},
		{"leakmon -p 0", "--pid `0`: out of range, expected 1 to 4194304"},
		{"leakmon -p 4194305", "out of range"},
		{"leakmon -p 18446744073709551617", "out of range"},
		{"leakmon -p -5", "--pid `-5`: expected"},
		{"leakmon -p", "--pid needs a value: PIDs separated by commas"},
		{"leakmon --format", "--format needs a value: text|json"},
		{"leakmon -p 1 0", "INTERVAL `0` is out of range: expected 0.001 seconds or more"},
		{"leakmon -p 1 0.0001", "INTERVAL `0.0001` is out of range"},
		{"leakmon -p 1 9223372037", "INTERVAL `9223372037` is out of range"},
		{"leakmon -p 1 ls", "`ls` is not an INTERVAL: expected seconds, e.g. 5 or 0.5"},
		{"leakmon -p 1 5 0", "`0` is not a COUNT of reports: expected an integer from 1"},
		{"leakmon -p 1 5 1.5", "`1.5` is not a COUNT"},
		{"leakmon -p 1 5 6 7",
		 "`7` is one word too many: `leakmon watch` takes only INTERVAL and COUNT"},
		{"leakmon -p 1 -o 5x", "--older `5x`: expected whole milliseconds, e.g. 500"},
		{"leakmon -p 1 -o 18446744073710", "--older `18446744073710`: out of range"},
		{"leakmon -p 1 -z 1Q",
		 "--min-size `1Q`: expected a size, e.g. 4096, 64K, 10M or 2G"},
		{"leakmon -p 1 -z 2K -Z 1K", "--min-size 2048 is above --max-size 1024"},
		{"leakmon -p 1 -s 0", "--sample-rate `0`: out of range, expected 1 to 4294967295"},
		{"leakmon -p 1 -s 2 --sample-bytes 1K",
		 "--sample-rate and --sample-bytes contradict each other: choose one"},
		{"leakmon -p 1 --sample-bytes 0", "--sample-bytes `0`: out of range"},
		{"leakmon -p 1 --max-blocks 0", "--max-blocks `0`: out of range"},
		{"leakmon -p 1 --max-processes 0", "--max-processes `0`: out of range"},
		{"leakmon -p 1 --max-sites -1",
		 "--max-sites `-1`: expected an integer, e.g. 16384"},
		{"leakmon -p 1 -T ten", "--top `ten`: expected an integer, e.g. 10"},
		{"leakmon -p 1 --format xml",
		 "--format `xml`: expected text, json, folded, pprof, prom, html or junit"},
		{"leakmon -p 1 --sort size",
		 "--sort `size`: expected bytes, count, growth, integral or age"},
		{"leakmon -p 1 --stack-walk dwarf",
		 "--stack-walk `dwarf`: expected auto, cfi or fp"},
		{"leakmon -p 1 --probe-at end", "--probe-at `end`: expected best or entry"},
		{"leakmon -p 1 --attach x", "--attach `x`: expected auto, session, multi or perf"},
		{"leakmon -p 1 --output ''", "--output ``: expected a file name"},
		{"leakmon -p 1 --oldr 5", "unknown option `--oldr`: did you mean `--older`?"},
		{"leakmon -p 1 --quux", "unknown option `--quux`: see `leakmon help watch`"},
		{"leakmon -p 1 -x", "unknown option `-x`: see `leakmon help watch`"},
		{"leakmon -p 1 --verbose=1", "`--verbose` takes no value"},
		{"leakmon -p 1 -c ls", "--pid and --command contradict each other"},
		{"leakmon -p 1 -- ls", "--pid and --command contradict each other"},
		{"leakmon record -o x -n a -- ls", "--comm and --command contradict each other"},
		{"leakmon retain --pod a -- ls", "--pod and --command contradict each other"},
		{"leakmon -c ls -- ls", "a command is given twice"},
		{"leakmon -c ls -c ls", "a command is given twice"},
		{"leakmon -c \"ls 'x\"",
		 "--command `ls 'x`: expected a command with all quotes closed"},
		{"leakmon -c ''", "--command ``: expected a command"},
		{"leakmon -c \"''\"", "--command `''`: expected a command"},
		{"leakmon --", "`--` must be followed by a command"},
		{"leakmon -- ''", "`--` must be followed by a command"},
		{"leakmon -p 1 -Ca", "--combined-only and --show-allocs contradict each other"},
		{"leakmon -p 1 -C -o 5", "--older needs ages, and --combined-only keeps none"},
		{"leakmon kernel -C -o 5", "--older needs ages, and --combined-only keeps none"},
		{"leakmon doctor 5",
		 "`5` is one word too many: `leakmon doctor` takes only options"},
		{"leakmon doctor --for triage -p 1",
		 "--for triage: triage has no target, and sets no probe"},
		{"leakmon doctor --for profile", "--for `profile`: expected watch or triage"},
		{"leakmon doctor -o 5", "--older is not supported by `leakmon doctor`, only by"},
		{"leakmon doctor -- ls", "`leakmon doctor` starts no command: leave out `--`"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		struct capture capture;
		struct line line;
		char text[512];
		int result;

		line_split(&line, examples[i].text);
		capture_begin(&capture, stderr);
		result = command_line_parse(&line.parsed, &commands, line.argc, line.argv);
		capture_end(&capture, stderr, text, sizeof(text));
		if (result != EXIT_USAGE || line.parsed.command || strncmp(text, "leakmon: ", 9) ||
		    !strstr(text, examples[i].message))
			fail_msg("%s: %d, %s", examples[i].text, result, text);
		line_free(&line);
	}
}

static void help_and_version_go_to_standard_output(void **state)
{
	static const struct {
		const char *text, *output;
	} examples[] = {
		{"leakmon --help", "leakmon shows which code"},
		{"leakmon -h", "leakmon shows which code"},
		{"leakmon -p 1 --help --quux", "leakmon shows which code"},
		{"leakmon watch --help", "Usage:\n  leakmon [watch] TARGET"},
		{"leakmon triage -h", "Usage:\n  leakmon [triage] [OPTION"},
		{"leakmon record --help", "Usage:\n  leakmon record -o FILE TARGET"},
		{"leakmon doctor --help", "Usage:\n  leakmon doctor"},
		{"leakmon help --help", "Usage:\n  leakmon help"},
		{"leakmon --version", "leakmon "},
		{"leakmon top --version", "leakmon "},
		{"leakmon --completion bash", "# SPDX-License-Identifier"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		struct capture capture;
		struct line line;
		char text[512];
		int result;

		line_split(&line, examples[i].text);
		capture_begin(&capture, stdout);
		result = command_line_parse(&line.parsed, &commands, line.argc, line.argv);
		capture_end(&capture, stdout, text, sizeof(text));
		assert_int_equal(result, EXIT_OK);
		assert_memory_equal(text, examples[i].output, strlen(examples[i].output));
		line_free(&line);
	}
}

static void all_is_taken_before_and_after_help(void **state)
{
	static const char *const examples[] = {
		"leakmon triage --help --all",
		"leakmon triage --all --help",
		"leakmon triage -h --quux --all",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		struct capture capture;
		struct line line;
		char text[8192];

		line_split(&line, examples[i]);
		capture_begin(&capture, stdout);
		assert_int_equal(command_line_parse(&line.parsed, &commands, line.argc, line.argv),
				 EXIT_OK);
		capture_end(&capture, stdout, text, sizeof(text));
		assert_non_null(strstr(text, "--sample-rate"));
		line_free(&line);
	}
}

static bool is_taken(const struct command *command, const struct option_row *row)
{
	for (const struct option_use *use = command->uses; use->group; use++) {
		for (size_t i = 0; i < use->group->count; i++) {
			if (&use->group->rows[i] == row)
				return true;
		}
	}
	return false;
}

/* The rows of all commands, each once. */
struct rows {
	VEC(const struct option_row *) list;
};

static void rows_add(struct rows *rows, const struct option_group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		size_t j = 0;

		while (j < rows->list.count && rows->list.items[j] != &group->rows[i])
			j++;
		if (j == rows->list.count)
			*vec_push(&rows->list) = &group->rows[i];
	}
}

static void rows_gather(struct rows *rows)
{
	rows_add(rows, &general_group);
	for (size_t i = 0; i < commands.count; i++) {
		for (const struct option_use *use = commands.commands[i]->uses; use->group; use++)
			rows_add(rows, use->group);
	}
	/* The parser has room for 128 names. */
	assert_in_range(rows->list.count, 1, 128);
}

/* Fails for two rows of one command with the same name or letter. */
static void expect_unique(const struct rows *rows, const struct command *command)
{
	for (size_t i = 0; i < rows->list.count; i++) {
		const struct option_row *one = rows->list.items[i];

		for (size_t j = 0; j < i && is_taken(command, one); j++) {
			const struct option_row *other = rows->list.items[j];

			if (!is_taken(command, other))
				continue;
			assert_string_not_equal(one->name, other->name);
			if (option_letter(command, one))
				assert_int_not_equal(option_letter(command, one),
						     option_letter(command, other));
		}
	}
}

static void names_and_letters_are_unique_and_every_value_has_advice(void **state)
{
	struct rows rows = {0};

	(void)state;
	rows_gather(&rows);
	for (size_t i = 0; i < rows.list.count; i++) {
		const struct option_row *row = rows.list.items[i];

		assert_non_null(row->parse);
		assert_non_null(row->help);
		if (row->argument)
			assert_true(row->expects || strchr(row->argument, '|') ||
				    !strcmp(row->argument, "bash"));
	}
	for (size_t i = 0; i < commands.count; i++)
		expect_unique(&rows, commands.commands[i]);
	vec_free(&rows.list);
}

/* A line is read once to learn which command it is: before, a value must be known as one. */
static void one_name_or_letter_takes_a_value_in_all_commands_or_in_none(void **state)
{
	struct rows rows = {0};

	(void)state;
	rows_gather(&rows);
	for (size_t i = 0; i < rows.list.count; i++) {
		const struct option_row *one = rows.list.items[i];

		for (size_t j = 0; j < i; j++) {
			const struct option_row *other = rows.list.items[j];

			if (strcmp(one->name, other->name) != 0 &&
			    (!one->letter || one->letter != other->letter))
				continue;
			if (!one->argument != !other->argument)
				fail_msg("--%s and --%s", one->name, other->name);
		}
	}
	vec_free(&rows.list);
}

static void every_command_has_a_summary_and_can_be_run(void **state)
{
	(void)state;
	for (size_t i = 0; i < commands.count; i++) {
		const struct command *command = commands.commands[i];

		assert_true(command->name && command->summary && command->usage && command->about);
		assert_non_null(strstr(command->usage, command->name));
		assert_int_equal(strncmp(command->examples, "  leakmon", 9), 0);
		assert_true(command->options_size && command->defaults && command->run);
		assert_true(!command->alternative == !command->alternative_how);
		/* The room ends with a row that has no group. */
		assert_null(command->uses[OPTION_USES_MAX - 1].group);
	}
}

/* A format is offered where it can be written, and nowhere else. */
static void formats_are_offered_where_they_can_be_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct output_format *format = formats[i];
		const struct {
			const struct command *command;
			const char *line;
			bool offered;
		} cases[] = {
			{&command_watch, "leakmon -p 1", true},
			{&command_kernel, "leakmon kernel", true},
			{&command_report, "leakmon report x", true},
			{&command_triage, "leakmon", output_has(format, OUTPUT_TRIAGE)},
			{&command_diff, "leakmon diff x", output_has(format, OUTPUT_DIFF)},
			{&command_retain, "leakmon retain -p 1", output_has(format, OUTPUT_RETAIN)},
			{&command_threads, "leakmon threads -p 1",
			 output_has(format, OUTPUT_THREADS)},
		};

		for (size_t j = 0; j < ARRAY_SIZE(cases); j++) {
			struct capture capture;
			struct line line;
			char text[512];
			int result;

			snprintf(text, sizeof(text), "%s --format %s", cases[j].line, format->name);
			line_split(&line, text);
			capture_begin(&capture, stderr);
			result = command_line_parse(&line.parsed, &commands, line.argc, line.argv);
			capture_end(&capture, stderr, text, sizeof(text));
			assert_int_equal(result, cases[j].offered ? GO_ON : EXIT_USAGE);
			line_free(&line);
		}
	}
}

/* 601 s or more may be a process: this one has such a number, or gets one. */
static pid_t process_with_large_pid(void)
{
	for (;;) {
		pid_t pid = fork();

		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close_range(0, UINT_MAX, 0);
			for (;;)
				pause();
		}
		assert_true(pid > 0);
		if (pid > 600)
			return pid;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

static void a_number_alone_may_be_a_process_but_not_behind_a_command_or_an_option(void **state)
{
	static const struct {
		const char *before, *behind; /* its number */
		int result;
	} cases[] = {
		{"", "", EXIT_USAGE},  {"-v", "", EXIT_USAGE},	   {"", "5", GO_ON},
		{"triage", "", GO_ON}, {"--budget 2%", "", GO_ON},
	};
	pid_t pid = process_with_large_pid();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct capture capture;
		struct line line;
		char text[512], expected[64];
		int result;

		snprintf(text, sizeof(text), "leakmon %s %d %s", cases[i].before, pid,
			 cases[i].behind);
		snprintf(expected, sizeof(expected), "`leakmon diagnose -p %d`", pid);
		line_split(&line, text);
		capture_begin(&capture, stderr);
		result = command_line_parse(&line.parsed, &commands, line.argc, line.argv);
		capture_end(&capture, stderr, text, sizeof(text));
		if (result != cases[i].result)
			fail_msg("case %zu: %d: %s", i, result, text);
		assert_int_equal(strstr(text, expected) != NULL, cases[i].result == EXIT_USAGE);
		line_free(&line);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_number_alone_may_be_a_process_but_not_behind_a_command_or_an_option),
		cmocka_unit_test(bad_usage_is_refused_with_what_why_and_what_to_do),
		cmocka_unit_test(help_and_version_go_to_standard_output),
		cmocka_unit_test(all_is_taken_before_and_after_help),
		cmocka_unit_test(names_and_letters_are_unique_and_every_value_has_advice),
		cmocka_unit_test(one_name_or_letter_takes_a_value_in_all_commands_or_in_none),
		cmocka_unit_test(every_command_has_a_summary_and_can_be_run),
		cmocka_unit_test(formats_are_offered_where_they_can_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
