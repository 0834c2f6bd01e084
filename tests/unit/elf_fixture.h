/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small but whole ELF file with parts that tests can reach and break. */
#ifndef LEAKMON_TESTS_ELF_FIXTURE_H
#define LEAKMON_TESTS_ELF_FIXTURE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "binary/arch/machine.h"
#include "binary/elf/elf_abi.h"

#define FIXTURE_BASE 0x10000ull
#define FIXTURE_VADDR(member) (FIXTURE_BASE + offsetof(struct elf_fixture, member))
#define FIXTURE_BUILD_ID "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3"

enum { FIXTURE_LOAD, FIXTURE_NOTE, FIXTURE_DYNAMIC, FIXTURE_THREAD_LOCALS, FIXTURE_PROGRAMS };
enum {
	FIXTURE_NULL,
	FIXTURE_SYMTAB,
	FIXTURE_DYNSYM,
	FIXTURE_STRTAB,
	FIXTURE_NAMES,
	FIXTURE_TEXT,
	FIXTURE_SECTIONS
};

struct elf_fixture {
	Elf64_Ehdr header;
	Elf64_Phdr programs[FIXTURE_PROGRAMS];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t build_id[20];
	} note;
	uint32_t hash[8]; /* one bucket, four chain entries */
	uint32_t gnu_hash[4 + 2 + 1 + 3];
	Elf64_Dyn dynamic[7];
	Elf64_Sym symtab[6];
	Elf64_Sym dynsym[4];
	char strings[64];
	char names[64];
	Elf64_Shdr sections[FIXTURE_SECTIONS];
	uint8_t code[256];
};

static inline Elf64_Shdr fixture_section(uint32_t type, uint64_t offset, uint64_t size,
					 uint64_t entry_size, uint32_t link)
{
	return (Elf64_Shdr){
		.sh_type = type,
		.sh_offset = offset,
		.sh_addr = FIXTURE_BASE + offset,
		.sh_size = size,
		.sh_entsize = entry_size,
		.sh_link = link,
	};
}

static inline Elf64_Sym fixture_symbol(uint32_t name, uint8_t info, uint64_t at, uint64_t size)
{
	return (Elf64_Sym){
		.st_name = name,
		.st_info = info,
		.st_shndx = FIXTURE_TEXT,
		.st_value = FIXTURE_VADDR(code) + at,
		.st_size = size,
	};
}

static inline void fixture_headers(struct elf_fixture *elf)
{
	elf->header = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = machine_abi.machine,
		.e_version = EV_CURRENT,
		.e_entry = FIXTURE_VADDR(code),
		.e_phoff = offsetof(struct elf_fixture, programs),
		.e_shoff = offsetof(struct elf_fixture, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = FIXTURE_PROGRAMS,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = FIXTURE_SECTIONS,
		.e_shstrndx = FIXTURE_NAMES,
	};
	elf->programs[FIXTURE_LOAD] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = FIXTURE_BASE,
		.p_filesz = sizeof(*elf),
		.p_memsz = sizeof(*elf) + 4096,
	};
	elf->programs[FIXTURE_NOTE] = (Elf64_Phdr){
		.p_type = PT_NOTE,
		.p_offset = offsetof(struct elf_fixture, note),
		.p_filesz = sizeof(elf->note),
		.p_memsz = sizeof(elf->note),
		.p_align = 4,
	};
	elf->programs[FIXTURE_DYNAMIC] = (Elf64_Phdr){
		.p_type = PT_DYNAMIC,
		.p_offset = offsetof(struct elf_fixture, dynamic),
		.p_filesz = sizeof(elf->dynamic),
		.p_memsz = sizeof(elf->dynamic),
	};
	/* For tests that make it PT_TLS. */
	elf->programs[FIXTURE_THREAD_LOCALS] = (Elf64_Phdr){
		.p_type = PT_NULL,
		.p_vaddr = FIXTURE_BASE + 0x800,
		.p_filesz = 16,
		.p_memsz = 48,
		.p_align = 16,
	};
}

