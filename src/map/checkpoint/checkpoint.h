/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What still holds at an instant: the state that chunks carry which are about
 * to be deleted, as a partial that later ones merge with.
 *
 * It has the threads that go on (each as it was left: asleep in which call, woken
 * by whom, under which span), their names, processes, open files and services,
 * spans that have not ended (the latest 65,536, of each the latest 128 events and attributes),
 * what processes mapped (of each the latest 4096, and what a thread's last stack lies in),
 * containers of processes, formats of events, and, of what has no life here and is told once in
 * each chunk, the latest 4096: names of threads out of scope, files of io_urings' slots; likewise,
 * for five seconds, processes that are told before their threads, and what they mapped. It has no
 * time, count or closed span: these went with the chunks. Merged before map(rest), with
 * options.from_ns at the cut, it gives the answers that the whole would give
 * with the same options.
 */
#ifndef MAP_CHECKPOINT_CHECKPOINT_H
#define MAP_CHECKPOINT_CHECKPOINT_H

#include "base/bytes.h"
#include "map/partial.h"

/*
 * Appends what of `p` holds at its end (p->to_ns) to `out`. `p` must not be
 * finished; it is only good to be freed afterwards. 0 or -ENOMEM.
 */
int checkpoint_write(struct partial *p, struct bytes *out);

/*
 * Makes a partial of what checkpoint_write() wrote; borrowed only during the call.
 * 0 and *checkpoint, which is the caller's; -EBADMSG if it makes no sense, -EPROTO
 * if it is of another version, -ENOMEM.
 */
int checkpoint_read(struct partial **checkpoint, const void *data, size_t bytes,
		    const struct partial_options *options);

/*
 * Of a checkpoint that is to be merged to the right of what was recorded up to covered_ns: nobody
 * goes on from there, and until at_ns, where it ends, nothing is known. 0 or -ENOMEM.
 */
int checkpoint_follow(struct partial *checkpoint, u64 covered_ns, u64 at_ns);

#endif
