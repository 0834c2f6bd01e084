// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * References of objects as the collector sees them: series of references before a MethodTable
 * (CGCDesc, src/coreclr/gc/gcdesc.h). Names are those of the fields; the first object of a
 * dependent handle holds the second.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "heap/runtime/dotnet/dotnet.h"

#define PARENTS_MAX 64
#define CHUNK 128 /* words read at once */

/*
 * Takes one series or item; returns false, and stops further reading, beyond the plausible number.
 */
static bool take_series(struct dotnet *dotnet)
{
	if (dotnet_take(&dotnet->series_left))
		return true;
	target_memory_exhaust(dotnet->memory);
	return false;
}

/* Reads the items of an array of structures, marked by a negative count in CGCDesc. */
static int read_items(struct dotnet *dotnet, struct dotnet_type *type, uint64_t count)
{
	uint64_t start = target_word(dotnet->memory, type->address - 16);
	struct dotnet_series *series = vec_push(&type->series);

	if (!series)
		return -ENOMEM;
	series->start = (uint32_t)MIN(start, (uint64_t)UINT32_MAX);
	for (uint64_t i = 0; i < count && take_series(dotnet); i++) {
		uint64_t word = target_word(dotnet->memory, type->address - 24 - i * 8);
		struct dotnet_item *item = vec_push(&type->items);

		if (!item)
			return -ENOMEM;
		*item = (struct dotnet_item){(uint32_t)word, (uint32_t)(word >> 32)};
		if (!word)
			type->items.count--;
	}
	return 0;
}

/*
 * Returns whether a count is plausible: each has at least one word of a component, or of an object.
 */
static bool is_count(const struct dotnet_type *type, int64_t count)
{
	int64_t words = (count < 0 ? type->flags & 0xffff : type->base_size) / 8;

	return count >= -words && count <= words;
}

static int read_series(struct dotnet *dotnet, struct heap_sink *sink, struct dotnet_type *type)
{
	int64_t count = (int64_t)target_word(dotnet->memory, type->address - 8);

	if (!is_count(type, count)) {
		sink->reports.items[dotnet->report].nonsense++;
		return 0;
	}
	if (count < 0)
		return read_items(dotnet, type, (uint64_t)-count);
	for (int64_t i = 0; i < count && take_series(dotnet); i++) {
		uint64_t words[2]; /* size minus that of the object, start */
		struct dotnet_series *series;

		if (target_read(dotnet->memory, type->address - 24 - (uint64_t)i * 16, words,
				sizeof(words)) ||
		    words[1] > UINT32_MAX)
			return 0;
		series = vec_push(&type->series);
		if (!series)
			return -ENOMEM;
		*series = (struct dotnet_series){(uint32_t)words[1], (int64_t)words[0]};
	}
	return 0;
}

static uint64_t class_of(struct dotnet *dotnet, uint64_t table)
{
	const struct dotnet_type *type = table ? dotnet_type_at(dotnet, table) : NULL;

	return type ? type->class_address : 0;
}

uint32_t dotnet_fields(struct dotnet *dotnet, uint64_t class, bool statics)
{
	const struct dotnet_layout *layout = &dotnet->layout;

	if (!class || layout->version == 8)
		return class ? dotnet_8_fields(dotnet->memory, class, statics) : 0;
	class += statics ? layout->class_static_fields : layout->class_instance_fields;
	return target_word(dotnet->memory, class) & 0xffff;
}

static uint32_t count_fields(struct dotnet *dotnet, uint64_t class)
{
	return dotnet_fields(dotnet, class, false);
}

uint32_t dotnet_own_fields(struct dotnet *dotnet, const struct dotnet_type *type)
{
	uint64_t parent = target_word(dotnet->memory, type->address + dotnet->layout.table_parent);
	uint32_t count = count_fields(dotnet, type->class_address);

	return count - MIN(count_fields(dotnet, class_of(dotnet, parent)), count);
}

