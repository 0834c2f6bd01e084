/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growth of classes between scans of a heap. Pure functions. */
#ifndef LEAKMON_DIAGNOSE_CLASS_GROWTH_H
#define LEAKMON_DIAGNOSE_CLASS_GROWTH_H

#include "app/diagnose/conclude.h"

/* Any program fluctuates by fewer objects, threads or descriptors. */
#define OBJECTS_MIN 10
/*
 * Scans required: two scans of a program that drops its objects now and then show growth half of
 * the time, three scans one time in six.
 */
#define GROWTH_SCANS_MIN 3

/*
 * Fills diagnosis->classes: classes with more reachable objects in the middle than at the first
 * scan, still more at the last, and little decline in between; and classes whose objects grew in
 * size. The program's own classes come first, then those with most growth in bytes.
 */
void diagnose_find_classes(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis);

/* Finds the class of native blocks with most new unreachable blocks since the first scan. */
void diagnose_find_lost_class(const struct diagnosis_evidence *evidence,
			      struct diagnosis *diagnosis);

/*
 * Finds the class of native blocks, reachable or not, that grew most between the first scan and the
 * last. Returns false if none grew.
 */
bool diagnose_find_native_class(const struct diagnosis_evidence *evidence,
				struct diagnosed_class *found);

/*
 * Finds the root whose bytes reached in managed heaps grew most, at every scan or in steps. Returns
 * false if there is none.
 */
bool diagnose_find_root(const struct diagnosis_evidence *evidence, uint32_t *root,
			uint64_t *was_bytes);

/*
 * Returns the growth of garbage in bytes if the program has switched its collector off, and finds
 * the class with most of it. 0: none, or it will be collected.
 */
uint64_t diagnose_find_garbage(const struct diagnosis_evidence *evidence,
			       struct diagnosed_class *found);

/*
 * Sets *found to the garbage of a class, an index in the last scan's result, at the first scan and
 * at the last. Returns false if it did not grow.
 */
bool diagnose_garbage_grew(const struct diagnosis_evidence *evidence, uint32_t class,
			   struct diagnosed_class *found);

/*
 * Returns whether containers with limits of their own, not full yet, explain the growing classes:
 * the path to each class leads through one that gained entries, there are not many more objects
 * than entries, and the entries still to come will take little memory. Fills diagnosis->filling; if
 * not all classes are explained so, puts one of the program's that is not first.
 */
bool diagnose_find_filling(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis);

/* Returns whether a container with a limit gained entries and is not full in the last scan; then
 * paths to all growing classes are needed. There is one scan at least. */
bool diagnose_is_filling(const struct diagnosis_evidence *evidence);

/* Returns the scan's path to the class, or NULL; borrowed. */
const struct retained_path *diagnose_class_path(const struct retain_result *scan, uint32_t class);

/*
 * Returns whether growing classes are the program's, or are a large share of the reachable bytes:
 * caches of the language itself fill while a program warms up.
 */
bool diagnose_are_objects_many(const struct diagnosis *diagnosis);

/* Returns whether the scans so far would suffice for a verdict but for their number. */
bool diagnose_objects_seem_to_grow(const struct diagnosis_evidence *evidence);

/* Returns the bytes in managed heaps that are reachable from roots. */
uint64_t diagnose_held_bytes(const struct retain_result *scan);

#endif
