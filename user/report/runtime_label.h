/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A managed runtime as reports name it: a row of heap/runtime/runtime.h has the words. */
#ifndef LEAKMON_REPORT_RUNTIME_LABEL_H
#define LEAKMON_REPORT_RUNTIME_LABEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct runtime_label {
	const char *key;  /* as it stands in JSON and recordings: "hotspot"; NULL: no runtime */
	const char *name; /* for people: "JVM" */
	const char *tool; /* what shows the objects of its heap; %d: the PID */
	bool collects;	  /* its heap grows in steps, between collections */
};			  /* all are static */

/* A part of a runtime's heap: a generation. In bytes. */
#define HEAP_PARTS_MAX 6
struct heap_part {
	const char *name; /* static; NULL: there are no more */
	uint64_t objects, bytes;
	uint64_t free_bytes; /* between and behind objects */
};

/* A class that several class loaders have loaded, each for itself: what is left of a plugin that
 * was loaded again. */
#define CLASS_COPIES_MAX 8
struct class_copies {
	const char *name;   /* of the class; NULL: there are no more; interned */
	const char *loader; /* the class of the loaders that have most of them; interned */
	uint32_t copies;
};

/* Listeners for one event of one emitter of events. */
#define LISTENER_CROWDS_MAX 8
struct listener_crowd {
	const char *event;	  /* "": its name is not shown; NULL: there are no more; interned */
	const char *emitter;	  /* its class; interned */
	const char *handler;	  /* "onData server.js:17": what most of them are; "": not known */
	uint32_t listeners, same; /* so many are that handler */
};

/* An object that holds at most `limit` others, by a number of its own: a cache, a queue. */
struct bounded_container {
	uint64_t address; /* of its node */
	uint64_t entries, limit;
};

/* "jcmd 1234 GC.class_histogram ..."; "" without a runtime. Returns text. */
#define RUNTIME_TOOL_SIZE 160
char *runtime_label_tool(const struct runtime_label *label, pid_t pid,
			 char text[RUNTIME_TOOL_SIZE]);

/* How much of a process's memory is in a heap that malloc knows nothing of. Plain data. */

struct managed_share {
	struct runtime_label runtime; /* key NULL: it has none */
	uint64_t heap_bytes;	      /* of the runtime's heap, resident or in swap */
	uint64_t anonymous_bytes;     /* of all anonymous memory, that heap included */
	uint64_t code_bytes; /* of it, code that was made while it ran, outside that heap */
};

#endif
