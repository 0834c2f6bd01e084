/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings of a walk over a runtime's heap, handed to retain/: objects with their classes, memory
 * that belongs to an object, references with labels, roots with names.
 *
 * A walk has two parts. First it adds every object and every managed range, a node each; then the
 * sink settles: nodes are sorted in among malloc's blocks. Second, it adds the references of each
 * node, by ascending address.
 *
 * Nothing that a walk reads is trusted: the target supplies sizes, counts and names. A node that
 * overlaps another one is left out and counted; more findings than the target's memory has room for
 * end the walk (target_memory_overworked()). Names are untrusted, and only those of the language:
 * classes, modules, variables, attributes; contents never come here.
 *
 * Memory: 20 bytes a node, 4 more where references are counted, 8 a reference and 4 for each node
 * if any has a reference.
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
#define NODE_OWN (UINT32_MAX - 1) /* a block of the runtime itself, of no class */
#define NODE_CLASS_BITS 28
#define NODE_CLASS ((1u << NODE_CLASS_BITS) - 1)
#define NODE_PART (1u << 31)	/* belongs to an object of the class; not an object itself */
#define NODE_PRECISE (1u << 30) /* its words are no references: it has only those added */
/* Its words hold malloc's blocks, but no objects: fields may contain addresses of native memory. */
#define NODE_NATIVE (1u << 29)
#define NODE_OBJECT (NODE_PRECISE | NODE_NATIVE)
#define NODE_CERTAIN (1u << 28) /* certainly an object: never part of another one */

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
	/*
	 * One more such word, counted from 1: the list of weak references to the object. 0: none.
	 */
	uint16_t weak_word;
	/* Words that hold nothing, whatever they look like: numbers among the first QUIET_WORDS
	 * words, one bit each; and data from byte quiet_from on, 0: none. */
	uint32_t quiet_from;
	uint64_t quiet_words;
	/* Pointers to its objects are the address plus this tag; none points inside. 0: any address
	 * in an object leads to it. */
	uint8_t tag;
	/* Pointers to its objects are the address plus 0 to 7; none points inside. */
	bool exact;
	/* Its objects describe classes: an object of the class leads there, and holds nothing. */
	bool describes;
	/* Variables of native code refer to its objects: the language has no other variables. */
	bool in_variables;
	/* Its references are multiples of 8; other words are numbers. Its fields, after a header of
	 * one word, are named by their index. */
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

/* Returns the label of an index, or 0 (LABEL_NONE) for one above LABEL_VALUE. */
static inline uint32_t label_index(uint64_t number)
{
	return number <= LABEL_VALUE ? LABEL_INDEX << LABEL_VALUE_BITS | (uint32_t)number : 0;
}

/*
 * Order of preference among the roots that hold a node: its path begins at one of the first rank.
 */
enum managed_rank {
	MANAGED_NAMED,	 /* a variable, or another name from the program */
	MANAGED_OWN,	 /* see heap_sink_own_root() */
	MANAGED_PASSING, /* short-lived: a stack */
	MANAGED_WORKER,	 /* a stack of the runtime's own threads: paths begin there last */
	MANAGED_WAITING, /* see heap_sink_waiting_root() */
};

struct managed_root {
	const char *name;    /* "module app"; interned */
	const char *runtime; /* key */
	uint32_t node;
	enum managed_rank rank;
};

/* Memory that a runtime has described completely: its words outside objects hold nothing, or, with
 * `blocks`, only malloc's blocks. */
struct claimed_range {
	uint64_t start, end;
	bool blocks;
	bool within; /* a part of an object whose words hold nothing */
};

/* Outcome of a walk. */
struct walk_report {
	const char *runtime; /* key */
	char version[24];    /* "3.11.2"; "": unknown */
	/* the version is untested, but describes itself like a known one */
	bool untested;
	/* reason why the walk failed or is incomplete; static; NULL: complete */
	const char *why;
	uint64_t objects, bytes; /* bytes include the parts of objects */
	uint64_t heap_bytes;	 /* size of the managed heap */
	/* heap_bytes counts small objects only: larger ones are malloc's blocks */
	bool only_small;
	uint64_t free_bytes;   /* the part of heap_bytes outside objects and blocks */
	uint64_t unread_bytes; /* the part that could not be read: swapped out, or gone */
	uint64_t nonsense;     /* impossible nodes and references, which were left out */
	uint64_t retries;      /* repeated readings, because the heap was changing */
	bool all_roots; /* all roots were read: unreachable objects are, or will be, garbage */
	bool counted;	/* garbage is recognised by reference counts (struct heap_sink) instead */
	uint64_t unreached, unreached_bytes; /* objects unreachable from the roots */
	bool collector_off;		     /* the program has switched the collector off */
	bool by_request;		     /* the whole heap is freed at the end of a request */
	uint64_t frozen, frozen_bytes;	     /* objects that the collector ignores for good */
	uint64_t finalizable;		     /* objects with a finalizer written in the language */
	uint64_t isolates;		     /* separate heaps, one per thread; 0: one heap */
	struct heap_part parts[HEAP_PARTS_MAX];
	struct class_copies copies[CLASS_COPIES_MAX];	   /* most copies first */
	uint64_t copied_classes;			   /* total number of such classes */
	struct listener_crowd crowds[LISTENER_CROWDS_MAX]; /* most listeners first */
	uint64_t crowded_events;			   /* total number of such events */
};

