// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/loader.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/page.h"
#include "leakmon.skel.h"
#include "report/snapshot.h"
#include "trace/probe/attach.h"
#include "trace/probe/feature_probe.h"
#include "trace/probe/privileges.h"

/* Sizes of the ring: for process events; larger with events of every exec, and of every call. */
#define EVENTS_BYTES (64 * 1024)
#define EVENTS_MANY_BYTES (1024 * 1024)
#define EVENTS_TRACE_BYTES (16 * 1024 * 1024)
/* A hundred thousand calls, while a report is being written. */
#define MAPPING_EVENTS_BYTES (16 * 1024 * 1024)

/* Size of a hash map's entry beyond key and value (kernel/bpf/hashtab.c, htab_elem). */
#define HASH_ENTRY_OVERHEAD 64

/* The verifier's log has many lines, and is passed on unchanged. */
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

static void set_knobs(struct leakmon_bpf *skeleton, const struct loader_config *config)
{
	ledger_set_knobs(skeleton, config);
	skeleton->rodata->empty_programs = config->empty_programs;
	skeleton->rodata->trace = config->trace;
	skeleton->rodata->dispatch_kills = !config->dispatch_safe;
	skeleton->rodata->stack_walk = config->stack_walk;
	skeleton->rodata->launched_tgid = config->launched_tgid;
	skeleton->rodata->max_blocks = config->max_blocks;
	skeleton->rodata->fair_share = config->many;
	skeleton->rodata->announce = config->many;
	skeleton->rodata->follow_forks = config->follow_forks;
	skeleton->rodata->sees_group_only = config->method != ATTACH_PERF;
}

static uint32_t events_bytes(const struct loader_config *config)
{
	if (config->trace)
		return EVENTS_TRACE_BYTES;
	return config->many ? EVENTS_MANY_BYTES : EVENTS_BYTES;
}

static void set_sizes(struct leakmon_bpf *skeleton, const struct loader_config *config)
{
	ledger_maps_size(skeleton->obj, config);
	bpf_map__set_max_entries(skeleton->maps.unwind_ranges, config->max_processes);
	bpf_map__set_max_entries(skeleton->maps.events, events_bytes(config));
}

/*
 * Processes that share a target's memory are watched if probes do not see them. Kernels without
 * sched_prepare_exec (before 6.10) do not use probes of uprobe_multi: see feature_probe.c.
 */
static void set_sharers(struct leakmon_bpf *skeleton, const struct loader_config *config,
			bool prepares_exec)
{
	bool wanted = config->method != ATTACH_PERF;

	bpf_program__set_autoload(skeleton->progs.process_wakes, wanted);
	bpf_program__set_autoload(skeleton->progs.process_prepare_exec, wanted && prepares_exec);
}

static bool is_followed(const struct loader_config *config, enum family_id family)
{
	return config->families && config->families[family];
}

/* Without --mappings their programs are not loaded, and their maps have the minimal size. */
static void set_mappings(struct leakmon_bpf *skeleton, const struct loader_config *config)
{
	bpf_program__set_autoload(skeleton->progs.mapping_begin,
				  is_followed(config, FAMILY_MAPPING));
	bpf_program__set_autoload(skeleton->progs.mapping_end, is_followed(config, FAMILY_MAPPING));
	bpf_program__set_autoload(skeleton->progs.mapping_exit,
				  is_followed(config, FAMILY_MAPPING));
	if (!is_followed(config, FAMILY_MAPPING))
		return;
	bpf_map__set_max_entries(skeleton->maps.mapping_targets, config->max_processes);
	bpf_map__set_max_entries(skeleton->maps.mapping_events, MAPPING_EVENTS_BYTES);
}

/* Limit of open descriptors of all processes together, and of numbers that were open. */
#define MAX_DESCRIPTORS (1u << 20)

