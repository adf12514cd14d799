/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/json.h"
#include "answer/why.h"

static void line_write(struct json *j, const struct why_line *line)
{
	json_object_begin(j, NULL);
	if (line->host)
		json_string(j, "host", line->host);
	if (line->who.name)
		critical_who_write_json(j, &line->who);
	json_string(j, "state", line->state);
	if (line->cause)
		json_string(j, "cause", line->cause);
	if (line->since_ns) {
		json_u64(j, "since_ns", line->since_ns);
		json_u64(j, "for_ns", line->ns);
	}
	json_string(j, "does", line->verb);
	json_string(j, "what", line->rest);
	json_object_end(j);
}

static void chain_write(struct json *j, const struct why_answer *a, const struct why_chain *chain)
{
	json_object_begin(j, NULL);
	json_u64(j, "threads", chain->alike + 1);
	json_array_begin(j, "chain");
	for (size_t i = chain->first; i < chain->end; i++)
		line_write(j, &a->lines.data[i]);
	json_array_end(j);
	json_object_end(j);
}

void why_write_json(struct json *j, const struct source_view *source, const struct why_answer *a)
{
	u64 unix_ns = clocks_unix_ns(source->clocks, source->clocks_count, a->at_ns);

	json_object_begin(j, NULL);
	schema_write_json(j);
	source_write_json(j, source);
	if (a->host)
		json_string(j, "host", a->host);
	json_string(j, "process", a->who.process);
	json_string(j, "service", a->who.name);
	json_u64(j, "pid", a->who.pid);
	json_u64(j, "at_ns", a->at_ns);
	if (unix_ns)
		json_u64(j, "at_unix_ns", unix_ns);
	json_u64(j, "threads", a->threads);
	json_array_begin_lines(j, "waits");
	for (size_t i = 0; i < a->chains.count; i++)
		chain_write(j, a, &a->chains.data[i]);
	json_array_end(j);
	if (a->threads > WHY_THREADS_MOST)
		json_u64(j, "threads_left_out", a->threads - WHY_THREADS_MOST);
	json_object_end(j);
	json_end(j);
}

void why_path_write_json(struct json *j, const struct source_view *source,
			 const struct critical_answer *a)
{
	json_object_begin(j, NULL);
	schema_write_json(j);
	source_write_json(j, source);
	json_string(j, "trace_id", a->trace_id);
	json_string(j, "span_id", a->span_id);
	json_string(j, "name", a->name);
	json_u64(j, "begin_ns", a->begin_ns);
	json_u64(j, "end_ns", a->end_ns);
	critical_write_json(j, a);
	json_object_end(j);
	json_end(j);
}
