/* SPDX-License-Identifier: Apache-2.0 */
/* Spans as Zipkin's query API shows them, version 2. */
#ifndef SERVE_ZIPKIN_H
#define SERVE_ZIPKIN_H

#include "base/json.h"
#include "serve/links.h"
#include "span/received.h"

/* Writes a span; zipkin.h of src/wire says what becomes of which field. */
void zipkin_span_write(struct json *j, const struct received_span *span);

/* Writes a name in lower case, as Zipkin has names of services and spans. ASCII only. */
void zipkin_name_write(struct json *j, const char *key, const char *name);

/* Writes an array of links between services. */
void zipkin_links_write(struct json *j, const service_links *links);

#endif
