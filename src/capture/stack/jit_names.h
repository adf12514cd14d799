/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code that programs make as they run, from the file that they write for it,
 * /tmp/perf-PID.map (proc/perf_map.h): Node with --perf-basic-prof, Java with `jcmd
 * Compiler.perfmap` or an agent, Python with its perf trampoline. Only functions that stacks lead
 * into are told, as mappings with the path RECORD_MAPPING_JIT.
 *
 * The file is looked for in the root of the process, with the number that the process has there. It
 * must be a regular file of the user of the process, or of root. It is opened once the process is
 * seen to have such code, so that its names are still there when the process has ended, and read
 * when a chunk ends. A thread of its own does both, since a file can be on a file system that never
 * answers (proc/look.h).
 *
 * For one calling thread.
 */
#ifndef CAPTURE_STACK_JIT_NAMES_H
#define CAPTURE_STACK_JIT_NAMES_H

#include <stdbool.h>

#include "base/error.h"
#include "record/record.h"

struct jit_names;

/*
 * Starts the thread. With `drop` the thread drops capabilities like capture. *out is the caller's,
 * for jit_names_close(). 0 or a negative errno.
 */
int jit_names_open(struct jit_names **out, bool drop, struct error *e);

/* Ends the thread, or leaves it behind if it is stuck. NULL is allowed. */
void jit_names_close(struct jit_names *j);

/* A stack has led into this mapping of code without a file. */
void jit_names_mapped(struct jit_names *j, const struct record_mapping *r);

/* The process executes another program, or another process has its number. */
void jit_names_forget(struct jit_names *j, u32 pid);

/* Asks for the names of the addresses of a record with a user stack that are in such code. */
void jit_names_ask(struct jit_names *j, const struct record_head *r);

/* Looks for files that were not there, now and then. */
void jit_names_poll(struct jit_names *j);

/* Reads the files, and waits for that until `until_ns` of this process's own CLOCK_MONOTONIC. */
void jit_names_wait(struct jit_names *j, u64 until_ns);

/* Returns the next mapping to be told, for free(); NULL if there is none. */
struct record_mapping *jit_names_take(struct jit_names *j);

/* Returns how many addresses since the last call were too many to be asked for. */
u64 jit_names_missed(struct jit_names *j);

#endif
