// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The data descriptor of .NET 9 and later: JSON in the process's memory with the offsets of
 * structures' fields (docs/design/datacontracts/data_descriptor.md of the runtime).
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/runtime/dotnet/dotnet.h"

#define MAGIC 0x0043414443434e44ull /* "DNCCDAC\0" */
#define DESCRIPTOR_BYTES_MAX (256u << 10)
#define POINTERS_MAX 1024
/* Limit of a plausible field offset. */
#define OFFSET_MAX 65536

struct contract_descriptor {
	uint64_t magic;
	uint32_t flags, size;
	uint64_t text;
	uint32_t pointers, padding;
	uint64_t pointer_data;
};

static const struct {
	const char *type, *field;
	size_t place; /* in struct dotnet_layout */
} fields[] = {
#define FIELD(type, field, place)                                                                  \
	{                                                                                          \
		type, field, offsetof(struct dotnet_layout, place)                                 \
	}
	FIELD("MethodTable", "MTFlags", table_flags),
	FIELD("MethodTable", "BaseSize", table_base_size),
	FIELD("MethodTable", "MTFlags2", table_flags2),
	FIELD("MethodTable", "ParentMethodTable", table_parent),
	FIELD("MethodTable", "Module", table_module),
	FIELD("MethodTable", "AuxiliaryData", table_auxiliary),
	FIELD("MethodTable", "EEClassOrCanonMT", table_class),
	FIELD("MethodTable", "PerInstInfo", table_instance),
	FIELD("EEClass", "MethodTable", class_table),
	FIELD("EEClass", "FieldDescList", class_fields),
	FIELD("EEClass", "NumInstanceFields", class_instance_fields),
	FIELD("EEClass", "NumStaticFields", class_static_fields),
	FIELD("ArrayClass", "Rank", class_rank),
	FIELD("Module", "Base", module_base),
	FIELD("Module", "DynamicMetadata", module_dynamic),
	FIELD("Module", "Assembly", module_assembly),
	FIELD("Module", "TypeDefToMethodTableMap", module_types),
	FIELD("ModuleLookupMap", "TableData", map_table),
	FIELD("ModuleLookupMap", "Count", map_count),
	FIELD("ThreadStore", "FirstThreadLink", store_first),
	FIELD("ThreadStore", "ThreadCount", store_threads),
	FIELD("Thread", "LinkNext", thread_next),
	FIELD("Thread", "RuntimeThreadLocals", thread_locals),
	FIELD("Thread", "State", thread_state),
	FIELD("Thread", "GCHandle", thread_object), /* 9 */
	FIELD("Thread", "ExposedObject", thread_object),
	FIELD("RuntimeThreadLocals", "AllocContext", locals_context),
	FIELD("EEAllocContext", "GCAllocationContext", context_inner),
	FIELD("GCAllocContext", "Pointer", context_pointer),
	FIELD("GCAllocContext", "Limit", context_limit),
	FIELD("DynamicMetadata", "Size", dynamic_size),
	FIELD("DynamicMetadata", "Data", dynamic_data),
	FIELD("RangeSectionMap", "TopLevelData", code.map_top),
	FIELD("RangeSectionFragment", "Next", code.fragment_next),
	FIELD("RangeSectionFragment", "RangeBegin", code.fragment_begin),
	FIELD("RangeSectionFragment", "RangeEndOpen", code.fragment_end),
	FIELD("RangeSectionFragment", "RangeSection", code.fragment_section),
	FIELD("RangeSection", "RangeBegin", code.section_begin),
	FIELD("RangeSection", "Flags", code.section_flags),
	FIELD("RangeSection", "R2RModule", code.section_module),
	FIELD("RangeSection", "HeapList", code.section_heap),
	FIELD("CodeHeapListNode", "StartAddress", code.heap_start),
	FIELD("CodeHeapListNode", "EndAddress", code.heap_end),
	FIELD("CodeHeapListNode", "MapBase", code.heap_base),
	FIELD("CodeHeapListNode", "HeaderMap", code.heap_map),
	FIELD("RealCodeHeader", "MethodDesc", code.header_method),
	FIELD("RealCodeHeader", "UnwindInfos", code.header_unwind),
	FIELD("MethodDesc", "Flags3AndTokenRemainder", code.method_token),
	FIELD("MethodDesc", "ChunkIndex", code.method_index),
	FIELD("MethodDesc", "Flags", code.method_flags),
	FIELD("MethodDescChunk", "MethodTable", code.chunk_table),
	FIELD("MethodDescChunk", "Size", code.chunk_size),
	FIELD("MethodDescChunk", "FlagsAndTokenRange", code.chunk_token),
	FIELD("MethodDescChunk", "!", code.chunk_bytes),
	FIELD("DynamicMethodDesc", "MethodName", code.dynamic_name),
#undef FIELD
};

