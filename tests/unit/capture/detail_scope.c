/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/detail_scope.h"

#include "tests/unit/check.h"

/* The states of threads keep 16 bits of the number; 0 is the level at the begin. */
TEST(no_raise_has_the_number_of_the_begin)
{
	u32 raised = 0;

	CHECK_EQ(calls_raised_next(0), 2);
	for (int i = 0; i < 200000; i++) {
		u32 before = raised;

		raised = calls_raised_next(raised);
		CHECK((u16)raised != 0);
		CHECK((u16)raised != (u16)before);
		CHECK_EQ(raised & 1, 0);
	}
}

TEST_MAIN()
