// SPDX-License-Identifier: GPL-2.0-or-later
/* Probes carried by programs: parsing and validation of the notes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "binary/arch/machine.h"
#include "binary/arch/usdt.h"
#include "base/cleanup.h"
#include "binary/parse/plan.h"
#include "unit/elf_fixture.h"
#include "unit/decode_answers.h"

#define DATA_SHIFT 0x2000

/* A file with notes; its data follows them. */
struct scene {
	struct elf_fixture elf;
	_Alignas(4096) uint8_t data[4096];
	uint8_t *notes; /* not in the file: it is appended */
	size_t size;
};

#define CODE(at) (FIXTURE_VADDR(code) + (at))
#define DATA(at) (FIXTURE_BASE + DATA_SHIFT + offsetof(struct scene, data) + (at))

static void scene_init(struct scene *scene)
{
	Elf64_Shdr *notes = &scene->elf.sections[FIXTURE_DYNSYM];

	memset(scene, 0, sizeof(*scene));
	fixture_init(&scene->elf);
	scene->elf.programs[FIXTURE_LOAD].p_filesz = sizeof(scene->elf);
	scene->elf.programs[FIXTURE_DYNAMIC] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_W,
		.p_offset = offsetof(struct scene, data),
		.p_vaddr = DATA(0),
		.p_filesz = sizeof(scene->data),
		.p_memsz = sizeof(scene->data),
	};
	*notes = (Elf64_Shdr){.sh_type = SHT_NOTE, .sh_name = 10, .sh_offset = sizeof(*scene)};
	memcpy(scene->elf.names + 10, ".note.stapsdt", 14);
	memset(scene->elf.code, 0x90, sizeof(scene->elf.code));
}

static void scene_grow(struct scene *scene, const void *bytes, size_t size)
{
	scene->notes = realloc(scene->notes, scene->size + size);
	assert_non_null(scene->notes);
	memcpy(scene->notes + scene->size, bytes, size);
	scene->size += size;
}

struct said {
	uint64_t pc, base, semaphore;
	const char *provider, *name, *arguments;
};

static void scene_note(struct scene *scene, const struct said *said)
{
	char text[512] = "";
	uint64_t numbers[] = {said->pc, said->base, said->semaphore};
	size_t size = (size_t)snprintf(text, sizeof(text), "%s%c%s%c%s", said->provider, 0,
				       said->name, 0, said->arguments) +
		      1;
	Elf64_Nhdr header = {8, (uint32_t)(sizeof(numbers) + size), 3};

	scene_grow(scene, &header, sizeof(header));
	scene_grow(scene, "stapsdt", 8);
	scene_grow(scene, numbers, sizeof(numbers));
	scene_grow(scene, text, (size + 3) & ~3ull);
}

static int scene_file(struct scene *scene)
{
	int fd;

	scene->elf.sections[FIXTURE_DYNSYM].sh_size = scene->size;
	fd = fixture_file(scene, sizeof(*scene));
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, scene->notes, scene->size, sizeof(*scene)), scene->size);
	return fd;
}

/* Through both ends of the wire; the file's notes go. */
static void scene_read(struct scene *scene, struct stapsdt *notes)
{
	_cleanup_(probe_plan_free) struct probe_plan plan = {0}, decoded = {0};
	_cleanup_(bytes_free) struct bytes body = {0};
	_cleanup_close_ int fd = scene_file(scene);

	assert_int_equal(probe_plan_file(fd, "", PROBE_AT_BEST, &plan), 0);
	assert_int_equal(encode_plan(&plan, &body), 0);
	assert_int_equal(decode_plan(&body, sizeof(*scene) + scene->size, &decoded), 0);
	*notes = decoded.carried;
	decoded.carried = (struct stapsdt){0};
	free(scene->notes);
	scene->notes = NULL;
	scene->size = 0;
}

static const struct said good = {.pc = CODE(16),
				 .semaphore = DATA(64),
				 .provider = "otel_memory",
				 .name = "alloc",
				 .arguments = "8@%rdi -4@16(%rsp) 8@$524288"};

