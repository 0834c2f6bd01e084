// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/classes.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "process/symbol/demangle.h"
#include "process/symbol/module.h"

#define MAX_TYPE_BYTES 1024

/* Conditions for trusting a function name. */
enum trust {
	TRUST_ALWAYS,  /* the function calls no constructor of the type */
	TRUST_INLINES, /* it may call one */
	TRUST_SCALARS, /* it may call one, which pointers and numbers lack */
	TRUST_MAX_
};

static const struct {
	const char *scope;  /* up to and including its `<` */
	const char *member; /* of the scope; NULL: any; "": the scope is the function */
	enum trust trust;
	const char *around; /* the type is in this one's argument; NULL: unchanged */
} rows[] = {
	{"std::__new_allocator<", "allocate", TRUST_ALWAYS, NULL},
	{"__gnu_cxx::new_allocator<", "allocate", TRUST_ALWAYS, NULL},
	{"std::allocator<", "allocate", TRUST_ALWAYS, NULL},
	{"std::allocator_traits<std::allocator<", "allocate", TRUST_ALWAYS, NULL},
	{"std::__1::allocator<", "allocate", TRUST_ALWAYS, NULL},
	{"std::_Vector_base<", "_M_allocate", TRUST_ALWAYS, NULL},
	{"std::_Vector_base<", "_M_create_storage", TRUST_ALWAYS, NULL},
	{"std::_Deque_base<", "_M_allocate_node", TRUST_ALWAYS, NULL},
	{"std::__cxx11::_List_base<", "_M_get_node", TRUST_ALWAYS, "std::_List_node<"},
	/* Characters. */
	{"std::__cxx11::basic_string<", NULL, TRUST_SCALARS, NULL},
	{"std::__1::basic_string<", NULL, TRUST_SCALARS, NULL},
	{"std::vector<", NULL, TRUST_SCALARS, NULL},
	{"std::__1::vector<", NULL, TRUST_SCALARS, NULL},
	{"std::make_unique<", "", TRUST_INLINES, NULL},
	{"std::__1::make_unique<", "", TRUST_INLINES, NULL},
	{"std::make_unique_for_overwrite<", "", TRUST_INLINES, NULL},
};

/* Functions that pass the size on unchanged. */
static bool is_transparent(const char *function)
{
	return text_begins(function, "operator new") ||
	       text_begins(function, "std::__1::__libcpp_");
}

static int depth_change(char character)
{
	if (strchr("<([{", character))
		return 1;
	return strchr(">)]}", character) ? -1 : 0;
}

/*
 * Returns the end of the template argument that begins at `text`: at its comma or bracket; NULL:
 * none.
 */
static const char *argument_end(const char *text)
{
	int depth = 0;

	for (; *text; text++) {
		int change = depth_change(*text);

		if (depth == 0 && (change < 0 || *text == ','))
			return *text == '>' || *text == ',' ? text : NULL;
		depth += change;
	}
	return NULL;
}

/*
 * Returns the end of all arguments of the template of which one ends at `end`, and of those around
 * it; NULL: unterminated.
 */
static const char *arguments_end(const char *end)
{
	while (end && *end == ',')
		end = argument_end(end + 1);
	while (end && (*end == '>' || *end == ' '))
		end++;
	return end;
}

/* A name is followed by its parameters, its own template arguments, or an ABI tag. */
static bool is_name(const char *text, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(text, name, length) && strchr("(<[", text[length]) && text[length];
}

static bool fits_member(const char *rest, const char *member)
{
	if (!member)
		return text_begins(rest, "::");
	if (!member[0])
		return rest[0] == '(' || rest[0] == '[';
	return text_begins(rest, "::") && is_name(rest + 2, member);
}

static bool is_scalar(const char *type, size_t length)
{
	static const char *const names[] = {
		"char",	   "signed char",    "unsigned char", "wchar_t",
		"char8_t", "char16_t",	     "char32_t",      "bool",
		"short",   "unsigned short", "int",	      "unsigned int",
		"long",	   "unsigned long",  "long long",     "unsigned long long",
		"float",   "double",	     "long double"};

	if (type[length - 1] == '*')
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strlen(names[i]) == length && !strncmp(names[i], type, length))
			return true;
	}
	return false;
}

static char *make_type(const char *around, const char *type, size_t length)
{
	char *made = NULL;

	if (asprintf(&made, "%s%.*s%s", around ? around : "", (int)length, type,
		     !around		       ? ""
		     : type[length - 1] == '>' ? " >"
					       : ">") < 0)
		return NULL;
	return made;
}

