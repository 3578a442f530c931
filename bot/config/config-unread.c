/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that somebody wrote as configuration and nobody reads, because of their names. */
#include "bot/config/config-internal.h"
#include "lib/fs.h"

#include <strings.h>

/* The one of our files that a name was meant to be: trees.yml, Trees.yaml, tree.yaml, machines.conf; or NULL. */
static const char *meant(const char *name)
{
	static const char *const endings[] = {".yaml", ".yml", ".conf", ".cfg", ".ini", ".json", ".toml", ".d"};
	const char *dot = strrchr(name, '.');
	bool known = false;

	for (size_t i = 0; dot && i < ARRAY_SIZE(endings); i++)
		known |= !strcasecmp(dot, endings[i]);
	for (size_t i = 0; known && i < CONFIG_FILES; i++) {
		size_t n = strlen(config_files[i]) - strlen(".yaml"), len = (size_t)(dot - name);

		if (!strncasecmp(name, config_files[i], len) &&
		    (len == n || (len + 1 == n && config_files[i][n - 1] == 's')))
			return config_files[i];
	}
	return NULL;
}

/* The section of ours that a YAML file of any name holds, or NULL. */
static const char *section_in(const char *path)
{
	struct yaml y = {0};
	const char *found = NULL;

	if (yaml_load_file(path, &y) < 0)
		return NULL;
	for (size_t d = 0; d < y.n_docs; d++)
		for (const char *const *s = config_section_names; *s && !found; s++)
			found = ynode_get(y.doc[d], *s) ? *s : NULL;
	yaml_release(&y);
	return found;
}

static void check_name(const char *dir, const char *name, struct mistakes *m)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	const char *file = meant(name), *section;

	for (size_t i = 0; i < CONFIG_FILES; i++)
		if (streq(name, config_files[i]))
			return;
	if (file)
		mistake(m, err_set(-EINVAL, "%s: is not read: its name must be '%s'", path, file));
	else if (endswith(name, ".yml") && *name != '.')
		mistake(m, err_set(-EINVAL, "%s: is not read: the name of a job file ends in '.yaml'", path));
	else if (endswith(name, ".yaml") && *name != '.' && !fs_is_dir(path) && (section = section_in(path)))
		mistake(m, err_set(-EINVAL, "%s: is not read, but holds '%s:'; that belongs into kperfbot.yaml, "
				   "machines.yaml or trees.yaml", path, section));
}

void config_check_unread(const char *dir, struct mistakes *m)
{
	_cleanup_strv_ struct strv names = {0};

	(void)fs_list(dir, &names);
	for (size_t i = 0; i < names.n; i++)
		check_name(dir, names.v[i], m);
}
