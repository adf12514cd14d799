/* SPDX-License-Identifier: Apache-2.0 */
/* Which sockets are the two ends of one connection, and who serves. */
#include "request/connections.h"

#include "talk.h"

/* A talk in which the records of sockets are changed before they are mapped. */
static void heard_with(struct heard *h, void (*change)(struct record_socket *s, bool server))
{
	struct talk t = {0};

	talk_begin(&t);
	talk_say(&t, "CsSc");
	for (size_t i = 0; i < t.records.count; i++)
		if (t.records.data[i].head.kind == RECORD_socket)
			change(&t.records.data[i].socket, t.records.data[i].head.tid == SERVER);
	heard_make(h, talk_map(&t, 0, t.records.count));
	vec_free(&t.records);
}

static void unchanged(struct record_socket *s, bool server)
{
	(void)s;
	(void)server;
}

static void no_sides(struct record_socket *s, bool server)
{
	(void)server;
	s->file.flags = 0;
	s->local_port = (u16)(s->local_port == SERVER_PORT ? 50001 : s->local_port);
	s->remote_port = (u16)(s->remote_port == SERVER_PORT ? 50001 : s->remote_port);
}

static void other_namespace(struct record_socket *s, bool server)
{
	s->netns = server ? 2 : 1;
}

static void other_namespace_and_network(struct record_socket *s, bool server)
{
	u64 address = 0;
	u8 bytes[8] = {0, 0, 0xff, 0xff, 10, 0, 0, 1};

	memcpy(&address, bytes, 8);
	other_namespace(s, server);
	s->local_lo = s->remote_lo = address;
}

static void told_peer(struct record_socket *s, bool server)
{
	other_namespace(s, server);
	s->peer = server ? CALLER_KEY : 0;
}

TEST(mirrored_addresses)
{
	struct heard h;

	heard_with(&h, unchanged);
	CHECK_EQ(h.connections.list.count, 1);
	CHECK_EQ(h.connections.list.data[0].caller.key, CALLER_KEY);
	CHECK_EQ(h.connections.list.data[0].server.key, SERVER_KEY);
	CHECK(!h.connections.list.data[0].guessed);
	heard_free(&h);
}

/* Who received first serves, if nobody tells. */
/* A request that nobody has answered: its two ends move bytes one after the other. */
TEST(not_answered_yet)
{
	struct talk t = {0};
	struct heard h;

	talk_begin(&t);
	talk_say(&t, "Cs");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK_EQ(h.connections.list.count, 1);
	CHECK_EQ(h.connections.list.data[0].caller.key, CALLER_KEY);
	CHECK_EQ(h.connections.list.data[0].server.key, SERVER_KEY);
	CHECK_EQ(h.list.count, 1);
	heard_free(&h);
	vec_free(&t.records);
}

TEST(nobody_tells_who_serves)
{
	struct heard h;

	heard_with(&h, no_sides);
	CHECK_EQ(h.connections.list.count, 1);
	CHECK_EQ(h.connections.list.data[0].server.key, SERVER_KEY);
	CHECK(h.connections.list.data[0].guessed);
	heard_free(&h);
}

/* 127.0.0.1 is another host in each namespace; other addresses are not. */
TEST(namespaces)
{
	struct heard h;

	heard_with(&h, other_namespace);
	CHECK_EQ(h.connections.list.count, 2);
	CHECK_EQ(h.list.count, 2);
	heard_free(&h);
	heard_with(&h, other_namespace_and_network);
	CHECK_EQ(h.connections.list.count, 1);
	CHECK_EQ(h.list.count, 1);
	heard_free(&h);
}

TEST(the_kernel_tells_the_peer)
{
	struct heard h;

	heard_with(&h, told_peer);
	CHECK_EQ(h.connections.list.count, 1);
	heard_free(&h);
}

/* The number of a socket is used again for another connection with the same peer. */
TEST(a_number_that_is_used_again)
{
	struct talk t = {0};
	struct heard h;

	talk_begin(&t);
	talk_say(&t, "CsSc");
	t.sent[0] = t.sent[1] = t.received[0] = t.received[1] = 0;
	t.now_ns += 1000;
	talk_socket(&t, false);
	t.records.data[t.records.count - 1].socket.local_port = 40001;
	talk_socket(&t, true);
	t.records.data[t.records.count - 1].socket.remote_port = 40001;
	talk_say(&t, "CsSc");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK_EQ(h.connections.list.count, 2);
	CHECK_EQ(h.list.count, 2);
	CHECK(h.connections.list.data[0].id != h.connections.list.data[1].id);
	heard_free(&h);
	vec_free(&t.records);
}

/* Ids come of what is recorded: of the same records the same, of another host others. */
TEST(ids)
{
	struct heard one, same;

	heard_with(&one, unchanged);
	heard_with(&same, unchanged);
	CHECK(one.connections.list.data[0].id == same.connections.list.data[0].id);
	heard_free(&one);
	heard_free(&same);
}

TEST_MAIN()
