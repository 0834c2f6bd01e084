// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/serve/http_server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/packet.h"
#include "base/sandbox/sandbox.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define MEMORY_BYTES (UINT64_C(64) << 20)
#define CHUNK_BYTES 65536
#define HEAD_SIZE 1024

/* -------- requests */

static const struct {
	const char *path;
	enum http_target target;
	enum http_document document;
} paths[] = {
	{"/metrics", HTTP_TARGET_DOCUMENT, HTTP_METRICS},
	{"/profile", HTTP_TARGET_DOCUMENT, HTTP_PROFILE},
	{"/debug/pprof/heap", HTTP_TARGET_DOCUMENT, HTTP_PROFILE},
	{"/", HTTP_TARGET_DOCUMENT, HTTP_PAGE},
	{"/healthz", HTTP_TARGET_HEALTH, HTTP_METRICS},
};

static bool is_word(const char *at, size_t size, const char *word)
{
	return size == strlen(word) && !memcmp(at, word, size);
}

static int target_parse(const char *at, size_t size, struct http_request *request)
{
	const char *query = memchr(at, '?', size);

	if (query)
		size = (size_t)(query - at);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (!is_word(at, size, paths[i].path))
			continue;
		request->target = paths[i].target;
		request->document = paths[i].document;
		return 0;
	}
	return 404;
}

int http_request_parse(const char *head, size_t size, struct http_request *request)
{
	const char *end = memchr(head, '\n', size), *target, *version;
	size_t method;

	if (end && end > head && end[-1] == '\r')
		end--;
	target = end ? memchr(head, ' ', (size_t)(end - head)) : NULL;
	version = target ? memchr(target + 1, ' ', (size_t)(end - target - 1)) : NULL;
	request->head_only = false;
	if (!version || memchr(head, '\0', size))
		return 400;
	method = (size_t)(target++ - head);
	if (end - version < 6 || memcmp(version + 1, "HTTP/", 5) != 0)
		return 400;
	if (!is_word(version + 1, (size_t)(end - version - 1), "HTTP/1.1") &&
	    !is_word(version + 1, (size_t)(end - version - 1), "HTTP/1.0"))
		return 505;
	request->head_only = is_word(head, method, "HEAD");
	if (!request->head_only && !is_word(head, method, "GET"))
		return 405;
	return target_parse(target, (size_t)(version - target), request);
}

/* -------- documents */

struct document {
	int fd;
	uint64_t size, made_ns, good_for_ns;
	unsigned users; /* clients receiving it, plus 1 while it is the latest */
};

static const char *const media_types[] = {
	[HTTP_METRICS] = "text/plain; version=0.0.4; charset=utf-8",
	[HTTP_PROFILE] = "application/octet-stream",
	[HTTP_PAGE] = "text/html; charset=utf-8",
};
_Static_assert(ARRAY_SIZE(media_types) == HTTP_DOCUMENT_MAX_, "a type for every document");

static void document_release(struct document *document)
{
	if (!document || --document->users)
		return;
	close(document->fd);
	free(document);
}

struct client {
	int fd; /* -1: none */
	uint64_t since_ns;
	char request[HTTP_REQUEST_MAX];
	size_t got;
	bool answering;
	bool leaving; /* answered; further input is discarded */
	char head[HEAD_SIZE];
	size_t head_size;
	struct document *body; /* or NULL */
	uint64_t sent;	       /* of head and body together */
};

struct server {
	struct document *documents[HTTP_DOCUMENT_MAX_]; /* the latest; NULL: none yet */
	struct client clients[HTTP_CLIENTS_MAX];
};

/* Returns false if the monitor is gone or corrupt. */
static bool take_document(struct server *server)
{
	struct http_handover handover;
	struct document *document;
	int fd, error = packet_receive(HTTP_CONTROL, &handover, sizeof(handover), &fd,
				       MSG_DONTWAIT);

	if (error || fd < 0 || handover.document >= HTTP_DOCUMENT_MAX_)
		return error == -EAGAIN;
	document = calloc(1, sizeof(*document));
	if (!document)
		return false;
	document->fd = fd;
	document->size = handover.size;
	document->made_ns = monotonic_ns();
	document->good_for_ns = handover.good_for_ms * NS_PER_MS;
	document->users = 1;
	document_release(server->documents[handover.document]);
	server->documents[handover.document] = document;
	return true;
}

/* -------- answers */