static char *try_row(size_t i, const char *function, bool inlines_known)
{
	size_t scope = strlen(rows[i].scope), length;
	const char *type = function + scope, *end, *rest;

	if (!text_begins(function, rows[i].scope))
		return NULL;
	end = argument_end(type);
	rest = end ? arguments_end(end) : NULL;
	if (!rest || !fits_member(rest, rows[i].member))
		return NULL;
	length = (size_t)(end - type);
	while (length && isspace((unsigned char)type[length - 1]))
		length--;
	if (!length || length > MAX_TYPE_BYTES)
		return NULL;
	if ((rows[i].trust == TRUST_INLINES && !inlines_known) ||
	    (rows[i].trust == TRUST_SCALARS && !is_scalar(type, length)))
		return NULL;
	return make_type(rows[i].around, type, length);
}

char *template_type(const char *function, bool inlines_known)
{
	/* Its name may have unmatched brackets: operator<, operator->. */
	if (strstr(function, "operator"))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *type = try_row(i, function, inlines_known);

		if (type)
			return type;
	}
	return NULL;
}

char *template_type_of_frames(const struct frames *frames)
{
	for (size_t i = 0; i < frames->list.count; i++) {
		const struct frame *frame = &frames->list.items[i];

		if (!frame->function)
			return NULL;
		if (!is_transparent(frame->function))
			return template_type(frame->function, frame->inlined || frame->file);
	}
	return NULL;
}

/* Finds the type of an object by a word that may point to a vtable or a table of functions. */

#define MAX_NAME_BYTES 1024
#define MAX_OFFSET_TO_TOP (1 << 20)

/* Words examined for one in a table of functions. */
#define OPS_WORDS 4

static bool is_code(const struct heap_image *heap_image, uint64_t address)
{
	const struct mapping *mapping = maps_find(&heap_image->maps, address);

	return mapping && mapping->executable && mapping->inode;
}

static bool is_constant(const struct heap_image *heap_image, uint64_t address)
{
	const struct mapping *mapping = maps_find(&heap_image->maps, address);

	return address % 8 == 0 && mapping && mapping->inode && !mapping->executable &&
	       !mapping->shared;
}

/* Demangles it without the prefix for the kind of symbol; NULL: not mangled. */
static char *demangle_type(const char *prefix, const char *mangled)
{
	_cleanup_free_ char *symbol = NULL, *readable = NULL;
	const char *type;

	if (asprintf(&symbol, "%s%s", prefix, mangled) < 0) {
		symbol = NULL;
		return NULL;
	}
	readable = demangle(symbol);
	type = readable ? strstr(readable, " for ") : NULL;
	return type ? strdup(type + strlen(" for ")) : NULL;
}

/* Reads the name in a type_info: a linker's identifier, with a leading star if local to a file. */
static char *read_mangled(const struct heap_image *heap_image, uint64_t address)
{
	_cleanup_free_ char *name = calloc(1, MAX_NAME_BYTES);
	ssize_t got;
	size_t length;

	if (!name || !maps_find(&heap_image->maps, address) ||
	    !maps_find(&heap_image->maps, address)->inode)
		return NULL;
	got = memory_read(heap_image->maps.source, address, name, MAX_NAME_BYTES - 1);
	if (got <= 0)
		return NULL;
	length = strnlen(name, (size_t)got);
	if (!length || length == (size_t)got)
		return NULL;
	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)name[i]) && !strchr("_.$*", name[i]))
			return NULL;
	}
	return name[0] == '*' ? strdup(name + 1) : TAKE_PTR(name);
}

static char *name_by_type_info(const struct heap_image *heap_image, uint64_t type_info)
{
	_cleanup_free_ char *mangled = NULL;
	uint64_t words[2];

	if (!is_constant(heap_image, type_info) ||
	    memory_read_exact(heap_image->maps.source, type_info, words, sizeof(words)) ||
	    !is_constant(heap_image, words[0]))
		return NULL;
	mangled = read_mangled(heap_image, words[1]);
	return mangled ? demangle_type("_ZTI", mangled) : NULL;
}

static const char *symbol_at(const struct data_modules *modules, uint64_t address,
			     const struct data_module **module)
{
	const struct symbol *symbol;
	uint64_t offset;

	*module = data_modules_at(modules, address);
	if (!*module)
		return NULL;
	symbol = data_module_object(*module, address, &offset);
	return symbol ? (*module)->image->table.names + symbol->name : NULL;
}

