// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/parse/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/sandbox/bytes.h"
#include "base/search.h"
#include "base/vec.h"
#include "binary/arch/machine.h"
#include "binary/elf/debug_sections.h"

/*
 * Maps an address to its DWARF compilation unit. libdw's own way is .debug_aranges, which clang
 * does not write; where that fails, the units' own ranges are indexed.
 */

struct dwarf_unit_range {
	Dwarf_Addr low, high; /* [low, high) */
	Dwarf_Off unit;	      /* its DIE */
};

struct dwarf_units {
	VEC(struct dwarf_unit_range) ranges; /* by low address, once `indexed` */
	bool indexed;
};

/*
 * Maps an address to the calls inlined there (DWARF 5, 3.3.8 "Inlined Subroutines"). The functions
 * of a compilation unit are indexed at the first question about it: libdw's own dwarf_getscopes()
 * walks the whole unit for each address.
 */

struct dwarf_function_range {
	Dwarf_Addr low, high; /* [low, high) */
	Dwarf_Off function;   /* its DIE */
};

struct dwarf_unit_functions {
	VEC(struct dwarf_function_range) ranges; /* by low address */
};

struct dwarf_inlines {
	struct hash index; /* offset of a unit's DIE -> index in units, plus 1 */
	VEC(struct dwarf_unit_functions) units;
	size_t range_count; /* of all units */
};

#define MAX_RANGES (4u << 20)

static int add_unit(struct dwarf_units *units, Dwarf_Die *unit)
{
	Dwarf_Addr base = 0, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(unit, at, &base, &low, &high)) > 0) {
		struct dwarf_unit_range *range;

		/* Functions that the linker discarded remain at address 0. */
		if (low == 0 || low >= high)
			continue;
		if (units->ranges.count >= MAX_RANGES)
			return -EFBIG;
		range = vec_push(&units->ranges);
		if (!range)
			return -ENOMEM;
		*range = (struct dwarf_unit_range){low, high, dwarf_dieoffset(unit)};
	}
	return 0;
}

static int compare_ranges(const void *left_pointer, const void *right_pointer)
{
	const struct dwarf_unit_range *left = left_pointer, *right = right_pointer;

	return (left->low > right->low) - (left->low < right->low);
}

static void index_units(struct dwarf_units *units, Dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	size_t header_size;
	int error = 0;

	while (!error && !dwarf_nextcu(dwarf, at, &next, &header_size, NULL, NULL, NULL)) {
		Dwarf_Die unit;

		if (dwarf_offdie(dwarf, at + header_size, &unit))
			error = add_unit(units, &unit);
		if (next <= at)
			break;
		at = next;
	}
	if (units->ranges.count)
		qsort(units->ranges.items, units->ranges.count, sizeof(*units->ranges.items),
		      compare_ranges);
	units->indexed = true;
}

static const struct dwarf_unit_range *find_range(const struct dwarf_units *units,
						 Dwarf_Addr address)
{
	size_t begun = SORTED_BEFORE(range, units->ranges.items, units->ranges.count,
				     range->low <= address);

	if (!begun || address >= units->ranges.items[begun - 1].high)
		return NULL;
	return &units->ranges.items[begun - 1];
}

/* Returns 0, or -ENOENT. Always call it with the same `dwarf`. */
static int dwarf_units_find(struct dwarf_units *units, Dwarf *dwarf, Dwarf_Addr address,
			    Dwarf_Die *unit)
{
	const struct dwarf_unit_range *range;

	if (dwarf_addrdie(dwarf, address, unit))
		return 0;
	if (!units->indexed)
		index_units(units, dwarf);
	range = find_range(units, address);
	return range && dwarf_offdie(dwarf, range->unit, unit) ? 0 : -ENOENT;
}

static void dwarf_units_free(struct dwarf_units *units)
{
	vec_free(&units->ranges);
	units->indexed = false;
}

/* Limit of nested scopes; a hostile file may nest them endlessly. */
#define MAX_DEPTH 128

/* DIEs that may contain functions: gcc keeps lambdas inside their enclosing block. */
static bool may_hold_functions(int tag)
{
	static const int tags[] = {
		DW_TAG_namespace,  DW_TAG_module,     DW_TAG_class_type,    DW_TAG_structure_type,
		DW_TAG_union_type, DW_TAG_subprogram, DW_TAG_lexical_block,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		if (tags[i] == tag)
			return true;
	}
	return false;
}

