// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The VM's description of its own structures: lists at gHotSpotVM*, each ended by an entry without
 * a name (src/hotspot/share/runtime/vmStructs.hpp). Strings are in the library's constants.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/hotspot/hotspot.h"

#define ENTRIES_MAX 16384
#define ENTRY_BYTES_MAX 256
#define TEXT_BYTES 96 /* longer texts are cut */
#define FLAGS_MAX 8192

struct named_place {
	const char *type, *field; /* no field: the size of the type */
	enum hotspot_place place;
};

#define HEAP_MEMBERS 14 /* rows at the start of members[] */

/* Some places have alternative rows, of which a VM has one. */
static const struct named_place members[] = {
	{"Universe", "_collectedHeap", HOTSPOT_HEAP},
	{"CollectedHeap", "_is_gc_active", HOTSPOT_HEAP_ACTIVE},
	{"CollectedHeap", "_is_stw_gc_active", HOTSPOT_HEAP_ACTIVE},
	{"JVMFlag", "flags", HOTSPOT_FLAGS},
	{"JVMFlag", "numFlags", HOTSPOT_FLAG_COUNT},
	{"JVMFlag", "_name", HOTSPOT_FLAG_NAME},
	{"JVMFlag", "_addr", HOTSPOT_FLAG_ADDRESS},
	{"JVMFlag", NULL, HOTSPOT_FLAG_BYTES},
	{"ShenandoahHeap", "_regions", HOTSPOT_SHENANDOAH_REGIONS},
	{"ShenandoahHeap", "_num_regions", HOTSPOT_SHENANDOAH_COUNT},
	{"ShenandoahHeapRegion", "_bottom", HOTSPOT_SHENANDOAH_BOTTOM},
	{"ShenandoahHeapRegion", "_top", HOTSPOT_SHENANDOAH_TOP},
	{"ShenandoahHeapRegion", "_end", HOTSPOT_SHENANDOAH_END},
	{"ShenandoahHeapRegion", "_state", HOTSPOT_SHENANDOAH_STATE},
	{"CollectedHeap", "_total_collections", HOTSPOT_HEAP_COLLECTIONS},
	{"CompressedOops", "_narrow_oop._base", HOTSPOT_OOP_BASE},
	{"CompressedOops", "_base", HOTSPOT_OOP_BASE},
	{"Universe", "_narrow_oop._base", HOTSPOT_OOP_BASE},
	{"CompressedOops", "_narrow_oop._shift", HOTSPOT_OOP_SHIFT},
	{"CompressedOops", "_shift", HOTSPOT_OOP_SHIFT},
	{"Universe", "_narrow_oop._shift", HOTSPOT_OOP_SHIFT},
	{"CompressedKlassPointers", "_narrow_klass._base", HOTSPOT_KLASS_BASE},
	{"CompressedKlassPointers", "_base", HOTSPOT_KLASS_BASE},
	{"Universe", "_narrow_klass._base", HOTSPOT_KLASS_BASE},
	{"CompressedKlassPointers", "_narrow_klass._shift", HOTSPOT_KLASS_SHIFT},
	{"CompressedKlassPointers", "_shift", HOTSPOT_KLASS_SHIFT},
	{"Universe", "_narrow_klass._shift", HOTSPOT_KLASS_SHIFT},
	{"G1CollectedHeap", "_hrm", HOTSPOT_G1_REGIONS},
	{"HeapRegionManager", "_regions", HOTSPOT_G1_TABLE},
	{"G1HeapRegionManager", "_regions", HOTSPOT_G1_TABLE},
	{"G1HeapRegionTable", "_base", HOTSPOT_TABLE_BASE},
	{"G1HeapRegionTable", "_length", HOTSPOT_TABLE_LENGTH},
	{"HeapRegion", "_bottom", HOTSPOT_REGION_BOTTOM},
	{"G1HeapRegion", "_bottom", HOTSPOT_REGION_BOTTOM},
	{"HeapRegion", "_top", HOTSPOT_REGION_TOP},
	{"G1HeapRegion", "_top", HOTSPOT_REGION_TOP},
	{"HeapRegion", "_end", HOTSPOT_REGION_END},
	{"G1HeapRegion", "_end", HOTSPOT_REGION_END},
	{"HeapRegion", "_type", HOTSPOT_REGION_TYPE},
	{"G1HeapRegion", "_type", HOTSPOT_REGION_TYPE},
	{"HeapRegionType", "_tag", HOTSPOT_TYPE_TAG},
	{"G1HeapRegionType", "_tag", HOTSPOT_TYPE_TAG},
	{"ParallelScavengeHeap", "_young_gen", HOTSPOT_PARALLEL_YOUNG},
	{"ParallelScavengeHeap", "_old_gen", HOTSPOT_PARALLEL_OLD},
	{"PSYoungGen", "_eden_space", HOTSPOT_PS_EDEN},
	{"PSYoungGen", "_from_space", HOTSPOT_PS_FROM},
	{"PSYoungGen", "_to_space", HOTSPOT_PS_TO},
	{"PSOldGen", "_object_space", HOTSPOT_PS_OLD},
	{"Space", "_bottom", HOTSPOT_OLD_REGION_BOTTOM},
	{"G1ContiguousSpace", "_top", HOTSPOT_OLD_REGION_TOP},
	{"Space", "_end", HOTSPOT_OLD_REGION_END},
	{"ImmutableSpace", "_bottom", HOTSPOT_MUTABLE_BOTTOM},
	{"ImmutableSpace", "_end", HOTSPOT_MUTABLE_END},
	{"MutableSpace", "_bottom", HOTSPOT_MUTABLE_BOTTOM},
	{"MutableSpace", "_top", HOTSPOT_MUTABLE_TOP},
	{"MutableSpace", "_end", HOTSPOT_MUTABLE_END},
	{"GenCollectedHeap", "_young_gen", HOTSPOT_SERIAL_YOUNG},
	{"SerialHeap", "_young_gen", HOTSPOT_SERIAL_YOUNG},
	{"GenCollectedHeap", "_old_gen", HOTSPOT_SERIAL_OLD},
	{"SerialHeap", "_old_gen", HOTSPOT_SERIAL_OLD},
	{"DefNewGeneration", "_eden_space", HOTSPOT_DEFNEW_EDEN},
	{"DefNewGeneration", "_from_space", HOTSPOT_DEFNEW_FROM},
	{"DefNewGeneration", "_to_space", HOTSPOT_DEFNEW_TO},
	{"TenuredGeneration", "_the_space", HOTSPOT_TENURED_SPACE},
	{"EpsilonHeap", "_space", HOTSPOT_EPSILON_SPACE},
	{"Space", "_bottom", HOTSPOT_SPACE_BOTTOM},
	{"ContiguousSpace", "_bottom", HOTSPOT_SPACE_BOTTOM},
	{"ContiguousSpace", "_top", HOTSPOT_SPACE_TOP},
	{"Space", "_end", HOTSPOT_SPACE_END},
	{"ContiguousSpace", "_end", HOTSPOT_SPACE_END},
	{"oopDesc", "_metadata._klass", HOTSPOT_OOP_KLASS},
	{"oopDesc", "_compressed_klass", HOTSPOT_OOP_KLASS}, /* from 27 on: always compressed */
	{"Klass", "_kind", HOTSPOT_KLASS_KIND},
	{"Klass", "_layout_helper", HOTSPOT_KLASS_LAYOUT},
	{"Klass", "_name", HOTSPOT_KLASS_NAME},
	{"Klass", "_super", HOTSPOT_KLASS_SUPER},
	{"Klass", "_primary_supers[0]", HOTSPOT_KLASS_SUPERS},
	{"Klass", "_java_mirror", HOTSPOT_KLASS_MIRROR},
	{"Klass", "_class_loader_data", HOTSPOT_KLASS_LOADER},
	{"Klass", "_next_link", HOTSPOT_KLASS_NEXT},
	{"Klass", "_vtable_len", HOTSPOT_KLASS_VTABLE},
	{"InstanceKlass", "_itable_len", HOTSPOT_KLASS_ITABLE},
	{"InstanceKlass", "_nonstatic_oop_map_size", HOTSPOT_KLASS_MAPS},
	{"InstanceKlass", "_fields", HOTSPOT_KLASS_FIELDS},
	{"InstanceKlass", "_java_fields_count", HOTSPOT_KLASS_FIELD_COUNT},
	{"InstanceKlass", "_fieldinfo_stream", HOTSPOT_KLASS_STREAM},
	{"InstanceKlass", "_constants", HOTSPOT_KLASS_CONSTANTS},
	{"InstanceKlass", NULL, HOTSPOT_KLASS_BYTES},
	{"ConstantPool", "_length", HOTSPOT_CONSTANTS_LENGTH},
	{"ConstantPool", NULL, HOTSPOT_CONSTANTS_BYTES},
	{"vmClasses", "_klasses[static_cast<int>(vmClassID::Object_klass_knum)]",
	 HOTSPOT_OBJECT_KLASS},
	{"vmClasses", "_klasses[static_cast<int>(vmClassID::Class_klass_knum)]",
	 HOTSPOT_CLASS_KLASS},
	{"vmClasses", "_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]",
	 HOTSPOT_THREAD_KLASS},
	{"SystemDictionary", "_well_known_klasses[SystemDictionary::Object_klass_knum]",
	 HOTSPOT_OBJECT_KLASS},
	{"SystemDictionary", "_well_known_klasses[SystemDictionary::Class_klass_knum]",
	 HOTSPOT_CLASS_KLASS},
	{"SystemDictionary", "_well_known_klasses[SystemDictionary::Thread_klass_knum]",
	 HOTSPOT_THREAD_KLASS},
	{"Symbol", "_length", HOTSPOT_SYMBOL_LENGTH},
	{"Symbol", "_body", HOTSPOT_SYMBOL_BODY},
	{"java_lang_Class", "_klass_offset", HOTSPOT_MIRROR_KLASS},
	{"java_lang_Class", "_oop_size_offset", HOTSPOT_MIRROR_SIZE},
	{"ClassLoaderDataGraph", "_head", HOTSPOT_LOADERS},
	{"ClassLoaderData", "_class_loader", HOTSPOT_LOADER_OBJECT},
	{"ClassLoaderData", "_next", HOTSPOT_LOADER_NEXT},
	{"ClassLoaderData", "_klasses", HOTSPOT_LOADER_KLASSES},
	{"ClassLoaderData", "_has_class_mirror_holder", HOTSPOT_LOADER_IS_OF_MIRROR},
	{"ClassLoaderData", "_is_anonymous", HOTSPOT_LOADER_IS_OF_MIRROR},
	{"ThreadsSMRSupport", "_java_thread_list", HOTSPOT_THREAD_LIST},
	{"Threads", "_thread_list", HOTSPOT_THREAD_FIRST},
	{"JavaThread", "_next", HOTSPOT_THREAD_NEXT},
	{"ThreadsList", "_length", HOTSPOT_THREAD_COUNT},
	{"ThreadsList", "_threads", HOTSPOT_THREAD_ITEMS},
	{"Thread", "_tlab", HOTSPOT_THREAD_BUFFER},
	{"JavaThread", "_threadObj", HOTSPOT_THREAD_OBJECT},
	{"JavaThread", "_thread_state", HOTSPOT_THREAD_STATE},
	{"JavaThread", "_stack_base", HOTSPOT_THREAD_STACK},
	{"JavaThread", "_stack_size", HOTSPOT_THREAD_STACK_BYTES},
	{"Thread", "_active_handles", HOTSPOT_THREAD_HANDLES},
	{"JavaThread", "_active_handles", HOTSPOT_THREAD_HANDLES},
	{"JavaThread", "_anchor", HOTSPOT_THREAD_ANCHOR},
	{"JavaFrameAnchor", "_last_Java_sp", HOTSPOT_ANCHOR_SP},
	{"ThreadLocalAllocBuffer", "_top", HOTSPOT_BUFFER_TOP},
	{"ThreadLocalAllocBuffer", "_end", HOTSPOT_BUFFER_END},
	{"ThreadLocalAllocBuffer", "_reserve_for_allocation_prefetch", HOTSPOT_BUFFER_PREFETCH},
	{"CollectedHeap", "_lab_alignment_reserve", HOTSPOT_BUFFER_RESERVE},
	{"JNIHandles", "_global_handles", HOTSPOT_JNI_GLOBALS},
	{"JNIHandleBlock", "_top", HOTSPOT_BLOCK_TOP},
	{"JNIHandleBlock", "_next", HOTSPOT_BLOCK_NEXT},
	{"Abstract_VM_Version", "_vm_major_version", HOTSPOT_VERSION_MAJOR},
	{"Abstract_VM_Version", "_vm_minor_version", HOTSPOT_VERSION_MINOR},
	{"Abstract_VM_Version", "_vm_security_version", HOTSPOT_VERSION_SECURITY},
	{"markWord::klass_shift", NULL, HOTSPOT_MARK_KLASS_SHIFT},
	{"JavaFrameAnchor", "_last_Java_fp", HOTSPOT_ANCHOR_FP},
	{"JavaFrameAnchor", "_last_Java_pc", HOTSPOT_ANCHOR_PC},
	{"JavaCallWrapper", "_anchor", HOTSPOT_WRAPPER_ANCHOR},
	{"StubRoutines", "_call_stub_return_address", HOTSPOT_CALL_STUB},
	{"CodeCache", "_heaps", HOTSPOT_CODE_HEAPS},
	{"GrowableArrayBase", "_len", HOTSPOT_ARRAY_LENGTH},
	{"GenericGrowableArray", "_len", HOTSPOT_ARRAY_LENGTH},
	{"GrowableArray<int>", "_data", HOTSPOT_ARRAY_DATA},
	{"CodeHeap", "_memory", HOTSPOT_CODE_MEMORY},
	{"CodeHeap", "_segmap", HOTSPOT_CODE_SEGMENTS},
	{"CodeHeap", "_log2_segment_size", HOTSPOT_CODE_SHIFT},
	{"HeapBlock", NULL, HOTSPOT_CODE_BLOCK_BYTES},
	{"HeapBlock", "_header", HOTSPOT_BLOCK_HEADER},
	{"HeapBlock::Header", "_length", HOTSPOT_HEADER_LENGTH},
	{"HeapBlock::Header", "_used", HOTSPOT_HEADER_USED},
	{"VirtualSpace", "_low", HOTSPOT_SPACE_LOW},
	{"VirtualSpace", "_high", HOTSPOT_SPACE_HIGH},
	{"VirtualSpace", "_high_boundary", HOTSPOT_SPACE_LIMIT},
	{"CodeBlob", "_name", HOTSPOT_BLOB_NAME},
	{"CodeBlob", "_frame_size", HOTSPOT_BLOB_FRAME},
	{"CodeBlob", "_code_begin", HOTSPOT_BLOB_CODE},
	{"CodeBlob", "_code_offset", HOTSPOT_BLOB_CODE_OFFSET},
	{"CodeBlob", "_mutable_data", HOTSPOT_BLOB_MUTABLE},
	{"CodeBlob", "_relocation_size", HOTSPOT_BLOB_RELOCATION},
	{"CompiledMethod", "_method", HOTSPOT_COMPILED_METHOD},
	{"nmethod", "_method", HOTSPOT_COMPILED_METHOD},
	{"nmethod", "_scopes_pcs_offset", HOTSPOT_COMPILED_PCS},
	{"CompiledMethod", "_scopes_data_begin", HOTSPOT_COMPILED_SCOPES},
	{"nmethod", "_scopes_data_begin", HOTSPOT_COMPILED_SCOPES},
	{"nmethod", "_scopes_data_offset", HOTSPOT_COMPILED_SCOPES_OFFSET},
	{"nmethod", "_metadata_offset", HOTSPOT_COMPILED_METADATA},
	{"nmethod", "_immutable_data", HOTSPOT_COMPILED_IMMUTABLE},
	{"Method", "_constMethod", HOTSPOT_METHOD_CONST},
	{"ConstMethod", "_constants", HOTSPOT_CONST_CONSTANTS},
	{"ConstMethod", "_name_index", HOTSPOT_CONST_NAME},
	{"ConstMethod", "_flags", HOTSPOT_CONST_FLAGS},
	{"ConstMethod", "_flags._flags", HOTSPOT_CONST_FLAGS},
	{"ConstMethod", "_code_size", HOTSPOT_CONST_CODE_SIZE},
	{"ConstMethod", NULL, HOTSPOT_CONST_BYTES},
	{"ConstantPool", "_pool_holder", HOTSPOT_CONSTANTS_HOLDER},
	{"ConstantPool", "_source_file_name_index", HOTSPOT_CONSTANTS_SOURCE},
	{"InstanceKlass", "_source_file_name_index", HOTSPOT_KLASS_SOURCE},
	{"PerfMemory", "_start", HOTSPOT_COUNTERS_START},
	{"PerfMemory", "_top", HOTSPOT_COUNTERS_TOP},
	{"ZGlobalsForVMStructs", "_instance_p", HOTSPOT_Z_GLOBALS},
	{"ZGlobalsForVMStructs", "_ZAddressOffsetMask", HOTSPOT_Z_OFFSET_MASK},
	{"ZGlobalsForVMStructs", "_ZAddressWeakBadMask", HOTSPOT_Z_WEAK_BAD_MASK},
	{"ZGlobalsForVMStructs", "_ZAddressMetadataMask", HOTSPOT_Z_COLOURS},
	{"ZGlobalsForVMStructs", "_ZPointerLoadGoodMask", HOTSPOT_Z_LOAD_GOOD_MASK},
	{"ZGlobalsForVMStructs", "_ZPointerLoadShift", HOTSPOT_Z_LOAD_SHIFT},
	{"ZCollectedHeap", "_heap", HOTSPOT_Z_HEAP},
	{"ZHeap", NULL, HOTSPOT_Z_HEAP_BYTES},
	{"ZHeap", "_page_allocator", HOTSPOT_Z_ALLOCATOR},
	{"ZHeap", "_page_table", HOTSPOT_Z_PAGE_TABLE},
	{"ZHeap", "_forwarding_table", HOTSPOT_Z_FORWARDING_TABLE},
	{"ZPageAllocator", "_max_capacity", HOTSPOT_Z_MAX_CAPACITY},
	{"ZPageTable", "_map", HOTSPOT_Z_PAGE_MAP},
	{"ZGranuleMapForPageTable", "_map", HOTSPOT_Z_PAGE_ITEMS},
	{"ZForwardingTable", "_map", HOTSPOT_Z_FORWARDING_MAP},
	{"ZGranuleMapForForwarding", "_map", HOTSPOT_Z_FORWARDING_ITEMS},
	{"ZPage", "_type", HOTSPOT_Z_PAGE_TYPE},
	{"ZPage", "_virtual", HOTSPOT_Z_PAGE_RANGE},
	{"ZPage", "_top", HOTSPOT_Z_PAGE_TOP},
	{"ZVirtualMemory", "_start", HOTSPOT_Z_RANGE_START},
	{"ZVirtualMemory", "_end", HOTSPOT_Z_RANGE_END},
	{"ZVirtualMemory", "_size", HOTSPOT_Z_RANGE_SIZE},
	{"ZForwarding", "_virtual", HOTSPOT_Z_FORWARDING_RANGE},
	{"ZForwarding", "_object_alignment_shift", HOTSPOT_Z_FORWARDING_SHIFT},
	{"ZForwarding", "_entries", HOTSPOT_Z_FORWARDING_COUNT},
	{"ZForwarding", NULL, HOTSPOT_Z_FORWARDING_BYTES},
};

