// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/attach.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "trace/probe/memory_locks.h"

/*
 * Each detach waits for the kernel, and concurrent ones wait together. But one after the other they
 * walk all processes that map the file and all remaining probes, and every fork of the machine
 * waits in the same queue (dup_mmap_sem in kernel/events/uprobes.c). The more there are, the longer
 * each takes, and the fewer may run at once: with 400 processes, which have 2,000 links, 128 at
 * once made each fork wait for 17 ms.
 */
#define CLOSERS 128
#define CLOSERS_TIMES_LINKS 24000
#define CLOSERS_MIN 2
/* Stack of a helper process that shares leakmon's memory. */
#define APART_STACK 16384

/* The head of union bpf_attr for BPF_LINK_CREATE with uprobe_multi (include/uapi/linux/bpf.h). */
struct link_create_uprobe_multi {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t ref_ctr_offsets;
	uint64_t cookies;
	uint32_t cnt;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t padding;
};

/* A path to exactly this open file, whatever happened to its name. */
static void descriptor_path(char *path, size_t size, int fd)
{
	snprintf(path, size, "/proc/self/fd/%d", fd);
}

static void block_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

static uint64_t timeval_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

/* It sends no signal when it ends, and no other wait collects it. */
static void wait_apart(struct attachments *attachments, pid_t pid)
{
	struct rusage usage = {0};

	while (wait4(pid, NULL, __WALL, &usage) < 0 && errno == EINTR)
		;
	attachments->apart_ns += timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime);
}

/* A system call in a separate process, which shares leakmon's memory and descriptors. */
struct errand {
	long number, arguments[5], result;
};

static int run_errand(void *context)
{
	struct errand *errand = context;
	const long *arguments = errand->arguments;

	/* A signal to a whole process group must not end this one. */
	syscall(SYS_setsid);
	errand->result = syscall(errand->number, arguments[0], arguments[1], arguments[2],
				 arguments[3], arguments[4]);
	if (errand->result < 0)
		errand->result = -errno;
	return 0;
}

/*
 * Sets breakpoints. A process killed in between could not remove those already set; this one
 * survives leakmon, and its breakpoints are removed when it ends. Returns a descriptor or -errno.
 */
static int set_breakpoints(struct attachments *attachments, struct errand *errand)
{
	_Alignas(16) char stack[APART_STACK];
	int error = memory_locks_check();
	sigset_t before;
	pid_t pid;

	if (error)
		return error;
	block_signals(&before);
	pid = clone(run_errand, stack + sizeof(stack), CLONE_VM | CLONE_FILES | CLONE_VFORK,
		    errand);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		const long *arguments = errand->arguments;
		int fd = (int)syscall(errand->number, arguments[0], arguments[1], arguments[2],
				      arguments[3], arguments[4]);

		return fd < 0 ? -errno : fd;
	}
	wait_apart(attachments, pid);
	return (int)errand->result;
}

static int attachments_add(struct attachments *attachments, int fd)
{
	int *slot = vec_push(&attachments->fds);

	if (!slot) {
		close(fd);
		return -ENOMEM;
	}
	*slot = fd;
	return 0;
}

unsigned attach_type(enum attach_method method, enum attach_point point)
{
	if (method == ATTACH_PERF)
		return 0;
	return point == POINT_BOTH ? LM_BPF_TRACE_UPROBE_SESSION : LM_BPF_TRACE_UPROBE_MULTI;
}

static int attach_multi(struct attachments *attachments, const struct attach_request *request)
{
	char path[64];
	struct link_create_uprobe_multi attr = {
		.prog_fd = (uint32_t)request->program_fd,
		.attach_type = attach_type(ATTACH_MULTI, request->point),
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)request->offsets,
		.ref_ctr_offsets = (uint64_t)(uintptr_t)request->counters,
		.cookies = (uint64_t)(uintptr_t)request->cookies,
		.cnt = (uint32_t)request->count,
		.multi_flags = request->point == POINT_RETURN ? LM_BPF_F_UPROBE_MULTI_RETURN : 0,
		.pid = (uint32_t)request->pid,
	};
	struct errand errand = {.number = SYS_bpf,
				.arguments = {BPF_LINK_CREATE, (long)&attr, sizeof(attr)}};
	int fd;

	descriptor_path(path, sizeof(path), request->file_fd);
	fd = set_breakpoints(attachments, &errand);
	return fd < 0 ? fd : attachments_add(attachments, fd);
}

/* Opens one of the files that describe this kernel's uprobe event source. */
static FILE *open_uprobe_sysfs(const char *file)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/uprobe/%s", file);
	return fopen(path, "re");
}

