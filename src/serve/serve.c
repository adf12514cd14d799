/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/serve.h"
#include "serve/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/access.h"
#include "serve/addresses.h"
#include "serve/api.h"
#include "serve/grpc.h"
#include "serve/loader.h"
#include "serve/receiver.h"
#include "wire/otlp.h"

#define LOG_DIR "log"
#define MIN_FREE_BYTES ((uint64_t)256 << 20)
#define SPAN_MEMORY_BYTES ((size_t)128 << 20)
#define ANSWER_MEMORY_BYTES ((size_t)128 << 20)
#define ZIPKIN_THREADS 4 /* some of them answer queries */

struct serve {
	int log_dir;
	struct log *log;
	struct store *store;
	struct loader *loader;
	struct receiver *receiver, *zipkin, *mapped;
	struct api *api, *jaeger;
	struct grpc *grpc;
	struct counts counts;
	uint64_t min_free_bytes;
	struct counts mapped_counts; /* of what map sends: only what receivers count */
	struct tally *tally;
	struct live *live;
	struct senders *senders;
	struct monitors *monitors;
	struct claims *claims;
	uint64_t from_position; /* entries of this run begin there */
	struct access *access;
	struct page *ui, *ui_zipkin, *ui_jaeger; /* pages; NULL: none */
	bool is_plain;
	struct receive_limits limits;
	atomic_size_t pending_bytes, mapped_pending_bytes;
	struct quota span_memory, answer_memory; /* of queries */
	const struct serve_more *more;
	int spans; /* not yet taken over; -1: none */
	void (*warn)(const char *text);
};

/* Makes it durable that a path was made. */
static void parent_sync(const char *path)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];
	int fd;

	if (slash == path)
		strcpy(parent, "/");
	else
		snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1,
			 slash ? path : ".");
	fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

/* Makes a directory, which other users may not read, and those above it. */
static int dir_make(const char *path, struct error *e)
{
	char text[PATH_MAX];

	if (strlen(path) >= sizeof(text))
		return error_set(e, ENAMETOOLONG, "cannot make %s", path);
	strcpy(text, path);
	for (char *at = text + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(text, 0755) == 0) /* what fails shows below */
			parent_sync(text);
		*at = '/';
	}
	if (mkdir(text, 0700) == 0)
		parent_sync(text);
	else if (errno != EEXIST)
		return error_set(e, errno, "cannot make %s", path);
	return 0;
}

