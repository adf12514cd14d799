// SPDX-License-Identifier: Apache-2.0
#include "handler.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "connection.h"
#include "fathom/fathom.h"
#include "fault.h"
#include "thumbnail.h"

enum {
	NAME_MAX_BYTES = 128,
	SECOND_MAX = 1000000,
	WIDTH_DEFAULT = 320,
};

/* A request while it is worked on. */
struct work {
	const struct handler *handler;
	struct connection *connection;
	char video[NAME_MAX_BYTES];
	int64_t at_ms;
	int width;
	enum thumbnail_format format;
	struct thumbnail *thumbnail;
	struct thumbnail_image image;
	int status;    /* of the answer */
	char why[160]; /* not 200: the reason, as the client and the span get it */
};

void handler_begin(struct connection *connection)
{
	const struct http_request *request = &connection->request;
	struct fathom_context parent = {0};
	char name[64] = "HTTP";
	bool is_known;

	/* Only known paths may become part of a name: names are few, requests say anything. */
	if (request->method && !strcmp(request->method, "GET")) {
		is_known = !strcmp(request->path, "/thumbnail") || !strcmp(request->path, "/fault");
		snprintf(name, sizeof(name), "GET%s%s", is_known ? " " : "",
			 is_known ? request->path : "");
	}
	fathom_extract_traceparent(http_field(request, "traceparent"), &parent);
	connection->span = fathom_span_remote(&parent, name);
	fathom_span_detach(&connection->span);
	if (!request->method)
		return;
	fathom_span_string(&connection->span, "http.request.method", request->method);
	fathom_span_string(&connection->span, "url.path", request->path);
}

/* Ends the request's span. A client's mistake is no failure of the server: OpenTelemetry's rule. */
static void request_end(struct connection *connection, int status, const char *why)
{
	char text[16];

	fathom_span_integer(&connection->span, "http.response.status_code", status);
	if (status >= 400) {
		snprintf(text, sizeof(text), "%d", status);
		fathom_span_string(&connection->span, "error.type", text);
	}
	if (status >= 500)
		fathom_span_end_status(&connection->span, FATHOM_FAILED, why);
	else
		fathom_span_end(&connection->span);
}

void handler_refuse(struct connection *connection, int status, const char *why)
{
	char body[192];
	struct http_response response = {
		.status = status,
		.type = "text/plain",
		.body = body,
		.size = (size_t)snprintf(body, sizeof(body), "%s\n", why),
	};

	http_respond(connection->fd, &response, 0);
	request_end(connection, status, why);
}

static int work_fail(struct work *work, int status, const char *why)
{
	work->status = status;
	snprintf(work->why, sizeof(work->why), "%s", why);
	return -1;
}

/*
 * A name without a slash or a leading dot stays in the directory, whatever is done with it. What
 * is left out besides are characters that terminals and shells take for something else.
 */
static bool name_is_plain(const char *name)
{
	if (!*name || *name == '.' || *name == '-')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("._- ", *name))
			return false;
	return true;
}

/* "12" or "12.345" in milliseconds; strtod would take "inf", "0x1p3" and a locale's comma. */
static int second_parse(const char *text, int64_t *ms)
{
	size_t whole = strspn(text, "0123456789");
	size_t part = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
	int64_t value;

	if (!whole || whole > 7 || (text[whole] == '.' && !part) || part > 9 ||
	    text[whole + (part ? part + 1 : 0)])
		return -EINVAL;
	value = strtol(text, NULL, 10) * 1000;
	for (size_t i = 0, unit = 100; i < part && unit; i++, unit /= 10)
		value += (text[whole + 1 + i] - '0') * (int64_t)unit;
	if (value > SECOND_MAX * INT64_C(1000))
		return -EINVAL;
	*ms = value;
	return 0;
}

static int width_parse(const char *text, int *width)
{
	size_t digits = strspn(text, "0123456789");
	long value;

	if (!digits || digits > 5 || text[digits])
		return -EINVAL;
	value = strtol(text, NULL, 10);
	if (value < THUMBNAIL_WIDTH_MIN || value > THUMBNAIL_WIDTH_MAX)
		return -EINVAL;
	*width = (int)value;
	return 0;
}

