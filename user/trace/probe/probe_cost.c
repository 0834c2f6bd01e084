// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/probe_cost.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

/*
 * Pairs of malloc and free in one measurement: less than a millisecond under probes, because the
 * time in our programs is wall-clock time, including that stolen by others.
 */
#define PAIRS 200
#define ROUNDS 31
/* If the measurement fails: a trap on a slow host, with our program, and an attach. */
#define GUESS_NS 2000.0
#define GUESS_ATTACH_S 0.002

double probe_thread_cpu_s(void)
{
	return clock_s(CLOCK_THREAD_CPUTIME_ID);
}

int probe_cost_read(const struct bpf_side *bpf, pid_t pid, struct lm_hits *hits)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct lm_hits *per_cpu =
		cpus > 0 ? calloc((size_t)cpus, sizeof(*per_cpu)) : NULL;
	uint32_t slot = lm_hit_slot((uint32_t)pid);

	if (!per_cpu)
		return cpus > 0 ? -ENOMEM : cpus;
	if (bpf_map_lookup_elem(bpf->hits_fd, &slot, per_cpu))
		return -errno;
	*hits = (struct lm_hits){0};
	for (int i = 0; i < cpus; i++) {
		hits->count += per_cpu[i].count;
		hits->ns += per_cpu[i].ns;
	}
	return 0;
}

/* -------- a child that allocates on request */

struct trial {
	pid_t pid;
	int go, result; /* pipes: a byte; a double, in nanoseconds of CPU time */
};

static void trial_run(int go, int result)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(go, &byte, 1) == 1) {
		double begin_s = probe_thread_cpu_s(), spent_ns;

		for (size_t i = 0; i < PAIRS; i++) {
			void *volatile block = malloc(64);

			free(block);
		}
		spent_ns = (probe_thread_cpu_s() - begin_s) * 1e9;
		if (write(result, &spent_ns, sizeof(spent_ns)) != sizeof(spent_ns))
			break;
	}
	_exit(0);
}

static int trial_start(struct trial *trial)
{
	int go[2], result[2];

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(result, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return -errno;
	}
	trial->pid = fork();
	if (!trial->pid) {
		close(go[1]);
		close(result[0]);
		trial_run(go[0], result[1]);
	}
	close(go[0]);
	close(result[1]);
	trial->go = go[1];
	trial->result = result[0];
	return trial->pid < 0 ? -errno : 0;
}

static void trial_end(struct trial *trial)
{
	close(trial->go);
	close(trial->result);
	if (trial->pid > 0)
		waitpid(trial->pid, NULL, 0);
}

/* Runs one round. Returns a negative value if the child is gone. */
static double trial_ns(const struct trial *trial)
{
	double spent;

	if (write(trial->go, "", 1) != 1 ||
	    read(trial->result, &spent, sizeof(spent)) != sizeof(spent))
		return -1;
	return spent;
}

/* Returns the time of a hit, under probes, beyond that in our programs; negative: unknown. */
static double traced_ns(const struct trial *trial, const struct bpf_side *bpf, double untraced_ns)
{
	struct lm_hits before = {0}, after = {0};
	double spent_ns;

	if (probe_cost_read(bpf, trial->pid, &before))
		return -1;
	spent_ns = trial_ns(trial);
	if (spent_ns < 0 || probe_cost_read(bpf, trial->pid, &after))
		return -1;
	if (after.count == before.count)
		return -1;
	return (spent_ns - untraced_ns - (double)(after.ns - before.ns)) /
	       (double)(after.count - before.count);
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/*
 * Returns the upper quartile of several rounds: on a busy machine, programs seem to take longer
 * than they do, and traps less; an overestimate is safe.
 */
static double quartile_of(double values[ROUNDS])
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
	return values[ROUNDS * 3 / 4];
}

static void measure(const struct trial *trial, const struct bpf_side *bpf,
		    const struct target_config *config, struct probe_calibration *calibration)
{
	struct target target = {.pid = trial->pid};
	double untraced[ROUNDS], traced[ROUNDS], begin_s;
	struct process *process;

	for (size_t i = 0; i < ROUNDS; i++)
		untraced[i] = trial_ns(trial);
	begin_s = probe_thread_cpu_s();
	if (!process_table_refresh(config->processes, trial->pid, &process) &&
	    !target_attach(&target, process, config, bpf) && target.functions) {
		calibration->attach_s =
			probe_thread_cpu_s() - begin_s + (double)target.attachments.apart_ns / 1e9;
		for (size_t i = 0; i < ROUNDS; i++)
			traced[i] = traced_ns(trial, bpf, untraced[i]);
		calibration->trap_ns = quartile_of(traced);
		calibration->measured = calibration->trap_ns > 0;
	}
	target_detach(&target);
	process_table_forget(config->processes, trial->pid);
}

struct probe_calibration probe_cost_guess(void)
{
	return (struct probe_calibration){.trap_ns = GUESS_NS, .attach_s = GUESS_ATTACH_S};
}

void probe_cost_calibrate(const struct bpf_side *bpf, const struct target_config *config,
			  struct probe_calibration *calibration)
{
	struct trial trial = {0};

	*calibration = probe_cost_guess();
	if (!trial_start(&trial))
		measure(&trial, bpf, config, calibration);
	trial_end(&trial);
	if (!calibration->measured)
		calibration->trap_ns = GUESS_NS;
	log_debug("a trap costs %.0f ns beside our program (%s), an attach %.1f ms of CPU time",
		  calibration->trap_ns, calibration->measured ? "measured" : "a guess",
		  calibration->attach_s * 1000);
}
