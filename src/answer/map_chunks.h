/* SPDX-License-Identifier: Apache-2.0 */
/* Maps recordings and chunks into a partial file. */
#ifndef ANSWER_MAP_CHUNKS_H
#define ANSWER_MAP_CHUNKS_H

#include "answer/load.h"
#include "map/file/file.h"

/*
 * Maps what options->dirs name, each chunk without the others, into a file of its own: `spans`,
 * `from`, `to`, `boot`, `threads`, `notice` and `progress` of the options count. The checkpoint of
 * a recording that is named as a directory goes with it. A chunk that cannot be read is told, and
 * listed as unread. 0 and *out, which is the caller's, or a negative errno with the causes.
 */
int chunks_map_to_file(const struct source_options *options, struct partial_file **out,
		       struct error *e);

#endif
