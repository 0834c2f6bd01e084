/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread-locals of modules in glibc, by its own descriptors: every module with thread-locals
 * has a slot in a list, and the slot's number is the module's place in each thread's vector (DTV).
 * Sources: Drepper, "ELF Handling For Thread-Local Storage", 3.4 (both variants: struct tls_abi);
 * nptl_db/td_thr_tlsbase.c for the rules. And glibc's lists of the threads that own these blocks.
 */
#ifndef LEAKMON_ELF_TLS_LAYOUT_H
#define LEAKMON_ELF_TLS_LAYOUT_H

#include "binary/elf/elf_abi.h"
#include "binary/elf/elf_file.h"

/* An entry of a vector: a pointer, and what to free. The first one is the vector's generation, the
 * one before it how many there are. The same in every glibc. */
#define TLS_VECTOR_ENTRY 16

/* struct pthread.specific_1stblock: {sequence, value} of the first keys. */
#define TLS_KEYS 32
#define TLS_KEY_BYTES 16

/* Offsets in bytes. No padding: it crosses the parser's socket as it is. */
struct tls_layout {
	uint64_t heads_at; /* in the file: of a pointer to _rtld_global; 0: nothing is known */
	uint32_t slots_at; /* in _rtld_global: pointer to the first list of slots */
	uint32_t list_length_at, list_next_at, list_slots_at;
	uint32_t slot_generation_at, slot_map_at; /* a slot has 16 bytes */
	uint32_t map_offset_at; /* in struct link_map: how far from the thread pointer it lies */
	uint32_t vector_at, vector_pointer_at, vector_counter_at;
	uint32_t thread_size;		/* of struct pthread */
	uint32_t keys_at, key_value_at; /* struct pthread.specific; in an entry of it */
	uint32_t used_at, user_at; /* in _rtld_global: lists of threads by owner of the stack */
	uint32_t next_at, prev_at; /* in a node of these, */
	uint32_t node_at, tid_at, state_at; /* and in struct pthread */
};

#define TLS_LAYOUT_SLOT_BYTES 16

/* No field lies further away. */
#define TLS_LAYOUT_MAX 65536

/* From a file's data objects. False: it has none, or contradicts itself. */
bool tls_layout_find(const struct elf_file *file, const struct elf_symbols *objects,
		     struct tls_layout *layout);

/* Where struct pthread, of so many bytes, begins. */
uint64_t tls_descriptor(const struct tls_abi *abi, uint64_t thread_pointer, uint32_t thread_size);

/* A module's block of `size` bytes, by its distance from thread pointers; 0: none can be there. */
uint64_t tls_block(const struct tls_abi *abi, uint64_t thread_pointer, uint64_t distance,
		   uint64_t size);

/* The program's distance, which the linker has put into its code. 0: it has no thread-locals. */
uint64_t tls_program_distance(const struct tls_abi *abi, const struct elf_thread_locals *locals);

/* Whether every field lies where it can: for a layout that comes from elsewhere. */
bool tls_layout_is_sound(const struct tls_layout *layout, const struct elf_abi *abi);

/*
 * glibc's description of its structures for debuggers: constants named `_thread_db_*` (nptl_db/
 * structs.def), each {size in bits, number of elements, offset in bytes}, or one word, the value
 * itself. Many of them share one address, so they are found by name among all of a file's symbols.
 */

/* A descriptor's description to match, and where its offset goes: a uint32_t in the caller's
 * struct. */
struct glibc_descriptor {
	const char *name;
	size_t field;
	uint32_t bits; /* 0: it is one word */
	uint32_t elements;
};

/* At most 31. */
struct glibc_descriptors {
	const struct glibc_descriptor *rows;
	size_t count;
	void *into;
	unsigned found; /* a bit per row, set by glibc_descriptors_take() */
};

/*
 * Reads the descriptor that `object` is, if it is one of the rows. 0, also if it is not; -ENOENT:
 * it describes something else; -EBADMSG, -EIO.
 */
int glibc_descriptors_take(struct glibc_descriptors *descriptors, const struct elf_file *file,
			   const struct elf_symbol *object);

#endif
