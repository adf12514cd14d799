/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/rows.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/group.h"
#include "model/syscall_format.h"

#define ADDRESSES_MOST 64 /* of a row; more are not told */

/* ---- groups ---- */

const char *rows_text(struct rows *rows, const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return NULL;
	if (vec_push(&rows->texts, text)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Puts the key of a group into rows->key: its host, a NUL, its identity. 0 or -ENOMEM. */
static int key_make(struct rows *rows, const char *host, const char *identity)
{
	size_t host_bytes = host ? strlen(host) + 1 : 1, bytes = strlen(identity);

	rows->key.count = 0;
	if (vec_reserve(&rows->key, host_bytes + bytes))
		return -ENOMEM;
	memcpy(rows->key.data, host ? host : "", host_bytes);
	memcpy(rows->key.data + host_bytes, identity, bytes);
	rows->key.count = host_bytes + bytes;
	return 0;
}

static void group_free(struct group *g)
{
	histogram_free(&g->durations);
	vec_free(&g->errnos);
	for (size_t i = 0; i < g->addresses.count; i++)
		free(g->addresses.data[i]);
	vec_free(&g->addresses);
	free(g->identity);
	free(g);
}

static struct group *group_new(struct rows *rows, const char *identity)
{
	struct group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->identity = strdup(identity);
	if (!g->identity || vec_push(&rows->groups, g)) {
		group_free(g);
		return NULL;
	}
	return bytes_map_put(&rows->by_key, rows->key.data, rows->key.count, g) ? NULL : g;
}

static struct group *group_of_host(struct rows *rows, const char *host, const char *identity)
{
	struct group *g;

	if (key_make(rows, host, identity))
		return NULL;
	g = bytes_map_get(&rows->by_key, rows->key.data, rows->key.count);
	return g ? g : group_new(rows, identity);
}

struct group *group_of(struct rows *rows, const char *identity)
{
	return group_of_host(rows, rows->host, identity);
}

int group_add(struct group *g, const struct split *split, u64 duration_ns, bool error)
{
	g->row.count++;
	g->row.errors += error;
	g->row.total_ns += (u64)split_total(split);
	split_add(&g->row.time, split);
	return histogram_add(&g->durations, duration_ns, 1);
}

int group_add_errno(struct group *g, u32 number, u64 count)
{
	for (size_t i = 0; i < g->errnos.count; i++) {
		if (g->errnos.data[i].number == number) {
			g->errnos.data[i].count += count;
			return 0;
		}
	}
	return vec_push(&g->errnos, ((struct row_errno){number, count}));
}

int group_add_address(struct group *g, const char *address)
{
	char *copy;

	for (size_t i = 0; i < g->addresses.count; i++)
		if (strcmp(g->addresses.data[i], address) == 0)
			return 0;
	if (g->addresses.count >= ADDRESSES_MOST)
		return 0;
	copy = strdup(address);
	if (copy && vec_push(&g->addresses, copy) == 0)
		return 0;
	free(copy);
	return -ENOMEM;
}

const char *row_errno_name(const struct row_errno *e)
{
	const char *name = syscall_errno_name((int)e->number);

	return name ? name : "error";
}

void group_add_time(struct group *g, const struct split *split)
{
	g->row.total_ns += (u64)split_total(split);
	split_add(&g->row.time, split);
}

int group_add_sum(struct group *g, const struct sum *sum)
{
	g->row.count += sum->count;
	g->row.errors += sum->errors;
	g->row.read_bytes += sum->read_bytes;
	g->row.written_bytes += sum->written_bytes;
	g->row.total_ns += (u64)split_total(&sum->split);
	split_add(&g->row.time, &sum->split);
	return histogram_merge(&g->durations, &sum->durations);
}

/* ---- order ---- */

static u64 sort_total(const struct row *r)
{
	return r->total_ns;
}

/* What was not idle: a row of idle time comes last. */
static u64 sort_work(const struct row *r)
{
	return r->total_ns - (u64)r->time.ns[SPLIT_idle];
}

/* Time on a CPU. */
static u64 sort_cpu(const struct row *r)
{
	return (u64)split_on_cpu(&r->time);
}

static u64 sort_callees(const struct row *r)
{
	return r->with_callees_ns;
}

static u64 sort_own(const struct row *r)
{
	return r->own_ns;
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
	{"cpu", sort_cpu},	 {"work", sort_work},	    {"total", sort_total},
	{"own", sort_own},	 {"callees", sort_callees}, {"count", sort_count},
	{"errors", sort_errors}, {"p50", sort_p50},	    {"p95", sort_p95},
	{"p99", sort_p99},	 {"max", sort_max},	    {"key", sort_key},
};

static int row_compare(const void *a, const void *b, void *arg)
{
	const struct row *x = a, *y = b;
	const struct sort *sort = arg;
	u64 vx = sort->value(x), vy = sort->value(y);
	int keys;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (vx != vy)
		return vx > vy ? -1 : 1;
	keys = strcmp(x->key, y->key);
	if (keys)
		return keys;
	keys = strcmp(x->service ? x->service : "", y->service ? y->service : "");
	if (keys)
		return keys;
	keys = strcmp(x->host ? x->host : "", y->host ? y->host : "");
	if (keys)
		return keys;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int errno_compare(const void *a, const void *b)
{
	const struct row_errno *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void errnos_sort(struct group *g)
{
	if (g->errnos.count)
		qsort(g->errnos.data, g->errnos.count, sizeof(*g->errnos.data), errno_compare);
	g->row.errnos = g->errnos.data;
	g->row.errnos_count = g->errnos.count;
}

static int address_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void addresses_sort(struct group *g)
{
	if (g->addresses.count)
		qsort(g->addresses.data, g->addresses.count, sizeof(*g->addresses.data),
		      address_compare);
	g->row.addresses = (const char *const *)g->addresses.data;
	g->row.addresses_count = g->addresses.count;
	if (g->addresses.count > 1 && !g->row.values[0]) /* whichever was found first */
		g->row.key = g->row.addresses[0];
}

static void percentiles(struct group *g)
{
	g->row.p50_ns = histogram_percentile(&g->durations, 5000);
	g->row.p95_ns = histogram_percentile(&g->durations, 9500);
	g->row.p99_ns = histogram_percentile(&g->durations, 9900);
	g->row.max_ns = g->durations.max;
}

/* ---- steps ---- */

int row_own(struct rows *rows, struct row *row)
{
	const char **const texts[] = {&row->key,     &row->host,      &row->service,
				      &row->process, &row->thread,    &row->program,
				      &row->command, &row->values[0], &row->values[1],
				      &row->caller,  &row->callee};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!*texts[i])
			continue;
		*texts[i] = rows_text(rows, "%s", *texts[i]);
		if (!*texts[i])
			return -ENOMEM;
	}
	return row->key ? 0 : -ENOMEM;
}

/* Takes the names of `more` if `into` is new, and its sums. 0 or -ENOMEM. */
static int group_merge(struct rows *rows, struct group *into, const struct group *more)
{
	struct row *row = &into->row;
	bool is_new = !row->key;
	int err = 0;

	if (is_new) {
		*row = more->row;
		err = row_own(rows, row);
	} else {
		row->absent &= more->row.absent;
		row->count += more->row.count;
		row->errors += more->row.errors;
		row->read_bytes += more->row.read_bytes;
		row->written_bytes += more->row.written_bytes;
		row->connections += more->row.connections;
		row->unsure += more->row.unsure;
		row->own_ns += more->row.own_ns;
		row->unknown |= more->row.unknown;
		row->total_ns += more->row.total_ns;
		row->with_callees_ns += more->row.with_callees_ns;
		split_add(&row->time, &more->row.time);
	}
	for (size_t i = 0; i < more->errnos.count && !err; i++)
		err = group_add_errno(into, more->errnos.data[i].number,
				      more->errnos.data[i].count);
	for (size_t i = 0; i < more->addresses.count && !err; i++)
		err = group_add_address(into, more->addresses.data[i]);
	return err ? err : histogram_merge(&into->durations, &more->durations);
}

int rows_merge(struct rows *into, const struct rows *more)
{
	int err = 0;

	for (size_t i = 0; i < more->groups.count && !err; i++) {
		const struct group *from = more->groups.data[i];
		struct group *g = group_of_host(into, from->row.host, from->identity);

		err = g ? group_merge(into, g, from) : -ENOMEM;
	}
	return err;
}

static uint64_t scaled(uint64_t value, uint64_t all_ns, uint64_t part_ns)
{
	return (uint64_t)(((unsigned __int128)value * all_ns + part_ns / 2) / part_ns);
}

void rows_scale(struct rows *rows, uint64_t all_ns, uint64_t part_ns)
{
	if (!part_ns || part_ns >= all_ns)
		return;
	for (size_t i = 0; i < rows->groups.count; i++) {
		struct row *r = &rows->groups.data[i]->row;

		r->count = scaled(r->count, all_ns, part_ns);
		r->errors = scaled(r->errors, all_ns, part_ns);
		r->read_bytes = scaled(r->read_bytes, all_ns, part_ns);
		r->written_bytes = scaled(r->written_bytes, all_ns, part_ns);
		for (size_t k = 0; k < rows->groups.data[i]->errnos.count; k++) {
			struct row_errno *e = &rows->groups.data[i]->errnos.data[k];

			e->count = scaled(e->count, all_ns, part_ns);
		}
		for (int part = 0; part < SPLIT_PARTS_COUNT; part++)
			r->time.ns[part] = (int64_t)scaled((uint64_t)r->time.ns[part], all_ns,
							   part_ns);
		r->total_ns = (uint64_t)split_total(&r->time);
	}
}

/* Whether peers are in several network namespaces, so that their addresses alone are ambiguous. */
static void namespaces_compare(struct rows *rows)
{
	u64 first = 0;
	bool several = false;

	for (size_t i = 0; i < rows->rows.count; i++) {
		u64 one = rows->rows.data[i].network_namespace;

		several |= first && one && one != first;
		first = first ? first : one;
	}
	for (size_t i = 0; i < rows->rows.count; i++)
		rows->rows.data[i].several_namespaces = several &&
							rows->rows.data[i].network_namespace;
}

int rows_finish(struct rows *rows, const char *sort)
{
	const struct sort *order = NULL;
	int err;

	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++)
		if (strcmp(sorts[i].name, sort) == 0)
			order = &sorts[i];
	if (!order)
		return -EINVAL;
	rows->rows.count = 0;
	err = vec_reserve(&rows->rows, rows->groups.count);
	for (size_t i = 0; i < rows->groups.count && !err; i++) {
		percentiles(rows->groups.data[i]);
		errnos_sort(rows->groups.data[i]);
		addresses_sort(rows->groups.data[i]);
		err = vec_push(&rows->rows, rows->groups.data[i]->row);
	}
	namespaces_compare(rows);
	if (!err && rows->rows.count)
		qsort_r(rows->rows.data, rows->rows.count, sizeof(*rows->rows.data), row_compare,
			(void *)order);
	return err;
}

void rows_free(struct rows *rows)
{
	if (rows->more)
		rows_free(rows->more);
	free(rows->more);
	rows->more = NULL;
	for (size_t i = 0; i < rows->groups.count; i++)
		group_free(rows->groups.data[i]);
	for (size_t i = 0; i < rows->texts.count; i++)
		free(rows->texts.data[i]);
	vec_free(&rows->groups);
	vec_free(&rows->rows);
	vec_free(&rows->texts);
	vec_free(&rows->key);
	bytes_map_free(&rows->by_key);
}

bool row_is_void(const struct row *row)
{
	return !(row->absent & ROW_NO_DURATIONS) && row->count == 0 && row->total_ns == 0 &&
	       row->with_callees_ns == 0;
}
