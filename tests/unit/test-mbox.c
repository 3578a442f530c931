/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mbox: read back by Python's mailbox module; killed at any byte there is one copy, and others' mail is whole. */
#include "tests/unit/delivery.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define FILLER (6u << 20)       /* larger than the database, so that a limit on file sizes hits the mbox only */
static const struct report_config cfg = {.settings = &settings, .robot_address = "bot@robot.example.org"};

static const char check_py[] =
	"import mailbox, sys, collections\n"
	"box = mailbox.mbox('box', create=False)\n"
	"seen = collections.Counter(m['Message-ID'] for m in box)\n"
	"for i in sys.argv[2].split(','):\n"
	"    assert seen.pop('<report-%s@robot.example.org>' % i) == 1, (i, seen)\n"
	"assert seen == {'<foreign-%d@example.org>' % i: 1 for i in range(int(sys.argv[1]))}, seen\n"
	"for m in box:\n"
	"    n = m['Message-ID'].split('-')[1].split('@')[0]\n"
	"    body = m.get_payload()\n"
	"    if 'foreign' in m['Message-ID']:\n"
	"        assert body.rstrip('\\n') == 'foreign body ' + n, body[:200]\n"
	"    else:\n"
	"        want = 'Hello,\\n\\n' + ''.join('line %d of report %s\\n>From here on\\n>>From there\\n.\\n..dots\\n' % (i, n) for i in range(200))\n"
	"        assert body.rstrip('\\n') == want.rstrip('\\n'), body[:300]\n"
	"        assert m['Subject'] == 'report ' + n\n";

static int foreign;
static struct buf delivered;

/* What another mail program does. */
static void foreign_mail(bool pad)
{
	_cleanup_free_ char *m = xasprintf("%sFrom kperson@example.org Wed Apr  3 07:53:53 2024\nFrom: k@example.org\n"
					   "Message-ID: <foreign-%d@example.org>\n\nforeign body %d\n\n",
					   pad ? "\n" : "", foreign, foreign);

	fs_append("box", m, strlen(m));
	foreign++;
}

static bool box_is_right(void)
{
	_cleanup_free_ char *n = xasprintf("%d", foreign);
	int r = proc_ok(ARGV("/usr/bin/python3", "-c", check_py, n, buf_str(&delivered)), NULL, NULL);

	if (r < 0)
		printf("# %s\n", err_msg());
	return r == 0;
}

static void filler(void)
{
	struct buf b = {0};

	buf_adds(&b, "From k@example.org Wed Apr  3 07:53:53 2024\nMessage-ID: <foreign-0@example.org>\nX-Filler:");
	while (b.len < FILLER)
		buf_adds(&b, " xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n");
	buf_adds(&b, "\nforeign body 0\n");
	fs_write_atomic("box", b.s, b.len);
	buf_release(&b);
	foreign = 1;
}

/* Delivers in a child that may not write beyond limit (0: none) and dies there, or is killed after a while. */
static int deliver_child(int64_t id, int64_t limit, int kill_after_us)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct rlimit l = {limit, limit}, none = {0, 0};
		struct store *s;

		setrlimit(RLIMIT_CORE, &none);
		if (limit)
			setrlimit(RLIMIT_FSIZE, &l);
		if (store_open("db", false, &s) < 0)
			_exit(3);
		_exit(report_deliver(s, id, "mbox", &cfg) < 0 ? 1 : 0);
	}
	if (kill_after_us >= 0) {
		usleep(kill_after_us);
		kill(pid, SIGKILL);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void count(int n)
{
	buf_addf(&delivered, "%s%d", delivered.len ? "," : "", n);
}

static void test_torn(struct store *s, int64_t comparison, int first)
{
	static const int at[] = {0, 1, 4, 5, 6, 13, 39, 40, 41, 100, 150, 163, 170, 180, 200, 500, 1000, 2500, 7000,
				 11000};
	bool died = true, right = true, others = true;

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		int64_t id = put_report(s, comparison, first + (int)i, "[]");
		int status = deliver_child(id, fs_size("box") + at[i] + (at[i] == 0), -1);

		died = died && WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ;
		if (i % 2)
			foreign_mail(i % 4 == 1);
		right = right && report_deliver(s, id, "mbox", &cfg) == 0;
		count(first + (int)i);
		if (!right)
			printf("# torn at %d: %s\n", at[i], err_msg());
		others = others && (i % 5 != 4 || box_is_right());
	}
	ok(died, "a process dies in the middle of its append, at 20 places");
	ok(right, "the next one delivers");
	ok(others, "there is one whole copy of each, and what others appended meanwhile is whole");
}

