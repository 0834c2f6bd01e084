// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/fatal_signal.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The longest wait for a reader of standard error: a crash must not become a hang. */
#define WRITE_WAIT_MS 200
/* Priority "user, critical" of RFC 3164, section 4.1.1: 1 * 8 + 2. */
#define SYSLOG_PRIORITY "<10>"

struct fatal {
	int number;
	bool is_crash; /* raised by the process itself, not sent */
};

static const struct fatal fatal_signals[] = {
	{SIGSEGV, true},    {SIGBUS, true},   {SIGILL, true},	{SIGFPE, true},
	{SIGABRT, true},    {SIGSYS, true},   {SIGTRAP, true},	{SIGXCPU, false},
	{SIGQUIT, false},   {SIGUSR1, false}, {SIGUSR2, false}, {SIGALRM, false},
	{SIGPROF, false},   {SIGIO, false},   {SIGPWR, false},	{SIGVTALRM, false},
	{SIGSTKFLT, false},
};

/* Handlers get no context: the state is process-wide, as signals are. */
static struct {
	const char *command;
	const char *phase;
	void (*last_act)(void);
	struct sockaddr_un log; /* sun_path "": none */
	char build_id[2 * 20 + 1];
	void *stack;
} state;

struct line {
	size_t size;
	char text[512];
};

static void add(struct line *line, const char *text)
{
	size_t size = strlen(text), room = sizeof(line->text) - 1 - line->size;

	size = size < room ? size : room;
	memcpy(line->text + line->size, text, size);
	line->size += size;
}

static void add_number(struct line *line, uint64_t value, unsigned int base)
{
	char digits[24];
	size_t at = sizeof(digits);

	digits[--at] = '\0';
	do {
		digits[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	add(line, digits + at);
}

static void add_signal(struct line *line, int number)
{
	const char *name = sigabbrev_np(number);

	add(line, "SIG");
	if (name)
		add(line, name);
	else
		add_number(line, (uint64_t)number, 10);
}

static void add_sender(struct line *line, pid_t sender)
{
	if (sender <= 0)
		return;
	add(line, " from process ");
	add_number(line, (uint64_t)sender, 10);
}

static void write_stderr(const struct line *line)
{
	struct pollfd waited = {.fd = STDERR_FILENO, .events = POLLOUT};

	if (poll(&waited, 1, WRITE_WAIT_MS) == 1 &&
	    write(STDERR_FILENO, line->text, line->size) < 0)
		return; /* no reader; the log may still have one */
}

static void write_log(struct line *line)
{
	struct iovec parts[] = {{SYSLOG_PRIORITY, sizeof(SYSLOG_PRIORITY) - 1},
				{line->text, line->size}};
	struct msghdr record = {.msg_name = &state.log,
				.msg_namelen = sizeof(state.log),
				.msg_iov = parts,
				.msg_iovlen = ARRAY_SIZE(parts)};
	int fd;

	if (!state.log.sun_path[0])
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	sendmsg(fd, &record, MSG_NOSIGNAL);
	close(fd);
}

static void add_place(struct line *line)
{
	const char *phase = __atomic_load_n(&state.phase, __ATOMIC_RELAXED);

	add(line, " in `leakmon");
	if (state.command) {
		add(line, " ");
		add(line, state.command);
	}
	add(line, "`");
	if (phase) {
		add(line, " while ");
		add(line, phase);
	}
	add(line, "; version " LEAKMON_VERSION ", build id ");
	add(line, state.build_id[0] ? state.build_id : "unknown");
}

static void write_line(struct line *line)
{
	add(line, "\n");
	write_stderr(line);
	write_log(line);
}

static bool is_crash(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(fatal_signals); i++)
		if (fatal_signals[i].number == number)
			return fatal_signals[i].is_crash;
	return false;
}

void fatal_signal_act_last(void)
{
	void (*last_act)(void) = __atomic_load_n(&state.last_act, __ATOMIC_SEQ_CST);

	if (last_act)
		last_act();
}

static void on_fatal(int number, siginfo_t *info, void *context)
{
	bool was_sent = info->si_code <= 0;
	struct line line = {0};

	(void)context;
	fatal_signal_act_last();
	add(&line, is_crash(number) ? "leakmon: crashed by " : "leakmon: ended by ");
	add_signal(&line, number);
	if (was_sent) {
		add_sender(&line, info->si_pid);
	} else if (number != SIGSYS && is_crash(number)) {
		add(&line, " at address 0x");
		add_number(&line, (uint64_t)(uintptr_t)info->si_addr, 16);
	}
	add_place(&line);
	if (is_crash(number))
		add(&line, "; please report this line, with the core file if there is one");
	write_line(&line);
	raise(number); /* SA_RESETHAND: now with the default action */
}

void fatal_signal_explain(int number, pid_t sender)
{
	struct line line = {0};

	add(&line, "leakmon: ended by ");
	add_signal(&line, number);
	add_sender(&line, sender);
	write_line(&line);
}

/*
 * Reads one note of a PT_NOTE segment. Returns its size, or 0 at the end (System V gABI, "Note
 * Section").
 */
static size_t read_note(const char *note, size_t size)
{
	const ElfW(Nhdr) *header = (const void *)note;
	size_t name, total;

	if (size < sizeof(*header))
		return 0;
	name = (header->n_namesz + 3u) & ~3u;
	total = sizeof(*header) + name + ((header->n_descsz + 3u) & ~3u);
	if (total > size)
		return 0;
	if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == sizeof("GNU") &&
	    header->n_descsz <= sizeof(state.build_id) / 2) {
		const unsigned char *id = (const void *)(note + sizeof(*header) + name);

		for (size_t i = 0; i < header->n_descsz; i++) {
			state.build_id[2 * i] = "0123456789abcdef"[id[i] >> 4];
			state.build_id[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
		}
		state.build_id[2 * header->n_descsz] = '\0';
	}
	return total;
}

/* The first object is the program itself (dl_iterate_phdr(3)). */
static int find_build_id(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const char *note = (const void *)(info->dlpi_addr + segment->p_vaddr);
		size_t left = segment->p_memsz, taken;

		if (segment->p_type != PT_NOTE)
			continue;
		while ((taken = read_note(note, left))) {
			note += taken;
			left -= taken;
		}
	}
	return 1;
}

