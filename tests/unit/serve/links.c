/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/links.h"

#include "tests/unit/check.h"

static const struct received_resource shop = {.service = "shop"}, SHOP = {.service = "Shop"},
				      bank = {.service = "bank"};
static const struct received_scope scope = {.name = "", .version = ""};

static struct received_span make(uint64_t id, uint64_t parent, uint8_t kind,
				 const struct received_resource *resource)
{
	return (struct received_span){.trace = {1, 1},
				      .span_id = id,
				      .parent_id = parent,
				      .name = "",
				      .trace_state = "",
				      .status_text = "",
				      .kind = kind,
				      .resource = resource,
				      .scope = &scope};
}

TEST(case_matters_only_where_it_should)
{
	struct received_span spans[] = {
		make(1, 0, RECEIVED_SERVER, &shop), make(2, 1, RECEIVED_CLIENT, &shop),
		make(3, 2, RECEIVED_SERVER, &bank), make(4, 0, RECEIVED_SERVER, &SHOP),
		make(5, 4, RECEIVED_SERVER, &bank), make(6, 4, RECEIVED_SERVER, &shop)};
	const struct received_batch batch = {spans, 6, 6};
	service_links links = {0};

	spans[4].status = RECEIVED_ERROR;
	CHECK_EQ(links_find(&batch, true, &links), 0);
	CHECK_EQ(links.count, 1);
	CHECK_EQ(links.data[0].calls, 2);
	CHECK_EQ(links.data[0].errors, 1);
	links.count = 0;
	CHECK_EQ(links_find(&batch, false, &links), 0);
	CHECK_EQ(links.count, 3);
	CHECK_STR(links.data[0].from, "Shop");
	CHECK_STR(links.data[0].to, "bank");
	CHECK_STR(links.data[1].to, "shop");
	CHECK_STR(links.data[2].from, "shop");
	CHECK_STR(links.data[2].to, "bank");
	vec_free(&links);
}

TEST_MAIN()
