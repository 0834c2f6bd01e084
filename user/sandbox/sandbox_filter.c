// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandbox/sandbox_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"

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
/* File descriptors, flags and commands are ints: the upper half is anybody's guess. */
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
	/* Memory, but no files in it and no code. */
	{CALL(mmap), {{2, PROT_EXEC, 0}, {3, MAP_ANONYMOUS, MAP_ANONYMOUS}}},
	{CALL(mprotect), {{2, PROT_EXEC, 0}}},
	{CALL(mremap), {{0}}},
	{CALL(munmap), {{0}}},
	{CALL(madvise), {{0}}},
	{CALL(brk), {{0}}},
	/* qsort() asks how much memory there is. */
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

/* What libraries try without needing it: files named in a target's file, our own name. */
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
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		err = add_rule(filter, SCMP_ACT_ALLOW, &rules[i]);
	return err;
}

static int allow_socket(scmp_filter_ctx filter, int socket)
{
	const struct rule rules[] = {
		{CALL(recvmsg), {{0, EXACTLY_INT, (uint32_t)socket}}},
		/* What glibc makes of send(): no address. */
		{CALL(sendto), {{0, EXACTLY_INT, (uint32_t)socket}, {4, EXACTLY, 0}}},
	};

	return allow(filter, rules, ARRAY_SIZE(rules));
}

static int refuse(scmp_filter_ctx filter)
{
	const struct rule stat_of_path = {CALL(newfstatat), {{3, AT_EMPTY_PATH, 0}}};
	int err = add_rule(filter, SCMP_ACT_ERRNO(EACCES), &stat_of_path);

	for (size_t i = 0; !err && i < ARRAY_SIZE(refused); i++)
		err = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EACCES), refused[i], 0, NULL);
	return err;
}

static int add_rules(scmp_filter_ctx filter, int socket)
{
	int err = allow(filter, allowed, ARRAY_SIZE(allowed));

#if SANDBOX_SANITIZED
	if (!err)
		err = allow(filter, sanitizer, ARRAY_SIZE(sanitizer));
#endif
	if (!err)
		err = allow_socket(filter, socket);
	return err ? err : refuse(filter);
}

int sandbox_filter_load(int socket)
{
	scmp_filter_ctx filter =
		seccomp_init(SANDBOX_SANITIZED ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS);
	int err;

	if (!filter)
		return -ENOMEM;
	err = add_rules(filter, socket);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}
