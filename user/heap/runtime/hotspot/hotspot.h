/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the parts of the HotSpot walker. The VM describes its structures to debuggers
 * (src/hotspot/share/runtime/vmStructs.cpp); what that lacks has its source beside it.
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
	/* G1: regions; the humongous one has its tag in the others' */
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
	HOTSPOT_PARALLEL_YOUNG, /* static, as the next one; from 27 on in the heap */
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
	HOTSPOT_OBJECT_KLASS, /* static, as the next two */
	HOTSPOT_CLASS_KLASS,
	HOTSPOT_THREAD_KLASS,
	HOTSPOT_SYMBOL_LENGTH,
	HOTSPOT_SYMBOL_BODY,
	/* java.lang.Class: statics that have offsets */
	HOTSPOT_MIRROR_KLASS,
	HOTSPOT_MIRROR_SIZE,
	/* Loaders */
	HOTSPOT_LOADERS, /* static */
	HOTSPOT_LOADER_OBJECT,
	HOTSPOT_LOADER_NEXT,
	HOTSPOT_LOADER_KLASSES,
	HOTSPOT_LOADER_IS_OF_MIRROR,
	/* Threads */
	HOTSPOT_THREAD_LIST,  /* static; until 11 instead: */
	HOTSPOT_THREAD_FIRST, /* likewise */
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
	HOTSPOT_CALL_STUB,  /* static: where it returns to */
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
	HOTSPOT_BLOB_CODE_OFFSET, /* from the blob on */
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

/* Flags that say how the heap is made, and how large it and others may become. */
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
	uint64_t places[HOTSPOT_PLACE_MAX_]; /* HOTSPOT_UNKNOWN: the VM has none */
	uint64_t flags[HOTSPOT_FLAG_MAX_];
};

/* Reads what the VM in `module` describes. 0; -ENOENT with *why: what is needed is not in it; then
 * the rest was read, but no flag. */
int hotspot_layout_read(struct target_memory *memory, const struct data_module *module,
			struct hotspot_layout *layout, const char **why);

/* Likewise of the heap only. Whether it says where that is, and whether it is collected. */
bool hotspot_layout_read_heap(struct target_memory *memory, const struct data_module *module,
			      struct hotspot_layout *layout);

enum hotspot_kind {
	HOTSPOT_INSTANCE,
	HOTSPOT_MIRROR, /* java.lang.Class: its objects have static fields, too */
	HOTSPOT_CHUNK,	/* jdk.internal.vm.StackChunk: has a stack behind its fields */
	HOTSPOT_OBJECT_ARRAY,
	HOTSPOT_TYPE_ARRAY,
};

/* The kind of java.lang.ref.Reference that a class is. */
enum hotspot_reference {
	HOTSPOT_REFERENCE_NONE,
	HOTSPOT_REFERENCE_SOFT,
	HOTSPOT_REFERENCE_FINAL,
	HOTSPOT_REFERENCE_WEAK, /* or phantom: holds nothing */
};

struct hotspot_field {
	uint32_t offset; /* in the object; of a static one, in the mirror */
	uint32_t label;
	bool is_static;
	bool is_number; /* a long: the address of native memory, it may be */
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
	bool rooted;	/* its static fields were looked at */
	bool described; /* what follows was read */
	bool is_thread;
	bool is_virtual; /* java.lang.VirtualThread */
	bool is_kept;	 /* by its loader, which is never unloaded */
	enum hotspot_reference reference;
	uint32_t referent, discovered; /* offsets; 0: none */
	uint64_t mirror;
	VEC(struct hotspot_map) maps; /* none is empty */
	/* By offset, one at each; those of the classes above it, too. */
	VEC(struct hotspot_field) fields;
};

/* A ClassLoaderData. */
struct hotspot_loader {
	uint64_t address;
	uint64_t owner; /* the object that keeps it; 0: it is never unloaded */
};

struct hotspot_buffer {
	uint64_t top, end; /* memory for objects to come */
};

struct hotspot_range {
	uint64_t start, end;
	uint32_t step; /* objects begin at its multiples; 0: of 8 */
};