static int format_parse(const char *text, enum thumbnail_format *format)
{
	if (!strcmp(text, "jpeg"))
		*format = THUMBNAIL_JPEG;
	else if (!strcmp(text, "png"))
		*format = THUMBNAIL_PNG;
	else
		return -EINVAL;
	return 0;
}

/* Reads the query. Answers 400 for what is malformed, 404 for a name that cannot be a video's. */
static int work_parse(struct work *work)
{
	const struct http_request *request = &work->connection->request;
	char text[32];
	int error;

	if (strcmp(request->method, "GET"))
		return work_fail(work, 405, "only GET is served");
	if (strcmp(request->path, "/thumbnail"))
		return work_fail(work, 404, "there is only /thumbnail");
	if (http_parameter(request, "video", work->video, sizeof(work->video)))
		return work_fail(work, 400, "video=NAME is missing or malformed");
	if (!name_is_plain(work->video))
		return work_fail(work, 404, "no such video");
	if (http_parameter(request, "second", text, sizeof(text)) ||
	    second_parse(text, &work->at_ms))
		return work_fail(work, 400, "second=S is missing or not a number of seconds");
	error = http_parameter(request, "width", text, sizeof(text));
	if (error != -ENOENT && (error || width_parse(text, &work->width)))
		return work_fail(work, 400, "width=W is not a number from 16 to 4096");
	error = http_parameter(request, "format", text, sizeof(text));
	if (error != -ENOENT && (error || format_parse(text, &work->format)))
		return work_fail(work, 400, "format is neither jpeg nor png");
	return 0;
}

static int phase_rights(struct work *work, struct fathom_span *span)
{
	fathom_span_string(span, "thumbnail.video", work->video);
	return fault_ask(work->handler->fault, work->video);
}

static int phase_open(struct work *work, struct fathom_span *span)
{
	char path[PATH_MAX];
	struct stat file;

	fault_hold(work->handler->fault);
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", work->handler->videos, work->video) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	fathom_span_string(span, "file.path", path);
	if (stat(path, &file))
		return -errno;
	/* A pipe of that name would keep the worker forever. */
	if (!S_ISREG(file.st_mode))
		return -ENOENT;
	fathom_span_integer(span, "file.size", file.st_size);
	return thumbnail_open(&work->thumbnail, path);
}

static int phase_seek(struct work *work, struct fathom_span *span)
{
	fathom_span_real(span, "thumbnail.second", (double)work->at_ms / 1000);
	return thumbnail_seek(work->thumbnail, work->at_ms);
}

static int phase_decode(struct work *work, struct fathom_span *span)
{
	int error = thumbnail_decode(work->thumbnail);

	fathom_span_integer(span, "thumbnail.frames", thumbnail_frames(work->thumbnail));
	return error;
}

static int phase_encode(struct work *work, struct fathom_span *span)
{
	int error = thumbnail_encode(work->thumbnail, work->width, work->format, &work->image);

	if (error)
		return error;
	fathom_span_integer(span, "thumbnail.width", work->image.width);
	fathom_span_integer(span, "thumbnail.height", work->image.height);
	fathom_span_integer(span, "thumbnail.bytes", (int64_t)work->image.size);
	return fault_keep(work->handler->fault, work->image.data, work->image.size);
}

struct phase {
	const char *name;
	int (*run)(struct work *work, struct fathom_span *span);
	int status; /* of the answer if it fails for no other reason */
};

static const struct phase rights = {"rights", phase_rights, 500};

static const struct phase phases[] = {
	{"open", phase_open, 422},
	{"seek", phase_seek, 422},
	{"decode", phase_decode, 422},
	{"encode", phase_encode, 500},
};

static int failure_status(const struct phase *phase, int error)
{
	switch (error) {
	case -ENOENT:
	case -ENAMETOOLONG:
		return 404;
	case -ERANGE:
		return 400;
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -EACCES:
	case -EIO:
		return 500;
	default:
		return phase->status;
	}
}

