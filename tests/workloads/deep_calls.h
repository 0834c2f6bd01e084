/* SPDX-License-Identifier: GPL-2.0-or-later */
// The ordinary calls of deep, in every shape that compilers produce.
#ifndef LEAKMON_WORKLOAD_DEEP_CALLS_H
#define LEAKMON_WORKLOAD_DEEP_CALLS_H

#include <alloca.h>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "deep.h"

// Recursion: through templates, and 60 and 150 calls deep (leakmon keeps 127 frames).
template <int Depth> struct Descent {
	SITE static void run(const std::string &text)
	{
		std::string longer = text + std::string(Depth, 'x');

		Descent<Depth - 1>::run(longer);
		opaque(longer.data());
	}
};

template <> struct Descent<0> {
	SITE static void run(const std::string &text)
	{
		leak(text.size());
	}
};

SITE static int recurse(int depth, std::vector<int> &values)
{
	char local[48];
	int sum;

	opaque(&local[0]);
	values.push_back(depth);
	if (depth == 0) {
		leak(64);
		return 0;
	}
	sum = recurse(depth - 1, values) + depth;
	if (depth % 8 == 0)
		leak(16);
	return sum;
}

static void recursion()
{
	std::vector<int> shallow, deep;

	Descent<24>::run("start");
	recurse(60, shallow);
	recurse(150, deep);
}

// Exceptions: memory taken while they are thrown, while frames are cleaned up, and where caught.
struct Cleaner {
	int depth;
	~Cleaner()
	{
		leak(32 + depth);
	}
};

SITE static void throw_deep(int depth)
{
	Cleaner cleaner{depth};
	std::string text(64 + depth, 't');

	if (depth == 0)
		throw std::runtime_error(text);
	if (depth == 7) {
		try {
			throw_deep(depth - 1);
		} catch (const std::exception &) {
			leak(7);
			throw;
		}
	} else {
		throw_deep(depth - 1);
	}
	opaque(text.data());
}

static void exceptions()
{
	try {
		throw_deep(20);
	} catch (const std::runtime_error &error) {
		leak(strlen(error.what()));
	}
}

// Indirect calls: virtual, std::function, and callbacks that libc makes.
struct Shape {
	virtual ~Shape() = default;
	virtual void draw(int depth) = 0;
};

struct Leaf : Shape {
	void draw(int depth) override
	{
		leak(8 + depth);
	}
};

struct Group : Shape {
	std::vector<std::unique_ptr<Shape>> parts;
	void draw(int depth) override
	{
		for (auto &part : parts)
			part->draw(depth + 1);
		opaque(this);
	}
};

static std::unique_ptr<Shape> tree(int depth)
{
	auto group = std::make_unique<Group>();

	if (depth == 0)
		return std::make_unique<Leaf>();
	group->parts.push_back(tree(depth - 1));
	group->parts.push_back(std::make_unique<Leaf>());
	return group;
}

SITE static int compare(const void *left, const void *right)
{
	leak(4);
	return *static_cast<const int *>(left) - *static_cast<const int *>(right);
}

static void calls()
{
	std::function<void(int)> function = [&](int depth) {
		if (depth)
			function(depth - 1);
		else
			leak(12);
		opaque(&function);
	};
	int numbers[] = {5, 3, 8, 1, 9, 2, 7};

	tree(6)->draw(0);
	function(10);
	qsort(numbers, 7, sizeof(int), compare);
}

static void containers()
{
	std::map<std::string, std::vector<std::string>> map;
	std::ostringstream stream;

	for (int i = 0; i < 50; i++) {
		stream << "a key that does not fit into the string itself " << i;
		map[stream.str()].emplace_back(40 + i, 'v');
		map[stream.str()].push_back("another value that does not fit either");
	}
	if (FILE *file = opaque(fopen("/proc/self/stat", "re"))) {
		char *line = nullptr;
		size_t size = 0;

		opaque(getline(&line, &size, file));
		free(line);
		fclose(file);
	}
}

// Frames of dynamic size, and frames that align themselves (DRAP).
SITE static void realigned(int depth)
{
	alignas(64) char line[192];
	char *more = static_cast<char *>(alloca(opaque(100 + depth * 24)));

	opaque(&line[0]);
	opaque(more);
	leak(24);
	if (depth)
		realigned(depth - 1);
	opaque(more);
}

SITE static void many_arguments(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
	volatile int sum = a + b + c + d + e + f + g + h + i;

	leak(sum);
	if (i)
		many_arguments(b, c, d, e, f, g, h, a, i - 1);
	opaque(&sum);
}

static void frames()
{
	realigned(5);
	many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 4);
}

// Stacks of which most is as it was at the allocation before, and something is not: the leaf, the
// place in a caller half way up, the size of a frame there, how deep it goes.
constexpr int WOVEN_DEPTH = 140;
static unsigned char woven[WOVEN_DEPTH + 1];

SITE static void weave(int depth);

SITE static void weave_aligned(int depth)
{
	alignas(64) char line[64];

	opaque(&line[0]);
	weave(depth);
	opaque(&line[0]);
}

SITE static void weave_wide(int depth, size_t size)
{
	char *room = static_cast<char *>(alloca(size));

	opaque(room);
	weave(depth);
	opaque(room);
}

SITE static void weave(int depth)
{
	if (depth == 0) {
		leak(24);
	} else if (woven[depth] == 0) {
		weave(depth - 1);
	} else if (woven[depth] == 1) {
		weave(depth - 1);
		opaque(depth);
	} else if (woven[depth] == 2) {
		weave_aligned(depth - 1);
	} else {
		weave_wide(depth - 1, woven[depth] * 16);
	}
	opaque(depth);
}

SITE static void joins()
{
	static const int depths[] = {3, 12, 13, 30, WOVEN_DEPTH};
	unsigned seed = 1;

	memset(woven, 0, sizeof(woven));
	for (int round = 0; round < 200; round++) {
		int depth = depths[round / 40];

		seed = seed * 1103515245 + 12345;
		woven[1 + (seed >> 16) % depth] = (seed >> 8) % 6;
		weave(depth - (seed >> 24) % 3);
	}
}

#endif