static int handle(const struct fatal *fatal)
{
	struct sigaction before,
		action = {
			.sa_sigaction = on_fatal,
			.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER | SA_ONSTACK,
		};

	if (sigaction(fatal->number, NULL, &before))
		return -errno;
	if (before.sa_handler == SIG_IGN && !fatal->is_crash)
		return 0;
	return sigaction(fatal->number, &action, NULL) ? -errno : 0;
}

/* Lines on standard error reach the journal anyway (systemd.exec(5)). */
static void choose_log(const char *log_socket)
{
	if (!log_socket || getenv("JOURNAL_STREAM") ||
	    strlen(log_socket) >= sizeof(state.log.sun_path))
		return;
	state.log.sun_family = AF_UNIX;
	strcpy(state.log.sun_path, log_socket);
}

int fatal_signal_open(const char *command, const char *log_socket)
{
	stack_t stack = {.ss_size = (size_t)SIGSTKSZ + 4 * sizeof(struct line)};
	int error = 0;

	state.command = command;
	choose_log(log_socket);
	dl_iterate_phdr(find_build_id, NULL);
	if (!state.stack)
		state.stack = malloc(stack.ss_size);
	if (!state.stack)
		return -ENOMEM;
	stack.ss_sp = state.stack;
	if (sigaltstack(&stack, NULL))
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(fatal_signals) && !error; i++)
		error = handle(&fatal_signals[i]);
	return error;
}

const char *fatal_signal_phase(const char *phase)
{
	return __atomic_exchange_n(&state.phase, phase, __ATOMIC_RELAXED);
}

void fatal_signal_phase_end(const char *const *before)
{
	fatal_signal_phase(*before);
}

void fatal_signal_calls(void (*last_act)(void))
{
	__atomic_store_n(&state.last_act, last_act, __ATOMIC_SEQ_CST);
}
