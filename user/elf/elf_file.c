// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "elf/elf_build_id.h"

#define MAX_PROGRAM_HEADERS 65536
#define MAX_THREAD_LOCAL_BYTES (1ull << 30)

static int read_header(struct elf_file *file, Elf64_Ehdr *header)
{
	int err;

	if (file->size < sizeof(*header))
		return -ENOEXEC;
	err = elf_file_read_exact(file, 0, header, sizeof(*header));
	if (err)
		return err;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != EM_X86_64)
		return -ENOEXEC;
	/* ET_REL is what dwz makes of the debug information that several files share. */
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN && header->e_type != ET_REL)
		return -ENOEXEC;
	file->type = header->e_type;
	file->entry = header->e_entry;
	return 0;
}

/* With 0xffff headers or more, their number is in section 0 (gABI, ELF header, e_phnum). */
static int count_program_headers(const struct elf_file *file, const Elf64_Ehdr *header,
				 size_t *count)
{
	Elf64_Shdr first;
	int err;

	*count = header->e_phnum;
	if (header->e_phnum == PN_XNUM) {
		err = elf_file_read_exact(file, header->e_shoff, &first, sizeof(first));
		if (err)
			return err;
		*count = first.sh_info;
	}
	if (*count > MAX_PROGRAM_HEADERS)
		return -EBADMSG;
	return *count && header->e_phentsize != sizeof(Elf64_Phdr) ? -EBADMSG : 0;
}

static int add_segment(struct elf_file *file, const Elf64_Phdr *program)
{
	struct elf_segment *segment;
	uint64_t ignored;

	if (program->p_filesz > program->p_memsz ||
	    __builtin_add_overflow(program->p_vaddr, program->p_memsz, &ignored) ||
	    __builtin_add_overflow(program->p_offset, program->p_filesz, &ignored))
		return -EBADMSG;
	segment = vec_push(&file->segments);
	if (!segment)
		return -ENOMEM;
	*segment = (struct elf_segment){
		.offset = program->p_offset,
		.vaddr = program->p_vaddr,
		.file_size = program->p_filesz,
		.memory_size = program->p_memsz,
		.executable = program->p_flags & PF_X,
		.writable = program->p_flags & PF_W,
	};
	return 0;
}

/* One that lies about itself has none. */
static void take_thread_locals(struct elf_file *file, const Elf64_Phdr *program)
{
	uint64_t alignment = program->p_align ? program->p_align : 1, ignored;

	if (program->p_filesz > program->p_memsz || program->p_memsz > MAX_THREAD_LOCAL_BYTES ||
	    alignment & (alignment - 1) || alignment > MAX_THREAD_LOCAL_BYTES ||
	    __builtin_add_overflow(program->p_vaddr, program->p_memsz, &ignored))
		return;
	file->thread_locals =
		(struct elf_thread_locals){program->p_vaddr, program->p_memsz, alignment};
}

static int take_program_header(struct elf_file *file, const Elf64_Phdr *program)
{
	if (program->p_type == PT_LOAD)
		return add_segment(file, program);
	if (program->p_type == PT_NOTE && !file->build_id[0])
		return elf_build_id_from_notes(file, program->p_offset, program->p_filesz,
					       program->p_align);
	if (program->p_type == PT_TLS)
		take_thread_locals(file, program);
	if (program->p_type == PT_DYNAMIC) {
		file->dynamic_offset = program->p_offset;
		file->dynamic_size = program->p_filesz;
	}
	return 0;
}

static int read_program_headers(struct elf_file *file, const Elf64_Ehdr *header)
{
	_cleanup_free_ Elf64_Phdr *programs = NULL;
	size_t count;
	int err;

	err = count_program_headers(file, header, &count);
	if (err || !count)
		return err;
	programs = calloc(count, sizeof(*programs));
	if (!programs)
		return -ENOMEM;
	err = elf_file_read_exact(file, header->e_phoff, programs, count * sizeof(*programs));
	for (size_t i = 0; !err && i < count; i++)
		err = take_program_header(file, &programs[i]);
	return err;
}

static int open_sized(const struct elf_file *sized, struct elf_file *file)
{
	_cleanup_(elf_file_close) struct elf_file opened = *sized;
	Elf64_Ehdr header;
	int err;

	err = read_header(&opened, &header);
	if (!err)
		err = read_program_headers(&opened, &header);
	if (!err && !opened.build_id[0])
		err = elf_build_id_from_section(&opened);
	if (err)
		return err;
	*file = opened;
	memset(&opened.segments, 0, sizeof(opened.segments));
	return 0;
}

int elf_file_open(int fd, struct elf_file *file)
{
	struct elf_file sized = {.fd = fd};
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	sized.size = (uint64_t)status.st_size;
	return open_sized(&sized, file);
}

int elf_file_open_memory(const void *memory, size_t size, struct elf_file *file)
{
	struct elf_file sized = {.fd = -1, .memory = memory, .size = size};

	return open_sized(&sized, file);
}

void elf_file_close(struct elf_file *file)
{
	vec_free(&file->segments);
	file->fd = -1;
}

int elf_file_offset(const struct elf_file *file, uint64_t vaddr, uint64_t *offset)
{
	for (size_t i = 0; i < file->segments.count; i++) {
		const struct elf_segment *segment = &file->segments.items[i];

		if (vaddr < segment->vaddr || vaddr - segment->vaddr >= segment->file_size)
			continue;
		*offset = vaddr - segment->vaddr + segment->offset;
		return 0;
	}
	return -ENOENT;
}

int elf_file_vaddr(const struct elf_file *file, uint64_t offset, uint64_t *vaddr)
{
	for (size_t i = 0; i < file->segments.count; i++) {
		const struct elf_segment *segment = &file->segments.items[i];

		if (!segment->executable || offset < segment->offset ||
		    offset - segment->offset >= segment->file_size)
			continue;
		*vaddr = offset - segment->offset + segment->vaddr;
		return 0;
	}
	return -ENOENT;
}
