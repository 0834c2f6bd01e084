// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/file_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file_identity.h"
#include "base/log.h"
#include "base/packet.h"
#include "base/sandbox/child.h"
#include "base/sandbox/worker_process.h"
#include "base/vec.h"

#define MILLISECOND_NS 1000000ull
#define DEADLINE_NS (3000 * MILLISECOND_NS)
#define LEFT_ALONE_NS (60000 * MILLISECOND_NS)
/* Limit of processes that even SIGKILL has not ended: then no more are started. */
#define ABANDONED_MAX 16
/* Size limits of one file, and of all copies. */
#define COPY_MAX (256ull << 20)
#define COPIES_MAX 32
#define COPY_NAME "leakmon: copy of a file"
#define COPY_LINK "/memfd:" COPY_NAME " (deleted)"

struct open_answer {
	uint32_t id;
	int32_t error; /* 0: a descriptor is attached */
};

/* -------- the process that opens */

struct copy {
	struct file_identity identity;
	int fd;
};

struct copies {
	struct copy items[COPIES_MAX];
	size_t count;
	uint64_t bytes;
};

static int copy_contents(int from, int to, uint64_t size)
{
	static char buffer[1 << 20];
	uint64_t done = 0;

	while (done < size) {
		ssize_t got = pread(from, buffer, sizeof(buffer), (off_t)done);

		if (got < 0)
			return -errno;
		if (!got)
			break;
		if (pwrite(to, buffer, (size_t)got, (off_t)done) != got)
			return -EIO;
		done += (uint64_t)got;
		if (done > COPY_MAX)
			return -EFBIG;
	}
	return 0;
}

