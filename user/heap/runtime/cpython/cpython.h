/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the parts of the CPython walker. Sources: Include/cpython/object.h, Objects/obmalloc.c
 * and Objects/dictobject.c of each version; offsets from DWARF of 3.9.18, 3.10.13, 3.11.7, 3.12.1
 * and 3.13.0, and from the headers of 3.13.18, 3.14.10 and 3.15.2.
 */
#ifndef LEAKMON_RUNTIME_CPYTHON_H
#define LEAKMON_RUNTIME_CPYTHON_H

#include "heap/allocators/data_modules.h"
#include "heap/runtime/heap_sink.h"
#include "heap/runtime/loaded_symbols.h"
#include "heap/runtime/target_memory.h"

/* Location of the description of obmalloc's arenas. */
enum arena_place {
	ARENAS_IN_VARIABLE,    /* a static variable without a symbol */
	ARENAS_IN_INTERPRETER, /* a struct inside the interpreter's */
	ARENAS_BY_INTERPRETER, /* the interpreter's points to that struct */
};

/* Location of the attributes of instances. */
enum values_place {
	VALUES_IN_DICT, /* in a dictionary only */
	VALUES_BEFORE,	/* 3.11: behind a pointer before the object */
	/* 3.12: a pointer before the object, to values or a dictionary by its low bit */
	VALUES_TAGGED,
	VALUES_INLINE, /* 3.13: in the object */
};

/* Format of the frames of a thread state, and the mark of the outermost frame of a call from C. */
enum frame_kind {
	FRAMES_OBJECTS, /* up to 3.10: each frame is an object, and a call from C */
	FRAMES_ENTERED, /* 3.11: marked by a flag */
	FRAMES_OWNED,	/* since 3.12: followed by a frame owned by C */
};

/* Kinds of line tables (Objects/locations.md, lnotab_notes.txt of each version). */
enum line_kind {
	LINES_STEPS,	 /* up to 3.9 */
	LINES_RANGES,	 /* 3.10: PEP 626 */
	LINES_LOCATIONS, /* from 3.11 on */
};

/* Frames and code objects of a version. */
struct cpython_frames {
	enum frame_kind kind;
	enum line_kind line_kind;
	/* _PyInterpreterFrame: globals and built-ins, which its function holds, since 3.11 */
	uint32_t globals;
	/* PyThreadState; `frame` leads to a CFrame, whose member at `current` is the frame, unless
	 * `current` is NO_CFRAME. */
	uint32_t frame, current, handle, native, chunk;
	/* _PyInterpreterFrame, PyFrameObject */
	uint32_t code, previous, instruction, stack_top, owner, locals;
	/* PyCodeObject; `names`: of all local variables, or of the first, the second, the third
	 * kind */
	uint32_t dead_frame; /* a frame kept for the next call; 0: none */
	uint32_t first_line, file, name, qualified, lines, bytecode, names[3], local_count,
		stack_size;
	/* PyGenObject: its frame, and that frame's state: from `generator_ended` on, it has ended
	 * (FRAME_COMPLETED, FRAME_CLEARED) */
	uint32_t generator, generator_state;
	int8_t generator_ended;
	/* Since 3.14 (_PyStackRef): bits of a frame's references that are not part of the address;
	 * and `stack_top` is an address instead of a count. */
	uint64_t tags;
	bool top_is_address;
	/* Free-threaded, since 3.14: index of the copy of its code that a frame runs, and the array
	 * of copies in its code; 0: no copies. */
	uint32_t copies_index, copies;
};
#define NO_CFRAME UINT32_MAX
#define CPYTHON_FRAME_BYTES 112 /* of a frame without its variables */

/* struct _gc_runtime_state: `first` points to the first generation (generation0). */
struct cpython_collector {
	uint32_t enabled, generations, first, permanent;
};
#define CPYTHON_COLLECTORS 2

#define OBJECT_WORD(n) (1ull << (n))

