// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

int packet_send(int socket, const void *packet, size_t size, int fd, int flags)
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
	return sendmsg(socket, &message, MSG_NOSIGNAL | flags) < 0 ? -errno : 0;
}

int packet_receive(int socket, void *packet, size_t size, int *fd, int flags)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec vector = {packet, size};
	struct msghdr message = {.msg_iov = &vector,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
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
