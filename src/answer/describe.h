/* SPDX-License-Identifier: Apache-2.0 */
/* The facts beside an answer that recordings and partial files give alike. */
#ifndef ANSWER_DESCRIBE_H
#define ANSWER_DESCRIBE_H

#include "answer/load.h"

/* Whether the directory of a chunk was deleted. */
bool chunk_is_gone(const struct chunk_info *info);

/* Says of which boot the source is. Clocks are added behind this. */
void source_name_boot(struct source *s, const char *boot_id);

/* Adds a relation of the monotonic clock to Unix time. 0 or -ENOMEM. */
int source_add_clock(struct source *s, u64 monotonic_ns, u64 unix_ns);

/*
 * Fills the view from the finished partial, the clocks and the gaps, once all of them are there.
 * What was lost in chunks is the caller's part. 0 or -ENOMEM.
 */
int source_describe(struct source *s);

#endif
