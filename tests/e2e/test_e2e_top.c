// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon top on a real terminal (tmux): its screens, keys and exit. */
#include "screen.h"

#include <signal.h>
#include <sys/stat.h>

static void __attribute__((format(printf, 3, 4)))
start(struct screen *screen, struct harness *harness, const char *format, ...)
{
	char arguments[512];
	va_list values;

	va_start(values, format);
	vsnprintf(arguments, sizeof(arguments), format, values);
	va_end(values);
	screen_start(screen, harness, 150, 30, arguments);
}

/* The workload, tracked, when it has allocated and the screen shows it. */
static struct child *start_with_blocks(struct screen *screen, void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");

	start(screen, harness, "top -o 0 -p %s 0.2", workload->pid_text);
	screen_expect(screen, "Outstanding:");
	workload_do(harness, workload, "go");
	screen_expect(screen, "leak_c leak.c:");
	return workload;
}

static size_t lines_with(const struct screen *screen, const char *text)
{
	size_t count = 0;

	for (const char *at = screen->text; (at = strstr(at, text)); at++)
		count++;
	return count;
}

static void call_stacks_show_numbers_and_open_to_their_frames(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct screen screen;

	start(&screen, harness, "top -o 0 -p %s 0.2", workload->pid_text);
	screen_expect(&screen, "Outstanding: 0 B (0 bytes) in 0 blocks");
	workload_do(harness, workload, "go");
	/* 10 of 100, 5 of 1000, 3 of 4096 bytes; 7 blocks came and went */
	screen_expect(&screen, "Outstanding: 17.9 KiB (18288 bytes) in 18 blocks from 3 call "
			       "stacks of 1 process");
	screen_expect(&screen, "; exact");
	screen_expect(&screen, "  12.0 KiB        3");
	screen_expect(&screen, "leak_c leak.c:");
	/* The machine on top, and details of the selected row below the list. */
	screen_expect(&screen, "Memory [");
	screen_expect(&screen, "This call stack");
	screen_expect(&screen, "  leak_c+0x");
	screen_press(&screen, "c"); /* by count: leak_a becomes the first */
	screen_expect(&screen, "by count");
	screen_press(&screen, "Enter");
	screen_expect(&screen, "1000 bytes in 10 blocks");
	screen_expect(&screen, "tests/workloads/leak.c:");
	screen_press(&screen, "Escape");
	screen_expect(&screen, "ALLOCATED BY");
	screen_press(&screen, "f leak_b Enter");
	screen_expect_no(&screen, "leak_c leak.c");
	screen_expect(&screen, "[filter: leak_b]");
	assert_int_equal(lines_with(&screen, " leak.c:"), 1);
	screen_press(&screen, "q");
	screen_expect_left(&screen, 0);
}

/* From 150 × 30 to next to nothing and back. */
static void every_size_has_its_picture(void **state)
{
	struct screen screen;

	start_with_blocks(&screen, state);
	screen_tmux(&screen, "resize-window -x 50 -y 8");
	screen_expect_no(&screen, "OLDEST");
	screen_expect(&screen, "12.0 KiB");
	screen_expect(&screen, "leak_b");
	screen_tmux(&screen, "resize-window -x 12 -y 2");
	screen_expect(&screen, "12.0 KiB");
	screen_tmux(&screen, "resize-window -x 1 -y 1");
	screen_press(&screen, "Enter Down Escape");
	screen_tmux(&screen, "resize-window -x 150 -y 30");
	screen_expect(&screen, "leak_a");
	screen_expect(&screen, "F10");
	screen_press(&screen, "F10");
	screen_expect_left(&screen, 0);
}

static void what_has_ended_stays_on_the_screen(void **state)
{
	struct screen screen;
	struct child *workload = start_with_blocks(&screen, state);

	workload_send(workload, "quit");
	screen_expect(&screen, "ALL HAVE ENDED: the last that was seen");
	screen_expect(&screen, "(18288 bytes) in 18 blocks");
	screen_press(&screen, "s");
	screen_expect(&screen, "the processes have ended");
	screen_press(&screen, "q");
	screen_expect_left(&screen, 0);
	screen_expect(&screen, "has ended");
}

/* Its output would spoil the screen. */
static void a_started_command_is_silent_and_tracked_from_its_first_block(void **state)
{
	struct screen screen;

	start(&screen, harness_bpf(state), "top -o 0 0.2 -- build/workloads/leak");
	screen_expect(&screen, "exited with code 0");
	screen_expect(&screen, "ALL HAVE ENDED");
	screen_expect_no(&screen, "ready");
	screen_press(&screen, "q");
	screen_expect_left(&screen, 0);
}

