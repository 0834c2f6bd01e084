/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of a process's memory is in a heap that malloc knows nothing of. Plain data. */
#ifndef LEAKMON_REPORT_MANAGED_SHARE_H
#define LEAKMON_REPORT_MANAGED_SHARE_H

#include <stdint.h>

#include "report/runtime_label.h"

struct managed_share {
	struct runtime_label runtime; /* key NULL: it has none */
	uint64_t heap_bytes;	      /* of the runtime's heap, resident or in swap */
	uint64_t anonymous_bytes;     /* of all anonymous memory, that heap included */
};

#endif
