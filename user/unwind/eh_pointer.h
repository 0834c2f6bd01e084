/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encoded pointers of exception frames: DW_EH_PE_* (LSB Core 5.0, 10.5.1). */
#ifndef LEAKMON_UNWIND_EH_POINTER_H
#define LEAKMON_UNWIND_EH_POINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/byte_reader.h"

/* Where the bytes that are read belong in the file's address space. */
struct eh_place {
	const uint8_t *bytes; /* the first one of the section */
	uint64_t address;     /* its virtual address */
};

/*
 * Reads a pointer. Relative to its own place, to the start of the section (datarel, as in
 * .eh_frame_hdr) or absolute; 0 is NULL whatever it is relative to, as in libgcc. An indirect
 * pointer gives the address of the pointer. False: an encoding without meaning here, or the bytes
 * ended.
 */
bool eh_pointer_read(struct byte_reader *reader, uint8_t encoding, const struct eh_place *place,
		     uint64_t *value);

/*
 * Can addresses of code in .eh_frame be encoded so? Absolute or relative to their own place: for
 * datarel there libgcc knows no base on x86-64.
 */
bool eh_pointer_fits_code(uint8_t encoding);

#endif