static const struct {
	const char *name, *function;
	bool needed;   /* else only some kernels have it */
	bool by_calls; /* instead, if functions cannot be watched */
} descriptor_programs[] = {
	{.name = "descriptor_installed", .function = "fd_install", .needed = true},
	{.name = "descriptor_duplicated", .function = "do_dup2", .needed = true},
	{.name = "descriptor_closed", .function = "close_fd", .needed = true},
	{.name = "descriptor_closed_file", .function = "file_close_fd"},
	{.name = "descriptor_closed_locked", .function = "file_close_fd_locked"},
	{.name = "descriptor_closed_get", .function = "close_fd_get_file"},
	{.name = "descriptor_closed_get_locked", .function = "__close_fd_get_file"},
	{.name = "descriptor_swept",
	 .function = "close_range",
	 .needed = true}, /* see close_range_function() */
	{.name = "descriptor_call_begin", .by_calls = true},
	{.name = "descriptor_call_end", .by_calls = true},
	{.name = "descriptor_exec"},
	{.name = "descriptor_exit"},
};

#define CALL(name, kind) [SYS_##name] = LM_CALL_##kind

/* Effects of system calls on the descriptor table; all others have none. */
static const uint8_t descriptor_calls[LM_DESCRIPTOR_CALLS] = {
#ifdef SYS_open
	CALL(open, OPEN),
	CALL(creat, OPEN),
	CALL(dup2, DUPLICATE),
	CALL(pipe, PAIR),
	CALL(epoll_create, OPEN),
	CALL(eventfd, OPEN),
	CALL(signalfd, SIGNALFD),
	CALL(inotify_init, OPEN),
#endif
	CALL(openat, OPEN),
	CALL(openat2, OPEN),
	CALL(open_by_handle_at, OPEN),
	CALL(open_tree, OPEN),
	CALL(fsopen, OPEN),
	CALL(fspick, OPEN),
	CALL(fsmount, OPEN),
	CALL(dup, OPEN),
	CALL(dup3, DUPLICATE),
	CALL(fcntl, FCNTL),
	CALL(pipe2, PAIR),
	CALL(socket, OPEN),
	CALL(socketpair, SOCKETPAIR),
	CALL(accept, OPEN),
	CALL(accept4, OPEN),
	CALL(recvmsg, RECEIVE),
	CALL(recvmmsg, RECEIVE_MANY),
	CALL(epoll_create1, OPEN),
	CALL(eventfd2, OPEN),
	CALL(signalfd4, SIGNALFD),
	CALL(timerfd_create, OPEN),
	CALL(inotify_init1, OPEN),
	CALL(fanotify_init, OPEN),
	CALL(memfd_create, OPEN),
#ifdef SYS_memfd_secret
	CALL(memfd_secret, OPEN),
#endif
	CALL(userfaultfd, OPEN),
	CALL(mq_open, OPEN),
	CALL(perf_event_open, OPEN),
	CALL(bpf, MAY_OPEN),
	CALL(seccomp, MAY_OPEN),
	CALL(ioctl, MAY_OPEN),
	CALL(io_uring_setup, OPEN),
#ifdef SYS_landlock_create_ruleset
	CALL(landlock_create_ruleset, MAY_OPEN),
#endif
	CALL(pidfd_open, OPEN),
	CALL(pidfd_getfd, OPEN),
	CALL(clone, CLONE),
	CALL(clone3, CLONE3),
	CALL(close, CLOSE),
	CALL(close_range, CLOSE_RANGE),
};
#undef CALL

static struct bpf_program *descriptor_program(const struct leakmon_bpf *skeleton, size_t i)
{
	return bpf_object__find_program_by_name(skeleton->obj, descriptor_programs[i].name);
}

/*
 * Returns the function of close_range(2): __x64_sys_close_range or similar, which take the
 * registers; a second one for 32-bit programs has that in its name. NULL: none.
 */
static const char *close_range_function(const struct btf *types)
{
	static const char end[] = "_sys_close_range";
	const char *found = NULL;

	for (__u32 id = 1; id < btf__type_cnt(types); id++) {
		const struct btf_type *type = btf__type_by_id(types, id);
		const char *name = btf__name_by_offset(types, type->name_off);
		size_t length = name ? strlen(name) : 0;
		const struct btf_type *prototype;

		if (!btf_is_func(type) || length < sizeof(end) || strstr(name, "32") ||
		    strcmp(name + length - (sizeof(end) - 1), end) != 0)
			continue;
		prototype = btf__type_by_id(types, type->type);
		if (btf_is_func_proto(prototype) && btf_vlen(prototype) == 1)
			found = name;
	}
	return found;
}

