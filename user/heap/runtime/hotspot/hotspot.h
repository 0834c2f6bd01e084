/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the parts of the HotSpot walker. The VM describes its structures to debuggers
 * (src/hotspot/share/runtime/vmStructs.cpp); where that description is incomplete, a comment names
 * the source.
 */
#ifndef LEAKMON_RUNTIME_HOTSPOT_H
#define LEAKMON_RUNTIME_HOTSPOT_H

#include "base/hash.h"
#include "heap/allocators/data_modules.h"
#include "heap/runtime/heap_sink.h"
#include "heap/runtime/target_memory.h"
#include "report/task_report.h"

struct java_thread_report; /* reader.h */

#define HOTSPOT_KEY "hotspot"

/* Members by offset, statics by address, sizes of types, constants. */
enum hotspot_place {
	/* CollectedHeap */
	HOTSPOT_HEAP, /* static */
	HOTSPOT_HEAP_ACTIVE,
	HOTSPOT_HEAP_COLLECTIONS,
	/* Compressed pointers: statics. */
	HOTSPOT_OOP_BASE,
	HOTSPOT_OOP_SHIFT,
	HOTSPOT_KLASS_BASE,
	HOTSPOT_KLASS_SHIFT,
	/* JVMFlag */
	HOTSPOT_FLAGS,	    /* static */
	HOTSPOT_FLAG_COUNT, /* static */
	HOTSPOT_FLAG_NAME,
	HOTSPOT_FLAG_ADDRESS,
	HOTSPOT_FLAG_BYTES,
	/* G1: regions; the tag of humongous ones is part of the others' */
	HOTSPOT_G1_REGIONS, /* in the heap */
	HOTSPOT_G1_TABLE,   /* in that */
	HOTSPOT_TABLE_BASE,
	HOTSPOT_TABLE_LENGTH,
	HOTSPOT_REGION_BOTTOM,
	HOTSPOT_REGION_TOP,
	HOTSPOT_REGION_END,
	HOTSPOT_OLD_REGION_BOTTOM, /* until 11 */
	HOTSPOT_OLD_REGION_TOP,
	HOTSPOT_OLD_REGION_END,
	HOTSPOT_REGION_TYPE,
	HOTSPOT_TYPE_TAG,
	/* Shenandoah */
	HOTSPOT_SHENANDOAH_REGIONS,
	HOTSPOT_SHENANDOAH_COUNT,
	HOTSPOT_SHENANDOAH_BOTTOM,
	HOTSPOT_SHENANDOAH_TOP,
	HOTSPOT_SHENANDOAH_END,
	HOTSPOT_SHENANDOAH_STATE,
	/* Parallel */
	HOTSPOT_PARALLEL_YOUNG, /* static, like HOTSPOT_PARALLEL_OLD; since 27 in the heap */
	HOTSPOT_PARALLEL_OLD,
	HOTSPOT_PS_EDEN,
	HOTSPOT_PS_FROM,
	HOTSPOT_PS_TO,
	HOTSPOT_PS_OLD,
	HOTSPOT_MUTABLE_BOTTOM,
	HOTSPOT_MUTABLE_TOP,
	HOTSPOT_MUTABLE_END,
	/* Serial, Epsilon */
	HOTSPOT_SERIAL_YOUNG,
	HOTSPOT_SERIAL_OLD,
	HOTSPOT_DEFNEW_EDEN,
	HOTSPOT_DEFNEW_FROM,
	HOTSPOT_DEFNEW_TO,
	HOTSPOT_TENURED_SPACE,
	HOTSPOT_EPSILON_SPACE,
	HOTSPOT_SPACE_BOTTOM,
	HOTSPOT_SPACE_TOP,
	HOTSPOT_SPACE_END,
	/* Klass */
	HOTSPOT_OOP_KLASS,
	HOTSPOT_KLASS_KIND, /* from 28 on */
	HOTSPOT_KLASS_LAYOUT,
	HOTSPOT_KLASS_NAME,
	HOTSPOT_KLASS_SUPER,
	HOTSPOT_KLASS_SUPERS,
	HOTSPOT_KLASS_MIRROR,
	HOTSPOT_KLASS_LOADER,
	HOTSPOT_KLASS_NEXT,
	HOTSPOT_KLASS_VTABLE,
	HOTSPOT_KLASS_ITABLE,
	HOTSPOT_KLASS_MAPS,
	HOTSPOT_KLASS_FIELDS,
	HOTSPOT_KLASS_FIELD_COUNT,
	HOTSPOT_KLASS_STREAM,
	HOTSPOT_KLASS_CONSTANTS,
	HOTSPOT_KLASS_BYTES,
	HOTSPOT_CONSTANTS_LENGTH,
	HOTSPOT_CONSTANTS_BYTES,
	HOTSPOT_OBJECT_KLASS, /* static, like the next two */
	HOTSPOT_CLASS_KLASS,
	HOTSPOT_THREAD_KLASS,
	HOTSPOT_SYMBOL_LENGTH,
	HOTSPOT_SYMBOL_BODY,
	/* java.lang.Class: statics that contain offsets */
	HOTSPOT_MIRROR_KLASS,
	HOTSPOT_MIRROR_SIZE,
	/* Loaders */
	HOTSPOT_LOADERS, /* static */
	HOTSPOT_LOADER_OBJECT,
	HOTSPOT_LOADER_NEXT,
	HOTSPOT_LOADER_KLASSES,
	HOTSPOT_LOADER_IS_OF_MIRROR,
	/* Threads */
	HOTSPOT_THREAD_LIST,  /* static; up to 11 instead: */
	HOTSPOT_THREAD_FIRST, /* static */
	HOTSPOT_THREAD_NEXT,
	HOTSPOT_THREAD_COUNT,
	HOTSPOT_THREAD_ITEMS,
	HOTSPOT_THREAD_BUFFER,
	HOTSPOT_THREAD_OBJECT,
	HOTSPOT_THREAD_STACK,
	HOTSPOT_THREAD_STACK_BYTES,
	HOTSPOT_THREAD_HANDLES,
	HOTSPOT_THREAD_ANCHOR,
	HOTSPOT_THREAD_STATE,
	HOTSPOT_ANCHOR_SP,
	HOTSPOT_BUFFER_TOP,
	HOTSPOT_BUFFER_END,
	HOTSPOT_BUFFER_PREFETCH, /* static */
	HOTSPOT_BUFFER_RESERVE,	 /* static */
	/* Handles */
	HOTSPOT_JNI_GLOBALS, /* static */
	HOTSPOT_BLOCK_TOP,
	HOTSPOT_BLOCK_NEXT,
	/* VM */
	HOTSPOT_VERSION_MAJOR, /* statics */
	HOTSPOT_VERSION_MINOR,
	HOTSPOT_VERSION_SECURITY,
	HOTSPOT_MARK_KLASS_SHIFT,
	/* Code and frames of Java: see frames.c */
	HOTSPOT_ANCHOR_FP,
	HOTSPOT_ANCHOR_PC,
	HOTSPOT_WRAPPER_ANCHOR,
	HOTSPOT_CALL_STUB,  /* static: its return address */
	HOTSPOT_CODE_HEAPS, /* static */
	HOTSPOT_ARRAY_LENGTH,
	HOTSPOT_ARRAY_DATA,
	HOTSPOT_CODE_MEMORY,
	HOTSPOT_CODE_SEGMENTS,
	HOTSPOT_CODE_SHIFT,
	HOTSPOT_CODE_BLOCK_BYTES,
	HOTSPOT_BLOCK_HEADER,
	HOTSPOT_HEADER_LENGTH,
	HOTSPOT_HEADER_USED,
	HOTSPOT_SPACE_LOW,
	HOTSPOT_SPACE_HIGH,
	HOTSPOT_SPACE_LIMIT,
	HOTSPOT_BLOB_NAME,
	HOTSPOT_BLOB_FRAME,
	HOTSPOT_BLOB_CODE,	  /* an address; or */
	HOTSPOT_BLOB_CODE_OFFSET, /* an offset from the blob */
	HOTSPOT_BLOB_MUTABLE,
	HOTSPOT_BLOB_RELOCATION,
	HOTSPOT_COMPILED_METHOD,
	HOTSPOT_COMPILED_PCS,
	HOTSPOT_COMPILED_SCOPES, /* an address; or */
	HOTSPOT_COMPILED_SCOPES_OFFSET,
	HOTSPOT_COMPILED_METADATA,
	HOTSPOT_COMPILED_IMMUTABLE,
	HOTSPOT_METHOD_CONST,
	HOTSPOT_CONST_CONSTANTS,
	HOTSPOT_CONST_NAME,
	HOTSPOT_CONST_FLAGS,
	HOTSPOT_CONST_CODE_SIZE,
	HOTSPOT_CONST_BYTES,
	HOTSPOT_CONSTANTS_HOLDER,
	HOTSPOT_CONSTANTS_SOURCE,
	HOTSPOT_KLASS_SOURCE,
	/* PerfMemory: the VM's counters */
	HOTSPOT_COUNTERS_START, /* statics */
	HOTSPOT_COUNTERS_TOP,
	/* ZGC: see z.c. Masks are behind pointers. */
	HOTSPOT_Z_GLOBALS, /* static */
	HOTSPOT_Z_OFFSET_MASK,
	HOTSPOT_Z_WEAK_BAD_MASK, /* without generations only, as the next one */
	HOTSPOT_Z_COLOURS,
	HOTSPOT_Z_LOAD_GOOD_MASK, /* with generations only, as the next one */
	HOTSPOT_Z_LOAD_SHIFT,
	HOTSPOT_Z_HEAP,
	HOTSPOT_Z_HEAP_BYTES,
	HOTSPOT_Z_ALLOCATOR,
	HOTSPOT_Z_PAGE_TABLE,
	HOTSPOT_Z_FORWARDING_TABLE, /* without generations only */
	HOTSPOT_Z_MAX_CAPACITY,
	HOTSPOT_Z_PAGE_MAP,
	HOTSPOT_Z_PAGE_ITEMS,
	HOTSPOT_Z_FORWARDING_MAP,
	HOTSPOT_Z_FORWARDING_ITEMS,
	HOTSPOT_Z_PAGE_TYPE,
	HOTSPOT_Z_PAGE_RANGE,
	HOTSPOT_Z_PAGE_TOP,
	HOTSPOT_Z_RANGE_START,
	HOTSPOT_Z_RANGE_END, /* or */
	HOTSPOT_Z_RANGE_SIZE,
	HOTSPOT_Z_FORWARDING_RANGE,
	HOTSPOT_Z_FORWARDING_SHIFT,
	HOTSPOT_Z_FORWARDING_COUNT, /* an attached array's length */
	HOTSPOT_Z_FORWARDING_BYTES,
	HOTSPOT_PLACE_MAX_
};

