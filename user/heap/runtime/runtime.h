/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runtimes with a heap of their own: which one a process has, and which of its mappings are that
 * heap. What grows there is objects of the language, which no probe on malloc sees. One file and
 * one row of the table in runtime.c each.
 *
 * Detection goes by names and addresses of mappings. They are the target's word: they decide over
 * words of a report, and nothing else. Reports and recordings keep a runtime's key.
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
 * Reads a runtime's heap object by object, in this order: walk() adds nodes to the sink, and what
 * it has found to the report; when the sink has settled, roots() is called, and refer() for each
 * node of its classes that is an object, by ascending address; then end(). 0 or -ENOMEM; any other
 * error of walk() means that there is no such heap, or none that can be read (report->why).
 *
 * While memory->again, walk() may return -EAGAIN: a collection came between, and nothing that was
 * found is certain. It is called again then, with an empty report.
 *
 * moves() says of a process that stands whether a collection moves objects: then it goes on, and is
 * stopped again. It reads a few pages. NULL: its collector moves none.
 */
struct heap_walker {
	bool (*moves)(struct target_memory *memory);
	int (*walk)(struct target_memory *memory, struct heap_sink *sink,
		    struct walk_report *report, void **state);
	int (*roots)(void *state, struct heap_sink *sink);
	int (*refer)(void *state, struct heap_sink *sink, uint32_t node);
	void (*end)(void *state); /* of what walk() set, also when that failed */
};

/*
 * Reads the code that a runtime makes while it runs, as it is now. open() gives a state for the
 * others, until close(); 0, -ENOENT with *why, or -ENOMEM. The memory is forgotten now and then
 * between calls.
 *
 * rows() describes how the frames of all code are left, which may lie in memory that is not mapped
 * yet; without rows, what they are noted by, and all are left by their frame pointers. 0; -ENOENT:
 * there is none yet; -errno. NULL: its frames are left as those of native code without rows.
 *
 * name() appends the frames of a return address, or of an interpreted frame (LM_FRAME_INTERPRETED),
 * innermost first. 0; -ENOENT: it is of no code that is known; -ENOMEM.
 */
struct code_rows {
	struct row_builder *rows;   /* by ascending address; LM_UNWIND_MADE: by the blocks; or none
				     */
	uint64_t start, end;	    /* all code is between these */
	struct lm_made_code blocks; /* zeros at first */
};
struct code_reader {
	int (*open)(struct target_memory *memory, void **state, const char **why);
	int (*rows)(void *state, struct code_rows *rows);
	int (*name)(void *state, uint64_t frame, struct intern *strings, struct frames *frames);
	void (*close)(void *state);
};

/*
 * Reads what a runtime counts of its memory, as it is now or in a core file, without a stop.
 *
 * wanted() decides whether to: `shown` is the runtime that the mappings show, NULL: none; `named`:
 * the process was named, so that it may cost more. NULL: if the mappings show it.
 *
 * read() fills the struct of the view, which is zeros before and says why nothing is known. 0 or
 * -ENOMEM. count() fills the rest of *memory from that struct; NULL: there is nothing for a
 * conclusion. find_heap() finds the heap where mappings do not show it; nothing if it is not found.
 * 0 or -ENOMEM. NULL: mappings show it.
 */
struct memory_reader {
	const struct runtime_view *view;
	bool (*wanted)(const struct maps *maps, const struct runtime *shown, bool named);
	int (*read)(const struct maps *maps, void *figures);
	void (*count)(const void *figures, struct runtime_memory *memory);
	int (*find_heap)(const struct maps *maps, const void *figures, struct runtime_heap *heap);
};

/*
 * Reads where the threads of a runtime are, as they are now, without a stop. Files are read by
 * `worker`. read() fills the struct of the view, which is zeros before and says why nothing is
 * known; and *tasks, which the runtime schedules itself: without a version if it uses none. 0 or
 * -ENOMEM; task_report_free() in any case.
 */
struct thread_reader {
	const struct runtime_view *view;
	int (*read)(pid_t pid, struct worker *worker, struct dso_cache *dsos, void *figures,
		    struct task_report *tasks);
};

/*
 * Reads a program that contains its runtime, as it is now, without a stop. is_alone(): all its code
 * is its own and the dynamic linker's, so that it has no malloc and no library of threads. tasks()
 * reads what the runtime schedules (task_report_free() in any case), heap_profile() the profile
 * that it always keeps (heap_profile_free() in any case); the report says why nothing is known. 0
 * or -ENOMEM.
 */
struct program_reader {
	bool (*is_program)(const struct maps *maps);
	bool (*is_alone)(const struct maps *maps);
	int (*tasks)(const struct maps *maps, struct task_report *report);
	int (*heap_profile)(const struct maps *maps, struct heap_profile *profile);
};

