/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a small JVM made by hand: its description of its structures, two loaders with a few
 * classes, a heap of Serial's with compressed references, a thread, and two storages of handles.
 * Offsets are the fixture's own, as in the description.
 */
#ifndef LEAKMON_UNIT_HOTSPOT_FIXTURE_H
#define LEAKMON_UNIT_HOTSPOT_FIXTURE_H

#include "unit/forged_memory.h"

#define FORGED_BASE 0x200000000000ull
#define FORGED_BYTES 0x30000u
#define FORGED_DATA 0x14000u /* of libjvm.so: the rest is heap, and a stack */
#define FORGED_STATICS 0x200u
#define FORGED_STRUCTS 0x800u
#define FORGED_TYPES 0x2000u
#define FORGED_TEXTS 0x3000u
#define FORGED_SYMBOLS_AT 0x6000u /* Symbol, 64 bytes each */
#define FORGED_KLASSES 0x8000u	  /* 0x200 bytes each */
#define FORGED_POOLS 0xc000u	  /* constants, then fields, 0x200 bytes each */
#define FORGED_VM 0x12000u
#define FORGED_STACK 0x18000u
#define FORGED_STACK_BYTES 0x1000u
#define FORGED_CODE 0x1a000u /* interpreted, then compiled */
#define FORGED_SEGMENTS 0x1b000u
#define FORGED_METHODS 0x1ba00u
#define FORGED_METASPACE 0x1bd00u
#define FORGED_OLD 0x20000u
#define FORGED_EDEN 0x24000u
#define FORGED_SPACE_BYTES 0x2000u
#define FORGED_SESSIONS 5
#define FORGED_GARBAGE 3

enum forged_klass {
	FORGED_OBJECT,
	FORGED_CLASS,
	FORGED_THREAD,
	FORGED_STRING,
	FORGED_BYTES_ARRAY,
	FORGED_OBJECT_ARRAY,
	FORGED_REFERENCE,
	FORGED_SOFT,
	FORGED_WEAK,
	FORGED_FINAL,
	FORGED_SESSION,
	FORGED_LAMBDA,
	FORGED_LOADER,
	FORGED_PLUGIN,
	FORGED_CHUNK,
	FORGED_CONTINUATION,
	FORGED_VIRTUAL,
	FORGED_LOCALS,
	FORGED_ENTRY,
	FORGED_KLASS_MAX_
};

struct forged {
	struct forged_memory memory;
	uint64_t structs, types, texts, statics; /* where the next one comes */
	uint64_t symbol, object;
	uint64_t collecting, zgc;    /* of flags, 1 byte each */
	uint64_t compressed_klasses; /* where that flag's name is */
	uint64_t major;		     /* of its version */
	uint64_t metaspace;
	uint64_t mirrors[FORGED_KLASS_MAX_];
	uint64_t klass_lists[2]; /* of the loaders */
	/* Objects. */
	uint64_t sessions, soft, weak, of_soft, of_weak, finalised, loader, plugin, thread, ended;
	uint64_t local, global, vm, on_stack, plugin_static, garbage;
	uint64_t chunk, in_chunk[2];	/* whole and narrow references */
	uint64_t virtual, continuation; /* the first one of its threads */
};

static inline void forged_put32(uint64_t address, uint32_t number)
{
	memcpy(forged_memory_place(address), &number, sizeof(number));
}

static inline void forged_put16(uint64_t address, uint16_t number)
{
	memcpy(forged_memory_place(address), &number, sizeof(number));
}

static inline uint64_t forged_text(struct forged *forged, const char *text)
{
	uint64_t at = forged->texts;

	forged_put_text(at, text);
	forged->texts += strlen(text) + 1;
	return at;
}

/* Returns the address of the static; of a member 0. */
static inline uint64_t forged_struct(struct forged *forged, const char *type, const char *field,
				     uint64_t offset, bool is_static)
{
	uint64_t at = forged->structs, place = 0;

	if (is_static) {
		place = forged->statics;
		forged->statics += 8;
	}
	forged_put(at, forged_text(forged, type));
	forged_put(at + 8, forged_text(forged, field));
	forged_put32(at + 24, is_static);
	forged_put(at + 32, is_static ? 0 : offset);
	forged_put(at + 40, place);
	forged->structs += 48;
	return place;
}

static inline void forged_static(struct forged *forged, const char *type, const char *field,
				 uint64_t value)
{
	forged_put(forged_struct(forged, type, field, 0, true), value);
}

/* The entry of a description that names a field, of which it is the `text` at 0 or 8. */
static inline uint64_t forged_entry(const struct forged *forged, uint64_t text, const char *name)
{
	for (uint64_t at = FORGED_BASE + FORGED_STRUCTS; at < forged->structs; at += 48) {
		if (!strcmp((char *)forged_memory_place(forged_word(at + text)), name))
			return at;
	}
	return 0;
}

/* Renames a field as in another version, or removes it. */
static inline void forged_rename(struct forged *forged, const char *field, const char *name)
{
	forged_put(forged_entry(forged, 8, field) + 8, forged_text(forged, name));
}

