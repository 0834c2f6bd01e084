// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/kinds.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const class_kinds[] = {
	[CLASS_CXX] = "class",	   [CLASS_CXX_ARRAY] = "array of class",
	[CLASS_OPS] = "ops table", [CLASS_SITE] = "site",
	[CLASS_SIZE] = "size",
};
_Static_assert(ARRAY_SIZE(class_kinds) == CLASS_KIND_MAX_, "a name for every kind");

static const char *const root_kinds[] = {
	[ROOT_GLOBAL] = "global",
	[ROOT_STACK] = "stack",
	[ROOT_THREAD_LOCAL] = "thread-local",
	[ROOT_REGISTER] = "register",
	[ROOT_KERNEL] = "kernel",
	[ROOT_UNTRACKED] = "untracked memory",
	[ROOT_STALE] = "stale word",
};
_Static_assert(ARRAY_SIZE(root_kinds) == ROOT_KIND_MAX_, "a name for every kind");

const char *class_kind_name(enum class_kind kind)
{
	return class_kinds[kind];
}

const char *root_kind_name(enum root_kind kind)
{
	return root_kinds[kind];
}

static int find(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; name && i < count; i++) {
		if (!strcmp(names[i], name))
			return (int)i;
	}
	return -EINVAL;
}

int class_kind_parse(const char *name, enum class_kind *kind)
{
	int found = find(class_kinds, CLASS_KIND_MAX_, name);

	if (found < 0)
		return found;
	*kind = (enum class_kind)found;
	return 0;
}

int root_kind_parse(const char *name, enum root_kind *kind)
{
	int found = find(root_kinds, ROOT_KIND_MAX_, name);

	if (found < 0)
		return found;
	*kind = (enum root_kind)found;
	return 0;
}