/* Reads the event source's number on this kernel, and the bit in its config for returns. */
static int read_uprobe_source(int *type, int *return_bit)
{
	_cleanup_fclose_ FILE *type_file = open_uprobe_sysfs("type");
	_cleanup_fclose_ FILE *bit_file = open_uprobe_sysfs("format/retprobe");

	if (!type_file || !bit_file)
		return -errno;
	if (fscanf(type_file, "%d", type) != 1 || fscanf(bit_file, "config:%d", return_bit) != 1)
		return -EINVAL;
	return 0;
}

/*
 * Computes the position of the counter's offset in an event's config: the upper half, on every
 * kernel.
 */
static int perf_counter(uint64_t counter, uint64_t *config)
{
	_cleanup_fclose_ FILE *format = open_uprobe_sysfs("format/ref_ctr_offset");
	int first = 0, last = 0;

	if (!counter)
		return 0;
	if (!format || fscanf(format, "config:%d-%d", &first, &last) != 2 || first < 0 ||
	    last > 63 || first >= last)
		return -EOPNOTSUPP;
	if (counter >> (last - first + 1))
		return -EFBIG;
	*config |= counter << first;
	return 0;
}

static int perf_open(struct attachments *attachments, const struct attach_request *request,
		     size_t i)
{
	char path[64];
	struct perf_event_attr attr = {.size = sizeof(attr)};
	struct errand errand = {
		.number = SYS_perf_event_open,
		.arguments = {(long)&attr, request->pid ? request->pid : -1, request->pid ? -1 : 0,
			      -1, PERF_FLAG_FD_CLOEXEC},
	};
	int type = 0, return_bit = 0, error;
	uint64_t config = 0;

	error = read_uprobe_source(&type, &return_bit);
	if (!error && request->counters)
		error = perf_counter(request->counters[i], &config);
	if (error)
		return error;
	descriptor_path(path, sizeof(path), request->file_fd);
	attr.type = (uint32_t)type;
	attr.config = config | (request->point == POINT_RETURN ? 1ull << return_bit : 0);
	attr.uprobe_path = (uint64_t)(uintptr_t)path;
	attr.probe_offset = request->offsets[i];
	return set_breakpoints(attachments, &errand);
}

static int perf_attach_one(struct attachments *attachments, const struct attach_request *request,
			   size_t i)
{
	LIBBPF_OPTS(bpf_link_create_opts, options,
		    .perf_event.bpf_cookie = request->cookies ? request->cookies[i] : 0);
	_cleanup_close_ int event_fd = perf_open(attachments, request, i);
	_cleanup_close_ int link_fd = -1;

	if (event_fd < 0)
		return event_fd;
	link_fd = bpf_link_create(request->program_fd, event_fd, BPF_PERF_EVENT, &options);
	if (link_fd < 0)
		return -errno;
	if (ioctl(event_fd, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	/* The link first: closing it detaches the program, closing the event the breakpoint. */
	if (attachments_add(attachments, TAKE_FD(link_fd)))
		return -ENOMEM;
	return attachments_add(attachments, TAKE_FD(event_fd));
}

static int attach_perf(struct attachments *attachments, const struct attach_request *request)
{
	struct attachments added = {0};
	int error = 0;

	for (size_t i = 0; i < request->count && !error; i++)
		error = perf_attach_one(&added, request, i);
	for (size_t i = 0; i < added.fds.count && !error; i++)
		error = attachments_add(attachments, added.fds.items[i]);
	if (error)
		attachments_close(&added);
	attachments->apart_ns += added.apart_ns;
	vec_free(&added.fds);
	return error;
}

int attach(struct attachments *attachments, enum attach_method method,
	   const struct attach_request *request)
{
	return method == ATTACH_PERF ? attach_perf(attachments, request)
				     : attach_multi(attachments, request);
}

static int load_nothing(void)
{
	/* r0 = 0; exit */
	static const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K},
						  {.code = BPF_JMP | BPF_EXIT}};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = LM_BPF_TRACE_UPROBE_MULTI);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "leakmon_nothing", "GPL", nothing,
			       ARRAY_SIZE(nothing), &options);

	return fd < 0 ? -errno : fd;
}

static int renew_multi(struct attachments *attachments, const struct attach_request *request)
{
	_cleanup_close_ int program_fd = load_nothing();
	struct attach_request once = *request;

	if (program_fd < 0)
		return program_fd;
	once.program_fd = program_fd;
	once.cookies = NULL;
	once.point = POINT_ENTRY;
	return attach_multi(attachments, &once);
}

/* The event alone sets the breakpoint; it needs no program. */
static int renew_perf(struct attachments *attachments, const struct attach_request *request)
{
	int error = 0;

	for (size_t i = 0; i < request->count && !error; i++) {
		int fd = perf_open(attachments, request, i);

		error = fd < 0 ? fd : attachments_add(attachments, fd);
	}
	return error;
}

int attach_renew(enum attach_method method, const struct attach_request *request)
{
	struct attachments once = {0};
	int error =
		method == ATTACH_PERF ? renew_perf(&once, request) : renew_multi(&once, request);

	attachments_close(&once);
	return error;
}

