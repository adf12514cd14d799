/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of where the time of many spans goes. */
#include "serve/where.h"

#include "tests/unit/check.h"
#include "tests/unit/serve/gathered.h"

static const struct attribute whole[] = {INTEGER("fathom.time.user_ns", 40),
					 INTEGER("fathom.time.disk_ns", 60)};
static const struct attribute inner[] = {INTEGER("fathom.time.user_ns", 30)};
static const struct attribute call[] = {STRING("fathom.kind", "syscall"), STRING("fd.name", "/x")};
static const struct attribute wait[] = {STRING("fathom.kind", "wait")};

static const struct where_node *below(const struct where_tree *tree, const struct where_node *node,
				      enum where_kind kind, const char *name)
{
	for (uint32_t at = node->first; at; at = tree->nodes.data[at].next) {
		const struct where_node *child = &tree->nodes.data[at];

		if (child->kind == kind && strcmp(child->name, name) == 0)
			return child;
	}
	return NULL;
}

TEST(requests_are_added_up_down_to_the_place_of_a_wait)
{
	struct received_span *spans = calloc(16, sizeof(*spans));
	const struct where_node *root, *disk;
	struct gathered g = {.batch = {spans, 8, 16}};
	struct pool pool = {0};
	struct where_tree tree = {.pool = &pool};

	for (uint64_t i = 0; i < 2; i++) {
		struct received_span *of = spans + 4 * i;

		of[0] = span_make(i + 1, 1, 0, "request", 100);
		of[0].attributes = LIST(whole);
		of[1] = span_make(i + 1, 2, 1, "parse", 30);
		of[1].attributes = LIST(inner);
		of[2] = span_make(i + 1, 3, 1, "fsync", 60);
		of[2].attributes = LIST(call);
		of[3] = span_make(i + 1, 4, 3, "disk", 55);
		of[3].attributes = LIST(wait);
		for (size_t k = 2; k < 4; k++) { /* after the child */
			of[k].begin_ns += 35;
			of[k].end_ns += 35;
		}
	}
	CHECK_EQ(gathered_index(&g, &all_requests), 0);
	CHECK_EQ(where_add(&tree, &g), 0);
	where_finish(&tree);
	root = &tree.nodes.data[0];
	CHECK_STR(root->name, "request");
	CHECK_EQ(root->count, 2);
	CHECK_EQ(root->total_ns, 200);
	CHECK_EQ(root->width_ns, 200);
	/* the user time of the child is not the root's own */
	CHECK_EQ(below(&tree, root, WHERE_PART, "user")->total_ns, 20);
	CHECK_EQ(below(&tree, root, WHERE_SPAN, "parse")->total_ns, 60);
	disk = below(&tree, root, WHERE_PART, "disk");
	CHECK_EQ(disk->total_ns, 120);
	CHECK_EQ(below(&tree, disk, WHERE_PLACE, "fsync on /x")->total_ns, 120);
	CHECK(root->first && &tree.nodes.data[root->first] == disk); /* the longest is first */
	gathered_free(&g);
	where_free(&tree);
	pool_free(&pool);
}

/* A client waits for a server, which waits for a CPU: this is the server's time alone. */
TEST(the_wait_of_a_client_is_the_time_of_its_server)
{
	static const struct attribute client[] = {INTEGER("fathom.time.network_ns", 100)};
	static const struct attribute decode[] = {INTEGER("fathom.time.user_ns", 20),
						  INTEGER("fathom.time.runnable_ns", 70)};
	static const struct received_resource server = {.service = "thumbnailer"};
	struct received_span *spans = calloc(4, sizeof(*spans));
	const struct where_node *root, *below_client, *child;
	struct gathered g = {.batch = {spans, 3, 4}};
	struct pool pool = {0};
	struct where_tree tree = {.pool = &pool};

	spans[0] = span_between(1, 0, "request", 1000, 1100);
	spans[0].attributes = LIST(client);
	spans[1] = span_between(2, 1, "decode", 1005, 1095);
	spans[1].attributes = LIST(decode);
	spans[1].resource = &server;
	spans[2] = span_between(3, 1, "network", 1000, 1100);
	spans[2].attributes = LIST(wait);
	CHECK_EQ(gathered_index(&g, &all_requests), 0);
	CHECK_EQ(where_add(&tree, &g), 0);
	where_finish(&tree);
	root = &tree.nodes.data[0];
	below_client = below(&tree, root, WHERE_PART, "network");
	CHECK_EQ(below_client->total_ns, 10);
	CHECK_EQ(below(&tree, below_client, WHERE_PLACE, "network")->width_ns, 10);
	child = below(&tree, root, WHERE_SPAN, "decode");
	CHECK_EQ(child->width_ns, 90);
	CHECK_EQ(below(&tree, child, WHERE_PART, "runnable")->width_ns, 70);
	CHECK_EQ(below(&tree, child, WHERE_PART, "user")->width_ns, 20);
	gathered_free(&g);
	where_free(&tree);
	pool_free(&pool);
}

TEST(a_circle_of_parents_ends)
{
	struct received_span *spans = calloc(4, sizeof(*spans));
	struct gathered g = {.batch = {spans, 2, 4}};
	struct pool pool = {0};
	struct where_tree tree = {.pool = &pool};

	spans[0] = span_make(1, 1, 2, "request", 10);
	spans[1] = span_make(1, 2, 1, "request", 10);
	CHECK_EQ(gathered_index(&g, &all_requests), 0);
	CHECK_EQ(where_add(&tree, &g), 0);
	where_finish(&tree);
	CHECK(tree.nodes.count > 0 && tree.nodes.count < 200);
	gathered_free(&g);
	where_free(&tree);
	pool_free(&pool);
}

TEST(a_place_is_a_call_and_its_object)
{
	static const struct attribute file[] = {STRING("syscall", "fsync"),
						STRING("fd.name", "/x/wal")};
	static const struct attribute peer[] = {
		STRING("syscall", "recvfrom"), STRING("fd.name", "socket:[4711]"),
		STRING("network.peer.address", "::1"), INTEGER("network.peer.port", 5432),
		STRING("peer.program", "postgres")};
	static const struct attribute client[] = {STRING("syscall", "recvfrom"),
						  STRING("fd.name", "socket:[4711]")};
	static const struct attribute lock[] = {
		STRING("syscall", "futex"), STRING("waker", "worker/12"), INTEGER("waker.tid", 12)};
	static const struct attribute quota[] = {STRING("cause.reason", "its quota"),
						 STRING("cgroup", "/app")};
	const struct {
		struct received_list attributes;
		const char *name, *place;
	} cases[] = {{LIST(file), "disk", "fsync on /x/wal"},
		     {LIST(peer), "network", "recvfrom on [::1]:5432 (postgres)"},
		     {LIST(client), "network", "recvfrom on socket"},
		     {LIST(lock), "lock", "futex, woken by worker"},
		     {LIST(lock), "other", "futex"},
		     {LIST(quota), "throttled", "CPU quota of /app"}};
	struct received_span outer = span_make(1, 1, 0, "read", 10);
	char text[GATHER_PLACE_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct received_span span = span_make(1, 2, 1, cases[i].name, 10);

		span.attributes = cases[i].attributes;
		gather_place(&span, NULL, text);
		CHECK_STR(text, cases[i].place);
	}
	/* a wait in a call that is a span itself: the object is that of the call */
	outer.attributes = LIST(file);
	outer.attributes.data++;
	outer.attributes.count--;
	gather_place(&(struct received_span){.name = "disk"}, &outer, text);
	CHECK_STR(text, "read on /x/wal");
}

TEST_MAIN()
