/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the test programs. A workload knows its own truth: it counts every allocation it
 * makes, by function, and prints them on request. The protocol is lines over stdin and stdout:
 *
 *   workload: ready PID      it is parked in read(); a monitor may attach
 *   test:     COMMAND        a row of the workload's table, "ledger" or "quit"
 *   workload: done           or, for "ledger", one line of JSON
 *
 * Between `ready` and `quit` nothing here touches the heap: bookkeeping lives in static arrays and
 * output goes through write(2), since stdio would allocate its buffers.
 *
 * Counting rules: sizes are as requested; a successful realloc frees the old block and allocates a
 * new one; realloc(p, 0) frees; a failed call changes nothing; free(NULL) is nothing.
 */
#ifndef LEAKMON_WORKLOAD_H
#define LEAKMON_WORKLOAD_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_SITES 24

/* A function that must appear in call stacks under its own name. */
#if __has_attribute(noipa)
#define SITE __attribute__((noipa))
#else
#define SITE __attribute__((noinline))
#endif

/* Outstanding memory of one allocating function. */
struct truth_site {
	const char *function;
	unsigned line;
	uint64_t count, bytes;
};

struct truth {
	int pid; /* 0: the process that prints it */
	uint64_t allocations, frees, untracked_frees, failed, abandoned;
	struct truth_site sites[MAX_SITES];
};

/*
 * OPAQUE hides a value from the optimiser, which knows malloc and free; and since it must run after
 * the call, the call cannot become a tail call.
 */
static inline void *opaque_pointer(void *value)
{
	__asm__ volatile("" : "+r"(value) : : "memory");
	return value;
}

static inline size_t opaque_number(size_t value)
{
	__asm__ volatile("" : "+r"(value) : : "memory");
	return value;
}

#define OPAQUE(value)                                                                              \
	_Generic((value), void * : opaque_pointer, char * : opaque_pointer, default                \
		 : opaque_number)(value)

static inline void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void say(const char *format, ...)
{
	char line[8192];
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (size < 0 || (size_t)size >= sizeof(line) || write(STDOUT_FILENO, line, size) != size)
		_exit(111);
}

/* Next command without its newline; false at end of file. */
static inline bool hear(char *line, size_t size)
{
	for (size_t used = 0; used < size; used++) {
		ssize_t got;

		do
			got = read(STDIN_FILENO, &line[used], 1);
		while (got < 0 && errno == EINTR);
		if (got != 1)
			return false;
		if (line[used] == '\n') {
			line[used] = '\0';
			return true;
		}
	}
	return false;
}

static inline void truth_born(struct truth *truth, unsigned site, size_t size)
{
	truth->allocations++;
	truth->sites[site].count++;
	truth->sites[site].bytes += size;
}

/* Counters of one thread may go below zero; their sum over threads is right. */
static inline void truth_died(struct truth *truth, unsigned site, size_t size)
{
	truth->frees++;
	truth->sites[site].count--;
	truth->sites[site].bytes -= size;
}

static inline void truth_add(struct truth *sum, const struct truth *part)
{
	sum->allocations += part->allocations;
	sum->frees += part->frees;
	sum->untracked_frees += part->untracked_frees;
	sum->failed += part->failed;
	sum->abandoned += part->abandoned;
	for (size_t i = 0; i < MAX_SITES; i++) {
		sum->sites[i].count += part->sites[i].count;
		sum->sites[i].bytes += part->sites[i].bytes;
	}
}

static inline size_t truth_format_sites(const struct truth *truth, char *text, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < MAX_SITES; i++) {
		const struct truth_site *site = &truth->sites[i];

		if (!site->function)
			continue;
		used += snprintf(text + used, size - used,
				 "%s{\"function\":\"%s\",\"line\":%u,\"count\":%lu,\"bytes\":%lu}",
				 used ? "," : "", site->function, site->line, site->count,
				 site->bytes);
	}
	text[used] = '\0';
	return used;
}

static inline void truth_say(const struct truth *truth)
{
	uint64_t count = 0, bytes = 0;
	char sites[4096];

	for (size_t i = 0; i < MAX_SITES; i++) {
		count += truth->sites[i].count;
		bytes += truth->sites[i].bytes;
	}
	truth_format_sites(truth, sites, sizeof(sites));
	say("{\"pid\":%d,\"allocations\":%lu,\"frees\":%lu,\"untracked_frees\":%lu,"
	    "\"failed\":%lu,\"abandoned\":%lu,\"outstanding_count\":%lu,"
	    "\"outstanding_bytes\":%lu,\"sites\":[%s]}\n",
	    truth->pid ? truth->pid : getpid(), truth->allocations, truth->frees,
	    truth->untracked_frees, truth->failed, truth->abandoned, count, bytes, sites);
}

/* An allocating function named after its case, one for every site of the truth. */
struct site_case {
	const char *name;
	void (*run)(void);
};

static inline void cases_run(const struct site_case *cases, size_t count, struct truth *truth)
{
	for (size_t i = 0; i < count; i++) {
		truth->sites[i].function = cases[i].name;
		cases[i].run();
	}
}

struct command {
	const char *name;
	void (*run)(void);
	bool silent; /* the command answers by itself */
};

static inline const struct command *command_find(const struct command *commands, size_t count,
						 const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* Executes a line's command and answers; returns false for "quit". */
static inline bool workload_answer(const char *line, const struct command *commands, size_t count,
				   const struct truth *truth)
{
	const struct command *command = command_find(commands, count, line);

	if (command) {
		command->run();
		if (!command->silent)
			say("done\n");
	} else if (strcmp(line, "ledger") == 0) {
		truth_say(truth);
	} else if (strcmp(line, "quit") == 0) {
		return false;
	} else {
		say("unknown command %s\n", line);
	}
	return true;
}

/* Runs commands until "quit" or end of file; returns main()'s result. */
static inline int workload_serve(const struct command *commands, size_t count,
				 const struct truth *truth)
{
	char line[64];

	say("ready %d\n", getpid());
	while (hear(line, sizeof(line)) && workload_answer(line, commands, count, truth))
		;
	return 0;
}

/* As workload_serve(), for a workload with cases: its one command, `go`, runs them all. */
static inline int workload_serve_cases(const struct site_case *cases, size_t count,
				       struct truth *truth)
{
	char line[64];

	say("ready %d\n", getpid());
	while (hear(line, sizeof(line))) {
		if (strcmp(line, "go") == 0) {
			cases_run(cases, count, truth);
			say("done\n");
		} else if (!workload_answer(line, NULL, 0, truth)) {
			break;
		}
	}
	return 0;
}

/* The n-th argument as a number, or `otherwise`. */
static inline uint64_t argument(int argc, char **argv, int n, uint64_t otherwise)
{
	return n < argc ? strtoull(argv[n], NULL, 10) : otherwise;
}

#endif
