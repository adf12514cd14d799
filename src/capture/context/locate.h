/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where a process keeps the OpenTelemetry context of its threads.
 *
 * The variable `otel_thread_ctx_v1` is looked for in every ELF file that the
 * process maps as code. What a file says is kept (struct context_files), so a
 * file seen before costs one fstat(). How the variable is reached in the process
 * stands in words of its memory that its dynamic loader fills in: until it has,
 * the answer is "not yet" and context_places_resolve() asks again for the price
 * of one read.
 *
 * Files are opened through the process's own view (/proc/PID/map_files, or
 * /proc/PID/root), which can block if it lies on a file system that does not
 * answer: call this from a thread that drains no ring, and whose looks are
 * supervised.
 */
#ifndef CAPTURE_CONTEXT_LOCATE_H
#define CAPTURE_CONTEXT_LOCATE_H

#include <sys/types.h>

#include "base/error.h"
#include "bpf/context_location.h"
#include "proc/look.h"

#define CONTEXT_VARIABLE "otel_thread_ctx_v1"
#define CONTEXT_PLACES_MAX 8 /* files of one process that define the variable */

/* What was found out about files. Not thread-safe. */
struct context_files;

/* NULL if there is no memory. */
struct context_files *context_files_new(void);
/* Frees it; NULL is allowed. */
void context_files_free(struct context_files *files);
/* What is asked of files goes through `looks`, the caller's; NULL: nobody supervises. */
void context_files_supervise(struct context_files *files, struct foreign_looks *looks);
/* How many files were opened and parsed so far (others were known). */
unsigned long context_files_parsed(const struct context_files *files);

/* The variable as one file in one process reaches it. */
struct context_place {
	u8 way; /* enum elf_tls_way */
	u8 with_symbol, musl;
	u64 slot;		  /* address in the process */
	u64 symbol, beyond;	  /* see struct elf_tls */
	u64 lazy_begin, lazy_end; /* addresses: an argument in between is not resolved */
	s64 tp_offset;
};

struct context_places {
	bool skipped; /* a file that may define it could not be looked at: see foreign_look.h */
	u32 count;    /* 0: no file that is mapped now defines it */
	struct context_place place[CONTEXT_PLACES_MAX];
};

/*
 * Looks for the variable in all files that the process maps.
 * Returns 0 (places->count may be 0), or a negative errno: -ESRCH if the
 * process is gone. What single files refuse is skipped. -ECANCELED: see foreign_look.h, nothing
 * that is shared is to be touched any more.
 */
int context_places_find(struct context_files *files, pid_t pid, struct context_places *places,
			struct error *e);

/*
 * Asks the process whether the loader has resolved the variable: 1 and the
 * location of the first place that is, 0 if none is yet (also if there is
 * none), or a negative errno.
 */
int context_places_resolve(pid_t pid, const struct context_places *places,
			   struct context_location *out);

/*
 * Both in one: 1 located, 0 not (yet) and worth a retry, or a negative errno.
 * `files` may be NULL: nothing is kept then. `out` is untouched unless 1.
 */
int context_locate(struct context_files *files, pid_t pid, struct context_location *out,
		   struct error *e);

#endif
