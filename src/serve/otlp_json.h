/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans in OTLP's JSON: ids in hex, numbers of 64 bits as texts, enumerations as numbers, bytes in
 * base64. What is 0 or empty is left out.
 */
#ifndef SERVE_OTLP_JSON_H
#define SERVE_OTLP_JSON_H

#include "base/json.h"
#include "span/received.h"

/*
 * Writes the array "resourceSpans" of all spans of a batch. Spans that follow each other with the
 * same resource and scope are together.
 */
void otlp_json_write(struct json *j, const struct received_batch *batch);

#endif
