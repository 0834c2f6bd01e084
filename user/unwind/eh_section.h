/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds .eh_frame in a file and reads it into memory. */
#ifndef LEAKMON_UNWIND_EH_SECTION_H
#define LEAKMON_UNWIND_EH_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

#define EH_MAX_BYTES (256ull << 20)

struct eh_section {
	uint8_t *bytes; /* owned */
	size_t size;
	uint64_t address; /* of the first byte, in the file's own numbering */
	/*
	 * The size comes from a section header. Otherwise it is what the segment still holds, and
	 * only the terminator tells where the frames end.
	 */
	bool exact;
};

/*
 * By its section header; in a file without one, by the eh_frame_ptr of PT_GNU_EH_FRAME
 * (LSB Core 5.0, 10.6.2). 0; -ENOENT: there is none (or it is compressed, or left out as in debug
 * files); -EFBIG: more than EH_MAX_BYTES; -EBADMSG; -EIO; -ENOMEM. *section untouched on error.
 */
int eh_section_read(const struct elf_file *file, struct eh_section *section);
void eh_section_free(struct eh_section *section);

#endif
