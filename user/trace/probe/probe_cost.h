/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Costs of probes to the processes that run into them: the time in our programs, which they count
 * themselves (loader_config.counts_hits), and that of the traps around them, which is measured
 * once, on a child of our own.
 */
#ifndef LEAKMON_PROBE_PROBE_COST_H
#define LEAKMON_PROBE_PROBE_COST_H

#include "trace/probe/target.h"

/* Reads the hits of a process so far. 0 or -errno. */
int probe_cost_read(const struct bpf_side *bpf, pid_t pid, struct lm_hits *hits);

struct probe_calibration {
	double trap_ns;	 /* of each hit, beside what is counted */
	bool measured;	 /* false: nothing could be measured, and it is a guess */
	double attach_s; /* CPU time of setting the probes once */
};

/* Until it is measured. */
struct probe_calibration probe_cost_guess(void);

/* Measures with loaded programs; takes about a tenth of a second. */
void probe_cost_calibrate(const struct bpf_side *bpf, const struct target_config *config,
			  struct probe_calibration *calibration);

/* CPU time of this thread so far: what it does in the kernel to a target, that one waits for. */
double probe_thread_cpu_s(void);

#endif
