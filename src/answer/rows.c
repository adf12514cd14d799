/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/rows.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/group.h"

/* ---- groups ---- */

const char *rows_text(struct rows *out, const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return NULL;
	if (vec_push(&out->texts, text)) {
		free(text);
		return NULL;
	}
	return text;
}

struct group *group_of(struct rows *out, const char *identity)
{
	struct group *g = bytes_map_get(&out->by_key, identity, strlen(identity));

	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	if (vec_push(&out->groups, g)) {
		free(g);
		return NULL;
	}
	return bytes_map_put(&out->by_key, identity, strlen(identity), g) ? NULL : g;
}

int group_add(struct group *g, const struct split *split, u64 duration_ns, bool error)
{
	g->row.count++;
	g->row.errors += error;
	g->row.total_ns += (u64)split_total(split);
	split_add(&g->row.time, split);
	return histogram_add(&g->durations, duration_ns, 1);
}

int group_add_sum(struct group *g, const struct sum *sum)
{
	g->row.count += sum->count;
	g->row.errors += sum->errors;
	g->row.total_ns += (u64)split_total(&sum->split);
	split_add(&g->row.time, &sum->split);
	return histogram_merge(&g->durations, &sum->durations);
}

/* ---- order ---- */

static u64 sort_total(const struct row *r)
{
	return r->total_ns;
}

/* Time on a CPU. */
static u64 sort_cpu(const struct row *r)
{
	const s64 *ns = r->time.ns;

	return (u64)split_sum(ns[SPLIT_user], ns[SPLIT_kernel]);
}

static u64 sort_count(const struct row *r)
{
	return r->count;
}

static u64 sort_errors(const struct row *r)
{
	return r->errors;
}

static u64 sort_p50(const struct row *r)
{
	return r->p50_ns;
}

static u64 sort_p95(const struct row *r)
{
	return r->p95_ns;
}

static u64 sort_p99(const struct row *r)
{
	return r->p99_ns;
}

static u64 sort_max(const struct row *r)
{
	return r->max_ns;
}

static u64 sort_key(const struct row *r)
{
	return 0;
}

static const struct sort {
	const char *name;
	u64 (*value)(const struct row *r);
} sorts[] = {
	{"cpu", sort_cpu},	 {"total", sort_total}, {"count", sort_count},
	{"errors", sort_errors}, {"p50", sort_p50},	{"p95", sort_p95},
	{"p99", sort_p99},	 {"max", sort_max},	{"key", sort_key},
};

static int row_compare(const void *a, const void *b, void *arg)
{
	const struct row *x = a, *y = b;
	const struct sort *sort = arg;
	u64 vx = sort->value(x), vy = sort->value(y);
	int keys;

	if (vx != vy)
		return vx > vy ? -1 : 1;
	keys = strcmp(x->key, y->key);
	if (keys)
		return keys;
	keys = strcmp(x->service ? x->service : "", y->service ? y->service : "");
	if (keys)
		return keys;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void percentiles(struct group *g)
{
	g->row.p50_ns = histogram_percentile(&g->durations, 5000);
	g->row.p95_ns = histogram_percentile(&g->durations, 9500);
	g->row.p99_ns = histogram_percentile(&g->durations, 9900);
	g->row.max_ns = g->durations.max;
}

int rows_build(struct rows *out, const struct partial *p, const struct grouping *by,
	       const char *sort)
{
	const struct sort *order = NULL;
	int err;

	*out = (struct rows){0};
	if (!sort)
		sort = by->sort;
	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++)
		if (strcmp(sorts[i].name, sort) == 0)
			order = &sorts[i];
	if (!order)
		return -EINVAL;
	err = by->fill(out, p);
	for (size_t i = 0; i < out->groups.count && !err; i++) {
		if (!out->groups.data[i]->row.key)
			return -ENOMEM;
		percentiles(out->groups.data[i]);
		err = vec_push(&out->rows, out->groups.data[i]->row);
	}
	if (!err && out->rows.count)
		qsort_r(out->rows.data, out->rows.count, sizeof(*out->rows.data), row_compare,
			(void *)order);
	return err;
}

bool row_is_void(const struct row *row)
{
	return !(row->absent & ROW_NO_DURATIONS) && row->count == 0 && row->total_ns == 0;
}

void rows_free(struct rows *rows)
{
	for (size_t i = 0; i < rows->groups.count; i++) {
		histogram_free(&rows->groups.data[i]->durations);
		free(rows->groups.data[i]);
	}
	for (size_t i = 0; i < rows->texts.count; i++)
		free(rows->texts.data[i]);
	vec_free(&rows->groups);
	vec_free(&rows->rows);
	vec_free(&rows->texts);
	bytes_map_free(&rows->by_key);
}
