// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/container_id.h"

#include <string.h>

#include "base/cleanup.h"

/* Static pods carry a hash of their manifest: the digits without dashes. */
#define BARE_UID_LENGTH 32

static bool is_hex(char byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

static size_t hex_run(const char *text)
{
	size_t length = 0;

	while (is_hex(text[length]))
		length++;
	return length;
}

/* The id that the component name[0..length) ends with, or NULL. */
static const char *id_at_end(const char *name, size_t length)
{
	static const char scope[] = ".scope";
	const char *id;

	if (length > strlen(scope) && !memcmp(name + length - strlen(scope), scope, strlen(scope)))
		length -= strlen(scope);
	if (length < CONTAINER_ID_LENGTH)
		return NULL;
	id = name + length - CONTAINER_ID_LENGTH;
	for (size_t i = 0; i < CONTAINER_ID_LENGTH; i++) {
		if (!is_hex(id[i]))
			return NULL;
	}
	/* A longer number is something else; so is a word that merely ends in such digits. */
	return id == name || id[-1] == '-' || id[-1] == ':' ? id : NULL;
}

static bool is_monitor(const char *name, const char *id)
{
	static const char word[] = "conmon-";
	size_t before = (size_t)(id - name);

	return before >= strlen(word) && !memcmp(id - strlen(word), word, strlen(word));
}

/* Length of the pod UID at text, written with `dash`; 0: there is none. */
static size_t uid_length(const char *text, char dash)
{
	static const size_t groups[] = {8, 4, 4, 4, 12};
	const char *at = text;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		if (i && *at++ != dash)
			return 0;
		if (hex_run(at) != groups[i])
			return 0;
		at += groups[i];
	}
	return (size_t)(at - text);
}

/* The UID at text, up to the end of its name. */
static bool take_uid(const char *text, char uid[POD_UID_MAX_LENGTH + 1])
{
	size_t length = uid_length(text, '-');

	if (!length)
		length = uid_length(text, '_');
	if (!length && hex_run(text) == BARE_UID_LENGTH)
		length = BARE_UID_LENGTH;
	if (!length || !strchr("/.:", text[length]))
		return false;
	memcpy(uid, text, length);
	uid[length] = '\0';
	for (char *at = uid; *at; at++) {
		if (*at == '_')
			*at = '-';
	}
	return true;
}

/* The last one before the container's id. */
static void find_uid(const char *path, const char *id, char uid[POD_UID_MAX_LENGTH + 1])
{
	for (const char *pod = strstr(path, "pod"); pod && pod < id; pod = strstr(pod + 1, "pod")) {
		if (pod > path && (pod[-1] == '/' || pod[-1] == '-'))
			take_uid(pod + strlen("pod"), uid);
	}
}

bool container_id_from_path(const char *path, struct container_id *id)
{
	const char *end = path + strlen(path), *name, *found = NULL;
	struct container_id parsed = {0};

	for (; end > path && !found; end = name - 1) {
		name = end;
		while (name > path && name[-1] != '/')
			name--;
		found = id_at_end(name, (size_t)(end - name));
		if (found && is_monitor(name, found))
			return false;
		if (name == path)
			break;
	}
	if (!found)
		return false;
	memcpy(parsed.id, found, CONTAINER_ID_LENGTH);
	find_uid(path, found, parsed.pod_uid);
	*id = parsed;
	return true;
}
