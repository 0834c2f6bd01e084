/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the parts of the .NET walker. Sources: src/coreclr/vm/methodtable.h, class.h, field.h,
 * gc/gcinterface.dac.h and gc/handletablepriv.h of each version; ECMA-335 II.24 for metadata.
 */
#ifndef LEAKMON_RUNTIME_DOTNET_H
#define LEAKMON_RUNTIME_DOTNET_H

#include "heap/allocators/data_modules.h"
#include "heap/runtime/heap_sink.h"
#include "heap/runtime/target_memory.h"

/* Variables of the runtime, by address; 0: unknown. */
struct dotnet_variables {
	uint64_t free_table; /* address of the pointer to the MethodTable of free memory */
	uint64_t thread_store, domain;
	uint64_t code_map; /* the RangeSectionMap itself */
};

/* Offsets on the way from an address of code to its method: see code.c. */
struct dotnet_code_layout {
	uint32_t map_top; /* RangeSectionMap */
	/* RangeSectionFragment, RangeSection */
	uint32_t fragment_next, fragment_begin, fragment_end, fragment_section;
	uint32_t section_begin, section_flags, section_module, section_heap;
	uint32_t heap_start, heap_end, heap_base, heap_map;	    /* CodeHeapListNode */
	uint32_t header_method, header_unwind;			    /* RealCodeHeader */
	uint32_t method_token, method_index, method_flags;	    /* MethodDesc */
	uint32_t chunk_table, chunk_size, chunk_token, chunk_bytes; /* MethodDescChunk */
	uint32_t dynamic_name;					    /* DynamicMethodDesc */
	uint32_t token_bits; /* low bits of the token, in the method; the chunk has the others */
	uint32_t nibbles;    /* version of the nibble map: 1 or 2 */
};

/*
 * Offsets in the runtime's structures, in bytes. Most come from the runtime's own descriptor, if it
 * has one.
 */
struct dotnet_layout {
	uint32_t version; /* 8, 9 or 10 */
	/* MethodTable, to which the first word of an object points. */
	uint32_t table_flags, table_base_size, table_flags2, table_parent, table_module,
		table_auxiliary, table_class, table_instance;
	/* EEClass, ArrayClass */
	uint32_t class_table, class_fields, class_instance_fields, class_static_fields, class_rank;
	/* Module */
	uint32_t module_base, module_dynamic, module_assembly, module_types;
	uint32_t map_table, map_count; /* LookupMapBase */
	/* ThreadStore, Thread */
	uint32_t store_first, store_threads;
	uint32_t thread_next, thread_locals, thread_state, thread_object;
	uint32_t locals_context, context_inner; /* RuntimeThreadLocals, EEAllocContext */
	uint32_t context_pointer, context_limit;
	uint32_t dynamic_size, dynamic_data; /* DynamicMetadata */
	struct dotnet_code_layout code;
};

struct dotnet;

/*
 * Finds the layout of a runtime without descriptor: see layouts.c. `place` is the address of the
 * collector's entry in the debuggers' table: its neighbours are known. Returns false if the version
 * is unknown.
 */
bool dotnet_layout_find(struct target_memory *memory, uint64_t place, struct dotnet_layout *layout,
			struct dotnet_variables *variables);
/* Returns the offsets that no descriptor contains. */
struct dotnet_layout dotnet_layout_base(void);
/* Finds the code map by the debuggers' table, if it is not known yet. */
void dotnet_code_find(struct dotnet *dotnet);
/* Returns the address of a module's image; 0: none. */
uint64_t dotnet_image(struct target_memory *memory, const struct dotnet_layout *layout,
		      uint64_t module);

/*
 * Reads DotNetRuntimeContractDescriptor at `address`: *layout and *variables keep all values that
 * it does not contain. 0; -EBADMSG: no descriptor; -ENOMEM.
 */
int dotnet_descriptor_read(struct target_memory *memory, uint64_t address,
			   struct dotnet_layout *layout, struct dotnet_variables *variables);

