# local-tree.awk -v seed= -v n= -v noise= -v slowdown= -v templates=: writes the small user-space tree as a stream for
# git fast-import, and what became of it as lines "KEY MARK..." to the file facts.
# n commits follow the first one; mark 1 is the first, marks 2 to n + 1 are the others in the order they are made.

function below(k)
{
	state = (state * 16807) % 2147483647
	return int(state / 2147483647 * k)
}

function slurp(name,    text, l)
{
	while ((getline l < (templates "/" name)) > 0)
		text = text l "\n"
	close(templates "/" name)
	if (text == "") {
		print "local-tree.awk: \"" templates "/" name "\" cannot be read" > "/dev/stderr"
		failed = 1
		exit 1
	}
	return text
}

function file(path, text)
{
	if (on_side)
		side_text[path] = text
	printf "M 100644 inline %s\ndata <<END-OF-FILE\n%sEND-OF-FILE\n", path, text
}

# begins a commit on branch; parents: "" for the tip of the branch, else lines "from" and "merge"
function commit(branch, author, message, parents,    mail, date)
{
	mark++
	date = 1717200000 + mark * 1800
	mail = tolower(author)
	sub(/ .*/, "", mail)
	printf "commit refs/heads/%s\nmark :%d\n", branch, mark
	printf "author %s <%s@example.org> %d +0000\n", author, mail, date - 5400
	printf "committer Mia Holm <mia@example.org> %d +0000\n", date
	printf "data <<END-OF-MESSAGE\n%s\n\nSigned-off-by: %s <%s@example.org>\nEND-OF-MESSAGE\n%s", message, author, mail, parents
}

function fact(key) { found[key] = found[key] " " mark }

function helper(k)
{
	return sprintf("\nunsigned int helper_%d(unsigned int x)\n{\n\treturn (x ^ %du) + %du;\n}\n", k, k * 7919, k)
}

# The slower store: one of two ways to do slowdown percent more steps.
function slower(text,    extra)
{
	extra = int(STEPS * slowdown / 100 + 0.5)
	if (below(2)) {
		culprit_name = "more-slots"
		culprit_message = "store: leave room for keys that are still to come\n\nThe store is full at the moment."
		sub("STORE_SLOTS " STEPS, "STORE_SLOTS " (STEPS + extra), text)
	} else {
		culprit_name = "second-look"
		culprit_message = "store: look a second time at the first slots\n\nThey may have changed during the walk."
		sub(/\n\treturn x;/, "\n\tfor (i = 0; i < " extra "; i++)\n\t\tx = step(x);\n\n\treturn x;", text)
	}
	return text
}

# one ordinary commit on the main line or on the side branch
function ordinary(branch, parents, k,    author)
{
	author = authors[below(n_authors) + 1]
	if (k % 7 == 3) {
		commit(branch, author, "notes: a word on number " k, parents)
		if (branch == "main") {
			notes = notes "\nNumber " k " was looked at and found to be in order.\n"
			file("NOTES", notes)
		} else
			file("NOTES." k, "Number " k " was looked at on the side.\n")
		fact("doc_only")
	} else if (k % 7 == 5) {
		commit(branch, author, "bench: say more about number " k " in a comment", parents)
		comments[branch] = comments[branch] "/* Number " k " needs no lookup. */\n"
		file(branch == "main" ? "src/bench.h" : "src/side.h", (branch == "main" ? header : "") comments[branch])
	} else {
		commit(branch, author, "helpers: add helper_" k "()", parents)
		if (branch == "main") {
			helpers = helpers helper(k)
			file("src/helpers.c", helpers)
		} else
			file("src/helper-" k ".c", helper(k))
	}
}

function plant(branch, parents)
{
	commit(branch, "Tove Lindqvist", culprit_message, parents)
	file("src/store.c", slow_store)
	fact("culprit")
}

BEGIN {
	STEPS = 10000
	state = seed % 2147483646 + 1
	for (i = 0; i < 20; i++)
		below(1)
	n_authors = split("Jonas Weidner,Marta Oliveira,Pekka Salmela,Ruth Okafor", authors, ",")

	header = slurp("bench.h")
	sub("@NOISE@", noise, header)
	store = slurp("store.c"); helpers = slurp("helpers.c"); notes = slurp("NOTES")
	slow_store = slower(store)

	# Places are counted on the main line without the merge: 1 to n_main. The pair that does not build in between stands
	# at broken and broken + 1; side branch and culprit keep out of its way. Place 3 is for notes only, so that there are
	# some in the smallest tree, too.
	n_side = n < 16 ? 2 : 3
	n_main = n - 1 - n_side
	do broken = 1 + below(n_main - 1); while (broken == 2 || broken == 3)
	do fork = below(n_main - 1); while (fork == broken)
	do join = fork + 1 + below(n_main - fork); while (join == broken)
	do place = 1 + below(n_main + n_side); while (place == broken || place == broken + 1 || place == 3)

	commit("main", "Mia Holm", "bench: a program with something to measure", "")
	file("Makefile", slurp("Makefile")); file("NOTES", notes); file("src/bench.h", header)
	file("src/bench.c", slurp("bench.c")); file("src/store.c", store); file("src/helpers.c", helpers)
	file(".gitignore", "bench\n*.o\n")
	fact("base")

	for (i = 0; i <= n_main; i++) {
		if (i == broken) {
			commit("main", "Sanjay Patel", "helpers: add helper_" i "()", "")
			helpers = helpers helper(i)
			bad = helpers
			sub("\\+ " i "u;\n}\n$", "+ y;\n}\n", bad)
			file("src/helpers.c", bad)
			fact("unbuildable")
		} else if (i == broken + 1) {
			commit("main", "Carla Moretti", "helpers: fix build of helper_" broken "()", "")
			file("src/helpers.c", helpers)
		} else if (i == place)
			plant("main", "")
		else if (i)
			ordinary("main", "", i)
		if (i == fork)
			fork_mark = mark
		if (i == join) {
			main_mark = mark
			on_side = 1
			for (j = 1; j <= n_side; j++) {
				parents = j == 1 ? "from :" fork_mark "\n" : ""
				if (n_main + j == place)
					plant("side", parents)
				else
					ordinary("side", parents, n_main + j)
				fact("side")
			}
			on_side = 0
			commit("main", "Mia Holm", "Merge branch 'side'", "from :" main_mark "\nmerge :" mark "\n")
			# fast-import starts from the first parent's tree: bring in what the side branch has
			for (path in side_text)
				file(path, side_text[path])
			fact("merge")
		}
	}
	fact("head")
	print "done"
	for (key in found)
		print key found[key] > facts
	print "culprit_name", culprit_name > facts
}
