/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/governor.h"

#define LOAD_LEAST_PPM 10000 /* on an idle host the ratio of two loads means nothing */

/* A turn is longer than ten seconds. */
static size_t kept_most(const struct governor *g)
{
	return g->level == GOVERNOR_TURNS ? 1 : GOVERNOR_SECONDS;
}

static size_t kept(const struct governor *g)
{
	return g->count < kept_most(g) ? g->count : kept_most(g);
}

struct governor_second governor_mean(const struct governor *g)
{
	struct governor_second mean = {0};
	u64 cost = 0, load = 0, us = 0;

	for (size_t i = 0; i < kept(g); i++) {
		const struct governor_second *s =
			&g->seconds[(g->count - 1 - i) % GOVERNOR_SECONDS];

		mean.elapsed_ns += s->elapsed_ns;
		us += s->elapsed_ns / 1000;
		cost += s->cost_ppm * (s->elapsed_ns / 1000);
		load += s->load_ppm * (s->elapsed_ns / 1000);
	}
	if (us) {
		mean.cost_ppm = (u32)(cost / us);
		mean.load_ppm = (u32)(load / us);
	}
	return mean;
}

/* The next level that it may choose; the same: there is none. */
static u8 next_below(const struct governor *g, u8 level)
{
	for (u8 to = level; to-- > 0;)
		if (g->levels >> to & 1)
			return to;
	return level;
}

static u8 next_above(const struct governor *g, u8 level)
{
	for (u8 to = level + 1; to <= g->wanted; to++)
		if (g->levels >> to & 1)
			return to;
	return level;
}

/*
 * Whether the mean of ten seconds would exceed the budget if the next second costs what the last
 * one did: what is spent beyond it then is more than half of what the level below can make good in
 * the rest of these ten seconds.
 */
static bool is_above(const struct governor *g, const struct governor_input *in)
{
	u8 to = next_below(g, g->level);
	s64 budget = g->budget_ppm, below = to < g->level ? in->predicted_ppm[to] : budget;
	s64 room = budget > below ? budget - below : 0;
	s64 beyond = (s64)in->second.cost_ppm - budget, seconds = 1;

	if (in->second.cost_ppm > 2 * g->budget_ppm)
		return true;
	if (g->level == GOVERNOR_TURNS)
		return beyond > 0;
	for (size_t i = 1; i <= kept(g) && seconds < GOVERNOR_SECONDS; i++, seconds++)
		beyond += (s64)g->seconds[(g->count - i) % GOVERNOR_SECONDS].cost_ppm - budget;
	return beyond > (GOVERNOR_SECONDS - seconds) * room / 2;
}

/*
 * Whether a level is worth what it does not record: it fits, or saves a tenth at least of what is
 * spent beyond the budget. Most of the cost may be that of storing spans that others sent.
 */
static bool is_worth(const struct governor *g, u32 cost_ppm, u32 less_ppm)
{
	s64 saved = (s64)cost_ppm - less_ppm, beyond = (s64)cost_ppm - g->budget_ppm;

	return less_ppm <= g->budget_ppm || 10 * saved >= beyond;
}

/*
 * The highest level below that is predicted to fit, else the lowest that is worth its step. The
 * same: there is none.
 */
static u8 level_below(const struct governor *g, const struct governor_input *in)
{
	u32 cost_ppm = in->second.cost_ppm;
	u8 best = g->level;

	for (u8 to = g->level; to-- > 0 && (best == g->level || cost_ppm > g->budget_ppm);)
		if (g->levels >> to & 1 && is_worth(g, cost_ppm, in->predicted_ppm[to])) {
			cost_ppm = in->predicted_ppm[to];
			best = to;
		}
	return best;
}

/* What a level above would cost at the load of now; 0: it was never left. */
static u32 cost_above(const struct governor *g, u8 level)
{
	const struct governor_second *left = &g->left[level];
	u64 cost = left->cost_ppm * (u64)(governor_mean(g).load_ppm + LOAD_LEAST_PPM) /
		   (left->load_ppm + LOAD_LEAST_PPM);

	return cost < UINT32_MAX ? (u32)cost : UINT32_MAX;
}

/* The level to try now; the same: none. */
static u8 level_above(const struct governor *g, u64 waited_ns)
{
	if (waited_ns < g->wait_ns)
		return g->level;
	for (u8 to = g->wanted; to > g->level; to--)
		if (g->levels >> to & 1 && cost_above(g, to) <= g->budget_ppm)
			return to;
	if (g->level == GOVERNOR_OFF || waited_ns >= GOVERNOR_WAIT_MOST_NS)
		return next_above(g, g->level);
	return g->level;
}

