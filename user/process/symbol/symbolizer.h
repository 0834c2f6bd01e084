/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns return addresses of a process into frames with names.
 *
 * Names are looked up in the code that a process maps, or has mapped (process/target/process.h),
 * and remain available after its end: files are kept open. Each file has one sorted symbol table,
 * shared between processes. file:line comes from libdw, only on demand. Everything from a target's
 * file is untrusted: bounds are checked, no name is printed raw here.
 */
#ifndef LEAKMON_SYMBOL_SYMBOLIZER_H
#define LEAKMON_SYMBOL_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct dso_cache;
struct process;
struct source_lines;
struct symbolizer;
struct worker;

/* The module of a frame named by a perf map: compiled at run time, in no file. */
#define FRAME_JIT "jit"

/* The module of a frame of Python code: either both `file` and `line` are known, or nothing is. */
#define FRAME_PYTHON "python"

/* The module of a frame of Java code: either both `file` and `line` are known, or nothing is. */
#define FRAME_JAVA "java"

/*
 * The module of a frame of JavaScript: either both `file` and `line` are known, or nothing is.
 * Builtins have no file.
 */
#define FRAME_JAVASCRIPT "javascript"

/* The module of a frame of .NET code, which has no file. */
#define FRAME_DOTNET "dotnet"

/* The function of the frame through which the kernel called a signal handler; gdb's wording. */
#define FRAME_SIGNAL_HANDLER "<signal handler called>"

/* One line of a stack. Strings are owned by the symbolizer and live as long as it does. */
struct frame {
	uint64_t address;	/* return address in the target, or the interrupted instruction */
	const char *function;	/* demangled, or NULL: see `why` */
	uint64_t offset;	/* of address from the function's start */
	const char *module;	/* path as the target mapped it, or FRAME_JIT; NULL: in no file */
	uint64_t module_offset; /* address as in the file's own symbol table (st_value) */
	const char *build_id;	/* lower-case hex, or NULL */
	const char *file;	/* source file, or NULL */
	uint32_t line;		/* 0 if unknown */
	bool inlined;		/* this frame was inlined into the next one; same address */
	/*
	 * why there is no function: one of "no symbols", "no symbol at this address", "file gone",
	 * "not an ELF file", "anonymous code", "unmapped address", ...; else NULL
	 */
	const char *why;
};

struct frames {
	VEC(struct frame) list;
};

/* Marks that callers follow of which nothing else is known. Returns 0 or -ENOMEM. */
int frames_add_rest(struct frames *frames);

/*
 * For processes with files in `dsos`. `worker` parses files; NULL: in-process, for tests. Both must
 * outlive the symbolizer. NULL: out of memory.
 */
struct symbolizer *symbolizer_new(struct worker *worker, struct dso_cache *dsos);
void symbolizer_free(struct symbolizer *symbolizer);

/*
 * Names from now on the code that this process maps: call it after each refresh, even an
 * unsuccessful one, when the process is first seen and before each report. `process` is borrowed
 * until it is forgotten here; `key` is any number that identifies it. Returns 0 or -ENOMEM.
 */
int symbolizer_refresh(struct symbolizer *symbolizer, uint64_t key, const struct process *process);

/*
 * Drops the knowledge of a process (names in frames stay valid). For ended processes that will not
 * be reported again.
 */
void symbolizer_forget(struct symbolizer *symbolizer, uint64_t process);

/*
 * Closes the debug information in which lines were looked up; call it after each report. Does
 * nothing while lines are being looked up.
 */
void symbolizer_release_lines(struct symbolizer *symbolizer);

/*
 * Names frames that are in no file (LM_FRAME_IS_PYTHON). Strings must live as long as the
 * symbolizer. Returns 0; -ENOENT: it no longer has a name; -ENOMEM.
 */
struct frame_namer {
	void *context;
	int (*name)(void *context, uint64_t process, uint64_t address, struct frame *frame);
};
void symbolizer_use_namer(struct symbolizer *symbolizer, const struct frame_namer *namer);

