// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Layouts of .NET 8, 9 and 10, for runtimes without a descriptor: 8, and single files of early
 * releases of 9 and 10. A layout is used if it is the only one that finds as many threads as the
 * thread store counts, and a module of System.Object whose assembly leads back to it. Sources:
 * src/coreclr/vm/{threads,methodtable,class,ceeload}.h and src/coreclr/inc/dacvars.h of each.
 */
#include "base/cleanup.h"
#include "base/loop.h"
#include "heap/runtime/dotnet/dotnet.h"

/* Entries of the debuggers' table, relative to the collector's. */
#define ENTRY_STORE (-4)
#define ENTRY_DOMAIN 1
#define ENTRIES_AHEAD 48

#define FREE_HEAD 0x1880000001ull /* flags and size of the type of free memory */
#define ASSEMBLY_MODULES 10	  /* one of its first words is its module */
#define IMAGE_MAGIC 0x5a4d

/* In common. */
#define TABLE                                                                                      \
	.table_flags = 0, .table_base_size = 4, .table_flags2 = 8, .table_parent = 16,             \
	.table_module = 24, .table_auxiliary = 32, .table_class = 40, .table_instance = 48,        \
	.class_table = 16, .class_fields = 24, .map_table = 8, .map_count = 16,                    \
	.context_limit = 8, .dynamic_data = 4

/* Common to 8, 9 and 10, with two exceptions. */
#define CODE(bits, version)                                                                        \
	.code = {.fragment_begin = 8,                                                              \
		 .fragment_end = 16,                                                               \
		 .fragment_section = 24,                                                           \
		 .section_flags = 16,                                                              \
		 .section_module = 32,                                                             \
		 .section_heap = 40,                                                               \
		 .heap_start = 16,                                                                 \
		 .heap_end = 24,                                                                   \
		 .heap_base = 32,                                                                  \
		 .heap_map = 40,                                                                   \
		 .header_method = 24,                                                              \
		 .header_unwind = 36,                                                              \
		 .method_index = 2,                                                                \
		 .method_flags = 6,                                                                \
		 .chunk_size = 16,                                                                 \
		 .chunk_token = 18,                                                                \
		 .chunk_bytes = 24,                                                                \
		 .dynamic_name = 32,                                                               \
		 .token_bits = (bits),                                                             \
		 .nibbles = (version)}

static const struct known_layout {
	int64_t object; /* entry of the class System.Object */
	struct dotnet_layout layout;
} known[] = {
	{20,
	 {
		 .version = 8,
		 TABLE,
		 CODE(12, 1),
		 .class_rank = 56,
		 .module_assembly = 0x128,
		 .module_types = 0x2f0,
		 .store_first = 160,
		 .store_threads = 184,
		 .thread_next = 0xe8,
		 .thread_state = 8,
		 .thread_object = 0x1b0,
		 .locals_context = 0x58, /* in the thread itself */
	 }},
	{23,
	 {
		 .version = 9,
		 TABLE,
		 CODE(12, 1),
		 .class_instance_fields = 50,
		 .class_static_fields = 54,
		 .class_rank = 72,
		 .module_base = 288,
		 .module_dynamic = 1120,
		 .module_assembly = 312,
		 .module_types = 624,
		 .store_first = 160,
		 .store_threads = 184,
		 .thread_next = 112,
		 .thread_locals = 32,
		 .thread_state = 0,
		 .thread_object = 304,
	 }},
	{23,
	 {
		 .version = 10,
		 TABLE,
		 CODE(12, 2),
		 .class_instance_fields = 50,
		 .class_static_fields = 54,
		 .class_rank = 72,
		 .module_base = 224,
		 .module_dynamic = 840,
		 .module_assembly = 248,
		 .module_types = 416,
		 .store_first = 88,
		 .store_threads = 112,
		 .thread_next = 112,
		 .thread_locals = 32,
		 .thread_state = 0,
		 .thread_object = 304,
		 .context_inner = 8,
	 }},
};

struct dotnet_layout dotnet_layout_base(void)
{
	return (struct dotnet_layout){.version = 9,
				      TABLE,
				      CODE(12, 1),
				      .class_instance_fields = 50,
				      .class_static_fields = 54,
				      .class_rank = 72};
}

uint64_t dotnet_image(struct target_memory *memory, const struct dotnet_layout *layout,
		      uint64_t module)
{
	return layout->version == 8 ? dotnet_8_image(memory, module)
				    : target_word(memory, module + layout->module_base);
}

/* Reads the first entry of the table: the code map is that variable itself. */
void dotnet_code_find(struct dotnet *dotnet)
{
	uint64_t table = target_variable(dotnet->module, "g_dacTable");

	if (!dotnet->variables.code_map)
		dotnet->variables.code_map = target_word(dotnet->memory, table);
}

/* Returns the variable of the debuggers' table at this distance from the collector's entry. */
static uint64_t variable(struct target_memory *memory, uint64_t place, int64_t entry)
{
	return target_word(memory, target_word(memory, place + (uint64_t)(entry * 8)));
}

/* Returns whether a class is in a module with an image, to which its assembly leads back. */
static bool has_module(struct target_memory *memory, const struct dotnet_layout *layout,
		       uint64_t table)
{
	uint64_t module = table ? target_word(memory, table + layout->table_module) : 0;
	uint64_t assembly = module ? target_word(memory, module + layout->module_assembly) : 0;
	uint64_t image = assembly ? dotnet_image(memory, layout, module) : 0;

	if (!image || (target_word(memory, image) & 0xffff) != IMAGE_MAGIC)
		return false;
	for (uint64_t i = 0; i < ASSEMBLY_MODULES; i++) {
		if (target_word(memory, assembly + i * 8) == module)
			return true;
	}
	return false;
}

/* Returns whether the list of threads has the length that the thread store records. */
static bool has_threads(struct target_memory *memory, const struct dotnet_layout *layout,
			uint64_t store)
{
	uint32_t count = store ? (uint32_t)target_word(memory, store + layout->store_threads) : 0;
	uint64_t link = store ? target_word(memory, store + layout->store_first) : 0;
	struct loop loop = {0};
	uint32_t found = 0;

	for (; link && found <= count; found++) {
		if (loop_found(&loop, link))
			return false;
		link = target_word(memory, link);
	}
	return found && found == count;
}

static const struct known_layout *find_known(struct target_memory *memory, uint64_t place)
{
	const struct known_layout *found = NULL;
	uint64_t store = variable(memory, place, ENTRY_STORE);

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (!has_threads(memory, &known[i].layout, store) ||
		    !has_module(memory, &known[i].layout, variable(memory, place, known[i].object)))
			continue;
		if (found)
			return NULL;
		found = &known[i];
	}
	return found;
}

bool dotnet_layout_find(struct target_memory *memory, uint64_t place, struct dotnet_layout *layout,
			struct dotnet_variables *variables)
{
	const struct known_layout *found = find_known(memory, place);

	for (int64_t i = 1; found && i < ENTRIES_AHEAD; i++) {
		uint64_t table = variable(memory, place, i);

		if (!table || target_word(memory, table) != FREE_HEAD ||
		    target_word(memory, table + found->layout.table_class))
			continue;
		*layout = found->layout;
		*variables = (struct dotnet_variables){
			.free_table = target_word(memory, place + (uint64_t)(i * 8)),
			.thread_store = target_word(memory, place + (uint64_t)(ENTRY_STORE * 8)),
			.domain = target_word(memory, place + (uint64_t)(ENTRY_DOMAIN * 8)),
		};
		return true;
	}
	return false;
}