static const struct {
	const char *name;
	uint8_t bytes;
} flags[HOTSPOT_FLAG_MAX_] = {
	[HOTSPOT_COMPRESSED_OOPS] = {"UseCompressedOops", 1},
	[HOTSPOT_COMPRESSED_KLASSES] = {"UseCompressedClassPointers", 1},
	[HOTSPOT_COMPACT_HEADERS] = {"UseCompactObjectHeaders", 1},
	[HOTSPOT_G1] = {"UseG1GC", 1},
	[HOTSPOT_SERIAL] = {"UseSerialGC", 1},
	[HOTSPOT_PARALLEL] = {"UseParallelGC", 1},
	[HOTSPOT_Z] = {"UseZGC", 1},
	[HOTSPOT_Z_GENERATIONS] = {"ZGenerational", 1},
	[HOTSPOT_SHENANDOAH] = {"UseShenandoahGC", 1},
	[HOTSPOT_EPSILON] = {"UseEpsilonGC", 1},
	[HOTSPOT_ALIGNMENT] = {"ObjectAlignmentInBytes", 4},
	[HOTSPOT_MAX_HEAP] = {"MaxHeapSize", 8},
	[HOTSPOT_CODE_LIMIT] = {"ReservedCodeCacheSize", 8},
};

/* A list, its stride, and the offsets of its entries' members. */
struct list {
	uint64_t start, stride, type, field, is_static, offset, address;
};