/* Compiled without type information: the vtable's own symbol may exist. */
static char *name_by_symbol(const struct data_modules *modules, uint64_t address)
{
	const struct data_module *module;
	const char *symbol = symbol_at(modules, address, &module);

	if (!symbol || strncmp(symbol, "_ZTV", 4) != 0)
		return NULL;
	return demangle_type("", symbol);
}

static char *class_name(const struct heap_image *heap_image, const struct data_modules *modules,
			uint64_t address)
{
	uint64_t words[3]; /* offset to top, type_info, the first virtual function */

	if (memory_read_exact(heap_image->maps.source, address - 16, words, sizeof(words)) ||
	    (int64_t)words[0] > MAX_OFFSET_TO_TOP || (int64_t)words[0] < -MAX_OFFSET_TO_TOP ||
	    (words[2] && !is_code(heap_image, words[2])))
		return NULL;
	return words[1] ? name_by_type_info(heap_image, words[1])
			: name_by_symbol(modules, address);
}

static bool is_ops_table(const struct heap_image *heap_image, uint64_t address)
{
	const struct mapping *mapping = maps_find(&heap_image->maps, address);
	uint64_t words[OPS_WORDS];

	if (!mapping || mapping->writable ||
	    memory_read_exact(heap_image->maps.source, address, words, sizeof(words)))
		return false;
	for (size_t i = 0; i < OPS_WORDS; i++) {
		if (is_code(heap_image, words[i]))
			return true;
	}
	return false;
}

static void set_ops(const struct data_modules *modules, uint64_t address, struct intern *intern,
		    struct block_class *found)
{
	const struct data_module *module;
	const char *symbol = symbol_at(modules, address, &module);

	found->kind = CLASS_OPS;
	if (symbol)
		found->name = module_readable_name(intern, symbol);
	if (!module)
		return;
	found->module = module->path;
	found->offset = address - module->bias;
}

/*
 * Returns 0 and kind, name, module, offset in *found; -ENOENT: neither; -ENOMEM. The target is
 * untrusted: type information is accepted only if all of it is where a compiler puts it.
 */
static int type_name_find(const struct heap_image *heap_image, const struct data_modules *modules,
			  const struct type_word *word, struct intern *intern,
			  struct block_class *found)
{
	_cleanup_free_ char *name = class_name(heap_image, modules, word->address);

	if (name) {
		found->kind = word->second ? CLASS_CXX_ARRAY : CLASS_CXX;
		found->name = intern_string(intern, name);
		return found->name ? 0 : -ENOMEM;
	}
	if (word->second || !is_ops_table(heap_image, word->address))
		return -ENOENT;
	set_ops(modules, word->address, intern, found);
	return 0;
}

struct classifier {
	const struct heap_graph *graph;
	uint32_t *managed; /* of the runtimes' classes: index in the list, or TYPE_NONE */
	const struct site_types *types;
	struct classes *classes;
	struct hash index;    /* key -> index in the list, plus 1 */
	uint32_t *type_class; /* of type_words: index in the list, or TYPE_NONE */
};

/* Returns the class of that key; made from *fresh if it is the first. */
static int join(struct classifier *classifier, uint64_t value, const struct block_class *fresh,
		uint32_t *place)
{
	uint64_t key = hash_mix(hash_mix((uint64_t)fresh->kind + 1) ^ value);
	uint64_t *slot = hash_put(&classifier->index, key, NULL);
	struct block_class *added;

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		added = vec_push(&classifier->classes->list);
		if (!added)
			return -ENOMEM;
		*added = *fresh;
		*slot = classifier->classes->list.count;
	}
	*place = (uint32_t)*slot - 1;
	return 0;
}

static int name_types(struct classifier *classifier, const struct heap_image *heap_image,
		      const struct data_modules *modules, struct intern *intern)
{
	const struct heap_graph *graph = classifier->graph;

	for (size_t i = 0; i < graph->type_words.count; i++) {
		const struct type_word *word = &graph->type_words.items[i];
		struct block_class found = {0};
		int error = type_name_find(heap_image, modules, word, intern, &found);

		classifier->type_class[i] = TYPE_NONE;
		if (error == -ENOENT)
			continue;
		if (!error)
			error = join(classifier,
				     found.kind == CLASS_OPS ? word->address
							     : (uint64_t)(uintptr_t)found.name,
				     &found, &classifier->type_class[i]);
		if (error)
			return error;
	}
	return 0;
}

