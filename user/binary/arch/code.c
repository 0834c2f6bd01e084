// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/decoder.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "binary/elf/eh_frame.h"
#include "binary/elf/elf_abi.h"
#include "binary/elf/elf_file.h"

#define CHUNK_RELOCATIONS 1024

static int by_start(const void *left, const void *right)
{
	const struct code_extent *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int read_frames(struct code *code)
{
	_cleanup_(eh_section_free) struct eh_section section = {0};
	_cleanup_(eh_frame_free) struct eh_frame frame = {0};
	int error = eh_section_read(code->file, &section);

	if (!error)
		error = eh_frame_parse(&section, &frame);
	for (size_t i = 0; i < frame.fdes.count && !error; i++) {
		struct code_extent *extent = vec_push(&code->frames);

		if (!extent)
			return -ENOMEM;
		*extent = (struct code_extent){frame.fdes.items[i].start, frame.fdes.items[i].end};
	}
	if (!error && code->frames.count)
		qsort(code->frames.items, code->frames.count, sizeof(*code->frames.items),
		      by_start);
	return error;
}

static int read_sizes(struct code *code, const struct elf_symbols *symbols)
{
	for (size_t i = 0; i < symbols->list.count; i++) {
		const struct elf_symbol *symbol = &symbols->list.items[i];
		struct code_extent *extent;

		if (!symbol->size || symbol->size > UINT64_MAX - symbol->value)
			continue;
		extent = vec_push(&code->sized);
		if (!extent)
			return -ENOMEM;
		*extent = (struct code_extent){symbol->value, symbol->value + symbol->size};
	}
	if (code->sized.count)
		qsort(code->sized.items, code->sized.count, sizeof(*code->sized.items), by_start);
	return 0;
}

static int read_bounds(struct code *code, const struct elf_symbols *symbols)
{
	int error = read_frames(code);

	return !symbols || error == -ENOMEM ? error : read_sizes(code, symbols);
}

static int add_slots(struct code *code, const Elf64_Rela *relocations, size_t count,
		     const struct elf_section *symbols, const struct elf_section *names)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t type = ELF64_R_TYPE(relocations[i].r_info);
		uint64_t index = ELF64_R_SYM(relocations[i].r_info);
		struct code_slot *slot;

		if (type != code->file->abi->jump_slot && type != code->file->abi->glob_dat)
			continue;
		if (index >= symbols->size / sizeof(Elf64_Sym) ||
		    code->slots.count == CODE_MAX_SLOTS)
			continue;
		slot = vec_push(&code->slots);
		if (!slot)
			return -ENOMEM;
		*slot = (struct code_slot){relocations[i].r_offset,
					   symbols->offset + index * sizeof(Elf64_Sym),
					   names->offset, names->size};
	}
	return 0;
}

static int read_relocations(struct code *code, const struct elf_sections *sections,
			    const struct elf_section *section)
{
	_cleanup_free_ Elf64_Rela *chunk = malloc(CHUNK_RELOCATIONS * sizeof(*chunk));
	const struct elf_section *symbols, *names;
	uint64_t offset = section->offset, left = section->size / sizeof(*chunk);
	int error = chunk ? 0 : -ENOMEM;

	if (section->link >= sections->list.count)
		return 0;
	symbols = &sections->list.items[section->link];
	if (symbols->type != SHT_DYNSYM || symbols->link >= sections->list.count)
		return 0;
	names = &sections->list.items[symbols->link];
	while (!error && left) {
		ssize_t got = elf_file_read(code->file, offset, chunk,
					    MIN(left, CHUNK_RELOCATIONS) * sizeof(*chunk));
		size_t count = got < 0 ? 0 : (size_t)got / sizeof(*chunk);

		if (!count)
			break;
		error = add_slots(code, chunk, count, symbols, names);
		offset += count * sizeof(*chunk);
		left -= count;
	}
	return error;
}

