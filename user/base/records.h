/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the output of a BPF iterator: records of one size, up to the end. */
#ifndef LEAKMON_BASE_RECORDS_H
#define LEAKMON_BASE_RECORDS_H

#include <stddef.h>

/*
 * Reads all records of `size` bytes; the caller frees *records, which is NULL if there are none.
 * Returns 0; -EPROTO: the last one is truncated; -ENOMEM; -errno. Outputs are untouched on error.
 */
int records_read(int fd, size_t size, void **records, size_t *count);

#endif
