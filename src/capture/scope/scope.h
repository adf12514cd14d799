/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What src/capture/scope offers to the rest of capture: which threads are recorded, and what a
 * snapshot tells of them. Functions return 0 or a negative errno, also one of the sink.
 */
#ifndef CAPTURE_SCOPE_SCOPE_H
#define CAPTURE_SCOPE_SCOPE_H

#include "capture/capture.h"

struct bpf_program;

/* ---- scope.c: the scope, told to the kernel programs ---- */

/* Before the programs are loaded: finds the cgroups of the options. */
int capture_scope_set(struct capture *c, const struct capture_options *options, struct error *e);
/* Once they are loaded: puts the processes and cgroups of the options in scope. */
int capture_scope_add(struct capture *c, const struct capture_options *options, struct error *e);
/* With the programs attached: adds the descendants of the processes in scope. */
int capture_scope_add_children(struct capture *c, struct error *e);
/* With the programs attached: finds cgroups that were made again since capture_scope_set(). */
int capture_scope_look_again(struct capture *c, struct error *e);
/* Puts a child that waits for its exec in scope, from that exec on. */
int capture_scope_seed(struct capture *c, pid_t child, struct error *e);
/* After the snapshot: forgets the numbers of processes that were named. */
void capture_scope_settled(struct capture *c);

/* ---- iterator.c ---- */

/* Runs an iterator over all threads, or over those of one process (0: all). */
int capture_iterator_run(struct capture *c, const struct capture_sink *sink,
			 struct bpf_program *program, u32 pid);
/* Runs an iterator that only marks threads, over all of them. */
int capture_scope_iterate(struct capture *c, struct bpf_program *program);

/* ---- inherited.c: what the command has when it begins ---- */

/* Keeps what an iterator tells of the command that waits for its exec. It has set head.seq. */
int inherited_take(struct capture *c, const struct capture_stream *stream,
		   const struct record_head *r);
/* Tells the sink the process, and what was kept, if `exec` is the record of the command's exec. */
int inherited_deliver(struct capture *c, const struct capture_sink *sink,
		      const struct record_head *exec);

/* ---- snapshot_hidden.c ---- */

/* In a recording of the host: names the processes that the kernel's list did not show. */
int capture_hidden_tell(struct capture *c, const struct capture_sink *sink);
/* Counts the processes in scope that it did not show. Before capture_scope_settled(). */
void capture_hidden_count(struct capture *c);

/* ---- snapshot_cgroup.c ---- */

/* Names the cgroups of the default hierarchy, and those of containers in the others. */
int capture_snapshot_cgroups(struct capture *c, const struct capture_sink *sink);

#endif
