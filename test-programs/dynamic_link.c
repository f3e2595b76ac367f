// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "oracle.h"
#include "scenario.h"

/* The suffix of the libraries' names that belongs to this build. */
#ifndef VARIANT
#define VARIANT ""
#endif

/* Loads a plug-in, has it call back, and unloads it, so that the next call is bound anew. */
static void run_plugin(const char *name, int flags)
{
	char path[4096];
	void (*run)(void (*)(void));
	void *plugin;

	snprintf(path, sizeof(path), "%s/%s" VARIANT ".so", scenario_library_dir, name);
	plugin = dlopen(path, flags | RTLD_LOCAL);
	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&run = dlsym(plugin, "plugin_run");
	run(oracle_check);
	dlclose(plugin);
}

void scenario_plt(void)
{
	for (int i = 0; scenario_library_dir && i < 2; i++) {
		run_plugin("plugin", RTLD_LAZY);
		run_plugin("plugin_now", RTLD_NOW);
		run_plugin("plugin_ifunc", RTLD_LAZY);
	}
}

/* Each plug-in is mapped at the address of an earlier one. */
void scenario_dlopen(void)
{
	for (int i = 0; scenario_library_dir && i < 4; i++)
		run_plugin(i % 2 ? "plugin" : "plugin_now", RTLD_LAZY);
}
