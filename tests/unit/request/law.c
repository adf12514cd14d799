/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laws of linking: the same edges in whatever order the arrays are, sums that add up, and no harm
 * from input that no recording can have.
 */
#include "check.h"
#include "request/link.h"
#include "seeds.h"
#include "services.h"

static u64 random_state;

static u64 random_below(u64 below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % below;
}

/* A random order of `count` numbers: where each goes. */
static u32 *order_random(size_t count)
{
	u32 *places = malloc((count + 1) * sizeof(*places));

	CHECK(places);
	for (u32 i = 0; i < count; i++)
		places[i] = i;
	for (size_t i = count; i > 1; i--) {
		size_t other = random_below(i);
		u32 was = places[i - 1];

		places[i - 1] = places[other];
		places[other] = was;
	}
	return places;
}

static struct edge *edges_of(const struct link_input *in)
{
	struct edge *edges = malloc((in->exchange_count + 1) * sizeof(*edges));

	CHECK(edges);
	CHECK_EQ(request_link(in, edges), 0);
	return edges;
}

/* The same services with their arrays in another order. places: where each exchange went. */
static struct services shuffled(const struct services *s, u32 *places)
{
	struct services out = {.process_count = s->process_count};
	u32 *connections = order_random(s->connections.count);
	u32 *hand_offs = order_random(s->hand_offs.count);

	CHECK_EQ(vec_reserve(&out.exchanges, s->exchanges.count), 0);
	CHECK_EQ(vec_reserve(&out.connections, s->connections.count), 0);
	CHECK_EQ(vec_reserve(&out.hand_offs, s->hand_offs.count + 1), 0);
	for (size_t i = 0; i < s->exchanges.count; i++) {
		struct exchange x = s->exchanges.data[i];

		x.connection = connections[x.connection];
		/* the highest process becomes the lowest */
		if (x.caller.process)
			x.caller.process = (u32)s->process_count - x.caller.process;
		if (x.server.process)
			x.server.process = (u32)s->process_count - x.server.process;
		out.exchanges.data[places[i]] = x;
	}
	for (size_t i = 0; i < s->connections.count; i++)
		out.connections.data[connections[i]] = s->connections.data[i];
	for (size_t i = 0; i < s->hand_offs.count; i++) {
		out.hand_offs.data[hand_offs[i]] = s->hand_offs.data[i];
		out.hand_offs.data[hand_offs[i]].process = (u32)s->process_count -
							   s->hand_offs.data[i].process;
	}
	out.exchanges.count = s->exchanges.count;
	out.connections.count = s->connections.count;
	out.hand_offs.count = s->hand_offs.count;
	for (size_t i = 0; i < s->details.count; i++)
		CHECK_EQ(vec_push(&out.details, s->details.data[i]), 0);
	free(connections);
	free(hand_offs);
	return out;
}

static void same_in_another_order(const struct service_plan *plan)
{
	struct services s = services_run(plan), other;
	u32 *places = order_random(s.exchanges.count);
	struct link_input in = services_input(&s), in_other;
	struct edge *edges = edges_of(&in), *others;

	other = shuffled(&s, places);
	in_other = services_input(&other);
	others = edges_of(&in_other);
	for (size_t i = 0; i < s.exchanges.count; i++) {
		struct edge e = edges[i];

		if (e.parent != EDGE_ROOT)
			e.parent = places[e.parent];
		CHECK_MEM(&others[places[i]], &e, sizeof(e));
	}
	free(edges);
	free(others);
	free(places);
	services_free(&s);
	services_free(&other);
}

TEST(is_the_same_in_any_order_of_the_arrays)
{
	for (u64 seed = 1; seed <= seeds_of(12); seed++) {
		random_state = seed;
		for (int kind = 0; kind < SERVICE_KINDS; kind++) {
			struct service_plan plan = {.kind = (enum service_kind)kind,
						    .at_once = 1 + (u32)random_below(20),
						    .requests = 60,
						    .seed = seed,
						    .background = seed % 3 == 0,
						    .multiplexed = seed % 4 == 0,
						    .lights = seed % 2};

			same_in_another_order(&plan);
		}
	}
}

static struct learned learned_of(const struct services *s)
{
	struct link_input in = services_input(s);
	struct learned learned = {0};

	CHECK_EQ(request_learn(&in, &learned), 0);
	learned_sort(&learned);
	return learned;
}

TEST(what_is_learned_adds_up)
{
	for (int kind = 0; kind < SERVICE_KINDS; kind++) {
		struct service_plan plan = {.kind = (enum service_kind)kind,
					    .at_once = 2,
					    .requests = 300,
					    .seed = 3,
					    .background = true};
		struct services a = services_run(&plan), b;
		struct learned left, right, both;

		plan.seed = 4;
		plan.at_once = 1;
		b = services_run(&plan);
		left = learned_of(&a);
		right = learned_of(&b);
		services_append(&a, &b);
		both = learned_of(&a);
		CHECK(right.rows.count > 20);
		CHECK_EQ(learned_merge(&left, &right), 0);
		learned_sort(&left);
		CHECK_EQ(left.rows.count, both.rows.count);
		CHECK_MEM(left.rows.data, both.rows.data,
			  both.rows.count * sizeof(*both.rows.data));
		learned_free(&left);
		learned_free(&right);
		learned_free(&both);
		services_free(&a);
		services_free(&b);
	}
}