static void a_sampled_allocation_is_found_with_its_arguments(void **state)
{
	_cleanup_(stapsdt_free) struct stapsdt notes = {0};
	const struct usdt_probe *probe;
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_note(&scene, &good);
	scene_note(&scene, &(struct said){CODE(40), 0, 0, "otel_memory", "free", "8@%rax"});
	scene_note(&scene, &(struct said){CODE(50), 0, 0, "libc", "memory_heap_new", "8@%rax"});
	scene_note(&scene, &(struct said){CODE(60), 0, 0, "libc", "setjmp", "8@%rax"});
	scene_read(&scene, &notes);
	assert_string_equal(notes.refused, "");
	assert_int_equal(notes.probes.count, 2);
	probe = &notes.probes.items[0];
	assert_string_equal(probe->refused, "");
	assert_int_equal(probe->offset, offsetof(struct elf_fixture, code) + 16);
	assert_int_equal(probe->semaphore, offsetof(struct scene, data) + 64);
	assert_int_equal(probe->arguments[0].kind, LM_USDT_REGISTER);
	assert_int_equal(probe->arguments[0].base, 7);
	assert_int_equal(probe->arguments[1].kind, LM_USDT_MEMORY);
	assert_int_equal(probe->arguments[1].base, 4);
	assert_int_equal(probe->arguments[1].value, 16);
	assert_int_equal(probe->arguments[1].size, 4);
	assert_true(probe->arguments[1].is_signed);
	assert_int_equal(probe->arguments[2].kind, LM_USDT_CONSTANT);
	assert_int_equal(probe->arguments[2].value, 524288);
	assert_int_equal(notes.probes.items[1].kind, USDT_FREE);
	assert_int_equal(notes.listed.count, 3);
	assert_string_equal(notes.listed.items[2].name, "memory_heap_new");
}

/* Prelinking moves the sections, not the addresses in the notes. */
static void a_file_that_was_moved_is_read_by_its_base(void **state)
{
	_cleanup_(stapsdt_free) struct stapsdt notes = {0};
	struct scene scene;
	struct said moved = good;

	(void)state;
	scene_init(&scene);
	memcpy(scene.elf.names + 30, ".stapsdt.base", 14);
	scene.elf.sections[FIXTURE_TEXT].sh_name = 30;
	moved.base = scene.elf.sections[FIXTURE_TEXT].sh_addr - 0x1000;
	moved.pc -= 0x1000;
	moved.semaphore -= 0x1000;
	scene_note(&scene, &moved);
	scene_read(&scene, &notes);
	assert_int_equal(stapsdt_count(&notes, USDT_ALLOCATE), 1);
	assert_int_equal(notes.probes.items[0].offset, offsetof(struct elf_fixture, code) + 16);
	assert_int_equal(notes.probes.items[0].semaphore, offsetof(struct scene, data) + 64);
}

