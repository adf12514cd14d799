/* SPDX-License-Identifier: Apache-2.0 */
#include "request/model.h"

#define LAG_LEAST_NS 1024
#define LAG_SPREAD_LEAST 184 /* a factor of 1.65 */
#define LAG_FIT_WORST -3200

/* What fewer requests do is noise, and what more do is a rule. In percent. */
#define SOME 2
#define NEARLY_ALL 98
#define ALWAYS 90
#define MOSTLY 80

/* Calls without any request that are no coincidence, and how far they blur what requests do. */
#define NOBODYS_LEAST 3
#define NOBODYS_PERCENT_MOST 60

struct peer_count {
	u64 peer;
	u64 calls;
};

static u32 number_in(const u64 *list, u32 count, u64 value)
{
	u32 i = 0;

	while (i < count && list[i] != value)
		i++;
	return i;
}

u32 model_service_number(const struct model *m, u64 service)
{
	return number_in(m->service_peers, m->service_count, service);
}

u32 model_peer_number(const struct model *m, u64 peer)
{
	return number_in(m->peers, m->peer_count, peer);
}

/* Counts by peer, in a map of counts. */
static int peer_counted(struct map *counts, u64 peer)
{
	return map_put(counts, peer, (void *)((uintptr_t)map_get(counts, peer) + 1));
}

/* The most frequent ones of a map of counts, the smaller number first where they are equal. */
static u32 most_frequent(const struct map *counts, u64 *into, u64 *how_often, u32 most)
{
	struct peer_count best[MODEL_PEERS];
	struct map_entry entry;
	u32 count = 0;

	for (size_t at = 0; map_next(counts, &at, &entry);) {
		struct peer_count c = {entry.key, (uintptr_t)entry.value};
		u32 i = count < most ? count++ : most;

		for (; i > 0 && (best[i - 1].calls < c.calls ||
				 (best[i - 1].calls == c.calls && best[i - 1].peer > c.peer));
		     i--) {
			if (i < most)
				best[i] = best[i - 1];
		}
		if (i < most)
			best[i] = c;
	}
	for (u32 i = 0; i < count; i++) {
		into[i] = best[i].peer;
		how_often[i] = best[i].calls;
	}
	return count;
}

int model_init(struct model *m, const struct link *l, const struct link_process *p)
{
	struct map services = {0}, peers = {0};
	u64 calls[MODEL_PEERS];
	int err = 0;

	*m = (struct model){0};
	for (size_t i = p->begin; i < p->end && !err; i++) {
		const struct link_event *e = &l->events[i];

		if (e->kind == LINK_REQUEST)
			err = peer_counted(&services, link_peer(l, e->number));
		else if (e->kind == LINK_CALL)
			err = peer_counted(&peers, link_peer(l, e->number));
	}
	m->service_count = most_frequent(&services, m->service_peers, m->received, MODEL_SERVICES);
	m->peer_count = most_frequent(&peers, m->peers, calls, MODEL_PEERS);
	map_free(&services);
	map_free(&peers);
	m->services = calloc(m->service_count + 1, sizeof(*m->services));
	m->steps = calloc((size_t)m->service_count * m->peer_count * MODEL_NTH + 1,
			  sizeof(*m->steps));
	if (err || !m->services || !m->steps) {
		model_free(m);
		return -ENOMEM;
	}
	return 0;
}

void model_number(const struct model *m, struct link *l, const struct link_process *p)
{
	for (size_t i = p->begin; i < p->end; i++) {
		const struct link_event *e = &l->events[i];
		u32 n = e->number;

		if (e->kind == LINK_REQUEST)
			l->items[n].service = (u8)model_service_number(m, link_peer(l, n));
		else if (e->kind == LINK_CALL)
			l->items[n].peer = (u8)model_peer_number(m, link_peer(l, n));
	}
}

void model_free(struct model *m)
{
	free(m->services);
	free(m->steps);
	*m = (struct model){0};
}