/* Reads a text; "" if there is none. */
static void read_text(struct target_memory *memory, uint64_t address, char text[TEXT_BYTES])
{
	size_t page_left = MEMORY_PAGE - address % MEMORY_PAGE;
	size_t size = MIN((size_t)TEXT_BYTES - 1, page_left);

	memset(text, 0, TEXT_BYTES);
	if (!address || target_read(memory, address, text, size)) {
		text[0] = '\0';
		return;
	}
	if (size < TEXT_BYTES - 1 && !memchr(text, 0, size) &&
	    target_read(memory, address + size, text + size, TEXT_BYTES - 1 - size))
		text[0] = '\0';
}

static uint64_t describe(struct target_memory *memory, const struct data_module *module,
			 const char *name)
{
	uint64_t place = target_variable(module, name);

	return place ? target_word(memory, place) : 0;
}

/* State of reading the VM's lists. */
struct reading {
	struct target_memory *memory;
	struct hotspot_layout *layout;
	size_t members; /* number of wanted rows of members[] */
	char z;		/* replaces the Z at the start of ZGC's names */
};

/* Returns whether the VM's name is the wanted one. */
static bool is_named(const struct reading *reading, const char *wanted, const char *name)
{
	size_t prefix = wanted[0] == '_';

	if (reading->z == 'Z' || strncmp(name, wanted, prefix) != 0 || wanted[prefix] != 'Z')
		return !strcmp(wanted, name);
	return name[prefix] == reading->z && !strcmp(wanted + prefix + 1, name + prefix + 1);
}