static inline void fixture_sections(struct elf_fixture *elf)
{
	elf->sections[FIXTURE_SYMTAB] =
		fixture_section(SHT_SYMTAB, offsetof(struct elf_fixture, symtab),
				sizeof(elf->symtab), sizeof(Elf64_Sym), FIXTURE_STRTAB);
	elf->sections[FIXTURE_DYNSYM] =
		fixture_section(SHT_DYNSYM, offsetof(struct elf_fixture, dynsym),
				sizeof(elf->dynsym), sizeof(Elf64_Sym), FIXTURE_STRTAB);
	elf->sections[FIXTURE_STRTAB] = fixture_section(
		SHT_STRTAB, offsetof(struct elf_fixture, strings), sizeof(elf->strings), 0, 0);
	elf->sections[FIXTURE_NAMES] = fixture_section(
		SHT_STRTAB, offsetof(struct elf_fixture, names), sizeof(elf->names), 0, 0);
	elf->sections[FIXTURE_TEXT] = fixture_section(
		SHT_PROGBITS, offsetof(struct elf_fixture, code), sizeof(elf->code), 0, 0);
	memcpy(elf->names, "\0.text", 7);
	elf->sections[FIXTURE_TEXT].sh_name = 1;
}

/* .symtab: static_one, exported, unsized, an object, an undefined one. .dynsym: exported, weak. */
static inline void fixture_symbols(struct elf_fixture *elf)
{
	memcpy(elf->strings, "\0static_one\0exported\0unsized\0weak", 34);
	elf->symtab[1] = fixture_symbol(1, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, 16);
	elf->symtab[2] = fixture_symbol(12, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 32, 32);
	elf->symtab[3] = fixture_symbol(21, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 128, 0);
	elf->symtab[4] = fixture_symbol(12, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 200, 8);
	elf->symtab[5] = fixture_symbol(12, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 0);
	elf->symtab[5].st_shndx = SHN_UNDEF;
	elf->dynsym[1] = fixture_symbol(12, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 0);
	elf->dynsym[1].st_shndx = SHN_UNDEF;
	elf->dynsym[2] = fixture_symbol(12, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 32, 32);
	elf->dynsym[3] = fixture_symbol(29, ELF64_ST_INFO(STB_WEAK, STT_FUNC), 64, 8);
}

static inline void fixture_init(struct elf_fixture *elf)
{
	memset(elf, 0, sizeof(*elf));
	fixture_headers(elf);
	elf->note.header = (Elf64_Nhdr){4, sizeof(elf->note.build_id), NT_GNU_BUILD_ID};
	memcpy(elf->note.name, "GNU", 4);
	for (size_t i = 0; i < sizeof(elf->note.build_id); i++)
		elf->note.build_id[i] = (uint8_t)(0xa0 + i);
	elf->hash[0] = 1;
	elf->hash[1] = 4;
	/* nbuckets, symoffset, bloom_size, bloom_shift; bloom; bucket; chains of symbols 1, 2, 3 */
	memcpy(elf->gnu_hash, (uint32_t[]){1, 1, 1, 0, ~0u, ~0u, 1, 2, 4, 7},
	       sizeof(elf->gnu_hash));
	elf->dynamic[0] = (Elf64_Dyn){DT_SYMTAB, {FIXTURE_VADDR(dynsym)}};
	elf->dynamic[1] = (Elf64_Dyn){DT_STRTAB, {FIXTURE_VADDR(strings)}};
	elf->dynamic[2] = (Elf64_Dyn){DT_STRSZ, {sizeof(elf->strings)}};
	elf->dynamic[3] = (Elf64_Dyn){DT_SYMENT, {sizeof(Elf64_Sym)}};
	elf->dynamic[4] = (Elf64_Dyn){DT_HASH, {FIXTURE_VADDR(hash)}};
	elf->dynamic[5] = (Elf64_Dyn){DT_GNU_HASH, {FIXTURE_VADDR(gnu_hash)}};
	fixture_sections(elf);
	fixture_symbols(elf);
}

/* A descriptor to a file with these contents; the caller closes it. */
static inline int fixture_file(const void *contents, size_t size)
{
	int fd = memfd_create("fixture", MFD_CLOEXEC);

	if (fd >= 0 && pwrite(fd, contents, size, 0) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}

#endif
