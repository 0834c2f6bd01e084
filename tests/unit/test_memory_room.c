// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/memory_room.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static bool can_map(uint64_t bytes)
{
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mapped == MAP_FAILED)
		return false;
	munmap(mapped, bytes);
	return true;
}

/* Else the kernel would end a process for it, perhaps another one. */
static void memory_that_the_machine_does_not_have_is_refused(void **state)
{
	uint64_t available = memory_available();
	int status;
	pid_t pid;

	(void)state;
	assert_true(available < UINT64_MAX);
	assert_true(can_map(available));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		uint64_t room = memory_room_keep();

		_exit(room < available && can_map(room / 2) && !can_map(available) &&
				      errno == ENOMEM
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_that_the_machine_does_not_have_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
