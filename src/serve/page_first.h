/* SPDX-License-Identifier: Apache-2.0 */
/* The overview of fathom's own page, which comes with the answer that it asks for first. */
#ifndef SERVE_PAGE_FIRST_H
#define SERVE_PAGE_FIRST_H

#include <stdbool.h>

#include "serve/route.h"

/*
 * Answers a request for the overview of the last minutes: the page at once, so that the browser
 * fetches its scripts, and behind it, as a block of data that is not executed, what the route
 * answers to /api/v1/overview?from=LAST. The block is empty where there is no such answer; then the
 * page asks. False: the request asks for something else, or memory lacks.
 */
bool page_first_answer(const struct page *page, struct MHD_Connection *connection,
		       const struct api_source *source, const struct route *overview);

#endif
