// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The arenas of obmalloc: how much of them is in use, and the classes of which a few objects
 * prevent the rest from being returned to the kernel.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/cpython/cpython.h"
#include "heap/runtime/cpython/python_reader.h"
#include "heap/runtime/runtime.h"
#include "report/figures.h"
#include "report/memory_report.h"
#include "heap/runtime/loaded_symbols.h"

#define PINS_MAX 10

static const char *const exported[] = {
	"_PyRuntime",	    "PyType_Type",   "Py_Version",	   "PySet_Type",
	"PyFrozenSet_Type", "PyModule_Type", "_PyWeakref_RefType", "PyCode_Type",
	"PyGen_Type",	    "PyCoro_Type",   "PyAsyncGen_Type",	   "PyFrame_Type",
};
_Static_assert(ARRAY_SIZE(exported) <= LOADED_SYMBOLS_MAX, "room for all");

/* Objects of a type in sparse arenas: tally i + 1 for types->items[i]; tally 0 for blocks without a
 * type. */
struct tally {
	uint64_t objects, bytes, arenas;
	size_t last_arena; /* plus 1 */
};

struct counting {
	struct cpython *python;
	struct python_memory *made;
	VEC(struct tally) tallies;
	size_t arena; /* plus 1 */
	uint64_t used;
};

static int count(void *context, uint64_t address, const unsigned char *bytes, size_t size)
{
	struct counting *counting = context;

	(void)address;
	(void)bytes;
	counting->used += size;
	return 0;
}

static int tally(void *context, uint64_t address, const unsigned char *bytes, size_t size)
{
	struct counting *counting = context;
	struct cpython *python = counting->python;
	bool certain;
	const struct cpython_type *type =
		cpython_type_in_block(python, bytes, size, address, &certain);
	size_t place = type ? (size_t)(type - python->types.items) + 1 : 0;
	struct tally *tally;

	while (counting->tallies.count <= place) {
		tally = vec_push(&counting->tallies);
		if (!tally)
			return -ENOMEM;
		*tally = (struct tally){0};
	}
	tally = &counting->tallies.items[place];
	tally->objects++;
	tally->bytes += size;
	tally->arenas += tally->last_arena != counting->arena;
	tally->last_arena = counting->arena;
	return 0;
}

static int count_arena(struct counting *counting, size_t i, unsigned char *buffer)
{
	const struct cpython *python = counting->python;
	const struct cpython_arena *arena = &python->arenas.items[i];
	struct python_memory *made = counting->made;
	uint64_t bytes = python->layout->arena_bytes;
	struct arena_figures figures = {0};
	int error;

	counting->arena = i + 1;
	counting->used = 0;
	error = cpython_walk_arena(python, arena, buffer, count, counting, &figures);
	made->arenas++;
	made->bytes += bytes;
	made->used += counting->used;
	made->free += figures.free_pool_bytes;
	made->pool_free += figures.free_bytes - MIN(figures.free_bytes, figures.free_pool_bytes);
	made->nonsense += figures.nonsense;
	if (error || !counting->used || counting->used > bytes / PYTHON_SPARSE_PART)
		return error;
	made->sparse++;
	made->sparse_free += figures.free_bytes;
	figures = (struct arena_figures){0};
	return cpython_walk_arena(python, arena, buffer, tally, counting, &figures);
}

static int count_arenas(struct counting *counting)
{
	_cleanup_free_ unsigned char *buffer = malloc(counting->python->layout->arena_bytes);
	int error = buffer ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < counting->python->arenas.count; i++)
		error = count_arena(counting, i, buffer);
	return error;
}

static bool is_before(const struct tally *left, const struct tally *right)
{
	return left->arenas != right->arenas ? left->arenas > right->arenas
					     : left->bytes > right->bytes;
}