static inline void forged_size(struct forged *forged, const char *type, uint64_t size)
{
	forged_put(forged->types, forged_text(forged, type));
	forged_put(forged->types + 8, size);
	forged->types += 16;
}

/* The lists, as gHotSpotVM* describe them. */
static inline void forged_lists(struct forged *forged)
{
	static const struct {
		const char *name;
		uint64_t value;
	} variables[] = {
		{"gHotSpotVMStructs", FORGED_BASE + FORGED_STRUCTS},
		{"gHotSpotVMStructEntryArrayStride", 48},
		{"gHotSpotVMStructEntryTypeNameOffset", 0},
		{"gHotSpotVMStructEntryFieldNameOffset", 8},
		{"gHotSpotVMStructEntryIsStaticOffset", 24},
		{"gHotSpotVMStructEntryOffsetOffset", 32},
		{"gHotSpotVMStructEntryAddressOffset", 40},
		{"gHotSpotVMTypes", FORGED_BASE + FORGED_TYPES},
		{"gHotSpotVMTypeEntryArrayStride", 16},
		{"gHotSpotVMTypeEntryTypeNameOffset", 0},
		{"gHotSpotVMTypeEntrySizeOffset", 8},
	};

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		forged_put(forged_memory_symbol(&forged->memory, variables[i].name, i * 8, 8),
			   variables[i].value);
	forged->structs = FORGED_BASE + FORGED_STRUCTS;
	forged->types = FORGED_BASE + FORGED_TYPES;
	forged->texts = FORGED_BASE + FORGED_TEXTS;
	forged->statics = FORGED_BASE + FORGED_STATICS;
	forged->symbol = FORGED_BASE + FORGED_SYMBOLS_AT;
	forged->object = FORGED_BASE + FORGED_EDEN;
}

static inline void forged_members(struct forged *forged)
{
	static const struct {
		const char *type, *field;
		uint64_t offset;
	} members[] = {
		{"CollectedHeap", "_is_gc_active", 8},
		{"CollectedHeap", "_total_collections", 12},
		{"JVMFlag", "_name", 8},
		{"JVMFlag", "_addr", 0},
		{"GenCollectedHeap", "_young_gen", 16},
		{"GenCollectedHeap", "_old_gen", 24},
		{"DefNewGeneration", "_eden_space", 0},
		{"DefNewGeneration", "_from_space", 8},
		{"DefNewGeneration", "_to_space", 16},
		{"TenuredGeneration", "_the_space", 0},
		{"Space", "_bottom", 0},
		{"Space", "_end", 8},
		{"ContiguousSpace", "_top", 16},
		{"oopDesc", "_metadata._klass", 8},
		{"Klass", "_layout_helper", 8},
		{"Klass", "_name", 16},
		{"Klass", "_super", 24},
		{"Klass", "_primary_supers[0]", 32},
		{"Klass", "_java_mirror", 40},
		{"Klass", "_class_loader_data", 48},
		{"Klass", "_next_link", 56},
		{"Klass", "_vtable_len", 64},
		{"InstanceKlass", "_itable_len", 68},
		{"InstanceKlass", "_nonstatic_oop_map_size", 72},
		{"InstanceKlass", "_java_fields_count", 76},
		{"InstanceKlass", "_fields", 80},
		{"InstanceKlass", "_constants", 88},
		{"ConstantPool", "_length", 0},
		{"Symbol", "_length", 4},
		{"Symbol", "_body", 6},
		{"ClassLoaderData", "_class_loader", 0},
		{"ClassLoaderData", "_next", 40},
		{"ClassLoaderData", "_klasses", 24},
		{"ClassLoaderData", "_has_class_mirror_holder", 32},
		{"ThreadsList", "_length", 4},
		{"ThreadsList", "_threads", 8},
		{"Thread", "_tlab", 0},
		{"Thread", "_active_handles", 64},
		{"JavaThread", "_threadObj", 72},
		{"JavaThread", "_stack_base", 80},
		{"JavaThread", "_stack_size", 88},
		{"JavaThread", "_anchor", 96},
		{"JavaFrameAnchor", "_last_Java_sp", 0},
		{"ThreadLocalAllocBuffer", "_top", 0},
		{"ThreadLocalAllocBuffer", "_end", 8},
		{"JNIHandleBlock", "_top", 256},
		{"JNIHandleBlock", "_next", 264},
		{"JavaFrameAnchor", "_last_Java_fp", 8},
		{"JavaFrameAnchor", "_last_Java_pc", 16},
		{"JavaCallWrapper", "_anchor", 0},
		{"GrowableArrayBase", "_len", 0},
		{"GrowableArray<int>", "_data", 8},
		{"CodeHeap", "_memory", 0},
		{"CodeHeap", "_segmap", 16},
		{"CodeHeap", "_log2_segment_size", 32},
		{"VirtualSpace", "_low", 0},
		{"VirtualSpace", "_high", 8},
		{"VirtualSpace", "_high_boundary", 8},
		{"HeapBlock", "_header", 0},
		{"HeapBlock::Header", "_length", 0},
		{"HeapBlock::Header", "_used", 8},
		{"CodeBlob", "_name", 8},
		{"CodeBlob", "_frame_size", 16},
		{"CodeBlob", "_code_begin", 24},
		{"CompiledMethod", "_method", 32},
		{"nmethod", "_scopes_pcs_offset", 40},
		{"CompiledMethod", "_scopes_data_begin", 48},
		{"nmethod", "_metadata_offset", 56},
		{"Method", "_constMethod", 8},
		{"ConstMethod", "_constants", 8},
		{"ConstMethod", "_name_index", 16},
		{"ConstMethod", "_flags", 20},
		{"ConstMethod", "_code_size", 24},
		{"ConstantPool", "_pool_holder", 0x80},
		{"ConstantPool", "_source_file_name_index", 0x88},
	};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		forged_struct(forged, members[i].type, members[i].field, members[i].offset, false);
	forged_size(forged, "JVMFlag", 16);
	forged_size(forged, "InstanceKlass", 96);
	forged_size(forged, "ConstantPool", 8);
	forged_size(forged, "HeapBlock", 16);
	forged_size(forged, "ConstMethod", 32);
}

