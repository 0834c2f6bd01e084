/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What probes cost the processes that run into them: the time in our programs, which the kernel
 * counts while it is asked to, and that of the traps around them, which is measured once, on a
 * child of our own.
 */
#ifndef LEAKMON_PROBE_PROBE_COST_H
#define LEAKMON_PROBE_PROBE_COST_H

#include "probe/target.h"

struct probe_cost {
	uint64_t runs;	 /* of our programs: traps */
	uint64_t run_ns; /* in them; 0 if the kernel does not count */
};

/* Asks the kernel to count: a descriptor, to be closed when that is enough; -errno. */
int probe_cost_count(void);

/* All so far, of all processes. 0 or -errno. */
int probe_cost_read(const struct bpf_side *bpf, struct probe_cost *cost);

struct probe_calibration {
	double trap_ns;	 /* of each run, beside run_ns */
	bool measured;	 /* false: nothing could be measured, and it is a guess */
	double attach_s; /* CPU time of setting the probes once */
};

/* Until it is measured. */
struct probe_calibration probe_cost_guess(void);

/* With programs that are loaded, while they have no probes but those set here: run_ns is of all
 * processes. Takes about a tenth of a second. */
void probe_cost_calibrate(const struct bpf_side *bpf, const struct target_config *config,
			  struct probe_calibration *calibration);

/* CPU time of this thread so far: what it does in the kernel to a target, that one waits for. */
double probe_thread_cpu_s(void);

#endif
