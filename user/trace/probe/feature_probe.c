// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/feature_probe.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "binary/arch/machine.h"
#include "base/cleanup.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "binary/elf/elf_file.h"
#include "feature_probe.skel.h"
#include "trace/probe/attach.h"
#include "trace/probe/loader.h"
#include "trace/probe/memory_locks.h"
#include "trace/probe/async_detach.h"
#include "process/proc/memory_room.h"

/* The probed function: called only to see whether a probe fires. */
__attribute__((noinline, noclone)) int feature_probe_target(int value);
int feature_probe_target(int value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

static void *call_target(void *unused)
{
	feature_probe_target(1);
	return unused;
}

/* Finds the file offset of trial_target in leakmon's own executable. */
static int target_offset(int self_fd, uint64_t *offset)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	uint64_t vaddr = (uint64_t)(uintptr_t)feature_probe_target;
	struct elf_file file;
	int error = elf_file_open(self_fd, &machine_abi, &file);

	if (error)
		return error;
	if (file.type == ET_DYN)
		vaddr -= (uint64_t)(uintptr_t)__ehdr_start;
	error = elf_file_offset(&file, vaddr, offset);
	elf_file_close(&file);
	return error;
}

static struct feature_probe_bpf *load(enum attach_method method)
{
	struct feature_probe_bpf *skeleton = feature_probe_bpf__open();

	if (!skeleton)
		return NULL;
	/* Kernels with sessions have the system call that is fatal under dispatch. */
	bpf_program__set_autoload(skeleton->progs.feature_probe_dispatch, method == ATTACH_SESSION);
	bpf_program__set_autoload(skeleton->progs.feature_probe_session, method == ATTACH_SESSION);
	bpf_program__set_expected_attach_type(skeleton->progs.feature_probe_session,
					      attach_type(ATTACH_SESSION, POINT_BOTH));
	bpf_program__set_expected_attach_type(skeleton->progs.feature_probe_entry,
					      attach_type(method, POINT_ENTRY));
	bpf_program__set_expected_attach_type(skeleton->progs.feature_probe_return,
					      attach_type(method, POINT_RETURN));
	if (feature_probe_bpf__load(skeleton)) {
		feature_probe_bpf__destroy(skeleton);
		return NULL;
	}
	return skeleton;
}

/* Probes entry and return of trial_target in the way of a target's functions. */
static int attach_both(struct attachments *attachments, enum attach_method method,
		       const struct attach_request *probe, const struct feature_probe_bpf *skeleton)
{
	struct attach_request request = *probe;
	int error;

	if (method == ATTACH_SESSION) {
		request.program_fd = bpf_program__fd(skeleton->progs.feature_probe_session);
		request.point = POINT_BOTH;
		return attach(attachments, method, &request);
	}
	request.program_fd = bpf_program__fd(skeleton->progs.feature_probe_return);
	request.point = POINT_RETURN;
	error = attach(attachments, method, &request);
	request.program_fd = bpf_program__fd(skeleton->progs.feature_probe_entry);
	request.point = POINT_ENTRY;
	return error ? error : attach(attachments, method, &request);
}

/* The trials' probes are detached together, without a wait: see struct async_detach. */
struct trials {
	struct attach_request probe;	    /* of feature_probe_target */
	struct feature_probe_bpf *skeleton; /* loaded for the method being tried */
	struct attachments attachments;
};

/* Returns whether a non-main thread is seen, once at the entry and once at the return. */
static bool sees_threads(enum attach_method method, struct trials *trials)
{
	struct feature_probe_bpf__bss *counts = trials->skeleton->bss;
	int error = attach_both(&trials->attachments, method, &trials->probe, trials->skeleton);
	pthread_t thread;
	bool works;

	if (error) {
		log_debug("feature probe: %s: %s", attach_method_name(method), strerror(-error));
		return false;
	}
	if (pthread_create(&thread, NULL, call_target, NULL))
		return false;
	pthread_join(thread, NULL);
	works = counts->feature_probe_entries == 1 && counts->feature_probe_returns == 1;
	log_debug("feature probe: %s: %s", attach_method_name(method),
		  works ? "works" : "does not see every thread");
	return works;
}

/* If true, trials->skeleton stays, for the other trials. */
static bool method_works(enum attach_method method, struct trials *trials)
{
	trials->skeleton = load(method);
	if (!trials->skeleton) {
		log_debug("feature probe: %s: the programs do not load",
			  attach_method_name(method));
		return false;
	}
	if (sees_threads(method, trials))
		return true;
	feature_probe_bpf__destroy(TAKE_PTR(trials->skeleton));
	return false;
}

