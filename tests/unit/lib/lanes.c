/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of the ring while the library is unloaded. */
#include <fathom/fathom.h>

#include "lib/app_ring.h"
#include "lib/thread.h"
#include "unit/check.h"

static struct app_ring *ring_begin(void)
{
	struct fathom_span s = fathom_span_begin("work"); /* this thread takes one */

	fathom_span_end(&s);
	CHECK_EQ(fathom_process.ring->magic, APP_RING_MAGIC);
	return fathom_process.ring;
}

/* As a thread that was counted before, and claims one while the ring is taken away. */
TEST(no_lane_comes_into_use_while_the_library_leaves)
{
	struct app_ring *ring = ring_begin();
	static struct fathom_thread t;
	u32 used = ring->lanes_used;
	bool claimed;

	t.ring = ring;
	t.tid = 1;
	fathom_process.disabled = 1;
	claimed = fathom_lane_claim(&t);
	fathom_process.disabled = 0;
	CHECK(!claimed);
	CHECK(t.lane == NULL);
	CHECK_EQ(ring->lanes_used, used);
	CHECK(fathom_lane_claim(&t));
	CHECK(t.lane != NULL);
	CHECK_EQ(ring->lanes_used, used + 1);
}

TEST_MAIN()
