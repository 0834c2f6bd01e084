/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a class of a managed heap comes from, as far as its name shows. */
#ifndef LEAKMON_RUNTIME_CLASS_ORIGIN_H
#define LEAKMON_RUNTIME_CLASS_ORIGIN_H

enum class_origin {
	CLASS_OF_LANGUAGE, /* of the language or a library: its containers grow with their contents
			    */
	CLASS_OF_PROGRAM,
	/* Code that the runtime compiles, and shapes of objects: more of it comes while a program
	 * warms up, and none of it is an object of the program's. */
	CLASS_OF_CODE,
};

/* `runtime`: its key; `name`: of the class. NULL, each: not known. */
enum class_origin class_origin_of(const char *runtime, const char *name);

#endif
