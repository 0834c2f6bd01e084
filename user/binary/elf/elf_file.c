// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/elf/elf_abi.h"

/* Reads bytes of an ELF file, from memory or a descriptor. */

ssize_t elf_file_read(const struct elf_file *file, uint64_t offset, void *buffer, size_t size)
{
	size_t done = 0;

	if (offset >= file->size)
		return 0;
	size = MIN(size, file->size - offset);
	if (file->memory) {
		memcpy(buffer, (const char *)file->memory + offset, size);
		return (ssize_t)size;
	}
	while (done < size) {
		ssize_t got =
			pread(file->fd, (char *)buffer + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int elf_file_read_exact(const struct elf_file *file, uint64_t offset, void *buffer, size_t size)
{
	ssize_t got = elf_file_read(file, offset, buffer, size);

	if (got < 0)
		return (int)got;
	return (size_t)got == size ? 0 : -EBADMSG;
}

#define MAX_NOTES_BYTES 65536
#define MAX_BUILD_ID_BYTES 40

_Static_assert(sizeof(((struct elf_file *)0)->build_id) > 2 * MAX_BUILD_ID_BYTES, "hex fits");

static void print_hex(const uint8_t *bytes, size_t size, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		*text++ = digits[bytes[i] >> 4];
		*text++ = digits[bytes[i] & 15];
	}
	*text = '\0';
}

/* Notes are padded to 4 bytes, or to 8 in segments aligned to 8 (gABI, "Note Section"). */
static void parse_notes(const uint8_t *notes, uint64_t size, uint64_t alignment, char *build_id)
{
	uint64_t at = 0;

	while (at < size && size - at >= sizeof(Elf64_Nhdr)) {
		uint64_t name = at + sizeof(Elf64_Nhdr), text;
		Elf64_Nhdr note;

		memcpy(&note, notes + at, sizeof(note));
		text = align_up(name + note.n_namesz, alignment);
		if (text + note.n_descsz > size)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) &&
		    note.n_descsz > 0 && note.n_descsz <= MAX_BUILD_ID_BYTES) {
			print_hex(notes + text, note.n_descsz, build_id);
			return;
		}
		at = align_up(text + note.n_descsz, alignment);
	}
}

static int elf_build_id_from_notes(struct elf_file *file, uint64_t offset, uint64_t size,
				   uint64_t alignment)
{
	_cleanup_free_ uint8_t *notes = NULL;
	ssize_t got;

	size = MIN(size, MAX_NOTES_BYTES);
	notes = malloc(size ? size : 1);
	if (!notes)
		return -ENOMEM;
	got = elf_file_read(file, offset, notes, size);
	if (got < 0)
		return (int)got;
	parse_notes(notes, (uint64_t)got, alignment == 8 ? 8 : 4, file->build_id);
	return 0;
}

static int elf_build_id_from_section(struct elf_file *file)
{
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	const struct elf_section *section;
	int error = elf_sections_read(file, &sections);

	if (error)
		return error == -ENOMEM || error == -EIO ? error : 0;
	section = elf_sections_find(&sections, ".note.gnu.build-id");
	if (!section || section->type != SHT_NOTE)
		return 0;
	return elf_build_id_from_notes(file, section->offset, section->size, 4);
}

#define MAX_SECTIONS (1u << 18)
#define MAX_NAMES_BYTES (16u << 20)

struct section_headers {
	Elf64_Shdr *items;
	size_t count;
	uint32_t names; /* index of the section with the names */
};

/*
 * Section 0 holds values too large for the ELF header (gABI, ELF header, e_shnum and e_shstrndx).
 */
static int count_headers(const struct elf_file *file, const Elf64_Ehdr *header,
			 struct section_headers *headers)
{
	Elf64_Shdr first;
	uint64_t count = header->e_shnum;
	int error;

	headers->names = header->e_shstrndx;
	if (!header->e_shoff)
		return 0;
	if (header->e_shentsize != sizeof(first))
		return -EBADMSG;
	error = elf_file_read_exact(file, header->e_shoff, &first, sizeof(first));
	if (error)
		return error;
	if (!count)
		count = first.sh_size;
	if (headers->names == SHN_XINDEX)
		headers->names = first.sh_link;
	if (count > MAX_SECTIONS)
		return -EBADMSG;
	headers->count = count;
	return 0;
}

static int read_headers(const struct elf_file *file, struct section_headers *headers)
{
	_cleanup_free_ Elf64_Shdr *items = NULL;
	Elf64_Ehdr header;
	int error;

	error = elf_file_read_exact(file, 0, &header, sizeof(header));
	if (!error)
		error = count_headers(file, &header, headers);
	if (error || !headers->count)
		return error;
	items = calloc(headers->count, sizeof(*items));
	if (!items)
		return -ENOMEM;
	error = elf_file_read_exact(file, header.e_shoff, items, headers->count * sizeof(*items));
	if (error)
		return error;
	headers->items = TAKE_PTR(items);
	return 0;
}