static void level_set(struct governor *g, u8 to, u64 now_ns)
{
	g->level = to;
	g->count = 0;
	g->stepped_ns = now_ns;
	g->beyond = false;
}

/* Notes what the levels above the new one cost, for later tries. */
static void levels_leave(struct governor *g, const struct governor_input *in, u8 to)
{
	struct governor_second mean = governor_mean(g);

	if (in->second.cost_ppm > mean.cost_ppm) /* the load has just come */
		mean = in->second;
	for (u8 level = to + 1; level <= g->level; level++) {
		g->left[level] = mean;
		if (level < g->level)
			g->left[level].cost_ppm = in->predicted_ppm[level];
	}
}

static struct governor_decision step_down(struct governor *g, const struct governor_input *in)
{
	struct governor_decision d = {.from = g->level, .cost_ppm = governor_mean(g).cost_ppm};

	d.to = level_below(g, in);
	if (d.to == g->level) {
		u8 less = next_below(g, g->level);

		d.predicted_ppm = less < g->level ? in->predicted_ppm[less] : 0;
		d.why = g->beyond || kept(g) < kept_most(g) ? STEP_none : STEP_beyond;
		g->beyond |= d.why == STEP_beyond;
		return d;
	}
	d.why = STEP_above;
	d.predicted_ppm = in->predicted_ppm[d.to];
	levels_leave(g, in, d.to);
	if (!g->trying)
		g->wait_ns = g->first_wait_ns;
	else if (g->wait_ns < GOVERNOR_WAIT_MOST_NS / 2)
		g->wait_ns *= 2;
	else
		g->wait_ns = GOVERNOR_WAIT_MOST_NS;
	g->trying = false;
	g->settles = true;
	level_set(g, d.to, in->now_ns);
	return d;
}

static struct governor_decision step_up(struct governor *g, u64 now_ns)
{
	struct governor_decision d = {.from = g->level, .cost_ppm = governor_mean(g).cost_ppm};

	d.to = level_above(g, now_ns - g->stepped_ns);
	if (d.to == g->level)
		return d;
	d.why = STEP_below;
	d.predicted_ppm = cost_above(g, d.to);
	g->trying = true;
	g->settles = d.from == GOVERNOR_OFF;
	level_set(g, d.to, now_ns);
	return d;
}

/* A level that was tried holds: for as long as was waited for it, and for the mean that counts. */
static bool try_holds(const struct governor *g, u64 now_ns)
{
	u64 mean_ns = GOVERNOR_SECONDS * 1000000000ull, held_ns = now_ns - g->stepped_ns;

	return held_ns >= g->wait_ns && held_ns >= mean_ns;
}

/* A pause ends in its time, even one that does not hold the budget, once that is told. */
static bool pause_ends(const struct governor *g, u64 now_ns)
{
	bool over = now_ns - g->stepped_ns >= g->wait_ns;

	return g->level == GOVERNOR_OFF && (g->beyond || over);
}

struct governor governor_begin(u32 budget_ppm, u32 levels, u64 now_ns)
{
	u8 wanted = GOVERNOR_LEVELS - 1;

	while (wanted && !(levels >> wanted & 1))
		wanted--;
	return (struct governor){.budget_ppm = budget_ppm,
				 .levels = levels,
				 .wanted = wanted,
				 .level = wanted,
				 .stepped_ns = now_ns,
				 .first_wait_ns = GOVERNOR_WAIT_NS,
				 .wait_ns = GOVERNOR_WAIT_NS};
}

struct governor_decision governor_decide(struct governor *g, const struct governor_input *in)
{
	struct governor_decision stays = {.from = g->level, .to = g->level};

	if (in->held) { /* what it costs says nothing about the governor's own level */
		g->count = 0;
		return stays;
	}
	if (g->settles) {
		g->settles = false;
		return stays;
	}
	g->seconds[g->count++ % GOVERNOR_SECONDS] = in->second;
	if (g->trying && try_holds(g, in->now_ns))
		g->trying = false;
	if (is_above(g, in) && !pause_ends(g, in->now_ns))
		return step_down(g, in);
	if (governor_mean(g).cost_ppm <= g->budget_ppm)
		g->beyond = false;
	return g->level < g->wanted ? step_up(g, in->now_ns) : stays;
}
