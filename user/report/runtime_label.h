/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words for a managed runtime in reports: from a row of heap/runtime/runtime.h. */
#ifndef LEAKMON_REPORT_RUNTIME_LABEL_H
#define LEAKMON_REPORT_RUNTIME_LABEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct runtime_label {
	const char *key;  /* in JSON and recordings: "hotspot"; NULL: no runtime */
	const char *name; /* for people: "JVM" */
	const char *tool; /* the command that shows its heap's objects; %d: the PID */
	bool collects;	  /* its heap grows in steps, between collections */
};			  /* all are static */

/* A part of a runtime's heap, such as a generation. In bytes. */
#define HEAP_PARTS_MAX 6
struct heap_part {
	const char *name; /* static; NULL: end of the list */
	uint64_t objects, bytes;
	uint64_t free_bytes; /* between and after objects */
};

/* A class loaded separately by several class loaders: left over from a reloaded plugin. */
#define CLASS_COPIES_MAX 8
struct class_copies {
	const char *name;   /* of the class; NULL: end of the list; interned */
	const char *loader; /* the class of the loaders with most copies; interned */
	uint32_t copies;
};

/* Listeners for one event of one emitter of events. */
#define LISTENER_CROWDS_MAX 8
struct listener_crowd {
	const char *event;	  /* "": unknown name; NULL: end of the list; interned */
	const char *emitter;	  /* its class; interned */
	const char *handler;	  /* "onData server.js:17": the most frequent one; "": unknown */
	uint32_t listeners, same; /* total; those with that handler */
};

/* An object that holds at most `limit` others, by its own field: a cache, a queue. */
struct bounded_container {
	uint64_t address; /* of its node */
	uint64_t entries, limit;
};

/* Formats "jcmd 1234 GC.class_histogram ..."; "" without a runtime. Returns text. */
#define RUNTIME_TOOL_SIZE 160
char *runtime_label_tool(const struct runtime_label *label, pid_t pid,
			 char text[RUNTIME_TOOL_SIZE]);

/* The share of a process's memory in a heap unknown to malloc. Plain data. */

struct managed_share {
	struct runtime_label runtime; /* key NULL: none */
	uint64_t heap_bytes;	      /* of the runtime's heap, resident or in swap */
	uint64_t anonymous_bytes;     /* of all anonymous memory, including that heap */
	uint64_t code_bytes;	      /* of it, code generated at run time, outside that heap */
};

#endif
