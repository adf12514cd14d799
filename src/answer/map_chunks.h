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
 * listed as unread. 0 and *out, which is the caller's, or a negative errno with the causes: -ERANGE
 * if the range lies outside of the recordings that are named; single chunks may lie outside of it.
 */
int chunks_map_to_file(const struct source_options *options, struct partial_file **out,
		       struct error *e);

/* The same with the terms of another file, wherever their range lies. */
int chunks_map_alike(const struct source_options *options, const struct partial_terms *terms,
		     struct partial_file **out, struct error *e);

#endif
