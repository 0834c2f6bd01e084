// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

/* For a process to give up its rights. */
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

int handover_send(int socket, const void *packet, size_t size, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
	struct iovec vector = {(void *)packet, size};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *header = (struct cmsghdr *)control;

		*header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int handover_receive(int socket, void *packet, size_t size, int *fd)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec vector = {packet, size};
	struct msghdr message = {.msg_iov = &vector,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*fd = -1;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	if (got == (ssize_t)size)
		return 0;
	cleanup_close(fd);
	*fd = -1;
	return -EPIPE;
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
	if (error)
		child_stop(child, dying);
	return error;
}
