// SPDX-License-Identifier: GPL-2.0-or-later
/* Names functions of this very program, of copies of it that run as children, and of libc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/sandbox/worker_process.h"
#include "binary/parse/questions.h"
#include "leakmon_abi.h"
#include "process/proc/maps.h"
#include "process/symbol/symbolizer.h"
#include "unit/naming_fixture.h"

#define PROCESS 42

/* Everything holds with files read in this process (NULL) and in the sandbox. */
static struct worker *parser;

/* A function with a known return address, and its line. */
enum { KNOWN_LINE = __LINE__ + 7 };
__attribute__((noinline)) static uint64_t return_address(void)
{
	return (uintptr_t)__builtin_return_address(0);
}
__attribute__((noinline)) static uint64_t known_function(volatile int *after)
{
	uint64_t address = return_address();

	*after = 1;
	return address;
}

int leak_holder(int value) __asm__("_ZN4leak6holderEi");
int leak_holder(int value)
{
	return value + 1;
}

static uint64_t known_address(void)
{
	volatile int after;

	return known_function(&after);
}

static struct frame name_one(struct symbolizer *symbolizer, uint64_t address, bool lines)
{
	struct frames frames = {0};
	struct frame frame;

	assert_int_equal(symbolizer_name(symbolizer, PROCESS, &address, 1, lines, &frames), 0);
	assert_int_equal(frames.list.count, 1);
	frame = frames.list.items[0];
	assert_int_equal(frame.address, address);
	vec_free(&frames.list);
	return frame;
}

static struct symbolizer *new_for(int pid)
{
	struct symbolizer *symbolizer = naming_new(parser);

	assert_non_null(symbolizer);
	assert_int_equal(naming_refresh(symbolizer, PROCESS, pid), 0);
	return symbolizer;
}

static void assert_known_function(const struct frame *frame)
{
	assert_string_equal(frame->function ? frame->function : frame->why, "known_function");
	assert_null(frame->why);
	assert_true(frame->offset > 0);
}

/* `why` is how the reason begins: a stripped program may still export a name or two. */
static void assert_why(const struct frame *frame, const char *why)
{
	assert_null(frame->function);
	assert_null(frame->file);
	assert_int_equal(frame->line, 0);
	assert_memory_equal(frame->why, why, strlen(why));
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text);

	return length >= strlen(end) && !strcmp(text + length - strlen(end), end);
}

static void our_own_function_has_name_offset_module_and_line(void **state)
{
	struct symbolizer *symbolizer = new_for(getpid());
	struct frame frame = name_one(symbolizer, known_address(), true);
	char exe[PATH_MAX] = "";

	(void)state;
	assert_known_function(&frame);
	assert_true(frame.offset == known_address() - (uintptr_t)known_function);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_string_equal(frame.module, exe);
	assert_int_equal(strlen(frame.build_id), 40);
	assert_true(ends_with(frame.file, "tests/unit/test_symbolizer.c"));
	assert_int_equal(frame.line, KNOWN_LINE);
	assert_false(frame.inlined);
	naming_free(symbolizer);
}

static void a_return_address_right_after_a_function_is_that_function(void **state)
{
	struct symbolizer *symbolizer = new_for(getpid());
	uint64_t start = (uintptr_t)known_function;
	struct frame frame = name_one(symbolizer, start, false);

	(void)state;
	assert_true(!frame.function || strcmp(frame.function, "known_function") != 0);
	frame = name_one(symbolizer, start + 1, false);
	assert_known_function(&frame);
	assert_int_equal(frame.offset, 1);
	assert_null(frame.file);
	naming_free(symbolizer);
}

/* A signal can interrupt a function at its first instruction: that is not the function before. */
static void an_interrupted_frame_is_named_where_it_stands(void **state)
{
	struct symbolizer *symbolizer = new_for(getpid());
	uint64_t start = (uintptr_t)known_function, addresses[] = {start | LM_FRAME_EXACT};
	struct frames frames = {0};
	const struct frame *frame;

	(void)state;
	assert_int_equal(symbolizer_name(symbolizer, PROCESS, addresses, 1, LINES_WAIT, &frames),
			 0);
	assert_int_equal(frames.list.count, 1);
	frame = &frames.list.items[0];
	assert_string_equal(frame->function, "known_function");
	assert_int_equal(frame->offset, 0);
	assert_true(frame->address == start);
	assert_in_range(frame->line, KNOWN_LINE - 3, KNOWN_LINE - 1); /* before its first call */
	vec_free(&frames.list);
	naming_free(symbolizer);
}

