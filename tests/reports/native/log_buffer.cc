// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One std::string that every line of a log is appended to: one block, remade by doubling. `fixed`:
 * it is written out and cleared at 64 KiB.
 *
 * kind: one block that grows
 * leak log-buffer: leak
 *   part: native-blocks
 *   code: log_line
 * healthy log-buffer-flushed: fixed
 */
#include <cstring>
#include <string>
#include <unistd.h>

static std::string buffer;

static void __attribute__((noinline)) log_line(const std::string &line)
{
	buffer += line;
	buffer += '\n';
}

int main(int count, char **arguments)
{
	bool fixed = count > 1 && !strcmp(arguments[1], "fixed");
	const std::string line(900, 'l');

	for (;;) {
		for (int i = 0; i < 10; i++)
			log_line(line);
		if (fixed && buffer.size() > 64 << 10)
			buffer.clear();
		usleep(10000);
	}
}