/* Classes. */

static inline uint64_t forged_klass(enum forged_klass klass)
{
	return FORGED_BASE + FORGED_KLASSES + klass * 0x200ull;
}

static inline uint64_t forged_pool(enum forged_klass klass)
{
	return FORGED_BASE + FORGED_POOLS + klass * 0x200ull;
}

static inline uint64_t forged_symbol(struct forged *forged, const char *text)
{
	uint64_t at = forged->symbol;

	forged_put16(at + 4, (uint16_t)strlen(text));
	forged_put_text(at + 6, text);
	forged->symbol += 64;
	return at;
}

/* A field; the class has those before it. */
static inline void forged_field(struct forged *forged, enum forged_klass klass, const char *name,
				const char *type, uint32_t offset, bool is_static)
{
	uint64_t pool = forged_pool(klass), fields = pool + 0x100;
	uint16_t count = (uint16_t)(forged_word(forged_klass(klass) + 76) & 0xffff);
	uint64_t at = fields + 4 + count * 12ull;
	uint32_t constants = 2u * count;

	forged_put(pool + 8 + constants * 8, forged_symbol(forged, name));
	forged_put(pool + 8 + (constants + 1) * 8, forged_symbol(forged, type));
	forged_put32(pool, constants + 2);
	forged_put32(fields, (count + 1u) * 6);
	forged_put16(at, is_static ? 8 : 0);
	forged_put16(at + 2, (uint16_t)constants);
	forged_put16(at + 4, (uint16_t)(constants + 1));
	forged_put16(at + 8, (uint16_t)(offset << 2 | 1));
	forged_put16(forged_klass(klass) + 76, (uint16_t)(count + 1));
}

/* The references of its objects, one after the other. */
static inline void forged_map(enum forged_klass klass, uint32_t offset, uint32_t count)
{
	uint64_t at = forged_klass(klass);

	forged_put32(at + 72, 1);
	forged_put32(at + 96, offset);
	forged_put32(at + 100, count);
}

