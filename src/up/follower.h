/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The follower: a thread of map, which follows the requests of services that nobody instrumented,
 * and posts each one to serve, once, as spans (up/spans_request.h).
 *
 * It keeps the partials of the last chunks (up/recent.h). About every ten seconds it merges them
 * behind a state of the hand-over, joins the exchanges in them (request/requests.h), and posts the
 * requests that ended ten seconds ago or earlier (up/decider.h), with what was learned of services
 * until then. What it has learned, and how far it has come, is kept over restarts
 * (up/requests_kept.h).
 *
 * Bounds:
 * - a request that is open for over a minute, or for five seconds where room is short, is posted
 *   without its end;
 * - chunks: 90, and 48 MB of them as bytes; while it waits for its turn as many again. The partial
 *   of a pass is a few times larger;
 * - memory: of a chunk only what requests need is kept (map/file/narrow.h);
 * - CPU: after a pass it rests for nine times what it and its chunks cost, and for three times
 *   where the chunks fill three quarters of their room. Requests are then decided earlier, two
 *   seconds after their end. If the chunks grow too many all the same, they go: requests of that
 *   time are not stored, and the chunks are counted;
 * - what was learned: 65,536 sums, and of each service the last 10,000 to 20,000 requests.
 */
#ifndef UP_FOLLOWER_H
#define UP_FOLLOWER_H

#include "map/partial.h"
#include "up/joiner.h"
#include "up/part.h"

struct follower;

/*
 * Starts the thread. The joiner, whose states it takes, and the chooser, which is shared, outlive
 * it. 0 or a negative errno.
 */
int follower_start(struct part_context *c, struct joiner *joiner, struct chooser *chooser,
		   const char *socket, struct follower **out);

/*
 * A chunk that is mapped with handover_partial_options(), before the hand-over takes it. NULL
 * follower: nothing happens. 0 or -ENOMEM.
 */
int follower_chunk(struct follower *f, const struct chunk_info *info, struct partial *p);

/* Posts what has ended, ends the thread, and frees. NULL is allowed. */
void follower_stop(struct follower *f);

#endif
