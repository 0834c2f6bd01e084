// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "symbol/debug_sections.h"
#include "symbol/dwarf_units.h"

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

size_t lines_find(struct lines *lines, uint64_t vaddr, struct line_frame *frames, size_t max)
{
	const char *name;
	Dwarf_Line *found;
	Dwarf_Die unit;
	int number;

	if (!max || dwarf_units_find(&lines->units, lines->main.dwarf, vaddr, &unit) ||
	    leads_elsewhere(&unit))
		return 0;
	found = dwarf_getsrc_die(&unit, vaddr);
	name = found ? dwarf_linesrc(found, NULL, NULL) : NULL;
	if (!name || dwarf_lineno(found, &number) || number <= 0)
		return 0;
	frames[0] = (struct line_frame){.file = name, .line = (uint32_t)number};
	return 1;
}
