/* SPDX-License-Identifier: Apache-2.0 */
/* Which process received spans are of: this program connects to itself. */
#include "serve/claims.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "serve/claim.h"
#include "serve/entry.h"
#include "store/store.h"
#include "tests/unit/check.h"

#define MANY 131072 /* a body has at most so many */

static const struct attribute elsewhere = {
	.key = "host.name", .type = VALUE_STRING, .string = "not-this-host"};

struct fixture {
	int client, server, ours, maps;
	struct senders *senders;
	struct claims *claims;
	struct bytes entry;
	struct pool pool;
	struct received_resource *resources;
	struct received_batch batch;
};

static void connection_make(struct fixture *f)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);
	int listening = socket(AF_INET, SOCK_STREAM, 0);

	f->client = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(bind(listening, (struct sockaddr *)&at, sizeof(at)), 0);
	CHECK_EQ(listen(listening, 1), 0);
	CHECK_EQ(getsockname(listening, (struct sockaddr *)&at, &size), 0);
	CHECK_EQ(connect(f->client, (struct sockaddr *)&at, sizeof(at)), 0);
	f->server = accept(listening, NULL, NULL);
	CHECK(f->server >= 0);
	close(listening);
}

/* A span of each resource; each second resource is of another host. */
static void batch_make(struct fixture *f, size_t count)
{
	f->resources = calloc(count, sizeof(*f->resources));
	f->batch.data = calloc(count, sizeof(*f->batch.data));
	f->batch.count = count;
	CHECK(f->resources && f->batch.data);
	for (size_t i = 0; i < count; i++) {
		f->resources[i].service = "cart";
		if (i % 2)
			f->resources[i].attributes = (struct received_list){.data = &elsewhere,
									    .count = 1};
		f->batch.data[i] = (struct received_span){.trace = {1, 2},
							  .span_id = i + 1,
							  .name = "work",
							  .resource = &f->resources[i]};
	}
}

static void fixture_open(struct fixture *f, size_t resources)
{
	int ends[2];

	*f = (struct fixture){0};
	connection_make(f);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	f->ours = ends[0];
	f->maps = ends[1];
	CHECK_EQ(senders_open(NULL, &f->senders), 0);
	CHECK_EQ(claims_open(f->senders, f->ours, 0, &f->claims), 0);
	CHECK_EQ(entry_encode(&f->entry, ENTRY_OTLP_PROTOBUF, "", 0), 0);
	entry_connection_set(&f->entry, senders_connection(f->senders, f->server));
	batch_make(f, resources);
}

static void fixture_close(struct fixture *f)
{
	claims_close(f->claims);
	senders_close(f->senders);
	bytes_free(&f->entry);
	pool_free(&f->pool);
	free(f->resources);
	free(f->batch.data);
	close(f->client);
	close(f->server);
	close(f->ours);
	close(f->maps);
}

static void batch_pass(struct fixture *f)
{
	const struct log_entry entry = {.data = f->entry.data, .bytes = f->entry.count};
	uint8_t *fates = malloc(f->batch.count);

	CHECK(fates != NULL);
	memset(fates, STORE_ADDED, f->batch.count);
	CHECK_EQ(claims_mark(f->claims, &entry, &f->batch, &f->pool), 0);
	claims_send(f->claims, &f->batch, fates);
	free(fates);
}

TEST(spans_of_this_process_are_claimed_and_those_of_other_hosts_marked)
{
	struct fixture f;
	uint8_t message[4096];
	struct bytes_reader r;
	struct claim claim;
	ssize_t bytes;

	fixture_open(&f, 2);
	batch_pass(&f);
	bytes = recv(f.maps, message, sizeof(message), MSG_DONTWAIT);
	CHECK(bytes > 0);
	r = bytes_reader_over(message, (size_t)bytes);
	CHECK(claim_get(&r, &claim));
	CHECK_EQ(claim.pid, (uint32_t)getpid());
	CHECK_EQ(claim.span_id, 1);
	CHECK_EQ(claim.flags, CLAIM_BY_CONNECTION);
	CHECK(!claim_get(&r, &claim));
	CHECK_EQ(f.batch.data[0].attributes.count, 0);
	CHECK_EQ(f.batch.data[1].attributes.count, 1);
	CHECK_STR(f.batch.data[1].attributes.data[0].string, "other host");
	CHECK_EQ(claims_counts(f.claims).other_host, 1);
	fixture_close(&f);
}

TEST(many_resources_in_a_body_do_not_hold_up_the_loader)
{
	struct fixture f;
	uint64_t begin_ns;

	fixture_open(&f, MANY);
	begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	batch_pass(&f);
	CHECK(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns < UINT64_C(1000000000));
	CHECK_EQ(claims_counts(f.claims).other_host, MANY / 2);
	fixture_close(&f);
}

TEST_MAIN()
