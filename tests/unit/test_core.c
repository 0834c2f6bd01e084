// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/elf/elf_abi.h"
#include "binary/parse/questions.h"
#include "own_registers.h"
#include "process/proc/core.h"
#include "unit/decode_answers.h"

#define PAGE 4096u
#define PROGRAM 0x400000ull
#define HEAP 0x600000ull
#define SHARED 0x700000ull
/* Another part of the program's file, followed by memory without a file. */
#define EARLIER 0x300000ull
#define ASSEMBLY 0x800000ull
#define STACK 0x7f0000000000ull

/* A core of one process with two threads, in memory. */
struct fixture {
	uint8_t *bytes;
	size_t size, notes_at;
	Elf64_Phdr *headers; /* in bytes; the first one is that of the notes */
	char path[64];
	int fd;
	struct core *core;
};

/* A file of .NET's types. */
static char assembly[32];

struct notes {
	uint8_t bytes[4096];
	size_t size;
};

static void add_note(struct notes *notes, uint32_t type, const void *data, size_t size)
{
	Elf64_Nhdr header = {.n_namesz = 5, .n_descsz = (uint32_t)size, .n_type = type};

	memcpy(notes->bytes + notes->size, &header, sizeof(header));
	memcpy(notes->bytes + notes->size + sizeof(header), "CORE\0\0\0", 8);
	memcpy(notes->bytes + notes->size + sizeof(header) + 8, data, size);
	notes->size += sizeof(header) + 8 + (size + 3) / 4 * 4;
}

static void add_thread(struct notes *notes, int tid, uint64_t sp)
{
	struct elf_prstatus status = {.pr_pid = tid};
	__typeof__(own_core_vectors(0)) other = own_core_vectors((unsigned)tid);

	own_core_registers(sp, status.pr_reg);
	add_note(notes, NT_PRSTATUS, &status, sizeof(status));
	add_note(notes, NT_FPREGSET, &other, sizeof(other));
}

static void add_files(struct notes *notes)
{
	static const char paths[] = "/no/such/program\0/no/such/program\0/memfd:\t (deleted)";
	struct {
		uint64_t count, page, places[12];
		char paths[96];
	} files = {4,
		   PAGE,
		   {EARLIER, EARLIER + PAGE, 2, PROGRAM, PROGRAM + 2 * PAGE, 0, SHARED,
		    SHARED + PAGE, 0, ASSEMBLY, ASSEMBLY + PAGE, 0},
		   ""};

	memcpy(files.paths, paths, sizeof(paths));
	strcpy(files.paths + sizeof(paths), assembly);
	add_note(notes, NT_FILE, &files, sizeof(files));
}

static void make_notes(struct notes *notes)
{
	struct elf_prpsinfo process = {.pr_pid = 70, .pr_fname = "program"};
	Elf64_auxv_t auxiliary[] = {
		{AT_ENTRY, {PROGRAM + PAGE}}, {AT_EXECFN, {STACK + 64}}, {AT_PAGESZ, {4 * PAGE}}};

	add_note(notes, NT_PRPSINFO, &process, sizeof(process));
	add_thread(notes, 71, HEAP);
	add_thread(notes, 70, STACK + 8);
	add_note(notes, NT_AUXV, auxiliary, sizeof(auxiliary));
	add_files(notes);
}

static const struct {
	uint64_t address, size, in_file;
	uint32_t flags;
} loads[] = {
	{STACK, 2 * PAGE, 2 * PAGE, PF_R | PF_W},  /* out of order */
	{PROGRAM, PAGE, PAGE, PF_R | PF_X},	   /* its second page: in NT_FILE alone */
	{HEAP, 4 * PAGE, 3 * PAGE, PF_R | PF_W},   /* the last page was not dumped */
	{SHARED, PAGE, 0, PF_R | PF_W},		   /* none of it was */
	{HEAP + PAGE, PAGE, PAGE, PF_R | PF_W},	   /* overlaps */
	{PROGRAM + 123, PAGE, PAGE, PF_R},	   /* no page */
	{0xffffffffff600000ull, PAGE, PAGE, PF_R}, /* the kernel's */
	{STACK + 8 * PAGE, PAGE, PAGE, PF_R},	   /* zeros, as gdb writes a guard */
	{STACK + 9 * PAGE, PAGE, PAGE, PF_R | PF_W},
	{EARLIER + 2 * PAGE, PAGE, PAGE, PF_R | PF_W},
};

