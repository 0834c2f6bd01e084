/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the parts of the walker of Ruby's heaps (MRI 3.1, 3.3 and 3.4). Sources: gc.c (3.4:
 * gc/default/default.c), vm_core.h, internal/class.h, hash.h, id_table.c, shape.h, symbol.c,
 * variable.c, cont.c and st.h of these releases.
 *
 * An object is a slot of a heap page: two words of a header (flags, class) and what its type has.
 * A value (VALUE) is the address of a slot, or is no reference.
 */
#ifndef LEAKMON_RUNTIME_RUBY_H
#define LEAKMON_RUNTIME_RUBY_H

#include "base/hash.h"
#include "heap/allocators/data_modules.h"
#include "heap/allocators/heap_image.h"
#include "heap/runtime/heap_sink.h"
#include "heap/runtime/target_memory.h"

#define RUBY_KEY "ruby"
#define RUBY_NAME_BYTES 256

/* RBasic.flags. */
#define RUBY_TYPE(flags) ((unsigned)((flags)&0x1f))
#define RUBY_USER(n) (1ull << (12 + (n)))
#define RUBY_EXIVAR (1ull << 10)
#define RUBY_BITS(flags, first, count) ((flags) >> (12 + (first)) & ((1u << (count)) - 1))
#define RUBY_SHAPE(flags) ((uint32_t)((flags) >> 32))

enum ruby_type {
	RUBY_NONE,
	RUBY_OBJECT,
	RUBY_CLASS,
	RUBY_MODULE,
	RUBY_FLOAT,
	RUBY_STRING,
	RUBY_REGEXP,
	RUBY_ARRAY,
	RUBY_HASH,
	RUBY_STRUCT,
	RUBY_BIGNUM,
	RUBY_FILE,
	RUBY_DATA,
	RUBY_MATCH,
	RUBY_COMPLEX,
	RUBY_RATIONAL,
	RUBY_SYMBOL = 0x14,
	RUBY_IMEMO = 0x1a,
	RUBY_NODE = 0x1b,
	RUBY_ICLASS = 0x1c,
	RUBY_ZOMBIE = 0x1d,
	RUBY_MOVED = 0x1e,
};

/* internal/imemo.h: enum imemo_type. */
enum ruby_imemo {
	IMEMO_ENV,
	IMEMO_CREF,
	IMEMO_SVAR,
	IMEMO_THROW_DATA,
	IMEMO_IFUNC,
	IMEMO_MEMO,
	IMEMO_METHOD,
	IMEMO_ISEQ,
	IMEMO_TMPBUF,
	IMEMO_AST,
	IMEMO_PARSER,
	IMEMO_CALLINFO,
	IMEMO_CALLCACHE,
	IMEMO_CONSTCACHE,
	IMEMO_MAX_,
};
#define RUBY_IMEMO_KIND(flags) ((enum ruby_imemo)RUBY_BITS(flags, 0, 4))

/* RTypedData.type -> wrap_struct_name, as far as its references need a rule. */
enum ruby_data {
	DATA_OTHER = 1,
	DATA_PROC, /* and bindings */
	DATA_THREAD,
	DATA_FIBER,
	DATA_WEAK_MAP,
	DATA_WEAK_KEYS,
};

#define RUBY_FIBER_EC 80 /* rb_context_t: saved_ec */

/* Keys of struct ruby.classes that no class has. */
#define RUBY_KEY_HIDDEN 0x100 /* plus the type */
#define RUBY_KEY_IMEMO 0x200  /* plus its kind */
#define RUBY_KEY_GARBAGE 0x300

#define RUBY_SLOT_BYTES 40 /* the smallest; mark bits count in these */
#define RUBY_SLOT_MAX 640
#define RUBY_SLOT_WORDS (RUBY_SLOT_MAX / 8)
#define RUBY_MARK_WORDS 26

/* Distances in bytes, of one minor version. */
struct ruby_layout {
	uint16_t version; /* 0x0301 */
	/* rb_vm_t */
	uint16_t vm_objspace, vm_objects;	      /* vm_objects: global_object_list; 0: none */
	uint16_t vm_words_end;			      /* of what holds objects itself */
	uint16_t vm_weak_tables[4], vm_weak_id_table; /* 0: none */
	/* rb_objspace_t */
	uint16_t flags, mark_stack, sorted, finalizers, global_list, id_tables;
	bool sorted_array; /* a darray, which has its own count */
	/* struct heap_page */
	uint16_t page_start, mark_bits;
	uint32_t page_bytes;
	/* rb_ractor_t, rb_thread_t, rb_execution_context_t, rb_control_frame_t */
	uint16_t ractor_node, ractor_threads;
	uint16_t thread_ec, thread_status, thread_root_fiber, thread_bytes;
	uint16_t ec_bytes; /* before its registers */
	uint16_t frame_bytes;
	/* struct rb_iseq_constant_body */
	uint16_t local_table, local_count;
	/* rb_fiber_t */
	uint16_t fiber_first_proc, fiber_stack_pointer, fiber_stack;
	/* Slots. */
	uint64_t shared, singleton; /* flags of arrays and strings; of classes */
	bool shapes; /* names of instance variables are in shapes, class extensions in slots */
	uint64_t undefined; /* Qundef */
};

const struct ruby_layout *ruby_layout_at(size_t n); /* NULL: no more */

struct ruby_page {
	uint64_t body, first; /* of its slots */
	uint64_t address;     /* struct heap_page */
	uint16_t slot_bytes, slots;
};

