/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks counted by the root that their shortest path begins at. */
#ifndef LEAKMON_RETAIN_RESULT_SAMPLES_H
#define LEAKMON_RETAIN_RESULT_SAMPLES_H

#include "retain/result.h"

/*
 * Adds result->samples, by root, class and site, the greatest first. The two arrays give places in
 * the result for numbers of classes and root groups. 0 or -ENOMEM.
 */
int retained_samples_add(const struct retain *retain, const uint32_t *class_places,
			 const uint32_t *root_places, struct retain_result *result);

#endif
