// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * References of objects: the maps of their classes have the offsets of references, and fields their
 * names. Soft references hold their objects, weak and phantom ones do not; an object with a pending
 * finaliser is held by its Finalizer as a last resort. A class that may be unloaded holds the
 * values of its static fields; it is held by its objects, and by the holders of its loader.
 *
 * A long may be the address of native memory, as in a direct buffer.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "heap/runtime/hotspot/hotspot.h"

#define CHUNK 1024 /* bytes read at once */

struct referrer {
	struct hotspot *hotspot;
	struct heap_sink *sink;
	const struct hotspot_class *class;
	uint32_t node;
	uint64_t object, size;
	bool is_of_gone; /* entry of a collected ThreadLocal */
};

static uint64_t reference_at(const struct hotspot *hotspot, const unsigned char *bytes)
{
	uint64_t reference = 0;

	memcpy(&reference, bytes, hotspot_oop_bytes(hotspot));
	return hotspot_decode(hotspot, reference);
}

/* Returns the field at an offset; NULL: none begins there. */
static const struct hotspot_field *field_at(const struct hotspot_class *class, uint64_t offset)
{
	size_t at = SORTED_BEFORE(field, class->fields.items, class->fields.count,
				  field->offset < offset);

	return at < class->fields.count && class->fields.items[at].offset == offset
		       ? &class->fields.items[at]
		       : NULL;
}

static bool is_label(const struct heap_sink *sink, uint32_t label, const char *name)
{
	const char *found = heap_sink_label_name(sink, label);

	return found && !strcmp(found, name);
}

static uint32_t label_at(const struct referrer *referrer, uint64_t offset, uint64_t first)
{
	const struct hotspot_field *field;

	if (referrer->class->kind == HOTSPOT_OBJECT_ARRAY)
		return label_index((offset - first) / hotspot_oop_bytes(referrer->hotspot));
	field = field_at(referrer->class, offset);
	if (field && referrer->is_of_gone && is_label(referrer->sink, field->label, "value"))
		return heap_sink_label(referrer->sink, LABEL_ATTRIBUTE,
				       "<value of a ThreadLocal that is gone>");
	return field ? field->label : 0;
}

/* Adds the references at [offset, end) of the object. */
static int refer_range(struct referrer *referrer, uint64_t offset, uint64_t end)
{
	uint32_t step = hotspot_oop_bytes(referrer->hotspot);
	uint64_t first = offset;
	unsigned char bytes[CHUNK];
	int error = 0;

	for (; !error && offset + step <= end; offset += CHUNK) {
		size_t size = (size_t)MIN(end - offset, (uint64_t)CHUNK);

		if (target_read(referrer->hotspot->memory, referrer->object + offset, bytes, size))
			continue;
		for (size_t i = 0; !error && i + step <= size; i += step) {
			uint64_t to = reference_at(referrer->hotspot, bytes + i);

			if (to)
				error = heap_sink_reference(referrer->sink, referrer->node, to,
							    label_at(referrer, offset + i, first));
		}
	}
	return error;
}

/* Maps may overlap: reading is limited to the size of the object. */
static int refer_maps(struct referrer *referrer)
{
	uint32_t step = hotspot_oop_bytes(referrer->hotspot);
	uint64_t bytes_left = referrer->size;
	int error = 0;

	for (size_t i = 0; !error && i < referrer->class->maps.count; i++) {
		const struct hotspot_map *map = &referrer->class->maps.items[i];
		uint64_t bytes = (uint64_t)map->count * step;

		if (map->offset + bytes > referrer->size || bytes > bytes_left)
			break;
		bytes_left -= bytes;
		error = refer_range(referrer, map->offset, map->offset + bytes);
	}
	return error;
}

/* Adds a reference to native memory whose address is in a long. */
static int refer_number(const struct referrer *referrer, uint64_t offset, uint32_t label)
{
	uint64_t value = target_word(referrer->hotspot->memory, referrer->object + offset);
	uint32_t node = value ? heap_sink_node(referrer->sink, value) : BLOCK_NONE;

	if (node == BLOCK_NONE || node_has_class(referrer->sink->whats[node]) ||
	    referrer->sink->starts[node] != value)
		return 0;
	return heap_sink_reference(referrer->sink, referrer->node, value, label);
}

static int refer_numbers(const struct referrer *referrer)
{
	int error = 0;

	for (size_t i = 0; !error && i < referrer->class->fields.count; i++) {
		const struct hotspot_field *field = &referrer->class->fields.items[i];

		if (field->offset + 8ull > referrer->size)
			break;
		if (field->is_number)
			error = refer_number(referrer, field->offset, field->label);
	}
	return error;
}

static int refer_field(const struct referrer *referrer, uint32_t offset, const char *name)
{
	if (!offset || offset + 8ull > referrer->size)
		return 0;
	return heap_sink_reference(referrer->sink, referrer->node,
				   hotspot_oop(referrer->hotspot, referrer->object + offset),
				   heap_sink_label(referrer->sink, LABEL_ATTRIBUTE, name));
}

/* Maps omit the references that the collector treats itself; `discovered` links pending ones. */
static int refer_reference(const struct referrer *referrer)
{
	const struct hotspot_class *class = referrer->class;
	int error = class->reference == HOTSPOT_REFERENCE_NONE
			    ? 0
			    : refer_field(referrer, class->discovered, "discovered");

	if (error)
		return error;
	if (class->reference == HOTSPOT_REFERENCE_SOFT)
		return refer_field(referrer, class->referent, "referent");
	if (class->reference != HOTSPOT_REFERENCE_WEAK || !class->referent ||
	    class->referent + 8ull > referrer->size)
		return 0;
	return heap_sink_weak(referrer->sink, referrer->node,
			      hotspot_oop(referrer->hotspot, referrer->object + class->referent));
}

