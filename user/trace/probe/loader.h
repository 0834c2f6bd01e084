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
	HEAP_PROGRAM_RETURN, /* none where entry and return are one program's (ATTACH_SESSION) */
	HEAP_PROGRAM_RESULT, /* where calls that may throw have their result */
	HEAP_PROGRAM_FREE,
	HEAP_PROGRAM_CALL, /* calls with a followed return */
	HEAP_PROGRAM_NEW,  /* calls that may throw */
	HEAP_PROGRAM_MAX_
};

struct loader_config {
	bool empty_programs;
	bool trace;
	enum attach_method method; /* how the programs will be attached */
	bool dispatch_safe; /* see struct kernel_features; else no thread_fds[THREAD_PROBE_RETURN]
			     */
	uint64_t min_size, max_size;
	uint64_t sample_rate, sample_bytes;
	uint64_t max_blocks;
	uint32_t max_sites, max_processes;
	uint32_t launched_tgid;
	bool follow_forks; /* what targets fork are targets */
	bool many; /* more than one process: they share the room, and new ones are announced */
	enum lm_stack_walk stack_walk;
	struct blocks_map *blocks_map; /* begun with the same max_blocks, or not at all; or NULL */
	/* Families that are followed: else its programs are not loaded. */
	bool heap;
	bool counts_hits;      /* of the heap's probes, and their time: probe_cost.h */
	bool usdt;	       /* of programs that sample themselves, instead of their heap */
	bool threads;	       /* their creation, end and reaping */
	uint32_t object_tgid;  /* whose objects in the kernel are followed; 0: nobody's */
	uint32_t object_shift; /* one object in 1 << object_shift */
	/* FAMILY_MAX_ of them, of which those of events count; NULL: none. Borrowed. */
	const bool *families;
};

/*
 * The map of blocks, which the kernel makes with all its entries: for 1,000,000 of them it takes as
 * long as checking the largest program. It is made by a thread, while others try what the kernel
 * can do.
 */
struct blocks_map {
	bool begun;
	pthread_t thread;
	uint32_t max_blocks;
	int fd;
};

/* Does nothing where there is no thread to be had. */
void blocks_map_begin(struct blocks_map *map, uint64_t max_blocks);
/* Waits for it. A descriptor, which is the caller's; -1: there is none, and whoever makes one is
 * informed why. */
int blocks_map_end(struct blocks_map *map);

/* Where the arguments of probes are that programs carry, each once: the cookies are indices. */
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
	const __u64 *events_lost; /* execs and forks that user space missed */
	const __u64 *calls_lost;  /* the same of calls, with --trace */
	const __u32 *launched_stops;
	/* Giving back what ended processes had (trace/collect/collect.c). */
	int site_index_fd, sites_fd, processes_fd, free_sites_fd, free_slots_fd;
	__s64 *blocks_used, *sites_used;
	__u32 *recycle_generation;
	__u32 *strays;				   /* enum lm_index_state */
	int mapping_events_fd, mapping_targets_fd; /* empty without loader_config.mappings */
	const __u64 *mapping_events_lost;
	/* NULL without loader_config.families; the counts are the kernel's, the rest may be
	 * written (leakmon_descriptor.h). */
	struct lm_descriptor_table *descriptor_tables;
	const struct lm_descriptor_site *descriptor_sites;
	int descriptor_targets_fd, descriptors_fd;
	/* Without loader_config.threads the maps are empty and there are no programs. */
	int thread_records_fd, thread_handles_fd, thread_tids_fd, thread_ledgers_fd;
	const __u64 *threads_lost; /* events of threads of processes without a ledger */
	int thread_fds[THREAD_PROBE_MAX_];
	int thread_list_fd; /* an iterator's link: it lists the threads of *thread_list_tgid */
	__u32 *thread_list_tgid;
	bool *thread_list_opens; /* it also gives the process a slot */
	struct unwind_maps unwind;
	int live_threads_fd; /* reads of its iterator give struct lm_live_thread; -1: none */
	uint32_t max_sites, max_processes;
	int heap_fds[HEAP_PROGRAM_MAX_];
	int hits_fd; /* stays zero without loader_config.counts_hits */
	/* Without loader_config.object_tgid, or where the kernel's tracepoints are others, -1. */
	int objects_fd, object_sums_fd, object_counts_fd, object_children_fd;
	/* Without loader_config.usdt -1, and specs is NULL. */
	int usdt_fds[USDT_KIND_MAX_], usdt_specs_fd, usdt_blocks_fd;
	struct usdt_specs *specs; /* owned */
};

/* Frees of the whole machine that bpf/object.bpf.c has seen: what it costs. */
uint64_t loader_object_frees(const struct bpf_side *bpf);

/* How often the kernel left out a program of the descriptors', for it was running already on that
 * CPU (a kernel that preempts itself). */
uint64_t loader_descriptor_misses(const struct bpf_side *bpf);
/* The same of the births and ends of threads; 0 without loader_config.threads. */
uint64_t loader_thread_misses(const struct bpf_side *bpf);

/* Keeps libbpf's own messages for -v; call it before anything is loaded. */
void loader_quiet_libbpf(void);

/*
 * 0, or -errno after an error message that says what the kernel refused and what would help.
 */
int loader_open(struct bpf_side *bpf, const struct loader_config *config);
void loader_close(struct bpf_side *bpf);

/* Says why the kernel refused what was loaded, and what would help. Returns `error`. */
int loader_explain(int error, const struct loader_config *config);

/*
 * The maps and variables that both BPF objects have, the one of the processes and the one of the
 * kernel (bpf/maps.bpf.h): how large they are made, and how collect comes by them.
 */

/* Before the load. Of `config` the three sizes count. */
void ledger_maps_size(const struct bpf_object *object, const struct loader_config *config);

/* After it: descriptors, and the arrays memory-mapped. 0 or -errno; ledger_maps_close in either
 * case. */
int ledger_maps_export(struct bpf_side *bpf, const struct bpf_object *object);
/* A mapping keeps its map in the kernel, whoever else lets go of it. */
void ledger_maps_close(struct bpf_side *bpf);

/* Variables have places of their own in each skeleton. */
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

/* Sampling's table of e^-x (bpf/sample.bpf.h). */
void ledger_fill_exp_table(uint32_t table[9][32]);

#endif