static inline void forged_virtual_fields(struct forged *forged)
{
	static const struct {
		enum forged_klass klass;
		const char *name, *type;
		uint32_t offset;
		bool is_static;
	} fields[] = {
		{FORGED_CHUNK, "size", "I", 12, false},
		{FORGED_CHUNK, "sp", "I", 16, false},
		{FORGED_CHUNK, "argsize", "I", 20, false},
		{FORGED_CHUNK, "parent", "Ljdk/internal/vm/StackChunk;", 24, false},
		{FORGED_CONTINUATION, "tail", "Ljdk/internal/vm/StackChunk;", 12, false},
		{FORGED_VIRTUAL, "state", "I", 40, false},
		{FORGED_VIRTUAL, "cont", "Ljdk/internal/vm/Continuation;", 44, false},
		{FORGED_VIRTUAL, "carrierThread", "Ljava/lang/Thread;", 48, false},
		{FORGED_VIRTUAL, "SCHEDULER", "Ljava/lang/Object;", 32, true},
		{FORGED_VIRTUAL, "PARKED", "I", 36, true},
		{FORGED_VIRTUAL, "TERMINATED", "I", 40, true},
		{FORGED_VIRTUAL, "RUNNING", "I", 44, true},
		{FORGED_LOCALS, "table", "[Ljava/lang/Object;", 12, false},
		{FORGED_ENTRY, "value", "Ljava/lang/Object;", 20, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		forged_field(forged, fields[i].klass, fields[i].name, fields[i].type,
			     fields[i].offset, fields[i].is_static);
	forged_map(FORGED_CONTINUATION, 12, 1);
	forged_map(FORGED_VIRTUAL, 44, 2);
	forged_map(FORGED_LOCALS, 12, 1);
	forged_map(FORGED_ENTRY, 20, 1);
}

static inline void forged_klasses(struct forged *forged)
{
	static const struct {
		const char *name;
		enum forged_klass super;
		uint32_t layout;
		uint8_t loader;
	} klasses[FORGED_KLASS_MAX_] = {
		[FORGED_OBJECT] = {"java/lang/Object", FORGED_OBJECT, 16, 0},
		[FORGED_CLASS] = {"java/lang/Class", FORGED_OBJECT, 32 | 1, 0},
		[FORGED_THREAD] = {"java/lang/Thread", FORGED_OBJECT, 40, 0},
		[FORGED_STRING] = {"java/lang/String", FORGED_OBJECT, 24, 0},
		[FORGED_BYTES_ARRAY] = {"[B", FORGED_OBJECT, 0xc0100800, 0},
		[FORGED_OBJECT_ARRAY] = {"[[Ljava/lang/Object;", FORGED_OBJECT, 0x80100c02, 0},
		[FORGED_REFERENCE] = {"java/lang/ref/Reference", FORGED_OBJECT, 24, 0},
		[FORGED_SOFT] = {"java/lang/ref/SoftReference", FORGED_REFERENCE, 24, 0},
		[FORGED_WEAK] = {"java/lang/ref/WeakReference", FORGED_REFERENCE, 24, 0},
		[FORGED_FINAL] = {"java/lang/ref/FinalReference", FORGED_REFERENCE, 24, 0},
		[FORGED_SESSION] = {"shop/Session", FORGED_OBJECT, 24, 0},
		[FORGED_LAMBDA] = {"shop/Main$$Lambda$1+0x0000000800c03000", FORGED_OBJECT, 16, 0},
		[FORGED_LOADER] = {"shop/Loader", FORGED_OBJECT, 16, 0},
		[FORGED_PLUGIN] = {"shop/Plugin", FORGED_OBJECT, 16, 1},
		[FORGED_CHUNK] = {"jdk/internal/vm/StackChunk", FORGED_OBJECT, 32 | 1, 0},
		[FORGED_CONTINUATION] = {"jdk/internal/vm/Continuation", FORGED_OBJECT, 16, 0},
		[FORGED_VIRTUAL] = {"java/lang/VirtualThread", FORGED_THREAD, 56, 0},
		[FORGED_LOCALS] = {"java/lang/ThreadLocal$ThreadLocalMap", FORGED_OBJECT, 16, 0},
		[FORGED_ENTRY] = {"java/lang/ThreadLocal$ThreadLocalMap$Entry", FORGED_WEAK, 24, 0},
	};

	for (size_t i = 0; i < FORGED_KLASS_MAX_; i++) {
		uint64_t at = forged_klass(i), loader = FORGED_BASE + FORGED_VM;

		loader += klasses[i].loader * 0x200ull;
		forged_put32(at + 8, klasses[i].layout);
		forged_put(at + 16, forged_symbol(forged, klasses[i].name));
		forged_put(at + 24, i ? forged_klass(klasses[i].super) : 0);
		forged_put(at + 32, forged_klass(FORGED_OBJECT));
		forged_put(at + 48, loader);
		forged_put(at + 56, forged->klass_lists[klasses[i].loader]);
		forged->klass_lists[klasses[i].loader] = at;
		forged_put(at + 80, forged_pool(i) + 0x100);
		forged_put(at + 88, forged_pool(i));
	}
	forged_field(forged, FORGED_THREAD, "eetop", "J", 16, false);
	forged_field(forged, FORGED_THREAD, "threadStatus", "I", 12, false);
	forged_field(forged, FORGED_THREAD, "name", "Ljava/lang/String;", 24, false);
	forged_field(forged, FORGED_THREAD, "threadLocals", "Ljava/lang/Object;", 28, false);
	forged_field(forged, FORGED_THREAD, "tid", "J", 32, false);
	forged_map(FORGED_THREAD, 24, 2);
	forged_field(forged, FORGED_STRING, "value", "[B", 12, false);
	forged_field(forged, FORGED_STRING, "coder", "B", 16, false);
	forged_map(FORGED_STRING, 12, 1);
	forged_field(forged, FORGED_REFERENCE, "referent", "Ljava/lang/Object;", 12, false);
	forged_field(forged, FORGED_REFERENCE, "discovered", "Ljava/lang/Object;", 16, false);
	forged_field(forged, FORGED_SESSION, "next", "Lshop/Session;", 12, false);
	forged_field(forged, FORGED_SESSION, "address", "J", 16, false);
	forged_field(forged, FORGED_SESSION, "all", "Lshop/Session;", 32, true);
	forged_map(FORGED_SESSION, 12, 1);
	forged_field(forged, FORGED_PLUGIN, "cache", "[B", 32, true);
	forged_virtual_fields(forged);
}

/* Objects. */

static inline uint32_t forged_narrow(uint64_t address)
{
	return address ? (uint32_t)((address - FORGED_BASE) >> 3) : 0;
}

static inline uint64_t forged_new(struct forged *forged, enum forged_klass klass, uint64_t size)
{
	uint64_t at = forged->object;

	forged_put(at, 1);
	forged_put32(at + 8, forged_narrow(forged_klass(klass)));
	forged->object += size;
	return at;
}

static inline void forged_refer(uint64_t object, uint32_t offset, uint64_t to)
{
	forged_put32(object + offset, forged_narrow(to));
}

static inline uint64_t forged_array(struct forged *forged, enum forged_klass klass, uint32_t length,
				    uint64_t bytes)
{
	uint64_t at = forged_new(forged, klass, (16 + bytes + 7) & ~7ull);

	forged_put32(at + 12, length);
	return at;
}

/* java.lang.Class: its Klass at 16, its size in words at 12, static fields from 32 to 48. */
static inline void forged_mirrors(struct forged *forged)
{
	for (size_t i = 0; i < FORGED_KLASS_MAX_; i++) {
		uint64_t mirror = forged_new(forged, FORGED_CLASS, 48);
		uint64_t handle = FORGED_BASE + FORGED_VM + 0x1000 + i * 8;

		forged_put32(mirror + 12, 6);
		forged_put(mirror + 16, forged_klass(i));
		forged_put(handle, mirror);
		forged_put(forged_klass(i) + 40, handle);
		forged->mirrors[i] = mirror;
	}
}

static inline uint64_t forged_string(struct forged *forged, const char *text)
{
	uint64_t value =
		forged_array(forged, FORGED_BYTES_ARRAY, (uint32_t)strlen(text), strlen(text));
	uint64_t string = forged_new(forged, FORGED_STRING, 24);

	memcpy(forged_memory_place(value + 16), text, strlen(text));
	forged_refer(string, 12, value);
	return string;
}

static inline uint64_t forged_reference(struct forged *forged, enum forged_klass klass,
					uint64_t referent)
{
	uint64_t at = forged_new(forged, klass, 24);

	forged_refer(at, 12, referent);
	return at;
}

#define FORGED_CHUNK_WORDS 28 /* of its stack */

/* Makes two virtual threads that wait with one stack, and one that has ended. */
static inline void forged_virtual(struct forged *forged)
{
	static const uint32_t states[] = {5, 5, 99};
	uint64_t mirror = forged->mirrors[FORGED_VIRTUAL];

	for (size_t i = 0; i < 2; i++)
		forged->in_chunk[i] = forged_new(forged, FORGED_OBJECT, 16);
	forged->chunk = forged_new(forged, FORGED_CHUNK, 32 + FORGED_CHUNK_WORDS * 8 + 8);
	forged_put32(forged->chunk + 12, FORGED_CHUNK_WORDS);
	forged_put32(forged->chunk + 16, 8);
	forged_put32(forged->chunk + 20, 1);
	forged->continuation = forged_new(forged, FORGED_CONTINUATION, 16);
	forged_refer(forged->continuation, 12, forged->chunk);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		uint64_t thread = forged_new(forged, FORGED_VIRTUAL, 56);

		forged_put(thread + 32, 7 + i);
		forged_put32(thread + 40, states[i]);
		if (i < 2)
			forged_refer(thread, 44, forged->continuation);
		if (!i)
			forged->virtual = thread;
	}
	forged_refer(mirror, 32, forged->of_soft);
	forged_put32(mirror + 36, 5);
	forged_put32(mirror + 40, 99);
	forged_put32(mirror + 44, 3);
}

/* Gives the first thread a value of a dead ThreadLocal, and one of another. */
static inline void forged_locals(struct forged *forged)
{
	uint64_t table = forged_array(forged, FORGED_OBJECT_ARRAY, 4, 16);
	uint64_t map = forged_new(forged, FORGED_LOCALS, 16);

	for (uint32_t i = 0; i < 2; i++) {
		uint64_t entry = forged_new(forged, FORGED_ENTRY, 24);

		if (i)
			forged_refer(entry, 12, forged->of_soft);
		forged_refer(entry, 20, forged->sessions);
		forged_refer(table, 16 + 8 * i, entry);
	}
	forged_refer(map, 12, table);
	forged_refer(forged->thread, 28, map);
}

static inline void forged_objects(struct forged *forged)
{
	uint64_t array;

	forged_mirrors(forged);
	for (size_t i = 0; i < FORGED_SESSIONS; i++) {
		uint64_t session = forged_new(forged, FORGED_SESSION, 24);

		forged_refer(session, 12, forged->sessions);
		forged->sessions = session;
	}
	/* Its lock is held. */
	forged_put(forged->sessions, 0);
	forged_put(forged->sessions + 16, forged_memory_malloc(&forged->memory, 100));
	forged_refer(forged->mirrors[FORGED_SESSION], 32, forged->sessions);
	forged->of_soft = forged_new(forged, FORGED_OBJECT, 16);
	forged->of_weak = forged_new(forged, FORGED_OBJECT, 16);
	forged->finalised = forged_new(forged, FORGED_OBJECT, 16);
	forged->soft = forged_reference(forged, FORGED_SOFT, forged->of_soft);
	forged->weak = forged_reference(forged, FORGED_WEAK, forged->of_weak);
	array = forged_array(forged, FORGED_OBJECT_ARRAY, 4, 16);
	forged_refer(array, 16, forged->soft);
	forged_refer(array, 20, forged->weak);
	forged_refer(array, 28, forged_reference(forged, FORGED_FINAL, forged->finalised));
	forged->global = array;
	forged->vm = forged_new(forged, FORGED_LAMBDA, 16);
	forged->local = forged_new(forged, FORGED_OBJECT, 16);
	forged->on_stack = forged_new(forged, FORGED_OBJECT, 16);
	forged->loader = forged_new(forged, FORGED_LOADER, 16);
	forged->plugin = forged_new(forged, FORGED_PLUGIN, 16);
	forged->plugin_static = forged_array(forged, FORGED_BYTES_ARRAY, 3, 3);
	forged_refer(forged->mirrors[FORGED_PLUGIN], 32, forged->plugin_static);
	forged->thread = forged_new(forged, FORGED_THREAD, 40);
	forged_put(forged->thread + 16, 1);
	forged_put32(forged->thread + 12, 5);
	forged_refer(forged->thread, 24, forged_string(forged, "worker"));
	forged->ended = forged_new(forged, FORGED_THREAD, 40);
	forged_put32(forged->ended + 12, 2);
	forged->garbage = forged_array(forged, FORGED_BYTES_ARRAY, 9, 9);
	forged_virtual(forged);
	forged_locals(forged);
}

/* The VM. */

static inline void forged_loaders(struct forged *forged)
{
	uint64_t boot = FORGED_BASE + FORGED_VM, other = boot + 0x200, chunk = boot + 0x400;

	forged_put(boot + 40, other);
	forged_put(boot + 24, forged->klass_lists[0]);
	forged_put(boot + 16, chunk);
	forged_put(chunk, forged->mirrors[FORGED_OBJECT]);
	forged_put32(chunk + 256, 1);
	forged_put(other, other + 0x100);
	forged_put(other + 0x100, forged->loader);
	forged_put(other + 24, forged->klass_lists[1]);
	forged_put(other + 16, chunk + 0x140);
	forged_put(chunk + 0x140, forged->mirrors[FORGED_PLUGIN]);
	forged_put32(chunk + 0x140 + 256, 1);
	forged_static(forged, "ClassLoaderDataGraph", "_head", boot);
}

/* Two chunks of the first loader, and one of the other one: of 4 KiB, 1 KiB in use each. */
static inline void forged_metaspace(struct forged *forged)
{
	uint64_t at = FORGED_BASE + FORGED_METASPACE, chunk = at + 0x100, list = at + 0xa0;

	forged_put(list + 40, 0x10000);
	forged_put(list + 48, 0x4000);
	forged_put(at + 0x98, list);
	for (uint64_t i = 0; i < 3; i++, chunk += 64) {
		forged_put(chunk, FORGED_BASE + FORGED_EDEN + i * 4096);
		forged_put(chunk + 8, 128);
		forged_put(chunk + 16, 512);
		forged_put(chunk + 24, 0x10c);
		forged_put(chunk + 48, i == 1 ? chunk - 64 : 0);
	}
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t metaspace = at + i * 0x20, arena = at + 0x40 + i * 0x28;

		forged_put(FORGED_BASE + FORGED_VM + i * 0x200 + 8, metaspace);
		forged_put(metaspace + 16, arena);
		forged_put(arena + 8, at + 0x98);
		forged_put(arena + 24, at + (i ? 0x180 : 0x140));
		forged_put(arena + 32, i ? 1 : 2);
	}
	forged->metaspace = at;
}

