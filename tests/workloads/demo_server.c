// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * demo_server [PORT [MILLISECONDS]]: a small server with a plausible leak, for `make demo`.
 *
 * It speaks lines over TCP on 127.0.0.1: "LOGIN user token" opens a session, "PAGE n" answers from
 * a cache, "LOGOUT" closes the session. A client process sends a request every few milliseconds;
 * one login in ten carries an expired token. The server refuses it, as it should, but forgets the
 * session that it had already made: search for BUG.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* In a program of many source files these would be calls, too. */
#define CALLED __attribute__((noinline))

#define CACHED_PAGES 64
#define PAGE_SIZE 2048

struct session {
	char user[32];
	char basket[2000];
};

struct server {
	struct session *session; /* one client at a time */
	char *cache[CACHED_PAGES];
};

static bool token_is_valid(const char *token)
{
	return strcmp(token, "expired") != 0;
}

CALLED static struct session *session_open(const char *user, const char *token)
{
	struct session *session = malloc(sizeof(*session));

	if (!session)
		return NULL;
	snprintf(session->user, sizeof(session->user), "%s", user);
	session->basket[0] = '\0';
	if (!token_is_valid(token))
		return NULL; /* BUG: the session is lost on this path */
	return session;
}

static void session_close(struct session *session)
{
	free(session);
}

CALLED static const char *page_load(struct server *server, int number)
{
	char **page = &server->cache[(unsigned)number % CACHED_PAGES];

	if (!*page) {
		*page = malloc(PAGE_SIZE);
		if (*page)
			snprintf(*page, PAGE_SIZE, "page %d", number);
	}
	return *page ? *page : "no memory";
}

CALLED static void handle_request(struct server *server, const char *request, FILE *client)
{
	char user[32], token[32];
	int number;

	if (sscanf(request, "LOGIN %31s %31s", user, token) == 2) {
		session_close(server->session);
		server->session = session_open(user, token);
		fputs(server->session ? "welcome\n" : "refused\n", client);
	} else if (sscanf(request, "PAGE %d", &number) == 1) {
		fprintf(client, "%s\n", page_load(server, number));
	} else if (strncmp(request, "LOGOUT", 6) == 0) {
		session_close(server->session);
		server->session = NULL;
		fputs("bye\n", client);
	} else {
		fputs("what?\n", client);
	}
	fflush(client);
}

static int serve(int listener)
{
	struct server server = {0};
	int fd = accept(listener, NULL, NULL);
	FILE *client = fd < 0 ? NULL : fdopen(fd, "r+");
	char request[128];

	if (!client)
		return 1;
	while (fgets(request, sizeof(request), client))
		handle_request(&server, request, client);
	fclose(client);
	return 0;
}

static int client_run(const struct sockaddr_in *address, long pause_ms)
{
	const struct timespec pause = {pause_ms / 1000, pause_ms % 1000 * 1000000};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char answer[PAGE_SIZE];

	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		return 1;
	for (unsigned i = 0;; i++) {
		const char *token = i % 10 == 7 ? "expired" : "valid";

		dprintf(fd, "LOGIN user%u %s\n", i, token);
		if (read(fd, answer, sizeof(answer)) <= 0)
			return 0;
		dprintf(fd, "PAGE %u\n", i * 31 % 1000);
		if (read(fd, answer, sizeof(answer)) <= 0)
			return 0;
		nanosleep(&pause, NULL);
	}
}

static int listen_on(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (struct sockaddr *)address, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)address, &size))
		return -1;
	return listener;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(argc > 1 ? atoi(argv[1]) : 0),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	long pause_ms = argc > 2 ? atol(argv[2]) : 5;
	int listener = listen_on(&address);

	if (listener < 0) {
		perror("demo_server: cannot listen");
		return 1;
	}
	printf("demo_server: PID %d, 127.0.0.1:%d, a request every %ld ms\n", getpid(),
	       ntohs(address.sin_port), pause_ms);
	fflush(stdout);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		close(listener);
		_exit(client_run(&address, pause_ms));
	}
	return serve(listener);
}
