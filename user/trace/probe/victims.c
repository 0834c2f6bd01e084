// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/victims.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "process/proc/memory_room.h"
#include "trace/probe/loader.h"
#include "victim.skel.h"

struct victims {
	struct victim_bpf *skeleton;
	struct ring_buffer *ring;
	victim_handler handler;
	void *context;
};

static int on_victim(void *context, void *data, size_t size)
{
	const struct victims *victims = context;

	if (size >= sizeof(struct lm_victim))
		victims->handler(data, victims->context);
	return 0;
}

static int load(struct victims *victims)
{
	int error;

	loader_quiet_libbpf();
	victims->skeleton = victim_bpf__open();
	if (!victims->skeleton)
		return -errno;
	error = victim_bpf__load(victims->skeleton);
	if (!error)
		error = victim_bpf__attach(victims->skeleton);
	if (error)
		return error;
	victims->ring = ring_buffer__new(bpf_map__fd(victims->skeleton->maps.victims), on_victim,
					 victims, NULL);
	return victims->ring ? 0 : -errno;
}

int victims_open(struct victims **victims, victim_handler handler, void *context)
{
	struct victims *opened;
	int error;

	if (memory_room() < MEMORY_TO_LOAD_BYTES)
		return -ENOMEM;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->handler = handler;
	opened->context = context;
	error = load(opened);
	if (error)
		victims_close(opened);
	else
		*victims = opened;
	return error;
}

void victims_close(struct victims *victims)
{
	if (!victims)
		return;
	ring_buffer__free(victims->ring);
	victim_bpf__destroy(victims->skeleton);
	free(victims);
}

int victims_fd(const struct victims *victims)
{
	return ring_buffer__epoll_fd(victims->ring);
}

void victims_consume(struct victims *victims)
{
	ring_buffer__consume(victims->ring);
}

uint64_t victims_lost(const struct victims *victims)
{
	return __atomic_load_n(&victims->skeleton->bss->victims_lost, __ATOMIC_ACQUIRE);
}