static const char *reason_of(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{200, "OK"},
		{400, "Bad Request"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{408, "Request Timeout"},
		{431, "Request Header Fields Too Large"},
		{503, "Service Unavailable"},
		{505, "HTTP Version Not Supported"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].status == status)
			return reasons[i].reason;
	}
	return "Error";
}

static void answer(struct client *client, int status, const char *type, uint64_t size)
{
	int length = snprintf(client->head, sizeof(client->head),
			      "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %llu\r\n"
			      "Connection: close\r\nCache-Control: no-store\r\n"
			      "X-Content-Type-Options: nosniff\r\n%s\r\n",
			      status, reason_of(status), type, (unsigned long long)size,
			      status == 405 ? "Allow: GET, HEAD\r\n" : "");

	client->head_size = (size_t)length;
	client->answering = true;
	client->since_ns = monotonic_ns();
	client->sent = 0;
}

static void answer_text(struct client *client, int status, bool head_only, const char *text)
{
	answer(client, status, "text/plain; charset=utf-8", strlen(text));
	if (!head_only)
		client->head_size +=
			(size_t)snprintf(client->head + client->head_size,
					 sizeof(client->head) - client->head_size, "%s", text);
}

static void answer_refusal(struct client *client, int status, bool head_only)
{
	char text[64];

	snprintf(text, sizeof(text), "%d %s\n", status, reason_of(status));
	answer_text(client, status, head_only, text);
}

static const struct document *latest_of(const struct server *server)
{
	const struct document *latest = NULL;

	for (size_t i = 0; i < HTTP_DOCUMENT_MAX_; i++) {
		const struct document *document = server->documents[i];

		if (document && (!latest || document->made_ns > latest->made_ns))
			latest = document;
	}
	return latest;
}

static void answer_health(const struct server *server, struct client *client, bool head_only)
{
	const struct document *latest = latest_of(server);
	uint64_t age_ns = latest ? monotonic_ns() - latest->made_ns : 0;
	char text[96];

	if (!latest) {
		answer_text(client, 503, head_only, "no report yet\n");
		return;
	}
	snprintf(text, sizeof(text), "%s: the last report is %llu s old\n",
		 age_ns > latest->good_for_ns ? "late" : "ok",
		 (unsigned long long)(age_ns / NS_PER_S));
	answer_text(client, age_ns > latest->good_for_ns ? 503 : 200, head_only, text);
}

static void answer_document(struct server *server, struct client *client,
			    const struct http_request *request)
{
	struct document *document = server->documents[request->document];

	if (!document) {
		answer_text(client, latest_of(server) ? 404 : 503, request->head_only,
			    latest_of(server) ? "this command has no such document\n"
					      : "no report yet\n");
		return;
	}
	answer(client, 200, media_types[request->document], document->size);
	if (request->head_only)
		return;
	document->users++;
	client->body = document;
}

static void answer_request(struct server *server, struct client *client, size_t size)
{
	struct http_request request = {0};
	int status = http_request_parse(client->request, size, &request);

	if (status)
		answer_refusal(client, status, request.head_only);
	else if (request.target == HTTP_TARGET_HEALTH)
		answer_health(server, client, request.head_only);
	else
		answer_document(server, client, &request);
}

/* -------- connections */

static void drop(struct client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	document_release(client->body);
	client->body = NULL;
	client->fd = -1;
	client->got = 0;
	client->answering = client->leaving = false;
}

/* Returns a free slot, or that of the slowest client: one without a complete request first. */
static struct client *place_for_one_more(struct server *server)
{
	struct client *worst = NULL;

	for (size_t i = 0; i < HTTP_CLIENTS_MAX; i++) {
		struct client *client = &server->clients[i];

		if (client->fd < 0)
			return client;
		if (!worst || client->answering < worst->answering ||
		    (client->answering == worst->answering && client->since_ns < worst->since_ns))
			worst = client;
	}
	drop(worst);
	return worst;
}

