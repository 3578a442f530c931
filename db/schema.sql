-- SPDX-License-Identifier: GPL-2.0-or-later
-- The whole memory of kperfbot. Times are microseconds since the epoch (UTC), object ids full hex.
-- Version: PRAGMA user_version, see db/migrate.c. Every stage reads its input here and writes its output here.

CREATE TABLE tree (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	url TEXT NOT NULL,
	kind TEXT NOT NULL DEFAULT 'kernel' CHECK (kind IN ('kernel', 'program')),
	settings TEXT NOT NULL DEFAULT '{}',            -- JSON: branches, interval, jobs, kconfig, build command, lists
	enabled INTEGER NOT NULL DEFAULT 1,
	last_poll INTEGER, next_poll INTEGER,
	poll_failures INTEGER NOT NULL DEFAULT 0,
	poll_error TEXT
) STRICT;

CREATE TABLE branch (
	id INTEGER PRIMARY KEY,
	tree INTEGER NOT NULL REFERENCES tree ON DELETE CASCADE,
	name TEXT NOT NULL,
	head TEXT,                                      -- NULL: deleted on the remote
	tested TEXT,                                    -- last head whose comparisons have ended, whatever came of them
	detected INTEGER NOT NULL DEFAULT 0,            -- newest run that the search for change points has seen
	seen INTEGER NOT NULL,
	trouble TEXT,                                   -- why its head cannot be compared now
	UNIQUE (tree, name)
) STRICT;

-- From where the next head is compared, for each job on a machine: the last one that was measured there. The newest row is
-- that of the job that moved last.
CREATE TABLE branch_base (
	id INTEGER PRIMARY KEY,
	branch INTEGER NOT NULL REFERENCES branch ON DELETE CASCADE,
	job TEXT NOT NULL REFERENCES job,
	machine INTEGER NOT NULL REFERENCES machine,
	kconfig TEXT NOT NULL,
	oid TEXT NOT NULL,
	UNIQUE (branch, job, machine, kconfig)
) STRICT;

