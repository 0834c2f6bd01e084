// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Roots outside the heap: static fields and constants of classes whose loader is never unloaded,
 * threads, JNI's references, the VM's own; for stacks see stacks.c.
 *
 * Not in the VM's description: a loader's handles (classLoaderData.hpp: 8 bytes before _klasses;
 * chunks of 32), and OopStorage (gc/shared/oopStorage.hpp: a name, then the array of its blocks of
 * 64). All storages are in one array, which includes the one for JNI's references.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "heap/runtime/hotspot/hotspot.h"

#define STATUS_TERMINATED 2u /* JVMTI_THREAD_STATE_TERMINATED */

#define CHUNK_HANDLES 32
#define CHUNK_SIZE 256
#define CHUNK_NEXT 264

#define STORAGE_ARRAY 8
#define ARRAY_SIZE_OFFSET 0
#define ARRAY_COUNT 8
#define ARRAY_BLOCKS 24
#define BLOCK_HANDLES 64
#define BLOCK_USED 512
#define BLOCKS_MAX (1ull << 28)
#define STORAGES_MAX 32

#define LOCAL_HANDLES 32 /* of a JNIHandleBlock */

/* Loaders. */

/* Loaders that are never unloaded. */
static const struct {
	const char *class, *name;
} kept_loaders[] = {
	{"jdk.internal.loader.ClassLoaders$AppClassLoader", "class loader app"},
	{"jdk.internal.loader.ClassLoaders$PlatformClassLoader", "class loader platform"},
};
#define BOOT_LOADER "class loader bootstrap"

static uint64_t object_of_loader(struct hotspot *hotspot, uint64_t loader)
{
	uint64_t handle = hotspot_member(hotspot, loader, HOTSPOT_LOADER_OBJECT);

	return handle ? hotspot_handle(hotspot, handle) : 0;
}

/* Returns the name of a loader that is never unloaded; NULL: it may be unloaded. */
static const char *kept_name(struct hotspot *hotspot, uint64_t object)
{
	char name[HOTSPOT_NAME_BYTES];

	if (!object)
		return BOOT_LOADER;
	hotspot_class_name(hotspot, hotspot_klass_of(hotspot, object), name);
	for (size_t i = 0; i < ARRAY_SIZE(kept_loaders); i++) {
		if (!strcmp(name, kept_loaders[i].class))
			return kept_loaders[i].name;
	}
	return NULL;
}

void hotspot_loader_name(struct hotspot *hotspot, uint64_t loader, char name[HOTSPOT_NAME_BYTES])
{
	uint64_t object = object_of_loader(hotspot, loader);
	const char *kept = kept_name(hotspot, object);

	if ((uint8_t)hotspot_member(hotspot, loader, HOTSPOT_LOADER_IS_OF_MIRROR))
		snprintf(name, HOTSPOT_NAME_BYTES, "hidden classes");
	else if (kept)
		snprintf(name, HOTSPOT_NAME_BYTES, "%s", kept);
	else
		hotspot_class_name(hotspot, hotspot_klass_of(hotspot, object), name);
}

/* Returns the mirror of a loader's first class, the last one in its list: for a hidden class, the
 * loader is kept by that class. */
static uint64_t first_mirror(struct hotspot *hotspot, uint64_t loader)
{
	uint64_t klass = hotspot_member(hotspot, loader, HOTSPOT_LOADER_KLASSES), last = 0, handle;
	struct loop loop = {0};

	while (klass && !loop_found(&loop, klass)) {
		last = klass;
		klass = hotspot_member(hotspot, klass, HOTSPOT_KLASS_NEXT);
	}
	handle = hotspot_member(hotspot, last, HOTSPOT_KLASS_MIRROR);
	return handle ? hotspot_handle(hotspot, handle) : 0;
}

static int add_loader(struct hotspot *hotspot, uint64_t address)
{
	uint8_t is_of_mirror =
		(uint8_t)hotspot_member(hotspot, address, HOTSPOT_LOADER_IS_OF_MIRROR);
	uint64_t object = object_of_loader(hotspot, address), owner = 0, *place;
	struct hotspot_loader *loader = vec_push(&hotspot->loaders);

	if (is_of_mirror)
		owner = first_mirror(hotspot, address);
	else if (!kept_name(hotspot, object))
		owner = object;
	place = loader ? hash_put(&hotspot->loader_index, address, NULL) : NULL;
	if (!place)
		return -ENOMEM;
	*loader = (struct hotspot_loader){address, owner};
	*place = hotspot->loaders.count;
	place = owner ? hash_put(&hotspot->owner_index, owner, NULL) : place;
	if (!place)
		return -ENOMEM;
	*place = hotspot->loaders.count;
	return 0;
}

