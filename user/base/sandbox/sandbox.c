// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/sandbox/sandbox.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/urgency.h"

#define CALL(name) SCMP_SYS(name)
#define MAX_CONDITIONS 2

/* Every condition must hold. A mask of 0 ends the list. */
struct rule {
	int call;
	struct condition {
		unsigned int argument;
		uint64_t mask, value;
	} conditions[MAX_CONDITIONS];
};

#define EXACTLY UINT64_MAX

/* File descriptors, flags and commands are ints: the upper half is undefined. */
#define EXACTLY_INT UINT32_MAX

static const struct rule allowed[] = {
	{CALL(read), {{0}}},
	{CALL(pread64), {{0}}},
	{CALL(lseek), {{0}}},
	{CALL(close), {{0}}},
	{CALL(fstat), {{0}}},
	{CALL(newfstatat), {{3, AT_EMPTY_PATH, AT_EMPTY_PATH}}},
	{CALL(fcntl), {{1, EXACTLY_INT, F_DUPFD_CLOEXEC}}},
	{CALL(fcntl), {{1, EXACTLY_INT, F_GETFD}}},
	{CALL(fcntl), {{1, EXACTLY_INT, F_GETFL}}},
	/* Anonymous memory only, not executable. */
	{CALL(mmap), {{2, PROT_EXEC, 0}, {3, MAP_ANONYMOUS, MAP_ANONYMOUS}}},
	{CALL(mprotect), {{2, PROT_EXEC, 0}}},
	{CALL(mremap), {{0}}},
	{CALL(munmap), {{0}}},
	{CALL(madvise), {{0}}},
	{CALL(brk), {{0}}},
	/* qsort() asks for the amount of memory. */
	{CALL(sysinfo), {{0}}},
	{CALL(getrandom), {{0}}},
	{CALL(futex), {{0}}},
	{CALL(clock_gettime), {{0}}},
	{CALL(prlimit64), {{0, EXACTLY_INT, 0}, {1, EXACTLY_INT, RLIMIT_CPU}}},
	{CALL(rt_sigaction), {{0}}},
	{CALL(rt_sigprocmask), {{0}}},
	{CALL(rt_sigreturn), {{0}}},
	{CALL(restart_syscall), {{0}}},
	{CALL(exit), {{0}}},
	{CALL(exit_group), {{0}}},
};

/*
 * Calls that libraries try without needing them: on files named in a target's file, or leakmon's
 * own name.
 */
static const int refused[] = {
	CALL(open),  CALL(openat), CALL(openat2), CALL(readlink),  CALL(readlinkat), CALL(stat),
	CALL(lstat), CALL(statx),  CALL(access),  CALL(faccessat), CALL(faccessat2), CALL(getcwd),
};

#if SANDBOX_SANITIZED

/* For the sanitizer's reports, and for _exit(). */
static const struct rule sanitizer[] = {
	{CALL(write), {{0, EXACTLY_INT, STDERR_FILENO}}},
	{CALL(sigaltstack), {{0}}},
};

#endif

static int add_rule(scmp_filter_ctx filter, uint32_t action, const struct rule *rule)
{
	struct scmp_arg_cmp compare[MAX_CONDITIONS];
	unsigned int count = 0;

	for (; count < MAX_CONDITIONS && rule->conditions[count].mask; count++) {
		const struct condition *condition = &rule->conditions[count];

		compare[count] = SCMP_CMP(condition->argument, SCMP_CMP_MASKED_EQ, condition->mask,
					  condition->value);
	}
	return seccomp_rule_add_array(filter, action, rule->call, count, compare);
}

static int allow(scmp_filter_ctx filter, const struct rule *rules, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		error = add_rule(filter, SCMP_ACT_ALLOW, &rules[i]);
	return error;
}

static int allow_socket(scmp_filter_ctx filter, int socket)
{
	const struct rule rules[] = {
		{CALL(recvmsg), {{0, EXACTLY_INT, (uint32_t)socket}}},
		/* glibc's send(): no address. */
		{CALL(sendto), {{0, EXACTLY_INT, (uint32_t)socket}, {4, EXACTLY, 0}}},
	};

	return allow(filter, rules, ARRAY_SIZE(rules));
}

static int allow_server(scmp_filter_ctx filter, int control, int listening)
{
	const struct rule rules[] = {
		{CALL(recvmsg), {{0, EXACTLY_INT, (uint32_t)control}}},
		{CALL(accept4), {{0, EXACTLY_INT, (uint32_t)listening}}},
		{CALL(poll), {{0}}},
		{CALL(shutdown), {{0}}},
		/* recv() and send(): no addresses. */
		{CALL(recvfrom), {{4, EXACTLY, 0}}},
		{CALL(sendto), {{4, EXACTLY, 0}}},
	};

	return allow(filter, rules, ARRAY_SIZE(rules));
}

