// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/container.h"

#include <stdlib.h>
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

static void claims_clear(struct container_claims *claims)
{
	free(claims->namespace);
	free(claims->pod);
	free(claims->name);
	*claims = (struct container_claims){0};
}

void container_clear(struct container *container)
{
	free(container->namespace);
	free(container->pod);
	free(container->name);
	container->namespace = container->pod = container->name = NULL;
	claims_clear(&container->claims);
}

void container_free(struct container *container)
{
	if (!container)
		return;
	container_clear(container);
	free(container);
}

static bool copy_text(char **copy, const char *text)
{
	*copy = text ? strdup(text) : NULL;
	return *copy || !text;
}

struct container *container_copy(const struct container *container)
{
	struct container *copy = container ? malloc(sizeof(*copy)) : NULL;

	if (!copy)
		return NULL;
	*copy = *container;
	copy->namespace = copy->pod = copy->name = NULL;
	copy->claims = (struct container_claims){0};
	if (copy_text(&copy->namespace, container->namespace) &&
	    copy_text(&copy->pod, container->pod) && copy_text(&copy->name, container->name) &&
	    copy_text(&copy->claims.namespace, container->claims.namespace) &&
	    copy_text(&copy->claims.pod, container->claims.pod) &&
	    copy_text(&copy->claims.name, container->claims.name))
		return copy;
	container_free(copy);
	return NULL;
}

const struct cgroup_path *container_path(const struct cgroup_paths *paths, struct container_id *id)
{
	for (size_t i = 0; i < paths->list.count; i++) {
		if (container_id_from_path(paths->list.items[i].path, id))
			return &paths->list.items[i];
	}
	return NULL;
}

size_t container_path_length(const char *path, const char *id)
{
	const char *last = path;

	for (const char *at = strstr(path, id); at; at = strstr(at + 1, id))
		last = at;
	return (size_t)(last - path) + strlen(id);
}

void container_claim(struct container *container, enum container_doubt doubt,
		     struct container *claimed)
{
	claims_clear(&container->claims);
	container->doubt = doubt;
	if (doubt) {
		container_clear(container);
		container->claims.namespace = TAKE_PTR(claimed->namespace);
		container->claims.pod = TAKE_PTR(claimed->pod);
		container->claims.name = TAKE_PTR(claimed->name);
	}
	container_clear(claimed);
}

const char *container_proven_id(const struct container *container)
{
	return container && container->doubt != CONTAINER_UNPROVEN ? container->id : NULL;
}

void container_print_name(FILE *out, const struct container *container)
{
	const struct container_claims proven = {container->namespace, container->pod,
						container->name};
	const struct container_claims *names = container->doubt ? &container->claims : &proven;

	if (names->pod)
		fprintf(out, "%s/%s%s%s", names->namespace ? names->namespace : "?", names->pod,
			names->name ? "/" : "", names->name ? names->name : "");
	else
		fprintf(out, "%.*s", names->name ? CONTAINER_NAME_MAX : 12,
			names->name ? names->name : container->id);
	if (container->doubt)
		fputs(" (unproven)", out);
}

const char *container_doubt_reason(const struct container *container)
{
	static const char *const reasons[] = {
		[CONTAINER_PROVEN] = "",
		[CONTAINER_NAMES_UNPROVEN] =
			"its names are only in files, or from a runtime, that others than root "
			"can change",
		[CONTAINER_UNPROVEN] = "others than root can make its control group",
	};
	_Static_assert(ARRAY_SIZE(reasons) == CONTAINER_DOUBT_MAX_, "a reason for every doubt");

	return reasons[container->doubt];
}

void container_name_set(char **name, const char *text, size_t length)
{
	if (!*name && length && length <= CONTAINER_NAME_MAX)
		*name = strndup(text, length);
}