int hotspot_read_loaders(struct hotspot *hotspot)
{
	uint64_t loader = hotspot_static(hotspot, HOTSPOT_LOADERS);
	int error = 0;

	while (!error && loader && !hash_get(&hotspot->loader_index, loader) &&
	       hotspot_pay(hotspot)) {
		error = add_loader(hotspot, loader);
		loader = hotspot_member(hotspot, loader, HOTSPOT_LOADER_NEXT);
	}
	return error;
}

int hotspot_each_handle(struct hotspot *hotspot, uint64_t loader,
			int (*each)(void *context, uint64_t object), void *context)
{
	uint64_t chunk = target_word(hotspot->memory,
				     loader + hotspot_place(hotspot, HOTSPOT_LOADER_KLASSES) - 8);
	struct loop loop = {0};
	int error = 0;

	while (!error && chunk && !loop_found(&loop, chunk)) {
		uint32_t count = hotspot_number(hotspot, chunk + CHUNK_SIZE);

		for (uint32_t i = 0; !error && count <= CHUNK_HANDLES && i < count; i++) {
			uint64_t object = hotspot_handle(hotspot, chunk + i * 8ull);

			error = object ? each(context, object) : 0;
		}
		chunk = target_word(hotspot->memory, chunk + CHUNK_NEXT);
	}
	return error;
}

/* Threads. */

static void read_offsets(struct hotspot *hotspot)
{
	uint64_t thread = hotspot->thread_klass;

	if (hotspot->offsets_read)
		return;
	hotspot->offsets_read = true;
	hotspot->thread_pointer = hotspot_field_offset(hotspot, thread, "eetop");
	hotspot->thread_status = hotspot_field_offset(hotspot, thread, "threadStatus");
	hotspot->thread_holder = hotspot_field_offset(hotspot, thread, "holder");
	hotspot->name_offset = hotspot_field_offset(hotspot, thread, "name");
	hotspot->group_offset = hotspot_field_offset(hotspot, thread, "group");
	hotspot->daemon_offset = hotspot_field_offset(hotspot, thread, "daemon");
}

/* Returns the object with a thread's status: the thread itself, or since 19 its `holder`; 0:
 * unknown. */
static uint64_t holder_of(struct hotspot *hotspot, uint64_t object)
{
	uint64_t holder;

	if (hotspot->thread_status || !hotspot->thread_holder)
		return hotspot->thread_status ? object : 0;
	holder = hotspot_oop(hotspot, object + hotspot->thread_holder);
	if (holder && !hotspot->holder_status) {
		uint64_t klass = hotspot_klass_of(hotspot, holder);

		hotspot->holder_status = hotspot_field_offset(hotspot, klass, "threadStatus");
		hotspot->group_offset = hotspot_field_offset(hotspot, klass, "group");
		hotspot->daemon_offset = hotspot_field_offset(hotspot, klass, "daemon");
	}
	return hotspot->holder_status ? holder : 0;
}

static uint32_t status_of(struct hotspot *hotspot, uint64_t object)
{
	uint64_t holder = holder_of(hotspot, object);

	return holder ? hotspot_number(hotspot,
				       holder + (hotspot->thread_status ? hotspot->thread_status
									: hotspot->holder_status))
		      : 0;
}

bool hotspot_thread_ended(struct hotspot *hotspot, uint64_t object)
{
	read_offsets(hotspot);
	if (!hotspot->thread_pointer ||
	    target_word(hotspot->memory, object + hotspot->thread_pointer) ||
	    hash_get(&hotspot->live_threads, object))
		return false;
	return status_of(hotspot, object) & STATUS_TERMINATED;
}

uint64_t hotspot_thread_of(struct hotspot *hotspot, uint64_t object)
{
	read_offsets(hotspot);
	return object && hotspot->thread_pointer
		       ? target_word(hotspot->memory, object + hotspot->thread_pointer)
		       : 0;
}

/* Returns the unused bytes at the end of a buffer: CollectedHeap::lab_alignment_reserve(), in
 * words. */
