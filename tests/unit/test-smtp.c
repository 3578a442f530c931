/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports by SMTP to a real server on loopback (tests/fixtures/report/smtpd.py) that refuses, dies, wants TLS and a
 * login. */
#include "tests/unit/delivery.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char two[] =
	"[{\"address\": \"ann@example.org\", \"name\": \"Ann\", \"header\": \"To\", \"reason\": \"author\", \"allowed\": false},"
	" {\"address\": \"gone@example.org\", \"name\": \"\", \"header\": \"Cc\", \"reason\": \"list\", \"allowed\": false},"
	" {\"address\": \"private@else.example\", \"name\": \"\", \"header\": \"Cc\", \"reason\": \"M\", \"allowed\": true}]";
static const char one[] =
	"[{\"address\": \"ann@example.org\", \"name\": \"Ann\", \"header\": \"To\", \"reason\": \"author\"}]";
static const char *const allow[] = {"*@example.org", NULL};
static struct report_config cfg = {.robot_name = "kperfbot", .robot_address = "bot@robot.example.org", .allow = allow,
				   .reproduce_dir = "cases"};
static char url[64];

/* Starts the server; its port comes out of it. */
static pid_t serve(const char *mode, bool tls)
{
	_cleanup_free_ char *script = xasprintf("%s/tests/fixtures/report/smtpd.py", top);
	struct buf port = {0};
	struct proc_spec p = {.argv = tls ? ARGV("/usr/bin/python3", script, mode, "log", "cert.pem", "key.pem") :
					    ARGV("/usr/bin/python3", script, mode, "log"), .out_path = "port"};
	pid_t pid = -1;

	unlink("port");
	unlink("log");
	if (proc_start(&p, &pid) < 0)
		ok(false, "%s", err_msg());
	for (int i = 0; i < 400 && !strchr(buf_str(&port), '\n'); i++) {
		usleep(50000);
		buf_clear(&port);
		(void)fs_read("port", 4096, &port);
	}
	snprintf(url, sizeof(url), "smtp://127.0.0.1:%d", atoi(buf_str(&port)));
	if (!atoi(buf_str(&port)))
		printf("Bail out! no SMTP server: %s\n", buf_str(&port));
	give("smtp", "smtp_url", url);
	buf_release(&port);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static char *state_of(struct store *s, int64_t id, const char *recipient)
{
	struct db_report rep = {0};
	struct db_delivery d = {0};
	char *text;
	int r;

	store_report_by_case(s, id, &rep);
	r = store_delivery_get(s, rep.id, "smtp", recipient, &d);
	text = xasprintf("%s: %s", r < 0 ? "none" : delivery_state_word(d.state), d.detail ? d.detail : "");
	db_delivery_release(&d);
	db_report_release(&rep);
	return text;
}

static void is_state_of(struct store *s, int64_t id, const char *recipient, const char *want)
{
	_cleanup_free_ char *got = state_of(s, id, recipient);

	if (!ok(startswith(got, want), "%s: %s", recipient, want))
		printf("# %s\n", got);
}

static void is_state(struct store *s, int64_t id, const char *want) { is_state_of(s, id, "ann@example.org", want); }

/* Nobody waits any longer. */
static void time_passes(struct store *s, int64_t id)
{
	struct db_report rep = {0};
	struct db_delivery *d;
	size_t n;

	store_report_by_case(s, id, &rep);
	store_deliveries(s, rep.id, "smtp", &d, &n);
	for (size_t i = 0; i < n; i++) {
		d[i].next_try = d[i].next_try ? 1 : 0;
		store_delivery_put(s, &d[i]);
	}
	DB_LIST_RELEASE(d, n, db_delivery_release);
	db_report_release(&rep);
}

static size_t mails(struct buf *log)
{
	size_t n = 0;

	buf_clear(log);
	(void)fs_read("log", 0, log);
	for (const char *p = buf_str(log); (p = strchr(p, '\n')); p++)
		n++;
	return n;
}

static void test_ok(struct store *s, int64_t cmp)
{
	_cleanup_buf_ struct buf log = {0};
	int64_t id = put_report(s, cmp, 1, two);
	pid_t pid = serve("ok", false);
	const char *t;

	is_int(report_deliver(s, id, "smtp", &cfg), 0, "sent");
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "sent already");
	is_int(mails(&log), 1, "the server got it once");
	t = buf_str(&log);
	ok(strstr(t, "\"from\": \"bot@robot.example.org\", \"to\": [\"ann@example.org\"], \"tls\": false") != NULL,
	   "from the robot, to who is allowed and exists");
	ok(strstr(t, "\\nTo: Ann <ann@example.org>\\r\\nCc: gone@example.org\\r\\nX-kperfbot-reason") != NULL,
	   "the header says so");
	ok(strstr(t, "\\nX-kperfbot-would-go-to: private@else.example\\r\\n") != NULL,
	   "who is not allowed is no recipient");
	ok(strstr(t, "\\r\\nFrom here on\\r\\n>From there\\r\\n.\\r\\n..dots\\r\\nline 1 of") != NULL,
	   "dots and From lines come through");
	is_state(s, id, "sent: 250 2.0.0 queued as 42");
	is_state_of(s, id, "GONE@Example.org", "failed: the server refused it: 550 5.1.1 no such user here");
	is_state_of(s, id, "private@else.example", "none");
	is_int(report_again(s, id, "smtp"), 0, "by force");
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "once more");
	is_int(mails(&log), 1, "only to who has not got it, and does not exist");
	stop(pid);
	id = put_report(s, cmp, 2, one);
	pid = serve("ok", false);
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "to one");
	is_int(report_again(s, id, "smtp"), -EEXIST, "not sent again by force");
	stop(pid);
}

