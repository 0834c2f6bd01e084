// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/container.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "process/proc/container_names.h"
#include "process/proc/container_states.h"

/* Static pods have a hash of their manifest: the digits without dashes. */
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

/* Returns the id at the end of the component name[0..length), or NULL. */
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
	/* A longer number is not an id; nor is a word that merely ends in such digits. */
	return id == name || id[-1] == '-' || id[-1] == ':' ? id : NULL;
}

static bool is_monitor(const char *name, const char *id)
{
	static const char word[] = "conmon-";
	size_t before = (size_t)(id - name);

	return before >= strlen(word) && !memcmp(id - strlen(word), word, strlen(word));
}

/* Returns the length of the pod UID at text, written with `dash`; 0: none. */
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

/* Takes the UID at text, up to the end of its name. */
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

/* Finds the last one before the container's id. */
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
	parsed.group_length = (size_t)(found - path) + CONTAINER_ID_LENGTH;
	find_uid(path, found, parsed.pod_uid);
	*id = parsed;
	return true;
}

/* The texts that a container owns: its own names, then the claimed ones. */
#define OWN_TEXTS 3
#define TEXTS 6
struct texts {
	char **of[TEXTS];
};

static struct texts texts_of(struct container *container)
{
	return (struct texts){{&container->namespace, &container->pod, &container->name,
			       &container->claims.namespace, &container->claims.pod,
			       &container->claims.name}};
}

static void texts_clear(struct container *container, size_t first)
{
	struct texts texts = texts_of(container);

	for (size_t i = first; i < TEXTS; i++) {
		free(*texts.of[i]);
		*texts.of[i] = NULL;
	}
}

void container_free(struct container *container)
{
	if (!container)
		return;
	texts_clear(container, 0);
	free(container);
}

struct container *container_copy(const struct container *container)
{
	struct container *copy = container ? malloc(sizeof(*copy)) : NULL;
	struct texts texts;
	bool failed = false;

	if (!copy)
		return NULL;
	*copy = *container;
	texts = texts_of(copy);
	for (size_t i = 0; i < TEXTS; i++) {
		const char *text = *texts.of[i];

		*texts.of[i] = text ? strdup(text) : NULL;
		failed |= text && !*texts.of[i];
	}
	if (!failed)
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

void container_claim(struct container *container, enum container_doubt doubt,
		     struct container *claimed)
{
	texts_clear(container, doubt ? 0 : OWN_TEXTS);
	container->doubt = doubt;
	if (doubt)
		container->claims =
			(struct container_claims){TAKE_PTR(claimed->namespace),
						  TAKE_PTR(claimed->pod), TAKE_PTR(claimed->name)};
	texts_clear(claimed, 0);
}

const char *container_proven_id(const struct container *container)
{
	return container && container->doubt != CONTAINER_UNPROVEN ? container->id : NULL;
}

bool container_is_named_by_id(const struct container *container)
{
	const char *name = container->doubt ? container->claims.name : container->name;

	return name && !strcmp(name, container->id);
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

/* Far more than a node runs: the excess are containers that ended long ago. */
#define CACHE_MAX 4096

/* A bundle may be written, or become readable, later; retrying each time would be expensive. */
#define RETRY_SECONDS 60

struct cached {
	struct container container;
	/*
	 * The cgroup, up to the id. A user who may create cgroups can name one after another
	 * container: it must not answer for the real one.
	 */
	char *group;
	time_t retry_at; /* CLOCK_MONOTONIC; 0: never */
};

struct container_cache {
	VEC(struct cached *) list;
	struct hash places; /* hash of the group -> index in list, +1 */
	struct container_states *states;
};

static void cached_free(struct cached *cached)
{
	if (!cached)
		return;
	texts_clear(&cached->container, 0);
	free(cached->group);
	free(cached);
}

struct container_cache *container_cache_new(void)
{
	struct container_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->states = container_states_new();
	if (cache->states)
		return cache;
	free(cache);
	return NULL;
}

static void cache_clear(struct container_cache *cache)
{
	for (size_t i = 0; i < cache->list.count; i++)
		cached_free(cache->list.items[i]);
	vec_free(&cache->list);
	hash_free(&cache->places);
}

void container_cache_free(struct container_cache *cache)
{
	if (!cache)
		return;
	cache_clear(cache);
	container_states_free(cache->states);
	free(cache);
}

static time_t now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Hashes may collide: the next keys are then tried. */
static struct cached *cache_get(const struct container_cache *cache, const char *group,
				uint64_t *key)
{
	uint64_t *place;

	for (*key = hash_text(group); (place = hash_get(&cache->places, *key)); (*key)++) {
		struct cached *cached = cache->list.items[*place - 1];

		if (!strcmp(cached->group, group))
			return cached;
	}
	return NULL;
}

/* Takes ownership of group. Returns NULL if out of memory. */
static struct cached *cache_add(struct container_cache *cache, const struct container_id *id,
				char *group)
{
	struct cached *cached = calloc(1, sizeof(*cached)), **slot = NULL;
	uint64_t key, *place;

	if (cache->list.count == CACHE_MAX)
		cache_clear(cache);
	cache_get(cache, group, &key);
	place = hash_put(&cache->places, key, NULL);
	slot = cached && place ? vec_push(&cache->list) : NULL;
	if (!slot) {
		cache_clear(cache); /* a dangling key would make it unusable */
		free(cached);
		free(group);
		return NULL;
	}
	*place = cache->list.count;
	*slot = cached;
	cached->group = group;
	memcpy(cached->container.id, id->id, sizeof(id->id));
	memcpy(cached->container.pod_uid, id->pod_uid, sizeof(id->pod_uid));
	return cached;
}

static void look_up(struct cached *cached, pid_t pid, const struct cgroup_path *path,
		    const struct container_id *id)
{
	container_names_find(pid, path, id, &cached->container);
	cached->retry_at = cached->container.name ? 0 : now_seconds() + RETRY_SECONDS;
}

/*
 * The id, the hierarchy and the container's own part of the path: everything below belongs to it.
 */
static char *group_of(const struct cgroup_path *path, const struct container_id *id)
{
	char *group = NULL;

	if (asprintf(&group, "%s:%u:%.*s", id->id, path->hierarchy, (int)id->group_length,
		     path->path) < 0)
		return NULL;
	return group;
}

const struct container *container_find_by_paths(struct container_cache *cache, pid_t pid,
						const struct cgroup_paths *paths,
						struct container_id *known)
{
	_cleanup_free_ char *group = NULL;
	struct container_id id;
	const struct cgroup_path *path = container_path(paths, &id);
	struct cached *cached;
	uint64_t key;

	if (!path)
		path = container_states_find(cache->states, paths, &id);
	if (!path)
		return NULL;
	group = group_of(path, &id);
	if (!group)
		return NULL;
	if (known)
		*known = id;
	cached = cache_get(cache, group, &key);
	if (cached && (!cached->retry_at || now_seconds() < cached->retry_at))
		return &cached->container;
	if (!cached)
		cached = cache_add(cache, &id, TAKE_PTR(group));
	if (!cached)
		return NULL;
	look_up(cached, pid, path, &id);
	return &cached->container;
}

const struct container *container_find(struct container_cache *cache, pid_t pid)
{
	_cleanup_(cgroup_paths_free) struct cgroup_paths paths = {0};

	if (cgroup_paths_read(pid, &paths))
		return NULL;
	return container_find_by_paths(cache, pid, &paths, NULL);
}