/* Adds the static field of a class whose java.lang.Class is the object. */

static int refer_static(void *context, const struct hotspot_declared *field)
{
	const struct referrer *referrer = context;
	char name[sizeof(field->name) + 8];
	bool is_number = field->type == 'J';
	uint32_t label;

	if (!field->is_static || field->offset + 8ull > referrer->size ||
	    (!is_number && field->type != 'L' && field->type != '['))
		return 0;
	snprintf(name, sizeof(name), "static %s", field->name);
	label = heap_sink_label(referrer->sink, LABEL_ATTRIBUTE, name);
	if (is_number)
		return refer_number(referrer, field->offset, label);
	/* Static fields of classes that are never unloaded are roots. */
	return referrer->class->is_kept
		       ? 0
		       : heap_sink_reference(
				 referrer->sink, referrer->node,
				 hotspot_oop(referrer->hotspot, referrer->object + field->offset),
				 label);
}

static int refer_statics(const struct referrer *referrer)
{
	struct hotspot *hotspot = referrer->hotspot;
	uint32_t offset =
		hotspot_number(hotspot, hotspot_place(hotspot, HOTSPOT_MIRROR_KLASS)) & 0xffff;
	uint64_t klass = target_word(hotspot->memory, referrer->object + offset);
	const struct hotspot_class *class = hotspot_class_at(hotspot, klass);
	struct referrer of_class = *referrer;

	if (!class || (class->kind != HOTSPOT_INSTANCE && class->kind != HOTSPOT_MIRROR))
		return 0;
	of_class.class = class;
	return hotspot_each_field(hotspot, klass, refer_static, &of_class);
}

/* Classes. */

static int refer_handle(void *context, uint64_t object)
{
	const struct referrer *referrer = context;

	return heap_sink_reference(referrer->sink, referrer->node, object,
				   heap_sink_label(referrer->sink, LABEL_ATTRIBUTE, "<classes>"));
}

/* Adds the references to an object's class, and from a loader to its classes. */
static int refer_classes(struct referrer *referrer)
{
	struct hotspot *hotspot = referrer->hotspot;
	const uint64_t *place = hash_get(&hotspot->owner_index, referrer->object);
	int error = 0;

	if (place)
		error = hotspot_each_handle(hotspot, hotspot->loaders.items[*place - 1].address,
					    refer_handle, referrer);
	if (error || referrer->class->is_kept)
		return error;
	return heap_sink_reference(referrer->sink, referrer->node, referrer->class->mirror,
				   heap_sink_label(referrer->sink, LABEL_ATTRIBUTE, "<class>"));
}

static int refer_array(struct referrer *referrer)
{
	uint64_t first = (uint32_t)referrer->class->layout >> 16 & 0xff;
	uint64_t length = hotspot_number(
		referrer->hotspot, referrer->object + hotspot_length_offset(referrer->hotspot));

	return refer_range(
		referrer, first,
		MIN(first + length * hotspot_oop_bytes(referrer->hotspot), referrer->size));
}

/*
 * Returns whether an entry's ThreadLocal, to which it is a weak reference, was collected. The
 * thread still holds the value, until it happens to clean that slot (java/lang/ThreadLocal.java).
 */
static bool is_of_gone_local(const struct referrer *referrer)
{
	const struct hotspot_class *class = referrer->class;
	const struct managed_class *classes = referrer->sink->classes.items;

	return class->reference == HOTSPOT_REFERENCE_WEAK && class->referent &&
	       class->referent + 8ull <= referrer->size &&
	       !strcmp(classes[referrer->sink->whats[referrer->node] & NODE_CLASS].name,
		       "java.lang.ThreadLocal$ThreadLocalMap$Entry") &&
	       !hotspot_oop(referrer->hotspot, referrer->object + class->referent);
}

static int refer_instance(struct referrer *referrer)
{
	int error;

	referrer->is_of_gone = is_of_gone_local(referrer);
	error = refer_maps(referrer);

	if (!error)
		error = refer_numbers(referrer);
	return error ? error : refer_reference(referrer);
}

int hotspot_refer(void *state, struct heap_sink *sink, uint32_t node)
{
	struct hotspot *hotspot = state;
	uint32_t class = sink->whats[node] & NODE_CLASS, place;
	struct hotspot_class described;
	struct referrer referrer = {.hotspot = hotspot,
				    .sink = sink,
				    .class = &described,
				    .node = node,
				    .object = sink->starts[node],
				    .size = sink->sizes[node]};
	int error;

	if (class < hotspot->first_class ||
	    class - hotspot->first_class >= hotspot->class_types.count)
		return 0;
	place = hotspot->class_types.items[class - hotspot->first_class];
	error = hotspot_describe(hotspot, sink, place);
	/* The list may be reallocated while other classes are looked up. */
	described = hotspot->classes.items[place];
	if (!error && described.kind == HOTSPOT_OBJECT_ARRAY)
		error = refer_array(&referrer);
	else if (!error && described.kind != HOTSPOT_TYPE_ARRAY)
		error = refer_instance(&referrer);
	if (!error && described.kind == HOTSPOT_MIRROR)
		error = refer_statics(&referrer);
	if (!error && described.kind == HOTSPOT_CHUNK)
		error = hotspot_refer_chunk(hotspot, sink, node);
	return error ? error : refer_classes(&referrer);
}
