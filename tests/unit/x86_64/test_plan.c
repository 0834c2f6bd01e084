// SPDX-License-Identifier: GPL-2.0-or-later
/* Which functions of a file are probed, and where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <time.h>

#include "base/cleanup.h"
#include "binary/parse/plan.h"
#include "unit/elf_fixture.h"

#define MAX_SYMBOLS 520
#define GLOBAL_FUNCTION ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
/* The code's place in the file differs from that in memory. */
#define SHIFT 0x4000

/* A file with functions that the test names. */
struct scene {
	struct elf_fixture elf;
	Elf64_Sym symbols[MAX_SYMBOLS];
	char strings[8192];
	size_t count, strings_size;
};

static void scene_init(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	fixture_init(&scene->elf);
	scene->elf.programs[FIXTURE_LOAD].p_vaddr += SHIFT;
	scene->elf.programs[FIXTURE_DYNAMIC].p_type = PT_NULL;
	scene->elf.sections[FIXTURE_DYNSYM].sh_type = SHT_NULL;
	scene->elf.sections[FIXTURE_SYMTAB].sh_offset = offsetof(struct scene, symbols);
	scene->elf.sections[FIXTURE_STRTAB].sh_offset = offsetof(struct scene, strings);
	scene->elf.sections[FIXTURE_STRTAB].sh_size = sizeof(scene->strings);
	/* push rbp, again and again: emulated, at each of these bytes */
	memset(scene->elf.code, 0x55, sizeof(scene->elf.code));
	scene->count = scene->strings_size = 1;
	scene->elf.sections[FIXTURE_SYMTAB].sh_size = sizeof(Elf64_Sym);
}

static Elf64_Sym *scene_add(struct scene *scene, const char *name, uint64_t at)
{
	Elf64_Sym *symbol = &scene->symbols[scene->count++];
	size_t length = strlen(name) + 1;

	assert_true(scene->count <= MAX_SYMBOLS &&
		    scene->strings_size + length <= sizeof(scene->strings));
	memcpy(scene->strings + scene->strings_size, name, length);
	*symbol = fixture_symbol((uint32_t)scene->strings_size, GLOBAL_FUNCTION, at + SHIFT, 16);
	scene->strings_size += length;
	scene->elf.sections[FIXTURE_SYMTAB].sh_size = scene->count * sizeof(*symbol);
	return symbol;
}

static int plan_scene(const struct scene *scene, const char *prefix, enum probe_at probe_at,
		      struct probe_plan *plan)
{
	_cleanup_close_ int fd = fixture_file(scene, sizeof(*scene));

	assert_true(fd >= 0);
	return probe_plan_file(fd, prefix, probe_at, plan);
}

/* Expects these names to be probed, separated by blanks. */
static void assert_planned(const struct scene *scene, const char *prefix, const char *names)
{
	_cleanup_(probe_plan_free) struct probe_plan plan = {0};
	char found[1024] = "";

	assert_int_equal(plan_scene(scene, prefix, PROBE_AT_BEST, &plan), 0);
	for (size_t i = 0; i < plan.points.count; i++) {
		strcat(found, i ? " " : "");
		strcat(found, allocator_functions[plan.points.items[i].function].name);
	}
	assert_string_equal(found, names);
	assert_string_equal(plan.build_id, FIXTURE_BUILD_ID);
}

static void functions_come_in_the_order_of_the_table(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_add(&scene, "free", 0);
	scene_add(&scene, "posix_memalign", 16);
	scene_add(&scene, "other", 32);
	scene_add(&scene, "malloc", 48);
	scene_add(&scene, "calloc", 64);
	assert_planned(&scene, "", "malloc calloc posix_memalign free");
}

static void what_only_frees_or_only_allocates_is_no_allocator(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	assert_planned(&scene, "", "");
	scene_add(&scene, "free", 0);
	scene_add(&scene, "cfree", 16);
	assert_planned(&scene, "", "");
	scene_init(&scene);
	scene_add(&scene, "malloc", 0);
	scene_add(&scene, "realloc", 16);
	assert_planned(&scene, "", "");
	scene_add(&scene, "free", 32);
	assert_planned(&scene, "", "malloc realloc free");
}

