/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording cost, as rows: by program, by what the recorder's processes did, and the
 * observer's ledger: by process that was hit, and by span. In the ledger each record counts with
 * the mean time that its programs take for one. What no record of a process tells (interrupts,
 * threads out of scope, idle CPUs) is a row of its own.
 */
#include "answer/overhead.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "map/fact/query.h"

/* What the programs take for a record of a kind: all of them, over those that wrote it. */
struct price {
	u64 cost_ns, records;
};

struct ledger {
	struct rows *out;
	const struct partial *p;
	struct price prices[RECORD_KIND_MAX + 1];
	struct map processes; /* tid -> pid */
	u64 programs_ns;      /* of all programs */
	u64 told_ns;	      /* of that, what processes have */
};

static u64 price_of(const struct ledger *l, u8 kind, u64 count)
{
	const struct price *price = kind <= RECORD_KIND_MAX ? &l->prices[kind] : NULL;

	if (!price || !price->records)
		return 0;
	return (u64)((unsigned __int128)price->cost_ns * count / price->records);
}

/* The group of a section, whose key is only known to belong to that section. */
static struct group *section_group(struct rows *out, unsigned int section, const char *identity)
{
	char key[2100];
	struct group *g;

	snprintf(key, sizeof(key), "%u %s", section, identity);
	g = group_of(out, key);
	if (!g)
		return NULL;
	g->row.section = section;
	g->row.absent = ROW_NO_ERRORS | ROW_NO_PERCENTILES | ROW_NO_SPLIT;
	return g;
}

static void group_charge(struct group *g, u64 count, u64 cost_ns)
{
	g->row.count += count;
	g->row.total_ns += cost_ns;
}

/* ---- programs, and processes of the recorder ---- */

static int costs_fill(struct ledger *l)
{
	for (size_t i = 0; i < l->p->costs.list.count; i++) {
		const struct cost_sum *sum = &l->p->costs.list.data[i];
		bool program = sum->of.flags & COST_PROGRAM;
		struct price *price = sum->of.made <= RECORD_KIND_MAX ? &l->prices[sum->of.made]
								      : NULL;
		struct group *g = section_group(l->out, program ? ROW_OF_PROGRAM : ROW_OF_RECORDER,
						sum->of.name);

		if (!g)
			return -ENOMEM;
		g->row.key = sum->of.name;
		group_charge(g, sum->runs, sum->cost_ns);
		if (!program)
			continue;
		l->programs_ns += sum->cost_ns;
		if (price)
			price->cost_ns += sum->cost_ns;
		if (price && sum->of.flags & COST_WRITES)
			price->records += sum->runs;
	}
	return 0;
}

/* ---- processes that were hit ---- */

static int processes_find(struct ledger *l)
{
	int err = 0;

	for (size_t i = 0; i < l->p->lives.count && !err; i++) {
		const struct life *life = l->p->lives.data[i];

		if (life->pid)
			err = map_put(&l->processes, life->tid, (void *)(uintptr_t)life->pid);
	}
	return err;
}

static u32 hit_process(const struct ledger *l, u64 key)
{
	if (hit_kind(key) != RECORD_waking)
		return hit_number(key);
	return (u32)(uintptr_t)map_get(&l->processes, hit_number(key));
}

static int process_charge(struct ledger *l, u32 pid, u64 count, u64 cost_ns)
{
	const char *comm = query_comm(l->p, pid, UINT64_MAX);
	struct group *g;
	char identity[16];

	snprintf(identity, sizeof(identity), "%u", pid);
	g = section_group(l->out, ROW_OF_PROCESS, identity);
	if (!g)
		return -ENOMEM;
	g->row.key = g->row.process = comm ? comm : "?";
	g->row.pid = pid;
	group_charge(g, count, cost_ns);
	l->told_ns += cost_ns;
	return 0;
}

static int processes_fill(struct ledger *l)
{
	struct map_entry entry;
	size_t at = 0;
	int err = processes_find(l);

	while (!err && map_next(&l->p->hits.counts, &at, &entry)) {
		u64 count = (u64)(uintptr_t)entry.value;
		u64 cost_ns = price_of(l, hit_kind(entry.key), count);
		u32 pid = hit_process(l, entry.key);

		if (cost_ns && pid)
			err = process_charge(l, pid, count, cost_ns);
	}
	return err;
}

static int rest_fill(struct ledger *l)
{
	struct group *g;

	if (l->programs_ns <= l->told_ns || !l->told_ns)
		return 0;
	g = section_group(l->out, ROW_OF_PROCESS, "rest");
	if (!g)
		return -ENOMEM;
	g->row.key = "no process";
	group_charge(g, 0, l->programs_ns - l->told_ns);
	return 0;
}

/* ---- spans ---- */

static u64 span_cost(const struct ledger *l, const struct span_hits *hits, u64 *count)
{
	static const u8 kinds[] = {
#define H(kind) [HIT_##kind] = RECORD_##kind,
		HIT_KINDS(H)
#undef H
	};
	u64 cost_ns = 0;

	*count = 0;
	for (int i = 0; i < HIT_SLOTS; i++) {
		cost_ns += price_of(l, kinds[i], hits->counts[i]);
		*count += hits->counts[i];
	}
	return cost_ns;
}

static int span_charge(struct ledger *l, const struct app_span *s, const struct span_hits *hits)
{
	u64 begin_ns = s->begin_ns, count, cost_ns = span_cost(l, hits, &count);
	u32 pid = query_span_place(l->p, s, begin_ns).pid;
	const char *service = query_resource(l->p, pid, begin_ns, "service.name");
	const char *name = s->name ? s->name : "?"; /* only its context was seen */
	struct group *g;
	char identity[2048];

	snprintf(identity, sizeof(identity), "%s%c%s", name, 1, service ? service : "");
	g = section_group(l->out, ROW_OF_SPAN, identity);
	if (!g)
		return -ENOMEM;
	if (!g->row.key)
		g->row.key = rows_text(l->out, "%s", name);
	g->row.service = service;
	group_charge(g, count, cost_ns);
	return 0;
}

static int spans_fill(struct ledger *l)
{
	int err = 0;

	for (size_t i = 0; i < l->p->spans.count && !err; i++) {
		const struct app_span *s = l->p->spans.data[i];
		const struct span_hits *hits = query_span_hits(l->p, &s->ctx);

		if (hits)
			err = span_charge(l, s, hits);
	}
	return err;
}

int fill_overhead(struct rows *out, const struct partial *p)
{
	struct ledger l = {.out = out, .p = p};
	int err = costs_fill(&l);

	err = err ? err : processes_fill(&l);
	err = err ? err : rest_fill(&l);
	err = err ? err : spans_fill(&l);
	map_free(&l.processes);
	return err;
}

void cost_view_of(const struct partial *p, struct cost_view *out)
{
	*out = (struct cost_view){0};
	for (size_t i = 0; i < p->costs.list.count; i++) {
		const struct cost_sum *sum = &p->costs.list.data[i];

		if (sum->of.flags & COST_PROGRAM)
			out->programs_ns += sum->cost_ns;
		else
			out->processes_ns += sum->cost_ns;
		out->measured |= sum->of.flags & COST_PROGRAM;
	}
}

const char *row_section_name(unsigned int section)
{
	static const char *const names[] = {
		[ROW_OF_PROGRAM] = "program",
		[ROW_OF_RECORDER] = "recorder",
		[ROW_OF_PROCESS] = "process",
		[ROW_OF_SPAN] = "span",
	};

	return section < sizeof(names) / sizeof(names[0]) ? names[section] : NULL;
}
