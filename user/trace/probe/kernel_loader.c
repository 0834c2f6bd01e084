// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/kernel_loader.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "kernel.skel.h"
#include "process/proc/memory_room.h"
#include "trace/probe/feature_probe.h"

#define EVENTS_BYTES 4096

/* Slots of the process maps: the lost one, and the kernel. */
#define KERNEL_PROCESSES 2

enum { RCU = LM_KERNEL_MAX_, GROUPS };

/* A group is left out as a whole if its births or deaths cannot be seen. */
static const struct tracepoint {
	const char *program, *name, *signature;
	unsigned group;
	bool birth;
} tracepoints[] = {
	{"kernel_kmalloc", "kmalloc", "8p8", LM_KERNEL_KMALLOC, true},
	{"kernel_kfree", "kfree", "8p", LM_KERNEL_KMALLOC, false},
	{"kernel_cache_alloc", "kmem_cache_alloc", "8pp4", LM_KERNEL_CACHE, true},
	{"kernel_cache_free", "kmem_cache_free", "8p", LM_KERNEL_CACHE, false},
	{"kernel_page_alloc", "mm_page_alloc", "p444", LM_KERNEL_PAGES, true},
	{"kernel_page_free", "mm_page_free", "p4", LM_KERNEL_PAGES, false},
	{"kernel_rcu_bulk", "rcu_invoke_kfree_bulk_callback", "p8p", RCU, false},
};

static const char *const group_names[GROUPS] = {
	[LM_KERNEL_KMALLOC] = "kmalloc",
	[LM_KERNEL_CACHE] = "kmem_cache_alloc",
	[LM_KERNEL_PAGES] = "page allocations",
	[RCU] = "kfree_rcu in bulk",
};

static int probe_tracepoints(struct kernel_bpf *skeleton, bool *works)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return -errno;
	for (size_t i = 0; i < GROUPS; i++)
		works[i] = true;
	for (size_t i = 0; i < ARRAY_SIZE(tracepoints); i++)
		works[tracepoints[i].group] &=
			tracepoint_has(btf, tracepoints[i].name, tracepoints[i].signature);
	for (size_t i = 0; i < ARRAY_SIZE(tracepoints); i++)
		bpf_program__set_autoload(
			bpf_object__find_program_by_name(skeleton->obj, tracepoints[i].program),
			works[tracepoints[i].group]);
	btf__free(btf);
	return 0;
}

static void say_what_is_missing(const bool *works)
{
	for (size_t i = 0; i < LM_KERNEL_MAX_; i++) {
		if (!works[i])
			log_warning(
				"this kernel's tracepoints of %s are not those that leakmon knows: they are left out",
				group_names[i]);
	}
	if (!works[RCU])
		log_info(
			"this kernel does not report bulk frees of kfree_rcu (CONFIG_RCU_TRACE): that memory looks outstanding until its address is reused");
}

static void set_up(struct kernel_bpf *skeleton, const struct loader_config *config)
{
	struct loader_config sized = *config;

	sized.max_processes = KERNEL_PROCESSES;
	ledger_set_knobs(skeleton, &sized);
	ledger_maps_size(skeleton->obj, &sized);
	skeleton->rodata->own_tgid = (uint32_t)getpid();
	skeleton->data->process_count = KERNEL_PROCESSES;
	bpf_map__set_max_entries(skeleton->maps.events, EVENTS_BYTES);
}

/* The kernel is the only process of the ledger. */
static int open_ledgers(struct kernel_bpf *skeleton)
{
	struct lm_process kernel = {
		.key = LM_KERNEL_KEY, .state = LM_PROCESS_ALIVE, .comm = "kernel"};
	uint32_t slot = LM_KERNEL_SLOT;

	if (bpf_map__update_elem(skeleton->maps.processes, &slot, sizeof(slot), &kernel,
				 sizeof(kernel), BPF_ANY))
		return -errno;
	return bpf_map__update_elem(skeleton->maps.process_index, &kernel.key, sizeof(kernel.key),
				    &slot, sizeof(slot), BPF_ANY)
		       ? -errno
		       : 0;
}

static int load(struct kernel_bpf *skeleton, const struct loader_config *config, bool *works)
{
	int error = probe_tracepoints(skeleton, works);

	if (error)
		return error;
	say_what_is_missing(works);
	set_up(skeleton, config);
	error = kernel_bpf__load(skeleton);
	if (!error)
		error = open_ledgers(skeleton);
	return error ? error : kernel_bpf__attach(skeleton);
}

int kernel_loader_open(struct kernel_side *side, const struct loader_config *config)
{
	struct kernel_side opened = {.bpf = {.max_sites = config->max_sites,
					     .max_processes = KERNEL_PROCESSES,
					     .live_threads_fd = -1}};
	bool works[GROUPS] = {false};
	int error = descriptors_check_start();

	if (!error)
		error = memory_room_check(MEMORY_TO_LOAD_BYTES, "loading the probes");
	if (error)
		return error;
	loader_quiet_libbpf();
	opened.skeleton = kernel_bpf__open();
	if (!opened.skeleton)
		return loader_explain(-errno, config);
	error = load(opened.skeleton, config, works);
	if (!error)
		error = ledger_maps_export(&opened.bpf, opened.skeleton->obj);
	if (error) {
		ledger_maps_close(&opened.bpf);
		kernel_bpf__destroy(opened.skeleton);
		return loader_explain(error, config);
	}
	ledger_export_counters(&opened.bpf, opened.skeleton);
	opened.owners_fd = bpf_map__fd(opened.skeleton->maps.kernel_owners);
	memcpy(opened.followed, works, sizeof(opened.followed));
	opened.sees_rcu = works[RCU];
	*side = opened;
	return 0;
}

void kernel_loader_close(struct kernel_side *side)
{
	ledger_maps_close(&side->bpf);
	if (side->skeleton)
		kernel_bpf__destroy(side->skeleton);
	memset(side, 0, sizeof(*side));
}

void kernel_loader_misses(const struct kernel_side *side, uint64_t *births, uint64_t *deaths)
{
	*births = *deaths = 0;
	for (size_t i = 0; i < ARRAY_SIZE(tracepoints); i++) {
		struct bpf_program *program = bpf_object__find_program_by_name(
			side->skeleton->obj, tracepoints[i].program);
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		if (bpf_program__fd(program) >= 0 &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			*(tracepoints[i].birth ? births : deaths) += info.recursion_misses;
	}
}

uint64_t kernel_loader_unowned(const struct kernel_side *side)
{
	return side->skeleton->bss->owners_lost;
}
