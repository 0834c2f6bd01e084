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

/* Where obmalloc's arenas are described. */
enum arena_place {
	ARENAS_IN_VARIABLE,    /* a static one, that no symbol names */
	ARENAS_IN_INTERPRETER, /* a struct in the interpreter's */
	ARENAS_BY_INTERPRETER, /* it points to that struct */
};

/* Where instances have their attributes. */
enum values_place {
	VALUES_IN_DICT, /* in a dictionary only */
	VALUES_BEFORE,	/* 3.11: behind a pointer before the object */
	VALUES_TAGGED,	/* 3.12: likewise, or a dictionary: by the low bit */
	VALUES_INLINE,	/* 3.13: in the object */
};

/* Where a thread state's innermost frame is, and what marks the outermost one of a call from C. */
enum frame_kind {
	FRAMES_OBJECTS, /* each is an object, and a call from C: up to 3.10 */
	FRAMES_ENTERED, /* 3.11: a flag says so */
	FRAMES_OWNED,	/* from 3.12 on: followed by one that C owns */
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
	/* _PyInterpreterFrame: globals and built-ins, which its function holds, from 3.11 on */
	uint32_t globals;
	/* PyThreadState; `frame` leads to a CFrame, which has the frame at `current`, unless that
	 * is NO_CFRAME. */
	uint32_t frame, current, handle, native, chunk;
	/* _PyInterpreterFrame, PyFrameObject */
	uint32_t code, previous, instruction, stack_top, owner, locals;
	/* PyCodeObject; `names`: of all local variables, or of the first, the second, the third
	 * kind */
	uint32_t dead_frame; /* kept for the next call; 0: none is */
	uint32_t first_line, file, name, qualified, lines, bytecode, names[3], local_count,
		stack_size;
	/* PyGenObject: its frame and that frame's state, from `generator_ended` on of one that is
	 * no more (FRAME_COMPLETED, FRAME_CLEARED) */
	uint32_t generator, generator_state;
	int8_t generator_ended;
	/* From 3.14 on (_PyStackRef): bits of a frame's references that are no part of an address;
	 * and `stack_top` is an address, no count. */
	uint64_t tags;
	bool top_is_address;
	/* Free-threaded, from 3.14 on: which of its code's copies a frame runs, by a number in the
	 * frame and an array in its code; 0: there are none. */
	uint32_t copies_index, copies;
};
#define NO_CFRAME UINT32_MAX
#define CPYTHON_FRAME_BYTES 112 /* of a frame, in which all but its variables stand */

/* struct _gc_runtime_state: `first` points to the first generation (generation0). */
struct cpython_collector {
	uint32_t enabled, generations, first, permanent;
};
#define CPYTHON_COLLECTORS 2

#define OBJECT_WORD(n) (1ull << (n))

/* Differences between versions. All offsets in bytes. */
struct cpython_layout {
	unsigned version; /* 0x030b: 3.11 */
	unsigned tested; /* its last release that was compared, 0x030e0a: 3.14.10; 0: all of them */
	/* _PyRuntimeState; PyInterpreterState. */
	uint32_t interpreters, next, threads, modules, obmalloc, collector;
	uint32_t interpreter_bytes; /* 0: not known */
	/* From where references lead to, of what other builds have at the beginning of an object:
	 * it is free-threaded, and its objects are not read; but names, code and frames are. */
	uint32_t shift;
	struct cpython_collector collectors[CPYTHON_COLLECTORS]; /* one of these */
	enum arena_place arenas;
	uint32_t arena_bytes, pool_bytes;
	uint32_t qualname, cached_keys; /* PyHeapTypeObject */
	uint64_t preheader_flags;	/* of types with two more words before their objects */
	bool old_keys;			/* PyDictKeysObject as before 3.11 */
	uint32_t split_values;		/* of PyDictValues: where its values begin */
	enum values_place values;
	uint32_t ascii_bytes, compact_bytes; /* PyASCIIObject, PyCompactUnicodeObject */
	uint32_t tuple_items;
	bool tagged_digits;  /* of int: 3.12 */
	bool flagged_counts; /* of references: 3.14 */
	uint64_t quiet_code; /* words of PyCodeObject that are numbers */
	bool frames_inside;  /* generators and frames have items, but no count of them: 3.11 */
	struct cpython_frames frames;
};

