// SPDX-License-Identifier: GPL-2.0-or-later
/* Places of thread-locals, from structures like glibc's in this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "binary/elf/elf_abi.h"
#include "heap/allocators/thread_blocks.h"
#include "heap/retain/root_groups.h"
#include "own_registers.h"

enum { SLOTS = 4, THREADS = 2, ENTRIES = 6, MODULES = 3 };
enum { PROGRAM, LIBRARY, LOADED }; /* modules */

struct fake_map {
	uint64_t bias, offset;
};

struct fake_list {
	uint64_t length, next;
	struct {
		uint64_t generation, map;
	} slots[SLOTS];
};

struct fake_thread {
	uint64_t self, vector;
	uint64_t specific[TLS_KEYS];
	uint64_t other[6];
	uint64_t keys[TLS_KEYS][2];
	uint64_t last[2];
};

/* Contents of a target's memory; page-aligned, between guard pages. */
struct memory {
	uint64_t heads, list_head; /* the pointer to _rtld_global; and its value */
	struct fake_map maps[MODULES];
	struct fake_list lists[2];
	struct {
		uint64_t locals[16]; /* static blocks end where the thread begins */
		struct fake_thread thread;
		uint64_t vector[ENTRIES + 2][2];
		uint64_t loaded[4]; /* the block of LOADED */
	} threads[THREADS];
};

struct scene {
	struct memory *memory;
	struct heap_image heap_image;
	struct data_modules modules;
	struct image images[3]; /* of the modules */
	struct thread_blocks blocks;
	struct peek *peek;
};

#define AT(thing) ((uint64_t)(uintptr_t) & (thing))
#define BIAS(module) (0x100000ull * ((module) + 1))

static void make_threads(struct scene *scene)
{
	for (size_t i = 0; i < THREADS; i++) {
		struct fake_thread *thread = &scene->memory->threads[i].thread;
		struct heap_image_thread *pictured = vec_push(&scene->heap_image.threads);

		pictured->tid = 100 + (pid_t)i;
		pictured->registers = own_registers(0, AT(*thread));
		thread->self = AT(*thread);
		thread->vector = AT(scene->memory->threads[i].vector[1]);
		thread->specific[0] = AT(thread->keys);
		scene->memory->threads[i].vector[0][0] = ENTRIES;
		scene->memory->threads[i].vector[1][0] = 7; /* generation */
		scene->memory->threads[i].vector[1 + 3][0] = AT(scene->memory->threads[i].loaded);
	}
	/* It has not used it yet. */
	scene->memory->threads[1].vector[1 + 3][0] = UINT64_MAX;
}

/* Slot 1: PROGRAM, 2: LIBRARY, in a second list 4: a stranger, 5: nothing; 3: LOADED. */
static void make_slots(struct scene *scene)
{
	struct memory *memory = scene->memory;

	memory->heads = AT(memory->heads);
	memory->list_head = AT(memory->lists[0]);
	memory->lists[0].length = SLOTS;
	memory->lists[0].next = AT(memory->lists[1]);
	memory->lists[1].length = 2;
	for (size_t i = 0; i < MODULES; i++) {
		memory->maps[i].bias = BIAS(i);
		memory->lists[0].slots[i + 1].map = AT(memory->maps[i]);
		memory->lists[0].slots[i + 1].generation = i;
	}
	memory->lists[1].slots[0].map = 8;
	memory->maps[PROGRAM].offset = 16;
	memory->maps[LIBRARY].offset = 64;
}

static void make_modules(struct scene *scene)
{
	static const uint64_t sizes[] = {16, 40, 32};

	for (size_t i = 0; i < MODULES; i++) {
		struct data_module *module = vec_push(&scene->modules.list);

		*module = (struct data_module){.path = i == LIBRARY ? "/lib/libc.so.6" : "/bin/x",
					       .bias = BIAS(i),
					       .start = BIAS(i),
					       .end = BIAS(i) + 0x1000,
					       .image = &scene->images[i]};
		scene->images[i].file.thread_locals =
			(struct elf_thread_locals){0x800, sizes[i], 8};
	}
	scene->images[LIBRARY].tls_layout = (struct tls_layout){
		.heads_at = AT(scene->memory->heads) - BIAS(LIBRARY),
		.slots_at = offsetof(struct memory, list_head),
		.list_length_at = offsetof(struct fake_list, length),
		.list_next_at = offsetof(struct fake_list, next),
		.list_slots_at = offsetof(struct fake_list, slots),
		.slot_generation_at = 0,
		.slot_map_at = 8,
		.map_offset_at = offsetof(struct fake_map, offset),
		.vector_at = machine_abi.tls.vector_at,
		.thread_size = sizeof(struct fake_thread),
		.keys_at = offsetof(struct fake_thread, specific),
		.key_value_at = 8,
	};
}

