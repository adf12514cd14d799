/* SPDX-License-Identifier: Apache-2.0 */
/* The path /metrics. */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "serve/answer.h"
#include "serve/metrics.h"
#include "serve/route.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

static void counter_write(struct query *q, const char *name, const char *help, uint64_t value)
{
	metrics_value_write(q->body, name, "counter", help, (double)value);
}

static void gauge_write(struct query *q, const char *name, const char *help, uint64_t value)
{
	metrics_value_write(q->body, name, "gauge", help, (double)value);
}

static void received_write(struct query *q, const struct counts *c)
{
	counter_write(q, "fathom_received_requests_total",
		      "Requests with spans that were accepted.",
		      atomic_load(&c->requests_accepted));
	counter_write(q, "fathom_refused_requests_total", "Requests with spans that were refused.",
		      atomic_load(&c->requests_refused));
	counter_write(q, "fathom_received_spans_total", "Spans that were acknowledged.",
		      atomic_load(&c->spans_accepted));
	counter_write(q, "fathom_rejected_spans_total",
		      "Spans without an id, in requests that were accepted.",
		      atomic_load(&c->spans_rejected));
}

static void log_write(struct query *q, const struct counts *c, const struct log_status *log)
{
	uint64_t stored = store_position(q->source->store);

	counter_write(q, "fathom_log_position_bytes_total", "Bytes that were appended to the log.",
		      log->end);
	counter_write(q, "fathom_log_synced_bytes_total", "Bytes of the log that are on the disk.",
		      log->synced);
	counter_write(q, "fathom_log_stored_bytes_total", "Bytes of the log that are stored.",
		      stored);
	gauge_write(q, "fathom_log_lag_bytes", "Bytes of the log that are synced and not stored.",
		    log->synced > stored ? log->synced - stored : 0);
	counter_write(q, "fathom_log_syncs_total", "Syncs of the log.", log->syncs);
	counter_write(q, "fathom_log_lost_bytes_total", "Bytes of the log that were damaged.",
		      log->cut_bytes + atomic_load(&c->log_lost_bytes));
	counter_write(q, "fathom_log_bad_entries_total",
		      "Entries of the log that could not be decoded.",
		      atomic_load(&c->entries_bad));
	gauge_write(q, "fathom_log_failed", "1 if the log cannot be written.", log->failed != 0);
}

static void store_write(struct query *q, const struct counts *c)
{
	struct store_counts stored = {0};
	bool works = store_count(q->source->store, &stored, q->e) == 0;

	counter_write(q, "fathom_stored_spans_total", "Spans that were stored.",
		      atomic_load(&c->spans_stored));
	counter_write(q, "fathom_store_failures_total", "Failures to store, which are tried again.",
		      atomic_load(&c->store_failures));
	counter_write(q, "fathom_store_refused_entries_total",
		      "Requests that the store refused, which are kept beside the log.",
		      atomic_load(&c->entries_refused));
	gauge_write(q, "fathom_store_works", "1 if the store answers.", works);
	if (!works)
		return;
	gauge_write(q, "fathom_store_spans", "Spans in the store.", stored.spans);
	gauge_write(q, "fathom_store_bytes", "Bytes of the store on the disk.", stored.bytes);
	counter_write(q, "fathom_store_repeated_spans_total",
		      "Spans that were sent once more, and passed over.", stored.repeats);
	counter_write(q, "fathom_store_replaced_spans_total",
		      "Spans that a higher version replaced.", stored.replaced);
	counter_write(q, "fathom_store_unlisted_spans_total",
		      "Spans whose operation is not in the lists of names.", stored.unlisted_spans);
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* The second number of /proc/self/statm, in bytes; 0: it cannot be read. */
static uint64_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (file && fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void process_write(struct query *q)
{
	struct rusage usage = {0};

	getrusage(RUSAGE_SELF, &usage);
	metrics_value_write(q->body, "process_cpu_seconds_total", "counter",
			    "Time of this process on CPUs.",
			    seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
	gauge_write(q, "process_resident_memory_bytes", "Memory of this process.",
		    resident_bytes());
}

static int monitors_metrics_write(struct query *q)
{
	monitor_briefs list = {0};
	struct monitors_health health = {0};
	int err = monitors_brief(q->source->monitors, &list, &health);

	if (!err)
		metrics_monitors_write(q->body, &list);
	counter_write(q, "fathom_monitor_given_up_total",
		      "Changes of monitors that an action could not be told of.", health.failed);
	metrics_value_write(q->body, "fathom_monitors_round_seconds", "gauge",
			    "What the last evaluation of all monitors took.",
			    (double)health.round_ns / 1e9);
	gauge_write(q, "fathom_monitors_late",
		    "Monitors that it had no time for: the next one begins with them.",
		    health.late);
	vec_free(&list);
	return err;
}

static int metrics_answer(struct query *q)
{
	const struct log_status log = log_status(q->source->log);
	const struct counts *counts = q->source->counts;
	tally_list list = {0};
	int err = tally_read(q->source->tally, &list);

	q->type = METRICS_TYPE;
	if (!err) {
		received_write(q, counts);
		log_write(q, counts, &log);
		store_write(q, counts);
		process_write(q);
		metrics_operations_write(q->body, &list);
		err = monitors_metrics_write(q);
	}
	vec_free(&list);
	return err ? err : MHD_HTTP_OK;
}

const struct route metrics_routes[] = {{"/metrics", metrics_answer}, {0}};