static enum attach_method best_method(struct trials *trials)
{
	for (enum attach_method method = ATTACH_SESSION; method < ATTACH_PERF; method++) {
		if (method_works(method, trials))
			return method;
	}
	trials->skeleton = load(ATTACH_PERF);
	return ATTACH_PERF;
}

/* Refuses the kernel's uretprobe and uprobe system calls, as container profiles of 2024 do. */
static int refuse_uprobe_syscalls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE_URETPROBE_CALL, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE_UPROBE_CALL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_SIZE(filter), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}

static void wait_for_probe(const int go[2])
{
	char byte;

	close(go[1]); /* or the read below would wait for this process itself */
	/* It may die: that is no crash of leakmon to be dumped and reported. */
	prctl(PR_SET_DUMPABLE, 0);
	if (read(go[0], &byte, 1) != 1)
		_exit(2);
}

/* A throwaway child: waits for the probe, restricts itself, calls the probed function. */
typedef void (*feature_probe_child)(const int go[2]);

static void __attribute__((noreturn)) seccomp_child(const int go[2])
{
	wait_for_probe(go);
	if (refuse_uprobe_syscalls())
		_exit(2);
	_exit(feature_probe_target(7) == 7 ? 0 : 1);
}

/* linux/prctl.h since 5.11 */
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#define SYSCALL_DISPATCH_FILTER_ALLOW 0
#define SYSCALL_DISPATCH_FILTER_BLOCK 1
#endif

static volatile char dispatch_selector = SYSCALL_DISPATCH_FILTER_ALLOW;

static void on_dispatch(int signal)
{
	(void)signal;
	dispatch_selector = SYSCALL_DISPATCH_FILTER_ALLOW;
	_exit(1);
}

/* Has every system call refused. A kernel without this feature is safe. */
static int dispatch_syscalls(void)
{
	signal(SIGSYS, on_dispatch);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &dispatch_selector))
		return errno == EINVAL ? 0 : -errno;
	dispatch_selector = SYSCALL_DISPATCH_FILTER_BLOCK;
	return 0;
}

static void __attribute__((noreturn)) dispatch_child(const int go[2])
{
	int result;

	wait_for_probe(go);
	if (dispatch_syscalls())
		_exit(2);
	result = feature_probe_target(7);
	dispatch_selector = SYSCALL_DISPATCH_FILTER_ALLOW;
	_exit(result == 7 ? 0 : 1);
}

static void __attribute__((noreturn)) shadow_stack_child(const int go[2])
{
	wait_for_probe(go);
	machine_enable_shadow_stack();
	_exit(feature_probe_target(7) == 7 ? 0 : 1);
}

enum restriction { UNDER_SECCOMP, WITH_SHADOW_STACK, UNDER_DISPATCH, RESTRICTIONS };

static const feature_probe_child children[] = {
	[UNDER_SECCOMP] = seccomp_child,
	[WITH_SHADOW_STACK] = shadow_stack_child,
	[UNDER_DISPATCH] = dispatch_child,
};
_Static_assert(ARRAY_SIZE(children) == RESTRICTIONS, "a child for every restriction");

static pid_t start_child(feature_probe_child child, const int go[2])
{
	pid_t pid = fork();

	if (!pid)
		child(go);
	return pid;
}

static bool has_survived(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/*
 * Runs all at once, each with its own return probes. A child that was not run counts as not
 * surviving.
 */
static void try_children(struct trials *trials, enum attach_method method,
			 const bool asked[RESTRICTIONS], bool survives[RESTRICTIONS])
{
	struct attach_request request = trials->probe;
	static const char bytes[RESTRICTIONS] = "go!";
	bool probed[RESTRICTIONS] = {false};
	pid_t pids[RESTRICTIONS];
	int go[2];

	if (!trials->skeleton || pipe2(go, O_CLOEXEC))
		return;
	for (size_t i = 0; i < RESTRICTIONS; i++)
		pids[i] = asked[i] ? start_child(children[i], go) : -1;
	close(go[0]);
	for (size_t i = 0; i < RESTRICTIONS; i++) {
		request.pid = pids[i];
		probed[i] = pids[i] > 0 &&
			    !attach_both(&trials->attachments, method, &request, trials->skeleton);
	}
	/* One byte each; without it they end at once. */
	if (write(go[1], bytes, sizeof(bytes)) != sizeof(bytes))
		log_debug("feature probe: %s", strerror(errno));
	close(go[1]);
	for (size_t i = 0; i < RESTRICTIONS; i++)
		survives[i] = pids[i] > 0 && has_survived(pids[i]) && probed[i];
}

const char *attach_method_name(enum attach_method method)
{
	static const char *const names[] = {
		[ATTACH_AUTO] = "auto",
		[ATTACH_SESSION] = "session",
		[ATTACH_MULTI] = "multi",
		[ATTACH_PERF] = "perf",
	};

	return names[method];
}

static int read_to_end(const struct bpf_link *link)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(link));
	char buffer[64];
	ssize_t got = 0;

	if (fd < 0)
		return -errno;
	do
		got = read(fd, buffer, sizeof(buffer));
	while (got > 0 || (got < 0 && errno == EAGAIN));
	return got < 0 ? -errno : 0;
}

