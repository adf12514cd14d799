/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/page.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/beside.h"
#include "serve/answer.h"

#define INDEX "index.html"
#define OWN_FOLDER "share/fathom/web"
#define ASSETS "assets/"
#define COMPRESSED ".gz"

/* Names and values in spans are hostile: no page of another origin and no script in them runs. */
#define OWN_POLICY                                                                                 \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "                \
	"connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "             \
	"frame-ancestors 'none'"

struct page {
	int dir;
	bool is_own;
	char base[64];
};

/* Browsers are told to guess no type. */
static const struct {
	const char *suffix, *type;
} types[] = {{".html", "text/html; charset=utf-8"},
	     {".js", "text/javascript; charset=utf-8"},
	     {".mjs", "text/javascript; charset=utf-8"},
	     {".css", "text/css; charset=utf-8"},
	     {".json", "application/json"},
	     {".map", "application/json"},
	     {".webmanifest", "application/manifest+json"},
	     {".svg", "image/svg+xml"},
	     {".png", "image/png"},
	     {".jpg", "image/jpeg"},
	     {".gif", "image/gif"},
	     {".ico", "image/x-icon"},
	     {".woff", "font/woff"},
	     {".woff2", "font/woff2"},
	     {".ttf", "font/ttf"},
	     {".wasm", "application/wasm"},
	     {".txt", "text/plain; charset=utf-8"}};

static const char *type_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < sizeof(types) / sizeof(*types); i++) {
		if (strcasecmp(dot, types[i].suffix) == 0)
			return types[i].type;
	}
	return "application/octet-stream";
}

/* Opens a regular file below the directory, and nowhere else. */
static int file_open(const struct page *f, const char *path, struct stat *status)
{
	const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, f->dir, path, &how, sizeof(how));

	if (fd < 0)
		return -errno;
	if (fstat(fd, status) || !S_ISREG(status->st_mode)) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

int page_open(const char *dir, const char *base, struct page **out, struct error *e)
{
	struct page *f = calloc(1, sizeof(*f));
	struct stat status;
	int fd, err = 0;

	if (!f)
		return error_set(e, ENOMEM, "cannot serve %s", dir);
	snprintf(f->base, sizeof(f->base), "%s", base);
	f->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = f->dir < 0 ? -errno : file_open(f, INDEX, &status);
	if (f->dir < 0)
		err = error_set(e, -fd, "cannot open %s", dir);
	else if (fd < 0)
		err = error_say(e, -fd, "%s has no %s that can be read: it is no built page", dir,
				INDEX);
	if (fd >= 0)
		close(fd);
	if (err) {
		page_close(f);
		return err;
	}
	*out = f;
	return 0;
}

int page_open_own(struct page **out, struct error *e)
{
	const char *named = getenv("FATHOM_PAGE");
	char folder[PATH_MAX];
	int err;

	if (named && *named)
		snprintf(folder, sizeof(folder), "%s", named);
	else if (!beside_program(OWN_FOLDER, folder))
		return error_say(e, ENOENT, "it is not known where the page is");
	err = page_open(folder, "/", out, e);
	if (!err)
		(*out)->is_own = true;
	return err;
}

bool page_is_public(const struct page *f)
{
	return f && f->is_own;
}

void page_close(struct page *f)
{
	if (!f)
		return;
	if (f->dir >= 0)
		close(f->dir);
	free(f);
}

/* A file that is open, and how it is sent. */
struct page_file {
	int fd;
	struct stat status;
	const char *type;
	bool is_asset, is_compressed;
};

static void own_headers_add(struct MHD_Response *response, const char *type, const char *kept,
			    bool is_compressed)
{
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Content-Security-Policy", OWN_POLICY);
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cache-Control", kept);
	MHD_add_response_header(response, "Vary", "Accept-Encoding");
	if (is_compressed)
		MHD_add_response_header(response, "Content-Encoding", "gzip");
}

