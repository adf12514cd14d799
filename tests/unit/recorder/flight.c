/* SPDX-License-Identifier: Apache-2.0 */
/* The records that a flight recorder keeps besides the rings, however long it runs. */
#include "recorder/flight.h"

#include "tests/unit/check.h"

/* ---- a fake capture ---- */

/* The waker of thread 9, in the ring of a CPU; 0: none. */
static struct {
	u32 tid;
	u64 time_ns;
} wakers[4];

/* The time at which thread 9 got its CPU; 0: it did not. */
static u64 entered_ns;

int capture_flight(struct capture *c, const struct capture_sink *sink, u64 *cut_ns)
{
	const struct capture_stream cpu = {.kind = CAPTURE_STREAM_CPU};
	union {
		struct record_waking r;
		u8 slots[2 * RECORD_SLOT_BYTES];
	} out = {.r.head = {.kind = RECORD_waking, .slots = 2, .tid = 9, .pid = 9}};

	union {
		struct record_switch r;
		u8 slots[2 * RECORD_SLOT_BYTES];
	} enters = {.r = {.head = {.kind = RECORD_switch, .slots = 2, .time_ns = entered_ns},
			  .next_tid = 9}};

	if (entered_ns)
		CHECK_EQ(sink->record(sink->arg, &cpu, &enters.r.head), 0);
	for (int i = 0; i < 4 && wakers[i].tid; i++) {
		out.r.waker_tid = wakers[i].tid;
		out.r.head.time_ns = wakers[i].time_ns;
		CHECK_EQ(sink->record(sink->arg, &cpu, &out.r.head), 0);
	}
	*cut_ns = 1000000;
	return 0;
}

static u64 flight_from;

u64 capture_flight_from(const struct capture *c)
{
	return flight_from;
}

/* Thread 9 sleeps. */
int capture_look(struct capture *c, const struct capture_sink *sink, struct error *e)
{
	const struct capture_stream stream = {.kind = CAPTURE_STREAM_LIFE};
	union {
		struct record_thread r;
		u8 slots[2 * RECORD_SLOT_BYTES];
	} out = {.r = {.head = {.kind = RECORD_thread,
				.slots = 2,
				.tid = 9,
				.pid = 9,
				.time_ns = 999999},
		       .state = LEAVE_sleep}};

	return sink->record(sink->arg, &stream, &out.r.head);
}

/* ---- records ---- */

#define TEXT_BYTES 1000

static const struct capture_stream life = {.kind = CAPTURE_STREAM_LIFE};

union long_record {
	struct record_head head;
	struct record_format format;
	struct record_service service;
	struct record_mapping mapping;
	struct record_filter filter;
	u8 slots[RECORD_MAX_SLOTS * RECORD_SLOT_BYTES];
};

static void keep(struct flight *f, union long_record *r, u16 kind, u32 pid, u64 time_ns)
{
	r->head.kind = kind;
	r->head.slots = 18;
	r->head.pid = r->head.tid = pid;
	r->head.time_ns = time_ns;
	CHECK_EQ(flight_record(f, &life, &r->head), 0);
}

static void keep_filter(struct flight *f)
{
	union {
		struct record_filter filter;
		u8 slot[RECORD_SLOT_BYTES];
	} r = {.slot = {0}};

	r.filter.head.kind = RECORD_filter;
	r.filter.head.slots = 1;
	r.filter.flags = FILTER_SPANS;
	CHECK_EQ(flight_record(f, &life, &r.filter.head), 0);
}

static void keep_follow(struct flight *f, u32 pid, u64 time_ns)
{
	union {
		struct record_filter filter;
		u8 slot[RECORD_SLOT_BYTES];
	} r = {.slot = {0}};

	r.filter.head = (struct record_head){
		.kind = RECORD_filter, .slots = 1, .time_ns = time_ns, .tid = pid, .pid = pid};
	r.filter.flags = FILTER_SPANS | FILTER_FOLLOWS;
	CHECK_EQ(flight_record(f, &life, &r.filter.head), 0);
}

