/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the BPF object: the only place that knows the skeleton. */
#ifndef LEAKMON_PROBE_LOADER_H
#define LEAKMON_PROBE_LOADER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/page.h"
#include "binary/parse/plan.h"
#include "binary/parse/thread_library.h"
#include "leakmon_abi.h"
#include "leakmon_descriptor.h"
#include "leakmon_object.h"
#include "leakmon_usdt.h"
#include "process/unwind/unwind_store.h"

struct bpf_object;

/* The heap's programs, in the order in which they are attached. */
enum heap_program {
	/* not loaded if one program serves entry and return (ATTACH_SESSION) */
	HEAP_PROGRAM_RETURN,
	HEAP_PROGRAM_RESULT, /* places with the result of calls that may throw */
	HEAP_PROGRAM_FREE,
	HEAP_PROGRAM_CALL, /* calls with a followed return */
	HEAP_PROGRAM_NEW,  /* calls that may throw */
	HEAP_PROGRAM_MAX_
};

struct loader_config {
	bool empty_programs;
	bool trace;
	enum attach_method method; /* how the programs will be attached */
	/* see struct kernel_features; else no thread_fds[THREAD_PROBE_RETURN] */
	bool dispatch_safe;
	uint64_t min_size, max_size;
	uint64_t sample_rate, sample_bytes;
	uint64_t max_blocks;
	uint32_t max_sites, max_processes;
	uint32_t launched_tgid;
	bool follow_forks; /* children of targets are targets */
	bool many;	   /* several processes: they share the room, and new ones are announced */
	enum lm_stack_walk stack_walk;
	struct blocks_map *blocks_map; /* begun with the same max_blocks, or not begun; or NULL */
	/* Families to follow; programs of others are not loaded. */
	bool heap;
	bool counts_hits;      /* counts and times runs of the heap's probes: probe_cost.h */
	bool usdt;	       /* of programs that sample themselves, instead of their heap */
	bool threads;	       /* their creation, end and reaping */
	uint32_t object_tgid;  /* whose kernel objects are followed; 0: nobody's */
	uint32_t object_shift; /* one object in 1 << object_shift */
	/* FAMILY_MAX_ flags, of which those of event families are read; NULL: none. Borrowed. */
	const bool *families;
};

/*
 * The map of blocks, which the kernel makes with all its entries: for 1,000,000 of them that takes
 * as long as verifying the largest program. A thread makes it, while others test the kernel's
 * features.
 */
struct blocks_map {
	bool begun;
	pthread_t thread;
	uint32_t max_blocks;
	int fd;
};

/* Does nothing if no thread can be started. */
void blocks_map_begin(struct blocks_map *map, uint64_t max_blocks);
/*
 * Waits for it. Returns a descriptor, which is the caller's; -1: failed, and another attempt to
 * make the map will report why.
 */
int blocks_map_end(struct blocks_map *map);

/* Places of the arguments of USDT probes, each once: the cookies are indices. */
struct usdt_specs {
	struct lm_usdt_spec items[LM_USDT_MAX_SPECS];
	uint32_t count;
};

/* The loaded object, as attach and collect see it. Arrays are the maps themselves, read-only. */
struct bpf_side {
	struct leakmon_bpf *skeleton;
	int blocks_fd, ledgers_fd, events_fd, process_index_fd;
	const struct lm_site *sites;
	const struct lm_stack *stacks;
	const struct lm_process *processes;
	const uint32_t *site_count, *process_count;
	int targets_fd;		  /* trace/probe/watched.h */
	const __u64 *events_lost; /* execs and forks missed by user space */
	const __u64 *calls_lost;  /* calls missed by user space, with --trace */
	const __u32 *launched_stops;
	/* For returning the resources of ended processes (trace/collect/collect.c). */
	int site_index_fd, sites_fd, processes_fd, free_sites_fd, free_slots_fd;
	__s64 *blocks_used, *sites_used;
	__u32 *recycle_generation;
	__u32 *strays;				   /* enum lm_index_state */
	int mapping_events_fd, mapping_targets_fd; /* empty without loader_config.mappings */
	const __u64 *mapping_events_lost;
	/*
	 * NULL without loader_config.families; the counts are the kernel's, the rest may be written
	 * (leakmon_descriptor.h).
	 */
	struct lm_descriptor_table *descriptor_tables;
	const struct lm_descriptor_site *descriptor_sites;
	int descriptor_targets_fd, descriptors_fd;
	/* Without loader_config.threads the maps are empty and there are no programs. */
	int thread_records_fd, thread_handles_fd, thread_tids_fd, thread_ledgers_fd;
	const __u64 *threads_lost; /* events of threads of processes without a ledger */
	int thread_fds[THREAD_PROBE_MAX_];
	int thread_list_fd; /* an iterator's link: lists the threads of *thread_list_tgid */
	__u32 *thread_list_tgid;
	bool *thread_list_opens; /* it also gives the process a slot */
	struct unwind_maps unwind;
	int live_threads_fd; /* its iterator yields struct lm_live_thread; -1: none */
	uint32_t max_sites, max_processes;
	int heap_fds[HEAP_PROGRAM_MAX_];
	int hits_fd; /* zero without loader_config.counts_hits */
	/* -1 without loader_config.object_tgid, or if the kernel's tracepoints differ. */
	int objects_fd, object_sums_fd, object_counts_fd, object_children_fd;
	/* -1 without loader_config.usdt, and specs is NULL. */
	int usdt_fds[USDT_KIND_MAX_], usdt_specs_fd, usdt_blocks_fd;
	struct usdt_specs *specs; /* owned */
};

