// SPDX-License-Identifier: GPL-2.0-or-later
/* JavaScriptCore in Bun (a program of that name): all anonymous memory without another owner, but
 * stacks. Its allocator of native memory is private to it, and cannot be distinguished. */
#include "base/cleanup.h"
#include "heap/runtime/mapping_shape.h"
#include "heap/runtime/runtime.h"

static bool detect(const struct mapping *mapping)
{
	static const struct module_name names[] = {{"bun", true}};

	return mapping_is_module(mapping, names, ARRAY_SIZE(names));
}

static bool owns(const void *state, const struct mapping *mapping)
{
	(void)state;
	return mapping_is_anonymous(mapping) && mapping_is_data(mapping) &&
	       !mapping_may_be_arena(mapping);
}

const struct runtime runtime_jsc = {
	.key = "jsc",
	.name = "JavaScript engine of Bun (JavaScriptCore)",
	.tool = "`generateHeapSnapshot()` of bun:jsc shows its objects; they are not read here",
	.collects = true,
	.detect = detect,
	.owns = owns,
};
