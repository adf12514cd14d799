/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/lacks.h"

#include "tests/unit/check.h"

TEST(what_tells_and_has_no_stand_in)
{
	const struct capture_feature features[] = {
		{.name = "there", .tells = true, .available = true, .on = true},
		{.name = "refines"},
		{.name = "block", .tells = true},
		{.name = "refused", .tells = true, .available = true},
		{.name = "sent", .tells = true},
		{.name = "old_sent", .tells = true, .instead_of = "sent", .on = true},
		{.name = "received", .tells = true},
		{.name = "old_received", .tells = true, .instead_of = "received"},
	};
	char list[64] = "stale";

	missing_list(features, sizeof(features) / sizeof(features[0]), list, sizeof(list));
	CHECK_STR(list, "block,refused,received");
}

TEST_MAIN()