/* A weak or phantom reference of node `from` to the object at node `to`. */
struct weak_reference {
	uint32_t from, to;
};

struct heap_sink {
	/* Settled: by ascending address, not overlapping. */
	uint64_t *starts, *sizes;
	uint32_t *whats;
	uint32_t *sites; /* call stacks of malloc's tracked blocks; NULL: none is tracked */
	/* Reference counts of a runtime's nodes, without a node's references to itself. 0: not
	 * counted; COUNT_OF_GARBAGE: known to be garbage. NULL: no runtime counts references. */
	uint32_t *counts;
	uint32_t count;
	struct block_index index;
	VEC(struct managed_class) classes;
	/* References of node i: indices from first[i] to before first[i + 1]. NULL: no node has
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
	/* settled: by ascending address; words outside nodes hold nothing */
	VEC(struct claimed_range) idle;
	/* one bit per node: see heap_sink_apart_root(); NULL: no node is apart */
	uint64_t *apart;
	VEC(uint32_t) namespaces; /* indices of nodes: see heap_sink_namespace() */
	VEC(const char *) names;  /* of labels */
	VEC(struct walk_report) reports;
	struct intern *strings;	      /* borrowed */
	struct target_memory *memory; /* the walked memory; NULL: no limits; borrowed */

	/* Private. */
	uint64_t findings; /* nodes, references, roots; names are charged by length */
	VEC(struct sink_node) added;
	struct hash name_index;
	uint32_t from; /* references of the nodes before it are complete */
	/* the second part of a walk: heap_sink_part() adds a reference from the owner */
	bool referring;
};

/* A node before it is settled. */
struct sink_node {
	uint64_t start : 48, size_high : 16;
	uint32_t size_low, what;
};

/*
 * Initialises a sink with malloc's blocks, by ascending address. The sink owns the arrays from then
 * on, also on failure; `sites` may be NULL. 0 or -ENOMEM; the caller calls heap_sink_free().
 */
int heap_sink_init(struct heap_sink *sink, struct intern *strings, uint64_t *starts,
		   uint64_t *sizes, uint32_t *sites, uint32_t count);
void heap_sink_free(struct heap_sink *sink);

/* Adds a zeroed report. The pointer is valid until the next call. NULL: out of memory. */
struct walk_report *heap_sink_report(struct heap_sink *sink, const char *runtime);

/* Adds a class and sets *number; the name is copied. 0; -ENOMEM; -E2BIG: too many classes. */
int heap_sink_class(struct heap_sink *sink, const struct managed_class *class, uint32_t *number);

/* Adds a node. `what` is a class, optionally with NODE_PRECISE or NODE_OBJECT, or NODE_OWN. Adding
 * by ascending address is fastest. 0 or -ENOMEM. */
int heap_sink_add(struct heap_sink *sink, uint64_t start, uint64_t size, uint32_t what);
/* heap_sink_rewind() forgets all nodes, ranges and classes added since the mark, so that a walk can
 * start again. */
struct heap_sink_mark {
	size_t nodes, ranges, idle, classes;
	uint64_t findings;
};
struct heap_sink_mark heap_sink_mark(const struct heap_sink *sink);
void heap_sink_rewind(struct heap_sink *sink, struct heap_sink_mark mark);
/* Turns malloc's block number `block` into an object of at most `size` bytes. */
void heap_sink_set(struct heap_sink *sink, uint32_t block, uint64_t size, uint32_t what);

/*
 * Sorts the added nodes in among malloc's blocks; a block that contains such nodes is dropped.
 * *nonsense grows by the number of nodes left out because they overlap others. 0 or -ENOMEM.
 */
int heap_sink_settle(struct heap_sink *sink, uint64_t *nonsense);

/* Returns the node that contains an address, or BLOCK_NONE. */
static inline uint32_t heap_sink_node(const struct heap_sink *sink, uint64_t address)
{
	return block_index_find(&sink->index, address);
}

/* Returns the first node at or after an address, or the number of nodes if all are below it. */
static inline uint32_t heap_sink_first(const struct heap_sink *sink, uint64_t address)
{
	return (uint32_t)SORTED_BEFORE(start, sink->starts, sink->count, *start < address);
}