void page_headers_add(struct MHD_Response *response, bool is_compressed)
{
	own_headers_add(response, type_of(INDEX), "no-store", is_compressed);
}

static void headers_add(const struct page *f, const struct page_file *file,
			struct MHD_Response *response)
{
	if (!f->is_own) {
		MHD_add_response_header(response, "Content-Type", file->type);
		MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
		return;
	}
	own_headers_add(response, file->type,
			file->is_asset ? "public, max-age=31536000, immutable" : "no-cache",
			file->is_compressed);
}

int page_index(const struct page *f, struct bytes *out)
{
	struct stat status;
	int fd = file_open(f, INDEX, &status);
	char piece[4096];
	ssize_t n;

	if (fd < 0)
		return fd;
	while ((n = read(fd, piece, sizeof(piece))) > 0)
		bytes_put(out, piece, (size_t)n);
	close(fd);
	return n < 0 ? -EIO : out->failed ? -ENOMEM : 0;
}

/* Takes over the descriptor. */
static enum MHD_Result file_send(const struct page *f, struct MHD_Connection *connection,
				 const struct page_file *file)
{
	struct MHD_Response *response =
		MHD_create_response_from_fd64((uint64_t)file->status.st_size, file->fd);
	enum MHD_Result result;

	if (!response) {
		close(file->fd);
		return MHD_NO;
	}
	headers_add(f, file, response);
	result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result redirect(struct MHD_Connection *connection, const char *path)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(0, NULL,
									MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Location", path);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	result = MHD_queue_response(connection, MHD_HTTP_FOUND, response);
	MHD_destroy_response(response);
	return result;
}

/* Whether a path without a file may be a place within the page: it names no file and no API. */
static bool is_place(const struct page *f, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (strncmp(path, "api/", 4) == 0)
		return false;
	if (f->is_own) /* services and operations, which stand in paths, have any name */
		return strncmp(path, ASSETS, strlen(ASSETS)) != 0;
	return !strchr(slash ? slash : path, '.');
}

bool page_takes_gzip(struct MHD_Connection *connection)
{
	const char *accepted = request_header(connection, "Accept-Encoding");

	return accepted && strstr(accepted, "gzip") && !strstr(accepted, "gzip;q=0");
}

/* Opens the file of a path, or the compressed one beside it. */
static bool page_file_open(const struct page *f, const char *path, bool gzip,
			   struct page_file *file)
{
	char compressed[PATH_MAX];

	*file = (struct page_file){.fd = -1,
				   .type = type_of(path),
				   .is_asset = strncmp(path, ASSETS, strlen(ASSETS)) == 0};
	if (f->is_own && gzip &&
	    snprintf(compressed, sizeof(compressed), "%s" COMPRESSED, path) < PATH_MAX)
		file->fd = file_open(f, compressed, &file->status);
	file->is_compressed = file->fd >= 0;
	if (file->fd < 0)
		file->fd = file_open(f, path, &file->status);
	return file->fd >= 0;
}

enum MHD_Result page_answer(const struct page *f, struct MHD_Connection *connection,
			    const char *path)
{
	bool gzip = page_takes_gzip(connection);
	size_t base = strlen(f->base);
	struct page_file file;

	if (strcmp(path, "/") == 0 && base > 1)
		return redirect(connection, f->base);
	if (strlen(path) == base - 1 && strncmp(path, f->base, base - 1) == 0 && base > 1)
		return redirect(connection, f->base);
	if (strncmp(path, f->base, base) != 0)
		return answer_text(connection, MHD_HTTP_NOT_FOUND, "there is no such path");
	path += base;
	if (page_file_open(f, *path ? path : INDEX, gzip, &file) ||
	    (is_place(f, path) && page_file_open(f, INDEX, gzip, &file)))
		return file_send(f, connection, &file);
	return answer_text(connection, MHD_HTTP_NOT_FOUND, "there is no such file");
}
