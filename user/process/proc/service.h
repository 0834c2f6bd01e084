/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The service that a process belongs to, as OpenTelemetry names it (semantic conventions,
 * "Service"). The first of these that has a name is it:
 *
 *   1. the context that an SDK in the process publishes in a mapping named OTEL_CTX (OTEP 4719)
 *   2. OTEL_SERVICE_NAME in the environment that the process was started with
 *   3. its systemd unit, or the name of its container
 *   4. "unknown_service:NAME", as SDKs have it
 *
 * All are claims of the process or its owner, and untrusted text.
 */
#ifndef LEAKMON_PROC_SERVICE_H
#define LEAKMON_PROC_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct container;

enum service_attribute {
	SERVICE_NAME,
	SERVICE_NAMESPACE,
	SERVICE_VERSION,
	SERVICE_INSTANCE,
	SERVICE_ENVIRONMENT, /* deployment.environment.name */
	SERVICE_ATTRIBUTE_MAX_,
};

/* "service.name", ... Static. */
const char *service_attribute_name(enum service_attribute attribute);

struct service {
	char *attributes[SERVICE_ATTRIBUTE_MAX_]; /* owned; NULL: not known */
};

/* Limits of what a process may claim. */
#define SERVICE_CONTEXT_MAX (64u << 10)
#define SERVICE_TEXT_MAX 255

/*
 * The payload of a context: a Resource, or a ProcessContext that has one
 * (opentelemetry/proto/{resource,processcontext}). What is malformed, too long or unknown is left
 * out. 0 or -ENOMEM; texts that are set already stay.
 */
int service_context_parse(const uint8_t *payload, size_t size, struct service *service);

/* The unit of a control group's path: "web" of /system.slice/web.service/init. False: it has
 * none. */
bool service_unit_of(const char *cgroup, char *unit, size_t size);

/* The third and the fourth of the list: for a control group as well. `cgroup` and `comm` may be
 * NULL. 0 or -ENOMEM. */
int service_of_place(const char *cgroup, const char *comm, const struct container *container,
		     struct service *service);

/*
 * Fills a zeroed *service for service_free(). `comm` and `container` (NULL: none) are the
 * process's. A process that has ended, or whose memory must not be read, has what is left of the
 * list above. 0 or -ENOMEM.
 */
int service_find(pid_t pid, const char *comm, const struct container *container,
		 struct service *service);
void service_free(struct service *service);

#endif
