/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recognises managed runtimes: which one a process has, and which of its mappings are the managed
 * heap. Objects of the language grow there unseen by probes on malloc. Each runtime has one folder
 * and one row of the table in runtime.c.
 *
 * Detection uses names and addresses of mappings. They are untrusted: they decide only the wording
 * of a report. Reports and recordings store a runtime's key.
 */
#ifndef LEAKMON_RUNTIME_RUNTIME_H
#define LEAKMON_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "leakmon_abi.h"
#include "process/proc/maps.h"
#include "process/proc/process_memory.h"
#include "report/heap_floor.h"
#include "report/runtime_label.h"

struct class_names;
struct data_module;
struct data_modules;
struct dso_cache;
struct frame;
struct frames;
struct heap_image;
struct heap_image_options;
struct heap_sink;
struct intern;
struct heap_profile;
struct memory_process;
struct own_profile_source;
struct row_builder;
struct runtime;
struct runtime_heap;
struct runtime_memory;
struct runtime_view;
struct task_report;
struct thread_census;
struct target_memory;
struct walk_report;
struct worker;

/*
 * Reads a runtime's heap object by object, in this order: walk() adds nodes to the sink and totals
 * to the report; once the sink has settled, roots() is called, then refer() for each node of the
 * walker's classes that is an object, by ascending address; then end(). Each returns 0 or -ENOMEM;
 * any other error of walk() means that the heap is absent or unreadable (report->why).
 *
 * While memory->again, walk() may return -EAGAIN: a collection intervened, and no finding is
 * certain. It is then called again with an empty report.
 *
 * moves() returns whether a collection is moving objects in a stopped process: if so, the process
 * resumes and is stopped again later. It reads a few pages. NULL: the collector moves no objects.
 */
struct heap_walker {
	bool (*moves)(struct target_memory *memory);
	int (*walk)(struct target_memory *memory, struct heap_sink *sink,
		    struct walk_report *report, void **state);
	int (*roots)(void *state, struct heap_sink *sink);
	int (*refer)(void *state, struct heap_sink *sink, uint32_t node);
	void (*end)(void *state); /* frees the state that walk() set, even if walk() failed */
};

/*
 * Reads the code that a runtime generates, in its current state. open() returns a state for the
 * other functions, until close(); 0, -ENOENT with *why, or -ENOMEM. Between calls, the caller may
 * forget the memory that was read.
 *
 * rows() returns the unwind rows of all generated code, some of which may lie in memory that is not
 * mapped yet; or, instead of rows, the blocks by which the kernel side notes such frames, which
 * then all have frame pointers. 0; -ENOENT: no code yet; -errno. NULL: its frames are unwound like
 * those of native code without rows.
 *
 * name() appends the frames of a return address, or of an interpreted frame (LM_FRAME_INTERPRETED),
 * innermost first. 0; -ENOENT: it belongs to no known code; -ENOMEM.
 */
struct code_rows {
	struct row_builder *rows;   /* sorted; LM_UNWIND_MADE: by the blocks; or empty */
	uint64_t start, end;	    /* bounds of all code */
	struct lm_made_code blocks; /* zeros at first */
};
struct code_reader {
	int (*open)(struct target_memory *memory, void **state, const char **why);
	int (*rows)(void *state, struct code_rows *rows);
	int (*name)(void *state, uint64_t frame, struct intern *strings, struct frames *frames);
	void (*close)(void *state);
};

/*
 * Reads a runtime's own memory counters, from a running process or a core file, without a stop.
 *
 * wanted() decides whether to read: `shown` is the runtime detected by mappings, or NULL; `named`:
 * the user named the process, so that reading may cost more. NULL: read if the mappings show this
 * runtime.
 *
 * read() fills the struct of the view, which is zeroed before, and records there why figures are
 * unknown. 0 or -ENOMEM. count() fills the rest of *memory from that struct; NULL: the conclusion
 * needs nothing of it. find_heap() finds the heap where mappings do not show it, and leaves *heap
 * alone if it finds none. 0 or -ENOMEM. NULL: mappings show the heap.
 */
struct memory_reader {
	const struct runtime_view *view;
	bool (*wanted)(const struct maps *maps, const struct runtime *shown, bool named);
	int (*read)(const struct maps *maps, void *figures);
	void (*count)(const void *figures, struct runtime_memory *memory);
	int (*find_heap)(const struct maps *maps, const void *figures, struct runtime_heap *heap);
};

