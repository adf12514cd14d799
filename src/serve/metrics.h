/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics as Prometheus scrapes them, in its text format 0.0.4. docs/man/fathom-serve.1 lists them.
 */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include "base/bytes.h"
#include "monitor/monitors.h"
#include "serve/tally.h"

/* Metrics of each operation. */
void metrics_operations_write(struct bytes *to, const tally_list *list);

/* The state and the value of each monitor. */
void metrics_monitors_write(struct bytes *to, const monitor_briefs *list);

/* A metric that has one value. `type`: "counter" or "gauge". */
void metrics_value_write(struct bytes *to, const char *name, const char *type, const char *help,
			 double value);

#endif
