/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer/request_rows.h"
#include "answer/requests.h"

/* By name, if that suits any of the hosts. */
static const char *by_of(const struct sources *sources, const struct report_choice *choice)
{
	const char *by = choice->by;

	for (size_t i = 0; i < sources->list.count && !choice->by; i++) {
		by = grouping_default(sources->list.data[i]->partial, &choice->filter);
		if (strcmp(by, "name") == 0)
			break;
	}
	return by;
}

static int hosts_fill(struct rows *rows, const struct sources *sources, const struct grouping *by,
		      const struct profile_choice *profile)
{
	int err = 0;

	for (size_t i = 0; i < sources->list.count && !err; i++) {
		const struct source *source = sources->list.data[i];
		struct rows of_host = {.source_host = source->host, .profile = profile};

		err = rows_fill(&of_host, source->partial, by, source->host);
		err = err ? err : rows_merge(rows, &of_host);
		rows_free(&of_host);
	}
	return err;
}

static enum request_rows_by rows_by_of(const struct grouping *by)
{
	if (strcmp(by->keys[0]->name, "edge") == 0)
		return REQUEST_ROWS_EDGE;
	return strcmp(by->keys[0]->name, "service") == 0 ? REQUEST_ROWS_SERVICE
							 : REQUEST_ROWS_OPERATION;
}

/* Requests are followed over all hosts together. */
static int requests_fill(struct rows *rows, const struct sources *sources,
			 const struct grouping *by)
{
	struct request_answer answer = {0};
	int err = request_answer_of(sources, REQUEST_PROBABILITY_PPM, &answer);

	err = err ? err : request_rows_fill(rows, &answer.requests, rows_by_of(by));
	request_answer_free(&answer);
	return err;
}

/* Whether rows by service are of requests: no application of the recordings has spans. */
static bool services_serve(const struct sources *sources, const struct grouping *by)
{
	if (strcmp(by->name, "service") != 0 || !filter_is_empty(&by->filter))
		return false;
	for (size_t i = 0; i < sources->list.count; i++)
		if (sources->list.data[i]->partial->spans.count)
			return false;
	return true;
}

bool report_wants_spans(const struct report_choice *choice, const struct sources *sources)
{
	struct error none = {0};
	struct grouping by;

	if (!choice->by || grouping_make(&by, choice->by, &choice->filter, &none))
		return false;
	return sources ? services_serve(sources, &by) : by.of == OF_REQUEST;
}

struct sum_choice report_sums(const struct report_choice *choice)
{
	struct error none = {0};
	struct grouping by;

	if (grouping_make(&by, choice->by ? choice->by : "process", &choice->filter, &none))
		return (struct sum_choice){.by = SUM_BY_NOTHING};
	return grouping_sums(&by);
}

/* Sums up and sorts the rows of all hosts. */
static int rows_make(struct rows *rows, const struct sources *sources, const struct grouping *by,
		     const struct report_choice *choice)
{
	const struct source *one = sources->list.data[0];
	int err;

	*rows = (struct rows){.source_host = one->host, .profile = choice->profile};
	if (by->of == OF_REQUEST || services_serve(sources, by))
		err = requests_fill(rows, sources, by);
	else
		err = sources->several ? hosts_fill(rows, sources, by, choice->profile)
				       : rows_fill(rows, one->partial, by, NULL);
	if (!err && choice->scale && by->of == OF_CALL)
		rows_scale(rows, sources->view.recorded_ns, sources->view.calls_ns);
	return err ? err : rows_finish(rows, choice->sort);
}

#define REST_ROWS 10

/* Adds the rest of the host. */
static int rest_make(struct report *out, struct rows *rows, const struct sources *sources)
{
	struct error none = {0};
	struct grouping by;
	int err = grouping_make(&by, "process", NULL, &none);

	rows->more = calloc(1, sizeof(*rows->more));
	if (!rows->more)
		return -ENOMEM;
	err = err ? err
		  : rows_make(rows->more, sources, &by, &(struct report_choice){.sort = by.sort});
	out->rest = rows->more->rows.data;
	out->rest_count = out->rest_total = rows->more->rows.count;
	if (out->rest_count > REST_ROWS)
		out->rest_count = REST_ROWS;
	return err;
}

int report_make(struct report *out, struct rows *rows, const struct sources *sources,
		const struct report_choice *choice)
{
	const struct source *one = sources->list.data[0];
	struct error none = {0};
	struct grouping by;
	const char *sort;
	int err;

	*rows = (struct rows){0};
	err = grouping_make(&by, by_of(sources, choice), &choice->filter, &none);
	if (err)
		return err;
	sort = choice->sort ? choice->sort : by.sort;
	err = rows_make(rows, sources, &by,
			&(struct report_choice){
				.sort = sort, .scale = choice->scale, .profile = choice->profile});
	if (err)
		return err;
	*out = (struct report){.by = choice->by ? choice->by : by.keys[0]->name,
			       .keys = {by.keys[0], by.keys[1]},
			       .sort = sort,
			       .from_ns = sources->several ? 0 : one->from_ns,
			       .to_ns = sources->several ? 0 : one->to_ns,
			       .source = sources->view,
			       .hosts = sources->several ? sources->list.count : 0,
			       .rows = rows->rows.data,
			       .rows_count = rows->rows.count,
			       .rows_total = rows->rows.count};
	out->source.scaled = choice->scale && by.of == OF_CALL;
	if (choice->limit && out->rows_count > choice->limit)
		out->rows_count = choice->limit;
	if (!choice->by && by.of == OF_SPAN && filter_is_empty(&choice->filter))
		err = rest_make(out, rows, sources);
	return err;
}