static void only_exported_functions_count(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_add(&scene, "malloc", 0);
	scene_add(&scene, "free", 16);
	scene_add(&scene, "calloc", 32)->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	scene_add(&scene, "realloc", 48)->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	scene_add(&scene, "valloc", 64)->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
	scene_add(&scene, "memalign", 80)->st_shndx = SHN_UNDEF;
	scene_add(&scene, "pvalloc", 96)->st_info = ELF64_ST_INFO(STB_WEAK, STT_FUNC);
	assert_planned(&scene, "", "malloc pvalloc free");
}

static void names_that_share_an_address_are_probed_once(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_add(&scene, "malloc", 0);
	scene_add(&scene, "free", 16);
	scene_add(&scene, "cfree", 16);
	assert_planned(&scene, "", "malloc free");
}

static void a_name_with_two_addresses_is_probed_at_both(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_add(&scene, "malloc", 0);
	scene_add(&scene, "free", 16);
	scene_add(&scene, "malloc", 32);
	assert_planned(&scene, "", "malloc malloc free");
}

static void a_prefix_names_another_allocator(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_add(&scene, "malloc", 0);
	scene_add(&scene, "free", 16);
	scene_add(&scene, "je_malloc", 32);
	scene_add(&scene, "je_calloc", 48);
	scene_add(&scene, "je_free", 64);
	scene_add(&scene, "je_freed", 80);
	scene_add(&scene, "my_malloc", 96);
	scene_add(&scene, "my_free", 112);
	assert_planned(&scene, "", "malloc malloc calloc free free");
	assert_planned(&scene, "je_", "malloc calloc free");
	assert_planned(&scene, "my_", "malloc free");
	assert_planned(&scene, "j", "");
	assert_planned(&scene, "je_malloc", "");
}

static void names_that_share_an_address_go_by_the_one_that_may_throw(void **state)
{
	_cleanup_(probe_plan_free) struct probe_plan plan = {0};
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_add(&scene, "malloc", 0);
	scene_add(&scene, "_Znwm", 0);
	scene_add(&scene, "calloc", 16);
	scene_add(&scene, "free", 32);
	scene_add(&scene, "_ZdlPv", 32);
	assert_int_equal(plan_scene(&scene, "", PROBE_AT_BEST, &plan), 0);
	assert_int_equal(plan.points.count, 3);
	assert_string_equal(allocator_functions[plan.points.items[0].function].name, "calloc");
	assert_string_equal(allocator_functions[plan.points.items[1].function].name, "free");
	assert_string_equal(allocator_functions[plan.points.items[2].function].name, "_Znwm");
	/* No path through it reaches a return: no proof, no probe. */
	assert_true(plan.points.items[2].placement.refused);
	assert_non_null(strstr(plan.points.items[2].placement.reason, "runs off the end"));
}

/* As in browsers. Without the size its end is unknown, so it is not probed. */
static void of_a_file_without_unwind_information_symbols_say_where_functions_end(void **state)
{
	/* returns its callee's result */
	static const uint8_t code[] = {0x55, 0xff, 0x17, 0x5d, 0xc3};
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_add(&scene, "malloc", 32);
	scene_add(&scene, "free", 48);
	scene_add(&scene, "_Znwm", 0);
	memcpy(scene.elf.code, code, sizeof(code));
	for (int sized = 0; sized <= 1; sized++) {
		_cleanup_(probe_plan_free) struct probe_plan plan = {0};
		const struct probe_point *last;

		scene.symbols[3].st_size = sized ? sizeof(code) : 4;
		assert_int_equal(plan_scene(&scene, "", PROBE_AT_BEST, &plan), 0);
		assert_int_equal(plan.points.count, sized ? 4 : 3);
		last = &plan.points.items[plan.points.count - 1];
		assert_int_equal(last->is_result, sized);
		assert_int_equal(last->placement.refused, !sized);
	}
}

/* operator new of libstdc++ gets its blocks from malloc, wherever that is. */
static void operators_alone_are_no_allocator(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_add(&scene, "_Znwm", 0);
	scene_add(&scene, "_ZdlPv", 16);
	assert_planned(&scene, "", "");
	scene_add(&scene, "malloc", 32);
	assert_planned(&scene, "", "");
}