static int setup(void **state)
{
	size_t size = (sizeof(struct memory) + 4095) / 4096 * 4096;
	struct scene *scene = calloc(1, sizeof(*scene));
	char *pages = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(pages + 4096, size, PROT_READ | PROT_WRITE);
	scene->memory = (struct memory *)(pages + 4096);
	scene->peek = calloc(1, sizeof(*scene->peek));
	scene->peek->source = live_memory(getpid());
	scene->peek->pagemap = -1;
	peek_forget(scene->peek);
	make_threads(scene);
	make_slots(scene);
	make_modules(scene);
	*state = scene;
	return maps_read(getpid(), MAPS_ALL, &scene->heap_image.maps);
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	munmap((char *)scene->memory - 4096, (sizeof(struct memory) + 4095) / 4096 * 4096 + 8192);
	peek_free(scene->peek);
	free(scene->peek);
	thread_blocks_free(&scene->blocks);
	vec_free(&scene->modules.list);
	heap_image_free(&scene->heap_image);
	free(scene);
	return 0;
}

static void find(struct scene *scene)
{
	assert_int_equal(thread_vectors_read(&scene->heap_image, scene->peek), 0);
	assert_int_equal(thread_blocks_find(&scene->heap_image, &scene->modules, &scene->blocks),
			 0);
}

/* One letter for the contents of an address: P(rogram), L(ibrary), l(oaded), T(hread), K(eys),
 * V(ector); '-': nothing that is known. */
static char at(const struct scene *scene, const void *address)
{
	const struct thread_block *block =
		thread_blocks_at(&scene->blocks, (uint64_t)(uintptr_t)address);

	if (!block)
		return '-';
	if (block->kind == THREAD_BLOCK_MODULE)
		return "PLl"[block->module - scene->modules.list.items];
	return "?TKV"[block->kind];
}

/* All interesting places of a thread. */
static const char *map_of(const struct scene *scene, size_t i, char text[16])
{
	const struct memory *memory = scene->memory;
	const char letters[] = {
		at(scene, &memory->threads[i].locals[7]),
		at(scene, &memory->threads[i].locals[8]),
		at(scene, &memory->threads[i].locals[12]),
		at(scene, &memory->threads[i].locals[13]),
		at(scene, &memory->threads[i].locals[14]),
		at(scene, &memory->threads[i].locals[15]),
		at(scene, &memory->threads[i].thread),
		at(scene, &memory->threads[i].thread.keys),
		at(scene, (char *)&memory->threads[i].thread.last - 1),
		at(scene, &memory->threads[i].thread.last),
		at(scene, &memory->threads[i].vector),
		at(scene, &memory->threads[i].vector[ENTRIES + 1]),
		at(scene, &memory->threads[i].loaded[0]),
		at(scene, &memory->threads[i].loaded[3]),
		'\0',
	};

	return memcpy(text, letters, sizeof(letters));
}

#define START "-LL-PP"
#define THREAD "TKKTVV"

static void every_thread_has_the_blocks_of_all_modules_it_uses(void **state)
{
	struct scene *scene = *state;
	char text[16];

	find(scene);
	assert_string_equal(map_of(scene, 0, text), START THREAD "ll");
	assert_string_equal(map_of(scene, 1, text), START THREAD "--");
	assert_int_equal(scene->blocks.list.count, 2 * (2 + 4) + 1);
	for (size_t i = 0; i < scene->blocks.list.count; i++)
		assert_int_equal(scene->blocks.list.items[i].thread,
				 scene->blocks.list.items[i].start >=
					 AT(scene->memory->threads[1]));
}

static void drop_generation(struct scene *scene)
{
	scene->memory->threads[0].vector[1][0] = 1; /* LOADED came with 2 */
}

static void load_after_the_heap_image(struct scene *scene)
{
	scene->memory->lists[0].slots[3].generation = 8;
}

static void put_block_outside(struct scene *scene)
{
	scene->memory->threads[0].vector[1 + 3][0] = AT(scene->memory->heads) - 8;
}

static void put_block_into_code(struct scene *scene)
{
	scene->memory->threads[0].vector[1 + 3][0] = (uint64_t)(uintptr_t)setup & ~7ull;
}

static void shorten_vector(struct scene *scene)
{
	scene->memory->threads[0].vector[0][0] = 2;
}

