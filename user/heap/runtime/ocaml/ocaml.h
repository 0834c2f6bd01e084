/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the parts of the OCaml walker: native code, 4.10 to 4.14, 5.0 to 5.4. Sources:
 * runtime/caml/mlvalues.h, major_gc.h, domain_state.tbl and finalise.c of 4.13;
 * runtime/shared_heap.c, domain.c and caml/fiber.h of 5.0 to 5.4.
 */
#ifndef LEAKMON_RUNTIME_OCAML_H
#define LEAKMON_RUNTIME_OCAML_H

#include "base/hash.h"
#include "heap/allocators/data_modules.h"
#include "heap/runtime/heap_sink.h"
#include "heap/runtime/target_memory.h"

#define OCAML_KEY "ocaml"

/* The block of a value: a header, then `size` words. A value points behind the header. */
#define HEADER_BYTES 8
#define HEADER_TAG(header) ((unsigned)((header)&0xff))
#define HEADER_COLOUR(header) ((unsigned)((header) >> 8 & 3))
#define HEADER_SIZE(header) ((header) >> 10)

enum ocaml_colour { COLOUR_WHITE, COLOUR_GRAY, COLOUR_BLUE, COLOUR_BLACK };

enum ocaml_tag {
	TAG_CONTINUATION = 245, /* since 5.0; a constructor's before */
	TAG_LAZY = 246,
	TAG_CLOSURE = 247,
	TAG_OBJECT = 248,
	TAG_INFIX = 249,
	TAG_FORWARD = 250,
	TAG_ABSTRACT = 251,
	TAG_STRING = 252,
	TAG_DOUBLE = 253,
	TAG_DOUBLE_ARRAY = 254,
	TAG_CUSTOM = 255,
};

/* Caml_state, in words. 4.10 and 4.11 have no mark stack in it, and all members behind that are one
 * word earlier. */
#define STATE_BYTES (64 * 8)
#define STATE_YOUNG_START 6
#define STATE_YOUNG_END 7
#define STATE_IN_MINOR_COLLECTION 11
#define STATE_REMEMBERED 13 /* this and the next two: tables of pointers to young values */
#define STATE_MARK_STACK 16
#define STATE_EXCEPTION 24
#define STATE_LAST_EXCEPTION 32

struct ocaml_chunk {
	uint64_t start, end;
};

/* A block, with copies of its first fields. */
#define OCAML_HEAD_FIELDS 3
struct ocaml_block {
	uint64_t address, header;
	uint64_t fields[OCAML_HEAD_FIELDS];
	size_t count; /* number of valid fields */
};

/* A domain of 5.x, with its heap and its minor heap. */
struct ocaml_domain {
	uint64_t state, heap;
	struct ocaml_chunk young;
};
/* A return address in OCaml code, and its frame descriptor. */
struct ocaml_frame {
	uint64_t address, descriptor;
};
#define OCAML_DOMAINS_MAX 4096
#define OCAML_POOL_BYTES 32768ull

struct ocaml {
	struct target_memory *memory;
	const struct data_module *module; /* the program */
	struct image own;
	const struct symbol_table *symbols; /* of the program */
	uint64_t state;			    /* *Caml_state */
	bool gray;			    /* Caml_state has no mark stack: 4.10 and 4.11 */
	VEC(struct ocaml_chunk) chunks;	    /* of the major heap; by ascending address */
	struct ocaml_chunk young;
	int32_t phase;			  /* of the major collector */
	uint64_t sweep_at;		  /* start of the current slice of sweeping */
	bool unswept;			  /* blocks from here on are unswept: white ones are free */
	VEC(struct ocaml_domain) domains; /* of 5.x, which uses neither `chunks` nor `young` */
	struct hash pools;		  /* 5.x: pools already read */
	const struct ocaml5_layout *layout; /* see ocaml5.c */
	uint64_t minor_heaps; /* 5.x: the address of caml_minor_heaps_start; 0: no such symbol */
	uint32_t guesses;     /* 5.x: pools examined to find a stripped program's */
	uint64_t garbage;     /* colour of free blocks in 5.x */
	VEC(uint64_t) doomed; /* see ocaml_add_garbage() */
	VEC(struct ocaml_frame) frames; /* by ascending address */
	uint32_t stack_class;		/* class number of stacks in 5.x */
	struct hash classes;		/* key of a class -> its number plus 1 */
	struct hash exceptions;		/* constructors -> class of such exceptions plus 1 */
	/* class of ephemerons, which are precise, and of other abstract blocks */
	uint32_t abstract_class;
	bool has_ephemerons;
	size_t report; /* place in sink->reports */
	uint64_t nonsense;
};

