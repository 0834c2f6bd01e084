// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/serve/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Time for a process to drop its rights. */
#define START_MS 10000
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

FILE *handover_stream(void)
{
	int fd = memfd_create("leakmon-document", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "w+");

	if (!stream && fd >= 0)
		close(fd);
	return stream;
}

int64_t handover_seal(FILE *stream, int error)
{
	off_t size;

	if (error)
		return error;
	if (fflush(stream) || ferror(stream))
		return -EIO;
	size = lseek(fileno(stream), 0, SEEK_END);
	return size < 0 || fcntl(fileno(stream), F_ADD_SEALS, SEALS) ? -errno : size;
}

static int await_start(const struct child *child)
{
	struct pollfd answer = {.fd = child->fd, .events = POLLIN};
	int32_t error = -EPROTO;

	if (poll(&answer, 1, START_MS) <= 0)
		return -ETIMEDOUT;
	if (recv(child->fd, &error, sizeof(error), MSG_DONTWAIT) != sizeof(error))
		return -ECONNRESET;
	return error;
}

int handover_start(struct child *child, struct dying *dying, const char *argument, int served)
{
	int error = child_start_server(child, argument, served);

	if (!error)
		error = await_start(child);
	if (error < 0)
		child_stop(child, dying);
	return error;
}
