/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * setting.h - one table for each section of settings. It drives reading from YAML and from text, defaults, what is
 * shown, the JSON that is stored, copies and releases; nothing else knows a setting's name. It serves the parts of the
 * configuration as well as a machine driver's or a reporter's own options.
 *
 *	struct echo_options { char *text; int count; double pause_s; bool loud; struct strv to; enum sort order; };
 *	static const struct setting echo_settings[] = {
 *		SETTING(echo_options, text, "text", "what it says", .dflt = "hello"),
 *		SETTING(echo_options, count, "count", "how often", .min = 1, .max = 100, .dflt = "1"),
 *		SETTING_TIME(echo_options, pause_s, "pause", "between two", .max = 3600, .dflt = "5m"),
 *		SETTING(echo_options, loud, "loud", "in capitals"),
 *		SETTING(echo_options, to, "to", "who hears it", .otherwise = "everybody"),
 *		SETTING_WORD(echo_options, order, "order", &sort_words, "how they are sorted", .dflt = "name"),
 *		SETTING_END,
 *	};
 *
 * The type follows from the member: one that fits no type does not compile. A struct belongs to its table: begin with
 * {0} and settings_default(), end with settings_release(); members without a row are left alone.
 */
#ifndef KPB_LIB_SETTING_H
#define KPB_LIB_SETTING_H
#include "lib/buf.h"
#include "lib/words.h"

struct ynode;
struct json_object;

enum setting_type { SETTING_T_TEXT, SETTING_T_INT, SETTING_T_INT64, SETTING_T_NUMBER, SETTING_T_SECONDS, SETTING_T_BOOL,
		    SETTING_T_LIST, SETTING_T_WORD };

struct setting {
	const char *name;               /* key in files and JSON; NULL ends the table */
	enum setting_type type;
	size_t offset;
	const struct words *words;      /* SETTING_T_WORD: what may be chosen */
	const char *help;               /* a few words, begins small, no full stop */
	double min, max;                /* of numbers and seconds; equal: no limits. The default may lie outside */
	const char *dflt;               /* as it would stand in a file, of a list one element; NULL: NULL, 0, false,
					   empty */
	const char *otherwise;          /* in words, what holds where it is not set: "number of CPUs" */
	bool url;                       /* shown without credentials */
};

#define SETTING_MEMBER_(s, m) (((struct s *)NULL)->m)
#define SETTING_ROW_(s, m, n, t, w, h, ...)                                                                            \
	{.name = n, .type = t, .offset = offsetof(struct s, m), .words = w, .help = h, ##__VA_ARGS__}
#define SETTING(s, m, n, h, ...)                                                                                       \
	SETTING_ROW_(s, m, n,                                                                                          \
		     _Generic(SETTING_MEMBER_(s, m), char *: SETTING_T_TEXT, int: SETTING_T_INT,                       \
			      int64_t: SETTING_T_INT64, double: SETTING_T_NUMBER, bool: SETTING_T_BOOL,                \
			      struct strv: SETTING_T_LIST),                                                            \
		     NULL, h, ##__VA_ARGS__)
#define SETTING_TIME(s, m, n, h, ...)                                                                                  \
	SETTING_ROW_(s, m, n, _Generic(SETTING_MEMBER_(s, m), double: SETTING_T_SECONDS), NULL, h, ##__VA_ARGS__)
/* The member is an enum of WORDS_ENUM() (gcc gives it an unsigned int's room). */
#define SETTING_WORD(s, m, n, w, h, ...)                                                                               \
	SETTING_ROW_(s, m, n, _Generic(SETTING_MEMBER_(s, m), unsigned int: SETTING_T_WORD), w, h, ##__VA_ARGS__)
#define SETTING_END {.name = NULL}

/* The row of a name, or NULL. */
const struct setting *setting_find(const struct setting *table, const char *name);

/* Gives each member its default. What the struct held is released. */
void settings_default(const struct setting *table, void *base);
/* The same for one. */
void setting_reset(const struct setting *s, void *base);
void settings_release(const struct setting *table, void *base);
/* to's old values are released. */
void settings_copy(const struct setting *table, void *to, const void *from);

/* From text, as in a file: a list becomes this one element. -EINVAL or -ERANGE with a message that names the setting;
 * the old value then stays. */
int setting_set(const struct setting *s, void *base, const char *text);
/* The member of a setting that is a list, to be added to. */
struct strv *setting_list(const struct setting *s, void *base);

/* The value as text, exact: setting_set() takes it (but for lists, whose elements stand with ", " between them). NULL:
 * a text or list without a value. New string. */
char *setting_text(const struct setting *s, const void *base);
/* For people: URLs without credentials, `otherwise` where there is no value (or 0 or less), "" at worst. New string. */
char *setting_shown(const struct setting *s, const void *base);
/* What it may be: "1 to 256", "1s to 30d", "box, none"; NULL: anything of its type. New string. */
char *setting_limits(const struct setting *s);
/* What holds where nothing is set, for lists of settings: `otherwise`, else the default, else "none"; new string. */
char *setting_default_shown(const struct setting *s);
/* Whether both structs have the same value. */
bool setting_equal(const struct setting *s, const void *a, const void *b);
/* Whether it has its table's default. */
bool setting_is_default(const struct setting *s, const void *base);

/* ---- YAML ---- */

/* All mistakes, one a line; mistake() takes those of err_msg() where r < 0. */
struct mistakes { struct buf text; int n; };
void mistake(struct mistakes *m, int r);

/* Reads a map into one or more structs; parts ends with {0}. more: other keys that may stand there (NULL-terminated, or
 * NULL), which the caller reads. of: whose settings they are ("driver 'local'"), for the message on an unknown key, or
 * NULL. Each mistake says file:line:column and, for an unknown key, the nearest known one. */
struct settings { const struct setting *table; void *base; };
void settings_read(const struct ynode *map, const struct settings *parts, const char *const *more, const char *of,
		   struct mistakes *m);

/* ---- JSON ---- */

/* Adds to o. SETTINGS_STORED is exact; texts without a value are left out where that is the default. SETTINGS_SHOWN has
 * all keys, and no credentials in URLs. */
enum settings_form { SETTINGS_STORED, SETTINGS_SHOWN };
void settings_to_json(const struct setting *table, const void *base, enum settings_form form, struct json_object *o);
/* Absent keys and values of another type get the default, numbers out of their limits the nearest limit; unknown keys
 * are left alone: it may be another version's. o may be NULL. */
void settings_from_json(const struct setting *table, void *base, struct json_object *o);

#endif
