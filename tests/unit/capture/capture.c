/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records a child for real: what it does is known to the last call.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "capture/capture.h"
#include "tests/unit/check.h"

#define SYS_COUNTED 110 /* getppid */
#define ROUNDS 20000

static struct error failure;

struct seen {
	struct capture *c;
	pid_t child; /* 0: all */
	u64 records[RECORD_KIND_MAX + 1];
	u64 counted, counted_elsewhere, begin_unknown, lost;
	u64 reads, reads_of_pipe;
	u64 switches, dead, wakings_by_task;
	u32 first_kind, first_is_child;
	u32 child_comm_ok;
	u64 newest, cut_ns, after_cut;
	u64 fd_named;
	char fd_name[64]; /* looked for */
	u64 fd_ops[8];
	struct record_socket sockets[2];
	struct record_bytes bytes[4];
	u64 with_context, faults, written;
	u64 filter_rest;       /* what stands behind the struct in its slot */
	char fd_names[64][64]; /* of the fds of the child, as they are now */
};

/* What this program publishes as a thread context when it is the command. */
static const struct otel_record published = {
	{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, {9, 8, 7, 6, 5, 4, 3, 2}, 1, 1, 0};
static __thread const struct otel_record *volatile context_variable;

static bool is_published(const struct context *ctx)
{
	return memcmp(ctx, &published, sizeof(*ctx)) == 0;
}

static void see_syscall(struct seen *s, const struct record_syscall *r)
{
	if (r->nr == SYS_COUNTED && r->head.slots == 3)
		s->with_context += is_published(&r->ctx);

	bool mine = !s->child || r->head.pid == (u32)s->child;

	if (r->nr == SYS_COUNTED) {
		s->counted += mine;
		s->counted_elsewhere += !mine;
	}
	if (r->nr == SYS_read && mine) {
		s->reads++;
		if (r->head.slots > 1 && r->file.kind == FILE_KIND_pipe)
			s->reads_of_pipe++;
	}
	s->begin_unknown += (r->flags & SYSCALL_BEGIN_UNKNOWN) != 0;
}

static void see_fd(struct seen *s, const struct record_fd *r)
{
	s->fd_ops[r->op & 7]++;
	if (r->fd < 0 || r->fd >= 64)
		return;
	if (r->op == FD_open || r->op == FD_dup || r->op == FD_snapshot)
		snprintf(s->fd_names[r->fd], 64, "%.*s", r->path_len, r->path);
	if (r->op == FD_close)
		s->fd_names[r->fd][0] = '\0';
}

static int see(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	struct seen *s = arg;

	if (r->kind > RECORD_KIND_MAX || r->kind == 0 || r->slots == 0)
		return -EBADMSG;
	s->records[r->kind]++;
	if (!s->first_kind) {
		s->first_kind = r->kind;
		s->first_is_child = r->tid == (u32)capture_child(s->c);
	}
	if (s->cut_ns && r->time_ns > s->cut_ns)
		s->after_cut++;
	if (r->time_ns > s->newest)
		s->newest = r->time_ns;
	if (r->kind == RECORD_syscall)
		see_syscall(s, (const void *)r);
	if (r->kind == RECORD_switch) {
		const struct record_switch *w = (const void *)r;

		s->switches++;
		s->dead += w->state == LEAVE_dead && r->pid == (u32)capture_child(s->c);
	}
	if (r->kind == RECORD_waking)
		s->wakings_by_task += ((const struct record_waking *)(const void *)r)->context ==
				      WAKE_task;
	if (r->kind == RECORD_fault && s->counted == 1) {
		const struct record_fault *f = (const void *)r;

		s->faults += (f->flags & FAULT_USER) && (f->flags & FAULT_WRITE) &&
			     !(f->flags & FAULT_SOFT_END) && f->duration_ns > 0 && f->address;
	}
	if (r->kind == RECORD_socket)
		s->sockets[s->records[RECORD_socket] & 1] =
			*(const struct record_socket *)(const void *)r;
	if (r->kind == RECORD_bytes && s->records[RECORD_bytes] <= 4)
		memcpy(&s->bytes[s->records[RECORD_bytes] - 1], r, RECORD_SLOT_BYTES);
	if (r->kind == RECORD_block) {
		const struct record_block *b = (const void *)r;

		s->written += (b->flags & BLOCK_WRITE) && b->bytes == 4096 && b->duration_ns &&
			      b->dev && r->tid == (u32)capture_child(s->c);
	}
	for (size_t i = sizeof(struct record_filter);
	     r->kind == RECORD_filter && i < RECORD_SLOT_BYTES; i++)
		s->filter_rest += ((const u8 *)r)[i];
	if (r->kind == RECORD_fd)
		see_fd(s, (const void *)r);
	if (r->kind == RECORD_fd && s->fd_name[0]) {
		const struct record_fd *f = (const void *)r;

		if (f->path_len == strlen(s->fd_name) &&
		    memcmp(f->path, s->fd_name, f->path_len) == 0)
			s->fd_named++;
	}
	return 0;
}

static int see_lost(void *arg, const struct capture_stream *stream, const struct record_lost *lost)
{
	struct seen *s = arg;

	if (lost->why == LOST_buffer)
		s->lost += lost->count;
	return 0;
}

static unsigned int program_count(void)
{
	unsigned int id = 0, n = 0;

	while (bpf_prog_get_next_id(id, &id) == 0)
		n++;
	return n;
}

static void need_root(void)
{
	if (geteuid() != 0)
		SKIP("loading kernel programs needs root");
}

#define CHECK_OK(call)                                                                             \
	do {                                                                                       \
		int check_err_ = (call);                                                           \
		if (check_err_ < 0)                                                                \
			CHECK_FAIL("%s: %d %s", #call, check_err_, failure.text);                  \
	} while (0)

/* Programs are freed after a grace period. */
static void check_nothing_left(unsigned int before)
{
	for (int i = 0; i < 200 && program_count() > before; i++)
		usleep(10000);
	CHECK(program_count() <= before);
}

static int truth_files(void)
{
	int fds[2];

	dup2(open("/usr/../etc//passwd", O_RDONLY), 40);
	dup2(open("/dev/null", O_WRONLY), 41);
	dup2(open("/proc/self/status", O_RDONLY), 42);
	dup2(eventfd(0, 0), 43);
	dup2(open("/", O_RDONLY), 44);
	dup2(socket(AF_UNIX, SOCK_STREAM, 0), 45);
	if (pipe(fds))
		return 1;
	dup2(fds[0], 46);
	dup2(open("/dev/shm/fathom-test-removed", O_CREAT | O_RDWR, 0600), 47);
	unlink("/dev/shm/fathom-test-removed");
	for (int fd = 3; fd < 20; fd++)
		close(fd);
	for (int fd = 40; fd < 48; fd++) {
		char path[64], name[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, name, 63) < 0)
			return 1;
		dprintf(1, "%s\n", name);
	}
	return 0;
}

/* A connection to itself on the loopback: 200 bytes go in two messages and come in two others. */
static int truth_socket(void)
{
	char bytes[150] = {0};
	int other;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (void *)&at, len) || listen(listener, 1) ||
	    getsockname(listener, (void *)&at, &len) || connect(one, (void *)&at, len))
		return 1;
	other = accept(listener, NULL, NULL);
	if (send(one, bytes, 100, 0) != 100 || send(one, bytes, 100, 0) != 100)
		return 1;
	return recv(other, bytes, 10, MSG_PEEK) != 10 ||
	       recv(other, bytes, 150, MSG_WAITALL) != 150 || recv(other, bytes, 150, 0) != 50;
}

