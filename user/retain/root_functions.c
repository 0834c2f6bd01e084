// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/root_functions.h"

#include "base/cleanup.h"

static void look_up(struct root_functions *functions, uint64_t address, uint64_t *name,
		    uint64_t *module)
{
	struct frames frames = {0};

	if (symbolizer_name(functions->symbolizer, functions->process, &address, 1, LINES_NONE,
			    &frames))
		return;
	if (frames.list.count && frames.list.items[0].function) {
		const struct frame *frame = &frames.list.items[0];

		*name = (uintptr_t)intern_string(functions->intern, frame->function);
		*module = (uintptr_t)intern_string(functions->intern, frame->module);
	}
	vec_free(&frames.list);
}

const char *root_function(struct root_functions *functions, uint64_t address, const char **module)
{
	bool fresh = false;
	uint64_t *name = hash_put(&functions->names, address, &fresh);
	uint64_t *place = hash_put(&functions->modules, address, NULL);

	if (!name || !place)
		return NULL;
	if (fresh)
		look_up(functions, address, name, place);
	*module = (const char *)(uintptr_t)*place;
	return (const char *)(uintptr_t)*name;
}

void root_functions_free(struct root_functions *functions)
{
	hash_free(&functions->names);
	hash_free(&functions->modules);
}
