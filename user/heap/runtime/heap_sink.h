/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings of a walk over a runtime's heap, handed to retain/: objects with their classes, memory
 * that belongs to an object, references with labels, roots with names.
 *
 * A walk comes in two parts. First it adds every object and every stretch of memory that it manages
 * (a node each); the sink settles: nodes are put in order among malloc's blocks. Then it says of
 * each node, by ascending address, what that refers to.
 *
 * Nothing that a walk reads is believed: sizes, counts and names are the target's word. A node that
 * overlaps another one is left out and counted; what is found beyond what the target's memory has
 * room for ends the walk (target_memory_overworked()). Names are untrusted, of the language's own
 * things only: classes, modules, variables, attributes; contents never come here.
 *
 * 20 bytes a node, 4 more where references are counted, 8 a reference and 4 a node that has any.
 */
#ifndef LEAKMON_RUNTIME_HEAP_SINK_H
#define LEAKMON_RUNTIME_HEAP_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/search.h"
#include "base/vec.h"
#include "process/symbol/intern.h"
#include "report/analyze/block_index.h"
#include "report/runtime_label.h"

/* The kind of a node: the number of its class, or one of these. */
#define NODE_PLAIN UINT32_MAX	  /* a block of malloc's, of no class */
#define NODE_OWN (UINT32_MAX - 1) /* likewise one of the runtime's own */
#define NODE_CLASS_BITS 28
#define NODE_CLASS ((1u << NODE_CLASS_BITS) - 1)
#define NODE_PART (1u << 31)	/* belongs to an object of the class, and counts as no object */
#define NODE_PRECISE (1u << 30) /* its words hold nothing: the references from it are all */
/* Its words hold blocks of malloc's, but no objects: fields may have addresses of native memory. */
#define NODE_NATIVE (1u << 29)
#define NODE_OBJECT (NODE_PRECISE | NODE_NATIVE)
#define NODE_CERTAIN (1u << 28) /* an object beyond doubt: it belongs to no other one */

static inline bool node_has_class(uint32_t what)
{
	return what < NODE_OWN;
}

#define COUNT_OF_GARBAGE (UINT32_MAX - 1)

#define QUIET_WORDS 64

struct managed_class {
	const char *name;    /* interned */
	const char *runtime; /* the key of its runtime */
	/* Bytes of each object that hold nothing: links of the collector's lists. */
	uint16_t quiet_start, quiet_end;
	/* One more such word, counted from 1: it leads to what refers to the object weakly. 0:
	 * none. */
	uint16_t weak_word;
	/* Numbers among the first QUIET_WORDS words, one bit for each; and data from that byte on,
	 * 0: none. They hold nothing, whatever they look like. */
	uint32_t quiet_from;
	uint64_t quiet_words;
	/* Pointers to its objects are so much more than the address, and lead to no inside; 0: any
	 * address in an object leads to it. */
	uint8_t tag;
	/* Pointers to its objects are the address, or up to 7 more; none leads inside. */
	bool exact;
	/* Its objects describe classes: an object of the class leads there, and holds nothing. */
	bool describes;
	/* Variables of native code refer to its objects: the language has no others. */
	bool in_variables;
	/* Its references are multiples of 8: other words are numbers. After a header of one word,
	 * they are called by their places. */
	bool fields;
};

/* The name of a reference. */
enum label_kind {
	LABEL_NONE,
	LABEL_ATTRIBUTE, /* value: a name, see heap_sink_label() */
	LABEL_INDEX,	 /* value: a number */
	LABEL_KIND_MAX_
};
#define LABEL_VALUE_BITS 29
#define LABEL_VALUE ((1u << LABEL_VALUE_BITS) - 1)

static inline enum label_kind label_kind(uint32_t label)
{
	return label >> LABEL_VALUE_BITS;
}

/* None where there is no room for the number. */
static inline uint32_t label_index(uint64_t number)
{
	return number <= LABEL_VALUE ? LABEL_INDEX << LABEL_VALUE_BITS | (uint32_t)number : 0;
}

/* A path to nodes that several roots hold begins at one of the first rank among them. */
enum managed_rank {
	MANAGED_NAMED,	 /* a variable, or another name of the program's */
	MANAGED_OWN,	 /* see heap_sink_own_root() */
	MANAGED_PASSING, /* may be gone in a moment: a stack */
	MANAGED_WORKER,	 /* likewise, of the runtime's own threads: paths begin there last */
	MANAGED_WAITING, /* see heap_sink_waiting_root() */
};

struct managed_root {
	const char *name;    /* "module app"; interned */
	const char *runtime; /* key */
	uint32_t node;
	enum managed_rank rank;
};

/* Memory that a runtime has said all about: its words, outside of objects, hold nothing; or no
 * objects, but blocks of malloc's. */
struct claimed_range {
	uint64_t start, end;
	bool blocks;
	bool within; /* a part of an object; its words hold nothing either */
};

