// SPDX-License-Identifier: GPL-2.0-or-later
/* .NET: libcoreclr.so. The reservation of which most is in use. */
#include "base/cleanup.h"
#include "runtime/mapping_shape.h"
#include "runtime/runtime.h"

static bool detect(const struct mapping *mapping)
{
	static const struct module_name names[] = {{"libcoreclr.so", true}};

	return mapping_is_module(mapping, names, ARRAY_SIZE(names));
}

static void survey(void *state, const struct mapping *mapping)
{
	largest_reservation_add(state, mapping);
}

static bool owns(const void *state, const struct mapping *mapping)
{
	const struct largest_reservation *largest = state;

	return mapping_is_anonymous(mapping) && mapping_is_data(mapping) &&
	       reservation_has(&largest->best, mapping);
}

const struct runtime runtime_dotnet = {
	.key = "dotnet",
	.name = ".NET runtime",
	.tool = "`dotnet-gcdump collect -p %d` keeps its objects, dotnet-counters watches it",
	.detect = detect,
	.survey = survey,
	.state_size = sizeof(struct largest_reservation),
	.owns = owns,
};
