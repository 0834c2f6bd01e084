/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading what a BPF iterator writes: records of one size, up to the end. */
#ifndef LEAKMON_BASE_RECORDS_H
#define LEAKMON_BASE_RECORDS_H

#include <stddef.h>

/*
 * All records of `size` bytes; the caller frees *records, which is NULL when there are none.
 * 0; -EPROTO: the last one is not whole; -ENOMEM; -errno. Outputs are untouched on error.
 */
int records_read(int fd, size_t size, void **records, size_t *count);

#endif