/* How a walk went. */
struct walk_report {
	const char *runtime;	 /* key */
	char version[24];	 /* "3.11.2"; "": not known */
	bool untested;		 /* the version: it describes itself as one that is known */
	const char *why;	 /* nothing was walked, or not all of it; static; NULL: it was */
	uint64_t objects, bytes; /* bytes: with what belongs to them */
	uint64_t heap_bytes;	 /* that the runtime has for its objects */
	uint64_t free_bytes;	 /* of them in no object and no block */
	uint64_t unread_bytes;	 /* of them that could not be read: swapped out, or gone */
	uint64_t nonsense;	 /* nodes and references that cannot be, and were left out */
	uint64_t retries;	 /* what was read again because it was just changing */
	bool all_roots; /* were read: what none leads to is garbage, or will be known for it */
	bool counted; /* not so, but counts of references (struct heap_sink) distinguish garbage */
	uint64_t unreached, unreached_bytes; /* objects that none leads to */
	bool collector_off;		     /* the program has switched it off */
	uint64_t frozen, frozen_bytes;	     /* objects that it leaves alone for good */
	uint64_t finalizable;		     /* that have a finalizer written in the language */
	uint64_t isolates; /* heaps of a thread each, which share nothing; 0: there is one heap */
	struct heap_part parts[HEAP_PARTS_MAX];
	struct class_copies copies[CLASS_COPIES_MAX];	   /* most copies first */
	uint64_t copied_classes;			   /* of which these are the first ones */
	struct listener_crowd crowds[LISTENER_CROWDS_MAX]; /* most listeners first */
	uint64_t crowded_events;			   /* likewise */
};

/* A weak or phantom reference of node `from` to the object at node `to`. */
struct weak_reference {
	uint32_t from, to;
};

struct heap_sink {
	/* Settled: by ascending address, not overlapping. */
	uint64_t *starts, *sizes;
	uint32_t *whats;
	uint32_t *sites; /* of malloc's blocks that were tracked; NULL: none was */
	/* Of runtimes that count references: what a node has of them, without its own to itself;
	 * 0: it is not counted; COUNT_OF_GARBAGE, once that is known. NULL: none is. */
	uint32_t *counts;
	uint32_t count;
	struct block_index index;
	VEC(struct managed_class) classes;
	/* References of node i: those from first[i] to before first[i + 1]; NULL: no node has
	 * any. */
	uint32_t *first;
	struct {
		uint32_t *targets, *labels;
		size_t count, capacity;
	} references;
	VEC(struct weak_reference) weak; /* by ascending `from` */
	VEC(struct managed_root) roots;
	VEC(struct bounded_container) bounded; /* BOUNDED_MAX at most, by ascending address */
	VEC(struct claimed_range) claimed;     /* settled: by ascending address */
	VEC(struct claimed_range) idle;	       /* likewise: words outside of nodes hold nothing */
	uint64_t *apart;	  /* a bit for each node: see heap_sink_own_root(); NULL: none is */
	VEC(uint32_t) namespaces; /* nodes: see heap_sink_namespace() */
	VEC(const char *) names;  /* of labels */
	VEC(struct walk_report) reports;
	struct intern *strings;	      /* borrowed */
	struct target_memory *memory; /* that is walked; NULL: there are no limits; borrowed */

	/* Private. */
	uint64_t findings; /* nodes, references, roots; names count by their lengths */
	VEC(struct sink_node) added;
	struct hash name_index;
	uint32_t from;	/* references of the nodes before it are complete */
	bool referring; /* nodes say what they refer to: a part is referred to by its owner */
};

/* A node before it is settled. */
struct sink_node {
	uint64_t start : 48, size_high : 16;
	uint32_t size_low, what;
};

/*
 * Begins with malloc's blocks, by ascending address, which it owns from then on, also on failure;
 * `sites` may be NULL. 0 or -ENOMEM.
 */
int heap_sink_init(struct heap_sink *sink, struct intern *strings, uint64_t *starts,
		   uint64_t *sizes, uint32_t *sites, uint32_t count);
void heap_sink_free(struct heap_sink *sink);

/* A new report, beginning with zeros; the pointer is good until the next one. NULL: no memory. */
struct walk_report *heap_sink_report(struct heap_sink *sink, const char *runtime);

/* The number of a class; its name is copied. 0; -ENOMEM; -E2BIG: there are too many. */
int heap_sink_class(struct heap_sink *sink, const struct managed_class *class, uint32_t *number);

/* `what`: a class, maybe with NODE_PRECISE or NODE_OBJECT, or NODE_OWN. By ascending address it
 * takes less time. 0 or -ENOMEM. */
int heap_sink_add(struct heap_sink *sink, uint64_t start, uint64_t size, uint32_t what);
/* Forgets what was added since, classes too: a walk begins again. */
struct heap_sink_mark {
	size_t nodes, ranges, idle, classes;
	uint64_t findings;
};
struct heap_sink_mark heap_sink_mark(const struct heap_sink *sink);
void heap_sink_rewind(struct heap_sink *sink, struct heap_sink_mark mark);
/* An object that is a block of malloc's: the i-th one. */
void heap_sink_set(struct heap_sink *sink, uint32_t block, uint64_t size, uint32_t what);

