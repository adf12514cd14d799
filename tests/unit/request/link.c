/* SPDX-License-Identifier: Apache-2.0 */
/* Edges of simulated services against the truth: how many are found, and how many of them are
 * right. */
#include "request/link.h"

#include "check.h"
#include "judge.h"
#include "seeds.h"
#include "services.h"

static const char *const kind_names[] = {
	[SERVICE_THREADS] = "thread a connection", [SERVICE_POOL] = "pool, condition",
	[SERVICE_FUTURES] = "pool, futures, lock", [SERVICE_LOOP] = "loop",
	[SERVICE_DEFERS] = "loop that defers",	   [SERVICE_CARRIERS] = "carriers",
};

/* What one request at a time teaches of the kind of service. */
static struct learned taught(const struct service_plan *plan)
{
	struct service_plan alone = *plan;
	struct learned learned = {0};
	struct services s;
	struct link_input in;

	alone.at_once = 1;
	alone.requests = 200;
	alone.seed += 1000;
	s = services_run(&alone);
	in = services_input(&s);
	CHECK_EQ(request_learn(&in, &learned), 0);
	services_free(&s);
	return learned;
}

static struct figures figures_of(const struct service_plan *plan, const struct learned *learned)
{
	struct services s = services_run(plan);
	struct link_input in = services_input(&s);
	struct edge *edges = calloc(in.exchange_count, sizeof(*edges));
	struct figures f;

	CHECK(edges);
	in.learned = learned;
	CHECK_EQ(request_link(&in, edges), 0);
	f = edges_judge(&s, edges);
	CHECK(f.edges > plan->requests * 2);
	free(edges);
	services_free(&s);
	return f;
}

/* Runs the plan with what was learned before, and tells the figures. */
static struct figures learned_figures(const struct service_plan *plan, const char *of)
{
	struct learned learned = taught(plan);
	struct figures f = figures_of(plan, &learned);

	learned_free(&learned);
	figures_tell(&f, of, plan->at_once);
	return f;
}

/* Precision and recall in hundredths of a percent; what is sure must be right, too. */
static bool figures_hold(const struct figures *f, u32 least)
{
	bool hold = precision_of(f) >= least && recall_of(f) >= least &&
		    share_of(f->sure_right, f->sure) >= 9850 && f->sure * 2 >= f->found;

	if (!hold)
		printf("# the figures above should be at least %.2f\n", least / 100.0);
	return hold;
}

/* Runs a plan for each kind of service, and checks that its figures hold. */
static void kinds_hold(const struct service_plan *like, const u32 least[SERVICE_KINDS])
{
	bool hold = true;

	for (int kind = 0; kind < SERVICE_KINDS; kind++) {
		struct service_plan plan = *like;
		struct figures f;

		if (!least[kind])
			continue;
		plan.kind = (enum service_kind)kind;
		plan.lights = kind == SERVICE_CARRIERS;
		f = learned_figures(&plan, kind_names[kind]);
		hold &= figures_hold(&f, least[kind]);
		if (plan.at_once == 1 && !plan.background)
			hold &= share_of(f.whole, f.requests) >= 9990;
	}
	CHECK(hold);
}

TEST(one_at_once)
{
	static const u32 least[] = {9990, 9990, 9990, 9990, 9990, 9990};

	kinds_hold(&(struct service_plan){.at_once = 1, .requests = 300, .seed = 1}, least);
}

TEST(eight_at_once)
{
	static const u32 least[] = {9990, 9990, 9700, 9990, 9990, 9600};

	kinds_hold(&(struct service_plan){.at_once = 8, .requests = 2000, .seed = 2}, least);
}

TEST(sixty_four_at_once)
{
	static const u32 least[] = {9990, 9990, 9800, 9990, 9990, 9100};

	kinds_hold(&(struct service_plan){.at_once = 64, .requests = 2000, .seed = 3}, least);
}

/* Nothing was learned before, and no request has its process to itself. */
TEST(without_anything_learned)
{
	bool hold = true;

	for (int kind = 0; kind < SERVICE_KINDS; kind++) {
		struct service_plan plan = {.kind = (enum service_kind)kind,
					    .at_once = 16,
					    .requests = 1000,
					    .seed = 5,
					    .lights = kind == SERVICE_CARRIERS};
		struct figures f = figures_of(&plan, NULL);

		figures_tell(&f, kind_names[kind], 16);
		if (kind <= SERVICE_POOL || kind == SERVICE_LOOP)
			hold &= figures_hold(&f, 9900);
	}
	CHECK(hold);
}

TEST(carriers_without_light_threads)
{
	struct service_plan plan = {
		.kind = SERVICE_CARRIERS, .at_once = 8, .requests = 1000, .seed = 3};
	struct figures f = learned_figures(&plan, "no light threads");

	CHECK(figures_hold(&f, 9500));
}

TEST(one_connection_for_all_calls)
{
	static const u32 least[] = {0, 0, 0, 9900, 9900, 9500};

	kinds_hold(
		&(struct service_plan){
			.at_once = 8, .requests = 1000, .seed = 4, .multiplexed = true},
		least);
}

/*
 * Its threads take tasks out of each other's hands, and two can be done before the loop answers. So
 * some calls are given to the wrong request, and what is told of them must say so.
 */
TEST(a_pool_whose_loop_answers)
{
	bool hold = true;

	for (u32 at_once = 4; at_once <= 16; at_once *= 2) {
		struct service_plan plan = {.kind = SERVICE_POOL,
					    .at_once = at_once,
					    .requests = 2000,
					    .seed = 10,
					    .loop_answers = true};
		struct figures f = learned_figures(&plan, "pool, loop answers");
		u32 told = (u32)(f.probability_sum / f.found / 100);

		hold &= precision_of(&f) >= 9000;
		hold &= told <= precision_of(&f) + 500 && told + 1000 >= precision_of(&f);
	}
	CHECK(hold);
}

TEST(calls_of_nobody_are_roots)
{
	static const u32 alone[] = {9990, 9990, 9990, 9700, 9700, 9900};
	static const u32 least[] = {9990, 9900, 0, 0, 0, 0};

	kinds_hold(
		&(struct service_plan){
			.at_once = 1, .requests = 500, .seed = 6, .background = true},
		alone);
	kinds_hold(
		&(struct service_plan){
			.at_once = 8, .requests = 500, .seed = 7, .background = true},
		least);
}

TEST(a_call_may_outlive_its_request)
{
	static const u32 least[] = {9990, 0, 0, 9900, 0, 9500};

	kinds_hold(
		&(struct service_plan){.at_once = 8, .requests = 500, .seed = 8, .outlives = true},
		least);
}

TEST(requests_sent_together_are_served_in_turn)
{
	static const u32 least[] = {9990};

	kinds_hold(&(struct service_plan){.at_once = 8, .requests = 800, .seed = 9, .pipelined = 4},
		   (const u32[SERVICE_KINDS]){least[0]});
}

TEST_MAIN()
