/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_screen.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define SECOND_NS 1000000000ull

/* ---- signals ---- */

static volatile sig_atomic_t interrupted, stopped, continued;

static void on_signal(int number)
{
	if (number == SIGTSTP)
		stopped = 1;
	else if (number == SIGCONT)
		continued = 1;
	else
		interrupted = number;
}

static void signal_watch(int number)
{
	const struct sigaction action = {.sa_handler = on_signal};

	sigaction(number, &action, NULL);
}

/*
 * Signals are blocked except during waits, so that a signal ends the wait and is never missed.
 * If SIGPIPE was ignored at the start, only the error of the write shows a closed output.
 */
void screen_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction pipe;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGCONT);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&set, ends[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		signal_watch(ends[i]);
	if (sigaction(SIGPIPE, NULL, &pipe) == 0 && pipe.sa_handler == SIG_DFL)
		signal_watch(SIGPIPE);
}

void screen_pipe_end(void)
{
	if (interrupted != SIGPIPE)
		return;
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}

bool screen_ended(const struct screen *s)
{
	return interrupted || s->quit;
}

/* ---- the screen ---- */

/* Makes each key readable as it is typed. */
static bool screen_enter(const struct screen *s)
{
	struct termios raw = s->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw))
		return false;
	fputs("\033[?1049h\033[?25l\033[H\033[J", stdout);
	fflush(stdout);
	return true;
}

static void screen_leave(const struct screen *s)
{
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
}

void screen_open(struct screen *s)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &s->before))
		return;
	s->live = screen_enter(s);
	if (!s->live)
		return;
	signal_watch(SIGTSTP);
	signal_watch(SIGCONT);
}

void screen_close(struct screen *s)
{
	if (s->live)
		screen_leave(s);
	s->live = false;
}

/*
 * Handles a signal. While the process is stopped, the shell has the terminal, in the mode that it
 * wants. True if the process was stopped, and everything must be drawn again.
 */
static bool screen_stop(struct screen *s)
{
	sigset_t set;

	if (!s->live || !(stopped || continued))
		return false;
	if (stopped) {
		screen_leave(s);
		sigemptyset(&set);
		sigaddset(&set, SIGTSTP);
		signal(SIGTSTP, SIG_DFL);
		raise(SIGTSTP);
		sigprocmask(SIG_UNBLOCK, &set, NULL); /* the process stops here */
		sigprocmask(SIG_BLOCK, &set, NULL);
		signal_watch(SIGTSTP);
	}
	stopped = continued = 0;
	s->live = screen_enter(s);
	s->quit |= !s->live;
	return s->live;
}

int screen_lines(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 4)
		return 24;
	return size.ws_row;
}

void screen_draw(const char *text, int lines)
{
	fputs("\033[H", stdout);
	for (int i = 0; i < lines && *text; i++) {
		size_t n = strcspn(text, "\n");

		fwrite(text, 1, n, stdout);
		fputs(i + 1 < lines ? "\033[K\r\n" : "\033[K", stdout);
		text += n + (text[n] == '\n');
	}
	fputs("\033[J", stdout);
	fflush(stdout);
}

/* ---- keys ---- */

static const struct {
	char key;
	const char *by, *sort; /* the field that the key sets */
} keys[] = {
	{'a', NULL, NULL},	{'n', "name", NULL},	  {'s', "service", NULL},
	{'p', "process", NULL}, {'t', "thread", NULL},	  {'y', "syscall", NULL},
	{'w', "cause", NULL},	{'r', "operation", NULL}, {'e', "edge", NULL},
	{'C', NULL, "cpu"},	{'W', NULL, "work"},	  {'T', NULL, "total"},
	{'N', NULL, "count"},	{'E', NULL, "errors"},	  {'9', NULL, "p99"},
	{'M', NULL, "max"},
};

/* True if the display must change. */
static bool key_take(struct screen *s, char key)
{
	if (key == 'q' || key == 'Q')
		s->quit = true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i].key != key)
			continue;
		if (keys[i].sort)
			s->sort = keys[i].sort;
		else
			s->by = keys[i].by;
		return true;
	}
	return false;
}

bool screen_wait(struct screen *s, u64 until_ns)
{
	u64 now = clock_now_ns();
	struct pollfd input = {.fd = s->live ? STDIN_FILENO : -1, .events = POLLIN};
	struct timespec left = {.tv_nsec = 0};
	sigset_t none;
	char key;

	if (now >= until_ns)
		return false;
	left.tv_sec = (time_t)((until_ns - now) / SECOND_NS);
	left.tv_nsec = (long)((until_ns - now) % SECOND_NS);
	sigemptyset(&none);
	if (ppoll(&input, 1, &left, &none) <= 0)
		return screen_stop(s);
	if (read(STDIN_FILENO, &key, 1) == 1)
		return key_take(s, key);
	s->quit = true; /* the terminal is gone */
	return false;
}