/* Differences between versions. All offsets in bytes. */
struct cpython_layout {
	unsigned version; /* 0x030b: 3.11 */
	unsigned tested;  /* last tested release, 0x030e0a: 3.14.10; 0: all releases */
	/* _PyRuntimeState; PyInterpreterState. */
	uint32_t interpreters, next, threads, modules, obmalloc, collector;
	uint32_t interpreter_bytes; /* 0: unknown */
	/* Offset, from the target of a reference, of the members at the start of an object in other
	 * builds. Nonzero: free-threaded; objects are not read, but names, code and frames are. */
	uint32_t shift;
	struct cpython_collector collectors[CPYTHON_COLLECTORS]; /* one of these */
	enum arena_place arenas;
	uint32_t arena_bytes, pool_bytes;
	uint32_t qualname, cached_keys; /* PyHeapTypeObject */
	/* flags of types with two more words before their objects */
	uint64_t preheader_flags;
	bool old_keys;	       /* PyDictKeysObject in the format before 3.11 */
	uint32_t split_values; /* offset of the values in PyDictValues */
	enum values_place values;
	uint32_t ascii_bytes, compact_bytes; /* PyASCIIObject, PyCompactUnicodeObject */
	uint32_t tuple_items;
	bool tagged_digits;  /* format of int since 3.12 */
	bool flagged_counts; /* format of reference counts since 3.14 */
	uint64_t quiet_code; /* bitmap of the words of PyCodeObject that are numbers */
	bool frames_inside;  /* since 3.11: generators and frames have items, but no count */
	struct cpython_frames frames;
};

#define CPYTHON_ARENA_LEAST (256u << 10)
#define CPYTHON_POOL_USUAL (16u << 10)

/* Layouts: see layout.c. */

/* Returns the layout of a version (static), or NULL if it is unknown. */
const struct cpython_layout *cpython_layout(unsigned version);

struct cpython;
/* Finds the layout of a release (PY_VERSION_HEX, or its known part), and updates it by the
 * self-description of the interpreter at python->runtime. 0; -ENOENT: *why is static. */
int cpython_describe(struct cpython *python, uint32_t release, const char **why);

/* Returns the share, 0 to 1, of an anonymous mapping that consists of obmalloc's pools; *state:
 * their size, a uint32_t. */
double cpython_pools_share(const void *state, const struct mapping *mapping, struct peek *peek);

/* Offsets common to all versions. PyThreadState; PyListObject, PySetObject, PyDictObject,
 * PyASCIIObject, PyBytesObject; PyObject, PyVarObject, PyTypeObject. */
#define THREAD_NEXT 8
#define THREAD_INTERPRETER 16
#define LIST_ITEMS 24
#define SET_MASK 32
#define SET_TABLE 40
#define DICT_KEYS 32
#define DICT_VALUES 40
#define STR_STATE 32
#define BYTES_TEXT 32
#define OBJECT_REFCOUNT 0
#define OBJECT_TYPE 8
#define OBJECT_SIZE 16
#define TYPE_NAME 24
#define TYPE_BASICSIZE 32
#define TYPE_ITEMSIZE 40
#define TYPE_FLAGS 168
#define TYPE_DOC 176
#define TYPE_WEAKLISTOFFSET 208
#define TYPE_BASE 256
#define TYPE_DICT 264
#define TYPE_DICTOFFSET 288
#define TYPE_FINALIZE 392

#define FLAG_INLINE_VALUES (1ull << 2) /* from 3.13 on */
#define FLAG_MANAGED_DICT (1ull << 4)  /* from 3.11 on */
#define FLAG_HEAP_TYPE (1ull << 9)
#define FLAG_READY (1ull << 12)
#define FLAG_COLLECTED (1ull << 14)
#define FLAG_INT (1ull << 24)
#define FLAG_LIST (1ull << 25)
#define FLAG_TUPLE (1ull << 26)
#define FLAG_BYTES (1ull << 27)
#define FLAG_STR (1ull << 28)
#define FLAG_DICT (1ull << 29)
#define FLAG_TYPE (1ull << 31)