/* Attaches a program to fd_install that marks `map`, and opens a file. */
static void try_function(const struct btf *types, int map)
{
	const struct bpf_insn mark[] = {
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_VALUE,
		 .imm = map},
		{0},
		{.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_1, .imm = 1},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FEXIT);
	_cleanup_close_ int program = -1, link = -1, opened = -1;
	int function = btf__find_by_name_kind(types, "fd_install", BTF_KIND_FUNC);

	if (function <= 0)
		return;
	options.attach_btf_id = (__u32)function;
	program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "leakmon_try", "GPL", mark, ARRAY_SIZE(mark),
				&options);
	link = program < 0 ? -1 : bpf_raw_tracepoint_open(NULL, program);
	opened = link < 0 ? -1 : fcntl(map, F_DUPFD_CLOEXEC, 0);
}

/*
 * Returns whether programs on kernel functions run: a security policy may forbid them, an operator
 * may disable them, and some processors gained them late.
 */
static bool functions_can_be_watched(const struct btf *types)
{
	_cleanup_close_ int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "leakmon_try", sizeof(__u32),
						 sizeof(__u64), 1, NULL);
	__u32 key = 0;
	__u64 marked = 0;

	if (map < 0)
		return false;
	try_function(types, map);
	return !bpf_map_lookup_elem(map, &key, &marked) && marked;
}

/* Watched functions cost other processes nothing: they are the first choice. */
static void choose_descriptor_programs(const struct leakmon_bpf *skeleton, struct btf *types)
{
	const char *range = types ? close_range_function(types) : NULL;
	bool functions = types && range && functions_can_be_watched(types);
	bool there[ARRAY_SIZE(descriptor_programs)] = {0};

	for (size_t i = 0; functions && i < ARRAY_SIZE(descriptor_programs); i++) {
		const char *function = descriptor_programs[i].function;

		there[i] = function &&
			   btf__find_by_name_kind(
				   types, strcmp(function, "close_range") ? function : range,
				   BTF_KIND_FUNC) > 0;
		functions = there[i] || !descriptor_programs[i].needed;
	}
	if (functions)
		functions =
			!bpf_program__set_attach_target(skeleton->progs.descriptor_swept, 0, range);
	for (size_t i = 0; i < ARRAY_SIZE(descriptor_programs); i++) {
		bool wanted = descriptor_programs[i].function	? functions && there[i]
			      : descriptor_programs[i].by_calls ? !functions
								: true;

		bpf_program__set_autoload(descriptor_program(skeleton, i), wanted);
	}
	log_debug("descriptors: watching %s",
		  functions ? "functions of the kernel"
			    : "system calls of all processes: no program runs on functions here");
}

/* Without --descriptors, none of this family's programs and maps is loaded. */
static void set_descriptors(struct leakmon_bpf *skeleton, const struct loader_config *config)
{
	struct btf *types =
		is_followed(config, FAMILY_DESCRIPTORS) ? btf__load_vmlinux_btf() : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(descriptor_programs); i++)
		bpf_program__set_autoload(descriptor_program(skeleton, i), false);
	if (!is_followed(config, FAMILY_DESCRIPTORS))
		return;
	memcpy((void *)skeleton->rodata->descriptor_calls, descriptor_calls,
	       sizeof(descriptor_calls));
	bpf_map__set_max_entries(skeleton->maps.descriptor_targets, config->max_processes);
	bpf_map__set_max_entries(skeleton->maps.descriptor_tables, config->max_processes);
	bpf_map__set_max_entries(skeleton->maps.descriptors, MAX_DESCRIPTORS);
	bpf_map__set_max_entries(skeleton->maps.descriptor_sites, config->max_sites);
	choose_descriptor_programs(skeleton, types);
	btf__free(types);
}

static const struct {
	const char *name, *tracepoint, *signature;
	bool needed;
} object_programs[] = {
	{"object_kmalloc", "kmalloc", "8p8", true},
	{"object_kfree", "kfree", "8p", true},
	{"object_cache_alloc", "kmem_cache_alloc", "8pp4", true},
	{"object_cache_free", "kmem_cache_free", "8p", true},
	{"object_rcu_bulk", "rcu_invoke_kfree_bulk_callback", "p8p", false},
	{"object_fork", NULL, NULL, false},
};