static void what_leads_to_an_interrupted_frame_is_the_call_of_its_handler(void **state)
{
	struct symbolizer *symbolizer = new_for(getpid());
	uint64_t start = (uintptr_t)known_function;
	uint64_t addresses[] = {start + 2, start + 3, start | LM_FRAME_EXACT, start + 4};
	struct frames frames = {0};

	(void)state;
	assert_int_equal(symbolizer_name(symbolizer, PROCESS, addresses, 4, LINES_NONE, &frames),
			 0);
	assert_int_equal(frames.list.count, 4);
	assert_string_equal(frames.list.items[0].function, "known_function");
	assert_string_equal(frames.list.items[1].function, FRAME_SIGNAL_HANDLER);
	assert_int_equal(frames.list.items[1].offset, 0);
	assert_true(frames.list.items[1].address == start + 3);
	assert_string_equal(frames.list.items[2].function, "known_function");
	assert_int_equal(frames.list.items[2].offset, 0);
	assert_int_equal(frames.list.items[3].offset, 4);
	vec_free(&frames.list);
	naming_free(symbolizer);
}

static void frames_of_an_unknown_process_show_plain_addresses(void **state)
{
	struct symbolizer *symbolizer = naming_new(parser);
	uint64_t addresses[] = {0x1000, 0x2000 | LM_FRAME_EXACT};
	struct frames frames = {0};

	(void)state;
	assert_int_equal(symbolizer_name(symbolizer, 77, addresses, 2, LINES_NONE, &frames), 0);
	assert_true(frames.list.items[1].address == 0x2000);
	assert_string_equal(frames.list.items[1].why, "unknown process");
	vec_free(&frames.list);
	naming_free(symbolizer);
}

static void mangled_names_are_readable(void **state)
{
	struct symbolizer *symbolizer = new_for(getpid());
	struct frame frame = name_one(symbolizer, (uintptr_t)leak_holder + 1, false);

	(void)state;
	assert_string_equal(frame.function, "leak::holder(int)");
	naming_free(symbolizer);
}

static void libc_functions_have_their_public_names(void **state)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct symbolizer *symbolizer = new_for(getpid());
	struct frame frame;

	(void)state;
	assert_non_null(libc);
	frame = name_one(symbolizer, (uintptr_t)dlsym(libc, "malloc") + 5, false);
	assert_string_equal(frame.function, "malloc");
	assert_int_equal(frame.offset, 5);
	assert_true(ends_with(frame.module, "/libc.so.6"));
	dlclose(libc);
	naming_free(symbolizer);
}

static void an_unnamed_frame_has_its_reason(void **state)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("text", MFD_CLOEXEC);
	struct symbolizer *symbolizer;
	struct frame frame;
	void *text;

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	text = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(text != MAP_FAILED && code != MAP_FAILED);
	symbolizer = new_for(getpid());
	frame = name_one(symbolizer, (uintptr_t)code + 16, true);
	assert_why(&frame, "anonymous code");
	assert_null(frame.module);
	frame = name_one(symbolizer, (uintptr_t)text + 16, true);
	assert_why(&frame, "not an ELF file");
	assert_string_equal(frame.module, "/memfd:text");
	assert_int_equal(frame.module_offset, 16);
	frame = name_one(symbolizer, 0, true);
	assert_why(&frame, "unmapped address");
	frame = name_one(symbolizer, 1, true);
	assert_why(&frame, "unmapped address");
	frame = name_one(symbolizer, LM_FRAME_PYTHON - 1, true);
	assert_why(&frame, "unmapped address");
	assert_null(frame.module);
	munmap(code, 4096);
	munmap(text, 4096);
	close(fd);
	naming_free(symbolizer);
}

static int read_nothing(int pid, enum maps_filter filter, struct maps *maps)
{
	(void)pid;
	(void)filter;
	(void)maps;
	return -ESRCH;
}

static void a_process_that_is_gone_or_forgotten_names_nothing(void **state)
{
	struct symbolizer *symbolizer = new_for(getpid());
	uint64_t address = known_address();
	struct frame frame = name_one(symbolizer, address, false);

	(void)state;
	/* The PID is gone, its names stay. */
	naming_processes(symbolizer)->read = read_nothing;
	assert_int_equal(naming_refresh(symbolizer, PROCESS, getpid()), -ESRCH);
	naming_processes(symbolizer)->read = maps_read;
	assert_known_function(&frame);
	frame = name_one(symbolizer, address + 1, false);
	assert_known_function(&frame);
	symbolizer_forget(symbolizer, PROCESS);
	symbolizer_forget(symbolizer, PROCESS);
	symbolizer_forget(symbolizer, PROCESS + 1);
	frame = name_one(symbolizer, address, true);
	assert_why(&frame, "unknown process");
	assert_int_equal(naming_refresh(symbolizer, PROCESS, getpid()), 0);
	frame = name_one(symbolizer, address, true);
	assert_known_function(&frame);
	naming_free(symbolizer);
}

