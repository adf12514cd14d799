/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completes mapping records with the identity of their file (elf/identity.h). A thread of its own
 * reads the files, since a file may be on a file system that answers late or never. Then the record
 * stays without an identity, the thread is left behind, and another one goes on (proc/look.h).
 *
 * For one calling thread.
 */
#ifndef CAPTURE_STACK_MAPPING_IDS_H
#define CAPTURE_STACK_MAPPING_IDS_H

#include <stdbool.h>

#include "base/error.h"
#include "record/record.h"

struct mapping_ids;

/*
 * Starts the thread. With `drop` the thread drops capabilities like capture. *out is the caller's,
 * for mapping_ids_close(). 0 or a negative errno.
 */
int mapping_ids_open(struct mapping_ids **out, bool drop, struct error *e);

/* Ends the thread, or leaves it behind if it is stuck. NULL is allowed. */
void mapping_ids_close(struct mapping_ids *ids);

/* Copies the record. False, and nothing is done, if memory ran out or too many are waiting. */
bool mapping_ids_put(struct mapping_ids *ids, const struct record_mapping *r);

/* Returns the next complete record, for free(); NULL if there is none. */
struct record_mapping *mapping_ids_take(struct mapping_ids *ids);

/*
 * Waits until all records are complete, or until `until_ns` of this process's own CLOCK_MONOTONIC.
 * mapping_ids_take() then returns the remaining records without an identity.
 */
void mapping_ids_wait(struct mapping_ids *ids, u64 until_ns);

/*
 * Returns how many records since the last call have no identity because their file was not read: it
 * did not answer in time, memory ran out, or mapping_ids_put() refused the record.
 */
u64 mapping_ids_missed(struct mapping_ids *ids);

#endif
