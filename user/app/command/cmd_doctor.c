// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon doctor: capabilities of this kernel, this user and these processes. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "app/command/command.h"
#include "base/cleanup.h"
#include "base/cli/values.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "binary/parse/questions.h"
#include "process/proc/process_list.h"
#include "trace/probe/feature_probe.h"
#include "trace/probe/privileges.h"
#include "trace/probe/target.h"

/* A pidfd, and a link for each kind of function in its allocator. */
#define DESCRIPTORS_PER_PROCESS 10

static bool is_permitted(enum privilege_use use)
{
	char missing[128];

	privileges_missing(use, missing, sizeof(missing));
	return !missing[0];
}

static int print_kernel(struct kernel_features *features, enum attach_method method)
{
	struct utsname name;
	struct stat status;
	const char *missing;
	bool btf = !stat("/sys/kernel/btf/vmlinux", &status);
	int error;

	uname(&name);
	printf("kernel %s %s\n", name.release, name.machine);
	printf("  type information (BTF)   %s\n",
	       btf ? "yes" : "MISSING: use a kernel built with CONFIG_DEBUG_INFO_BTF=y");
	if (!is_permitted(PRIVILEGES_TO_TRACK)) {
		printf("  probes                   not tried: capabilities are missing\n");
		return -1;
	}
	missing = feature_probe_missing();
	if (missing) {
		printf("  BPF functions            MISSING: %s\n", missing);
		printf("  without them             `memory`, `retain --census`, `triage "
		       "--no-stacks` "
		       "and, without call stacks, `diagnose`\n");
		return -1;
	}
	error = feature_probe_run(features, method);
	if (error)
		return error;
	printf("  probes attach through    %s%s\n", attach_method_name(features->method),
	       features->method == ATTACH_PERF ? privileges_perf_hint(-EPERM) : "");
	printf("  return probes and seccomp %s\n",
	       features->seccomp_safe
		       ? "yes: a filtered process survives them"
		       : "NO: processes under a seccomp filter are not probed on this kernel");
	printf("  and Syscall User Dispatch %s\n",
	       features->dispatch_safe ? "yes: a dispatched process survives them"
				       : "NO: such processes are not probed on this kernel");
	if (!features->shadow_stack_safe)
		printf("  return probes and shadow stacks NO: processes that have one are not "
		       "probed on this kernel\n");
	return btf ? 0 : -1;
}

/* Host facilities that a container or another user may lack. */
static int print_host(void)
{
	_cleanup_(pid_list_free) struct pid_list pids = {0};
	size_t descriptors = descriptors_raise_limit();
	bool own = pid_namespace_is_own(), hidden;

	hidden = pid_list_read(&pids) || pid_list_is_partial(&pids);
	printf("host\n");
	printf("  PID namespace            %s\n", own ? "its own: MISSING is the host's (docker: "
							"--pid=host, Kubernetes: hostPID: true)"
						      : "the host's");
	printf("  /proc shows              %s\n",
	       hidden ? "only processes of this user (hidepid): run as root, or with CAP_SYS_PTRACE"
		      : "all processes");
	printf("  file descriptors         %zu, for about %zu processes at once\n", descriptors,
	       descriptors / DESCRIPTORS_PER_PROCESS);
	return own;
}

static int describe_target(pid_t pid, const struct target_config *config)
{
	int error = target_check(pid, config, true);

	if (!error)
		error = target_describe(stdout, process_table_find(config->processes, pid), config);
	process_table_forget(config->processes, pid);
	return error;
}

/* Returns 0, or nonzero if anything prevents tracking one of the targets. */
static int describe_targets(const struct doctor_options *options,
			    const struct target_config *config)
{
	struct selector *selector = selector_new(&options->targets, NULL);
	struct selection selection = {0};
	int error = selector ? selector_list(selector, &selection) : -ENOMEM;

	if (!error)
		error = selection_explain(&selection);
	for (size_t i = 0; i < selection.pids.count; i++) {
		printf("process %d\n", selection.pids.items[i]);
		fflush(stdout);
		error |= describe_target(selection.pids.items[i], config) != 0;
	}
	selection_free(&selection);
	selector_free(selector);
	return error;
}

