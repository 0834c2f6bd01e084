// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "symbol/debug_sections.h"
#include "symbol/dwarf_inlines.h"
#include "symbol/dwarf_units.h"

/* How deep calls inlined into each other are followed. */
#define MAX_INLINED 63

/* A DWARF file as libdw has it. libdw does not own the lower two. */
struct dwarf_handle {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
};

struct lines {
	struct dwarf_handle main;
	struct dwarf_handle alt; /* what dwz moved out of it, if anything */
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

static int open_handle(int fd, struct dwarf_handle *handle)
{
	struct dwarf_handle opened = {.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};

	if (opened.fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	/* Read, not mapped: a file cut short while mapped would kill us with SIGBUS. */
	opened.elf = elf_begin(opened.fd, ELF_C_READ, NULL);
	if (opened.elf)
		opened.dwarf = dwarf_begin_elf(opened.elf, DWARF_C_READ, NULL);
	if (!opened.dwarf) {
		close_handle(&opened);
		return -EBADMSG;
	}
	*handle = opened;
	return 0;
}

/*
 * Left alone, libdw opens by itself whatever path the file names as its alternate, on our root and
 * even if it is a FIFO. So it is given the right one, or the file is not used.
 */
static int attach_alternate(struct lines *lines, const struct debug_link *link, int fd)
{
	int err;

	if (!link->name[0])
		return 0;
	err = fd < 0 ? -ENOENT : debug_sections_check(fd, NULL);
	if (!err)
		err = open_handle(fd, &lines->alt);
	if (!err)
		dwarf_setalt(lines->main.dwarf, lines->alt.dwarf);
	return err;
}

int lines_open(int fd, int alternate_fd, struct lines **lines)
{
	struct debug_link link = {0};
	struct lines *opened;
	int err = debug_sections_check(fd, &link);

	if (err)
		return err;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->main.fd = opened->alt.fd = -1;
	err = open_handle(fd, &opened->main);
	if (!err)
		err = attach_alternate(opened, &link, alternate_fd);
	if (err) {
		lines_close(opened);
		return err;
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
 * For want of DW_AT_comp_dir libdw looks for it in the split file (.dwo), by a path that the target
 * chose: see attach_alternate().
 */
static bool leads_elsewhere(Dwarf_Die *unit)
{
	uint8_t type = 0;

	return dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) ||
	       (type == DW_UT_skeleton && !dwarf_hasattr(unit, DW_AT_comp_dir));
}

/* What the line table says. */
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

/* C++ and Rust give the name that the linker would see, C does not need to. */
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

/* Where the call stood that was inlined: a line of the next frame. */
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