static void take_entry(const struct reading *reading, const struct list *list,
		       const unsigned char *entry)
{
	char type[TEXT_BYTES], field[TEXT_BYTES];
	uint64_t words[3] = {0};
	uint32_t is_static = 0;

	memcpy(&words[0], entry + list->type, 8);
	read_text(reading->memory, words[0], type);
	if (list->field != HOTSPOT_UNKNOWN) {
		memcpy(&words[1], entry + list->field, 8);
		memcpy(&is_static, entry + list->is_static, 4);
		read_text(reading->memory, words[1], field);
	}
	memcpy(&words[2], entry + (is_static ? list->address : list->offset), 8);
	for (size_t i = 0; i < reading->members; i++) {
		const struct named_place *member = &members[i];

		if ((list->field == HOTSPOT_UNKNOWN) == !member->field &&
		    is_named(reading, member->type, type) &&
		    (!member->field || is_named(reading, member->field, field)))
			reading->layout->places[member->place] = words[2];
	}
}

static void take_list(const struct reading *reading, const struct list *list)
{
	unsigned char entry[ENTRY_BYTES_MAX];
	uint64_t last = MAX(list->type, MAX(list->offset, list->address)), name;

	if (list->field != HOTSPOT_UNKNOWN)
		last = MAX(last, MAX(list->field, list->is_static));
	if (!list->start || list->stride > ENTRY_BYTES_MAX || list->stride < 8 ||
	    last > list->stride - 8)
		return;
	for (uint64_t i = 0; i < ENTRIES_MAX; i++) {
		if (target_read(reading->memory, list->start + i * list->stride, entry,
				list->stride))
			break;
		memcpy(&name, entry + list->type, sizeof(name));
		if (!name)
			break;
		take_entry(reading, list, entry);
	}
}

