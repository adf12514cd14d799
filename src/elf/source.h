/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of an ELF file, wherever they come from: a file, a buffer, or the memory of a process. A
 * read outside of the source fails, so hostile offsets cannot reach beyond it.
 */
#ifndef ELF_SOURCE_H
#define ELF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct elf_source {
	/*
	 * Reads exactly len bytes at offset `at`. Returns 0; -ENOEXEC if the source has no such
	 * bytes; or another negative errno. With in_memory, offsets count from the ELF header of
	 * the loaded image.
	 */
	int (*read)(const struct elf_source *source, uint64_t at, void *to, size_t len);
	uint64_t size;	  /* upper limit of offsets, in bytes */
	bool in_memory;	  /* the source is a loaded image, laid out by address */
	uint64_t image;	  /* in_memory: address of the ELF header */
	int fd;		  /* for elf_source_file() */
	pid_t pid;	  /* for elf_source_memory() */
	const void *data; /* for elf_source_buffer() */
};

/* Reads a file. `fd` stays the caller's, who keeps it open while the source is used. */
struct elf_source elf_source_file(int fd, uint64_t size_bytes);
/* Reads size_bytes at `data`, which stay the caller's. */
struct elf_source elf_source_buffer(const void *data, size_t size_bytes);
/* Reads the loaded image of an ELF file in a process. Its ELF header is at address `image`. */
struct elf_source elf_source_memory(pid_t pid, uint64_t image);

#endif
