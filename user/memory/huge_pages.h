/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of a process's huge pages was hardly ever written to. */
#ifndef LEAKMON_MEMORY_HUGE_PAGES_H
#define LEAKMON_MEMORY_HUGE_PAGES_H

#include "memory/memory_parts.h"

/*
 * Reads anonymous huge pages and counts the small pages in them that are all zero: never written
 * to, or written with zeros only. At most 256 MiB of them are read, spread over all. 0 or -ENOMEM.
 */
int huge_pages_check(const struct smaps *smaps, struct memory_source source, int pagemap,
		     struct memory_huge *huge);

#endif