#define HOTSPOT_UNKNOWN UINT64_MAX

/* Flags for the kind of the heap, and the limits of it and of other memory. */
enum hotspot_flag {
	HOTSPOT_COMPRESSED_OOPS,
	HOTSPOT_COMPRESSED_KLASSES,
	HOTSPOT_COMPACT_HEADERS,
	HOTSPOT_G1,
	HOTSPOT_SERIAL,
	HOTSPOT_PARALLEL,
	HOTSPOT_Z,
	HOTSPOT_Z_GENERATIONS, /* since 24 always */
	HOTSPOT_SHENANDOAH,
	HOTSPOT_EPSILON,
	HOTSPOT_ALIGNMENT, /* bytes, as the next ones */
	HOTSPOT_MAX_HEAP,
	HOTSPOT_CODE_LIMIT,
	HOTSPOT_FLAG_MAX_
};

struct hotspot_layout {
	uint64_t places[HOTSPOT_PLACE_MAX_]; /* HOTSPOT_UNKNOWN: not in this VM */
	uint64_t flags[HOTSPOT_FLAG_MAX_];
};

/* Reads the VM's description of its structures in `module`. 0; -ENOENT with *why if a necessary one
 * is missing: the others were read then, but no flags. */
int hotspot_layout_read(struct target_memory *memory, const struct data_module *module,
			struct hotspot_layout *layout, const char **why);