static struct bpf_program *object_program(const struct leakmon_bpf *skeleton, size_t i)
{
	return bpf_object__find_program_by_name(skeleton->obj, object_programs[i].name);
}

/* Returns whether this kernel has the tracepoints without which a count would be wrong. */
static bool choose_object_programs(struct leakmon_bpf *skeleton)
{
	struct btf *types = btf__load_vmlinux_btf();
	bool chosen = types;

	for (size_t i = 0; chosen && i < ARRAY_SIZE(object_programs); i++) {
		bool works = !object_programs[i].tracepoint ||
			     tracepoint_has(types, object_programs[i].tracepoint,
					    object_programs[i].signature);

		chosen = works || !object_programs[i].needed;
		bpf_program__set_autoload(object_program(skeleton, i), works);
	}
	btf__free(types);
	return chosen;
}

static void set_objects(struct leakmon_bpf *skeleton, const struct loader_config *config)
{
	if (!config->object_tgid || !choose_object_programs(skeleton)) {
		for (size_t i = 0; i < ARRAY_SIZE(object_programs); i++)
			bpf_program__set_autoload(object_program(skeleton, i), false);
		return;
	}
	skeleton->rodata->object_tgid = config->object_tgid;
	skeleton->rodata->object_shift = config->object_shift;
	bpf_map__set_max_entries(skeleton->maps.objects, LM_OBJECTS_MAX);
	bpf_map__set_max_entries(skeleton->maps.object_sums, LM_OBJECT_SUMS_MAX);
	bpf_map__set_max_entries(skeleton->maps.object_children, LM_OBJECT_CHILDREN_MAX);
}

static void export_objects(struct bpf_side *bpf, const struct leakmon_bpf *skeleton)
{
	bool followed = bpf_program__fd(skeleton->progs.object_cache_alloc) >= 0;

	bpf->objects_fd = followed ? bpf_map__fd(skeleton->maps.objects) : -1;
	bpf->object_sums_fd = followed ? bpf_map__fd(skeleton->maps.object_sums) : -1;
	bpf->object_counts_fd = followed ? bpf_map__fd(skeleton->maps.object_counts) : -1;
	bpf->object_children_fd = followed ? bpf_map__fd(skeleton->maps.object_children) : -1;
}

uint64_t loader_object_frees(const struct bpf_side *bpf)
{
	uint64_t frees = 0;

	for (size_t i = 0; i < LM_OBJECT_FREE_COUNTERS; i++)
		frees += bpf->skeleton->bss->object_frees[i].frees;
	return frees;
}

static uint64_t program_misses(const struct bpf_program *program)
{
	int fd = bpf_program__fd(program);
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) ? info.recursion_misses : 0;
}

uint64_t loader_descriptor_misses(const struct bpf_side *bpf)
{
	uint64_t misses = 0;

	for (size_t i = 0; i < ARRAY_SIZE(descriptor_programs); i++)
		misses += program_misses(descriptor_program(bpf->skeleton, i));
	return misses;
}

uint64_t loader_thread_misses(const struct bpf_side *bpf)
{
	return program_misses(bpf->skeleton->progs.thread_fork) +
	       program_misses(bpf->skeleton->progs.thread_exit);
}

/* Limit of live and dead threads, of all processes together. */
#define MAX_THREADS (1u << 18)

static struct bpf_program *thread_program(const struct leakmon_bpf *skeleton, size_t probe)
{
	return bpf_object__find_program_by_name(skeleton->obj, thread_probes[probe].program);
}

