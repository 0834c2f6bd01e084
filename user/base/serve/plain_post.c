// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/serve/plain_post.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/serve/http_answer.h"
#include "base/text.h"

#define NS_PER_MS UINT64_C(1000000)
#define READ_SIZE 16384
/* A server that sends without end must not keep the others waiting. */
#define READS_A_STEP 16

#define SCHEME "http://"

/* -------- the request */

/* Returns whether a header line has that name. */
static bool has_name(const char *line, const char *name)
{
	size_t length = strlen(name);

	return !strncasecmp(line, name, length) && line[length] == ':';
}

static bool header_is_given(const char *lines, const char *name)
{
	for (; lines && *lines; lines = strchr(lines, '\n')) {
		lines += *lines == '\n';
		if (has_name(lines, name))
			return true;
	}
	return false;
}

static void header_print(FILE *out, const char *given, const char *name, const char *value,
			 size_t length)
{
	if (!header_is_given(given, name))
		fprintf(out, "%s: %.*s\r\n", name, (int)length, value);
}

/* One without a value only takes away the default. */
static void given_headers_print(FILE *out, const char *lines)
{
	static const char *const framing[] = {"Content-Length", "Transfer-Encoding", "Connection",
					      "Expect"};

	while (*lines) {
		size_t length = strcspn(lines, "\n"), name = strcspn(lines, ":\n");
		bool skipped =
			name == length || name + 1 + strspn(lines + name + 1, " \t") == length;

		for (size_t i = 0; i < ARRAY_SIZE(framing); i++)
			skipped |= has_name(lines, framing[i]);
		if (!skipped)
			fprintf(out, "%.*s\r\n", (int)length, lines);
		lines += length + (lines[length] == '\n');
	}
}

char *plain_post_head(const struct push_exchange *exchange)
{
	static const char agent[] = "leakmon/" LEAKMON_VERSION;
	const char *authority = exchange->url + strlen(SCHEME), *given = exchange->headers;
	size_t length = strcspn(authority, "/?"), size;
	const char *path = authority + length, *query = exchange->document->query;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	bool failed;

	if (!out)
		return NULL;
	fprintf(out, "POST %s%s%s%s HTTP/1.1\r\n", *path == '/' ? "" : "/", path, *query ? "?" : "",
		query);
	header_print(out, given, "Host", authority, length);
	header_print(out, given, "User-Agent", agent, strlen(agent));
	header_print(out, given, "Accept", "*/*", 3);
	header_print(out, given, "Content-Type", exchange->type, strlen(exchange->type));
	given_headers_print(out, given);
	fprintf(out, "Content-Length: %zu\r\nConnection: close\r\n\r\n", exchange->document->size);
	failed = ferror(out);
	if (!fclose(out) && !failed)
		return text;
	free(text);
	return NULL;
}

/* -------- exchanges */

struct plain_post {
	struct push_exchange *exchange; /* NULL: free */
	int fd;				/* -1: none */
	bool connected;
	size_t address; /* the next one to try */
	char *head;
	size_t head_size, sent; /* of the head and the body */
	uint64_t connect_ns;	/* this address's deadline */
	uint64_t all_connect_ns, deadline_ns;
	struct http_answer answer;
};

struct plain_transport {
	struct push_transport transport;
	struct plain_post posts[PUSH_AT_ONCE];
};

static void post_fail(struct plain_post *post, const char *what, int error)
{
	struct push_exchange *exchange = post->exchange;

	snprintf(exchange->error, sizeof(exchange->error), "%s%s%s", what, error ? ": " : "",
		 error ? strerror(error) : "");
}

static void post_disconnect(struct plain_post *post)
{
	if (post->fd >= 0)
		close(post->fd);
	post->fd = -1;
	post->connected = false;
}

/*
 * Begins to connect to the next usable address: each gets an equal part of the remaining time.
 * Returns false, after post_fail(), if no address is left.
 */
static bool connect_next(struct plain_post *post, int error)
{
	const struct push_exchange *exchange = post->exchange;
	uint64_t now = monotonic_ns();

	post_disconnect(post);
	while (post->address < exchange->address_count && now < post->all_connect_ns) {
		const union push_address *to = &exchange->addresses[post->address];
		bool v6 = to->any.sa_family == AF_INET6;

		post->connect_ns = now + (post->all_connect_ns - now) /
						 (exchange->address_count - post->address);
		post->address++;
		post->fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (post->fd >= 0 &&
		    (!connect(post->fd, &to->any, v6 ? sizeof(to->v6) : sizeof(to->v4)) ||
		     errno == EINPROGRESS))
			return true;
		error = errno;
		post_disconnect(post);
	}
	post_fail(post, "cannot connect", error);
	return false;
}

/* Returns whether the exchange goes on. */
static bool connect_step(struct plain_post *post)
{
	struct pollfd ready = {.fd = post->fd, .events = POLLOUT};
	socklen_t size = sizeof(int);
	int error = 0;

	if (poll(&ready, 1, 0) <= 0)
		return monotonic_ns() < post->connect_ns || connect_next(post, ETIMEDOUT);
	if (getsockopt(post->fd, SOL_SOCKET, SO_ERROR, &error, &size))
		error = errno;
	if (error)
		return connect_next(post, error);
	post->connected = true;
	return true;
}

