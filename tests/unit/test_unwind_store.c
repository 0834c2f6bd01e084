// SPDX-License-Identifier: GPL-2.0-or-later
/* With real BPF maps, as in leakmon.bpf.o; skipped without permission to create them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "binary/parse/questions.h"
#include "binary/parse/unwind_table.h"
#include "child_fixture.h"
#include "process/target/process.h"
#include "process/unwind/unwind_store.h"

struct fixture {
	struct unwind_maps maps;
	uint32_t generation;
	struct worker *worker;
	struct process_table *processes;
	struct unwind_store *store;
};

static int inner_map(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, create, .map_flags = BPF_F_INNER_MAP);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "inner", 4, 8, 1, &create);
}

static int outer_map(enum bpf_map_type type, uint32_t value_size, uint32_t entries)
{
	LIBBPF_OPTS(bpf_map_create_opts, inner, .map_flags = BPF_F_INNER_MAP);
	LIBBPF_OPTS(bpf_map_create_opts, create);
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "t", 4, value_size, 1, &inner);

	create.inner_map_fd = (uint32_t)fd;
	return bpf_map_create(type, "outer", 4, 4, entries, &create);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	int probe = inner_map();

	*state = fixture;
	if (!fixture || probe < 0)
		return 0;
	close(probe);
	fixture->maps.modules_fd =
		outer_map(BPF_MAP_TYPE_ARRAY_OF_MAPS, sizeof(struct lm_unwind_row), LM_MAX_MODULES);
	fixture->maps.ranges_fd = outer_map(BPF_MAP_TYPE_HASH_OF_MAPS, sizeof(struct lm_range), 8);
	fixture->maps.made_codes_fd =
		bpf_map_create(BPF_MAP_TYPE_HASH, "made", 4, sizeof(struct lm_made_code), 8, NULL);
	fixture->maps.generation = &fixture->generation;
	fixture->worker = worker_new_local(&parse_kinds);
	fixture->processes = process_table_new(false);
	fixture->store =
		unwind_store_new(&fixture->maps, fixture->worker, &fixture->processes->dsos);
	return fixture->store ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unwind_store_free(fixture->store);
	process_table_free(fixture->processes);
	worker_free(fixture->worker);
	if (fixture->store) {
		close(fixture->maps.modules_fd);
		close(fixture->maps.ranges_fd);
		close(fixture->maps.made_codes_fd);
	}
	free(fixture);
	return 0;
}

static struct fixture *fixture_of(void **state)
{
	struct fixture *fixture = *state;

	if (!fixture->store) {
		fprintf(stderr, "SKIPPED, nothing was tested: BPF maps cannot be made here\n");
		skip();
	}
	return fixture;
}

static size_t open_files(void)
{
	_cleanup_closedir_ DIR *opened = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(opened))
		count++;
	return count;
}

static bool kernel_has(const struct fixture *fixture, pid_t pid)
{
	uint32_t key = (uint32_t)pid, id;

	return !bpf_map_lookup_elem(fixture->maps.ranges_fd, &key, &id);
}

static struct unwind_stats stats_of(const struct fixture *fixture)
{
	struct unwind_stats stats;

	unwind_store_stats(fixture->store, &stats);
	return stats;
}

static int refresh(struct fixture *fixture, pid_t pid)
{
	struct process *process;
	int error = process_table_refresh(fixture->processes, pid, &process);

	return error ? error : unwind_store_refresh(fixture->store, process);
}

static void forget(struct fixture *fixture, pid_t pid)
{
	unwind_store_forget(fixture->store, pid);
	process_table_forget(fixture->processes, pid);
}

static void a_process_is_loaded_once_and_only_read_again_while_nothing_changes(void **state)
{
	struct fixture *fixture = fixture_of(state);
	struct unwind_stats first;
	uint32_t generation;

	assert_int_equal(refresh(fixture, getpid()), 0);
	first = stats_of(fixture);
	assert_true(kernel_has(fixture, getpid()));
	assert_int_equal(first.processes, 1);
	assert_true(first.modules >= 3); /* we, libc, the loader, ... */
	assert_true(first.rows > 20000);
	generation = fixture->generation;
	assert_int_equal(generation, 1);
	assert_int_equal(refresh(fixture, getpid()), 0);
	assert_int_equal(fixture->generation, generation);
	assert_int_equal(stats_of(fixture).modules, first.modules);
}

/* No new array, and so no grace period: the kernel's map of maps keeps the same inner map. */
static void a_new_mapping_is_written_in_place(void **state)
{
	struct fixture *fixture = fixture_of(state);
	uint32_t key = (uint32_t)getpid(), before = 0, after = 0;
	void *code;

	assert_int_equal(refresh(fixture, getpid()), 0);
	bpf_map_lookup_elem(fixture->maps.ranges_fd, &key, &before);
	for (int i = 0; i < 10; i++) {
		code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_int_equal(refresh(fixture, getpid()), 0);
		assert_int_equal(fixture->generation, 2 + 2 * i);
		munmap(code, 8192);
		assert_int_equal(refresh(fixture, getpid()), 0);
	}
	bpf_map_lookup_elem(fixture->maps.ranges_fd, &key, &after);
	assert_int_not_equal(before, 0);
	assert_int_equal(before, after);
}

