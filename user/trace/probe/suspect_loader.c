// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/suspect_loader.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "trace/probe/loader.h"
#include "trace/probe/feature_probe.h"
#include "process/proc/memory_room.h"
#include "suspect.skel.h"

/* Limit of distinct stacks of all suspects together, at 1 KiB each. */
#define MAX_SITES 4096
/* Limit of suspects since the object was loaded, including their execs. */
#define MAX_PROCESSES 1024
#define EVENTS_BYTES (64 * 1024)

static bool tracepoint_exists(const char *name, const char *signature)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool exists = btf && tracepoint_has(btf, name, signature);

	btf__free(btf);
	return exists;
}

static void set_up(struct suspect_bpf *skeleton, const struct suspect_side *side,
		   enum lm_stack_walk stack_walk)
{
	const struct loader_config config = {
		.max_blocks = 1, .max_sites = MAX_SITES, .max_processes = MAX_PROCESSES};

	ledger_maps_size(skeleton->obj, &config);
	skeleton->rodata->max_sites = MAX_SITES;
	skeleton->rodata->max_processes = MAX_PROCESSES;
	skeleton->rodata->stack_walk = stack_walk;
	bpf_program__set_autoload(skeleton->progs.suspect_mapping, side->sees_mappings);
	bpf_map__set_max_entries(skeleton->maps.unwind_ranges, MAX_PROCESSES);
	bpf_map__set_max_entries(skeleton->maps.events, EVENTS_BYTES);
}

static int export_side(struct suspect_side *side)
{
	struct suspect_bpf *skeleton = side->skeleton;
	struct bpf_side *bpf = &side->bpf;
	int error = ledger_maps_export(bpf, skeleton->obj);

	if (error)
		return error;
	bpf->unwind.modules_fd = bpf_map__fd(skeleton->maps.unwind_modules);
	bpf->unwind.ranges_fd = bpf_map__fd(skeleton->maps.unwind_ranges);
	bpf->unwind.made_codes_fd = bpf_map__fd(skeleton->maps.made_codes);
	bpf->unwind.pythons_fd = bpf_map__fd(skeleton->maps.pythons);
	bpf->unwind.python_count = &skeleton->bss->python_count;
	bpf->unwind.generation = &skeleton->data->unwind_generation;
	side->suspects_fd = bpf_map__fd(skeleton->maps.suspects);
	side->samples_fd = bpf_map__fd(skeleton->maps.samples);
	side->fault_fd = bpf_program__fd(skeleton->progs.suspect_fault);
	side->samples_lost = &skeleton->bss->samples_lost;
	return 0;
}

int suspect_loader_open(struct suspect_side *side, enum lm_stack_walk stack_walk)
{
	struct suspect_side opened = {
		.bpf = {.max_sites = MAX_SITES, .max_processes = MAX_PROCESSES},
		.sees_mappings = tracepoint_exists("vm_unmapped_area", "8p")};
	int error = memory_room_check(MEMORY_TO_LOAD_BYTES, "sampling call stacks of suspects");

	if (error)
		return error;
	loader_quiet_libbpf();
	opened.skeleton = suspect_bpf__open();
	if (!opened.skeleton)
		return -errno;
	set_up(opened.skeleton, &opened, stack_walk);
	error = suspect_bpf__load(opened.skeleton);
	if (!error)
		error = export_side(&opened);
	if (error)
		suspect_loader_close(&opened);
	else
		*side = opened;
	return error;
}

void suspect_loader_close(struct suspect_side *side)
{
	suspect_loader_release(side, 0);
	ledger_maps_close(&side->bpf);
	suspect_bpf__destroy(side->skeleton);
	memset(side, 0, sizeof(*side));
}

static int attach(struct bpf_link **link, const struct bpf_program *program)
{
	if (!*link)
		*link = bpf_program__attach(program);
	return *link ? 0 : -errno;
}

int suspect_loader_follow(struct suspect_side *side, pid_t pid, const struct lm_suspect *suspect)
{
	uint32_t tgid = (uint32_t)pid;
	int error = 0;

	if (suspect->kind == LM_SAMPLE_MAPPING && !side->sees_mappings)
		return -EOPNOTSUPP;
	if (suspect->kind == LM_SAMPLE_MAPPING)
		error = attach(&side->mapping_link, side->skeleton->progs.suspect_mapping);
	else if (suspect->kind == LM_SAMPLE_THREAD)
		error = attach(&side->thread_link, side->skeleton->progs.suspect_thread);
	if (error)
		return error;
	return bpf_map_update_elem(side->suspects_fd, &tgid, suspect, BPF_ANY) ? -errno : 0;
}

void suspect_loader_forget(struct suspect_side *side, pid_t pid)
{
	uint32_t tgid = (uint32_t)pid;

	bpf_map_delete_elem(side->suspects_fd, &tgid);
}

void suspect_loader_release(struct suspect_side *side, unsigned kinds)
{
	if (!(kinds & 1u << LM_SAMPLE_MAPPING)) {
		bpf_link__destroy(side->mapping_link);
		side->mapping_link = NULL;
	}
	if (!(kinds & 1u << LM_SAMPLE_THREAD)) {
		bpf_link__destroy(side->thread_link);
		side->thread_link = NULL;
	}
}
