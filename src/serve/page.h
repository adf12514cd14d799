/* SPDX-License-Identifier: Apache-2.0 */
/* The built files of a page, such as that of Jaeger or Zipkin, which are served unchanged. */
#ifndef SERVE_PAGE_H
#define SERVE_PAGE_H

#include <microhttpd.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "base/error.h"

struct page;

/* `base` is the path below which they are served, with a slash at its end. `dir` has index.html. */
int page_open(const char *dir, const char *base, struct page **out, struct error *e);

/*
 * fathom's own page, in the folder FATHOM_PAGE of the environment, or else share/fathom/web beside
 * the program's folder. Files below assets/ have a hash of their content in their names. A file has
 * a compressed one beside it. Browsers are told to load nothing from anywhere else.
 */
int page_open_own(struct page **out, struct error *e);

/* Whether it has no secret: it is fathom's own, and is served without the token. */
bool page_is_public(const struct page *f);

/* NULL is allowed. */
void page_close(struct page *f);

/*
 * Answers a request for a path: the file; for what has no file, but may be a place within the page,
 * its index.html; where the path lies above the base, the way there. Any thread may call it.
 */
enum MHD_Result page_answer(const struct page *f, struct MHD_Connection *connection,
			    const char *path);

/* Appends the text of index.html. 0 or a negative errno. */
int page_index(const struct page *f, struct bytes *out);

/* Whether the client of a request reads what is compressed by gzip. */
bool page_takes_gzip(struct MHD_Connection *connection);

/* The headers of fathom's own page with an answer in it, which nobody keeps. */
void page_headers_add(struct MHD_Response *response, bool is_compressed);

#endif