static void snapshots_go_into_a_recording(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *diff;
	struct screen screen;
	char path[64];

	snprintf(path, sizeof(path), "%s/run.lkm", harness->directory);
	start(&screen, harness, "top -o 0 -p %s --output %s 0.2", workload->pid_text, path);
	screen_expect(&screen, "Outstanding: 0 B");
	screen_press(&screen, "F2");
	screen_expect(&screen, "snapshot 1 is in");
	workload_do(harness, workload, "go");
	screen_press(&screen, "s");
	screen_expect(&screen, "snapshot 2 is in");
	screen_press(&screen, "q");
	screen_expect_left(&screen, 0);
	screen_expect(&screen, "run.lkm holds 2 snapshots");
	diff = MONITOR(harness, "diff", path);
	assert_int_equal(child_end(harness, diff), 0);
	assert_non_null(strstr(diff->out.text, "+17.9 KiB, +18 blocks"));
}

/* The list of the machine shows that process alone, under that name. */
static void find_process(struct screen *screen, const struct child *process, const char *name)
{
	char filter[32];

	screen_expect(screen, "ANON+SWAP");
	snprintf(filter, sizeof(filter), "f %s Enter", process->pid_text);
	screen_press(screen, filter);
	screen_expect_no(screen, " bash ");
	screen_expect(screen, name);
}

/* Back to the list, and out. */
static void leave_process(struct screen *screen)
{
	screen_press(screen, "Escape");
	screen_expect(screen, "ANON+SWAP");
	screen_press(screen, "q");
	screen_expect_left(screen, 0);
}

/* Includes a pause, and the way back. */
static void a_process_of_the_machine_is_tracked_exactly_with_x(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct screen screen;

	start(&screen, harness, "top -o 0 0.2");
	find_process(&screen, workload, " leak ");
	/* The machine's meter, and the keys for a process that is not a suspect. */
	screen_expect(&screen, "Memory [");
	screen_expect(&screen, "Enter shows its call stacks");
	screen_press(&screen, "C");
	screen_expect(&screen, "Its objects by class");
	screen_press(&screen, "x");
	screen_expect(&screen, "in 0 blocks");
	workload_do(harness, workload, "go");
	screen_expect(&screen, "leak_c leak.c:");
	screen_press(&screen, "Space");
	screen_expect(&screen, "PAUSED, 2 reports later");
	workload_do(harness, workload, "go");
	screen_press(&screen, "Space");
	screen_expect(&screen, "(36576 bytes) in 36 blocks");
	leave_process(&screen);
}

/* Exactly, if that costs next to nothing: a window of a profile hardly ever meets so few blocks. */
static void enter_shows_the_call_stacks_of_a_slow_process_at_once(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "grower", "leak", "400");
	struct screen screen;

	start(&screen, harness, "top -o 0 1");
	find_process(&screen, workload, " grower ");
	screen_press(&screen, "Enter");
	screen_expect(&screen, "Outstanding:");
	screen_expect(&screen, "leak_half");
	screen_expect(&screen, "; exact");
	leave_process(&screen);
}

/* From there to its frames, and on to exact tracking. */
static void a_fast_process_of_the_machine_is_profiled_on_enter(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "grower", "leak", "16000");
	struct screen screen;

	start(&screen, harness, "top -o 0 1");
	find_process(&screen, workload, " grower ");
	screen_press(&screen, "Enter");
	screen_expect(&screen, " spent, of 1%");
	screen_expect(&screen, "leak_half");
	screen_press(&screen, "Enter");
	screen_expect(&screen, "blocks/s allocated (95%:");
	screen_press(&screen, "x");
	screen_expect(&screen, "Outstanding:");
	screen_expect(&screen, "; exact");
	leave_process(&screen);
}

static void the_terminal_is_left_clean_by_every_signal(void **state)
{
	static const struct {
		int signal, code;
	} cases[] = {
		{SIGINT, 0},
		{SIGTERM, 0},
		{SIGHUP, 0},
		{SIGSEGV, 128 + SIGSEGV},
		{SIGABRT, 128 + SIGABRT},
		{SIGQUIT, 128 + SIGQUIT},
	};
	struct harness *harness = harness_any(state);
	struct screen screen;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start(&screen, harness, "top 0.2");
		screen_expect(&screen, "ANON+SWAP");
		assert_int_equal(kill(screen_program(&screen), cases[i].signal), 0);
		screen_expect_left(&screen, cases[i].code);
		screen_end(&screen);
	}
}

static void names_from_a_process_are_inert_on_the_terminal(void **state)
{
	struct harness *harness = harness_any(state);
	char path[96], program[512];
	struct screen screen;

	/* A name with a colour, and one with reversed text direction. */
	snprintf(path, sizeof(path), "%s/\033[31mx\u202ey", harness->directory);
	assert_non_null(realpath("/usr/bin/sleep", program));
	assert_int_equal(symlink(program, path), 0);
	child_start(harness, "/bin/sh", ARGUMENTS("sh", "-c", "exec \"$0\" 1000", path), NULL);
	start(&screen, harness, "top 0.2");
	screen_press(&screen, "f 31m Enter");
	screen_expect(&screen, "\\x1b[31mx\\u{20");
	screen_tmux(&screen, "capture-pane -p -e");
	assert_null(strstr(screen.text, "\033[31m"));
	assert_null(strstr(screen.text, "\u202e"));
	screen_press(&screen, "C-c");
	screen_expect_left(&screen, 0);
}

