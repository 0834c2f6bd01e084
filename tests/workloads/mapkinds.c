// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mappings for different purposes, one command each: anonymous memory, a file, reserved addresses,
 * a thread's stack, memory of malloc, the program break; and mappings over fork, vfork and exec.
 * Sizes are constants that the test knows.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "workload.h"

#define PAGE 4096ul
#define WRITABLE (PROT_READ | PROT_WRITE)

static char **arguments;

static void must(bool right)
{
	if (!right)
		_exit(120);
}

static SITE void map_own(void)
{
	must(OPAQUE(mmap(NULL, 3 * PAGE, WRITABLE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) !=
	     MAP_FAILED);
}

static SITE void map_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	must(OPAQUE(mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0)) != MAP_FAILED);
	close(fd);
}

static SITE void map_reserve(void)
{
	must(OPAQUE(mmap(NULL, 100 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			 -1, 0)) != MAP_FAILED);
}

static void *thread_park(void *nothing)
{
	pause();
	return nothing;
}

/* 1 MiB of stack, and a page to guard it. */
static SITE void map_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 * PAGE);
	must(!OPAQUE(pthread_create(&thread, &attributes, thread_park, NULL)));
}

/* Above malloc's threshold: a separate mapping with a header. */
static SITE void map_by_malloc(void)
{
	must(OPAQUE(malloc(256 * PAGE)) != NULL);
}

static SITE void map_break(void)
{
	must(OPAQUE(sbrk(5 * PAGE)) != (void *)-1);
}

/* Makes a system call like a 32-bit program. */
static int call_32(int number, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	int result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "0"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(-1)
			 : "r8", "r9", "r10", "r11", "memory");
	return result;
}

#define NR_32_BRK 45
#define NR_32_MUNMAP 91
#define NR_32_MMAP2 192

/*
 * 11 pages are mapped, 2 of them unmapped. A failed call, and a brk that only queries, change
 * nothing.
 */
static void map_32(void)
{
	uint32_t at =
		(uint32_t)call_32(NR_32_MMAP2, 0, 11 * PAGE, WRITABLE, MAP_PRIVATE | MAP_ANONYMOUS);

	must(at && at < -4095u);
	must(call_32(NR_32_MUNMAP, at, 2 * PAGE, 0, 0) == 0);
	must(call_32(NR_32_MUNMAP, at + 1, PAGE, 0, 0) == -EINVAL);
	call_32(NR_32_BRK, 0, 0, 0, 0);
}

static SITE void *map_child(void)
{
	return OPAQUE(mmap(NULL, 7 * PAGE, WRITABLE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static int child_maps(void *nothing)
{
	(void)nothing;
	_exit(map_child() == MAP_FAILED);
}

/* A child in the same address space, as by vfork: its mappings are its parent's. */
static void shared_child(void)
{
	static char stack[16384] __attribute__((aligned(16)));
	int status = 1;
	pid_t pid =
		clone(child_maps, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

	must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

/* A separate child: its mappings are not its parent's, and it is not watched. */
static void forked_child(void)
{
	void *mine = mmap(NULL, PAGE, WRITABLE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status = 1;
	pid_t pid;

	must(mine != MAP_FAILED);
	pid = fork();
	if (!pid)
		_exit(munmap(mine, PAGE) || map_child() == MAP_FAILED);
	must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	must(!munmap(mine, PAGE));
}

static void again(void)
{
	execv("/proc/self/exe", arguments);
	_exit(121);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "own", .run = map_own},
		{.name = "file", .run = map_file},
		{.name = "reserve", .run = map_reserve},
		{.name = "stack", .run = map_stack},
		{.name = "malloc", .run = map_by_malloc},
		{.name = "break", .run = map_break},
		{.name = "vfork", .run = shared_child},
		{.name = "fork", .run = forked_child},
		{.name = "32-bit", .run = map_32},
		{.name = "exec", .run = again, .silent = true},
	};
	static const struct truth none;

	(void)argc;
	arguments = argv;
	return workload_serve(commands, ARRAY_SIZE(commands), &none);
}