/*
 * Reads the current positions of a runtime's threads, without a stop. `worker` reads the files.
 * read() fills the struct of the view, which is zeroed before, and records there why figures are
 * unknown; it also fills *tasks, the tasks that the runtime schedules itself: tasks->version is
 * empty if it uses none. 0 or -ENOMEM; the caller calls task_report_free() in any case.
 */
struct thread_reader {
	const struct runtime_view *view;
	int (*read)(pid_t pid, struct worker *worker, struct dso_cache *dsos, void *figures,
		    struct task_report *tasks);
};

/*
 * Reads a program that contains its runtime, in its current state, without a stop. is_alone()
 * returns whether all code is the program's or the dynamic linker's, so that there is no malloc and
 * no thread library. tasks() reads the tasks that the runtime schedules (the caller calls
 * task_report_free() in any case), heap_profile() the profile that the runtime always keeps
 * (heap_profile_free() in any case); the report says why nothing is known. 0 or -ENOMEM.
 */
struct program_reader {
	bool (*is_program)(const struct maps *maps);
	bool (*is_alone)(const struct maps *maps);
	int (*tasks)(const struct maps *maps, struct task_report *report);
	int (*heap_profile)(const struct maps *maps, struct heap_profile *profile);
};

/*
 * Reads a Python interpreter; the kernel side finds its frames by a layout and notes them
 * (LM_FRAME_PYTHON). open() returns a state for the other functions, until close(); on an error
 * other than -ENOMEM, too. 0; -ENOENT, -ESRCH or another -errno with a static *why; -ENOMEM. `dsos`
 * and `worker` are borrowed until close(). close() ignores NULL. layout() returns 0, or -ENOENT if
 * the thread pointer does not lead to a thread's state (not glibc). name() returns a noted frame in
 * its current state, with interned strings. 0; -ENOENT: its code is gone; -ENOMEM. version()
 * returns "" if the version is unknown.
 */
struct interpreter_reader {
	int (*open)(pid_t pid, struct worker *worker, struct dso_cache *dsos, void **state,
		    const char **why);
	void (*close)(void *state);
	int (*layout)(void *state, struct lm_python *layout);
	int (*name)(void *state, uint64_t noted, struct intern *strings, struct frame *frame);
	const char *(*version)(const void *state);
};

struct runtime {
	const char *key;  /* used in JSON and recordings: "hotspot" */
	const char *name; /* for people: "JVM" */
	const char *tool; /* command that lists the objects of its heap; %d: the PID */
	/* Returns whether this mapping identifies the runtime; NULL: mappings do not. */
	bool (*detect)(const struct mapping *mapping);
	/* Returns whether this file identifies the runtime, for walks; NULL: files do not. */
	bool (*detect_module)(const struct data_module *module);
	/* Returns whether the contents of memory identify it, for walks; NULL: they do not. */
	bool (*detect_memory)(const struct maps *maps);
	/* Surveys all mappings for owns(): called with each one, in order; the state begins as
	 * zeros. */
	/* NULL: owns() needs no state */
	void (*survey)(void *state, const struct mapping *mapping);
	size_t state_size;
	/* Returns whether a mapping without another known owner is the runtime's heap; NULL:
	 * mappings do not show that. */
	bool (*owns)(const void *state, const struct mapping *mapping);
	/* Returns the heap's share, 0 to 1, of a mapping that owns() accepts, from single words of
	 * its resident pages. NULL: always 1. */
	double (*share)(const void *state, const struct mapping *mapping, struct peek *peek);
	/* Returns why the objects of this process cannot be read, from its memory alone; other_tool
	 * is suggested then. NULL, also as the result: they can, or that is unknown. */
	const char *(*refusal)(const struct maps *maps);
	const char *other_tool;
	bool collects; /* its heap grows in steps, between collections */
	/* Returns the live bytes after the last collection, read without a stop; NULL: unknown. */
	struct heap_floor (*floor)(const struct maps *maps);
	const struct memory_reader *memory;	  /* NULL: its counters are not read */
	const struct thread_reader *threads;	  /* NULL: its threads' positions are not read */
	const struct program_reader *program;	  /* NULL: programs do not contain this runtime */
	const struct own_profile_source *profile; /* NULL: it keeps no heap profile */
	const struct heap_walker *walker;	  /* NULL: its objects are not read yet */
	const struct class_names *classes;	  /* origins of classes; NULL: the defaults */
	const struct code_reader *code;		  /* NULL: it has native frames only */
	const struct interpreter_reader *interpreter; /* NULL: no frames are noted */
	bool in_program;  /* it may be linked into the program's file, of any name */
	bool has_threads; /* the walker knows its threads: see RUNTIME_ENDED */
};