static void what_cannot_be_probed_says_why(void **state)
{
	static const char *const other = "\x0f\x1f\x44\x00";
	const struct {
		struct said said;
		const char *why;
	} cases[] = {
		{{DATA(0), 0, 0, "otel_memory", "free", "8@%rdi"}, "outside the file's code"},
		{{~0ull, 0, 0, "otel_memory", "free", "8@%rdi"}, "outside the file's code"},
		{{CODE(100), 0, 0, "otel_memory", "free", "8@%rdi"}, "does nothing"},
		{{CODE(110), 0, 0, "otel_memory", "free", "8@%rdi"}, "5-byte nop"},
		{{CODE(0), 0, CODE(0), "otel_memory", "free", "8@%rdi"}, "semaphore lies outside"},
		{{CODE(0), 0, ~0ull, "otel_memory", "free", "8@%rdi"}, "semaphore lies outside"},
		{{CODE(0), 0, DATA(4095), "otel_memory", "free", "8@%rdi"},
		 "semaphore lies outside"},
		{{CODE(0), 0, DATA(65), "otel_memory", "free", "8@%rdi"}, "not aligned"},
		{{CODE(0), 0, DATA(128), "otel_memory", "free", "8@%rdi"}, "begin at zero"},
		{{CODE(0), 0, 0, "otel_memory", "free", ""}, "fewer arguments"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8@%rdi 8@%rsi"}, "more arguments"},
		{{CODE(0), 0, 0, "otel_memory", "alloc", "8@%rdi 8@%rsi"}, "fewer arguments"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8@counter+8(%rip)"}, "by its name"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8@8(%rip)"}, "by its name"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8@counter"}, "by its name"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8@%ah"}, "cannot read"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8@%xmm0"}, "cannot read"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8@(%eax)"}, "cannot read"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8@(%rax,%rsp)"}, "cannot read"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8@(%rax,%rcx,3)"}, "not written"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8@8(%rax"}, "not written"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8@$"}, "not written"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8@$1x"}, "not written"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8@$99999999999999999999"}, "not written"},
		{{CODE(0), 0, 0, "otel_memory", "free", "3@%rax"}, "no integer"},
		{{CODE(0), 0, 0, "otel_memory", "free", "8f@%rax"}, "not written"},
		{{CODE(0), 0, 0, "otel_memory", "free", "%rax"}, "not written"},
		{{CODE(0), 0, 0, "otel_memory", "free", "@"}, "not written"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(stapsdt_free) struct stapsdt notes = {0};
		struct scene scene;

		scene_init(&scene);
		memset(scene.elf.code + 100, 0x55, 1);
		memcpy(scene.elf.code + 110, other, 5);
		scene.data[128] = 1;
		scene_note(&scene, &cases[i].said);
		scene_read(&scene, &notes);
		assert_int_equal(notes.probes.count, 1);
		if (!strstr(notes.probes.items[0].refused, cases[i].why))
			fail_msg("case %zu: `%s` is not in `%s`", i, cases[i].why,
				 notes.probes.items[0].refused);
		assert_int_equal(stapsdt_count(&notes, notes.probes.items[0].kind), 0);
	}
}

