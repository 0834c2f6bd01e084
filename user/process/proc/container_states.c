// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/container_states.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "process/proc/container_names.h"
#include "process/proc/host_file.h"
#include "process/proc/mounts.h"

/* A state is written after its directory was created, and users' directories come and go. */
#define GOOD_FOR_SECONDS 5
/* More containers without a generated id than machines have. */
#define STATES_MAX 4096
/* More than the number of control group hierarchies. */
#define GROUPS_MAX 64
#define USERS_MAX 1024
#define STATE_COST 4096u      /* overhead in bytes charged for each */
#define USER_BYTES (4u << 20) /* limit of states read from one user's directory */

#define ROOTS 3

struct state {
	char id[CONTAINER_ID_LENGTH + 1];
	char *group; /* as in /proc/PID/cgroup */
	bool root_only;
};

struct container_states {
	VEC(struct state) list;
	bool read, settled; /* all directories of root had a readable state */
	struct timespec changed[ROOTS];
	time_t read_at; /* CLOCK_MONOTONIC */
	char *mountinfo;
};

/* containerd's default namespace: `ctr run` lets an operator choose the id, too. */
static const char *const roots[ROOTS] = {"/run/runc", "/run/crun", "/run/containerd/runc/default"};

static void states_clear(struct container_states *states)
{
	for (size_t i = 0; i < states->list.count; i++)
		free(states->list.items[i].group);
	vec_free(&states->list);
	free(states->mountinfo);
	states->mountinfo = NULL;
}

struct container_states *container_states_new(void)
{
	return calloc(1, sizeof(struct container_states));
}

void container_states_free(struct container_states *states)
{
	if (!states)
		return;
	states_clear(states);
	free(states);
}

int container_state_read(const char *text, size_t length,
			 void (*take)(void *context, const char *group, bool mounted),
			 void *context)
{
	json_t *state = json_loadb(text, length, 0, NULL), *value;
	const char *path = json_string_value(json_object_get(state, "cgroup-path")), *key;
	int error = json_is_object(state) ? 0 : -EINVAL;

	if (path)
		take(context, path, false);
	json_object_foreach(json_object_get(state, "cgroup_paths"), key, value)
	{
		if (json_is_string(value))
			take(context, json_string_value(value), true);
	}
	json_decref(state);
	return error;
}

/* A generated id is in the cgroup's path, too, with its pod. */
static bool is_chosen(const char *name)
{
	size_t length = strlen(name);

	if (!isalnum((unsigned char)*name) || length > CONTAINER_ID_LENGTH)
		return false;
	return length < CONTAINER_ID_LENGTH || strspn(name, "0123456789abcdef") != length;
}

struct taking {
	struct container_states *states;
	const char *id;
	size_t groups;
	bool root_only;
};

static bool is_known(const struct container_states *states, const char *id, const char *group)
{
	for (size_t i = 0; i < states->list.count; i++) {
		if (!strcmp(states->list.items[i].id, id) &&
		    !strcmp(states->list.items[i].group, group))
			return true;
	}
	return false;
}

/* The root of a hierarchy would contain every process. */
static void take_group(void *context, const char *text, bool mounted)
{
	struct taking *taking = context;
	struct container_states *states = taking->states;
	_cleanup_free_ char *group =
		mounted ? cgroup_path_from_argument(text, states->mountinfo) : strdup(text);
	struct state *state;

	while (group && *group && group[strlen(group) - 1] == '/')
		group[strlen(group) - 1] = '\0';
	if (!group || *group != '/' || states->list.count == STATES_MAX ||
	    taking->groups == GROUPS_MAX || is_known(states, taking->id, group))
		return;
	taking->groups++;
	state = vec_push(&states->list);
	if (!state)
		return;
	*state = (struct state){.group = TAKE_PTR(group), .root_only = taking->root_only};
	snprintf(state->id, sizeof(state->id), "%s", taking->id);
}

/* Returns false if there is no state yet. */
static bool state_read(struct container_states *states, const char *root, const char *id,
		       size_t *length)
{
	struct taking taking = {.states = states, .id = id};
	_cleanup_free_ char *text = NULL;

	*length = 0;
	return !oci_state_load(root, id, &text, length, &taking.root_only) &&
	       !container_state_read(text, *length, take_group, &taking);
}

/*
 * Reads up to `bytes` of states: a user can fill a directory. Returns false if some are not written
 * yet.
 */