static int truth_disk(void)
{
	char path[] = "/tmp/fathom-disk-XXXXXX";
	int fd = mkstemp(path);
	void *block = aligned_alloc(4096, 4096);

	unlink(path);
	memset(block, 1, 4096);
	if (fallocate(fd, 0, 0, 1 << 20) || fcntl(fd, F_SETFL, O_DIRECT))
		return 77;
	for (int i = 0; i < 16; i++) {
		if (pwrite(fd, block, 4096, i * 65536) != 4096)
			return 77;
	}
	return 0;
}

/* socketpair() as 32-bit programs call it. */
static int truth_pair_32(void)
{
#ifdef __x86_64__
	int *pair = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long result = 360;

	__asm__ volatile("int $0x80"
			 : "+a"(result)
			 : "b"((long)AF_UNIX), "c"((long)SOCK_STREAM), "d"(0L), "S"(pair)
			 : "r8", "r9", "r10", "r11", "memory");
	return (int)result ? 77 : 0;
#else
	return 77;
#endif
}

/* A call that is refused before the kernel looks at its path, which is not in memory. */
static int truth_path_unread(void)
{
	char name[] = "/tmp/fathom-capture-XXXXXX";
	int fd = mkstemp(name);
	const char *path;

	if (fd < 0 || unlink(name) || pwrite(fd, "/etc/passwd", 12, 0) != 12)
		return 1;
	path = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	return path == MAP_FAILED || syscall(SYS_openat, AT_FDCWD, path, __O_TMPFILE, 0) != -1 ||
	       errno != EINVAL;
}