static int copy_file(int fd, uint64_t size)
{
	_cleanup_close_ int copy = memfd_create(COPY_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error = copy < 0 ? -errno : copy_contents(fd, copy, size);

	if (!error &&
	    fcntl(copy, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		error = -errno;
	return error ? error : TAKE_FD(copy);
}

static void copies_drop_oldest(struct copies *copies)
{
	copies->bytes -= copies->items[0].identity.size;
	close(copies->items[0].fd);
	copies->count--;
	memmove(copies->items, copies->items + 1, copies->count * sizeof(*copies->items));
}

/* Returns a descriptor of the copy, owned by `copies`; or -errno. */
static int copies_get(struct copies *copies, int fd)
{
	struct file_identity identity;
	int error = file_identity_read(fd, &identity), copy;

	if (error)
		return error;
	for (size_t i = 0; i < copies->count; i++) {
		if (file_identity_untouched(&copies->items[i].identity, &identity))
			return copies->items[i].fd;
	}
	if (identity.size > COPY_MAX)
		return -EFBIG;
	copy = copy_file(fd, identity.size);
	if (copy < 0)
		return copy;
	while (copies->count == COPIES_MAX ||
	       (copies->count && copies->bytes + identity.size > COPY_MAX))
		copies_drop_oldest(copies);
	copies->items[copies->count++] = (struct copy){identity, copy};
	copies->bytes += identity.size;
	return copy;
}

static bool is_served_by_a_process(int fd)
{
	struct statfs system;

	/* It may refuse to answer, but the kernel then still knows the type. */
	return fstatfs(fd, &system) || system.f_type == FUSE_SUPER_MAGIC;
}

static bool serve_one(struct copies *copies,
		      int (*open)(const struct open_request *request, int directory))
{
	static struct open_request request;
	_cleanup_close_ int directory = -1, fd = -1;
	int result;

	if (packet_receive(WORKER_SOCKET, &request, sizeof(request), &directory, 0))
		return false;
	request.path[sizeof(request.path) - 1] = '\0';
	result = fd = open(&request, directory);
	if (fd >= 0 && is_served_by_a_process(fd)) {
		result = copies_get(copies, fd);
		/* Before the answer: a server that delays this must not cost the next file. */
		close(TAKE_FD(fd));
	}
	return !packet_send(WORKER_SOCKET,
			    &(struct open_answer){request.id, result < 0 ? result : 0},
			    sizeof(struct open_answer), result, 0);
}

void file_opener_enter(int argc, char **argv,
		       int (*open)(const struct open_request *request, int directory))
{
	static struct copies copies;

	if (argc != 3 || strcmp(argv[1], FILE_OPENER_ARGUMENT) != 0)
		return;
	while (serve_one(&copies, open))
		;
	_exit(0);
}

/* -------- the monitor's end */

/* A file system: that of a mapping, or of the root at which a path begins. */
struct silent {
	uint32_t major, minor;
	uint64_t until_ns; /* CLOCK_MONOTONIC */
};

static struct {
	pthread_mutex_t lock;
	bool used;
	uint32_t last_id;
	struct child child;
	struct dying dying;
	VEC(struct silent) silent;
} opener = {.lock = PTHREAD_MUTEX_INITIALIZER, .child = {.fd = -1}};

void file_opener_use(void)
{
	opener.used = true;
}

bool file_opener_is_used(void)
{
	return opener.used;
}

static struct silent silent_of(const struct open_request *request, int directory)
{
	struct statx status;
	char path[64] = "/";

	if (request->kind == OPEN_MAPPING)
		return (struct silent){.major = request->major, .minor = request->minor};
	if (directory >= 0)
		snprintf(path, sizeof(path), "/proc/self/fd/%d", directory);
	else if (request->task)
		snprintf(path, sizeof(path), "/proc/%d/root", request->task);
	if (file_status_read_path(path, &status))
		return (struct silent){0};
	return (struct silent){.major = status.stx_dev_major, .minor = status.stx_dev_minor};
}

static bool is_silent(const struct silent *wanted)
{
	uint64_t now = monotonic_ns();
	size_t kept = 0;
	bool found = false;

	for (size_t i = 0; i < opener.silent.count; i++) {
		struct silent *known = &opener.silent.items[i];

		if (known->until_ns <= now)
			continue;
		found |= known->major == wanted->major && known->minor == wanted->minor;
		opener.silent.items[kept++] = *known;
	}
	opener.silent.count = kept;
	return found;
}

static void note_silent(const struct open_request *request, struct silent silent)
{
	struct silent *place = vec_push(&opener.silent);

	silent.until_ns = monotonic_ns() + LEFT_ALONE_NS;
	if (place)
		*place = silent;
	log_warning(
		"%s: the file system did not answer within %d s: its files are skipped for a minute",
		request->path, (int)(DEADLINE_NS / 1000 / MILLISECOND_NS));
}

static int start(void)
{
	dying_reap(&opener.dying, false);
	if (opener.child.pid)
		return 0;
	if (opener.dying.pids.count >= ABANDONED_MAX)
		return -ECHILD;
	return child_start_server(&opener.child, FILE_OPENER_ARGUMENT, -1);
}

/* Returns 0 if something can be received; -ETIMEDOUT. */
static int await(uint64_t until_ns)
{
	struct pollfd waited = {.fd = opener.child.fd, .events = POLLIN};
	uint64_t now;

	while ((now = monotonic_ns()) < until_ns) {
		int ready = poll(&waited, 1, (int)((until_ns - now) / MILLISECOND_NS) + 1);

		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
	}
	return -ETIMEDOUT;
}

static int receive_answer(uint32_t id)
{
	struct open_answer answer;
	_cleanup_close_ int fd = -1;

	if (packet_receive(opener.child.fd, &answer, sizeof(answer), &fd, MSG_DONTWAIT) ||
	    answer.id != id)
		return -ECHILD;
	if (answer.error < 0)
		return answer.error;
	/* The kernel omits the descriptor if the monitor has no room for it. */
	return fd < 0 ? -EMFILE : TAKE_FD(fd);
}

/* Returns -ECHILD if the process has ended; another may be tried. */
static int ask_once(struct open_request *request, int directory, const struct silent *silent)
{
	int result = start();

	if (result)
		return result;
	request->id = ++opener.last_id;
	if (packet_send(opener.child.fd, request, sizeof(*request), directory, 0))
		result = -ECHILD;
	if (!result)
		result = await(monotonic_ns() + DEADLINE_NS);
	if (!result)
		result = receive_answer(request->id);
	else if (result == -ETIMEDOUT)
		note_silent(request, *silent);
	if (result == -ETIMEDOUT || result == -ECHILD)
		child_stop(&opener.child, &opener.dying);
	return result;
}

static int ask(struct open_request *request, int directory, const struct silent *silent)
{
	int result = ask_once(request, directory, silent);

	return result == -ECHILD ? ask_once(request, directory, silent) : result;
}

int file_opener_ask(struct open_request *request, int directory)
{
	struct silent silent = silent_of(request, directory);
	int result;

	pthread_mutex_lock(&opener.lock);
	result = is_silent(&silent) ? -ETIMEDOUT : ask(request, directory, &silent);
	pthread_mutex_unlock(&opener.lock);
	return result;
}

bool file_opener_made(int fd)
{
	char path[64], link[sizeof(COPY_LINK)];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	length = readlink(path, link, sizeof(link));
	/*
	 * A target can give its own file this name: the only effect is that the file is not probed.
	 */
	return length == (ssize_t)strlen(COPY_LINK) && !memcmp(link, COPY_LINK, (size_t)length);
}

pid_t file_opener_pid(void)
{
	return opener.child.pid;
}

void file_opener_stop(void)
{
	opener.used = false;
	child_stop(&opener.child, &opener.dying);
	dying_reap(&opener.dying, false);
	vec_free(&opener.dying.pids);
	vec_free(&opener.silent);
}
