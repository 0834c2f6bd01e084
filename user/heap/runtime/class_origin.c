// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/runtime/class_origin.h"

#include <string.h>

#include "base/text.h"
#include "heap/runtime/runtime.h"

static bool is_one_of(const char *const *names, const char *name, size_t length)
{
	for (size_t i = 0; names && names[i]; i++) {
		if (strlen(names[i]) == length && !strncmp(names[i], name, length))
			return true;
	}
	return false;
}

static bool begins_with_one_of(const char *const *names, const char *name)
{
	for (size_t i = 0; names && names[i]; i++) {
		if (text_begins(name, names[i]))
			return true;
	}
	return false;
}

static bool is_of_program(const struct class_names *names, const char *name)
{
	if (begins_with_one_of(names->libraries, name) ||
	    (names->within && strstr(name, names->within)))
		return false;
	return strchr(name, '.') ||
	       (names->without_packages && !is_one_of(names->language, name, strcspn(name, "[")));
}

enum class_origin class_origin_of(const char *key, const char *name)
{
	static const struct class_names none;
	const struct runtime *runtime = runtime_find(key);
	const struct class_names *names = runtime && runtime->classes ? runtime->classes : &none;

	if (!key || !name)
		return CLASS_OF_LANGUAGE;
	if (is_one_of(names->code, name, strlen(name)))
		return CLASS_OF_CODE;
	return is_of_program(names, name) ? CLASS_OF_PROGRAM : CLASS_OF_LANGUAGE;
}