static void take_structs(const struct reading *reading, const struct data_module *module)
{
	struct target_memory *memory = reading->memory;
	const struct list structs = {
		.start = describe(memory, module, "gHotSpotVMStructs"),
		.stride = describe(memory, module, "gHotSpotVMStructEntryArrayStride"),
		.type = describe(memory, module, "gHotSpotVMStructEntryTypeNameOffset"),
		.field = describe(memory, module, "gHotSpotVMStructEntryFieldNameOffset"),
		.is_static = describe(memory, module, "gHotSpotVMStructEntryIsStaticOffset"),
		.offset = describe(memory, module, "gHotSpotVMStructEntryOffsetOffset"),
		.address = describe(memory, module, "gHotSpotVMStructEntryAddressOffset"),
	};

	take_list(reading, &structs);
}

static void take_sizes(const struct reading *reading, const struct data_module *module)
{
	struct target_memory *memory = reading->memory;
	const struct list types = {
		.start = describe(memory, module, "gHotSpotVMTypes"),
		.stride = describe(memory, module, "gHotSpotVMTypeEntryArrayStride"),
		.type = describe(memory, module, "gHotSpotVMTypeEntryTypeNameOffset"),
		.field = HOTSPOT_UNKNOWN,
		.offset = describe(memory, module, "gHotSpotVMTypeEntrySizeOffset"),
	};
	const struct list constants = {
		.start = describe(memory, module, "gHotSpotVMLongConstants"),
		.stride = describe(memory, module, "gHotSpotVMLongConstantEntryArrayStride"),
		.type = describe(memory, module, "gHotSpotVMLongConstantEntryNameOffset"),
		.field = HOTSPOT_UNKNOWN,
		.offset = describe(memory, module, "gHotSpotVMLongConstantEntryValueOffset"),
	};

	take_list(reading, &types);
	take_list(reading, &constants);
}

