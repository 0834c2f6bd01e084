// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HotSpot: libjvm.so. Its heap lies below 32 GiB, where compressed pointers reach it; the space of
 * classes may lie there, too, in 1 GiB of its own. A heap without compressed pointers is the
 * reservation of which most is in use. ZGC maps a memfd named java_heap.
 */
#include <string.h>

#include "base/cleanup.h"
#include "runtime/mapping_shape.h"
#include "runtime/runtime.h"

/* Shifted by three bits, 32 bits reach so far (-XX:+UseCompressedOops). */
#define COMPRESSED_REACH (32ull << 30)

/* -XX:CompressedClassSpaceSize. */
#define CLASS_SPACE (1ull << 30)

#define STARTS 16

struct survey {
	struct largest_reservation reservation;
	uint64_t low_start, low_end;	     /* between them is all low memory that is in use */
	uint64_t classes_start, classes_end; /* end 0: no space of classes below 32 GiB */
	uint64_t starts[STARTS];	     /* of the latest low mappings, a ring */
	unsigned start_count;
};

static bool detect(const struct mapping *mapping)
{
	static const struct module_name names[] = {{"libjvm.so", true}};

	return mapping_is_module(mapping, names, ARRAY_SIZE(names));
}

/* A reservation of 1 GiB whose rest is not used yet. */
static void find_classes(struct survey *survey, const struct mapping *mapping)
{
	for (size_t i = 0; i < MIN(survey->start_count, (unsigned)STARTS); i++) {
		if (!mapping->readable && survey->starts[i] == mapping->end - CLASS_SPACE) {
			survey->classes_start = survey->starts[i];
			survey->classes_end = mapping->end;
		}
	}
}

static void add_low(struct survey *survey, const struct mapping *mapping)
{
	survey->starts[survey->start_count++ % STARTS] = mapping->start;
	find_classes(survey, mapping);
	if (!mapping_is_data(mapping) || mapping->path[0])
		return;
	if (!survey->low_end)
		survey->low_start = mapping->start;
	survey->low_end = mapping->end;
}

static void survey_add(void *state, const struct mapping *mapping)
{
	struct survey *survey = state;

	if (mapping_is_anonymous(mapping) && mapping->end <= COMPRESSED_REACH + CLASS_SPACE)
		add_low(survey, mapping);
	largest_reservation_add(&survey->reservation, mapping);
}

/* Whether more than the space of classes is in use below 32 GiB. */
static bool is_low(const struct survey *survey)
{
	return survey->low_end &&
	       (!survey->classes_end || survey->low_start < survey->classes_start ||
		survey->low_end > survey->classes_end);
}

static bool owns(const void *state, const struct mapping *mapping)
{
	const struct survey *survey = state;

	if (!strncmp(mapping->path, "/memfd:java_heap", 16))
		return true;
	if (!mapping_is_anonymous(mapping) || !mapping_is_data(mapping) ||
	    (survey->classes_end && mapping->start >= survey->classes_start &&
	     mapping->end <= survey->classes_end))
		return false;
	return is_low(survey) ? mapping->end <= COMPRESSED_REACH
			      : reservation_has(&survey->reservation.best, mapping);
}

const struct runtime runtime_hotspot = {
	.key = "hotspot",
	.name = "JVM",
	.tool = "`jcmd %d GC.class_histogram` counts its objects by class, `jcmd %d GC.heap_dump "
		"FILE` (jmap) keeps them",
	.detect = detect,
	.survey = survey_add,
	.state_size = sizeof(struct survey),
	.owns = owns,
};
