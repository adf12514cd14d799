/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a partial as bytes, with everything that a merge or an answer can need, and reads it.
 *
 * The bytes are canonical: the same records give the same bytes, in whichever grouping their
 * partials were merged. The bytes of a checkpoint (map/checkpoint/checkpoint.h), which keeps only
 * the state at an instant, are a part of these.
 */
#ifndef MAP_FILE_WHOLE_H
#define MAP_FILE_WHOLE_H

#include "base/bytes.h"
#include "map/partial.h"

/*
 * Appends `p`, which is neither finished nor limited to some kernel spans, to `out`. The
 * order of its lists may change. 0, -ENOMEM, or -EINVAL for a partial that is finished or limited.
 */
int partial_write(struct partial *p, struct bytes *out);

/*
 * Makes a partial of what partial_write() wrote, for answers with these options; the bytes are
 * borrowed only during the call. Kernel spans are left out unless options->spans says to keep
 * them; options->only says which of them later merges keep, but all that were written are here.
 * 0 and *out, which is the caller's; -EBADMSG if the bytes make no sense, -ENOMEM.
 */
int partial_read(struct partial **out, const void *data, size_t bytes,
		 const struct partial_options *options);

#endif
