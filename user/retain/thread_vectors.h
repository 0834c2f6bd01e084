/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each thread's dynamic thread vector (DTV), which says where its copies of modules' thread-locals
 * lie, as it was while the process stood.
 */
#ifndef LEAKMON_RETAIN_THREAD_VECTORS_H
#define LEAKMON_RETAIN_THREAD_VECTORS_H

#include "retain/picture.h"

/*
 * Copies those that look like glibc's; what is swapped out, too large or not read by
 * peek's deadline is left out: then names are missing, nothing else. 0 or -ENOMEM.
 */
int thread_vectors_read(struct picture *picture, struct peek *peek);

#endif