static uint64_t reserve_bytes(struct hotspot *hotspot)
{
	uint64_t words = hotspot_static(hotspot, HOTSPOT_BUFFER_RESERVE), prefetch;

	if (!hotspot_has(hotspot, HOTSPOT_BUFFER_RESERVE)) {
		prefetch = (uint32_t)hotspot_static(hotspot, HOTSPOT_BUFFER_PREFETCH);
		words = MAX((hotspot_length_offset(hotspot) + 4 + 7) / 8, prefetch);
	}
	return align_up(MIN(words, (uint64_t)4096) * 8,
			MAX(hotspot->layout.flags[HOTSPOT_ALIGNMENT] & 0x1f8, (uint64_t)8));
}

static int add_buffer(struct hotspot *hotspot, uint64_t thread)
{
	uint64_t at = thread + hotspot_place(hotspot, HOTSPOT_THREAD_BUFFER);
	uint64_t top = hotspot_z_address(hotspot, hotspot_member(hotspot, at, HOTSPOT_BUFFER_TOP));
	uint64_t end = hotspot_z_address(hotspot, hotspot_member(hotspot, at, HOTSPOT_BUFFER_END));
	struct hotspot_buffer *buffer;

	if (!top || top > end || (top | end) & 7 || end >> MACHINE_USER_BITS)
		return 0;
	buffer = vec_push(&hotspot->buffers);
	if (!buffer)
		return -ENOMEM;
	*buffer = (struct hotspot_buffer){top, end + reserve_bytes(hotspot)};
	return 0;
}

/* Follows the handle of a thread's object; in 11 it is the object itself. */
static uint64_t object_of_thread(struct hotspot *hotspot, uint64_t thread)
{
	uint64_t object = hotspot_member(hotspot, thread, HOTSPOT_THREAD_OBJECT);
	const struct hotspot_class *class;

	if (!object)
		return 0;
	class = hotspot_class_at(hotspot, hotspot_klass_of(hotspot, object));
	return class && class->is_thread ? object : hotspot_handle(hotspot, object);
}

static int compare_buffers(const void *left_pointer, const void *right_pointer)
{
	const struct hotspot_buffer *left = left_pointer, *right = right_pointer;

	return left->top < right->top ? -1 : left->top > right->top;
}

static int add_live_thread(struct hotspot *hotspot, uint64_t thread)
{
	uint64_t *added, object;
	bool fresh;

	if (!hotspot_pay(hotspot))
		return 0;
	if (!hash_put(&hotspot->thread_index, thread, &fresh))
		return -ENOMEM;
	if (!fresh)
		return 0;
	added = vec_push(&hotspot->threads);
	if (!added)
		return -ENOMEM;
	*added = thread;
	object = object_of_thread(hotspot, thread);
	if (object && !hash_put(&hotspot->live_threads, object, NULL))
		return -ENOMEM;
	return add_buffer(hotspot, thread);
}

static int read_thread_list(struct hotspot *hotspot)
{
	uint64_t list = hotspot_static(hotspot, HOTSPOT_THREAD_LIST);
	uint32_t count = hotspot_member32(hotspot, list, HOTSPOT_THREAD_COUNT);
	uint64_t items = hotspot_member(hotspot, list, HOTSPOT_THREAD_ITEMS);
	int error = 0;

	count = (uint32_t)(target_room(hotspot->memory, items, count * 8ull) / 8);
	for (uint32_t i = 0; !error && i < count && !target_memory_overworked(hotspot->memory);
	     i++) {
		uint64_t thread = target_word(hotspot->memory, items + i * 8ull);

		error = thread ? add_live_thread(hotspot, thread) : 0;
	}
	return error;
}

/* Reads the list of threads up to 11. */
static int read_thread_chain(struct hotspot *hotspot)
{
	uint64_t thread = hotspot_static(hotspot, HOTSPOT_THREAD_FIRST);
	int error = 0;

	while (!error && thread && !hash_get(&hotspot->thread_index, thread)) {
		error = add_live_thread(hotspot, thread);
		thread = hotspot_member(hotspot, thread, HOTSPOT_THREAD_NEXT);
	}
	return error;
}

