/* SPDX-License-Identifier: Apache-2.0 */
/* A span as two LTTng-UST tracepoints, with the fields that are needed to join them. */
/* LTTng's macros include this file several times. */
/* clang-format off */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER fathom_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_span.h"

#if !defined(BENCH_LTTNG_SPAN_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_SPAN_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(fathom_bench, span_begin,
	LTTNG_UST_TP_ARGS(uint64_t, trace_high, uint64_t, trace_low, uint64_t, span,
			  uint64_t, parent, const char *, name),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer_hex(uint64_t, trace_high, trace_high)
		lttng_ust_field_integer_hex(uint64_t, trace_low, trace_low)
		lttng_ust_field_integer_hex(uint64_t, span, span)
		lttng_ust_field_integer_hex(uint64_t, parent, parent)
		lttng_ust_field_string(name, name)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(fathom_bench, span_end,
	LTTNG_UST_TP_ARGS(uint64_t, span),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(uint64_t, span, span))
)

#endif

#include <lttng/tracepoint-event.h>