CREATE TABLE head_event (                               -- each move of a branch, kept for ever
	id INTEGER PRIMARY KEY,
	branch INTEGER NOT NULL REFERENCES branch ON DELETE CASCADE,
	time INTEGER NOT NULL,
	old_head TEXT, new_head TEXT,
	forced INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE build (
	id INTEGER PRIMARY KEY,
	tree INTEGER NOT NULL REFERENCES tree ON DELETE CASCADE,
	commit_oid TEXT NOT NULL,
	kconfig TEXT NOT NULL,                          -- 'program' for trees of that kind
	state TEXT NOT NULL CHECK (state IN ('ok', 'broken')), -- broken: by the commit
	image_path TEXT, image_hash TEXT, config_hash TEXT, source_hash TEXT, toolchain TEXT,
	seconds REAL, cached INTEGER NOT NULL DEFAULT 0,
	clean INTEGER NOT NULL DEFAULT 0,               -- compiled from nothing, not from an earlier build's objects
	exposed INTEGER NOT NULL DEFAULT 0,             -- 1: the tree's code ran with the robot's own rights
	error TEXT,                                     -- first error line
	warnings TEXT,                                  -- kconfig options that did not survive, one a line
	log_path TEXT,
	time INTEGER NOT NULL,
	UNIQUE (tree, commit_oid, kconfig)
) STRICT;
CREATE INDEX build_image ON build (image_hash);

CREATE TABLE patched (                                  -- a commit that we made: a patch series on top of a base
	id INTEGER PRIMARY KEY,
	tree INTEGER NOT NULL REFERENCES tree ON DELETE CASCADE,
	commit_oid TEXT NOT NULL,
	base TEXT NOT NULL,
	name TEXT NOT NULL,                             -- of the series; BASE+NAME means the newest of that name
	hash TEXT NOT NULL,                             -- SHA-256 of its files
	patches INTEGER NOT NULL,
	time INTEGER NOT NULL,
	UNIQUE (tree, commit_oid)
) STRICT;
CREATE INDEX patched_base ON patched (base, name);

CREATE TABLE job (
	id TEXT PRIMARY KEY,                            -- first 16 digits of the SHA-256 of canonical
	name TEXT NOT NULL,
	program TEXT NOT NULL,
	canonical TEXT NOT NULL,                        -- JSON, keys sorted
	params TEXT NOT NULL,                           -- JSON object, in job file order
	script TEXT NOT NULL                            -- the one shell script
) STRICT;

CREATE TABLE machine (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	driver TEXT NOT NULL,
	tbox_group TEXT NOT NULL,
	settings TEXT NOT NULL DEFAULT '{}',
	state TEXT NOT NULL DEFAULT 'healthy' CHECK (state IN ('healthy', 'suspect', 'offline', 'drained')),
	failures INTEGER NOT NULL DEFAULT 0,            -- infrastructure failures in a row
	note TEXT,
	description TEXT                                -- CPU model and memory, for reports
) STRICT;

CREATE TABLE run (
	id INTEGER PRIMARY KEY AUTOINCREMENT,           -- their order, which no clock and no removed tree can change
	build INTEGER NOT NULL REFERENCES build ON DELETE CASCADE,
	job TEXT NOT NULL REFERENCES job,
	machine INTEGER NOT NULL REFERENCES machine,
	boot TEXT NOT NULL,                             -- runs with equal boot shared one boot
	replicate INTEGER NOT NULL,                     -- number of the perturbation
	verdict TEXT NOT NULL CHECK (verdict IN ('ok', 'failed', 'incomplete', 'boot-failed', 'timeout', 'crashed',
						 'untrusted', 'infra')),
	cause TEXT,
	started INTEGER NOT NULL, seconds REAL NOT NULL, boot_seconds REAL,
	result_dir TEXT,
	root_image TEXT,
	task INTEGER,                                   -- who asked for it
	exposed INTEGER NOT NULL DEFAULT 0              -- 1: what was measured ran with the robot's own rights
) STRICT;
CREATE INDEX run_build ON run (build, job, machine);

-- What measured a run besides the commit, db/setup.h: lines "name<TAB>value".
CREATE TABLE setup (
	id INTEGER PRIMARY KEY,
	text TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE run_setup (                                -- none: not known
	run INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
	setup INTEGER NOT NULL REFERENCES setup
) STRICT;

CREATE TABLE metric (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	unit TEXT NOT NULL DEFAULT '',
	direction INTEGER NOT NULL DEFAULT 0,           -- +1 higher is better, -1 lower is better, 0 not known
	kpi INTEGER NOT NULL DEFAULT 0
) STRICT;

-- No index by metric: it costs more than half of the storing time and a third of the file, and each question goes from
-- its runs to (run, metric) anyway.
CREATE TABLE value (
	run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
	metric INTEGER NOT NULL REFERENCES metric,
	value REAL NOT NULL,
	PRIMARY KEY (run, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_check (                                -- was the test valid? what each check saw, jobs/check.h
	run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
	name TEXT NOT NULL,
	verdict TEXT NOT NULL CHECK (verdict IN ('pass', 'fail', 'unknown')),
	evidence TEXT NOT NULL,
	capped INTEGER NOT NULL DEFAULT 0,              -- 1: a limit outside of the kernel was reached
	PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;

-- The same, where it takes two commits to tell: could the test see what changed from base to the build's commit?
CREATE TABLE pair_check (
	build INTEGER NOT NULL REFERENCES build ON DELETE CASCADE,
	base TEXT NOT NULL,
	job TEXT NOT NULL REFERENCES job,
	tbox_group TEXT NOT NULL,
	name TEXT NOT NULL,
	verdict TEXT NOT NULL CHECK (verdict IN ('pass', 'fail', 'unknown')),
	evidence TEXT NOT NULL,
	time INTEGER NOT NULL,
	PRIMARY KEY (build, base, job, tbox_group, name)
) STRICT, WITHOUT ROWID;

-- What a build executed in a job, seen in a run of its own, never in a measured one. plugin: every instruction, counted from
-- outside of the guest (kernels/profile.h); else only whether the functions that were watched ran (kernels/watch.h).
CREATE TABLE profile (
	id INTEGER PRIMARY KEY,
	build INTEGER NOT NULL REFERENCES build ON DELETE CASCADE,
	job TEXT NOT NULL REFERENCES job,
	tbox_group TEXT NOT NULL,
	means TEXT NOT NULL DEFAULT 'plugin' CHECK (means IN ('plugin', 'ftrace', 'kprobe', 'perf')),
	path TEXT,                                      -- plugin: all of it, zstd
	operations REAL,                                -- of the benchmark in the counted part; NULL: not known
	instructions INTEGER NOT NULL, user INTEGER NOT NULL,
	time INTEGER NOT NULL,
	UNIQUE (build, job, tbox_group)
) STRICT;

CREATE TABLE function (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE reach (                                    -- the functions that ran; entries 0, but by plugin: watched in vain
	profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE,
	function INTEGER NOT NULL REFERENCES function,
	entries INTEGER NOT NULL, instructions INTEGER NOT NULL,
	PRIMARY KEY (profile, function)
) STRICT, WITHOUT ROWID;

-- A question: does head differ from base in this job on this tbox group? Asked by the watcher, the CLI or a case.
CREATE TABLE comparison (
	id INTEGER PRIMARY KEY,
	tree INTEGER NOT NULL REFERENCES tree ON DELETE CASCADE,
	branch TEXT NOT NULL DEFAULT '',
	base TEXT NOT NULL, head TEXT NOT NULL,
	kconfig TEXT NOT NULL,
	job TEXT NOT NULL REFERENCES job,
	machine INTEGER NOT NULL REFERENCES machine,
	epoch TEXT NOT NULL DEFAULT '',                 -- configuration and toolchain it was asked under
	state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'same', 'no change shown', 'different',
								       'broken', 'cancelled', 'disturbed')),
	reason TEXT,
	created INTEGER NOT NULL, ended INTEGER,
	after_run INTEGER NOT NULL DEFAULT 0,           -- newest run when it was asked: only later ones count
	fault TEXT NOT NULL DEFAULT ''                  -- broken: which side could not be measured
		CHECK (fault IN ('', 'base', 'head', 'both', 'infra')),
	disturbed INTEGER NOT NULL DEFAULT 0,           -- rounds that the machine's canary spoilt
	asked TEXT NOT NULL DEFAULT 'hand'              -- by whom; by 'hand' mails nobody
		CHECK (asked IN ('hand', 'hand-mail', 'daemon')),
	UNIQUE (tree, base, head, kconfig, job, machine, epoch)
) STRICT;
CREATE INDEX comparison_branch ON comparison (tree, branch);

CREATE TABLE "case" (
	id INTEGER PRIMARY KEY,
	comparison INTEGER NOT NULL REFERENCES comparison ON DELETE CASCADE,
	metric INTEGER NOT NULL REFERENCES metric,
	state TEXT NOT NULL CHECK (state IN ('confirmed', 'bisecting', 'proving', 'found', 'reported', 'unmailed',
					     'undelivered', 'ignored', 'not-reproduced')),
	stopped TEXT NOT NULL DEFAULT ''                -- what kept it from its end: an error that stayed, or who asked
		CHECK (stopped IN ('', 'error', 'asker')),
	part INTEGER NOT NULL DEFAULT 0,                -- 0: whole change; 1..: a further culprit of the same comparison
	confidence REAL NOT NULL,                       -- asked posterior
	effect REAL, effect_lo REAL, effect_hi REAL,    -- relative change head against base, and its interval
	culprit TEXT, posterior REAL,
	commits INTEGER NOT NULL DEFAULT 0,             -- in the range, when a search has ended; 0: not known
	boots INTEGER NOT NULL DEFAULT 0, builds INTEGER NOT NULL DEFAULT 0,
	note TEXT,                                      -- who ignored it and why, or why it ended
	failure TEXT,                                   -- what fails, 'VERDICT: CAUSE' of a run; NULL: a metric has changed
	opened INTEGER NOT NULL, changed INTEGER NOT NULL,
	asked TEXT NOT NULL DEFAULT 'hand'              -- its comparison's; reopened: 'hand'
		CHECK (asked IN ('hand', 'hand-mail', 'daemon')),
	UNIQUE (comparison, metric, part)
) STRICT;

CREATE TABLE proof (                                    -- a commit that the search named, against its parent, in turns
	id INTEGER PRIMARY KEY,                         -- the last written is the largest
	"case" INTEGER NOT NULL REFERENCES "case" ON DELETE CASCADE,
	commit_oid TEXT NOT NULL, parent TEXT,
	state TEXT NOT NULL CHECK (state IN ('open', 'shown', 'contradicted')),
	tries INTEGER NOT NULL DEFAULT 1,               -- how often it began: the machine may have been unsteady
	after_run INTEGER,                              -- only later runs count
	boots_parent INTEGER, boots_culprit INTEGER,
	mean_parent REAL, mean_culprit REAL, sd REAL,   -- of a failure: its rates
	effect REAL, lo REAL, hi REAL, p REAL,          -- relative change and its interval; of a failure: difference of the rates
	align INTEGER NOT NULL DEFAULT 0,               -- 1: to be measured with aligned functions, too
	aligned_after INTEGER, aligned_effect REAL, aligned TEXT,       -- aligned, revert: what came of it, for people
	revert_after INTEGER, revert_commit TEXT, revert TEXT,
	UNIQUE ("case", commit_oid)
) STRICT;

CREATE TABLE candidate (                                -- commits of the range of a case whose search has ended
	id INTEGER PRIMARY KEY,
	"case" INTEGER NOT NULL REFERENCES "case" ON DELETE CASCADE,
	commit_oid TEXT NOT NULL,
	state TEXT NOT NULL CHECK (state IN ('left', 'dropped')),
	reason TEXT NOT NULL DEFAULT ''                 -- why it cannot be the one, or could not be measured
		CHECK (reason IN ('', 'empty', 'docs', 'other-arch', 'tools', 'not-built', 'same-image', 'no-build',
				  'no-boot', 'runs-fail', 'other-failure', 'cleared')),
	posterior REAL,                                 -- left
	UNIQUE ("case", commit_oid)
) STRICT;

CREATE TABLE report (
	id INTEGER PRIMARY KEY,
	"case" INTEGER NOT NULL UNIQUE REFERENCES "case" ON DELETE CASCADE,
	message_id TEXT NOT NULL UNIQUE,
	subject TEXT NOT NULL,
	recipients TEXT NOT NULL,                       -- JSON: [{address, header, reason, allowed}]
	text TEXT NOT NULL,                             -- the whole RFC 5322 message
	created INTEGER NOT NULL
) STRICT;

CREATE TABLE delivery (                                 -- one row per report, way out and recipient; sent at most once
	report INTEGER NOT NULL REFERENCES report ON DELETE CASCADE,
	way TEXT NOT NULL,                              -- a reporter's name; there may be some that this version has not
	recipient TEXT NOT NULL DEFAULT '' COLLATE NOCASE,      -- address; '' where it goes to one place
	state TEXT NOT NULL CHECK (state IN ('waiting', 'sending', 'sent', 'failed', 'unknown')),
	detail TEXT,                                    -- the reporter's own, or what the receiver said
	attempts INTEGER NOT NULL DEFAULT 0, next_try INTEGER, time INTEGER NOT NULL,
	PRIMARY KEY (report, way, recipient)
) STRICT;

-- Durable work. Claimed by a worker under a lease; a worker that vanished gives it back.
CREATE TABLE task (
	id INTEGER PRIMARY KEY,
	kind TEXT NOT NULL CHECK (kind IN ('build', 'run', 'profile', 'report', 'send')),
	key TEXT NOT NULL UNIQUE,                       -- the same work is never queued twice
	state TEXT NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'running', 'done', 'failed', 'cancelled')),
	priority INTEGER NOT NULL DEFAULT 0,            -- higher first
	payload TEXT NOT NULL,                          -- JSON, db/task.h
	resource TEXT NOT NULL,                         -- slot class: 'build', 'mail', 'machine:NAME'
	comparison INTEGER REFERENCES comparison ON DELETE CASCADE,
	"case" INTEGER REFERENCES "case" ON DELETE CASCADE,
	attempts INTEGER NOT NULL DEFAULT 0, max_attempts INTEGER NOT NULL DEFAULT 3,
	not_before INTEGER NOT NULL DEFAULT 0,
	owner TEXT, lease_until INTEGER,
	created INTEGER NOT NULL, started INTEGER, ended INTEGER,
	result TEXT,                                    -- last message
	tree INTEGER NOT NULL DEFAULT 0                 -- of the comparison, 0: none; trees take turns, see served
) STRICT;
CREATE INDEX task_turn ON task (state, resource, tree, priority DESC, id);
CREATE TABLE served (                                   -- last turn of each tree with a resource; smallest is next
	resource TEXT NOT NULL,
	tree INTEGER NOT NULL,
	turn INTEGER NOT NULL,
	PRIMARY KEY (resource, tree)
) STRICT, WITHOUT ROWID;

CREATE TABLE task_dep (
	task INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
	needs INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
	PRIMARY KEY (task, needs)
) STRICT, WITHOUT ROWID;

-- What happened, for people: shown by "case show" and "queue list --log".
CREATE TABLE event (
	id INTEGER PRIMARY KEY,
	time INTEGER NOT NULL,
	"case" INTEGER, comparison INTEGER, task INTEGER,
	text TEXT NOT NULL
) STRICT;

-- Stable views for other tools (Grafana's SQLite source, notebooks).
CREATE VIEW v_points AS
	SELECT t.name AS tree, b.commit_oid AS commit_oid, b.kconfig AS kconfig, j.name AS job, m.tbox_group AS tbox_group,
	       m.name AS machine, r.id AS run, r.boot AS boot, r.started AS time, r.verdict AS verdict, k.name AS metric,
	       k.unit AS unit, v.value AS value, p.name AS patches, p.base AS base
	FROM value v JOIN run r ON r.id = v.run JOIN metric k ON k.id = v.metric JOIN build b ON b.id = r.build
	     JOIN tree t ON t.id = b.tree JOIN job j ON j.id = r.job JOIN machine m ON m.id = r.machine
	     LEFT JOIN patched p ON p.tree = b.tree AND p.commit_oid = b.commit_oid;