static void set_threads(struct leakmon_bpf *skeleton, const struct loader_config *config)
{
	bool session = config->method == ATTACH_SESSION;

	bpf_program__set_autoload(skeleton->progs.thread_fork, config->threads);
	bpf_program__set_autoload(skeleton->progs.thread_exit, config->threads);
	bpf_program__set_autoload(skeleton->progs.thread_list, config->threads);
	for (size_t i = 0; i < THREAD_PROBE_MAX_; i++) {
		enum attach_point point = POINT_ENTRY;

		if (i == THREAD_PROBE_RETURN)
			point = POINT_RETURN;
		else if (session && thread_probes[i].returns)
			point = POINT_BOTH;
		bpf_program__set_autoload(thread_program(skeleton, i),
					  config->threads && (i != THREAD_PROBE_RETURN ||
							      (!session && config->dispatch_safe)));
		bpf_program__set_expected_attach_type(thread_program(skeleton, i),
						      attach_type(config->method, point));
	}
	if (!config->threads)
		return;
	bpf_map__set_max_entries(skeleton->maps.thread_records, MAX_THREADS);
	bpf_map__set_max_entries(skeleton->maps.thread_handles, MAX_THREADS);
	bpf_map__set_max_entries(skeleton->maps.thread_tids, MAX_THREADS);
	bpf_map__set_max_entries(skeleton->maps.thread_ledgers, config->max_processes);
}

static void export_threads(struct bpf_side *bpf, const struct leakmon_bpf *skeleton)
{
	bpf->thread_records_fd = bpf_map__fd(skeleton->maps.thread_records);
	bpf->thread_handles_fd = bpf_map__fd(skeleton->maps.thread_handles);
	bpf->thread_tids_fd = bpf_map__fd(skeleton->maps.thread_tids);
	bpf->thread_ledgers_fd = bpf_map__fd(skeleton->maps.thread_ledgers);
	bpf->threads_lost = &skeleton->bss->threads_lost;
	bpf->thread_list_fd = -1;
	if (skeleton->links.thread_list)
		bpf->thread_list_fd = bpf_link__fd(skeleton->links.thread_list);
	bpf->thread_list_tgid = &skeleton->bss->thread_list_tgid;
	bpf->thread_list_opens = &skeleton->bss->thread_list_opens;
	for (size_t i = 0; i < THREAD_PROBE_MAX_; i++)
		bpf->thread_fds[i] = bpf_program__fd(thread_program(skeleton, i));
}

static const struct {
	const char *name;
	enum attach_point point;
} heap_programs[] = {
	[HEAP_PROGRAM_RETURN] = {"heap_return", POINT_RETURN},
	[HEAP_PROGRAM_RESULT] = {"heap_result", POINT_ENTRY},
	[HEAP_PROGRAM_FREE] = {"heap_free", POINT_ENTRY},
	[HEAP_PROGRAM_CALL] = {"heap_call", POINT_BOTH},
	[HEAP_PROGRAM_NEW] = {"heap_new", POINT_ENTRY},
};
_Static_assert(ARRAY_SIZE(heap_programs) == HEAP_PROGRAM_MAX_, "a row for every program");

static struct bpf_program *heap_program(const struct leakmon_bpf *skeleton, size_t i)
{
	return bpf_object__find_program_by_name(skeleton->obj, heap_programs[i].name);
}

static void set_heap(struct leakmon_bpf *skeleton, const struct loader_config *config)
{
	bool session = config->method == ATTACH_SESSION;

	skeleton->rodata->session = session;
	skeleton->rodata->counts_hits = config->counts_hits;
	for (size_t i = 0; i < HEAP_PROGRAM_MAX_; i++) {
		enum attach_point point = heap_programs[i].point;

		if (point == POINT_BOTH && !session)
			point = POINT_ENTRY;
		bpf_program__set_autoload(heap_program(skeleton, i),
					  config->heap && (point != POINT_RETURN || !session));
		bpf_program__set_expected_attach_type(heap_program(skeleton, i),
						      attach_type(config->method, point));
	}
}

static struct bpf_program *usdt_program(const struct leakmon_bpf *skeleton, enum usdt_kind kind)
{
	return kind == USDT_FREE ? skeleton->progs.usdt_free : skeleton->progs.usdt_allocate;
}

/* Samples are rare: this many of 512 KiB are 64 GiB. */
#define MAX_USDT_BLOCKS (1u << 17)