/* Reads the fields that a class adds to its parent's. */
static int read_own_fields(struct dotnet *dotnet, struct heap_sink *sink, uint64_t class,
			   uint64_t module, uint32_t count, struct dotnet_type *type)
{
	uint64_t list = target_word(dotnet->memory, class + dotnet->layout.class_fields);

	for (uint32_t i = 0; list && i < count && dotnet_take(&dotnet->fields_left); i++) {
		uint64_t word = target_word(dotnet->memory, list + i * (uint64_t)FIELD_BYTES + 8);
		struct dotnet_field *field;
		char name[DOTNET_NAME_BYTES];

		if (FIELD_IS_STATIC(word) ||
		    (FIELD_TYPE(word) != ELEMENT_STRUCTURE && FIELD_TYPE(word) != ELEMENT_CLASS))
			continue;
		dotnet_field_name(dotnet, module, word, name);
		field = vec_push(&type->fields);
		if (!field)
			return -ENOMEM;
		*field = (struct dotnet_field){
			OBJECT_FIELDS + FIELD_OFFSET(word),
			name[0] ? heap_sink_label(sink, LABEL_ATTRIBUTE, name) : 0};
	}
	return 0;
}

static int compare_fields(const void *left_pointer, const void *right_pointer)
{
	const struct dotnet_field *left = left_pointer, *right = right_pointer;

	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Reads the fields of a class and its base classes. */
static int read_fields(struct dotnet *dotnet, struct heap_sink *sink, struct dotnet_type *type)
{
	const struct dotnet_layout *layout = &dotnet->layout;
	uint64_t table = type->address, class = type->class_address;
	uint32_t count = count_fields(dotnet, class);
	int error = 0;

	for (uint32_t i = 0; !error && class && i < PARENTS_MAX; i++) {
		uint64_t parent = target_word(dotnet->memory, table + layout->table_parent);
		uint64_t module = dotnet_type_module(dotnet, table);
		uint64_t parent_class = class_of(dotnet, parent);
		uint32_t inherited = MIN(count_fields(dotnet, parent_class), count);

		error = read_own_fields(dotnet, sink, class, module, count - inherited, type);
		table = parent;
		class = parent_class;
		count = inherited;
	}
	/* An incomplete list would mislabel other fields. */
	if (!dotnet->fields_left)
		type->fields.count = 0;
	if (type->fields.count)
		qsort(type->fields.items, type->fields.count, sizeof(*type->fields.items),
		      compare_fields);
	return error;
}

/* Reads the type's layout, needed to read its objects. */
static int describe(struct dotnet *dotnet, struct heap_sink *sink, size_t place)
{
	struct dotnet_type type = dotnet->types.items[place];
	int error = 0;

	type.described = true;
	if (type.flags & TABLE_POINTERS) {
		error = read_series(dotnet, sink, &type);
		if (!error && !(type.flags & TABLE_COMPONENTS))
			error = read_fields(dotnet, sink, &type);
	}
	/* The list may have been reallocated meanwhile. */
	dotnet->types.items[place] = type;
	return error;
}

struct referrer {
	struct dotnet *dotnet;
	struct heap_sink *sink;
	const struct dotnet_type *type;
	uint32_t node;
	uint64_t object, size;
	uint64_t words_left; /* series may overlap: limited to the object's size */
	size_t slot;	     /* index in dotnet->slots of the next static field in it */
};

/* Returns the label of the field with the reference at an offset, or of the structure that contains
 * it. */
static uint32_t field_label(const struct dotnet_type *type, uint64_t offset)
{
	size_t count = SORTED_BEFORE(field, type->fields.items, type->fields.count,
				     field->offset <= offset);

	return count ? type->fields.items[count - 1].label : 0;
}

/* Returns whether an address is that of a static field; addresses come in ascending order. */
static bool is_slot(struct referrer *referrer, uint64_t address)
{
	const uint64_t *slots = referrer->dotnet->slots.items;
	size_t count = referrer->dotnet->slots.count;

	while (referrer->slot < count && slots[referrer->slot] < address)
		referrer->slot++;
	return referrer->slot < count && slots[referrer->slot] == address;
}

/* Adds the references at [offset, end) of the object. */
static int refer_words(struct referrer *referrer, uint64_t offset, uint64_t end, uint32_t label,
		       bool is_array)
{
	uint64_t words[CHUNK];
	int error = 0;

	for (; !error && offset + 8 <= end; offset += sizeof(words)) {
		size_t count = (size_t)MIN((end - offset) / 8, (uint64_t)CHUNK);

		count = (size_t)MIN(count, referrer->words_left);
		if (!count)
			break;
		referrer->words_left -= count;
		if (target_read(referrer->dotnet->memory, referrer->object + offset, words,
				count * 8))
			continue;
		for (size_t i = 0; !error && i < count; i++) {
			uint64_t at = offset + i * 8;

			if (!words[i] || is_slot(referrer, referrer->object + at))
				continue;
			if (is_array)
				label = label_index((at - OBJECT_FIELDS - 8) / 8);
			else if (!referrer->type->items.count)
				label = field_label(referrer->type, at);
			error = heap_sink_reference(referrer->sink, referrer->node, words[i],
						    label);
		}
	}
	return error;
}

/* Adds the references of an array of structures. */
static int refer_items(struct referrer *referrer)
{
	const struct dotnet_type *type = referrer->type;
	uint64_t offset = type->series.items[0].start, end = referrer->size - OBJECT_HEADER;
	uint64_t first = offset, stride = type->flags & 0xffff;
	int error = 0;

	while (!error && stride && offset < end) {
		uint64_t before = offset;

		for (size_t i = 0; !error && i < type->items.count && offset < end &&
				   target_memory_work(referrer->dotnet->memory, 1);
		     i++) {
			uint64_t bytes = type->items.items[i].references * 8ull;
			uint64_t last = MIN(offset + bytes, end);

			error = refer_words(referrer, offset, last,
					    label_index((offset - first) / stride), false);
			offset += bytes + type->items.items[i].skip;
		}
		if (offset == before)
			break;
	}
	return error;
}

static int refer_series(struct referrer *referrer)
{
	const struct dotnet_type *type = referrer->type;
	int error = 0;

	for (size_t i = 0; !error && i < type->series.count; i++) {
		const struct dotnet_series *series = &type->series.items[i];
		int64_t bytes = series->size + (int64_t)referrer->size;
		uint64_t end = series->start + (uint64_t)bytes;

		if (bytes <= 0 || end > referrer->size)
			continue;
		error = refer_words(referrer, series->start, end, 0,
				    type->flags & TABLE_COMPONENTS);
	}
	return error;
}

/* Adds references by dependent handles: entries of a ConditionalWeakTable. */
static int refer_dependents(const struct referrer *referrer)
{
	const struct dotnet_dependent *dependents = referrer->dotnet->dependents.items;
	size_t count = referrer->dotnet->dependents.count;
	size_t at =
		SORTED_BEFORE(dependent, dependents, count, dependent->first < referrer->object);
	uint32_t label = 0;
	int error = 0;

	for (; !error && at < count && dependents[at].first == referrer->object; at++) {
		if (!label)
			label = heap_sink_label(referrer->sink, LABEL_ATTRIBUTE,
						"dependent handle");
		error = heap_sink_reference(referrer->sink, referrer->node, dependents[at].second,
					    label);
	}
	return error;
}

int dotnet_refer(void *state, struct heap_sink *sink, uint32_t node)
{
	struct dotnet *dotnet = state;
	uint32_t class = sink->whats[node] & NODE_CLASS, place;
	struct referrer referrer = {.dotnet = dotnet,
				    .sink = sink,
				    .node = node,
				    .object = sink->starts[node],
				    .size = sink->sizes[node],
				    .words_left = sink->sizes[node] / 8,
				    .slot = SORTED_BEFORE(slot, dotnet->slots.items,
							  dotnet->slots.count,
							  *slot < sink->starts[node])};
	int error = 0;

	if (class < dotnet->first_class || class - dotnet->first_class >= dotnet->class_types.count)
		return 0;
	place = dotnet->class_types.items[class - dotnet->first_class];
	if (!dotnet->types.items[place].described)
		error = describe(dotnet, sink, place);
	referrer.type = &dotnet->types.items[place];
	if (!error && referrer.type->items.count)
		error = refer_items(&referrer);
	else if (!error)
		error = refer_series(&referrer);
	if (!error)
		error = refer_dependents(&referrer);
	if (referrer.object == dotnet->last_object && dotnet_was_collected(dotnet))
		sink->reports.items[dotnet->report].why =
			"it collected while references were read: some are wrong, look again";
	return error;
}