static bool root_read(struct container_states *states, const char *root, size_t bytes)
{
	bool root_only, settled = true;
	_cleanup_closedir_ DIR *directory = host_directory_open(root, &root_only);
	struct dirent *entry;

	for (size_t i = 0; directory && i < STATES_MAX && bytes && (entry = readdir(directory));
	     i++) {
		size_t length;

		if (!is_chosen(entry->d_name))
			continue;
		settled &= state_read(states, root, entry->d_name, &length);
		bytes -= MIN(bytes, length + STATE_COST);
	}
	return settled;
}

static void users_read(struct container_states *states)
{
	bool root_only;
	_cleanup_closedir_ DIR *directory = host_directory_open("/run/user", &root_only);
	struct dirent *entry;

	for (size_t i = 0; directory && i < USERS_MAX && (entry = readdir(directory)); i++) {
		for (size_t j = 0; isdigit((unsigned char)entry->d_name[0]) && j < 2; j++) {
			char root[sizeof("/run/user//runc") + NAME_MAX];

			snprintf(root, sizeof(root), "/run/user/%s/%s", entry->d_name,
				 j ? "crun" : "runc");
			root_read(states, root, USER_BYTES);
		}
	}
}

/* Returns whether a container was added to or removed from root's directories. */
static bool has_changed(struct container_states *states)
{
	bool changed = false;

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		struct stat status = {0};

		if (stat(roots[i], &status))
			status.st_mtim = (struct timespec){0};
		changed |= status.st_mtim.tv_sec != states->changed[i].tv_sec ||
			   status.st_mtim.tv_nsec != states->changed[i].tv_nsec;
		states->changed[i] = status.st_mtim;
	}
	return changed;
}

/* The innermost of nested groups comes first, then a state of root's. */
static int compare_states(const void *left_pointer, const void *right_pointer)
{
	const struct state *left = left_pointer, *right = right_pointer;
	size_t lengths[2] = {strlen(left->group), strlen(right->group)};

	if (lengths[0] != lengths[1])
		return lengths[0] > lengths[1] ? -1 : 1;
	if (left->root_only != right->root_only)
		return left->root_only ? -1 : 1;
	return strcmp(left->id, right->id);
}

static void states_refresh(struct container_states *states)
{
	bool changed = has_changed(states);
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (states->read && states->settled && !changed &&
	    now.tv_sec - states->read_at < GOOD_FOR_SECONDS)
		return;
	states_clear(states);
	states->read = states->settled = true;
	states->read_at = now.tv_sec;
	if (small_file_read("/proc/self/mountinfo", MOUNTINFO_MAX_BYTES, &states->mountinfo))
		states->mountinfo = strdup("");
	if (!states->mountinfo)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		states->settled &= root_read(states, roots[i], SIZE_MAX);
	/* Unfinished states of users do not shorten the interval. */
	users_read(states);
	if (states->list.count)
		qsort(states->list.items, states->list.count, sizeof(*states->list.items),
		      compare_states);
}

/* A user's state counts only for the user's own cgroups. */
static bool is_credible(const struct state *state, const struct cgroup_path *path)
{
	return state->root_only || cgroup_makers_of(path, strlen(state->group)) == CGROUP_OTHERS;
}

/*
 * Finds the innermost of nested containers. Whoever can create a group can create groups below it:
 * once one user's state is not credible, neither are those above.
 */
static const struct state *innermost(const struct container_states *states,
				     const struct cgroup_path *path)
{
	bool asked = false;

	for (size_t i = 0; i < states->list.count; i++) {
		const struct state *state = &states->list.items[i];

		if ((asked && !state->root_only) || !cgroup_is_within(path->path, state->group))
			continue;
		if (is_credible(state, path))
			return state;
		asked = true;
	}
	return NULL;
}

const struct cgroup_path *container_states_find(struct container_states *states,
						const struct cgroup_paths *paths,
						struct container_id *id)
{
	states_refresh(states);
	for (size_t i = 0; states->list.count && i < paths->list.count; i++) {
		const struct cgroup_path *path = &paths->list.items[i];
		const struct state *state = innermost(states, path);

		if (!state)
			continue;
		*id = (struct container_id){
			.source = state->root_only ? CONTAINER_BY_STATE : CONTAINER_BY_CLAIM,
			.group_length = strlen(state->group),
		};
		memcpy(id->id, state->id, sizeof(id->id));
		return path;
	}
	return NULL;
}
