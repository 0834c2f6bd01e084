// SPDX-License-Identifier: GPL-2.0-or-later
/* The files that stay open, and the data kept about them, as processes come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "process/target/dso.h"
#include "unit/naming_fixture.h"

static char directory[] = "/tmp/leakmon-modules-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(directory);
}

/* Opens a separate file for each number, unlinked at once. */
static int open_file(int number)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%d", directory, number);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096 + number), 0);
	unlink(path);
	return fd;
}

static size_t open_files(void)
{
	_cleanup_closedir_ DIR *opened = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(opened))
		count++;
	return count;
}

static struct dso_cache new_cache(void)
{
	return (struct dso_cache){.keeps_files = true, .vdso_fd = -1};
}

static struct dso *add(struct dso_cache *cache, int fd)
{
	struct dso *dso = dso_add(cache, fcntl(fd, F_DUPFD_CLOEXEC, 0), DSO_SYMBOLS);

	assert_non_null(dso);
	return dso;
}

static void one_file_is_one_dso_however_often_it_is_added(void **state)
{
	struct dso_cache cache = new_cache();
	int fd = open_file(0);
	struct dso *first = add(&cache, fd), *second = add(&cache, fd);

	(void)state;
	assert_ptr_equal(first, second);
	assert_int_equal(first->facets[DSO_SYMBOLS].users, 2);
	assert_int_equal(cache.list.count, 1);
	assert_int_equal(cache.open_files, 1);
	assert_int_equal(ftruncate(fd, 100), 0); /* another version of it */
	second = add(&cache, fd);
	assert_ptr_not_equal(first, second);
	assert_int_not_equal(first->number, second->number);
	assert_int_equal(cache.open_files, 2);
	close(fd);
	dso_cache_free(&cache);
}

/* Size and time of modification are the same; a plan for the old code would kill the new one. */
static void a_file_written_to_in_secret_is_another_dso(void **state)
{
	struct dso_cache cache = new_cache();
	int fd = open_file(0);
	struct dso *first = add(&cache, fd);
	struct timespec times[2];
	struct stat before, after;

	(void)state;
	assert_int_equal(fstat(fd, &before), 0);
	do { /* until the clock of the file system has moved on */
		assert_int_equal(pwrite(fd, "code", 4, 0), 4);
		assert_int_equal(fstat(fd, &after), 0);
	} while (!memcmp(&before.st_ctim, &after.st_ctim, sizeof(before.st_ctim)));
	times[0] = before.st_atim;
	times[1] = before.st_mtim;
	assert_int_equal(futimens(fd, times), 0);
	assert_ptr_not_equal(add(&cache, fd), first);
	assert_int_equal(cache.list.count, 2);
	close(fd);
	dso_cache_free(&cache);
}

static void the_file_of_what_nobody_holds_is_closed_and_opened_again_for_the_next(void **state)
{
	struct dso_cache cache = new_cache();
	int fd = open_file(0);
	size_t before = open_files();
	struct dso *dso = add(&cache, fd);

	(void)state;
	dso_hold(&cache, dso, DSO_SYMBOLS);
	dso_release(&cache, dso, DSO_SYMBOLS);
	assert_int_equal(cache.unused[DSO_SYMBOLS], 0);
	assert_int_equal(open_files(), before + 1);
	dso_release(&cache, dso, DSO_SYMBOLS);
	assert_int_equal(cache.unused[DSO_SYMBOLS], 1);
	assert_int_equal(open_files(), before);
	assert_ptr_equal(add(&cache, fd), dso);
	assert_int_equal(cache.unused[DSO_SYMBOLS], 0);
	assert_int_equal(open_files(), before + 1);
	close(fd);
	dso_cache_free(&cache);
}

static void of_files_that_come_and_go_only_the_latest_64_are_kept(void **state)
{
	struct dso_cache cache = new_cache();
	size_t before = open_files();
	struct dso *held = dso_add(&cache, open_file(0), DSO_SYMBOLS);

	(void)state;
	for (int i = 1; i <= 1000; i++)
		dso_release(&cache, dso_add(&cache, open_file(i), DSO_SYMBOLS), DSO_SYMBOLS);
	assert_int_equal(cache.list.count, 65);
	assert_int_equal(cache.index.count, 65);
	assert_int_equal(cache.unused[DSO_SYMBOLS], 64);
	assert_int_equal(open_files(), before + 1);
	for (size_t i = 0; i < cache.list.count; i++) {
		const struct dso *dso = cache.list.items[i];

		assert_int_equal(dso->place, i);
		assert_true(dso == held || dso->identity.size > 4096 + 1000 - 64);
	}
	dso_cache_free(&cache);
	assert_int_equal(open_files(), before);
}