static void test_refused(struct store *s, int64_t cmp)
{
	static const struct { const char *mode; int result; const char *state; } cases[] = {
		{"nobody", -ECONNREFUSED, "failed: the server refused it: 550 5.1.1"},
		{"refuses-text", -ECONNREFUSED, "failed: the server refused it: 554 5.7.1 looks like spam"},
		{"later-text", -EAGAIN, "waiting: the mail server did not take the report now: 452 4.3.1 no room"},
		{"dies-early", -EAGAIN, "waiting: the mail server did not take the report now: "},
	};
	_cleanup_buf_ struct buf log = {0};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t id = put_report(s, cmp, 10 + (int)i, one);
		pid_t pid = serve(cases[i].mode, false);

		is_int(report_deliver(s, id, "smtp", &cfg), cases[i].result, "%s: %s", cases[i].mode, err_msg());
		is_state(s, id, cases[i].state);
		is_int(mails(&log), 0, "nothing was taken");
		stop(pid);
		pid = serve("ok", false);
		is_int(report_deliver(s, id, "smtp", &cfg), cases[i].result, "not tried again at once");
		is_int(mails(&log), 0, "nor was the server bothered");
		is_int(report_again(s, id, "smtp"), 0, "a person says again");
		is_int(report_deliver(s, id, "smtp", &cfg), 0, "then it is sent");
		is_int(mails(&log), 1, "once");
		stop(pid);
	}
}

static void test_busy(struct store *s, int64_t cmp)
{
	_cleanup_buf_ struct buf log = {0};
	int64_t id = put_report(s, cmp, 20, one);
	struct db_report rep = {0};
	struct db_delivery d = {0};
	pid_t pid = serve("busy-once", false);

	is_int(report_deliver(s, id, "smtp", &cfg), -EAGAIN, "refused for now: %s", err_msg());
	store_report_by_case(s, id, &rep);
	store_delivery_get(s, rep.id, "smtp", "ann@example.org", &d);
	ok(d.attempts == 1 && d.next_try > now_usec() + 12 * USEC_PER_SEC &&
		   d.next_try < now_usec() + 16 * USEC_PER_SEC,
	   "the next attempt is in a minute");
	d.next_try = 1;
	store_delivery_put(s, &d);
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "accepted the second time");
	is_int(mails(&log), 1, "one mail");
	stop(pid);
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "nothing more to do, with no server at all");
	db_delivery_release(&d);
	db_report_release(&rep);
	id = put_report(s, cmp, 22, one);
	store_report_by_case(s, id, &rep);
	d = (struct db_delivery){.report = rep.id, .way = (char *)"smtp", .recipient = (char *)"ann@example.org",
				 .attempts = 29};
	delivery_set(s, &d, DELIVERY_WAITING, "x");
	is_int(report_deliver(s, id, "smtp", &cfg), -ECONNREFUSED, "no server, the last time: %s", err_msg());
	is_state(s, id, "failed: the mail server did not take the report now: ");
	db_report_release(&rep);
	free(d.detail);
	id = put_report(s, cmp, 21, one);
	is_int(report_deliver(s, id, "smtp", &cfg), -EAGAIN, "no server: %s", err_msg());
}

