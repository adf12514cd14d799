/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/live.h"

#include <errno.h>
#include <string.h>

#include "answer/grouping.h"
#include "answer/request_rows.h"

/* A process that is older than the recording has no name in it. */
static int row_name(struct row *row, struct rows *rows, const struct live_names *names)
{
	const char *text;
	char name[32];

	if (!row->pid || strcmp(row->key, "?") != 0 ||
	    !names->find(names->arg, row->pid, row->tid, name))
		return 0;
	text = rows_text(rows, "%s", name);
	if (!text)
		return -ENOMEM;
	row->key = text;
	if (row->tid)
		row->thread = text;
	else
		row->process = text;
	return 0;
}

bool live_is_of_requests(const char *by)
{
	const struct filter none = {0};
	struct error why = {0};
	struct grouping grouping;

	return by && !grouping_make(&grouping, by, &none, &why) && grouping.of == OF_REQUEST;
}

/* The slowest first, if no order is asked for. */
static int requests_build(struct rows *rows, const struct source *source, bool edges,
			  const char *sort)
{
	const struct request_host host = {
		.p = source->partial, .name = source->host, .boot = source->boot};
	struct requests requests;
	int err = requests_make(&requests, &host, 1, REQUEST_PROBABILITY_PPM);

	err = err ? err
		  : request_rows_fill(rows, &requests,
				      edges ? REQUEST_ROWS_EDGE : REQUEST_ROWS_OPERATION);
	requests_free(&requests);
	return err ? err : rows_finish(rows, sort);
}

int live_rows_add(struct live_rows *out, const struct source *source,
		  const struct live_choice *choice, const struct live_names *names)
{
	const char *by = choice->by, *sort = choice->sort;
	const struct filter *filter = &choice->filter;
	struct error none = {0};
	struct grouping grouping;
	struct live_part *part = &out->parts[out->count];
	struct rows *rows = &out->rows[out->count];
	size_t left = 0;
	int err;

	if (grouping_make(&grouping, by, filter, &none))
		return -EINVAL;
	if (out->count == LIVE_PARTS_MAX)
		return -ENOSPC;
	out->count++;
	if (grouping.of == OF_REQUEST) {
		sort = sort ? sort : "p99";
		err = requests_build(rows, source, strcmp(grouping.keys[0]->name, "edge") == 0,
				     sort);
	} else {
		err = rows_build(rows, source->partial, &grouping, sort);
	}
	for (size_t i = 0; i < rows->rows.count && !err; i++) {
		struct row *row = &rows->rows.data[i];

		if (!row->total_ns)
			continue;
		err = row_name(row, rows, names);
		rows->rows.data[left++] = *row;
	}
	*part = (struct live_part){.by = by,
				   .sort = sort ? sort : grouping.sort,
				   .rows = rows->rows.data,
				   .rows_count = left};
	return err;
}

void live_rows_drop(struct live_rows *rows)
{
	rows_free(&rows->rows[--rows->count]);
}

struct live live_of(const struct source *source, const struct live_rows *rows)
{
	return (struct live){.from_ns = source->from_ns,
			     .to_ns = source->to_ns,
			     .source = source->view,
			     .parts = rows->parts,
			     .parts_count = rows->count};
}

void live_rows_free(struct live_rows *rows)
{
	while (rows->count)
		live_rows_drop(rows);
}