static inline void forged_thread(struct forged *forged)
{
	uint64_t list = FORGED_BASE + FORGED_VM + 0x800, thread = list + 0x40;
	uint64_t handles = list + 0x200, stack = FORGED_BASE + FORGED_STACK;

	forged_put32(list + 4, 1);
	forged_put(list + 8, list + 0x20);
	forged_put(list + 0x20, thread);
	forged_put(thread, forged->object);
	forged_put(thread + 8, forged->object + 0x100);
	forged_put(thread + 64, handles);
	forged_put(thread + 72, list + 0x30);
	forged_put(list + 0x30, forged->thread);
	forged_put(thread + 80, stack + FORGED_STACK_BYTES);
	forged_put(thread + 88, FORGED_STACK_BYTES);
	forged_put(thread + 96, stack + FORGED_STACK_BYTES - 64);
	forged_put32(stack + FORGED_STACK_BYTES - 36, forged_narrow(forged->on_stack));
	forged_put(handles, forged->local);
	forged_put32(handles + 256, 1);
	forged_static(forged, "ThreadsSMRSupport", "_java_thread_list", list);
	forged_static(forged, "ThreadLocalAllocBuffer", "_reserve_for_allocation_prefetch", 2);
	/* The buffer contains old data. */
	forged_put(forged->object, 1);
	forged_put32(forged->object + 8, forged_narrow(forged_klass(FORGED_SESSION)));
	forged->object += 0x110;
	for (size_t i = 0; i < FORGED_GARBAGE; i++)
		forged_new(forged, FORGED_SESSION, 24);
}