static void strings_outlive_a_refresh_and_the_release_of_lines(void **state)
{
	struct symbolizer *symbolizer = new_for(getpid());
	struct frame first = name_one(symbolizer, known_address(), true), second;

	(void)state;
	symbolizer_release_lines(symbolizer);
	assert_int_equal(naming_refresh(symbolizer, PROCESS, getpid()), 0);
	second = name_one(symbolizer, known_address(), true);
	assert_ptr_equal(second.function, first.function);
	assert_ptr_equal(second.file, first.file);
	assert_int_equal(second.line, KNOWN_LINE);
	/* An address that was not asked for opens the line information again. */
	second = name_one(symbolizer, (uintptr_t)leak_holder + 1, true);
	assert_ptr_equal(second.file, first.file);
	assert_true(second.line > KNOWN_LINE);
	naming_free(symbolizer);
}

/* Maps the code of this program once more, as a plugin would be. *address gets the known address
 * in there. */
static void *map_code_again(size_t *size, uint64_t *address)
{
	_cleanup_close_ int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(maps_free) struct maps maps = {0};
	uint64_t known = known_address();

	assert_int_equal(maps_read(getpid(), MAPS_EXECUTABLE, &maps), 0);
	for (size_t i = 0; i < maps.list.count; i++) {
		const struct mapping *mapping = &maps.list.items[i];
		void *copy;

		if (known < mapping->start || known >= mapping->end)
			continue;
		*size = mapping->end - mapping->start;
		copy = mmap(NULL, *size, PROT_READ | PROT_EXEC, MAP_PRIVATE, exe,
			    (off_t)mapping->offset);
		assert_true(copy != MAP_FAILED);
		*address = known - mapping->start + (uintptr_t)copy;
		return copy;
	}
	fail();
	return NULL;
}