/* Ends the class name of an object that stands for an ended thread. */
#define RUNTIME_ENDED " (ended)"

/* The heap of a process's runtime that mappings show. */
struct runtime_heap {
	const struct runtime *runtime; /* NULL: no known runtime */
	void *state;		       /* private to the runtime's row; owned */
};

/*
 * Finds the managed heap among all `count` mappings of a process, by ascending address: the first
 * one is at `first`, the next ones `stride` bytes apart. Of several runtimes, the first one in the
 * table is chosen. 0 or -ENOMEM; the caller calls runtime_heap_free().
 */
int runtime_heap_find(const struct mapping *first, size_t count, size_t stride,
		      struct runtime_heap *heap);
/* Returns the heap's share, 0 to 1, of a mapping without another known owner. `peek` reads the
 * process's memory. */
double runtime_heap_share(const struct runtime_heap *heap, const struct mapping *mapping,
			  struct peek *peek);
void runtime_heap_free(struct runtime_heap *heap);

/* Returns the runtime whose managed heap the process has now, or NULL if none is known or the
 * process cannot be read. */
const struct runtime *runtime_of_process(pid_t pid);

/*
 * Calls heap_image_take(), and keeps the contents of memory if the process has a runtime with a
 * heap that leakmon can walk. If a collection is moving objects at the stop, the process is stopped
 * again later (heap_image_options.is_ready). Returns the result of heap_image_take().
 */
int runtime_take_image(pid_t pid, const struct heap_image_options *options, struct worker *worker,
		       struct dso_cache *dsos, struct heap_image *heap_image);

/*
 * Walks the heaps of all runtimes of a process that have a walker; adds their objects, references
 * and roots to `sink`, which is complete then. It reads the contents that a heap image has kept; if
 * `kept` is NULL or has no contents, the current memory of the process. 0 or -ENOMEM.
 */
int runtime_walk_heaps(const struct maps *maps, const struct heap_image *kept,
		       const struct data_modules *modules, struct heap_sink *sink);

/* Returns the reader of a program that contains its runtime, or NULL for any other program. */
const struct program_reader *runtime_program(const struct maps *maps);
/* Returns whether the program contains its runtime, and no other code but the dynamic linker's. */
bool runtime_program_is_alone(const struct maps *maps);

/*
 * Reads the memory counters of all runtimes of a process into process->runtimes, and sets
 * process->no_malloc if the program has no malloc. `named`: see struct memory_reader. Sets *heap if
 * only these figures show a heap. 0 or -ENOMEM.
 */
int runtime_memory_read(const struct maps *maps, bool named, struct runtime_heap *heap,
			struct memory_process *process);

/* Reads the positions of the threads of all runtimes of process census->pid into *census. 0, also
 * if the process cannot be read, or -ENOMEM. */
int runtime_threads_read(struct worker *worker, struct dso_cache *dsos,
			 struct thread_census *census);

/* Returns the live bytes after the last collection; unknown if the runtime publishes no counter, or
 * is NULL. */
struct heap_floor runtime_floor_read(const struct runtime *runtime, pid_t pid);

/* Returns the n-th row of the table, or NULL behind the last one. For tests of all rows. */
const struct runtime *runtime_at(size_t n);
/* Returns the runtime with this key, or NULL if none has it, or key is NULL. */
const struct runtime *runtime_find(const char *key);
/* Returns a runtime's name: "JVM"; "runtime" if the key is unknown, because a newer leakmon
 * recorded it. */
const char *runtime_name(const char *key);

/* Returns the words for a runtime in a report; all NULL if `runtime` is NULL. */
struct runtime_label runtime_label_of(const struct runtime *runtime);
/* Returns the words for the runtime of a process: with the other tool if its objects cannot be
 * read. */
struct runtime_label runtime_label_in(const struct runtime *runtime, const struct maps *maps);
/* Writes the command that lists the objects of the heap, "jcmd 1234 GC.class_histogram ...", or ""
 * if the key is unknown. Returns `text`. */
char *runtime_tool(const char *key, pid_t pid, char text[RUNTIME_TOOL_SIZE]);

#endif