static void take_flag(struct target_memory *memory, uint64_t flag, struct hotspot_layout *layout)
{
	char name[TEXT_BYTES];
	uint64_t place = target_word(memory, flag + layout->places[HOTSPOT_FLAG_ADDRESS]);

	read_text(memory, target_word(memory, flag + layout->places[HOTSPOT_FLAG_NAME]), name);
	for (size_t i = 0; i < HOTSPOT_FLAG_MAX_; i++) {
		uint64_t value = 0;

		if (!strcmp(flags[i].name, name) &&
		    !target_read(memory, place, &value, flags[i].bytes))
			layout->flags[i] = value;
	}
}

static void take_flags(struct target_memory *memory, struct hotspot_layout *layout)
{
	uint64_t first = target_word(memory, layout->places[HOTSPOT_FLAGS]);
	uint64_t count = target_word(memory, layout->places[HOTSPOT_FLAG_COUNT]);
	uint64_t bytes = layout->places[HOTSPOT_FLAG_BYTES];

	if (!first || bytes > ENTRY_BYTES_MAX)
		return;
	for (uint64_t i = 0; i < MIN(count, (uint64_t)FLAGS_MAX); i++)
		take_flag(memory, first + i * bytes, layout);
}

/* ZGC without generations has names with X beside generational ZGC (21 to 23: gc/x). */
static void take_old_z(const struct reading *reading, const struct data_module *module)
{
	const struct reading old = {reading->memory, reading->layout, reading->members, 'X'};
	uint64_t *places = reading->layout->places;

	if (!reading->layout->flags[HOTSPOT_Z] || reading->layout->flags[HOTSPOT_Z_GENERATIONS])
		return;
	if (places[HOTSPOT_Z_LOAD_GOOD_MASK] == HOTSPOT_UNKNOWN)
		return;
	for (size_t i = HOTSPOT_Z_GLOBALS; i <= HOTSPOT_Z_FORWARDING_BYTES; i++)
		places[i] = HOTSPOT_UNKNOWN;
	take_structs(&old, module);
	take_sizes(&old, module);
}