static void many_processes_are_loaded_together_and_those_that_are_gone_passed_over(void **state)
{
	struct fixture *fixture = fixture_of(state);
	pid_t pids[4] = {start_child(), start_child(), start_child(), start_child()};
	struct process *processes[4];
	size_t before = open_files();

	stop_child(pids[1]);
	assert_int_equal(process_table_refresh_all(fixture->processes, pids, 4, processes), 3);
	assert_int_equal(unwind_store_refresh_all(fixture->store, processes, 3), 0);
	assert_int_equal(fixture->generation, 1);
	assert_int_equal(stats_of(fixture).processes, 3);
	for (int i = 0; i < 4; i++)
		assert_int_equal(kernel_has(fixture, pids[i]), i != 1);
	/* One array each, and the copy of the vDSO. */
	assert_true(open_files() <= before + 4);
	for (int i = 0; i < 4; i++) {
		forget(fixture, pids[i]);
		if (i != 1)
			stop_child(pids[i]);
	}
	assert_int_equal(stats_of(fixture).processes, 0);
	assert_true(open_files() <= before + 1);
}

/* The map has room for 8: ended ones are replaced. */
static void processes_may_come_and_go_for_ever(void **state)
{
	struct fixture *fixture = fixture_of(state);
	size_t before;

	assert_int_equal(refresh(fixture, getpid()), 0);
	before = open_files();
	for (int i = 0; i < 60; i++) {
		pid_t pid = start_child();

		assert_int_equal(refresh(fixture, pid), 0);
		assert_true(kernel_has(fixture, pid));
		stop_child(pid);
		forget(fixture, pid);
		assert_int_equal(open_files(), before);
	}
	assert_int_equal(refresh(fixture, 0x3fffff), -ESRCH);
	assert_int_equal(stats_of(fixture).processes, 1);
}

/* Copies of libc that differ in nothing but their inode share rows; not so files that differ. */
static void copies_of_a_file_share_their_rows(void **state)
{
	struct fixture *fixture = fixture_of(state);
	struct unwind_stats before;
	void *codes[2];

	assert_int_equal(refresh(fixture, getpid()), 0);
	before = stats_of(fixture);
	for (int i = 0; i < 2; i++) {
		char path[] = "/tmp/leakmon-copy-XXXXXX", command[128];
		int fd = mkstemp(path);

		snprintf(command, sizeof(command), "cp /usr/lib/x86_64-linux-gnu/libc.so.6 %s",
			 path);
		assert_int_equal(system(command), 0);
		codes[i] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0x28000);
		assert_ptr_not_equal(codes[i], MAP_FAILED);
		close(fd);
		unlink(path);
	}
	assert_int_equal(refresh(fixture, getpid()), 0);
	assert_int_equal(stats_of(fixture).modules, before.modules);
	assert_int_equal(stats_of(fixture).rows, before.rows);
	assert_int_equal(stats_of(fixture).failures, before.failures);
	munmap(codes[0], 4096);
	munmap(codes[1], 4096);
}

/* A shared object with one function, another one for each number. */
static void *map_library(int number)
{
	char path[] = "/tmp/leakmon-library-XXXXXX", command[512];
	int fd = mkstemp(path);
	void *code;

	snprintf(command, sizeof(command),
		 "sh -c \"echo 'int f(int x) { return x * %d; }' | "
		 "gcc -x c -shared -fPIC -nostdlib -Wl,--build-id -o %s -\"",
		 number + 3, path);
	assert_int_equal(system(command), 0);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0x1000);
	assert_ptr_not_equal(code, MAP_FAILED);
	close(fd);
	unlink(path);
	return code;
}

static void rows_of_files_that_nobody_maps_stay_for_the_next_and_then_go(void **state)
{
	struct fixture *fixture = fixture_of(state);
	struct unwind_stats base;

	assert_int_equal(refresh(fixture, getpid()), 0);
	base = stats_of(fixture);
	for (int i = 0; i < 300; i++) {
		void *code = map_library(i);

		assert_int_equal(refresh(fixture, getpid()), 0);
		munmap(code, 4096);
		assert_int_equal(refresh(fixture, getpid()), 0);
	}
	assert_int_equal(stats_of(fixture).failures, base.failures);
	/* The latest 256 files, and our own mappings. */
	assert_int_equal(stats_of(fixture).modules, base.modules + 256);
}

/* The range that walks find at an address; of none it has no end. */
static struct lm_range range_at(const struct fixture *fixture, uint64_t address)
{
	uint32_t key = (uint32_t)getpid(), id = 0, cell = 0;
	struct lm_range range = {0};
	_cleanup_close_ int fd = -1;
	uint64_t at;