static void set_usdt(struct leakmon_bpf *skeleton, const struct loader_config *config)
{
	for (enum usdt_kind kind = 0; kind < USDT_KIND_MAX_; kind++) {
		bpf_program__set_autoload(usdt_program(skeleton, kind), config->usdt);
		bpf_program__set_expected_attach_type(usdt_program(skeleton, kind),
						      attach_type(config->method, POINT_ENTRY));
	}
	if (!config->usdt)
		return;
	bpf_map__set_max_entries(skeleton->maps.usdt_specs, LM_USDT_MAX_SPECS);
	bpf_map__set_max_entries(skeleton->maps.usdt_blocks,
				 (uint32_t)MIN(config->max_blocks, MAX_USDT_BLOCKS));
}

static int export_usdt(struct bpf_side *bpf, const struct leakmon_bpf *skeleton, bool usdt)
{
	for (enum usdt_kind kind = 0; kind < USDT_KIND_MAX_; kind++)
		bpf->usdt_fds[kind] = usdt ? bpf_program__fd(usdt_program(skeleton, kind)) : -1;
	bpf->usdt_specs_fd = usdt ? bpf_map__fd(skeleton->maps.usdt_specs) : -1;
	bpf->usdt_blocks_fd = usdt ? bpf_map__fd(skeleton->maps.usdt_blocks) : -1;
	bpf->specs = usdt ? calloc(1, sizeof(*bpf->specs)) : NULL;
	return usdt && !bpf->specs ? -ENOMEM : 0;
}

static uint64_t memory_asked(const struct loader_config *config)
{
	uint64_t block =
		sizeof(struct lm_block_key) + sizeof(struct lm_block) + HASH_ENTRY_OVERHEAD;
	uint64_t site = sizeof(struct lm_site) + sizeof(struct lm_stack) + 12 + HASH_ENTRY_OVERHEAD;

	return config->max_blocks * block + config->max_sites * site;
}

int loader_explain(int error, const struct loader_config *config)
{
	struct stat status;

	if (feature_probe_explain_missing())
		return error;
	if (stat("/sys/kernel/btf/vmlinux", &status)) {
		log_error(
			"this kernel has no type information (/sys/kernel/btf/vmlinux): use a kernel with CONFIG_DEBUG_INFO_BTF=y, as Debian's are");
	} else if (error == -ENOMEM || error == -E2BIG) {
		log_error(
			"no memory for the maps: %llu MiB for --max-blocks %llu and --max-sites %u; lower them, or raise the cgroup's limit",
			(unsigned long long)(memory_asked(config) >> 20),
			(unsigned long long)config->max_blocks, config->max_sites);
	} else if (error == -EPERM) {
		privileges_explain();
	} else if (!privileges_explain_lockdown()) {
		log_error(
			"this kernel refused leakmon's BPF programs (%s); -v shows its own words: please report them, with `uname -r`",
			strerror(-error));
	}
	return error;
}

static size_t array_bytes(size_t count, size_t value_size)
{
	return page_up(count * value_size);
}

