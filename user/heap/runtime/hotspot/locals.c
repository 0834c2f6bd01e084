// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values of collected ThreadLocals. A thread keeps an entry for each ThreadLocal: a weak reference
 * to it, and a value. Once a collection has cleared the reference, the program cannot access the
 * value any more; it lives until the thread ends or happens to clean that slot of the table
 * (java/lang/ThreadLocal.java).
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/hotspot/hotspot.h"
#include "heap/runtime/hotspot/reader.h"

#define ENTRY "java.lang.ThreadLocal$ThreadLocalMap$Entry"

static void read_offsets(struct hotspot *hotspot)
{
	struct hotspot_local_fields *fields = &hotspot->local_fields;

	if (fields->read)
		return;
	fields->read = true;
	fields->maps[0] = hotspot_field_offset(hotspot, hotspot->thread_klass, "threadLocals");
	fields->maps[1] =
		hotspot_field_offset(hotspot, hotspot->thread_klass, "inheritableThreadLocals");
}

/* Returns whether the object is an entry; reads the offsets from the first one. */
static bool is_entry(struct hotspot *hotspot, uint64_t object)
{
	struct hotspot_local_fields *fields = &hotspot->local_fields;
	uint64_t klass = hotspot_klass_of(hotspot, object);
	char name[HOTSPOT_NAME_BYTES];

	if (fields->entry_klass)
		return klass == fields->entry_klass;
	if (!hotspot_class_at(hotspot, klass))
		return false;
	hotspot_class_name(hotspot, klass, name);
	if (strcmp(name, ENTRY) != 0)
		return false;
	fields->entry_klass = klass;
	fields->referent = hotspot_field_offset(hotspot, klass, "referent");
	fields->value = hotspot_field_offset(hotspot, klass, "value");
	return true;
}

/* Returns the value of an entry whose ThreadLocal was collected; 0 for any other object. */
static uint64_t gone_value(struct hotspot *hotspot, uint64_t entry)
{
	const struct hotspot_local_fields *fields = &hotspot->local_fields;

	if (!is_entry(hotspot, entry) || !fields->referent || !fields->value ||
	    hotspot_oop(hotspot, entry + fields->referent))
		return 0;
	return hotspot_oop(hotspot, entry + fields->value);
}

static int count_value(struct java_thread_report *report, const struct java_gone_local *found)
{
	struct java_gone_local *local;

	report->gone_count++;
	report->gone_virtual += found->is_virtual;
	for (size_t i = 0; i < report->gone.count; i++) {
		local = &report->gone.items[i];
		if (local->class == found->class && local->thread == found->thread &&
		    local->is_virtual == found->is_virtual) {
			local->count++;
			return 0;
		}
	}
	if (report->gone.count >= JAVA_GONE_LOCALS_MAX)
		return 0;
	local = vec_push(&report->gone);
	if (!local)
		return -ENOMEM;
	*local = *found;
	local->count = 1;
	return 0;
}

static int add_value(struct hotspot *hotspot, struct java_thread_report *report, uint64_t value,
		     struct java_gone_local *found)
{
	uint64_t klass = hotspot_klass_of(hotspot, value);
	char name[HOTSPOT_NAME_BYTES];

	if (!hotspot_class_at(hotspot, klass))
		return 0;
	hotspot_class_name(hotspot, klass, name);
	found->class = intern_string(&report->strings, name);
	return found->class ? count_value(report, found) : -ENOMEM;
}

static int read_map(struct hotspot *hotspot, struct java_thread_report *report, uint64_t map,
		    struct java_gone_local *found)
{
	struct hotspot_local_fields *fields = &hotspot->local_fields;
	uint32_t step = hotspot_oop_bytes(hotspot), length;
	const struct hotspot_class *class;
	uint64_t table, first;
	int error = 0;

	if (!fields->table)
		fields->table =
			hotspot_field_offset(hotspot, hotspot_klass_of(hotspot, map), "table");
	table = fields->table ? hotspot_oop(hotspot, map + fields->table) : 0;
	class = table ? hotspot_class_at(hotspot, hotspot_klass_of(hotspot, table)) : NULL;
	if (!class || class->kind != HOTSPOT_OBJECT_ARRAY)
		return 0;
	first = table + ((uint32_t) class->layout >> 16 & 0xff);
	length = hotspot_number(hotspot, table + hotspot_length_offset(hotspot));
	length = (uint32_t)(target_room(hotspot->memory, first, (uint64_t)length * step) / step);
	for (uint32_t i = 0; !error && i < length && !target_memory_overworked(hotspot->memory);
	     i++) {
		uint64_t entry = hotspot_oop(hotspot, first + (uint64_t)i * step), value;

		value = entry ? gone_value(hotspot, entry) : 0;
		error = value ? add_value(hotspot, report, value, found) : 0;
	}
	return error;
}

int hotspot_gone_locals(struct hotspot *hotspot, uint64_t thread, const char *called,
			struct java_thread_report *report)
{
	struct java_gone_local found = {.is_virtual = !called, .thread = ""};
	int error = 0;

	read_offsets(hotspot);
	for (size_t i = 0; !error && i < ARRAY_SIZE(hotspot->local_fields.maps); i++) {
		uint32_t offset = hotspot->local_fields.maps[i];
		uint64_t map = offset ? hotspot_oop(hotspot, thread + offset) : 0;

		if (!map)
			continue;
		if (called)
			found.thread = intern_string(&report->strings, called);
		error = found.thread ? read_map(hotspot, report, map, &found) : -ENOMEM;
	}
	return error;
}

void hotspot_forget_locals(struct java_thread_report *report, bool is_virtual)
{
	size_t kept = 0;

	for (size_t i = 0; i < report->gone.count; i++) {
		const struct java_gone_local *local = &report->gone.items[i];

		if (local->is_virtual != is_virtual)
			report->gone.items[kept++] = *local;
	}
	report->gone.count = kept;
	report->gone_count =
		is_virtual ? report->gone_count - report->gone_virtual : report->gone_virtual;
	report->gone_virtual = is_virtual ? 0 : report->gone_virtual;
}
