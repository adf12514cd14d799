/* SPDX-License-Identifier: Apache-2.0 */
#include "base/names.h"

#include "tests/unit/check.h"

TEST(names_come_once)
{
	char list[32] = "";

	names_join(list, sizeof(list), "");
	CHECK_STR(list, "");
	names_join(list, sizeof(list), "block,fault");
	names_join(list, sizeof(list), "faul,fault,block_rq");
	CHECK_STR(list, "block,fault,faul,block_rq");
	names_join(list, sizeof(list), "uring_x,uring"); /* the first has no room with its NUL */
	CHECK_STR(list, "block,fault,faul,block_rq,uring");
}

TEST_MAIN()