static void test_unknown(struct store *s, int64_t cmp)
{
	_cleanup_buf_ struct buf log = {0};
	int64_t id = put_report(s, cmp, 30, one), killed = put_report(s, cmp, 31, one);
	struct db_report rep = {0};
	struct db_delivery d = {.way = (char *)"smtp", .recipient = (char *)"Ann@example.org"};
	pid_t pid = serve("dies-late", false);

	is_int(report_deliver(s, id, "smtp", &cfg), -EALREADY, "%s", err_msg());
	is_int(mails(&log), 1, "the server had it all");
	is_state(s, id, "unknown: the connection broke after the text was sent");
	stop(pid);
	pid = serve("ok", false);
	is_int(report_deliver(s, id, "smtp", &cfg), -EALREADY, "it is not sent again by itself");
	is_int(mails(&log), 0, "no second copy");
	/* what a killed robot leaves behind */
	store_report_by_case(s, killed, &rep);
	d.report = rep.id;
	is_int(delivery_set(s, &d, DELIVERY_SENDING, "text sent"), 0, "the robot is killed after the text");
	is_int(report_deliver(s, killed, "smtp", &cfg), -EALREADY, "the next one does not send it again");
	is_int(mails(&log), 0, "no second copy");
	is_int(delivery_set(s, &d, DELIVERY_SENDING, "connecting"), 0, "the robot is killed before the text");
	is_int(report_deliver(s, killed, "smtp", &cfg), 0, "then it is sent");
	is_int(mails(&log), 1, "once");
	stop(pid);
	free(d.detail);
	db_report_release(&rep);
}

static const char three[] =
	"[{\"address\": \"ann@example.org\", \"name\": \"Ann\", \"header\": \"To\", \"reason\": \"author\"},"
	" {\"address\": \"grey@example.org\", \"name\": \"\", \"header\": \"Cc\", \"reason\": \"list\"},"
	" {\"address\": \"gone@example.org\", \"name\": \"\", \"header\": \"Cc\", \"reason\": \"list\"},"
	" {\"address\": \"ANN@Example.org\", \"name\": \"Ann\", \"header\": \"Cc\", \"reason\": \"again\"}]";

/* One is put off, one refused, one accepted: each has its own fate. */
static void test_grey(struct store *s, int64_t cmp)
{
	static const char header[] = "\\r\\nTo: Ann <ann@example.org>"
				     "\\r\\nCc: grey@example.org, gone@example.org\\r\\n";
	_cleanup_buf_ struct buf log = {0};
	int64_t id = put_report(s, cmp, 60, three);
	struct report_standing st;
	pid_t pid = serve("grey", false);

	is_int(report_deliver(s, id, "smtp", &cfg), -EAGAIN, "%s", err_msg());
	is_int(mails(&log), 1, "one mail");
	ok(strstr(buf_str(&log), "\"to\": [\"ann@example.org\"], ") && strstr(buf_str(&log), header),
	   "to who was accepted, naming all");
	is_state(s, id, "sent: 250 2.0.0 queued as 42");
	is_state_of(s, id, "grey@example.org",
		    "waiting: the mail server did not take the report now: 450 4.2.0 greylisted");
	is_state_of(s, id, "gone@example.org", "failed: the server refused it: 550 5.1.1");
	is_int(report_standing(s, id, "smtp", &st), 0, "the standing");
	ok(st.n == 3 && st.sent == 1 && st.waiting == 1 && st.failed == 1 && st.next_try > now_usec(), "one of each");
	is_int(report_deliver(s, id, "smtp", &cfg), -EAGAIN, "before its time");
	is_int(mails(&log), 1, "nothing is sent");
	time_passes(s, id);
	is_int(report_deliver(s, id, "smtp", &cfg), -EAGAIN, "still greylisted");
	stop(pid);
	pid = serve("ok", false);
	time_passes(s, id);
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "taken at last");
	is_int(mails(&log), 1, "one mail");
	ok(strstr(buf_str(&log), "\"to\": [\"grey@example.org\"], ") && strstr(buf_str(&log), header) &&
	   strstr(buf_str(&log), "Message-ID: <report-60@robot.example.org>"),
	   "to the one who waited, alone; all else as before");
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "nothing is left to do");
	is_int(mails(&log), 1, "and nothing is sent");
	stop(pid);
}