int hotspot_read_threads(struct hotspot *hotspot)
{
	int error;

	hotspot->threads.count = hotspot->buffers.count = 0;
	hash_free(&hotspot->thread_index);
	hash_free(&hotspot->live_threads);
	error = hotspot_has(hotspot, HOTSPOT_THREAD_LIST) ? read_thread_list(hotspot)
							  : read_thread_chain(hotspot);
	if (hotspot->buffers.count)
		qsort(hotspot->buffers.items, hotspot->buffers.count,
		      sizeof(*hotspot->buffers.items), compare_buffers);
	return error;
}

/* Reads a string as ASCII; other characters become '?'. */
static void read_string(struct hotspot *hotspot, uint64_t string, char *text, size_t size)
{
	uint64_t klass = hotspot_klass_of(hotspot, string), value;
	const struct hotspot_class *class;
	unsigned char bytes[2 * HOTSPOT_THREAD_NAME_BYTES];
	uint8_t coder = 0;
	size_t length;

	text[0] = '\0';
	if (!string || !klass)
		return;
	if (!hotspot->value_offset) {
		hotspot->value_offset = hotspot_field_offset(hotspot, klass, "value");
		hotspot->coder_offset = hotspot_field_offset(hotspot, klass, "coder");
	}
	value = hotspot_oop(hotspot, string + hotspot->value_offset);
	target_read(hotspot->memory, string + hotspot->coder_offset, &coder, 1);
	class = value ? hotspot_class_at(hotspot, hotspot_klass_of(hotspot, value)) : NULL;
	if (!class || class->kind != HOTSPOT_TYPE_ARRAY || !hotspot->value_offset || coder > 1)
		return;
	length = MIN((size_t)hotspot_number(hotspot, value + hotspot_length_offset(hotspot)) >>
			     coder,
		     size - 1);
	if (target_read(hotspot->memory, value + ((uint32_t) class->layout >> 16 & 0xff), bytes,
			length << coder))
		return;
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = bytes[i << coder];
		bool is_ascii = byte >= ' ' && byte < 127 && !(coder && bytes[2 * i + 1]);

		text[i] = is_ascii ? (char)byte : '?';
	}
	text[length] = '\0';
}

static void read_field(struct hotspot *hotspot, uint64_t object, uint32_t offset, char *text)
{
	read_string(hotspot, object && offset ? hotspot_oop(hotspot, object + offset) : 0, text,
		    HOTSPOT_THREAD_NAME_BYTES);
}

bool hotspot_read_thread(struct hotspot *hotspot, uint64_t thread, struct hotspot_thread *found)
{
	uint64_t object = object_of_thread(hotspot, thread), holder, group;
	uint8_t daemon = 0;

	memset(found, 0, sizeof(*found));
	if (!object)
		return false;
	found->object = object;
	read_offsets(hotspot);
	read_field(hotspot, object, hotspot->name_offset, found->name);
	holder = holder_of(hotspot, object);
	found->status = status_of(hotspot, object);
	group = holder && hotspot->group_offset
			? hotspot_oop(hotspot, holder + hotspot->group_offset)
			: 0;
	if (group)
		read_field(hotspot, group,
			   hotspot_field_offset(hotspot, hotspot_klass_of(hotspot, group), "name"),
			   found->group);
	if (holder && hotspot->daemon_offset)
		target_read(hotspot->memory, holder + hotspot->daemon_offset, &daemon, 1);
	found->daemon = daemon != 0;
	return true;
}

/* Roots. */

struct rooting {
	struct hotspot *hotspot;
	struct heap_sink *sink;
	const char *name; /* of the next roots */
	bool passing;	  /* the roots are short-lived */
	uint64_t mirror;
};

static int add_root(void *context, uint64_t object)
{
	const struct rooting *rooting = context;

	return rooting->passing
		       ? heap_sink_passing_root(rooting->sink, HOTSPOT_KEY, rooting->name, object)
		       : heap_sink_root(rooting->sink, HOTSPOT_KEY, rooting->name, object);
}

static int add_static(void *context, const struct hotspot_declared *field)
{
	struct rooting *rooting = context;
	char name[HOTSPOT_NAME_BYTES + sizeof(field->name) + 16];
	uint64_t object;

	if (!field->is_static || (field->type != 'L' && field->type != '['))
		return 0;
	object = hotspot_oop(rooting->hotspot, rooting->mirror + field->offset);
	if (!object || heap_sink_node(rooting->sink, object) == BLOCK_NONE)
		return 0;
	snprintf(name, sizeof(name), "class %s static %s", rooting->name, field->name);
	return heap_sink_root(rooting->sink, HOTSPOT_KEY, name, object);
}