static void keep_format(struct flight *f, u32 id)
{
	union long_record r = {.slots = {0}};

	r.format.format = id;
	r.format.text_len = TEXT_BYTES;
	keep(f, &r, RECORD_format, 0, 1);
}

static void keep_service(struct flight *f, u32 pid, u64 time_ns)
{
	union long_record r = {.slots = {0}};

	r.service.resource_len = TEXT_BYTES;
	keep(f, &r, RECORD_service, pid, time_ns);
}

static void keep_mapping(struct flight *f, u32 pid)
{
	union long_record r = {.slots = {0}};

	r.mapping.path_len = TEXT_BYTES;
	keep(f, &r, RECORD_mapping, pid, 1);
}

/* ---- the sink ---- */

static struct {
	unsigned int filters, follows, formats, services, mappings, functions;
	unsigned int sockets, agains, threads, later_threads;
	u64 lost_services, lost_mappings;
	u64 lost_follows;
	u64 newest_of_7; /* time of the last written service of process 7 */
	char names[512]; /* tid=name of each name at the begin */
	char files[512]; /* files of slots: pid=name, at the begin */
} written;

static void see_name(u32 tid, char mark, const char *text, size_t bytes)
{
	size_t at = strlen(written.names);

	snprintf(written.names + at, sizeof(written.names) - at, "%u%c%.*s ", tid, mark,
		 (int)strnlen(text, bytes), text);
}

static int see(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	const struct record_name *name = (const void *)r;
	const struct record_process *process = (const void *)r;

	if (r->kind == RECORD_name && r->time_ns == flight_from)
		see_name(r->tid, '=', name->comm, name->comm_len);
	if (r->kind == RECORD_process && r->time_ns == flight_from)
		see_name(r->tid, ':', process->command, process->command_len);
	if (r->kind == RECORD_fd && r->time_ns == flight_from) {
		const struct record_fd *fd = (const void *)r;
		size_t at = strlen(written.files);

		snprintf(written.files + at, sizeof(written.files) - at, "%u=%.*s ", r->pid,
			 fd->path_len, fd->path);
	}
	written.sockets += r->kind == RECORD_socket;
	if (r->kind == RECORD_filter) {
		bool follows = ((const struct record_filter *)r)->flags & FILTER_FOLLOWS;

		written.agains += !!(((const struct record_filter *)r)->flags & FILTER_AGAIN);
		written.filters += !follows;
		written.follows += follows;
	}
	if (r->kind == RECORD_thread) {
		written.threads++;
		written.later_threads += !!(((const struct record_thread *)r)->flags &
					    THREAD_LATER);
	}
	written.formats += r->kind == RECORD_format;
	written.services += r->kind == RECORD_service;
	written.mappings += r->kind == RECORD_mapping && r->pid;
	written.functions += r->kind == RECORD_mapping && !r->pid;
	if (r->kind == RECORD_service && r->pid == 7)
		written.newest_of_7 = r->time_ns;
	return 0;
}

static int see_lost(void *arg, const struct capture_stream *s, const struct record_lost *lost)
{
	if (lost->lost_kind == RECORD_service)
		written.lost_services += lost->count;
	if (lost->lost_kind == RECORD_filter)
		written.lost_follows += lost->count;
	if (lost->lost_kind == RECORD_mapping)
		written.lost_mappings += lost->count;
	return 0;
}

static void write_all(struct flight *f)
{
	const struct capture_sink sink = {.record = see, .lost = see_lost};
	u64 from_ns, cut_ns;

	memset(&written, 0, sizeof(written));
	CHECK_EQ(flight_take(f, NULL, &from_ns, &cut_ns, NULL), 0);
	CHECK_EQ(flight_write(f, NULL, from_ns, &sink, NULL), 0);
}

/* ---- */