static void test_killed(struct store *s, int64_t comparison, int first)
{
	bool right = true;

	srand(7);
	for (int i = 0; i < 24; i++) {
		int64_t id = put_report(s, comparison, first + i, "[]");

		for (int k = 0; k < 3; k++)
			deliver_child(id, 0, rand() % 12000);
		if (i % 3 == 0)
			foreign_mail(false);
		right = report_deliver(s, id, "mbox", &cfg) == 0 && right;
		count(first + i);
	}
	ok(right, "delivered after 72 kills at random moments");
	ok(box_is_right(), "one copy of each");
}

static void test_rows(struct store *s, int64_t comparison)
{
	int64_t id = put_report(s, comparison, 1, "[]"), size;
	struct db_report rep = {0};
	struct db_delivery d = {0};

	is_int(report_deliver(s, id, "mbox", &cfg), 0, "delivered");
	count(1);
	ok(box_is_right(), "Python's mailbox module reads it");
	size = fs_size("box");
	is_int(report_deliver(s, id, "mbox", &cfg), 0, "delivered again");
	is_int(fs_size("box"), size, "changes nothing");
	is_int(report_again(s, id, "mbox"), -EEXIST, "what was sent is not sent again by force either");
	is_int(store_report_by_case(s, id, &rep), 0, "its report");
	/* the whole message is there but the row was not brought up to date: killed between the two */
	is_int(store_delivery_get(s, rep.id, "mbox", NULL, &d), 0, "its delivery");
	ok(d.state == DELIVERY_SENT && streq(d.detail, "box"), "is sent");
	is_int(delivery_set(s, &d, DELIVERY_SENDING, "offset %u", 999999999), 0,
	       "the row lags behind, the file was cut meanwhile");
	is_int(report_deliver(s, id, "mbox", &cfg), 0, "delivered");
	is_int(fs_size("box"), size, "the copy that is there is found by its text");
	db_delivery_release(&d);
	db_report_release(&rep);
	is_int(report_deliver(s, id, "pigeon", &cfg), -EINVAL, "%s", err_msg());
	is_int(report_deliver(s, 4711, "mbox", &cfg), -ENOENT, "no such case");
}

static void test_lookalike(struct store *s, int64_t comparison, int n)
{
	int64_t id = put_report(s, comparison, n, "[]"), offset = fs_size("box");
	struct db_report rep = {0};
	struct db_delivery d = {.way = (char *)"mbox", .state = DELIVERY_SENDING};

	/* we died before the first byte, and somebody's mail that begins like ours stands there now */
	store_report_by_case(s, id, &rep);
	d.report = rep.id;
	delivery_set(s, &d, DELIVERY_SENDING, "offset %" PRId64, offset);
	foreign_mail(false);
	is_int(report_deliver(s, id, "mbox", &cfg), 0, "delivered behind a mail that begins like ours");
	count(n);
	ok(box_is_right(), "which is left alone");
	free(d.detail);
	db_report_release(&rep);
}

static void test_locked(struct store *s, int64_t comparison, int n)
{
	int64_t id = put_report(s, comparison, n, "[]");

	fs_write_atomic("box.lock", "", 0);
	is_int(report_deliver(s, id, "mbox", &cfg), -EAGAIN, "a dot lock of another program: %s", err_msg());
	unlink("box.lock");
	is_int(report_deliver(s, id, "mbox", &cfg), -EAGAIN, "it waits for its time");
	is_int(report_again(s, id, "mbox"), 0, "a person is in a hurry");
	is_int(report_deliver(s, id, "mbox", &cfg), 0, "delivered");
	count(n);
	id = put_report(s, comparison, n + 1, "[]");
	deliver_child(id, fs_size("box") + 5000, -1);
	fs_write_atomic("box.lock", "", 0);
	is_int(report_deliver(s, id, "mbox", &cfg), -EAGAIN, "a torn copy behind a lock");
	unlink("box.lock");
	is_int(report_deliver(s, id, "mbox", &cfg), 0, "is not forgotten");
	count(n + 1);
	ok(box_is_right(), "one copy of each");
}

static void test_full(struct store *s, int64_t comparison, int n)
{
	int64_t id = put_report(s, comparison, n, "[]");

	give("mbox", "mbox", "/dev/full");
	is_int(report_deliver(s, id, "mbox", &cfg), -EAGAIN, "a full disk: %s", err_msg());
	give("mbox", "mbox", "box");
	is_int(report_deliver(s, id, "mbox", &cfg), 0, "delivered when there is room");
	count(n);
	ok(box_is_right(), "once");
}

int main(void)
{
	struct store *s = NULL;
	int64_t comparison;

	enter();
	give("mbox", "mbox", "box");
	is_int(store_open("db", false, &s), 0, "a database");
	comparison = put_comparison(s);
	filler();
	test_rows(s, comparison);
	test_torn(s, comparison, 100);
	test_killed(s, comparison, 200);
	test_lookalike(s, comparison, 300);
	test_locked(s, comparison, 301);
	test_full(s, comparison, 310);
	store_close(s);
	buf_release(&delivered);
	leave();
	return tap_done();
}
