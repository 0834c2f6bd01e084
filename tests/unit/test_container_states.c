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

#include "proc/cgroup.h"
#include "proc/container_names.h"
#include "proc/container_states.h"
#include "proc/host_file.h"

#define DIRECTORIES 3000

static char top[] = "/tmp/leakmon-states-XXXXXX";
static size_t loads;
static const char *answer; /* a state; NULL: none is written yet */

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
	(void)id;
	loads++;
	*root_only = false;
	if (!answer)
		return -ENOENT;
	*text = strdup(answer);
	*length = strlen(answer);
	return 0;
}

static void make(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int setup(void **state)
{
	char name[32];

	(void)state;
	if (!mkdtemp(top))
		return -1;
	make("1000");
	make("1000/runc");
	for (int i = 0; i < DIRECTORIES; i++) {
		snprintf(name, sizeof(name), "1000/runc/c%d", i);
		make(name);
	}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directories_without_a_state_are_not_read_at_every_look),
		cmocka_unit_test(large_states_of_a_user_are_read_up_to_a_limit),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
