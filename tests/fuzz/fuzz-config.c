/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A configuration folder: the input is kperfbot.yaml and, behind a line "%%%", trees.yaml. All mistakes named, or trees
 * that come back from the form that the database has. */
#include "bot/config/config.h"
#include "lib/escape.h"
#include "tests/fuzz/check.h"

/* JSON has U+FFFD for what is no UTF-8. */
static bool is_utf8(const struct setting *s, const void *base)
{
	_cleanup_free_ char *text = setting_text(s, base);

	return !text || utf8_valid(text);
}

static void check_tree(const struct tree_config *t)
{
	_cleanup_free_ char *json = tree_config_to_json(t);
	struct db_tree row = {.name = t->name, .url = t->url, .settings = json};
	struct settings part[TREE_PARTS], again[TREE_PARTS];
	struct tree_config back = {0};

	FUZZ_CHECK(config_name_ok(t->name) && t->url && t->machine);
	FUZZ_CHECK(tree_config_from_db(&row, &back) == 0);
	tree_config_settings(t, part);
	tree_config_settings(&back, again);
	for (const struct setting *s = part[1].table; s->name; s++) /* the first ones are columns */
		FUZZ_CHECK(setting_equal(s, part[1].base, again[1].base) || !is_utf8(s, part[1].base));
	tree_config_release(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char mark[] = "\n%%%\n";
	const uint8_t *second = memmem(data, size, mark, strlen(mark));
	size_t first = second ? (size_t)(second - data) + 1 : size;
	struct config c = {0};
	int r;

	fuzz_put("kperfbot.yaml", data, first);
	if (second)
		second += strlen(mark);
	fuzz_put("trees.yaml", second ? second : data, second ? (size_t)(data + size - second) : 0);
	r = config_load(fuzz_folder(), &c);
	if (r < 0) {
		FUZZ_CHECK(*err_msg() && fuzz_plain(err_msg()));
		return 0;
	}
	for (size_t i = 0; i < c.n_trees; i++)
		check_tree(&c.tree[i]);
	FUZZ_CHECK(c.alpha > 0 && c.alpha < 1 && c.build_slots > 0 && c.min_boots > 0 && c.robot_address);
	config_release(&c);
	return 0;
}
