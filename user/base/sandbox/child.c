// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/sandbox/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/sandbox/sandbox.h"
#include "base/sandbox/worker_process.h"
#include "base/spawn.h"

/*
 * Signals to the whole process group (Ctrl-C) or service (systemctl stop) ask the monitor for its
 * last report, for which it still needs the parser. So only real faults are unblocked.
 */
static void fatal_only(sigset_t *blocked)
{
	static const int let_through[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL, SIGABRT,
					  SIGSYS,  SIGTRAP, SIGXCPU, SIGXFSZ};

	sigfillset(blocked);
	for (size_t i = 0; i < ARRAY_SIZE(let_through); i++)
		sigdelset(blocked, let_through[i]);
}

/* A process to start: its argument, a number after it, and one more descriptor, or -1. */
struct birth {
	const char *argument;
	uint64_t number;
	int served;
};

static int set_files(posix_spawn_file_actions_t *actions, int socket, int served)
{
	int error = posix_spawn_file_actions_adddup2(actions, socket, WORKER_SOCKET);

	if (!error && served >= 0)
		error = posix_spawn_file_actions_adddup2(actions, served, WORKER_SOCKET + 1);

	for (int fd = 0; !error && fd < WORKER_SOCKET; fd++) {
		if (!SANDBOX_SANITIZED || fd != STDERR_FILENO)
			error = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR,
								 0);
	}
	return error ? -error
		     : -posix_spawn_file_actions_addclosefrom_np(actions,
								 WORKER_SOCKET + 1 + (served >= 0));
}

/* Its environment holds only the variables that the dynamic linker may need to start it at all. */
static char *library_path(void)
{
	char **variable = environ;

	while (*variable && strncmp(*variable, "LD_LIBRARY_PATH=", 16) != 0)
		variable++;
	return *variable;
}

static int spawn(struct child *child, int socket, int served, const struct birth *birth)
{
	static char name[] = "leakmon";
	char *environment[] = {library_path(), NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t blocked;
	char number[24];
	char *arguments[] = {name, (char *)birth->argument, number, NULL};
	int error;

	snprintf(number, sizeof(number), "%llu", (unsigned long long)birth->number);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	fatal_only(&blocked);
	error = set_files(&actions, socket, served);
	if (!error)
		error = spawn_signals_set(&attributes, &blocked);
	if (!error)
		error = -posix_spawn(&child->pid, "/proc/self/exe", &actions, &attributes,
				     arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return error;
}

static int child_begin(struct child *child, const struct birth *birth)
{
	struct child started = {0};
	int ends[2], error, spare, served = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	started.fd = ends[0];
	/* dup2() onto itself would leave the close-on-exec flag set. */
	spare = fcntl(ends[1], F_DUPFD_CLOEXEC, WORKER_SOCKET + 2);
	if (birth->served >= 0)
		served = fcntl(birth->served, F_DUPFD_CLOEXEC, WORKER_SOCKET + 2);
	error = spare < 0 || (birth->served >= 0 && served < 0)
			? -errno
			: spawn(&started, spare, served, birth);
	close(ends[1]);
	cleanup_close(&spare);
	cleanup_close(&served);
	if (error) {
		close(ends[0]);
		return error;
	}
	*child = started;
	return 0;
}

int child_start(struct child *child, uint64_t memory_bytes)
{
	const struct birth birth = {WORKER_ARGUMENT, memory_bytes, -1};

	return child_begin(child, &birth);
}

int child_start_server(struct child *child, const char *argument, int served)
{
	const struct birth birth = {argument, 0, served};

	return child_begin(child, &birth);
}

int child_send(const struct child *child, const struct worker_request *request, const int *files)
{
	char control[CMSG_SPACE(WORKER_MAX_FILES * sizeof(int))] __attribute__((aligned(8))) = {0};
	struct iovec vector = {(void *)request, sizeof(*request)};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
	size_t size = request->file_count * sizeof(int);

	if (size) {
		struct cmsghdr *header = (struct cmsghdr *)control;

		*header = (struct cmsghdr){CMSG_LEN(size), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(header), files, size);
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(size);
	}
	if (sendmsg(child->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	if (errno == ECONNRESET)
		return -EPIPE;
	/* The socket has room for one request; a process that left it full is no longer ours. */
	return errno == EAGAIN ? -EPIPE : -errno;
}

/* Receives one packet of exactly `size` bytes. The kernel would close descriptors sent along. */
static int receive_packet(int fd, void *data, size_t size)
{
	ssize_t got = recv(fd, data, size, MSG_DONTWAIT | MSG_TRUNC);

	if (got < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (got == 0)
		return -ECONNRESET;
	return (size_t)got == size ? 0 : -EPROTO;
}

static int receive_header(const struct child *child, struct receipt *receipt)
{
	struct worker_answer header;
	int error = receive_packet(child->fd, &header, sizeof(header));

	if (error)
		return error;
	if (header.id != receipt->id || header.status > 0 || header.status < -4095 ||
	    (header.status && header.size) || header.size > WORKER_MAX_ANSWER_BYTES)
		return -EPROTO;
	receipt->header = header;
	receipt->begun = true;
	return 0;
}

/* Memory grows with the bytes received, not with the size announced. */
static int receive_chunk(const struct child *child, struct receipt *receipt)
{
	size_t size = MIN(receipt->header.size - receipt->body.size, WORKER_CHUNK_BYTES);
	void *place = bytes_reserve(&receipt->body, size);
	int error = place ? receive_packet(child->fd, place, size) : -ENOMEM;

	if (!error)
		receipt->body.size += size;
	return error;
}

int child_receive(const struct child *child, struct receipt *receipt)
{
	int error = receipt->begun ? 0 : receive_header(child, receipt);

	while (!error && receipt->body.size < receipt->header.size)
		error = receive_chunk(child, receipt);
	return error;
}

void child_wait(const struct child *child, int timeout_ms)
{
	/* After an interrupt its descriptor stays readable: then only the timeout counts. */
	struct pollfd waited[] = {
		{.fd = child->fd, .events = POLLIN},
		{.fd = interrupt_check() ? -1 : interrupt_fd(), .events = POLLIN},
	};

	poll(waited, ARRAY_SIZE(waited), timeout_ms);
}

void child_stop(struct child *child, struct dying *dying)
{
	pid_t *place;

	if (!child->pid)
		return;
	close(child->fd);
	kill(child->pid, SIGKILL);
	place = vec_push(&dying->pids);
	if (place)
		*place = child->pid;
	*child = (struct child){.fd = -1};
}

/* Turns that make one second in all. */
#define REAP_QUICK_TURNS 10
#define REAP_TURNS 109

static bool has_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) != 0;
}

void dying_reap(struct dying *dying, bool all)
{
	size_t kept = 0;

	/* Usually it takes a millisecond or two. */
	for (int turn = 0; all && turn < REAP_TURNS; turn++) {
		dying_reap(dying, false);
		if (!dying->pids.count)
			break;
		poll(NULL, 0, turn < REAP_QUICK_TURNS ? 1 : 10);
	}
	for (size_t i = 0; i < dying->pids.count; i++) {
		if (!has_ended(dying->pids.items[i]))
			dying->pids.items[kept++] = dying->pids.items[i];
	}
	dying->pids.count = kept;
	if (all)
		vec_free(&dying->pids);
}
