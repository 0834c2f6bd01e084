/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reader of 64-bit little-endian ELF files of one machine, for files that a target mapped and
 * that may be hostile: every offset and count is checked against the file's size, nothing is mapped
 * (a file truncated concurrently gives a short read, never SIGBUS), and sizes are capped. Source of
 * the layout: System V gABI, chapters 4 and 5; the psABI.
 */
#ifndef LEAKMON_ELF_ELF_FILE_H
#define LEAKMON_ELF_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct elf_symbol {
	uint64_t value; /* virtual address as in the file */
	uint64_t size;
	uint64_t limit;	  /* end of its section (else segment); 0 if unknown */
	const char *name; /* raw, NUL-terminated, owned by the table */
	uint8_t type;	  /* STT_FUNC, STT_GNU_IFUNC, STT_OBJECT, ... */
	uint8_t binding;  /* STB_GLOBAL, STB_WEAK, STB_LOCAL */
};

/* A PT_LOAD segment. */
struct elf_segment {
	uint64_t offset, vaddr, file_size, memory_size;
	bool executable, writable;
};

/* PT_TLS: the initial image of each thread's copy. */
struct elf_thread_locals {
	uint64_t vaddr, size, alignment; /* size 0: none; alignment: a power of two */
};

struct elf_abi;

struct elf_file {
	const struct elf_abi *abi; /* borrowed */
	int fd;			   /* borrowed */
	const void *memory;	   /* borrowed; the file's contents, if not in fd, else NULL */
	uint64_t size;
	uint16_t type; /* ET_EXEC, ET_DYN, ET_REL */
	uint64_t entry;
	VEC(struct elf_segment) segments;
	struct elf_thread_locals thread_locals;
	uint64_t dynamic_offset, dynamic_size; /* PT_DYNAMIC in the file; 0, 0: none */
	char build_id[41 * 2];		       /* lower-case hex, "" if none */
};

struct elf_symbols {
	VEC(struct elf_symbol) list; /* defined symbols with a non-zero value, unsorted */
	char *strings[2];	     /* owned string tables */
	bool has_symtab;	     /* .symtab was present: static functions are listed, too */
};

/*
 * Reads header, segments and build-id. Returns 0; -ENOEXEC: not a supported ELF file (class,
 * machine or byte order); -EBADMSG: inconsistent; -EIO; -ENOMEM. *file is untouched on error.
 */
int elf_file_open(int fd, const struct elf_abi *abi, struct elf_file *file);

/* Reads a file in memory, which stays the caller's. Returns as elf_file_open(). */
int elf_file_open_memory(const void *memory, size_t size, const struct elf_abi *abi,
			 struct elf_file *file);
void elf_file_close(struct elf_file *file);

/*
 * Finds the file offset of virtual address `vaddr`. Returns -ENOENT if no segment's file part
 * contains it.
 */
int elf_file_offset(const struct elf_file *file, uint64_t vaddr, uint64_t *offset);

/* The inverse: finds the virtual address of file offset `offset` in an executable segment. */
int elf_file_vaddr(const struct elf_file *file, uint64_t offset, uint64_t *vaddr);

/* Reads up to `size` bytes at a file offset. Returns the number read, or -errno. */
ssize_t elf_file_read(const struct elf_file *file, uint64_t offset, void *buffer, size_t size);

/* Reads exactly `size` bytes. Returns 0; -EBADMSG if the file ends before; -errno. */
int elf_file_read_exact(const struct elf_file *file, uint64_t offset, void *buffer, size_t size);

/*
 * Reads the functions (STT_FUNC, STT_GNU_IFUNC, and sized STT_NOTYPE inside executable segments) of
 * .symtab and .dynsym. Without section headers, .dynsym is found through PT_DYNAMIC (DT_SYMTAB,
 * DT_STRTAB, and DT_HASH or DT_GNU_HASH for the count). Symbol and string tables of more than
 * ELF_MAX_TABLE_BYTES together are not read: -EFBIG. A table that is broken or too large does not
 * hide the other one. Returns 0 (also for no symbols), or -errno as above.
 */
#define ELF_MAX_TABLE_BYTES (256ull << 20)
#define ELF_MAX_SYMBOLS (16u << 20)

int elf_symbols_read(const struct elf_file *file, struct elf_symbols *symbols);

/*
 * Reads the data objects (STT_OBJECT) with a size: variables, constants, vtables; and thread-locals
 * (STT_TLS) with the value ELF_THREAD_LOCAL plus their place in PT_TLS. Returns as
 * elf_symbols_read().
 */
#define ELF_THREAD_LOCAL (1ull << 63)

int elf_objects_read(const struct elf_file *file, struct elf_symbols *symbols);

/*
 * Reads every symbol with an address, whatever its type and size: compilers of other languages give
 * their data neither. Returns as elf_symbols_read().
 */
int elf_all_symbols_read(const struct elf_file *file, struct elf_symbols *symbols);
void elf_symbols_free(struct elf_symbols *symbols);

/* The section headers of an ELF file, checked as in elf_file.h. */

struct elf_section {
	const char *name; /* "" if it has none; owned by the sections */
	uint32_t type;	  /* SHT_SYMTAB, SHT_NOBITS, ... */
	uint32_t link;
	uint64_t address, offset, size;
	uint64_t entry_size;
	bool compressed; /* SHF_COMPRESSED: starts with an Elf64_Chdr */
};

struct elf_sections {
	VEC(struct elf_section) list; /* in file order, for sh_link and st_shndx */
	char *names;
};

/*
 * Reads the section headers. Returns 0, also if the file has none; -EBADMSG: they lie outside the
 * file or are too many; -EIO; -ENOMEM. *sections is untouched on error. Offsets and sizes of single
 * sections are not checked: readers do that.
 */
int elf_sections_read(const struct elf_file *file, struct elf_sections *sections);
void elf_sections_free(struct elf_sections *sections);

/* Returns the first section of that name with contents in the file (not SHT_NOBITS), or NULL. */
const struct elf_section *elf_sections_find(const struct elf_sections *sections, const char *name);

#endif