/*
 * Reads an interpreter of Python, whose frames the kernel side finds by a layout and notes
 * (LM_FRAME_PYTHON). open() gives a state for the others, until close(), also on an error other
 * than -ENOMEM; NULL is nothing to close(). 0; -ENOENT, -ESRCH and the like with a static *why;
 * -ENOMEM. `dsos` and `worker` are borrowed for good. layout(): 0; -ENOENT: no thread's state is
 * found by its thread pointer (not glibc). name() gives a noted frame as it is now, with interned
 * strings. 0; -ENOENT: its code is gone; -ENOMEM. version(): "": not known.
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
	const char *key;  /* as it stands in JSON and recordings: "hotspot" */
	const char *name; /* for people: "JVM" */
	const char *tool; /* what shows the objects of its heap; %d: the PID */
	/* Whether a process that has this mapping has the runtime; NULL: not known by mappings. */
	bool (*detect)(const struct mapping *mapping);
	/* Whether one that has this file has it, for walks; NULL: not known by files. */
	bool (*detect_module)(const struct data_module *module);
	/* Whether a process has it by what stands in its memory, for walks; NULL: not known so. */
	bool (*detect_memory)(const struct maps *maps);
	/* Surveys all mappings for owns(): takes each, in order, beginning with zeros. */
	void (*survey)(void *state, const struct mapping *mapping); /* NULL: nothing */
	size_t state_size;
	/* Whether a mapping that has no other known owner is the runtime's heap; NULL: not
	 * known by mappings. */
	bool (*owns)(const void *state, const struct mapping *mapping);
	/* The heap's share of a mapping that it may own, by what is present of it. It reads single
	 * words. NULL: all of it, always. */
	double (*share)(const void *state, const struct mapping *mapping, struct peek *peek);
	/* Why its objects are not read in a process, by its memory alone, and then the tool
	 * instead; NULL: they are, or that is not known. */
	const char *(*refusal)(const struct maps *maps);
	const char *other_tool;
	bool collects; /* its heap grows in steps, between collections */
	/* What these leave, read without a stop; NULL: not known. */
	struct heap_floor (*floor)(const struct maps *maps);
	const struct memory_reader *memory;	  /* NULL: its own figures are not read */
	const struct thread_reader *threads;	  /* NULL: where its threads are is not read */
	const struct program_reader *program;	  /* NULL: it is in no program of this kind */
	const struct own_profile_source *profile; /* NULL: it keeps no heap profile */
	const struct heap_walker *walker;	  /* NULL: its objects are not read yet */
	const struct class_names *classes;	  /* origins of classes; NULL: the defaults */
	const struct code_reader *code;		  /* NULL: its frames are those of native code */
	const struct interpreter_reader
		*interpreter; /* NULL: the kernel side notes no frames of it */
	bool in_program;      /* it may be in the program's own file, whatever that is called */
	bool has_threads;     /* the walker knows them: see RUNTIME_ENDED */
};

/* Ends the class name of an object that stands for an ended thread. */
#define RUNTIME_ENDED " (ended)"

/* The heap of a process's runtime that mappings show. */
struct runtime_heap {
	const struct runtime *runtime; /* NULL: none that is known */
	void *state;		       /* the row's own; owned */
};

/*
 * From all mappings of a process, by ascending address: `count` of them, the first one at `first`,
 * the next ones each `stride` bytes on. Of several runtimes the first one in the table counts. 0 or
 * -ENOMEM.
 */
int runtime_heap_find(const struct mapping *first, size_t count, size_t stride,
		      struct runtime_heap *heap);
/* The heap's share of a mapping without another known owner: 0 to 1, the share that is the
 * runtime's heap. peek reads the process's memory. */
double runtime_heap_share(const struct runtime_heap *heap, const struct mapping *mapping,
			  struct peek *peek);
void runtime_heap_free(struct runtime_heap *heap);

/* The runtime with such a heap that a process has now; NULL: none that is known, or it cannot be
 * read. */
const struct runtime *runtime_of_process(pid_t pid);

/*
 * heap_image_take(), which keeps the contents of a process's memory if it has a runtime with a heap
 * that can be walked. Where a collection moves objects at the stop, it is stopped again
 * (heap_image_options.is_ready).
 */
int runtime_take_image(pid_t pid, const struct heap_image_options *options, struct worker *worker,
		       struct dso_cache *dsos, struct heap_image *heap_image);

/*
 * Walks the heaps of all runtimes that a process has and that can be walked: sink gets their
 * objects, references and roots, and is complete then. It reads what a heap image has kept; without
 * contents, the process as it is now. `kept` may be NULL. 0 or -ENOMEM.
 */
int runtime_walk_heaps(const struct maps *maps, const struct heap_image *kept,
		       const struct data_modules *modules, struct heap_sink *sink);

/* The reader of a program that contains its runtime; NULL: it is no such program. */
const struct program_reader *runtime_program(const struct maps *maps);
/* Whether it is one, and alone. */
bool runtime_program_is_alone(const struct maps *maps);

/*
 * What all runtimes of a process count of their memory, and whether its program is alone, into
 * *process. `named`: see struct memory_reader. A heap that only these figures show is added to
 * *heap. 0 or -ENOMEM.
 */
int runtime_memory_read(const struct maps *maps, bool named, struct runtime_heap *heap,
			struct memory_process *process);

/* Where the threads of all runtimes of a process are, into *census. 0 or -ENOMEM. */
int runtime_threads_read(struct worker *worker, struct dso_cache *dsos,
			 struct thread_census *census);

/* What its collections have left in a process; not known also if it has none to tell, or is
 * NULL. */
struct heap_floor runtime_floor_read(const struct runtime *runtime, pid_t pid);

/* The n-th row of the table; NULL: there are no more. For tests of all rows. */
const struct runtime *runtime_at(size_t n);
/* By its key; NULL: none has that one, which may be NULL. */
const struct runtime *runtime_find(const char *key);
/* "JVM"; "runtime" for a key that is not known: a newer leakmon may have recorded it. */
const char *runtime_name(const char *key);

/* For a report; NULL: none. */
struct runtime_label runtime_label_of(const struct runtime *runtime);
/* Likewise of a process, which may have a version that is not read. */
struct runtime_label runtime_label_in(const struct runtime *runtime, const struct maps *maps);
/* The tool for the objects of that heap: "jcmd 1234 GC.class_histogram ..."; "" if the key is not
 * known. Returns text. */
char *runtime_tool(const char *key, pid_t pid, char text[RUNTIME_TOOL_SIZE]);

#endif