/* Returns the tally in most arenas, and removes it. */
static size_t next_tally(struct counting *counting)
{
	struct tally *items = counting->tallies.items;
	size_t best = 0;

	for (size_t i = 1; i < counting->tallies.count; i++) {
		if (is_before(&items[i], &items[best]))
			best = i;
	}
	return best;
}

static int add_pins(struct counting *counting)
{
	struct cpython *python = counting->python;

	for (size_t i = 0; counting->tallies.count && i < PINS_MAX; i++) {
		size_t place = next_tally(counting);
		struct tally *tally = &counting->tallies.items[place];
		struct python_pin *pin = tally->objects ? vec_push(&counting->made->pins) : NULL;
		char name[CPYTHON_NAME_BYTES];

		if (!tally->objects)
			return 0;
		if (!pin)
			return -ENOMEM;
		*pin = (struct python_pin){
			.objects = tally->objects, .bytes = tally->bytes, .arenas = tally->arenas};
		*tally = (struct tally){0};
		if (!place)
			continue;
		cpython_type_name(
			python,
			&(struct cpython_type){.address = python->types.items[place - 1].address,
					       .flags = python->types.items[place - 1].flags},
			name);
		pin->name = strdup(name);
		if (!pin->name)
			return -ENOMEM;
	}
	return 0;
}

/* Returns the end of a module's data, including the zeroed rest behind it. */
static uint64_t module_end(const struct maps *maps, const struct mapping *first)
{
	uint64_t end = first->end;

	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping->start >= first->start && mapping->inode == first->inode &&
		    mapping->major == first->major && mapping->minor == first->minor)
			end = mapping->end;
		else if (mapping->start == end && !mapping->inode && !mapping->path[0])
			return mapping->end;
	}
	return end;
}

bool cpython_load_module(struct target_memory *memory, struct loaded_module *module)
{
	for (size_t i = 0; i < memory->maps->list.count; i++) {
		const struct mapping *mapping = &memory->maps->list.items[i];

		if (mapping->offset || !runtime_cpython.detect(mapping) ||
		    loaded_module_read(memory, mapping, exported, ARRAY_SIZE(exported), module))
			continue;
		module->module.end = module_end(memory->maps, mapping);
		if (target_variable(&module->module, exported[0]))
			return true;
	}
	return false;
}

int python_memory_of(struct target_memory *memory, struct python_memory *made)
{
	struct cpython python = {0};
	struct counting counting = {.python = &python, .made = made};
	int error = cpython_open(memory, &python, made->version, &made->why);

	made->untested = python.untested;
	if (!error && python.layout->shift) {
		made->why = CPYTHON_FREE_THREADED;
		error = -ENOENT;
	}
	if (!error) {
		made->why = "its own memory allocator is not found: another build of it, or "
			    "PYTHONMALLOC=malloc";
		error = cpython_find_arenas(&python);
	}
	if (!error) {
		error = count_arenas(&counting);
		made->why = target_memory_overworked(memory);
	}
	if (!error)
		error = add_pins(&counting);
	vec_free(&counting.tallies);
	cpython_close(&python);
	return error == -ENOMEM ? error : 0;
}

int python_memory_read(const struct maps *maps, struct python_memory *python)
{
	_cleanup_free_ struct loaded_module *module = malloc(sizeof(*module));
	struct target_memory memory;
	int error = module ? target_memory_open(maps, NULL, NULL, &memory) : -ENOMEM;

	*python = (struct python_memory){.why = "its variables are not found"};
	if (error)
		return error;
	if (cpython_load_module(&memory, module)) {
		memory.modules = &module->modules;
		error = python_memory_of(&memory, python);
	}
	target_memory_close(&memory);
	return error;
}

/* -------- as reports have them */

void python_memory_free(struct python_memory *python)
{
	for (size_t i = 0; i < python->pins.count; i++)
		free(python->pins.items[i].name);
	vec_free(&python->pins);
	*python = (struct python_memory){0};
}

static bool python_is_known(const void *python)
{
	return !((const struct python_memory *)python)->why;
}

