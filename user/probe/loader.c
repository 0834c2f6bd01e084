// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "leakmon.skel.h"
#include "probe/attach.h"
#include "probe/privileges.h"

/* A ring of page-sized records for process events; larger when every call is traced. */
#define EVENTS_BYTES (64 * 1024)
#define EVENTS_TRACE_BYTES (16 * 1024 * 1024)

/* What the hash map needs per entry beside key and value (kernel/bpf/hashtab.c, htab_elem). */
#define HASH_ENTRY_OVERHEAD 64

/* The verifier's log runs over many lines, and is the kernel's own: it is passed on as it is. */
__attribute__((format(printf, 2, 0))) static int libbpf_log(enum libbpf_print_level level,
							    const char *format, va_list arguments)
{
	if (log_get_level() < LOG_DEBUG || level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, format, arguments);
}

void loader_quiet_libbpf(void)
{
	libbpf_set_print(libbpf_log);
}

void loader_fill_exp_table(uint32_t table[9][32])
{
	for (unsigned whole = 1; whole < 32; whole++)
		table[0][whole] = (uint32_t)(exp(-(double)whole) * 4294967296.0);
	for (unsigned row = 1; row <= 8; row++) {
		for (unsigned digit = 1; digit < 16; digit++)
			table[row][digit] =
				(uint32_t)(exp(-ldexp(digit, -4 * (int)row)) * 4294967296.0);
	}
}

static void set_knobs(struct leakmon_bpf *skeleton, const struct loader_config *config)
{
	skeleton->rodata->empty_programs = config->empty_programs;
	skeleton->rodata->trace = config->trace;
	skeleton->rodata->min_size = config->min_size;
	skeleton->rodata->max_size = config->max_size;
	skeleton->rodata->sample_rate = config->sample_rate;
	skeleton->rodata->sample_bytes = config->sample_bytes;
	skeleton->rodata->max_sites = config->max_sites;
	skeleton->rodata->max_processes = config->max_processes;
	skeleton->rodata->stack_walk = config->stack_walk;
	skeleton->rodata->launched_tgid = config->launched_tgid;
	loader_fill_exp_table(skeleton->rodata->exp_table);
}

static void set_sizes(struct leakmon_bpf *skeleton, const struct loader_config *config)
{
	bpf_map__set_max_entries(skeleton->maps.blocks, config->max_blocks);
	bpf_map__set_max_entries(skeleton->maps.site_index, config->max_sites);
	bpf_map__set_max_entries(skeleton->maps.sites, config->max_sites);
	bpf_map__set_max_entries(skeleton->maps.stacks, config->max_sites);
	bpf_map__set_max_entries(skeleton->maps.process_index, config->max_processes);
	bpf_map__set_max_entries(skeleton->maps.processes, config->max_processes);
	bpf_map__set_max_entries(skeleton->maps.ledgers, config->max_processes);
	bpf_map__set_max_entries(skeleton->maps.unwind_ranges, config->max_processes);
	bpf_map__set_max_entries(skeleton->maps.events,
				 config->trace ? EVENTS_TRACE_BYTES : EVENTS_BYTES);
}

static void set_attach_types(struct leakmon_bpf *skeleton, enum attach_method method)
{
	bool session = method == ATTACH_SESSION;

	skeleton->rodata->session = session;
	bpf_program__set_autoload(skeleton->progs.heap_return, !session);
	bpf_program__set_expected_attach_type(skeleton->progs.heap_return,
					      attach_type(method, POINT_RETURN));
	for (size_t i = 0; i < SHAPE_MAX_; i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(skeleton->obj, call_shapes[i].program);
		bool both = session && call_shapes[i].returns;

		bpf_program__set_expected_attach_type(
			program, attach_type(method, both ? POINT_BOTH : POINT_ENTRY));
	}
}

static uint64_t memory_asked(const struct loader_config *config)
{
	uint64_t block =
		sizeof(struct lm_block_key) + sizeof(struct lm_block) + HASH_ENTRY_OVERHEAD;
	uint64_t site = sizeof(struct lm_site) + sizeof(struct lm_stack) + 12 + HASH_ENTRY_OVERHEAD;

	return config->max_blocks * block + config->max_sites * site;
}

