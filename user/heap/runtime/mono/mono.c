// SPDX-License-Identifier: GPL-2.0-or-later
/* Mono (libmono*, mono-sgen): all anonymous memory without another owner, but stacks. */
#include "base/cleanup.h"
#include "heap/runtime/mapping_shape.h"
#include "heap/runtime/runtime.h"

static bool detect(const struct mapping *mapping)
{
	static const struct module_name names[] = {{"libmono", false}, {"mono-sgen", false}};

	return mapping_is_module(mapping, names, ARRAY_SIZE(names));
}

static bool owns(const void *state, const struct mapping *mapping)
{
	(void)state;
	return mapping_is_anonymous(mapping) && mapping_is_data(mapping) &&
	       !mapping_may_be_arena(mapping);
}

const struct runtime runtime_mono = {
	.key = "mono",
	.name = "Mono runtime",
	.tool = "`mono --profile=log:heapshot` and mprof-report show its objects",
	.collects = true,
	.detect = detect,
	.owns = owns,
};