struct dispatch_finder {
	struct feature_probe_bpf *skeleton;
	struct bpf_link *link; /* NULL: not attached yet */
	int error;	       /* why attaching failed */
};

/* `loaded` by a trial, or NULL; taken over. Returns NULL if out of memory. */
static struct dispatch_finder *finder_new(struct feature_probe_bpf *loaded)
{
	struct dispatch_finder *finder = calloc(1, sizeof(*finder));

	if (finder)
		finder->skeleton = loaded;
	else
		feature_probe_bpf__destroy(loaded);
	return finder;
}

static int finder_load(struct dispatch_finder *finder)
{
	finder->skeleton = feature_probe_bpf__open();
	if (!finder->skeleton)
		return -errno;
	bpf_program__set_autoload(finder->skeleton->progs.feature_probe_entry, false);
	bpf_program__set_autoload(finder->skeleton->progs.feature_probe_return, false);
	bpf_program__set_autoload(finder->skeleton->progs.feature_probe_session, false);
	return feature_probe_bpf__load(finder->skeleton);
}

/* Attached once: there may be thousands of processes to check. */
static int finder_attach(struct dispatch_finder *finder)
{
	int error = finder->skeleton ? 0 : finder_load(finder);

	if (error)
		return error;
	finder->link =
		bpf_program__attach_iter(finder->skeleton->progs.feature_probe_dispatch, NULL);
	return finder->link ? 0 : -errno;
}

void feature_probe_close(struct kernel_features *features)
{
	struct dispatch_finder *finder = TAKE_PTR(features->dispatch_finder);

	async_detach_free(TAKE_PTR(features->detach));
	if (!finder)
		return;
	bpf_link__destroy(finder->link);
	feature_probe_bpf__destroy(finder->skeleton);
	free(finder);
}

int feature_probe_dispatches(const struct kernel_features *features, pid_t pid)
{
	struct dispatch_finder *finder = features->dispatch_finder;
	int error;

	if (!finder)
		return -ENOMEM;
	if (!finder->link && !finder->error)
		finder->error = finder_attach(finder);
	if (finder->error)
		return finder->error;
	finder->skeleton->bss->dispatch_tgid = (uint32_t)pid;
	finder->skeleton->bss->dispatch_found = false;
	error = read_to_end(finder->link);
	return error ? error : finder->skeleton->bss->dispatch_found;
}

/* A program loaded by a session's trial finds dispatch, too. */
static struct dispatch_finder *find_dispatch(struct trials *trials, enum attach_method method)
{
	return finder_new(method == ATTACH_SESSION ? TAKE_PTR(trials->skeleton) : NULL);
}

static void try_restrictions(struct trials *trials, struct kernel_features *features)
{
	const bool asked[RESTRICTIONS] = {
		[UNDER_SECCOMP] = MACHINE_URETPROBE_CALL > 0,
		[WITH_SHADOW_STACK] = machine_has_shadow_stacks(),
		[UNDER_DISPATCH] = true,
	};
	bool survives[RESTRICTIONS] = {false};

	try_children(trials, features->method, asked, survives);
	features->seccomp_safe = !asked[UNDER_SECCOMP] || survives[UNDER_SECCOMP];
	features->shadow_stack_safe = !asked[WITH_SHADOW_STACK] || survives[WITH_SHADOW_STACK];
	features->dispatch_safe = survives[UNDER_DISPATCH];
	log_debug("feature probe: return probes and Syscall User Dispatch: %s",
		  features->dispatch_safe ? "no harm" : "deadly");
	if (!features->dispatch_safe)
		features->dispatch_finder = find_dispatch(trials, features->method);
}