static int explain_load(int error, const struct loader_config *config)
{
	struct stat status;

	if (stat("/sys/kernel/btf/vmlinux", &status)) {
		log_error("this kernel has no type information (/sys/kernel/btf/vmlinux): leakmon "
			  "cannot find its way in kernel structures; use a kernel built with "
			  "CONFIG_DEBUG_INFO_BTF=y, as Debian's are");
	} else if (error == -ENOMEM || error == -E2BIG) {
		log_error("the kernel refused memory for the maps: about %llu MiB were asked for "
			  "--max-blocks %llu and --max-sites %u; ask for less, or raise the memory "
			  "limit of this cgroup",
			  (unsigned long long)(memory_asked(config) >> 20),
			  (unsigned long long)config->max_blocks, config->max_sites);
	} else if (error == -EPERM) {
		privileges_explain();
	} else {
		log_error(
			"this kernel refused leakmon's BPF programs (%s); -v shows its own words: "
			"please report them, with `uname -r`",
			strerror(-error));
	}
	return error;
}

static const void *map_array(struct bpf_map *map, size_t value_size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = bpf_map__max_entries(map) * value_size;
	void *memory = mmap(NULL, (size + page - 1) / page * page, PROT_READ, MAP_SHARED,
			    bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static int export_side(struct bpf_side *bpf, struct leakmon_bpf *skeleton)
{
	bpf->sites = map_array(skeleton->maps.sites, sizeof(*bpf->sites));
	bpf->stacks = map_array(skeleton->maps.stacks, sizeof(*bpf->stacks));
	bpf->processes = map_array(skeleton->maps.processes, sizeof(*bpf->processes));
	if (!bpf->sites || !bpf->stacks || !bpf->processes)
		return -errno;
	bpf->blocks_fd = bpf_map__fd(skeleton->maps.blocks);
	bpf->ledgers_fd = bpf_map__fd(skeleton->maps.ledgers);
	bpf->events_fd = bpf_map__fd(skeleton->maps.events);
	bpf->process_index_fd = bpf_map__fd(skeleton->maps.process_index);
	bpf->site_count = &skeleton->data->site_count;
	bpf->process_count = &skeleton->data->process_count;
	bpf->events_lost = &skeleton->bss->events_lost;
	bpf->unwind_modules_fd = bpf_map__fd(skeleton->maps.unwind_modules);
	bpf->unwind_ranges_fd = bpf_map__fd(skeleton->maps.unwind_ranges);
	bpf->unwind_generation = &skeleton->data->unwind_generation;
	bpf->return_fd = bpf_program__fd(skeleton->progs.heap_return);
	for (size_t i = 0; i < SHAPE_MAX_; i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(skeleton->obj, call_shapes[i].program);

		bpf->shape_fds[i] = program ? bpf_program__fd(program) : -ENOENT;
	}
	bpf->skeleton = skeleton;
	return 0;
}

int loader_open(struct bpf_side *bpf, const struct loader_config *config)
{
	struct bpf_side opened = {.max_sites = config->max_sites,
				  .max_processes = config->max_processes};
	struct leakmon_bpf *skeleton;
	int error;

	loader_quiet_libbpf();
	skeleton = leakmon_bpf__open();
	if (!skeleton)
		return explain_load(-errno, config);
	set_knobs(skeleton, config);
	set_sizes(skeleton, config);
	set_attach_types(skeleton, config->method);
	error = leakmon_bpf__load(skeleton);
	if (!error)
		error = leakmon_bpf__attach(skeleton);
	if (!error)
		error = export_side(&opened, skeleton);
	if (error) {
		leakmon_bpf__destroy(skeleton);
		return explain_load(error, config);
	}
	*bpf = opened;
	return 0;
}

void loader_close(struct bpf_side *bpf)
{
	if (bpf->skeleton)
		leakmon_bpf__destroy(bpf->skeleton);
	memset(bpf, 0, sizeof(*bpf));
}
