// SPDX-License-Identifier: Apache-2.0
/*
 * Loads the thumbnail server in a closed loop: each connection asks for the next picture once it
 * has the last. Every request is a span of kind client, whose context travels in `traceparent`.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exchange.h"
#include "fathom/fathom.h"
#include "http.h"

enum { CONNECTIONS_MAX = 256, SAMPLES_STEP = 1024 };

struct load {
	struct exchange_target target;
	const char *video;
	const char *format;
	unsigned connections;
	unsigned width;
	unsigned length_s;	/* of the video: seconds are drawn from [0, length_s) */
	unsigned long requests; /* 0: no limit */
	unsigned long seconds;	/* 0: no limit */
	unsigned long seed;
	unsigned long pause_ms; /* of a connection, behind each answer */
	const char *save;	/* a file for the last picture, or NULL */
	const char *fault;	/* to be switched on, instead of a load; or NULL */
	int64_t deadline_ns;
	_Atomic unsigned long taken; /* requests begun, by all connections */
};

struct lane {
	struct load *load;
	pthread_t thread;
	uint64_t random;
	int64_t *samples_ns; /* latencies of what succeeded */
	size_t count;
	size_t room;
	unsigned long errors;
	char failure[128]; /* the last one */
};

static volatile sig_atomic_t interrupted;

static const char usage[] =
	"usage: thumbnailer-client [options] -p PORT -v VIDEO\n"
	"       thumbnailer-client [-a ADDRESS] -p PORT -F FAULT\n"
	"  -a ADDRESS   IPv4 address of the server (127.0.0.1)\n"
	"  -c N         connections, each asking in a closed loop (4)\n"
	"  -n N         stop after N requests (100 without -d, else no limit)\n"
	"  -d SECONDS   begin no request after that time\n"
	"  -l SECONDS   length of the video (60)\n"
	"  -g MS        pause of a connection between two requests (0)\n"
	"  -w WIDTH     of the pictures (320)\n"
	"  -f FORMAT    jpeg or png (jpeg)\n"
	"  -s SEED      of the seconds asked for (1)\n"
	"  -o FILE      keep the last picture; with one connection\n"
	"  -F FAULT     switch a fault of the server on (thumbnailer-server -h), and end\n"
	"Exits with 0 if every request succeeded, 1 otherwise, 2 for wrong usage.\n";

static void interrupt(int number)
{
	interrupted = number;
}

/* xorshift64*: the same seed asks the same questions. */
static uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

static bool request_take(struct load *load)
{
	if (interrupted || (load->deadline_ns && http_now_ns() >= load->deadline_ns))
		return false;
	return atomic_fetch_add(&load->taken, 1) < load->requests || !load->requests;
}

static int sample_add(struct lane *lane, int64_t sample_ns)
{
	if (lane->count == lane->room) {
		size_t room = lane->room + SAMPLES_STEP;
		int64_t *samples_ns = realloc(lane->samples_ns, room * sizeof(*samples_ns));

		if (!samples_ns)
			return -ENOMEM;
		lane->samples_ns = samples_ns;
		lane->room = room;
	}
	lane->samples_ns[lane->count++] = sample_ns;
	return 0;
}

static int picture_save(const struct load *load, const struct exchange_answer *answer)
{
	FILE *file;
	size_t written;

	if (!load->save)
		return 0;
	file = fopen(load->save, "wb");
	if (!file)
		return -errno;
	written = fwrite(answer->body, 1, answer->size, file);
	return fclose(file) || written != answer->size ? -EIO : 0;
}