static int run(const void *options)
{
	const struct doctor_options *doctor = options;
	const struct probe_options *probes = &doctor->probes;
	const bool tracks = doctor->purpose == PRIVILEGES_TO_TRACK;
	struct target_config config = {.object = probes->object,
				       .symbol_prefix = probes->symbol_prefix,
				       .probe_at = probes->probe_at,
				       .no_usdt = probes->no_usdt,
				       .worker = worker_new(&parse_kinds, NULL),
				       .processes = process_table_new(false)};
	int error = 0;

	if (doctor->quiet && !freopen("/dev/null", "w", stdout))
		return EXIT_ERROR;
	if (tracks)
		error = print_kernel(&config.features, probes->attach_method);
	if (!config.worker || !config.processes) {
		log_error("out of memory");
		return EXIT_ERROR;
	}
	target_plans_register(&config.processes->dsos);
	error |= print_host();
	printf("capabilities\n");
	privileges_print(stdout, doctor->purpose);
	error |= !is_permitted(doctor->purpose);
	error |= describe_targets(doctor, &config);
	process_table_free(config.processes);
	worker_free(config.worker);
	feature_probe_close(&config.features);
	return error ? EXIT_ERROR : EXIT_OK;
}

static void free_targets(void *options)
{
	selector_config_free(&((struct doctor_options *)options)->targets);
}

static int check(void *options, const struct given *given)
{
	const struct doctor_options *doctor = options;

	(void)given;
	if (doctor->purpose == PRIVILEGES_TO_TRIAGE &&
	    !selector_config_is_empty(&doctor->targets)) {
		log_error(
			"--for triage: triage has no target, and sets no probe: leave one of the two out");
		return -EINVAL;
	}
	return 0;
}

static const struct option_row doctor_rows[] = {
	{"for", 0, "watch|triage", "what has to be possible; triage: with --no-stacks (watch)",
	 value_set_choice, NULL, .offset = offsetof(struct doctor_options, purpose)},
	{"quiet", 'q', NULL, "print nothing: exit code 0 if nothing is missing, else 1",
	 value_set_flag, .offset = offsetof(struct doctor_options, quiet)},
};
static const struct option_group doctor_group = {"What is checked", doctor_rows,
						 ARRAY_SIZE(doctor_rows)};

static const struct doctor_options defaults = {.probes = PROBE_DEFAULTS};

#define PART(member) offsetof(struct doctor_options, member)
const struct command command_doctor = {
	.name = "doctor",
	.summary = "check what this kernel, your privileges and a process allow",
	.usage = "  leakmon doctor [TARGET] [OPTION...]\n",
	.about = "Reports what this kernel, your privileges and the given processes allow, where\n"
		 "probes would go and why, and how to fix what is missing.\n",
	.examples =
		"  leakmon doctor                        kernel and privileges\n"
		"  leakmon doctor --for triage --quiet   the exit code alone, as a health check\n"
		"  leakmon doctor -p 1234                also: can this process be watched?\n"
		"  leakmon doctor -p 1234 -v             with the address of every probe\n"
		"  leakmon doctor -p 1234 --attach perf  as if only perf uprobes worked\n"
		"  leakmon doctor -p 1234 -S je_         with je_malloc, je_free, ...\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&target_group, PART(targets)},
		 {&doctor_group, 0},
		 {&allocator_group, PART(probes)},
		 {&usdt_group, PART(probes)},
		 {&probe_group, PART(probes)},
		 {&color_group, PART(output)}},
	.free = free_targets,
	.check = check,
	.run = run,
	.code_is_answer = true,
};