/* MethodTable.flags */
#define TABLE_COMPONENTS 0x80000000u /* the low 16 bits are the size of a component */
#define TABLE_POINTERS 0x01000000u
#define TABLE_ARRAY_MASK 0x000c0000u
#define TABLE_ARRAY 0x00080000u
#define TABLE_VECTOR 0x00020000u /* a one-dimensional array from index 0 */
#define TABLE_GENERICS 0x00000030u

/* FieldDesc: its second word */
#define FIELD_BYTES 16
#define FIELD_TOKEN(word) ((uint32_t)(word)&0xffffff)
#define FIELD_IS_STATIC(word) ((word) >> 24 & 1)
#define FIELD_IS_OF_THREAD(word) ((word) >> 25 & 1)
#define FIELD_IS_IN_IMAGE(word) ((word) >> 26 & 1)
#define FIELD_OFFSET(word) ((uint32_t)((word) >> 32) & 0x7ffffff)
#define FIELD_TYPE(word) ((word) >> 59)
#define ELEMENT_STRUCTURE 0x11
#define ELEMENT_CLASS 0x12

#define OBJECT_FIELDS 8 /* offset of the first field, except in arrays */
#define OBJECT_BYTES_MIN 24
#define OBJECT_HEADER 8 /* before the object; counted in the size of the previous object */

/* A range of references in an object: `size` plus the object's size is its length. */
struct dotnet_series {
	uint32_t start;
	int64_t size; /* plus the object's size */
};
/* Components of an array: a number of references, then bytes without any. */
struct dotnet_item {
	uint32_t references, skip;
};
/* A reference field, or a structure that contains references. */
struct dotnet_field {
	uint32_t offset; /* in the object */
	uint32_t label;
};

/* A MethodTable. */
struct dotnet_type {
	uint64_t address, class_address;
	uint32_t flags, base_size;
	uint32_t class; /* class number in the sink; UINT32_MAX: none yet */
	bool described; /* the members below were read */
	bool is_free;	/* its "objects" are free memory */
	VEC(struct dotnet_series) series;
	VEC(struct dotnet_item) items; /* instead of series, from the start of the only one */
	VEC(struct dotnet_field) fields;
};

#define METADATA_TABLES 0x2d
/* The metadata of a module, in memory. */
struct dotnet_metadata {
	uint64_t module;  /* address of the runtime's Module */
	uint64_t strings; /* 0: none, or unreadable */
	uint32_t strings_size;
	bool wide_strings;
	uint64_t tables[METADATA_TABLES];
	uint32_t rows[METADATA_TABLES], row_bytes[METADATA_TABLES];
};

struct dotnet_context {
	uint64_t pointer, limit; /* free memory for new objects */
};

/* A dependent handle: the first object holds the second. */
struct dotnet_dependent {
	uint64_t first, second;
};

struct dotnet_range {
	uint64_t start, end;
};

/* A precompiled method, and its first function. */
struct dotnet_entry {
	uint32_t function, row;
};
/* The image of a module, with its code. */
struct dotnet_precompiled {
	uint64_t module, base;
	uint64_t functions, entries; /* tables */
	uint32_t count;		     /* of functions */
	uint32_t stamp;
	VEC(struct dotnet_entry) list; /* by function; empty: no such code */
};

#define DOTNET_THREAD_NAME_BYTES 64

/* A thread of the runtime. */
struct dotnet_thread {
	uint64_t address;
	uint64_t statics; /* an array of arrays, by class; 0: none */
	uint32_t classes;
	char name[DOTNET_THREAD_NAME_BYTES]; /* numbers replaced by #; "": unnamed */
};

#define DOTNET_GENERATIONS 5 /* 0 to 2, large objects, pinned objects */

/* GcDacVars: after versions, the size of a generation and their number, addresses of variables. */
enum collector_variable {
	COLLECTOR_TABLE = 3,	 /* generation_table */
	COLLECTOR_EPHEMERAL = 7, /* ephemeral_heap_segment */
	COLLECTOR_ALLOCATED = 12,
	COLLECTOR_QUEUE = 15, /* finalize_queue */
	COLLECTOR_HEAPS = 19, /* n_heaps */
	COLLECTOR_HEAP_LIST = 20,
	COLLECTOR_INVALID = 21,
	COLLECTOR_HANDLES = 26,
	COLLECTOR_HEAP_FIELDS = 27, /* arrays of offsets */
	COLLECTOR_GENERATION_FIELDS = 28,
};