static void a_mapping_that_vanished_keeps_its_names_until_another_takes_its_place(void **state)
{
	struct symbolizer *symbolizer;
	struct frame frame;
	uint64_t address;
	size_t size;
	void *copy = map_code_again(&size, &address);

	(void)state;
	symbolizer = new_for(getpid());
	/* Not unmapped, or another mapping would take its place at once. */
	assert_true(mmap(copy, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		    copy);
	assert_int_equal(naming_refresh(symbolizer, PROCESS, getpid()), 0);
	frame = name_one(symbolizer, address, true);
	assert_known_function(&frame);
	assert_int_equal(frame.line, KNOWN_LINE);
	assert_int_equal(mprotect(copy, size, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(naming_refresh(symbolizer, PROCESS, getpid()), 0);
	frame = name_one(symbolizer, address, true);
	assert_why(&frame, "anonymous code");
	munmap(copy, size);
	naming_free(symbolizer);
}

static void a_stack_has_the_same_id_at_another_load_address(void **state)
{
	struct symbolizer *symbolizer;
	struct frames here = {0}, there = {0}, other = {0};
	uint64_t addresses[2], size, address;
	void *copy = map_code_again(&size, &address);

	(void)state;
	symbolizer = new_for(getpid());
	addresses[0] = addresses[1] = known_address();
	assert_int_equal(symbolizer_name(symbolizer, PROCESS, addresses, 2, true, &here), 0);
	addresses[0] = address;
	assert_int_equal(symbolizer_name(symbolizer, PROCESS, addresses, 2, false, &there), 0);
	addresses[0] = address + 1;
	assert_int_equal(symbolizer_name(symbolizer, PROCESS, addresses, 2, false, &other), 0);
	assert_true(symbolizer_stack_id(&here) == symbolizer_stack_id(&there));
	assert_true(symbolizer_stack_id(&here) != symbolizer_stack_id(&other));
	here.list.count = 1;
	assert_true(symbolizer_stack_id(&here) != symbolizer_stack_id(&there));
	here.list.count = 0;
	assert_true(symbolizer_stack_id(&here) == 0);
	vec_free(&here.list);
	vec_free(&there.list);
	vec_free(&other.list);
	munmap(copy, size);
	naming_free(symbolizer);
}

static void many_addresses_are_named_in_order(void **state)
{
	struct symbolizer *symbolizer = new_for(getpid());
	static uint64_t addresses[300000];
	struct frames frames = {0};

	(void)state;
	/* More than are kept: unmapped ones, with a known one at either end. */
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		addresses[i] = i;
	addresses[0] = addresses[ARRAY_SIZE(addresses) - 1] = known_address();
	assert_int_equal(symbolizer_name(symbolizer, PROCESS, addresses, ARRAY_SIZE(addresses),
					 false, &frames),
			 0);
	assert_int_equal(frames.list.count, ARRAY_SIZE(addresses));
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		assert_true(frames.list.items[i].address == addresses[i]);
	assert_known_function(&frames.list.items[0]);
	assert_known_function(&frames.list.items[ARRAY_SIZE(addresses) - 1]);
	vec_free(&frames.list);
	naming_free(symbolizer);
}

/* A copy of this program in a separate directory, running. */
struct child {
	char directory[64], path[96];
	pid_t pid;
	uint64_t address; /* the known address in the child */
};

static void run_command(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run_command(const char *format, ...)
{
	char command[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	assert_int_equal(system(command), 0);
}

static int set_up_directory(void **state)
{
	struct child *child = calloc(1, sizeof(*child));

	snprintf(child->directory, sizeof(child->directory), "/tmp/leakmon-test-XXXXXX");
	assert_non_null(mkdtemp(child->directory));
	snprintf(child->path, sizeof(child->path), "%s/copy", child->directory);
	run_command("cp /proc/%d/exe %s", getpid(), child->path);
	*state = child;
	return 0;
}

static void stop(struct child *child)
{
	if (child->pid <= 0)
		return;
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	child->pid = 0;
}

static int tear_down_directory(void **state)
{
	struct child *child = *state;

	stop(child);
	run_command("rm -rf %s", child->directory);
	free(child);
	return 0;
}

/* The child prints its known address once it runs. */
static void start(struct child *child)
{
	int ends[2];
	FILE *in;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child->pid = fork();
	if (child->pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execl(child->path, child->path, "--child", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	in = fdopen(ends[0], "r");
	assert_int_equal(fscanf(in, "%lx", &child->address), 1);
	fclose(in);
}

static int run_as_child(void)
{
	printf("%lx\n", known_address());
	fflush(stdout);
	alarm(60);
	pause();
	return 0;
}

static void a_deleted_and_replaced_file_is_still_named(void **state)
{
	struct child *child = *state;
	struct symbolizer *symbolizer;
	struct frame frame;

	if (geteuid() != 0)
		skip();
	start(child);
	unlink(child->path);
	run_command("cp /bin/ls %s", child->path);
	symbolizer = new_for(child->pid);
	frame = name_one(symbolizer, child->address, true);
	assert_known_function(&frame);
	assert_string_equal(frame.module, child->path);
	assert_int_equal(frame.line, KNOWN_LINE);
	naming_free(symbolizer);
}

static void addresses_are_named_after_the_process_has_ended(void **state)
{
	struct child *child = *state;
	struct symbolizer *symbolizer;
	struct frame frame;

	start(child);
	symbolizer = new_for(child->pid);
	stop(child);
	unlink(child->path);
	frame = name_one(symbolizer, child->address, true);
	assert_known_function(&frame);
	assert_int_equal(frame.line, KNOWN_LINE);
	naming_free(symbolizer);
}

static void a_stripped_file_has_no_names_for_its_static_functions(void **state)
{
	struct child *child = *state;
	struct symbolizer *symbolizer;
	struct frame frame;

	run_command("strip %s", child->path);
	start(child);
	symbolizer = new_for(child->pid);
	frame = name_one(symbolizer, child->address, true);
	assert_why(&frame, "no symbol");
	assert_string_equal(frame.module, child->path);
	assert_int_equal(strlen(frame.build_id), 40);
	assert_true(frame.module_offset > 0);
	naming_free(symbolizer);
}

/* Moves symbols and debug information of the copy into .debug/. */
static void separate_debug_file(const struct child *child)
{
	run_command("mkdir %s/.debug", child->directory);
	run_command("objcopy --only-keep-debug %s %s/.debug/copy.debug", child->path,
		    child->directory);
	run_command("strip %s", child->path);
	run_command("objcopy --add-gnu-debuglink=%s/.debug/copy.debug %s", child->directory,
		    child->path);
}

static void a_separate_debug_file_gives_names_and_lines(void **state)
{
	struct child *child = *state;
	struct symbolizer *symbolizer;
	struct frame frame;

	separate_debug_file(child);
	start(child);
	symbolizer = new_for(child->pid);
	frame = name_one(symbolizer, child->address, true);
	assert_known_function(&frame);
	assert_true(ends_with(frame.file, "tests/unit/test_symbolizer.c"));
	assert_int_equal(frame.line, KNOWN_LINE);
	naming_free(symbolizer);
}

static void compressed_debug_sections_are_read(void **state)
{
	struct child *child = *state;
	struct symbolizer *symbolizer;
	struct frame frame;

	run_command("objcopy --compress-debug-sections %s", child->path);
	start(child);
	symbolizer = new_for(child->pid);
	frame = name_one(symbolizer, child->address, true);
	assert_known_function(&frame);
	assert_int_equal(frame.line, KNOWN_LINE);
	naming_free(symbolizer);
}

/* clang writes no .debug_aranges. */
static void lines_are_found_without_an_index_of_addresses(void **state)
{
	struct child *child = *state;
	struct symbolizer *symbolizer;
	struct frame frame;

	run_command("objcopy --remove-section .debug_aranges %s", child->path);
	start(child);
	symbolizer = new_for(child->pid);
	frame = name_one(symbolizer, child->address, true);
	assert_known_function(&frame);
	assert_int_equal(frame.line, KNOWN_LINE);
	naming_free(symbolizer);
}

static void a_debug_file_of_another_build_is_not_believed(void **state)
{
	struct child *child = *state;
	struct symbolizer *symbolizer;
	struct frame frame;

	separate_debug_file(child);
	/* Another build-id in the debug file, all else equal. */
	run_command("head -c 20 /dev/zero > %s/note", child->directory);
	run_command(
		"printf '\\4\\0\\0\\0\\24\\0\\0\\0\\3\\0\\0\\0GNU\\0' | cat - %s/note > %s/note2",
		child->directory, child->directory);
	run_command("objcopy --update-section .note.gnu.build-id=%s/note2 %s/.debug/copy.debug",
		    child->directory, child->directory);
	start(child);
	symbolizer = new_for(child->pid);
	frame = name_one(symbolizer, child->address, true);
	assert_why(&frame, "no symbol");
	naming_free(symbolizer);
}

#define CHILD_TEST(function)                                                                       \
	cmocka_unit_test_setup_teardown(function, set_up_directory, tear_down_directory)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_function_has_name_offset_module_and_line),
		cmocka_unit_test(a_return_address_right_after_a_function_is_that_function),
		cmocka_unit_test(an_interrupted_frame_is_named_where_it_stands),
		cmocka_unit_test(what_leads_to_an_interrupted_frame_is_the_call_of_its_handler),
		cmocka_unit_test(frames_of_an_unknown_process_show_plain_addresses),
		cmocka_unit_test(mangled_names_are_readable),
		cmocka_unit_test(libc_functions_have_their_public_names),
		cmocka_unit_test(an_unnamed_frame_has_its_reason),
		cmocka_unit_test(a_process_that_is_gone_or_forgotten_names_nothing),
		cmocka_unit_test(strings_outlive_a_refresh_and_the_release_of_lines),
		cmocka_unit_test(
			a_mapping_that_vanished_keeps_its_names_until_another_takes_its_place),
		cmocka_unit_test(a_stack_has_the_same_id_at_another_load_address),
		cmocka_unit_test(many_addresses_are_named_in_order),
		CHILD_TEST(a_deleted_and_replaced_file_is_still_named),
		CHILD_TEST(addresses_are_named_after_the_process_has_ended),
		CHILD_TEST(a_stripped_file_has_no_names_for_its_static_functions),
		CHILD_TEST(a_separate_debug_file_gives_names_and_lines),
		CHILD_TEST(compressed_debug_sections_are_read),
		CHILD_TEST(lines_are_found_without_an_index_of_addresses),
		CHILD_TEST(a_debug_file_of_another_build_is_not_believed),
	};

	int failed;

	worker_process_enter(argc, argv, &parse_kinds);
	if (argc == 2 && !strcmp(argv[1], "--child"))
		return run_as_child();
	failed = cmocka_run_group_tests_name("in this process", tests, NULL, NULL);
	parser = worker_new(&parse_kinds, NULL);
	failed += cmocka_run_group_tests_name("in the sandbox", tests, NULL, NULL);
	worker_free(parser);
	return failed;
}