/* Maps it read-only; NULL with errno. */
static const void *map_array(const struct bpf_object *object, const char *name, size_t value_size)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	void *memory = mmap(NULL, array_bytes(bpf_map__max_entries(map), value_size), PROT_READ,
			    MAP_SHARED, bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void unmap_array(const void *array, size_t count, size_t value_size)
{
	if (array)
		munmap((void *)array, array_bytes(count, value_size));
}

/* Both are shared with the kernel. Returns 0 or -errno. */
static int export_descriptors(struct bpf_side *bpf, const struct leakmon_bpf *skeleton)
{
	void *tables = mmap(NULL, array_bytes(bpf->max_processes, sizeof(*bpf->descriptor_tables)),
			    PROT_READ | PROT_WRITE, MAP_SHARED,
			    bpf_map__fd(skeleton->maps.descriptor_tables), 0);

	if (tables == MAP_FAILED)
		return -errno;
	bpf->descriptor_tables = tables;
	bpf->descriptor_sites =
		map_array(skeleton->obj, "descriptor_sites", sizeof(*bpf->descriptor_sites));
	bpf->descriptor_targets_fd = bpf_map__fd(skeleton->maps.descriptor_targets);
	bpf->descriptors_fd = bpf_map__fd(skeleton->maps.descriptors);
	return bpf->descriptor_sites ? 0 : -errno;
}

static int export_side(struct bpf_side *bpf, struct leakmon_bpf *skeleton,
		       const struct loader_config *config)
{
	int error = ledger_maps_export(bpf, skeleton->obj);

	if (error)
		return error;
	ledger_export_counters(bpf, skeleton);
	bpf->launched_stops = &skeleton->bss->launched_stops;
	bpf->mapping_events_fd = bpf_map__fd(skeleton->maps.mapping_events);
	bpf->mapping_targets_fd = bpf_map__fd(skeleton->maps.mapping_targets);
	bpf->mapping_events_lost = &skeleton->bss->mapping_events_lost;
	bpf->unwind.modules_fd = bpf_map__fd(skeleton->maps.unwind_modules);
	bpf->unwind.ranges_fd = bpf_map__fd(skeleton->maps.unwind_ranges);
	bpf->unwind.made_codes_fd = bpf_map__fd(skeleton->maps.made_codes);
	bpf->unwind.pythons_fd = bpf_map__fd(skeleton->maps.pythons);
	bpf->unwind.python_count = &skeleton->bss->python_count;
	bpf->unwind.generation = &skeleton->data->unwind_generation;
	bpf->live_threads_fd = bpf_link__fd(skeleton->links.live_threads);
	bpf->hits_fd = bpf_map__fd(skeleton->maps.hits);
	for (size_t i = 0; i < HEAP_PROGRAM_MAX_; i++)
		bpf->heap_fds[i] = bpf_program__fd(heap_program(skeleton, i));
	export_threads(bpf, skeleton);
	export_objects(bpf, skeleton);
	bpf->skeleton = skeleton;
	error = is_followed(config, FAMILY_DESCRIPTORS) ? export_descriptors(bpf, skeleton) : 0;
	return error ? error : export_usdt(bpf, skeleton, config->usdt);
}

static void *make_blocks_map(void *context)
{
	struct blocks_map *map = context;

	map->fd = bpf_map_create(BPF_MAP_TYPE_HASH, "blocks", sizeof(struct lm_block_key),
				 sizeof(struct lm_block), map->max_blocks, NULL);
	return NULL;
}

void blocks_map_begin(struct blocks_map *map, uint64_t max_blocks)
{
	sigset_t all, before;

	*map = (struct blocks_map){.max_blocks = (uint32_t)max_blocks, .fd = -1};
	/* Signals are left to other threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	map->begun = !pthread_create(&map->thread, NULL, make_blocks_map, map);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int blocks_map_end(struct blocks_map *map)
{
	if (!map->begun)
		return -1;
	pthread_join(map->thread, NULL);
	map->begun = false;
	return TAKE_FD(map->fd);
}

static void use_blocks_map(struct leakmon_bpf *skeleton, const struct loader_config *config)
{
	_cleanup_close_ int fd = config->blocks_map ? blocks_map_end(config->blocks_map) : -1;

	if (fd >= 0)
		bpf_map__reuse_fd(skeleton->maps.blocks, fd); /* duplicates the descriptor */
}

static struct leakmon_bpf *open_skeleton(const struct loader_config *config, bool prepares_exec)
{
	struct leakmon_bpf *skeleton = leakmon_bpf__open();

	if (!skeleton)
		return NULL;
	set_knobs(skeleton, config);
	set_sizes(skeleton, config);
	set_sharers(skeleton, config, prepares_exec);
	set_mappings(skeleton, config);
	set_threads(skeleton, config);
	set_heap(skeleton, config);
	use_blocks_map(skeleton, config);
	set_usdt(skeleton, config);
	set_descriptors(skeleton, config);
	set_objects(skeleton, config);
	return skeleton;
}

/* *loaded is the caller's even on failure; NULL: none. */
static int load_skeleton(const struct loader_config *config, struct leakmon_bpf **loaded)
{
	int error = -ESRCH;

	/*
	 * Looking up a tracepoint in the kernel's types takes longer than trying it, and nearly all
	 * kernels that get this far have it. -ESRCH: this one does not.
	 */
	for (int turn = 0; turn < 2 && error == -ESRCH; turn++) {
		leakmon_bpf__destroy(*loaded);
		*loaded = open_skeleton(config, turn == 0);
		if (!*loaded)
			return -errno;
		error = leakmon_bpf__load(*loaded);
	}
	return error;
}

int loader_open(struct bpf_side *bpf, const struct loader_config *config)
{
	struct bpf_side opened = {.max_sites = config->max_sites,
				  .max_processes = config->max_processes};
	struct leakmon_bpf *skeleton = NULL;
	int error;

	loader_quiet_libbpf();
	error = load_skeleton(config, &skeleton);
	if (!error)
		error = leakmon_bpf__attach(skeleton);
	if (!error)
		error = export_side(&opened, skeleton, config);
	if (error) {
		ledger_maps_close(&opened);
		leakmon_bpf__destroy(skeleton);
		return loader_explain(error, config);
	}
	*bpf = opened;
	return 0;
}

void loader_close(struct bpf_side *bpf)
{
	ledger_maps_close(bpf);
	free(bpf->specs);
	if (bpf->skeleton)
		leakmon_bpf__destroy(bpf->skeleton);
	memset(bpf, 0, sizeof(*bpf));
}

enum map_size { FOR_BLOCKS, FOR_SITES, FOR_PROCESSES };

#define NOT_EXPORTED SIZE_MAX
#define FD(name) offsetof(struct bpf_side, name##_fd)

static const struct {
	const char *name;
	size_t fd_offset;
	enum map_size size;
} maps[] = {
	{"blocks", FD(blocks), FOR_BLOCKS},
	{"site_index", FD(site_index), FOR_SITES},
	{"sites", FD(sites), FOR_SITES},
	{"stacks", NOT_EXPORTED, FOR_SITES},
	{"free_sites", FD(free_sites), FOR_SITES},
	{"process_index", FD(process_index), FOR_PROCESSES},
	{"processes", FD(processes), FOR_PROCESSES},
	{"ledgers", FD(ledgers), FOR_PROCESSES},
	{"free_slots", FD(free_slots), FOR_PROCESSES},
	{"targets", FD(targets), FOR_PROCESSES},
};

void ledger_maps_size(const struct bpf_object *object, const struct loader_config *config)
{
	const uint32_t sizes[] = {
		[FOR_BLOCKS] = (uint32_t)config->max_blocks,
		[FOR_SITES] = config->max_sites,
		[FOR_PROCESSES] = config->max_processes,
	};

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(object, maps[i].name),
					 sizes[maps[i].size]);
}

