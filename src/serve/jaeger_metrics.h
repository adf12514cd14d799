/* SPDX-License-Identifier: Apache-2.0 */
/* Rates, errors and latencies over time, as Jaeger's page shows them in its tab Monitor. */
#ifndef SERVE_JAEGER_METRICS_H
#define SERVE_JAEGER_METRICS_H

#include "base/json.h"
#include "store/store.h"

enum jaeger_metric { JAEGER_CALLS, JAEGER_ERRORS, JAEGER_LATENCIES };

/* A point is written for each step up to the end, of the time `rate_ns` before it. */
struct jaeger_metrics {
	enum jaeger_metric metric;
	unsigned int per_10000; /* of JAEGER_LATENCIES: the percentile */
	bool by_operation;
	unsigned int kinds; /* a set of bits: 1 << enum received_kind */
	uint64_t end_ns, lookback_ns, step_ns, rate_ns;
};

/* What the store is to be asked for; `service` is left out. */
struct store_sums_query jaeger_metrics_query(const struct jaeger_metrics *m);

/* Writes the answer, from the sums of such queries. 0 or -ENOMEM. */
int jaeger_metrics_write(struct json *j, const struct jaeger_metrics *m,
			 const struct store_sums *sums);

#endif
