/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The label of a site where there is room for one function: the first that is the user's. The same
 * rule in every output, so that a name in one is found in the others.
 */
#ifndef LEAKMON_SYMBOL_SITE_LABEL_H
#define LEAKMON_SYMBOL_SITE_LABEL_H

#include <stdbool.h>

#include "process/symbol/symbolizer.h"

/*
 * Returns whether a frame of that stack is the user's: not the C library's, the C++ or the Rust
 * library's, no wrapper of an allocator, not the code that starts programs and threads (_start); if
 * frames of a language are known (Python's, Java's, JavaScript's, .NET's, OCaml's, Go's), not its
 * runtime's, nor its library's. True for a frame without a name.
 */
bool site_label_is_users(const struct frames *frames, const struct frame *frame);

/*
 * Returns the label: from the caller of the allocator on, the first frame with a name that is not
 * the C library's, the C++ or the Rust library's, a wrapper of an allocator (xmalloc, g_strdup,
 * PyMem_Malloc), or a runtime's beneath code of its language. A frame without a name counts only in
 * the program itself. If there is no such frame: the function that a goroutine runs, the first
 * frame of the language's library, the first of a library without symbols, the first with a name,
 * else the first. NULL: the stack is empty.
 */
const struct frame *site_label_frame(const struct frames *frames);

/*
 * Returns the first frame of the program itself: code of its executable (a file not named as a
 * shared library or an add-on), or code in the program's language, but not the language's library.
 * Installed packages (node_modules, site-packages), and those of Java's native methods, count only
 * if nothing else does. NULL: none.
 */
const struct frame *site_label_program(const struct frames *frames);

/* One step of the line that describes a stack. */
struct label_step {
	/* if it has no function, its module and the offset there are known */
	const struct frame *frame;
	bool skips;  /* frames between the previous step and this one are left out */
	bool placed; /* its file and line deserve the space */
};

#define LABEL_STEPS_MAX 8

enum label_room {
	LABEL_SHORT, /* the label, the program's frame, its caller: 4 at most */
	LABEL_LONG,  /* three frames of libraries, and four of the program */
	LABEL_ROOM_MAX_
};

/*
 * Fills `steps`, the innermost first, and returns their number: the library without symbols that
 * called the allocator, the label, the program's first frame and its callers.
 */
size_t site_label_steps(const struct frames *frames, enum label_room room,
			struct label_step steps[LABEL_STEPS_MAX]);

/* Returns the function of the label's frame; NULL: no name. */
const char *site_label_function(const struct frames *frames);

/*
 * Returns a readable name with its template arguments as "<>", as in heaptrack. The caller frees;
 * NULL: out of memory.
 */
char *site_label_collapse(const char *function);

#endif
