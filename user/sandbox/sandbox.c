// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandbox/sandbox.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "base/cleanup.h"
#include "sandbox/sandbox_filter.h"

/* "nobody" on every distribution; getpwnam() would load plugins. */
#define NOBODY 65534
/* Line information of up to 32 files, each with an alternate, and a request. */
#define MAX_FILES 128

/* When memory runs short, let it be us. The monitor starts another one. */
static void volunteer_for_oom(void)
{
	_cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1000", 4) < 0)
		return;
}

/*
 * The filter must let fstat() through, which glibc makes of a call that can take a path. So no
 * path leads anywhere: this directory holds nothing but numbers, and its parent is itself.
 */
static void leave_file_system(void)
{
	if (!chroot("/proc/self/fdinfo") && chdir("/"))
		_exit(1);
}

static int drop_privileges(void)
{
	capng_clear(CAPNG_SELECT_ALL);
	leave_file_system();
	/* Without the rights to change it, the identity stays; the capabilities go in any case. */
	if (geteuid() == 0)
		capng_change_id(NOBODY, NOBODY,
				(capng_flags_t)(CAPNG_DROP_SUPP_GRP | CAPNG_CLEAR_BOUNDING |
						CAPNG_CLEAR_AMBIENT));
	capng_clear(CAPNG_SELECT_ALL);
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

/* A limit that is lower already stays: nobody here may raise it. */
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
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_SIZE(limits); i++) {
		/* The sanitizer reserves terabytes for its shadow. */
		if (!SANDBOX_SANITIZED || limits[i].resource != RLIMIT_AS)
			err = set_limit(limits[i].resource, limits[i].value);
	}
	return err;
}

static int set_flags(void)
{
	/* Last of all: a change of identity clears the death signal and sets dumpable anew. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || prctl(PR_SET_DUMPABLE, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return 0;
}

int sandbox_enter(int socket, uint64_t memory_bytes)
{
	int err;

	prctl(PR_SET_NAME, "leakmon-parser");
	volunteer_for_oom();
	err = drop_privileges();
	if (!err)
		err = set_limits(memory_bytes);
	if (!err)
		err = set_flags();
	return err ? err : sandbox_filter_load(socket);
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