/* The server dies at each step with several recipients: who is not known is not mailed again, the others are. */
static void test_several_die(struct store *s, int64_t cmp)
{
	_cleanup_buf_ struct buf log = {0};
	int64_t id = put_report(s, cmp, 61, three), late = put_report(s, cmp, 62, three);
	pid_t pid = serve("dies-at-data", false);

	is_int(report_deliver(s, id, "smtp", &cfg), -EAGAIN, "%s", err_msg());
	is_state_of(s, id, "gone@example.org", "failed: the server refused it: 550");
	is_state(s, id, "waiting");
	is_state_of(s, id, "grey@example.org", "waiting");
	is_int(mails(&log), 0, "nobody has it");
	stop(pid);
	pid = serve("ok", false);
	time_passes(s, id);
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "the next one takes it");
	ok(mails(&log) == 1 && strstr(buf_str(&log), "\"to\": [\"ann@example.org\", \"grey@example.org\"], "),
	   "for both in one mail");
	stop(pid);
	pid = serve("grey-dies-late", false);
	is_int(report_deliver(s, late, "smtp", &cfg), -EAGAIN, "%s", err_msg());
	is_state(s, late, "unknown: the connection broke after the text was sent");
	is_state_of(s, late, "grey@example.org", "waiting");
	stop(pid);
	pid = serve("ok", false);
	time_passes(s, late);
	is_int(report_deliver(s, late, "smtp", &cfg), -EALREADY, "%s", err_msg());
	ok(mails(&log) == 1 && strstr(buf_str(&log), "\"to\": [\"grey@example.org\"], "), "only to who was put off");
	is_state(s, late, "unknown");
	stop(pid);
}

/* kill -9 in the middle, as the rows tell of it. */
static void test_several_killed(struct store *s, int64_t cmp)
{
	_cleanup_buf_ struct buf log = {0};
	int64_t id = put_report(s, cmp, 63, three);
	struct db_report rep = {0};
	struct db_delivery d = {.way = (char *)"smtp"};
	pid_t pid;

	store_report_by_case(s, id, &rep);
	d.report = rep.id;
	d.recipient = (char *)"ann@example.org";
	delivery_set(s, &d, DELIVERY_SENDING, "text sent");
	d.recipient = (char *)"grey@example.org";
	delivery_set(s, &d, DELIVERY_SENDING, "connecting");
	pid = serve("ok", false);
	is_int(report_deliver(s, id, "smtp", &cfg), -EALREADY, "%s", err_msg());
	ok(mails(&log) == 1 && strstr(buf_str(&log), "\"to\": [\"grey@example.org\"], "),
	   "who had no text gets it, the other does not");
	is_state(s, id, "unknown: the robot was killed after the text was sent");
	stop(pid);
	free(d.detail);
	db_report_release(&rep);
}