struct dotnet {
	struct target_memory *memory;
	const struct data_module *module; /* the module that contains the runtime */
	struct dotnet_layout layout;
	struct dotnet_variables variables;
	uint64_t collector; /* GcDacVars */
	uint64_t signature; /* of the ranges of objects that survived a collection */
	uint64_t last_object;
	size_t report; /* place in sink->reports */
	uint64_t generation_size;
	uint32_t handle_kinds;	/* 0: not read yet */
	struct hash type_index; /* address -> place in types plus 1; TYPE_IS_NONE: no type */
	VEC(struct dotnet_type) types;
	uint32_t first_class;	    /* first class number in the sink */
	VEC(uint32_t) class_types;  /* by class - first_class: place in types */
	struct hash metadata_index; /* module -> place in metadata plus 1 */
	VEC(struct dotnet_metadata) metadata;
	VEC(struct dotnet_context) contexts; /* by ascending address */
	VEC(struct dotnet_thread) threads;
	struct hash ended;	  /* object of an ended thread -> the runtime's Thread */
	uint32_t thread_name;	  /* offset of the name in a thread's object; 0: not read yet */
	uint32_t ended_class;	  /* of the sink; UINT32_MAX: none yet */
	struct hash module_index; /* index of `modules` */
	VEC(uint64_t) modules;
	VEC(struct dotnet_range) frozen; /* of objects that are never freed: literals, types */
	VEC(uint64_t) queues;		 /* CFinalize of each heap */
	VEC(struct dotnet_dependent) dependents; /* by the first one */
	struct hash statics;			 /* classes whose statics are already roots */
	struct hash instances; /* .NET 8: class -> its separate array of statics */
	/* Addresses of static fields that are roots, ascending: the arrays that contain them do not
	 * hold their values. */
	VEC(uint64_t) slots;
	VEC(struct dotnet_precompiled) precompiled; /* see precompiled.c */
	/* Limits for all types together, whatever they claim: of named fields, of series. */
	uint32_t fields_left, series_left;
	uint32_t entries_left; /* limit of precompiled methods */
};

/* Takes one unit of a limit; returns false if it is used up. */
static inline bool dotnet_take(uint32_t *left)
{
	return *left ? (--*left, true) : false;
}

/* Finds the runtime and its collector in modules with the variables g_dacTable and
 * DotNetRuntimeContractDescriptor. 0, or an error with *why. */
int dotnet_find(struct dotnet *dotnet, char version[24], const char **why);
/* Frees everything that dotnet_find() found. */
void dotnet_free(struct dotnet *dotnet);

/* Returns the address, or the value, of a variable of the collector. */
uint64_t dotnet_collector_place(struct dotnet *dotnet, enum collector_variable variable);
uint64_t dotnet_collector_word(struct dotnet *dotnet, enum collector_variable variable);

/* Returns whether a collection is under way, or has moved objects since the walk. */
bool dotnet_was_collected(struct dotnet *dotnet);

/* Types and their names: see types.c. */

/* Returns the type at an address; NULL: none, or out of memory. Valid until the next call. */
struct dotnet_type *dotnet_type_at(struct dotnet *dotnet, uint64_t address);
#define DOTNET_NAME_BYTES 512
/* Writes "Namespace.Class<Argument>[]" of a TypeHandle. */
void dotnet_type_name(struct dotnet *dotnet, uint64_t handle, char name[DOTNET_NAME_BYTES]);
/* Writes the name of a field, by the second word of its FieldDesc; "" if it cannot be read. */
void dotnet_field_name(struct dotnet *dotnet, uint64_t module, uint64_t field,
		       char name[DOTNET_NAME_BYTES]);
/* Writes the name of a type by its row number in a module, without arguments; "": none. */
void dotnet_row_name(struct dotnet *dotnet, uint64_t module, uint32_t row,
		     char name[DOTNET_NAME_BYTES]);
