// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Structures that differ in .NET 8 from later versions: the counts of a class, the module and the
 * row of a type, static fields. Sources: src/coreclr/vm/{class,methodtable,ceeload,appdomain,
 * threadstatics}.h of that version.
 */
#include <errno.h>

#include "heap/runtime/dotnet/dotnet.h"

#define THREAD_MODULES 0x438 /* ThreadLocalBlock: ThreadLocalModules by number, their count */

#define TABLE_MODULE_FLAGS 0x1fu
#define TABLE_HAS_MODULE 0x10u /* the last one of optional words */
#define TABLE_TOKEN_NONE 0xffffu
#define TABLE_VIRTUALS 12
#define TABLE_OPTIONAL 48 /* two are here, more behind the table and its code addresses */
#define TABLE_BYTES 64
#define TABLE_CHUNK 8
#define CANONICAL 1ull

/* EEClass: a byte tells whether the next fields are packed, the next byte has their offset: the
 * numbers of instance fields, of methods, of static fields. */
#define CLASS_SHAPE 48
#define CLASS_STATICS 8

#define MODULE_FILE 0x110
#define MODULE_STATICS 0x4c8 /* DomainLocalModule */
#define MODULE_NUMBER 0x4d0
#define MODULE_INSTANCES 0x500 /* count; the address is 16 bytes further */
#define INSTANCES_MAX (1u << 20)
#define FILE_IMAGE 8
#define IMAGE_LOADED 120
#define IMAGE_FLAT 112
#define LAYOUT_BASE 8

/* DomainLocalModule; ThreadLocalModule */
#define STATICS_INSTANCES 8
#define STATICS_REFERENCES 32
#define LOCAL_INSTANCES 0
#define LOCAL_COUNT 8
#define LOCAL_REFERENCES 16
#define INSTANCE_BYTES 16
#define ARRAY_ITEMS 16

#define FIELD_IS_WHOLE(word) ((word) >> 30 & 1) /* otherwise the token has 17 bits, then a hash */

uint64_t dotnet_8_image(struct target_memory *memory, uint64_t module)
{
	uint64_t image =
		target_word(memory, target_word(memory, module + MODULE_FILE) + FILE_IMAGE);
	uint64_t layout = image ? target_word(memory, image + IMAGE_LOADED) : 0;

	if (image && !layout)
		layout = target_word(memory, image + IMAGE_FLAT);
	return layout ? target_word(memory, layout + LAYOUT_BASE) : 0;
}

uint32_t dotnet_8_fields(struct target_memory *memory, uint64_t class, bool statics)
{
	uint64_t word = target_word(memory, class + CLASS_SHAPE);
	uint64_t numbers = class + (word >> 16 & 0xff);

	if (word >> 8 & 0xff)
		return 0;
	return (uint32_t)target_word(memory, numbers + (statics ? CLASS_STATICS : 0)) & 0xffff;
}

/* Returns a type's module; instances of generic types and arrays may be in another module than the
 * generic type or the items' type. */
uint64_t dotnet_8_module(struct dotnet *dotnet, uint64_t table)
{
	struct target_memory *memory = dotnet->memory;
	uint64_t word = target_word(memory, table), class;
	uint32_t flags, before;

	if (!(word & (TABLE_COMPONENTS | TABLE_GENERICS)))
		return target_word(memory, table + dotnet->layout.table_module);
	class = target_word(memory, table + dotnet->layout.table_class);
	if (!(word & TABLE_COMPONENTS) && class & CANONICAL)
		table = class & ~CANONICAL;
	flags = (uint32_t)target_word(memory, table + dotnet->layout.table_flags2) &
		TABLE_MODULE_FLAGS;
	if (!(flags & TABLE_HAS_MODULE))
		return target_word(memory, table + dotnet->layout.table_module);
	before = (uint32_t)__builtin_popcount(flags & (TABLE_HAS_MODULE - 1));
	if (before >= (TABLE_BYTES - TABLE_OPTIONAL) / 8) {
		uint32_t virtuals = target_word(memory, table + TABLE_VIRTUALS) & 0xffff;

		before += (virtuals + TABLE_CHUNK - 1) / TABLE_CHUNK;
	}
	return target_word(memory, table + TABLE_OPTIONAL + before * 8ull);
}

