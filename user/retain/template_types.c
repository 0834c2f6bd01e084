// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/template_types.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define MAX_TYPE_BYTES 1024

/* When to believe it. */
enum trust {
	TRUST_ALWAYS,  /* it calls no constructor of the type */
	TRUST_INLINES, /* it may */
	TRUST_SCALARS, /* it may, but pointers and numbers have none */
	TRUST_MAX_
};

static const struct {
	const char *scope;  /* up to and with its `<` */
	const char *member; /* of the scope; NULL: any; "": the scope is the function */
	enum trust trust;
	const char *around; /* the type is in this one's argument; NULL: as it is */
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

static bool begins(const char *text, const char *beginning)
{
	return !strncmp(text, beginning, strlen(beginning));
}

bool template_is_library(const char *function)
{
	return begins(function, "std::") || begins(function, "__gnu_cxx::") ||
	       begins(function, "operator new");
}

/* What hands the size on as it is. */
static bool is_transparent(const char *function)
{
	return begins(function, "operator new") || begins(function, "std::__1::__libcpp_");
}

static int depth_change(char character)
{
	if (strchr("<([{", character))
		return 1;
	return strchr(">)]}", character) ? -1 : 0;
}

/* Where the template argument that begins at `text` ends: at its comma or bracket; NULL: nowhere.
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

/* Behind all arguments of the template of which one ends at `end`, and of those around it; NULL:
 * they do not end. */
static const char *arguments_end(const char *end)
{
	while (end && *end == ',')
		end = argument_end(end + 1);
	while (end && (*end == '>' || *end == ' '))
		end++;
	return end;
}

/* Behind a name come its parameters, its own template arguments, or an ABI tag. */
static bool is_name(const char *text, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(text, name, length) && strchr("(<[", text[length]) && text[length];
}

static bool fits_member(const char *rest, const char *member)
{
	if (!member)
		return begins(rest, "::");
	if (!member[0])
		return rest[0] == '(' || rest[0] == '[';
	return begins(rest, "::") && is_name(rest + 2, member);
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

	if (!begins(function, rows[i].scope))
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
	/* Its name may have brackets that do not match: operator<, operator->. */
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
