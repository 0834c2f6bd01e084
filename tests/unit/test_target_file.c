// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "process/proc/file_opener.h"
#include "process/proc/target_file.h"

/* A directory with one file of one page, which is mapped. */
struct scene {
	char directory[64], path[128];
	void *mapped;
	ino_t inode;
};

static int write_page(const char *path, char fill, ino_t *inode)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat status;
	char page[4096];

	memset(page, fill, sizeof(page));
	if (fd < 0 || write(fd, page, sizeof(page)) != sizeof(page) || fstat(fd, &status))
		return -1;
	*inode = status.st_ino;
	return TAKE_FD(fd);
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	int fd;

	snprintf(scene->directory, sizeof(scene->directory), "/tmp/leakmon-test-XXXXXX");
	assert_non_null(mkdtemp(scene->directory));
	snprintf(scene->path, sizeof(scene->path), "%s/a \nb", scene->directory);
	fd = write_page(scene->path, 'A', &scene->inode);
	scene->mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	*state = scene;
	return scene->mapped == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	munmap(scene->mapped, 4096);
	unlink(scene->path);
	rmdir(scene->directory);
	free(scene);
	return 0;
}

/* The scene's mapping as maps shows it; owned by *maps. */
static struct mapping *find(const struct scene *scene, struct maps *maps)
{
	assert_int_equal(maps_read(getpid(), MAPS_ALL, maps), 0);
	for (size_t i = 0; i < maps->list.count; i++) {
		if (maps->list.items[i].start == (uintptr_t)scene->mapped)
			return &maps->list.items[i];
	}
	fail();
	return NULL;
}

static char first_byte(int fd)
{
	char byte = 0;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, 0), 1);
	close(fd);
	return byte;
}

static void a_mapped_file_is_opened(void **state)
{
	_cleanup_(maps_free) struct maps maps = {0};
	const struct mapping *mapping = find(*state, &maps);

	assert_int_equal(first_byte(target_file_open_mapping(live_memory(getpid()), mapping)), 'A');
}

static void a_deleted_or_replaced_file_is_opened_through_map_files(void **state)
{
	_cleanup_(maps_free) struct maps maps = {0};
	struct scene *scene = *state;
	const struct mapping *mapping;
	ino_t other;

	if (geteuid() != 0)
		skip();
	unlink(scene->path);
	close(write_page(scene->path, 'B', &other));
	mapping = find(scene, &maps);
	assert_int_equal(first_byte(target_file_open_mapping(live_memory(getpid()), mapping)), 'A');
}

/* With a range that is not mapped, only the path remains. */
static void the_path_serves_only_if_it_leads_to_the_same_inode(void **state)
{
	_cleanup_(maps_free) struct maps maps = {0};
	struct scene *scene = *state;
	struct mapping *mapping = find(scene, &maps);
	ino_t other;

	mapping->start = 0x1000;
	mapping->end = 0x2000;
	assert_int_equal(first_byte(target_file_open_mapping(live_memory(getpid()), mapping)), 'A');
	mapping->inode++;
	assert_int_equal(target_file_open_mapping(live_memory(getpid()), mapping), -ESTALE);
	mapping->inode = 0;
	assert_int_equal(target_file_open_mapping(live_memory(getpid()), mapping), -ENOENT);
	mapping->inode = scene->inode;
	unlink(scene->path);
	assert_int_equal(target_file_open_mapping(live_memory(getpid()), mapping), -ENOENT);
	close(write_page(scene->path, 'B', &other));
	mapping->inode = other + 1;
	assert_int_equal(target_file_open_mapping(live_memory(getpid()), mapping), -ESTALE);
}

static void a_link_at_the_mapped_path_is_not_followed(void **state)
{
	_cleanup_(maps_free) struct maps maps = {0};
	struct scene *scene = *state;
	struct mapping *mapping = find(scene, &maps);
	char moved[160];

	snprintf(moved, sizeof(moved), "%s.moved", scene->path);
	assert_int_equal(rename(scene->path, moved), 0);
	assert_int_equal(symlink(moved, scene->path), 0);
	mapping->start = 0x1000;
	mapping->end = 0x2000;
	assert_int_equal(target_file_open_mapping(live_memory(getpid()), mapping), -ESTALE);
	unlink(moved);
}