/* Returns the frees of the whole machine seen by bpf/object.bpf.c: its cost. */
uint64_t loader_object_frees(const struct bpf_side *bpf);

/*
 * Returns how often the kernel skipped a descriptor program that was already running on that CPU (a
 * kernel that preempts itself).
 */
uint64_t loader_descriptor_misses(const struct bpf_side *bpf);
/*
 * Returns how often it skipped the programs for births and ends of threads; 0 without
 * loader_config.threads.
 */
uint64_t loader_thread_misses(const struct bpf_side *bpf);

/* Shows libbpf's own messages with -v only; call it before anything is loaded. */
void loader_quiet_libbpf(void);

/*
 * Loads the object. Returns 0, or -errno after an error message with the kernel's refusal and the
 * remedy.
 */
int loader_open(struct bpf_side *bpf, const struct loader_config *config);
void loader_close(struct bpf_side *bpf);

/* Logs why the kernel refused the load, and the remedy. Returns `error`. */
int loader_explain(int error, const struct loader_config *config);

/*
 * The maps and variables common to both BPF objects, the one for processes and the one for the
 * kernel (bpf/maps.bpf.h): sets their sizes, and exports them to collect.
 */

/* Sets the sizes, before the load. Uses the three sizes of `config`. */
void ledger_maps_size(const struct bpf_object *object, const struct loader_config *config);

/*
 * Exports descriptors, and memory-maps the arrays, after the load. Returns 0 or -errno;
 * ledger_maps_close in either case.
 */
int ledger_maps_export(struct bpf_side *bpf, const struct bpf_object *object);
/*
 * Unmaps the arrays: a mapping keeps its map in the kernel, even after other references are gone.
 */
void ledger_maps_close(struct bpf_side *bpf);

/* Variables have separate addresses in each skeleton. */
#define ledger_set_knobs(skeleton, config)                                                         \
	do {                                                                                       \
		(skeleton)->rodata->min_size = (config)->min_size;                                 \
		(skeleton)->rodata->max_size = (config)->max_size;                                 \
		(skeleton)->rodata->sample_rate = (config)->sample_rate;                           \
		(skeleton)->rodata->sample_bytes = (config)->sample_bytes;                         \
		(skeleton)->rodata->page_size = page_size();                                       \
		(skeleton)->rodata->max_sites = (config)->max_sites;                               \
		(skeleton)->rodata->max_processes = (config)->max_processes;                       \
		ledger_fill_exp_table((skeleton)->rodata->exp_table);                              \
	} while (0)

#define ledger_export_counters(bpf, skeleton)                                                      \
	do {                                                                                       \
		(bpf)->blocks_used = &(skeleton)->bss->blocks_used;                                \
		(bpf)->sites_used = &(skeleton)->bss->sites_used;                                  \
		(bpf)->events_lost = &(skeleton)->bss->events_lost;                                \
		(bpf)->calls_lost = &(skeleton)->bss->calls_lost;                                  \
		(bpf)->strays = &(skeleton)->bss->strays;                                          \
		(bpf)->site_count = &(skeleton)->data->site_count;                                 \
		(bpf)->process_count = &(skeleton)->data->process_count;                           \
		(bpf)->recycle_generation = &(skeleton)->data->recycle_generation;                 \
	} while (0)

/* Fills sampling's table of e^-x (bpf/sample.bpf.h). */
void ledger_fill_exp_table(uint32_t table[9][32]);

#endif
