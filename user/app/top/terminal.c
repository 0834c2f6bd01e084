// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/top/terminal.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fatal_signal.h"
#include "base/interrupt.h"
#include "base/log.h"

/* How long an ESC may wait for the rest of a key's sequence. */
#define ESCAPE_DELAY_MS 25

/*
 * The state with which a signal handler restores the terminal. Handlers get no context: beside the
 * log level, this is the program's only global state.
 */
static struct {
	struct termios modes;
	char reset[64];
	size_t reset_size;
	pid_t owner; /* a forked child must not restore */
	int saved_stderr;
} rescue;

/* Restores the terminal; tcsetattr(), write() and dup2() are async-signal-safe. */
static void give_back(void)
{
	if (getpid() == rescue.owner) {
		ssize_t written = write(STDOUT_FILENO, rescue.reset, rescue.reset_size);

		(void)written;
		tcsetattr(STDIN_FILENO, TCSANOW, &rescue.modes);
		dup2(rescue.saved_stderr, STDERR_FILENO);
	}
}

static void rescue_prepare(const struct top_terminal *terminal)
{
	static const char *const strings[] = {"sgr0", "cnorm", "rmkx", "rmcup"};

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
		const char *text = tigetstr(strings[i]);
		size_t size = text && text != (char *)-1 ? strlen(text) : 0;

		if (rescue.reset_size + size > sizeof(rescue.reset))
			continue;
		memcpy(rescue.reset + rescue.reset_size, text ? text : "", size);
		rescue.reset_size += size;
	}
	rescue.owner = getpid();
	rescue.saved_stderr = terminal->messages.saved;
	fatal_signal_calls(give_back);
}

static void rescue_end(void)
{
	fatal_signal_calls(NULL);
	rescue.reset_size = 0;
}

int top_terminal_check(void)
{
	const char *type = getenv("TERM");
	int result;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		log_error(
			"`leakmon top` needs a terminal, and standard %s is none; to read it elsewhere, use `leakmon watch`",
			isatty(STDIN_FILENO) ? "output" : "input");
		return -ENOTTY;
	}
	if (!type || setupterm(NULL, STDOUT_FILENO, &result) != OK) {
		log_error(
			"terminal type `%s` is not known here: set TERM correctly, e.g. to xterm, or install its terminfo entry",
			type ? type : "");
		return -ENOTTY;
	}
	if (!tigetstr("cup")) {
		log_error("a terminal of type `%s` cannot be drawn on: use `leakmon watch`", type);
		return -ENOTTY;
	}
	return 0;
}

/* Chooses UTF-8, as in all output of leakmon, unless a locale is set. */
static void choose_characters(void)
{
	const char *chosen = setlocale(LC_CTYPE, "");

	if (!getenv("LC_ALL") && !getenv("LC_CTYPE") && !getenv("LANG"))
		chosen = NULL;
	if (!chosen)
		setlocale(LC_CTYPE, "C.UTF-8");
}

static int open_resizes(struct top_terminal *terminal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	terminal->resize_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return terminal->resize_fd < 0 ? -errno : 0;
}

static void begin_screen(struct top_terminal *terminal, bool colour)
{
	set_escdelay(ESCAPE_DELAY_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	terminal->colour = colour && has_colors() && start_color() == OK;
	if (terminal->colour)
		use_default_colors();
}

int top_terminal_open(struct top_terminal *terminal, bool colour)
{
	int error = open_resizes(terminal);

	choose_characters();
	tcgetattr(STDIN_FILENO, &rescue.modes);
	if (!error)
		error = messages_open(&terminal->messages);
	if (!error && !newterm(NULL, stdout, stdin))
		error = -ENOTTY;
	terminal->open = !error;
	if (error) {
		top_terminal_close(terminal);
		log_error("cannot set up the terminal: %s", strerror(-error));
		return error;
	}
	begin_screen(terminal, colour);
	rescue_prepare(terminal);
	return 0;
}

void top_terminal_close(struct top_terminal *terminal)
{
	if (terminal->open) {
		rescue_end();
		endwin();
	}
	messages_close(&terminal->messages);
	cleanup_close(&terminal->resize_fd);
	*terminal = TOP_TERMINAL_CLOSED;
}

static int special_key(wint_t code)
{
	static const struct {
		int curses, key;
	} keys[] = {
		{KEY_UP, TOP_KEY_UP},	      {KEY_DOWN, TOP_KEY_DOWN},
		{KEY_LEFT, TOP_KEY_LEFT},     {KEY_RIGHT, TOP_KEY_RIGHT},
		{KEY_PPAGE, TOP_KEY_PAGE_UP}, {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
		{KEY_HOME, TOP_KEY_HOME},     {KEY_END, TOP_KEY_END},
		{KEY_ENTER, TOP_KEY_ENTER},   {KEY_BACKSPACE, TOP_KEY_BACKSPACE},
	};

	if (code >= (wint_t)KEY_F(1) && code <= (wint_t)KEY_F(10))
		return TOP_KEY_F1 + (int)(code - (wint_t)KEY_F(1));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if ((wint_t)keys[i].curses == code)
			return keys[i].key;
	}
	return TOP_KEY_UNKNOWN;
}

int top_terminal_key(void)
{
	wint_t code;
	int kind = get_wch(&code);

	if (kind == ERR)
		return TOP_KEY_NONE;
	if (kind == KEY_CODE_YES)
		return special_key(code);
	if (code == '\r')
		return TOP_KEY_ENTER;
	return code == '\b' ? TOP_KEY_BACKSPACE : code ? (int)code : TOP_KEY_UNKNOWN;
}

void top_terminal_redraw(void)
{
	clearok(curscr, TRUE);
}

void top_terminal_resize(const struct top_terminal *terminal)
{
	struct signalfd_siginfo info;
	struct winsize size;

	while (read(terminal->resize_fd, &info, sizeof(info)) == sizeof(info))
		;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	top_terminal_redraw();
}
