// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * silent_fs DIRECTORY PID_FILE PROGRAM [ARGUMENT...]: runs a program from its own FUSE file system;
 * the server's PID is in PID_FILE. After SIGSTOP to the server the file system never answers; after
 * SIGUSR1 it fails one read, and then never answers to reads: a page fault that is retried waits
 * with its process's memory locked (mm/filemap.c, filemap_fault()). The server ends with the
 * program, and the mount with both (mount_namespaces(7)).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NODE 2
#define FILE_NAME "program"
#define TRANSFER (128u << 10)

struct server {
	int device, file;
	struct stat status;
};

enum reads { READS_SERVED, READS_FAIL, READS_WAIT };
static volatile sig_atomic_t reads = READS_SERVED;

static void let_reads_fail(int number)
{
	(void)number;
	reads = READS_FAIL;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void answer(const struct server *server, uint64_t unique, int error, const void *body,
		   size_t size)
{
	static char packet[sizeof(struct fuse_out_header) + TRANSFER];
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + size), .error = -error, .unique = unique};

	memcpy(packet, &header, sizeof(header));
	if (size)
		memcpy(packet + sizeof(header), body, size);
	/* -ENOENT: the request was abandoned. */
	if (write(server->device, packet, header.len) < 0 && errno != ENOENT)
		exit(0);
}

static struct fuse_attr attributes(const struct server *server, uint64_t node)
{
	if (node == FUSE_ROOT_ID)
		return (struct fuse_attr){.ino = node, .mode = S_IFDIR | 0755, .nlink = 2};
	return (struct fuse_attr){.ino = node,
				  .mode = S_IFREG | 0755,
				  .nlink = 1,
				  .size = (uint64_t)server->status.st_size,
				  .blocks = (uint64_t)server->status.st_blocks};
}

static void answer_read(const struct server *server, uint64_t unique,
			const struct fuse_read_in *wanted)
{
	static char data[TRANSFER];
	size_t size = wanted->size < TRANSFER ? wanted->size : TRANSFER;
	ssize_t got = pread(server->file, data, size, (off_t)wanted->offset);

	if (reads == READS_WAIT)
		return;
	if (reads == READS_FAIL) {
		reads = READS_WAIT;
		answer(server, unique, EIO, NULL, 0);
		return;
	}
	answer(server, unique, got < 0 ? errno : 0, data, got < 0 ? 0 : (size_t)got);
}

/* Answers are not cached by the kernel: every look asks again. */
static void serve(const struct server *server, const struct fuse_in_header *in, const void *body)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_write = TRANSFER};
	struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr = attributes(server, FILE_NODE)};
	struct fuse_attr_out attr = {.attr = attributes(server, in->nodeid)};
	struct fuse_open_out opened = {.fh = 1};

	switch (in->opcode) {
	case FUSE_INIT:
		answer(server, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		if (strcmp(body, FILE_NAME) != 0)
			answer(server, in->unique, ENOENT, NULL, 0);
		else
			answer(server, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		answer(server, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(server, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		answer_read(server, in->unique, body);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		answer(server, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(server, in->unique, ENOSYS, NULL, 0);
	}
}

static _Noreturn void run_server(const struct server *server)
{
	static char request[FUSE_MIN_READ_BUFFER + TRANSFER];

	for (;;) {
		ssize_t got = read(server->device, request, sizeof(request) - 1);

		if (got < 0 && errno != EINTR && errno != ENOENT)
			exit(0);
		if (got < (ssize_t)sizeof(struct fuse_in_header))
			continue;
		request[got] = '\0';
		serve(server, (const void *)request, request + sizeof(struct fuse_in_header));
	}
}

static void mount_at(const struct server *server, const char *directory)
{
	char options[96];

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		fail("silent_fs: a mount namespace");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0",
		 server->device);
	if (mount("silent_fs", directory, "fuse", 0, options))
		fail("silent_fs: mount");
}

static void write_pid(const char *path, pid_t pid)
{
	FILE *file = fopen(path, "w");

	if (!file || fprintf(file, "%d\n", pid) < 0 || fclose(file))
		fail(path);
}

int main(int argc, char **argv)
{
	struct server server = {0};
	char path[4096];
	pid_t parent = getpid(), pid;

	if (argc < 4)
		return 2;
	server.device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	server.file = open(argv[3], O_RDONLY | O_CLOEXEC);
	if (server.device < 0 || server.file < 0 || fstat(server.file, &server.status))
		fail("silent_fs: open");
	mount_at(&server, argv[1]);
	pid = fork();
	if (!pid) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
			return 1;
		/* The test waits for the end of the program's output, not for the server's. */
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		signal(SIGUSR1, let_reads_fail);
		run_server(&server);
	}
	write_pid(argv[2], pid);
	close(server.device);
	snprintf(path, sizeof(path), "%s/" FILE_NAME, argv[1]);
	argv[3] = path;
	execv(path, argv + 3);
	fail("silent_fs: execv");
}
