/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an ELF file says about a thread-local variable.
 *
 * The facts are those of the file: they hold for every process that maps it,
 * so they are looked up once and kept. How the variable is reached in one
 * process is found in that process's copy of the words that the dynamic loader
 * fills in ("slot" below), see context_locate.h.
 *
 * The input is hostile: any program may map any file. Every number is checked
 * before it is used, the work per file is bounded (ELF_TLS_BUDGET_BYTES).
 */
#ifndef ELF_TLS_H
#define ELF_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ELF_TLS_SEGMENTS 16		  /* loadable segments that are looked at */
#define ELF_TLS_BUDGET_BYTES (256u << 20) /* read of one file at most */

/* What the facts are read from. */
struct elf_source {
	/*
	 * Reads exactly len bytes at offset `at`; 0 or a negative errno. With
	 * in_memory, offsets count from the ELF header in the loaded image.
	 */
	int (*read)(const struct elf_source *source, uint64_t at, void *to, size_t len);
	uint64_t size;	  /* bytes that there are at most */
	bool in_memory;	  /* a loaded image: segments stand at their addresses */
	uint64_t image;	  /* in_memory: address of the ELF header */
	int fd;		  /* for elf_source_file() */
	pid_t pid;	  /* for elf_source_memory() */
	const void *data; /* for elf_source_buffer() */
};

/* A file; `fd` stays the caller's and must stay open while it is used. */
struct elf_source elf_source_file(int fd, uint64_t size_bytes);
/* size_bytes at `data`, which stay the caller's. */
struct elf_source elf_source_buffer(const void *data, size_t size_bytes);
/* The image of an ELF file in a process, whose header stands at `image`. */
struct elf_source elf_source_memory(pid_t pid, uint64_t image);

/* How code reaches the variable: the first of these that the file has. */
enum elf_tls_way {
	ELF_TLS_NONE = 0,	/* the variable is not defined here, or cannot be reached */
	ELF_TLS_TPOFF = 1,	/* the slot holds the offset from the thread pointer */
	ELF_TLS_DESCRIPTOR = 2, /* the slot is a TLS descriptor of two words */
	ELF_TLS_MODULE = 3,	/* the slot is {module, offset} */
	ELF_TLS_EXECUTABLE = 4, /* main executable: tp_offset holds for every process */
};

struct elf_tls_segment {
	uint64_t offset, address, size;
};

struct elf_tls {
	uint8_t way;	     /* enum elf_tls_way */
	uint8_t with_symbol; /* the relocation names the variable */
	uint8_t fixed;	     /* ET_EXEC: loaded where it was linked */
	uint8_t musl;	     /* its interpreter is musl's loader */
	uint8_t lazy_table;  /* 1 if lazy_begin..lazy_end is set */
	uint16_t machine;    /* EM_* */
	uint16_t segments;
	uint64_t slot;		       /* linked address of the slot */
	uint64_t symbol;	       /* offset of the variable in its TLS segment */
	uint64_t beyond;	       /* descriptor: the variable stands so far behind it */
	int64_t tp_offset;	       /* with ELF_TLS_EXECUTABLE */
	uint64_t lazy_begin, lazy_end; /* linked addresses of the PLT's relocations */
	struct elf_tls_segment segment[ELF_TLS_SEGMENTS];
};

/*
 * Reads the facts about the 8-byte thread-local variable `name`.
 *
 * Returns 0 also if the file does not have it (way is ELF_TLS_NONE then),
 * -ENOEXEC if it is no ELF file of this machine's kind or is damaged, another
 * negative errno if it cannot be read. `facts` is untouched on failure.
 * Threads may call it at once on different sources.
 */
int elf_tls_read(const struct elf_source *source, const char *name, struct elf_tls *facts);

/*
 * The difference between addresses in a process and linked addresses, from one
 * mapping of the file: it starts at `start` and shows the file from `offset`.
 * Returns 0, or -ENOENT if no loadable segment of the file is mapped so.
 */
int elf_tls_bias(const struct elf_tls *facts, uint64_t start, uint64_t offset, uint64_t *bias);

#endif