static int add_statics(const struct rooting *rooting, uint64_t klass)
{
	struct hotspot_class *class = hotspot_class_at(rooting->hotspot, klass);
	char name[HOTSPOT_NAME_BYTES];
	struct rooting of_class = *rooting;

	if (!class || class->rooted || !class->mirror ||
	    (class->kind != HOTSPOT_INSTANCE && class->kind != HOTSPOT_MIRROR))
		return 0;
	class->rooted = true;
	of_class.mirror = class->mirror;
	of_class.name = name;
	hotspot_class_name(rooting->hotspot, klass, name);
	return hotspot_each_field(rooting->hotspot, klass, add_static, &of_class);
}

static int add_loader_roots(struct rooting *rooting, const struct hotspot_loader *loader)
{
	struct hotspot *hotspot = rooting->hotspot;
	uint64_t klass = hotspot_member(hotspot, loader->address, HOTSPOT_LOADER_KLASSES);
	struct loop loop = {0};
	int error = 0;

	while (!error && klass && !loop_found(&loop, klass)) {
		error = add_statics(rooting, klass);
		klass = hotspot_member(hotspot, klass, HOTSPOT_KLASS_NEXT);
	}
	rooting->name = kept_name(hotspot, object_of_loader(hotspot, loader->address));
	if (!error && rooting->name)
		error = hotspot_each_handle(hotspot, loader->address, add_root, rooting);
	return error;
}

static int add_locals(struct rooting *rooting, uint64_t thread)
{
	struct hotspot *hotspot = rooting->hotspot;
	uint64_t block = hotspot_member(hotspot, thread, HOTSPOT_THREAD_HANDLES);
	struct loop loop = {0};
	int error = 0;

	while (!error && block && !loop_found(&loop, block)) {
		uint32_t count = hotspot_member32(hotspot, block, HOTSPOT_BLOCK_TOP);

		for (uint32_t i = 0; !error && i < MIN(count, (uint32_t)LOCAL_HANDLES); i++) {
			uint64_t object = hotspot_z_address(
				hotspot, target_word(hotspot->memory, block + i * 8ull));

			error = object && !(object & 7) ? add_root(rooting, object) : 0;
		}
		/* Blocks behind one that is not full are unused. */
		if (count < LOCAL_HANDLES)
			break;
		block = hotspot_member(hotspot, block, HOTSPOT_BLOCK_NEXT);
	}
	return error;
}

struct hotspot_range hotspot_stack(struct hotspot *hotspot, uint64_t thread)
{
	uint64_t base = hotspot_member(hotspot, thread, HOTSPOT_THREAD_STACK);
	uint64_t bytes = hotspot_member(hotspot, thread, HOTSPOT_THREAD_STACK_BYTES);

	if (base >> MACHINE_USER_BITS || bytes > base)
		return (struct hotspot_range){0};
	return (struct hotspot_range){.start = base - bytes, .end = base};
}

static int add_thread(const struct rooting *rooting, uint64_t thread)
{
	struct hotspot *hotspot = rooting->hotspot;
	uint64_t object = object_of_thread(hotspot, thread);
	char called[HOTSPOT_THREAD_NAME_BYTES], name[HOTSPOT_THREAD_NAME_BYTES + 32];
	struct rooting of_thread = {.hotspot = hotspot, .sink = rooting->sink, .name = name};
	int error;

	read_offsets(hotspot);
	read_string(hotspot,
		    object && hotspot->name_offset
			    ? hotspot_oop(hotspot, object + hotspot->name_offset)
			    : 0,
		    called, sizeof(called));
	snprintf(name, sizeof(name), "thread %s", called);
	error = object ? add_root(&of_thread, object) : 0;
	of_thread.passing = true;
	snprintf(name, sizeof(name), "JNI local of thread %s", called);
	if (!error)
		error = add_locals(&of_thread, thread);
	return error ? error : hotspot_stack_roots(hotspot, rooting->sink, thread, called);
}

/* OopStorage. */

