// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Go: a mapping begins at 0xc000000000, where its arenas begin (runtime/malloc.go: arena hints);
 * from 1.25 on they are named.
 */
#include <string.h>

#include "runtime/mapping_shape.h"
#include "runtime/runtime.h"

#define ARENAS 0xc000000000ull
#define ARENAS_END 0x10000000000ull

static bool detect(const struct mapping *mapping)
{
	return mapping_is_anonymous(mapping) && mapping->start == ARENAS;
}

static bool owns(const void *state, const struct mapping *mapping)
{
	(void)state;
	return mapping_is_anonymous(mapping) && mapping_is_data(mapping) &&
	       (!strncmp(mapping->path, "[anon: Go: heap", 15) ||
		(mapping->start >= ARENAS && mapping->end <= ARENAS_END));
}

const struct runtime runtime_go = {
	.key = "go",
	.name = "Go runtime",
	.tool = "`go tool pprof http://…/debug/pprof/heap` (net/http/pprof) shows who allocates in "
		"it",
	.detect = detect,
	.owns = owns,
};