struct ruby {
	struct target_memory *memory;
	const struct data_module *module; /* libruby, or the program */
	const struct ruby_layout *layout;
	uint64_t vm, objspace;
	uint64_t object_class; /* Object */
	uint64_t ids;	       /* global_symbols.ids */
	uint32_t last_serial;
	uint64_t symbol_table; /* global_symbols.str_sym */
	uint64_t shape_list;
	uint32_t shape_count;
	uint64_t classpath_id;	     /* of __classpath__; 0: not known yet */
	VEC(struct ruby_page) pages; /* by ascending address */
	struct hash classes;	     /* what makes a class -> its number plus 1 */
	struct hash data_kinds;	     /* rb_data_type_t -> enum ruby_data */
	struct hash transient;	     /* starts of memory in the transient heap that was added */
	struct hash generic;	     /* objects -> struct gen_ivtbl */
	struct hash shape_labels;    /* shapes -> place in labels plus 1 */
	struct hash struct_labels;   /* the same for classes of structs */
	VEC(uint32_t) labels;	     /* a count, followed by the labels */
	struct hash named;	     /* classes with a name, found by constants */
	uint64_t unread_pages;
	uint64_t free_bytes;
};

/* Finding: layout.c. */

/* The interpreter, by a layout that proves itself. 0; -ENOENT with *why; -ENOMEM. */
int ruby_open(struct target_memory *memory, struct ruby *ruby, char version[24], bool *untested,
	      const char **why);
void ruby_close(struct ruby *ruby);
/* The program or library that is the interpreter; NULL: none is. */
const struct data_module *ruby_find_module(const struct target_memory *memory);
/* Objects change their places just now. */
bool ruby_is_compacting(const struct ruby *ruby);
/* That of a process that stands: as struct heap_walker has it. */
bool ruby_moves(struct target_memory *memory);
/* Sees each aligned word that is not 0 of the interpreter's own variables, until it returns other
 * than 0. */
typedef int ruby_visit_word(void *context, uint64_t address, uint64_t word);
int ruby_visit_variables(const struct ruby *ruby, ruby_visit_word *visit, void *context);

/* Slots, strings, symbols, tables: objects.c. */

/* Whether a value is an object, and its flags. */
bool ruby_object(const struct ruby *ruby, uint64_t value, uint64_t *flags);
bool ruby_is_type(const struct ruby *ruby, uint64_t value, enum ruby_type type);
/* The elements of an array. False: it is none. */
bool ruby_array(const struct ruby *ruby, uint64_t array, uint64_t *items, uint64_t *count);
bool ruby_text(const struct ruby *ruby, uint64_t string, char *text, size_t size);
/* "@sessions"; false: no such ID, or no name in print. */
bool ruby_id_name(const struct ruby *ruby, uint64_t id, char name[RUBY_NAME_BYTES]);
bool ruby_serial_name(const struct ruby *ruby, uint64_t serial, char name[RUBY_NAME_BYTES]);
/* The ID of a symbol that stands in the program's code; 0: none, or one that was made of data. */
uint64_t ruby_symbol_id(uint64_t value);

/* struct st_table. */
struct ruby_table {
	uint64_t entries, bins;
	uint64_t first, bound;
	unsigned entry_power;
};
#define RUBY_TABLE_ENTRY 24
bool ruby_table_open(const struct ruby *ruby, uint64_t address, struct ruby_table *table);
/* False: it was deleted, or cannot be read. */
bool ruby_table_entry(const struct ruby *ruby, const struct ruby_table *table, uint64_t i,
		      uint64_t *key, uint64_t *value);

/* struct rb_id_table. */
struct ruby_id_table {
	uint64_t items, capacity, count;
};
bool ruby_id_table_open(const struct ruby *ruby, uint64_t address, struct ruby_id_table *table);
bool ruby_id_table_item(const struct ruby *ruby, const struct ruby_id_table *table, uint64_t i,
			uint64_t *serial, uint64_t *value);

/* Classes. */

/* Without singletons and included modules. 0: none. */
uint64_t ruby_real_class(const struct ruby *ruby, uint64_t class);
/* "Shop::Session"; false: it has no name. */
bool ruby_class_path(struct ruby *ruby, uint64_t class, char name[RUBY_NAME_BYTES]);
/* Where its extension is: struct rb_classext_struct. */
uint64_t ruby_class_extension(const struct ruby *ruby, uint64_t class);

/* The memory of a T_DATA object. */
uint64_t ruby_data_address(const struct ruby *ruby, uint64_t object);
enum ruby_data ruby_data_kind(struct ruby *ruby, uint64_t object);

/* Instance variables. */

/* Returns labels of an object's variables by their places: a count, followed by the labels; NULL if
 * unknown. */
const uint32_t *ruby_variable_labels(struct ruby *ruby, struct heap_sink *sink, uint64_t class,
				     uint64_t flags);
/* Sees the variables or constants of a class, until it returns other than 0. */
typedef int ruby_visit_variable(void *context, const char *name, uint64_t value);
int ruby_class_variables(struct ruby *ruby, uint64_t class, ruby_visit_variable *visit,
			 void *context);
int ruby_class_constants(struct ruby *ruby, uint64_t class, ruby_visit_variable *visit,
			 void *context);

/* References: references.c; roots: roots.c. As struct heap_walker has them. */
int ruby_refer(void *state, struct heap_sink *sink, uint32_t node);
int ruby_roots(void *state, struct heap_sink *sink);

/* What an execution context holds: see references.c. */
struct ruby_context {
	struct ruby *ruby;
	struct heap_sink *sink;
	uint64_t ec;
	uint32_t node;	    /* of what refers to it; BLOCK_NONE: its frames are roots */
	struct hash *named; /* values that variables have; NULL: that does not matter */
};
int ruby_context_refer(const struct ruby_context *context);
/* The name of a frame's method or block, and of its i-th local variable; false: none. */
bool ruby_code_name(const struct ruby *ruby, uint64_t code, char name[RUBY_NAME_BYTES]);

#endif
