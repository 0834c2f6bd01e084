/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The label of a site where there is room for one function: the first that is the user's. The same
 * rule for every output, so that a name seen in one is found in the others.
 */
#ifndef LEAKMON_SYMBOL_SITE_LABEL_H
#define LEAKMON_SYMBOL_SITE_LABEL_H

#include <stdbool.h>

#include "process/symbol/symbolizer.h"

/*
 * A frame of that stack: not the C library's, the C++ or the Rust library's, no wrapper of an
 * allocator, not what starts programs and threads (_start); where frames of a language are known
 * (Python's, Java's, JavaScript's, .NET's, OCaml's, Go's), not its runtime's, nor its library's.
 * True of a frame without a name.
 */
bool site_label_is_users(const struct frames *frames, const struct frame *frame);

/*
 * The label: from the caller of the allocator on, the first frame with a name that is not the C
 * library's, the C++ or the Rust library's, a wrapper of an allocator (xmalloc, g_strdup,
 * PyMem_Malloc), or a runtime's beneath code of its language. A frame without a name counts only in
 * the program itself. Where there is none: the function that a goroutine runs, the first frame of
 * the language's library, the first of a library without symbols, the first with a name, else the
 * first. NULL: the stack is empty.
 */
const struct frame *site_label_frame(const struct frames *frames);

/*
 * The first frame of the program itself: code of its executable (a file that is not named as a
 * shared library or an add-on), or code in the language that it is written in, but not the
 * language's library. Packages that were installed (node_modules, site-packages), and those of
 * Java's native methods, count only where nothing else does. NULL: there is none.
 */
const struct frame *site_label_program(const struct frames *frames);

/* What a line about a stack shows of it. */
struct label_step {
	const struct frame
		*frame; /* without a function: its module and the offset there are known */
	bool skips;	/* frames between the step before and this one are left out */
	bool placed;	/* its file and line are worth their room */
};

#define LABEL_STEPS_MAX 8

enum label_room {
	LABEL_SHORT, /* the label, the program's frame, its caller: 4 at most */
	LABEL_LONG,  /* three frames of libraries, and four of the program */
	LABEL_ROOM_MAX_
};

/*
 * Fills `steps`, the innermost first, and returns how many: the library without symbols that has
 * called the allocator, the label, the program's first frame and its callers.
 */
size_t site_label_steps(const struct frames *frames, enum label_room room,
			struct label_step steps[LABEL_STEPS_MAX]);

/* The function of that frame; NULL: it has no name. */
const char *site_label_function(const struct frames *frames);

/*
 * A readable name with its template arguments as "<>", as heaptrack has it. The caller frees;
 * NULL: out of memory.
 */
char *site_label_collapse(const char *function);

#endif
