// SPDX-License-Identifier: GPL-2.0-or-later
/* States of containers under names that were chosen: a user fills the directory of the own ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc/cgroup.h"
#include "process/proc/container_names.h"
#include "process/proc/container_states.h"
#include "process/proc/host_file.h"

#define DIRECTORIES 3000

static char top[] = "/tmp/leakmon-states-XXXXXX";
static size_t loads, unchosen, asked;
static const char *answer; /* a state; NULL: none is written yet */
static bool is_chosen_loaded;
static enum cgroup_makers makers;

/* Ids that runtimes make, and names that no runtime takes. */
static const char *const unchosen_names[] = {
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	"x0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	"-web",
	".web",
	"_web",
};
static const char chosen_name[] =
	"x123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* /run/user is a directory with one user, and that one's /run/user/1000/runc another. */
DIR *host_directory_open(const char *path, bool *root_only)
{
	char place[64];

	*root_only = false;
	if (strncmp(path, "/run/user", 9) != 0)
		return NULL;
	snprintf(place, sizeof(place), "%s/%s", top, path + 9);
	return opendir(place);
}

int oci_state_load(const char *root, const char *id, char **text, size_t *length, bool *root_only)
{
	(void)root;
	loads++;
	for (size_t i = 0; i < ARRAY_SIZE(unchosen_names); i++)
		unchosen += !strcmp(id, unchosen_names[i]);
	is_chosen_loaded |= !strcmp(id, chosen_name);
	*root_only = false;
	if (!answer)
		return -ENOENT;
	*text = strdup(answer);
	*length = strlen(answer);
	return 0;
}

enum cgroup_makers cgroup_makers_of(const struct cgroup_path *path, size_t length)
{
	(void)path;
	(void)length;
	asked++;
	return makers;
}

static void make(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int setup(void **state)
{
	char name[96];

	(void)state;
	if (!mkdtemp(top))
		return -1;
	make("1000");
	make("1000/runc");
	for (int i = 0; i < DIRECTORIES; i++) {
		snprintf(name, sizeof(name), "1000/runc/c%d", i);
		make(name);
	}
	make("1001");
	make("1001/runc");
	for (size_t i = 0; i < ARRAY_SIZE(unchosen_names); i++) {
		snprintf(name, sizeof(name), "1001/runc/%s", unchosen_names[i]);
		make(name);
	}
	snprintf(name, sizeof(name), "1001/runc/%s", chosen_name);
	make(name);
	return 0;
}

static int teardown(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static size_t loads_of_two_looks(void)
{
	struct container_states *states = container_states_new();
	const struct cgroup_paths paths = {0};
	struct container_id id;

	assert_non_null(states);
	loads = 0;
	for (int i = 0; i < 2; i++)
		assert_null(container_states_find(states, &paths, &id));
	container_states_free(states);
	return loads;
}

static void directories_without_a_state_are_not_read_at_every_look(void **state)
{
	(void)state;
	answer = NULL;
	assert_in_range(loads_of_two_looks(), 100, DIRECTORIES);
}

static void large_states_of_a_user_are_read_up_to_a_limit(void **state)
{
	static char large[512 << 10];

	(void)state;
	memset(large, ' ', sizeof(large) - 1);
	answer = large;
	assert_in_range(loads_of_two_looks(), 4, 20);
}

static void names_that_nobody_chose_are_not_read(void **state)
{
	(void)state;
	answer = NULL;
	unchosen = 0;
	is_chosen_loaded = false;
	loads_of_two_looks();
	assert_int_equal(unchosen, 0);
	assert_true(is_chosen_loaded);
}

/* A thousand states all claim the same group. */
static void the_makers_of_a_group_are_asked_for_once(void **state)
{
	struct container_states *states = container_states_new();
	struct cgroup_path path = {.path = (char[]){"/user/a/b"}};
	const struct cgroup_paths paths = {{&path, 1, 1}};
	struct container_id id = {.group_length = 99};

	(void)state;
	answer = "{\"cgroup_paths\": {\"x\": \"/user\", \"y\": \"/user/a\", \"z\": \"/else\"}}";
	assert_non_null(states);
	for (int i = 0; i < 2; i++) {
		asked = 0;
		makers = i ? CGROUP_OTHERS : CGROUP_ROOT_ONLY;
		assert_ptr_equal(container_states_find(states, &paths, &id), i ? &path : NULL);
		assert_int_equal(asked, 1);
	}
	/* The innermost. */
	assert_int_equal(id.group_length, strlen("/user/a"));
	assert_int_equal(id.source, CONTAINER_BY_CLAIM);
	container_states_free(states);
}

static void a_state_names_a_limited_number_of_groups(void **state)
{
	struct container_states *states = container_states_new();
	struct cgroup_path path = {.path = (char[]){"/g99"}};
	const struct cgroup_paths paths = {{&path, 1, 1}};
	struct container_id id;
	char text[4096] = "{\"cgroup_paths\": {", *end = text + strlen(text);

	(void)state;
	assert_non_null(states);
	for (int i = 0; i < 100; i++)
		end += sprintf(end, "%s\"%d\": \"/g%d\"", i ? "," : "", i, i);
	strcpy(end, "}}");
	answer = text;
	makers = CGROUP_OTHERS;
	assert_null(container_states_find(states, &paths, &id));
	memcpy(path.path, "/g9", sizeof("/g9"));
	assert_ptr_equal(container_states_find(states, &paths, &id), &path);
	container_states_free(states);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directories_without_a_state_are_not_read_at_every_look),
		cmocka_unit_test(large_states_of_a_user_are_read_up_to_a_limit),
		cmocka_unit_test(names_that_nobody_chose_are_not_read),
		cmocka_unit_test(the_makers_of_a_group_are_asked_for_once),
		cmocka_unit_test(a_state_names_a_limited_number_of_groups),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