/*
 * PyGC_Head, before an object: the next object in a list of the collector, and the previous one.
 * Low bits are flags; during a collection, the link to the previous object may be replaced by other
 * data.
 */
#define COLLECTOR_LINKS 16
#define LINK_FLAGS 3ull
#define LINK_COLLECTING 2ull
#define LINK_PREVIOUS 8

/* PyDictValues since 3.13, in the object */
#define INLINE_CAPACITY 0
#define INLINE_EMBEDDED 2
#define INLINE_VALID 3
#define INLINE_VALUES 8

enum cpython_kind {
	CPYTHON_OTHER,
	CPYTHON_LIST,
	CPYTHON_TUPLE,
	CPYTHON_DICT,
	CPYTHON_SET,
	CPYTHON_STR,
	CPYTHON_TYPE,
	CPYTHON_MODULE,
	CPYTHON_WEAKREF,
	CPYTHON_CODE,
	CPYTHON_DEQUE,
	CPYTHON_LRU_CACHE,
	CPYTHON_LOCK,
	CPYTHON_ARRAY,
	CPYTHON_TEE,
	CPYTHON_BYTEARRAY,
	CPYTHON_MEMORYVIEW,
	CPYTHON_DECIMAL,
	CPYTHON_DATA,	  /* an int, bytes, a float: has no references */
	CPYTHON_FLOAT,	  /* a float of a subclass */
	CPYTHON_COMPLEX,  /* a complex of a subclass */
	CPYTHON_DATE,	  /* or a time of day */
	CPYTHON_DATETIME, /* or a timedelta */
	CPYTHON_COUNT,	  /* itertools.count */
	CPYTHON_FRAME,
	CPYTHON_GENERATOR, /* coroutines, too */
	CPYTHON_KIND_MAX_
};

/* A type with objects. */
struct cpython_type {
	uint64_t address, flags;
	uint64_t basicsize, itemsize;
	int64_t dictoffset, weaklistoffset;
	uint32_t prefix; /* bytes before an object, in its block */
	uint32_t class;	 /* class number in the sink; UINT32_MAX: none yet */
	enum cpython_kind kind;
	/* Words of its objects that hold numbers, one bit each; data from byte quiet_from on, 0:
	 * none. */
	uint64_t quiet_words;
	uint32_t quiet_from;
	/* Labels of the attributes that its instances store outside a dictionary. */
	uint32_t *labels;
	uint32_t label_count;
	bool labels_read;
	bool whole_block; /* its objects do not record their size */
	bool finalizable; /* they have a __del__() */
};

#define CPYTHON_STATIC_TYPES 7

struct cpython_arena {
	uint64_t address;
	uint64_t pools_end; /* end of the pools used so far */
	uint32_t number, free_pools, pools;
};

struct cpython {
	const struct cpython_layout *layout;
	struct cpython_layout described; /* self-description of the interpreter */
	bool untested;			 /* a later release than the tested ones */
	struct target_memory *memory;
	const struct data_module *module; /* the program or libpython */
	uint64_t runtime;		  /* _PyRuntime */
	uint64_t type_type, set_type, frozenset_type, module_type, weakref_type, code_type;
	uint64_t bytearray_type, memoryview_type;
	uint64_t weakref_bytes; /* size of a weak reference, without additions of subclasses */
	uint64_t float_type, complex_type, ordered_type;
	uint64_t frame_types[4]; /* of generators and the like, and frames */
	/* Types of objects among static variables; 0: no such symbol. */
	uint64_t static_types[CPYTHON_STATIC_TYPES];
	VEC(uint64_t) interpreters;
	VEC(struct cpython_arena) arenas; /* by ascending address */
	bool in_malloc;			  /* no arenas: small objects are malloc's blocks, too */
	struct hash type_index; /* address -> place in types plus 1; TYPE_IS_NONE: no type */
	VEC(struct cpython_type) types;
	uint32_t report;	   /* index among the reports of the sink */
	uint32_t first_class;	   /* first class number in the sink */
	VEC(uint32_t) class_types; /* by class - first_class: place in types */
	struct hash namespaces;	   /* dictionaries of modules with variables as roots */
	struct hash attributed;	   /* large dictionaries whose attributes were given to an object */
	struct hash chunks;	   /* chunks of threads' frame stacks, each of one thread */
};

