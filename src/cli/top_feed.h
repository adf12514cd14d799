/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a running recording second by second: makes the recorder end its chunk each
 * time, and maps the chunk as a report does.
 */
#ifndef CLI_TOP_FEED_H
#define CLI_TOP_FEED_H

#include "answer/load.h"
#include "cli/read_options.h"

struct top_feed;

/*
 * Follows the recorder of options->dir. Without one, records into a temporary directory.
 * 0 or a negative errno. Free it with top_feed_close() in any case.
 */
int top_feed_open(struct top_feed **feed, const struct top_options *options, struct error *e);

/*
 * Loads what happened since the last call, or since top_feed_open(), for rows by `by`: of requests
 * in the last TOP_REQUEST_CHUNKS chunks. Earlier chunks only provide names of what continues. Free
 * `out` with source_free() in any case.
 */
#define TOP_REQUEST_CHUNKS 10
int top_feed_next(struct top_feed *feed, const char *by, struct source *out, struct error *e);

/* Ends its own recorder, and leaves nothing in the kernel or on the disk. NULL is allowed. */
void top_feed_close(struct top_feed *feed);

#endif
