/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child has its parent's pid: the first process of a pid namespace makes another one, and in
 * that the first process again. Nothing of what the parent set up is taken for the child's.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "unit/lib/listener.h"

#define CANNOT 125 /* exit status: no such namespace is to be had here */

static struct listener l;

static bool is_mapped(const char *name)
{
	FILE *maps = fopen("/proc/thread-self/maps", "re");
	char line[512];
	bool found = false;

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, name) != NULL;
	if (maps)
		fclose(maps);
	return found;
}

/* In the inner one. `s` is a span of its parent. The exit status. */
static int inner_run(struct fathom_span *s)
{
	struct listener mine = {0};
	struct fathom_span span;

	if (getpid() != 1)
		return 1;
	fathom_span_end(s); /* does nothing */
	span = fathom_span_begin("inner");
	if (span.flags == 0 || memcmp(span.trace_id, s->trace_id, 16) == 0)
		return 2;
	fathom_span_end(&span);
	if (fathom_resource_set("place", "inner") != 0)
		return 3;
	if (listener_find(&mine.ring) != 1 || mine.ring == l.ring || mine.ring->pid != 1)
		return 4;
	mine.kept = calloc(LISTENER_KEEPS, sizeof(*mine.kept));
	app_ring_listen(mine.ring, 3, listener_now() + 60000000000ull);
	listener_drain(&mine);
	mine.count = 0;
	span = fathom_span_begin("inner");
	fathom_span_end(&span);
	listener_drain(&mine);
	if (mine.count != 3 || mine.damaged || mine.kept[0].head.kind != RECORD_service ||
	    mine.kept[1].head.pid != 1)
		return 5;
	return is_mapped("OTEL_CTX") ? 0 : 6; /* and says who it is */
}

static pid_t fork_unshared(void)
{
	return unshare(CLONE_NEWPID) < 0 ? -1 : fork();
}

static pid_t fork_by_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_NEWPID, 0, 0, 0, 0);
}

/* In the outer one: the exit status, that of the inner one if that is not 0. */
static int outer_run(pid_t (*fork_call)(void))
{
	struct fathom_span s, kept;
	int status = -1;
	pid_t pid;

	if (getpid() != 1)
		return 20;
	(void)fathom_listening();
	listener_start(&l);
	s = kept = fathom_span_begin("outer");
	pid = fork_call();
	if (pid < 0)
		return CANNOT;
	if (pid == 0)
		_exit(inner_run(&s));
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 21; /* killed */
	if (WEXITSTATUS(status))
		return WEXITSTATUS(status);
	if (memcmp(fathom_span_current().span_id, kept.span_id, 8) != 0)
		return 22;
	fathom_span_end(&s);
	listener_stop(&l);
	return listener_count(&l, RECORD_span_begin) == 1 &&
			       listener_count(&l, RECORD_span_end) == 1 && !l.damaged
		       ? 0
		       : 23;
}

/* Whoever is root has the namespaces, others may have them inside one of users. */
static int namespaces_make(void)
{
	if (geteuid() == 0)
		return unshare(CLONE_NEWPID);
	return unshare(CLONE_NEWUSER | CLONE_NEWPID);
}

static void nest(pid_t (*fork_call)(void))
{
	const char *preload = getenv("LD_PRELOAD");
	int status = -1;
	pid_t pid, outer;

	if (preload && strstr(preload, "vgpreload"))
		SKIP("at each exit valgrind looks for leaks in the whole ring, for 20 s");
	pid = fork();
	if (pid == 0) {
		if (namespaces_make() < 0)
			_exit(CANNOT);
		outer = fork();
		if (outer == 0)
			_exit(outer_run(fork_call));
		if (outer < 0 || waitpid(outer, &status, 0) != outer || !WIFEXITED(status))
			_exit(24);
		_exit(WEXITSTATUS(status));
	}
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == CANNOT)
		SKIP("no pid namespaces here");
	CHECK_EQ(WEXITSTATUS(status), 0);
}

TEST(a_child_with_its_parents_pid)
{
	nest(fork_unshared);
}

TEST(one_forked_behind_our_back)
{
	nest(fork_by_clone);
}

TEST_MAIN()