static void make_core(struct fixture *fixture)
{
	struct notes notes = {0};
	size_t count = ARRAY_SIZE(loads) + 1, at;
	Elf64_Ehdr *header;

	make_notes(&notes);
	at = fixture->notes_at = sizeof(*header) + count * sizeof(*fixture->headers);
	fixture->size = at + notes.size;
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++)
		fixture->size += loads[i].in_file;
	fixture->bytes = calloc(1, fixture->size);
	header = (void *)fixture->bytes;
	*header = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
			       .e_type = ET_CORE,
			       .e_machine = machine_abi.machine,
			       .e_phoff = sizeof(*header),
			       .e_phentsize = sizeof(Elf64_Phdr),
			       .e_phnum = (uint16_t)count};
	fixture->headers = (void *)(header + 1);
	fixture->headers[0] =
		(Elf64_Phdr){.p_type = PT_NOTE, .p_offset = at, .p_filesz = notes.size};
	memcpy(fixture->bytes + at, notes.bytes, notes.size);
	at += notes.size;
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		fixture->headers[i + 1] = (Elf64_Phdr){.p_type = PT_LOAD,
						       .p_flags = loads[i].flags,
						       .p_offset = at,
						       .p_vaddr = loads[i].address,
						       .p_filesz = loads[i].in_file,
						       .p_memsz = loads[i].size};
		/* Each page contains its address, except the second ones, and guards. */
		for (uint64_t page = 0; page < loads[i].in_file; page += PAGE) {
			uint64_t word = loads[i].address + page;

			if (page != PAGE && loads[i].flags != PF_R)
				memcpy(fixture->bytes + at + page, &word, sizeof(word));
		}
		at += loads[i].in_file;
	}
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	int fd;

	strcpy(assembly, "/tmp/leakmon-XXXXXX.dll");
	fd = mkstemps(assembly, 4);
	if (fd < 0 || write(fd, "MZ and so on", 12) != 12)
		return 1;
	close(fd);
	make_core(fixture);
	fixture->fd = memfd_create("core", MFD_CLOEXEC);
	snprintf(fixture->path, sizeof(fixture->path), "/proc/self/fd/%d", fixture->fd);
	*state = fixture;
	return fixture->fd < 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	core_free(fixture->core);
	unlink(assembly);
	close(fixture->fd);
	free(fixture->bytes);
	free(fixture);
	return 0;
}

static int open_core(struct fixture *fixture)
{
	struct core_options options = {.path = fixture->path};
	struct worker *worker = worker_new_local(&parse_kinds);
	int error;

	assert_int_equal(pwrite(fixture->fd, fixture->bytes, fixture->size, 0), fixture->size);
	error = core_read_file(&options, worker, &fixture->core);
	worker_free(worker);
	return error;
}

static const struct mapping *mapping_at(const struct maps *maps, uint64_t address)
{
	const struct mapping *mapping = maps_find(maps, address);

	assert_non_null(mapping);
	return mapping;
}