static void request_ask(struct lane *lane, struct exchange *exchange)
{
	const struct load *load = lane->load;
	struct fathom_span_options options = {.name = "GET /thumbnail",
					      .kind = FATHOM_CLIENT,
					      .level = FATHOM_INFO,
					      .root = true};
	struct fathom_endpoint peer = {
		.name = "thumbnailer", .address = load->target.address, .port = load->target.port};
	struct fathom_span span = fathom_span_open(&options);
	struct fathom_context context = fathom_span_context(&span);
	uint64_t at_ms = random_next(&lane->random) % (load->length_s * 1000ULL);
	char traceparent[FATHOM_TRACEPARENT_BYTES] = "";
	char path[512];
	struct exchange_answer answer = {0};
	int64_t begin_ns = http_now_ns();
	int error;

	fathom_inject_traceparent(&context, traceparent);
	snprintf(path, sizeof(path), "/thumbnail?video=%s&second=%llu.%03llu&width=%u&format=%s",
		 load->video, (unsigned long long)at_ms / 1000, (unsigned long long)at_ms % 1000,
		 load->width, load->format);
	fathom_span_string(&span, "http.request.method", "GET");
	fathom_span_string(&span, "url.path", "/thumbnail");
	fathom_span_peer(&span, &peer);
	error = exchange_get(exchange, path, traceparent, &answer);
	if (!error && answer.status != 200)
		error = -EREMOTEIO;
	if (answer.status)
		fathom_span_integer(&span, "http.response.status_code", answer.status);
	if (!error) {
		fathom_span_integer(&span, "http.response.body.size", (int64_t)answer.size);
		fathom_span_end(&span);
		error = sample_add(lane, http_now_ns() - begin_ns);
	} else {
		fathom_span_end_status(&span, FATHOM_FAILED, strerror(-error));
	}
	if (!error)
		error = picture_save(load, &answer);
	if (!error)
		return;
	lane->errors++;
	if (answer.status)
		snprintf(lane->failure, sizeof(lane->failure), "status %d: %.*s", answer.status,
			 (int)(answer.size < 80 ? answer.size : 80), (const char *)answer.body);
	else
		snprintf(lane->failure, sizeof(lane->failure), "%s", strerror(-error));
}

static void *lane_main(void *argument)
{
	struct lane *lane = argument;
	unsigned long ms = lane->load->pause_ms;
	const struct timespec pause = {.tv_sec = (time_t)(ms / 1000),
				       .tv_nsec = (long)(ms % 1000) * 1000000};
	struct exchange exchange;

	exchange_init(&exchange, &lane->load->target);
	while (request_take(lane->load)) {
		request_ask(lane, &exchange);
		if (ms)
			nanosleep(&pause, NULL);
	}
	exchange_close(&exchange);
	return NULL;
}

static int compare(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left;
	int64_t b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

/* The nearest rank: the smallest sample that `percent` of all samples do not exceed. */
static double percentile_ms(const int64_t *sorted_ns, size_t count, unsigned percent)
{
	size_t rank = (count * percent + 99) / 100;

	return rank ? (double)sorted_ns[rank - 1] / 1e6 : 0;
}

static int results_print(struct lane *lanes, unsigned count, int64_t elapsed_ns)
{
	struct lane all = {0};

	for (unsigned i = 0; i < count; i++) {
		for (size_t j = 0; j < lanes[i].count; j++)
			if (sample_add(&all, lanes[i].samples_ns[j]))
				all.errors++;
		all.errors += lanes[i].errors;
		if (lanes[i].errors)
			fprintf(stderr, "thumbnailer-client: %s\n", lanes[i].failure);
	}
	if (all.count)
		qsort(all.samples_ns, all.count, sizeof(*all.samples_ns), compare);
	printf("requests %zu\nerrors %lu\n", all.count + all.errors, all.errors);
	printf("per_second %.1f\n", (double)all.count * 1e9 / (double)elapsed_ns);
	printf("p50_ms %.3f\np95_ms %.3f\np99_ms %.3f\nmax_ms %.3f\n",
	       percentile_ms(all.samples_ns, all.count, 50),
	       percentile_ms(all.samples_ns, all.count, 95),
	       percentile_ms(all.samples_ns, all.count, 99),
	       percentile_ms(all.samples_ns, all.count, 100));
	free(all.samples_ns);
	return all.errors || !all.count ? 1 : 0;
}

static int load_run(struct load *load)
{
	struct lane *lanes = calloc(load->connections, sizeof(*lanes));
	int64_t begin_ns = http_now_ns();
	unsigned started = 0;
	int result = 1;

	if (!lanes)
		return 1;
	if (load->seconds)
		load->deadline_ns = begin_ns + (int64_t)load->seconds * 1000000000;
	for (; started < load->connections; started++) {
		struct lane *lane = &lanes[started];

		lane->load = load;
		lane->random = load->seed * UINT64_C(0x9e3779b97f4a7c15) + started + 1;
		if (pthread_create(&lane->thread, NULL, lane_main, lane))
			break;
	}
	for (unsigned i = 0; i < started; i++)
		pthread_join(lanes[i].thread, NULL);
	if (started == load->connections)
		result = results_print(lanes, started, http_now_ns() - begin_ns);
	for (unsigned i = 0; i < started; i++)
		free(lanes[i].samples_ns);
	free(lanes);
	return result;
}

/* A number in [1, max]; 0 for anything else. */
static unsigned long number_parse(const char *text, unsigned long max)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	return errno || end == text || *end || *text == '-' || value > max ? 0 : value;
}

