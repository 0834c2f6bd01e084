// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded into programs of other projects' test suites: stops them where a leak detector would
 * check, prints its PID on descriptor 198, and continues on input from descriptor 199. That is when
 * main() has returned, or where a program requests a leak check itself. The interface of a
 * sanitizer's runtime is here without an effect, so that they link and run unmodified.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SAYS 198
#define WAITS 199

static int stopped;

static void stop(void)
{
	int pid = getpid();
	char go;

	if (__atomic_exchange_n(&stopped, 1, __ATOMIC_ACQ_REL) ||
	    write(SAYS, &pid, sizeof(pid)) != sizeof(pid))
		return;
	while (read(WAITS, &go, 1) < 0)
		;
}

/* Registered first, it runs last: after the program's own handlers. */
__attribute__((constructor)) static void stop_at_exit(void)
{
	atexit(stop);
}

/* Programs that end so have no atexit. */
void _exit(int code)
{
	stop();
	for (;;)
		syscall(SYS_exit_group, code);
}

void __lsan_do_leak_check(void)
{
	stop();
}

int __lsan_do_recoverable_leak_check(void)
{
	stop();
	return 0;
}

void __lsan_disable(void)
{
}

void __lsan_enable(void)
{
}

void __lsan_ignore_object(const void *object)
{
	(void)object;
}

void __lsan_register_root_region(const void *region, size_t size)
{
	(void)region;
	(void)size;
}

void __lsan_unregister_root_region(const void *region, size_t size)
{
	(void)region;
	(void)size;
}

int __sanitizer_get_module_and_offset_for_pc(void *pc, char *path, size_t size, void **offset)
{
	(void)pc;
	(void)path;
	(void)size;
	(void)offset;
	return 0;
}
