/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/source.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static bool range_fits(const struct elf_source *source, uint64_t at, size_t len)
{
	return at <= source->size && len <= source->size - at;
}

static int file_read(const struct elf_source *source, uint64_t at, void *to, size_t len)
{
	size_t done = 0;

	if (!range_fits(source, at, len))
		return -ENOEXEC;
	while (done < len) {
		ssize_t n = pread(source->fd, (char *)to + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOEXEC;
		done += (size_t)n;
	}
	return 0;
}

static int buffer_read(const struct elf_source *source, uint64_t at, void *to, size_t len)
{
	if (!range_fits(source, at, len))
		return -ENOEXEC;
	memcpy(to, (const char *)source->data + at, len);
	return 0;
}

static int memory_read(const struct elf_source *source, uint64_t at, void *to, size_t len)
{
	struct iovec local = {to, len};
	struct iovec remote = {(void *)(uintptr_t)(source->image + at), len};
	ssize_t n;

	if (!range_fits(source, at, len))
		return -ENOEXEC;
	n = process_vm_readv(source->pid, &local, 1, &remote, 1, 0);
	if (n < 0)
		return errno == EFAULT ? -ENOEXEC : -errno;
	return (size_t)n == len ? 0 : -ENOEXEC;
}

struct elf_source elf_source_file(int fd, uint64_t size_bytes)
{
	return (struct elf_source){.read = file_read, .size = size_bytes, .fd = fd};
}

struct elf_source elf_source_buffer(const void *data, size_t size_bytes)
{
	return (struct elf_source){.read = buffer_read, .size = size_bytes, .data = data};
}

struct elf_source elf_source_memory(pid_t pid, uint64_t image)
{
	return (struct elf_source){.read = memory_read,
				   .size = UINT64_MAX - image,
				   .in_memory = true,
				   .image = image,
				   .pid = pid};
}