static void mappings_have_the_names_and_rights_that_a_core_has(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(maps_free) struct maps maps = {0};

	assert_int_equal(open_core(fixture), 0);
	assert_int_equal(core_maps(fixture->core, MAPS_ALL, &maps), 0);
	assert_ptr_equal(maps.source.core, fixture->core);
	assert_int_equal(maps.list.count, 10);
	assert_string_equal(mapping_at(&maps, PROGRAM)->path, "/no/such/program");
	assert_true(mapping_at(&maps, PROGRAM)->executable);
	assert_int_equal(mapping_at(&maps, PROGRAM + PAGE)->offset, PAGE);
	assert_true(
		mapping_same_file(mapping_at(&maps, PROGRAM), mapping_at(&maps, PROGRAM + PAGE)));
	assert_true(mapping_same_file(mapping_at(&maps, PROGRAM), mapping_at(&maps, EARLIER)));
	assert_false(mapping_same_file(mapping_at(&maps, PROGRAM), mapping_at(&maps, SHARED)));
	assert_false(mapping_same_file(mapping_at(&maps, ASSEMBLY), mapping_at(&maps, SHARED)));
	assert_string_equal(mapping_at(&maps, HEAP)->path, "[heap]");
	assert_string_equal(mapping_at(&maps, EARLIER + 2 * PAGE)->path, "");
	assert_int_equal(mapping_at(&maps, HEAP)->end, HEAP + 4 * PAGE);
	assert_string_equal(mapping_at(&maps, STACK)->path, "[stack]");
	assert_string_equal(mapping_at(&maps, SHARED)->path, "/memfd:\t");
	assert_true(mapping_at(&maps, SHARED)->shared && mapping_at(&maps, SHARED)->deleted);
	assert_false(mapping_at(&maps, STACK + 8 * PAGE)->readable);
	assert_true(mapping_at(&maps, STACK + 9 * PAGE)->readable);
}

static void memory_is_read_up_to_what_is_not_there(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_free_ uint8_t *bytes = malloc(5 * PAGE);
	uint64_t word;

	assert_int_equal(open_core(fixture), 0);
	assert_int_equal(core_read(fixture->core, HEAP + 8, bytes, 5 * PAGE), 3 * PAGE - 8);
	memcpy(&word, bytes + 2 * PAGE - 8, sizeof(word));
	assert_int_equal(word, HEAP + 2 * PAGE);
	assert_int_equal(core_read(fixture->core, HEAP + 3 * PAGE, bytes, 8), -EFAULT);
	assert_int_equal(core_read(fixture->core, PROGRAM + PAGE, bytes, 8), -EFAULT);
	assert_int_equal(core_read(fixture->core, 0, bytes, 8), -EFAULT);
}

static void expect_assembly(struct fixture *fixture, bool is_read)
{
	char page[2 * PAGE];

	memset(page, 1, sizeof(page));
	assert_int_equal(open_core(fixture), 0);
	assert_int_equal(core_read(fixture->core, ASSEMBLY, page, sizeof(page)),
			 is_read ? (int)PAGE : -EFAULT);
	/* Zeros follow its end, as in memory. */
	assert_true(!is_read || !strcmp(page, "MZ and so on"));
	assert_int_equal(core_read(fixture->core, ASSEMBLY + 100, page, 8), is_read ? 8 : -EFAULT);
	assert_true(!is_read || !page[0]);
	core_free(fixture->core);
	fixture->core = NULL;
}

/* Unless the file has changed since, or is not an assembly. */
static void assemblies_are_read_from_their_files(void **state)
{
	static const struct timespec later[] = {{.tv_sec = UINT32_MAX}, {.tv_sec = UINT32_MAX}};
	static const struct timespec before[] = {{.tv_sec = 1}, {.tv_sec = 1}};

	expect_assembly(*state, true);
	assert_int_equal(utimensat(AT_FDCWD, assembly, later, 0), 0);
	expect_assembly(*state, false);
	assert_int_equal(truncate(assembly, 1), 0);
	assert_int_equal(utimensat(AT_FDCWD, assembly, before, 0), 0);
	expect_assembly(*state, false);
}

static void pages_of_zeros_count_as_absent(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_close_ int pagemap = -1;
	struct memory_source source = {0};
	uint64_t entries[4];

	assert_int_equal(open_core(fixture), 0);
	source.core = fixture->core;
	pagemap = pagemap_open(source);
	pagemap_read(source, pagemap, HEAP, entries, 4);
	assert_true(pagemap_is_present(entries[0]));
	assert_false(pagemap_is_present(entries[1]));
	assert_true(pagemap_is_present(entries[2]));
	assert_false(pagemap_is_present(entries[3]));
}