#define CPYTHON_FREE_THREADED                                                                      \
	"it is free-threaded: its objects lie in mimalloc's heaps, which are not read"

/* Finds CPython's program or library by its exported symbols, without reading a file, and sets it
 * up as memory->modules for cpython_open(). Returns false if there is none. */
bool cpython_load_module(struct target_memory *memory, struct loaded_module *module);

/*
 * Opens the interpreter of a process, without its memory allocator. `version` as in struct
 * walk_report. 0 or an error with *why (static), unless it is -ENOMEM; the caller calls
 * cpython_close() in any case.
 */
int cpython_open(struct target_memory *memory, struct cpython *python, char version[24],
		 const char **why);
void cpython_close(struct cpython *python);

/* Finds the interpreter's arenas: see arenas.c. 0; -ENOENT: not found; -ENOMEM. */
int cpython_find_arenas(struct cpython *python);

/* Called for every block in use of an arena, with `size` bytes of its contents. 0 or an error,
 * which ends the walk. */
typedef int cpython_visit(void *context, uint64_t address, const unsigned char *bytes, size_t size);
struct arena_figures {
	uint64_t free_bytes;
	uint64_t free_pool_bytes; /* the part of free_bytes in unused pools */
	uint64_t blocks;
	uint64_t nonsense; /* pools that are inconsistent, or changed during the read */
};
/* Visits the blocks in use of an arena, and adds to *figures. `buffer` has room for an arena. 0 or
 * the error of visit(). */
int cpython_walk_arena(const struct cpython *python, const struct cpython_arena *arena,
		       unsigned char *buffer, cpython_visit *visit, void *context,
		       struct arena_figures *figures);

/*
 * Returns the type of the object in a block whose first bytes are in `head`, or NULL if there is
 * none. *certain: the object is in a list of the collector. Valid until the next type is looked up.
 */
struct cpython_type *cpython_type_in_block(struct cpython *python, const unsigned char *head,
					   size_t bytes, uint64_t address, bool *certain);

/* Types and names: see types.c. */

/* Returns whether a live object may have this reference count: 0 is on a free list. */
bool cpython_is_alive(const struct cpython *python, uint64_t references);

/* Returns the type at an address; NULL: none, or out of memory. Valid until the next call. */
struct cpython_type *cpython_type_at(struct cpython *python, uint64_t address);
/* Returns the type at the type pointer of an object, without further checks. */
struct cpython_type *cpython_type_of(struct cpython *python, uint64_t object);
/* Writes "module.Qualname" of a type. */
#define CPYTHON_NAME_BYTES 256
void cpython_type_name(struct cpython *python, const struct cpython_type *type,
		       char name[CPYTHON_NAME_BYTES]);
/* Reads the text of a str, in UTF-8; returns false if it is none, or too long. *identifier, unless
 * NULL: the text is very likely a name in the program's code, and no data. */
bool cpython_text(struct cpython *python, uint64_t object, char *text, size_t size,
		  bool *identifier);

/* Entries of a dictionary. */
struct cpython_dict {
	uint64_t keys, keys_bytes; /* the table; its size in bytes */
	uint64_t keys_references;
	uint64_t entries, count; /* first entry; number of slots */
	uint32_t stride, key, value;
	uint64_t values; /* values of a split dictionary; 0: in the entries */
	uint64_t values_block;
};
/* Opens a dictionary; returns false if it is inconsistent. */
bool cpython_dict_open(struct cpython *python, uint64_t object, struct cpython_dict *dict);
/* Opens a table without a dictionary, as types have one for their instances; returns false if it is
 * inconsistent. */
bool cpython_keys_open(struct cpython *python, uint64_t keys, struct cpython_dict *dict);
struct cpython_entry {
	uint64_t key, value; /* 0: none */
};
/* Reads the i-th entry; returns false if it cannot be read. */
bool cpython_dict_entry(struct cpython *python, const struct cpython_dict *dict, uint64_t i,
			struct cpython_entry *entry);