/* Only a broken file has slots that share an address; any order will do, if it is deterministic. */
static int by_address(const void *left, const void *right)
{
	const struct code_slot *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

static const struct code_slot *find_slot(const struct code *code, uint64_t address)
{
	size_t at =
		SORTED_BEFORE(slot, code->slots.items, code->slots.count, slot->address < address);

	return at < code->slots.count && code->slots.items[at].address == address
		       ? &code->slots.items[at]
		       : NULL;
}

/* Without section headers there are no slots: jumps through the PLT then have no target. */
static int read_slots(struct code *code)
{
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	int error = elf_sections_read(code->file, &sections);

	if (error)
		return error == -ENOMEM ? error : 0;
	for (size_t i = 0; i < sections.list.count && !error; i++) {
		if (sections.list.items[i].type == SHT_RELA)
			error = read_relocations(code, &sections, &sections.list.items[i]);
	}
	if (!error && code->slots.count)
		qsort(code->slots.items, code->slots.count, sizeof(*code->slots.items), by_address);
	return error;
}

static int open_decoder(struct code *code)
{
	if (decoder_open(&code->decoder))
		return -ENOMEM;
	cs_option(code->decoder, CS_OPT_DETAIL, CS_OPT_ON);
	code->instruction = cs_malloc(code->decoder);
	return code->instruction ? 0 : -ENOMEM;
}

int code_open(const struct elf_file *file, const struct elf_symbols *symbols, struct code **code)
{
	_cleanup_(code_close) struct code *opened = calloc(1, sizeof(*opened));
	int error;

	if (!opened)
		return -ENOMEM;
	opened->file = file;
	error = open_decoder(opened);
	if (!error)
		error = read_bounds(opened, symbols);
	if (!error)
		error = read_slots(opened);
	if (!error)
		*code = TAKE_PTR(opened);
	return error;
}

void code_close(struct code **code)
{
	struct code *closed = *code;

	*code = NULL;
	if (!closed)
		return;
	if (closed->instruction)
		cs_free(closed->instruction, 1);
	if (closed->decoder)
		cs_close(&closed->decoder);
	vec_free(&closed->frames);
	vec_free(&closed->sized);
	vec_free(&closed->slots);
	free(closed);
}

/* Returns the file's bytes at `vaddr`, or NULL. */
static const uint8_t *bytes_at(struct code *code, uint64_t vaddr, size_t *size)
{
	uint64_t offset;
	ssize_t got;

	if (vaddr < code->window_at || vaddr - code->window_at >= code->window_size ||
	    code->window_size - (vaddr - code->window_at) < MACHINE_INSTRUCTION_MAX) {
		if (elf_file_offset(code->file, vaddr, &offset))
			return NULL;
		got = elf_file_read(code->file, offset, code->window, sizeof(code->window));
		code->window_size = got < 0 ? 0 : (size_t)got;
		code->window_at = vaddr;
		if (!code->window_size)
			return NULL;
	}
	*size = code->window_size - (vaddr - code->window_at);
	return code->window + (vaddr - code->window_at);
}

int code_decode(struct code *code, uint64_t vaddr)
{
	size_t size = 0;
	const uint8_t *bytes = bytes_at(code, vaddr, &size);
	uint64_t address = vaddr;

	if (++code->decoded > CODE_MAX_DECODED)
		return -EBADMSG;
	if (!bytes || !cs_disasm_iter(code->decoder, &bytes, &size, &address, code->instruction))
		return -EBADMSG;
	return 0;
}

bool code_is_exhausted(const struct code *code)
{
	return code->decoded > CODE_MAX_DECODED;
}

/* Returns the last one that starts at or below `vaddr`, if it contains it. */
static const struct code_extent *extent_at(const struct code_extent *extents, size_t count,
					   uint64_t vaddr)
{
	size_t begun = SORTED_BEFORE(extent, extents, count, extent->start <= vaddr);

	return begun && vaddr < extents[begun - 1].end ? &extents[begun - 1] : NULL;
}

uint64_t code_function_end(const struct code *code, uint64_t vaddr)
{
	const struct code_extent *extent = extent_at(code->frames.items, code->frames.count, vaddr);

	if (!extent)
		extent = extent_at(code->sized.items, code->sized.count, vaddr);
	return extent ? extent->end : 0;
}

bool code_function(const struct code *code, uint64_t vaddr, struct code_extent *function)
{
	const struct code_extent *extent = extent_at(code->frames.items, code->frames.count, vaddr);

	if (extent)
		*function = *extent;
	return extent;
}

size_t code_bytes(const struct code *code)
{
	return code->instruction->size;
}

static void read_target(const struct code *code, const struct code_slot *slot,
			struct code_target *target)
{
	Elf64_Sym symbol;
	ssize_t got = elf_file_read(code->file, slot->symbol, &symbol, sizeof(symbol));

	if (got != sizeof(symbol) || symbol.st_name >= slot->names_size)
		return;
	if (symbol.st_shndx != SHN_UNDEF)
		target->vaddr = symbol.st_value;
	got = elf_file_read(code->file, slot->names + symbol.st_name, target->name,
			    MIN(sizeof(target->name) - 1, slot->names_size - symbol.st_name));
	if (got < 0 || !memchr(target->name, '\0', sizeof(target->name)))
		target->name[0] = '\0';
}

void code_follow(struct code *code, uint64_t vaddr, struct code_target *target)
{
	const struct code_slot *slot;
	uint64_t address;

	memset(target, 0, sizeof(*target));
	if (!decoder_plt_slot(code, vaddr, &address)) {
		target->vaddr = vaddr;
		return;
	}
	slot = find_slot(code, address);
	if (slot)
		read_target(code, slot, target);
}

bool code_is_call(const struct code *code)
{
	return decoder_step_kind(code) == STEP_CALL;
}
