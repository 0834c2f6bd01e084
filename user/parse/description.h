/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a file says about itself and its debug information (elf/debug_sections.h), asked for. */
#ifndef LEAKMON_PARSE_DESCRIPTION_H
#define LEAKMON_PARSE_DESCRIPTION_H

#include "elf/debug_sections.h"
#include "sandbox/parse_kind.h"

extern const struct parse_kind description_kind; /* -> struct debug_description */

int encode_description(const struct debug_description *description, struct bytes *body);
int decode_description(const struct bytes *body, struct debug_description *description);

#endif