/* What the recorded command is: this program again, with a word. */
static int truth(const char *what)
{
	int fds[2];
	char byte;

	if (strcmp(what, "calls") == 0) {
		for (int i = 0; i < ROUNDS; i++)
			syscall(SYS_getppid);
		return 7;
	}
	if (strcmp(what, "ping") == 0) {
		if (pipe(fds))
			return 1;
		if (fork() == 0) {
			for (int i = 0; i < 100; i++) {
				usleep(500);
				if (write(fds[1], "x", 1) != 1)
					_exit(1);
			}
			_exit(0);
		}
		for (int i = 0; i < 100; i++) {
			if (read(fds[0], &byte, 1) != 1)
				return 1;
		}
		wait(NULL);
		return 0;
	}
	if (strcmp(what, "faults") == 0) {
		char *memory = mmap(NULL, 500 * 4096, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		madvise(memory, 500 * 4096, MADV_NOHUGEPAGE);
		syscall(SYS_getppid); /* between: only the faults that are wanted */
		for (int i = 0; i < 500; i++)
			memory[i * 4096] = 1;
		syscall(SYS_getppid);
		return 0;
	}
	if (strcmp(what, "socket") == 0)
		return truth_socket();
	if (strcmp(what, "disk") == 0)
		return truth_disk();
	if (strcmp(what, "context") == 0) {
		if (read(0, &byte, 1) != 1)
			return 1;
		syscall(SYS_getppid);
		context_variable = &published;
		for (int i = 0; i < 100; i++)
			syscall(SYS_getppid);
		context_variable = NULL;
		syscall(SYS_getppid);
		return 0;
	}
	if (strcmp(what, "files") == 0)
		return truth_files();
	if (strcmp(what, "pair-32") == 0)
		return truth_pair_32();
	if (strcmp(what, "path-unread") == 0)
		return truth_path_unread();
	return 3;
}

static void run_command(struct seen *s, char *const argv[], int *status)
{
	struct capture_options options = {0};
	struct capture_sink sink = {s, see, see_lost};
	u64 cut;

	failure = (struct error){0};
	CHECK_OK(capture_open(&options, &s->c, &failure));
	CHECK_OK(capture_spawn(s->c, argv, &failure));
	CHECK_OK(capture_start(s->c, 0, &sink, &failure));
	CHECK_OK(capture_release(s->c, &failure));
	while (waitpid(capture_child(s->c), status, WNOHANG) == 0) {
		CHECK_OK(capture_poll(s->c, &sink));
		usleep(1000);
	}
	capture_stop(s->c);
	CHECK_EQ(capture_cut(s->c, &sink, &cut), 0);
}

TEST(command_is_recorded_exactly)
{
	char *argv[] = {"/proc/self/exe", "--truth", "calls", NULL};
	unsigned int before;
	struct seen s = {0};
	int status;

	need_root();
	before = program_count();
	run_command(&s, argv, &status);
	CHECK_EQ(WEXITSTATUS(status), 7);
	CHECK_EQ(s.first_kind, RECORD_exec);
	CHECK(s.first_is_child);
	CHECK_EQ(s.records[RECORD_exec], 1);
	CHECK_EQ(s.records[RECORD_fork], 0);
	CHECK_EQ(s.records[RECORD_exit], 1);
	CHECK_EQ(s.counted, ROUNDS);
	CHECK_EQ(s.begin_unknown, 0);
	CHECK_EQ(s.lost, 0);
	CHECK_EQ(s.dead, 1);
	CHECK(s.switches > 0);
	capture_close(s.c);
	check_nothing_left(before);
}

TEST(children_are_in_scope)
{
	char *argv[] = {"/proc/self/exe", "--truth", "ping", NULL};
	struct seen s = {0};
	int status;

	need_root();
	run_command(&s, argv, &status);
	s.child = capture_child(s.c);
	CHECK_EQ(WEXITSTATUS(status), 0);
	CHECK_EQ(s.records[RECORD_fork], 1);
	CHECK_EQ(s.records[RECORD_exit], 2);
	CHECK(s.reads_of_pipe >= 100);
	CHECK(s.wakings_by_task >= 90);
	CHECK(s.records[RECORD_waking] >= 190);
	capture_close(s.c);
}

/* Each name is what readlink says of /proc/PID/fd/N, which the command prints. */
TEST(files_have_their_names)
{
	char *argv[] = {"/proc/self/exe", "--truth", "files", NULL};
	char path[] = "/tmp/fathom-capture-XXXXXX", line[128];
	struct seen s = {0};
	int status, saved, fd;
	FILE *out;

	need_root();
	fd = mkstemp(path);
	CHECK(fd >= 0);
	saved = dup(1);
	fflush(stdout);
	dup2(fd, 1);
	run_command(&s, argv, &status);
	dup2(saved, 1);
	out = fdopen(fd, "r");
	rewind(out);
	CHECK_EQ(status, 0);
	for (int i = 40; i < 48; i++) {
		CHECK(fgets(line, sizeof(line), out) != NULL);
		line[strcspn(line, "\n")] = '\0';
		if (i == 42) /* /proc/self is the process */
			CHECK(strncmp(s.fd_names[i], "/proc/", 6) == 0);
		if (i == 47) /* it was there when it was opened */
			line[strcspn(line, " ")] = '\0';
		CHECK_STR(s.fd_names[i], line);
	}
	for (int i = 3; i < 20; i++)
		CHECK_STR(s.fd_names[i], "");
	fclose(out);
	unlink(path);
	CHECK_EQ(s.lost, 0);
	capture_close(s.c);
}

TEST(page_faults_are_recorded)
{
	char *argv[] = {"/proc/self/exe", "--truth", "faults", NULL};
	struct seen s = {0};
	int status;

	need_root();
	run_command(&s, argv, &status);
	CHECK_EQ(status, 0);
	CHECK_EQ(s.counted, 2);
	CHECK(s.faults >= 500);
	CHECK(s.faults < 520);
	capture_close(s.c);
}

/* The call with this number is refused from now on. */
static int call_refuse(u32 nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool feature_is_on(const struct capture *c, const char *name)
{
	size_t count;
	const struct capture_feature *features = capture_features(c, &count);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(features[i].name, name) == 0)
			return features[i].on;
	}
	return false;
}

