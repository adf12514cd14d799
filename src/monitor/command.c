/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "monitor/action.h"

#define LOOK_MS 20
#define SAID_BYTES 4096

/* The first bytes that a command wrote to standard error. */
struct said {
	char text[SAID_BYTES];
	size_t bytes;
};

/* A file with the payload, which is read from its begin. */
static int input_make(const char *payload)
{
	size_t bytes = strlen(payload);
	int fd = memfd_create("fathom-monitor", MFD_CLOEXEC);

	if (fd >= 0 && (write(fd, payload, bytes) != (ssize_t)bytes || lseek(fd, 0, SEEK_SET))) {
		close(fd);
		return -EIO;
	}
	return fd < 0 ? -errno : fd;
}

static int actions_make(posix_spawn_file_actions_t *actions, int in, int err)
{
	int failed = posix_spawn_file_actions_init(actions);

	if (failed)
		return -failed;
	failed = posix_spawn_file_actions_adddup2(actions, in, 0);
	failed = failed ? failed
			: posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
	failed = failed ? failed : posix_spawn_file_actions_adddup2(actions, err, 2);
	failed = failed ? failed : posix_spawn_file_actions_addclosefrom_np(actions, 3);
	failed = failed ? failed : posix_spawn_file_actions_addchdir_np(actions, "/");
	if (failed)
		posix_spawn_file_actions_destroy(actions);
	return -failed;
}

/* Signals as a program finds them, in a process group of its own. */
static int attributes_make(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	int failed = posix_spawnattr_init(attributes);

	if (failed)
		return -failed;
	sigemptyset(&none);
	sigfillset(&all);
	sigdelset(&all, SIGKILL);
	sigdelset(&all, SIGSTOP);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &all);
	posix_spawnattr_setpgroup(attributes, 0);
	posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						     POSIX_SPAWN_SETPGROUP);
	return 0;
}

static int spawn(const struct acting *acting, int in, int err, pid_t *pid)
{
	char path[4096], monitor[MONITOR_NAME_BYTES + 32], state[48];
	char *environment[] = {path, monitor, state, NULL}, *words[ACTION_WORDS_MAX + 1];
	const char *from = getenv("PATH"), *word = acting->action->words;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	unsigned int i;
	int failed = actions_make(&actions, in, err);

	if (failed)
		return failed;
	failed = attributes_make(&attributes);
	snprintf(path, sizeof(path), "PATH=%s", from ? from : "/usr/local/bin:/usr/bin:/bin");
	snprintf(monitor, sizeof(monitor), "FATHOM_MONITOR=%s", acting->monitor);
	snprintf(state, sizeof(state), "FATHOM_STATE=%s", acting->state);
	for (i = 0; i < acting->action->words_count; i++, word += strlen(word) + 1)
		words[i] = (char *)word;
	words[i] = NULL;
	if (!failed) {
		failed = -posix_spawn(pid, words[0], &actions, &attributes, words, environment);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return failed;
}

static void said_read(struct said *said, int fd)
{
	char rest[512];
	ssize_t n;

	do {
		size_t room = sizeof(said->text) - 1 - said->bytes;

		n = room ? read(fd, said->text + said->bytes, room) : read(fd, rest, sizeof(rest));
		if (n > 0 && room)
			said->bytes += (size_t)n;
	} while (n > 0);
	said->text[said->bytes] = '\0';
}

/* Waits for the end. 0, -ETIMEDOUT or -ECANCELED. */
static int end_await(const struct acting *acting, pid_t pid, struct said *said, int fd, int *status)
{
	uint64_t until_ns = clock_now_ns() + acting->action->timeout_ns;
	int err = 0;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (poll(&p, 1, LOOK_MS) > 0 && p.revents & POLLIN)
			said_read(said, fd);
		else if (p.revents)
			poll(NULL, 0, LOOK_MS); /* it has closed it */
		if (waitpid(pid, status, WNOHANG) == pid)
			break;
		if (atomic_load(acting->stop))
			err = -ECANCELED;
		else if (clock_now_ns() > until_ns)
			err = -ETIMEDOUT;
		if (err) {
			kill(-pid, SIGKILL);
			waitpid(pid, status, 0);
			break;
		}
	}
	said_read(said, fd);
	return err;
}

static int judge(int err, int status, struct said *said, char why[ACTION_WHY_BYTES])
{
	char *line;

	while (said->bytes && said->text[said->bytes - 1] == '\n')
		said->text[--said->bytes] = '\0';
	line = strrchr(said->text, '\n');
	line = line ? line + 1 : said->text;
	if (err == -ETIMEDOUT)
		snprintf(why, ACTION_WHY_BYTES, "it took too long, and was killed");
	else if (err)
		snprintf(why, ACTION_WHY_BYTES, "it was stopped");
	else if (WIFSIGNALED(status))
		snprintf(why, ACTION_WHY_BYTES, "signal %d killed it", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		snprintf(why, ACTION_WHY_BYTES, "it ended with status %d%s%.100s",
			 WEXITSTATUS(status), *line ? ": " : "", line);
	else
		return 0;
	return err ? err : -EREMOTEIO;
}

int action_command(const struct acting *acting, char why[ACTION_WHY_BYTES])
{
	struct said said = {0};
	int in = input_make(acting->payload), pipes[2], status = 0, err;
	pid_t pid;

	if (in < 0 || pipe2(pipes, O_CLOEXEC)) {
		if (in >= 0)
			close(in);
		snprintf(why, ACTION_WHY_BYTES, "there is no memory or no descriptor for it");
		return -ENOMEM;
	}
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	err = spawn(acting, in, pipes[1], &pid);
	close(in);
	close(pipes[1]);
	if (err) {
		snprintf(why, ACTION_WHY_BYTES, "it cannot be started: %s", strerrordesc_np(-err));
	} else {
		err = end_await(acting, pid, &said, pipes[0], &status);
		err = judge(err, status, &said, why);
	}
	close(pipes[0]);
	return err;
}
