/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Real containers for tests: a bundle made for the test, run in the foreground by runc or crun as
 * the kubelet would (cgroup path, annotations), with a workload on its standard streams.
 *
 * crun refuses a hybrid cgroup setup, so it gets a separate mount namespace without the v2
 * hierarchy. containers_teardown() removes containers, mounts and cgroups, also after a failure.
 */
#ifndef LEAKMON_E2E_CONTAINERS_H
#define LEAKMON_E2E_CONTAINERS_H

#include "harness.h"

/* Parent of all cgroups of these tests. */
#define CONTAINERS_CGROUP "/leakmon-test"

enum image {
	IMAGE_GLIBC, /* Debian's libc, copied in */
	IMAGE_MUSL,  /* musl, dynamically linked */
	IMAGE_STATIC /* musl, static, with busybox */
};

struct container_spec {
	const char *runtime; /* "runc", "crun" */
	enum image image;
	const char *id;	      /* chosen, as an operator does; NULL: 64 digits */
	const char *pod;      /* NULL: no annotations */
	const char *program;  /* a workload, glibc's; NULL: leak */
	const char *path;     /* its path inside, absolute; NULL: /bin/leak */
	const char *lower;    /* directory of an image to run over with overlayfs, or NULL */
	bool read_only;	      /* the root file system */
	const char *argument; /* of the program; NULL: without */
	const char *variable; /* in its environment, "NAME=VALUE"; NULL: without */
	long memory_max;      /* bytes; 0: no limit */
};

struct running {
	struct child *child; /* has the standard streams of the workload inside */
	char runtime[8];
	char id[65];
	char bundle[128];
	pid_t pid; /* of the workload, on the host */
};

#define container_test(name)                                                                       \
	cmocka_unit_test_setup_teardown(name, containers_setup, containers_teardown)
int containers_setup(void **state);
int containers_teardown(void **state);

/*
 * Return the harness, as harness_any() and harness_bpf() do; skip the test, with a message, without
 * the runtimes or permission to create cgroups.
 */
struct harness *containers_any(void **state);
struct harness *containers_bpf(void **state);

/* Makes a root file system at `path`. */
void image_make(const char *path, enum image image);
/* Returns when the workload inside is ready. */
struct running *container_start(struct harness *harness, const struct container_spec *spec);
/* Makes the workload quit, or kills it. */
void container_kill(const struct running *container);
/* Ends the container and frees its slot. The teardown ends the others. */
void container_end(struct running *container);

#endif