/* Returns the row number of a type in the metadata of its module; 0: none. */
uint32_t dotnet_type_row(struct dotnet *dotnet, uint64_t table);
/* Returns the Module with the metadata of a type, by its MethodTable. */
uint64_t dotnet_type_module(struct dotnet *dotnet, uint64_t table);

/*
 * Variants for .NET 8: see layout_8.c. They return the address of a module's image; the number of a
 * class's fields; the module of a MethodTable; its row number; that of a field; 0: none.
 * dotnet_8_read_instances() reads the statics of all classes, once modules are known: 0 or -ENOMEM.
 * The last two return a class's array of references, or a thread's.
 */
uint64_t dotnet_8_image(struct target_memory *memory, uint64_t module);
uint32_t dotnet_8_fields(struct target_memory *memory, uint64_t class, bool statics);
uint64_t dotnet_8_module(struct dotnet *dotnet, uint64_t table);
uint32_t dotnet_8_token(uint64_t flags2);
uint32_t dotnet_8_field_token(uint64_t word);
int dotnet_8_read_instances(struct dotnet *dotnet);
uint64_t dotnet_8_statics(struct dotnet *dotnet, uint64_t table);
uint64_t dotnet_8_thread_statics(struct dotnet *dotnet, uint64_t thread, uint64_t table);

/* Returns the metadata of a module: see metadata.c. NULL: unreadable, or out of memory. */
const struct dotnet_metadata *dotnet_metadata_of(struct dotnet *dotnet, uint64_t module);
/* Parts of the name of a type, by its row number. dotnet_metadata_type() returns false if there is
 * none. */
struct dotnet_type_row {
	char space[DOTNET_NAME_BYTES / 2], name[DOTNET_NAME_BYTES / 2];
	uint32_t enclosing; /* row; 0: none */
};
bool dotnet_metadata_type(struct dotnet *dotnet, const struct dotnet_metadata *metadata,
			  uint32_t row, struct dotnet_type_row *type);
bool dotnet_metadata_field(struct dotnet *dotnet, const struct dotnet_metadata *metadata,
			   uint32_t row, char name[DOTNET_NAME_BYTES]);

/* Writes the name of a method by its row number; returns false if there is none, or it does not
 * belong to the type of row number `type`. */
bool dotnet_metadata_method(struct dotnet *dotnet, const struct dotnet_metadata *metadata,
			    uint32_t type, uint32_t row, char name[DOTNET_NAME_BYTES]);

/* Returns the type that declares the method of this row number; 0: none. */
uint32_t dotnet_metadata_type_of(struct dotnet *dotnet, const struct dotnet_metadata *metadata,
				 uint32_t method);

/* Returns the row number of the method whose precompiled code contains an address; 0: none. The
 * tables survive dotnet_free(). */
uint32_t dotnet_precompiled_method(struct dotnet *dotnet, uint64_t module, uint64_t address);
void dotnet_precompiled_begin(struct dotnet *dotnet);
void dotnet_precompiled_free(struct dotnet *dotnet);

/* Returns the number of fields of an EEClass's objects, or of its static fields. */
uint32_t dotnet_fields(struct dotnet *dotnet, uint64_t class, bool statics);
/* Returns the number of instance fields that a class adds to its base class. */
uint32_t dotnet_own_fields(struct dotnet *dotnet, const struct dotnet_type *type);

/* Writes the name of a thread: see threads.c. */
void dotnet_thread_name(struct dotnet *dotnet, uint64_t thread,
			char name[DOTNET_THREAD_NAME_BYTES]);

/*
 * Adds the handles that are roots; others are kept for dotnet_refer(). See handles.c. 0 or -ENOMEM.
 */
int dotnet_add_handles(struct dotnet *dotnet, struct heap_sink *sink);

extern const struct code_reader dotnet_code_reader;

/*
 * References and roots: see references.c, roots.c, and refer() and roots() of struct heap_walker.
 */
int dotnet_refer(void *state, struct heap_sink *sink, uint32_t node);
int dotnet_roots(void *state, struct heap_sink *sink);

#endif