static void threads_come_by_number_that_of_the_process_first(void **state)
{
	struct fixture *fixture = *state;
	const struct core_layout *layout;

	assert_int_equal(open_core(fixture), 0);
	layout = core_layout(fixture->core);
	assert_int_equal(layout->pid, 70);
	assert_string_equal(layout->comm, "program");
	assert_int_equal(layout->threads.count, 2);
	assert_int_equal(layout->threads.items[0].tid, 70);
	assert_int_equal(machine_sp(&layout->threads.items[0].registers), STACK + 8);
	assert_int_equal(layout->threads.items[1].registers.vectors[0], 71);
}

static void what_is_missing_is_counted(void **state)
{
	struct fixture *fixture = *state;
	struct core_gaps gaps;

	assert_int_equal(open_core(fixture), 0);
	gaps = core_gaps(fixture->core);
	assert_int_equal(gaps.cut_bytes, 0);
	assert_int_equal(gaps.unsaved_bytes, PAGE);
	assert_int_equal(gaps.missing_files, 1);
	assert_string_equal(gaps.example, "/no/such/program");
	assert_false(core_is_complete(fixture->core));
}

static void of_a_file_that_is_cut_off_the_rest_is_read(void **state)
{
	struct fixture *fixture = *state;

	fixture->size -= PAGE + 100;
	assert_int_equal(open_core(fixture), 0);
	assert_int_equal(core_gaps(fixture->core).cut_bytes, PAGE + 100);
}

static void tables_that_cannot_be_are_refused(void **state)
{
	struct fixture *fixture = *state;

	fixture->headers[0].p_filesz -= 8;
	assert_int_equal(open_core(fixture), -EBADMSG);
	fixture->headers[0].p_filesz = 400u << 20;
	assert_int_equal(open_core(fixture), -EBADMSG);
	fixture->headers[0].p_filesz = 1ull << 40;
	assert_int_equal(open_core(fixture), -EFBIG);
	fixture->headers[0].p_type = PT_NULL;
	assert_int_equal(open_core(fixture), -EBADMSG);
	((Elf64_Ehdr *)fixture->bytes)->e_type = ET_DYN;
	assert_int_equal(open_core(fixture), -ENOEXEC);
}

static void segments_that_share_bytes_are_refused(void **state)
{
	struct fixture *fixture = *state;
	Elf64_Phdr *shared = &fixture->headers[4];

	shared->p_offset = 0;
	shared->p_memsz = shared->p_filesz = 64 * PAGE;
	assert_int_equal(open_core(fixture), -EBADMSG);
}

static void an_answer_about_bytes_that_the_file_has_not_got_is_refused(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(core_layout_free) struct core_layout layout = {0}, decoded = {0};
	_cleanup_(bytes_free) struct bytes body = {0};

	assert_int_equal(open_core(fixture), 0);
	assert_int_equal(core_layout_read(fixture->fd, &layout), 0);
	assert_int_equal(encode_core_layout(&layout, &body), 0);
	assert_int_equal(decode_core_layout(&body, fixture->size - 1, &decoded), -EPROTO);
	body.size--;
	assert_int_equal(decode_core_layout(&body, fixture->size, &decoded), -EPROTO);
	body.size++;
	assert_int_equal(decode_core_layout(&body, fixture->size, &decoded), 0);
	assert_int_equal(decoded.segments.count, layout.segments.count);
	assert_int_equal(decoded.page_bytes, 4 * PAGE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(mappings_have_the_names_and_rights_that_a_core_has),
		TEST(memory_is_read_up_to_what_is_not_there),
		TEST(assemblies_are_read_from_their_files),
		TEST(pages_of_zeros_count_as_absent),
		TEST(threads_come_by_number_that_of_the_process_first),
		TEST(what_is_missing_is_counted),
		TEST(of_a_file_that_is_cut_off_the_rest_is_read),
		TEST(tables_that_cannot_be_are_refused),
		TEST(segments_that_share_bytes_are_refused),
		TEST(an_answer_about_bytes_that_the_file_has_not_got_is_refused),
	};

	return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
