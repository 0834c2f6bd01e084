// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes of an ELF file, wherever it is. */
#include "elf/elf_file.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"

ssize_t elf_file_read(const struct elf_file *file, uint64_t offset, void *buffer, size_t size)
{
	size_t done = 0;

	if (offset >= file->size)
		return 0;
	size = MIN(size, file->size - offset);
	if (file->memory) {
		memcpy(buffer, (const char *)file->memory + offset, size);
		return (ssize_t)size;
	}
	while (done < size) {
		ssize_t got =
			pread(file->fd, (char *)buffer + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int elf_file_read_exact(const struct elf_file *file, uint64_t offset, void *buffer, size_t size)
{
	ssize_t got = elf_file_read(file, offset, buffer, size);

	if (got < 0)
		return (int)got;
	return (size_t)got == size ? 0 : -EBADMSG;
}
