/* SPDX-License-Identifier: Apache-2.0 */
/* The formats in which spans come: how their requests are checked and answered. */
#ifndef SERVE_INTAKE_H
#define SERVE_INTAKE_H

#include "base/bytes.h"
#include "base/error.h"
#include "serve/entry.h"

/* Codes of google.rpc.Status. */
enum {
	CODE_INVALID_ARGUMENT = 3,
	CODE_DEADLINE_EXCEEDED = 4,
	CODE_PERMISSION_DENIED = 7,
	CODE_RESOURCE_EXHAUSTED = 8,
	CODE_UNIMPLEMENTED = 12,
	CODE_UNAVAILABLE = 14,
	CODE_UNAUTHENTICATED = 16
};

/* Spans of a request. */
struct intake_counts {
	uint64_t spans, rejected; /* rejected ones included in spans */
};

struct intake {
	const char *type; /* content type of requests */
	enum entry_kind kind;
	/*
	 * Checks a body, and replaces it if the log keeps it in another form, never a longer one.
	 * 0; -EPROTO with a cause if it is refused; -ENOMEM.
	 */
	int (*check)(struct bytes *body, struct intake_counts *counts, struct error *e);
	unsigned int accepted_status;
	const char *answer_type; /* content type */
	/* Write the body of an answer. */
	void (*accepted)(struct bytes *body, const struct intake_counts *counts);
	void (*refused)(struct bytes *body, int code, const char *why);
};

/* Where requests come, and in which formats. */
struct protocol {
	const char *path;
	const struct intake
		*intakes; /* ends with one without a type; answers default to the first */
	const char *wrong_path, *wrong_type; /* what is told then */
};

extern const struct protocol protocol_otlp;
extern const struct protocol protocol_zipkin;

#endif
