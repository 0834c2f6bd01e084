// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

struct privilege {
	unsigned capability;
	const char *name;
	const char *purpose;
	unsigned required; /* bit by enum privilege_use: indispensable */
};

#define TO_TRACK (1u << PRIVILEGES_TO_TRACK)
#define TO_TRIAGE (1u << PRIVILEGES_TO_TRIAGE)

static const struct privilege privileges[] = {
	{CAP_BPF, "CAP_BPF", "load BPF programs and maps", TO_TRACK},
	{CAP_PERFMON, "CAP_PERFMON", "read the stacks of other processes", TO_TRACK},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "read other users' /proc/PID/maps and files",
	 TO_TRACK | TO_TRIAGE},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
	 "read other users' pagemap (`memory`) and closed directories", TO_TRIAGE},
	{CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE",
	 "open deleted or replaced files through /proc/PID/map_files", 0},
	{CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "attach on kernels without uprobe_multi (before 6.6)", 0},
};

static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data))
		return 0;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

/* The host's namespace maps every ID to itself; a kernel without user namespaces lacks the file. */
bool privileges_count(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/uid_map", "re");
	unsigned first, outside, count;

	return !file || (fscanf(file, "%u %u %u", &first, &outside, &count) == 3 && !first &&
			 !outside && count == UINT32_MAX);
}

static bool has_privilege(const struct privilege *privilege)
{
	uint64_t effective = effective_capabilities();

	/* CAP_SYS_ADMIN implies CAP_BPF and CAP_PERFMON (include/linux/capability.h). */
	if ((privilege->capability == CAP_BPF || privilege->capability == CAP_PERFMON ||
	     privilege->capability == CAP_CHECKPOINT_RESTORE) &&
	    effective & 1ull << CAP_SYS_ADMIN)
		return true;
	if (privilege->capability == CAP_DAC_READ_SEARCH && effective & 1ull << CAP_DAC_OVERRIDE)
		return true;
	return effective & 1ull << privilege->capability;
}

void privileges_missing(enum privilege_use use, char *text, size_t size)
{
	size_t used = 0;

	if (!privileges_count()) {
		snprintf(text, size, "capabilities outside this user namespace");
		return;
	}
	text[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(privileges); i++) {
		if (!(privileges[i].required & 1u << use) || has_privilege(&privileges[i]) ||
		    used >= size)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
					 privileges[i].name);
	}
}

const char *privileges_perf_hint(int error)
{
	if ((error != -EACCES && error != -EPERM) ||
	    effective_capabilities() & 1ull << CAP_SYS_ADMIN)
		return "";
	return "; probes through perf (all before Linux 6.6) need CAP_SYS_ADMIN";
}

const char *privileges_remedy(void)
{
	return privileges_count() ? "run leakmon as root" : "run leakmon as root outside of it";
}

/* Returns whether lockdown forbids BPF to read kernel memory (kernel_lockdown(7)). */
static bool is_confidential(void)
{
	_cleanup_fclose_ FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char line[128];

	return file && fgets(line, sizeof(line), file) && strstr(line, "[confidentiality]");
}

bool privileges_explain_lockdown(void)
{
	if (!is_confidential())
		return false;
	log_error(
		"kernel lockdown (confidentiality) hides kernel memory from BPF: boot with lockdown=integrity, or use `memory`, `retain --census` or `triage --no-stacks`");
	return true;
}

void privileges_explain(void)
{
	char missing[128];

	privileges_missing(PRIVILEGES_TO_TRACK, missing, sizeof(missing));
	if (!privileges_count())
		log_error(
			"not permitted: %s missing; %s (`retain --census` and `memory` need no BPF)",
			missing, privileges_remedy());
	else if (missing[0])
		log_error(
			"not permitted: %s missing; run as root, or give the binary the capabilities (setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_checkpoint_restore+ep)",
			missing);
	else
		log_error(
			"not permitted despite all capabilities: %sa security module, a seccomp profile or kernel lockdown refuses BPF; -v shows details",
			effective_capabilities() & 1ull << CAP_SYS_ADMIN
				? ""
				: "a kernel before 6.6 also asks for CAP_SYS_ADMIN; or ");
}

void privileges_print(FILE *out, enum privilege_use use)
{
	if (!privileges_count())
		fprintf(out, "  %-24s %s\n", "user namespace",
			"MISSING is the host's: capabilities of another one do not count there");
	for (size_t i = 0; i < ARRAY_SIZE(privileges); i++)
		fprintf(out, "  %-24s %-8s %s\n", privileges[i].name,
			has_privilege(&privileges[i])	     ? "yes"
			: privileges[i].required & 1u << use ? "MISSING"
							     : "no",
			privileges[i].purpose);
}
