/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the parts of the PHP walker: 8.2 and 8.4 without thread safety (NTS), on 64-bit
 * machines. Sources, of 8.2.36 and 8.4.27: Zend/zend_globals.h, zend_types.h, zend_compile.h,
 * zend.h, zend_generators.h, zend_fibers.h; zend_alloc.c, zend_closures.c, zend_gc.c and
 * zend_weakrefs.c for structures without a header.
 *
 * A block is memory handed out by zend_mm. Its class is known by references to it: from the list of
 * all objects (EG(objects_store)), or from a value with the type of its target.
 */
#ifndef LEAKMON_RUNTIME_PHP_H
#define LEAKMON_RUNTIME_PHP_H

#include "base/hash.h"
#include "heap/allocators/data_modules.h"
#include "heap/runtime/heap_sink.h"
#include "heap/runtime/target_memory.h"

#define PHP_KEY "php"
#define PHP_NAME_BYTES 256
#define PHP_CHUNK_BYTES (2ull << 20) /* ZEND_MM_CHUNK_SIZE */
#define PHP_CHUNK_HEAP 64	     /* zend_mm_chunk.heap_slot, in the main chunk */

/* zval.u1.v.type */
enum php_type {
	PHP_STRING = 6,
	PHP_ARRAY = 7,
	PHP_OBJECT = 8,
	PHP_RESOURCE = 9,
	PHP_REFERENCE = 10,
	PHP_INDIRECT = 12, /* leads to another zval */
	PHP_POINTER = 13,
};
#define PHP_REFCOUNTED 0x100u /* zval.u1.type_info: the target counts its references */
#define PHP_ZVAL_BYTES 16

/* struct _zend_executor_globals, in all versions */
#define PHP_SYMBOLS 304
#define PHP_FUNCTIONS 432
#define PHP_CLASSES 440
#define PHP_CONSTANTS 448
#define PHP_STACK 472
#define PHP_FRAME 488
/* zend_execute_data; zend_op */
#define FRAME_CALL 8
#define FRAME_FUNCTION 24
#define FRAME_THIS 32
#define FRAME_INFO 40	   /* its type, with the flags of the call */
#define FRAME_ARGUMENTS 44 /* number of arguments */
#define FRAME_PREVIOUS 48
#define FRAME_SYMBOLS 56
#define FRAME_SLOTS 80
#define PHP_OPCODE_BYTES 32
/* zend_op_array; the first members are shared with functions written in C */
#define FUNCTION_INTERNAL 1
#define FUNCTION_FLAGS 4
#define FUNCTION_NAME 8
#define FUNCTION_SCOPE 16
#define FUNCTION_ARGUMENTS 32
/* zend_refcounted_h */
#define COUNTED_INFO 4
#define COUNTED_IMMUTABLE (1u << 6)
/* zend_objects_store; zend_object; and the members of closures and generators behind it */
#define STORE_TOP 8
#define STORE_SIZE 12
#define STORE_FREE 1u /* a bucket's lowest bit */
#define OBJECT_HANDLE 8
#define OBJECT_CLASS 16
#define OBJECT_PROPERTIES 32
#define OBJECT_TABLE 40
#define OBJECT_OWN 56 /* zend_closure.func, zend_generator.execute_data */
/* zend_class_entry; zend_property_info */
#define CLASS_INTERNAL 1
#define CLASS_USER 2
#define CLASS_NAME 8
#define CLASS_PARENT 16
#define CLASS_COUNT 32
#define CLASS_STATIC_COUNT 36
#define CLASS_STATICS 56
#define CLASS_METHODS 64
#define CLASS_PROPERTIES 120
#define CLASS_CONSTANTS 176
#define CLASS_MUTABLE 232
#define PROPERTY_FLAGS 4
#define PROPERTY_CLASS 32
#define PROPERTY_STATIC (1u << 4)
#define PHP_COUNT_MAX (1u << 14) /* limit of a class's properties, a function's variables */

/* Offsets that differ between versions, in bytes. Common ones are beside their readers. */
struct php_layout {
	uint32_t api; /* ZEND_MODULE_API_NO: one for each minor version */
	/* struct _zend_executor_globals; compiler_globals.map_ptr_base */
	uint16_t globals_bytes, error_handler, exception_handler, objects, exception, active,
		weakrefs, map_base;
	/* struct _zend_mm_heap */
	uint16_t free_slots, real_size;
	/* zend_op_array */
	uint16_t temporaries, variable_count, opcode_count, opcodes, statics, variables,
		range_count, ranges, file, line, function_bytes;
	uint16_t fiber_frame; /* zend_fiber.execute_data */
};

/* A block of zend_mm; in php->blocks by ascending address. */
#define PHP_BLOCK_OWN UINT32_MAX	 /* of no known class */
#define PHP_BLOCK_FREE (UINT32_MAX - 1)	 /* not handed out */
#define PHP_BLOCK_TAKEN (UINT32_MAX - 2) /* its words are read by its owner */
#define PHP_BLOCK_UNIT 8
struct php_block {
	uint64_t start;
	uint32_t units; /* of PHP_BLOCK_UNIT bytes */
	uint32_t class; /* a class number of the sink, or one of these */
};

enum php_kind {
	PHP_KIND_STRING,
	PHP_KIND_ARRAY,
	PHP_KIND_REFERENCE,
	PHP_KIND_RESOURCE,
	PHP_KIND_OBJECT, /* this and all further kinds are objects */
	PHP_KIND_CLOSURE,
	PHP_KIND_GENERATOR,
	PHP_KIND_FIBER,
	PHP_KIND_WEAK_REFERENCE,
	PHP_KIND_WEAK_MAP,
};

