/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What holds blocks, and what kinds of things blocks are: words that heap images and results share.
 */
#ifndef LEAKMON_RETAIN_KINDS_H
#define LEAKMON_RETAIN_KINDS_H

enum class_kind {
	CLASS_CXX,	 /* name: the class */
	CLASS_CXX_ARRAY, /* likewise, of `new T[n]` */
	CLASS_OPS,	 /* name: the table's symbol, or NULL: module and offset tell */
	CLASS_SITE,	 /* site: where it was allocated; name: its type, if the stack tells */
	CLASS_SIZE,	 /* size: as usable */
	CLASS_KIND_MAX_
};

enum root_kind {
	ROOT_GLOBAL,
	ROOT_STACK,
	ROOT_THREAD_LOCAL,
	ROOT_REGISTER,
	ROOT_KERNEL,
	/* Weak ones: they may hold what they lead to. */
	ROOT_UNTRACKED,
	ROOT_STALE, /* a word of a thread that no function is known to use any more */
	ROOT_KIND_MAX_
};

/* Of so many pointers beside each other, nobody asks which one it is. */
#define PATH_WIDE 16

/* "class", "ops table", ... */
const char *class_kind_name(enum class_kind kind);
/* "global", "stack", ... */
const char *root_kind_name(enum root_kind kind);

/* From such a word; 0, or -EINVAL for any other and NULL. */
int class_kind_parse(const char *name, enum class_kind *kind);
int root_kind_parse(const char *name, enum root_kind *kind);

#endif