/* ZGC's state: see z.c. */
struct hotspot_z {
	bool used, generations;
	uint64_t offset_mask, bad;
	uint64_t base; /* of the addresses of nodes */
	uint32_t good; /* number of the colour that is good */
	uint32_t medium_step;
	uint64_t pages, granules;
	uint64_t forwarding[2]; /* by generation, the young one first */
};

/* Offsets in a StackChunk; 0: it has none. */
struct hotspot_chunk_fields {
	uint32_t size, sp, parent;
	uint32_t bottom, arguments; /* where its stack ends, in words; or those behind its end */
};

#define HOTSPOT_STATES_MAX 24

/* Of java.lang.VirtualThread; 0: it has none. */
struct hotspot_virtual_fields {
	bool used; /* the class was initialised: a program may have some */
	uint32_t state, continuation, carrier, number;
	uint32_t chunk; /* in its continuation */
	struct {
		uint32_t number;
		const char *name;
	} states[HOTSPOT_STATES_MAX];
	uint32_t state_count, terminated;
};

/* Offsets in threads and the maps of their ThreadLocals; 0: there is none, or not read yet. */
struct hotspot_local_fields {
	bool read;
	uint32_t maps[2]; /* in a thread */
	uint32_t table, referent, value;
	uint64_t entry_klass;
};

