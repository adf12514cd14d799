/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/context/service.h"

#include "tests/unit/check.h"

TEST(what_a_process_says_is_its_resource)
{
	static const char resource[] = "service.name\0shop\0telemetry.sdk.language\0python";
	const struct process_context context = {.service = "shop", .language = "python"};
	struct record_service *r = foreign_service_record(70, &context);

	CHECK(r != NULL);
	CHECK_EQ(r->head.kind, RECORD_service);
	CHECK_EQ(r->head.pid, 70);
	CHECK_EQ(r->head.tid, 70);
	CHECK_EQ(r->resource_len, sizeof(resource));
	CHECK_MEM(r->resource, resource, sizeof(resource));
	CHECK_EQ(r->head.slots,
		 (offsetof(struct record_service, resource) + sizeof(resource) + 63) / 64);
	free(r);
}

TEST(there_is_room_for_all_that_is_read)
{
	struct process_context context = {0};
	struct record_service *r;

	memset(context.service, 'a', sizeof(context.service) - 1);
	memset(context.service_version, 'b', sizeof(context.service_version) - 1);
	memset(context.service_instance, 'c', sizeof(context.service_instance) - 1);
	memset(context.sdk, 'd', sizeof(context.sdk) - 1);
	memset(context.language, 'e', sizeof(context.language) - 1);
	r = foreign_service_record(70, &context);
	CHECK(r != NULL);
	CHECK(r->resource_len > 400 && r->resource_len < sizeof(r->resource));
	CHECK_EQ(r->resource[r->resource_len - 1], 0);
	CHECK_EQ(r->resource[r->resource_len - 2], 'e');
	free(r);
}

TEST(who_says_nothing_has_no_resource)
{
	const struct process_context context = {0};
	struct record_service *r = foreign_service_record(1, &context);

	CHECK(r != NULL);
	CHECK_EQ(r->resource_len, 0);
	CHECK_EQ(r->head.slots, 1);
	free(r);
}

TEST_MAIN()