static int refuse(scmp_filter_ctx filter)
{
	const struct rule stat_of_path = {CALL(newfstatat), {{3, AT_EMPTY_PATH, 0}}};
	int error = add_rule(filter, SCMP_ACT_ERRNO(EACCES), &stat_of_path);

	for (size_t i = 0; !error && i < ARRAY_SIZE(refused); i++)
		error = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EACCES), refused[i], 0, NULL);
	return error;
}

/* Read-only: neither O_WRONLY nor O_RDWR, nor O_CREAT. */
#define CHANGES (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)

static const struct rule pusher[] = {
	{CALL(socket), {{0, EXACTLY_INT, AF_INET}}},
	{CALL(socket), {{0, EXACTLY_INT, AF_INET6}}},
	/* The machine's own addresses, by which getaddrinfo() sorts its results. */
	{CALL(socket), {{0, EXACTLY_INT, AF_NETLINK}, {2, EXACTLY_INT, NETLINK_ROUTE}}},
	{CALL(connect), {{0}}},
	{CALL(bind), {{0}}},
	{CALL(getsockname), {{0}}},
	{CALL(getpeername), {{0}}},
	{CALL(getsockopt), {{0}}},
	{CALL(setsockopt), {{0}}},
	{CALL(sendto), {{0}}},
	{CALL(sendmsg), {{0}}},
	{CALL(sendmmsg), {{0}}},
	{CALL(recvfrom), {{0}}},
	{CALL(recvmsg), {{0}}},
	{CALL(write), {{0}}},
	{CALL(shutdown), {{0}}},
	{CALL(poll), {{0}}},
	{CALL(ppoll), {{0}}},
	{CALL(ioctl), {{1, EXACTLY_INT, FIONREAD}}},
	{CALL(ioctl), {{1, EXACTLY_INT, FIONBIO}}},
	{CALL(fcntl), {{1, EXACTLY_INT, F_SETFD}}},
	{CALL(fcntl), {{1, EXACTLY_INT, F_SETFL}}},
	{CALL(open), {{1, CHANGES, 0}}},
	{CALL(openat), {{2, CHANGES, 0}}},
	{CALL(stat), {{0}}},
	{CALL(lstat), {{0}}},
	{CALL(newfstatat), {{0}}},
	{CALL(statx), {{0}}},
	{CALL(access), {{0}}},
	{CALL(faccessat), {{0}}},
	{CALL(readlink), {{0}}},
	{CALL(readlinkat), {{0}}},
	{CALL(getdents64), {{0}}},
	{CALL(uname), {{0}}},
	{CALL(getpid), {{0}}},
	{CALL(gettid), {{0}}},
	{CALL(getuid), {{0}}},
	{CALL(geteuid), {{0}}},
	{CALL(getgid), {{0}}},
	{CALL(getegid), {{0}}},
	{CALL(gettimeofday), {{0}}},
	{CALL(clock_nanosleep), {{0}}},
	{CALL(sched_yield), {{0}}},
};

/* `listening` is -1 for a parser, PUSHES for a process with no socket of the monitor but one. */
#define PUSHES (-2)

static int add_rules(scmp_filter_ctx filter, int socket, int listening)
{
	int error = allow(filter, allowed, ARRAY_SIZE(allowed));

#if SANDBOX_SANITIZED
	if (!error)
		error = allow(filter, sanitizer, ARRAY_SIZE(sanitizer));
#endif
	if (!error && listening == PUSHES)
		return allow(filter, pusher, ARRAY_SIZE(pusher));
	if (!error)
		error = listening < 0 ? allow_socket(filter, socket)
				      : allow_server(filter, socket, listening);
	return error ? error : refuse(filter);
}

/*
 * Loads the filter: a call that is neither allowed nor listed as refused kills the process, unless
 * it pushes. Needs no_new_privs. Messages go through `socket` only. Returns 0 or -errno.
 */
static int sandbox_filter_load(int socket, int listening)
{
	bool refuses = SANDBOX_SANITIZED || listening == PUSHES;
	scmp_filter_ctx filter =
		seccomp_init(refuses ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS);
	int error;

	if (!filter)
		return -ENOMEM;
	error = add_rules(filter, socket, listening);
	if (!error)
		error = seccomp_load(filter);
	seccomp_release(filter);
	return error;
}

/* "nobody" on every distribution; getpwnam() would load plugins. */
#define NOBODY 65534

/* Line information of up to 32 files, each with an alternate file, and a request. */
#define MAX_FILES 128

/*
 * If memory runs short, the OOM killer should take this process first. The monitor starts another
 * one.
 */
static void volunteer_for_oom(void)
{
	_cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1000", 4) < 0)
		return;
}