/* Code at an address that a frame returns to: see frames.c. */
enum hotspot_code_kind {
	HOTSPOT_CODE_UNKNOWN,
	HOTSPOT_CODE_INTERPRETED,
	HOTSPOT_CODE_FIXED, /* its frames are of one size */
};
struct hotspot_code {
	enum hotspot_code_kind kind;
	uint32_t words;		      /* of a frame */
	uint32_t first_scope, scopes; /* methods that it is of, innermost first */
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
	struct hash class_index;  /* Klass -> place in classes plus 1; UINT64_MAX: it is none */
	VEC(struct hotspot_class) classes;
	uint32_t first_class;		    /* of the sink */
	VEC(uint32_t) class_types;	    /* by class - first_class: place in classes */
	VEC(struct hotspot_range) ranges;   /* of objects, by ascending address */
	uint64_t eden_bytes;		    /* of their bytes, where new objects are made */
	VEC(struct hotspot_range) archived; /* of objects that are never freed, likewise */
	VEC(struct hotspot_buffer) buffers; /* by ascending address */
	VEC(uint64_t) threads;		    /* JavaThread, each once */
	struct hash thread_index;	    /* those */
	struct hash live_threads;	    /* their objects */
	struct hash loader_index;	    /* ClassLoaderData -> place in loaders plus 1 */
	struct hash owner_index;	    /* likewise by owner */
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

/* The price of what is remembered of a loader, a class or a thread: each of them has 128 bytes or
 * more. False: the target has no room for so many. */
static inline bool hotspot_pay(const struct hotspot *hotspot)
{
	return target_memory_work(hotspot->memory, 256);
}

/* The word at a member of a structure, or that a static has; 0: there is none. */
uint64_t hotspot_member(struct hotspot *hotspot, uint64_t structure, enum hotspot_place place);
uint64_t hotspot_static(struct hotspot *hotspot, enum hotspot_place place);
/* The value of one of the VM's counters, as jstat(1) shows them; 0: there is none. */
uint64_t hotspot_counter(struct hotspot *hotspot, const char *name);
/* Likewise 4 bytes. */
uint32_t hotspot_member32(struct hotspot *hotspot, uint64_t structure, enum hotspot_place place);
uint32_t hotspot_number(struct hotspot *hotspot, uint64_t address);

/* Adds the used part of a space or a page of `bytes`, which may be empty. 0 or -ENOMEM. */
int hotspot_range_add(struct hotspot *hotspot, struct walk_report *report,
		      const struct hotspot_range *range, uint64_t bytes);

/* Collectors: see ranges.c. */

/* Whether objects are moved just now. */
bool hotspot_is_collecting(struct hotspot *hotspot);
/* Finds the ranges of objects, by ascending address. 0 or -ENOMEM. */
int hotspot_find_ranges(struct hotspot *hotspot, struct walk_report *report);

/* Objects: see hotspot.c. */

/* Bytes of a reference in the heap: 4 or 8. */
uint32_t hotspot_oop_bytes(const struct hotspot *hotspot);
/* The object that a reference at an address of the heap leads to; 0: none. */
uint64_t hotspot_oop(struct hotspot *hotspot, uint64_t address);
uint64_t hotspot_decode(const struct hotspot *hotspot, uint64_t reference);
/* The object that a handle outside of the heap leads to; 0: none. */
uint64_t hotspot_handle(const struct hotspot *hotspot, uint64_t address);

/* ZGC: see z.c. */

/* 0, or -ENOENT with *why. */
int hotspot_z_find(struct hotspot *hotspot, const char **why);
int hotspot_z_ranges(struct hotspot *hotspot, struct walk_report *report);
/* The object that a reference with a colour leads to now; 0: none. */
uint64_t hotspot_z_decode(const struct hotspot *hotspot, uint64_t reference);
/* Likewise an address without a colour, as in a stack; 0: not in the heap. Others unchanged if the
 * collector is another one. */
uint64_t hotspot_z_address(const struct hotspot *hotspot, uint64_t address);
/* Where the object at an address of the heap was moved to; 0: it was not. */
uint64_t hotspot_z_moved(const struct hotspot *hotspot, uint64_t address);
/* Bytes before an array's length, 4 bytes, and before its items. */
uint32_t hotspot_length_offset(const struct hotspot *hotspot);
/* The Klass of an object. */
uint64_t hotspot_klass_of(struct hotspot *hotspot, uint64_t object);

/* Each object of the heap, by ascending address, until `each` returns an error; `place` of its
 * class. Ranges and buffers are to be read before. */
int hotspot_each_object(struct hotspot *hotspot, struct walk_report *report,
			int (*each)(void *context, size_t place, uint64_t object, uint64_t size),
			void *context);
/* How many collections there were; while it runs, too. */
uint32_t hotspot_collections(struct hotspot *hotspot);
/* Whether objects are moved just now, or were since there were so many. */
bool hotspot_has_moved(struct hotspot *hotspot, uint32_t collections);

/* Classes: see classes.c. */

/* The class at an address; NULL: there is none, or no memory. Good until the next call. */
struct hotspot_class *hotspot_class_at(struct hotspot *hotspot, uint64_t address);
/* The text of a Symbol; "" if it cannot be read. */
void hotspot_symbol(struct hotspot *hotspot, uint64_t symbol, char *text, size_t size);
/* "java.lang.String[]"; "" if it cannot be read. */
void hotspot_class_name(struct hotspot *hotspot, uint64_t klass, char name[HOTSPOT_NAME_BYTES]);
/* Likewise by its Symbol. */
void hotspot_symbol_name(struct hotspot *hotspot, uint64_t symbol, char name[HOTSPOT_NAME_BYTES]);
/* Reads its references and fields. 0 or -ENOMEM. */
int hotspot_describe(struct hotspot *hotspot, struct heap_sink *sink, size_t place);
/* The offset of the field with that name in objects of a class, or one above it; 0: none. */
uint32_t hotspot_field_offset(struct hotspot *hotspot, uint64_t klass, const char *name);

struct hotspot_declared {
	uint32_t offset;
	bool is_static;
	char type; /* the first letter of its descriptor */
	char name[HOTSPOT_NAME_BYTES / 2];
};
/* The fields that a class itself declares, one by one, until `each` returns an error. */
int hotspot_each_field(struct hotspot *hotspot, uint64_t klass,
		       int (*each)(void *context, const struct hotspot_declared *field),
		       void *context);

/* Loaders and threads: see roots.c. */
int hotspot_read_loaders(struct hotspot *hotspot);
/* The class of the loader of a ClassLoaderData, "class loader app" of one that is never unloaded,
 * or "hidden classes". */
void hotspot_loader_name(struct hotspot *hotspot, uint64_t loader, char name[HOTSPOT_NAME_BYTES]);
/* Those that live now, and their allocation buffers. 0 or -ENOMEM. */
int hotspot_read_threads(struct hotspot *hotspot);
/* Classes that several loaders have, to the report; of loaders that were read: see
 * copies.c. 0 or -ENOMEM. */
int hotspot_find_copies(struct hotspot *hotspot, struct heap_sink *sink,
			struct walk_report *report);
/* Whether a thread's object is that of one that has ended. */
bool hotspot_thread_ended(struct hotspot *hotspot, uint64_t object);
/* The JavaThread that runs such an object's thread; 0: none does. */
uint64_t hotspot_thread_of(struct hotspot *hotspot, uint64_t object);
/* A live one; group "": not known. */
#define HOTSPOT_THREAD_NAME_BYTES 128
struct hotspot_thread {
	char name[HOTSPOT_THREAD_NAME_BYTES], group[HOTSPOT_THREAD_NAME_BYTES];
	uint64_t object;
	uint32_t status; /* JVMTI_THREAD_STATE_* */
	bool daemon;
};
/* False: it has no object (yet, or any more). */
bool hotspot_read_thread(struct hotspot *hotspot, uint64_t thread, struct hotspot_thread *found);
/* The stack of a thread; empty: not known. */
struct hotspot_range hotspot_stack(struct hotspot *hotspot, uint64_t thread);
/* The handles of a loader, each told to `each`. */
int hotspot_each_handle(struct hotspot *hotspot, uint64_t loader,
			int (*each)(void *context, uint64_t object), void *context);
/* Frames of Java: see frames.c. */

struct hotspot_frame {
	uint64_t method;  /* Method */
	uint64_t sp;	  /* where it begins in the stack, with those that are inlined in it */
	int32_t bytecode; /* its place in the method; negative: not known */
	bool inlined;	  /* in the next one */
};

#define HOTSPOT_FRAMES_MAX 256

struct hotspot_frames {
	VEC(struct hotspot_frame) list; /* innermost first */
	uint64_t end;			/* of the stack that is theirs */
	bool cut;			/* there are more callers */
};

/* Where a thread that was stopped stands. */
struct hotspot_position {
	uint64_t sp, fp, pc;
};

/* "shop.Cart.add", "Cart.java"; "" and 0: not known. */
struct hotspot_code_place {
	char function[HOTSPOT_NAME_BYTES + HOTSPOT_NAME_BYTES / 2], file[HOTSPOT_NAME_BYTES / 2];
	uint32_t line;
};

/* Those of a thread; none where it is in Java just now, or the VM does not describe its code. 0 or
 * -ENOMEM. */
int hotspot_walk_frames(struct hotspot *hotspot, uint64_t thread, struct hotspot_frames *frames);
/* Likewise of one that is in Java: the line of the first frame is mostly not known. */
int hotspot_walk_running(struct hotspot *hotspot, uint64_t thread,
			 const struct hotspot_position *position, struct hotspot_frames *frames);
void hotspot_name_frame(struct hotspot *hotspot, const struct hotspot_frame *frame,
			struct hotspot_code_place *place);

/* Stacks of virtual threads that are not mounted: see chunks.c. */

struct hotspot_chunk {
	struct hotspot_range stack; /* from its first word on to the bottom */
	uint64_t sp;
	uint64_t parent; /* the chunk with frames that called these; 0: none */
};

/* Offsets in objects of its class. */
void hotspot_describe_chunks(struct hotspot *hotspot, uint64_t klass);
/* Bytes of such an object; 0: it cannot be one. */
uint64_t hotspot_chunk_bytes(struct hotspot *hotspot, const struct hotspot_class *class,
			     uint64_t object);
/* False: it is none, or empty. */
bool hotspot_chunk_read(struct hotspot *hotspot, uint64_t object, struct hotspot_chunk *chunk);
/* What its frames hold, by the method in which each word lies. 0 or -ENOMEM. */
int hotspot_refer_chunk(struct hotspot *hotspot, struct heap_sink *sink, uint32_t node);
/* Frames of one chunk are added. 0 or -ENOMEM. */
int hotspot_walk_chunk(struct hotspot *hotspot, const struct hotspot_chunk *chunk,
		       struct hotspot_frames *frames);

/* Virtual threads: see virtual.c. */

/* Offsets in objects of the class, and its states. */
void hotspot_describe_virtual(struct hotspot *hotspot, const struct hotspot_class *class);
bool hotspot_virtual_ended(struct hotspot *hotspot, uint64_t object);
/* All that the heap has, while the program runs; report->version is "" if it uses none. What they
 * keep of ThreadLocals goes to `java`, which has the VM's version. 0 or -ENOMEM. */
int hotspot_read_virtual(struct hotspot *hotspot, struct java_thread_report *java,
			 struct task_report *report);

/* Values of ThreadLocals that are gone, which a thread's object keeps: see locals.c.
 * `called`: its name; NULL: it is a virtual one. 0 or -ENOMEM. */
int hotspot_gone_locals(struct hotspot *hotspot, uint64_t thread, const char *called,
			struct java_thread_report *report);
/* Before they are read again. */
void hotspot_forget_locals(struct java_thread_report *report, bool is_virtual);

/* Frames for a report: see threads.c. */
struct frames;
int java_frame_add(struct hotspot *hotspot, struct intern *strings,
		   const struct hotspot_frame *frame, struct frames *stack);
/* After the last one: if there are more, that they were not read. */
int java_frames_end(const struct hotspot_frames *frames, struct frames *stack);
/* Frames of the live thread with that object, if it stands during the read; else none. 0 or
 * -ENOMEM. */
int hotspot_walk_carrier(struct hotspot *hotspot, uint64_t object, struct hotspot_frames *frames);

/* Whether the VM describes its code and frames. */
bool hotspot_can_walk(const struct hotspot *hotspot);

#define HOTSPOT_BLOB_NAME_BYTES 64
/* A piece of the code cache. */
struct hotspot_blob {
	uint64_t address; /* CodeBlob */
	char name[HOTSPOT_BLOB_NAME_BYTES];
};
/* The one that has an address. */
bool hotspot_blob_at(struct hotspot *hotspot, uint64_t pc, struct hotspot_blob *blob);
/* The text at an address, cut where it is too long. */
bool hotspot_blob_name(struct hotspot *hotspot, uint64_t address,
		       char name[HOTSPOT_BLOB_NAME_BYTES]);
/* Whether it is of a method, compiled. */
bool hotspot_blob_is_method(const struct hotspot_blob *blob);
/* Frames of the method that a call from a blob returns to at `pc`, what is inlined there first.
 * 0 or -ENOMEM. */
int hotspot_scopes(struct hotspot *hotspot, const struct hotspot_blob *blob, uint64_t pc,
		   struct hotspot_frames *frames);
/* Where the bytecodes of a method begin, and how many bytes they are; 0: it is none. */
uint64_t hotspot_bytecodes(struct hotspot *hotspot, uint64_t method, uint32_t *size);

/* Code as it is unwound and named: see code.c. */
extern const struct code_reader hotspot_code_reader;

/* Objects that a thread's stack and registers hold: see stacks.c. `called`: its name. 0 or
 * -ENOMEM. */
int hotspot_stack_roots(struct hotspot *hotspot, struct heap_sink *sink, uint64_t thread,
			const char *called);

/* The VM of a process: see hotspot.c. */

/* NULL: no memory. */
struct hotspot *hotspot_open(struct target_memory *memory);
void hotspot_close(struct hotspot *hotspot);
/* 0, or -ENOENT with *why; the version then, too, if the VM says it. */
int hotspot_find(struct hotspot *hotspot, char version[24], const char **why);

/* Why a VM is not read whose description has a structure that a later version brought; NULL: it has
 * none. */
const char *hotspot_why_new(const struct hotspot *hotspot);
/* What must agree in a VM before it is believed: see proof.c. NULL, or what does not. */
const char *hotspot_disproof(struct hotspot *hotspot);
/* Likewise of its heap, which is not collected just now, when its ranges are known. */
const char *hotspot_heap_disproof(struct hotspot *hotspot);
/* Whether the walk was compared with a VM of this one's version. */
bool hotspot_is_tested(const char *version);

/* As struct heap_walker. */
int hotspot_roots(void *state, struct heap_sink *sink);
/* Roots of blocks that only instructions lead to: see immediates.c. 0 or -ENOMEM. */
int hotspot_immediates(const struct hotspot *hotspot, struct heap_sink *sink);
int hotspot_refer(void *state, struct heap_sink *sink, uint32_t node);

#endif
