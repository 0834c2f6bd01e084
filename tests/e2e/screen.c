// SPDX-License-Identifier: GPL-2.0-or-later
#include "screen.h"

#include <stdarg.h>
#include <time.h>

#define TMUX "/usr/bin/tmux"
#define PAUSE_NS 20000000

static int run(struct screen *screen, const char *command)
{
	char line[2048];
	size_t size;
	FILE *pipe;

	snprintf(line, sizeof(line), TMUX " -N -S %s %s 2>&1", screen->socket, command);
	pipe = popen(line, "r");
	assert_non_null(pipe);
	size = fread(screen->text, 1, sizeof(screen->text) - 1, pipe);
	screen->text[size] = '\0';
	return pclose(pipe);
}

static void pause_shortly(void)
{
	nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static time_t deadline_of(const struct screen *screen)
{
	return time(NULL) + screen->harness->limit_ms / 1000;
}

void screen_tmux(struct screen *screen, const char *format, ...)
{
	char command[1536];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	if (run(screen, command))
		fail_msg("tmux %s: %s", command, screen->text);
}

void screen_start(struct screen *screen, struct harness *harness, int columns, int lines,
		  const char *arguments)
{
	const char *program = getenv("LEAKMON_PROGRAM");
	time_t deadline;
	char command[1536];

	*screen = (struct screen){.harness = harness};
	if (access(TMUX, X_OK)) {
		print_message("skipped: tmux is not installed\n");
		skip();
	}
	snprintf(screen->socket, sizeof(screen->socket), "%s/tmux", harness->directory);
	/* In the foreground: it ends with the test. */
	screen->server =
		child_start(harness, TMUX,
			    ARGUMENTS("tmux", "-D", "-S", screen->socket, "-f", "/dev/null"), NULL);
	snprintf(command, sizeof(command),
		 "new-session -d -x %d -y %d \"D=%s; stty -g > \\$D/before; LANG=C.UTF-8 %s "
		 "%s; echo left with \\$?; stty -g > \\$D/after; exec cat\"",
		 columns, lines, harness->directory, program ? program : "build/leakmon",
		 arguments);
	deadline = deadline_of(screen);
	while (run(screen, command)) {
		if (time(NULL) > deadline)
			fail_msg("tmux does not start: %s", screen->text);
		pause_shortly();
	}
}

void screen_end(struct screen *screen)
{
	screen_tmux(screen, "kill-server");
	child_end(screen->harness, screen->server);
}

void screen_press(struct screen *screen, const char *keys)
{
	screen_tmux(screen, "send-keys %s", keys);
}

static void expect(struct screen *screen, const char *text, bool there)
{
	time_t deadline = deadline_of(screen);

	do {
		screen_tmux(screen, "capture-pane -p");
		if (!!strstr(screen->text, text) == there)
			return;
		pause_shortly();
	} while (time(NULL) <= deadline);
	fail_msg("the screen %s `%s`:\n%s", there ? "never showed" : "goes on showing", text,
		 screen->text);
}

void screen_expect(struct screen *screen, const char *text)
{
	expect(screen, text, true);
}

void screen_expect_no(struct screen *screen, const char *text)
{
	expect(screen, text, false);
}

pid_t screen_program(struct screen *screen)
{
	char command[64], line[16] = "";
	pid_t shell;
	FILE *pipe;

	screen_tmux(screen, "display-message -p '#{pane_pid}'");
	shell = (pid_t)atol(screen->text);
	snprintf(command, sizeof(command), "pgrep -o -P %d", shell);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_non_null(fgets(line, sizeof(line), pipe));
	pclose(pipe);
	return (pid_t)atol(line);
}

static void read_modes(const struct screen *screen, const char *name, char modes[256])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", screen->harness->directory, name);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(modes, 256, file));
	fclose(file);
}

void screen_expect_left(struct screen *screen, int code)
{
	char text[32], before[256], after[256];

	snprintf(text, sizeof(text), "left with %d\n", code);
	screen_expect(screen, text);
	/* `stty` comes after the text: the cat that waits shows that it is done. */
	screen_press(screen, "done Enter");
	screen_expect(screen, "done\ndone");
	read_modes(screen, "before", before);
	read_modes(screen, "after", after);
	assert_string_equal(before, after);
	screen_tmux(screen, "display-message -p "
			    "'#{alternate_on} #{cursor_flag} #{keypad_flag}#{keypad_cursor_flag}'");
	assert_string_equal(screen->text, "0 1 00\n");
}