/*
 * Marks the node that contains `address` as a part of the object `owner`, which holds it; the node
 * is cut to `size` bytes, 0: all of it. Returns false if no such node exists, it belongs to another
 * object, or it is NODE_CERTAIN.
 */
bool heap_sink_part(struct heap_sink *sink, uint32_t owner, uint64_t address, uint64_t size,
		    bool precise);

/* Returns a label with this name, or 0 if memory or labels run out. */
uint32_t heap_sink_label(struct heap_sink *sink, enum label_kind kind, const char *name);
/* Returns the name of a LABEL_ATTRIBUTE, or NULL for any other label. */
const char *heap_sink_label_name(const struct heap_sink *sink, uint32_t label);

/*
 * Adds a reference from node `from`, the nodes before which are complete, to the node that contains
 * the address `to`. Ignored if no node contains it, or `from` itself does. 0, -EINVAL if `from` is
 * out of order, or -ENOMEM.
 */
int heap_sink_reference(struct heap_sink *sink, uint32_t from, uint64_t to, uint32_t label);
/*
 * Adds a weak reference, which the collector clears, from node `from`, the nodes before which are
 * complete, to the object at `to`. It holds nothing. It shows that the memory which `from` itself
 * holds is freed by a collection, once nothing else leads to the object. 0 or -ENOMEM.
 */
int heap_sink_weak(struct heap_sink *sink, uint32_t from, uint64_t to);
/* Returns the object of a node's first weak reference, or BLOCK_NONE if it has none. */
uint32_t heap_sink_weak_target(const struct heap_sink *sink, uint32_t from);
/*
 * Notes that a settled node is a container of `entries` items, bounded by `limit`. Nodes come by
 * ascending address; containers beyond the first BOUNDED_MAX are ignored. 0 or -ENOMEM.
 */
#define BOUNDED_MAX 4096
int heap_sink_bounded(struct heap_sink *sink, uint32_t node, uint64_t entries, uint64_t limit);
/* Sets the reference count that the object of a settled node records. 0 or -ENOMEM. */
int heap_sink_counted(struct heap_sink *sink, uint32_t node, uint32_t references);
/* Each adds a root that holds the node at `to`: of rank MANAGED_NAMED, MANAGED_PASSING or
 * MANAGED_WORKER. Ignored if no node contains `to`. 0 or -ENOMEM. */
int heap_sink_root(struct heap_sink *sink, const char *runtime, const char *name, uint64_t to);
int heap_sink_passing_root(struct heap_sink *sink, const char *runtime, const char *name,
			   uint64_t to);
int heap_sink_worker_root(struct heap_sink *sink, const char *runtime, const char *name,
			  uint64_t to);

/* Adds a root of the runtime itself (MANAGED_OWN): the program's objects are named by other roots
 * first. 0 or -ENOMEM. */
int heap_sink_own_root(struct heap_sink *sink, const char *runtime, const char *name, uint64_t to);
/*
 * Adds a root of the given rank, and sets its node apart: the state of an interpreter, an isolate
 * or a thread, or a table of handles. Many objects point to such a node, and it points to
 * everything, so that nothing else would be named as a holder: other pointers to it are therefore
 * ignored. 0 or -ENOMEM.
 */
int heap_sink_apart_root(struct heap_sink *sink, const char *runtime, const char *name, uint64_t to,
			 enum managed_rank rank);

static inline bool heap_sink_is_apart(const struct heap_sink *sink, uint32_t node)
{
	return sink->apart && sink->apart[node / 64] >> node % 64 & 1;
}

/* Adds a root of objects that only wait for their end (MANAGED_WAITING): unless something else
 * holds them, they are due to be freed. 0 or -ENOMEM. */
int heap_sink_waiting_root(struct heap_sink *sink, const char *runtime, const char *name,
			   uint64_t to);
/* Notes an object whose references are variables, each of which is a named root: pointers to the
 * object are no second holders of their values. Ignores BLOCK_NONE. 0 or -ENOMEM. */
int heap_sink_namespace(struct heap_sink *sink, uint32_t node);
/* Adds a claimed range (struct claimed_range); `blocks`: its words may hold malloc's blocks. Call
 * before heap_sink_finish(). 0 or -ENOMEM. */
int heap_sink_claim(struct heap_sink *sink, uint64_t start, uint64_t size, bool blocks);
/* Claims words inside an object that hold nothing. Claims must not overlap. 0 or -ENOMEM. */
int heap_sink_claim_within(struct heap_sink *sink, uint64_t start, uint64_t size);

/* Adds a range in which all used memory is in nodes: leftover words between these hold nothing.
 * Idle ranges must not overlap. Call before heap_sink_finish(). 0 or -ENOMEM. */
int heap_sink_idle(struct heap_sink *sink, uint64_t start, uint64_t size);

/* Completes the sink after the last reference. 0 or -ENOMEM. */
int heap_sink_finish(struct heap_sink *sink);

#endif
