// SPDX-License-Identifier: Apache-2.0
/*
 * A thumbnail server: GET /thumbnail?video=NAME&second=S[&width=W][&format=jpeg|png]
 *
 *	accept thread (front.c) -> queue (pool.c) -> worker (handler.c, thumbnail.c)
 */
#include <errno.h>
#include <libavutil/log.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "connection.h"
#include "fathom/fathom.h"
#include "fault.h"
#include "front.h"
#include "handler.h"
#include "pool.h"

enum {
	QUEUE_DEPTH = 256,
	THREADS_MAX = 256,
};

struct options {
	const char *address;
	unsigned port;
	unsigned threads;
	unsigned rights_port; /* 0: nothing is asked */
	bool has_faults;
	const char *videos;
};

struct server {
	struct handler handler;
	struct front *front;
};

static const char usage[] =
	"usage: thumbnailer-server [-a ADDRESS] [-p PORT] [-t THREADS] [-f] [-r PORT] DIRECTORY\n"
	"Serves GET /thumbnail?video=NAME&second=S[&width=W][&format=jpeg|png] for the videos\n"
	"in DIRECTORY. Prints `port N` when it is ready. SIGTERM and SIGINT end it.\n"
	"  -a ADDRESS  numeric address to listen on (127.0.0.1)\n"
	"  -p PORT     0 lets the kernel choose one (0)\n"
	"  -t THREADS  workers (4)\n"
	"  -f          serve GET /fault?name=NAME, too, which switches a fault on while it runs:\n"
	"              lock   each picture holds a lock of all workers for 20 ms\n"
	"              fsync  each picture is appended to DIRECTORY/.journal and synced\n"
	"              peer   the service of -r takes 60 ms to answer\n"
	"              none   switches it off\n"
	"  -r PORT     ask thumbnailer-rights at this port before each picture; implies -f\n";

static int number_parse(const char *text, unsigned max, unsigned *out)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value > max)
		return -EINVAL;
	*out = (unsigned)value;
	return 0;
}

static int options_parse(struct options *options, int argc, char **argv)
{
	struct stat directory;
	int error = 0;
	int option;

	while (!error && (option = getopt(argc, argv, "a:p:t:r:fh")) != -1) {
		if (option == 'a')
			options->address = optarg;
		else if (option == 'p')
			error = number_parse(optarg, UINT16_MAX, &options->port);
		else if (option == 't')
			error = number_parse(optarg, THREADS_MAX, &options->threads);
		else if (option == 'r')
			error = number_parse(optarg, UINT16_MAX, &options->rights_port);
		else if (option == 'f')
			options->has_faults = true;
		else
			error = option == 'h' ? 1 : -EINVAL;
	}
	if (error)
		return error;
	if (argc - optind != 1 || !options->threads)
		return -EINVAL;
	options->videos = argv[optind];
	if (stat(options->videos, &directory))
		return -errno;
	return S_ISDIR(directory.st_mode) ? 0 : -ENOTDIR;
}

static void request_run(void *owner, void *job)
{
	struct server *server = owner;

	handler_run(&server->handler, job);
	front_return(server->front, job);
}

/* Before any thread is made: the threads inherit the mask, and only the signalfd sees them. */
static void signals_block(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* A name that begins with a dot is no video's. */
static int faults_open(const struct options *options, struct fault **out)
{
	char journal[PATH_MAX];

	if (!options->has_faults && !options->rights_port)
		return 0;
	if ((size_t)snprintf(journal, sizeof(journal), "%s/.journal", options->videos) >=
	    sizeof(journal))
		return -ENAMETOOLONG;
	return fault_open(out, journal, (uint16_t)options->rights_port);
}

static int serve(const struct options *options)
{
	struct server server = {.handler = {.videos = options->videos}};
	struct pool_work work = {.run = request_run, .owner = &server};
	struct fathom_endpoint here = {.name = "thumbnailer", .address = options->address};
	struct pool *pool = NULL;
	int error = front_open(&server.front, options->address, (uint16_t)options->port);

	if (error)
		return error;
	here.port = front_port(server.front);
	fathom_endpoint_set(&here);
	error = faults_open(options, &server.handler.fault);
	if (!error)
		error = pool_open(&pool, &work, options->threads, QUEUE_DEPTH);
	if (!error) {
		printf("port %u\n", here.port);
		fflush(stdout);
		error = front_run(server.front, pool);
	}
	/* Queued requests are still answered before the connections are closed. */
	pool_close(pool);
	front_close(server.front);
	fault_close(server.handler.fault);
	return error;
}

int main(int argc, char **argv)
{
	struct options options = {.address = "127.0.0.1", .threads = 4};
	int error = options_parse(&options, argc, argv);

	if (error == 1) {
		fputs(usage, stdout);
		return 0;
	}
	if (error) {
		fprintf(stderr, "thumbnailer-server: %s\n%s", strerror(-error), usage);
		return 2;
	}
	signals_block();
	av_log_set_level(AV_LOG_QUIET);
	fathom_init("thumbnailer");
	error = serve(&options);
	if (error)
		fprintf(stderr, "thumbnailer-server: %s\n", strerror(-error));
	return error ? 1 : 0;
}
