// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/serve/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/packet.h"
#include "base/serve/handover.h"

#define BACKLOG 128

struct listener {
	int fd;
	struct child child;
	struct dying dying;
};

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool port_parse(const char *text, uint16_t *port)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value > UINT16_MAX)
		return false;
	*port = htons((uint16_t)value);
	return true;
}

static bool host_parse(const char *text, size_t length, union address *address, uint16_t port)
{
	char host[INET6_ADDRSTRLEN + 1] = "";
	bool brackets = length > 2 && text[0] == '[' && text[length - 1] == ']';

	length -= brackets ? 2 : 0;
	if (length >= sizeof(host))
		return false;
	memcpy(host, text + brackets, length);
	if (brackets) {
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = port;
		return inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1;
	}
	address->v4.sin_family = AF_INET;
	address->v4.sin_port = port;
	return inet_pton(AF_INET, *host ? host : "127.0.0.1", &address->v4.sin_addr) == 1;
}

static bool address_parse(const char *text, union address *address)
{
	const char *colon = strrchr(text, ':');
	uint16_t port;

	*address = (union address){0};
	return port_parse(colon ? colon + 1 : text, &port) &&
	       host_parse(text, colon ? (size_t)(colon - text) : 0, address, port);
}

bool listener_is_address(const char *text)
{
	union address address;

	return address_parse(text, &address);
}

static bool is_loopback(const union address *address)
{
	return address->any.sa_family == AF_INET
		       ? ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
		       : IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static void say_where(int fd)
{
	union address address = {0};
	socklen_t size = sizeof(address);
	char host[INET6_ADDRSTRLEN] = "";
	bool v6;

	getsockname(fd, &address.any, &size);
	v6 = address.any.sa_family == AF_INET6;
	inet_ntop(address.any.sa_family,
		  v6 ? (void *)&address.v6.sin6_addr : (void *)&address.v4.sin_addr, host,
		  sizeof(host));
	log_info("listening on http://%s%s%s:%u/", v6 ? "[" : "", host, v6 ? "]" : "",
		 ntohs(v6 ? address.v6.sin6_port : address.v4.sin_port));
	if (!is_loopback(&address))
		log_warning(
			"any client of that address can read the names of programs and functions: use a proxy for encryption and passwords");
}

static int listen_at(const union address *address)
{
	const int yes = 1;
	socklen_t size =
		address->any.sa_family == AF_INET ? sizeof(address->v4) : sizeof(address->v6);
	int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (!bind(fd, &address->any, size) && !listen(fd, BACKLOG))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int start(struct listener *listener)
{
	int error = handover_start(&listener->child, &listener->dying, HTTP_SERVER_ARGUMENT,
				   listener->fd);

	if (error)
		log_error("cannot start the process that serves HTTP: %s", strerror(-error));
	return error;
}

int listener_open(struct listener **listener, const char *text)
{
	struct listener *made = calloc(1, sizeof(*made));
	union address address;
	int error = 0;

	if (!made || !address_parse(text, &address)) {
		free(made);
		return -EINVAL;
	}
	made->child.fd = -1;
	made->fd = listen_at(&address);
	if (made->fd < 0) {
		error = made->fd;
		log_error(
			"cannot listen on %s: %s; name another port, or an address of this machine",
			text, strerror(-error));
	}
	if (!error)
		error = start(made);
	if (error) {
		listener_close(made);
		return error;
	}
	say_where(made->fd);
	*listener = made;
	return 0;
}

void listener_close(struct listener *listener)
{
	if (!listener)
		return;
	child_stop(&listener->child, &listener->dying);
	dying_reap(&listener->dying, true);
	cleanup_close(&listener->fd);
	free(listener);
}

/* A server that is gone, or accepts no more packets, is replaced. */
static int hand_over_somehow(struct listener *listener, const struct http_handover *handover,
			     int fd)
{
	int error = listener->child.pid ? packet_send(listener->child.fd, handover,
						      sizeof(*handover), fd, MSG_DONTWAIT)
					: -EPIPE;

	dying_reap(&listener->dying, false);
	if (!error || error == -ENOMEM)
		return error;
	log_warning("the HTTP process does not answer (%s): starting another one",
		    strerror(-error));
	child_stop(&listener->child, &listener->dying);
	error = start(listener);
	return error ? error
		     : packet_send(listener->child.fd, handover, sizeof(*handover), fd,
				   MSG_DONTWAIT);
}

void listener_publish(struct listener *listener, enum http_document document, FILE *stream,
		      int error, uint32_t good_for_ms)
{
	struct http_handover handover = {.document = document, .good_for_ms = good_for_ms};
	int64_t size = handover_seal(stream, error);

	handover.size = (uint64_t)size;
	error = size < 0 ? (int)size : hand_over_somehow(listener, &handover, fileno(stream));
	if (error)
		log_warning("the latest report is not served: %s", strerror(-error));
	fclose(stream);
}
