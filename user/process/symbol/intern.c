// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/symbol/intern.h"

uint64_t intern_hash(const char *text)
{
	return hash_bytes(HASH_BYTES_BEGIN, text, strlen(text));
}

const char *intern_string(struct intern *intern, const char *text)
{
	uint64_t key, *place;
	char **string, *copy;

	if (!text)
		return NULL;
	/* Colliding strings take the next keys in turn. */
	for (key = hash_text(text); (place = hash_get(&intern->index, key)) && *place; key++) {
		if (!strcmp(intern->strings.items[*place - 1], text))
			return intern->strings.items[*place - 1];
	}
	copy = strdup(text);
	place = copy ? hash_put(&intern->index, key, NULL) : NULL;
	string = place ? vec_push(&intern->strings) : NULL;
	if (!string) {
		free(copy);
		return NULL;
	}
	*place = intern->strings.count;
	return *string = copy;
}

void intern_free(struct intern *intern)
{
	for (size_t i = 0; i < intern->strings.count; i++)
		free(intern->strings.items[i]);
	vec_free(&intern->strings);
	hash_free(&intern->index);
}
