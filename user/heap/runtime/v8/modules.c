// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Modules, and the caches that hold them.
 *
 * A module of node is a function called once, or an ES module's scope: a context whose outer one is
 * the native context. Its closures lead to its script. A script with several such contexts was
 * loaded again: its variables are no roots, because the older ones may be garbage.
 *
 * Exports of an ES module are cells, by name in a table of the module (src/objects/module.tq,
 * source-text-module.tq). Modules of require() are listed by path in Module._cache, which is
 * require.cache (lib/internal/modules/cjs/loader.js).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/v8/v8.h"

#define CELL_VALUE 8
#define CALL_FUNCTION 24 /* JSGeneratorObject::function */
#define TABLES_END 64	 /* the table of exports is among a module's first words */

/* Returns a function's context if its outer one is the native context; 0 otherwise. */
static uint64_t module_context(struct v8 *v8, uint64_t function)
{
	uint64_t context = v8_field(v8, function, v8_place(v8, V8_FUNCTION_CONTEXT));
	uint64_t outer;

	if (!v8_map_of(v8, context) || !v8_is_context(v8, v8_map_of(v8, context)) ||
	    v8_is_native_context(v8, context))
		return 0;
	outer = v8_field(v8, context,
			 v8_place(v8, V8_ARRAY_DATA) + 8 * v8_place(v8, V8_CONTEXT_PREVIOUS));
	return v8_is_native_context(v8, outer) ? context : 0;
}

static int note_module(struct v8 *v8, struct heap_sink *sink, uint64_t context, uint64_t shared)
{
	char name[V8_NAME_BYTES];
	const char *interned;
	uint64_t *named, *slot;
	struct v8_module *module;

	if (hash_get(&v8->module_index, context) || !v8_script_name(v8, shared, name))
		return 0;
	interned = intern_string(sink->strings, name);
	named = interned ? hash_put(&v8->module_names, (uint64_t)(uintptr_t)interned, NULL) : NULL;
	slot = hash_put(&v8->module_index, context, NULL);
	module = vec_push(&v8->modules);
	if (!named || !slot || !module)
		return -ENOMEM;
	*slot = v8->modules.count;
	*module = (struct v8_module){.context = context, .name = interned, .again = *named != 0};
	if (*named)
		v8->modules.items[*named - 1].again = true;
	else
		*named = v8->modules.count;
	return 0;
}

int v8_find_module(struct v8 *v8, struct heap_sink *sink, uint64_t function)
{
	uint64_t context = v8_place(v8, V8_FUNCTION_CONTEXT) && v8_place(v8, V8_SHARED_SCRIPT)
				   ? module_context(v8, function)
				   : 0;
	uint64_t shared = context ? v8_shared_of(v8, function) : 0;

	return shared ? note_module(v8, sink, context, shared) : 0;
}

const struct v8_module *v8_module_of(const struct v8 *v8, uint64_t context)
{
	const uint64_t *slot = hash_get(&v8->module_index, context);

	return slot && !v8->modules.items[*slot - 1].again ? &v8->modules.items[*slot - 1] : NULL;
}

/* Exports of ES modules. */

/* Returns the function of a module, referred to by its generator, or by the module itself. */
static uint64_t module_shared(struct v8 *v8, uint64_t module, uint64_t size)
{
	for (uint64_t at = 8; at + 8 <= size; at += 8) {
		uint64_t word = v8_field(v8, module, at);
		const struct v8_map *map = v8_map_of(v8, word);
		uint64_t shared = 0;

		if (v8_is_type(v8, map, V8_TYPE_SHARED))
			return word;
		if (map && map->is_function)
			shared = v8_shared_of(v8, word);
		else if (map && map->is_receiver)
			shared = v8_shared_of(v8, v8_field(v8, word, CALL_FUNCTION));
		if (shared)
			return shared;
	}
	return 0;
}

/* Adds a root for each cell of a table, where it follows its name. */
static int add_cells(struct v8 *v8, struct heap_sink *sink, uint64_t table, const char *module,
		     bool *any)
{
	uint32_t node = v8_is_object(table) ? heap_sink_node(sink, table - V8_TAG) : BLOCK_NONE;
	uint64_t words = node == BLOCK_NONE ? 0 : sink->sizes[node] / 8;
	int error = 0;

	for (uint64_t i = 0; !error && i + 1 < words && !target_memory_overworked(v8->memory);
	     i++) {
		uint64_t at = v8_place(v8, V8_ARRAY_DATA) + i * 8;
		uint64_t cell = v8_field(v8, table, at + 8), value;
		char name[V8_NAME_BYTES], root[3 * V8_NAME_BYTES];

		if (!v8_is_type(v8, v8_map_of(v8, cell), V8_TYPE_CELL) ||
		    !v8_identifier(v8, v8_field(v8, table, at), name))
			continue;
		*any = true;
		value = v8_field(v8, cell, CELL_VALUE);
		if (!v8_map_of(v8, value) || !v8_map_of(v8, value)->is_receiver)
			continue;
		snprintf(root, sizeof(root), "module %s %s", module, name);
		error = v8_add_root(sink, root, value);
	}
	return error;
}

int v8_add_exports(struct v8 *v8, struct heap_sink *sink, uint32_t node)
{
	uint64_t module = sink->starts[node] | V8_TAG, size = sink->sizes[node];
	char name[V8_NAME_BYTES];
	bool any = false;
	int error = 0;

	if (!v8_script_name(v8, module_shared(v8, module, size), name))
		return 0;
	for (uint64_t at = 8; !error && !any && at + 8 <= MIN(size, (uint64_t)TABLES_END);
	     at += 8) {
		uint64_t table = v8_field(v8, module, at);
		const struct v8_map *map = v8_map_of(v8, table);

		if (map && !map->is_receiver && !map->size)
			error = add_cells(v8, sink, table, name, &any);
	}
	return error;
}

/* require.cache. */

int v8_find_cache(struct v8 *v8, struct heap_sink *sink, uint64_t function)
{
	uint64_t cache, paths;
	const struct v8_map *map;
	char script[V8_NAME_BYTES];

	if (!v8_script_name(v8, v8_shared_of(v8, function), script) ||
	    strcmp(script, "node:internal/modules/cjs/loader") != 0)
		return 0;
	cache = v8_property(v8, function, "_cache");
	paths = v8_property(v8, function, "_pathCache");
	map = v8_map_of(v8, cache);
	if (!map || !map->is_receiver || !v8_map_of(v8, paths) ||
	    !v8_map_of(v8, paths)->is_receiver)
		return 0;
	v8->cache = cache;
	return v8_add_root(sink, "require.cache", cache);
}
