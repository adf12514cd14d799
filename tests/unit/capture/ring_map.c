/* SPDX-License-Identifier: Apache-2.0 */
/* How large the rings are, on hosts that are not here. */
#include "capture/internal.h"

#include "tests/unit/check.h"

TEST(rings_fit_the_wish)
{
	CHECK_EQ(capture_ring_bits(4, 4ull << 20), 14); /* 1 MiB each, slots of 64 bytes */
	CHECK_EQ(capture_ring_bits(4, (4ull << 20) - 1), 13);
	CHECK_EQ(capture_ring_bits(1, ~0ull), 24);
	CHECK(capture_ring_bits(4096, 1) >= 6); /* a page is the least */
}

/* A map counts its entries in 32 bits: 256 CPUs of 2^24 slots would be none at all. */
TEST(slots_of_many_cpus_can_be_numbered)
{
	for (u32 cpus = 1; cpus <= 1 << 16; cpus *= 2) {
		u64 slots = (u64)cpus << capture_ring_bits(cpus, ~0ull);

		CHECK(slots > 0 && slots <= UINT32_MAX);
	}
	CHECK_EQ(capture_ring_bits(255, ~0ull), 24);
	CHECK_EQ(capture_ring_bits(256, ~0ull), 23);
}

TEST_MAIN()
