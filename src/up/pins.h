/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins: chunks that stay when retention deletes the others. A pin is a recording of its own in the
 * folder `pins` of the directory, with the chunks of its time as hard links, so that it takes no
 * room until the chunks are deleted. `fathom trace` and `fathom report` take it.
 *
 *   pins/NAME/          NAME: when its time begins, and the trace or a word
 *     CHUNK/            links to the files of the chunk
 *     checkpoint        the state before the first chunk, where it is known
 *     .pin              a line: from and to in ns since 1970, the trace or -, bytes, chunks, why
 *
 * Whoever calls these functions owns the chunks. Several processes may call them at once.
 */
#ifndef UP_PINS_H
#define UP_PINS_H

#include "base/error.h"
#include "base/json.h"
#include "base/vec.h"
#include "chunk/checkpoint.h"

#define PINS_DIR "pins"
#define PIN_NAME_BYTES 96
#define PIN_WHY_BYTES 64
#define PIN_TRACE_BYTES 33
#define PINS_BYTES_DEFAULT ((uint64_t)512 << 20) /* where --keep has no size */
#define PINS_PERCENT 20				 /* of --keep, else */

struct pin {
	char name[PIN_NAME_BYTES];
	char trace[PIN_TRACE_BYTES]; /* 32 hex digits; "": it is of a time */
	char why[PIN_WHY_BYTES];     /* PIN_ASKED, "slow", or "monitor NAME" */
	uint64_t from_ns, to_ns;     /* since 1970 */
	uint64_t bytes, chunks;
	uint64_t made_ns; /* since 1970 */
};

typedef VEC(struct pin) pin_list;

/*
 * Pins what the chunks of the directory `dir` (a descriptor) have of the time of a pin, of which
 * trace, why and the times are given; fills in the rest. `state`, which may be NULL, is that before
 * state_end_unix_ns: chunks from there on are pinned, too. All pins take `most_bytes` at most: the
 * oldest of those go that nobody asked for, then the oldest of the others. One that nobody asked
 * for neither takes the room of those, nor the place of one of the same name, which is returned
 * then. -ENOENT: no chunk is left of that time; -E2BIG: it is larger than the room.
 */
struct pin_state {
	const struct recording_checkpoint *checkpoint;
	uint64_t first; /* the number of the chunk behind it */
};
int pin_make(int dir, struct pin *pin, const struct pin_state *state, uint64_t most_bytes,
	     struct error *e);

/* Appends all pins, the newest first. 0 or a negative errno. */
int pins_list(int dir, pin_list *out);

/* -ENOENT: there is none of that name. */
int pin_remove(int dir, const char *name, struct error *e);

/* Writes an object. */
void pin_write(struct json *j, const struct pin *pin);

/* How much pins may take, by the limits of chunks. */
uint64_t pins_bytes(uint64_t keep_bytes);

#endif
