/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The service of a process, as in OpenTelemetry (semantic conventions, "Service"). The first of
 * these with a name wins:
 *
 *   1. the context that an SDK in the process publishes in a mapping named OTEL_CTX (OTEP 4719)
 *   2. OTEL_SERVICE_NAME in the environment that the process was started with
 *   3. its systemd unit, or the name of its container
 *   4. "unknown_service:NAME", as SDKs do
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

/* Returns "service.name", ... Static. */
const char *service_attribute_name(enum service_attribute attribute);

struct service {
	char *attributes[SERVICE_ATTRIBUTE_MAX_]; /* owned; NULL: unknown */
};

/* Limits of a process's claims. */
#define SERVICE_CONTEXT_MAX (64u << 10)
#define SERVICE_TEXT_MAX 255

/*
 * Parses the payload of a context: a Resource, or a ProcessContext that contains one
 * (opentelemetry/proto/{resource,processcontext}). Malformed, overlong or unknown parts are
 * skipped. Returns 0 or -ENOMEM; texts already set stay.
 */
int service_context_parse(const uint8_t *payload, size_t size, struct service *service);

/*
 * Extracts the unit from a control group's path: "web" from /system.slice/web.service/init. Returns
 * false if it has none.
 */
bool service_unit_of(const char *cgroup, char *unit, size_t size);

/*
 * Applies the third and the fourth rule, for a control group as well. `cgroup` and `comm` may be
 * NULL. Returns 0 or -ENOMEM.
 */
int service_of_place(const char *cgroup, const char *comm, const struct container *container,
		     struct service *service);

/*
 * Fills a zeroed *service for service_free(). `comm` and `container` (NULL: none) are the
 * process's. For an ended process, or one whose memory must not be read, applies the remaining
 * rules. Returns 0 or -ENOMEM.
 */
int service_find(pid_t pid, const char *comm, const struct container *container,
		 struct service *service);
void service_free(struct service *service);

#endif