static int add_function(struct dwarf_inlines *inlines, struct dwarf_unit_functions *unit,
			Dwarf_Die *function)
{
	Dwarf_Addr base = 0, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(function, at, &base, &low, &high)) > 0) {
		struct dwarf_function_range *range;

		/* Functions that the linker discarded remain at address 0. */
		if (low == 0 || low >= high)
			continue;
		if (inlines->range_count >= MAX_RANGES)
			return -EFBIG;
		range = vec_push(&unit->ranges);
		if (!range)
			return -ENOMEM;
		*range = (struct dwarf_function_range){low, high, dwarf_dieoffset(function)};
		inlines->range_count++;
	}
	return 0;
}

static int add_functions(struct dwarf_inlines *inlines, struct dwarf_unit_functions *unit,
			 Dwarf_Die *parent, int depth)
{
	Dwarf_Die child;
	int error = 0, more = depth < MAX_DEPTH ? dwarf_child(parent, &child) : 1;

	for (; !error && !more; more = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			error = add_function(inlines, unit, &child);
		if (!error && may_hold_functions(tag))
			error = add_functions(inlines, unit, &child, depth + 1);
	}
	return error;
}

static int compare_function_ranges(const void *left_pointer, const void *right_pointer)
{
	const struct dwarf_function_range *left = left_pointer, *right = right_pointer;

	return (left->low > right->low) - (left->low < right->low);
}

static const struct dwarf_unit_functions *find_unit(struct dwarf_inlines *inlines, Dwarf_Die *unit)
{
	uint64_t *slot = hash_put(&inlines->index, dwarf_dieoffset(unit), NULL);
	struct dwarf_unit_functions *functions;

	if (!slot)
		return NULL;
	if (*slot)
		return &inlines->units.items[*slot - 1];
	functions = vec_push(&inlines->units);
	if (!functions)
		return NULL;
	*slot = inlines->units.count;
	/* After an error, with those found so far. */
	add_functions(inlines, functions, unit, 0);
	if (functions->ranges.count)
		qsort(functions->ranges.items, functions->ranges.count,
		      sizeof(*functions->ranges.items), compare_function_ranges);
	return functions;
}

static const struct dwarf_function_range *
find_function_range(const struct dwarf_unit_functions *unit, Dwarf_Addr address)
{
	size_t begun =
		SORTED_BEFORE(range, unit->ranges.items, unit->ranges.count, range->low <= address);

	if (!begun || address >= unit->ranges.items[begun - 1].high)
		return NULL;
	return &unit->ranges.items[begun - 1];
}

/* A block without addresses may contain it: its children decide. */
static bool may_hold(Dwarf_Die *scope, int tag, Dwarf_Addr address)
{
	if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
	    tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
		return false;
	if (tag != DW_TAG_inlined_subroutine && !dwarf_hasattr(scope, DW_AT_low_pc) &&
	    !dwarf_hasattr(scope, DW_AT_ranges))
		return true;
	return dwarf_haspc(scope, address) > 0;
}

struct chain {
	Dwarf_Addr address;
	Dwarf_Die *found;
	size_t count, max;
};

/* Descends to the address. Returns true if a call below was inlined there: the search ends. */
static bool descend(struct chain *chain, Dwarf_Die *scope, int depth)
{
	Dwarf_Die child;
	int more = depth < MAX_DEPTH ? dwarf_child(scope, &child) : 1;

	for (; !more; more = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);
		bool inlined = tag == DW_TAG_inlined_subroutine;

		if (!may_hold(&child, tag, chain->address))
			continue;
		if (inlined && chain->count == chain->max)
			return true;
		if (inlined)
			chain->found[chain->count++] = child;
		if (descend(chain, &child, depth + 1) || inlined)
			return true;
	}
	return false;
}

/*
 * Finds the DW_TAG_inlined_subroutine DIEs that contain the address, outermost first; those deeper
 * than `max` are left out. `unit` is the address's own, always of the same `dwarf`. Returns the
 * number filled; 0 also when out of memory: a line without them is still correct.
 */
