/* SPDX-License-Identifier: GPL-2.0-or-later */
/* YAML of any content: aliases and merges, and files made to take memory or time. */
#include "lib/buf.h"
#include "lib/yaml.h"
#include "tests/tap.h"

#include <sys/resource.h>

static int load(const char *text, struct yaml *ret) { return yaml_load_text("f.yaml", text, strlen(text), ret); }

static void test_aliases(void)
{
	struct yaml y = {0};
	const struct ynode *d;

	is_int(load("b: &x {p: 1, q: 2}\nc: {<<: *x, q: 3}\nd:\n  <<: [*x, {w: 5}]\ne: *x\n", &y), 0, "aliases load");
	d = y.doc[0];
	is_str(ynode_text(ynode_get(d, "c"), "p", ""), "1", "a merge brings what is not there");
	is_str(ynode_text(ynode_get(d, "c"), "q", ""), "3", "and leaves what is");
	is_str(ynode_text(ynode_get(d, "d"), "w", ""), "5", "a list of maps is merged");
	ok(!ynode_get(ynode_get(d, "d"), "<<"), "nothing is left of the merge");
	is_str(ynode_text(ynode_get(d, "e"), "q", ""), "2", "an alias is what it stands for");
	yaml_release(&y);
}

static void is_place(const struct ynode *n, int line, int col, const char *title)
{
	ok(n->line == line && n->col == col, "%s is at %d:%d (%d:%d)", title, line, col, n->line, n->col);
}

/* A container is where its first key or element is; an empty one, and null, at its key or, in a list, where it is. */
static void test_places(void)
{
	static const char text[] = "a: [x]\nb: {}\nc:\n- ~\n- {}\n- [y]\n-\n";
	struct yaml y = {0};
	const struct ynode *c;

	is_int(load(text, &y), 0, "a file loads");
	is_place(ynode_get(y.doc[0], "a"), 1, 5, "a list");
	is_place(ynode_get(y.doc[0], "b"), 2, 1, "an empty map of a key");
	c = ynode_get(y.doc[0], "c");
	is_place(c->val[0], 4, 3, "null in a list");
	is_place(c->val[1], 5, 3, "an empty map in a list");
	is_place(c->val[2], 6, 4, "a list in a list");
	is_place(c->val[3], 7, 2, "nothing in a list");
	yaml_release(&y);
}

static void refuse(const char *text, int error, const char *words)
{
	struct yaml y = {0};

	is_int(load(text, &y), error, "refused: %s", words);
	ok(strstr(err_msg(), words), "the message has '%s'", words);
	printf("# %s\n", err_msg());
}

static void test_refused(void)
{
	refuse("a: 1\nb: 2\na: 3\n", -EINVAL, "f.yaml:3:1: duplicate key");
	refuse("\"a\\x1b[31m\": 1\n\"a\\x1b[31m\": 1\n", -EINVAL, "duplicate key");
	refuse("a: *x\n", -EINVAL, "f.yaml:1:4: an alias of no anchor");
	refuse("a: &x [*x]\n", -EINVAL, "an alias inside of what it stands for");
	refuse("a: {<<: 5}\n", -EINVAL, "<< takes maps");
	refuse("%TAG !a! b\n---\na: 1\n", -EINVAL, "directives");
	refuse("a#a aL% a\n---\n%YAMLL\nA--\n%YAML\345\337\210\236\215", -EINVAL, "directives");
	refuse("\xef\xbb\xbf%YAML\xe5", -EINVAL, "directives");
}

static void repeat(const char *title, const char *head, const char *part, size_t n, const char *tail)
{
	_cleanup_buf_ struct buf b = {0};
	struct yaml y = {0};
	usec_t start = cpu_usec();
	int r;

	buf_adds(&b, head);
	for (size_t i = 0; i < n; i++)
		buf_adds(&b, part);
	buf_adds(&b, tail);
	r = yaml_load_text("f.yaml", b.s, b.len, &y);
	ok(r < 0, "%s is refused", title);
	ok(cpu_usec() - start < 5 * USEC_PER_SEC, "%s: at once", title);
	yaml_release(&y);
}

static void test_bombs(void)
{
	_cleanup_buf_ struct buf b = {0}, text = {0};
	struct yaml y = {0};

	buf_adds(&b, "a: &a [x,x,x,x,x,x,x,x,x,x]\n");
	for (char c = 'b'; c < 'k'; c++) {
		buf_addf(&b, "%c: &%c [*%c", c, c, c - 1);
		for (int i = 0; i < 9; i++)
			buf_addf(&b, ",*%c", c - 1);
		buf_adds(&b, "]\n");
	}
	is_int(yaml_load_text("f.yaml", b.s, b.len, &y), -EFBIG, "ten levels of ten aliases are refused");
	buf_adds(&text, "a: &a '");
	for (int i = 0; i < 1 << 20; i++)
		buf_addc(&text, 'x');
	buf_adds(&text, "'\nb: [");
	for (int i = 0; i < 10000; i++)
		buf_adds(&text, "*a ,");
	buf_adds(&text, "*a]\n");
	is_int(yaml_load_text("f.yaml", text.s, text.len, &y), -EFBIG, "a long text many times is refused");
	repeat("nesting in brackets", "", "[", 4 << 20, "");
	repeat("nesting in dashes", "", "- ", 2 << 20, "");
	repeat("a long list", "[", "a,", 2 << 20, "]");
	repeat("%TAG lines", "", "%TAG !x! y\n", 300000, "---\na\n");
	repeat("documents", "", "---\n", 1 << 20, "");
	repeat("5 MiB", "", "# comment\n", 5 << 17, "");
}

int main(void)
{
	/* a bomb that goes off ends this test, not the machine */
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_DATA, &(struct rlimit){512u << 20, 512u << 20});
#endif
	test_aliases();
	test_places();
	test_refused();
	test_bombs();
	return tap_done();
}
