/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checkpoint: the state that chunks carry which are about to be deleted, as a partial with which
 * later ones merge.
 *
 * It has
 * - the threads that go on, each as it was left: asleep in which call, woken by whom, under which
 *   span;
 * - their names, processes, open files, services and containers;
 * - spans that have not ended: the latest 65,536, each with its latest 128 events and attributes;
 * - mappings of processes: the latest 4096 of each, and those in which a thread's last stack lies;
 * - formats of events;
 * - of what has no life here and is told once in each chunk the latest 4096: names of threads out
 *   of scope, files in slots of io_urings; and, for five seconds, processes that are told before
 *   their threads, and their mappings.
 *
 * It has no time, count or closed span: these went with the chunks. Merged before map(rest), with
 * options.from_ns at the cut, it gives the answers that the whole would give with the same options.
 */
#ifndef MAP_CHECKPOINT_CHECKPOINT_H
#define MAP_CHECKPOINT_CHECKPOINT_H

#include "base/bytes.h"
#include "map/partial.h"

/*
 * Appends a checkpoint of `p` at its end (p->to_ns) to `out`. `p` must not be finished; afterwards
 * it is only to be freed. 0 or -ENOMEM.
 */
int checkpoint_write(struct partial *p, struct bytes *out);

/*
 * Makes a partial of the bytes that checkpoint_write() wrote; they are borrowed only during the
 * call. 0 and *checkpoint, which is the caller's; -EBADMSG if they make no sense, -EPROTO if they
 * are of another version, -ENOMEM.
 */
int checkpoint_read(struct partial **checkpoint, const void *data, size_t bytes,
		    const struct partial_options *options);

/*
 * Prepares a checkpoint that is to be merged to the right of a recording that ends at covered_ns:
 * no thread goes on from there, and nothing is known until at_ns, where the checkpoint ends. 0 or
 * -ENOMEM.
 */
int checkpoint_follow(struct partial *checkpoint, u64 covered_ns, u64 at_ns);

#endif
