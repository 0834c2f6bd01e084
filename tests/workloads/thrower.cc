// SPDX-License-Identifier: GPL-2.0-or-later
// thrower: `go` throws 1,000 C++ exceptions through frames that hold memory from operator new.
// `leave` exits with 43 if every one was caught with the right value.
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <vector>
#include <unistd.h>

static int caught;

__attribute__((noinline)) static void thrower(int depth, int value)
{
	std::unique_ptr<int> block(new int(value));
	std::vector<int> values(depth * 10 + 1, value);

	if (depth == 0)
		throw values.back();
	thrower(depth - 1, *block);
}

static void go()
{
	for (int i = 0; i < 1000; i++) {
		try {
			thrower(5, i);
		} catch (int value) {
			caught += value == i;
		}
	}
}

static char command()
{
	char first = 0, next;

	if (read(STDIN_FILENO, &first, 1) != 1)
		return 'q';
	while (read(STDIN_FILENO, &next, 1) == 1 && next != '\n')
		;
	return first;
}

static void say(const char *text, size_t size)
{
	if (write(STDOUT_FILENO, text, size) < 0)
		_exit(111);
}

int main()
{
	// The number is not needed: the test started us.
	say("ready 0\n", 8);
	for (;;) {
		switch (command()) {
		case 'g':
			go();
			say("done\n", 5);
			break;
		case 'l':
			_exit(caught == 1000 ? 43 : 1);
		default:
			return 0;
		}
	}
}
