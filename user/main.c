// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon: which code leaks, in a process that runs. The commands are in app/command/commands.c. */

/* Words that point are 8 bytes, the lowest first, in targets as in leakmon itself. */
#if __SIZEOF_POINTER__ != 8 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "leakmon is built for 64-bit little-endian processors only"
#endif

#include <signal.h>

#include "app/command/command.h"
#include "base/cleanup.h"
#include "base/descriptors.h"
#include "base/fatal_signal.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/sandbox/worker_process.h"
#include "base/serve/http_server.h"
#include "base/serve/push_process.h"
#include "binary/parse/questions.h"
#include "process/proc/file_opener.h"
#include "process/proc/stuck_read.h"
#include "process/proc/target_file.h"

int main(int argc, char **argv)
{
	struct command_line line;
	int code;

	descriptors_reserve_standard();
	worker_process_enter(argc, argv, &parse_kinds);
	http_server_enter(argc, argv);
	push_process_enter(argc, argv);
	target_file_opener_enter(argc, argv);
	file_opener_use();
	/* A limit on file sizes is an error of the write, to be explained, and no death. */
	signal(SIGXFSZ, SIG_IGN);
	code = command_line_parse(&line, &commands, argc, argv);
	if (code >= 0)
		return code;
	if (fatal_signal_open(line.command->name, "/dev/log"))
		log_debug("a crash would be silent: no memory for the stack of its handler");
	if (line.verbose)
		log_set_level(LOG_DEBUG);
	/* Until a command has something to undo. */
	if (!interrupt_open())
		interrupt_ends(true);
	if (line.command->is_monitor)
		stuck_read_aside();
	code = line.command->run(line.options);
	interrupt_explain();
	if (code == EXIT_ERROR && !line.command->code_is_answer && !log_had_error())
		log_error(
			"`leakmon %s` failed without a message, which is a bug: repeat it with -v, and report it",
			line.command->name);
	command_line_free(&line);
	return code;
}