#define CPYTHON_ARENA_LEAST (256u << 10)
#define CPYTHON_POOL_USUAL (16u << 10)

/* Layouts: see layout.c. */

/* Static; NULL: not a version that is known. */
const struct cpython_layout *cpython_layout(unsigned version);

struct cpython;
/* Finds the layout of a release (PY_VERSION_HEX, as far as it is known), and takes what the
 * interpreter at python->runtime says of itself. 0; -ENOENT: *why is static. */
int cpython_describe(struct cpython *python, uint32_t release, const char **why);

/* The share of an anonymous mapping that is pools of obmalloc's; *state: their size, a uint32_t. */
double cpython_pools_share(const void *state, const struct mapping *mapping, struct peek *peek);

/* The same in all of them. PyThreadState; PyListObject, PySetObject, PyDictObject, PyASCIIObject,
 * PyBytesObject; PyObject, PyVarObject, PyTypeObject. */
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

/* PyGC_Head, before an object: the next object in a list of the collector's, and the one before.
 * Low bits are flags; while it collects, an object may have something else in place of the one
 * before. */
#define COLLECTOR_LINKS 16
#define LINK_FLAGS 3ull
#define LINK_COLLECTING 2ull
#define LINK_PREVIOUS 8

/* PyDictValues of 3.13, in the object */
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
	CPYTHON_DATA,	  /* an int, bytes, a float: refers to nothing */
	CPYTHON_FLOAT,	  /* of a subclass */
	CPYTHON_COMPLEX,  /* likewise */
	CPYTHON_DATE,	  /* or a time of day */
	CPYTHON_DATETIME, /* or a timedelta */
	CPYTHON_COUNT,	  /* itertools.count */
	CPYTHON_FRAME,
	CPYTHON_GENERATOR, /* coroutines, too */
	CPYTHON_KIND_MAX_
};

/* A type of which there are objects. */
struct cpython_type {
	uint64_t address, flags;
	uint64_t basicsize, itemsize;
	int64_t dictoffset, weaklistoffset;
	uint32_t prefix; /* bytes before an object, in its block */
	uint32_t class;	 /* of the sink; UINT32_MAX: none yet */
	enum cpython_kind kind;
	/* Numbers among its objects' words, one bit for each; data from that byte on, 0: none. */
	uint64_t quiet_words;
	uint32_t quiet_from;
	/* Labels of the attributes that its instances have beside a dictionary. */
	uint32_t *labels;
	uint32_t label_count;
	bool labels_read;
	bool whole_block; /* its objects do not say how large they are */
	bool finalizable; /* they have a __del__() */
};

#define CPYTHON_STATIC_TYPES 7

struct cpython_arena {
	uint64_t address;
	uint64_t pools_end; /* of the pools that were ever used */
	uint32_t number, free_pools, pools;
};

struct cpython {
	const struct cpython_layout *layout;
	struct cpython_layout described; /* by the interpreter itself */
	bool untested;			 /* a later release than those that were compared */
	struct target_memory *memory;
	const struct data_module *module; /* the program or libpython */
	uint64_t runtime;		  /* _PyRuntime */
	uint64_t type_type, set_type, frozenset_type, module_type, weakref_type, code_type;
	uint64_t bytearray_type, memoryview_type;
	uint64_t weakref_bytes; /* of a weak reference, without what subclasses add */
	uint64_t float_type, complex_type, ordered_type;
	uint64_t frame_types[4]; /* of generators and the like, and frames */
	/* Of objects that lie among variables; 0: no such symbol. */
	uint64_t static_types[CPYTHON_STATIC_TYPES];
	VEC(uint64_t) interpreters;
	VEC(struct cpython_arena) arenas; /* by ascending address */
	bool in_malloc;		/* there are none: small objects are malloc's blocks, too */
	struct hash type_index; /* address -> place in types plus 1; TYPE_IS_NONE: it is no type */
	VEC(struct cpython_type) types;
	uint32_t report;      /* of the sink */
	uint32_t first_class; /* of the sink: those of types that have one are numbered from it */
	VEC(uint32_t) class_types; /* by class - first_class: place in types */
	struct hash namespaces;	   /* dictionaries of modules with variables as roots */
	struct hash attributed;	   /* large ones of which an object has the attributes */
	struct hash chunks;	   /* of threads' stacks of frames: each is one thread's */
};

