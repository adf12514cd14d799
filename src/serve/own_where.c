/* SPDX-License-Identifier: Apache-2.0 */
/* One tree of where the time of an operation goes, over many traces: /api/v1/where. */
#include <errno.h>

#include "base/json.h"
#include "base/units.h"
#include "serve/answer.h"
#include "serve/own.h"
#include "serve/parameters.h"
#include "serve/where.h"

#define HOUR_NS UINT64_C(3600000000000)
#define TRACES 300 /* unless asked for otherwise */

/* The reason why the parameters are refused; NULL: they are not. */
static const char *parameters_read(struct query *q, struct gather_query *out)
{
	const char *kind = query_value(q, "kind"), *limit = query_value(q, "limit");
	const char *least = query_value(q, "min_duration"), *most = query_value(q, "max_duration");
	uint64_t now_ns = own_now_ns(), traces = TRACES;

	*out = (struct gather_query){.service = query_value(q, "service"),
				     .operation = query_value(q, "operation"),
				     .kind = kind ? received_kind_parse(kind) : -1,
				     .from_ns = now_ns - HOUR_NS,
				     .to_ns = now_ns,
				     .until_ns = clock_now_ns() + GATHER_ANSWER_NS};
	if (!out->service || !out->operation)
		return "service and operation are needed";
	if (kind && out->kind < 0)
		return "kind is server, client, internal, producer or consumer";
	if (limit && (!number_parse(limit, GATHER_TRACES_MAX, &traces) || !traces))
		return "limit is a number of traces from 1 to 1000";
	out->traces = traces;
	if (!own_range(q, &out->from_ns, &out->to_ns) || out->from_ns >= out->to_ns)
		return OWN_RANGE_WHY;
	if ((least && units_parse_duration(least, &out->duration_from_ns)) ||
	    (most && units_parse_duration(most, &out->duration_to_ns)))
		return "a duration is a time such as 5ms";
	return NULL;
}

static void node_write(struct json *j, const struct where_tree *tree, uint32_t at)
{
	static const char *const kinds[] = {
		[WHERE_SPAN] = "span", [WHERE_PART] = "part", [WHERE_PLACE] = "place"};
	const struct where_node *node = &tree->nodes.data[at];

	json_object_begin(j, NULL);
	json_string(j, "kind", kinds[node->kind]);
	json_string(j, "name", node->name);
	if (node->kind == WHERE_SPAN)
		json_string(j, "service", node->service);
	json_u64(j, "count", node->count);
	json_u64(j, "total_ns", node->total_ns);
	json_u64(j, "detailed", node->detailed);
	json_u64(j, "width_ns", node->width_ns);
	json_array_begin(j, "children");
	for (uint32_t c = node->first; c; c = tree->nodes.data[c].next)
		node_write(j, tree, c);
	json_array_end(j);
	json_object_end(j);
}

/* `asked`: the spans of which time; NULL: those of a trace. */
static int answer_write(struct query *q, const struct where_tree *tree, const struct gathered *g,
			const struct gather_query *asked)
{
	uint64_t from_ns, to_ns;
	struct json j;

	own_spans_range(&g->batch, &from_ns, &to_ns);
	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_u64(&j, "version", 1);
	json_u64(&j, "traces", g->traces);
	json_u64(&j, "spans", tree->spans);
	json_u64(&j, "left_out", tree->left_out);
	if (g->is_partial || tree->is_partial)
		json_bool(&j, "partial", true);
	own_coverage_write(q, &j, asked ? asked->from_ns : from_ns, asked ? asked->to_ns : to_ns);
	json_array_begin(&j, "roots");
	if (tree->nodes.count)
		node_write(&j, tree, 0);
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

int own_trace_gather(struct query *q, const char *text, struct gathered *out)
{
	struct trace_id id;

	out->until_ns = clock_now_ns() + GATHER_ANSWER_NS;
	return text && trace_id_parse(text, &id) ? gather_trace(q, id, out) : -EINVAL;
}

int own_trace_refuse(struct query *q, int err)
{
	if (err == -EINVAL)
		return own_error(q, MHD_HTTP_BAD_REQUEST, "a trace id has 1 to 32 hex digits");
	return err == -ENOENT ? own_error(q, MHD_HTTP_NOT_FOUND, "no span has this trace id") : err;
}

int own_where(struct query *q)
{
	const char *trace = query_value(q, "trace");
	struct where_tree tree = {.pool = q->pool};
	struct gathered g = {0};
	struct gather_query query;
	const char *why = trace ? NULL : parameters_read(q, &query);
	int err;

	if (why)
		return own_error(q, MHD_HTTP_BAD_REQUEST, why);
	err = trace ? own_trace_gather(q, trace, &g) : gather(q, &query, &g);
	err = err ? err : where_add(&tree, &g);
	if (!err) {
		where_finish(&tree);
		err = answer_write(q, &tree, &g, trace ? NULL : &query);
	}
	gathered_free(&g);
	where_free(&tree);
	return trace && err < 0 ? own_trace_refuse(q, err) : err;
}
