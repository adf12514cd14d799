/* SPDX-License-Identifier: Apache-2.0 */
/* Until when a recorder has nothing to do. */
#include "base/host_clock.h"
#include "recorder/internal.h"

#define SIZED_NS 5000000ull    /* least interval of checks of a chunk's size */
#define PACED_NS 1000000000ull /* age at which a chunk's own pace is used */
#define SERVED_NS 1000000ull   /* interval of steps while a client waits for a chunk */

double recorder_pace(const struct recorder *r, u64 now)
{
	double bytes = (double)chunking_bytes(&r->chunks);

	return now > r->chunk_begin_ns ? bytes / (double)(now - r->chunk_begin_ns) : 0;
}

static u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

static u64 until(u64 ns, u64 now)
{
	return ns > now ? ns - now : 0;
}

/*
 * The time in which half of the bytes left in the chunk are written, at the pace of this chunk.
 * While the chunk is young, the pace of the previous one is used, if that was faster.
 */
static u64 until_full(const struct recorder *r, u64 limit, u64 now)
{
	double left = (double)limit - (double)chunking_bytes(&r->chunks);
	double pace = recorder_pace(r, now);

	if (now < r->chunk_begin_ns + PACED_NS && pace < r->pace)
		pace = r->pace;
	if (left / 2 <= pace * (double)SIZED_NS)
		return SIZED_NS;
	return left / 2 < pace * (double)RECORDER_FLUSH_NS ? (u64)(left / 2 / pace)
							   : RECORDER_FLUSH_NS;
}

void recorder_wait(struct recorder *r, u64 at_most_ns)
{
	const struct limits *limits = &r->options.rotate;
	u64 now = host_clock_now_ns();

	if (chunking_is_open(&r->chunks))
		at_most_ns = least(at_most_ns, until(r->flushed_ns + RECORDER_FLUSH_NS, now));
	if (chunking_is_open(&r->chunks) && limits->time_ns)
		at_most_ns = least(at_most_ns, until(r->chunk_begin_ns + limits->time_ns, now));
	if (chunking_is_open(&r->chunks) && limits->bytes)
		at_most_ns = least(at_most_ns, until_full(r, limits->bytes, now));
	at_most_ns = least(at_most_ns, until(detail_due_ns(&r->detail, now), now));
	if (control_is_busy(r->control))
		at_most_ns = least(at_most_ns, SERVED_NS);
	capture_wait(r->capture, at_most_ns);
}