/*
 * Gives nodes that were added their places. Blocks of malloc's in which some lie are no nodes any
 * more. *nonsense gets how many overlap others and were left out. 0 or -ENOMEM.
 */
int heap_sink_settle(struct heap_sink *sink, uint64_t *nonsense);

/* The node that holds an address, or BLOCK_NONE. */
static inline uint32_t heap_sink_node(const struct heap_sink *sink, uint64_t address)
{
	return block_index_find(&sink->index, address);
}

/* The first node at or after an address; the count of nodes if there is none. */
static inline uint32_t heap_sink_first(const struct heap_sink *sink, uint64_t address)
{
	return (uint32_t)SORTED_BEFORE(start, sink->starts, sink->count, *start < address);
}

/* The node that holds `address` belongs to the object `owner`, which holds it, so many bytes of it
 * from its start on, 0: all. False: there is none, it belongs to another one, or is
 * NODE_CERTAIN. */
bool heap_sink_part(struct heap_sink *sink, uint32_t owner, uint64_t address, uint64_t size,
		    bool precise);

/* A label with that name; 0 if there is no memory, or there are too many. */
uint32_t heap_sink_label(struct heap_sink *sink, enum label_kind kind, const char *name);
/* The name of such a label; NULL: it has none. */
const char *heap_sink_label_name(const struct heap_sink *sink, uint32_t label);

/* From a node on, of which all before it are complete, to the one that holds an address; if none
 * does, or it is the same, this is no reference. 0 or -ENOMEM. */
int heap_sink_reference(struct heap_sink *sink, uint32_t from, uint64_t to, uint32_t label);
/*
 * From a node on, of which all before it are complete, to an object that the collector clears the
 * reference of. It holds nothing; it tells that what the node holds itself is freed after a
 * collection, once nothing else leads to the object. 0 or -ENOMEM.
 */
int heap_sink_weak(struct heap_sink *sink, uint32_t from, uint64_t to);
/* The object that a node refers to so, the first one of them; BLOCK_NONE: to none. */
uint32_t heap_sink_weak_target(const struct heap_sink *sink, uint32_t from);
/*
 * Notes that a settled node holds `entries` things and never more than `limit`. Nodes come by
 * ascending address; containers beyond the first BOUNDED_MAX are not noted. 0 or -ENOMEM.
 */
#define BOUNDED_MAX 4096
int heap_sink_bounded(struct heap_sink *sink, uint32_t node, uint64_t entries, uint64_t limit);
/* The references that a settled node says that it has. 0 or -ENOMEM. */
int heap_sink_counted(struct heap_sink *sink, uint32_t node, uint32_t references);
/* 0 or -ENOMEM. */
int heap_sink_root(struct heap_sink *sink, const char *runtime, const char *name, uint64_t to);
int heap_sink_passing_root(struct heap_sink *sink, const char *runtime, const char *name,
			   uint64_t to);
int heap_sink_worker_root(struct heap_sink *sink, const char *runtime, const char *name,
			  uint64_t to);

/* The runtime's own: what the program has made is called by other names first. */
int heap_sink_own_root(struct heap_sink *sink, const char *runtime, const char *name, uint64_t to);
/*
 * Such a root, or a passing one, and all that leads to its node: the state of an interpreter, an
 * isolate or a thread, a table of handles. Many things point to one, and it points to everything,
 * so that nothing else would be called the holder of anything: other pointers to it count as none.
 */
int heap_sink_apart_root(struct heap_sink *sink, const char *runtime, const char *name, uint64_t to,
			 enum managed_rank rank);

static inline bool heap_sink_is_apart(const struct heap_sink *sink, uint32_t node)
{
	return sink->apart && sink->apart[node / 64] >> node % 64 & 1;
}

/* Likewise of what only waits there for its end: what nothing else holds is due. */
int heap_sink_waiting_root(struct heap_sink *sink, const char *runtime, const char *name,
			   uint64_t to);
/* An object whose references are variables, each of which is a root by its name: what leads to the
 * object is no second holder of them. BLOCK_NONE: nothing happens. 0 or -ENOMEM. */
int heap_sink_namespace(struct heap_sink *sink, uint32_t node);
/* See struct claimed_range. Until heap_sink_finish(). 0 or -ENOMEM. */
int heap_sink_claim(struct heap_sink *sink, uint64_t start, uint64_t size, bool blocks);
/* Words that hold nothing although they lie in an object. Claims must not overlap. */
int heap_sink_claim_within(struct heap_sink *sink, uint64_t start, uint64_t size);

/* Memory of which every part in use is a node: what is left in the others holds nothing. These must
 * not overlap each other. Until heap_sink_finish(). 0 or -ENOMEM. */
int heap_sink_idle(struct heap_sink *sink, uint64_t start, uint64_t size);

/* When all references are known. 0 or -ENOMEM. */
int heap_sink_finish(struct heap_sink *sink);

#endif