/*
 * The filter must allow fstat(), which glibc implements by a call that can take a path. So no path
 * may lead anywhere: this directory holds nothing but numbers, and it is its own parent.
 */
static void leave_file_system(void)
{
	if (!chroot("/proc/self/fdinfo") && chdir("/"))
		_exit(1);
}

static int drop_privileges(bool keeps_files)
{
	capng_flags_t also = CAPNG_DROP_SUPP_GRP;

	/* Only CAP_SETPCAP may clear the bounding set, which no_new_privs makes useless anyway. */
	if (!capng_get_caps_process() && capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		also |= CAPNG_CLEAR_BOUNDING;
	capng_clear(CAPNG_SELECT_ALL);
	if (!keeps_files)
		leave_file_system();
	/* Without the right to change it, the identity stays; the capabilities go in any case. */
	if (geteuid() == 0)
		capng_change_id(NOBODY, NOBODY, also | CAPNG_CLEAR_AMBIENT);
	capng_clear(CAPNG_SELECT_ALL);
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

/* A limit that is already lower stays: it could not be raised again. */
static int set_limit(int resource, uint64_t value)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return -errno;
	limit.rlim_cur = limit.rlim_max = MIN(value, limit.rlim_max);
	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

static int set_limits(uint64_t memory_bytes)
{
	const struct {
		int resource;
		uint64_t value;
	} limits[] = {
		{RLIMIT_AS, memory_bytes}, {RLIMIT_CORE, 0},	       {RLIMIT_FSIZE, 0},
		{RLIMIT_NPROC, 0},	   {RLIMIT_MSGQUEUE, 0},       {RLIMIT_MEMLOCK, 0},
		{RLIMIT_NICE, 0},	   {RLIMIT_NOFILE, MAX_FILES},
	};
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(limits); i++) {
		/* The sanitizer reserves terabytes for its shadow. */
		if (!SANDBOX_SANITIZED || limits[i].resource != RLIMIT_AS)
			error = set_limit(limits[i].resource, limits[i].value);
	}
	return error;
}

static int set_flags(void)
{
	/*
	 * Last of all, because a change of identity clears the death signal and sets dumpable
	 * again.
	 */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || prctl(PR_SET_DUMPABLE, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return 0;
}

/*
 * Files of name services and certificates; directories, because files in them are replaced at run
 * time. No other file may be read: landlock(7), from Linux 5.13 on; without it, world-readable
 * files may be.
 */
static const char *const readable[] = {
	"/etc",
	"/run/systemd/resolve",
	"/run/resolvconf",
	"/run/NetworkManager",
	"/usr/lib/ssl",
	"/usr/share/ca-certificates",
	"/usr/local/share/ca-certificates",
	"/usr/share/pki",
	"/usr/share/crypto-policies",
	"/var/lib/ca-certificates",
};

#define READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* Needs no_new_privs. */
static void restrict_files(void)
{
	/* All rights of landlock's first version. */
	const struct landlock_ruleset_attr all = {.handled_access_fs =
							  (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
	_cleanup_close_ int rules =
		(int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all.handled_access_fs), 0);

	for (size_t i = 0; rules >= 0 && i < ARRAY_SIZE(readable); i++) {
		_cleanup_close_ int place = open(readable[i], O_PATH | O_CLOEXEC);
		const struct landlock_path_beneath_attr rule = {.allowed_access = READS,
								.parent_fd = place};

		if (place >= 0)
			syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	}
	if (rules >= 0)
		syscall(SYS_landlock_restrict_self, rules, 0);
}

static int enter(const char *name, int socket, int listening, uint64_t memory_bytes)
{
	int error;

	prctl(PR_SET_NAME, name);
	volunteer_for_oom();
	urgency_renounce();
	error = drop_privileges(listening == PUSHES);
	if (!error)
		error = set_limits(memory_bytes);
	if (!error)
		error = set_flags();
	if (!error && listening == PUSHES)
		restrict_files();
	return error ? error : sandbox_filter_load(socket, listening);
}

int sandbox_enter(int socket, uint64_t memory_bytes)
{
	return enter("leakmon-parser", socket, -1, memory_bytes);
}

int sandbox_enter_server(int control, int listening, uint64_t memory_bytes)
{
	return enter("leakmon-http", control, listening, memory_bytes);
}

int sandbox_enter_pusher(uint64_t memory_bytes)
{
	return enter("leakmon-push", -1, PUSHES, memory_bytes);
}

void sandbox_limit_cpu(uint32_t seconds)
{
	struct rlimit limit = {.rlim_max = RLIM_INFINITY};
	struct timespec used;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used))
		return;
	limit.rlim_cur = (rlim_t)used.tv_sec + seconds + 1;
	setrlimit(RLIMIT_CPU, &limit);
}