/* Once all blocks are classified: names a site's class by its type. */
static int name_sites(const struct classifier *classifier, struct intern *intern)
{
	for (size_t i = 0; i < classifier->classes->list.count; i++) {
		struct block_class *class = &classifier->classes->list.items[i];
		const char *type = class->site && class->site <= classifier->types->count
					   ? classifier->types->names[class->site - 1]
					   : NULL;

		if (!type)
			continue;
		class->name = intern_string(intern, type);
		if (!class->name)
			return -ENOMEM;
	}
	return 0;
}

/* Classes of equal name are one: a module may have been loaded twice. */
static int classify_managed(struct classifier *classifier, uint32_t number, uint32_t *place)
{
	const struct managed_class *class = &classifier->graph->managed.classes.items[number];
	uint32_t *known = &classifier->managed[number];
	int error = 0;

	if (*known == TYPE_NONE)
		error = join(classifier, (uintptr_t) class->name,
			     &(struct block_class){.kind = CLASS_RUNTIME,
						   .name = class->name,
						   .module = class->runtime},
			     known);
	*place = *known;
	return error;
}

static int classify(struct classifier *classifier, uint32_t block, uint32_t *place)
{
	const struct heap_graph *graph = classifier->graph;
	struct block_class fresh = {.kind = CLASS_SIZE, .size = graph->sizes[block]};
	uint32_t what = heap_graph_what(graph, block);

	if (node_has_class(what))
		return classify_managed(classifier, what & NODE_CLASS, place);
	*place = graph->types[block];
	if (*place != TYPE_NONE)
		*place = classifier->type_class[*place];
	if (*place != TYPE_NONE)
		return 0;
	if (graph->sites && graph->sites[block])
		fresh = (struct block_class){.kind = CLASS_SITE, .site = graph->sites[block]};
	return join(classifier, fresh.site ? fresh.site : fresh.size, &fresh, place);
}

static int classify_all(struct classifier *classifier)
{
	struct classes *classes = classifier->classes;
	const struct heap_graph *graph = classifier->graph;
	int error = 0;

	for (uint32_t i = 0; !error && i < graph->blocks; i++) {
		error = classify(classifier, i, &classes->of_blocks[i]);
		if (error || !classes->list.items)
			break;
		classes->list.items[classes->of_blocks[i]].count += heap_graph_counts(graph, i);
		classes->list.items[classes->of_blocks[i]].bytes += graph->sizes[i];
	}
	return error;
}

int classes_find(const struct heap_image *heap_image, const struct data_modules *modules,
		 const struct heap_graph *graph, const struct site_types *types,
		 struct intern *intern, struct classes *classes)
{
	_cleanup_(classes_free) struct classes made = {0};
	struct classifier classifier = {.graph = graph, .types = types, .classes = &made};
	int error = -ENOMEM;

	made.of_blocks = malloc(((size_t)graph->blocks + 1) * sizeof(uint32_t));
	classifier.type_class = malloc((graph->type_words.count + 1) * sizeof(uint32_t));
	classifier.managed = malloc((graph->managed.classes.count + 1) * sizeof(uint32_t));
	if (classifier.managed)
		memset(classifier.managed, 0xff, graph->managed.classes.count * sizeof(uint32_t));
	if (made.of_blocks && classifier.type_class && classifier.managed)
		error = name_types(&classifier, heap_image, modules, intern);
	if (!error)
		error = classify_all(&classifier);
	if (!error)
		error = name_sites(&classifier, intern);
	hash_free(&classifier.index);
	free(classifier.type_class);
	free(classifier.managed);
	if (error)
		return error;
	*classes = made;
	made = (struct classes){0};
	return 0;
}

int classes_count(struct classes *classes, const struct heap_graph *graph,
		  const struct retention *retention)
{
	const uint32_t *counts = graph->managed.counts;

	for (size_t i = 0; i < classes->list.count; i++) {
		memset(classes->list.items[i].verdicts, 0, sizeof(classes->list.items[i].verdicts));
		classes->list.items[i].garbage = 0;
	}
	for (uint32_t i = 0; i < graph->blocks; i++) {
		struct block_class *class = &classes->list.items[classes->of_blocks[i]];
		struct retention_total *total = &class->verdicts[retention->verdicts[i]];

		total->blocks += heap_graph_counts(graph, i);
		total->bytes += graph->sizes[i];
		if (retention->verdicts[i] == VERDICT_UNTRACKED && heap_graph_counts(graph, i))
			class->garbage += !counts || counts[i] == COUNT_OF_GARBAGE;
		class->distance = MAX(class->distance, retention->distances[i]);
	}
	return 0;
}

void classes_free(struct classes *classes)
{
	vec_free(&classes->list);
	free(classes->of_blocks);
	*classes = (struct classes){0};
}
