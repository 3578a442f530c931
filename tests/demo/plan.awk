# plan.awk -v seed=N [-v for_=WHAT] series: the commits of the demo tree for a seed, in the order they are made, one a line:
# "LINE KIND NAME" with LINE main or side; "main fork -" where the side branch starts, "main merge -" where it ends.
# Rules: the culprit and both ends of the side branch lie outside of the stretch that does not build, so that the
# culprit and its parent can always be built and measured.

# Park and Miller's generator; its products stay below 2^53, so every awk gets the same numbers
function below(n)
{
	state = (state * 16807) % 2147483647
	return int(state / 2147483647 * n)
}

function shuffle(a, n,    i, j, t)
{
	for (i = n; i > 1; i--) {
		j = below(i) + 1
		t = a[i]; a[i] = a[j]; a[j] = t
	}
}

# puts item in front of position p of the main line
function insert(p, item,    i)
{
	for (i = ++n_main; i > p; i--)
		main[i] = main[i - 1]
	main[p] = item
}

# true if the state in front of position p builds
function builds(p,    i)
{
	for (i = p - 1; i >= 1; i--)
		if (main[i] ~ /^fix /)
			return 1
		else if (main[i] ~ /^broken /)
			return 0
	return 1
}

# a position from lo to hi in front of which the tree builds
function place(lo, hi,    p)
{
	do
		p = lo + below(hi - lo + 1)
	while (!builds(p))
	return p
}

/^[^#]/ { pool[$1, ++count[$1]] = $1 " " $2 }

END {
	state = seed % 2147483646 + 1
	for (i = 0; i < 20; i++)
		below(1)

	kind = for_ == "" ? "culprit" : "culprit-" for_
	if (!count[kind])
		exit 1
	culprit = pool[kind, below(count[kind]) + 1]
	sub(/^[^ ]*/, "culprit", culprit)
	on_side = below(2)

	for (i = 1; i <= count["side"]; i++)
		side[i] = pool["side", i]
	shuffle(side, count["side"])
	n_side = 3
	if (on_side)
		side[below(n_side) + 1] = culprit

	for (i = 1; i <= count["any"]; i++)
		any[i] = pool["any", i]
	shuffle(any, count["any"])
	for (i = 1; i <= 14; i++)
		main[++n_main] = any[i]
	main[++n_main] = pool["doc", 1]
	main[++n_main] = pool["arch", 1]
	shuffle(main, n_main)

	p = 2 + below(n_main - 3)
	insert(p, pool["broken", 1])
	insert(p + 1 + below(2), pool["fix", 1])
	if (!on_side)
		insert(place(1, n_main + 1), culprit)
	half = int(n_main / 2)
	insert(place(half + 2, n_main + 1), "merge -")
	insert(place(1, half), "fork -")

	for (i = 1; i <= n_main; i++) {
		print "main", main[i]
		if (main[i] ~ /^fork/)
			for (j = 1; j <= n_side; j++)
				print "side", side[j]
	}
}