/* Reads the description of the heap only. Returns whether it has the heap's address and its
 * collection state. */
bool hotspot_layout_read_heap(struct target_memory *memory, const struct data_module *module,
			      struct hotspot_layout *layout);

enum hotspot_kind {
	HOTSPOT_INSTANCE,
	HOTSPOT_MIRROR, /* java.lang.Class: its objects contain static fields, too */
	HOTSPOT_CHUNK,	/* jdk.internal.vm.StackChunk: contains a stack behind its fields */
	HOTSPOT_OBJECT_ARRAY,
	HOTSPOT_TYPE_ARRAY,
};

/* The kind of a subclass of java.lang.ref.Reference. */
enum hotspot_reference {
	HOTSPOT_REFERENCE_NONE,
	HOTSPOT_REFERENCE_SOFT,
	HOTSPOT_REFERENCE_FINAL,
	HOTSPOT_REFERENCE_WEAK, /* or phantom: holds nothing */
};

struct hotspot_field {
	uint32_t offset; /* in the object; for a static field, in the mirror */
	uint32_t label;
	bool is_static;
	bool is_number; /* a long: possibly the address of native memory */
};

/* Consecutive references. */
struct hotspot_map {
	uint32_t offset, count;
};

/* A Klass. */
struct hotspot_class {
	uint64_t address;
	uint32_t number, ended_number; /* of the sink; UINT32_MAX: none yet */
	int32_t layout;		       /* Klass::_layout_helper */
	enum hotspot_kind kind;
	bool rooted;	/* its static fields were added as roots */
	bool described; /* the members below were read */
	bool is_thread;
	bool is_virtual; /* java.lang.VirtualThread */
	bool is_kept;	 /* its loader is never unloaded */
	enum hotspot_reference reference;
	uint32_t referent, discovered; /* offsets; 0: none */
	uint64_t mirror;
	VEC(struct hotspot_map) maps; /* none is empty */
	/* Sorted by offset, one for each; includes inherited fields. */
	VEC(struct hotspot_field) fields;
};