static void break_vector(struct scene *scene)
{
	scene->memory->threads[0].thread.vector = 12345;
}

static void claim_an_endless_vector(struct scene *scene)
{
	scene->memory->threads[0].vector[0][0] = UINT64_MAX;
}

static void close_the_lists_to_a_ring(struct scene *scene)
{
	scene->memory->lists[1].next = AT(scene->memory->lists[0]);
}

static void claim_endless_lists(struct scene *scene)
{
	scene->memory->lists[1].length = UINT64_MAX;
}

static void lead_lists_astray(struct scene *scene)
{
	scene->memory->list_head = UINT64_MAX - 7;
}

static void lead_heads_astray(struct scene *scene)
{
	scene->memory->heads = 0x1000;
}

static void make_a_module_huge(struct scene *scene)
{
	scene->images[LIBRARY].file.thread_locals.size = 1 << 30;
}

static void put_a_module_far_below(struct scene *scene)
{
	scene->memory->maps[LIBRARY].offset = UINT64_MAX - 1;
}

static void put_modules_onto_each_other(struct scene *scene)
{
	scene->memory->maps[LIBRARY].offset = 40;
}

static void put_a_module_onto_the_thread(struct scene *scene)
{
	scene->memory->maps[LIBRARY].offset = 24;
}

static void forget_a_map(struct scene *scene)
{
	scene->memory->lists[0].slots[2].map = 0;
}

static void put_keys_outside(struct scene *scene)
{
	for (size_t i = 0; i < THREADS; i++)
		scene->memory->threads[i].thread.specific[0] = AT(scene->memory->threads[i].loaded);
}

static const struct {
	void (*change)(struct scene *scene);
	const char *first; /* the fate of the first thread */
} lies[] = {
	{drop_generation, START THREAD "--"},
	{load_after_the_heap_image, START THREAD "--"},
	{put_block_outside, START THREAD "--"},
	{put_block_into_code, START THREAD "--"},
	{shorten_vector, START "TKKTV---"},
	{break_vector, START "TKKT----"},
	/* The vector is read as far as possible; no end is known in that mapping. */
	{claim_an_endless_vector, START "TKKT--ll"},
	{close_the_lists_to_a_ring, START THREAD "ll"},
	{claim_endless_lists, START THREAD "ll"},
	{lead_lists_astray, "------" THREAD "--"},
	{lead_heads_astray, "------" THREAD "--"},
	{make_a_module_huge, "----PP" THREAD "ll"},
	{put_a_module_far_below, "----PP" THREAD "ll"},
	/* The first one wins. */
	{put_modules_onto_each_other, "--LLLL" THREAD "ll"},
	{put_a_module_onto_the_thread, "----PP" THREAD "ll"},
	{forget_a_map, "----PP" THREAD "ll"},
	{put_keys_outside, START "TTTTVVll"},
};

static void what_lies_costs_its_own_names_only(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct scene *scene;
		char text[16];

		assert_int_equal(setup((void **)&scene), 0);
		lies[i].change(scene);
		find(scene);
		if (strcmp(map_of(scene, 0, text), lies[i].first) != 0)
			fail_msg("lie %zu: %s", i, text);
		teardown((void **)&scene);
	}
}

/* Variant II: a program's own block ends at the thread pointer, rounded to its alignment. */
static void without_descriptors_the_program_is_known_by_its_place(void **state)
{
	static const struct {
		struct elf_thread_locals locals;
		uint64_t below;
	} cases[] = {
		{{0x800, 16, 8}, 16},  {{0x800, 12, 8}, 16}, {{0x800, 12, 1}, 12},
		{{0x800, 40, 64}, 64}, {{0x804, 12, 8}, 12}, {{0x808, 24, 16}, 24},
	};
	struct scene *scene = *state;
	struct data_module *program = &scene->modules.list.items[PROGRAM];
	uint64_t entry = getauxval(AT_ENTRY);

	scene->modules.list.count = 1;
	program->start = entry - 8;
	program->end = entry + 8;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scene->images[PROGRAM].file.thread_locals = cases[i].locals;
		find(scene);
		assert_int_equal(scene->blocks.list.count, THREADS);
		assert_int_equal(AT(scene->memory->threads[0].thread) -
					 scene->blocks.list.items[0].start,
				 cases[i].below);
		thread_blocks_free(&scene->blocks);
		for (size_t j = 0; j < THREADS; j++)
			free(scene->heap_image.threads.items[j].vector.blocks);
	}
	for (size_t j = 0; j < THREADS; j++)
		scene->heap_image.threads.items[j].vector = (struct thread_vector){0};
}