/* A fault that is not seen to end would last until the next call. */
TEST(page_faults_without_their_ends_are_not_recorded)
{
	char *argv[] = {"/proc/self/exe", "--truth", "faults", NULL};
	struct seen s = {0};
	int status;
	pid_t pid;

	need_root();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (call_refuse(SYS_perf_event_open))
			_exit(77);
		run_command(&s, argv, &status);
		CHECK_EQ(status, 0);
		CHECK_EQ(s.counted, 2);
		CHECK_EQ(s.records[RECORD_fault], 0);
		CHECK(!feature_is_on(s.c, "page_fault_user"));
		CHECK(!feature_is_on(s.c, "signal_deliver"));
		capture_close(s.c);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no calls can be refused here");
	CHECK_EQ(status, 0);
}

TEST(block_io_belongs_to_who_asked_for_it)
{
	char *argv[] = {"/proc/self/exe", "--truth", "disk", NULL};
	struct seen s = {0};
	int status;

	need_root();
	run_command(&s, argv, &status);
	capture_close(s.c);
	if (WEXITSTATUS(status) == 77 || s.records[RECORD_block] == 0)
		SKIP("/tmp lies on no disk that takes direct I/O");
	CHECK_EQ(status, 0);
	CHECK_EQ(s.written, 16);
}

