/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/critical.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "answer/critical_words.h"
#include "request/nodes.h"

/* ---- finding the span ---- */

/* The span of an exchange that is the outermost of a trace; NULL: there is none. */
static const struct request_span *outermost(const struct requests *r, const struct request_trace *t)
{
	for (size_t i = t->first; i < t->end; i++)
		if (r->spans.data[i].kind != REQUEST_APP)
			return &r->spans.data[i];
	return NULL;
}

static const struct request_span *by_span_id(const struct requests *r,
					     const struct request_trace *t, const char *id)
{
	for (size_t i = t->first; i < t->end; i++) {
		char text[SPAN_ID_BYTES];

		if (r->spans.data[i].kind == REQUEST_APP)
			continue;
		span_id_format(text, request_span_id(r, &r->spans.data[i]));
		if (strcasecmp(text, id) == 0)
			return &r->spans.data[i];
	}
	return NULL;
}

/* The span with this id, and its trace; NULL: there is none. */
static const struct request_span *span_find(const struct requests *r, const char *id,
					    const struct request_trace **trace)
{
	bool of_trace = strlen(id) == TRACE_ID_BYTES - 1;
	const struct request_span *found = NULL;

	for (size_t i = 0; i < r->traces.count && !found; i++) {
		char text[TRACE_ID_BYTES];

		*trace = &r->traces.data[i];
		trace_id_format(text, (*trace)->id);
		if (!of_trace)
			found = by_span_id(r, *trace, id);
		else if (strcasecmp(text, id) == 0)
			found = outermost(r, *trace);
	}
	return found;
}

/* ---- rows ---- */

static int row_add(struct critical_answer *out, const struct requests *r,
		   const struct critical_segment *s)
{
	struct critical_row row = {.begin_ns = s->begin_ns,
				   .end_ns = s->end_ns,
				   .least_ns = s->least_ns,
				   .most_ns = s->most_ns,
				   .host = r->hosts[s->host].name};
	const struct request_span of = node_span(r, s->node);

	span_id_format(row.span_id, request_span_id(r, &of));
	critical_describe(&row, &out->builder, r, s);
	return out->builder.failed ? -ENOMEM : vec_push(&out->rows, row);
}

int critical_answer_make(const struct request_answer *a, const char *id,
			 struct critical_answer *out)
{
	const struct requests *r = &a->requests;
	const struct request_trace *trace;
	const struct request_span *of = span_find(r, id, &trace);
	struct critical_path path = {0};
	struct request_bounds b;
	int err;

	if (!of)
		return -ENOENT;
	b = request_bounds_of(r, of);
	trace_id_format(out->trace_id, trace->id);
	span_id_format(out->span_id, request_span_id(r, of));
	out->name = request_operation(r, of->of)->name;
	out->begin_ns = b.begin_ns;
	out->end_ns = b.end_ns;
	err = critical_find(&path, r, trace, of);
	for (size_t i = 0; i < path.list.count && !err; i++)
		err = row_add(out, r, &path.list.data[i]);
	critical_free(&path);
	return err;
}

void critical_answer_free(struct critical_answer *out)
{
	vec_free(&out->rows);
	builder_free(&out->builder);
}

size_t critical_longest(const struct critical_answer *a)
{
	size_t longest = 0;

	for (size_t i = 1; i < a->rows.count; i++)
		if (a->rows.data[i].end_ns - a->rows.data[i].begin_ns >
		    a->rows.data[longest].end_ns - a->rows.data[longest].begin_ns)
			longest = i;
	return longest;
}

/* ---- JSON ---- */

void critical_who_write_json(struct json *j, const struct critical_who *who)
{
	json_string(j, "process", who->process);
	json_string(j, "service", who->name);
	json_u64(j, "pid", who->pid);
	json_u64(j, "tid", who->tid);
}

void critical_write_json(struct json *j, const struct critical_answer *a)
{
	json_array_begin_lines(j, "critical");
	for (size_t i = 0; i < a->rows.count; i++) {
		const struct critical_row *row = &a->rows.data[i];

		json_object_begin(j, NULL);
		json_u64(j, "begin_ns", row->begin_ns);
		json_u64(j, "end_ns", row->end_ns);
		if (row->host)
			json_string(j, "host", row->host);
		if (row->who.name)
			critical_who_write_json(j, &row->who);
		json_string(j, "span_id", row->span_id);
		json_string(j, "state", row->state);
		json_string(j, "cause", row->cause);
		if (row->by.name) {
			json_object_begin(j, "by");
			critical_who_write_json(j, &row->by);
			json_object_end(j);
		}
		if (row->least_ns != row->most_ns) {
			json_u64(j, "least_ns", row->least_ns);
			json_u64(j, "most_ns", row->most_ns);
		}
		json_string(j, "does", row->verb);
		json_string(j, "what", row->rest);
		json_object_end(j);
	}
	json_array_end(j);
}