/* kill -9 at any moment of several deliveries: no recipient gets two, whoever goes on. */
static void test_kill(struct store *s, int64_t cmp)
{
	_cleanup_buf_ struct buf log = {0};
	pid_t server = serve("ok", false);
	int twice = 0, killed = 0, unknown = 0;

	for (int i = 0; i < 40; i++) {
		int64_t id = put_report(s, cmp, 100 + i, three);
		struct report_standing st = {0};
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			struct store *own = NULL;

			if (store_open("db", false, &own) == 0)
				(void)report_deliver(own, id, "smtp", &cfg);
			_exit(0);
		}
		usleep(i * 1500);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		killed += WIFSIGNALED(status);
		for (int k = 0; k < 5 && report_deliver(s, id, "smtp", &cfg) == -EAGAIN; k++)
			time_passes(s, id);
		report_standing(s, id, "smtp", &st);
		if (st.waiting || st.n != 3)
			ok(false, "delivery %d comes to an end", i);
		unknown += st.unknown > 0;
	}
	usleep(200000);
	mails(&log);
	for (int i = 0; i < 40; i++) {
		_cleanup_free_ char *mark = xasprintf("<report-%d@robot.example.org>", 100 + i);
		const char *people[] = {"\"ann@example.org\"", "\"grey@example.org\""};
		int n[2] = {0};
		_cleanup_free_ char *copy = xstrdup(buf_str(&log));

		for (char *save = NULL, *l = strtok_r(copy, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
			for (int p = 0; p < 2 && strstr(l, mark); p++)
				n[p] += strstr(l, people[p]) != NULL;
		twice += n[0] > 1 || n[1] > 1;
	}
	is_int(twice, 0, "of 40 deliveries %d killed, %d when nobody can know whether it was taken: no mail twice",
	       killed, unknown);
	ok(killed > 2, "some were killed");
	stop(server);
}

static void test_limit(struct store *s, int64_t cmp, const char *mode, int n, int people, size_t want)
{
	_cleanup_buf_ struct buf log = {0}, json = {0};
	struct report_standing st = {0};
	int64_t id;
	pid_t pid = serve(mode, false);

	for (int i = 0; i < people; i++)
		buf_addf(&json, "%s{\"address\": \"p%d@example.org\", \"name\": \"\", "
			 "\"header\": \"%s\", \"reason\": \"x\"}",
			 i ? "," : "[", i, i ? "Cc" : "To");
	buf_addc(&json, ']');
	id = put_report(s, cmp, n, json.s);
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "%s, %d recipients", mode, people);
	is_int(mails(&log), want, "in %zu mails", want);
	report_standing(s, id, "smtp", &st);
	ok(st.sent == (size_t)people && st.n == st.sent, "all have it");
	for (int i = 0; i < people; i++) {
		_cleanup_free_ char *one = xasprintf("\"p%d@example.org\"", i);
		const char *first = strstr(buf_str(&log), one);

		if (!first || strstr(first + 1, one))
			ok(false, "%s has it once", one);
	}
	stop(pid);
}

/* Who is not on the allow-list any more does not get what he waited for. */
static void test_forbidden_meanwhile(struct store *s, int64_t cmp)
{
	static const char *const only[] = {"ann@*", NULL};
	_cleanup_buf_ struct buf log = {0};
	struct report_config strict = cfg;
	int64_t id = put_report(s, cmp, 70, three);
	pid_t pid = serve("grey", false);

	is_int(report_deliver(s, id, "smtp", &cfg), -EAGAIN, "one waits");
	stop(pid);
	pid = serve("ok", false);
	time_passes(s, id);
	strict = cfg;
	strict.allow = only;
	is_int(report_deliver(s, id, "smtp", &strict), 0, "the allow-list has changed");
	is_int(mails(&log), 0, "nothing is sent");
	is_state_of(s, id, "grey@example.org", "failed: the allow-list");
	stop(pid);
}

static void test_nobody(struct store *s, int64_t cmp)
{
	struct report_config none = cfg;
	int64_t id = put_report(s, cmp, 40, two);

	none.allow = NULL;
	give("smtp", "smtp_url", "smtp://127.0.0.1:1");
	is_int(report_deliver(s, id, "smtp", &none), -EUNATCH, "%s", err_msg());
	is_state(s, id, "none");
	give("smtp", "smtp", "false");
	is_int(report_deliver(s, id, "smtp", &none), -ENOTSUP, "%s", err_msg());
	ok(strstr(err_msg(), "set 'smtp' in the mail section") != NULL, "it names what is not set");
	give("smtp", "smtp", "true");
}

