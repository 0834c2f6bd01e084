// SPDX-License-Identifier: GPL-2.0-or-later
/* Plain posts over real sockets: several addresses, large bodies, servers that hang up. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/serve/plain_post.h"

#define BODY (8u << 20)

/* Returns a socket that listens at a port of the kernel's choice. */
static int listen_at(union push_address *address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(address->v4);

	memset(address, 0, sizeof(*address));
	address->v4.sin_family = AF_INET;
	address->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, &address->any, size), 0);
	assert_int_equal(getsockname(fd, &address->any, &size), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

/* Reads the whole request, so that closing does not reset the connection; answers, and closes. */
static pid_t serve(int fd, const struct push_exchange *exchange, const char *answer)
{
	char *head = plain_post_head(exchange);
	size_t wanted = strlen(head) + exchange->document->size;
	pid_t pid = fork();
	char bytes[65536];
	size_t got = 0;
	ssize_t size = 1;
	int client;

	free(head);
	if (pid)
		return pid;
	alarm(60);
	client = accept(fd, NULL, NULL);
	while (got < wanted && (size = read(client, bytes, sizeof(bytes))) > 0)
		got += (size_t)size;
	if (write(client, answer, strlen(answer)) < 0)
		_exit(1);
	_exit(got >= wanted ? 0 : 2);
}

static void expect_served(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static struct push_exchange *exchange_new(size_t size)
{
	struct push_exchange *exchange = calloc(1, sizeof(*exchange));
	struct push_document *document = calloc(1, sizeof(*document));

	*document = (struct push_document){calloc(1, size), size, strdup("")};
	exchange->url = "http://localhost/";
	exchange->type = "text/plain";
	exchange->headers = "";
	exchange->document = document;
	return exchange;
}

static void exchange_free(struct push_exchange *exchange)
{
	struct push_document *document = (struct push_document *)exchange->document;

	free(document->body);
	free(document->query);
	free(document);
	free(exchange);
}

/* Runs these to their end. */
static void run(struct push_transport *transport, struct push_exchange *exchanges[], size_t count)
{
	size_t ended = 0;

	for (size_t i = 0; i < count; i++)
		ended += !transport->begin(transport, exchanges[i]);
	while (ended < count) {
		while (transport->step(transport))
			ended++;
		if (ended < count)
			transport->wait(transport, -1, 100);
	}
}

static void the_second_address_is_tried_and_all_bytes_arrive(void **state)
{
	struct push_exchange *exchange = exchange_new(BODY);
	struct push_transport *transport;
	pid_t server;
	int fd;

	(void)state;
	/* Before the server inherits it. */
	close(listen_at(&exchange->addresses[0]));
	fd = listen_at(&exchange->addresses[1]);
	server = serve(fd, exchange, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntook");
	exchange->address_count = 2;
	assert_int_equal(push_plain_open(&transport), 0);
	run(transport, &exchange, 1);
	assert_string_equal(exchange->error, "");
	assert_int_equal(exchange->status, 200);
	assert_string_equal(exchange->answer, "took");
	assert_int_equal(exchange->answered, 4);
	expect_served(server);
	close(fd);
	exchange_free(exchange);
	free(transport);
}

/* One that hangs up does not harm the others; the next attempt of an exchange may succeed. */
static void servers_that_hang_up_are_errors(void **state)
{
	static const char *const errors[] = {
		"it closed the connection before its answer was complete",
		"cannot connect: Connection refused", "its answer is not HTTP/1.1", ""};
	static const char *const answers[] = {"HTTP/1.1 200 OK\r\nContent-Le", NULL, "SSH-2.0\r\n",
					      "HTTP/1.1 429 Slow\r\nRetry-After: 7\r\n\r\n"};
	struct push_exchange *exchanges[PUSH_AT_ONCE];
	struct push_transport *transport;
	pid_t servers[PUSH_AT_ONCE] = {0};

	(void)state;
	assert_int_equal(push_plain_open(&transport), 0);
	for (size_t i = 0; i < PUSH_AT_ONCE; i++) {
		int fd;

		exchanges[i] = exchange_new(10);
		exchanges[i]->address_count = 1;
		fd = listen_at(&exchanges[i]->addresses[0]);
		if (answers[i])
			servers[i] = serve(fd, exchanges[i], answers[i]);
		close(fd);
	}
	run(transport, exchanges, PUSH_AT_ONCE);
	for (size_t i = 0; i < PUSH_AT_ONCE; i++) {
		assert_string_equal(exchanges[i]->error, errors[i]);
		if (servers[i])
			expect_served(servers[i]);
	}
	assert_int_equal(exchanges[0]->status, 0);
	assert_int_equal(exchanges[3]->status, 429);
	assert_int_equal(exchanges[3]->retry_after_s, 7);
	for (size_t i = 0; i < PUSH_AT_ONCE; i++)
		exchange_free(exchanges[i]);
	free(transport);
}

static void what_it_cannot_post_is_an_error_at_once(void **state)
{
	struct push_exchange *exchange = exchange_new(1);
	struct push_transport *transport;

	(void)state;
	assert_int_equal(push_plain_open(&transport), 0);
	assert_false(transport->begin(transport, exchange));
	assert_string_equal(exchange->error, "cannot connect: No route to host");
	exchange->url = "https://localhost/";
	assert_false(transport->begin(transport, exchange));
	assert_string_equal(exchange->error, "the request cannot be made");
	assert_null(transport->step(transport));
	exchange_free(exchange);
	free(transport);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_address_is_tried_and_all_bytes_arrive),
		cmocka_unit_test(servers_that_hang_up_are_errors),
		cmocka_unit_test(what_it_cannot_post_is_an_error_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
