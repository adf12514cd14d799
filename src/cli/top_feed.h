/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording second by second, while it goes on: each time the recorder is
 * asked to end its chunk, and the chunk is mapped as a report maps it.
 */
#ifndef CLI_TOP_FEED_H
#define CLI_TOP_FEED_H

#include "answer/load.h"
#include "cli/read_options.h"

struct top_feed;

/*
 * Follows the recorder of options->dir; without one, records by itself into a
 * directory for the time being. Free with top_feed_close() in any case.
 */
int top_feed_open(struct top_feed **feed, const struct top_options *options, struct error *e);

/*
 * What happened since the last call, or since top_feed_open(). Earlier chunks
 * serve only to name what goes on. Free `out` with source_free() in any case.
 */
int top_feed_next(struct top_feed *feed, struct source *out, struct error *e);

/* Ends its own recorder, leaves nothing in the kernel or on disk. NULL is fine. */
void top_feed_close(struct top_feed *feed);

#endif