static void a_probe_lies_where_the_file_has_the_function(void **state)
{
	static const uint8_t free_code[] = {0x48, 0x85, 0xff, 0x74, 0x05, 0x55};
	_cleanup_(probe_plan_free) struct probe_plan best = {0}, entry = {0};
	const struct probe_point *point;
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_add(&scene, "malloc", 32);
	scene_add(&scene, "free", 64);
	memcpy(scene.elf.code + 64, free_code, sizeof(free_code));
	assert_int_equal(plan_scene(&scene, "", PROBE_AT_BEST, &best), 0);
	assert_int_equal(best.points.count, 2);
	point = &best.points.items[0];
	assert_int_equal(point->vaddr, FIXTURE_VADDR(code) + SHIFT + 32);
	assert_int_equal(point->placement.offset, 0);
	assert_true(point->placement.emulated);
	assert_int_equal(point->offset, offsetof(struct elf_fixture, code) + 32);
	point = &best.points.items[1];
	assert_int_equal(point->vaddr, FIXTURE_VADDR(code) + SHIFT + 64);
	/* `test rdi, rdi` is single-stepped, the `je` after it is emulated. */
	assert_in_range(point->placement.offset, 3, 5);
	assert_int_equal(point->offset,
			 offsetof(struct elf_fixture, code) + 64 + point->placement.offset);
	assert_int_equal(plan_scene(&scene, "", PROBE_AT_ENTRY, &entry), 0);
	point = &entry.points.items[1];
	assert_int_equal(point->placement.offset, 0);
	assert_int_equal(point->offset, offsetof(struct elf_fixture, code) + 64);
	assert_non_null(strstr(point->placement.reason, "--probe-at=entry"));
}

static void assert_refused(const struct scene *scene, int error)
{
	struct probe_plan plan = {.build_id = "as it was"};

	assert_int_equal(plan_scene(scene, "", PROBE_AT_BEST, &plan), error);
	assert_string_equal(plan.build_id, "as it was");
	assert_int_equal(plan.points.count, 0);
}

static void files_that_contradict_themselves_are_refused(void **state)
{
	struct scene scene, good;

	(void)state;
	scene_init(&good);
	scene_add(&good, "malloc", 0);
	scene_add(&good, "free", 16);
	scene = good;
	scene.elf.header.e_machine = EM_AARCH64;
	assert_refused(&scene, -ENOEXEC);
	scene = good;
	scene.symbols[1].st_value = 0x7000000000000000;
	assert_refused(&scene, -ENOENT);
	scene = good;
	scene.symbols[1].st_size = 0; /* no code to read */
	assert_refused(&scene, -EBADMSG);
	scene = good;
	scene.elf.programs[FIXTURE_LOAD].p_vaddr += 8; /* no kernel would map it */
	assert_refused(&scene, -EBADMSG);
	assert_planned(&good, "", "malloc free");
}

static void more_points_than_an_allocator_has_are_refused(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.elf.programs[FIXTURE_LOAD].p_filesz = sizeof(scene); /* there is code enough */
	scene.elf.programs[FIXTURE_LOAD].p_memsz = sizeof(scene);
	scene_add(&scene, "free", 0);
	for (uint64_t i = 1; i < PLAN_MAX_POINTS; i++)
		scene_add(&scene, "malloc", i);
	for (size_t i = 1; i < scene.count; i++)
		scene.symbols[i].st_size = 1;
	{
		_cleanup_(probe_plan_free) struct probe_plan plan = {0};

		assert_int_equal(plan_scene(&scene, "", PROBE_AT_BEST, &plan), 0);
		assert_int_equal(plan.points.count, PLAN_MAX_POINTS);
	}
	scene_add(&scene, "malloc", PLAN_MAX_POINTS);
	assert_refused(&scene, -E2BIG);
}