void ledger_maps_close(struct bpf_side *bpf)
{
	unmap_array(bpf->sites, bpf->max_sites, sizeof(*bpf->sites));
	unmap_array(bpf->stacks, bpf->max_sites, sizeof(*bpf->stacks));
	unmap_array(bpf->processes, bpf->max_processes, sizeof(*bpf->processes));
	unmap_array(bpf->descriptor_tables, bpf->max_processes, sizeof(*bpf->descriptor_tables));
	unmap_array(bpf->descriptor_sites, bpf->max_sites, sizeof(*bpf->descriptor_sites));
	bpf->descriptor_tables = NULL;
	bpf->descriptor_sites = NULL;
	bpf->sites = NULL;
	bpf->stacks = NULL;
	bpf->processes = NULL;
}

int ledger_maps_export(struct bpf_side *bpf, const struct bpf_object *object)
{
	bpf->sites = map_array(object, "sites", sizeof(*bpf->sites));
	bpf->stacks = map_array(object, "stacks", sizeof(*bpf->stacks));
	bpf->processes = map_array(object, "processes", sizeof(*bpf->processes));
	if (!bpf->sites || !bpf->stacks || !bpf->processes)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		if (maps[i].fd_offset != NOT_EXPORTED)
			*(int *)(void *)((char *)bpf + maps[i].fd_offset) =
				bpf_object__find_map_fd_by_name(object, maps[i].name);
	}
	bpf->events_fd = bpf_object__find_map_fd_by_name(object, "events");
	return 0;
}

void ledger_fill_exp_table(uint32_t table[9][32])
{
	for (unsigned whole = 1; whole < 32; whole++)
		table[0][whole] = (uint32_t)(exp(-(double)whole) * 4294967296.0);
	for (unsigned row = 1; row <= 8; row++) {
		for (unsigned digit = 1; digit < 16; digit++)
			table[row][digit] =
				(uint32_t)(exp(-ldexp(digit, -4 * (int)row)) * 4294967296.0);
	}
}
