/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small ELF file around an .eh_frame that a test writes byte by byte. */
#ifndef LEAKMON_TESTS_UNWIND_FIXTURE_H
#define LEAKMON_TESTS_UNWIND_FIXTURE_H

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "binary/parse/unwind_table.h"
#include "unit/elf_fixture.h"
#include "unit/x86_64_abi.h"

#define UNWIND_CODE 0x10000ull /* address of the code segment, and the base of the rows */
#define UNWIND_CODE_SIZE 0x10000ull
#define UNWIND_FRAMES 0x40000ull /* address of .eh_frame */

enum { UNWIND_LOAD_CODE, UNWIND_LOAD_FRAMES, UNWIND_EH_HEADER, UNWIND_PROGRAMS };
enum { UNWIND_NULL, UNWIND_NAMES, UNWIND_EH_FRAME, UNWIND_SECTIONS };

struct unwind_fixture {
	Elf64_Ehdr header;
	Elf64_Phdr programs[UNWIND_PROGRAMS];
	Elf64_Shdr sections[UNWIND_SECTIONS];
	char names[32];
	struct {
		uint8_t version, pointer_encoding, count_encoding, table_encoding;
		int32_t frame_pointer;
	} eh_header;
	uint8_t frames[4096];
	size_t size; /* used of `frames` */
};

#define UNWIND_EH_HEADER_ADDRESS                                                                   \
	(UNWIND_FRAMES - offsetof(struct unwind_fixture, frames) +                                 \
	 offsetof(struct unwind_fixture, eh_header))

static inline void unwind_fixture_init(struct unwind_fixture *elf)
{
	size_t eh_header = offsetof(struct unwind_fixture, eh_header);
	size_t frames = offsetof(struct unwind_fixture, frames);

	memset(elf, 0, sizeof(*elf));
	elf->header = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = offsetof(struct unwind_fixture, programs),
		.e_shoff = offsetof(struct unwind_fixture, sections),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = UNWIND_PROGRAMS,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = UNWIND_SECTIONS,
		.e_shstrndx = UNWIND_NAMES,
	};
	elf->programs[UNWIND_LOAD_CODE] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = UNWIND_CODE,
		.p_memsz = UNWIND_CODE_SIZE,
	};
	elf->programs[UNWIND_LOAD_FRAMES] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R,
		.p_offset = frames,
		.p_vaddr = UNWIND_FRAMES,
		.p_filesz = sizeof(elf->frames),
		.p_memsz = sizeof(elf->frames),
	};
	elf->programs[UNWIND_EH_HEADER] = (Elf64_Phdr){
		.p_type = PT_GNU_EH_FRAME,
		.p_offset = eh_header,
		.p_vaddr = UNWIND_EH_HEADER_ADDRESS,
		.p_filesz = sizeof(elf->eh_header),
		.p_memsz = sizeof(elf->eh_header),
	};
	memcpy(elf->names, "\0.eh_frame", 11);
	elf->sections[UNWIND_NAMES] = fixture_section(
		SHT_STRTAB, offsetof(struct unwind_fixture, names), sizeof(elf->names), 0, 0);
	elf->sections[UNWIND_EH_FRAME] = fixture_section(SHT_PROGBITS, frames, 0, 0, 0);
	elf->sections[UNWIND_EH_FRAME].sh_name = 1;
	elf->sections[UNWIND_EH_FRAME].sh_addr = UNWIND_FRAMES;
	elf->eh_header.version = 1;
	elf->eh_header.pointer_encoding = 0x1b; /* pcrel, sdata4 */
	elf->eh_header.frame_pointer = (int32_t)(frames - eh_header - 4);
}

static inline void unwind_put(struct unwind_fixture *elf, const void *bytes, size_t size)
{
	memcpy(elf->frames + elf->size, bytes, size);
	elf->size += size;
	elf->sections[UNWIND_EH_FRAME].sh_size = elf->size;
}

static inline void unwind_put_u32(struct unwind_fixture *elf, uint32_t value)
{
	unwind_put(elf, &value, sizeof(value));
}

static inline void unwind_put_u64(struct unwind_fixture *elf, uint64_t value)
{
	unwind_put(elf, &value, sizeof(value));
}

/* A record with its length, unpadded; returns its start. */
static inline uint32_t unwind_put_record(struct unwind_fixture *elf, const void *bytes, size_t size)
{
	uint32_t offset = (uint32_t)elf->size;

	unwind_put_u32(elf, (uint32_t)size);
	unwind_put(elf, bytes, size);
	return offset;
}

#define UNWIND_CIE_HEAD 0, 0, 0, 0, 1
/* "zR", code alignment 1, data alignment -8, register 16, addresses absolute in 8 bytes. */
#define UNWIND_CIE_PLAIN UNWIND_CIE_HEAD, 'z', 'R', 0, 1, 0x78, 16, 1, 0x00
/* CFA = rsp + 8, the return address at CFA - 8. */
#define UNWIND_CIE_RULES 0x0c, 7, 8, 0x90, 1

#define unwind_put_cie(elf, ...)                                                                   \
	unwind_put_record(elf, (const uint8_t[]){__VA_ARGS__},                                     \
			  sizeof((const uint8_t[]){__VA_ARGS__}))

static inline uint32_t unwind_put_plain_cie(struct unwind_fixture *elf)
{
	return unwind_put_cie(elf, UNWIND_CIE_PLAIN, UNWIND_CIE_RULES);
}

/* An FDE of a "zR" CIE with absolute addresses; `start` counts from UNWIND_CODE. */
static inline void unwind_put_code(struct unwind_fixture *elf, uint32_t cie, uint64_t start,
				   uint64_t size, const uint8_t *code, size_t code_size)
{
	unwind_put_u32(elf, (uint32_t)(4 + 8 + 8 + 1 + code_size));
	unwind_put_u32(elf, (uint32_t)elf->size - cie);
	unwind_put_u64(elf, UNWIND_CODE + start);
	unwind_put_u64(elf, size);
	unwind_put(elf, "", 1);
	unwind_put(elf, code, code_size);
}

#define unwind_put_fde(elf, cie, start, size, ...)                                                 \
	unwind_put_code(elf, cie, start, size, (const uint8_t[]){__VA_ARGS__},                     \
			sizeof((const uint8_t[]){__VA_ARGS__}))

/* Compiles a file of these bytes, as unwind_table_compile would a mapped one. */
static inline int unwind_compile_as(const struct elf_abi *abi, const void *bytes, size_t size,
				    struct unwind_table *table)
{
	_cleanup_(elf_file_close) struct elf_file file = {0};
	_cleanup_close_ int fd = fixture_file(bytes, size);
	int error = fd < 0 ? -EIO : elf_file_open(fd, abi, &file);

	return error ? error : unwind_table_compile(&file, table);
}

static inline int unwind_compile_bytes(const void *bytes, size_t size, struct unwind_table *table)
{
	return unwind_compile_as(&x86_64_abi, bytes, size, table);
}

/* Compiles with this machine's ABI. */
static inline int unwind_compile_own(const void *bytes, size_t size, struct unwind_table *table)
{
	return unwind_compile_as(&machine_abi, bytes, size, table);
}

static inline int unwind_compile(const struct unwind_fixture *elf, struct unwind_table *table)
{
	return unwind_compile_bytes(elf, sizeof(*elf), table);
}

static inline int unwind_compile_path(const char *path, struct elf_file *file,
				      struct unwind_table *table)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 ? -errno : elf_file_open(fd, &machine_abi, file);

	return error ? error : unwind_table_compile(file, table);
}

#endif