TEST(all_who_are_followed_stay)
{
	struct flight *f = flight_new();

	CHECK(f != NULL);
	for (u32 pid = 5; pid < 9; pid++) {
		keep_filter(f);
		keep_follow(f, pid, pid);
	}
	write_all(f);
	CHECK_EQ(written.filters, 1);
	CHECK_EQ(written.follows, 4);
	for (u32 i = 0; i < 70000; i++) /* when repeated, it is not lost, and takes no room */
		keep_follow(f, 5, 100 + i);
	write_all(f);
	CHECK(written.follows >= 4);
	CHECK_EQ(written.lost_follows, 0);
	flight_free(f);
}

TEST(what_was_followed_before_is_told_again)
{
	struct flight *f = flight_new();

	keep_follow(f, 5, 100);
	keep_follow(f, 6, 300);
	write_all(f);
	CHECK_EQ(written.agains, 0);
	flight_from = 200;
	write_all(f);
	CHECK_EQ(written.follows, 2);
	CHECK_EQ(written.agains, 1);
	flight_from = 0;
	flight_free(f);
}

/* A thread asleep at the end of the chunk slept on the same at its begin, if it did not run. */
TEST(what_a_thread_sleeps_on_is_told_of_those_that_slept_all_along)
{
	struct flight *f = flight_new();

	flight_from = 500;
	entered_ns = 400;
	write_all(f);
	CHECK_EQ(written.threads, 1);
	CHECK_EQ(written.later_threads, 0);
	entered_ns = 600;
	write_all(f);
	CHECK_EQ(written.threads, 1);
	CHECK_EQ(written.later_threads, 1);
	flight_from = entered_ns = 0;
	flight_free(f);
}

TEST(formats_and_filters_stay)
{
	struct flight *f = flight_new();

	CHECK(f != NULL);
	keep_filter(f);
	keep_format(f, 1);
	keep_mapping(f, 0);
	for (u32 pid = 1; pid <= 20000; pid++)
		keep_service(f, pid, pid);
	write_all(f);
	CHECK_EQ(written.filters, 1);
	CHECK_EQ(written.formats, 1);
	CHECK_EQ(written.functions, 1);
	flight_free(f);
}

TEST(what_is_told_at_each_cut_is_kept_once)
{
	struct flight *f = flight_new();

	for (int i = 0; i < 100; i++) {
		keep_filter(f);
		keep_format(f, 1);
		keep_format(f, 2);
	}
	write_all(f);
	CHECK_EQ(written.filters, 1);
	CHECK_EQ(written.formats, 2);
	flight_free(f);
}

TEST(what_is_dropped_is_counted)
{
	struct flight *f = flight_new();

	for (u32 pid = 1; pid <= 20000; pid++) {
		keep_service(f, pid, pid);
		keep_mapping(f, pid);
	}
	write_all(f);
	CHECK(written.services > 500);
	CHECK(written.lost_services > 0);
	CHECK_EQ(written.services + written.lost_services, 20000);
	CHECK_EQ(written.mappings + written.lost_mappings, 20000);
	write_all(f); /* they are missing in the next chunk, too */
	CHECK_EQ(written.services + written.lost_services, 20000);
	flight_free(f);
}

TEST(a_service_that_was_replaced_is_no_loss)
{
	struct flight *f = flight_new();

	for (u64 i = 1; i <= 20000; i++)
		keep_service(f, 7 + i % 3, i);
	write_all(f);
	CHECK_EQ(written.lost_services, 0);
	CHECK_EQ(written.newest_of_7, 19998);
	flight_free(f);
	flight_free(NULL);
}

/* ---- names of threads that ended ---- */

/* A record of the stream of threads and processes, of `slots` slots. */
union said {
	struct record_head head;
	struct record_fork fork;
	struct record_name name;
	struct record_exec exec;
	struct record_process process;
	struct record_exit exit;
	u8 slots[4 * RECORD_SLOT_BYTES];
};

static union said said(u8 kind, u16 slots, u32 tid, u32 pid)
{
	return (union said){.head = {.kind = kind, .slots = slots, .tid = tid, .pid = pid}};
}