/* A NUL is added, so that every offset below *size starts a string. Without names: "". */
static int read_names(const struct elf_file *file, const struct section_headers *headers,
		      char **names, size_t *size)
{
	const Elf64_Shdr *section = NULL;
	ssize_t got = 0;

	*size = 0;
	if (headers->names < headers->count && headers->items[headers->names].sh_type == SHT_STRTAB)
		section = &headers->items[headers->names];
	if (section && section->sh_offset < file->size)
		*size = MIN(MIN(section->sh_size, file->size - section->sh_offset),
			    MAX_NAMES_BYTES);
	*names = calloc(*size + 1, 1);
	if (!*names)
		return -ENOMEM;
	if (*size)
		got = elf_file_read(file, section->sh_offset, *names, *size);
	return got < 0 ? (int)got : 0;
}

static int fill_list(struct elf_sections *sections, const struct section_headers *headers,
		     size_t names_size)
{
	for (size_t i = 0; i < headers->count; i++) {
		const Elf64_Shdr *header = &headers->items[i];
		struct elf_section *section = vec_push(&sections->list);

		if (!section)
			return -ENOMEM;
		*section = (struct elf_section){
			.name = header->sh_name < names_size ? sections->names + header->sh_name
							     : "",
			.type = header->sh_type,
			.link = header->sh_link,
			.address = header->sh_addr,
			.offset = header->sh_offset,
			.size = header->sh_size,
			.entry_size = header->sh_entsize,
			.compressed = header->sh_flags & SHF_COMPRESSED,
		};
	}
	return 0;
}

int elf_sections_read(const struct elf_file *file, struct elf_sections *sections)
{
	_cleanup_(elf_sections_free) struct elf_sections read = {0};
	struct section_headers headers = {0};
	_cleanup_free_ Elf64_Shdr *items = NULL;
	size_t names_size;
	int error;

	error = read_headers(file, &headers);
	items = headers.items;
	if (!error)
		error = read_names(file, &headers, &read.names, &names_size);
	if (!error)
		error = fill_list(&read, &headers, names_size);
	if (error)
		return error;
	*sections = read;
	memset(&read, 0, sizeof(read));
	return 0;
}

void elf_sections_free(struct elf_sections *sections)
{
	vec_free(&sections->list);
	free(sections->names);
	sections->names = NULL;
}

const struct elf_section *elf_sections_find(const struct elf_sections *sections, const char *name)
{
	for (size_t i = 0; i < sections->list.count; i++) {
		const struct elf_section *section = &sections->list.items[i];

		if (section->type != SHT_NOBITS && !strcmp(section->name, name))
			return section;
	}
	return NULL;
}

#define MAX_PROGRAM_HEADERS 65536
#define MAX_THREAD_LOCAL_BYTES (1ull << 30)

static int read_header(struct elf_file *file, Elf64_Ehdr *header)
{
	int error;

	if (file->size < sizeof(*header))
		return -ENOEXEC;
	error = elf_file_read_exact(file, 0, header, sizeof(*header));
	if (error)
		return error;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != file->abi->machine)
		return -ENOEXEC;
	/* dwz writes the debug information that several files share as ET_REL. */
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN && header->e_type != ET_REL)
		return -ENOEXEC;
	file->type = header->e_type;
	file->entry = header->e_entry;
	return 0;
}

/* 0xffff headers or more are counted in section 0 (gABI, ELF header, e_phnum). */
static int count_program_headers(const struct elf_file *file, const Elf64_Ehdr *header,
				 size_t *count)
{
	Elf64_Shdr first;
	int error;

	*count = header->e_phnum;
	if (header->e_phnum == PN_XNUM) {
		error = elf_file_read_exact(file, header->e_shoff, &first, sizeof(first));
		if (error)
			return error;
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

/* An inconsistent PT_TLS is ignored. */
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
	int error;

	error = count_program_headers(file, header, &count);
	if (error || !count)
		return error;
	programs = calloc(count, sizeof(*programs));
	if (!programs)
		return -ENOMEM;
	error = elf_file_read_exact(file, header->e_phoff, programs, count * sizeof(*programs));
	for (size_t i = 0; !error && i < count; i++)
		error = take_program_header(file, &programs[i]);
	return error;
}

static int open_sized(const struct elf_file *sized, struct elf_file *file)
{
	_cleanup_(elf_file_close) struct elf_file opened = *sized;
	Elf64_Ehdr header;
	int error;

	error = read_header(&opened, &header);
	if (!error)
		error = read_program_headers(&opened, &header);
	if (!error && !opened.build_id[0])
		error = elf_build_id_from_section(&opened);
	if (error)
		return error;
	*file = opened;
	memset(&opened.segments, 0, sizeof(opened.segments));
	return 0;
}

int elf_file_open(int fd, const struct elf_abi *abi, struct elf_file *file)
{
	struct elf_file sized = {.abi = abi, .fd = fd};
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	sized.size = (uint64_t)status.st_size;
	return open_sized(&sized, file);
}

int elf_file_open_memory(const void *memory, size_t size, const struct elf_abi *abi,
			 struct elf_file *file)
{
	struct elf_file sized = {.abi = abi, .fd = -1, .memory = memory, .size = size};

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
