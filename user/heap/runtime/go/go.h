/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the parts of the Go reader. Sources: src/runtime of 1.19 and 1.21 to 1.27, symtab.go,
 * runtime2.go, mprof.go, mheap.go, mgcpacer.go, mstats.go; offsets of structs from the DWARF of
 * each.
 *
 * Nothing is taken from symbols, so that stripped programs are read alike: module data are found
 * by their table of functions, variables by their shape in the program's data. A shape that two
 * places have is not believed.
 */
#ifndef LEAKMON_RUNTIME_GO_H
#define LEAKMON_RUNTIME_GO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "report/task_report.h"
#include "process/symbol/intern.h"
#include "process/symbol/symbolizer.h"
#include "heap/runtime/target_memory.h"

#define GO_KEY "go"
#define GO_PAGE 8192 /* runtime._PageSize */

/* mspan; the state follows the class. */
struct go_span_layout {
	uint8_t free_index, elements, index_size; /* both indexes have as many bytes */
	uint8_t bits, class, element_size, specials;
};

/* Offsets that differ between versions; the others are below. */
struct go_layout {
	uint16_t minor; /* of 1.minor */
	/* g */
	uint16_t syscall_sp, status, goid, wait_since, wait_reason, creator;
	/* _func, inlinedCall, moduledata */
	uint16_t function_size, function_flag, inlined_size, inlined_name, inlined_parent, go_func;
	/* memRecordCycle, without bytes from 1.27 on */
	uint16_t cycle_size;
	/* gcControllerState */
	uint16_t heap_goal, heap_live, heap_marked, heap_in_use;
	/* mstats, heapStatsDelta */
	uint16_t last_gc, delta_size;
	struct go_span_layout span;
};

#define G_STACK_LOW 0
#define G_STACK_HIGH 8
#define G_SCHED_SP 56
#define G_SCHED_PC 64
#define G_SCHED_G 72 /* g.sched.g: itself */
#define G_BYTES 320  /* that hold all of these */

struct go_slice {
	uint64_t start, count;
};

struct go_function_entry {
	uint32_t entry, function; /* from the text's start; from pclntable's */
};

struct go_range {
	uint64_t start, end;
};

struct go_program {
	struct target_memory *memory;
	const struct go_layout *layout;
	char version[24];      /* "1.24.4" */
	uint8_t code_unit;     /* of addresses in tables: bytes */
	const char *path;      /* of its file, as mapped; borrowed from memory->maps */
	uint64_t bias;	       /* of addresses in memory over those in the file */
	struct go_range text;  /* of Go's functions */
	uint64_t text_start;   /* that entries count from */
	uint64_t go_functions; /* go.func.* */
	struct go_slice names, units, files, values, functions; /* of pclntab, in bytes */
	VEC(struct go_function_entry) table; /* by ascending entry; the last one only ends */
	struct go_range data;		     /* of the program's variables */
	uint64_t *words;		     /* a copy of it */
	struct hash lines;	      /* address, and whether inlined calls count -> frames */
	struct go_slice wait_reasons; /* strings; count 0: not found */
};

/* A function of the program. */
struct go_function {
	uint64_t entry, end; /* addresses */
	uint64_t record;     /* its _func */
};

/*
 * The Go program that a process is. *why is static: what is missing, if it is none that can be
 * read (-ENOENT, -ENOTSUP for a version that is not known: program->version says which). 0 or an
 * error; go_program_close() in any case.
 */
int go_program_open(struct target_memory *memory, struct go_program *program, const char **why);
void go_program_close(struct go_program *program);

/* How many words the program's data have; the one at a place, 0 behind the last. */
static inline size_t go_data_words(const struct go_program *program)
{
	return (program->data.end - program->data.start) / 8;
}

static inline uint64_t go_data_word(const struct go_program *program, size_t place)
{
	return place < go_data_words(program) ? program->words[place] : 0;
}

/* -------- functions: functions.c */

/* Which one has code there; false: none. */
bool go_function_find(const struct go_program *program, uint64_t address,
		      struct go_function *function);
/* The function's own name; false: it has none that can be read. */
#define GO_NAME_BYTES 512
bool go_function_name(const struct go_program *program, const struct go_function *function,
		      char name[GO_NAME_BYTES]);
/* Bytes between the stack pointer there and the return address; negative: not known. */
int64_t go_function_frame(const struct go_program *program, const struct go_function *function,
			  uint64_t address);
/* Nothing called it: a stack ends there. */
bool go_function_is_top(const struct go_program *program, const struct go_function *function);

/*
 * Appends the frames at a return address, those that were inlined first; with `innermost` only the
 * first one, for stacks of the runtime's own that have one address for each. Wrappers that the
 * compiler made are left out. Strings are interned, always in the same set. 0 or -ENOMEM.
 */
int go_frames_append(struct go_program *program, struct intern *strings, uint64_t address,
		     bool innermost, struct frames *frames);

/* A record of the heap profile: its call stack, innermost first. False: there is none at that
 * address. profile.c. */
struct go_site {
	uint64_t depth;
	uint64_t stack[1024];
};
bool go_site_read(const struct go_program *program, uint64_t address, struct go_site *site);

/*
 * Calls visit() with each goroutine that has not ended: its record, the part in use of its stack,
 * where it is: "main.worker worker.go:31", and whether it is the runtime's own. 0, -ENOMEM, or what
 * visit() returns. goroutines.c.
 */
typedef int go_stack_visit(void *context, const char *place, uint64_t g, uint64_t start,
			   uint64_t end, bool system);
int go_stacks_visit(struct go_program *program, struct intern *strings, go_stack_visit *visit,
		    void *context);

/* Bytes of its spans in use, as the collector counts them; 0: not found. memory.c. */
uint64_t go_heap_in_use(const struct go_program *program);

/* The array that runtime.allgs is; 0: not found. goroutines.c. */
uint64_t go_all_goroutines(const struct go_program *program);

/* The goroutine that runs main, which lies in the heap; 0: not found. goroutines.c. */
uint64_t go_first_goroutine(const struct go_program *program);

/* How many collections there were, and how long ago the last one was; untouched if that is not
 * found: memory.c. */
void go_last_collection(const struct go_program *program, uint64_t *count, uint64_t *ago_ns);

#endif
