/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the parts of the GHC walker: programs of Haskell, 64-bit, not built for profiling.
 * Sources: rts/include/rts/storage/{Block,ClosureTypes,Closures,InfoTables,TSO}.h and rts/Heap.c
 * of 8.8 to 9.10.
 */
#ifndef LEAKMON_RUNTIME_GHC_H
#define LEAKMON_RUNTIME_GHC_H

#include "base/hash.h"
#include "heap/allocators/data_modules.h"
#include "heap/runtime/heap_sink.h"
#include "heap/runtime/target_memory.h"

#define GHC_KEY "ghc"

#define GHC_WORD 8
#define GHC_BLOCK 4096ull
#define GHC_MEGABLOCK (1ull << 20)
/* Start of the reservation for all megablocks: MBlock.c, osReserveHeapMemory(). */
#define GHC_HEAP 0x4200000000ull
#define GHC_HEAP_BYTES (1ull << 40)
#define GHC_NAME_BYTES 256

/* Block.h: bdescr. The descriptors of a megablock's blocks are at its start. */
#define GHC_DESCRIPTOR 64
#define GHC_FIRST_BLOCK 4
#define GHC_BLOCKS_MAX (1u << 28)
struct ghc_descriptor {
	uint64_t start, free, link, back, generation;
	uint16_t generation_number, destination, node, flags;
	uint32_t blocks, padding[3];
};
_Static_assert(sizeof(struct ghc_descriptor) == GHC_DESCRIPTOR, "as bdescr");

/* ClosureTypes.h: types with special treatment. */
enum ghc_closure_type {
	GHC_CONSTR = 1,
	GHC_CONSTR_NOCAF = 7,
	GHC_THUNK = 15,
	GHC_THUNK_SELECTOR = 22,
	GHC_AP_STACK = 26,
	GHC_IND = 27,
	GHC_IND_STATIC = 28,
	GHC_RET_SMALL = 30,
	GHC_RET_BIG = 31,
	GHC_UPDATE_FRAME = 33,
	GHC_CATCH_FRAME = 34,
	GHC_UNDERFLOW_FRAME = 35,
	GHC_STOP_FRAME = 36,
	GHC_BLACKHOLE = 38,
	GHC_ARR_WORDS = 42,
	GHC_WEAK = 49,
	GHC_TSO = 52,
	GHC_STACK = 53,
	GHC_ATOMICALLY_FRAME = 55,
	GHC_CATCH_RETRY_FRAME = 56,
	GHC_CATCH_STM_FRAME = 57,
	GHC_CLOSURE_TYPES = 64,
};

/* Layouts of closures by type. */
enum ghc_shape {
	SHAPE_NONE,    /* no such closure is in the heap */
	SHAPE_PAYLOAD, /* pointers, then other words, counted by its info table */
	SHAPE_THUNK,   /* SHAPE_PAYLOAD behind a word for the result */
	SHAPE_SELECTOR,
	SHAPE_AP, /* an unevaluated application */
	SHAPE_PAP,
	SHAPE_AP_STACK,
	SHAPE_INDIRECTION, /* may have been larger before: stale words follow it */
	SHAPE_BYTES,
	SHAPE_ARRAY,
	SHAPE_SMALL_ARRAY,
	SHAPE_WEAK,
	SHAPE_TSO,
	SHAPE_STACK,
	SHAPE_BCO,
	SHAPE_RECORD, /* of transactions */
	SHAPE_MAX_
};

/* An info table: the same for all closures that point to it. */
struct ghc_info {
	uint64_t address;
	uint32_t class;
	uint32_t pointers, others; /* words of the payload */
	uint8_t type, shape;
};

/* Used memory of some blocks, copied. */
struct ghc_span {
	uint64_t start, end;
	uint64_t copied; /* bytes copied from its start on */
	const unsigned char *bytes;
	uint32_t block_bytes; /* of a segment; 0: closures lie one after the other */
};

/* The value of a weak pointer, held by its key. */
struct ghc_weak {
	uint64_t value;
	size_t next; /* next value of the same key: index plus 1; 0: none */
};

/* The entries or the texts of a table of lines. */
struct ghc_line_part {
	uint64_t start, size;	 /* size: uncompressed */
	unsigned char *unpacked; /* owned; NULL: not compressed */
};

/* Lines of one module's info tables. */
struct ghc_line_table {
	const struct ghc_line_layout *layout;
	uint64_t codes, count; /* address and number of info tables' codes */
	struct ghc_line_part entries, texts;
	uint32_t module; /* offset in texts, if all entries share a module */
};
#define GHC_LINE_BYTES 640

#define GHC_GENERATIONS_MAX 16

struct ghc {
	struct target_memory *memory;
	const struct data_module *module; /* contains the symbols; NULL: no module does */
	struct image own;
	const struct symbol_table *symbols;
	uint64_t heap_start, heap_end; /* of the reservation */
	VEC(struct ghc_span) spans;    /* by ascending address */
	VEC(void *) copies;	       /* owned */
	VEC(struct ghc_info) infos;
	struct hash info_index; /* address of an info table -> place in infos plus 1 */
	struct hash classes;	/* name -> class plus 1 */
	VEC(struct ghc_line_table) line_tables;
	uint64_t unpacked, entries_seen; /* bytes and entries of line tables: see lines.c */
	struct hash lines;  /* code of an info table -> number of its table, index in it */
	struct hash unused; /* descriptors of empty blocks of nurseries */
	struct hash listed; /* words of mutable lists that point to programs' data */
	VEC(struct ghc_weak) weaks;
	struct hash weak_keys; /* key node -> index of its first value plus 1 */
	struct hash nurseries; /* descriptors of nurseries' first blocks */
	uint64_t generations[GHC_GENERATIONS_MAX];
	uint64_t words[GHC_GENERATIONS_MAX]; /* words in their blocks, without large objects */
	uint64_t heap_bytes;
	uint64_t nonsense;
	bool unbalanced; /* sizes of generations contradict their counts */
	bool non_moving; /* segments of the non-moving collector exist */
	bool knows_allocators;
	uint64_t allocators; /* address of the sizes of segments' blocks; 0: in descriptors */
};