static const struct {
	const char *name;
	size_t place; /* in struct dotnet_variables */
} globals[] = {
	{"FreeObjectMethodTable", offsetof(struct dotnet_variables, free_table)},
	{"ThreadStore", offsetof(struct dotnet_variables, thread_store)},
	{"AppDomain", offsetof(struct dotnet_variables, domain)},
	{"ExecutionManagerCodeRangeMapAddress", offsetof(struct dotnet_variables, code_map)},
};

/* Returns x of "x" or ["x", "type"]. */
static const json_t *bare(const json_t *value)
{
	return json_is_array(value) ? json_array_get(value, 0) : value;
}

static void read_fields(const json_t *types, struct dotnet_layout *layout)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const json_t *offset = bare(
			json_object_get(json_object_get(types, fields[i].type), fields[i].field));
		json_int_t number = json_integer_value(offset);

		if (json_is_integer(offset) && number >= 0 && number < OFFSET_MAX)
			*(uint32_t *)((char *)layout + fields[i].place) = (uint32_t)number;
	}
}

/* Reads globals: [n] or [[n], "type"] is the n-th pointer. */
static void read_globals(struct target_memory *memory, const json_t *values,
			 const struct contract_descriptor *head, struct dotnet_variables *variables)
{
	for (size_t i = 0; i < ARRAY_SIZE(globals); i++) {
		const json_t *value = json_object_get(values, globals[i].name);
		json_int_t number;

		while (json_is_array(value))
			value = json_array_get(value, 0);
		number = json_integer_value(value);
		if (json_is_integer(value) && number >= 0 && number < head->pointers)
			*(uint64_t *)((char *)variables + globals[i].place) =
				target_word(memory, head->pointer_data + (uint64_t)number * 8);
	}
}

/* Reads versions of contracts: 1, or in later releases "c1". */
static void read_contracts(const json_t *contracts, struct dotnet_layout *layout)
{
	const json_t *version = json_object_get(contracts, "ExecutionManager");
	const char *text = json_string_value(version);
	json_int_t number =
		text && text[0] == 'c' ? strtol(text + 1, NULL, 10) : json_integer_value(version);

	if (number > 0)
		layout->code.nibbles = number == 1 ? 1 : 2;
}

int dotnet_descriptor_read(struct target_memory *memory, uint64_t address,
			   struct dotnet_layout *layout, struct dotnet_variables *variables)
{
	struct contract_descriptor head;
	_cleanup_free_ char *text = NULL;
	json_t *root;

	if (target_read(memory, address, &head, sizeof(head)) || head.magic != MAGIC ||
	    !head.size || head.size > DESCRIPTOR_BYTES_MAX || head.pointers > POINTERS_MAX)
		return -EBADMSG;
	text = malloc(head.size);
	if (!text)
		return -ENOMEM;
	if (target_read(memory, head.text, text, head.size))
		return -EBADMSG;
	root = json_loadb(text, head.size, JSON_DISABLE_EOF_CHECK, NULL);
	if (!root)
		return -EBADMSG;
	read_fields(json_object_get(root, "types"), layout);
	read_contracts(json_object_get(root, "contracts"), layout);
	read_globals(memory, json_object_get(root, "globals"), &head, variables);
	json_decref(root);
	return 0;
}