/* Each detach waits for the kernel: done asynchronously. */
static void end_trials(struct trials *trials, struct kernel_features *features)
{
	feature_probe_bpf__destroy(trials->skeleton);
	if (trials->attachments.fds.count)
		features->detach = async_detach_new();
	if (features->detach)
		async_detach_add(features->detach, &trials->attachments, 0, NULL);
	else
		attachments_close(&trials->attachments);
}

static int choose_method(struct trials *trials, enum attach_method method,
			 enum attach_method *chosen)
{
	*chosen = method;
	if (method == ATTACH_AUTO)
		*chosen = best_method(trials);
	else if (method == ATTACH_PERF)
		trials->skeleton = load(method);
	else if (!method_works(method, trials)) {
		log_error("--attach=%s does not work on this kernel; use --attach=auto",
			  attach_method_name(method));
		return -EOPNOTSUPP;
	}
	return 0;
}

const char *feature_probe_missing(void)
{
	static const struct {
		enum bpf_func_id function;
		const char *name;
	} needed[] = {
		{BPF_FUNC_get_current_task_btf, "bpf_get_current_task_btf (since Linux 5.11)"},
		{BPF_FUNC_task_storage_get, "bpf_task_storage_get (since Linux 5.11)"},
		{BPF_FUNC_get_attach_cookie, "bpf_get_attach_cookie (since Linux 5.15)"},
		{BPF_FUNC_loop, "bpf_loop (since Linux 5.17)"},
	};

	loader_quiet_libbpf();
	/* The newest one first: kernels with it have the older ones, too. */
	for (size_t i = ARRAY_SIZE(needed); i-- > 0;) {
		if (!libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, needed[i].function, NULL))
			return needed[i].name;
	}
	return NULL;
}

bool feature_probe_explain_missing(void)
{
	const char *missing = feature_probe_missing();

	if (missing)
		log_error(
			"this kernel has no %s, which tracking needs; `memory`, `retain --census` and `triage --no-stacks` do without",
			missing);
	return missing;
}

int feature_probe_run(struct kernel_features *features, enum attach_method method)
{
	_cleanup_close_ int self_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t offset = 0, cookie = 0;
	struct trials trials = {.probe = {.file_fd = self_fd,
					  .offsets = &offset,
					  .cookies = &cookie,
					  .count = 1,
					  .pid = getpid()}};
	int error = descriptors_check_start();

	loader_quiet_libbpf();
	if (!error)
		error = memory_room_check(MEMORY_TO_LOAD_BYTES, "loading the probes");
	if (!error)
		error = memory_locks_check();
	if (error)
		return error;
	error = self_fd < 0 ? -errno : target_offset(self_fd, &offset);
	if (error) {
		log_error(
			"cannot read my own executable through /proc/self/exe: %s; is /proc mounted?",
			strerror(-error));
		return error;
	}
	error = choose_method(&trials, method, &features->method);
	if (!error && !trials.skeleton && feature_probe_explain_missing())
		error = -EOPNOTSUPP;
	if (!error)
		try_restrictions(&trials, features);
	end_trials(&trials, features);
	return error;
}

/* Finds the function type behind btf_trace_NAME, a pointer to the type of its probes. */
static const struct btf_type *probe_type(const struct btf *btf, const char *tracepoint)
{
	const struct btf_type *type;
	char name[128];
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	type = id > 0 ? btf__type_by_id(btf, (unsigned)id) : NULL;
	type = type ? btf__type_by_id(btf, type->type) : NULL;
	if (!type || !btf_is_ptr(type))
		return NULL;
	type = btf__type_by_id(btf, type->type);
	return type && btf_is_func_proto(type) ? type : NULL;
}

static bool argument_is(const struct btf *btf, unsigned id, char letter)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	while (type && (btf_is_mod(type) || btf_is_typedef(type)))
		type = btf__type_by_id(btf, type->type);
	if (!type)
		return false;
	if (letter == 'p')
		return btf_is_ptr(type);
	return (btf_is_int(type) || btf_is_any_enum(type)) &&
	       type->size == (unsigned)(letter - '0');
}

bool tracepoint_has(const struct btf *btf, const char *tracepoint, const char *signature)
{
	const struct btf_type *type = probe_type(btf, tracepoint);
	size_t count = strlen(signature);

	/* The first parameter is the probe's own data, not an argument. */
	if (!type || btf_vlen(type) < count + 1)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!argument_is(btf, btf_params(type)[i + 1].type, signature[i]))
			return false;
	}
	return true;
}
