/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the inputs of the golden tests of views. */
#ifndef TESTS_GOLDEN_VIEWS_H
#define TESTS_GOLDEN_VIEWS_H

#include "answer/source.h"
#include "cli/terminal.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define T0 81234000000000ull
#define MS 1000000ull

#define SPLIT(...)                                                                                 \
	{                                                                                          \
		.ns = { __VA_ARGS__ }                                                              \
	}

/* A row with a count of one: its time is every quantile. */
#define ONE_OF(ns)                                                                                 \
	.count = 1, .total_ns = (ns), .p50_ns = (ns), .p95_ns = (ns), .p99_ns = (ns), .max_ns = (ns)

/* The sources of the answers: a complete one, and one with every kind of loss. */
extern const struct source_view source_whole, source_damaged;

struct view_case {
	const char *name;
	void (*show)(const struct terminal *t, const char *format);
};

/* Each list ends with a case without a name. */
extern const struct view_case report_cases[], trace_cases[], host_cases[];

#endif