static void code_that_reaches_beyond_the_file_is_read_up_to_its_end(void **state)
{
	_cleanup_(probe_plan_free) struct probe_plan plan = {0};
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_add(&scene, "malloc", 0)->st_size = UINT64_MAX;
	scene_add(&scene, "free", 16)->st_size = UINT32_MAX;
	assert_int_equal(plan_scene(&scene, "", PROBE_AT_BEST, &plan), 0);
	assert_int_equal(plan.points.count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_true(plan.points.items[i].placement.offset < PLAN_CODE_BYTES);
}

static void libc_is_an_allocator_with_every_function_of_its_manual(void **state)
{
	static const char *const names[] = {"malloc",	    "calloc",	"realloc",
					    "reallocarray", "memalign", "posix_memalign",
					    "valloc",	    "pvalloc",	"free"};
	_cleanup_(probe_plan_free) struct probe_plan plan = {0};
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	_cleanup_close_ int fd = -1;
	struct link_map *map;

	(void)state;
	assert_non_null(libc);
	assert_int_equal(dlinfo(libc, RTLD_DI_LINKMAP, &map), 0);
	fd = open(map->l_name, O_RDONLY | O_CLOEXEC);
	assert_int_equal(probe_plan_file(fd, "", PROBE_AT_BEST, &plan), 0);
	for (size_t i = 0, at = 0; i < ARRAY_SIZE(names); i++) {
		while (at < plan.points.count &&
		       strcmp(allocator_functions[plan.points.items[at].function].name, names[i]))
			at++;
		if (at == plan.points.count)
			fail_msg("%s is missing", names[i]);
		assert_false(plan.points.items[at].placement.refused);
		/* Its real address: the sanitizer has its own malloc, but not libc's. */
		assert_ptr_equal(dlsym(libc, names[i]), map->l_addr + plan.points.items[at].vaddr);
	}
	dlclose(libc);
}

/* A static-pie's own names are local: each address is searched among those of global names. */
static void local_names_count_where_a_global_one_leads(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.elf.header.e_type = ET_EXEC; /* static: it has no PT_DYNAMIC */
	scene_add(&scene, "__malloc", 0);
	scene_add(&scene, "malloc", 0)->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	scene_add(&scene, "__free", 16);
	scene_add(&scene, "free", 16)->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	scene_add(&scene, "calloc", 32)->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	assert_planned(&scene, "", "malloc free");
	scene.elf.header.e_type = ET_DYN;
	assert_planned(&scene, "", "");
}

/*
 * As many symbols as fit in 2.4 MB, each with a name of the table, and none of them public:
 * searching all for each would take ten thousand million steps.
 */
static void a_table_of_local_names_takes_no_time(void **state)
{
	enum { COUNT = 100000 };
	struct huge {
		struct scene scene;
		Elf64_Sym symbols[COUNT];
	} *huge = calloc(1, sizeof(*huge));
	_cleanup_(probe_plan_free) struct probe_plan plan = {0};
	clock_t start; /* CPU time: other processes may run, too */
	int fd;

	(void)state;
	assert_non_null(huge);
	scene_init(&huge->scene);
	huge->scene.elf.header.e_type = ET_EXEC;
	scene_add(&huge->scene, "mi_heap_rezalloc_aligned_at", 0);
	for (size_t i = 0; i < COUNT; i++) {
		huge->symbols[i] = huge->scene.symbols[1];
		huge->symbols[i].st_value += i;
		huge->symbols[i].st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	}
	huge->scene.elf.sections[FIXTURE_SYMTAB].sh_offset = offsetof(struct huge, symbols);
	huge->scene.elf.sections[FIXTURE_SYMTAB].sh_size = sizeof(huge->symbols);
	fd = fixture_file(huge, sizeof(*huge));
	assert_true(fd >= 0);
	start = clock();
	assert_int_equal(probe_plan_file(fd, "", PROBE_AT_BEST, &plan), 0);
	assert_true(clock() - start < 3 * CLOCKS_PER_SEC);
	assert_int_equal(plan.points.count, 0);
	close(fd);
	free(huge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_names_count_where_a_global_one_leads),
		cmocka_unit_test(a_table_of_local_names_takes_no_time),
		cmocka_unit_test(functions_come_in_the_order_of_the_table),
		cmocka_unit_test(what_only_frees_or_only_allocates_is_no_allocator),
		cmocka_unit_test(only_exported_functions_count),
		cmocka_unit_test(names_that_share_an_address_are_probed_once),
		cmocka_unit_test(a_name_with_two_addresses_is_probed_at_both),
		cmocka_unit_test(a_prefix_names_another_allocator),
		cmocka_unit_test(names_that_share_an_address_go_by_the_one_that_may_throw),
		cmocka_unit_test(
			of_a_file_without_unwind_information_symbols_say_where_functions_end),
		cmocka_unit_test(operators_alone_are_no_allocator),
		cmocka_unit_test(a_probe_lies_where_the_file_has_the_function),
		cmocka_unit_test(files_that_contradict_themselves_are_refused),
		cmocka_unit_test(more_points_than_an_allocator_has_are_refused),
		cmocka_unit_test(code_that_reaches_beyond_the_file_is_read_up_to_its_end),
		cmocka_unit_test(libc_is_an_allocator_with_every_function_of_its_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