/* A ClassLoaderData. */
struct hotspot_loader {
	uint64_t address;
	uint64_t owner; /* the object that keeps it loaded; 0: never unloaded */
};

struct hotspot_buffer {
	uint64_t top, end; /* free memory for new objects */
};

struct hotspot_range {
	uint64_t start, end;
	uint32_t step; /* alignment of objects; 0: 8 */
};

/* ZGC's state: see z.c. */
struct hotspot_z {
	bool used, generations;
	uint64_t offset_mask, bad;
	uint64_t base; /* base of the addresses of nodes */
	uint32_t good; /* number of the good colour */
	uint32_t medium_step;
	uint64_t pages, granules;
	uint64_t forwarding[2]; /* by generation, the young one first */
};

/* Offsets in a StackChunk; 0: no such field. */
struct hotspot_chunk_fields {
	uint32_t size, sp, parent;
	uint32_t bottom, arguments; /* the stack's end, in words; or words of arguments behind it */
};

#define HOTSPOT_STATES_MAX 24

/* Offsets in a java.lang.VirtualThread; 0: no such field. */
struct hotspot_virtual_fields {
	bool used; /* the class was initialised: virtual threads may exist */
	uint32_t state, continuation, carrier, number;
	uint32_t chunk; /* in its continuation */
	struct {
		uint32_t number;
		const char *name;
	} states[HOTSPOT_STATES_MAX];
	uint32_t state_count, terminated;
};

/* Offsets in threads and the maps of their ThreadLocals; 0: no such field, or not read yet. */
struct hotspot_local_fields {
	bool read;
	uint32_t maps[2]; /* in a thread */
	uint32_t table, referent, value;
	uint64_t entry_klass;
};

/* Code at the return address of a frame: see frames.c. */
enum hotspot_code_kind {
	HOTSPOT_CODE_UNKNOWN,
	HOTSPOT_CODE_INTERPRETED,
	HOTSPOT_CODE_FIXED, /* frames of fixed size */
};
struct hotspot_code {
	enum hotspot_code_kind kind;
	uint32_t words;		      /* of a frame */
	uint32_t first_scope, scopes; /* its methods, innermost first */
};
struct hotspot_scope {
	uint64_t method;
	int32_t bytecode;
	bool inlined;
};

#define HOTSPOT_NAME_BYTES 512

