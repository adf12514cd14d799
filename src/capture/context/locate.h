/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where a process keeps the OpenTelemetry context of its threads.
 *
 * The variable `otel_thread_ctx_v1` is looked for in every ELF file that the process maps as code.
 * The facts about a file are kept (struct context_files), so a file that was seen before costs one
 * fstat(). The dynamic loader of the process writes the variable's place into one or two words of
 * the process's memory. Until it has done so, the answer is "not yet", and context_places_resolve()
 * asks again at the cost of one read.
 *
 * Files are opened through the process's own view (/proc/PID/map_files, or /proc/PID/root), which
 * blocks if a file system does not answer. So this is for a thread that drains no ring and whose
 * looks are supervised.
 */
#ifndef CAPTURE_CONTEXT_LOCATE_H
#define CAPTURE_CONTEXT_LOCATE_H

#include <sys/types.h>

#include "base/error.h"
#include "bpf/context_location.h"
#include "proc/look.h"

#define CONTEXT_VARIABLE "otel_thread_ctx_v1"
#define CONTEXT_PLACES_MAX 8 /* files of one process that define the variable */

/* The facts about files that were read. Not thread-safe. */
struct context_files;

/* NULL if there is no memory. */
struct context_files *context_files_new(void);
/* Frees it; NULL is allowed. */
void context_files_free(struct context_files *files);
/* Supervises looks at files with `looks`, the caller's. NULL: nobody supervises. */
void context_files_supervise(struct context_files *files, struct foreign_looks *looks);
/* How many files were opened and parsed so far; the others were known. */
unsigned long context_files_parsed(const struct context_files *files);

/* How the variable of one file is reached in one process. */
struct context_place {
	u8 way; /* enum elf_tls_way */
	u8 with_symbol, musl;
	u64 slot;		  /* address in the process */
	u64 symbol, beyond;	  /* see struct elf_tls */
	u64 lazy_begin, lazy_end; /* an argument between these addresses is not resolved yet */
	s64 tp_offset;
};

/* What was found of the goroutines of one process. */
struct context_lights {
	struct light_location location; /* id 0: none */
	bool unread;			/* it has goroutines, and their numbers cannot be read */
};

struct context_places {
	bool skipped; /* a file was not looked at, since it hangs: it may define the variable */
	struct context_lights lights;
	u32 count; /* 0: no file that is mapped now defines it */
	struct context_place place[CONTEXT_PLACES_MAX];
};

/*
 * Looks for the variable in all files that the process maps, and for a Go runtime in them. A file
 * that cannot be read is skipped. Returns 0, also if places->count is 0, or a negative errno:
 * -ESRCH if the process is gone; -ECANCELED if the work was taken away (proc/look.h), and then
 * nothing shared must be touched.
 */
int context_places_find(struct context_files *files, pid_t pid, struct context_places *places,
			struct error *e);

/*
 * Reads from the process whether the loader has resolved the variable. Returns 1 and the location
 * at the first place that is resolved; 0 if there is no such place; or a negative errno.
 */
int context_places_resolve(pid_t pid, const struct context_places *places,
			   struct context_location *out);

/*
 * Does both. Returns 1: located; 0: not yet, or not at all; or a negative errno. With NULL for
 * `files` no facts are kept. `out` is untouched unless the result is 1.
 */
int context_locate(struct context_files *files, pid_t pid, struct context_location *out,
		   struct error *e);

#endif
