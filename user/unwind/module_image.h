/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ELF images that mappings show: files, and the one that the kernel itself provides. */
#ifndef LEAKMON_UNWIND_MODULE_IMAGE_H
#define LEAKMON_UNWIND_MODULE_IMAGE_H

#include <stdbool.h>

#include "proc/maps.h"

/* Whether there may be an image behind it: it is no memory of the process' own. */
bool module_image_exists(const struct mapping *mapping);

/*
 * Opens it. *vdso_fd, at first -1, is a copy of the vDSO, made when it is needed, that the caller
 * closes at last. A descriptor that the caller closes, or -errno as target_file_open_mapping().
 */
int module_image_open(int task, const struct mapping *mapping, int *vdso_fd);

#endif
