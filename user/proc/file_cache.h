/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was found out about files, by file version: many processes map the same ones. */
#ifndef LEAKMON_PROC_FILE_CACHE_H
#define LEAKMON_PROC_FILE_CACHE_H

#include <sys/stat.h>

struct file_cache;

/* `release` frees one value, content and all. NULL: out of memory. */
struct file_cache *file_cache_new(void (*release)(void *value));
void file_cache_free(struct file_cache *cache);

/*
 * What is kept of the file that `status` describes, or NULL: nothing is. It belongs to the cache. A
 * file that was written to since is another version.
 */
void *file_cache_get(const struct file_cache *cache, const struct stat *status);

/* Keeps `value`. 0; -ENOMEM: it is still the caller's. */
int file_cache_put(struct file_cache *cache, const struct stat *status, void *value);

#endif