struct hotspot {
	struct target_memory *memory;
	const struct data_module *module;
	struct hotspot_layout layout;
	uint64_t heap;
	uint64_t oop_base, klass_base;
	uint32_t oop_shift, klass_shift;
	struct hotspot_z z;
	uint64_t object_klass, class_klass, thread_klass;
	uint32_t thread_pointer, thread_status, thread_holder, holder_status; /* offsets */
	uint32_t name_offset, value_offset, coder_offset; /* Thread.name, String.value, .coder */
	uint32_t group_offset, daemon_offset;		  /* Thread's, or its holder's */
	bool offsets_read;
	struct hotspot_chunk_fields chunk_fields;
	struct hotspot_virtual_fields virtual_fields;
	struct hotspot_local_fields local_fields;
	VEC(struct hotspot_code) codes;
	VEC(struct hotspot_scope) scopes;
	struct hash code_index;	  /* an address -> its place in codes */
	struct hash chunk_labels; /* a method and a bytecode -> the label of its frames plus 1 */
	size_t report;		  /* place in sink->reports */
	struct hash class_index;  /* Klass -> place in classes plus 1; UINT64_MAX: no class */
	VEC(struct hotspot_class) classes;
	uint32_t first_class;		  /* of the sink */
	VEC(uint32_t) class_types;	  /* by class - first_class: place in classes */
	VEC(struct hotspot_range) ranges; /* of objects, by ascending address */
	uint64_t eden_bytes;		  /* bytes of `ranges` in Eden */
	/* of objects that are never freed, by ascending address */
	VEC(struct hotspot_range) archived;
	VEC(struct hotspot_buffer) buffers; /* by ascending address */
	VEC(uint64_t) threads;		    /* JavaThread, each once */
	struct hash thread_index;	    /* index of `threads` */
	struct hash live_threads;	    /* objects of `threads` */
	struct hash loader_index;	    /* ClassLoaderData -> place in loaders plus 1 */
	struct hash owner_index;	    /* owner -> place in loaders plus 1 */
	VEC(struct hotspot_loader) loaders;
};

static inline uint64_t hotspot_place(const struct hotspot *hotspot, enum hotspot_place place)
{
	return hotspot->layout.places[place];
}

static inline bool hotspot_has(const struct hotspot *hotspot, enum hotspot_place place)
{
	return hotspot->layout.places[place] != HOTSPOT_UNKNOWN;
}

/* Charges the price of a recorded loader, class or thread, each of which takes at least 128 bytes
 * of the target. Returns false if the target has no room for that many. */
static inline bool hotspot_pay(const struct hotspot *hotspot)
{
	return target_memory_work(hotspot->memory, 256);
}

/* Returns the word at a member of a structure, or the value of a static; 0 if the VM has no such
 * place. */
uint64_t hotspot_member(struct hotspot *hotspot, uint64_t structure, enum hotspot_place place);
uint64_t hotspot_static(struct hotspot *hotspot, enum hotspot_place place);
/* Returns the value of one of the VM's counters, named as in jstat(1), or 0 if there is none. */
uint64_t hotspot_counter(struct hotspot *hotspot, const char *name);
/* Returns 4 bytes at a member of a structure, or at an address; 0 if they cannot be read. */
uint32_t hotspot_member32(struct hotspot *hotspot, uint64_t structure, enum hotspot_place place);
uint32_t hotspot_number(struct hotspot *hotspot, uint64_t address);

/* Adds the used part of a space or a page of `bytes`, which may be empty. 0 or -ENOMEM. */
int hotspot_range_add(struct hotspot *hotspot, struct walk_report *report,
		      const struct hotspot_range *range, uint64_t bytes);

/* Collectors: see ranges.c. */

/* Returns whether a collection is moving objects now; true also if that cannot be read. */
bool hotspot_is_collecting(struct hotspot *hotspot);
/* Finds the ranges of objects, by ascending address. 0 or -ENOMEM. */
int hotspot_find_ranges(struct hotspot *hotspot, struct walk_report *report);

/* Objects: see hotspot.c. */

/* Returns the bytes of a reference in the heap: 4 or 8. */
uint32_t hotspot_oop_bytes(const struct hotspot *hotspot);
/* Returns the target of the reference at an address of the heap, or 0. */
uint64_t hotspot_oop(struct hotspot *hotspot, uint64_t address);
uint64_t hotspot_decode(const struct hotspot *hotspot, uint64_t reference);
/* Returns the target of a handle outside the heap, or 0. */
uint64_t hotspot_handle(const struct hotspot *hotspot, uint64_t address);

/* ZGC: see z.c. */

