// SPDX-License-Identifier: GPL-2.0-or-later
#include "monitor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define NS_PER_MS 1e6

const char *monitor_program(void)
{
	const char *program = getenv("LEAKMON_PROGRAM");

	return program && *program ? program : "build/leakmon";
}

int monitor_start(struct child **monitor, pid_t pid, const char *const *options,
		  const char *interval, struct why *why)
{
	_cleanup_(child_cleanup) struct child *started = NULL;
	const char *argv[8 + MONITOR_OPTIONS] = {monitor_program(), "-p"};
	char pid_text[16];
	size_t count = 2;
	int error;

	snprintf(pid_text, sizeof(pid_text), "%d", pid);
	argv[count++] = pid_text;
	for (size_t i = 0; options && options[i] && i < MONITOR_OPTIONS; i++)
		argv[count++] = options[i];
	argv[count++] = "--format=json";
	argv[count] = interval;
	error = child_start(&started, argv, why);
	if (!error)
		error = child_line(started, &started->err, "leakmon: attached to PID ", NULL, NULL);
	if (!error)
		*monitor = TAKE_PTR(started);
	return error;
}

int monitor_stop(struct child *monitor)
{
	if (kill(monitor->pid, SIGTERM))
		return child_fail(monitor, -errno, "was gone already");
	return child_end(monitor);
}

int monitor_snapshot(struct child *monitor, double *ms, char **line)
{
	int64_t start_ns = now_ns();
	int error;

	if (!monitor->pid || kill(monitor->pid, SIGUSR1))
		return child_fail(monitor, -ESRCH, "was gone already");
	error = child_line(monitor, &monitor->out, "{", line, NULL);
	if (!error)
		*ms = (double)(now_ns() - start_ns) / NS_PER_MS;
	return error;
}

int monitor_peak_rss(const struct child *monitor, double *mb)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[32], line[128];
	unsigned long kib;

	snprintf(path, sizeof(path), "/proc/%d/status", monitor->pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "VmHWM: %lu kB", &kib) == 1) {
			*mb = (double)kib * 1024 / 1e6;
			return 0;
		}
	}
	return child_fail(monitor, -ESRCH, "shows no VmHWM");
}

json_t *report_ledger(const char *line)
{
	static const char key[] = "\"ledger\":";
	const char *start = strstr(line, key);

	return start ? json_loads(start + strlen(key), JSON_DISABLE_EOF_CHECK, NULL) : NULL;
}

size_t report_sites(const char *line)
{
	static const char key[] = "\"frames\":[";
	size_t count = 0;

	for (; (line = strstr(line, key)); line += strlen(key))
		count++;
	return count;
}