/*
 * Names code that is in no file and no perf map, and interpreted frames (LM_FRAME_INTERPRETED), by
 * appending their frames. Strings and errors as struct frame_namer.
 */
struct code_namer {
	void *context;
	int (*name)(void *context, uint64_t process, uint64_t address, struct frames *frames);
};
void symbolizer_use_code_namer(struct symbolizer *symbolizer, const struct code_namer *namer);

/* Returns frame.module_offset for code whose address varies: from its names and the line alone. */
uint64_t symbolizer_place_id(const char *function, const char *file, uint32_t line);

enum frame_lines {
	LINES_NONE,
	LINES_WAIT,  /* looked up now, which can take seconds per file */
	LINES_KNOWN, /* known ones; others are queued for symbolizer_find_lines() */
};

/*
 * Names `depth` return addresses (caller first) of a process into `frames`, which the caller owns
 * (vec_free(&frames->list)). Function lookups use address - 1: a return address may be the first
 * byte of the next function (DWARF 5, 6.4.4 "Call Frame Calling Address"). Addresses marked with
 * LM_FRAME_EXACT are looked up as they are; the frame before such a one is FRAME_SIGNAL_HANDLER.
 * Python frames, which come last, take the places of the interpreter's calls that run them. *frames
 * is replaced: its contents are freed. Returns 0 or -ENOMEM (then it is untouched).
 */
int symbolizer_name(struct symbolizer *symbolizer, uint64_t process, const uint64_t *addresses,
		    size_t depth, enum frame_lines lines, struct frames *frames);
/*
 * Names the function that begins at `address` itself, not functions inlined there. Returns as
 * symbolizer_name().
 */
int symbolizer_name_function(struct symbolizer *symbolizer, uint64_t process, uint64_t address,
			     enum frame_lines lines, struct frames *frames);

/*
 * Looks up queued lines, for at most timeout_ms (-1: until done; 0: takes arrived answers, and
 * sends the next request). Returns 0: all are known, name again to see them; -EAGAIN: not all yet;
 * -ENOMEM. Does not wait for files that debuginfod fetches.
 */
int symbolizer_find_lines(struct symbolizer *symbolizer, int timeout_ms);

/*
 * From now on, fetches debug files missing from this machine (debuginfod.h), for at most
 * deadline_ms each. Returns why that is impossible and the remedy, as a static string, or NULL.
 */
const char *symbolizer_use_debuginfod(struct symbolizer *symbolizer, uint32_t deadline_ms);
/* Waits for the files being fetched, at most timeout_ms (-1: until done). Returns 0 or -EAGAIN. */
int symbolizer_wait_for_files(struct symbolizer *symbolizer, int timeout_ms);
/* Formats downloads in progress as one line of a terminal; "": none. */
void symbolizer_progress(const struct symbolizer *symbolizer, char *text, size_t size);

/*
 * Returns a descriptor that becomes readable when symbolizer_find_lines() has something to take,
 * and once a second while files are fetched; -1: nothing is awaited.
 */
int symbolizer_lines_fd(const struct symbolizer *symbolizer);

/*
 * Returns a number for a stack that is the same on every run, host and load address: a hash over
 * (build-id or path, module_offset) of its frames. Code in no file counts as one place: stacks that
 * differ only inside it share a number.
 */
uint64_t symbolizer_stack_id(const struct frames *frames);

/*
 * Returns that number for the frames before the first one in JIT-compiled code, which moves
 * whenever it is recompiled: a call in a file has one number, whatever stacks lead to it. Java's
 * frames, which have places of their own, count like those in a file. 0: no compiled code, or
 * nothing before it.
 */
uint64_t symbolizer_native_id(const struct frames *frames);

/* From one named address to lines of a stack. */

/*
 * Appends the frame, preceded by the functions inlined at its address, innermost first, each as a
 * separate frame without an offset. `source` may be NULL: no lines. Returns 0 or -ENOMEM.
 */
int frames_append(struct frames *frames, const struct frame *frame,
		  const struct source_lines *source);

#endif