static size_t unsent(const struct plain_post *post)
{
	return post->head_size + post->exchange->document->size - post->sent;
}

/* A server may answer and close before it has read all: its answer counts, not the error. */
static void send_step(struct plain_post *post)
{
	const struct push_document *document = post->exchange->document;
	ssize_t sent = 1;

	while (unsent(post) && sent > 0) {
		bool in_head = post->sent < post->head_size;
		const void *from = in_head ? (const void *)(post->head + post->sent)
					   : document->body + (post->sent - post->head_size);
		size_t size = in_head ? post->head_size - post->sent : unsent(post);

		sent = send(post->fd, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		post->sent += sent > 0 ? (size_t)sent : 0;
	}
}

/* Returns whether the exchange goes on. */
static bool receive_step(struct plain_post *post)
{
	char bytes[READ_SIZE];
	const char *problem = NULL;
	bool complete = false;

	for (int i = 0; i < READS_A_STEP && !problem && !complete; i++) {
		ssize_t got = recv(post->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (got < 0) {
			post_fail(post, "the connection failed", errno);
			return false;
		}
		complete = !got;
		problem = got ? http_answer_take(&post->answer, bytes, (size_t)got, &complete)
			      : http_answer_end(&post->answer);
	}
	if (problem)
		post_fail(post, problem, 0);
	return !problem && !complete;
}

/* Returns whether the exchange goes on. */
static bool post_step(struct plain_post *post)
{
	bool goes_on = post->connected || connect_step(post);

	if (goes_on && post->connected) {
		send_step(post);
		goes_on = receive_step(post);
	}
	if (!goes_on || monotonic_ns() < post->deadline_ns)
		return goes_on;
	post_fail(post, "it has not answered in time", 0);
	return false;
}

static void post_end(struct plain_post *post)
{
	struct push_exchange *exchange = post->exchange;

	if (!*exchange->error) {
		exchange->status = post->answer.status;
		exchange->retry_after_s = post->answer.retry_after_s;
		exchange->answered = post->answer.kept_size;
		memcpy(exchange->answer, post->answer.kept, sizeof(exchange->answer));
	}
	post_disconnect(post);
	free(post->head);
	post->head = NULL;
	post->exchange = NULL;
}

_Static_assert(PUSH_ANSWER_SIZE == HTTP_ANSWER_KEPT, "kept as a whole");

static bool plain_begin(struct push_transport *transport, struct push_exchange *exchange)
{
	struct plain_transport *state = (struct plain_transport *)transport;
	struct plain_post *post = state->posts;
	uint64_t now = monotonic_ns();
	char *head;

	while (post < state->posts + PUSH_AT_ONCE && post->exchange)
		post++;
	/* pusher.h has refused https:// with the reason. */
	head = post < state->posts + PUSH_AT_ONCE && text_begins(exchange->url, SCHEME)
		       ? plain_post_head(exchange)
		       : NULL;
	if (!head) {
		snprintf(exchange->error, sizeof(exchange->error), "the request cannot be made");
		return false;
	}
	*post = (struct plain_post){
		.exchange = exchange,
		.fd = -1,
		.head = head,
		.head_size = strlen(head),
		.all_connect_ns = now + PUSH_CONNECT_MS * NS_PER_MS,
		.deadline_ns = now + PUSH_ATTEMPT_MS * NS_PER_MS,
	};
	if (connect_next(post, EHOSTUNREACH))
		return true;
	post_end(post);
	return false;
}

static struct push_exchange *plain_step(struct push_transport *transport)
{
	struct plain_transport *state = (struct plain_transport *)transport;

	for (size_t i = 0; i < PUSH_AT_ONCE; i++) {
		struct push_exchange *exchange = state->posts[i].exchange;

		if (exchange && !post_step(&state->posts[i])) {
			post_end(&state->posts[i]);
			return exchange;
		}
	}
	return NULL;
}

static void plain_wait(struct push_transport *transport, int control, int timeout_ms)
{
	struct plain_transport *state = (struct plain_transport *)transport;
	struct pollfd polled[1 + PUSH_AT_ONCE] = {{.fd = control, .events = POLLIN}};
	uint64_t now = monotonic_ns(), end = now + (uint64_t)timeout_ms * NS_PER_MS;
	nfds_t count = 1;

	for (size_t i = 0; i < PUSH_AT_ONCE; i++) {
		const struct plain_post *post = &state->posts[i];
		short events = POLLIN;

		if (!post->exchange)
			continue;
		if (!post->connected || unsent(post))
			events |= POLLOUT;
		polled[count++] = (struct pollfd){.fd = post->fd, .events = events};
		end = MIN(end, post->connected ? post->deadline_ns : post->connect_ns);
	}
	end = MAX(end, now);
	poll(polled, count, (int)((end - now + NS_PER_MS - 1) / NS_PER_MS));
}

int push_plain_open(struct push_transport **transport)
{
	struct plain_transport *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	state->transport = (struct push_transport){plain_begin, plain_step, plain_wait};
	*transport = &state->transport;
	return 0;
}
