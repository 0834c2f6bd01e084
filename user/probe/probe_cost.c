// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/probe_cost.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

/* Pairs of malloc and free in one measurement: less than a millisecond under probes, for the kernel
 * counts the time in our programs by the clock, that of others in between included. */
#define PAIRS 200
#define ROUNDS 31
/* Where nothing can be measured: a trap on a slow host, with our program, and an attach. */
#define GUESS_NS 2000.0
#define GUESS_ATTACH_S 0.002

double probe_thread_cpu_s(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int probe_cost_count(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -errno : fd;
}

static int add_program(int fd, struct probe_cost *cost)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (fd < 0)
		return 0;
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return -errno;
	cost->runs += info.run_cnt;
	cost->run_ns += info.run_time_ns;
	return 0;
}

int probe_cost_read(const struct bpf_side *bpf, struct probe_cost *cost)
{
	struct probe_cost read = {0};
	int error = 0;

	for (size_t i = 0; i < HEAP_PROGRAM_MAX_ && !error; i++)
		error = add_program(bpf->heap_fds[i], &read);
	if (!error)
		*cost = read;
	return error;
}

/* -------- a child that allocates when it is told to */

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

/* One round; negative: the child has gone. */
static double trial_ns(const struct trial *trial)
{
	double spent;

	if (write(trial->go, "", 1) != 1 ||
	    read(trial->result, &spent, sizeof(spent)) != sizeof(spent))
		return -1;
	return spent;
}

/* Under probes: what each run took beside the time in our programs; negative: not known. */
static double traced_ns(const struct trial *trial, const struct bpf_side *bpf, double untraced_ns,
			bool counts)
{
	struct probe_cost before, after;
	double spent_ns;
	uint64_t runs;

	if (probe_cost_read(bpf, &before))
		return -1;
	spent_ns = trial_ns(trial);
	if (spent_ns < 0 || probe_cost_read(bpf, &after))
		return -1;
	/* Without the kernel's counting, a pair is three runs: two entries and a return. */
	runs = counts ? after.runs - before.runs : 3ull * PAIRS;
	if (!runs)
		return -1;
	return (spent_ns - untraced_ns - (double)(after.run_ns - before.run_ns)) / (double)runs;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* The upper quartile of some rounds: where others use the machine, programs seem to take longer
 * than they do, and traps less; too much is on the safe side. */
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
	_cleanup_close_ int counting = probe_cost_count();
	struct process *process;

	for (size_t i = 0; i < ROUNDS; i++)
		untraced[i] = trial_ns(trial);
	begin_s = probe_thread_cpu_s();
	if (!process_table_refresh(config->processes, trial->pid, &process) &&
	    !target_attach(&target, process, config, bpf) && target.functions) {
		calibration->attach_s =
			probe_thread_cpu_s() - begin_s + (double)target.attachments.apart_ns / 1e9;
		for (size_t i = 0; i < ROUNDS; i++)
			traced[i] = traced_ns(trial, bpf, untraced[i], counting >= 0);
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