/* Ten bytes of code: line 5 from the first one on, 7 from the third, 107 from the seventh. */
static inline uint64_t forged_method(uint64_t at, uint64_t pool, uint16_t name)
{
	static const uint8_t lines[] = {5, 3 << 3 | 2, 255, 8, 200, 0, 0};
	uint64_t constant = at + 0x40;

	forged_put(at + 8, constant);
	forged_put(constant + 8, pool);
	forged_put16(constant + 16, name);
	forged_put32(constant + 20, 1);
	forged_put16(constant + 24, 10);
	memcpy(forged_memory_place(constant + 32 + 10), lines, sizeof(lines));
	return at;
}

/* Makes a blob in a block of that many segments, from segment `first` on. */
static inline uint64_t forged_blob(struct forged *forged, const char *name, uint32_t first,
				   uint32_t segments)
{
	uint64_t blob = FORGED_BASE + FORGED_CODE + first * 128ull + 16;
	unsigned char *map = forged_memory_place(FORGED_BASE + FORGED_SEGMENTS + first);

	for (uint32_t i = 0; i < segments; i++)
		map[i] = (unsigned char)i;
	forged_put(blob - 16, segments);
	forged_put(blob - 8, 1);
	forged_put(blob + 8, forged_text(forged, name));
	return blob;
}