/* Returns the label of an attribute's name, or 0 if it may be data instead of a name in the
 * program's code. */
uint32_t cpython_name_label(struct cpython *python, struct heap_sink *sink, uint64_t name);

/*
 * Returns the size of an object by its own counts, unlimited; `object` has its first `bytes` bytes.
 */
#define CPYTHON_STATIC_HEAD 64
uint64_t cpython_object_bytes(const struct cpython *python, const struct cpython_type *type,
			      const unsigned char *object, size_t bytes);
/* Returns whether a type is `from`, or derives from it; false if `from` is 0. */
bool cpython_derives(struct cpython *python, uint64_t type, uint64_t from);

/* Words that are numbers: see quiet.c. */

/* Returns the numeric words of a kind, one bit for each of an object's first 64 words. */
uint64_t cpython_quiet_words(const struct cpython *python, enum cpython_kind kind);
/* Sets a type's quiet_words and quiet_from. */
void cpython_quiet(struct cpython *python, struct cpython_type *type);
/* Claims the numeric words of objects among the variables of the process's modules. 0 or an error
 * of the sink. */
int cpython_claim_static(struct cpython *python, struct heap_sink *sink);

/* References and roots: see references.c, and refer() and roots() of struct heap_walker. */
int cpython_refer(void *state, struct heap_sink *sink, uint32_t node);
int cpython_roots(void *state, struct heap_sink *sink);

/* Adds the frozen objects of the interpreters to the report, and whether a collector is off. The
 * sink has settled. */
void cpython_collectors(struct cpython *python, const struct heap_sink *sink,
			struct walk_report *report);

/* Threads and their frames: see frames.c. */

struct cpython_thread {
	uint64_t address; /* PyThreadState */
	uint64_t handle;  /* pthread_t */
	uint64_t native;  /* TID in its own PID namespace; 0: not kept by this version */
};
/* Visits all threads of an interpreter, until visit() returns an error, which is returned. */
typedef int cpython_visit_thread(void *context, const struct cpython_thread *thread);
int cpython_threads(struct cpython *python, uint64_t interpreter, cpython_visit_thread *visit,
		    void *context);

struct cpython_frame {
	uint64_t address, previous;
	uint64_t code;	      /* a code object */
	uint32_t offset;      /* in its bytecode; CPYTHON_NO_OFFSET: unknown */
	bool entered;	      /* called from C: the next frame is in another part of the stack */
	uint64_t locals;      /* address of its variables, one word each */
	uint32_t local_count; /* number of variables */
	uint32_t used;	      /* words in use from `locals` on */
};
#define CPYTHON_NO_OFFSET UINT32_MAX
/* Finds the innermost frame of a thread, or the caller of a frame; returns false if there is none,
 * or it cannot be read. */
bool cpython_frame_first(struct cpython *python, const struct cpython_thread *thread,
			 struct cpython_frame *frame);
bool cpython_frame_next(struct cpython *python, struct cpython_frame *frame);

/* Place of code in the source. */
struct cpython_place {
	char function[CPYTHON_NAME_BYTES]; /* "Handler.get"; before 3.11: "get" */
	char file[1024];		   /* "": unknown */
	uint32_t line;			   /* 0: unknown */
};
/* Finds the place of an offset in code; returns false if it is no code object. */
bool cpython_place_of(struct cpython *python, uint64_t code, uint32_t offset,
		      struct cpython_place *place);

/* Adds the roots of all threads of an interpreter. 0 or an error of the sink. */
int cpython_frame_roots(struct cpython *python, struct heap_sink *sink, uint64_t interpreter);
/* Adds the references of a frame or a generator, by the names of its variables. 0 or an error of
 * the sink. */
int cpython_frame_refer(struct cpython *python, struct heap_sink *sink, uint32_t node,
			uint64_t object, enum cpython_kind kind);

#endif
