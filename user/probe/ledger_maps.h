/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps and variables that both BPF objects have, the one of the processes and the one of the
 * kernel (bpf/maps.bpf.h): how large they are made, and how collect comes by them.
 */
#ifndef LEAKMON_PROBE_BOOKS_MAPS_H
#define LEAKMON_PROBE_BOOKS_MAPS_H

#include "probe/loader.h"

struct bpf_object;

/* Before the load. Of `config` the three sizes count. */
void ledger_maps_size(const struct bpf_object *object, const struct loader_config *config);

/* After it: descriptors, and the arrays memory-mapped. 0 or -errno; ledger_maps_close in either
 * case. */
int ledger_maps_export(struct bpf_side *bpf, const struct bpf_object *object);
/* What is mapped keeps a map in the kernel, whoever else lets go of it. */
void ledger_maps_close(struct bpf_side *bpf);

/* Variables have places of their own in each skeleton. */
#define ledger_set_knobs(skeleton, config)                                                         \
	do {                                                                                       \
		(skeleton)->rodata->min_size = (config)->min_size;                                 \
		(skeleton)->rodata->max_size = (config)->max_size;                                 \
		(skeleton)->rodata->sample_rate = (config)->sample_rate;                           \
		(skeleton)->rodata->sample_bytes = (config)->sample_bytes;                         \
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