/*
 * Copies the same frames into a chunk: offsets in the interpreted one are words from their own
 * location.
 */
static inline void forged_freeze(struct forged *forged, uint64_t interpreter, uint64_t serve,
				 uint64_t code)
{
	uint64_t stack = forged->chunk + 32;

	forged_put(stack + 6 * 8, 14); /* to 20 */
	forged_put(stack + 7 * 8, interpreter + 0x20);
	forged_put(stack + 10 * 8, forged->in_chunk[0]);
	forged_put(stack + 12 * 8, serve + 0x40 + 32 + 3);
	forged_put(stack + 17 * 8, serve);
	forged_put(stack + 19 * 8, 2); /* to 22 */
	forged_put(stack + 21 * 8, code + 0x10);
	forged_put32(stack + 23 * 8 + 4, forged_narrow(forged->in_chunk[1]));
	forged_put(stack + 25 * 8, 0x7654321);
}

/* serve() is interpreted; accept(), in which serve() is inlined, called it, and is compiled. */
static inline void forged_code(struct forged *forged)
{
	static const uint8_t scopes[] = {0, 0, 2, 8, 0, 0, 0, 0, 0, 0, 1, 1, 4};
	uint64_t methods = FORGED_BASE + FORGED_METHODS, pool = methods + 0x200;
	uint64_t serve = forged_method(methods, pool, 1);
	uint64_t accept = forged_method(methods + 0x100, pool, 3);
	uint64_t interpreter = forged_blob(forged, "Interpreter", 0, 2);
	uint64_t compiled = forged_blob(forged, "nmethod", 2, 4);
	uint64_t heap = FORGED_BASE + FORGED_SEGMENTS + 0x800, code = compiled + 0x80;
	uint64_t top = FORGED_BASE + FORGED_STACK + FORGED_STACK_BYTES, fp = top - 0x100;
	uint64_t anchor = FORGED_BASE + FORGED_VM + 0x840 + 96;

	forged_put(pool + 8 + 8, forged_symbol(forged, "serve"));
	forged_put(pool + 8 + 16, forged_symbol(forged, "Shop.java"));
	forged_put(pool + 8 + 24, forged_symbol(forged, "accept"));
	forged_put(pool + 0x80, forged_klass(FORGED_SESSION));
	forged_put16(pool + 0x88, 2);
	forged_put32(compiled + 16, 4);
	forged_put(compiled + 24, code);
	forged_put(compiled + 32, accept);
	forged_put32(compiled + 40, 0xa0);
	forged_put32(compiled + 0xa0, 0x10);
	forged_put32(compiled + 0xa4, 10);
	forged_put32(compiled + 0xb0, INT32_MAX);
	forged_put(compiled + 48, compiled + 0xd0);
	memcpy(forged_memory_place(compiled + 0xd0), scopes, sizeof(scopes));
	forged_put32(compiled + 56, 0xe0);
	forged_put(compiled + 0xe0, serve);
	forged_put(compiled + 0xe8, accept);
	forged_put(heap, FORGED_BASE + FORGED_CODE);
	forged_put(heap + 8, FORGED_BASE + FORGED_CODE + 0x1000);
	forged_put(heap + 16, FORGED_BASE + FORGED_SEGMENTS);
	forged_put32(heap + 32, 7);
	forged_put32(heap + 0x40, 1);
	forged_put(heap + 0x48, heap + 0x60);
	forged_put(heap + 0x60, heap);
	forged_static(forged, "CodeCache", "_heaps", heap + 0x40);
	forged_static(forged, "StubRoutines", "_call_stub_return_address", 0x1234567);
	forged_put(anchor, top - 0x200);
	forged_put(anchor + 8, fp);
	forged_put(anchor + 16, interpreter + 0x20);
	forged_put(fp - 8, top - 0xf0);
	forged_put(fp - 24, serve);
	forged_put(fp - 64, serve + 0x40 + 32 + 3);
	forged_put(fp + 8, code + 0x10);
	forged_put(top - 0xd8, 0x1234567);
	forged_freeze(forged, interpreter, serve, code);
	/* References of serve() and accept(). */
	forged_put(top - 0x180, forged->soft);
	forged_put32(top - 0xe8, forged_narrow(forged->weak));
}

