// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks that must pass before a VM is believed. Its description gives places, but not formats: a
 * release may keep a place and change its format. So classes, objects and fields of every VM are
 * read as described, and each must lead to the next one. An untested release is read if all checks
 * pass.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/hotspot/hotspot.h"

/* Major versions tested by tests/e2e/test_e2e_runtime_hotspot.c. */
static const unsigned tested[] = {11, 17, 21, 25, 26, 27};

/* Classes. */

static bool is_named(struct hotspot *hotspot, uint64_t klass, const char *wanted)
{
	char name[HOTSPOT_NAME_BYTES];

	hotspot_class_name(hotspot, klass, name);
	return !strcmp(name, wanted);
}

static bool classes_agree(struct hotspot *hotspot)
{
	return is_named(hotspot, hotspot->object_klass, "java.lang.Object") &&
	       is_named(hotspot, hotspot->class_klass, "java.lang.Class") &&
	       is_named(hotspot, hotspot->thread_klass, "java.lang.Thread") &&
	       hotspot_member(hotspot, hotspot->thread_klass, HOTSPOT_KLASS_SUPERS) ==
		       hotspot->object_klass;
}

/* Checks the field that leads to the VM's own thread; threads prove its value, see below. */
static bool fields_agree(struct hotspot *hotspot)
{
	return hotspot_field_offset(hotspot, hotspot->thread_klass, "eetop") &&
	       hotspot_field_offset(hotspot, hotspot->thread_klass, "name");
}

/* Since 28, arrays have classes of several kinds, and fields another format. */
const char *hotspot_why_new(const struct hotspot *hotspot)
{
	return hotspot_has(hotspot, HOTSPOT_KLASS_KIND)
		       ? "its arrays and fields have a format that is not read yet (Klass::_kind)"
		       : NULL;
}

const char *hotspot_disproof(struct hotspot *hotspot)
{
	if (hotspot_why_new(hotspot))
		return hotspot_why_new(hotspot);
	if (!classes_agree(hotspot))
		return "java.lang.Object, Class and Thread are not where it describes them: "
		       "another version";
	if (!fields_agree(hotspot))
		return "the fields of java.lang.Thread cannot be read: another version";
	return NULL;
}

/* Objects. */

/* Returns the mirror of a class; 0: it has none. */
static uint64_t mirror_of(struct hotspot *hotspot, uint64_t klass)
{
	uint64_t handle = hotspot_member(hotspot, klass, HOTSPOT_KLASS_MIRROR);

	return handle ? hotspot_handle(hotspot, handle) : 0;
}

/* Returns whether the mirror is a java.lang.Class, and leads back to its class. */
static bool mirror_agrees(struct hotspot *hotspot, uint64_t klass)
{
	uint64_t mirror = mirror_of(hotspot, klass);
	uint32_t offset = hotspot_number(hotspot, hotspot_place(hotspot, HOTSPOT_MIRROR_KLASS));

	return mirror && hotspot_klass_of(hotspot, mirror) == hotspot->class_klass &&
	       target_word(hotspot->memory, mirror + offset) == klass;
}

static bool is_in_range(const struct hotspot *hotspot, uint64_t object)
{
	for (size_t i = 0; i < hotspot->ranges.count; i++) {
		const struct hotspot_range *range = &hotspot->ranges.items[i];

		if (object >= range->start && object < range->end)
			return true;
	}
	return false;
}

const char *hotspot_heap_disproof(struct hotspot *hotspot)
{
	if (!mirror_agrees(hotspot, hotspot->object_klass) ||
	    !mirror_agrees(hotspot, hotspot->thread_klass))
		return "the header of its objects is not as described: another version";
	if (!is_in_range(hotspot, mirror_of(hotspot, hotspot->object_klass)))
		return "its collector keeps objects elsewhere than described: another version";
	return NULL;
}

bool hotspot_is_tested(const char *version)
{
	unsigned long major = strtoul(version, NULL, 10);

	for (size_t i = 0; i < ARRAY_SIZE(tested); i++) {
		if (tested[i] == major)
			return true;
	}
	return false;
}