static bool read_storage_name(struct hotspot *hotspot, uint64_t storage, char name[32])
{
	uint64_t text = storage && !(storage & 7) ? target_word(hotspot->memory, storage) : 0;
	uint64_t array = text ? target_word(hotspot->memory, storage + STORAGE_ARRAY) : 0;
	uint64_t size = array ? target_word(hotspot->memory, array + ARRAY_SIZE_OFFSET) : 0;

	if (!size || size > BLOCKS_MAX ||
	    target_word(hotspot->memory, array + ARRAY_COUNT) > size ||
	    target_read(hotspot->memory, text, name, 31))
		return false;
	name[31] = '\0';
	for (const char *at = name; *at; at++) {
		if (*at < ' ' || *at > '~')
			return false;
	}
	return name[0] != '\0';
}

static int add_storage(struct rooting *rooting, uint64_t storage)
{
	struct hotspot *hotspot = rooting->hotspot;
	uint64_t array = target_word(hotspot->memory, storage + STORAGE_ARRAY);
	uint64_t count = MIN(target_word(hotspot->memory, array + ARRAY_COUNT), BLOCKS_MAX);
	int error = 0;

	count = target_room(hotspot->memory, array + ARRAY_BLOCKS, count * 8) / 8;
	for (uint64_t i = 0; !error && i < count && !target_memory_overworked(hotspot->memory);
	     i++) {
		uint64_t block = target_word(hotspot->memory, array + ARRAY_BLOCKS + i * 8);
		uint64_t used = block ? target_word(hotspot->memory, block + BLOCK_USED) : 0;

		for (uint32_t j = 0; !error && used && j < BLOCK_HANDLES; j++) {
			uint64_t object =
				used >> j & 1 ? hotspot_handle(hotspot, block + j * 8ull) : 0;

			error = object && !(object & 7) ? add_root(rooting, object) : 0;
		}
	}
	return error;
}

/* Names of storages; threads' objects are named elsewhere. */
static const struct {
	const char *storage, *name;
} storage_names[] = {
	{"JNI Global", "JNI global reference"},
	{"VM Global", "VM"},
	{"Thread OopStorage", "VM's threads"},
};

static int add_storage_roots(const struct rooting *rooting, uint64_t storage)
{
	char name[32];
	struct rooting of_storage = {
		.hotspot = rooting->hotspot, .sink = rooting->sink, .name = name};

	if (!read_storage_name(rooting->hotspot, storage, name))
		return -ENOENT;
	if (strstr(name, "Weak") || strstr(name, "weak"))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(storage_names); i++) {
		if (!strcmp(name, storage_names[i].storage))
			of_storage.name = storage_names[i].name;
	}
	return add_storage(&of_storage, storage);
}

/*
 * Adds the storages beside the one at `place`, in one direction. Returns their number or -ENOMEM.
 */
static int add_beside(struct rooting *rooting, uint64_t place, int64_t step)
{
	int error = 0, count = 0;

	for (uint32_t i = 0; !error && i < STORAGES_MAX; i++) {
		place += (uint64_t)step;
		error = add_storage_roots(rooting, target_word(rooting->hotspot->memory, place));
		count += !error;
	}
	return error == -ENOENT || !error ? count : error;
}

/* Adds all storages of the array, which has several beside JNI's. */
static int add_storages(struct rooting *rooting)
{
	struct hotspot *hotspot = rooting->hotspot;
	uint64_t globals = hotspot_static(hotspot, HOTSPOT_JNI_GLOBALS);
	uint64_t start = align_up(hotspot->module->start, 8), end = hotspot->module->end;
	int count = 0;

	if (!globals)
		return 0;
	for (size_t i = 0; i < hotspot->memory->maps->list.count; i++) {
		const struct mapping *mapping = &hotspot->memory->maps->list.items[i];
		uint64_t from = MAX(mapping->start, start), to = MIN(mapping->end, end);

		for (; mapping->writable && count >= 0 && from + 8 <= to &&
		       !target_memory_overworked(hotspot->memory);
		     from += 8) {
			if (target_word(hotspot->memory, from) != globals)
				continue;
			count = add_beside(rooting, from, -8);
			if (count >= 0)
				count = add_beside(rooting, from, 8);
		}
	}
	return count < 0 ? count : add_storage_roots(rooting, globals) == -ENOMEM ? -ENOMEM : 0;
}