/* Reads ZGC's state. 0, or -ENOENT with *why. */
int hotspot_z_find(struct hotspot *hotspot, const char **why);
int hotspot_z_ranges(struct hotspot *hotspot, struct walk_report *report);
/* Returns the current target of a coloured reference, or 0. */
uint64_t hotspot_z_decode(const struct hotspot *hotspot, uint64_t reference);
/* Returns the current address of the object at an uncoloured address, as found in a stack, or 0
 * outside the heap. With other collectors it returns the address unchanged. */
uint64_t hotspot_z_address(const struct hotspot *hotspot, uint64_t address);
/* Returns the new address of an object that was moved, or 0 if it was not. */
uint64_t hotspot_z_moved(const struct hotspot *hotspot, uint64_t address);
/* Returns the offset of an array's length, which has 4 bytes and precedes its items. */
uint32_t hotspot_length_offset(const struct hotspot *hotspot);
/* Returns an object's Klass. */
uint64_t hotspot_klass_of(struct hotspot *hotspot, uint64_t object);

/*
 * Calls each() for all objects of the heap, by ascending address, until it returns an error;
 * `place` is that of the class. Ranges and buffers must have been read. Returns the error of
 * each(), or -ENOMEM, or 0.
 */
int hotspot_each_object(struct hotspot *hotspot, struct walk_report *report,
			int (*each)(void *context, size_t place, uint64_t object, uint64_t size),
			void *context);
/* Returns the number of collections so far, also of a running process. */
uint32_t hotspot_collections(struct hotspot *hotspot);
/* Returns whether objects are being moved, or were since the number of collections was
 * `collections`. */
bool hotspot_has_moved(struct hotspot *hotspot, uint32_t collections);

/* Classes: see classes.c. */

/* Returns the class at an address, or NULL if there is none or memory runs out. Valid until the
 * next call. */
struct hotspot_class *hotspot_class_at(struct hotspot *hotspot, uint64_t address);
/* Writes the text of a Symbol, or "" if it cannot be read. */
void hotspot_symbol(struct hotspot *hotspot, uint64_t symbol, char *text, size_t size);
/* Writes a class's name, "java.lang.String[]", or "" if it cannot be read. */
void hotspot_class_name(struct hotspot *hotspot, uint64_t klass, char name[HOTSPOT_NAME_BYTES]);
/* Writes the name of a class with this Symbol, or "" if it cannot be read. */
void hotspot_symbol_name(struct hotspot *hotspot, uint64_t symbol, char name[HOTSPOT_NAME_BYTES]);
/* Reads the references and fields of the class at `place`. 0 or -ENOMEM. */
int hotspot_describe(struct hotspot *hotspot, struct heap_sink *sink, size_t place);
/* Returns the offset of the named field in objects of a class, or of a superclass; 0 if there is
 * none. */
uint32_t hotspot_field_offset(struct hotspot *hotspot, uint64_t klass, const char *name);

struct hotspot_declared {
	uint32_t offset;
	bool is_static;
	char type; /* the first letter of its descriptor */
	char name[HOTSPOT_NAME_BYTES / 2];
};
/* Calls each() for the fields declared by the class itself, until it returns an error, which is
 * returned. */
int hotspot_each_field(struct hotspot *hotspot, uint64_t klass,
		       int (*each)(void *context, const struct hotspot_declared *field),
		       void *context);

/* Loaders and threads: see roots.c. Reads all loaders. 0 or -ENOMEM. */
int hotspot_read_loaders(struct hotspot *hotspot);
/* Writes the class of the loader of a ClassLoaderData, "class loader app" for one that is never
 * unloaded, or "hidden classes". */
void hotspot_loader_name(struct hotspot *hotspot, uint64_t loader, char name[HOTSPOT_NAME_BYTES]);
/* Reads the live threads and their allocation buffers. 0 or -ENOMEM. */
int hotspot_read_threads(struct hotspot *hotspot);
/* Adds classes loaded by several loaders to the report, after hotspot_read_loaders(): see copies.c.
 * 0 or -ENOMEM. */
int hotspot_find_copies(struct hotspot *hotspot, struct heap_sink *sink,
			struct walk_report *report);
