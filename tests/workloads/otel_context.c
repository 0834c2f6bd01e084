// SPDX-License-Identifier: GPL-2.0-or-later
/* Publishes the context of its process as an OpenTelemetry SDK does (OTEP 4719), and leaks. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "workload.h"

static struct truth truth = {.sites = {{.function = "leak_more"}}};

/* Resource {attributes {key: "service.name" value {string_value: "checkout"}}, ...}. */
static const char payload[] = "\x0a\x1a"
			      "\x0a\x0cservice.name"
			      "\x12\x0a\x0a\x08"
			      "checkout"
			      "\x0a\x1e"
			      "\x0a\x0fservice.version"
			      "\x12\x0b\x0a\x09"
			      "1.2.3-rc1";

static const struct context_header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_at_ns;
	const char *payload;
} header = {{'O', 'T', 'E', 'L', '_', 'C', 'T', 'X'}, 2, sizeof(payload) - 1, 1, payload};

static bool publish(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	void *place =
		fd < 0 || ftruncate(fd, sizeof(header))
			? MAP_FAILED
			: mmap(NULL, sizeof(header), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	if (place == MAP_FAILED)
		return false;
	close(fd);
	memcpy(place, &header, sizeof(header));
	return true;
}

static SITE void leak_more(void)
{
	for (int i = 0; i < 10; i++) {
		truth.sites[0].line = __LINE__ + 1;
		OPAQUE(malloc(1000));
		truth_born(&truth, 0, 1000);
	}
}

int main(void)
{
	static const struct command commands[] = {{.name = "go", .run = leak_more}};

	if (!publish())
		return 1;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
