/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/task.h"
#include "lib/escape.h"
#include "lib/json.h"

WORDS_DEFINE(task_kind, TASK_KINDS, "kind of a task");
WORDS_DEFINE(task_state, TASK_STATES, "state of a task");

#define OF(kind) (1u << (kind))
#define OF_BUILDS (OF(TASK_BUILD) | OF(TASK_RUN) | OF(TASK_PROFILE))
#define OF_BOOTS (OF(TASK_RUN) | OF(TASK_PROFILE))
#define OF_CASES (OF(TASK_REPORT) | OF(TASK_SEND))
#define M(key_, member_, kinds_, ...) {.key = key_, .off = offsetof(struct task_payload, member_), .kinds = kinds_, ##__VA_ARGS__}
static const struct member { const char *key; size_t off; unsigned kinds; bool number, may_miss; } members[] = {
	M("tree", tree, OF_BUILDS),
	M("commit", commit, OF_BUILDS),
	M("kconfig", kconfig, OF_BUILDS),
	M("job", job, OF_BOOTS),
	M("machine", machine, OF_BOOTS),
	M("replicate", replicate, OF(TASK_RUN), .number = true),
	M("base", base, OF(TASK_PROFILE), .may_miss = true),
	M("case", case_id, OF_CASES, .number = true),
	M("way", way, OF(TASK_SEND)),
};

static void *at(const struct member *m, const struct task_payload *p) { return (char *)p + m->off; }

void task_payload_release(struct task_payload *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (!members[i].number)
			free(*(char **)at(&members[i], p));
	*p = (struct task_payload){0};
}

char *task_payload_json(enum task_kind kind, const struct task_payload *p)
{
	struct json_object *o = json_object_new_object();
	char *line;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct member *m = &members[i];

		if (!(m->kinds & OF(kind)))
			continue;
		if (m->number)
			json_object_object_add(o, m->key, json_object_new_int64(*(int64_t *)at(m, p)));
		else if (*(char **)at(m, p))
			json_object_object_add(o, m->key, json_text(*(char **)at(m, p)));
	}
	line = json_line(o);
	json_object_put(o);
	return line;
}

static int read_member(enum task_kind kind, const struct member *m, struct json_object *o, struct task_payload *p)
{
	struct json_object *v = json_get(o, m->key);

	if (!v && m->may_miss)
		return 0;
	if (!v || !json_object_is_type(v, m->number ? json_type_int : json_type_string))
		return err_set(-EBADMSG, "the payload of a task of kind '%s' has no %s '%s'", task_kind_word(kind),
			       m->number ? "number" : "text", m->key);
	if (m->number)
		*(int64_t *)at(m, p) = json_object_get_int64(v);
	else
		*(char **)at(m, p) = xstrdup(json_object_get_string(v));
	return 0;
}

int task_payload_read(enum task_kind kind, const char *json, struct task_payload *ret)
{
	_cleanup_json_ struct json_object *o = json_object_of(json);
	struct task_payload p = {0};
	int r = 0;

	if (!o)
		r = err_set(-EBADMSG, "the payload of a task of kind '%s' is no JSON object", task_kind_word(kind));
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(members); i++)
		if (members[i].kinds & OF(kind))
			r = read_member(kind, &members[i], o, &p);
	if (r < 0) {
		task_payload_release(&p);
		return r;
	}
	*ret = p;
	return 0;
}

char *task_resource(enum task_kind kind, const char *machine)
{
	switch (kind) {
	case TASK_BUILD: return xstrdup("build");
	case TASK_RUN:
	case TASK_PROFILE: return xasprintf(TASK_RESOURCE_MACHINE "%s", machine);
	case TASK_REPORT:
	case TASK_SEND: return xstrdup("mail");
	}
	return NULL;
}