static void operands_of_all_forms_are_read(void **state)
{
	static const struct {
		const char *text;
		struct lm_usdt_operand operand;
	} cases[] = {
		{"-8@%rax", {0, LM_USDT_REGISTER, 8, 1, 0, 0xff, 1, {0}}},
		{"4@%r10d", {0, LM_USDT_REGISTER, 4, 0, 10, 0xff, 1, {0}}},
		{"2@%bx", {0, LM_USDT_REGISTER, 2, 0, 3, 0xff, 1, {0}}},
		{"1@%sil", {0, LM_USDT_REGISTER, 1, 0, 6, 0xff, 1, {0}}},
		{"4@$7", {7, LM_USDT_CONSTANT, 4, 0, 0xff, 0xff, 1, {0}}},
		{"-8@$-1", {-1, LM_USDT_CONSTANT, 8, 1, 0xff, 0xff, 1, {0}}},
		{"8@-16(%rbp)", {-16, LM_USDT_MEMORY, 8, 0, 5, 0xff, 1, {0}}},
		{"8@(%rsp)", {0, LM_USDT_MEMORY, 8, 0, 4, 0xff, 1, {0}}},
		{"8@24(%r12,%rcx,8)", {24, LM_USDT_MEMORY, 8, 0, 12, 1, 8, {0}}},
		{"8@(,%rdx,4)", {0, LM_USDT_MEMORY, 8, 0, 0xff, 2, 4, {0}}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct lm_usdt_operand operand = {0};

		assert_null(usdt_operand_read(cases[i].text, strlen(cases[i].text), &operand));
		assert_memory_equal(&operand, &cases[i].operand, sizeof(operand));
	}
}

static void two_probes_at_one_place_are_one(void **state)
{
	_cleanup_(stapsdt_free) struct stapsdt notes = {0};
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_note(&scene, &good);
	scene_note(&scene, &good);
	scene_read(&scene, &notes);
	assert_int_equal(notes.probes.count, 2);
	assert_int_equal(stapsdt_count(&notes, USDT_ALLOCATE), 1);
}

static void assert_refused(struct scene *scene, const char *why)
{
	_cleanup_(stapsdt_free) struct stapsdt notes = {0};

	scene_read(scene, &notes);
	assert_int_equal(notes.probes.count, 0);
	if (!strstr(notes.refused, why))
		fail_msg("`%s` is not in `%s`", why, notes.refused);
}

static void notes_that_lie_are_refused_as_a_whole(void **state)
{
	struct scene scene;
	Elf64_Nhdr endless = {8, UINT32_MAX, 3}, nameless = {UINT32_MAX, 8, 3},
		   short_one = {8, 20, 3};

	(void)state;
	scene_init(&scene);
	scene_note(&scene, &good);
	scene_grow(&scene, &endless, sizeof(endless));
	scene_grow(&scene, "stapsdt", 8);
	assert_refused(&scene, "contradict");
	scene_init(&scene);
	scene_grow(&scene, &nameless, sizeof(nameless));
	assert_refused(&scene, "contradict");
	scene_init(&scene);
	scene_grow(&scene, &short_one, sizeof(short_one));
	scene_grow(&scene, "stapsdt", 8);
	scene_grow(&scene, (char[20]){0}, 20);
	assert_refused(&scene, "contradict");
}

static void a_million_notes_are_refused(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.size = 1000000 * 12;
	scene.notes = calloc(1, scene.size);
	assert_refused(&scene, "more than any program");
	scene_init(&scene);
	scene.size = STAPSDT_MAX_BYTES + 12;
	scene.notes = calloc(1, scene.size);
	assert_refused(&scene, "larger than any program");
}

static void more_places_than_any_program_has_are_refused(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	for (int i = 0; i < STAPSDT_MAX_PROBES + 1; i++)
		scene_note(&scene, &good);
	assert_refused(&scene, "more places");
}

static void notes_behind_the_end_of_the_file_are_refused(void **state)
{
	_cleanup_(stapsdt_free) struct stapsdt notes = {0};
	_cleanup_close_ int fd = -1;
	struct elf_file file;
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.elf.sections[FIXTURE_DYNSYM].sh_size = 4096;
	fd = fixture_file(&scene, sizeof(scene));
	assert_int_equal(elf_file_open(fd, &machine_abi, &file), 0);
	assert_int_equal(stapsdt_read(&file, &notes), 0);
	assert_non_null(strstr(notes.refused, "outside the file"));
	elf_file_close(&file);
}

static void answers_that_no_honest_parser_gives_are_refused(void **state)
{
	_cleanup_(stapsdt_free) struct stapsdt notes = {0}, decoded = {0};
	struct scene scene;
	struct usdt_probe honest;

	(void)state;
	scene_init(&scene);
	scene_note(&scene, &good);
	scene_read(&scene, &notes);
	honest = notes.probes.items[0];
	for (int lie = 0; lie < 7; lie++) {
		_cleanup_(bytes_free) struct bytes body = {0};
		struct usdt_probe *probe = &notes.probes.items[0];
		struct cursor cursor;

		*probe = honest;
		if (lie == 0)
			probe->kind = USDT_KIND_MAX_;
		else if (lie == 1)
			probe->offset = sizeof(scene);
		else if (lie == 2)
			probe->semaphore = sizeof(scene);
		else if (lie == 3)
			probe->arguments[2].base = 16;
		else if (lie == 4)
			probe->arguments[0].size = 16;
		else if (lie == 5)
			memset(probe->refused, 'x', sizeof(probe->refused));
		else
			probe->offset++;
		assert_int_equal(encode_stapsdt(&notes, &body), 0);
		cursor = (struct cursor){body.data, body.size};
		assert_int_equal(decode_stapsdt(&cursor, sizeof(scene), &decoded), -EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sampled_allocation_is_found_with_its_arguments),
		cmocka_unit_test(a_file_that_was_moved_is_read_by_its_base),
		cmocka_unit_test(what_cannot_be_probed_says_why),
		cmocka_unit_test(operands_of_all_forms_are_read),
		cmocka_unit_test(two_probes_at_one_place_are_one),
		cmocka_unit_test(notes_that_lie_are_refused_as_a_whole),
		cmocka_unit_test(a_million_notes_are_refused),
		cmocka_unit_test(more_places_than_any_program_has_are_refused),
		cmocka_unit_test(notes_behind_the_end_of_the_file_are_refused),
		cmocka_unit_test(answers_that_no_honest_parser_gives_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