#define CPYTHON_FREE_THREADED                                                                      \
	"it is free-threaded: its objects lie in mimalloc's heaps, which are not read"

/* Finds the program or library of CPython's by what it exports, without reading a file:
 * memory->modules for cpython_open(). */
bool cpython_load_module(struct target_memory *memory, struct loaded_module *module);

/* The interpreter that a process has, without its memory allocator. *why is static: what is
 * missing, unless it is memory; `version` as in struct walk_report. 0 or an error; cpython_close()
 * in any case. */
int cpython_open(struct target_memory *memory, struct cpython *python, char version[24],
		 const char **why);
void cpython_close(struct cpython *python);

/* Finds the interpreter's arenas: see arenas.c. 0; -ENOENT: its arenas are not found;
 * -ENOMEM. */
int cpython_find_arenas(struct cpython *python);

/* Sees every block of an arena that is in use, with `size` bytes of its contents. 0 or an error. */
typedef int cpython_visit(void *context, uint64_t address, const unsigned char *bytes, size_t size);
struct arena_figures {
	uint64_t free_bytes;
	uint64_t free_pool_bytes; /* of them in pools that are not in use */
	uint64_t blocks;
	uint64_t nonsense; /* pools that contradict themselves, or changed while they were read */
};
/* `buffer` has room for an arena. */
int cpython_walk_arena(const struct cpython *python, const struct cpython_arena *arena,
		       unsigned char *buffer, cpython_visit *visit, void *context,
		       struct arena_figures *figures);

/* The type of the object in a block of which `head` has the first bytes, or NULL: there is none.
 * *certain: it is in a list of the collector's. Good until the next type is looked for. */
struct cpython_type *cpython_type_in_block(struct cpython *python, const unsigned char *head,
					   size_t bytes, uint64_t address, bool *certain);

/* Types and names: see types.c. */

/* Whether an object has such a count of references: 0 is in a list of free ones. */
bool cpython_is_alive(const struct cpython *python, uint64_t references);

/* The type at an address, or NULL: there is none, or no memory. Good until the next call. */
struct cpython_type *cpython_type_at(struct cpython *python, uint64_t address);
/* That of an object, without more ado. */
struct cpython_type *cpython_type_of(struct cpython *python, uint64_t object);
/* "module.Qualname" of a type. */
#define CPYTHON_NAME_BYTES 256
void cpython_type_name(struct cpython *python, const struct cpython_type *type,
		       char name[CPYTHON_NAME_BYTES]);
/* The text of a str, in UTF-8; false: it is none, or longer. *identifier, unless NULL: it is a name
 * in the program's code, as far as is known, and no data. */
bool cpython_text(struct cpython *python, uint64_t object, char *text, size_t size,
		  bool *identifier);

/* Entries of a dictionary. */
struct cpython_dict {
	uint64_t keys, keys_bytes; /* the table; what it takes */
	uint64_t keys_references;
	uint64_t entries, count; /* where they begin, and how many places there are */
	uint32_t stride, key, value;
	uint64_t values; /* where those of a split dictionary are; 0: in the entries */
	uint64_t values_block;
};
/* false: it makes no sense. */
bool cpython_dict_open(struct cpython *python, uint64_t object, struct cpython_dict *dict);
/* The table alone, as types have one for their instances. */
bool cpython_keys_open(struct cpython *python, uint64_t keys, struct cpython_dict *dict);
struct cpython_entry {
	uint64_t key, value; /* 0: none */
};
/* The i-th one; false: it cannot be read. */
bool cpython_dict_entry(struct cpython *python, const struct cpython_dict *dict, uint64_t i,
			struct cpython_entry *entry);