/* Returns whether an object belongs to an ended thread. */
bool hotspot_thread_ended(struct hotspot *hotspot, uint64_t object);
/* Returns the JavaThread of a thread's object, or 0 if it does not run. */
uint64_t hotspot_thread_of(struct hotspot *hotspot, uint64_t object);
/* A live thread; group "": unknown. */
#define HOTSPOT_THREAD_NAME_BYTES 128
struct hotspot_thread {
	char name[HOTSPOT_THREAD_NAME_BYTES], group[HOTSPOT_THREAD_NAME_BYTES];
	uint64_t object;
	uint32_t status; /* JVMTI_THREAD_STATE_* */
	bool daemon;
};
/* Reads a live thread. Returns false if it has no object (yet, or any more). */
bool hotspot_read_thread(struct hotspot *hotspot, uint64_t thread, struct hotspot_thread *found);
/* Returns the stack of a thread; empty: unknown. */
struct hotspot_range hotspot_stack(struct hotspot *hotspot, uint64_t thread);
/* Calls each() for the handles of a loader, until it returns an error, which is returned. */
int hotspot_each_handle(struct hotspot *hotspot, uint64_t loader,
			int (*each)(void *context, uint64_t object), void *context);
/* Frames of Java: see frames.c. */

struct hotspot_frame {
	uint64_t method;  /* Method */
	uint64_t sp;	  /* its start in the stack; shared with frames inlined in it */
	int32_t bytecode; /* offset in the method; negative: unknown */
	bool inlined;	  /* inlined in the next frame */
};

#define HOTSPOT_FRAMES_MAX 256

struct hotspot_frames {
	VEC(struct hotspot_frame) list; /* innermost first */
	uint64_t end;			/* end of their part of the stack */
	bool cut;			/* more callers exist */
};

/* Registers of a stopped thread. */
struct hotspot_position {
	uint64_t sp, fp, pc;
};

/* "shop.Cart.add", "Cart.java"; "" and 0: unknown. */
struct hotspot_code_place {
	char function[HOTSPOT_NAME_BYTES + HOTSPOT_NAME_BYTES / 2], file[HOTSPOT_NAME_BYTES / 2];
	uint32_t line;
};

/* Walks the frames of a thread outside Java; finds none if it runs Java code, or the VM does not
 * describe its code. 0 or -ENOMEM. */
int hotspot_walk_frames(struct hotspot *hotspot, uint64_t thread, struct hotspot_frames *frames);
/* Walks the frames of a thread that runs Java code; the line of the first frame is mostly unknown.
 * 0 or -ENOMEM. */
int hotspot_walk_running(struct hotspot *hotspot, uint64_t thread,
			 const struct hotspot_position *position, struct hotspot_frames *frames);
void hotspot_name_frame(struct hotspot *hotspot, const struct hotspot_frame *frame,
			struct hotspot_code_place *place);

/* Stacks of virtual threads that are not mounted: see chunks.c. */

struct hotspot_chunk {
	struct hotspot_range stack; /* from its first word to the bottom */
	uint64_t sp;
	uint64_t parent; /* the chunk with the callers' frames; 0: none */
};

/* Reads the offsets in objects of StackChunk. */
void hotspot_describe_chunks(struct hotspot *hotspot, uint64_t klass);
/* Returns the size of a StackChunk, or 0 if it cannot be one. */
uint64_t hotspot_chunk_bytes(struct hotspot *hotspot, const struct hotspot_class *class,
			     uint64_t object);
/* Reads a StackChunk. Returns false if it is none, or empty. */
bool hotspot_chunk_read(struct hotspot *hotspot, uint64_t object, struct hotspot_chunk *chunk);
/* Adds the references from the frames in a chunk, labelled by method. 0 or -ENOMEM. */
int hotspot_refer_chunk(struct hotspot *hotspot, struct heap_sink *sink, uint32_t node);
/* Appends the frames of one chunk. 0 or -ENOMEM. */
int hotspot_walk_chunk(struct hotspot *hotspot, const struct hotspot_chunk *chunk,
		       struct hotspot_frames *frames);

/* Virtual threads: see virtual.c. */

/* Reads the offsets in objects of java.lang.VirtualThread, and its states. */
void hotspot_describe_virtual(struct hotspot *hotspot, const struct hotspot_class *class);
bool hotspot_virtual_ended(struct hotspot *hotspot, uint64_t object);
/*
 * Reads all virtual threads in the heap of a running program; report->version is "" if it uses
 * none. Values of their lost ThreadLocals are added to `java`, which has the VM's version. 0 or
 * -ENOMEM.
 */
int hotspot_read_virtual(struct hotspot *hotspot, struct java_thread_report *java,
			 struct task_report *report);

