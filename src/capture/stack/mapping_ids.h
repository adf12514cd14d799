/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completes mapping records with what their file is known by (file_identity.h). A file is read by
 * a thread of its own, since it can be one that answers late or never: then the record
 * is complete without, the thread is left behind, and another goes on (foreign_look.h).
 *
 * One thread puts and takes.
 */
#ifndef CAPTURE_STACK_MAPPING_IDS_H
#define CAPTURE_STACK_MAPPING_IDS_H

#include <stdbool.h>

#include "base/error.h"
#include "record/record.h"

struct mapping_ids;

/* With `drop` its thread gives up the privileges that capture does. *out is the caller's. */
int mapping_ids_open(struct mapping_ids **out, bool drop, struct error *e);

/* Ends the thread; one that is stuck is left behind. NULL is allowed. */
void mapping_ids_close(struct mapping_ids *ids);

/* Copies the record. False, and nothing done, if memory ran out or too many are waiting. */
bool mapping_ids_put(struct mapping_ids *ids, const struct record_mapping *r);

/* The next one that is complete, NULL if none is. Free it with free(). */
struct record_mapping *mapping_ids_take(struct mapping_ids *ids);

/*
 * Waits until all that was put is complete, until `until_ns` of this process's own
 * CLOCK_MONOTONIC at most. Those that are not by then are handed out by mapping_ids_take() as they
 * are.
 */
void mapping_ids_wait(struct mapping_ids *ids, u64 until_ns);

/*
 * How many records tell no identity because their file was not looked at, since the last call:
 * it did not answer in time, memory ran out, or mapping_ids_put() could not take them.
 */
u64 mapping_ids_missed(struct mapping_ids *ids);

#endif