static int phase_run(struct work *work, const struct phase *phase)
{
	struct fathom_span span = fathom_span_begin(phase->name);
	int error = phase->run(work, &span);
	char text[64];

	if (!error) {
		fathom_span_end(&span);
		return 0;
	}
	snprintf(work->why, sizeof(work->why), "%s: %s", phase->name,
		 thumbnail_error(error, text, sizeof(text)));
	work->status = failure_status(phase, error);
	fathom_span_end_status(&span, FATHOM_FAILED, work->why);
	return error;
}

static void phase_send(struct work *work)
{
	static const char *const types[] = {
		[THUMBNAIL_JPEG] = "image/jpeg",
		[THUMBNAIL_PNG] = "image/png",
	};
	struct connection *connection = work->connection;
	struct fathom_span span = fathom_span_begin("send");
	struct http_response response = {
		.status = work->status,
		.keep = connection->request.keep,
		.type = types[work->format],
		.body = work->image.data,
		.size = work->image.size,
		.allow = work->status == 405 ? "GET" : NULL,
	};
	char body[192];
	int error;

	if (work->status != 200 || !work->image.data) {
		response.type = "text/plain";
		response.body = body;
		response.size = (size_t)snprintf(body, sizeof(body), "%s\n", work->why);
	}
	error = http_respond(connection->fd, &response,
			     http_now_ns() + HANDLER_SEND_S * INT64_C(1000000000));
	connection->keep = response.keep && !error;
	fathom_span_integer(&span, "http.response.body.size", (int64_t)response.size);
	if (error)
		fathom_span_end_status(&span, FATHOM_FAILED, strerror(-error));
	else
		fathom_span_end(&span);
}

/* Adds the parameters of the request to its span. */
static void work_tell(const struct work *work)
{
	const struct fathom_span *span = &work->connection->span;

	fathom_span_string(span, "thumbnail.video", work->video);
	fathom_span_real(span, "thumbnail.second", (double)work->at_ms / 1000);
	fathom_span_integer(span, "thumbnail.width", work->width);
}

/* GET /fault?name=NAME: there, and answered in words, only if the server has faults. */
static bool is_fault(const struct work *work)
{
	const struct http_request *request = &work->connection->request;

	return work->handler->fault && !strcmp(request->method, "GET") &&
	       !strcmp(request->path, "/fault");
}

static void fault_switch(struct work *work)
{
	char name[16], text[64];
	int error = http_parameter(&work->connection->request, "name", name, sizeof(name));

	error = error ? -EINVAL : fault_set(work->handler->fault, name);
	if (!error)
		snprintf(work->why, sizeof(work->why), "fault: %s", name);
	else if (error == -EINVAL)
		work_fail(work, 400, "name=NAME is none, lock, fsync or peer");
	else if (error == -ENOTCONN)
		work_fail(work, 400, "peer needs the service of option -r");
	else
		work_fail(work, 500, thumbnail_error(error, text, sizeof(text)));
}

/* A picture. */
static void picture_make(struct work *work)
{
	int error = work_parse(work);

	if (!error)
		work_tell(work);
	if (!error && fault_asks(work->handler->fault))
		error = phase_run(work, &rights);
	for (size_t i = 0; !error && i < sizeof(phases) / sizeof(phases[0]); i++)
		error = phase_run(work, &phases[i]);
}

void handler_run(const struct handler *handler, struct connection *connection)
{
	struct work work = {
		.handler = handler,
		.connection = connection,
		.width = WIDTH_DEFAULT,
		.status = 200,
	};

	fathom_span_attach(&connection->span);
	if (is_fault(&work))
		fault_switch(&work);
	else
		picture_make(&work);
	phase_send(&work);
	thumbnail_close(work.thumbnail);
	fathom_span_integer(&connection->span, "http.response.body.size", (int64_t)work.image.size);
	request_end(connection, work.status, work.why);
}
