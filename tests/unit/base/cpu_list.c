/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu_list.h"

#include "tests/unit/check.h"

TEST(ranges_and_single_cpus)
{
	CHECK_EQ(cpu_list_count("0"), 1);
	CHECK_EQ(cpu_list_count("0-3"), 4);
	CHECK_EQ(cpu_list_count("0,2-3,65534"), 4);
	CHECK(cpu_list_has("0,2-3", 0));
	CHECK(!cpu_list_has("0,2-3", 1));
	CHECK(cpu_list_has("0,2-3", 2));
	CHECK(cpu_list_has("0,2-3", 3));
	CHECK(!cpu_list_has("0,2-3", 4));
	CHECK(!cpu_list_has("0,2-3", CPU_LIST_END));
	CHECK_EQ(cpu_list_next("0,2-3", 1), 2);
	CHECK_EQ(cpu_list_next("0,2-3", 3), 3);
	CHECK_EQ(cpu_list_next("0,2-3", 4), CPU_LIST_END);
}

TEST(plain_lists_have_no_hole)
{
	CHECK(cpu_list_is_plain("0"));
	CHECK(cpu_list_is_plain("0-7"));
	CHECK(cpu_list_is_plain("0-1,2-3"));
	CHECK(!cpu_list_is_plain("1"));
	CHECK(!cpu_list_is_plain("0,2"));
	CHECK(!cpu_list_is_plain("1-2"));
	CHECK(!cpu_list_is_plain(""));
}

TEST(what_is_no_list_has_no_cpu)
{
	static const char *const none[] = {
		"",	 ",",	 "0,",	",0",	 "-1",	  "0-",	     "3-1",	    "2,1",
		"0-3,3", "0,,1", "0 1", "0-1-2", "65535", "0-65535", "99999999999", "x"};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		CHECK_EQ(cpu_list_count(none[i]), 0);
		CHECK(!cpu_list_has(none[i], 0));
		CHECK(!cpu_list_is_plain(none[i]));
	}
}

TEST(this_one_is_online)
{
	char list[CPU_LIST_BYTES];

	CHECK_EQ(cpu_list_online(list), 0);
	CHECK_EQ(cpu_list_count(list), sysconf(_SC_NPROCESSORS_ONLN));
}

TEST_MAIN()
