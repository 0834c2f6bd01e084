/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Costs of probes to the processes that hit them: the time in our programs, which they measure
 * themselves (loader_config.counts_hits), and that of the traps around them, which is measured
 * once, on a child process.
 */
#ifndef LEAKMON_PROBE_PROBE_COST_H
#define LEAKMON_PROBE_PROBE_COST_H

#include "trace/probe/target.h"

/* Reads the hits of a process so far. Returns 0 or -errno. */
int probe_cost_read(const struct bpf_side *bpf, pid_t pid, struct lm_hits *hits);

struct probe_calibration {
	double trap_ns;	 /* per hit, beyond the counted time */
	bool measured;	 /* false: the measurement failed, and this is an estimate */
	double attach_s; /* CPU time to set the probes once */
};

/* Returns the estimate used until the costs are measured. */
struct probe_calibration probe_cost_guess(void);

/* Measures with loaded programs; takes about a tenth of a second. */
void probe_cost_calibrate(const struct bpf_side *bpf, const struct target_config *config,
			  struct probe_calibration *calibration);

/* Returns the CPU time of this thread so far: targets wait while it works on them in the kernel. */
double probe_thread_cpu_s(void);

#endif