static size_t closers_of(size_t count)
{
	size_t most = MAX(CLOSERS_TIMES_LINKS / MAX(count, 1), CLOSERS_MIN);

	return MIN(MIN(most, CLOSERS), count);
}

/* Descriptors closed by several threads: an idle one takes the next. */
struct closing {
	const int *fds;
	size_t count, next;
};

static void *close_some(void *context)
{
	struct closing *closing = context;
	size_t i;

	while ((i = __atomic_fetch_add(&closing->next, 1, __ATOMIC_RELAXED)) < closing->count)
		close(closing->fds[i]);
	return NULL;
}

static void close_by_threads(struct attachments *attachments)
{
	struct closing closing = {.fds = attachments->fds.items, .count = attachments->fds.count};
	pthread_t threads[CLOSERS];
	size_t started = 0;

	while (started < closers_of(closing.count) &&
	       !pthread_create(&threads[started], NULL, close_some, &closing))
		started++;
	close_some(&closing);
	while (started > 0)
		pthread_join(threads[--started], NULL);
}

/* A process that inherits its share of the descriptors. */
struct leaver {
	const struct leaving *leaving;
	size_t first, end;
	pid_t pid;
};

struct leaving {
	const int *fds;
	size_t count;
	int turn[2]; /* nothing is written: closed by each process that has only its share */
	int go[2];   /* nothing is written: closed when all may end */
	char *stacks;
	struct leaver leavers[CLOSERS];
	size_t started;
};

/* Waits for the end of a pipe. */
static void wait_closed(int fd)
{
	char byte;

	while (syscall(SYS_read, fd, &byte, 1) < 0 && errno == EINTR)
		;
}

/* Runs in a process that shares leakmon's memory but not its descriptors. */
static int leave_with(void *context)
{
	const struct leaver *leaver = context;
	const struct leaving *leaving = leaver->leaving;

	syscall(SYS_close, leaving->go[1]);
	for (size_t i = 0; i < leaving->count; i++) {
		if (i < leaver->first || i >= leaver->end)
			syscall(SYS_close, leaving->fds[i]);
	}
	syscall(SYS_close, leaving->turn[1]);
	wait_closed(leaving->go[0]);
	return 0;
}

/* Returns false if no process could be started for some share. */
static bool start_leavers(struct leaving *leaving)
{
	size_t shares = closers_of(leaving->count);

	while (leaving->started < shares) {
		size_t i = leaving->started;
		struct leaver *leaver = &leaving->leavers[i];

		*leaver = (struct leaver){.leaving = leaving,
					  .first = i * leaving->count / shares,
					  .end = (i + 1) * leaving->count / shares};
		leaver->pid = clone(leave_with, leaving->stacks + (i + 1) * APART_STACK, CLONE_VM,
				    leaver);
		if (leaver->pid < 0)
			return false;
		leaving->started++;
	}
	return true;
}

/* Returns false if nothing was closed. Signals are blocked. */
static bool close_by_processes(struct attachments *attachments, struct leaving *leaving)
{
	bool all = start_leavers(leaving);

	close(leaving->turn[1]);
	wait_closed(leaving->turn[0]);
	/* Each still belongs to a process about to end: this detaches nothing yet. */
	for (size_t i = 0; i < attachments->fds.count && all; i++)
		close(attachments->fds.items[i]);
	close(leaving->go[1]);
	while (leaving->started > 0)
		wait_apart(attachments, leaving->leavers[--leaving->started].pid);
	close(leaving->turn[0]);
	close(leaving->go[0]);
	return all;
}

static bool leaving_open(struct leaving *leaving)
{
	if (pipe2(leaving->turn, O_CLOEXEC))
		return false;
	if (!pipe2(leaving->go, O_CLOEXEC)) {
		leaving->stacks = mmap(NULL, CLOSERS * APART_STACK, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (leaving->stacks != MAP_FAILED)
			return true;
		close(leaving->go[0]);
		close(leaving->go[1]);
	}
	close(leaving->turn[0]);
	close(leaving->turn[1]);
	return false;
}

void attachments_close(struct attachments *attachments)
{
	struct leaving leaving = {.fds = attachments->fds.items, .count = attachments->fds.count};
	bool closed = !leaving.count;

	if (!closed && leaving_open(&leaving)) {
		sigset_t before;

		block_signals(&before);
		closed = close_by_processes(attachments, &leaving);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		munmap(leaving.stacks, CLOSERS * APART_STACK);
	}
	if (!closed)
		close_by_threads(attachments);
	vec_free(&attachments->fds);
}

int attachments_move(struct attachments *to, struct attachments *from)
{
	while (from->fds.count) {
		int *slot = vec_push(&to->fds);

		if (!slot)
			return -ENOMEM;
		*slot = from->fds.items[--from->fds.count];
	}
	return 0;
}
