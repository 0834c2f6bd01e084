// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/container_cache.h"

#include <time.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "proc/container_names.h"

/* Many more than a node runs: what is above are containers that ended long ago. */
#define CACHE_MAX 4096
/* A bundle may be written, or become readable, later; asking each time would not be cheap. */
#define RETRY_SECONDS 60

struct cached {
	struct container container;
	/*
	 * The cgroup, up to the id. Who may make cgroups can give one the name of a container that
	 * is not theirs: it must not answer for the real one.
	 */
	char *group;
	time_t retry_at; /* CLOCK_MONOTONIC; 0: never */
};

struct container_cache {
	VEC(struct cached *) list;
	struct hash places; /* hash of the group -> place in list, +1 */
};

static void cached_free(struct cached *cached)
{
	if (!cached)
		return;
	container_clear(&cached->container);
	free(cached->group);
	free(cached);
}

struct container_cache *container_cache_new(void)
{
	return calloc(1, sizeof(struct container_cache));
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
	free(cache);
}

static time_t now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* FNV-1a */
static uint64_t key_of(const char *text)
{
	uint64_t key = 0xcbf29ce484222325;

	for (; *text; text++)
		key = (key ^ (uint8_t)*text) * 0x100000001b3;
	return key;
}

/* Hashes may collide: the next keys are tried then. */
static struct cached *cache_get(const struct container_cache *cache, const char *group,
				uint64_t *key)
{
	uint64_t *place;

	for (*key = key_of(group); (place = hash_get(&cache->places, *key)); (*key)++) {
		struct cached *cached = cache->list.items[*place - 1];

		if (!strcmp(cached->group, group))
			return cached;
	}
	return NULL;
}

/* Takes group over. NULL: out of memory. */
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
		cache_clear(cache); /* with a key that leads nowhere, it would be of no use */
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

static void look_up(struct cached *cached, pid_t pid, const struct cgroup_path *path)
{
	container_names_find(pid, path, &cached->container);
	cached->retry_at = cached->container.name ? 0 : now_seconds() + RETRY_SECONDS;
}

/* The hierarchy and the path up to the id: what is below belongs to the container too. */
static char *group_of(const struct cgroup_path *path, const char *id)
{
	char *group = NULL;

	if (asprintf(&group, "%u:%.*s", path->hierarchy, (int)container_path_length(path->path, id),
		     path->path) < 0)
		return NULL;
	return group;
}

const struct container *container_find_by_paths(struct container_cache *cache, pid_t pid,
						const struct cgroup_paths *paths)
{
	_cleanup_free_ char *group = NULL;
	struct container_id id;
	const struct cgroup_path *path = container_path(paths, &id);
	struct cached *cached;
	uint64_t key;

	if (!path)
		return NULL;
	group = group_of(path, id.id);
	if (!group)
		return NULL;
	cached = cache_get(cache, group, &key);
	if (cached && (!cached->retry_at || now_seconds() < cached->retry_at))
		return &cached->container;
	if (!cached)
		cached = cache_add(cache, &id, TAKE_PTR(group));
	if (!cached)
		return NULL;
	look_up(cached, pid, path);
	return &cached->container;
}

const struct container *container_find(struct container_cache *cache, pid_t pid)
{
	_cleanup_(cgroup_paths_free) struct cgroup_paths paths = {0};

	if (cgroup_paths_read(pid, &paths))
		return NULL;
	return container_find_by_paths(cache, pid, &paths);
}
