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

/* A value's block: a header, then `size` words. A value points behind the header. */
#define HEADER_BYTES 8
#define HEADER_TAG(header) ((unsigned)((header)&0xff))
#define HEADER_COLOUR(header) ((unsigned)((header) >> 8 & 3))
#define HEADER_SIZE(header) ((header) >> 10)

enum ocaml_colour { COLOUR_WHITE, COLOUR_GRAY, COLOUR_BLUE, COLOUR_BLACK };

enum ocaml_tag {
	TAG_CONTINUATION = 245, /* 5.x; a constructor's before */
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

/* Caml_state, in words. 4.10 and 4.11 have no mark stack in it, and what is behind that one place
 * before. */
#define STATE_BYTES (64 * 8)
#define STATE_YOUNG_START 6
#define STATE_YOUNG_END 7
#define STATE_IN_MINOR_COLLECTION 11
#define STATE_REMEMBERED 13 /* and the next two: tables of what points to young values */
#define STATE_MARK_STACK 16
#define STATE_EXCEPTION 24
#define STATE_LAST_EXCEPTION 32

struct ocaml_chunk {
	uint64_t start, end;
};

/* A block, with so many of its first words. */
#define OCAML_HEAD_FIELDS 3
struct ocaml_block {
	uint64_t address, header;
	uint64_t fields[OCAML_HEAD_FIELDS];
	size_t count; /* of the fields */
};

/* A domain of 5.x: a heap of its own, and a minor one. */
struct ocaml_domain {
	uint64_t state, heap;
	struct ocaml_chunk young;
};
/* Where a function may be left: the address after a call. */
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
	bool gray;			    /* no mark stack is in it: 4.10 and 4.11 */
	VEC(struct ocaml_chunk) chunks;	    /* of the major heap; by ascending address */
	struct ocaml_chunk young;
	int32_t phase;	   /* of the major collector */
	uint64_t sweep_at; /* where a slice of the phase that sweeps begins */
	bool unswept;	   /* blocks from here on are not swept: white ones are free */
	VEC(struct ocaml_domain) domains;   /* of 5.x, which has neither chunks nor a young here */
	struct hash pools;		    /* of 5.x: those that were read */
	const struct ocaml5_layout *layout; /* see ocaml5.c */
	uint64_t minor_heaps; /* of 5.x: the address of caml_minor_heaps_start; 0: it has none */
	uint32_t guesses;     /* likewise */
	uint64_t garbage;     /* colour of what is free in 5.x */
	VEC(uint64_t) doomed; /* see ocaml_add_garbage() */
	VEC(struct ocaml_frame) frames; /* by ascending address */
	uint32_t stack_class;		/* of 5.x */
	struct hash classes;		/* of what makes a class -> its number plus 1 */
	struct hash exceptions;		/* constructors -> class of such exceptions plus 1 */
	uint32_t abstract_class;	/* of ephemerons, which are precise, and others */
	bool has_ephemerons;
	size_t report; /* place in sink->reports */
	uint64_t nonsense;
};

/* A word of Caml_state; 0: it cannot be read. */
static inline uint64_t ocaml_state_word(const struct ocaml *ocaml, size_t place)
{
	return target_word(ocaml->memory, ocaml->state + place * 8);
}

/* The address of a symbol of the program; 0: it has none of that name. */
uint64_t ocaml_symbol(const struct ocaml *ocaml, const char *name);
/* "Feeds.add_457" for camlFeeds__add_457; false: nothing has a name there. *distance: from
 * there. */
#define OCAML_NAME_BYTES 256
bool ocaml_name_at(const struct ocaml *ocaml, uint64_t address, char name[OCAML_NAME_BYTES],
		   uint64_t *distance);
/* That of a function: "Feeds.add_457", or its address. */
void ocaml_code_name(const struct ocaml *ocaml, uint64_t code, char name[OCAML_NAME_BYTES]);
/* The address of a closure's function by its first fields. */
uint64_t ocaml_closure_code(const uint64_t *fields, size_t count);
/* The header of a value, anywhere; false: it is none, or cannot be read. */
bool ocaml_header(const struct ocaml *ocaml, uint64_t value, uint64_t *header);
/* The text of an OCaml string; false: it is none, or longer. */
bool ocaml_text(const struct ocaml *ocaml, uint64_t value, char *text, size_t size);
/* The class that such a key has, or a new one of that name. 0 or an error. */
int ocaml_class(struct ocaml *ocaml, struct heap_sink *sink, uint64_t key, const char *name,
		bool fields, uint32_t *class);

/* Adds a block that is in use. 0 or an error. */
int ocaml_add_block(struct ocaml *ocaml, struct heap_sink *sink, const struct ocaml_block *block);

/* A block that is about to be swept. A custom one with a finaliser still has memory of C's, and is
 * added; *added: it was. 0 or an error. */
int ocaml_add_garbage(struct ocaml *ocaml, struct heap_sink *sink, const struct ocaml_block *block,
		      bool *added);

/* The compiler's tables of functions' frames, into ocaml->frames: see frames.c. 0 or
 * -ENOMEM. */
int ocaml_read_frames(struct ocaml *ocaml);
/*
 * Sees each value that the frames of a stack hold, from the pointer of one that is suspended on;
 * `registers`: where those of its last function were saved, 0: nowhere. *left gets where a frame is
 * not known, else the end. What visit() has returned, if not 0.
 */
typedef int ocaml_visit_value(void *context, uint64_t value);
int ocaml_visit_frames(const struct ocaml *ocaml, uint64_t pointer, uint64_t end,
		       uint64_t registers, ocaml_visit_value *visit, void *context, uint64_t *left);
/* "feeds.ml:24", of the first call in the function at [code, end); false: unknown. */
bool ocaml_line(const struct ocaml *ocaml, uint64_t code, uint64_t end, char *line, size_t size);

/* 5.x: the domains. 0; -ENOENT with *why: there are none, or not as known; -ENOMEM. */
int ocaml5_find(struct ocaml *ocaml, const char **why);
/* Their blocks; when it has succeeded, the report is complete. 0 or -ENOMEM. */
int ocaml5_walk(struct ocaml *ocaml, struct heap_sink *sink, struct walk_report *report);
/* Roots beside modules. 0 or -ENOMEM. */
int ocaml5_roots(struct ocaml *ocaml, struct heap_sink *sink);
/* From a stack or a continuation. *done: it is one. */
int ocaml5_refer(struct ocaml *ocaml, struct heap_sink *sink, uint32_t node, bool *done);

/* Finalisers (finalise.h, struct finalisable); `values`: what they are for waits for them. */
int ocaml_add_finalisable(struct ocaml *ocaml, struct heap_sink *sink, uint64_t finalisable,
			  bool values);
/* Marks the ephemerons of a list that begins with one: what is settled is precise. */
void ocaml_find_ephemerons(struct ocaml *ocaml, struct heap_sink *sink, uint64_t first);
/* malloc's block in which something lies holds nothing. 0 or -ENOMEM. */
int ocaml_claim_block(struct heap_sink *sink, uint64_t address);

/* Roots, and memory that holds nothing: see roots.c. As struct heap_walker has them. */
int ocaml_roots(void *state, struct heap_sink *sink);
int ocaml_refer(void *state, struct heap_sink *sink, uint32_t node);
/* Exceptions by their constructors, which modules have; before the walk. 0 or an error. */
int ocaml_find_exceptions(struct ocaml *ocaml, struct heap_sink *sink);

#endif
