// SPDX-License-Identifier: GPL-2.0-or-later
/* Modules of this process itself: which mappings of a file are one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sandbox/worker.h"
#include "binary/parse/questions.h"
#include "heap/allocators/data_modules.h"

#define PAGE 4096u
#define LOADS 40

static int program = -1;
static void *loads[LOADS];

static void load(size_t count, int rights)
{
	for (size_t i = 0; i < count; i++) {
		loads[i] = mmap(NULL, PAGE, rights, MAP_PRIVATE, program, 0);
		assert_ptr_not_equal(loads[i], MAP_FAILED);
	}
}

static void unload(size_t count)
{
	for (size_t i = 0; i < count; i++)
		munmap(loads[i], PAGE);
}

/* How many modules are of this program. */
static size_t programs(void)
{
	struct dso_cache dsos = {.keeps_files = true, .vdso_fd = -1};
	struct worker *worker = worker_new_local(&parse_kinds);
	struct heap_image image = {0};
	struct data_modules modules = {0};
	const struct mapping *own;
	size_t count = 0;

	assert_non_null(worker);
	data_modules_register(&dsos);
	assert_int_equal(maps_read(getpid(), MAPS_ALL, &image.maps), 0);
	assert_int_equal(data_modules_read(&image, worker, &dsos, &modules), 0);
	own = maps_find(&image.maps, (uintptr_t)&program);
	assert_non_null(own);
	for (size_t i = 0; i < modules.list.count; i++) {
		count += mapping_same_file(modules.list.items[i].mapping, own);
		assert_true(!i || modules.list.items[i].start > modules.list.items[i - 1].start);
	}
	data_modules_free(&modules);
	maps_free(&image.maps);
	dso_cache_free(&dsos);
	worker_free(worker);
	return count;
}

static void a_file_is_loaded_as_often_as_there_are_namespaces(void **state)
{
	(void)state;
	assert_int_equal(programs(), 1);
	load(3, PROT_READ | PROT_EXEC);
	assert_int_equal(programs(), 4);
	unload(3);
	load(LOADS, PROT_READ | PROT_EXEC);
	assert_int_equal(programs(), DATA_MODULE_LOADS_MAX);
	unload(LOADS);
}

static void a_file_that_is_mapped_as_data_is_no_module(void **state)
{
	(void)state;
	load(LOADS, PROT_READ);
	assert_int_equal(programs(), 1);
	unload(LOADS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_loaded_as_often_as_there_are_namespaces),
		cmocka_unit_test(a_file_that_is_mapped_as_data_is_no_module),
	};

	program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return program < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