static int path_join(char out[PATH_MAX], const char *dir, const char *name, struct error *e)
{
	if (snprintf(out, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX)
		return error_set(e, ENAMETOOLONG, "cannot open %s", dir);
	return 0;
}

static int log_dir_open(struct serve *s, const char *dir, struct error *e)
{
	char path[PATH_MAX];
	int err = path_join(path, dir, LOG_DIR, e);

	err = err ? err : dir_make(path, e);
	if (err)
		return err;
	s->log_dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->log_dir < 0 ? error_set(e, errno, "cannot open %s", path) : 0;
}

/*
 * The log is opened first, since its lock keeps others from the directory. Where it begins follows
 * from the store, so it is opened again when that is known.
 */
static int data_open(struct serve *s, const struct serve_options *o, struct error *e)
{
	struct log_options options = {0};
	const struct store_options storing = {.dir = o->dir,
					      .period_ns = o->store.period_ns,
					      .keep_ns = o->store.keep_ns,
					      .keep_bytes = o->store.keep_bytes,
					      .names_per_hour = s->limits.names};
	int err = log_dir_open(s, o->dir, e);

	err = err ? err : log_open(s->log_dir, &options, &s->log, e);
	if (err == -EBUSY)
		return error_say(e, EBUSY, "another 'fathom serve' uses it");
	err = err ? err : store_open(&storing, &s->store, e);
	if (err)
		return err;
	options.begin = store_position(s->store);
	if (options.begin <= log_status(s->log).end)
		return 0;
	log_close(s->log);
	s->log = NULL;
	return log_open(s->log_dir, &options, &s->log, e);
}

static struct api_source source_of(struct serve *s, const struct page *page)
{
	return (struct api_source){.log = s->log,
				   .store = s->store,
				   .counts = &s->counts,
				   .tally = s->tally,
				   .live = s->live,
				   .senders = s->senders,
				   .monitors = s->monitors,
				   .more = s->more,
				   .access = s->access,
				   .page = page,
				   .is_plain = s->is_plain,
				   .limits = &s->limits,
				   .spans = &s->span_memory,
				   .answers = &s->answer_memory};
}

/* Each of these takes over the socket. */

static int http_start(struct serve *s, int fd, const struct destination *to)
{
	struct api_source source = source_of(s, s->ui);

	source.pageless = "fathom's page is not built. Build fathom where there is npm; the API is "
			  "below /api/v1, see /api/v1/status";
	return api_start(fd, API_ALL, &source, &s->api);
}

static int otlp_http_start(struct serve *s, int fd, const struct destination *to)
{
	const struct receiver_options options = {.protocol = &protocol_otlp, .to = *to};

	return receiver_start(fd, &options, &s->receiver);
}

static int otlp_grpc_start(struct serve *s, int fd, const struct destination *to)
{
	return grpc_start(fd, to, &s->grpc);
}

/* Zipkin's receiver and its query API are at one address. */
static int zipkin_start(struct serve *s, int fd, const struct destination *to)
{
	static const struct route *const tables[] = {zipkin_routes, NULL};
	const struct receiver_options options = {
		.protocol = &protocol_zipkin,
		.to = *to,
		.queries = {source_of(s, s->ui_zipkin), tables, NULL},
		.threads = ZIPKIN_THREADS};

	return receiver_start(fd, &options, &s->zipkin);
}

static int jaeger_start(struct serve *s, int fd, const struct destination *to)
{
	const struct api_source source = source_of(s, s->ui_jaeger);

	return api_start(fd, API_JAEGER, &source, &s->jaeger);
}

/* Spans of this host's own map, whose requests fit into the default limits, whatever others may. */
static int mapped_start(struct serve *s, const struct destination *to)
{
	static const struct receive_limits limits = RECEIVE_LIMITS_INITIAL;
	struct receiver_options options = {.protocol = &protocol_otlp, .to = *to};
	int fd = s->spans;

	options.to.counts = &s->mapped_counts;
	options.to.senders = NULL;
	options.to.limits = &limits;
	options.to.pending_bytes = &s->mapped_pending_bytes;
	s->spans = -1;
	return fd < 0 ? 0 : receiver_start(fd, &options, &s->mapped);
}

static int threads_start(struct serve *s, int fds[ADDRESSES], struct error *e)
{
	static int (*const starts[ADDRESSES])(struct serve *, int, const struct destination *) = {
		[HTTP] = http_start,
		[OTLP_HTTP] = otlp_http_start,
		[OTLP_GRPC] = otlp_grpc_start,
		[ZIPKIN] = zipkin_start,
		[JAEGER] = jaeger_start};
	const struct loader_options loading = {
		.log = s->log,
		.log_dir = s->log_dir,
		.store = s->store,
		.counts = &s->counts,
		.min_free_bytes = s->min_free_bytes,
		.warn = s->warn,
		.senders = s->senders,
		.claims = s->claims,
		.from_position = s->from_position,
		.watches = {tally_watch(s->tally), live_watch(s->live)}};
	struct destination to = {.log = s->log,
				 .counts = &s->counts,
				 .access = s->access,
				 .senders = s->senders,
				 .limits = &s->limits,
				 .pending_bytes = &s->pending_bytes};
	int err = loader_start(&loading, &s->loader);

	to.loader = s->loader;
	if (!err)
		loader_wake(s->loader); /* for what was left in the log */
	for (int i = 0; i < ADDRESSES && !err; i++) {
		if (fds[i] < 0)
			continue;
		err = starts[i](s, fds[i], &to);
		fds[i] = -1;
	}
	err = err ? err : mapped_start(s, &to);
	return err ? error_set(e, err, "cannot start the threads that serve") : 0;
}

static void limit_choose(uint64_t *limit, uint64_t chosen)
{
	if (chosen)
		*limit = chosen;
}

static struct receive_limits limits_of(const struct receive_limits *chosen)
{
	struct receive_limits limits = RECEIVE_LIMITS_DEFAULT;

	limit_choose(&limits.body_bytes, chosen->body_bytes);
	limit_choose(&limits.pending_bytes, chosen->pending_bytes);
	limit_choose(&limits.request_ns, chosen->request_ns);
	limit_choose(&limits.connections, chosen->connections);
	limit_choose(&limits.depth, chosen->depth);
	limit_choose(&limits.attributes, chosen->attributes);
	limit_choose(&limits.names, chosen->names);
	if (limits.body_bytes > BODY_BYTES_MAX)
		limits.body_bytes = BODY_BYTES_MAX;
	return limits;
}

/* Each address may have that many connections, and a store and a log have files, too. */
static void files_allow(const struct receive_limits *limits)
{
	rlim_t wanted = ADDRESSES * limits->connections + 256;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= wanted)
		return;
	files.rlim_cur = wanted < files.rlim_max ? wanted : files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/*
 * Each of glibc's arenas keeps what its threads have freed: with one for each thread that takes
 * large requests, they have twice the memory that is in use at once.
 */
static void memory_give_back(void)
{
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

static int senders_start(struct serve *s, const struct serve_options *options, struct error *e)
{
	int err = senders_open(options->finder, &s->senders);

	s->from_position = log_status(s->log).end;
	if (!err && options->claims > 0)
		err = claims_open(s->senders, options->claims, s->from_position, &s->claims);
	return err ? error_set(e, err, "cannot start the threads that serve") : 0;
}

static int nothing_take(void *arg, const char *data, size_t bytes)
{
	return 0;
}

/* The pin is shown with the others. */
static int monitor_pin(void *arg, const char *why, uint64_t from_ns, uint64_t to_ns,
		       struct error *e)
{
	const struct serve_pins *pins = ((const struct serve *)arg)->more->pins;
	const struct pin_request request = {
		.trace = "", .why = why, .from_ns = from_ns, .to_ns = to_ns};
	const struct json_sink sink = {nothing_take, NULL};
	struct json j;

	json_init(&j, &sink);
	json_object_begin(&j, NULL);
	return pins->make(pins->arg, &request, &j, e);
}

static int monitors_start(struct serve *s, const struct serve_options *options, struct error *e)
{
	bool is_recorded = s->more && s->more->pins;
	const struct monitors_options monitors = {.config = options->monitors,
						  .dir = options->dir,
						  .store = s->store,
						  .pin = is_recorded ? monitor_pin : NULL,
						  .arg = s,
						  .warn = options->monitors_warn};

	return monitors_open(&monitors, &s->monitors, e);
}

int serve_open(const struct serve_options *options, struct serve **out,
	       struct serve_addresses *addresses, struct error *e)
{
	struct serve *s = calloc(1, sizeof(*s));
	int fds[ADDRESSES] = {[0 ... ADDRESSES - 1] = -1}, err;
	enum place last;

	if (!s)
		return error_set(e, ENOMEM, "cannot serve");
	s->log_dir = -1;
	s->warn = options->warn;
	s->more = options->more;
	s->is_plain = options->is_plain;
	s->spans = options->spans > 0 ? options->spans : -1;
	s->limits = limits_of(&options->limits);
	otlp_limits_set(&(struct otlp_limits){(unsigned int)s->limits.depth,
					      (unsigned int)s->limits.attributes});
	s->span_memory.limit_bytes = SPAN_MEMORY_BYTES;
	s->answer_memory.limit_bytes = ANSWER_MEMORY_BYTES;
	files_allow(&s->limits);
	memory_give_back();
	pthread_mutex_init(&s->counts.lock, NULL);
	s->min_free_bytes = options->store.min_free_bytes ? options->store.min_free_bytes
							  : MIN_FREE_BYTES;
	s->tally = tally_open();
	s->live = live_open();
	err = s->tally && s->live ? access_open(&options->access, &s->access, e)
				  : error_set(e, ENOMEM, "cannot serve");
	if (!err)
		page_open_own(&s->ui, NULL); /* without it, the API is served all the same */
	if (!err && options->ui_zipkin)
		err = page_open(options->ui_zipkin, "/zipkin/", &s->ui_zipkin, e);
	if (!err && options->ui_jaeger)
		err = page_open(options->ui_jaeger, "/", &s->ui_jaeger, e);
	err = err ? err : addresses_open(options, fds, addresses, &last, e);
	if (!err) {
		err = dir_make(options->dir, e);
		err = err ? err : data_open(s, options, e);
		if (err && err != -ELIBACC)
			error_set(e, err, "cannot serve from %s",
				  options->name ? options->name : options->dir);
		if (err == -ENOSPC)
			error_hint(e, "make room there, or choose another directory with -o");
	}
	err = err ? err : senders_start(s, options, e);
	err = err ? err : monitors_start(s, options, e);
	err = err ? err : threads_start(s, fds, e);
	addresses_close(fds);
	if (err) {
		serve_close(s, NULL);
		return err;
	}
	addresses->has_page = s->ui && *addresses->http;
	*out = s;
	return 0;
}

void serve_status(struct serve *s, struct serve_status *out)
{
	const struct log_status log = log_status(s->log);
	uint64_t position = store_position(s->store);
	struct store_counts stored = {0};

	*out = (struct serve_status){.received = atomic_load(&s->counts.spans_accepted),
				     .rejected = atomic_load(&s->counts.spans_rejected),
				     .mapped = atomic_load(&s->mapped_counts.spans_accepted),
				     .stored = atomic_load(&s->counts.spans_stored),
				     .behind_bytes = log.synced > position ? log.synced - position
									   : 0,
				     .log_failed = log.failed < 0 ? -log.failed : log.failed};
	out->log_lost_bytes = atomic_load(&s->counts.log_lost_bytes);
	out->log_cut_bytes = log.cut_bytes;
	out->free_bytes = disk_free_bytes(s->log_dir);
	out->min_free_bytes = s->min_free_bytes;
	if (store_count(s->store, &stored, NULL) == 0) {
		out->lost_files = stored.lost_files;
		memcpy(out->lost_why, stored.lost_why, sizeof(out->lost_why));
		out->store_spans = stored.spans;
		out->store_bytes = stored.bytes;
		out->unlisted = stored.unlisted_spans;
	}
	out->claims = claims_counts(s->claims);
	counts_store_error(&s->counts, out->store_error);
	out->state = counts_state(&s->counts, &log, position, *out->store_error);
}

int serve_senders(struct serve *s, sender_list *out)
{
	return senders_read(s->senders, out);
}

void serve_monitors(struct serve *s, struct monitors_counts *out)
{
	monitors_count(s->monitors, out);
}

int serve_close(struct serve *s, struct error *e)
{
	int err;

	if (!s)
		return 0;
	receiver_stop(s->mapped);
	receiver_stop(s->receiver);
	receiver_stop(s->zipkin);
	grpc_stop(s->grpc);
	live_stop(s->live);
	monitors_release(s->monitors);
	api_stop(s->api);
	api_stop(s->jaeger);
	monitors_close(s->monitors);
	loader_stop(s->loader);
	err = log_close(s->log);
	store_close(s->store);
	tally_close(s->tally);
	live_close(s->live);
	claims_close(s->claims);
	senders_close(s->senders);
	access_close(s->access);
	page_close(s->ui);
	page_close(s->ui_zipkin);
	page_close(s->ui_jaeger);
	if (s->log_dir >= 0)
		close(s->log_dir);
	if (s->spans >= 0)
		close(s->spans);
	pthread_mutex_destroy(&s->counts.lock);
	free(s);
	return err ? error_set(e, err, "cannot sync the log") : 0;
}
