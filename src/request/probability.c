/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probability comes from a table, by the evidence and by whether both ways agree. It was read
 * off services whose own ledgers told the truth. For edges that were found by order it is corrected
 * by the share of requests that are complete when they end: if an order is wrong for a service, its
 * requests lack calls, or have too many.
 */
#include "request/probability.h"

#define PPM EDGE_CERTAIN_PPM

struct likely {
	u32 agree_ppm, differ_ppm;
	u32 alone_ppm;	/* they differ, and only one of the ways completes the requests */
	u32 mostly_ppm; /* they differ, as of most calls without a label, and neither fits */
};

static const struct likely table[] = {
	[EDGE_GIVEN] = {999900, 999900, 999900, 999900},
	[EDGE_BYTES] = {PPM, PPM, PPM, PPM},
	[EDGE_GOROUTINE] = {999000, 999000, 999000, 999000},
	[EDGE_CONTEXT] = {999000, 999000, 999000, 999000},
	[EDGE_THREAD] = {998000, 990000, 990000, 990000},
	[EDGE_WAKE] = {990000, 970000, 970000, 970000},
	[EDGE_CONNECT] = {990000, 850000, 960000, 850000},
	[EDGE_SEQUENCE] = {995000, 900000, 975000, 800000},
	[EDGE_ORDER] = {985000, 750000, 955000, 650000},
	[EDGE_TIMING] = {250000, 200000, 200000, 200000},
};

_Static_assert(sizeof(table) / sizeof(*table) == EDGE_EVIDENCE_COUNT, "each evidence has its row");

#define NEARLY_ALL 0.99 /* of the requests are complete */
#define CLEARLY 0.03	/* so much less is it in the other way */
#define MOSTLY 0.5	/* of the calls the ways agree */

/*
 * Where the ways differ, one of them is trusted if it is a single loop's, and nearly all requests
 * are complete in it alone.
 */
static bool way_is_sure(const struct probability_of *of)
{
	return of->p->mixed == 1 && of->complete > NEARLY_ALL && of->complete - of->other > CLEARLY;
}

/*
 * Threads of a pool have no order of their own. If labels are missing there, and the ways differ on
 * most of those calls, neither way is like what the process does.
 */
static bool fits_neither(const struct probability_of *of)
{
	return of->p->labelled && of->agree < MOSTLY;
}

u32 edge_probability(const struct edge *edge, const struct probability_of *of)
{
	const struct likely *row = &table[edge->evidence];
	u32 ppm = row->agree_ppm, guess;

	if (!edge->agrees && fits_neither(of))
		ppm = row->mostly_ppm;
	else if (!edge->agrees)
		ppm = way_is_sure(of) ? row->alone_ppm : row->differ_ppm;
	if (edge->evidence < EDGE_CONNECT)
		return ppm;
	/* between a guess among the candidates and the table */
	guess = PPM / (edge->candidates ? edge->candidates : 1);
	if (edge->evidence == EDGE_TIMING || guess >= ppm)
		return ppm;
	return guess + (u32)((ppm - guess) * of->complete);
}
