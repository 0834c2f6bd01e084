// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names given to threads by the program: System.Threading.Thread._name of the object to which a
 * handle of the runtime's thread leads. A String has its length, then letters of two bytes each.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "heap/runtime/dotnet/dotnet.h"

#define FIELDS_MAX 256
#define STRING_LENGTH 8
#define STRING_LETTERS 12

static bool has_name(struct dotnet *dotnet, uint64_t table, const char *wanted)
{
	char name[DOTNET_NAME_BYTES];

	dotnet_type_name(dotnet, table, name);
	return !strcmp(name, wanted);
}

/* Returns the offset of the name in a thread's object; 0: no such field. */
static uint32_t find_field(struct dotnet *dotnet, uint64_t table)
{
	const struct dotnet_type *found = dotnet_type_at(dotnet, table);
	struct dotnet_type type;
	uint64_t list, module;
	uint32_t own;

	if (!found || !found->class_address || !has_name(dotnet, table, "System.Threading.Thread"))
		return 0;
	type = *dotnet_type_at(dotnet, table);
	list = target_word(dotnet->memory, type.class_address + dotnet->layout.class_fields);
	module = dotnet_type_module(dotnet, table);
	own = list ? dotnet_own_fields(dotnet, &type) : 0;
	for (uint32_t i = 0; i < MIN(own, (uint32_t)FIELDS_MAX); i++) {
		uint64_t word = target_word(dotnet->memory, list + i * (uint64_t)FIELD_BYTES + 8);
		char name[DOTNET_NAME_BYTES];

		if (FIELD_IS_STATIC(word))
			continue;
		dotnet_field_name(dotnet, module, word, name);
		if (!strcmp(name, "_name"))
			return OBJECT_FIELDS + FIELD_OFFSET(word);
	}
	return 0;
}

/* Reads a string as ASCII; other letters become '?'. */
static void read_string(struct dotnet *dotnet, uint64_t string, char *name, size_t size)
{
	uint32_t length = (uint32_t)target_word(dotnet->memory, string + STRING_LENGTH);
	uint16_t letters[DOTNET_THREAD_NAME_BYTES];

	length = MIN(length, (uint32_t)MIN(size, ARRAY_SIZE(letters)) - 1);
	if (target_read(dotnet->memory, string + STRING_LETTERS, letters, length * 2))
		length = 0;
	for (uint32_t i = 0; i < length; i++)
		name[i] = letters[i] >= ' ' && letters[i] < 127 ? (char)letters[i] : '?';
	name[length] = '\0';
}

void dotnet_thread_name(struct dotnet *dotnet, uint64_t thread, char name[DOTNET_THREAD_NAME_BYTES])
{
	uint64_t handle, object, string;

	name[0] = '\0';
	if (!dotnet->layout.thread_object)
		return;
	handle = target_word(dotnet->memory, thread + dotnet->layout.thread_object);
	object = handle ? target_word(dotnet->memory, handle) : 0;
	if (!object || object & 7)
		return;
	if (!dotnet->thread_name)
		dotnet->thread_name =
			find_field(dotnet, target_word(dotnet->memory, object) & ~7ull);
	if (!dotnet->thread_name)
		return;
	string = target_word(dotnet->memory, object + dotnet->thread_name);
	if (string && !(string & 7) &&
	    has_name(dotnet, target_word(dotnet->memory, string) & ~7ull, "System.String"))
		read_string(dotnet, string, name, DOTNET_THREAD_NAME_BYTES);
	text_collapse_digits(name);
}