/* For `leakmon` itself: 582 lines of too-early scrolled by before its first verdict. */
static void a_triage_is_one_report_on_the_terminal_until_there_is_a_verdict(void **state)
{
	struct harness *harness = harness_any(state);
	struct screen screen;

	start(&screen, harness, "--no-stacks -T 3 1");
	screen_expect(&screen, "processes for 2 s");
	screen_expect(&screen, "processes for 4 s");
	assert_int_equal(lines_with(&screen, "processes for"), 1);
	screen_press(&screen, "C-c");
	screen_expect_left(&screen, 0);
}

static void without_a_terminal_it_names_the_alternative(void **state)
{
	struct harness *harness = harness_any(state);
	struct screen screen;

	monitor_expect_error(harness, MONITOR(harness, "top"), 1,
			     "`leakmon top` needs a terminal, and standard input is none; to read "
			     "it elsewhere, use `leakmon watch`");
	start(&screen, harness, "--version; TERM=nonesuch build/leakmon top");
	screen_expect(&screen, "terminal type `nonesuch` is not known here");
	screen_expect_left(&screen, 1);
	screen_end(&screen);
	start(&screen, harness, "--version; TERM=dumb build/leakmon top");
	screen_expect(&screen, "cannot be drawn on");
	screen_expect_left(&screen, 1);
}

#define SMALL_CGROUP "/sys/fs/cgroup/memory/leakmon-test-top"

/* Instead of leakmon: a script that enters the cgroup, and then is leakmon. */
static void start_in_cgroup(struct screen *screen, struct harness *harness, const char *limit,
			    const struct child *workload)
{
	const char *given = getenv("LEAKMON_PROGRAM");
	char *program = strdup(given ? given : "build/leakmon"), path[64];
	FILE *file = fopen(SMALL_CGROUP "/memory.limit_in_bytes", "we");

	assert_non_null(file);
	fputs(limit, file);
	assert_int_equal(fclose(file), 0);
	snprintf(path, sizeof(path), "%s/in_cgroup", harness->directory);
	file = fopen(path, "we");
	assert_non_null(file);
	fprintf(file, "#!/bin/sh\necho 0 >" SMALL_CGROUP "/cgroup.procs\nexec %s \"$@\"\n",
		program);
	fclose(file);
	chmod(path, 0755);
	setenv("LEAKMON_PROGRAM", path, 1);
	start(screen, harness, "top -o 0 --max-blocks 1000 --max-sites 256 -p %s 0.2",
	      workload->pid_text);
	if (given)
		setenv("LEAKMON_PROGRAM", program, 1);
	else
		unsetenv("LEAKMON_PROGRAM");
	free(program);
}

static void leave_cgroup(struct screen *screen)
{
	screen_tmux(screen, "kill-session");
	for (int tries = 0; rmdir(SMALL_CGROUP) && tries < 500; tries++)
		usleep(10000);
}

/* Impossible targets are refused on the same terminal; possible ones work. */
static void a_memory_cgroup_is_named_or_enough(void **state)
{
	static const char *const small[] = {"4194304", "8388608", "16777216", "29360128"};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct screen screen;

	for (size_t i = 0; i < 5; i++) {
		if (mkdir(SMALL_CGROUP, 0755)) {
			print_message("SKIPPED: no memory controller of cgroup v1 is mounted\n");
			skip();
		}
		start_in_cgroup(&screen, harness, i < 4 ? small[i] : "67108864", workload);
		if (i < 4) {
			screen_expect(&screen, "tracking processes needs about 33 MB");
			screen_expect(&screen, "left with 1");
		} else {
			screen_expect(&screen, "Outstanding: 0 B (0 bytes) in 0 blocks");
			workload_do(harness, workload, "go");
			screen_expect(&screen, "(18288 bytes) in 18 blocks from 3 call");
			screen_press(&screen, "q");
			screen_expect(&screen, "left with 0");
		}
		leave_cgroup(&screen);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(call_stacks_show_numbers_and_open_to_their_frames),
		e2e_test(every_size_has_its_picture),
		e2e_test(what_has_ended_stays_on_the_screen),
		e2e_test(a_started_command_is_silent_and_tracked_from_its_first_block),
		e2e_test(snapshots_go_into_a_recording),
		e2e_test(a_process_of_the_machine_is_tracked_exactly_with_x),
		e2e_test(enter_shows_the_call_stacks_of_a_slow_process_at_once),
		e2e_test(a_fast_process_of_the_machine_is_profiled_on_enter),
		e2e_test(the_terminal_is_left_clean_by_every_signal),
		e2e_test(names_from_a_process_are_inert_on_the_terminal),
		e2e_test(a_triage_is_one_report_on_the_terminal_until_there_is_a_verdict),
		e2e_test(without_a_terminal_it_names_the_alternative),
		e2e_test(a_memory_cgroup_is_named_or_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
