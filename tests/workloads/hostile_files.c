// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostile_files DIRECTORY KIND [COUNT [KILOBYTES]]: maps COUNT files of its own making as code,
 * each slow to read, and continues as any program. Kinds:
 *
 *   names    a symbol table of allocator functions, all of them local
 *   slots    hundreds of `operator new` that call through a table of relocations
 *   frames   an .eh_frame of tiny functions with a row for every byte
 *   mixed    one after the other
 *   thrower  quick to read: an allocator with an `operator new` that no probe can follow
 *
 * `go` allocates 100 blocks of 64 bytes.
 */
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "workload.h"

#define BASE 0x400000ull
#define CODE_BYTES 0x4000
#define BLOCKS 100

enum { NAMES, SLOTS, FRAMES, THROWER, KINDS_ };
enum { MIXED_KINDS = THROWER };
enum { NONE, SYMTAB, STRTAB, RELA, EH_FRAME, SECTIONS_ };

static const char *const kinds[] = {"names", "slots", "frames", "thrower"};
static const char names[] = "\0mi_heap_rezalloc_aligned_at\0malloc\0free\0_Znwm";
enum { NAME_LOCAL = 1, NAME_MALLOC = 29, NAME_FREE = 36, NAME_NEW = 41 };

static struct truth truth = {.sites = {{.function = "held_blocks"}}};

/* A file is put together here. */
struct made {
	uint8_t *bytes;
	size_t size, used;
	Elf64_Shdr sections[SECTIONS_];
};

static void *put(struct made *made, const void *what, size_t size)
{
	void *at = made->bytes + made->used;

	if (made->used + size > made->size)
		_exit(110);
	memcpy(at, what, size);
	made->used += size;
	return at;
}

static void begin_section(struct made *made, unsigned section, uint32_t type)
{
	made->used = (made->used + 15) & ~15ul;
	made->sections[section] = (Elf64_Shdr){
		.sh_type = type, .sh_offset = made->used, .sh_addr = BASE + made->used};
}

static void end_section(struct made *made, unsigned section)
{
	made->sections[section].sh_size = made->used - made->sections[section].sh_offset;
}

/* Functions are adjacent in the code, so its size does not limit their number. */
static void put_symbol(struct made *made, uint32_t name, unsigned binding, uint64_t place)
{
	const Elf64_Sym symbol = {.st_name = name,
				  .st_info = ELF64_ST_INFO(binding, STT_FUNC),
				  .st_shndx = 1,
				  .st_value = BASE + 0x1000 + place,
				  .st_size = CODE_BYTES / 2};

	put(made, &symbol, sizeof(symbol));
}

static void put_names(struct made *made, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(Elf64_Sym); i++)
		put_symbol(made, NAME_LOCAL, STB_LOCAL, i);
}

/* malloc and free make the file an allocator, so that its operators count, too. */
static void put_operators(struct made *made, size_t count)
{
	put_symbol(made, NAME_MALLOC, STB_GLOBAL, CODE_BYTES - 32);
	put_symbol(made, NAME_FREE, STB_GLOBAL, CODE_BYTES - 16);
	for (size_t i = 0; i < count; i++)
		put_symbol(made, NAME_NEW, STB_GLOBAL, i * 10);
}

static void put_relocations(struct made *made, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(Elf64_Rela); i++) {
		const Elf64_Rela relocation = {.r_offset = 0x10000000 + i * 8,
					       .r_info = ELF64_R_INFO(1, R_X86_64_JUMP_SLOT)};

		put(made, &relocation, sizeof(relocation));
	}
}

/* One CIE (version 1, "zR", absolute addresses), then functions of 64 bytes. */
static void put_frames(struct made *made, size_t bytes)
{
	static const uint8_t cie[] = {16,  0, 0, 0, 0,	0, 0, 0, 1, 'z',
				      'R', 0, 1, 1, 16, 1, 0, 0, 0, 0};
	const size_t cie_at = made->used, fde_bytes = 4 + 4 + 8 + 8 + 1 + 127;

	put(made, cie, sizeof(cie));
	for (size_t i = 0; i + 1 < bytes / fde_bytes; i++) {
		const uint32_t length = fde_bytes - 4;
		const uint32_t back = (uint32_t)(made->used + 4 - cie_at);
		const uint64_t range[] = {BASE + 0x1000 + i * 64, 64};
		uint8_t code[1 + 127] = {0};

		/* DW_CFA_advance_loc 1, DW_CFA_GNU_args_size-like: another CFA offset each time */
		for (size_t at = 1; at + 2 < sizeof(code); at += 3) {
			code[at] = 0x41;
			code[at + 1] = 0x0e;
			code[at + 2] = (uint8_t)(8 + at % 64);
		}
		put(made, &length, 4);
		put(made, &back, 4);
		put(made, range, sizeof(range));
		put(made, code, sizeof(code));
	}
}