static void test_tls(struct store *s, int64_t cmp)
{
	struct rlimit core = {1, 1};
	static const char certs[] =
		"openssl req -x509 -newkey rsa:2048 -nodes -keyout ca-key.pem -out ca.pem -days 2 -subj /CN=test-ca 2>/dev/null\n"
		"openssl req -newkey rsa:2048 -nodes -keyout key.pem -out req.pem -subj /CN=127.0.0.1 2>/dev/null\n"
		"echo subjectAltName=IP:127.0.0.1 >ext\n"
		"openssl x509 -req -in req.pem -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 2 -extfile ext -out cert.pem 2>/dev/null\n";
	_cleanup_buf_ struct buf log = {0};
	char elsewhere[100];
	int64_t id = put_report(s, cmp, 50, one);
	pid_t pid;

	is_int(proc_ok(ARGV("sh", "-ec", certs), NULL, NULL), 0, "certificates");
	pid = serve("ok", true);
	give("smtp", "smtp_starttls", "true");
	give("smtp", "smtp_user", "bot");
	give("smtp", "smtp_password_file", "password");
	fs_write_atomic("password", "wrong\n", 6);
	chmod("password", 0644);
	is_int(report_deliver(s, id, "smtp", &cfg), -EPERM, "%s", err_msg());
	chmod("password", 0600);
	is_int(report_deliver(s, id, "smtp", &cfg), -EAGAIN, "a certificate of nobody known: %s", err_msg());
	give("smtp", "smtp_ca_file", "ca.pem");
	report_again(s, id, "smtp");
	is_int(report_deliver(s, id, "smtp", &cfg), -EAGAIN, "a wrong password: %s", err_msg());
	is_int(mails(&log), 0, "nothing was taken");
	fs_write_atomic("password", "sesame open\n", 12);
	chmod("password", 0600);
	report_again(s, id, "smtp");
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "TLS and a login");
	is_int(mails(&log), 1, "one mail");
	ok(strstr(buf_str(&log), "\"tls\": true, \"login\": true") != NULL, "encrypted, logged in");
	getrlimit(RLIMIT_CORE, &core);
	ok(!prctl(PR_GET_DUMPABLE) && !core.rlim_cur && !core.rlim_max,
	   "who has the password leaves no core and is nobody's to trace");
	prctl(PR_SET_DUMPABLE, 1); /* leaks are looked for at the end */
	stop(pid);
	pid = serve("ok", false);
	id = put_report(s, cmp, 51, one);
	is_int(report_deliver(s, id, "smtp", &cfg), -EAGAIN, "a server without TLS where TLS is asked for: %s",
	       err_msg());
	is_int(mails(&log), 0, "gets nothing");
	give("smtp", "smtp_starttls", "false");
	snprintf(elsewhere, sizeof(elsewhere), "smtp://127.0.0.1.localhost%s", strrchr(url, ':'));
	give("smtp", "smtp_url", elsewhere);
	report_again(s, id, "smtp");
	is_int(report_deliver(s, id, "smtp", &cfg), -EAGAIN, "a name that begins like an address of this host: %s",
	       err_msg());
	is_int(mails(&log), 0, "gets no login in the clear");
	give("smtp", "smtp_url", url);
	report_again(s, id, "smtp");
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "the address itself does");
	stop(pid);
}

int main(void)
{
	struct store *s = NULL;
	int64_t cmp;

	enter();
	give("smtp", "smtp", "true");
	cfg.settings = &settings;
	is_int(store_open("db", false, &s), 0, "a database");
	cmp = put_comparison(s);
	test_ok(s, cmp);
	test_refused(s, cmp);
	test_busy(s, cmp);
	test_unknown(s, cmp);
	test_grey(s, cmp);
	test_several_die(s, cmp);
	test_several_killed(s, cmp);
	test_limit(s, cmp, "limit", 64, 7, 4);
	test_limit(s, cmp, "limit-550", 65, 5, 3);
	test_limit(s, cmp, "ok", 66, 130, 2);
	test_forbidden_meanwhile(s, cmp);
	test_kill(s, cmp);
	test_nobody(s, cmp);
	test_tls(s, cmp);
	store_close(s);
	leave();
	return tap_done();
}