static size_t dwarf_inlines_find(struct dwarf_inlines *inlines, Dwarf *dwarf, Dwarf_Die *unit,
				 Dwarf_Addr address, Dwarf_Die *found, size_t max)
{
	const struct dwarf_unit_functions *functions = find_unit(inlines, unit);
	const struct dwarf_function_range *range = NULL;
	struct chain chain = {.address = address, .found = found, .max = max};
	Dwarf_Die function;

	if (functions)
		range = find_function_range(functions, address);
	if (range && dwarf_offdie(dwarf, range->function, &function))
		descend(&chain, &function, 0);
	return chain.count;
}

static void dwarf_inlines_free(struct dwarf_inlines *inlines)
{
	for (size_t i = 0; i < inlines->units.count; i++)
		vec_free(&inlines->units.items[i].ranges);
	vec_free(&inlines->units);
	hash_free(&inlines->index);
	inlines->range_count = 0;
}

/* Limit of nested inlined calls. */
#define MAX_INLINED 63

/* A DWARF file opened by libdw. libdw does not own the latter two. */
struct dwarf_handle {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
};

struct lines {
	struct dwarf_handle main;
	struct dwarf_handle alt; /* the supplementary file of dwz, if any */
	struct dwarf_units units;
	struct dwarf_inlines inlines;
};

static void close_handle(struct dwarf_handle *handle)
{
	if (handle->dwarf)
		dwarf_end(handle->dwarf);
	if (handle->elf)
		elf_end(handle->elf);
	if (handle->fd >= 0)
		close(handle->fd);
	*handle = (struct dwarf_handle){.fd = -1};
}

/* Decompressed by libdw itself, which must do so anyway. */
static bool ends_with_string(Elf_Scn *section, const char *name)
{
	const Elf_Data *data;

	if (!strcmp(name, ".zdebug_str") || !strcmp(name, ".zdebug_line_str"))
		elf_compress_gnu(section, 0, 0);
	else if (!strcmp(name, ".debug_str") || !strcmp(name, ".debug_line_str"))
		elf_compress(section, 0, 0);
	else
		return true;
	data = elf_rawdata(section, NULL);
	return data && (!data->d_size || !((const char *)data->d_buf)[data->d_size - 1]);
}

/* libdw (0.188) reads the last string past its section unless it is terminated there. */
static bool strings_end(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header))
			return false;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && header.sh_type != SHT_NOBITS && !ends_with_string(section, name))
			return false;
	}
	return true;
}

static int open_handle(int fd, struct dwarf_handle *handle)
{
	struct dwarf_handle opened = {.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};

	if (opened.fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	/* Read, not mapped: a mapped file that is truncated would cause SIGBUS. */
	opened.elf = elf_begin(opened.fd, ELF_C_READ, NULL);
	if (opened.elf && strings_end(opened.elf))
		opened.dwarf = dwarf_begin_elf(opened.elf, DWARF_C_READ, NULL);
	if (!opened.dwarf) {
		close_handle(&opened);
		return -EBADMSG;
	}
	*handle = opened;
	return 0;
}

/*
 * By default, libdw opens whatever path the file names as its supplementary file, in our root and
 * even if it is a FIFO. So it is given the right one, or the file is not used.
 */
static int attach_alternate(struct lines *lines, const struct debug_link *link, int fd)
{
	int error;

	if (!link->name[0])
		return 0;
	error = fd < 0 ? -ENOENT : debug_sections_check(fd, &machine_abi, NULL);
	if (!error)
		error = open_handle(fd, &lines->alt);
	if (!error)
		dwarf_setalt(lines->main.dwarf, lines->alt.dwarf);
	return error;
}

int lines_open(int fd, int alternate_fd, struct lines **lines)
{
	struct debug_link link = {0};
	struct lines *opened;
	int error = debug_sections_check(fd, &machine_abi, &link);

	if (error)
		return error;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->main.fd = opened->alt.fd = -1;
	error = open_handle(fd, &opened->main);
	if (!error)
		error = attach_alternate(opened, &link, alternate_fd);
	if (error) {
		lines_close(opened);
		return error;
	}
	*lines = opened;
	return 0;
}

void lines_close(struct lines *lines)
{
	if (!lines)
		return;
	dwarf_units_free(&lines->units);
	dwarf_inlines_free(&lines->inlines);
	close_handle(&lines->main);
	close_handle(&lines->alt);
	free(lines);
}

/*
 * Without DW_AT_comp_dir, libdw looks for it in the split file (.dwo), by a path that the target
 * chose: see attach_alternate().
 */
static bool leads_elsewhere(Dwarf_Die *unit)
{
	uint8_t type = 0;

	return dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) ||
	       (type == DW_UT_skeleton && !dwarf_hasattr(unit, DW_AT_comp_dir));
}