static void step_take(struct model *m, struct model_step *step, const struct learned_key *key,
		      u64 count)
{
	u32 other;

	switch (key->kind) {
	case LEARNED_DONE:
		other = model_peer_number(m, key->other);
		if (other < m->peer_count)
			step->done[other][key->value] += (u32)count;
		break;
	case LEARNED_BEGUN:
		other = model_peer_number(m, key->other);
		if (other < m->peer_count)
			step->begun[other][key->value] += (u32)count;
		break;
	case LEARNED_UNDER_WAY:
		step->under_way[key->value] += (u32)count;
		break;
	case LEARNED_LAG_COUNT:
		step->lag_count += count;
		break;
	case LEARNED_LAG_SUM:
		step->lag_sum += count;
		break;
	case LEARNED_LAG_SQUARES:
		step->lag_squares += count;
		break;
	default:
		break;
	}
}

int model_take(void *model, const struct learned_key *key, u64 count)
{
	struct model *m = model;
	u32 service = model_service_number(m, key->service);
	u32 peer = model_peer_number(m, key->peer);
	struct model_service *s = &m->services[service];

	if (service == m->service_count || s->taught)
		return 0;
	if (key->kind == LEARNED_REQUESTS)
		s->requests += count;
	else if (key->kind == LEARNED_ALONE_NS)
		s->alone_ns += count;
	else if (key->kind == LEARNED_IDLE_NS)
		s->idle_ns += count;
	else if (peer == m->peer_count || key->nth > LEARNED_NTH_MOST)
		return 0;
	else if (key->kind == LEARNED_IDLE_CALLS)
		s->idle_calls[peer] += count;
	else if (key->kind == LEARNED_CALLS)
		s->calls[peer][key->value < MODEL_CALLS ? key->value : LEARNED_CALLS_MOST] +=
			(u32)count;
	else if (key->value < MODEL_DONE)
		step_take(m, &m->steps[(service * m->peer_count + peer) * MODEL_NTH + key->nth],
			  key, count);
	return 0;
}

void model_add(struct model *m, const struct learned *sorted, bool backward)
{
	for (u32 i = 0; i < m->service_count; i++) {
		const struct learned_row *rows;
		size_t count = learned_of_service(sorted, backward, m->service_peers[i], &rows);

		for (size_t n = 0; n < count; n++)
			model_take(m, &rows[n].key, rows[n].count);
	}
}

/* The greatest value that at least `percent` of `all` reach. */
static u32 reached_by(const u32 *counts, u32 values, u64 all, u32 percent)
{
	u64 reach = 0;
	u32 value = values - 1;

	for (; value > 0; value--) {
		reach += counts[value];
		if (reach && reach * 100 >= all * percent)
			break;
	}
	return value;
}

/* The smallest value that at most `percent` of `all` exceed. */
static u32 exceeded_by(const u32 *counts, u32 values, u64 all, u32 percent)
{
	u64 exceed = 0;
	u32 value = values - 1;

	for (; value > 0; value--) {
		exceed += counts[value];
		if (exceed * 100 > all * percent)
			break;
	}
	return value;
}

static u64 square_root(u64 value)
{
	u64 root = 0;

	for (u64 bit = 1ull << 31; bit; bit >>= 1) {
		if ((root | bit) * (root | bit) <= value)
			root |= bit;
	}
	return root;
}

/* `nearly_all`: percent of the calls that follow a rule. */
static void step_settle(const struct model *m, struct model_step *step, u32 nearly_all)
{
	u64 calls = 0, squares, mean;

	for (u32 v = 0; v < MODEL_DONE; v++)
		calls += step->under_way[v];
	step->beside = (u8)exceeded_by(step->under_way, MODEL_DONE, calls, 100 - nearly_all);
	for (u32 p = 0; p < m->peer_count; p++) {
		step->needs[p] = (u8)reached_by(step->done[p], MODEL_DONE, calls, nearly_all);
		step->before[p] = (u8)reached_by(step->begun[p], MODEL_DONE, calls, MOSTLY);
		step->limits[p] = (u8)exceeded_by(step->begun[p], MODEL_DONE, calls,
						  100 - nearly_all);
	}
	if (!step->lag_count)
		return;
	mean = step->lag_sum / step->lag_count;
	step->lag_mean = (u32)mean;
	squares = step->lag_squares / step->lag_count;
	step->lag_spread = (u32)square_root(squares > mean * mean ? squares - mean * mean : 0);
	if (step->lag_spread < LAG_SPREAD_LEAST)
		step->lag_spread = LAG_SPREAD_LEAST;
}

