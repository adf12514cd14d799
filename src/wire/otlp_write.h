/* SPDX-License-Identifier: Apache-2.0 */
/* Writes spans as a request of OTLP in protobuf: what wire/otlp.h reads. */
#ifndef WIRE_OTLP_WRITE_H
#define WIRE_OTLP_WRITE_H

#include "base/bytes.h"
#include "span/received.h"

/*
 * Appends a request with `count` spans. Spans with the same resource and scope that follow each
 * other share them. The service of a resource is written as its attribute `service.name`, unless
 * the attributes have one, or it is SERVICE_UNKNOWN. `shared` is not written: OTLP has no such
 * field. After a failure, to->failed is set.
 */
void otlp_write(struct bytes *to, const struct received_span *spans, size_t count);

#endif
