/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a word that may point to a vtable or a table of functions says about its object's type. */
#ifndef LEAKMON_RETAIN_TYPE_NAMES_H
#define LEAKMON_RETAIN_TYPE_NAMES_H

#include "retain/classes.h"

/*
 * 0 and kind, name, module, offset in *found; -ENOENT: it is neither; -ENOMEM. Nothing is believed
 * of the target: type information is taken only if all of it is where a compiler puts it.
 */
int type_name_find(const struct picture *picture, const struct data_modules *modules,
		   const struct type_word *word, struct intern *intern, struct block_class *found);

#endif