/* Adds the object of each pending finaliser. */
static int add_finalisers(struct rooting *rooting)
{
	struct hotspot *hotspot = rooting->hotspot;
	struct heap_sink *sink = rooting->sink;
	int error = 0;

	for (uint32_t i = 0; !error && i < sink->count; i++) {
		uint32_t class = (sink->whats[i] & NODE_CLASS) - hotspot->first_class, place;

		if (!node_has_class(sink->whats[i]) || class >= hotspot->class_types.count)
			continue;
		place = hotspot->class_types.items[class];
		error = hotspot_describe(hotspot, sink, place);
		if (error || hotspot->classes.items[place].reference != HOTSPOT_REFERENCE_FINAL ||
		    !hotspot->classes.items[place].referent)
			continue;
		error = heap_sink_waiting_root(
			sink, HOTSPOT_KEY, "object that awaits its finaliser",
			hotspot_oop(hotspot,
				    sink->starts[i] + hotspot->classes.items[place].referent));
	}
	return error;
}

static int add_archived(struct rooting *rooting)
{
	struct heap_sink *sink = rooting->sink;
	uint32_t node = 0; /* ranges may overlap */
	int error = 0;

	rooting->name = "archive of shared classes";
	for (size_t i = 0; i < rooting->hotspot->archived.count; i++) {
		const struct hotspot_range *range = &rooting->hotspot->archived.items[i];

		node = MAX(node, heap_sink_first(sink, range->start));
		for (; !error && node < sink->count && sink->starts[node] < range->end; node++)
			error = add_root(rooting, sink->starts[node]);
	}
	return error;
}

static int compare_ranges(const void *left_pointer, const void *right_pointer)
{
	const struct hotspot_range *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

/* Sorts ranges and joins overlapping ones. Returns the number left. */
static size_t join_ranges(struct hotspot_range *ranges, size_t count)
{
	size_t kept = 0;

	if (!count)
		return 0;
	qsort(ranges, count, sizeof(*ranges), compare_ranges);
	for (size_t i = 1; i < count; i++) {
		if (ranges[i].start > ranges[kept].end)
			ranges[++kept] = ranges[i];
		else
			ranges[kept].end = MAX(ranges[kept].end, ranges[i].end);
	}
	return kept + 1;
}

/*
 * Native code holds objects by handles only. Other words with an object's address, outside of
 * threads' stacks, are the VM's own: cards, bitmaps, code, ends of regions.
 */
static int claim_mapping(struct rooting *rooting, const struct mapping *mapping,
			 const struct hotspot_range *stacks, size_t count)
{
	size_t i = SORTED_BEFORE(stack, stacks, count, stack->end <= mapping->start);
	uint64_t at = mapping->start;
	int error = 0;

	for (; !error && i < count && stacks[i].start < mapping->end; i++) {
		if (stacks[i].start > at)
			error = heap_sink_claim(rooting->sink, at, stacks[i].start - at, true);
		at = stacks[i].end;
	}
	return error || at >= mapping->end
		       ? error
		       : heap_sink_claim(rooting->sink, at, mapping->end - at, true);
}

static int claim_native(struct rooting *rooting)
{
	struct hotspot *hotspot = rooting->hotspot;
	size_t count = hotspot->threads.count;
	_cleanup_free_ struct hotspot_range *stacks = calloc(count + 1, sizeof(*stacks));
	int error = 0;

	if (!stacks)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		stacks[i] = hotspot_stack(hotspot, hotspot->threads.items[i]);
	count = join_ranges(stacks, count);
	for (size_t i = 0; !error && i < hotspot->memory->maps->list.count; i++) {
		const struct mapping *mapping = &hotspot->memory->maps->list.items[i];

		if (mapping->writable)
			error = claim_mapping(rooting, mapping, stacks, count);
	}
	return error;
}

int hotspot_roots(void *state, struct heap_sink *sink)
{
	struct hotspot *hotspot = state;
	struct rooting rooting = {.hotspot = hotspot, .sink = sink};
	int error = 0;

	for (size_t i = 0; !error && i < hotspot->loaders.count; i++) {
		if (!hotspot->loaders.items[i].owner)
			error = add_loader_roots(&rooting, &hotspot->loaders.items[i]);
	}
	for (size_t i = 0; !error && i < hotspot->threads.count; i++)
		error = add_thread(&rooting, hotspot->threads.items[i]);
	if (!error)
		error = add_storages(&rooting);
	if (!error)
		error = add_archived(&rooting);
	if (!error)
		error = add_finalisers(&rooting);
	if (!error)
		error = hotspot_immediates(hotspot, sink);
	sink->reports.items[hotspot->report].all_roots = true;
	return error ? error : claim_native(&rooting);
}