/* Returns a word of Caml_state, or 0 if it cannot be read. */
static inline uint64_t ocaml_state_word(const struct ocaml *ocaml, size_t place)
{
	return target_word(ocaml->memory, ocaml->state + place * 8);
}

/* Returns the address of a symbol of the program; 0: no such symbol. */
uint64_t ocaml_symbol(const struct ocaml *ocaml, const char *name);
/* Writes "Feeds.add_457" for camlFeeds__add_457; returns false if no symbol is there. *distance:
 * from the symbol. */
#define OCAML_NAME_BYTES 256
bool ocaml_name_at(const struct ocaml *ocaml, uint64_t address, char name[OCAML_NAME_BYTES],
		   uint64_t *distance);
/* Writes the name of a function, "Feeds.add_457", or its address. */
void ocaml_code_name(const struct ocaml *ocaml, uint64_t code, char name[OCAML_NAME_BYTES]);
/* Returns the address of a closure's function by its first fields. */
uint64_t ocaml_closure_code(const uint64_t *fields, size_t count);
/* Reads the header of a value at any address; returns false if it is none, or cannot be read. */
bool ocaml_header(const struct ocaml *ocaml, uint64_t value, uint64_t *header);
/* Reads the text of an OCaml string; returns false if it is none, or too long. */
bool ocaml_text(const struct ocaml *ocaml, uint64_t value, char *text, size_t size);
/* Returns in *class the class of a key, or a new one with this name. 0 or an error. */
int ocaml_class(struct ocaml *ocaml, struct heap_sink *sink, uint64_t key, const char *name,
		bool fields, uint32_t *class);

/* Adds a block in use. 0 or an error. */
int ocaml_add_block(struct ocaml *ocaml, struct heap_sink *sink, const struct ocaml_block *block);

/* Handles a block that is about to be swept. A custom one with a finaliser still owns memory
 * outside the heap, and is added; *added: it was. 0 or an error. */
int ocaml_add_garbage(struct ocaml *ocaml, struct heap_sink *sink, const struct ocaml_block *block,
		      bool *added);

/* Reads the compiler's tables of frames into ocaml->frames: see frames.c. 0 or -ENOMEM. */
int ocaml_read_frames(struct ocaml *ocaml);
/*
 * Calls visit() for each value held by the frames of a suspended stack, from its pointer on.
 * `registers`: address of the saved registers of its last function; 0: not saved. *left: place of
 * the first unknown frame, else the end. Returns the first nonzero result of visit(), or 0.
 */
typedef int ocaml_visit_value(void *context, uint64_t value);
int ocaml_visit_frames(const struct ocaml *ocaml, uint64_t pointer, uint64_t end,
		       uint64_t registers, ocaml_visit_value *visit, void *context, uint64_t *left);
/* Writes the line "feeds.ml:24" of the first call in the function at [code, end); returns false if
 * unknown. */
bool ocaml_line(const struct ocaml *ocaml, uint64_t code, uint64_t end, char *line, size_t size);

/* Finds the domains of 5.x. 0; -ENOENT with *why: none, or in an unknown format; -ENOMEM. */
int ocaml5_find(struct ocaml *ocaml, const char **why);
/* Adds the blocks of all domains of 5.x, and completes the report. 0 or -ENOMEM. */
int ocaml5_walk(struct ocaml *ocaml, struct heap_sink *sink, struct walk_report *report);
/* Adds the roots of 5.x other than modules. 0 or -ENOMEM. */
int ocaml5_roots(struct ocaml *ocaml, struct heap_sink *sink);
/* Adds the references of a stack or a continuation of 5.x; *done: the node is one. 0 or -ENOMEM. */
int ocaml5_refer(struct ocaml *ocaml, struct heap_sink *sink, uint32_t node, bool *done);

/* Adds finalisers (finalise.h, struct finalisable); `values`: their values stay alive until they
 * run. 0 or -ENOMEM. */
int ocaml_add_finalisable(struct ocaml *ocaml, struct heap_sink *sink, uint64_t finalisable,
			  bool values);
/* Marks the ephemerons of a list from its first one on: settled ones become precise. */
void ocaml_find_ephemerons(struct ocaml *ocaml, struct heap_sink *sink, uint64_t first);
/* Claims the block of malloc's that contains an address, which holds nothing. 0 or -ENOMEM. */
int ocaml_claim_block(struct heap_sink *sink, uint64_t address);

/*
 * Adds roots, and claims memory that holds nothing: see roots.c, and roots() and refer() of struct
 * heap_walker.
 */
int ocaml_roots(void *state, struct heap_sink *sink);
int ocaml_refer(void *state, struct heap_sink *sink, uint32_t node);
/* Finds exceptions by their constructors in modules, before the walk. 0 or an error. */
int ocaml_find_exceptions(struct ocaml *ocaml, struct heap_sink *sink);

#endif