static void put_contents(struct made *made, unsigned kind, size_t bytes)
{
	begin_section(made, SYMTAB, SHT_SYMTAB);
	if (kind == NAMES)
		put_names(made, bytes);
	else
		put_operators(made, kind == THROWER ? 1 : 500);
	end_section(made, SYMTAB);
	begin_section(made, STRTAB, SHT_STRTAB);
	put(made, names, sizeof(names));
	end_section(made, STRTAB);
	begin_section(made, RELA, kind == SLOTS ? SHT_RELA : SHT_NULL);
	if (kind == SLOTS)
		put_relocations(made, bytes);
	end_section(made, RELA);
	begin_section(made, EH_FRAME, SHT_PROGBITS);
	if (kind == FRAMES)
		put_frames(made, bytes);
	end_section(made, EH_FRAME);
	made->sections[SYMTAB].sh_link = STRTAB;
	made->sections[SYMTAB].sh_entsize = sizeof(Elf64_Sym);
	made->sections[RELA].sh_link = SYMTAB;
}

/* jmp *slot(%rip) and calls of such, over and over. */
static void fill_code(uint8_t *code)
{
	for (size_t at = 0; at + 5 <= CODE_BYTES; at += 5) {
		const int32_t to = (int32_t)(CODE_BYTES - 6 - at - 5);

		code[at] = 0xe8;
		memcpy(code + at + 1, &to, 4);
	}
	memcpy(code + CODE_BYTES - 6, (uint8_t[]){0xff, 0x25, 0, 0, 0, 0x0f}, 6);
}

static void make_file(int fd, unsigned kind, size_t bytes)
{
	struct made made = {.size = bytes + (1 << 20)};
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_EXEC,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_phoff = sizeof(header),
			     .e_ehsize = sizeof(header),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = 1,
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = SECTIONS_};
	Elf64_Phdr program = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = BASE};

	made.bytes =
		mmap(NULL, made.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made.bytes == MAP_FAILED)
		_exit(111);
	fill_code(made.bytes + 0x1000);
	if (kind == THROWER) /* push %rax; pop %rax; jmp *%rax */
		memcpy(made.bytes + 0x1000, (uint8_t[]){0x50, 0x58, 0xff, 0xe0}, 4);
	made.used = 0x1000 + CODE_BYTES;
	put_contents(&made, kind, bytes);
	header.e_shoff = made.used = (made.used + 15) & ~15ul;
	put(&made, made.sections, sizeof(made.sections));
	program.p_filesz = made.used;
	program.p_memsz = made.used + bytes;
	memcpy(made.bytes, &header, sizeof(header));
	memcpy(made.bytes + sizeof(header), &program, sizeof(program));
	if (write(fd, made.bytes, made.used) != (ssize_t)made.used)
		_exit(112);
	munmap(made.bytes, made.size);
}

static void map_file(const char *directory, unsigned number, unsigned kind, size_t bytes)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/hostile-%s-%u", directory, kinds[kind], number);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd < 0)
		_exit(113);
	make_file(fd, kind, bytes);
	if (mmap(NULL, 0x1000 + CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) ==
	    MAP_FAILED)
		_exit(114);
	close(fd);
}

SITE void held_blocks(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		if (!OPAQUE(malloc(64)))
			_exit(115);
		truth_born(&truth, 0, 64);
	}
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{.name = "go", .run = held_blocks}};
	const char *wanted = argc > 2 ? argv[2] : "mixed";
	size_t bytes = argument(argc, argv, 4, 2400) * 1000;

	for (unsigned i = 0; argc > 1 && i < argument(argc, argv, 3, 20); i++) {
		unsigned kind = i % MIXED_KINDS;

		for (unsigned k = 0; k < KINDS_; k++)
			kind = strcmp(wanted, kinds[k]) ? kind : k;
		map_file(argv[1], i, kind, bytes);
	}
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
