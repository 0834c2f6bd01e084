// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * V8: a program or library called node, nodejs, libnode, libv8, electron or deno. Chunks of 256 KiB
 * at multiples of it, larger objects likewise.
 */
#include "base/cleanup.h"
#include "runtime/mapping_shape.h"
#include "runtime/runtime.h"

/* V8's kPageSizeBits is 18. */
#define V8_PAGE (256ull << 10)

static bool detect(const struct mapping *mapping)
{
	static const struct module_name names[] = {{"node", true},	  {"nodejs", true},
						   {"libnode.so", false}, {"libv8.so", false},
						   {"electron", true},	  {"deno", true}};

	return mapping_is_module(mapping, names, ARRAY_SIZE(names));
}

static bool owns(const void *state, const struct mapping *mapping)
{
	(void)state;
	return mapping_is_anonymous(mapping) && mapping_is_data(mapping) &&
	       mapping->start % V8_PAGE == 0 && !mapping_may_be_arena(mapping);
}

const struct runtime runtime_v8 = {
	.key = "v8",
	.name = "JavaScript engine (V8)",
	.tool = "a heap snapshot shows its objects: `node --heapsnapshot-signal=SIGUSR2`, "
		"v8.writeHeapSnapshot(), or Chrome's DevTools",
	.detect = detect,
	.owns = owns,
};
