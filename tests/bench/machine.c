// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"

static void cpuinfo_line(struct machine *machine, const char *line)
{
	const char *value = strchr(line, ':');

	if (!value)
		return;
	if (!strncmp(line, "model name", strlen("model name")))
		snprintf(machine->cpu, sizeof(machine->cpu), "%.*s", (int)strcspn(value + 2, "\n"),
			 value + 2);
	if (!strncmp(line, "flags", strlen("flags")))
		machine->virtualised = strstr(value, " hypervisor");
}

static void cpuinfo_read(struct machine *machine)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/cpuinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0)
		cpuinfo_line(machine, line);
}

void machine_read(struct machine *machine)
{
	struct utsname name;

	*machine = (struct machine){.cpu = "unknown CPU", .cores = sysconf(_SC_NPROCESSORS_ONLN)};
	cpuinfo_read(machine);
	if (uname(&name) == 0)
		snprintf(machine->kernel, sizeof(machine->kernel), "%s", name.release);
	if (getloadavg(&machine->load, 1) != 1)
		machine->load = 0;
}