/* Adds values that a thread's object still keeps for collected ThreadLocals: see locals.c.
 * `called`: the thread's name; NULL: a virtual thread. 0 or -ENOMEM. */
int hotspot_gone_locals(struct hotspot *hotspot, uint64_t thread, const char *called,
			struct java_thread_report *report);
/* Removes these values, before a new reading. */
void hotspot_forget_locals(struct java_thread_report *report, bool is_virtual);

/* Appends a frame for a report: see threads.c. 0 or -ENOMEM. */
struct frames;
int java_frame_add(struct hotspot *hotspot, struct intern *strings,
		   const struct hotspot_frame *frame, struct frames *stack);
/* Ends the frames of a report: if callers were cut, appends a note of that. 0 or -ENOMEM. */
int java_frames_end(const struct hotspot_frames *frames, struct frames *stack);
/* Walks the frames of the live thread with this object, if it does not run during the read;
 * otherwise finds none. 0 or -ENOMEM. */
int hotspot_walk_carrier(struct hotspot *hotspot, uint64_t object, struct hotspot_frames *frames);

/* Returns whether the VM describes its code and frames. */
bool hotspot_can_walk(const struct hotspot *hotspot);

#define HOTSPOT_BLOB_NAME_BYTES 64
/* A piece of the code cache. */
struct hotspot_blob {
	uint64_t address; /* CodeBlob */
	char name[HOTSPOT_BLOB_NAME_BYTES];
};
/* Finds the piece that contains an address; returns false if there is none. */
bool hotspot_blob_at(struct hotspot *hotspot, uint64_t pc, struct hotspot_blob *blob);
/* Reads the blob name at an address, cut if too long; returns false if it cannot be read. */
bool hotspot_blob_name(struct hotspot *hotspot, uint64_t address,
		       char name[HOTSPOT_BLOB_NAME_BYTES]);
/* Returns whether a piece contains a compiled method. */
bool hotspot_blob_is_method(const struct hotspot_blob *blob);
/* Appends the frames of the method at a return address `pc` in a blob, inlined methods first. 0 or
 * -ENOMEM. */
int hotspot_scopes(struct hotspot *hotspot, const struct hotspot_blob *blob, uint64_t pc,
		   struct hotspot_frames *frames);
/* Returns the address of a method's bytecodes, and their number in *size; 0: it is no method. */
uint64_t hotspot_bytecodes(struct hotspot *hotspot, uint64_t method, uint32_t *size);

/* Unwinds and names generated code: see code.c. */
extern const struct code_reader hotspot_code_reader;

/* Adds the objects held by a thread's stack and registers: see stacks.c. `called`: the thread's
 * name. 0 or -ENOMEM. */
int hotspot_stack_roots(struct hotspot *hotspot, struct heap_sink *sink, uint64_t thread,
			const char *called);

/* The VM of a process: see hotspot.c. */

/* Returns a VM to be found by hotspot_find(); NULL: out of memory. The caller calls
 * hotspot_close(). */
struct hotspot *hotspot_open(struct target_memory *memory);
void hotspot_close(struct hotspot *hotspot);
/* Finds the VM. 0, or -ENOENT with *why; sets the version in either case if the VM publishes it. */
int hotspot_find(struct hotspot *hotspot, char version[24], const char **why);

/* Returns why a VM with a structure of a later release is not read; NULL: it has none. */
const char *hotspot_why_new(const struct hotspot *hotspot);
/* Checks what must agree in a VM before it is believed: see proof.c. Returns the contradiction, or
 * NULL. */
const char *hotspot_disproof(struct hotspot *hotspot);
/* Checks the VM's heap, outside a collection and with its ranges known. Returns the contradiction,
 * or NULL. */
const char *hotspot_heap_disproof(struct hotspot *hotspot);
/* Returns whether the walk was tested with a VM of this major version. */
bool hotspot_is_tested(const char *version);

/* Adds roots and references: see roots() and refer() of struct heap_walker. */
int hotspot_roots(void *state, struct heap_sink *sink);
/*
 * Adds roots for blocks whose addresses only instructions contain: see immediates.c. 0 or -ENOMEM.
 */
int hotspot_immediates(const struct hotspot *hotspot, struct heap_sink *sink);
int hotspot_refer(void *state, struct heap_sink *sink, uint32_t node);

#endif