static void say(struct flight *f, union said *out, u64 time_ns)
{
	out->head.time_ns = time_ns;
	CHECK_EQ(flight_record(f, &life, &out->head), 0);
}

static void say_fork(struct flight *f, u32 tid, u32 pid, const char *comm, u64 time_ns)
{
	union said out = said(RECORD_fork, 2, tid, pid);

	out.fork.comm_len = (u16)strlen(comm);
	memcpy(out.fork.comm, comm, strlen(comm));
	say(f, &out, time_ns);
}

static void say_name(struct flight *f, u32 tid, u32 pid, const char *comm, u64 time_ns)
{
	union said out = said(RECORD_name, 1, tid, pid);

	out.name.comm_len = (u16)strlen(comm);
	memcpy(out.name.comm, comm, strlen(comm));
	say(f, &out, time_ns);
}

/* An exec record. */
static void say_exec(struct flight *f, u32 pid, const char *command, u64 time_ns)
{
	union said out = said(RECORD_exec, 4, pid, pid);

	out.exec.command_len = (u16)strlen(command) + 1;
	memcpy(out.exec.command, command, strlen(command) + 1);
	say(f, &out, time_ns);
}

/* A snapshot shows it. */
static void say_process(struct flight *f, u32 pid, const char *command, u64 time_ns)
{
	union said out = said(RECORD_process, 4, pid, pid);

	out.process.command_len = (u16)strlen(command) + 1;
	memcpy(out.process.command, command, strlen(command) + 1);
	say(f, &out, time_ns);
}

static void say_exit(struct flight *f, u32 tid, u32 pid, u64 time_ns)
{
	union said out = said(RECORD_exit, 1, tid, pid);

	say(f, &out, time_ns);
}

static void write_from(struct flight *f, u64 from_ns)
{
	flight_from = from_ns;
	write_all(f);
	flight_from = 0;
}

TEST(who_ended_in_the_chunk_has_the_name_of_its_begin)
{
	struct flight *f = flight_new();

	say_process(f, 10, "found", 1);
	say_fork(f, 20, 20, "parent", 100);
	say_exec(f, 20, "made", 110);
	say_name(f, 20, 20, "renamed", 120);
	say_fork(f, 21, 20, "worker", 130);
	say_fork(f, 30, 30, "before", 140);
	say_exec(f, 40, "lives", 150);
	say_exit(f, 30, 30, 199);
	say_name(f, 21, 20, "later", 210); /* in the chunk, which has its own record */
	say_fork(f, 31, 31, "within", 220);
	say_exit(f, 21, 20, 230);
	say_exit(f, 20, 20, 240);
	say_exit(f, 10, 10, 250);
	say_exit(f, 31, 31, 260);
	say_fork(f, 10, 10, "again", 270); /* another thread with this tid */
	say_exit(f, 10, 10, 280);
	write_from(f, 200);
	CHECK_STR(written.names, "21=worker 20:made 20=renamed 10:found 10=found ");
	write_from(f, 300);
	CHECK_STR(written.names, "");
	say_exit(f, 40, 40, 310);
	write_from(f, 305);
	CHECK_STR(written.names, "40:lives 40=lives ");
	flight_free(f);
}

/* So many records that half of them are dropped before the snapshot. */
TEST(names_are_left_of_what_was_dropped)
{
	struct flight *f = flight_new();
	union long_record other = {.slots = {0}};

	say_fork(f, 5, 5, "old", 10);
	for (u64 i = 0; i < 40000; i++)
		keep(f, &other, RECORD_fd, 9, 20 + i);
	say_exit(f, 5, 5, 50000);
	write_from(f, 45000);
	CHECK_STR(written.names, "5:old 5=old ");
	flight_free(f);
}

/* ---- records that come only once ---- */

static void wake(int i, u32 tid, u64 time_ns)
{
	wakers[i].tid = tid;
	wakers[i].time_ns = time_ns;
}