TEST(flight_recorder_keeps_the_latest)
{
	char *argv[] = {"/proc/self/exe", "--truth", "calls", NULL};
	struct capture_options options = {.flight = true, .buffer_bytes = 1 << 19};
	struct seen s = {0};
	struct capture_sink sink = {&s, see, see_lost};
	u64 cut, first;
	int status;

	need_root();
	failure = (struct error){0};
	CHECK_OK(capture_open(&options, &s.c, &failure));
	CHECK(capture_memory_bytes(s.c) < 8 << 20);
	CHECK_OK(capture_spawn(s.c, argv, &failure));
	CHECK_OK(capture_start(s.c, 0, &sink, &failure));
	CHECK_OK(capture_release(s.c, &failure));
	CHECK_EQ(waitpid(capture_child(s.c), &status, 0), capture_child(s.c));
	CHECK_OK(capture_flight(s.c, &sink, &cut));
	first = s.counted;
	CHECK(first > 100 && first < ROUNDS);
	CHECK_EQ(s.dead, 1);
	CHECK_EQ(s.lost, 0);
	CHECK_OK(capture_flight(s.c, &sink, &cut));
	CHECK_EQ(s.counted, 2 * first);
	capture_close(s.c);
}

TEST(sockets_have_their_addresses)
{
	char *argv[] = {"/proc/self/exe", "--truth", "socket", NULL};
	u8 loopback[8] = {0, 0, 0xff, 0xff, 127, 0, 0, 1};
	struct record_socket *a, *b;
	struct seen s = {0};
	int status;

	need_root();
	run_command(&s, argv, &status);
	capture_close(s.c);
	CHECK_EQ(status, 0);
	CHECK_EQ(s.records[RECORD_socket], 2);
	a = &s.sockets[0];
	b = &s.sockets[1];
	CHECK_EQ(a->file.kind, FILE_KIND_tcp);
	CHECK(a->file.flags & FILE_PEER_ON_HOST);
	CHECK(a->file.key && a->file.key != b->file.key);
	CHECK(a->local_port && a->local_port == b->remote_port);
	CHECK(a->remote_port && a->remote_port == b->local_port);
	CHECK_MEM(&a->local_lo, loopback, 8);
	CHECK_MEM(&b->remote_lo, loopback, 8);
	CHECK(a->netns && a->netns == b->netns);
	CHECK_EQ(a->peer, b->file.key); /* the end that was told last knows the other */
	CHECK_EQ(b->peer, 0);
}

TEST(both_ends_name_the_same_bytes)
{
	static const u64 expected[4][2] = {{0, 100}, {100, 100}, {0, 150}, {150, 50}};
	char *argv[] = {"/proc/self/exe", "--truth", "socket", NULL};
	struct seen s = {0};
	int status;

	need_root();
	run_command(&s, argv, &status);
	capture_close(s.c);
	CHECK_EQ(status, 0);
	CHECK_EQ(s.records[RECORD_bytes], 4);
	for (int i = 0; i < 4; i++) {
		const struct record_bytes *b = &s.bytes[i];

		CHECK_EQ(b->head.slots, 1); /* no span is active */
		CHECK_EQ(b->direction, i < 2 ? BYTES_SENT : BYTES_RECEIVED);
		CHECK_EQ(b->flags, 0);
		CHECK_EQ(b->from, expected[i][0]);
		CHECK_EQ(b->length, expected[i][1]);
		CHECK_EQ(b->file.key, s.sockets[i < 2].file.key);
		CHECK_EQ(b->file.kind, FILE_KIND_tcp);
	}
}

TEST(a_32_bit_pair_has_its_addresses)
{
	char *argv[] = {"/proc/self/exe", "--truth", "pair-32", NULL};
	struct seen s = {0};
	int status;

	need_root();
	run_command(&s, argv, &status);
	capture_close(s.c);
	if (WIFSIGNALED(status) || WEXITSTATUS(status) == 77)
		SKIP("this kernel has no 32-bit calls");
	CHECK_EQ(status, 0);
	CHECK_EQ(s.records[RECORD_socket], 2);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(s.sockets[i].family, AF_UNIX);
		CHECK(s.sockets[i].peer && s.sockets[i].peer == s.sockets[!i].file.key);
	}
}

