/* SPDX-License-Identifier: Apache-2.0 */
/* What Zipkin's query API says of itself. */
#ifndef SERVE_ZIPKIN_ABOUT_H
#define SERVE_ZIPKIN_ABOUT_H

#include "serve/route.h"

/* Settings of Zipkin's page. */
int zipkin_config_answer(struct query *q);

/* Whether the store works. */
int zipkin_health_answer(struct query *q);

int zipkin_info_answer(struct query *q);

#endif
