// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/trial.h"

#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "elf/elf_file.h"
#include "probe/attach.h"
#include "trial.skel.h"

/* arch/x86/entry/syscalls/syscall_64.tbl since 6.11 */
#define SYSCALL_URETPROBE 335
#define SYSCALL_UPROBE 336

/* The function that is probed: only ever called to see whether a probe fires. */
__attribute__((noinline, noclone)) int trial_target(int value);
int trial_target(int value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

static void *call_target(void *unused)
{
	trial_target(1);
	return unused;
}

/* Where trial_target lies in our own executable. */
static int target_offset(int self_fd, uint64_t *offset)
{
	extern const char __executable_start[];
	uint64_t vaddr = (uint64_t)(uintptr_t)trial_target;
	struct elf_file file;
	int error = elf_file_open(self_fd, &file);

	if (error)
		return error;
	if (file.type == ET_DYN)
		vaddr -= (uint64_t)(uintptr_t)__executable_start;
	error = elf_file_offset(&file, vaddr, offset);
	elf_file_close(&file);
	return error;
}

static struct trial_bpf *load(bool multi)
{
	struct trial_bpf *skeleton = trial_bpf__open();

	if (!skeleton)
		return NULL;
	if (multi) {
		enum bpf_attach_type type = (enum bpf_attach_type)LM_BPF_TRACE_UPROBE_MULTI;

		bpf_program__set_expected_attach_type(skeleton->progs.trial_entry, type);
		bpf_program__set_expected_attach_type(skeleton->progs.trial_return, type);
	}
	if (trial_bpf__load(skeleton)) {
		trial_bpf__destroy(skeleton);
		return NULL;
	}
	return skeleton;
}

/* Whether a multi link with a PID filter sees a thread that is not the main one. */
static bool multi_works(const struct attach_request *probe, char *reason, size_t size)
{
	struct attach_request request = *probe;
	struct attachments attachments = {0};
	struct trial_bpf *skeleton = load(true);
	pthread_t thread;
	bool works = false;
	int error;

	if (!skeleton) {
		snprintf(reason, size, "the programs do not load as uprobe_multi");
		return false;
	}
	request.program_fd = bpf_program__fd(skeleton->progs.trial_entry);
	error = attach_multi(&attachments, &request);
	if (error) {
		snprintf(reason, size, "this kernel has no uprobe_multi (%s)", strerror(-error));
	} else if (!pthread_create(&thread, NULL, call_target, NULL)) {
		pthread_join(thread, NULL);
		works = skeleton->bss->trial_entries == 1;
		if (!works)
			snprintf(reason, size,
				 "its PID filter sees only the main thread on this kernel");
	}
	attachments_close(&attachments);
	trial_bpf__destroy(skeleton);
	return works;
}

/* Refuses the kernel's uretprobe and uprobe system calls, as container profiles of 2024 do. */
static int refuse_uprobe_syscalls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYSCALL_URETPROBE, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYSCALL_UPROBE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_SIZE(filter), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}

/* The throwaway child: waits for the probe, filters itself, calls the probed function. */
static void __attribute__((noreturn)) seccomp_child(const int go[2])
{
	char byte;

	close(go[1]); /* or the read below would wait for ourselves */
	if (read(go[0], &byte, 1) != 1 || refuse_uprobe_syscalls())
		_exit(2);
	_exit(trial_target(7) == 7 ? 0 : 1);
}

static bool child_survives(const struct attach_request *probe, bool multi,
			   struct trial_bpf *skeleton)
{
	struct attach_request request = *probe;
	struct attachments attachments = {0};
	int go[2], status = -1;
	pid_t child;

	if (pipe2(go, O_CLOEXEC))
		return false;
	child = fork();
	if (!child)
		seccomp_child(go);
	close(go[0]);
	request.program_fd = bpf_program__fd(skeleton->progs.trial_return);
	request.at_return = true;
	request.pid = child;
	if (child > 0 &&
	    !(multi ? attach_multi : attach_perf)(&attachments, &request) &&
	    write(go[1], "g", 1) == 1)
		log_debug("trial: a child under seccomp runs through a uretprobe");
	close(go[1]);
	if (child > 0)
		waitpid(child, &status, 0);
	attachments_close(&attachments);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int trial_run(struct trial *trial, enum attach_method method)
{
	_cleanup_close_ int self_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct trial result = {0};
	uint64_t offset = 0, cookie = 0;
	struct attach_request probe = {.file_fd = self_fd, .offsets = &offset,
				       .cookies = &cookie, .count = 1, .pid = getpid()};
	struct trial_bpf *skeleton;
	int error = self_fd < 0 ? -errno : target_offset(self_fd, &offset);

	if (error) {
		log_error("cannot read my own executable through /proc/self/exe: %s; is /proc "
			  "mounted?",
			  strerror(-error));
		return error;
	}
	if (method == ATTACH_PERF)
		snprintf(result.multi_reason, sizeof(result.multi_reason), "--attach=perf");
	else
		result.multi = multi_works(&probe, result.multi_reason,
					   sizeof(result.multi_reason));
	if (method == ATTACH_MULTI && !result.multi) {
		log_error("--attach=multi: %s; use --attach=auto", result.multi_reason);
		return -EOPNOTSUPP;
	}
	skeleton = load(result.multi);
	if (skeleton)
		result.seccomp_safe = child_survives(&probe, result.multi, skeleton);
	trial_bpf__destroy(skeleton);
	*trial = result;
	return 0;
}
