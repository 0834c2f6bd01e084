// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/parse/far_part.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/code.h"

#define INTERPRETER "_PyEval_EvalFrameDefault"
#define PARTS_TRIED_MAX 16 /* each needs a pass over all symbols */

static const struct elf_symbol *find_interpreter(const struct elf_symbols *symbols)
{
	for (size_t i = 0; i < symbols->list.count; i++) {
		const struct elf_symbol *symbol = &symbols->list.items[i];

		if (symbol->size && !strcmp(symbol->name, INTERPRETER))
			return symbol;
	}
	return NULL;
}

static bool is_nameless(const struct elf_symbols *symbols, const struct code_extent *part)
{
	for (size_t i = 0; i < symbols->list.count; i++) {
		const struct elf_symbol *symbol = &symbols->list.items[i];

		if (symbol->value >= part->start && symbol->value < part->end)
			return false;
	}
	return true;
}

/* At the start of an extent begins another function; in its middle lies a part of this one. */
static bool leads_inside(const struct code *code, const struct elf_symbol *function,
			 struct code_extent *part)
{
	uint64_t target;

	return code_direct_target(code, &target) && !code_is_call(code) &&
	       (target < function->value || target - function->value >= function->size) &&
	       code_function(code, target, part) && target != part->start;
}

/* Finds the first part that a branch leads to. */
static bool find_part(struct code *code, const struct elf_symbols *symbols,
		      const struct elf_symbol *function, struct code_extent *part)
{
	uint64_t at = function->value;
	size_t tried = 0;

	while (at - function->value < function->size && !code_decode(code, at)) {
		if (leads_inside(code, function, part)) {
			if (is_nameless(symbols, part))
				return true;
			if (++tried == PARTS_TRIED_MAX)
				return false;
		}
		at += code_bytes(code);
	}
	return false;
}

int far_part_add(const struct elf_file *file, struct elf_symbols *symbols)
{
	const struct elf_symbol *function = find_interpreter(symbols);
	_cleanup_(code_close) struct code *code = NULL;
	struct elf_symbol *added;
	struct code_extent part;
	int error = function ? code_open(file, NULL, &code) : -ENOENT;

	if (error || !find_part(code, symbols, function, &part))
		return error == -ENOMEM ? error : 0;
	added = vec_push(&symbols->list);
	if (!added)
		return -ENOMEM;
	*added = (struct elf_symbol){.value = part.start,
				     .size = part.end - part.start,
				     .name = INTERPRETER ".cold",
				     .type = STT_FUNC,
				     .binding = STB_LOCAL};
	return 0;
}
