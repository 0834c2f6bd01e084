/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a class of a managed heap comes from, as far as its name shows. */
#ifndef LEAKMON_RUNTIME_CLASS_ORIGIN_H
#define LEAKMON_RUNTIME_CLASS_ORIGIN_H

#include <stdbool.h>

enum class_origin {
	CLASS_OF_LANGUAGE, /* of the language or a library: containers grow with their contents */
	CLASS_OF_PROGRAM,
	/* Compiled code, and shapes of objects: these grow while a program warms up, and none is an
	 * object of the program. */
	CLASS_OF_CODE,
};

/*
 * Names of classes that are not the program's, of one runtime. Lists end with NULL; NULL: empty.
 * Without any, a class with a dot in its name is the program's.
 */
struct class_names {
	const char *const *language;  /* complete names; "Array" is also that of "Array[8]" */
	const char *const *libraries; /* beginnings of names */
	const char *within;	      /* a part of names of a library; NULL: none */
	const char *const *code;      /* complete names: see CLASS_OF_CODE */
	bool without_packages;	      /* the program's own names may have no dot */
};

/* Returns the origin by the runtime's key and the class's name; NULL, each: unknown. */
enum class_origin class_origin_of(const char *key, const char *name);

#endif