static void add_word(struct scene *scene, struct heap_graph *graph, const void *address)
{
	struct root_word *word = vec_push(&graph->roots);

	(void)scene;
	*word = (struct root_word){.address = (uint64_t)(uintptr_t)address};
}

/*
 * Names are those of the table's symbols; the second thread's words are added to the first one's.
 */
static void a_variable_is_one_root_for_all_threads(void **state)
{
	static struct symbol symbols[] = {{ELF_THREAD_LOCAL, 8, 0}, {ELF_THREAD_LOCAL + 8, 8, 4}};
	static char names[] = "one\0two";
	static const struct {
		const char *name, *module;
		uint32_t threads;
		pid_t tid;
		uint64_t words;
	} expected[] = {
		{"one", "/bin/x", 2, 0, 2},
		{"two", "/bin/x", 1, 100, 1},
		{"pthread_setspecific key 5", "/lib/libc.so.6", 1, 100, 1},
		{"struct pthread", "/lib/libc.so.6", 2, 0, 3},
		{"dynamic thread vector", "/lib/libc.so.6", 1, 100, 1},
		{NULL, "/lib/libc.so.6", 1, 101, 2},
	};
	struct scene *scene = *state;
	struct memory *memory = scene->memory;
	const void *words[] = {
		&memory->threads[0].locals[14],	       &memory->threads[0].locals[15],
		&memory->threads[0].thread.keys[5][1], &memory->threads[0].thread.last[0],
		&memory->threads[0].thread.last[1],    &memory->threads[0].vector[3],
		&memory->threads[1].locals[8],	       &memory->threads[1].locals[9],
		&memory->threads[1].locals[14],	       &memory->threads[1].thread.other,
	};
	struct heap_graph graph = {.blocks = 1};
	struct root_groups groups = {0};
	struct intern intern = {0};
	struct kernel_roots held = {0};
	struct root_sources sources = {.heap_image = &scene->heap_image,
				       .modules = &scene->modules,
				       .locals = &scene->blocks,
				       .held = &held};

	scene->images[PROGRAM].table =
		(struct symbol_table){.symbols = symbols, .count = 2, .names = names};
	find(scene);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		add_word(scene, &graph, words[i]);
	graph.graph.first = calloc(2, sizeof(uint32_t));
	assert_int_equal(root_groups_add(&sources, &intern, &graph, &groups), 0);
	assert_int_equal(groups.list.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct root_group *group = &groups.list.items[i];

		assert_int_equal(group->kind, ROOT_THREAD_LOCAL);
		if (expected[i].name)
			assert_string_equal(group->name, expected[i].name);
		else
			assert_null(group->name);
		assert_string_equal(group->module, expected[i].module);
		assert_int_equal(group->threads, expected[i].threads);
		assert_int_equal(group->tid, expected[i].tid);
		assert_int_equal(group->words, expected[i].words);
	}
	root_groups_free(&groups);
	intern_free(&intern);
	heap_graph_free(&graph);
}

/* The same for this process, with its C library. */
static void the_c_library_tells_where_its_threads_keep_what(void **state)
{
	static __thread int errno_like;
	_cleanup_(image_free) struct image image = {.file.fd = -1};
	_cleanup_close_ int fd = open(OWN_LIBC, O_RDONLY | O_CLOEXEC);
	const struct tls_layout *layout = &image.tls_layout;
	char *self = (char *)(uintptr_t)pthread_self();
	uint64_t *keys;
	pthread_key_t key;

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(image_read_objects(fd, &image), 0);
	assert_true(tls_layout_is_sound(layout, &machine_abi));
	assert_true(image.file.thread_locals.size > 0);
	assert_true((char *)&errno_like < self);
	assert_int_equal(pthread_key_create(&key, NULL), 0);
	assert_int_equal(pthread_setspecific(key, self), 0);
	keys = *(uint64_t **)(self + layout->keys_at);
	assert_true((char *)keys > self && (char *)keys < self + layout->thread_size);
	assert_int_equal(keys[(key * TLS_KEY_BYTES + layout->key_value_at) / 8], (uintptr_t)self);
	pthread_key_delete(key);
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		IN_SCENE(every_thread_has_the_blocks_of_all_modules_it_uses),
		cmocka_unit_test(what_lies_costs_its_own_names_only),
		IN_SCENE(without_descriptors_the_program_is_known_by_its_place),
		IN_SCENE(a_variable_is_one_root_for_all_threads),
		cmocka_unit_test(the_c_library_tells_where_its_threads_keep_what),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
