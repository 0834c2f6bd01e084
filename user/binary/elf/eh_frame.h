/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encoded pointers of exception frames: DW_EH_PE_* (LSB Core 5.0, 10.5.1). */
#ifndef LEAKMON_ELF_EH_FRAME_H
#define LEAKMON_ELF_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "binary/elf/byte_reader.h"
#include "binary/elf/elf_file.h"

/* The position of the bytes in the file's address space. */
struct eh_place {
	const uint8_t *bytes; /* the section's first byte */
	uint64_t address;     /* its virtual address */
};

/*
 * Reads a pointer: relative to its own place, to the start of the section (datarel, as in
 * .eh_frame_hdr) or absolute; 0 is always NULL, as in libgcc. An indirect pointer yields the
 * address of the pointer. Returns false for an encoding without meaning here, or at the end of the
 * bytes.
 */
bool eh_pointer_read(struct byte_reader *reader, uint8_t encoding, const struct eh_place *place,
		     uint64_t *value);

/*
 * Returns whether this encoding is valid for code addresses in .eh_frame: absolute or relative to
 * their own place, because libgcc has no base for datarel there.
 */
bool eh_pointer_fits_code(uint8_t encoding);

/* Finds .eh_frame in a file and reads it into memory. */

#define EH_MAX_BYTES (256ull << 20)

struct eh_section {
	const struct elf_abi *abi; /* borrowed: the file's */
	uint8_t *bytes;		   /* owned */
	size_t size;
	uint64_t address; /* of the first byte, in the file's own addresses */
	/*
	 * The size is from a section header. Otherwise it is the rest of the segment, and only the
	 * terminator marks the end of the frames.
	 */
	bool exact;
};

/*
 * Reads it by its section header; in a file without one, by the eh_frame_ptr of PT_GNU_EH_FRAME
 * (LSB Core 5.0, 10.6.2). Returns 0; -ENOENT: none (or compressed, or left out as in debug files);
 * -EFBIG: more than EH_MAX_BYTES; -EBADMSG; -EIO; -ENOMEM. *section is untouched on error.
 */
int eh_section_read(const struct elf_file *file, struct eh_section *section);
void eh_section_free(struct eh_section *section);

/*
 * The records of .eh_frame: the instructions of each function (FDE) and the settings that functions
 * share (CIE). Source of the format: LSB Core 5.0, 10.6.1; DWARF 5, 6.4.1.
 */

#define EH_MAX_CIES (1u << 18)
#define EH_MAX_FDES (4u << 20)

/* Call frame instructions, as a range of the section's bytes. */
struct eh_code {
	uint32_t offset, size;
};

struct eh_cie {
	uint32_t offset; /* of its record; FDEs refer to it */
	struct eh_code code;
	uint64_t code_alignment;
	int64_t data_alignment;
	uint8_t pointer_encoding; /* DW_EH_PE_* of code addresses */
	bool augmented;		  /* 'z': FDEs have a length of augmentation data */
	bool signal_frame;	  /* 'S' */
};

struct eh_fde {
	uint64_t start, end; /* virtual addresses; start < end */
	struct eh_code code;
	uint32_t cie; /* index into eh_frame.cies */
};

struct eh_frame {
	VEC(struct eh_cie) cies; /* ascending offset */
	VEC(struct eh_fde) fdes; /* in section order */
};

/*
 * Parses the section in one pass, linear in its size. Silently skips an FDE whose CIE is not an
 * earlier record or of an unknown kind, or whose range is empty, NULL or wraps around. Zero-length
 * records end the frames only if the section's size is not exact: linkers leave terminators in the
 * middle. Returns 0; -EBADMSG: a record extends beyond the section; -EFBIG: more than EH_MAX_*;
 * -ENOMEM. *frame is untouched on error.
 */
int eh_frame_parse(const struct eh_section *section, struct eh_frame *frame);
void eh_frame_free(struct eh_frame *frame);

#endif