static bool python_is_untested(const void *python)
{
	return ((const struct python_memory *)python)->untested;
}

#define PIN(member) offsetof(struct python_pin, member)
static const struct figure pin_figures[] = {
	FIGURE("class", NULL, TEXT, PIN(name)),
	FIGURE("objects", NULL, NUMBER, PIN(objects)),
	FIGURE("bytes", NULL, NUMBER, PIN(bytes)),
	FIGURE("arenas", NULL, NUMBER, PIN(arenas)),
};
static const struct figures python_pin_figures = FIGURES(pin_figures);

#define PYTHON(member) offsetof(struct python_memory, member)
static const struct figure python_figures[] = {
	FIGURE("version", NULL, NOTE, PYTHON(version)),
	FIGURE("cannot_tell", NULL, TEXT, PYTHON(why)),
	FIGURE("arenas", NULL, NUMBER, PYTHON(arenas), .shown = python_is_known),
	FIGURE("arena_bytes", NULL, NUMBER, PYTHON(bytes), .shown = python_is_known),
	FIGURE("used_bytes", NULL, NUMBER, PYTHON(used), .shown = python_is_known),
	FIGURE("pool_free_bytes", NULL, NUMBER, PYTHON(pool_free), .shown = python_is_known),
	FIGURE("free_bytes", NULL, NUMBER, PYTHON(free), .shown = python_is_known),
	FIGURE("changed_pools", NULL, NUMBER, PYTHON(nonsense), .shown = python_is_known),
	FIGURE("sparse_arenas", NULL, NUMBER, PYTHON(sparse), .shown = python_is_known),
	FIGURE("sparse_free_bytes", NULL, NUMBER, PYTHON(sparse_free), .shown = python_is_known),
	FIGURE("version_untested", NULL, FLAG, PYTHON(untested), .shown = python_is_untested,
	       .left_out = true),
	FIGURE("pins", NULL, LIST, PYTHON(pins), .size = sizeof(struct python_pin),
	       .items = &python_pin_figures),
};
static const struct figures python_memory_figures = FIGURES(python_figures);

static const struct figure_words pin_words[] = {
	SAY("\t    {bytes:10} in {objects} blocks, {arenas} arenas: "),
	SAY_FROM(1, "class", "{class}\n"),
	SAY_UNLESS("class", "tables and letters of objects\n"),
};

static const struct list_words python_pins_words = {
	.name = "pins", .most = 5, FIGURE_WORDS(pin_words)};

static const struct figure_words python_words[] = {
	SAY(": {arena_bytes} in {arenas} arenas for small objects: {used_bytes} in "
	    "use, {pool_free_bytes} free in pools for one size, {free_bytes} free for "
	    "any size"),
	SAY_FROM(1, "changed_pools", " ({changed_pools} pools changed while they were read)"),
	SAY("\n"),
	SAY_FROM(1, "sparse_arenas",
		 "\tnot given back: {sparse_arenas} arenas of which at most a quarter is "
		 "in use; free in them: {sparse_free_bytes}; kept by:\n"),
	{.known = "sparse_arenas", .least = 1, .list = &python_pins_words},
};

static void python_free(void *figures)
{
	python_memory_free(figures);
}

static const struct runtime_view python_view = {.key = "python",
						.name = "Python",
						.unknown = "its arenas are not known",
						.figures = &python_memory_figures,
						FIGURE_WORDS(python_words),
						.size = sizeof(struct python_memory),
						.free = python_free};

/* Reading covers all memory for objects, regardless of the rest of the process. */
static bool python_is_wanted(const struct maps *maps, const struct runtime *shown, bool named)
{
	(void)shown;
	return named && python_is_program(maps);
}

static int python_read(const struct maps *maps, void *figures)
{
	return python_memory_read(maps, figures);
}

const struct memory_reader python_memory_reader = {
	.view = &python_view, .wanted = python_is_wanted, .read = python_read};