/* Finds the row of the line table. */
static bool find_row(Dwarf_Die *unit, uint64_t vaddr, struct line_frame *frame)
{
	Dwarf_Line *found = dwarf_getsrc_die(unit, vaddr);
	const char *file = found ? dwarf_linesrc(found, NULL, NULL) : NULL;
	int number;

	if (!file || dwarf_lineno(found, &number) || number <= 0)
		return false;
	*frame = (struct line_frame){.file = file, .line = (uint32_t)number};
	return true;
}

/* C++ and Rust give the linkage name, C has none. */
static const char *raw_name(Dwarf_Die *inlined)
{
	static const unsigned int names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name,
					     DW_AT_name};
	const char *name = NULL;

	for (size_t i = 0; !name && i < ARRAY_SIZE(names); i++) {
		Dwarf_Attribute attribute;

		if (dwarf_attr_integrate(inlined, names[i], &attribute))
			name = dwarf_formstring(&attribute);
	}
	return name && name[0] ? name : NULL;
}

static bool read_number(Dwarf_Die *die, unsigned int name, Dwarf_Word *number)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) && !dwarf_formudata(&attribute, number);
}

/* Returns the place of the inlined call: a line of the next frame. */
static struct line_frame call_place(Dwarf_Die *unit, Dwarf_Die *inlined)
{
	struct line_frame frame = {0};
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;

	if (!read_number(inlined, DW_AT_call_file, &file) ||
	    !read_number(inlined, DW_AT_call_line, &line) || !line || line > UINT32_MAX ||
	    dwarf_getsrcfiles(unit, &files, &count) || file >= count)
		return frame;
	frame.file = dwarf_filesrc(files, file, NULL, NULL);
	frame.line = frame.file ? (uint32_t)line : 0;
	return frame;
}

size_t lines_find(struct lines *lines, uint64_t vaddr, struct line_frame *frames, size_t max)
{
	Dwarf_Die unit, inlined[MAX_INLINED];
	size_t count;

	if (!max || dwarf_units_find(&lines->units, lines->main.dwarf, vaddr, &unit) ||
	    leads_elsewhere(&unit) || !find_row(&unit, vaddr, &frames[0]))
		return 0;
	count = dwarf_inlines_find(&lines->inlines, lines->main.dwarf, &unit, vaddr, inlined,
				   MIN(max - 1, MAX_INLINED));
	for (size_t i = 0; i < count; i++) {
		Dwarf_Die *call = &inlined[count - 1 - i];

		frames[i].function = raw_name(call);
		frames[i + 1] = call_place(&unit, call);
	}
	return count + 1;
}

struct Dwarf *lines_dwarf(struct lines *lines)
{
	return lines->main.dwarf;
}

int lines_function(struct lines *lines, uint64_t vaddr, uint64_t *offset)
{
	const struct dwarf_unit_functions *functions;
	const struct dwarf_function_range *range;
	Dwarf_Die unit;

	if (dwarf_units_find(&lines->units, lines->main.dwarf, vaddr, &unit) ||
	    leads_elsewhere(&unit))
		return -ENOENT;
	functions = find_unit(&lines->inlines, &unit);
	range = functions ? find_function_range(functions, vaddr) : NULL;
	if (!range)
		return -ENOENT;
	*offset = range->function;
	return 0;
}

/* Files with line information kept open between requests. Each takes up to two descriptors. */
#define MAX_OPEN_LINES 32

/* Lines beyond the limit are left out. */
#define MAX_STRINGS_BYTES (1u << 20)

struct open_lines {
	uint64_t key;
	struct lines *lines;
};

struct kept_lines {
	struct open_lines open[MAX_OPEN_LINES];
	size_t oldest; /* the slot to reuse next */
};