struct php_class {
	enum php_kind kind;
	bool precise;	 /* all of its references are known */
	uint16_t offset; /* of the zend_object in its block */
	uint32_t count;	 /* declared properties */
	uint64_t *names; /* names of the properties: addresses of strings, 0: unknown; owned */
};

struct php {
	struct target_memory *memory;
	const struct data_module *module;
	uint64_t globals, compiler; /* executor_globals, compiler_globals */
	const struct php_layout *layout;
	uint64_t heap, main_chunk, huge_list;
	uint32_t page_map;    /* zend_mm_chunk.map, in bytes from a chunk's start */
	uint64_t collector;   /* zend_gc_globals; 0: not found */
	VEC(uint64_t) chunks; /* by ascending address */
	VEC(struct php_block) blocks;
	VEC(struct php_class) classes; /* by number, from first_class on */
	uint32_t first_class;
	uint32_t kinds[PHP_KIND_OBJECT]; /* their class numbers */
	struct hash class_index;	 /* key of a class -> its number plus 1 */
	struct hash labels;		 /* addresses of names -> label plus 1 */
	VEC(uint32_t) queue;		 /* blocks with references to follow */
	VEC(uint64_t) claimed;		 /* addresses in memory whose references are known */
	size_t report;			 /* place in sink->reports */
	uint64_t nonsense;
};

static inline uint64_t php_word(const struct php *php, uint64_t address)
{
	return target_word(php->memory, address);
}

/* Returns 4 bytes, or 0 if they cannot be read. */
uint32_t php_half(const struct php *php, uint64_t address);
/*
 * Returns the pointer that an odd map_ptr stands for (zend_map_ptr.h); any other pointer unchanged.
 */
uint64_t php_map_pointer(const struct php *php, uint64_t place);
/* Reads the name of a class, a function, a variable or a file; returns false if it is no string, or
 * not printable. */
bool php_text(const struct php *php, uint64_t string, char text[PHP_NAME_BYTES]);
/* Writes "Worker::run()", "{closure} app.php:13" or "main script app.php". */
void php_function_name(const struct php *php, uint64_t function, char name[PHP_NAME_BYTES]);

/* Finds zend_mm's heap; reads all blocks into php->blocks, and the report's figures: heap.c. 0;
 * -EAGAIN, or -ENOENT with *why; -ENOMEM. */
int php_find_heap(struct php *php, const char **why);
int php_read_blocks(struct php *php, struct walk_report *report);
/* Returns the block that contains an address; NULL: none, or a free one. */
struct php_block *php_block_at(const struct php *php, uint64_t address);
/* Returns the heap's share of a mapping: see share() of struct runtime. */
double php_chunks_share(const void *state, const struct mapping *mapping, struct peek *peek);

/* values.c */

struct php_value {
	uint64_t value;
	uint32_t type; /* with its flags */
};
struct php_table {
	uint64_t block; /* block with its data */
	uint64_t data;
	uint32_t used;
	bool packed;
};
/* Opens a zend_array; returns false if it is none. An array without elements has block 0. */
bool php_table_open(const struct php *php, uint64_t address, struct php_table *table);
/* Calls visit() for each element, with the address of its key's string; 0: no string key. Returns
 * the first nonzero result of visit(), or 0. */
typedef int php_visit_element(void *context, const struct php_value *value, uint64_t index,
			      uint64_t key);
int php_table_visit(const struct php *php, const struct php_table *table, php_visit_element *visit,
		    void *context);
/* Returns the value in a zval; without a type if it cannot be read. */
struct php_value php_value_at(const struct php *php, uint64_t place);
/* Returns the target of a value, also through PHP_INDIRECT; 0: no counted target. */
uint64_t php_value_target(const struct php *php, struct php_value value);

/* Visitors of references. */
#define PHP_NAME_VARIABLE 1ull	/* combined with a name's address: a variable */
#define PHP_NAME_THIS 3ull	/* instead of a name: $this */
#define PHP_NAME_TEMPORARY 5ull /* instead of a name: a temporary value */
#define PHP_NAME_ARGUMENT 7ull
#define PHP_NAME_CLOSURE 9ull /* instead of a name: the running closure; the last of these */
#define PHP_NO_INDEX UINT64_MAX
struct php_visitor {
	/* `name`: one of these, or the address of a property's name, or 0 */
	int (*refer)(void *context, uint64_t to, uint64_t name, uint64_t index);
	int (*weak)(void *context, uint64_t to); /* NULL: weak references are ignored */
	/* Memory that belongs to the block, and whose references are all known. */
	int (*part)(void *context, uint64_t address);
	void *context;
};
int php_visit_references(const struct php *php, const struct php_class *class, uint64_t block,
			 const struct php_visitor *visitor);
/* Visits the references of one frame: variables, arguments and temporary values. *previous: the
 * caller's frame. */
int php_visit_frame(const struct php *php, uint64_t frame, const struct php_visitor *visitor,
		    uint64_t *previous);

/* Finds classes for all blocks reachable from known values. 0 or -ENOMEM. */
int php_find_classes(struct php *php, struct heap_sink *sink);
/* Adds the references of a node: see refer() of struct heap_walker. */
int php_refer(void *state, struct heap_sink *sink, uint32_t node);

/* roots.c */

/* Visitors of variables that hold something, by name. */
struct php_root_visitor {
	int (*root)(void *context, const char *name, enum managed_rank rank, uint64_t to);
	/* An address in memory that contains such variables, and holds nothing else. */
	int (*claim)(void *context, uint64_t address);
	void *context;
};
int php_visit_roots(const struct php *php, const struct php_root_visitor *visitor);
int php_roots(void *state, struct heap_sink *sink);

#endif