/* Mostly small numbers, so that much is equal, and now and then one at an end of the range. */
static u64 number_hostile(u64 most)
{
	static const u64 ends[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, 1ull << 63, UINT32_MAX};

	if (random_below(20) == 0)
		return ends[random_below(sizeof(ends) / sizeof(*ends))];
	return random_below(most);
}

static struct exchange_end end_hostile(void)
{
	return (struct exchange_end){
		.first_ns = number_hostile(200),
		.last_ns = number_hostile(300),
		.process = (u32)number_hostile(6),
		.first_tid = (u32)number_hostile(5),
		.last_tid = (u32)number_hostile(5),
		.detail = (u32)number_hostile(20),
	};
}

static void hostile_fill(struct services *s, size_t count)
{
	*s = (struct services){.process_count = 5};
	for (size_t i = 0; i < count; i++) {
		struct exchange x = {
			.from = number_hostile(100),
			.to = number_hostile(100),
			.answer_from = number_hostile(3),
			.answer_to = number_hostile(3),
			.connection = (u32)number_hostile(12),
			.flags = (u16)(random_below(3) ? 0 : random_below(64)),
		};

		x.caller = end_hostile();
		x.server = end_hostile();
		CHECK_EQ(vec_push(&s->exchanges, x), 0);
	}
	for (size_t i = 0; i < 10; i++)
		CHECK_EQ(vec_push(&s->connections,
				  (struct exchange_connection){
					  .peer = number_hostile(30),
					  .connected_ns = number_hostile(200),
					  .connected_tid = (u32)number_hostile(5)}),
			 0);
	for (size_t i = 0; i < 15; i++) {
		struct exchange_detail d = {.light = number_hostile(4),
					    .light_maker = number_hostile(4)};

		d.trace[0] = (u8)random_below(3);
		d.root[0] = (u8)random_below(3);
		CHECK_EQ(vec_push(&s->details, d), 0);
	}
	for (size_t i = 0; i < count; i++) {
		struct hand_off h = {.time_ns = number_hostile(200),
				     .waker = (u32)number_hostile(5),
				     .woken = (u32)number_hostile(5),
				     .word = (u32)number_hostile(4)};

		h.process = number_hostile(6) & 0xfffffff;
		h.kind = random_below(16) & 15;
		CHECK_EQ(vec_push(&s->hand_offs, h), 0);
	}
}

TEST(hostile_input_does_no_harm)
{
	for (u64 seed = 1; seed <= seeds_of(400); seed++) {
		struct services s;
		struct request_fork forks[8];
		struct link_input in;
		struct learned learned = {0};
		struct edge *edges;

		random_state = seed;
		hostile_fill(&s, 1 + random_below(400));
		in = services_input(&s);
		for (size_t i = 0; i < 8; i++)
			forks[i] = (struct request_fork){.time_ns = number_hostile(200),
							 .parent = (u32)number_hostile(6),
							 .child = (u32)number_hostile(6),
							 .tid = (u32)number_hostile(5)};
		in.forks = forks;
		in.fork_count = 8;
		CHECK_EQ(request_learn(&in, &learned), 0);
		in.learned = seed % 2 ? &learned : NULL;
		edges = edges_of(&in);
		for (size_t i = 0; i < in.exchange_count; i++) {
			CHECK(edges[i].parent == EDGE_ROOT || edges[i].parent < in.exchange_count);
			CHECK(edges[i].parent != i);
			CHECK((edges[i].parent == EDGE_ROOT) == !edges[i].probability_ppm);
			CHECK(edges[i].probability_ppm <= EDGE_CERTAIN_PPM);
			CHECK((edges[i].parent == EDGE_ROOT) == (edges[i].evidence == EDGE_NONE));
		}
		free(edges);
		learned_free(&learned);
		services_free(&s);
	}
}

/* Windows of a recording that goes on overlap; each teaches what came in a range of its own. */
TEST(what_is_learned_of_ranges_adds_up)
{
	for (int kind = 0; kind < SERVICE_KINDS; kind++) {
		struct service_plan plan = {.kind = (enum service_kind)kind,
					    .at_once = 2,
					    .requests = 300,
					    .seed = 5,
					    .background = true};
		struct services s = services_run(&plan);
		struct learned whole = learned_of(&s), parts = {0};
		struct link_input in = services_input(&s);
		u64 last_ns = 0, step_ns;

		for (size_t i = 0; i < in.exchange_count; i++)
			if (in.exchanges[i].server.first_ns > last_ns)
				last_ns = in.exchanges[i].server.first_ns;
		step_ns = last_ns / 7 + 1;
		for (u64 from_ns = 0; from_ns <= last_ns; from_ns += step_ns) {
			in.taught_from_ns = from_ns;
			in.taught_until_ns = from_ns + step_ns;
			CHECK_EQ(request_learn(&in, &parts), 0);
		}
		learned_sort(&parts);
		CHECK(whole.rows.count > 20);
		CHECK_EQ(parts.rows.count, whole.rows.count);
		CHECK_EQ(memcmp(parts.rows.data, whole.rows.data,
				whole.rows.count * sizeof(*whole.rows.data)),
			 0);
		learned_free(&whole);
		learned_free(&parts);
		services_free(&s);
	}
}

TEST(nothing_is_linked_without_exchanges)
{
	struct link_input in = {0};
	struct learned learned = {0};
	struct edge none;

	CHECK_EQ(request_link(&in, &none), 0);
	CHECK_EQ(request_learn(&in, &learned), 0);
	CHECK_EQ(learned.rows.count, 0);
}

TEST_MAIN()