/* Allocates the answer, zeroed. Returns 0 or -ENOMEM; line_answer_free() in any case. */
static int line_answer_allocate(struct line_answer *answer, size_t ranges, size_t frames)
{
	answer->ranges = calloc(ranges + 1, sizeof(*answer->ranges));
	answer->frames = calloc(frames + 1, sizeof(*answer->frames));
	return answer->ranges && answer->frames ? 0 : -ENOMEM;
}

void line_answer_free(struct line_answer *answer)
{
	free(answer->ranges);
	free(answer->frames);
	free(answer->strings);
	*answer = (struct line_answer){0};
}

/* Neighbours mostly share their file: `last` is the offset of that string. */
static int add_string(struct line_encoder *encoder, const char *text, uint32_t last,
		      uint32_t *place)
{
	size_t size = text ? strnlen(text, WIRE_MAX_STRING) + 1 : 0;

	*place = WIRE_NO_STRING;
	if (!text || size > WIRE_MAX_STRING)
		return 0;
	if (last != WIRE_NO_STRING && !strcmp((char *)encoder->strings.data + last, text)) {
		*place = last;
		return 0;
	}
	if (size > MAX_STRINGS_BYTES - encoder->strings.size)
		return 0;
	*place = (uint32_t)encoder->strings.size;
	return bytes_append(&encoder->strings, text, size);
}

static int add_frame(struct line_encoder *encoder, const struct line_frame *frame)
{
	struct wire_frame last = {.function = WIRE_NO_STRING, .file = WIRE_NO_STRING}, *wire;
	int error;

	if (encoder->frames.count)
		last = encoder->frames.items[encoder->frames.count - 1];
	wire = vec_push(&encoder->frames);
	if (!wire)
		return -ENOMEM;
	wire->line = frame->line;
	error = add_string(encoder, frame->function, last.function, &wire->function);
	return error ? error : add_string(encoder, frame->file, last.file, &wire->file);
}

int line_encoder_add(struct line_encoder *encoder, const struct line_frame *frames, size_t count)
{
	int error = 0;

	if (encoder->address_count == WIRE_MAX_ADDRESSES || count > WIRE_MAX_FRAMES)
		return -EINVAL;
	for (size_t i = 0; !error && i < count; i++)
		error = add_frame(encoder, &frames[i]);
	encoder->counts[encoder->address_count++] = (uint32_t)count;
	return error;
}

int line_encoder_finish(const struct line_encoder *encoder, struct bytes *body)
{
	struct wire_lines wire = {
		.address_count = encoder->address_count,
		.frame_count = (uint32_t)encoder->frames.count,
		.strings_size = (uint32_t)encoder->strings.size,
	};
	int error = bytes_append(body, &wire, sizeof(wire));

	if (!error)
		error = bytes_append(body, encoder->counts,
				     encoder->address_count * sizeof(encoder->counts[0]));
	if (!error)
		error = bytes_append(body, encoder->frames.items,
				     encoder->frames.count * sizeof(*encoder->frames.items));
	return error ? error : bytes_append(body, encoder->strings.data, encoder->strings.size);
}

void line_encoder_free(struct line_encoder *encoder)
{
	vec_free(&encoder->frames);
	bytes_free(&encoder->strings);
}

/* Leaves *text NULL for WIRE_NO_STRING. */
static int find_string(const char *strings, size_t size, uint32_t place, const char **text)
{
	if (place == WIRE_NO_STRING)
		return 0;
	if (place >= size || !is_terminated(strings + place, MIN(size - place, WIRE_MAX_STRING)))
		return -EPROTO;
	*text = strings + place;
	return 0;
}

static int decode_frames(const void *wire_frames, const struct wire_lines *wire,
			 struct line_answer *answer)
{
	int error = 0;

	for (size_t i = 0; !error && i < wire->frame_count; i++) {
		struct line_frame *frame = &answer->frames[i];
		struct wire_frame read;

		memcpy(&read, (const char *)wire_frames + i * sizeof(read), sizeof(read));
		error = find_string(answer->strings, wire->strings_size, read.function,
				    &frame->function);
		if (!error)
			error = find_string(answer->strings, wire->strings_size, read.file,
					    &frame->file);
		frame->line = read.line;
	}
	return error;
}

static int decode_ranges(const void *counts, const struct wire_lines *wire,
			 struct line_answer *answer)
{
	uint32_t first = 0;

