/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `map DIR [sums]`: maps a recording or chunk as `fathom trace --all` does: with every system
 * call, fault and wait as a span, names of files and threads, and histograms, ready for queries.
 * Prints the CPU seconds on its one thread, and the maximum of its memory. With `sums` it keeps no
 * kernel spans, like `fathom report`.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "chunk/chunk.h"
#include "map/chunk_map.h"

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Maps a chunk and merges it into the partial. Damage or losses make the figure void. */
static int chunk_take(struct partial *into, const struct chunk_info *info, struct error *e)
{
	struct chunk_task task = {.info = info, .whole = true, .options = into->options};
	struct chunk_found found = {0};
	struct partial *p;
	int err = chunk_map(&p, &task, &found, e);

	if (err)
		return err;
	if (found.damage[0]) {
		partial_free(p);
		return error_say(e, EBADMSG, "%s", found.damage);
	}
	return partial_merge(into, p);
}

static int recording_map(struct partial *p, const char *dir, u64 *records, struct error *e)
{
	struct recording *recording;
	const struct recording_info *info;
	int err = recording_open(&recording, &dir, 1, NULL, e);

	if (err)
		return err;
	info = recording_info(recording);
	for (size_t i = 0; i < info->chunk_count && !err; i++) {
		err = chunk_take(p, &info->chunks[i], e);
		*records += info->chunks[i].records;
	}
	recording_close(recording);
	return err ? err : partial_finish(p);
}

int main(int argc, char **argv)
{
	struct partial_options options = {.spans = argc == 2};
	struct partial *p = partial_new(&options);
	struct rusage usage;
	struct error e = {0};
	double seconds, begin = cpu_seconds();
	u64 records = 0;
	int err = argc >= 2 && p ? recording_map(p, argv[1], &records, &e) : -1;

	seconds = cpu_seconds() - begin;
	if (err) {
		fprintf(stderr, "map: %s\n", error_is_set(&e) ? e.text : "usage: map DIR [sums]");
		partial_free(p);
		return 1;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("records %llu\nseconds %.3f\npeak_kb %ld\n", (unsigned long long)records, seconds,
	       usage.ru_maxrss);
	printf("kernel_spans %zu\napplication_spans %zu\nfd_facts %zu\nthreads %zu\n",
	       kspans_count(&p->kspans), p->spans.count, p->facts.fds.count, p->lives.count);
	printf("histograms %zu\n",
	       p->calls.list.count + p->waits.list.count + p->blocks.list.count);
	partial_free(p);
	return 0;
}