TEST(a_path_that_is_not_in_memory_is_counted)
{
	char *argv[] = {"/proc/self/exe", "--truth", "path-unread", NULL};
	struct capture_counts counts;
	struct seen s = {0};
	int status;

	need_root();
	run_command(&s, argv, &status);
	capture_counts(s.c, &counts);
	capture_close(s.c);
	CHECK_EQ(status, 0);
	CHECK_EQ(counts.incomplete, 1);
}

TEST(calls_carry_the_active_span)
{
	char *argv[] = {"/proc/self/exe", "--truth", "context", NULL};
	struct context_location location = {.known = 1};
	struct capture_options options = {0};
	struct seen s = {0};
	struct capture_sink sink = {&s, see, see_lost};
	int in[2], saved, status;
	u64 cut;

	need_root();
	location.tp_offset = (char *)&context_variable - (char *)__builtin_thread_pointer();
	failure = (struct error){0};
	CHECK_EQ(pipe2(in, O_CLOEXEC), 0);
	saved = dup(0);
	dup2(in[0], 0);
	CHECK_OK(capture_open(&options, &s.c, &failure));
	CHECK_OK(capture_spawn(s.c, argv, &failure));
	dup2(saved, 0);
	CHECK_OK(capture_start(s.c, 0, &sink, &failure));
	CHECK_OK(capture_release(s.c, &failure));
	CHECK_OK(capture_context_set(s.c, capture_child(s.c), &location));
	CHECK_EQ(write(in[1], "x", 1), 1);
	CHECK_EQ(waitpid(capture_child(s.c), &status, 0), capture_child(s.c));
	capture_stop(s.c);
	CHECK_EQ(capture_cut(s.c, &sink, &cut), 0);
	CHECK_EQ(s.counted, 102);
	CHECK_EQ(s.with_context, 100);
	capture_close(s.c);
	close(in[0]);
	close(in[1]);
	close(saved);
}

TEST(missing_command_is_told)
{
	char *argv[] = {"/does/not/exist", NULL};
	struct capture_options options = {0};
	struct seen s = {0};
	struct capture_sink sink = {&s, see, see_lost};

	need_root();
	failure = (struct error){0};
	CHECK_OK(capture_open(&options, &s.c, &failure));
	CHECK_OK(capture_spawn(s.c, argv, &failure));
	CHECK_OK(capture_start(s.c, 0, &sink, &failure));
	CHECK_EQ(capture_release(s.c, &failure), -ENOENT);
	CHECK_EQ(capture_child(s.c), 0);
	capture_close(s.c);
}

/* Somebody else ends it while it waits: that is its end, and not ours. */
TEST(a_command_that_is_killed_before_it_begins)
{
	char *argv[] = {"/bin/true", NULL};
	struct capture_options options = {0};
	struct seen s = {0};
	struct capture_sink sink = {&s, see, see_lost};
	siginfo_t ended;
	int status;

	need_root();
	failure = (struct error){0};
	CHECK_OK(capture_open(&options, &s.c, &failure));
	CHECK_OK(capture_spawn(s.c, argv, &failure));
	CHECK_OK(capture_start(s.c, 0, &sink, &failure));
	CHECK_EQ(kill(capture_child(s.c), SIGKILL), 0);
	CHECK_EQ(waitid(P_PID, (id_t)capture_child(s.c), &ended, WEXITED | WNOWAIT), 0);
	CHECK_EQ(capture_release(s.c, &failure), 0);
	CHECK_EQ(waitpid(capture_child(s.c), &status, 0), capture_child(s.c));
	CHECK(WIFSIGNALED(status));
	capture_close(s.c);
}

/* What is read beyond a struct, up to its whole slots, is zero. */
TEST(records_have_whole_slots)
{
	u8 wanted[CAPTURE_SYSCALLS] = {1};
	char *argv[] = {"/bin/true", NULL};
	struct capture_options options = {.syscalls = wanted};
	struct seen s = {0};
	struct capture_sink sink = {&s, see, see_lost};
	u64 cut;

	need_root();
	failure = (struct error){0};
	CHECK_OK(capture_open(&options, &s.c, &failure));
	CHECK_OK(capture_spawn(s.c, argv, &failure));
	CHECK_OK(capture_start(s.c, 0, &sink, &failure));
	CHECK_OK(capture_cut(s.c, &sink, &cut));
	CHECK_EQ(s.records[RECORD_filter], 1);
	CHECK_EQ(s.filter_rest, 0);
	capture_close(s.c);
}