/* Returns whether a mapping belongs to the heap. */
bool ghc_is_heap(const struct ghc *ghc, const struct mapping *mapping);

/* Returns the address of a symbol; 0: no such symbol. */
uint64_t ghc_symbol(const struct ghc *ghc, const char *name);
/* Writes "Main.cache" for Main_cache_closure; returns false if there is no name. *exact: the name
 * is that of the address; otherwise that of the next named code. */
bool ghc_name_at(const struct ghc *ghc, uint64_t address, char name[GHC_NAME_BYTES], bool *exact);

/* Writes the name of a variable of any module, such as a library with the program's code; returns
 * false if there is none. */
bool ghc_variable_at(const struct ghc *ghc, uint64_t address, char name[GHC_NAME_BYTES]);
/* Writes a place that is the same in every run, "libHSbase.so+0x1230"; the address if it is in no
 * file. */
void ghc_place_name(const struct ghc *ghc, uint64_t address, char name[GHC_NAME_BYTES]);

/*
 * Finds the info table at an address, with its class. 0; -ENOENT: no closure's info table; -ENOMEM.
 */
int ghc_info_at(struct ghc *ghc, struct heap_sink *sink, uint64_t address,
		const struct ghc_info **info);
/* Returns whether an address may be that of an info table. */
bool ghc_is_code(const struct ghc *ghc, uint64_t address);
/* Returns the size of a closure in words, from its first `count` words; 0: impossible. */
uint64_t ghc_closure_words(const struct ghc_info *info, const uint64_t *words, size_t count);

/* Reads the descriptor of a group; returns false if it does not describe its own place. */
bool ghc_read_descriptor(const struct ghc *ghc, uint64_t address, struct ghc_descriptor *read);
/* Finds the nurseries, and their empty blocks. 0 or -ENOMEM. */
int ghc_find_nurseries(struct ghc *ghc);

#define GHC_HEAD_WORDS 5 /* enough words to compute any closure's size */

/* Segments of the non-moving collector. */
#define GHC_SEGMENT (8 * (uint32_t)GHC_BLOCK)
/* Finds the data for ghc_segment_block_bytes(). 0 or -ENOMEM. */
int ghc_find_allocators(struct ghc *ghc);
/* Returns the size of a segment's blocks by a word of its descriptor; 0: impossible. */
uint32_t ghc_segment_block_bytes(const struct ghc *ghc, uint64_t said);
/* Returns the used bytes of a segment, from its start on. */
uint64_t ghc_segment_used(const unsigned char *bytes, uint32_t block_bytes);
/* Returns whether the non-moving collector is still marking; false without symbols. */
bool ghc_is_marking(const struct ghc *ghc);
int ghc_walk_segment(struct ghc *ghc, struct heap_sink *sink, const struct ghc_span *span);

/* Finds the lines of info tables. 0 or -ENOMEM. */
int ghc_find_lines(struct ghc *ghc);
void ghc_forget_lines(struct ghc *ghc);
/* Writes the source of an info table as recorded by the program, "Leak.hs:38:58-91 in
 * Main.mkSession :: Item"; returns false if unknown. */
bool ghc_line(const struct ghc *ghc, uint64_t code, char line[GHC_LINE_BYTES]);

/* Returns the copied words from an address on, and their number; NULL: not copied. */
const uint64_t *ghc_copied(const struct ghc *ghc, uint64_t address, size_t *count);

/* StgTSO, in words. Since 9.10 members behind the state are one word later. */
#define GHC_TSO_STATE 4 /* the lower quarter */
#define GHC_TSO_ID 6
/* Returns this shift, in words. */
size_t ghc_thread_shift(const struct ghc *ghc, const uint64_t *words, size_t count);

/* Returns the node of a weak pointer's key, by the words of its closure; BLOCK_NONE: the key is
 * immortal. */
uint32_t ghc_weak_key(const struct heap_sink *sink, const uint64_t *words, size_t count);
#define GHC_WEAK_KEY 2
#define GHC_WEAK_VALUE 3

/* Adds roots and references: see roots() and refer() of struct heap_walker. */
int ghc_roots(void *state, struct heap_sink *sink);
int ghc_refer(void *state, struct heap_sink *sink, uint32_t node);

/*
 * Notes a word of a block without closures, which may be a list of mutable objects. 0 or -ENOMEM.
 */
int ghc_add_listed(struct ghc *ghc, uint64_t word);

/* Calls visit() for each nonzero aligned word of the programs' data. 0 or its error. */
typedef int ghc_visit_word(void *context, uint64_t address, uint64_t word);
int ghc_visit_data(const struct ghc *ghc, ghc_visit_word *visit, void *context);

#endif
