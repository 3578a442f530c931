/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/verb.h"
#include "kernels/box.h"

extern const struct verb verb_box;

static int check(const struct ctx *c)
{
	_cleanup_free_ char *who = NULL;
	int r = box_check();

	if (r >= 0)
		r = box_whose(&who);
	if (r < 0) {
		(void)verb_fail(c, r);
		return EXIT_NO;
	}
	if (c->json)
		printf("{\"works\": true, \"used\": %s}\n", box_mode() == BOX_ISOLATED ? "true" : "false");
	else
		printf("foreign code can be isolated here: it runs as %s\n%s", who, box_mode() == BOX_ISOLATED ? "" :
		       "but the configuration says 'sandbox: none'\n");
	return EXIT_DONE;
}

static int remove_folders(const struct ctx *c, char **folder, int n)
{
	for (int i = 0; i < n; i++) {
		int r = box_folder_remove(folder[i]);

		if (r < 0)
			return verb_fail(c, r);
	}
	if (c->json)
		printf("{\"removed\": %d}\n", n);
	return EXIT_DONE;
}

static int run(int argc, char **argv, struct ctx *c)
{
	const struct opt opts[] = {OPT_END};
	int r = verb_options(&verb_box, &argc, &argv, opts, c);

	if (r >= 0)
		return r;
	if (argc == 1 && streq(argv[0], "check"))
		return check(c);
	if (argc >= 2 && streq(argv[0], "remove"))
		return remove_folders(c, argv + 1, argc - 1);
	return verb_usage(c, "box: write 'box check' or 'box remove FOLDER...'");
}

const struct verb verb_box = {
	.name = "box",
	.usage = "check\nremove FOLDER...",
	.summary = "can the code of trees be isolated on this machine?",
	.text = "Builds, and programs measured by the driver local, run in a box: under a uid that owns nothing,\n"
		"without network, with limits on memory, processes, disk and time. 'check' makes one and tries it.\n"
		"Exit status 1 means that it does not work: the message says why, and the robot builds nothing unless\n"
		"'sandbox: none' in the configuration says that every tree is trusted.\n"
		"Some files in the state folder and the cache belong to that uid, so rm(1) may not be able to remove\n"
		"them: 'remove' removes a folder with everything in it, whether it belongs to you or to that uid.",
	.run = run,
};
