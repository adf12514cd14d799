/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/source.h"

#include "tests/unit/check.h"

TEST(losses_sum_up)
{
	struct lost_view lost = {1, 2, 3, 4};

	CHECK_EQ(lost_total(&lost), 10);
}

TEST_MAIN()
