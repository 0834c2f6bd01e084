// SPDX-License-Identifier: GPL-2.0-or-later
// deep: allocates from every kind of stack there is, compiled -O2 without frame pointers. It keeps
// no ledger: tests compare its stacks with those of other unwinders.
//
//   go      all of it, 20 times       library   through a library that is loaded only then
//   park    leaves a thread parked where it has just allocated 12,345 bytes
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "deep_calls.h"
#include "deep_contexts.h"

static void *thread(void *)
{
	containers();
	exceptions();
	return nullptr;
}

static void threads()
{
	pthread_t id;

	if (pthread_create(&id, nullptr, thread, nullptr) == 0)
		pthread_join(id, nullptr);
}

SITE static void go()
{
	static void (*const parts[])() = {recursion, joins,   exceptions, calls,  containers,
					  frames,    signals, coroutines, threads};

	for (int round = 0; round < 20; round++)
		for (auto part : parts)
			opaque(part)();
}

// zlib allocates its state by calls of its own.
SITE static void library()
{
	using compress_t =
		int (*)(unsigned char *, unsigned long *, const unsigned char *, unsigned long);
	void *handle = dlopen("libz.so.1", RTLD_NOW);
	auto compress = handle ? reinterpret_cast<compress_t>(dlsym(handle, "compress")) : nullptr;
	unsigned char in[1000] = {}, out[2000];

	for (int i = 0; compress && i < 200; i++) {
		unsigned long size = sizeof(out);

		compress(out, &size, in, sizeof(in));
	}
}

static int parked[2];

SITE static void park_here()
{
	char byte;

	opaque(malloc(12345));
	if (write(STDOUT_FILENO, "done\n", 5) < 0 || read(parked[0], &byte, 1) < 0)
		_exit(111);
	opaque(&byte);
}

SITE static void park_below(int depth)
{
	alignas(64) char line[64];

	opaque(&line[0]);
	if (depth)
		park_below(depth - 1);
	else
		park_here();
	opaque(&line[0]);
}

static void *park(void *)
{
	std::function<void()> function = [] {
		park_below(10);
		opaque(0);
	};

	opaque(&function)->operator()();
	return nullptr;
}

static std::string command()
{
	std::string line;
	char next;

	line.reserve(64);
	while (read(STDIN_FILENO, &next, 1) == 1 && next != '\n')
		line.push_back(next);
	return line;
}

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(111);
}

int main()
{
	pthread_t id;

	// The number is not needed: the test started us.
	say("ready 0\n");
	for (;;) {
		std::string line = command();

		if (line == "go") {
			go();
			say("done\n");
		} else if (line == "library") {
			library();
			say("done\n");
		} else if (line == "park") {
			if (pipe2(parked, O_CLOEXEC) || pthread_create(&id, nullptr, park, nullptr))
				return 111;
		} else {
			return 0;
		}
	}
}
