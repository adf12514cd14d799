/* SPDX-License-Identifier: Apache-2.0 */
/* Ends whose addresses were translated on the way, paired by their bytes and times. */
#include "request/nat.h"

#include <string.h>

#include "check.h"

#define SECOND 1000000000ull

static const struct record_socket from_a = {
	.local_lo = 1, .local_port = 4000, .remote_lo = 9, .remote_port = 80};
static const struct record_socket at_b = {
	.local_lo = 9, .local_port = 80, .remote_lo = 7, .remote_port = 61000};
static const struct record_socket at_c = {
	.local_lo = 8, .local_port = 8080, .remote_lo = 7, .remote_port = 61000};

static struct nat_end caller(u32 end, u64 unix_ns)
{
	return (struct nat_end){
		.end = end, .forth = 100, .back = 200, .unix_ns = unix_ns, .socket = &from_a};
}

static struct nat_end server(u32 end, u64 unix_ns, const struct record_socket *socket)
{
	return (struct nat_end){.end = end,
				.server = true,
				.forth = 100,
				.back = 200,
				.unix_ns = unix_ns,
				.host = 1,
				.socket = socket};
}

/* The other end of an end after pairing, + 1. */
static u32 other_of(const struct nat_end *list, size_t count, u32 end)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].end == end)
			return list[i].other;
	return UINT32_MAX;
}

TEST(one_pair)
{
	struct nat_end list[] = {caller(5, 10 * SECOND), server(8, 10 * SECOND + 5000, &at_c)};

	nat_ends_pair(list, 2);
	CHECK_EQ(other_of(list, 2, 5), 9);
	CHECK_EQ(other_of(list, 2, 8), 6);
	CHECK_EQ(list[0].ambiguous, 1);
}

TEST(bytes_host_and_time_must_fit)
{
	struct nat_end list[] = {caller(1, 10 * SECOND), server(2, 10 * SECOND, &at_c)};

	list[1].back++;
	nat_ends_pair(list, 2);
	CHECK_EQ(other_of(list, 2, 1), 0);
	list[0] = caller(1, 10 * SECOND);
	list[1] = server(2, 12 * SECOND, &at_c);
	nat_ends_pair(list, 2);
	CHECK_EQ(other_of(list, 2, 1), 0);
	list[0] = caller(1, 10 * SECOND);
	list[1] = server(2, 10 * SECOND, &at_c);
	list[1].host = 0;
	nat_ends_pair(list, 2);
	CHECK_EQ(other_of(list, 2, 1), 0);
	list[0] = caller(1, 0); /* its Unix time is not known */
	list[1] = server(2, 12 * SECOND, &at_c);
	nat_ends_pair(list, 2);
	CHECK_EQ(other_of(list, 2, 1), 3);
}

/* Of servers that fit, the one with the address that was called is it. */
TEST(the_address_that_was_called)
{
	struct nat_end list[] = {caller(1, 10 * SECOND), server(2, 10 * SECOND, &at_c),
				 server(3, 10 * SECOND + 9, &at_b)};

	nat_ends_pair(list, 3);
	CHECK_EQ(other_of(list, 3, 1), 4);
	CHECK_EQ(other_of(list, 3, 2), 0);
}

TEST(ambiguity)
{
	struct nat_end list[6] = {caller(1, 10 * SECOND), server(2, 10 * SECOND + 10, &at_b),
				  caller(3, 10 * SECOND + 20), server(4, 10 * SECOND + 30, &at_b)};

	nat_ends_pair(list, 4);
	CHECK_EQ(other_of(list, 4, 1), 3);
	CHECK_EQ(other_of(list, 4, 3), 5);
	CHECK_EQ(list[0].ambiguous, 2);
	list[4] = caller(5, 10 * SECOND + 40);
	list[5] = server(6, 10 * SECOND + 50, &at_b);
	for (int i = 0; i < 4; i++)
		list[i].other = 0;
	nat_ends_pair(list, 6);
	for (u32 end = 1; end <= 6; end++) /* one of three: none is taken */
		CHECK_EQ(other_of(list, 6, end), 0);
}

TEST_MAIN()
