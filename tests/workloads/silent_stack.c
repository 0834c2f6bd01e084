// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * silent_stack: a thread waits for ever in a system call, with its stack pointer in a page that is
 * not there, and that its userfaultfd(2) never brings.
 *
 *   start  makes the thread, and waits until it is in its call
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "workload.h"

#define PAGES_BYTES 65536

static char *pages;
static volatile pid_t waiting; /* the thread; 0: not yet */

static void *wait_there(void *unused)
{
	(void)unused;
	waiting = gettid();
#ifdef __x86_64__
	__asm__ volatile("mov %0, %%rsp\n\tsyscall" ::"r"(pages + PAGES_BYTES / 2), "a"(SYS_pause)
			 : "rcx", "r11", "memory");
#else
	register long call __asm__("x8") = SYS_ppoll;

	__asm__ volatile("mov sp, %0\n\tmov x0, xzr\n\tmov x1, xzr\n\tmov x2, xzr\n\t"
			 "mov x3, xzr\n\tsvc #0" ::"r"(pages + PAGES_BYTES / 2),
			 "r"(call)
			 : "x0", "x1", "x2", "x3", "memory");
#endif
	__builtin_unreachable();
}

static bool make_pages(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register silent = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	pages = mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	silent.range = (struct uffdio_range){(uintptr_t)pages, PAGES_BYTES};
	return fd >= 0 && pages != MAP_FAILED && !ioctl(fd, UFFDIO_API, &api) &&
	       !ioctl(fd, UFFDIO_REGISTER, &silent);
}

/* The name, without spaces, is followed by the state. */
static bool is_asleep(pid_t thread)
{
	char path[64], text[256];
	const char *state;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	state = strchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'S';
}

static void start(void)
{
	static pthread_t thread;

	if (!make_pages())
		_exit(1);
	pthread_create(&thread, NULL, wait_there, NULL);
	/* It calls nothing else that it could sleep in. */
	while (!waiting || !is_asleep(waiting))
		usleep(1000);
}

int main(void)
{
	static const struct command commands[] = {{.name = "start", .run = start}};
	static const struct truth nothing = {0};

	return workload_serve(commands, ARRAY_SIZE(commands), &nothing);
}
