/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From return addresses of a process to frames with names.
 *
 * Names are looked up in the code that a process maps, or has mapped (process/target/process.h),
 * and may be had after it is gone: files are kept open. Each has one sorted symbol table, shared
 * between processes. file:line comes from libdw, only on demand. Everything a target's file says is
 * untrusted: bounds are checked, no name is printed raw here.
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

/* The module of a frame that a perf map names: compiled while the process ran, in no file. */
#define FRAME_JIT "jit"

/* The module of a frame of Python's own code: its `file` and `line` are known, or nothing is. */
#define FRAME_PYTHON "python"

/* The module of a frame of Java code: likewise. */
#define FRAME_JAVA "java"

/* The module of a frame of JavaScript: likewise. Builtins have no file. */
#define FRAME_JAVASCRIPT "javascript"

/* The module of a frame of .NET's code, which has no file. */
#define FRAME_DOTNET "dotnet"

/* The function of the frame through which the kernel called a signal handler; gdb's words. */
#define FRAME_SIGNAL_HANDLER "<signal handler called>"

/* One line of a stack. Strings are owned by the symbolizer and live as long as it does. */
struct frame {
	uint64_t address;	/* return address in the target, or where a signal interrupted it */
	const char *function;	/* demangled, or NULL: see `why` */
	uint64_t offset;	/* of address from the function's start */
	const char *module;	/* path as the target mapped it, or FRAME_JIT; NULL: in no file */
	uint64_t module_offset; /* address as the file's own symbol table counts it (st_value) */
	const char *build_id;	/* lower-case hex, or NULL */
	const char *file;	/* source file, or NULL */
	uint32_t line;		/* 0 if unknown */
	bool inlined;		/* this frame was inlined into the next one; same address */
	const char *why;	/* why there is no function: one of "no symbols",
				 * "no symbol at this address", "file gone", "not an ELF file",
				 * "anonymous code", "unmapped address", ...; else NULL */
};

struct frames {
	VEC(struct frame) list;
};

/* Callers follow, of which no more is known than that. 0 or -ENOMEM. */
int frames_add_rest(struct frames *frames);

/*
 * For processes with files in `dsos`. Files are read by `worker`; NULL: in this very process,
 * for tests. Both must outlive the symbolizer. NULL: out of memory.
 */
struct symbolizer *symbolizer_new(struct worker *worker, struct dso_cache *dsos);
void symbolizer_free(struct symbolizer *symbolizer);

/*
 * Names from now on what this process maps: call it when it has been refreshed, also in vain, as it
 * is first seen and before each report. `process` is borrowed until it is forgotten here; `key` is
 * any number that stands for it. 0 or -ENOMEM.
 */
int symbolizer_refresh(struct symbolizer *symbolizer, uint64_t key, const struct process *process);

/*
 * Gives up what is known of a process (names in frames stay good). For processes that are gone and
 * will not be reported again.
 */
void symbolizer_forget(struct symbolizer *symbolizer, uint64_t process);

/*
 * Closes the debug information that lines were looked up in; call it after each report. While
 * lines are still being looked for, it does nothing.
 */
void symbolizer_release_lines(struct symbolizer *symbolizer);

/*
 * Names frames that no file has (LM_FRAME_IS_PYTHON). Strings must live as long as the symbolizer.
 * 0; -ENOENT: it has no name any more; -ENOMEM.
 */
struct frame_namer {
	void *context;
	int (*name)(void *context, uint64_t process, uint64_t address, struct frame *frame);
};
void symbolizer_use_namer(struct symbolizer *symbolizer, const struct frame_namer *namer);

/*
 * Names code that no file and no perf map has, and interpreted frames (LM_FRAME_INTERPRETED), by
 * appending their frames. Likewise.
 */
struct code_namer {
	void *context;
	int (*name)(void *context, uint64_t process, uint64_t address, struct frames *frames);
};
void symbolizer_use_code_namer(struct symbolizer *symbolizer, const struct code_namer *namer);

/* For frame.module_offset of code that lies elsewhere each time: its names and the line alone. */
uint64_t symbolizer_place_id(const char *function, const char *file, uint32_t line);

enum frame_lines {
	LINES_NONE,
	LINES_WAIT,  /* looked up now, which can take seconds for each file */
	LINES_KNOWN, /* those known already; the others are queued for symbolizer_find_lines() */
};

/*
 * Names `depth` return addresses (caller first) of a process into `frames`, which the caller owns
 * (vec_free(&frames->list)). Function lookups use address - 1: a return address may be the first
 * byte of the next function (DWARF 5, 6.4.4 "Call Frame Calling Address"). Not so those marked with
 * LM_FRAME_EXACT, which stand where they are; the frame before such a one is FRAME_SIGNAL_HANDLER.
 * Python's own frames, which come last, take the places of the interpreter's calls that run them.
 * *frames is replaced: what it held is freed. 0 or -ENOMEM (then it is untouched).
 */
int symbolizer_name(struct symbolizer *symbolizer, uint64_t process, const uint64_t *addresses,
		    size_t depth, enum frame_lines lines, struct frames *frames);
/* Names the function that begins at `address`, itself: not what the compiler put there inline. */
int symbolizer_name_function(struct symbolizer *symbolizer, uint64_t process, uint64_t address,
			     enum frame_lines lines, struct frames *frames);

/*
 * Looks up lines that are queued, for at most timeout_ms (-1: until done; 0: takes what has been
 * found meanwhile, and asks on). 0: all are known, name again to see them; -EAGAIN: not all yet;
 * -ENOMEM. Files that debuginfod fetches are not waited for.
 */
int symbolizer_find_lines(struct symbolizer *symbolizer, int timeout_ms);

/*
 * From now on, debug files that are nowhere on this machine are fetched (debuginfod.h), which may
 * take deadline_ms each. Why that cannot be and what to do about it, as a static string, or NULL.
 */
const char *symbolizer_use_debuginfod(struct symbolizer *symbolizer, uint32_t deadline_ms);
/* Waits for the files that are being fetched, at most timeout_ms (-1: until done). 0 or -EAGAIN. */
int symbolizer_wait_for_files(struct symbolizer *symbolizer, int timeout_ms);
/* Downloads in progress, on one line of a terminal; "": nothing is. */
void symbolizer_progress(const struct symbolizer *symbolizer, char *text, size_t size);

/* Becomes readable when symbolizer_find_lines() has something to take, and once a second while
 * files are fetched; -1: nothing is awaited. */
int symbolizer_lines_fd(const struct symbolizer *symbolizer);

/*
 * A number for a stack that is the same on every run, host and load address: a hash over
 * (build-id or path, module_offset) of its frames. Code in no file counts as one place: stacks
 * that differ only inside it share a number.
 */
uint64_t symbolizer_stack_id(const struct frames *frames);

/*
 * The same of the frames before the first one in code that was compiled while the process ran,
 * which moves whenever it is recompiled: one call in a file has one number, however many stacks
 * it comes by. Java's frames, which have places of their own, count as if they were in a file. 0:
 * there is no code that was compiled, or nothing before it.
 */
uint64_t symbolizer_native_id(const struct frames *frames);

/* From one named address to lines of a stack. */

/*
 * Appends the frame, and before it what was inlined at its address, innermost first, each as a
 * frame of its own without an offset. `source` may be NULL: no lines. 0 or -ENOMEM.
 */
int frames_append(struct frames *frames, const struct frame *frame,
		  const struct source_lines *source);

#endif