static bool text_set(struct load *load, int option, const char *text)
{
	const char **const fields[] = {['a'] = &load->target.address,
				       ['F'] = &load->fault,
				       ['f'] = &load->format,
				       ['o'] = &load->save,
				       ['v'] = &load->video};

	if ((size_t)option >= sizeof(fields) / sizeof(fields[0]) || !fields[option])
		return false;
	*fields[option] = text;
	return true;
}

static bool number_set(struct load *load, int option, const char *text)
{
	switch (option) {
	case 'p':
		return (load->target.port = (uint16_t)number_parse(text, UINT16_MAX));
	case 'c':
		return (load->connections = (unsigned)number_parse(text, CONNECTIONS_MAX));
	case 'n':
		return (load->requests = number_parse(text, 1000000000));
	case 'd':
		return (load->seconds = number_parse(text, 1000000));
	case 'l':
		return (load->length_s = (unsigned)number_parse(text, 1000000));
	case 'g':
		return (load->pause_ms = number_parse(text, 1000000));
	case 'w':
		return (load->width = (unsigned)number_parse(text, 100000));
	case 's':
		return (load->seed = number_parse(text, 1000000000));
	default:
		return false;
	}
}

static bool options_parse(struct load *load, int argc, char **argv)
{
	struct in_addr address;
	int option;

	while ((option = getopt(argc, argv, "a:p:v:c:n:d:l:w:f:s:o:F:g:")) != -1)
		if (!optarg ||
		    (!text_set(load, option, optarg) && !number_set(load, option, optarg)))
			return false;
	if (!load->requests && !load->seconds)
		load->requests = 100;
	if (load->fault)
		return optind == argc && load->target.port && strlen(load->fault) < 16 &&
		       !strpbrk(load->fault, " \r\n&?#");
	return optind == argc && load->target.port && load->video && strlen(load->video) < 128 &&
	       strlen(load->format) < 16 &&
	       inet_pton(AF_INET, load->target.address, &address) == 1 &&
	       !strpbrk(load->video, " \r\n&?#") && !(load->save && load->connections > 1);
}

/* No span tells of it: it is no load. */
static int fault_switch(const struct load *load)
{
	struct exchange exchange;
	struct exchange_answer answer = {0};
	char path[64];
	int error;

	exchange_init(&exchange, &load->target);
	snprintf(path, sizeof(path), "/fault?name=%s", load->fault);
	error = exchange_get(&exchange, path, "", &answer);
	if (error)
		fprintf(stderr, "thumbnailer-client: %s\n", strerror(-error));
	else
		fwrite(answer.body, 1, answer.size, answer.status == 200 ? stdout : stderr);
	error = error || answer.status != 200;
	exchange_close(&exchange);
	return error ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct load load = {
		.target = {.address = "127.0.0.1"},
		.format = "jpeg",
		.connections = 4,
		.width = 320,
		.length_s = 60,
		.seed = 1,
	};
	struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};

	if (!options_parse(&load, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	if (load.fault)
		return fault_switch(&load);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	fathom_init("thumbnailer-client");
	return load_run(&load);
}
