// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/module_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "proc/target_file.h"

static bool is_vdso(const struct mapping *mapping)
{
	return !mapping->inode && !strcmp(mapping->path, "[vdso]");
}

bool module_image_exists(const struct mapping *mapping)
{
	return mapping->inode || is_vdso(mapping);
}

/* The kernel maps the same vDSO into every 64-bit process: our own stands for the target's. */
static int copy_vdso(void)
{
	const char *image =
		(const char *)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr)
	_cleanup_close_ int fd = image ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	const Elf64_Ehdr *header = (const void *)image;
	size_t size;

	if (fd < 0)
		return -ENOENT;
	/* Its section headers come last (vdso2c.h of the kernel). */
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	if (write(fd, image, size) != (ssize_t)size)
		return -EIO;
	return TAKE_FD(fd);
}

int module_image_open(int task, const struct mapping *mapping, int *vdso_fd)
{
	if (!is_vdso(mapping))
		return target_file_open_mapping(task, mapping);
	if (*vdso_fd < 0)
		*vdso_fd = copy_vdso();
	return *vdso_fd < 0 ? -ENOENT : fcntl(*vdso_fd, F_DUPFD_CLOEXEC, 0);
}