static void nothing_but_a_regular_file_is_opened(void **state)
{
	struct scene *scene = *state;

	unlink(scene->path);
	assert_int_equal(mkfifo(scene->path, 0600), 0);
	/* Would wait for a writer for ever. */
	assert_int_equal(target_file_open_path(getpid(), scene->path), -EINVAL);
	assert_int_equal(target_file_open_path(0, "/dev/null"), -EINVAL);
	assert_int_equal(target_file_open_path(0, "/tmp"), -EINVAL);
	assert_int_equal(target_file_open_path(0, "/proc/self/exe"), -ELOOP);
}

static void a_path_is_opened_as_the_process_sees_it(void **state)
{
	struct scene *scene = *state;
	char link[160], dots[192];

	snprintf(link, sizeof(link), "%s/link", scene->directory);
	assert_int_equal(symlink("./a \nb", link), 0);
	assert_int_equal(first_byte(target_file_open_path(getpid(), link)), 'A');
	assert_int_equal(first_byte(target_file_open_path(0, link)), 'A');
	unlink(link);
	snprintf(dots, sizeof(dots), "/../../../..%s", scene->path);
	assert_int_equal(first_byte(target_file_open_path(getpid(), dots)), 'A');
	assert_int_equal(target_file_open_path(getpid(), link), -ENOENT);
	assert_int_equal(target_file_open_path(0x7fffffff, scene->path), -ENOENT);
}

#define SCENE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static int open_beside(void **state)
{
	file_opener_use();
	return set_up(state);
}

static int stop_beside(void **state)
{
	file_opener_stop();
	return tear_down(state);
}

static void a_process_beside_that_was_killed_is_replaced(void **state)
{
	const struct scene *scene = *state;
	pid_t before;

	assert_int_equal(first_byte(target_file_open_path(0, scene->path)), 'A');
	before = file_opener_pid();
	assert_int_not_equal(before, 0);
	assert_int_equal(kill(before, SIGKILL), 0);
	assert_int_equal(first_byte(target_file_open_path(0, scene->path)), 'A');
	assert_int_not_equal(file_opener_pid(), before);
}

static void a_process_beside_that_hangs_costs_one_file_system_for_a_minute(void **state)
{
	const struct scene *scene = *state;
	pid_t before;

	assert_int_equal(first_byte(target_file_open_path(0, scene->path)), 'A');
	before = file_opener_pid();
	assert_int_equal(kill(before, SIGSTOP), 0);
	assert_int_equal(target_file_open_path(0, scene->path), -ETIMEDOUT);
	assert_int_equal(target_file_open_path(0, scene->path), -ETIMEDOUT);
	assert_int_equal(file_opener_pid(), 0);
	/* Another one is opened by another process. */
	assert_int_equal(target_file_open_path(0x7fffffff, scene->path), -ENOENT);
	assert_int_not_equal(file_opener_pid(), 0);
}

static void a_path_or_directory_that_is_too_long_is_refused(void **state)
{
	static char path[PATH_MAX + 1];

	(void)state;
	memset(path, '/', PATH_MAX);
	assert_int_equal(target_file_open_path(0, path), -ENAMETOOLONG);
}

#define SCENE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
#define BESIDE_TEST(function)                                                                      \
	{                                                                                          \
		"beside: " #function, function, open_beside, stop_beside, NULL                     \
	}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(a_mapped_file_is_opened),
		SCENE_TEST(a_deleted_or_replaced_file_is_opened_through_map_files),
		SCENE_TEST(the_path_serves_only_if_it_leads_to_the_same_inode),
		SCENE_TEST(a_link_at_the_mapped_path_is_not_followed),
		SCENE_TEST(nothing_but_a_regular_file_is_opened),
		SCENE_TEST(a_path_is_opened_as_the_process_sees_it),
		SCENE_TEST(a_path_or_directory_that_is_too_long_is_refused),
		BESIDE_TEST(a_mapped_file_is_opened),
		BESIDE_TEST(a_deleted_or_replaced_file_is_opened_through_map_files),
		BESIDE_TEST(the_path_serves_only_if_it_leads_to_the_same_inode),
		BESIDE_TEST(nothing_but_a_regular_file_is_opened),
		BESIDE_TEST(a_path_is_opened_as_the_process_sees_it),
		BESIDE_TEST(a_process_beside_that_was_killed_is_replaced),
		BESIDE_TEST(a_process_beside_that_hangs_costs_one_file_system_for_a_minute),
	};

	target_file_opener_enter(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