	assert_int_equal(bpf_map_lookup_elem(fixture->maps.ranges_fd, &key, &id), 0);
	fd = bpf_map_get_fd_by_id(id);
	assert_true(fd >= 0);
	assert_int_equal(bpf_map_lookup_elem(fd, &cell, &range), 0);
	at = range.start;
	for (cell = (uint32_t)(at >> 32); cell < (at >> 32) + (uint32_t)at; cell++) {
		assert_int_equal(bpf_map_lookup_elem(fd, &cell, &range), 0);
		if (address >= range.start && address < range.end)
			return range;
	}
	return (struct lm_range){0};
}

static bool kernel_has_blocks(const struct fixture *fixture, const struct lm_made_code *blocks)
{
	uint32_t key = (uint32_t)getpid();
	struct lm_made_code found;

	return !bpf_map_lookup_elem(fixture->maps.made_codes_fd, &key, &found) &&
	       !memcmp(&found, blocks, sizeof(found));
}

#define MADE_PAGES 16

/* Mapped here and there, as code is made. */
static void code_that_a_process_makes_is_one_range_until_the_process_is_forgotten(void **state)
{
	struct fixture *fixture = fixture_of(state);
	struct lm_unwind_row rows[] = {{.kind = LM_UNWIND_INTERPRETED},
				       {.pc = 4096, .kind = LM_UNWIND_MADE}};
	unsigned char *code =
		mmap(NULL, MADE_PAGES * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t start = (uintptr_t)code, end = start + (uint64_t)MADE_PAGES * 4096;
	const struct unwind_table table = {.base = start, .rows = rows, .count = 2};
	const struct unwind_made made = {
		&table, end, {.heaps = {{start, end, start}}, .shift = 7, .frame = 32}};
	size_t modules;

	assert_ptr_not_equal(code, MAP_FAILED);
	assert_int_equal(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(mprotect(code + 3 * 4096, 4096, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(refresh(fixture, getpid()), 0);
	modules = stats_of(fixture).modules;
	assert_int_equal(range_at(fixture, start).module, LM_MODULE_NONE);
	assert_int_equal(range_at(fixture, start).end, start + 4096);
	assert_int_equal(unwind_store_set_made(fixture->store, getpid(), &made), 0);
	assert_int_equal(refresh(fixture, getpid()), 0);
	for (uint64_t page = 0; page < MADE_PAGES; page++) {
		struct lm_range range = range_at(fixture, start + page * 4096);

		assert_int_equal(range.start, start);
		assert_int_equal(range.end, end);
		assert_int_equal(range.bias, start);
		assert_int_not_equal(range.module, LM_MODULE_NONE);
	}
	assert_true(kernel_has_blocks(fixture, &made.blocks));
	assert_int_equal(stats_of(fixture).modules, modules + 1);
	/* The same again; then others in their place. */
	assert_int_equal(unwind_store_set_made(fixture->store, getpid(), &made), 0);
	rows[1].pc = 8192;
	assert_int_equal(unwind_store_set_made(fixture->store, getpid(), &made), 0);
	assert_int_equal(refresh(fixture, getpid()), 0);
	assert_int_equal(stats_of(fixture).modules, modules + 1);
	forget(fixture, getpid());
	assert_false(kernel_has_blocks(fixture, &made.blocks));
	munmap(code, MADE_PAGES * 4096);
}

/* All of it keeps a frame pointer, as code without rows is left anyway. */
static void code_without_rows_is_described_until_the_process_is_forgotten(void **state)
{
	struct fixture *fixture = fixture_of(state);
	const struct unwind_table table = {0};
	const struct unwind_made made = {&table, 0, {.shared = 24, .bytecode = 0x1001}};
	size_t modules;

	assert_int_equal(refresh(fixture, getpid()), 0);
	modules = stats_of(fixture).modules;
	assert_int_equal(unwind_store_set_made(fixture->store, getpid(), &made), 0);
	assert_int_equal(refresh(fixture, getpid()), 0);
	assert_true(kernel_has_blocks(fixture, &made.blocks));
	assert_int_equal(stats_of(fixture).modules, modules);
	forget(fixture, getpid());
	assert_false(kernel_has_blocks(fixture, &made.blocks));
}

#define STORE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(a_process_is_loaded_once_and_only_read_again_while_nothing_changes),
		STORE_TEST(a_new_mapping_is_written_in_place),
		STORE_TEST(many_processes_are_loaded_together_and_those_that_are_gone_passed_over),
		STORE_TEST(processes_may_come_and_go_for_ever),
		STORE_TEST(copies_of_a_file_share_their_rows),
		STORE_TEST(code_that_a_process_makes_is_one_range_until_the_process_is_forgotten),
		STORE_TEST(code_without_rows_is_described_until_the_process_is_forgotten),
		STORE_TEST(rows_of_files_that_nobody_maps_stay_for_the_next_and_then_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