/* The host: others are seen, this program is not, names are there. */
TEST(host_is_recorded_without_ourselves)
{
	struct capture_options options = {.host = true};
	struct seen s = {0};
	struct capture_sink sink = {&s, see, see_lost};
	int go[2], fd, status;
	pid_t child;
	u64 cut;

	need_root();
	CHECK_EQ(pipe(go), 0);
	child = fork();
	if (child == 0) {
		char byte;
		fd = open("/etc/passwd", O_RDONLY);
		close(go[1]);
		if (fd < 0 || read(go[0], &byte, 1) < 0)
			_exit(1);
		_exit(truth("calls"));
	}
	close(go[0]);
	usleep(20000);
	strcpy(s.fd_name, "/etc/passwd");
	failure = (struct error){0};
	CHECK_OK(capture_open(&options, &s.c, &failure));
	s.child = child;
	CHECK_OK(capture_start(s.c, 0, &sink, &failure));
	CHECK(s.records[RECORD_process] > 1);
	CHECK(s.records[RECORD_thread] > s.records[RECORD_process]);
	CHECK(s.fd_named >= 1);
	CHECK(access("/sys/fs/cgroup/unified", F_OK) != 0 || s.records[RECORD_cgroup] > 0);
	for (int i = 0; i < 1000; i++)
		syscall(SYS_getppid);
	close(go[1]);
	while (waitpid(child, &status, WNOHANG) == 0) {
		CHECK_OK(capture_poll(s.c, &sink));
		s.cut_ns = 0;
		CHECK_EQ(capture_cut(s.c, &sink, &cut), 0);
		CHECK(s.newest <= cut);
		usleep(1000);
	}
	capture_stop(s.c);
	CHECK_EQ(capture_cut(s.c, &sink, &cut), 0);
	CHECK_EQ(s.counted, ROUNDS);
	CHECK_EQ(s.lost, 0);
	CHECK(s.records[RECORD_waking] > 0);
	CHECK_EQ(s.dead, 0);
	capture_close(s.c);
}

struct clocks {
	struct record_clock last;
	u64 count;
};

static int clock_see(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	struct clocks *seen = arg;

	(void)stream;
	if (r->kind == RECORD_clock) {
		memcpy(&seen->last, r, sizeof(seen->last));
		seen->count++;
	}
	return 0;
}

/* The clock is set to what it shows. */
TEST(a_step_of_the_clock_is_recorded)
{
	struct capture_options options = {.host = false};
	struct clocks seen = {0};
	struct capture_sink sink = {&seen, clock_see, NULL};
	struct timespec real, now;
	struct capture *c;

	need_root();
	failure = (struct error){0};
	CHECK_OK(capture_open(&options, &c, &failure));
	CHECK_OK(capture_start(c, 0, &sink, &failure));
	CHECK_OK(capture_poll(c, &sink));
	if (clock_gettime(CLOCK_REALTIME, &real) || clock_settime(CLOCK_REALTIME, &real)) {
		capture_close(c);
		SKIP("the clock cannot be set here");
	}
	for (int i = 0; i < 1000 && !seen.count; i++) {
		CHECK_OK(capture_poll(c, &sink));
		usleep(1000);
	}
	CHECK(seen.count >= 1);
	CHECK_EQ(seen.last.reason, 1);
	CHECK(seen.last.boottime_ns >= seen.last.head.time_ns);
	clock_gettime(CLOCK_REALTIME, &now);
	CHECK(seen.last.realtime_ns <= (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec);
	CHECK(seen.last.realtime_ns >= (u64)real.tv_sec * 1000000000u + (u64)real.tv_nsec);
	capture_close(c);
}

/* A process that runs already, named by its pid. */
TEST(process_is_recorded_by_pid)
{
	struct seen s = {0};
	struct capture_sink sink = {&s, see, see_lost};
	struct capture_options options = {.pid_count = 1};
	int go[2], status;
	pid_t child;
	u64 cut;

	need_root();
	CHECK_EQ(pipe(go), 0);
	child = fork();
	if (child == 0) {
		char byte;

		close(go[1]);
		if (read(go[0], &byte, 1) < 0)
			_exit(1);
		_exit(truth("calls"));
	}
	close(go[0]);
	usleep(20000);
	options.pids = &child;
	s.child = child;
	failure = (struct error){0};
	CHECK_OK(capture_open(&options, &s.c, &failure));
	CHECK_OK(capture_start(s.c, 0, &sink, &failure));
	CHECK_EQ(s.records[RECORD_process], 1);
	CHECK_EQ(s.records[RECORD_thread], 1);
	close(go[1]);
	while (waitpid(child, &status, WNOHANG) == 0) {
		CHECK_OK(capture_poll(s.c, &sink));
		usleep(1000);
	}
	capture_stop(s.c);
	CHECK_EQ(capture_cut(s.c, &sink, &cut), 0);
	CHECK_EQ(s.counted, ROUNDS);
	CHECK_EQ(s.counted_elsewhere, 0);
	CHECK_EQ(s.reads_of_pipe, 1);
	CHECK_EQ(s.records[RECORD_exit], 1);
	capture_close(s.c);
}

/* Calls without end; it counts them in memory that it shares with us. */
static pid_t storm_start(const u64 *calls, volatile u64 *stop)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!*stop) {
		syscall(SYS_getppid);
		__atomic_fetch_add((u64 *)calls, 1, __ATOMIC_RELAXED);
	}
	_exit(0);
}