struct facet_counts {
	int released, idle;
};

static void count_release(void *value, void *context)
{
	struct facet_counts *counts = context;

	assert_ptr_equal(value, counts);
	counts->released++;
}

static void count_idle(void *value, void *context)
{
	struct facet_counts *counts = context;

	assert_ptr_equal(value, counts);
	counts->idle++;
}

static size_t six_mib(const void *value)
{
	(void)value;
	return 6u << 20;
}

static size_t forty_mib(const void *value)
{
	(void)value;
	return 40u << 20;
}

static void large_facets_that_nobody_holds_are_kept_up_to_16_mib_or_one(void **state)
{
	static const struct {
		size_t (*bytes)(const void *value);
		size_t kept;
	} cases[] = {{six_mib, 2}, {forty_mib, 1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dso_cache cache = new_cache();
		struct facet_counts counts = {0};
		struct dso *first;

		dso_cache_register(
			&cache, DSO_SYMBOLS,
			&(struct dso_facet_type){count_release, NULL, &counts, cases[i].bytes});
		for (int file = 0; file < 10; file++) {
			struct dso *dso = dso_add(&cache, open_file(file), DSO_SYMBOLS);

			dso->facets[DSO_SYMBOLS].value = &counts;
			dso_release(&cache, dso, DSO_SYMBOLS);
		}
		assert_int_equal(cache.unused[DSO_SYMBOLS], cases[i].kept);
		assert_int_equal(cache.list.count, cases[i].kept);
		assert_int_equal(counts.released, 10 - (int)cases[i].kept);
		/* A file in use again no longer counts as unused. */
		first = cache.list.items[0];
		dso_hold(&cache, first, DSO_SYMBOLS);
		assert_int_equal(cache.unused_bytes[DSO_SYMBOLS],
				 (cases[i].kept - 1) * cases[i].bytes(NULL));
		dso_release(&cache, first, DSO_SYMBOLS);
		assert_int_equal(cache.unused_bytes[DSO_SYMBOLS],
				 cases[i].kept * cases[i].bytes(NULL));
		dso_cache_free(&cache);
		assert_int_equal(counts.released, 10);
	}
}

/*
 * A facet without references is released after that many later ones; the file is released with its
 * last facet.
 */
static void all_facets_of_a_file_are_released_once_when_their_last_users_have_gone(void **state)
{
	struct dso_cache cache = new_cache();
	struct facet_counts counts[DSO_KIND_MAX_] = {0};
	struct dso *dso = dso_add(&cache, open_file(0), DSO_SYMBOLS);

	(void)state;
	for (enum dso_kind kind = 0; kind < DSO_KIND_MAX_; kind++) {
		dso_cache_register(
			&cache, kind,
			&(struct dso_facet_type){count_release, count_idle, &counts[kind], NULL});
		dso->facets[kind].value = &counts[kind];
		if (kind != DSO_SYMBOLS)
			dso_hold(&cache, dso, kind);
		dso_hold(&cache, dso, kind);
	}
	for (enum dso_kind kind = 0; kind < DSO_KIND_MAX_; kind++) {
		dso_release(&cache, dso, kind);
		assert_int_equal(counts[kind].idle, 0);
		dso_release(&cache, dso, kind);
		assert_int_equal(counts[kind].idle, 1);
		assert_int_equal(counts[kind].released, 0);
	}
	for (enum dso_kind kind = 0; kind < DSO_KIND_MAX_; kind++) {
		for (int i = 1; i <= 4096 && !counts[kind].released; i++)
			dso_release(&cache, dso_add(&cache, open_file(i), kind), kind);
		assert_int_equal(counts[kind].released, 1);
	}
	for (size_t i = 0; i < cache.list.count; i++)
		assert_int_not_equal(cache.list.items[i]->identity.size, 4096);
	dso_cache_free(&cache);
	for (enum dso_kind kind = 0; kind < DSO_KIND_MAX_; kind++)
		assert_int_equal(counts[kind].released, 1);
}

static void a_room_that_fills_facets_releases_them(void **state)
{
	struct dso_cache cache = new_cache();
	struct facet_counts counts = {0};
	struct dso *dso = dso_add(&cache, open_file(0), DSO_ROWS);

	(void)state;
	dso_cache_register(&cache, DSO_ROWS,
			   &(struct dso_facet_type){count_release, NULL, &counts, NULL});
	dso->facets[DSO_ROWS].value = &counts;
	dso_cache_unregister(&cache, DSO_ROWS);
	assert_int_equal(counts.released, 1);
	assert_null(dso_facet(dso, DSO_ROWS));
	dso_release(&cache, dso, DSO_ROWS);
	dso_cache_free(&cache);
	assert_int_equal(counts.released, 1);
}

static void the_vdso_is_one_dso_and_can_be_opened(void **state)
{
	struct dso_cache cache = new_cache();
	struct mapping mapping = {.path = (char[]){"[vdso]"}};
	struct dso *dso = dso_add_vdso(&cache, DSO_ROWS);
	char magic[4] = "";
	int fd;

	(void)state;
	assert_non_null(dso);
	assert_ptr_equal(dso_add_vdso(&cache, DSO_ROWS), dso);
	fd = dso_open(&cache, dso, 0, &mapping);
	assert_int_equal(pread(fd, magic, 4, 0), 4);
	assert_memory_equal(magic, "\177ELF", 4);
	close(fd);
	dso_cache_free(&cache);
}

/* Maps a copy of ourselves as code: a module that only this process has. */
static pid_t start_process(int number, uint64_t *address)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = open_file(number);
	char buffer[65536];
	ssize_t length;
	void *code;
	pid_t pid;

	lseek(fd, 0, SEEK_SET);
	while ((length = read(self, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(fd, buffer, (size_t)length), length);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	munmap(code, 4096);
	close(fd);
	close(self);
	*address = (uintptr_t)code + 16;
	return pid;
}

static void a_forgotten_process_leaves_no_descriptors_and_its_frames_stay_good(void **state)
{
	struct symbolizer *symbolizer = naming_new(NULL);
	struct frames frames = {0};
	size_t before = open_files();
	char build_id[83] = "";

	(void)state;
	for (uint64_t i = 0; i < 70; i++) {
		uint64_t address;
		pid_t pid = start_process((int)i, &address);

		assert_int_equal(naming_refresh(symbolizer, i, pid), 0);
		vec_free(&frames.list);
		assert_int_equal(symbolizer_name(symbolizer, i, &address, 1, LINES_NONE, &frames),
				 0);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		symbolizer_forget(symbolizer, i);
		process_table_forget(naming_processes(symbolizer), pid);
		assert_int_equal(open_files(), before);
		if (i)
			continue;
		assert_int_equal(strlen(frames.list.items[0].build_id), 40);
		strcpy(build_id, frames.list.items[0].build_id);
	}
	/* The first module is gone, but not its strings. */
	assert_string_equal(frames.list.items[0].build_id, build_id);
	assert_non_null(strstr(frames.list.items[0].module, directory));
	vec_free(&frames.list);
	naming_free(symbolizer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_file_is_one_dso_however_often_it_is_added),
		cmocka_unit_test(a_file_written_to_in_secret_is_another_dso),
		cmocka_unit_test(
			the_file_of_what_nobody_holds_is_closed_and_opened_again_for_the_next),
		cmocka_unit_test(of_files_that_come_and_go_only_the_latest_64_are_kept),
		cmocka_unit_test(large_facets_that_nobody_holds_are_kept_up_to_16_mib_or_one),
		cmocka_unit_test(
			all_facets_of_a_file_are_released_once_when_their_last_users_have_gone),
		cmocka_unit_test(a_room_that_fills_facets_releases_them),
		cmocka_unit_test(the_vdso_is_one_dso_and_can_be_opened),
		cmocka_unit_test(
			a_forgotten_process_leaves_no_descriptors_and_its_frames_stay_good),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
