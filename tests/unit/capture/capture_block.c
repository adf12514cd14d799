/* SPDX-License-Identifier: Apache-2.0 */
/* Records writes to a disk while what is known of block I/O is not as it should be. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host_clock.h"
#include "capture/kernel/kernel.h"
#include "programs.skel.h"
#include "tests/unit/capture/recording.h"

#define DISK_WRITES 16
#define ROUNDS 200 /* of writes, at most, until each place for a request was taken again */

static int disk_open(void)
{
	char path[] = "/var/tmp/fathom-disk-XXXXXX";
	int fd = mkstemp(path);

	unlink(path);
	if (fallocate(fd, 0, 0, 1 << 20) || fcntl(fd, F_SETFL, O_DIRECT))
		return -1;
	return fd;
}

/* 16 writes to the disk, each a request of its own. */
static int disk_write(int fd)
{
	void *block = aligned_alloc(4096, 4096);
	int failed = 0;

	memset(block, 1, 4096);
	for (int i = 0; i < DISK_WRITES; i++)
		failed |= pwrite(fd, block, 4096, i * 65536) != 4096;
	free(block);
	return failed ? 77 : 0;
}

static int truth_disk(void)
{
	int fd = disk_open();

	return fd < 0 ? 77 : disk_write(fd);
}

/* As if so much were under way on the disks: how many there is room for. */
static u64 map_fill(int map, bool count_only)
{
	static char value[1024];
	u64 there = 0;

	for (u64 key = 1; key <= 16384; key++) {
		if (count_only)
			there += bpf_map_lookup_elem(map, &key, value) == 0;
		else
			there += bpf_map_update_elem(map, &key, value, BPF_ANY) == 0;
	}
	return there;
}

static void disk_recorded_with_full(bool bios)
{
	char *argv[] = TRUTH_COMMAND("disk");
	struct capture_options options = {0};
	struct seen s = {0};
	struct capture_sink sink = {&s, seen_record, seen_lost};
	int map, status;
	u64 others;

	recording_begin(&s.c, &options, &sink, argv);
	map = bpf_map__fd(bios ? s.c->programs->maps.block_bios
			       : s.c->programs->maps.block_requests);
	others = map_fill(map, false);
	CHECK(others > 10000);
	CHECK_OK(capture_release(s.c, &failure));
	status = recording_end(s.c, &sink, capture_child(s.c));
	CHECK_EQ(map_fill(map, true), others);
	capture_close(s.c);
	if (WEXITSTATUS(status) == 77)
		SKIP("no direct writes to a disk here");
	CHECK_EQ(status, 0);
	CHECK(s.written + s.lost >= DISK_WRITES);
	CHECK(s.lost > 0);
}

/* A request under way is never dropped from the map, and one without room is counted. */
TEST(a_request_without_room_is_counted)
{
	need_root();
	disk_recorded_with_full(false);
	disk_recorded_with_full(true);
}

/* The entry of an issued request in the programs' map: struct block_open. */
struct issued {
	u64 queued_ns, issued_ns;
	u32 tid, pid;
	u64 flags, cgroup, bytes, bio, sector;
	struct context ctx;
};

/* How many requests of the process wait for their end; so many bytes more of each are done now. */
static int issued_count(int map, pid_t pid, u64 done)
{
	struct issued open;
	u64 at = 0, next;
	int found = 0;

	for (bool first = true; !bpf_map_get_next_key(map, first ? NULL : &at, &next); at = next) {
		first = false;
		if (bpf_map_lookup_elem(map, &next, &open) || open.pid != (u32)pid)
			continue;
		open.bytes += done;
		CHECK_EQ(bpf_map_update_elem(map, &next, &open, BPF_EXIST), 0);
		found++;
	}
	return found;
}