/* The label of an attribute's name, if it is a name in the program's code; 0: it may be data. */
uint32_t cpython_name_label(struct cpython *python, struct heap_sink *sink, uint64_t name);

/* Bytes of an object that begins with the first `bytes` bytes; as it says itself, so without
 * limit. */
#define CPYTHON_STATIC_HEAD 64
uint64_t cpython_object_bytes(const struct cpython *python, const struct cpython_type *type,
			      const unsigned char *object, size_t bytes);
/* Whether a type is another one, or derives from it; `from` may be 0: none does. */
bool cpython_derives(struct cpython *python, uint64_t type, uint64_t from);

/* Words that are numbers: see quiet.c. */

/* Those of a kind, one bit for each of an object's first 64 words. */
uint64_t cpython_quiet_words(const struct cpython *python, enum cpython_kind kind);
/* Fills the type's. */
void cpython_quiet(struct cpython *python, struct cpython_type *type);
/* Those of objects among the variables of the process's modules. 0 or an error of the sink. */
int cpython_claim_static(struct cpython *python, struct heap_sink *sink);

/* References and roots: see references.c. As struct heap_walker has them. */
int cpython_refer(void *state, struct heap_sink *sink, uint32_t node);
int cpython_roots(void *state, struct heap_sink *sink);

/* Adds to the report what its collectors leave alone, and whether one is off. The sink has
 * settled. */
void cpython_collectors(struct cpython *python, const struct heap_sink *sink,
			struct walk_report *report);

/* Threads and their frames: see frames.c. */

struct cpython_thread {
	uint64_t address; /* PyThreadState */
	uint64_t handle;  /* pthread_t */
	uint64_t native; /* its number in its own PID namespace; 0: this version does not keep it */
};
/* All of an interpreter; an error of `visit` ends it, and is returned. */
typedef int cpython_visit_thread(void *context, const struct cpython_thread *thread);
int cpython_threads(struct cpython *python, uint64_t interpreter, cpython_visit_thread *visit,
		    void *context);

struct cpython_frame {
	uint64_t address, previous;
	uint64_t code;	 /* a code object */
	uint32_t offset; /* in its bytecode; CPYTHON_NO_OFFSET: not known */
	bool entered;	 /* called from C: the next one was called by another part of the stack */
	uint64_t locals; /* where its variables are, one word each */
	uint32_t local_count; /* of them */
	uint32_t used;	      /* words from `locals` on that may hold something */
};
#define CPYTHON_NO_OFFSET UINT32_MAX
/* The innermost frame of a thread, and the caller of a frame; false: there is none, or none that
 * can be read. */
bool cpython_frame_first(struct cpython *python, const struct cpython_thread *thread,
			 struct cpython_frame *frame);
bool cpython_frame_next(struct cpython *python, struct cpython_frame *frame);

/* Where code is. */
struct cpython_place {
	char function[CPYTHON_NAME_BYTES]; /* "Handler.get"; before 3.11: "get" */
	char file[1024];		   /* "": not known */
	uint32_t line;			   /* 0: not known */
};
/* false: it is no code object. */
bool cpython_place_of(struct cpython *python, uint64_t code, uint32_t offset,
		      struct cpython_place *place);

/* Roots of all threads of an interpreter; 0 or an error of the sink. */
int cpython_frame_roots(struct cpython *python, struct heap_sink *sink, uint64_t interpreter);
/* References of a frame or a generator, by the names of its variables; likewise. */
int cpython_frame_refer(struct cpython *python, struct heap_sink *sink, uint32_t node,
			uint64_t object, enum cpython_kind kind);

#endif
