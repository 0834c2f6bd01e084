// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What holds OCaml's blocks: fields of modules, finalisers, the exception that was raised last.
 * Stacks and variables of C are read as those of any program are. What the collector itself keeps
 * of blocks holds none of them.
 */
#include "runtime/ocaml.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"

#define ROOTS_MAX (1u << 20)
#define MODULES_MAX 65536
#define BLOCKS_MAX 4096 /* of one module */
#define FIELDS_MAX 65536

/* Sees each block of each module whose fields are roots. 0 or an error. */
typedef int visit_module(void *context, uint64_t block, uint64_t fields);

/* startup_nat.c, caml_init_atom_table and roots_nat.c: caml_globals leads to a list of blocks of
 * each module. */
static int visit_modules(const struct ocaml *ocaml, visit_module *visit, void *context)
{
	uint64_t globals = ocaml_symbol(ocaml, "caml_globals");
	int error = 0;

	for (size_t i = 0; !error && globals && i < MODULES_MAX; i++) {
		uint64_t list = target_word(ocaml->memory, globals + i * 8);

		if (!list)
			break;
		for (size_t j = 0; !error && j < BLOCKS_MAX; j++) {
			uint64_t block = target_word(ocaml->memory, list + j * 8), header;

			if (!block || !ocaml_header(ocaml, block, &header))
				break;
			error = visit(context, block, MIN(HEADER_SIZE(header), FIELDS_MAX));
		}
	}
	return error;
}

struct visit {
	struct ocaml *ocaml;
	struct heap_sink *sink;
};

/* stdlib/obj.ml, Extension_constructor: a block with a name and a number. */
static bool constructor_name(const struct ocaml *ocaml, uint64_t value, char *name, size_t size)
{
	uint64_t header;

	return ocaml_header(ocaml, value, &header) && HEADER_TAG(header) == TAG_OBJECT &&
	       HEADER_SIZE(header) == 2 &&
	       ocaml_text(ocaml, target_word(ocaml->memory, value), name, size);
}

static int add_exception(struct visit *visit, uint64_t constructor)
{
	char text[OCAML_NAME_BYTES - 16], name[OCAML_NAME_BYTES];
	uint64_t *place;
	uint32_t class;
	int error;

	if (!constructor_name(visit->ocaml, constructor, text, sizeof(text)))
		return 0;
	snprintf(name, sizeof(name), "exception %s", text);
	error = ocaml_class(visit->ocaml, visit->sink, constructor, name, true, &class);
	place = error ? NULL : hash_put(&visit->ocaml->exceptions, constructor, NULL);
	if (!place)
		return error ? error : -ENOMEM;
	*place = class + 1;
	return 0;
}

static int find_exceptions_in(void *context, uint64_t block, uint64_t fields)
{
	struct visit *visit = context;
	int error = 0;

	for (uint64_t i = 0; !error && i < fields; i++)
		error = add_exception(visit, target_word(visit->ocaml->memory, block + i * 8));
	return error;
}

int ocaml_find_exceptions(struct ocaml *ocaml, struct heap_sink *sink)
{
	/* fail_nat.c, and predefined ones of the language. */
	static const char *const predefined[] = {
		"caml_exn_Out_of_memory",
		"caml_exn_Sys_error",
		"caml_exn_Failure",
		"caml_exn_Invalid_argument",
		"caml_exn_Match_failure",
		"caml_exn_Assert_failure",
		"caml_exn_Undefined_recursive_module",
	};
	struct visit visit = {ocaml, sink};
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(predefined); i++)
		error = add_exception(&visit, ocaml_symbol(ocaml, predefined[i]));
	return error ? error : visit_modules(ocaml, find_exceptions_in, &visit);
}

int ocaml_roots(void *state, struct heap_sink *sink)
{
	(void)state;
	(void)sink;
	return 0;
}

int ocaml_refer(void *state, struct heap_sink *sink, uint32_t node)
{
	(void)state;
	(void)sink;
	(void)node;
	return 0;
}