#define LACKS(name) "its description lacks " name ": another version"

/* Places needed for any collector, and why a VM without one is refused. */
static const struct {
	enum hotspot_place place;
	const char *why;
} needed[] = {
	{HOTSPOT_HEAP, LACKS("Universe::_collectedHeap")},
	{HOTSPOT_HEAP_ACTIVE, LACKS("CollectedHeap::_is_gc_active")},
	{HOTSPOT_HEAP_COLLECTIONS, LACKS("CollectedHeap::_total_collections")},
	{HOTSPOT_OOP_BASE, LACKS("CompressedOops::_narrow_oop._base")},
	{HOTSPOT_OOP_SHIFT, LACKS("CompressedOops::_narrow_oop._shift")},
	{HOTSPOT_KLASS_BASE, LACKS("CompressedKlassPointers::_narrow_klass._base")},
	{HOTSPOT_KLASS_SHIFT, LACKS("CompressedKlassPointers::_narrow_klass._shift")},
	{HOTSPOT_FLAGS, LACKS("JVMFlag::flags")},
	{HOTSPOT_FLAG_COUNT, LACKS("JVMFlag::numFlags")},
	{HOTSPOT_FLAG_NAME, LACKS("JVMFlag::_name")},
	{HOTSPOT_FLAG_ADDRESS, LACKS("JVMFlag::_addr")},
	{HOTSPOT_FLAG_BYTES, LACKS("JVMFlag")},
	{HOTSPOT_KLASS_LAYOUT, LACKS("Klass::_layout_helper")},
	{HOTSPOT_KLASS_NAME, LACKS("Klass::_name")},
	{HOTSPOT_KLASS_SUPER, LACKS("Klass::_super")},
	{HOTSPOT_KLASS_SUPERS, LACKS("Klass::_primary_supers[0]")},
	{HOTSPOT_KLASS_MIRROR, LACKS("Klass::_java_mirror")},
	{HOTSPOT_KLASS_LOADER, LACKS("Klass::_class_loader_data")},
	{HOTSPOT_KLASS_NEXT, LACKS("Klass::_next_link")},
	{HOTSPOT_KLASS_VTABLE, LACKS("Klass::_vtable_len")},
	{HOTSPOT_KLASS_ITABLE, LACKS("InstanceKlass::_itable_len")},
	{HOTSPOT_KLASS_MAPS, LACKS("InstanceKlass::_nonstatic_oop_map_size")},
	{HOTSPOT_KLASS_CONSTANTS, LACKS("InstanceKlass::_constants")},
	{HOTSPOT_KLASS_BYTES, LACKS("InstanceKlass")},
	{HOTSPOT_CONSTANTS_BYTES, LACKS("ConstantPool")},
	{HOTSPOT_CONSTANTS_LENGTH, LACKS("ConstantPool::_length")},
	{HOTSPOT_OBJECT_KLASS, LACKS("the class java.lang.Object")},
	{HOTSPOT_CLASS_KLASS, LACKS("the class java.lang.Class")},
	{HOTSPOT_THREAD_KLASS, LACKS("the class java.lang.Thread")},
	{HOTSPOT_SYMBOL_LENGTH, LACKS("Symbol::_length")},
	{HOTSPOT_SYMBOL_BODY, LACKS("Symbol::_body")},
	{HOTSPOT_MIRROR_KLASS, LACKS("java_lang_Class::_klass_offset")},
	{HOTSPOT_MIRROR_SIZE, LACKS("java_lang_Class::_oop_size_offset")},
	{HOTSPOT_LOADERS, LACKS("ClassLoaderDataGraph::_head")},
	{HOTSPOT_LOADER_OBJECT, LACKS("ClassLoaderData::_class_loader")},
	{HOTSPOT_LOADER_NEXT, LACKS("ClassLoaderData::_next")},
	{HOTSPOT_LOADER_KLASSES, LACKS("ClassLoaderData::_klasses")},
	{HOTSPOT_LOADER_IS_OF_MIRROR, LACKS("ClassLoaderData::_has_class_mirror_holder")},
	{HOTSPOT_THREAD_BUFFER, LACKS("Thread::_tlab")},
	{HOTSPOT_THREAD_OBJECT, LACKS("JavaThread::_threadObj")},
	{HOTSPOT_THREAD_STACK, LACKS("JavaThread::_stack_base")},
	{HOTSPOT_THREAD_STACK_BYTES, LACKS("JavaThread::_stack_size")},
	{HOTSPOT_BUFFER_TOP, LACKS("ThreadLocalAllocBuffer::_top")},
	{HOTSPOT_BUFFER_END, LACKS("ThreadLocalAllocBuffer::_end")},
	{HOTSPOT_OOP_KLASS, LACKS("oopDesc::_metadata._klass")},
};

