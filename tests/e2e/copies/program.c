/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: program MODE PLUGIN [OTHER]: spans of its own, if it has a libfathom, around those of
 *plugins.
 *
 *	once	opens the plugins, lets each work, three times over, and stays until it ends
 *	churn	opens the plugin, lets it work and closes it, CHURN times
 *	fork	opens the plugins; a child works with all of them
 *	exec	opens the plugins, lets them work, and runs itself anew with "once"
 */
#include <dlfcn.h>
#include <fathom/fathom.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLUGINS 2
#define CHURN 30

struct plugin {
	void *handle;
	void (*work)(const char *name);
	bool (*listening)(void);
};

static struct plugin plugin_open(const char *path)
{
	struct plugin plugin = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};

	if (plugin.handle)
		*(void **)&plugin.work = dlsym(plugin.handle, "plugin_work");
	if (plugin.handle)
		*(void **)&plugin.listening = dlsym(plugin.handle, "plugin_listening");
	if (plugin.work && plugin.listening)
		return plugin;
	fprintf(stderr, "%s\n", dlerror());
	exit(3);
}

static bool all_listening(const struct plugin *plugins, int count)
{
	bool all = true;

#ifndef NONE
	all &= fathom_listening(); /* the program's is used first, and publishes contexts */
#endif
	for (int i = 0; i < count; i++)
		all &= plugins[i].listening();
	return all;
}

/* In its first tenth of a second a copy writes for who may come; behind that it knows. */
static void settle(const struct plugin *plugins, int count)
{
	all_listening(plugins, count); /* makes rings, in a child */
	nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
	for (int i = 0; i < 3000 && !all_listening(plugins, count); i++)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static void work_within(const struct plugin *plugin, const char *name)
{
#ifdef NONE
	plugin->work(name);
#else
	struct fathom_span request = fathom_span_begin("request");
	struct timespec begin, now;

	plugin->work(name);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do { /* after the plugin's, and without a call into the kernel: the request goes on */
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 2000000);
	fathom_span_end(&request);
#endif
}

static void work_all(const struct plugin *plugins, int count)
{
	static const char *const names[PLUGINS] = {"plugin", "other"};

	for (int i = 0; i < count; i++)
		work_within(&plugins[i], names[i]);
}

static int churn(const char *path)
{
	for (int i = 0; i < CHURN; i++) {
		struct plugin plugin = plugin_open(path);

		settle(&plugin, 1);
		work_within(&plugin, "plugin");
		if (dlclose(plugin.handle))
			return 4;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct plugin plugins[PLUGINS];
	int count = argc - 2 < PLUGINS ? argc - 2 : PLUGINS;

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "churn") == 0)
		return churn(argv[2]);
	for (int i = 0; i < count; i++)
		plugins[i] = plugin_open(argv[2 + i]);
	settle(plugins, count);
	if (strcmp(argv[1], "fork") == 0) {
		if (fork() == 0) {
			settle(plugins, count);
			work_all(plugins, count);
			_exit(0);
		}
		wait(NULL);
		return 0;
	}
	for (int i = 0; i < 3; i++)
		work_all(plugins, count);
	if (strcmp(argv[1], "exec") == 0) {
		argv[1] = (char[]){"once"};
		execv("/proc/self/exe", argv);
		return 5;
	}
	return 0;
}
