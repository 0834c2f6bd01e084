// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded into third-party servers: leaks blocks at a known rate, from inside the calls that read
 * from their clients, while it is enabled, and counts them by process.
 * The file $FORGET_FILE is a struct forget, made by servers.py.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 64
#define BLOCK_BYTES 1900
#define BLOCKS_PER_S 60
#define NS_PER_S 1000000000ll

struct forget {
	uint32_t on, unused;
	struct {
		uint32_t pid, blocks;
	} processes[PROCESSES];
};

static struct forget *file;
static int64_t due_ns;

__attribute__((constructor)) static void open_file(void)
{
	const char *path = getenv("FORGET_FILE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *mapped;

	if (fd < 0)
		return;
	mapped = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped != MAP_FAILED)
		file = mapped;
}

static void count(uint32_t pid)
{
	for (int i = 0; i < PROCESSES; i++) {
		uint32_t owner = 0;

		if (__atomic_compare_exchange_n(&file->processes[i].pid, &owner, pid, 0,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    owner == pid) {
			__atomic_add_fetch(&file->processes[i].blocks, 1, __ATOMIC_RELAXED);
			return;
		}
	}
}

/* Text, like that of a session, without pointers. */
__attribute__((noinline)) void forget_session(void)
{
	char *session = malloc(BLOCK_BYTES);

	if (!session)
		return;
	memset(session, 'f', BLOCK_BYTES);
	count((uint32_t)getpid());
	__asm__ volatile("" : : "r"(session) : "memory");
}

/* One block at a time, of which the first one of the threads that come finds that it is due. */
static void visit(void)
{
	struct timespec now;
	int64_t now_ns, due;

	if (!file || !__atomic_load_n(&file->on, __ATOMIC_RELAXED))
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = now.tv_sec * NS_PER_S + now.tv_nsec;
	due = __atomic_load_n(&due_ns, __ATOMIC_RELAXED);
	if (now_ns < due ||
	    !__atomic_compare_exchange_n(&due_ns, &due, now_ns + NS_PER_S / BLOCKS_PER_S, 0,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	forget_session();
}

#define HOOK(result, name, parameters, arguments)                                                  \
	__attribute__((visibility("default"))) result name parameters                              \
	{                                                                                          \
		static result(*next) parameters;                                                   \
                                                                                                   \
		if (!next)                                                                         \
			next = (__typeof__(next))dlsym(RTLD_NEXT, #name);                          \
		visit();                                                                           \
		return next arguments;                                                             \
	}

HOOK(ssize_t, read, (int fd, void *buffer, size_t size), (fd, buffer, size))
HOOK(ssize_t, __read_chk, (int fd, void *buffer, size_t size, size_t room),
     (fd, buffer, size, room))
HOOK(ssize_t, recv, (int fd, void *buffer, size_t size, int flags), (fd, buffer, size, flags))
HOOK(ssize_t, __recv_chk, (int fd, void *buffer, size_t size, size_t room, int flags),
     (fd, buffer, size, room, flags))
HOOK(ssize_t, recvfrom,
     (int fd, void *buffer, size_t size, int flags, struct sockaddr *from, socklen_t *length),
     (fd, buffer, size, flags, from, length))
HOOK(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
