/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of .eh_frame: which function (FDE) has which instructions under which common
 * conditions (CIE). Source of the format: LSB Core 5.0, 10.6.1; DWARF 5, 6.4.1.
 */
#ifndef LEAKMON_UNWIND_EH_FRAME_H
#define LEAKMON_UNWIND_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "unwind/eh_section.h"

#define EH_MAX_CIES (1u << 18)
#define EH_MAX_FDES (4u << 20)

/* Call frame instructions, as a part of the section's bytes. */
struct eh_code {
	uint32_t offset, size;
};

struct eh_cie {
	uint32_t offset; /* of its record: what an FDE points at */
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
	VEC(struct eh_fde) fdes; /* in the order of the section */
};

/*
 * One pass over the section, linear in its size. Passed over without a word: an FDE whose CIE is
 * not one of the records before it, or is of a kind we do not know, or whose range is empty, NULL
 * or wraps around. Zero-length records end the frames, but only where the section's size is not
 * exact: linkers leave terminators in the middle.
 * 0; -EBADMSG: a record reaches beyond the section; -EFBIG: more than EH_MAX_*; -ENOMEM.
 * *frame is untouched on error.
 */
int eh_frame_parse(const struct eh_section *section, struct eh_frame *frame);
void eh_frame_free(struct eh_frame *frame);

#endif
