/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Origin of a class of a managed heap, judged by its name. */
#ifndef LEAKMON_RUNTIME_CLASS_ORIGIN_H
#define LEAKMON_RUNTIME_CLASS_ORIGIN_H

enum class_origin {
	CLASS_OF_LANGUAGE, /* of the language or a library: containers grow with their contents */
	CLASS_OF_PROGRAM,
	/* Compiled code, and shapes of objects: these grow while a program warms up, and none is an
	 * object of the program. */
	CLASS_OF_CODE,
};

/* Returns the origin of class `name` in the runtime of key `runtime`; NULL, each: unknown. */
enum class_origin class_origin_of(const char *runtime, const char *name);

#endif