static void take_client(struct server *server)
{
	int fd = accept4(HTTP_LISTENING, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct client *client;

	if (fd < 0)
		return;
	client = place_for_one_more(server);
	client->fd = fd;
	client->since_ns = monotonic_ns();
}

/* Returns the length of the head with its empty line; 0: incomplete. */
static size_t head_length(const char *request, size_t size)
{
	const char *end = memmem(request, size, "\r\n\r\n", 4);
	const char *bare = memmem(request, size, "\n\n", 2);

	if (end)
		return (size_t)(end - request) + 4;
	return bare ? (size_t)(bare - request) + 2 : 0;
}

/* If unread input were left at the close, the kernel would discard the answer (RFC 9112, 9.6). */
static void leave(struct client *client)
{
	shutdown(client->fd, SHUT_WR);
	document_release(client->body);
	client->body = NULL;
	client->answering = false;
	client->leaving = true;
	client->got = 0;
	client->since_ns = monotonic_ns();
}

static void read_request(struct server *server, struct client *client)
{
	ssize_t got = recv(client->fd, client->request + client->got,
			   sizeof(client->request) - client->got, 0);
	size_t length;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		drop(client);
		return;
	}
	if (client->leaving)
		return;
	client->got += (size_t)got;
	length = head_length(client->request, client->got);
	if (length)
		answer_request(server, client, length);
	else if (client->got == sizeof(client->request))
		answer_refusal(client, 431, false);
}

/*
 * Sends the next bytes of the head or the body. Returns their number, or -errno; 0: all were sent.
 */
static ssize_t send_more(struct client *client)
{
	static char chunk[CHUNK_BYTES];
	uint64_t at = client->sent - MIN(client->sent, client->head_size);
	ssize_t size;

	if (client->sent < client->head_size)
		return send(client->fd, client->head + client->sent,
			    client->head_size - client->sent, MSG_NOSIGNAL);
	if (!client->body || at >= client->body->size)
		return 0;
	size = pread(client->body->fd, chunk, MIN(sizeof(chunk), client->body->size - at),
		     (off_t)at);
	return size > 0 ? send(client->fd, chunk, (size_t)size, MSG_NOSIGNAL) : 0;
}

static void write_answer(struct client *client)
{
	ssize_t sent = send_more(client);

	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (sent > 0)
		client->sent += (uint64_t)sent;
	else if (!sent)
		leave(client);
	else
		drop(client);
}

static uint64_t deadline_of(const struct client *client)
{
	return client->since_ns +
	       (client->answering ? HTTP_ANSWER_MS : HTTP_REQUEST_MS) * NS_PER_MS;
}

/*
 * Drops late clients. Returns the time until the next one is late, in milliseconds; -1: no client.
 */
static int drop_late(struct server *server)
{
	uint64_t now = monotonic_ns(), next = UINT64_MAX;

	for (size_t i = 0; i < HTTP_CLIENTS_MAX; i++) {
		struct client *client = &server->clients[i];

		if (client->fd < 0)
			continue;
		if (deadline_of(client) <= now)
			drop(client);
		else
			next = MIN(next, deadline_of(client));
	}
	return next == UINT64_MAX ? -1 : (int)((next - now) / NS_PER_MS) + 1;
}

/* Returns false if the monitor is gone. */
static bool serve_once(struct server *server)
{
	struct pollfd fds[2 + HTTP_CLIENTS_MAX] = {{.fd = HTTP_CONTROL, .events = POLLIN},
						   {.fd = HTTP_LISTENING, .events = POLLIN}};
	int timeout_ms = drop_late(server);

	for (size_t i = 0; i < HTTP_CLIENTS_MAX; i++)
		fds[2 + i] =
			(struct pollfd){.fd = server->clients[i].fd,
					.events = server->clients[i].answering ? POLLOUT : POLLIN};
	if (poll(fds, ARRAY_SIZE(fds), timeout_ms) < 0)
		return errno == EINTR;
	for (size_t i = 0; i < HTTP_CLIENTS_MAX; i++) {
		if (!fds[2 + i].revents)
			continue;
		if (server->clients[i].answering)
			write_answer(&server->clients[i]);
		else
			read_request(server, &server->clients[i]);
	}
	if (fds[1].revents)
		take_client(server);
	return !fds[0].revents || take_document(server);
}

static _Noreturn void serve(void)
{
	struct server *server = calloc(1, sizeof(*server));
	const int32_t error =
		server ? sandbox_enter_server(HTTP_CONTROL, HTTP_LISTENING, MEMORY_BYTES) : -ENOMEM;

	for (size_t i = 0; server && i < HTTP_CLIENTS_MAX; i++)
		server->clients[i].fd = -1;
	if (send(HTTP_CONTROL, &error, sizeof(error), MSG_NOSIGNAL) == sizeof(error) && !error) {
		while (serve_once(server))
			;
	}
	_exit(0);
}

void http_server_enter(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], HTTP_SERVER_ARGUMENT))
		serve();
}