struct stall {
	const u64 *calls;
	bool done;
	u64 cut_ns;		 /* 0: it is not there yet */
	u64 early;		 /* losses told until the cut was there */
	u64 late, late_begin_ns; /* and after it */
};

/* Until it has made so many more. */
static void storm_wait(const u64 *calls, u64 more)
{
	u64 from = __atomic_load_n(calls, __ATOMIC_RELAXED);

	for (int i = 0; i < 20000 && __atomic_load_n(calls, __ATOMIC_RELAXED) < from + more; i++)
		usleep(500);
}

static int stall_see(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	struct stall *s = arg;

	(void)r;
	if (stream->kind != CAPTURE_STREAM_CPU || s->done)
		return 0;
	s->done = true;
	storm_wait(s->calls, 40000); /* more than the rings take, while they are emptied */
	return 0;
}

static int stall_lost(void *arg, const struct capture_stream *stream,
		      const struct record_lost *lost)
{
	struct stall *s = arg;

	(void)stream;
	if (lost->why != LOST_buffer)
		return 0;
	if (!s->cut_ns) {
		s->early += lost->count;
		return 0;
	}
	s->late += lost->count;
	if (!s->late_begin_ns || lost->begin_ns < s->late_begin_ns)
		s->late_begin_ns = lost->begin_ns;
	return 0;
}

/* What does not fit while a cut empties the rings is lost after it, and in doubt from it on. */
TEST(losses_during_a_cut_come_after_it)
{
	u64 *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct capture_options options = {.pid_count = 1, .buffer_bytes = 1 << 20};
	struct stall s = {.calls = shared, .done = true};
	struct capture_sink sink = {&s, stall_see, stall_lost};
	struct capture *c;
	u64 cut, early;
	pid_t pid;

	need_root();
	pid = storm_start(&shared[0], &shared[1]);
	options.pids = &pid;
	failure = (struct error){0};
	CHECK_OK(capture_open(&options, &c, &failure));
	CHECK_OK(capture_start(c, 0, &sink, &failure));
	CHECK_OK(capture_poll(c, &sink));
	early = s.early;
	s.done = false;
	storm_wait(shared, 1); /* there is something in the rings */
	CHECK_OK(capture_cut(c, &sink, &cut));
	CHECK(s.done);
	early = s.early - early;
	s.cut_ns = cut;
	CHECK_OK(capture_poll(c, &sink));
	shared[1] = 1;
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK(s.late > 10000);
	CHECK(s.late > early);
	CHECK(s.late_begin_ns <= cut);
	capture_close(c);
	munmap(shared, 4096);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--truth") == 0)
		return truth(argv[2]);
	return check_main(argc, argv);
}
