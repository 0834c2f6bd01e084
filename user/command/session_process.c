// SPDX-License-Identifier: GPL-2.0-or-later
/* What the stages know of one process. */
#include <errno.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/log.h"
#include "command/session.h"

void session_refresh(struct session *session, pid_t pid)
{
	/* At the end, only names are of use. */
	int error = interrupt_check() ? 0 : unwind_store_refresh(session->unwind, pid);

	if (error && error != -ESRCH && error != -EINTR)
		log_warning("process %d: its stacks are walked by frame pointer where new code is "
			    "mapped: %s",
			    pid, strerror(-error));
	symbolizer_refresh(session->symbolizer, (uint64_t)pid, pid);
}

void session_forget(struct session *session, pid_t pid)
{
	unwind_store_forget(session->unwind, pid);
	symbolizer_forget(session->symbolizer, (uint64_t)pid);
}