/*
 * How many calls to a peer come during a request that are nobody's, as far as such calls come
 * without any request. In percent of the requests.
 */
static u32 nobodys_percent(const struct model_service *s, u32 peer)
{
	double calls;

	if (s->idle_calls[peer] < NOBODYS_LEAST || !s->idle_ns || !s->requests)
		return 0;
	calls = (double)s->idle_calls[peer] * (double)s->alone_ns / (double)s->idle_ns;
	calls = calls * 100 / (double)s->requests;
	return calls < NOBODYS_PERCENT_MOST ? (u32)calls : NOBODYS_PERCENT_MOST;
}

static void service_settle(const struct model *m, struct model_service *s)
{
	s->peer_count = 0;
	for (u32 p = 0; p < m->peer_count; p++) {
		u32 nobodys = nobodys_percent(s, p);
		u32 most = reached_by(s->calls[p], MODEL_CALLS, s->requests,
				      SOME + nobodys + nobodys / 2);

		s->nobodys_percent[p] = nobodys;
		s->always[p] = most && !nobodys &&
			       (u64)s->calls[p][most] * 100 > s->requests * ALWAYS;
		s->most[p] = most == LEARNED_CALLS_MOST ? UINT32_MAX : most;
		if (most)
			s->peers[s->peer_count++] = (u8)p;
	}
}

void model_settle(struct model *m)
{
	for (u32 i = 0; i < m->service_count; i++) {
		struct model_service *s = &m->services[i];

		service_settle(m, s);
		for (u32 p = 0; p < m->peer_count; p++) {
			u32 noise = s->nobodys_percent[p];
			struct model_step *step = &m->steps[(i * m->peer_count + p) * MODEL_NTH];

			for (u32 n = 0; n < MODEL_NTH; n++)
				step_settle(m, &step[n], NEARLY_ALL - noise);
		}
	}
}

bool model_may(const struct model *m, u32 service, u32 peer, const struct model_calls *calls)
{
	const struct model_service *s = &m->services[service];
	const struct model_step *step;

	if (calls->begun[peer] >= s->most[peer])
		return false;
	step = model_step(m, service, peer, calls->begun[peer]);
	if (calls->under_way > step->beside)
		return false;
	for (u32 i = 0; i < s->peer_count; i++) {
		u32 p = s->peers[i];

		if (calls->done[p] < step->needs[p])
			return false;
		if (p != peer && calls->begun[p] > step->limits[p] &&
		    step->limits[p] < LEARNED_DONE_MOST)
			return false;
	}
	return true;
}

bool model_is_next(const struct model *m, u32 service, u32 peer, const struct model_calls *calls)
{
	const struct model_service *s = &m->services[service];
	const struct model_step *step = model_step(m, service, peer, calls->begun[peer]);

	for (u32 i = 0; i < s->peer_count; i++) {
		if (calls->begun[s->peers[i]] < step->before[s->peers[i]])
			return false;
	}
	return true;
}

bool model_may_end(const struct model *m, u32 service, const struct model_calls *calls)
{
	const struct model_service *s = &m->services[service];

	for (u32 i = 0; i < s->peer_count; i++) {
		u32 p = s->peers[i];

		if (s->always[p] && calls->begun[p] != s->most[p])
			return false;
	}
	return true;
}

s32 model_fit(const struct model *m, u32 service, u32 peer, u32 nth, u64 lag_ns)
{
	const struct model_step *step = model_step(m, service, peer, nth);
	s64 off, fit;

	if (step->lag_count < 3)
		return LAG_FIT_WORST / 2;
	off = (s64)log2_fixed(lag_ns + LAG_LEAST_NS) - (s64)step->lag_mean;
	fit = -128 * off * off / ((s64)step->lag_spread * step->lag_spread);
	return fit < LAG_FIT_WORST ? LAG_FIT_WORST : (s32)fit;
}