	for (size_t i = 0; i < wire->address_count; i++) {
		uint32_t count;

		memcpy(&count, (const char *)counts + i * sizeof(count), sizeof(count));
		if (count > WIRE_MAX_FRAMES || count > wire->frame_count - first)
			return -EPROTO;
		answer->ranges[i] = (struct line_range){first, count};
		first += count;
	}
	answer->count = wire->address_count;
	return first == wire->frame_count ? 0 : -EPROTO;
}

static size_t addresses_in(size_t question_size)
{
	return (question_size - offsetof(struct wire_lines_question, addresses)) / sizeof(uint64_t);
}

static int decode(const struct bytes *body, const struct parse_origin *origin, void *out)
{
	size_t addresses = addresses_in(origin->question_size);
	struct line_answer *answer = out;
	_cleanup_(line_answer_free) struct line_answer read = {0};
	struct cursor cursor = {body->data, body->size};
	const void *counts, *frames;
	struct wire_lines wire;
	int error = cursor_take_one(&cursor, &wire, sizeof(wire));

	if (error || wire.address_count != addresses)
		return -EPROTO;
	counts = cursor_take(&cursor, wire.address_count, sizeof(uint32_t));
	frames = counts ? cursor_take(&cursor, wire.frame_count, sizeof(struct wire_frame)) : NULL;
	if (!frames)
		return -EPROTO;
	error = line_answer_allocate(&read, wire.address_count, wire.frame_count);
	if (!error)
		error = cursor_take_copy(&cursor, wire.strings_size, 1, (void **)&read.strings);
	if (error)
		return error;
	if (cursor.left || decode_ranges(counts, &wire, &read) ||
	    decode_frames(frames, &wire, &read))
		return -EPROTO;
	*answer = read;
	memset(&read, 0, sizeof(read));
	return 0;
}

static void close_all_lines(struct kept_lines *kept)
{
	for (size_t i = 0; i < MAX_OPEN_LINES; i++)
		lines_close(kept->open[i].lines);
	memset(kept, 0, sizeof(*kept));
	/* libdw's many small blocks would otherwise remain as free heap. */
	malloc_trim(0);
}

static void release(void *state)
{
	close_all_lines(state);
	free(state);
}

static int find_or_open_lines(struct kept_lines *kept, const struct parse_input *input,
			      uint64_t key, struct lines **lines)
{
	int alternate = input->file_count > 1 ? input->files[1] : -1;
	struct open_lines *slot;
	int error;

	for (size_t i = 0; i < MAX_OPEN_LINES; i++) {
		slot = &kept->open[i];
		if (slot->lines && slot->key == key) {
			*lines = slot->lines;
			return 0;
		}
	}
	error = lines_open(input->files[0], alternate, lines);
	if (error == -ENOMEM) {
		/* The open files may use up all memory. */
		close_all_lines(kept);
		error = lines_open(input->files[0], alternate, lines);
	}
	if (error)
		return error;
	slot = &kept->open[kept->oldest];
	kept->oldest = (kept->oldest + 1) % MAX_OPEN_LINES;
	lines_close(slot->lines);
	*slot = (struct open_lines){key, *lines};
	return 0;
}

static int parse(const struct parse_input *input, struct bytes *body)
{
	_cleanup_(line_encoder_free) struct line_encoder encoder = {0};
	const struct wire_lines_question *question = input->question;
	struct line_frame frames[WIRE_MAX_FRAMES];
	struct lines *lines = NULL;
	int error;

	if (!*input->state)
		*input->state = calloc(1, sizeof(struct kept_lines));
	error = *input->state ? find_or_open_lines(*input->state, input, question->key, &lines)
			      : -ENOMEM;
	for (size_t i = 0; !error && i < addresses_in(input->question_size); i++) {
		size_t count = lines_find(lines, question->addresses[i], frames, WIRE_MAX_FRAMES);

		error = line_encoder_add(&encoder, frames, count);
	}
	return error ? error : line_encoder_finish(&encoder, body);
}

const struct parse_kind lines_kind = {
	.name = "lines",
	.lane = WORKER_LANE_BACKGROUND,
	.max_files = 2,
	.min_question = offsetof(struct wire_lines_question, addresses),
	.max_question = sizeof(struct wire_lines_question),
	.parse = parse,
	.decode = decode,
	.release = release,
};