uint32_t dotnet_8_token(uint64_t flags2)
{
	uint32_t token = (uint32_t)(flags2 >> 16) & 0xffff;

	return token == TABLE_TOKEN_NONE ? 0 : token;
}

uint32_t dotnet_8_field_token(uint64_t word)
{
	return FIELD_IS_WHOLE(word) ? FIELD_TOKEN(word) : FIELD_TOKEN(word) & 0x1ffff;
}

/* Reads static fields: a module's are in one array, those of each instance of a generic type in a
 * separate one. */

int dotnet_8_read_instances(struct dotnet *dotnet)
{
	struct target_memory *memory = dotnet->memory;

	for (size_t i = 0; i < dotnet->modules.count; i++) {
		uint64_t at = dotnet->modules.items[i] + MODULE_INSTANCES;
		uint64_t count = target_word(memory, at) & UINT32_MAX;
		uint64_t tables = target_word(memory, at + 16);

		for (uint64_t j = 0; tables && count <= INSTANCES_MAX && j < count; j++) {
			uint64_t table = target_word(memory, tables + j * 8), *place;

			if (!table || !dotnet_type_at(dotnet, table))
				continue;
			place = hash_put(&dotnet->instances, table, NULL);
			if (!place)
				return -ENOMEM;
			*place = (uint64_t)i << 32 | j;
		}
	}
	return 0;
}

/* Returns a class's references, from the module's array or the class's own; `head` has both. */
static uint64_t references_of(struct dotnet *dotnet, const uint64_t *instance, uint64_t module,
			      uint64_t instances, uint64_t references)
{
	if (!module)
		return 0;
	if (!instance)
		return target_word(dotnet->memory, references);
	instances = target_word(dotnet->memory, instances);
	if (!instances)
		return 0;
	instances =
		target_word(dotnet->memory, instances + (*instance & UINT32_MAX) * INSTANCE_BYTES);
	return instances ? target_word(dotnet->memory, instances) : 0;
}

/* Returns the module of a class's statics; 0: a generic type without arguments, which has none. */
static uint64_t module_of_statics(struct dotnet *dotnet, uint64_t table, const uint64_t *instance)
{
	if (instance)
		return dotnet->modules.items[*instance >> 32];
	return target_word(dotnet->memory, table) & TABLE_GENERICS ? 0
								   : dotnet_8_module(dotnet, table);
}

uint64_t dotnet_8_statics(struct dotnet *dotnet, uint64_t table)
{
	const uint64_t *instance = hash_get(&dotnet->instances, table);
	uint64_t module = module_of_statics(dotnet, table, instance);
	uint64_t statics = module ? target_word(dotnet->memory, module + MODULE_STATICS) : 0;

	return references_of(dotnet, instance, statics, statics + STATICS_INSTANCES,
			     statics + STATICS_REFERENCES);
}

uint64_t dotnet_8_thread_statics(struct dotnet *dotnet, uint64_t thread, uint64_t table)
{
	struct target_memory *memory = dotnet->memory;
	const uint64_t *instance = hash_get(&dotnet->instances, table);
	uint64_t module = module_of_statics(dotnet, table, instance);
	uint64_t modules = target_word(memory, thread + THREAD_MODULES), local, handle, array;
	uint32_t number = module ? (uint32_t)target_word(memory, module + MODULE_NUMBER) : 0;

	if (!module || !modules || number >= target_word(memory, thread + THREAD_MODULES + 8))
		return 0;
	local = target_word(memory, modules + number * 8ull);
	if (local && instance &&
	    (*instance & UINT32_MAX) >= target_word(memory, local + LOCAL_COUNT))
		return 0;
	handle = references_of(dotnet, instance, local, local + LOCAL_INSTANCES,
			       local + LOCAL_REFERENCES);
	array = handle ? target_word(memory, handle) : 0;
	return array ? array + ARRAY_ITEMS : 0;
}