static inline uint64_t forged_storage(struct forged *forged, uint64_t at, const char *name,
				      uint64_t object)
{
	forged_put(at, forged_text(forged, name));
	forged_put(at + 8, at + 0x20);
	forged_put(at + 0x20, 8);
	forged_put(at + 0x28, 1);
	forged_put(at + 0x38, at + 0x100);
	forged_put(at + 0x100 + 8, object);
	forged_put(at + 0x100 + 16, object);
	forged_put(at + 0x100 + 512, 2);
	return at;
}

static inline void forged_storages(struct forged *forged)
{
	uint64_t at = FORGED_BASE + FORGED_VM + 0x1100, set = at - 0x40, globals;

	globals = forged_storage(forged, at, "JNI Global", forged->global);
	forged_put(set, forged_storage(forged, at + 0x400, "VM Global", forged->vm));
	forged_put(set + 8, globals);
	forged_put(set + 16, forged_storage(forged, at + 0x800, "VM Weak", forged->garbage));
	forged_static(forged, "JNIHandles", "_global_handles", globals);
}

static inline void forged_space(uint64_t at, uint64_t start, uint64_t top)
{
	forged_put(at, start);
	forged_put(at + 8, start + FORGED_SPACE_BYTES);
	forged_put(at + 16, top);
}

static inline void forged_heap(struct forged *forged)
{
	uint64_t heap = FORGED_BASE + FORGED_VM + 0x680, young = heap + 0x40, spaces = heap + 0x80;
	uint64_t old = FORGED_BASE + FORGED_OLD;

	forged_static(forged, "Universe", "_collectedHeap", heap);
	forged->collecting = heap + 8;
	forged_put(heap + 16, young);
	forged_put(heap + 24, young + 24);
	forged_put(young, spaces);
	forged_put(young + 8, spaces + 24);
	forged_put(young + 16, spaces + 48);
	forged_put(young + 24, spaces + 72);
	forged_space(spaces, FORGED_BASE + FORGED_EDEN, forged->object);
	forged_space(spaces + 24, old + 0x8000, old + 0x8000);
	forged_space(spaces + 48, old + 0xa000, old + 0xa000);
	forged_space(spaces + 72, old, old);
}

static inline void forged_flags(struct forged *forged)
{
	static const char *const names[] = {"UseCompressedOops", "UseCompressedClassPointers",
					    "UseSerialGC", "UseZGC"};
	uint64_t flags = FORGED_BASE + FORGED_VM + 0x1d00, values = flags + 0x80;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		forged_put(flags + i * 16, values + i * 8);
		forged_put(flags + i * 16 + 8, forged_text(forged, names[i]));
		forged_put(values + i * 8, i < 3);
	}
	forged->zgc = values + 24;
	forged->compressed_klasses = flags + 16 + 8;
	forged_static(forged, "JVMFlag", "flags", flags);
	forged_static(forged, "JVMFlag", "numFlags", ARRAY_SIZE(names));
}

static inline void forged_variables(struct forged *forged)
{
	forged_static(forged, "CompressedOops", "_narrow_oop._base", FORGED_BASE);
	forged_static(forged, "CompressedOops", "_narrow_oop._shift", 3);
	forged_static(forged, "CompressedKlassPointers", "_narrow_klass._base", FORGED_BASE);
	forged_static(forged, "CompressedKlassPointers", "_narrow_klass._shift", 3);
	forged_static(forged, "java_lang_Class", "_klass_offset", 16);
	forged_static(forged, "java_lang_Class", "_oop_size_offset", 12);
	forged_static(forged, "vmClasses",
		      "_klasses[static_cast<int>(vmClassID::Object_klass_knum)]",
		      forged_klass(FORGED_OBJECT));
	forged_static(forged, "vmClasses",
		      "_klasses[static_cast<int>(vmClassID::Class_klass_knum)]",
		      forged_klass(FORGED_CLASS));
	forged_static(forged, "vmClasses",
		      "_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]",
		      forged_klass(FORGED_THREAD));
	forged->major = forged_struct(forged, "Abstract_VM_Version", "_vm_major_version", 0, true);
	forged_put(forged->major, 17);
	forged_static(forged, "Abstract_VM_Version", "_vm_minor_version", 0);
	forged_static(forged, "Abstract_VM_Version", "_vm_security_version", 15);
}

/* False: no memory. */
static inline bool forged_make(struct forged *forged)
{
	static char library[] = "/usr/lib/jvm/lib/server/libjvm.so";

	*forged = (struct forged){0};
	if (!forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES, FORGED_DATA, 0x1c000))
		return false;
	forged->memory.mappings[0].path = library;
	forged_lists(forged);
	forged_members(forged);
	forged_variables(forged);
	forged_klasses(forged);
	forged_objects(forged);
	forged_loaders(forged);
	forged_metaspace(forged);
	forged_thread(forged);
	forged_code(forged);
	forged_storages(forged);
	forged_heap(forged);
	forged_flags(forged);
	forged_memory_find_places(&forged->memory);
	return true;
}

#endif
