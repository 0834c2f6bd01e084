/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is read whole into memory, with a limit on its size. */
#ifndef LEAKMON_PROC_SMALL_FILE_H
#define LEAKMON_PROC_SMALL_FILE_H

#include <stddef.h>

/*
 * The text of `path`, ending with a NUL that is not part of it, for the caller to free. 0;
 * -EFBIG: more than max_bytes; -ENOMEM; -errno of open and read. *text is untouched on error.
 */
int small_file_read(const char *path, size_t max_bytes, char **text);

/* The same from an open descriptor, which stays open. *length may be NULL. */
int small_file_read_fd(int fd, size_t max_bytes, char **text, size_t *length);

#endif
