// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/vec.h"

/* Maps and programs, the sandboxed parser, and the needs of one target and one report. */
#define NEEDED_TO_START 112

size_t descriptors_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return getrlimit(RLIMIT_NOFILE, &limit) ? 0 : (size_t)limit.rlim_cur;
}

void descriptors_reserve_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* open() takes the lowest free number: those below are taken by now. */
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return;
	}
}

bool descriptors_left(size_t wanted)
{
	VEC(int) held = {0};
	bool left = true;

	for (size_t i = 0; i < wanted && left; i++) {
		int *fd = vec_push(&held);

		if (fd)
			*fd = eventfd(0, EFD_CLOEXEC);
		left = fd && *fd >= 0;
	}
	for (size_t i = 0; i < held.count; i++)
		cleanup_close(&held.items[i]);
	vec_free(&held);
	return left;
}

int descriptors_check_start(void)
{
	struct rlimit limit = {0};

	if (descriptors_left(NEEDED_TO_START))
		return 0;
	getrlimit(RLIMIT_NOFILE, &limit);
	log_error(
		"out of file descriptors: this process may have %llu, leakmon needs %d more, and ten per target; raise `ulimit -Hn`",
		(unsigned long long)limit.rlim_cur, NEEDED_TO_START);
	return -EMFILE;
}

bool descriptors_are_out(int error)
{
	return error == -EMFILE || error == -ENFILE;
}
