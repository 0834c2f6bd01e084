/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds breakpoints in a process: code bytes that differ from those of the mapped file. */
#ifndef LEAKMON_E2E_CODE_BYTES_H
#define LEAKMON_E2E_CODE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CODE_BYTES_MAX 256

/* How many differ; the addresses of the first CODE_BYTES_MAX, if `addresses` is not NULL. */
size_t code_bytes_changed(pid_t pid, uint64_t *addresses);
#define code_difference(pid) code_bytes_changed(pid, NULL)

/* Until none differs: the kernel takes some time. Fails after ten seconds. */
void code_bytes_wait_clean(pid_t pid);

#endif