TEST(who_woke_somebody_in_the_chunk_has_a_name)
{
	struct flight *f = flight_new();

	say_name(f, 50, 50, "first", 100);
	say_name(f, 50, 50, "second", 110);
	say_name(f, 51, 51, "before it", 110);
	say_name(f, 52, 52, "nobody's", 110);
	say_fork(f, 53, 53, "in scope", 120);
	say_name(f, 54, 54, "had this number", 120);
	say_fork(f, 54, 54, "has it", 130);
	say_name(f, 50, 50, "later", 220); /* in the chunk, which has its own record */
	wake(0, 51, 199);
	wake(1, 50, 210);
	wake(2, 50, 230);
	wake(3, 54, 240);
	write_from(f, 200);
	CHECK_STR(written.names, "50=second ");
	wake(1, 50, 310);
	wake(2, 51, 320);
	write_from(f, 300);
	CHECK_STR(written.names, "50=later 51=before it ");
	for (u32 i = 0; i < 100000; i++) /* of many records the latest are kept */
		say_name(f, 1000 + i, 1000 + i, "one", 400 + i);
	wake(0, 100999, 200000);
	wake(1, 1000, 200000);
	wake(2, 50, 200000);
	write_from(f, 200000);
	CHECK_STR(written.names, "100999=one ");
	memset(wakers, 0, sizeof(wakers));
	flight_free(f);
}

static void say_fd(struct flight *f, s32 fd, struct file_ref file, const char *path, u64 time_ns)
{
	union {
		struct record_fd r;
		u8 slots[4 * RECORD_SLOT_BYTES];
	} out = {.slots = {0}};

	out.r.head = (struct record_head){
		.kind = RECORD_fd, .slots = 4, .time_ns = time_ns, .tid = 9, .pid = 9};
	out.r.fd = fd;
	out.r.from = -1;
	out.r.op = FD_open;
	out.r.file = file;
	out.r.path_len = (u16)strlen(path);
	memcpy(out.r.path, path, strlen(path));
	CHECK_EQ(flight_record(f, &life, &out.r.head), 0);
}

static void say_socket(struct flight *f, u64 key, u64 time_ns)
{
	union {
		struct record_socket r;
		u8 slots[4 * RECORD_SLOT_BYTES];
	} out = {.slots = {0}};

	out.r.head = (struct record_head){
		.kind = RECORD_socket, .slots = 4, .time_ns = time_ns, .tid = 9, .pid = 9};
	out.r.file.key = key;
	out.r.file.kind = FILE_KIND_tcp;
	CHECK_EQ(flight_record(f, &life, &out.r.head), 0);
}

TEST(files_of_slots_stay)
{
	const struct file_ref file = {.key = 1, .kind = FILE_KIND_regular};
	const struct file_ref other = {.key = 1, .dev = 5, .kind = FILE_KIND_regular};
	const struct file_ref tcp = {.key = 70, .kind = FILE_KIND_tcp};
	struct flight *f = flight_new();

	say_fd(f, -1, file, "/slot", 10);
	say_fd(f, -1, other, "/other", 10);
	say_fd(f, 3, file, "/descriptor", 10);
	say_fd(f, -1, tcp, "socket", 10);
	say_socket(f, 70, 10);
	say_socket(f, 71, 10);
	write_from(f, 1000);
	CHECK_STR(written.files, "9=/slot 9=/other 9=socket ");
	CHECK_EQ(written.sockets, 1);
	for (u32 i = 0; i < 50000; i++) /* when repeated, it is not lost, and takes no room */
		say_fd(f, -1, file, "/slot", 20 + i);
	for (u32 pid = 100; pid < 5000; pid++) /* these take room */
		keep_service(f, pid, pid);
	say_fd(f, -1, other, "/other", 60000);
	write_from(f, 100000);
	CHECK(strstr(written.files, "9=/other ") != NULL);
	CHECK(written.lost_services > 0);
	flight_free(f);
}

TEST_MAIN()
