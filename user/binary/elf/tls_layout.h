/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layout of glibc's thread-locals, from its own descriptors: every module with thread-locals
 * has a slot in a list, and the slot's number is the module's index in each thread's vector (DTV).
 * Sources: Drepper, "ELF Handling For Thread-Local Storage", 3.4 (both variants: struct tls_abi);
 * nptl_db/td_thr_tlsbase.c for the rules. Also glibc's lists of the threads that own these blocks.
 */
#ifndef LEAKMON_ELF_TLS_LAYOUT_H
#define LEAKMON_ELF_TLS_LAYOUT_H

#include "binary/elf/elf_abi.h"
#include "binary/elf/elf_file.h"

/*
 * An entry of a vector: a pointer, and the address to free. The first entry is the vector's
 * generation, the one before it the number of entries. The same in every glibc.
 */
#define TLS_VECTOR_ENTRY 16

/* struct pthread.specific_1stblock: {sequence, value} of the first keys. */
#define TLS_KEYS 32
#define TLS_KEY_BYTES 16

/* Offsets in bytes. No padding: it crosses the parser's socket as it is. */
struct tls_layout {
	uint64_t heads_at; /* file address of a pointer to _rtld_global; 0: unknown */
	uint32_t slots_at; /* in _rtld_global: pointer to the first list of slots */
	uint32_t list_length_at, list_next_at, list_slots_at;
	uint32_t slot_generation_at, slot_map_at; /* a slot has 16 bytes */
	uint32_t map_offset_at; /* in struct link_map: its distance from the thread pointer */
	uint32_t vector_at, vector_pointer_at, vector_counter_at;
	uint32_t thread_size;		/* of struct pthread */
	uint32_t keys_at, key_value_at; /* struct pthread.specific; in an entry of it */
	uint32_t used_at, user_at; /* in _rtld_global: lists of threads by owner of the stack */
	uint32_t next_at, prev_at; /* in a list node, */
	uint32_t node_at, tid_at, state_at; /* and in struct pthread */
};

#define TLS_LAYOUT_SLOT_BYTES 16

/* Upper limit of all field offsets. */
#define TLS_LAYOUT_MAX 65536

/*
 * Finds the layout from a file's data objects. Returns false if they are missing or inconsistent.
 */
bool tls_layout_find(const struct elf_file *file, const struct elf_symbols *objects,
		     struct tls_layout *layout);

/* Returns the address of struct pthread, of thread_size bytes. */
uint64_t tls_descriptor(const struct tls_abi *abi, uint64_t thread_pointer, uint32_t thread_size);

/*
 * Returns the address of a module's block of `size` bytes, by its distance from thread pointers; 0
 * if impossible.
 */
uint64_t tls_block(const struct tls_abi *abi, uint64_t thread_pointer, uint64_t distance,
		   uint64_t size);

/* Returns the program's distance, which the linker put into its code; 0: no thread-locals. */
uint64_t tls_program_distance(const struct tls_abi *abi, const struct elf_thread_locals *locals);

/* Returns whether every field is within its limits: for a layout from another process. */
bool tls_layout_is_sound(const struct tls_layout *layout, const struct elf_abi *abi);

/*
 * glibc's description of its structures for debuggers: constants named `_thread_db_*`
 * (nptl_db/structs.def), each {size in bits, number of elements, offset in bytes}, or one word, the
 * value itself. Many of them share one address, so they are found by name among all of a file's
 * symbols.
 */

/*
 * The expected contents of a descriptor, and the destination of its offset: a uint32_t in the
 * caller's struct.
 */
struct glibc_descriptor {
	const char *name;
	size_t field;
	uint32_t bits; /* 0: a single word */
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
 * Reads the descriptor `object`, if it is one of the rows. Returns 0, also if it is not; -ENOENT:
 * it describes something else; -EBADMSG, -EIO.
 */
int glibc_descriptors_take(struct glibc_descriptors *descriptors, const struct elf_file *file,
			   const struct elf_symbol *object);

#endif
