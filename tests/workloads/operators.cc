// SPDX-License-Identifier: GPL-2.0-or-later
// operators: every form of operator new and delete, small and large, for any C++ allocator.
//
//   go      each form once or more, one function a form; some blocks are deleted again
//   many    100,000 blocks through the forms in turn, and every one deleted
//   fail    1,000 throwing failures, caught, and 1,000 failures that return NULL
//   linger  what a failure left pending is ended by the next call; one block more
//   limit   the same failures of a size that fits, since there is no address space left
//
// `leave` exits with 43 if every failure was seen as it must be.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include <sys/resource.h>

#include "workload.h"

enum {
	PLAIN,
	ARRAY,
	NOTHROW,
	ARRAY_NOTHROW,
	ALIGNED,
	ARRAY_ALIGNED,
	ALIGNED_NOTHROW,
	ARRAY_ALIGNED_NOTHROW,
	LARGE,
	DELETED,
	LINGER,
	SITES_
};

static struct truth truth;
static int thrown, refused;

static const std::align_val_t alignment{64};

// Not inlined, and no new-expression: the standard lets those be left out.
#define FORM(name, call)                                                                           \
	extern "C" SITE void *name(size_t size)                                                    \
	{                                                                                          \
		void *block = call;                                                                \
		__asm__ volatile("" : "+r"(block) : : "memory");                                   \
		return block;                                                                      \
	}
FORM(new_plain, ::operator new(size))
FORM(new_array, ::operator new[](size))
FORM(new_nothrow, ::operator new(size, std::nothrow))
FORM(new_array_nothrow, ::operator new[](size, std::nothrow))
FORM(new_aligned, ::operator new(size, alignment))
FORM(new_array_aligned, ::operator new[](size, alignment))
FORM(new_aligned_nothrow, ::operator new(size, alignment, std::nothrow))
FORM(new_array_aligned_nothrow, ::operator new[](size, alignment, std::nothrow))
FORM(new_large, ::operator new(size))
FORM(new_deleted, ::operator new(size))
FORM(new_lingering, ::operator new(size))

static const struct {
	const char *name;
	void *(*allocate)(size_t);
} forms[] = {
	{"new_plain", new_plain},
	{"new_array", new_array},
	{"new_nothrow", new_nothrow},
	{"new_array_nothrow", new_array_nothrow},
	{"new_aligned", new_aligned},
	{"new_array_aligned", new_array_aligned},
	{"new_aligned_nothrow", new_aligned_nothrow},
	{"new_array_aligned_nothrow", new_array_aligned_nothrow},
	{"new_large", new_large},
	{"new_deleted", new_deleted},
	{"new_lingering", new_lingering},
};
static_assert(sizeof(forms) / sizeof(forms[0]) == SITES_, "a form for every site");

static void *make(unsigned site, size_t size)
{
	void *block = forms[site].allocate(size);

	if (!block)
		_exit(113);
	memset(block, 0x5a, size);
	truth_born(&truth, site, size);
	return block;
}

// The form of delete that belongs to the form of new, sized or not.
static void destroy(unsigned site, void *block, size_t size, bool sized)
{
	switch (site) {
	case ARRAY:
		sized ? ::operator delete[](block, size) : ::operator delete[](block);
		break;
	case NOTHROW:
		::operator delete(block, std::nothrow);
		break;
	case ARRAY_NOTHROW:
		::operator delete[](block, std::nothrow);
		break;
	case ALIGNED:
		sized ? ::operator delete(block, size, alignment)
		      : ::operator delete(block, alignment);
		break;
	case ARRAY_ALIGNED:
		sized ? ::operator delete[](block, size, alignment)
		      : ::operator delete[](block, alignment);
		break;
	case ALIGNED_NOTHROW:
		::operator delete(block, alignment, std::nothrow);
		break;
	case ARRAY_ALIGNED_NOTHROW:
		::operator delete[](block, alignment, std::nothrow);
		break;
	default:
		sized ? ::operator delete(block, size) : ::operator delete(block);
	}
	truth_died(&truth, site, size);
}

// libstdc++ rounds the size up to the alignment before it allocates: so do all here.
static size_t fitting(unsigned site, size_t size)
{
	return site >= ALIGNED && site <= ARRAY_ALIGNED_NOTHROW ? (size + 63) & ~size_t{63} : size;
}

static void go()
{
	static const size_t sizes[] = {1, 24, 200, 1000, 5000, 20000};

	for (unsigned site = PLAIN; site < LARGE; site++) {
		for (size_t wish : sizes) {
			size_t size = fitting(site, wish + site);

			destroy(site, make(site, size), size, true);
			destroy(site, make(site, size), size, false);
			make(site, size);
		}
	}
	make(LARGE, 3 << 20);
	destroy(LARGE, make(LARGE, 5 << 20), 5 << 20, true);
	for (unsigned i = 0; i < 100; i++)
		destroy(DELETED, make(DELETED, i), i, i & 1);
	::operator delete(nullptr);
}

static void many()
{
	static void *blocks[1000];

	for (unsigned round = 0; round < 100; round++) {
		for (unsigned i = 0; i < 1000; i++)
			blocks[i] = make(i % LARGE, fitting(i % LARGE, 1 + i % 700));
		for (unsigned i = 0; i < 1000; i++)
			destroy(i % LARGE, blocks[i], fitting(i % LARGE, 1 + i % 700), round & 1);
	}
}

static void fail_with(size_t size)
{
	for (int i = 0; i < 1000; i++) {
		try {
			forms[i & 1 ? PLAIN : ARRAY].allocate(size);
		} catch (const std::bad_alloc &) {
			thrown++;
		}
		refused += !forms[i & 1 ? NOTHROW : ALIGNED_NOTHROW].allocate(size);
	}
}

static void fail()
{
	size_t size = (size_t)1 << 60;

	__asm__ volatile("" : "+r"(size));
	fail_with(size);
}

static void limit()
{
	struct rlimit all, none;

	getrlimit(RLIMIT_AS, &all);
	none = all;
	none.rlim_cur = 64 << 20;
	setrlimit(RLIMIT_AS, &none);
	fail_with((size_t)4 << 30);
	setrlimit(RLIMIT_AS, &all);
}

static void linger()
{
	make(LINGER, 77);
}

static void leave()
{
	_exit(thrown == refused && thrown % 1000 == 0 && thrown ? 43 : 1);
}

int main()
{
	static const struct command commands[] = {
		{"go", go, false},	 {"many", many, false},	    {"fail", fail, false},
		{"limit", limit, false}, {"linger", linger, false}, {"leave", leave, true},
	};

	for (unsigned i = 0; i < SITES_; i++)
		truth.sites[i].function = forms[i].name;
	return workload_serve(commands, sizeof(commands) / sizeof(commands[0]), &truth);
}