/* A VM without these flags always behaves as if they were set. */
static void begin_layout(struct hotspot_layout *layout)
{
	memset(layout->places, 0xff, sizeof(layout->places));
	memset(layout->flags, 0, sizeof(layout->flags));
	layout->flags[HOTSPOT_Z_GENERATIONS] = 1;
	layout->flags[HOTSPOT_COMPRESSED_KLASSES] = 1;
}

int hotspot_layout_read(struct target_memory *memory, const struct data_module *module,
			struct hotspot_layout *layout, const char **why)
{
	const struct reading reading = {memory, layout, ARRAY_SIZE(members), 'Z'};

	begin_layout(layout);
	take_structs(&reading, module);
	take_sizes(&reading, module);
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		*why = needed[i].why;
		if (layout->places[needed[i].place] == HOTSPOT_UNKNOWN)
			return -ENOENT;
	}
	*why = NULL;
	take_flags(memory, layout);
	take_old_z(&reading, module);
	return 0;
}

bool hotspot_layout_read_heap(struct target_memory *memory, const struct data_module *module,
			      struct hotspot_layout *layout)
{
	const struct reading reading = {memory, layout, HEAP_MEMBERS, 'Z'};

	begin_layout(layout);
	take_structs(&reading, module);
	take_sizes(&reading, module);
	if (layout->places[HOTSPOT_HEAP] == HOTSPOT_UNKNOWN ||
	    layout->places[HOTSPOT_HEAP_ACTIVE] == HOTSPOT_UNKNOWN)
		return false;
	if (layout->places[HOTSPOT_FLAG_BYTES] != HOTSPOT_UNKNOWN)
		take_flags(memory, layout);
	return true;
}
