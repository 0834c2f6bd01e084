// SPDX-License-Identifier: GPL-2.0-or-later
#include "push_server.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shell.h"

struct push_server push_server_start(struct harness *harness, const char *mode, bool tls)
{
	struct push_server server = {0};
	unsigned port;

	snprintf(server.kept, sizeof(server.kept), "%s/kept", harness->directory);
	snprintf(server.certificate, sizeof(server.certificate), "%s/certificate",
		 harness->directory);
	snprintf(server.key, sizeof(server.key), "%s/key", harness->directory);
	assert_false(mkdir(server.kept, 0700));
	if (tls)
		free(shell(harness, 0,
			   "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout %s -out %s "
			   "-subj /CN=localhost -addext "
			   "subjectAltName=DNS:localhost,IP:127.0.0.1 2>&1",
			   server.key, server.certificate));
	server.child =
		child_start(harness, "/usr/bin/python3",
			    ARGUMENTS("python3", "tests/e2e/push_server.py", server.kept, mode,
				      tls ? server.certificate : NULL, tls ? server.key : NULL),
			    NULL);
	child_wait_text(harness, server.child, &server.child->out, "\n");
	assert_int_equal(sscanf(server.child->out.text, "port %u", &port), 1);
	snprintf(server.url, sizeof(server.url), "%s://localhost:%u", tls ? "https" : "http", port);
	snprintf(server.hook, sizeof(server.hook), "%s/hook", server.url);
	return server;
}

int push_setup_without_libcurl(void **state)
{
	static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	int error = harness_setup(state);
	struct harness *harness = *state;

	for (size_t i = 0; i < 2 && !error; i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "%s/%s", harness->directory, libraries[i]);
		fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
		error = fd < 0 || close(fd) ? -1 : 0;
	}
	return error ? error : setenv("LD_LIBRARY_PATH", harness->directory, 1);
}

int push_teardown_without_libcurl(void **state)
{
	unsetenv("LD_LIBRARY_PATH");
	return harness_teardown(state);
}
