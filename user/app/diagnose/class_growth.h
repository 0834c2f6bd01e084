/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growth between scans of a heap, class by class. Pure functions. */
#ifndef LEAKMON_DIAGNOSE_CLASS_GROWTH_H
#define LEAKMON_DIAGNOSE_CLASS_GROWTH_H

#include "app/diagnose/conclude.h"

/* Fewer new objects, threads or descriptors come and go in any program. */
#define OBJECTS_MIN 10
/* A program that drops its objects now and then has, at two moments, as often more as less of them;
 * at three, one time in six more and more. */
#define GROWTH_SCANS_MIN 3

/* Fills diagnosis->classes: those with more held objects in the middle than at the first scan, and
 * more at the last, that fell by little in between, and those whose objects became larger; the
 * program's own first, then by growth in bytes. */
void diagnose_find_classes(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis);

/* The class of native blocks of which most became unreachable since the first scan. */
void diagnose_find_lost_class(const struct diagnosis_evidence *evidence,
			      struct diagnosis *diagnosis);

/* The class of native blocks, of whatever verdict, that grew most between the first scan and the
 * last. False: none grew. */
bool diagnose_find_native_class(const struct diagnosis_evidence *evidence,
				struct diagnosed_class *found);

/* The root that reaches more bytes of managed heaps at every scan, or in steps, than any other
 * does. False: there is none. */
bool diagnose_find_root(const struct diagnosis_evidence *evidence, uint32_t *root,
			uint64_t *was_bytes);

/*
 * Growth of garbage in bytes, if the program has switched its collector off, and the class that has
 * most of it. 0: there is none, or it will be collected.
 */
uint64_t diagnose_find_garbage(const struct diagnosis_evidence *evidence,
			       struct diagnosed_class *found);

/* Garbage of the class, in the last scan's result, at the first scan and at the last. False: it did
 * not become more. */
bool diagnose_garbage_grew(const struct diagnosis_evidence *evidence, uint32_t class,
			   struct diagnosed_class *found);

/*
 * Whether containers with limits of their own, not full yet, explain the classes that grow: the
 * path to each class leads through one that gained entries, there are not many more objects than
 * entries, and what is left to fill will take little memory. Fills diagnosis->filling.
 */
bool diagnose_find_filling(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis);

/* Whether a container of the scan may fill yet: paths to all classes that grow are wanted then. */
bool diagnose_is_filling(const struct retain_result *scan);

/* Whether classes that grow are of the program, or grow by much of what is held: caches of the
 * language's own fill while a program warms up. */
bool diagnose_are_objects_many(const struct diagnosis *diagnosis);

/* Whether the scans so far would do for a verdict, if there were enough of them. */
bool diagnose_objects_seem_to_grow(const struct diagnosis_evidence *evidence);

/* Bytes that roots hold in managed heaps. */
uint64_t diagnose_held_bytes(const struct retain_result *scan);

#endif
