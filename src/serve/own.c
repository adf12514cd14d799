/* SPDX-License-Identifier: Apache-2.0 */
/* fathom's own query API, /api/v1. */
#include <errno.h>
#include <string.h>

#include "serve/answer.h"
#include "serve/gather.h"
#include "serve/own.h"
#include "serve/own_columns.h"
#include "serve/own_span.h"

static void received_write(struct json *j, const struct counts *counts)
{
	json_object_begin(j, "received");
	json_u64(j, "requests", atomic_load(&counts->requests_accepted));
	json_u64(j, "requests_refused", atomic_load(&counts->requests_refused));
	json_u64(j, "spans", atomic_load(&counts->spans_accepted));
	json_u64(j, "spans_rejected", atomic_load(&counts->spans_rejected));
	json_object_end(j);
}

static void log_write(struct json *j, struct log *log, const struct counts *counts)
{
	const struct log_status status = log_status(log);

	json_object_begin(j, "log");
	json_u64(j, "begin", status.begin);
	json_u64(j, "end", status.end);
	json_u64(j, "synced", status.synced);
	json_u64(j, "syncs", status.syncs);
	json_u64(j, "cut_bytes", status.cut_bytes);
	json_u64(j, "lost_bytes", atomic_load(&counts->log_lost_bytes));
	json_u64(j, "entries_bad", atomic_load(&counts->entries_bad));
	if (status.failed)
		json_string(j, "error", strerrordesc_np(-status.failed));
	json_object_end(j);
}

static int status_answer(struct query *q)
{
	char error[ERROR_TEXT_BYTES];
	const struct counts *counts = q->source->counts;
	uint64_t position = store_position(q->source->store);
	const struct log_status log = log_status(q->source->log);
	uint64_t synced = log.synced;
	struct store_counts stored = {0};
	const struct serve_more *more = q->source->more;
	const char *own;
	int err = store_count(q->source->store, &stored, q->e);
	struct monitors_counts monitors;
	struct json j;

	monitors_count(q->source->monitors, &monitors);
	counts_store_error(q->source->counts, error);
	own = counts_state(counts, &log, position, err || *error);
	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_u64(&j, "version", 1);
	json_string(&j, "state", more ? more->state(more->arg, own) : own);
	received_write(&j, counts);
	log_write(&j, q->source->log, counts);
	json_object_begin(&j, "store");
	json_u64(&j, "position", position);
	json_u64(&j, "behind_bytes", synced > position ? synced - position : 0);
	json_u64(&j, "spans", stored.spans);
	json_u64(&j, "bytes", stored.bytes);
	json_u64(&j, "files", stored.files);
	json_u64(&j, "lost_files", stored.lost_files);
	if (*stored.lost_why)
		json_string(&j, "lost_why", stored.lost_why);
	json_u64(&j, "dropped", stored.dropped);
	json_u64(&j, "failures", atomic_load(&counts->store_failures));
	json_u64(&j, "unlisted_spans", stored.unlisted_spans);
	json_u64(&j, "repeats", stored.repeats);
	json_u64(&j, "replaced", stored.replaced);
	json_u64(&j, "kernel_spans", stored.kernel_spans);
	json_u64(&j, "entries_refused", atomic_load(&counts->entries_refused));
	if (*error)
		json_string(&j, "error", error);
	json_object_end(&j);
	monitors_counts_write(&monitors, &j);
	if (more)
		more->write(more->arg, &j);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

static int trace_write(struct query *q, const struct gathered *g, bool in_columns)
{
	char text[TRACE_ID_BYTES];
	uint64_t from_ns, to_ns;
	struct json j;
	int err;

	own_spans_range(&g->batch, &from_ns, &to_ns);
	trace_id_text(text, g->batch.data[0].trace);
	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_u64(&j, "version", 1);
	json_string(&j, "trace_id", text);
	json_string(&j, "kernel", q->kernel);
	own_coverage_write(q, &j, from_ns, to_ns);
	if (in_columns) {
		err = own_columns_write(&j, g, q->pool, true);
	} else {
		err = own_spans_write(&j, &g->batch);
		err = err ? err : own_path_write(&j, g);
	}
	json_object_end(&j);
	return json_end(&j) || err ? -ENOMEM : MHD_HTTP_OK;
}

static int trace_answer(struct query *q, bool in_columns)
{
	struct gathered g = {0};
	int err = own_trace_gather(q, q->word, &g);

	err = err ? own_trace_refuse(q, err) : trace_write(q, &g, in_columns);
	gathered_free(&g);
	return err;
}

static int trace_spans(struct query *q)
{
	return trace_answer(q, false);
}

static int trace_columns(struct query *q)
{
	return trace_answer(q, true);
}

const struct route own_routes[] = {{"/api/v1/status", status_answer},
				   {"/api/v1/services", own_services},
				   {"/api/v1/operations", own_operations},
				   {"/api/v1/overview", own_overview},
				   {"/api/v1/series", own_series},
				   {"/api/v1/heatmap", own_heatmap},
				   {"/api/v1/edges", own_edges},
				   {"/api/v1/search", own_search},
				   {"/api/v1/compare", own_compare},
				   {"/api/v1/where", own_where},
				   {"/api/v1/lanes", own_lanes},
				   {"/api/v1/lanes/columns", own_lanes_columns},
				   {"/api/v1/traces/*/columns", trace_columns},
				   {"/api/v1/traces/*", trace_spans},
				   {"/api/v1/live", own_live},
				   {"/api/v1/senders", own_senders},
				   {"/api/v1/pins", own_pins},
				   {0}};
