// SPDX-License-Identifier: GPL-2.0-or-later
/* Data on processes: this one, and children that map the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "child_fixture.h"
#include "process/proc/process_list.h"
#include "process/target/process.h"

static size_t reads;

static int count_reads(int pid, enum maps_filter filter, struct maps *maps)
{
	reads++;
	return maps_read(pid, filter, maps);
}

static int set_up(void **state)
{
	struct process_table *table = process_table_new(true);

	*state = table;
	if (!table)
		return -1;
	reads = 0;
	table->read = count_reads;
	return 0;
}

static int tear_down(void **state)
{
	process_table_free(*state);
	return 0;
}

static struct process *refresh(struct process_table *table, pid_t pid)
{
	struct process *process;

	assert_int_equal(process_table_refresh(table, pid, &process), 0);
	assert_ptr_equal(process_table_find(table, pid), process);
	return process;
}

static void the_mappings_are_read_once_per_refresh_whoever_uses_them(void **state)
{
	struct process_table *table = *state;
	struct process *process = refresh(table, getpid());

	assert_int_equal(reads, 1);
	for (size_t i = 0; i < process->maps.list.count; i++) {
		const struct mapping *mapping = &process->maps.list.items[i];

		for (enum dso_kind kind = 0; mapping->inode && kind < DSO_KIND_MAX_; kind++)
			assert_non_null(process_dso(&table->dsos, process, mapping, kind));
	}
	assert_non_null(process_code_at(process, (uintptr_t)refresh));
	assert_int_equal(reads, 1);
	refresh(table, getpid());
	assert_int_equal(reads, 2);
}

static void a_process_is_its_pid_and_its_start(void **state)
{
	struct process *process = refresh(*state, getpid());
	struct process_entry entry;

	assert_int_equal(process_read(getpid(), &entry), 0);
	assert_int_equal(process->pid, getpid());
	assert_true(process->start_ticks == entry.start_ticks);
	assert_null(process_table_find(*state, getppid()));
}

static void the_generation_shows_whether_code_came_or_went(void **state)
{
	struct process *process = refresh(*state, getpid());
	uint64_t generation = process->generation;
	size_t count = process->code.count;
	void *code, *data;

	data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	refresh(*state, getpid());
	assert_int_equal(process->generation, generation);
	code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	refresh(*state, getpid());
	assert_int_equal(process->generation, generation + 1);
	assert_int_equal(process->code.count, count + 1);
	assert_string_equal(process_code_at(process, (uintptr_t)code)->why, "anonymous code");
	munmap(code, 8192);
	refresh(*state, getpid());
	assert_int_equal(process->generation, generation + 2);
	assert_int_equal(process->code.count, count);
	assert_int_equal(process->past.count, 1);
	/* It is remembered. */
	assert_non_null(process_code_at(process, (uintptr_t)code));
	assert_null(process_code_at(process, (uintptr_t)data));
	munmap(data, 4096);
}

static void a_file_that_two_processes_map_is_one_dso(void **state)
{
	pid_t child = start_child();
	const struct process *own = refresh(*state, getpid()), *other = refresh(*state, child);
	size_t files = 0;

	assert_int_equal(own->code.count, other->code.count);
	for (size_t i = 0; i < own->code.count; i++) {
		assert_ptr_equal(own->code.items[i].dso, other->code.items[i].dso);
		files += own->code.items[i].dso != NULL;
	}
	assert_true(files >= 3); /* this program, libc and the loader */
	stop_child(child);
}

static void what_was_known_of_a_process_stays_when_it_has_gone_and_goes_when_forgotten(void **state)
{
	struct process_table *table = *state;
	pid_t child = start_child();
	struct process *process = refresh(table, child);
	size_t count = process->code.count;

	stop_child(child);
	assert_int_equal(process_table_refresh(table, child, &process), -ESRCH);
	assert_int_equal(process->code.count, count);
	process_table_forget(table, child);
	process_table_forget(table, child);
	assert_null(process_table_find(table, child));
	for (size_t i = 0; i < table->dsos.list.count; i++)
		assert_int_equal(table->dsos.list.items[i]->facets[DSO_SYMBOLS].users, 0);
}

struct visits {
	uint64_t address; /* of the file of interest */
	struct dso *dso;  /* visited for it */
	size_t count, code_after_data, others;
	bool data;
};

static int note_visit(void *context, const struct mapping *mapping, struct dso *dso, int fd)
{
	struct visits *visits = context;

	assert_true(dso && fd >= 0);
	visits->data |= !mapping->executable;
	visits->code_after_data += visits->data && mapping->executable;
	if (visits->address < mapping->start || visits->address >= mapping->end) {
		visits->others++;
		return 0;
	}
	visits->dso = dso;
	visits->count++;
	return 0;
}

/* A probe must follow the present file, not the one at the time of the mapping. */
static void files_are_visited_code_first_as_they_are_now_unless_they_were_seen(void **state)
{
	struct process_table *table = *state;
	int file = memfd_create("code", MFD_CLOEXEC);
	struct mapped_files seen = {0};
	struct visits visits = {0};
	struct file_visitor visitor = {note_visit, &visits, DSO_PLAN, &seen};
	const struct process *process;
	struct dso *first;
	void *code;

	assert_int_equal(ftruncate(file, 4096), 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	assert_true(code != MAP_FAILED);
	visits.address = (uintptr_t)code;
	process = refresh(table, getpid());
	assert_int_equal(process_visit_files(&table->dsos, process, &visitor), 0);
	first = process_code_at(process, visits.address)->dso;
	assert_int_equal(visits.count, 1);
	assert_int_equal(visits.code_after_data, 0);
	assert_true(visits.data && visits.others);
	assert_ptr_equal(visits.dso, first);
	assert_int_equal(first->facets[DSO_PLAN].users, 0);
	assert_int_equal(ftruncate(file, 8192), 0);
	visits.data = false;
	assert_int_equal(process_visit_files(&table->dsos, process, &visitor), 0);
	assert_int_equal(visits.count, 2);
	assert_ptr_not_equal(visits.dso, first);
	assert_true(mapped_files_add(&seen, maps_find(&process->maps, visits.address)));
	assert_int_equal(process_visit_files(&table->dsos, process, &visitor), 0);
	assert_int_equal(visits.count, 2);
	vec_free(&seen);
	close(file);
	munmap(code, 4096);
}

#define PROCESS_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROCESS_TEST(the_mappings_are_read_once_per_refresh_whoever_uses_them),
		PROCESS_TEST(a_process_is_its_pid_and_its_start),
		PROCESS_TEST(the_generation_shows_whether_code_came_or_went),
		PROCESS_TEST(a_file_that_two_processes_map_is_one_dso),
		PROCESS_TEST(files_are_visited_code_first_as_they_are_now_unless_they_were_seen),
		PROCESS_TEST(
			what_was_known_of_a_process_stays_when_it_has_gone_and_goes_when_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