/* Writes each time that it reads a byte, which it answers with one: how that ended. */
static void disk_serve(int in, int out, int (*disk_write)(int fd))
{
	int fd = disk_open();
	char byte;

	while (read(in, &byte, 1) == 1) {
		byte = fd < 0 ? 77 : disk_write(fd);
		if (write(out, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void disk_ask(int out, int in)
{
	char byte = 0;

	CHECK_EQ(write(out, &byte, 1), 1);
	CHECK_EQ(read(in, &byte, 1), 1);
	if (byte)
		SKIP("no direct writes to a disk here");
}

struct begins {
	pid_t pid;
	u64 since_ns;
	u64 records, early, others; /* of another size */
};

static int begins_see(void *arg, const struct capture_stream *stream,
		      const struct record_head *head)
{
	const struct record_block *r = (const void *)head;
	struct begins *b = arg;

	(void)stream;
	if (head->kind != RECORD_block || head->pid != (u32)b->pid || !(r->flags & BLOCK_WRITE))
		return 0;
	b->records++;
	b->early += head->time_ns - r->duration_ns - r->queued_ns < b->since_ns;
	b->others += r->bytes != 4096;
	return 0;
}

static size_t feature_index(const struct capture *c, const char *name)
{
	size_t i = 0;

	while (i < c->feature_count && strcmp(c->features[i].name, name) != 0)
		i++;
	CHECK(i < c->feature_count);
	return i;
}

/* Drops a link, and returns its place. */
static struct bpf_link **link_drop(struct capture *c, const char *name)
{
	struct bpf_link **link = &c->links[feature_index(c, name)];

	bpf_link__destroy(*link);
	*link = NULL;
	return link;
}

/* The sector of a request as it was issued is this from now on. */
static void issued_move(int map, pid_t pid, u64 sector)
{
	struct issued open;
	u64 at = 0, next;

	for (bool first = true; !bpf_map_get_next_key(map, first ? NULL : &at, &next); at = next) {
		first = false;
		if (bpf_map_lookup_elem(map, &next, &open) || open.pid != (u32)pid)
			continue;
		open.sector = sector;
		CHECK_EQ(bpf_map_update_elem(map, &next, &open, BPF_EXIST), 0);
	}
}

/*
 * Records writes whose ends are not seen, then writes that are seen as a whole. `done`: as if so
 * many bytes of the first had ended.
 */
static void disk_recorded_after_unseen(u64 done)
{
	struct capture_options options = {.pid_count = 1};
	struct begins b = {0};
	struct capture_sink sink = {&b, begins_see, NULL};
	int go[2], back[2], map;
	struct bpf_link **end;
	struct capture *c;
	u64 cut;

	CHECK_EQ(pipe(go) + pipe(back), 0);
	b.pid = fork();
	if (b.pid == 0) {
		close(go[1]);
		disk_serve(go[0], back[1], disk_write);
	}
	close(go[0]);
	options.pids = &b.pid;
	recording_begin(&c, &options, &sink, NULL);
	map = bpf_map__fd(c->programs->maps.block_requests);
	CHECK_EQ(bpf_map__value_size(c->programs->maps.block_requests), sizeof(struct issued));
	end = link_drop(c, "block_rq_complete");
	disk_ask(go[1], back[0]);
	CHECK(issued_count(map, b.pid, done) > 0);
	*end = bpf_program__attach(c->programs->progs.block_rq_complete);
	CHECK(*end != NULL);
	b.since_ns = host_clock_now_ns();
	for (int i = 0; i < ROUNDS && issued_count(map, b.pid, 0); i++)
		disk_ask(go[1], back[0]);
	close(go[1]);
	CHECK_EQ(waitpid(b.pid, NULL, 0), b.pid);
	capture_stop(c);
	CHECK_EQ(capture_cut(c, &sink, &cut), 0);
	capture_close(c);
	close(back[0]);
	close(back[1]);
	CHECK(b.records >= DISK_WRITES);
	CHECK_EQ(b.early, 0);
	CHECK_EQ(b.others, 0);
}

/* The place of a request whose end was not seen is another's afterwards. */
TEST(a_request_is_not_taken_for_one_before_it)
{
	need_root();
	disk_recorded_after_unseen(0);
	disk_recorded_after_unseen(4096);
}

#define MOVED 123456789 /* no sector of this disk's */

struct moved {
	pid_t pid;
	u64 records, elsewhere;
};

static int moved_see(void *arg, const struct capture_stream *stream, const struct record_head *head)
{
	const struct record_block *r = (const void *)head;
	struct moved *m = arg;

	(void)stream;
	if (head->kind != RECORD_block || head->pid != (u32)m->pid || !(r->flags & BLOCK_WRITE))
		return 0;
	m->records++;
	m->elsewhere += r->sector != MOVED;
	return 0;
}

/*
 * The position of the kernel in the last part does not matter. First only begins are seen; then,
 * with other sectors in these, only ends of requests at the same addresses.
 */
TEST(a_request_is_told_where_it_began)
{
	struct capture_options options = {.pid_count = 1};
	struct moved m = {0};
	struct capture_sink sink = {&m, moved_see, NULL};
	int go[2], back[2], map;
	struct bpf_link **end;
	struct capture *c;
	u64 cut;

	need_root();
	CHECK_EQ(pipe(go) + pipe(back), 0);
	m.pid = fork();
	if (m.pid == 0) {
		close(go[1]);
		disk_serve(go[0], back[1], disk_write);
	}
	close(go[0]);
	options.pids = &m.pid;
	recording_begin(&c, &options, &sink, NULL);
	map = bpf_map__fd(c->programs->maps.block_requests);
	end = link_drop(c, "block_rq_complete");
	disk_ask(go[1], back[0]);
	link_drop(c, "block_rq_issue");
	CHECK(issued_count(map, m.pid, 0) > 0);
	issued_move(map, m.pid, MOVED);
	*end = bpf_program__attach(c->programs->progs.block_rq_complete);
	CHECK(*end != NULL);
	for (int i = 0; i < ROUNDS && issued_count(map, m.pid, 0); i++)
		disk_ask(go[1], back[0]);
	close(go[1]);
	CHECK_EQ(waitpid(m.pid, NULL, 0), m.pid);
	capture_stop(c);
	CHECK_EQ(capture_cut(c, &sink, &cut), 0);
	capture_close(c);
	close(back[0]);
	close(back[1]);
	CHECK(m.records > 0);
	CHECK_EQ(m.elsewhere, 0);
}

#define MERGED 16 /* writes that lie in a row, and are submitted at once */

/* They are held back until all are submitted, so that the kernel makes few requests of them. */
static int disk_write_in_a_row(int fd)
{
	struct iocb each[MERGED] = {0}, *all[MERGED];
	struct io_event events[MERGED];
	aio_context_t context = 0;
	char *block = aligned_alloc(4096, 4096 * MERGED);
	int failed, done = 0, n = 1;

	memset(block, 1, 4096 * MERGED);
	failed = syscall(SYS_io_setup, MERGED, &context) != 0;
	for (int i = 0; i < MERGED; i++) {
		each[i].aio_lio_opcode = IOCB_CMD_PWRITE;
		each[i].aio_fildes = fd;
		each[i].aio_buf = (u64)(block + 4096 * i);
		each[i].aio_nbytes = 4096;
		each[i].aio_offset = 4096 * i;
		all[i] = &each[i];
	}
	failed |= syscall(SYS_io_submit, context, MERGED, all) != MERGED;
	for (; !failed && n > 0 && done < MERGED; done += n)
		n = syscall(SYS_io_getevents, context, 1, MERGED, events, NULL);
	failed |= n < 1 || syscall(SYS_io_destroy, context);
	free(block);
	return failed ? 77 : 0;
}

/* Requests of the process, as they are recorded and lost. */
struct requests {
	pid_t pid;
	u64 recorded, lost;
};

static int requests_see(void *arg, const struct capture_stream *stream,
			const struct record_head *head)
{
	struct requests *seen = arg;

	(void)stream;
	seen->recorded += head->kind == RECORD_block && head->pid == (u32)seen->pid;
	return 0;
}

static int requests_lose(void *arg, const struct capture_stream *stream,
			 const struct record_lost *lost)
{
	struct requests *seen = arg;

	(void)stream;
	if (lost->why == LOST_buffer && lost->lost_kind == RECORD_block)
		seen->lost += lost->count;
	return 0;
}

/* Many bios without room are as many lost records as the requests that they are merged into. */
TEST(a_request_of_bios_without_room_is_lost_once)
{
	struct capture_options options = {.pid_count = 1};
	struct requests seen = {0};
	struct capture_sink sink = {&seen, requests_see, requests_lose};
	int go[2], back[2];
	struct capture *c;
	u64 cut;

	need_root();
	CHECK_EQ(pipe(go) + pipe(back), 0);
	seen.pid = fork();
	if (seen.pid == 0) {
		close(go[1]);
		disk_serve(go[0], back[1], disk_write_in_a_row);
	}
	close(go[0]);
	options.pids = &seen.pid;
	disk_ask(go[1], back[0]); /* the file has its blocks now */
	recording_begin(&c, &options, &sink, NULL);
	disk_ask(go[1], back[0]);
	CHECK_OK(capture_cut(c, &sink, &cut));
	if (seen.recorded < 1 || seen.recorded > MERGED / 2)
		SKIP("this disk does not merge writes");
	CHECK_EQ(seen.lost, 0);
	CHECK_EQ(map_fill(bpf_map__fd(c->programs->maps.block_bios), false),
		 16384); /* none is left */
	seen.recorded = 0;
	disk_ask(go[1], back[0]);
	close(go[1]);
	CHECK_EQ(waitpid(seen.pid, NULL, 0), seen.pid);
	capture_stop(c);
	CHECK_EQ(capture_cut(c, &sink, &cut), 0);
	capture_close(c);
	close(back[0]);
	close(back[1]);
	CHECK_EQ(seen.recorded, 0);
	CHECK(seen.lost >= 1);
	CHECK(seen.lost < MERGED);
}

/* Without its bio or its issue a request is not recorded; a bio left behind names another's. */
TEST(each_skipped_run_loses_a_request)
{
	struct capture_feature features[CAPTURE_FEATURES_MAX];
	int count = capture_features_probe(features, CAPTURE_FEATURES_MAX, NULL), found = 0;

	if (count < 0)
		SKIP("this kernel does not describe its types");
	for (int i = 0; i < count; i++) {
		if (strncmp(features[i].name, "block_", 6) != 0)
			continue;
		CHECK_EQ(capture_feature_lost_kind(i), RECORD_block);
		found++;
	}
	CHECK_EQ(found, 4);
}

static const struct truth truths[] = {
	{"disk", truth_disk},
	{NULL, NULL},
};

int main(int argc, char **argv)
{
	return truth_main(truths, argc, argv);
}
