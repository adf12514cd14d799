/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as JSON documents. The manual pages of the commands list the keys. */
#ifndef ANSWER_JSON_H
#define ANSWER_JSON_H

#include "answer/chunks.h"
#include "answer/critical.h"
#include "answer/live.h"
#include "answer/report.h"
#include "answer/trace.h"
#include "base/json.h"

/* Writes the version of docs/schema into a document that is begun: its first member. */
void schema_write_json(struct json *j);

/* Writes a whole document: a report, with a line for each row. */
void report_write_json(struct json *j, const struct report *report);

/* Writes the rows only, a document on a line each. */
void report_write_json_lines(struct json *j, const struct report *report);

/* Writes a row as a value of the array that was begun last. */
void row_write_json(struct json *j, const struct row *row);

/* Writes a whole document, on one line: what happened on a host since the one before. */
void live_write_json(struct json *j, const struct live *live);

/*
 * The document of traces is written in three steps: its begin, each trace, its end. A trace has a
 * line for each of its spans. trace_write_json() returns 0, or -ENOMEM with a part of the trace
 * written.
 */
void traces_json_begin(struct json *j, const struct source_view *source);
/* Begins the document of requests, which is ended like that of traces. */
void requests_json_begin(struct json *j, const struct source_view *source,
			 const struct clock_offset_view *offsets, size_t count);
int trace_write_json(struct json *j, const struct trace *trace);
void traces_json_end(struct json *j);
/* Ends it behind a critical path; NULL: none was asked for. */
void requests_json_end(struct json *j, const struct critical_answer *critical);

/* Writes a trace as a document of its own, on one line. 0, -ENOMEM, or the error of the sink. */
int trace_write_json_line(struct json *j, const struct trace *trace);

/* Writes a whole document: the chunks of a recording, with a line for each. */
void chunks_write_json(struct json *j, const struct chunk_row *rows, size_t count);

/* Writes a whole document: the path of a chunk that was sealed on request. */
void sealed_write_json(struct json *j, const char *path);

#endif
