// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/type_names.h"

#include <ctype.h>
#include <errno.h>

#include "base/cleanup.h"
#include "symbol/demangle.h"
#include "symbol/module.h"

#define MAX_NAME_BYTES 1024
#define MAX_OFFSET_TO_TOP (1 << 20)
/* Of a table of functions, how many words are looked at for one. */
#define OPS_WORDS 4

static bool is_code(const struct picture *picture, uint64_t address)
{
	const struct mapping *mapping = maps_find(&picture->maps, address);

	return mapping && mapping->executable && mapping->inode;
}

static bool is_constant(const struct picture *picture, uint64_t address)
{
	const struct mapping *mapping = maps_find(&picture->maps, address);

	return address % 8 == 0 && mapping && mapping->inode && !mapping->executable &&
	       !mapping->shared;
}

/* Without the prefix that says what it is the symbol of; NULL: not mangled. */
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

/* The name in a type_info: identifiers of the linker's, a star first if it is local to a file. */
static char *read_mangled(const struct picture *picture, uint64_t address)
{
	_cleanup_free_ char *name = calloc(1, MAX_NAME_BYTES);
	ssize_t got;
	size_t length;

	if (!name || !maps_find(&picture->maps, address) ||
	    !maps_find(&picture->maps, address)->inode)
		return NULL;
	got = memory_read(picture->maps.task, address, name, MAX_NAME_BYTES - 1);
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

static char *name_by_type_info(const struct picture *picture, uint64_t type_info)
{
	_cleanup_free_ char *mangled = NULL;
	uint64_t words[2];

	if (!is_constant(picture, type_info) ||
	    memory_read_exact(picture->maps.task, type_info, words, sizeof(words)) ||
	    !is_constant(picture, words[0]))
		return NULL;
	mangled = read_mangled(picture, words[1]);
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
	return symbol ? (*module)->image.table.names + symbol->name : NULL;
}

/* Compiled without type information: the vtable's own symbol may be left. */
static char *name_by_symbol(const struct data_modules *modules, uint64_t address)
{
	const struct data_module *module;
	const char *symbol = symbol_at(modules, address, &module);

	if (!symbol || strncmp(symbol, "_ZTV", 4) != 0)
		return NULL;
	return demangle_type("", symbol);
}

static char *class_name(const struct picture *picture, const struct data_modules *modules,
			uint64_t address)
{
	uint64_t words[3]; /* offset to top, type_info, the first virtual function */

	if (memory_read_exact(picture->maps.task, address - 16, words, sizeof(words)) ||
	    (int64_t)words[0] > MAX_OFFSET_TO_TOP || (int64_t)words[0] < -MAX_OFFSET_TO_TOP ||
	    (words[2] && !is_code(picture, words[2])))
		return NULL;
	return words[1] ? name_by_type_info(picture, words[1]) : name_by_symbol(modules, address);
}

static bool is_ops_table(const struct picture *picture, uint64_t address)
{
	const struct mapping *mapping = maps_find(&picture->maps, address);
	uint64_t words[OPS_WORDS];

	if (!mapping || mapping->writable ||
	    memory_read_exact(picture->maps.task, address, words, sizeof(words)))
		return false;
	for (size_t i = 0; i < OPS_WORDS; i++) {
		if (is_code(picture, words[i]))
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

int type_name_find(const struct picture *picture, const struct data_modules *modules,
		   const struct type_word *word, struct intern *intern, struct block_class *found)
{
	_cleanup_free_ char *name = class_name(picture, modules, word->address);

	if (name) {
		found->kind = word->second ? CLASS_CXX_ARRAY : CLASS_CXX;
		found->name = intern_string(intern, name);
		return found->name ? 0 : -ENOMEM;
	}
	if (word->second || !is_ops_table(picture, word->address))
		return -ENOENT;
	set_ops(modules, word->address, intern, found);
	return 0;
}
