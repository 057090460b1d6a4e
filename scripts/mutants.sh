#!/usr/bin/env bash
# Breaks the server and the TypeScript SDK in known ways, one at a time, and requires that a test fails for each. A mutant is a change of
# one source file by sed, laid over the source at build time (go build -overlay), or in a copy of the SDK; nothing in the tree is touched.
# A test suite that has never failed proves nothing. With an argument, only mutants whose name matches it are tried; with SHARE=K/N, the
# K-th (from 0) of N shares. With --check, no test is run: each pattern must change its file, each changed file must still compile, and
# each test that is named must exist. Without it, that is checked first.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="-trimpath${GOFLAGS:+ $GOFLAGS}"
check=
if [ "${1:-}" = --check ]; then check=1; shift; fi
only=${1:-.} share=${SHARE:-0/1} listed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/rialto-mutants-XXXXXX")
trap 'rm -rf "$work"' EXIT
tried=0 bad=() # a line for each that survived, or is none
declare -A named tests_of name_of invalid # by name and file; by package; by changed file; by changed file
runs=() # a command for each mutant, which runs its tests

not_a_mutant() {
	bad+=("NOT A MUTANT  $1: $2")
	echo "${bad[-1]}"
}

survived() {
	bad+=("SURVIVED      $1")
	echo "${bad[-1]}"
}

# change NAME FILE SED LIST: writes the changed file, whose path is then in $changed, and adds it to LIST. It fails if the mutant is not
# to be tried, or is none.
change() {
	if [ -n "${named[$1 $2]:-}" ]; then # often a row that a merge brought twice
		not_a_mutant "$1" "an earlier mutant of that file has this name"
		return 1
	fi
	named[$1 $2]=1
	[[ $1 =~ $only ]] || return 1
	[ $((listed++ % ${share#*/})) -eq "${share%/*}" ] || return 1
	tried=$((tried + 1))
	if [ ! -f "$2" ]; then
		not_a_mutant "$1" "there is no $2"
		return 1
	fi
	changed=$work/$tried/${2##*/}
	mkdir "$work/$tried"
	if ! sed -E "$3" "$2" >"$changed"; then
		not_a_mutant "$1" "the pattern is none of sed"
		return 1
	fi
	if cmp -s "$2" "$changed"; then
		not_a_mutant "$1" "the pattern finds nothing in $2"
		return 1
	fi
	name_of[$changed]=$1
	printf '%s\t%s\n' "$2" "$changed" >>"$work/$4"
}

# module_of FILE: the folder of the Go module that compiles a file: that of the bridges has its own.
module_of() { if [[ $1 = bridges/* ]]; then echo bridges; else echo .; fi; }

# mutant NAME FILE SED TESTS PACKAGE...: one of the packages' tests of that name must fail with the change.
mutant() {
	local name=$1 file=$2 tests=$4 package
	change "$name" "$file" "$3" "$([ "$(module_of "$file")" = . ] && echo go || echo bridges)" || return 0
	for package in "${@:5}"; do
		[ "$package" != ./sdk/go ] || not_a_mutant "$name" "a module of its own is written without ./: sdk/go"
		[ -n "${tests_of[$package]:-}" ] || tests_of[$package]=$(cat "$package"/*_test.go 2>/dev/null | sed -nE 's/^func ((Test|Fuzz)[A-Za-z0-9_]*)\(.*/\1/p')
		grep -qE "${tests%%/*}" <<<"${tests_of[$package]}" || not_a_mutant "$name" "$package has no test $tests"
	done
	runs+=("run_mutant $(printf '%q ' "$name" "$file" "$changed" "$tests" "${@:5}")")
}

# mutant_ts NAME FILE SED TESTFILE: a test of that file must fail with the change. Paths are relative to the TypeScript SDK.
mutant_ts() {
	change "$1" "sdk/ts/$2" "$3" ts || return 0
	[ -f "sdk/ts/$4" ] || not_a_mutant "$1" "there is no sdk/ts/$4"
	runs+=("run_mutant_ts $(printf '%q ' "$1" "$2" "$changed" "$4")")
}

# check_go and check_ts mark the mutants that do not compile.
check_go() {
	local changed failure
	go run ./internal/tool/mutantcheck <"$work/go" >"$work/failures" # with the flags of the tests: other flags would compile all anew
	while IFS=$'\t' read -r changed failure; do
		not_a_mutant "${name_of[$changed]}" "it does not compile: $failure"
		invalid[$changed]=1
	done <"$work/failures"
}
# check_bridges does so with a run of the compiler for each: they are few.
check_bridges() {
	local file changed
	while IFS=$'\t' read -r file changed; do
		printf '{"Replace":{"%s":"%s"}}' "$PWD/$file" "$changed" >"$work/overlay.json"
		if ! go -C bridges vet -overlay="$work/overlay.json" "./$(dirname "${file#bridges/}")" 2>"$work/log"; then
			not_a_mutant "${name_of[$changed]}" "it does not compile: $(tail -1 "$work/log")"
			invalid[$changed]=1
		fi
	done <"$work/bridges"
}
# One run of the compiler checks all, each beside the file that it replaces.
check_ts() {
	local file changed n=0 beside=() found
	copy_sdk
	while IFS=$'\t' read -r file changed; do
		cp "$changed" "$work/${file%.ts}.mutant$n.ts"
		beside[n++]=$changed
	done <"$work/ts"
	if ! (cd "$work/sdk/ts" && node_modules/.bin/tsc -p tsconfig.build.json --noEmit --pretty false) >"$work/log" 2>&1; then
		cat "$work/log"
		mapfile -t found < <(sed -nE 's/^src\/[^(]*\.mutant([0-9]+)\.ts\(.*/\1/p' "$work/log" | sort -un)
		[ ${#found[@]} -gt 0 ] || { echo "the TypeScript SDK does not compile without a change either"; exit 1; }
		for n in "${found[@]}"; do
			not_a_mutant "${name_of[${beside[n]}]}" "it does not compile: see above"
			invalid[${beside[n]}]=1
		done
	fi
	find "$work/sdk/ts/src" -name '*.mutant*' -delete
}

# copy_sdk copies the TypeScript SDK, without what is installed, to $work/sdk/ts.
copy_sdk() {
	[ -x sdk/ts/node_modules/.bin/tsc ] || { echo "the modules of sdk/ts are not installed; run: scripts/setup.sh test"; exit 1; }
	mkdir -p "$work/sdk/ts"
	cp -r sdk/ts/src sdk/ts/test sdk/ts/*.json "$work/sdk/ts"
	ln -s "$PWD/sdk/ts/node_modules" "$work/sdk/ts/node_modules"
}

# with_s3 TESTS PACKAGE...: lets tests with an S3 server run, if some of these have one. It is built here, not in the time of a mutant.
with_s3() {
	local folder
	for folder in "${@:2}"; do
		if { grep -lF 's3test.Start(' "$folder"/*_test.go || true; } | xargs -r sed -nE 's/^func (Test[A-Za-z0-9_]*)\(.*/\1/p' | grep -E "${1%%/*}" >/dev/null; then
			(cd internal/engine/blob/s3blob/s3test/server && CGO_ENABLED=0 go tool -n versitygw >/dev/null)
			export TEST_S3=1
			return
		fi
	done
}

# run_mutant NAME FILE CHANGED TESTS PACKAGE...
run_mutant() {
	local name=$1 changed=$3 tests=$4 package inner flags try began=$SECONDS module
	[ -z "${invalid[$changed]:-}" ] || return 0
	with_s3 "$tests" "${@:5}"
	printf '{"Replace":{"%s":"%s"}}' "$PWD/$2" "$changed" >"$work/overlay.json"
	for try in 1 2 3; do # some mutants need a race to show: a test that fails in one run of two is as good
		for package in "${@:5}"; do
			flags=() inner=./${package#bridges/} module=$(module_of "$package")
			if [ "$package" = sdk/go ]; then module=sdk/go inner=.; fi # other tests of the SDK are in packages of the server
			if go -C "$module" list -deps -test "$inner" | grep '^pgregory.net/rapid$' >/dev/null; then
				flags=(-args -rapid.nofailfile -rapid.shrinktime=1s) # do not store the failing input of a mutant
			fi
			if GOFLAGS="$GOFLAGS -overlay=$work/overlay.json" go -C "$module" test -vet=off -count 1 -timeout 80s -run "$tests" "$inner" "${flags[@]}" >"$work/log" 2>&1; then
				continue
			fi
			if grep -q '\[build failed\]\|\[setup failed\]\|no tests to run' "$work/log"; then
				not_a_mutant "$name" "the tests of $package do not build"
				cat "$work/log"
				return
			fi
			echo "killed        $name: $package $(grep -m1 -oE -- '--- FAIL: [A-Za-z]+|panic: .*' "$work/log" || true) ($((SECONDS - began))s)"
			return
		done
		echo "survived once $name"
	done
	survived "$name"
}

# run_mutant_ts NAME FILE CHANGED TESTFILE
run_mutant_ts() {
	local name=$1 file=$2 changed=$3 tests=$4 began=$SECONDS
	[ -z "${invalid[$changed]:-}" ] || return 0
	cp "$changed" "$work/sdk/ts/$file"
	if (cd "$work/sdk/ts" && NO_COLOR=1 timeout -k 5 80 node_modules/.bin/vitest run "$tests") >"$work/log" 2>&1; then
		survived "$name"
	elif grep -qE '^ *Tests .* failed|^ *Tests +[0-9]+ failed' "$work/log"; then
		echo "killed        $name: sdk/ts/$tests $(grep -m1 -oE 'FAIL .*' "$work/log" || true) ($((SECONDS - began))s)"
	else
		not_a_mutant "$name" "the tests of $tests do not run"
		cat "$work/log"
	fi
	cp "sdk/ts/$file" "$work/sdk/ts/$file"
}

log=internal/engine/timeline/pebblelog
export POWER_CUTS=${POWER_CUTS:-100} KILL_CYCLES=${KILL_CYCLES:-26}

# An entry is durable before it is acknowledged or visible.
mutant "acknowledge before the sync" $log/pebblelog.go 's/write: pebble\.Sync,/write: pebble.NoSync,/' 'PowerCut$' $log
mutant "acknowledge a lone control entry before the sync" $log/append.go 's/^\tif err := s\.log\.commitSynced\(&s\.rows, s\.log\.write\); err != nil \{$/\twrite := s.log.write\n\tif len(f.stored) == 1 \&\& f.stored[0].SetAccess {\n\t\twrite = pebble.NoSync\n\t}\n\tif err := s.log.commitSynced(\&s.rows, write); err != nil {/' 'PowerCut$' $log
mutant "acknowledge a post that needs no fan-out before the sync" $log/append.go 's/^\tif err := s\.log\.commitSynced\(&s\.rows, s\.log\.write\); err != nil \{$/\twrite := s.log.write\n\tif len(commits) == 0 {\n\t\twrite = pebble.NoSync\n\t}\n\tif err := s.log.commitSynced(\&s.rows, write); err != nil {/' 'PowerCut$' $log
mutant "show entries before the sync" $log/read.go 's/limit = t\.Seq/limit = max(limit, t.Seq)/' UnsyncedEntries $log
mutant "continue after a failed sync" $log/append.go 's/if !l\.broken\.Swap\(true\) \{/if l.broken.Load() {/' BrokenDisk $log
mutant "append deferred requests after new ones" internal/engine/timeline/group_commit.go 's/append\(deferred, g\.pending\.\.\.\)/append(g.pending, deferred...)/' DeferredAppendsFirst internal/engine/timeline
mutant "create a missing log that must exist" $log/pebblelog.go 's/ErrorIfNotExists: +o\.MustExist,/ErrorIfNotExists: o.ReadOnly,/' 'MustExistIsNotCreated' $log
mutant "leave the spare space to other programs" $log/observed_fs.go 's/!f\.spare\.Release\(\)/true/' 'SpareSpace' $log
mutant "do not store the position of the records" internal/platform/datadir/marker.go 's/return m\.writeRecord\(2, n\)/return nil/' 'DamagedDirectories' internal/platform/datadir
mutant "create new stores next to existing files" internal/platform/datadir/open.go 's/f\.checkFilesAlone\(\), //' 'DamagedDirectories' internal/platform/datadir
mutant "start without the users' files" internal/platform/datadir/check.go 's/if s != Serving \{/if s != "" {/' 'MissingFilesDir' internal/platform/datadir
mutant "serve before the directory of the files exists" internal/platform/datadir/open.go 's/createFilesDir\(dir\); err/error(nil); err/' 'CreateTheFilesDir' internal/platform/datadir
mutant "treat a damaged manifest as truncated" $log/manifest.go 's/if next := |isIncompleteEnd\(b, at\) \{/true {/' 'Manifests' $log
mutant "commit records without a sync" internal/engine/sqldb/sqlite.go 's/synchronous\(FULL\)/synchronous(OFF)/' EachCommitIsSynced internal/engine/sqldb
mutant "skip the comparison of pages with checksums" internal/engine/sqldb/checksumvfs/checksumvfs.go 's/return binary\.BigEndian\.Uint64\(page\[end:\]\) == .*/return end > 0/' 'ChangedByte' internal/engine/sqldb
mutant "omit the page number from the checksum" internal/engine/sqldb/checksumvfs/checksumvfs.go 's/make\(\[\]byte, 0, 4\), number\)/make([]byte, 0, 4), 0)/' 'Exchanged' internal/engine/sqldb
mutant "answer before records are committed" internal/engine/sqldb/group_commit.go 's/^\t\t\td\.commit\(jobs\)$/\t\t\tgo d.commit(jobs)/' 'ConcurrentWriters|CachedStatementsFollow|CloseAnswers' internal/engine/sqldb
mutant "roll back all writers when one is cancelled" internal/engine/sqldb/group_commit.go 's/failed == nil \|\| errs\.Is/failed != nil || errs.Is/' DoesNotAffectOthers internal/engine/sqldb
mutant "keep the changes of a rejected writer" internal/engine/sqldb/group_commit.go 's/ROLLBACK TO writer; RELEASE writer/RELEASE writer/' BatchesBeforeAnError internal/engine/sqldb
mutant "keep an unlimited number of prepared statements" internal/engine/sqldb/statement_cache.go 's/c\.recent\.Len\(\) <= c\.most/true/' StatementCache internal/engine/sqldb
mutant "share a prepared statement that has open rows" internal/engine/sqldb/statement_cache.go 's/^\tdelete\(c\.byQuery, query\)$/\tif true { return e.Value.(cachedStatement).statement }/' OpenRows internal/engine/sqldb
mutant "cancel a commit that waits for the standby" internal/engine/sqldb/postgres.go 's/l\.BlockCancel\(true\)/l.BlockCancel(false)/' WithoutTheStandby internal/engine/sqldb
mutant "admit connections whatever the processors do" internal/base/overload/accept_rate.go 's/busy > busyShare/busy > 9/' BusyProcessors internal/app
mutant "halve the rate of new connections however busy the processors are" internal/base/overload/accept_rate.go 's/max\(busyShare\/busy, acceptFall\)/acceptFall/' BusyProcessors internal/app
mutant "index while a crowd connects" internal/service/search/pacer.go 's/p\.crowded\(\) \&\& time/p.processors < 0 \&\& time/' PacerOfACrowd internal/service/search
mutant "rest for ever while a crowd connects" internal/service/search/pacer.go 's/time\.Now\(\)\.Before\(end\)/!end.IsZero()/' PacerOfACrowd internal/service/search
mutant "index a few documents at once" internal/service/search/pacer.go 's/max\(times\*worked, restLeast\)/times*worked/' 'TestPacer$' internal/service/search
mutant "yield while all appends wait for the flush" internal/engine/timeline/pebblelog/yield.go 's/case s\.begun\.Load\(\):/case s.yieldTo == nil:/' AStallEnds internal/engine/timeline/pebblelog
mutant "ask for threads for each held message" internal/transport/gateway/held_sends.go 's/s\.failedAt\.Swap\(second\) != second/second > 0/' HeldMessagesGetThreads internal/transport/gateway
mutant "leave threads behind after a crowd" internal/app/threads.go 's/set\(t\.processors\) \}/_ = t.processors }/' CrowdsGetThreads internal/app
mutant "hash passwords without a rest" internal/base/auth/password.go 's/if p\.busy\(\)/if false/' BusyProcessors internal/base/auth
mutant "use answers of a primary that was silent" internal/engine/sqldb/pglink/silence.go 's/^\t\treturn false$/\t\treturn true/' AnswersAfterASilence internal/engine/sqldb/pglink
mutant "treat a cancelled wait as a commit" internal/engine/sqldb/pglink/pglink.go 's/l\.unconfirmed\.Store\(true\)/l.unconfirmed.Store(false)/' WithoutTheStandby internal/engine/sqldb

# Each message is stored once, with a unique sequence number.
mutant "forget retries at a restart" $log/append.go 's/seq, err := s\.log\.getUvarint\(key\)/seq, err := uint64(0), error(nil)/' 'PowerCut$' $log
mutant "forget a retry while its first attempt is in the batch" $log/append.go 's/first := f\.tokens\[string\(key\)\]; first != nil/first := f.tokens[string(key)]; first != nil \&\& first.Seq == 0/' 'Log|RetryStorm' $log internal/app/apptest
mutant "treat any counter as new" $log/append.go 's/a\.Token\.Counter > highest \{/a.Token.Counter > min(highest, 0) {/' 'Log' $log
mutant "use a sequence number twice" $log/append.go 's/^\ttail\.Seq\+\+$/if tail.Seq%20 != 7 || a.SetAccess { tail.Seq++ }/' 'Log' $log
mutant "forget retries after a thousand entries" $log/append.go 's/^\tseq, err := s\.log\.getUvarint\(key\)$/&\n\tif t, _ := s.tail(a.Key); t != nil \&\& t.Seq > seq+1000 {\n\t\tseq = 0\n\t}/' 'Log/a_retry' $log
mutant "forget retries after two minutes" $log/pebblelog.go 's/^\ttick := time\.NewTicker\(time\.Second\)$/&\n\tforget := time.After(2 * time.Minute)/; s/^\t\tcase <-tick\.C:$/\t\tcase <-forget:\n\t\t\t_ = l.db.DeleteRange([]byte{rowToken}, []byte{rowTail}, pebble.NoSync)\n&/' AnyTime $log
mutant "record the first entry of a batch as its author's latest" $log/append.go 's/^\tif a\.Author != 0 \{$/\tif a.Author != 0 \&\& f.authors[timeline.AuthorKey{Key: a.Key, Author: a.Author}] == nil {/' 'Log/of_an_author' $log
mutant "keep trimmed entries that share a row" $log/post.go 's/, l\.trimRun\(b, k, head\)//' 'PostsShareRows' $log
mutant "read entries of a row that are below the position" $log/read.go 's/return e\.Seq <= above/return false/' 'PostsShareRows|TestLog$' $log
mutant "start with the old epoch" $log/pebblelog.go 's/l\.options\.Epoch\) \+ 1$/l.options.Epoch)/' 'PowerCut$' $log
mutant "hide a corrupt entry by the next seek" $log/read.go 's/if it\.Error\(\) != nil \{ \/\/ the next/if it.Error() != nil \&\& total == 0 { \/\/ the next/' TestCorruptionIsReported $log
mutant "continue with the old epoch's numbers" $log/post.go 's/max\(ends\.last, uint64\(l\.epoch\)<<32\)/ends.last/' 'PowerCut$|Log' $log
ids=sdk/go/ids
mutant "trust the wall clock for ids" $ids/flakes.go 's/now > at:/now != at:/; s/ms < began \{/ms < began-3_600_000_000 {/' . internal/platform/idgen
mutant "wait until a clock that stepped back by a second has caught up" $ids/flakes.go 's/^const maxStepBack = .*$/const maxStepBack = time.Second/' StepsBack internal/platform/idgen
mutant "trust the wall clock for messages' ids" $ids/readables.go 's/max\(now, last\+1\)/now/' . internal/platform/idgen
mutant "start a lease below its high-water mark" internal/platform/idgen/worker_lease_acquire.go 's/max\(now, old\.Mark, /max(now, /' AnySchedule internal/platform/idgen
mutant "issue ids above the high-water mark" $ids/flakes.go 's/end > g\.to\.Load\(\)/end > g.to.Load()+5000/' AnySchedule internal/platform/idgen
mutant "issue message ids above the high-water mark" $ids/readables.go 's/case ms >= to:/case ms >= to+5000:/' AnySchedule internal/platform/idgen
mutant "reuse the worker id of a copied disk" internal/platform/idgen/worker_lease_acquire.go 's/r\.Machine == mine \&\& \(!l/(!l/' AnySchedule internal/platform/idgen
mutant "keep a worker id that was refused" internal/platform/idgen/worker_lease.go 's/^\t\tif mine \{$/\t\tif mine || err == nil {/; s/l\.Raise\(time\.UnixMilli\(l\.row\.Mark\)\)$/l.Raise(time.UnixMilli(next.Mark))/' AnySchedule internal/platform/idgen

# The same for PostgreSQL, where several nodes write.
pg=internal/engine/timeline/pglog
mutant "acknowledge before the commit" $pg/commit.go 's/^\t\terr = r\.read\(statement, .*$/&\n\t\tif statement == 2 \&\& err == nil {\n\t\t\t_ = p.Close()\n\t\t\treturn r, nil\n\t\t}/' AFailedCommit $pg
mutant "append without the partition's tail" $pg/commit.go 's/ ORDER BY partition FOR UPDATE`/ ORDER BY partition`/' 'TwoNodes' $pg
mutant "lock tails in no fixed order" $pg/commit.go 's/ ORDER BY partition FOR UPDATE`/ ORDER BY random() FOR UPDATE`/' 'BatchesDoNotDeadlock' $pg
mutant "treat any token as new" $pg/commit.go 's/^\t\tcoalesce\(k\.seq, s\.seq\) IS NULL AND /\t\t/; s/INSERT INTO log_(tokens|sums) (.*)$/INSERT INTO log_\1 \2/; s/AND counter IS NOT NULL/& AND stored IS NULL/' 'Log|TwoNodes' $pg
mutant "treat a token above the highest as new" $pg/commit.go 's/ON k\.sender = u\.sender AND/ON u.counter <= (SELECT max(counter) - 1 FROM log_tokens h WHERE h.sender = u.sender AND h.device = u.device) AND k.sender = u.sender AND/' 'Log|TwoNodes' $pg
mutant "accept an older access version" $pg/commit.go 's/u\.if_access = coalesce\(t\.access, 0\)/u.if_access <= coalesce(t.access, 0)/' 'Log' $pg
mutant "forget retries after a thousand entries, in PostgreSQL" $pg/commit.go 's/ AND k\.id = u\.id$/& AND k.seq > coalesce(t.seq, 0) - 1000/' 'Log/a_retry' $pg
mutant "record the first entry of a batch as its author's latest, in PostgreSQL" $pg/commit.go 's/ORDER BY id, author, seq DESC/ORDER BY id, author, seq/' 'Log/of_an_author' $pg
mutant "resend a statement whose outcome is unknown" $pg/writer_session.go 's/^\t\t\tstored = \&savedResults.*$/\t\t\t_ = stored/' 'LostAnswers' $pg
mutant "accept a late transaction" $pg/commit.go 's/ AND NOT ended FOR UPDATE/ FOR UPDATE/' 'LostAnswers' $pg
mutant "post in an old term" $pg/post.go 's/ AND t\.term = u\.term$/ AND t.term >= u.term/' 'OldTerm' $pg
mutant "acquire a partition in another log's term" $pg/records.go 's/term = \$2 AND holder = \$3\)/term = $2)/' 'OldTerm' $pg
mutant "acquire a partition during a post" $pg/post.go 's/ORDER BY t\.partition FOR SHARE OF t$/ORDER BY t.partition/' 'OldTerm' $pg
mutant "commit without a sync" internal/engine/sqldb/pglink/pglink.go 's/"synchronous_commit": +"on"/"synchronous_commit": "off"/' 'Durable' $pg

# The same for Cassandra.
cassandra=internal/engine/timeline/cassandralog
mutant "skip a batch that may still arrive" $cassandra/records.go 's/if never, err = stored\.voidBatch\(ctx, r\); never/if never = void; never/' OnlyVoidedBatches $cassandra

# Counters: numbers are unique and ascending.
ids=internal/platform/idservice
mutant "start a sequence below its bound" $ids/section_store.go 's/= max\(old\.Mark, t\.Last\), /= max(old.Mark, t.Step)-t.Step, /' 'Sequence|Owner|Bound' $ids
mutant "raise the bound of another holder" $ids/section_store.go 's/ \|\| stored\.Term != term \|\| stored\.Mark < old \|\| stored\.Mark > max\(old, tried\) \{/ || stored.Term < 1 {/' Bound $ids
mutant "take over a sequence without a delay" $ids/section_owner.go 's/return o\.config\.Exclusive \|\| o\.remaining\(holder, beat\) <= 0/return o.config.Exclusive || o.remaining(holder, beat) <= o.config.Lease/' 'Sequence|Owner' $ids
mutant "hold a lease by the wall clock alone" internal/platform/lease/validity.go 's/min\(monotonic-int64\(at\.monotonic\), wall-at\.wall\)/wall-at.wall/' EarlierClock internal/platform/lease
mutant "issue sequence numbers without a lease" $ids/section_owner.go 's/return !h\.ended\.Load\(\) && .*$/return !h.ended.Load() \&\& h.validity.Generation() > 0/' 'Sequence|Owner|Wall' $ids
mutant "issue sequence numbers after a suspension" internal/platform/lease/validity.go 's/min\(monotonic-int64\(at\.monotonic\), wall-at\.wall\)/monotonic-int64(at.monotonic)/' Wall $ids
mutant "declare a holder dead without observation" internal/platform/lease/heartbeats.go 's/^\tif forget \{$/\tif forget \&\& h.seen == nil {/' Silence internal/platform/lease
mutant "issue a number from two ranges" $ids/counter_store.go 's/first = t\.Last \+ 1/first = max(t.Last, 1)/' Segment $ids
mutant "forget the numbers of a deleted tag" $ids/tags.go 's/last := max\(t\.Last, old\.Last\)/last := t.Last/; s/if last > old\.Last \{/if last > 1<<62 {/' Segment $ids
mutant "wrap a rule's digits" $ids/counter_store.go 's/most-min\(uint64\(last\), most\)/most/; s/first = uint64\(last\) \+ 1/first = uint64(last)%most + 1/' 'Rule|Day' $ids
mutant "let the date of a rule go back" $ids/rule_numbers.go 's/case back <= r\.maxStepBack:/case back <= 0:/' 'Rule|Day' $ids
mutant "grow stores before all agree" $ids/multiprimary_grow.go 's/^\t\tcapped\.ceiling = g\.ceiling$/\t\tcapped.ceiling = maxNumber/' Growth $ids
mutant "forget the numbers of a node's other stores" $ids/multiprimary_store.go 's/max\(uint64\(last\), l\.above, above\)/max(uint64(last), l.above, min(above, 0))/' MultiPrimary $ids

# Each entry reaches every recipient.
mutant "lose one delivery in 10,000" internal/service/fanout/dispatcher.go 's/^\tconversation := id\.Conversation\(e\.Key\.ID\)$/&\n\tif e.Seq%10_000 == 300 {\n\t\treturn items, nil\n\t}/' Killed internal/app/faulttest
mutant "let a full cache hide the highest counter of a device" internal/engine/timeline/pebblelog/highest.go 's/\(ofCommitter \|\| len/(len/' ALowerCounter internal/engine/timeline/pebblelog
mutant "keep the tail of a feed after an append" $log/append.go 's/^\tif f\.feeds \{/\tif f.feeds \&\& commits != nil {/' TailsOfFeedsAreCached $log
mutant "keep the tail of a feed after an expiry" $log/expire.go 's/l\.feeds\.expired\(k, head\)/l.feeds.expired(k, old)/' TailsOfFeedsAreCached $log
mutant "cache the tail of a feed from before a change" $log/cached_tails.go 's/case c\.read != 0:/case c.read != 0 \&\& k.ID == 0:/' AChangeDuringARead $log
mutant "cache the tail of a feed for another read" $log/cached_tails.go 's/f\.tails\[k\.ID\]\.read == read \{/f.tails[k.ID].read <= read {/' AChangeDuringARead $log
mutant "let retries take a whole step of a broadcast" internal/service/officialaccount/send_messages.go 's/- min\(len\(retries\), budget\/2\)/- len(retries)/' TakeHalfOfAStep internal/service/officialaccount
mutant "forget that a message which is given up may be stored" internal/service/officialaccount/send_broadcast.go 's/deliveryUncertain, errs/deliveryFailed, errs/' BroadcastsThatAreOver internal/service/officialaccount
mutant "answer no deferred message after a later one" internal/service/officialaccount/answer.go 's/ \&\& !deferred \{/ {/' OneConversation internal/service/officialaccount
mutant "call a broadcast sent before its last message" internal/service/officialaccount/broadcast.go 's/if b\.sending \{/if b.sending \&\& b.id == 0 {/' RunsUntilItsLastRecipient ./internal/service/officialaccount
mutant "forget aligners that were killed" internal/service/organization/synchronize.go 's/if err := s\.markInterrupted\(ctx\); err/if err := ctx.Err(); err/' AnAlignerWasKilled internal/service/organization
mutant "forget removals that were killed" internal/service/organization/groups.go 's/aligner, err := s\.registerAlignerOfAll\(ctx, org\)/aligner, err := s.registerAlignerOfAll(ctx, 0*org)/' AnAlignerWasKilled internal/service/organization
mutant "end an alignment from old rows as if it were the newest" internal/service/organization/synchronize.go 's/ELSE CAST\(\$4 AS BIGINT\) END/ELSE pending + 0 * $4 END/' AnAlignmentFromOldRows internal/service/organization
mutant "save the checkpoint before the work is done" internal/service/fanout/dispatcher.go 's/p\.inflight\[n\]\.pending\.Load\(\) == 0/p.inflight[n].pending.Load() >= 0/' Checkpoint internal/service/fanout
mutant "save the newest finished record as the checkpoint" internal/service/fanout/dispatcher.go 's/^\tp\.inflight = p\.inflight\[:copy.*$/&\n\tfor _, b := range p.inflight {\n\t\tif b.pending.Load() == 0 {\n\t\t\tp.completedSeq.Store(b.record)\n\t\t}\n\t}/' Checkpoint internal/service/fanout
mutant "forget the unstored records of a lost partition" internal/service/fanout/queue.go 's/^\t\tif lost\.has\(p\) \{$/\t\tif lost.has(p) \&\& q == nil {/' 'Overtakes|MovedPartition' internal/service/fanout
mutant "send past a lost partition" internal/service/fanout/peers.go 's/lost != 0 \&\& n < len\(payloads\) \{/n < 0 {/' LostPartition internal/service/fanout
mutant "send to two owners at once" internal/service/fanout/queue.go 's/^\tof \&= q\.nonEmpty \&\^ q\.sending$/\tof \&= q.nonEmpty/' QueuesKeepTheirOrder internal/service/fanout
mutant "post after a lost partition" internal/service/fanout/lane.go 's/t\.of\&l\.partitions\&\^l\.lost\)/t.of\&l.partitions)/' PostedAfter internal/service/fanout
mutant "buffer every announced record" internal/service/fanout/buffer.go 's/> sharedBytes \{/> 1<<40 {/' BufferedBytesAreBounded internal/service/fanout
mutant "keep counting released records as buffered" internal/service/fanout/buffer.go 's/^\tp\.shared\.used\.Add\(int64\(-p\.sharedUse\(0, 0\)\)\)$//' 'BufferedBytesAreBounded|Shared' internal/service/fanout
mutant "keep a grant's context after the part was lost" internal/platform/cluster/rebalance.go 's/^\tl\.cancel\(\)$/\t_ = l.cancel/' OneOwnerAtATime internal/platform/cluster
mutant "accept the announcement of a process that is gone" internal/platform/directory/owner.go 's/ \|\| r == nil \|\| r\.process != a\.process:$/ || r == nil:/' OtherRegistrations internal/platform/directory
mutant "accept an announcement to an earlier owner" internal/platform/directory/owner.go 's/^\tcase a\.term != o\.term \|\| r == nil/\tcase r == nil/' OtherRegistrations internal/platform/directory
mutant "overwrite a lease that another node changed" internal/platform/lease/row.go 's/ AND term = v\.column8 AND mark = v\.column9/ AND v.column8 + v.column9 >= 0/' 'ARowChanges|ManyRows' internal/platform/lease
mutant "acquire the outbox in an expired term" internal/platform/job/lease.go 's/\} else if old\.Term >= g\.Term \{/} else if old.Term > g.Term+99 {/' AnEarlierGrant internal/platform/job
mutant "let the term of a partition decrease" internal/engine/timeline/terms.go 's/^\t\tif now > term \{$/\t\tif now > term+9 {/' 'Log/the_term' internal/engine/timeline/memlog
mutant "keep a term that is older than the store's" internal/platform/cluster/decisions.go 's/^\t\t\tcase granted && held\.Latest\(\) >= o\.term:$/\t\t\tcase granted \&\& held.Latest() > o.term+99:/' TheTermRises internal/platform/cluster
mutant "acquire a partition beyond its grant" internal/service/fanout/takeover.go 's/^\tctx, cancel := grant\.During\(ctx\)$/\tctx, cancel := context.WithCancel(ctx)/' CancelsItsAcquire internal/service/fanout
mutant "miss who hides while a watch is answered" internal/service/presence/watch.go 's/^\t\tif w\.missed \{/\t\tif false {/' HidesDuringAWatch internal/service/presence
mutant "let hidden users watch no one" internal/service/presence/watch.go 's/^\tif len\(users\) == 0 \|\| (.*) \{$/\tif set, _ := s.deps.SettingsOf(ctx, []id.User{by}); Hides(set[by]) || len(users) == 0 || \1 {/' HiddenUser internal/service/presence
mutant "end the watches of a resumed session" internal/service/presence/watch.go 's/^\tif s\.watched\[c\.Session\]\.generation == generation \{$/\t{/' ResumedSession internal/service/presence
mutant "keep the earlier watches of a resumed session" internal/service/presence/watch.go 's/^\tif s\.watched\[c\.Session\]\.generation == generation \{$/\tif _, back := s.deps.Directory.Generation(c.User, c.Session); !back \&\& generation != 0 {/' ResumedSession internal/service/presence
mutant "watch for a connection that has ended" internal/service/presence/watch.go 's/err := ctx\.Err\(\); err != nil/err := ctx.Err(); false/' ThatEndedDoesNotWatch internal/service/presence
# Users who hide their presence get pushes like all others, also on their first connection, and if another node owns their presence.
mutant "push nothing to users who hide their presence" internal/app/app.go 's/Directory: n\.directory, Bus/Directory: visible{n.directory, n}, Bus/; $s/$/\n\ntype visible struct {\n\tfanout.Directory\n\tn *Node\n}\n\nfunc (v visible) Locate(u id.User) []string {\n\tif hides, _ := v.n.hidesPresence(context.Background(), u); hides {\n\t\treturn nil\n\t}\n\treturn v.Directory.Locate(u)\n}/' UsersWhoHidePresenceGetPushes internal/app/apptest
mutant "push no presence to users who hide theirs" internal/service/presence/push.go 's/^\tfor w, f := range frames \{$/&\n\t\tif set, _ := s.deps.SettingsOf(ctx, []id.User{w}); Hides(set[w]) {\n\t\t\tcontinue\n\t\t}/' HiddenUserReceivesPushes$ internal/service/presence
mutant "forget the connections of a user whose visibility changes" internal/platform/directory/directory.go '/^func \(s \*Service\) VisibilityChanged/s/$/\n\tdelete(s.shard(u).users, u)/' HiddenUserReceivesPushes$ internal/service/presence
mutant "forget the connections of a user of another node whose visibility changes" internal/platform/directory/owner.go 's/^\t\tcase aboutVisibility:$/&\n\t\t\tif p := s.shard(u).users[u]; p != nil {\n\t\t\t\tp.remote = nil\n\t\t\t}/' HiddenUserReceivesPushesOfAnotherNode internal/service/presence
mutant "greet a first connection before the user's owner knows it" internal/platform/directory/await.go 's/^(func .* Announced\(.*\) )\{.*\}$/\1{}/' 'AnnouncedConnections|OfAnotherNode' internal/service/presence
mutant "read the tail of a stream before the user's owner knows the connection" internal/transport/gateway/greet.go 's/^\ts\.deps\.Directory\.Announced\(ctx, .*$//' TailsAfterRegistration internal/transport/gateway
mutant "report no first connection to the user's owner" internal/platform/directory/directory.go 's/report, changed := first \|\| wasAwayHere/report, changed := first \&\& wasAway || wasAwayHere/' 'AnnouncedConnections|OfAnotherNode' internal/service/presence
mutant "assume that an owner still has the registration" internal/platform/directory/verify_registration.go 's/^\t\tr\.confirmed = confirmation\{\}$/\t\tr.confirmed.at = of.at/' ForgotIsSynced internal/service/presence
mutant "report a node as reachable after one answer" internal/platform/cluster/probe.go 's/r\.unreachable && now\.Sub\(r\.answeringSince\) < recoveredAfter/false/' UnreachableNodes internal/platform/cluster
mutant "stop all probes while one node does not answer" internal/platform/cluster/probe.go 's/^\t\t\tgroup\.Go\(func\(\) \{ p\.probe\(ctx, node, r\) \}\)$/&\n\t\t}\n\t\tif group.Wait(); ctx.Err() != nil {\n\t\t\treturn nil/' 'TopicsTravel' internal/platform/cluster
mutant "forget events that could not be dispatched" internal/platform/job/outbox.go 's/^\t\treturn 0, err$/\t\t_ = err/' StoppingDeletesNoEvents internal/platform/job
mutant "dispatch events without checking the lease" internal/platform/job/lease.go 's/err != nil \|\| !current \{$/err != nil || current != current {/' DispatchesNothing internal/platform/job
mutant "let the end of one merged write's context fail the others" internal/engine/sqldb/merged.go 's/m\.write\(context\.WithoutCancel\(ctx\), group\)/m.write(ctx, group)/; s/m\.gather\(group\)/if err := ctx.Err(); err != nil { return err }/' MergedWritesAreBounded internal/engine/sqldb
mutant "merge writes without a bound" internal/engine/sqldb/merged.go 's/if m\.waiting >= maxMergedWaiting \{/if m.waiting < 0 {/' MergedWritesAreBounded internal/engine/sqldb
counter=internal/platform/counter
mutant "change sets without their sizes" $counter/change.go 's/^(\tbucket := s\.bucket\(\))$/\tclear(deltas)\n\1/' 'SetsAreThoseOfAModel' $counter
mutant "answer a change before its commit" $counter/change.go 's/if err := s\.changes\.Write\(ctx, r\); err != nil \{/go s.changes.Write(context.WithoutCancel(ctx), r)\n\tif err := ctx.Err(); err != nil {/' 'AKilledProcessLosesNoAnswer|SetsAreThoseOfAModel' $counter
mutant "count the removal of who is no member" $counter/change.go 's/return m\.changed \&\& m\.stored/return m.changed/' 'SetsAreThoseOfAModel' $counter
mutant "let all nodes change one row of a size" internal/platform/cluster/bucket.go 's/ % maxBuckets\)$/ % 1)/' NodesDoNotConflict $counter
mutant "repair a size twice" $counter/reconcile.go 's/WHERE counter_counts\.n = \$5/WHERE counter_counts.n = $5 OR TRUE/' TestSizesAreCorrectedWhileSetsChange $counter
mutant "leave out sets behind the first batch" $counter/reconcile.go 's/if last = false; k\.compare/if k.compare/' TestWrongSizesAreFoundAndCorrected $counter
mutant "show a negative size" $counter/figures.go 's/= uint64\(max\(n, 0\)\) \/\/ it is/= uint64(n) \/\/ it is/' TestWrongSizesAreFoundAndCorrected $counter
mutant "overwrite the views that another node has written" $counter/views.go 's/WHERE counter_views\.version = excluded\.version - 1/WHERE TRUE/' ViewsOfOneBucketAreMerged $counter
mutant "forget views that could not be written" $counter/views.go 's/^\t\tv\.waiting\[k\] = sketch$/\t\t_ = sketch/' ViewsOfOneBucketAreMerged $counter
mutant "verify no counters" internal/tool/verify/counters.go 's/ORDER BY kind, subject`/LIMIT 0`/' DamageIsFound internal/tool/verify

# Posts that are ranked for a reader.
ranking=internal/service/ranking
mutant "rank posts of muted authors" $ranking/page.go 's/silenced\[author\] \|\|/silenced[0] ||/' 'RandomSchedules' $ranking
mutant "go on with authors of whom less is wanted" $ranking/page.go 's/ \|\| p\.less\.hides\(author, p\.nowMs\)//' 'RandomSchedules|LessOfAnAuthor' $ranking
mutant "show posts without asking who may see them" $ranking/page.go 's/VisiblePosts\(ctx, p\.tx, p\.reader, /VisiblePosts(ctx, p.tx, id.User(list[0].post), /' 'RandomSchedules' $ranking
mutant "repeat the deferred posts of a page" $ranking/page.go 's/order = order\[taken:\]/order = order[min(taken, p.limit):]/' 'RandomSchedules' $ranking
mutant "lose the deferred posts of a page" $ranking/page.go 's/p\.rest = append\(p\.rest, e\)/_ = e/' 'RandomSchedules' $ranking
mutant "read a page in many rounds" $ranking/page.go 's/max\(laterRound, p\.limit/max(0, p.limit/' '^TestPagesTakeFewRounds$' $ranking
mutant "keep the views of all deferred posts" $ranking/page.go 's/if len\(p\.posts\)\+len\(p\.kept\) < p\.limit \&\&/if/' '^TestDeferredViewsAreBounded$' $ranking
mutant "keep deferred views of any size" $ranking/page.go 's/ \&\& p\.size\+p\.keptSize <= maxPageBytes//' '^TestDeferredViewsAreBounded$' $ranking
mutant "let one author fill a page" $ranking/page.go 's/>= max\(1, p\.limit\*postsPerAuthor\/authorWindow\):/>= p.limit:/' 'RandomSchedules' $ranking
mutant "accept the token of another reader" $ranking/page.go 's/"for you "\), uint64\(reader\)\)/"for you "), 0)/' 'OrdersAreStable' $ranking
mutant "keep all requests for less of a reader" $ranking/show_less.go 's/LIMIT 1 OFFSET \$3\)\)`/LIMIT 1 OFFSET 1000 * $3))`/' 'RequestsForLessAreBounded' $ranking
mutant "let own posts displace candidates" internal/service/feed/home_posts.go 's/^\th\.own = nil$//' '^TestHomePostsAreOfOthers$' internal/service/feed
mutant "order kinds by scores alone" $ranking/diversify.go 's/ \|\| c\.kind == avoid \{/ {/' 'Variety' $ranking
mutant "rank posts that are all alike first" $ranking/diversify.go 's/c\.score \+ diversity\*c\.alike/c.score/' '^TestDiversity$' $ranking
mutant "forget with which earlier post one is alike" $ranking/diversify.go 's/max\(other\.alike, other/max(0, other/' '^TestDiversity$' $ranking
mutant "have vectors of posts for some" $ranking/neighbours.go 's/if isForEveryone\(p\) \{/if p != nil {/' '^TestNeighbours$' $ranking
mutant "keep vectors of deleted posts" $ranking/neighbours.go 's/^\t\tn\.index\.Delete\(post\)$//' '^TestNeighbours$|^TestVectorsAreBounded$' $ranking
mutant "keep vectors of edited posts" $ranking/neighbours.go 's/was == editedMs/was == was/' '^TestNeighbours$' $ranking
mutant "have vectors of all posts" $ranking/neighbours.go 's/if len\(n\.known\)\+more <= n\.max \{/if true {/' '^TestVectorsAreBounded$' $ranking
mutant "log all that is shown" $ranking/impressions.go 's/if len\(l\.waiting\) < flushLists \{/if true {/' '^TestTheLogIsASample$' $ranking
mutant "lose clicks on pages that are not written" $ranking/impressions.go 's/p\.clickedMs = nowMs/_ = nowMs/' '^TestExamples$' $ranking
mutant "count late clicks" $ranking/impressions.go 's/now-clickMs\)/0)/' '^TestExamples$' $ranking
mutant "count likes from before" $ranking/examples.go 's/at >= r\.atMs \&\& //' '^TestExamples$' $ranking
mutant "train with what nobody saw" $ranking/examples.go 's/e\.Clicked \|\| e\.DwellMs >= seenMs \|\| a\.seen\[r\.post\]/true/' '^TestExamples$' $ranking
mutant "keep what was shown for ever" $ranking/impressions.go 's/s\.nowMs\(\) - keptMs/int64(0)/' '^TestExamples$' $ranking
mutant "have posts that were on the screen for a moment as examples" $ranking/examples.go 's/e\.DwellMs >= seenMs/e.DwellMs > 0/' '^TestDwells$' $ranking
mutant "record a dwell in place of a longer one" $ranking/impressions.go 's/ AND dwell_ms < \$1`/`/' '^TestDwells$' $ranking
mutant "lose dwells of pages that are not written" $ranking/impressions.go 's/p\.dwellMs = max\(p\.dwellMs, dwells\[p\.post\]\)/_ = dwells/' '^TestDwells$' $ranking
mutant "log what is shown without personalization" $ranking/page.go 's/!ranked\.notPersonal/true/' '^TestNoPersonalization$' $ranking
mutant "log what was shown before personalization was turned off" $ranking/impressions.go 's/if off\[l\.reader\] \{/if off[0] {/' '^TestPagesBefore' $ranking
mutant "note clicks without personalization on pages that wait" $ranking/impressions.go '/\) RecordClicks\(/,/^}/s/^\tlist, err := postIDs\(r\.Posts\)$/\tlist, err := postIDs(r.Posts); s.impressions.record(reader, list, nil, s.nowMs())/' '^TestPagesBefore' $ranking
mutant "rank by what was done without personalization" $ranking/candidates.go 's/; !t\.notPersonal \{/; true {/' '^TestNoPersonalization$' $ranking
mutant "train with readers without personalization" $ranking/examples.go 's/ \|\| off\[r\.reader\]/ || off[0]/' '^TestNoPersonalization$' $ranking
mutant "record clicks without personalization" $ranking/impressions.go 's/err != nil \|\| off\[reader\]/err != nil || off[0]/' '^TestNoPersonalization$' $ranking
mutant "record what the terminal opens of each list" internal/tool/terminal/ranking.go 's/if isFirst \{/if isFirst || post != 0 {/' '^TestOpenedPosts$' internal/tool/terminal
mutant_ts "record opened posts again and again" src/impressions.ts 's/i\.opened \&\& !i\.openedRecorded\)\.slice/i.opened).slice/' test/unit/ranking.test.ts
mutant_ts "record opened posts without personalization" src/impressions.ts 's/if \(this\.options\.isOff\(\)\) return this\.forget\(\);//' test/unit/ranking.test.ts
mutant_ts "lose impressions that could not be recorded" src/impressions.ts 's/\} catch \{/} catch { for (const [, i] of opened) i.openedRecorded = true;/' test/unit/ranking.test.ts
mutant "rank by a model that is not in use any more" $ranking/model.go 's/c != nil \&\& c\.id == n/c != nil/' '^TestModelsRank$' $ranking
mutant "delete the model in use" $ranking/model.go 's/kept\[i\] = \*c\.Value/kept[i] = 0 * *c.Value/' '^TestBadModels$' $ranking
mutant "activate a model that cannot be used" $ranking/model.go 's/list\.Models\[i\]\.Evaluation == nil/false/' '^TestBadModels$' $ranking
mutant "let auditors set weights" internal/transport/rpc/operations.go 's/(SetRankingWeightsProcedure: +)id\.Operator/\1id.Auditor/' '^TestOperatorsSetWeights$' internal/transport/rpc
mutant "name operators who activate models as they like" internal/transport/rpc/rankings.go 's/c\.Role != id\.NoOperator/false/' '^TestOperatorsActivateModels$' internal/transport/rpc
mutant "read damaged models" internal/platform/clickmodel/file.go 's/!= f\.Checksum/== ""/' '^TestFiles$' internal/platform/clickmodel
mutant "read models of other features" internal/platform/clickmodel/file.go 's/slices\.Equal\(m\.Features, features\)/slices.Equal(m.Features, m.Features)/' '^TestBadModels$' $ranking
mutant "train with too little data" internal/platform/clickmodel/clickmodel.go 's/len\(examples\) < MinExamples \|\| clicks < MinClicks/false/' '^TestTooLittleData$' internal/platform/clickmodel
mutant "judge by what a model was fitted to" internal/platform/clickmodel/clickmodel.go 's/== judging \{/!= judging {/' '^TestTrain$' internal/platform/clickmodel
vectors=internal/engine/vectorindex
mutant "find deleted vectors" $vectors/change.go 's/^\t\t\tx\.unlink\(n, s, level\)$/\t\t\t_ = n/' '^TestRandomChanges$' $vectors
mutant "link the nearest vectors alone" $vectors/change.go 's/x\.choose\(found, x\.config\.Links\)/found[:1]/' '^TestRecall$' $vectors
mutant "return similarities of packed vectors" $vectors/vectorindex.go 's/found\[i\]\.similarity = Product\(query, x\.vector\(n\.slot\)\)/found[i].similarity = n.similarity/' '^TestRecall$' $vectors
mutant "forget that packed dimensions are shifted" $vectors/packed.go 's/even\+odd-f\.excess/even+odd/' '^TestPacked$' $vectors
mutant "do not use memory of deleted vectors again" $vectors/change.go 's/x\.free = append\(x\.free, s\)/_ = s/' '^TestRandomChanges$' $vectors
mutant "keep more links than there is room for" $vectors/change.go 's/len\(x\.links\[s\]\[level\]\) <= most \{/true {/' '^TestRandomChanges$' $vectors
mutant "explain to users of all kinds" internal/transport/rpc/rankings.go 's/r\.Explain \&\& !c\.Server/r.Explain \&\& false/' 'ForYouByRPC' internal/transport/rpc
mutant "keep a number that goes back to its default" internal/platform/runtimeswitch/numbers.go 's/DELETE FROM runtime_numbers WHERE name = \$1`/DELETE FROM runtime_numbers WHERE name = $1 AND FALSE`/' 'NumbersOfAllNodes' internal/platform/runtimeswitch

# Likes, favourites, views, and what is sorted by them.
engagement=internal/service/engagement
mutant "like what is not seen" $engagement/like.go 's/err == nil && !ok \{/err == nil \&\& !ok \&\& o.id == 0 {/' 'WhatIsNotSeen|ListsEqual' $engagement
mutant "answer a check by that of another post" $engagement/may_see.go 's/group\.checks\[check\{n, u\}\] = true/for one := range group.checks { group.checks[one] = group.checks[one] || one.user == u }/' 'ChecksOfMany' $engagement
mutant "let checks join a group that is being read" $engagement/may_see.go 's/c\.open, open = nil, false/open = false/' 'ChecksOfMany' $engagement
mutant "like a comment that is deleted" internal/service/comment/visible.go 's/err == nil && r\.deleted \{/err == nil \&\& r.deleted \&\& r.id == 0 {/' 'WhatIsNotSeen' $engagement
mutant "end a list at a full page" internal/base/outputlimit/fill_page.go 's/len\(rows\) == n\) \{/len(rows) > n) {/' PageMayEndWithARead internal/base/outputlimit
mutant "read a whole list for one page" internal/base/outputlimit/fill_page.go 's/examined \+= len\(rows\)/examined += 0/' 'PagesHaveEachEntryOnce' internal/base/outputlimit
mutant "put entries of any size on a page" internal/base/outputlimit/fill_page.go 's/size > maxPageBytes \{/size < 0 {/' 'PagesHaveEachEntryOnce' internal/base/outputlimit
mutant "name users with a block among likers" $engagement/likers.go 's/!blocked\[m\.User\] \{/!blocked[m.User] || m.User > 0 {/' 'LikersLeaveOutBlocks' $engagement
mutant "show posts that the reader does not see" internal/service/feed/visible.go 's/case p\.deleted, p\.hidden:/case p.deleted:/' 'ListsEqualNaive' $engagement
mutant "drop the mark of a like during a round" $engagement/marks.go 's/AND n = \$4`/AND n >= $4`/' 'AMarkThatChanges' $engagement
mutant "rank by counts that another round has replaced" $engagement/marks.go 's/isCurrent\[m\.subject\] = false/isCurrent[m.subject] = true/' 'AMarkThatChanges' $engagement
mutant "begin a round with the first marks again and again" $engagement/rank.go 's/last = marks\[len\(marks\)-1\]$/_ = marks/' 'HotSubjects' $engagement
mutant "keep a post that is shown again out of its lists" internal/service/feed/hide.go 's/return s\.changed\(ctx, tx, Change\{ID: p\.id, Author: p\.author\}\)/return nil/' 'PostsComeBack' $engagement
mutant "mark nothing" $engagement/marks.go 's/for _, o := range list \{$/for _, o := range list[:0] {/' 'HotPostsEqualNaive' $engagement
mutant "show ranks that are newer than the first page" internal/service/comment/rank.go 's/AND r\.since <= \$5 AND r\.until > \$5/AND r.since <= $5 + 1000000 AND r.until > 1000000000/' 'CommentsByLikes' $engagement
mutant "give comments with likes twice" internal/service/comment/rank.go 's/!ranked\[r\.id\] \{/!ranked[r.id] || at.id > 0 {/' 'CommentsByLikes' $engagement
mutant "go on in the newest list of popular posts" $engagement/popular_posts.go 's/if p\.version == 0 \{/if p.version >= 0 {/' 'PagesOfHotPosts' $engagement
mutant "name blocked users in page tokens" internal/base/pagetoken/pagetoken.go 's/s\.aead\.Seal\(nonce, nonce, place, binding\)/append(nonce, place...)/' 'LikersPagesNameNobody' $engagement
mutant "ignore misspelt fields of calls of servers" internal/transport/rpc/body_limits.go 's/lax := p\.access != serverAccess/lax := p.access <= serverAccess/' 'ServersMisspell' internal/transport/rpc
mutant "let one user make a post popular by comments" internal/service/comment/count.go 's/count\(DISTINCT author\)/count(author)/' 'OneUserDoesNot' $engagement
mutant "let one user make a post popular by reposts" internal/service/feed/repost.go 's/count\(DISTINCT author\)/count(author)/' 'OneUserDoesNot' $engagement
mutant "count deleted comments for popular posts" internal/service/comment/count.go 's/kind = \$1 AND NOT deleted AND NOT limited AND subject/kind = $1 AND NOT limited AND subject/' 'OneUserDoesNot' $engagement
mutant "show popular posts that are not for everyone" $engagement/popular_posts.go 's/Audience == feedv1\.Audience_AUDIENCE_EVERYONE/Audience >= feedv1.Audience_AUDIENCE_UNSPECIFIED/' 'HotPostsEqualNaive' $engagement
mutant "keep one viewed post too many" $engagement/view.go 's/int64\(by\), maxHistory\)/int64(by), maxHistory+1)/' 'ViewHistory' $engagement
mutant "edit a post with a preview that nobody signed" internal/tool/terminal/compose.go 's/if isPreviewed \{/if isPreviewed \&\& post == 0 {/' 'EditedPosts' internal/tool/terminal
mutant "overwrite another device's edit of a post" internal/tool/terminal/compose.go 's/, Version: p\.Version\}/}/' 'EditedPosts' internal/tool/terminal
mutant "put a post for friends on a card" internal/tool/terminal/share.go 's/c\.GetAudience\(\) == feedv1\.Audience_AUDIENCE_EVERYONE/c.GetAudience() >= feedv1.Audience_AUDIENCE_UNSPECIFIED/' 'CardsOfPosts' internal/tool/terminal
mutant "count deleted reposts" internal/service/feed/delete.go 's/s\.addRepost\(ctx, tx, p\.repostOf, counted\)/s.addRepost(ctx, tx, p.repostOf, 0*counted)/' 'PostsAndCommentsHaveCounts' internal/transport/rpc
mutant "show all likes as the caller's" internal/service/detail/counts.go 's/ counters\.Figures\(ctx, reader, ids/ counters.Figures(ctx, max(reader, 1<<62), ids/' 'PostsAndCommentsHaveCounts' internal/transport/rpc
mutant "verify no reposts" internal/tool/verify/engagement.go 's/ORDER BY post`/LIMIT 0`/' 'EngagementViolations' internal/tool/verify
mutant "verify no ranks of comments" internal/tool/verify/engagement.go 's/ORDER BY c\.id`/LIMIT 0`/' 'EngagementViolations' internal/tool/verify
cache=internal/platform/cache
mutant "keep what was loaded before an invalidation" $cache/flight.go 's/if f\.kept = s\.flights\[key\] == f; f\.kept \{/if f.kept = true; f.kept {/' 'ALoadFromBefore|LoadsThatEnd' $cache
mutant "let readers after an invalidation join a load from before" $cache/flight.go 's/^\t\tdelete\(s\.flights, key\) \/\/ those.*$//' 'ALoadFromBefore|LoadsThatEnd' $cache
mutant "load from a replica after an invalidation" $cache/flight.go 's/^\t\ts\.primary\[key\] = until$//' ALaggingReplicaLeaves $cache
mutant "let each reader load" $cache/flight.go 's/^\t\t\ts\.flights\[key\], started\[key\] = f, f$/\t\t\tstarted[key] = f/' ConcurrentReadersShare $cache
mutant "forget nothing after missed events" $cache/flight.go 's/^\t\tpart\.InvalidateAll\(\).*$/\t\t_ = part/' MissedEvents $cache
mutant "let all copies end at the same time" $cache/cache.go 's/rand\.Int64N\(max\(fresh\/5, 1\)\) - fresh\/10/rand.Int64N(1)/' CopiesEndAtDifferent $cache
mutant "serve an invalidated copy while loads fail" $cache/flight.go 's/stale := current \&\& f\.hasOld/stale := f.hasOld/; s/^\t\tc\.local\.Invalidate\(key\)$//' CopiesAreServedWhileLoadsFail $cache
mutant "load at each read while loads fail" $cache/flight.go 's/min\(now\+retryStale\.Milliseconds\(\), f\.old\.keptTill\)/min(now, f.old.keptTill)/' CopiesAreServedWhileLoadsFail $cache
mutant "serve old copies for ever" $cache/flight.go 's/ \&\& now < f\.old\.keptTill; stale/; stale/' CopiesAreServedWhileLoadsFail $cache
mutant "end a load with its first reader" $cache/flight.go 's/c\.loading\.Go\(func\(\) \{ c\.fly\(ctx, started\) \}\)/c.fly(ctx, started)/' ACancelledReader $cache
jobs=internal/platform/job
mutant "complete a job that another attempt owns" $jobs/finish.go 's/attempt = \$2 AND state/attempt >= $2 AND state/' 'APausedNodeCannot' $jobs
mutant "claim a job that is running" $jobs/claim.go "s/AND state = 'available' AND due_ms <= .4 RET/AND due_ms <= \$4 RET/" 'AJobIsClaimedOnce' $jobs
mutant "run a job before it is due" $jobs/claim.go 's/due_ms <= \$([34])/due_ms <= $\1 + 9000000000/' 'AScheduledJobWaits' $jobs
mutant "run the least urgent job first" $jobs/service.go 's/\{High, Normal, Low\}/{Low, Normal, High}/' 'PrioritiesAreInOrder' $jobs
mutant "insert a unique job twice" $jobs/insert.go 's/Valid: o\.Unique != ""/Valid: o.Unique == "" \&\& key0/; s/^(\tkey := )/\tkey0 := false\n\1/' 'AUniqueKey' $jobs
mutant "retry a poison job for ever" $jobs/run.go 's/failures >= most \{/failures >= most+999 {/' 'APoisonJob' $jobs
mutant "retry a failed job at once" $jobs/run.go 's/backoff\.After\(int\(failures\), failureFirst, failureMax\)/failureMax - failureMax/' 'DelaysBetweenAttempts' $jobs
mutant "count an interrupted attempt as failed" $jobs/run.go 's/errors\.Is\(cause, errStopping\)/errors.Is(cause, errStuck)/' 'AStoppedNodesAttempt' $jobs
mutant "run a periodic job twice in a period" $jobs/periodic.go 's/next > last\.Mark/next >= last.Mark/' 'APeriodicJobRunsOnce' $jobs
mutant "insert the job of a period that another node has inserted" $jobs/periodic.go 's/^\t\tif err == nil \&\& !taken \{$/\t\tif err == nil \&\& !taken \&\& next == 0 {/' 'APeriodicJobRunsOnce' $jobs
mutant "run each missed period" $jobs/periodic.go 's/Mark: next\}/Mark: max(last.Mark+1, next-3)}/' 'MissedPeriods' $jobs
mutant "insert a periodic job while the last one waits" $jobs/periodic.go 's/^\t\tif err == nil \&\& ended \{$/\t\tif err == nil || ended {/' 'WaitsForTheLast' $jobs
mutant "end a schedule after a wrong clock" $jobs/periodic.go 's/ \|\| next\+1 < last\.Mark$//' 'AWrongClock' $jobs
mutant "let a stuck worker run another job" $jobs/run.go 's/^\t\t\tdefer func\(\) \{ <-returned \}\(\).*$//' 'AWorkerMayIgnore' $jobs
mutant "leave the jobs of a dead process" $jobs/maintain.go 's/if h\.process != s\.process \{/if h.process == "" {/' 'AKilledProcess' $jobs
mutant "leave the jobs of a dead node" $jobs/maintain.go 's/^\t\tcase s\.missing\[h\]:$/\t\tcase h.node == "":/' 'ANodeIsRescued' $jobs
mutant "rescue the jobs of a live node" $jobs/maintain.go 's/ \|\| s\.deps\.Alive\(h\.node\):/:/' 'ANodeIsRescued' $jobs
mutant "rescue the jobs of a node that was missing once" $jobs/maintain.go 's/^\t\tcase s\.missing\[h\]:$/\t\tcase true:/' 'ANodeIsRescued' $jobs
mutant "claim jobs with an empty view of the cluster" $jobs/claim.go 's/if own < 0 \{/if nodes = append(nodes, s.deps.Node); own < -1 {/' 'ANodeThatDoesNot' $jobs
mutant "claim the jobs of a busy node last" $jobs/claim.go 's/cmp\.Compare\(a\.dueMs, b\.dueMs\)/cmp.Compare(a.id%int64(len(nodes)), b.id%int64(len(nodes)))/' 'AnOverdueJob' $jobs
mutant "never claim the jobs of a busy node" $jobs/claim.go 's/\+= peerDelay\.Milliseconds/+= 99 * peerDelay.Milliseconds/' 'AnOverdueJob' $jobs
mutant "forget a claim whose answer was lost" $jobs/cancel.go 's/^\t\t\tlost = append\(lost, c\)$/\t\t\towned[c.id] = true/' 'ALostClaim' $jobs
mutant "retry a dead letter with its failures" $jobs/retry.go 's/ failures = 0,//' 'APoisonJob' $jobs
mutant "run a cancelled job again" $jobs/finish.go 's/^\t\tif cancelling \{$/\t\tif cancelling \&\& o.dueMs < 0 {/' 'ACancelledJobEnds' $jobs
mutant "delete dead letters like other finished jobs" $jobs/maintain.go 's/Discarded: s\.config\.KeepDiscarded/Discarded: s.config.KeepFinished/' 'OldFinishedJobs' $jobs
mutant "store no predecessor of an event" $log/keys.go 's/seq-prev\)/seq)/' Log $log
mutant "read a long first frame over TCP" internal/transport/gateway/input.go 's/cutFrame\(b, f\.maxMessage\)/cutFrame(b, maxFrame)/' LengthsOverTCP internal/transport/gateway
mutant "send a close frame of WebSocket over TCP" internal/transport/gateway/conn.go 's/if \!c\.prefixed \{/if true {/' LengthsOverTCP internal/transport/gateway
mutant "count a connection over TCP only while it is accepted" internal/transport/gateway/tcp.go 's/^\tc\.slot\.Detach\(\)$/\tc.slot.Release()/' ServeTCP internal/transport/gateway
mutant "accept connections over TCP while the server stops" internal/transport/gateway/tcp.go 's/err, code = s\.admit\(\), closeDrain/code = closeDrain/' ServeTCP internal/transport/gateway
mutant "let tokens cross the network in plain text over TCP" internal/app/config/check.go 's/else if public \&\& c\.TLS\.Cert == "" \&\& \!c\.Plaintext \{/else if public \&\& c.TLS.Cert == "" \&\& !c.Plaintext \&\& name == "listen" {/' RemoteAddresses internal/app/config
mutant "give a STOMP receipt before the message is stored" internal/transport/stomp/commands.go 's/^\ts\.pending\[key\] = append/\ts.receipt(f.get("receipt"))\n&/' SendsAreAcknowledged internal/transport/stomp
mutant "acknowledge STOMP messages that wait for their ACK" internal/transport/stomp/deliver.go 's/if len\(s\.outstanding\) > 0 \{/if len(s.outstanding) < 0 {/' MessagesAreDelivered internal/transport/stomp
mutant "skip a gap in the stream of a STOMP client" internal/transport/stomp/deliver.go 's/message\.Position\(e\.Prev\) \!= s\.cursor \&\&/false \&\&/' MessagesAreDelivered internal/transport/stomp
mutant "end a STOMP session before its messages are stored" internal/transport/stomp/deliver.go 's/s\.leaving\.ponged \&\& len\(s\.pending\) == 0/s.leaving.ponged/' DisconnectWaits internal/transport/stomp
mutant "accept any escape in headers of STOMP" internal/transport/stomp/frame.go 's/ok = first \&\& second/ok = first || second || true/' FramesAreDecoded internal/transport/stomp
mutant "take bodies of any size from STOMP clients" internal/transport/stomp/frame.go 's/end-d\.head > maxBody \|\|/false ||/' FramesAreDecoded internal/transport/stomp
mutant "charge no heartbeats of STOMP" internal/transport/stomp/session.go 's/; s\.in\.beats > 0; /; s.in.beats < 0; /' FramesAreCharged internal/transport/stomp
mutant "charge no commands of STOMP" internal/transport/stomp/commands.go 's/smallFrame\.\.\.\)/smallFrame[:0]...)/' FramesAreCharged internal/transport/stomp
mutant "charge no call for a subscription of STOMP" internal/transport/stomp/commands.go 's/s\.network, 1\); err != nil/s.network, 0); err != nil/' SubscriptionsAreCalls internal/transport/stomp
mutant "read any size of a header of the PROXY protocol" internal/base/proxyheader/proxyheader.go 's/len\(b\)\+n > maxSize/len(b)+n < 0/' NoHeaders internal/base/proxyheader
mutant "trust the PROXY protocol of any peer" internal/app/sockets.go 's/s\.listener\.proxied \|\| at/true || at/' TrustedProxies internal/app
mutant "give a proxy any time for its header" internal/app/sockets.go 's/Add\(s\.headerTime\)/Add(time.Hour + s.headerTime)/' HeadersHaveADeadline internal/app
mutant "count connections through a proxy for no address" internal/app/sockets.go 's/Acquire\(network\)/Acquire(netip.Prefix{})/' ProxiesNameTheirClients internal/app
mutant "let syncs of a translator acknowledge" internal/transport/gateway/sync.go 's/if \!c\.keepsAck \{/if true {/' TranslatorsSyncs internal/transport/gateway
mutant "let a message overtake held ones" internal/transport/gateway/fastpath.go 's/h == nil \|\| !h\.enqueueBehind\(d\)/h == nil || true || !h.enqueueBehind(d)/' TestHeldSendsWithoutNumbers internal/transport/gateway
mutant "hold a message behind one without room" internal/transport/gateway/held_sends.go 's/case q\.refused\.Check\(d, time\.Now\(\)\) != nil:/case q.refused.Check(d, time.Now()) != nil \&\& false:/' TestMessagesWithoutRoom internal/transport/gateway
mutant "keep later messages in place of an earlier one" internal/transport/gateway/held_sends.go 's/later := q\.takeLater\(d\.ClientSeq\)/later := q.takeLater(0)/' TestMessagesWithoutRoom internal/transport/gateway
mutant "let messages overtake one that was held too long" internal/transport/gateway/held_sends.go 's/append\(\[\]\*heldSend\{one\}, q\.takeLater\(d\.ClientSeq\)\.\.\.\)/[]*heldSend{one}/' TestMessagesBehindAnOldOne internal/transport/gateway
mutant "hold messages in the order of their refusals" internal/transport/gateway/held_sends.go 's/for i > 0 \&\& q\.sends\[i-1\]/for false \&\& q.sends[i-1]/' TestMessagesWithoutNumbers internal/transport/gateway
mutant "submit messages without a number together" internal/transport/gateway/held_sends.go 's/return q\.submitted == 0 \|\| q\.unnumbered == 0 \&\& .*$/return true/' TestHeldSendsWithoutNumbers internal/transport/gateway
mutant "retry for a connection that is closed" internal/transport/gateway/held_sends.go 's/^\th\.ended = true$//' TestHeldSendsEnd internal/transport/gateway
mutant "hold what the client must send first" internal/transport/gateway/held_sends.go 's/case "missing_previous", /case /' TestSendsAreHeld internal/transport/gateway
mutant "count held messages as under way" internal/transport/gateway/held_sends.go 's/^\tc\.endInFlight\(d\).*$//' TestHeldSendsAreBounded internal/transport/gateway
mutant "let a message pass one for which there was no room" internal/transport/gateway/held_sends.go 's/refuse := q\.refused\.Check\(d, time\.Now\(\)\) != nil/refuse := q.refused.Check(d, time.Now()) != nil \&\& false/' TestHeldSendsAreBounded internal/transport/gateway
mutant "hold through an outage without end" internal/transport/gateway/outages.go 's/long = long \|\| .*$/_ = long/' TestALongOutage internal/transport/gateway
mutant "refuse after an outage that is over" internal/transport/gateway/outages.go 's/^\tdelete\(o\.of, 0\)$//' TestALongOutage internal/transport/gateway
mutant "refuse for good while blocks cannot be read" internal/service/chat/deliver.go 's/loadErr := temporary\(err\)/loadErr := err/' TestUnreadableRelations internal/service/chat
mutant_ts "repeat messages that the server holds" src/outbox.ts 's/if \(this\.find\(clientSeq\)\) this\.sentAt/if (this.find(-1)) this.sentAt/' test/unit/outbox.test.ts
mutant "push a wrong predecessor" internal/transport/gateway/conn.go 's/AppendEventField\(o\.b, 4, at, prev, /AppendEventField(o.b, 4, at, at, /' DroppedEvents internal/transport/gateway
mutant "drop events without a hint" internal/transport/gateway/slow_consumer.go 's/^\tc\.needsHint = true$/\tc.needsHint = false/' DroppedEvents internal/transport/gateway
mutant "push an event before the page that may lack it" internal/transport/gateway/conn.go 's/case c\.withheld != nil( \&\&|:)/case false\1/' LastPage internal/transport/gateway
mutant "push a large group's message before the page" internal/transport/gateway/large_batch.go 's/c\.withholdEvent\(withheldEvent\{data: slices\.Clone\(b\.fields\)\}\)/c.appendEvent(slices.Clone(b.fields))/' LastPage internal/transport/gateway
mutant "mistake its own pause for silent clients" internal/transport/gateway/gateway.go 's/s\.resumed\.Store\(now\)/_ = now/' Silent internal/transport/gateway
mutant "wait for a first frame without a deadline" internal/transport/gateway/deadlines.go 's/case state < stateReady \&\& now >=/case false \&\& now >=/' Silent internal/transport/gateway
mutant "keep connections that read nothing" internal/transport/gateway/deadlines.go 's/case stalled != 0 \&\& now/case stalled != 0 \&\& false \&\& now/' Stalled internal/transport/gateway
mutant "offer gateways whose lease has ended" internal/platform/cluster/gateway.go 's/case now\.Before\(g\.until\):/case !now.IsZero():/' DeadGateways internal/platform/cluster
mutant "offer gateways that stop" internal/service/discovery/discovery.go 's/ \&\& !g\.Draining//' Ranked internal/service/discovery
mutant "send a herd to one gateway" internal/service/discovery/discovery.go 's/1-s\.deps\.Random\(\)/0.5+0*s.deps.Random()/' HerdSpreads internal/service/discovery
mutant "count a search for gateways as a login" internal/transport/rpc/rate_limits.go 's/if notLoginAttempts\[name\]/if false \&\& notLoginAttempts[name]/' FindGateways internal/transport/rpc
mutant "allow any silence" internal/transport/gateway/background.go 's/min\(time\.Duration\(nextMs\)\*time\.Millisecond, c\.server\.config\.LongestHeartbeat\)/time.Duration(nextMs)*time.Millisecond/' Silent internal/transport/gateway
mutant "probe quiet connections" internal/transport/gateway/keepalive_linux.go 's/probes, unacknowledged = 0,/probes, unacknowledged = 1,/' MayBeSilent internal/transport/gateway
mutant "admit cold starts in a storm" internal/base/overload/storm.go 's/s\.add\(second, 0\) < StormResumes/true/' ComeBack internal/transport/gateway
mutant "ask all whom it refuses to come back at once" internal/transport/gateway/accept.go 's/backoff\.Spread\(s\.config\.DrainOver\/2, .*\)\}/s.config.DrainOver + 0*backoff.Spread(0, 1)}/' RefusalsSpread internal/transport/gateway
mutant_ts "forget the gateways when a discovery fails" src/gateways.ts 's/^( *)(console\.info\("rialto: the gateways)/\1this.list = [];\n\2/' test/unit/gateways.test.ts
mutant_ts "take TLS away" src/gateways.ts 's/ \&\& this\.deps\.url\.startsWith\("http:\/\/"\)//' test/unit/gateways.test.ts
mutant_ts "believe that a path dropped a connection at once" src/idleSearch.ts 's/if \(!this\.suspectMs \|\| /if (/' test/unit/background.test.ts
mutant_ts "announce too short a silence" src/socket.ts 's/Math\.min\(2 \* interval, this\.longestHeartbeatMs\)/interval \/ 3/' test/unit/background.test.ts
mutant "ignore the connection limit" internal/transport/gateway/accept.go 's/s\.stats\.Connections\.Load\(\) >=/false \&\& s.stats.Connections.Load() >=/' ConnectionsAboveNodeLimit internal/transport/gateway
mutant "report readiness during shutdown" internal/app/readiness.go 's/n\.leaving\.Load\(\) \|\| n\.damaged/n.damaged/' AdminEndpoints internal/app
mutant "drop events of large groups without a hint" internal/transport/gateway/large_batch.go '/^func \(c \*conn\) pushBatch\(/,/^}/s/if !c\.canPush\(\) \{/if c.pending() > hintAbove || !c.canPush() {/' DroppedLarge internal/transport/gateway
mutant "omit the hint in the last greeting attempt" internal/transport/gateway/greet.go 's/^(\t*)c\.leftWhileGreeted, c\.newestPushed = nil/\1c.needsHint = false\n&/' PushedDuringGreeting internal/transport/gateway
mutant "return a closing connection to the ready state" internal/transport/gateway/conn_state.go 's/stateClosing:( +)1<<stateAborted/stateClosing:\11<<stateReady | 1<<stateAborted/' 'OnlyMoveForward|GreetingAClosing' internal/transport/gateway
mutant "wait for a socket that is writable" internal/transport/gateway/poll_linux.go '/^func \(l \*loop\) afterWrite/,/^}/s/l\.updateInterest\(c\)/_ = c/' FullSocketsOnly internal/transport/gateway
mutant "examine all members for a page of readers" internal/service/inbox/readers.go 's/^\tfor range l\.steps \{$/\tfor range 1 << 30 {/' ReadersPageCost internal/service/inbox
mutant "leave a recalled text in messages" internal/service/chat/message_state.go 's/^\t\tm\.Entry\.Content = nil$//' Recall internal/service/chat
mutant "leave old texts in edits" internal/service/chat/message_state.go 's/^\t\tk\.Edit\.Content = nil$//' 'Fanout|Recall' internal/service/chat
mutant "answer an update before it is applied" internal/service/chat/send.go 's/d\.Err != nil \|\| d\.Updates == 0/true/' Recall internal/service/chat
mutant "give the text of an edit whose message has expired" internal/service/chat/message_state.go 's/ && !slices\.ContainsFunc\(list, isUpdate\)//' EditsOfExpired internal/service/chat
mutant "append what follows a busy update" internal/service/chat/deliver.go 's/^\t\t\tm\.gate\.noteResult.*$//' Overtakes internal/service/chat
mutant "let an earlier edit win" internal/service/chat/edit.go 's/ AND edit_seq < \$3`/`/' Fanout internal/service/chat
mutant "forget whom an edited message mentions" internal/service/chat/edit.go 's/u\.applyMentions\(ctx, tx, u\.seq, mentions\)/nil/' Mentions internal/service/chat
mutant "keep the mentions of a text before its edit" internal/service/chat/mention.go 's/ AND coalesce\(p\.edit_seq, 0\) = m\.edit_seq//' FanoutAppliesMentions internal/service/chat
mutant "let anybody mention everybody" internal/service/chat/mention.go 's/m\.Everybody && rules\.role\(by\) < roleAdmin/false/' MentionsAreRefused internal/service/chat
mutant "deliver a message before its mentions are known" internal/service/fanout/apply_updates.go 's/message\.HasEffect\(stored\.Content\)/false/' MentionsAreApplied internal/service/fanout
mutant "show a recalled message in forwards" internal/service/chat/forward.go 's/st\.recallSeq != 0 \|\| k\.seq/k.seq/' ForwardsFollow internal/service/chat
mutant "show an expired message in forwards" internal/service/chat/forward.go 's/firsts\[k\.conversation\]:/firsts[0]:/' ForwardsOfExpired internal/service/chat
mutant "show an expired message in forwards until it is deleted" internal/service/chat/forward.go 's/, s\.raiseToRetained\(ctx, firsts\)/, nil/' DisappearingMessages internal/service/chat
mutant "push an expired message" internal/service/chat/refresh_pushed.go 's/if m\.Seq < firsts\[/if false \&\& m.Seq < firsts[/' DisappearingMessages internal/service/chat
mutant "read what was cleared" internal/service/chat/retention.go 's/through\[st\.id\]\+1/through[0]+1/' ClearHistory internal/service/chat
mutant "bring a deleted chat back without a message" internal/service/chat/clear_history.go 's/through_counted < \$3/through_counted <= $3/' DeleteConversation internal/service/chat
mutant "show deleted messages in histories" internal/service/chat/get_messages.go 's/if m\.Deleted \{/if false \&\& m.Deleted {/' DeleteMessages internal/service/chat
mutant "count deleted messages as unread" internal/service/chat/message_state.go 's/counts, s\.addDeleted\(ctx, u, spans, counts\)/counts, nil/' DeletedMessagesAreNot internal/service/chat
mutant "send deleted messages to a new device" internal/service/inbox/sync_events.go 's/case m\.Deleted:/case false \&\& m.Deleted:/' DeletingMessages internal/app/apptest
mutant "push a forward as it was stored" internal/service/chat/refresh_pushed.go 's/^\tcase message\.IsForwardEntry\(stored\):$/\tcase false:/' ForwardsFollow internal/service/chat
mutant "store a message before its previous one" internal/service/chat/send_order.go 's/case err == nil:/case err != nil || true:/' 'Overtaken|MissingPrevious' internal/service/chat
mutant "let a message overtake a held one" internal/service/chat/send_order.go 's/\(h == nil \|\| d\.ClientSeq <= h\.drafts\[0\]\.ClientSeq\)/(h == nil || d.ClientSeq > 0)/' 'Overtaken|MissingPrevious' internal/service/chat
mutant "hold any number of a user's messages" internal/service/chat/send_order.go 's/b\.ofUser\[d\.Sender\] >= maxHeldOfUser/false/' HeldDrafts internal/service/chat
mutant "let a network hold all that may be held" internal/service/chat/send_order.go 's/, Network: d\.Network\}/}/' HeldDrafts internal/service/chat
mutant "leave a silent ticket resolved" internal/service/helpdesk/silence.go 's/if isSilent\(t, d, t\.resolvedMs-t\.lastMs\) \{/if isSilent(t, d, t.resolvedMs-t.lastMs) || true {/' 'Silent' internal/service/helpdesk
mutant "count a signal as unread" internal/base/message/message.go 's/ \&\& !e\.Limited \&\& !IsSignal\(e\.Content\)/ \&\& !e.Limited/' SignalDoesNotCount internal/service/chat
mutant "leave recalled texts in syncs" internal/service/inbox/sync_events.go 's/return messages, s\.deps\.Conversations\.Current\(ctx, u, readable, nil\)/return messages, nil/' Recalled internal/service/inbox
mutant "leave recalled texts in the list" internal/service/inbox/row.go 's/if err = s\.deps\.Conversations\.Current\(ctx, u, list, tails\); /if err = ctx.Err(); /' Recalled internal/service/inbox
mutant "count recalled messages as unread" internal/service/inbox/unread.go 's/r\.unread -= min\(r\.unread, removed\[i\]\)/r.unread -= 0 * removed[i]/' Recalled internal/service/inbox
mutant "deliver an update that is not applied" internal/service/fanout/apply_updates.go 's/!message\.IsUpdate\(e\.Payload\) && /true || /' UpdatesAreApplied internal/service/fanout
mutant "push what waited as it was stored" internal/service/chat/refresh_pushed.go 's/age >= pushWindow\.Milliseconds\(\)/age > 1<<62/' 'MayBeOutdated|NoOldTexts' internal/service/chat internal/service/fanout
mutant "push young messages after an edit as they were stored" internal/service/chat/refresh_pushed.go 's/s\.textChangedMs\.Store\(now\)/_ = now/' 'MayBeOutdated|NoOldTexts' internal/service/chat internal/service/fanout
mutant "acknowledge the recall of a young message at once" internal/service/chat/refresh_pushed.go 's/^\tcase wait <= 0:$/\tcase true:/' AcknowledgedLater internal/service/chat
mutant "refresh what waits for fan-out only once" internal/service/fanout/refresh.go 's/^\tfor l\.refreshOutdated\(within\) \{/\tif l.refreshOutdated(within) {/' BecomeOutdated internal/service/fanout
mutant "push what may be outdated if it cannot be refreshed" internal/service/fanout/refresh.go 's/t\.withheld = true/_ = t/' Withheld internal/service/fanout
mutant "show a recalled text whose recall expires during the read" internal/service/chat/message_state.go 's/states, s\.checkNotExpired\(ctx, old, states\)/states, nil/' ExpiresDuringARead internal/service/chat
mutant "give the edit of a message from before the join its text" internal/service/chat/message_state.go 's/e = edit\{\}/_ = e/' BeforeTheJoin internal/service/chat
mutant "push the edit of a message from before the join with its text" internal/service/fanout/edit.go 's/len\(later\) == 0/true/' JoinedLater internal/service/fanout
mutant "load followers as members" internal/service/chat/store.go 's/ AND follower = FALSE$//' 'Followers' internal/service/chat
mutant "let all react in a channel of any size" internal/service/chat/send_permission.go 's/int\(info\.Followers\) > s\.config\.MaxMembers/int(info.Followers) < 0/' 'FollowersReact' internal/service/chat
mutant "follow without a read cursor" internal/service/chat/channel.go 's/err != nil \|\| s\.deps\.MarkFollowed == nil \{/true {/' 'FollowingMarks' internal/service/chat
mutant "let former members join by entries" internal/service/chat/channel.go 's/return s\.channel \&\& s\.role\(u\) == 0/_, is := s.members[u]; return s.channel \&\& !is/' 'FormerMembersFollow' internal/service/chat
mutant "push to removed followers" internal/transport/gateway/deliverer.go 's/if message\.BodyIs\(d\.next\.Body, message\.FieldFollow\)/if false/' 'AStreamsEvent' internal/transport/gateway
mutant "let who lost the conversation reply in its threads" internal/service/chat/thread.go 's/case !s\.parent\.mayReadRoot.*/case false:/' 'TheParentDecides' internal/service/chat
mutant "push threads to who lost the conversation" internal/service/chat/audience.go 's/return st\.readers\(users\), st\.large/return users, st.large/' 'TheParentDecides' internal/service/chat
mutant "let members of a channel write" internal/service/chat/send_permission.go 's/s\.channel && m\.role == chatv1\.Role_ROLE_MEMBER/false/' 'BecomeWriters' internal/service/chat
mutant "omit returned members from an audience page" internal/service/chat/state.go 's/^\t\t\tunclear = append\(unclear, u\)$/\t\t\t_ = u/' Model internal/service/chat
mutant "raise a bound for an earlier incarnation" internal/platform/idservice/redis_store.go 's/ AND incarnation = \$3`/ AND $3 <> $2`/' NoNumberIsRepeated internal/platform/idservice
mutant "let a new incarnation count below the bound" internal/platform/idservice/redis.go 's/enter\(ctx, tag, incarnation, bound\); err/enter(ctx, tag, incarnation, bound-bound); err/' NoNumberIsRepeated internal/platform/idservice
mutant "disable compression in an event loop" internal/transport/gateway/poll_linux.go 's/b = deflateFrames\(b\)/_ = b/' TransportsCompress internal/transport/gateway
mutant "repeat events on an event stream" internal/transport/gateway/receiver.go 's/case at <= r\.position:/case false:/' HaveEachEventOnce internal/transport/gateway
mutant "ignore gaps in an event stream" internal/transport/gateway/receiver.go 's/case prev != r\.position:/case false:/' HaveEachEventOnce internal/transport/gateway
mutant "resume an event stream from its end" internal/transport/gateway/receiver.go 's/if !r\.resumes \{/if true {/' HaveEachEventOnce internal/transport/gateway
mutant "forget that an event stream could not be read" internal/transport/gateway/event_stream.go 's/^\t\t\tc\.needsHint = true$//' HaveEachEventOnce internal/transport/gateway
mutant "wait although an event came between two polls" internal/transport/gateway/await.go 's/ \|\| c\.newestPushed > r\.position,/,/' WaitsForSomething internal/transport/gateway
mutant "let a sync wait after the end of its session" internal/transport/gateway/await.go 's/case ending:/case ending \&\& false:/' WaitsForSomething internal/transport/gateway
mutant "answer for a large group of others" internal/transport/gateway/await.go 's/for _, to := range c\.follows \{/for to := range lowest {/' 'TestASyncWaits' internal/transport/gateway
mutant "hold any number of requests" internal/transport/gateway/receiver.go 's/if s\.stats\.Held\.Add\(1\) > /if s.stats.Held.Add(1); false \&\& 1 > /' WhoMayOpenAnEventStream internal/transport/gateway
mutant "accept a cookie from any page" internal/transport/gateway/accept.go 's/ \&\& r\.Header\.Get\("Sec-Fetch-Site"\) != "same-origin"/ \&\& r.Header.Get("Sec-Fetch-Site") == ""/' WhoMayOpenAnEventStream internal/transport/gateway
mutant "merge receipts into a list of events" internal/transport/gateway/merge.go 's/c\.frameList != list \|\| //' MergedFrames internal/transport/gateway
mutant "merge JSON without a size limit" internal/transport/gateway/merge.go '/^func \(c \*conn\) appendJSONItem/,/^}/s/len\(c\.out\.b\)-c\.frameAt\+len\(object\) > maxMergedFrame/false/' MergedFrames internal/transport/gateway
mutant "send a hint before the page" internal/transport/gateway/conn.go 's/ \&\& c\.withheld == nil \{/ {/' LastPage internal/transport/gateway

# Limits.
mutant "let a flood of keys reset a limited one" internal/base/ratelimit/limiter.go 's/>= float64\(b\.Burst\(\)\) \{/>= 0 {/' Flood internal/base/ratelimit
mutant "charge the user for calls that the address limit refuses" internal/base/ratelimit/table.go 's/l\.user\.Refund\(user, n\)/l.user.Refund(user, 0)/' EachLimit internal/base/ratelimit
mutant "keep reading from a throttled connection" internal/transport/gateway/conn.go 's/ \&\& c\.throttledUntil == 0 / /' 'SendsAreThrottled' internal/transport/gateway
mutant "do not limit pings" internal/transport/gateway/read_limits.go 's/return c\.countEmptyFrame\(\)/return nil/' FloodsCloseTheConnection internal/transport/gateway
mutant "limit small frames of each socket alone" internal/transport/gateway/read_limits.go 's/^\tc\.chargeSmallFrames\(small\)$//' OfManySockets internal/transport/gateway
mutant "limit empty frames of each socket alone" internal/transport/gateway/input.go 's/^\t\tc\.chargeSmallFrames\(1\)$//' OfManySockets internal/transport/gateway
mutant "resume sockets whose frames are beyond the limit" internal/transport/gateway/read_limits.go 's/ratelimit\.Send, ratelimit\.Frame, ratelimit\.Call\}/ratelimit.Send, ratelimit.Call}/' OfManySockets internal/transport/gateway
mutant "do not limit pings before authentication" internal/transport/gateway/input.go 's/c\.network, 1\) != nil/c.network, 0) != nil/' PingsBeforeAuthentication internal/transport/gateway
mutant "let one user hold all answers" internal/base/budget/budget.go 's/exceeds\(total, free\+held-before, Share\)/false/' FewOwners internal/base/outputlimit
mutant "let one address hold all answers" internal/base/budget/budget.go 's/return !exceeds\(held-before\+after/return held < 0 || !exceeds(0/' 'FewOwners|OfAnAddress' internal/base/outputlimit internal/transport/gateway internal/transport/rpc
mutant "do not charge the address of a socket for its answers" internal/transport/gateway/input.go '/^func \(c \*conn\) owner/,/^}/s/, Network: [^}]*//' UnreadAnswersOfAnAddress internal/transport/gateway
mutant "wait for HTTP clients that read nothing" internal/base/outputlimit/answer.go 's/case a\.limits\.UnderPressure\(\):/case a.limits == nil:/' UnreadAnswersAreCut internal/base/outputlimit
mutant "keep HTTP2 connections of which nothing is read" internal/base/outputlimit/answer.go 's/if a\.connection != nil \{/if a.connection != nil \&\& a.closed {/' UnreadAnswersAreCut internal/base/outputlimit
mutant "compress for clients without credentials" internal/transport/gateway/accept.go 's/ \|\| packs \|\| caller\.User == 0 \{/ || packs {/' 'HostileClients|BeforeAuthentication' internal/app/faulttest internal/app/apptest
mutant "decode the body of a call with its frame" internal/transport/gateway/handle.go 's/counted\.WithoutBody\(p\)/p/' CallBodiesAreNotDecoded internal/transport/gateway
mutant "decode a whole frame of somebody unknown" internal/transport/gateway/handle.go 's/^\ta, err := c\.decodeAuth\(p\)$/\ta, err := c.decodeAuth(p)\n\tcounted, _ := c.count(p)\n\tif _, e := c.decode(p, counted); err == nil {\n\t\terr = e\n\t}/' FirstFrameIsDecodedAfter internal/transport/gateway
mutant "accept two bodies of a call" internal/base/inputlimit/json.go 's/if \*field != nil \{/if false {/' CaptureGivesTheBody internal/base/inputlimit
mutant "ignore escapes in names" internal/base/inputlimit/json.go "s/bytes\.IndexByte\(text, '..'\) < 0/len(bytes.TrimSpace(text)) >= 0/" JSONCountsBefore internal/base/inputlimit
mutant "decode large frames where all connections are read" internal/transport/gateway/large_frame.go 's/counted\.Elements-counted\.BodyElements > inlineElements \{/false {/' LargeFramesAreDecodedAsync internal/transport/gateway
mutant "read on while a frame is decoded by another goroutine" internal/transport/gateway/conn.go 's/ \&\& !c\.decodingAsync//' LargeFramesAreDecodedAsync internal/transport/gateway
mutant "count no memory of large frames that wait" internal/transport/gateway/large_frame.go 's/if !hold\.Set\(.*\{/if false {/' 'LargeFrames(AreDecodedAsync|ThatAreOfNoUse)' internal/transport/gateway
mutant "charge no elements of frames" internal/transport/gateway/large_frame.go 's/\* bytesPerElement/* 0/' ElementsCountAsCalls internal/transport/gateway
mutant "decode a content of STOMP before counting its elements" internal/transport/stomp/commands.go 's/contentSchema\(\)\.JSON\(f\.body\) != nil/false/' MistakesOfClients internal/transport/stomp
mutant "read any number of parameters of anybody" internal/transport/gateway/accept.go 's/len\(q\) > maxQuery \|\| strings\.Count\(q, "\&"\) >= maxParameters/q == "?"/' TokensInAddresses internal/transport/gateway
mutant "keep parts of inflated messages" internal/transport/gateway/handle.go 's/f\.Call\.Payload = nil, bytes\.Clone\(counted\.Body\)/f.Call.Payload = nil, bytes.TrimSpace(counted.Body)/' InflatedMessages internal/transport/gateway
mutant "do not count calls" internal/transport/rpc/procedure.go 's/if p\.access == userAccess \|\| p\.access == eventAccess \|\| /if p.access == userAccess \&\& false \|\| /' RoutesHaveLimits internal/transport/rpc
mutant "drop the size of a deleted file from the total" internal/service/media/abandoned_uploads.go 's/addToTotal\(ctx, tx, owner, -declared, 0\)/addToTotal(ctx, tx, owner, 0, 0)/' QuotaTotalIsMaintained internal/service/media
mutant "release the quota before the bytes are deleted" internal/service/media/tus_concat.go 's/addToTotal\(ctx, tx, by, 0, -1\)/addToTotal(ctx, tx, by, -1 << 20, -1)/' ReleasedBytesCount internal/service/media
mutant "keep the bytes of released uploads for a day" internal/service/media/abandoned_uploads.go 's/errors\.Join\(s\.dropReleased\(ctx\), /errors.Join(nil, /' ReleasedBytesCount internal/service/media
mutant "hold responses without a limit" internal/transport/gateway/conn.go 's/ \|\| c\.holdAnswer\(len\(b\)\) != nil \{/ {/' ConcurrentPages internal/transport/gateway
mutant "do not limit the length of JSON pages" internal/base/outputlimit/page.go 's/size > MaxPage \&\& n > 0/false/' 'Cut' internal/base/outputlimit
mutant "handle a frame before the rest of the first" internal/transport/gateway/handle.go 's/^\t\tc\.decodingAsync = true$//' TheRestOfTheFirst internal/transport/gateway
mutant "read any number of pages of posts at once" internal/base/outputlimit/page.go 's/, feedv1connect\.FeedServiceGetPostPageProcedure//' CostlyCalls internal/base/outputlimit
mutant "do not limit concurrent pages" internal/transport/gateway/handle.go 's/name == "sync" \|\| name == "watch" \|\| outputlimit\.IsPage\(name\)/false \&\& outputlimit.IsPage(name)/' ConcurrentPages internal/transport/gateway
mutant "use a device's number as its key" internal/service/account/login_limit.go 's/key != "" \&\& subtle\.ConstantTimeCompare.*$/len(key) >= 0 \&\& client.GetDevice() != 0 \&\& subtle.ConstantTimeCompare(nil, nil) == 1/' GuessesDoNot internal/service/account
mutant "count guesses by address alone" internal/service/account/login_limit.go 's/return errTooManyLogins\(s\.logins\.handles\.Allow\(g, 1\)\)/return nil/' DefaultLoginLimits internal/service/account

# Permissions and unread counts.
mutant "count one's own message as unread" internal/service/inbox/unread.go 's/v\.state\.ReadSeq, v\.state\.ReadCounted = seq, counted$/v.state.ReadSeq, v.state.ReadCounted = seq, counted-1/' Unread internal/service/inbox
mutant "let a cursor go back" internal/service/inbox/read_cursor.go 's/r\.read <= read \&\& r\.delivered <= delivered/false/; s/WHEN \$3 > views\.read_seq THEN \$3/WHEN true THEN $3/' 'Unread|Forward' internal/service/inbox
mutant "let blocked users write" internal/service/chat/send_permission.go 's/case s\.relation\.blocked:/case s.relation.blocked \&\& nowMs < 0:/' BlockedIsNotAdmitted internal/service/chat
mutant "accept messages of removed members" internal/service/chat/send.go 's/CheckAccess: true, ExpectedAccess/CheckAccess: false, ExpectedAccess/' RemovedIsNotAdmitted internal/service/chat
mutant "show entries from before a user joined" internal/service/chat/history.go 's/max\(after, from-1\)/max(after, min(from, 1)-1)/; s/e\.Seq < p\.from/e.Seq < min(p.from, 1)/' 'History|Model' internal/service/chat
mutant "show entries from after a user left" internal/service/chat/history.go 's/e\.Seq > p\.to/e.Seq > max(p.to, 1<<63)/; s/at = to \+ 1/at += 0 * to/' History internal/service/chat
mutant "count muted conversations in the badge" internal/service/inbox/unread.go 's/ \&\& !r\.view\.state\.Muted//; s/ AND NOT muted//' 'TestBadge' internal/service/inbox
mutant "count archived conversations in the badge" internal/service/inbox/unread.go 's/ \&\& !r\.view\.state\.Archived//; s/ AND NOT archived//' 'TestBadge' internal/service/inbox
mutant "read the whole list for a page" internal/service/inbox/list.go 's/^(\s+)count := limit \+ 1 .*/\1count := 1 << 20/' 'TestListPageCost' internal/service/inbox
mutant "examine all unread conversations for a badge" internal/service/inbox/list.go 's/maxBadgeConversations = 100$/maxBadgeConversations = 1 << 20/' 'TestListPageCost|TestBadgeOfManyConversations' internal/service/inbox
mutant "keep a watermark that the stream no longer covers" internal/service/inbox/list_refresh.go 's/ \|\| len\(entries\) > 0 \&\& entries\[0\]\.Prev > uint64\(at\)//' 'TestListRefreshWithoutStream' internal/service/inbox
mutant "forget a mute when its user leaves" internal/service/chat/apply_control.go 's/, mutedUntilMs: m\.mutedUntilMs\}/}/' 'TestMuteSurvives' internal/service/chat
mutant "let a removed member come back by a link" internal/service/chat/join.go 's/^\tcase st\.members\[u\]\.removed:/\tcase st.members[u].removed \&\& u == 0:/' 'TestRemovedMember' internal/service/chat
mutant "do not limit stacked combining marks" internal/base/message/text.go 's/marks > maxMarks/marks > 1000/' PlaceholderTexts internal/base/message
mutant "allow invisible characters in a name" internal/base/message/text.go 's/ \&\& !hasInvisible\(text\)//' 'TestInvisible' internal/base/message
mutant "keep the join request of a banned user" internal/service/chat/ban.go 's/s\.dropRequests\(ctx, c, users\)/nil/' 'AdminsAreNotified' internal/service/chat
mutant "let a banned user join" internal/service/chat/join.go 's/case st\.banned\(u\):/case st.banned(u) \&\& u == 0:/' 'TestBanClosesEveryWayIn' internal/service/chat
mutant "accept a combining mark as a text" internal/base/message/text.go 's/ \&\& !unicode\.Is\(unicode\.M, r\)//' 'TestTexts|PlaceholderTexts' internal/base/message internal/service/chat
mutant "allow a script URL in a card" internal/service/chat/validate_content.go 's/ \&\& !message\.IsLink\(c\.Url\)/ \&\& false/' 'Contents' internal/service/chat
mutant "add users who refuse to be added" internal/service/chat/add_members.go 's/len\(refused\) > 0/len(refused) > 1 << 20/' 'TestCheckAddRefusesUsers' internal/service/chat
mutant "do not bound the folders of a user" internal/service/inbox/change_folders.go 's/len\(list\.Folders\) >= maxFolders/false/' 'TestFolders' internal/service/inbox
mutant "add a user who has not agreed" internal/service/chat/add_members.go 's/without\(users, invited\)/users/' 'TestInvitation' internal/service/chat
mutant "keep the invitation of a user who joined otherwise" internal/service/chat/store.go 's/return deleteAnsweredInvitations\(ctx, tx, st\.id\)/return nil/' 'TestInvitation' internal/service/chat
mutant "send read receipts across a block" internal/service/inbox/read_cursor.go 's/if cannotWrite \{/if cannotWrite \&\& r == nil {/' Block internal/service/inbox
mutant "send read receipts of users who hide them" internal/service/inbox/read_cursor.go 's/r\.hides \&\& !deliveredMoved/r == nil/' Hides internal/service/inbox
mutant "keep the positions of any number of devices" internal/service/inbox/device_positions.go 's/return dropped\[:len\(all\)-maxDevicePositions\/2\]/return dropped[:0]/' DevicePositions internal/service/inbox
mutant "notify users of a block" internal/service/fanout/dispatcher.go 's/== chatv1\.Control_ACTION_ACCESS \{/== 99 {/' Access internal/service/fanout
mutant "send joined users of a large group no event" internal/service/fanout/dispatcher.go 's/append\(items, own, item/append(items, item/' Large internal/service/fanout
mutant "show the current group to former members" internal/service/chat/history.go 's/v = proto\.CloneOf\(m\.snapshotAtLeave\)/_ = proto.CloneOf(m.snapshotAtLeave)/' 'Left' internal/service/chat

# Losses of the bus are reported, and files are complete.
nats=internal/engine/bus/natsbus s3=internal/engine/blob/s3blob
mutant "report no gap" $nats/subscribe.go 's/return f\.number > last\+1/return false/' 'Gap|Slow' $nats
mutant "assign numbers with gaps" $nats/publish.go 's/^\ts\.number\+\+$/\ts.number += 2/' 'Bus|ThreeNodes' $nats
mutant "send a payload that is too large" internal/service/fanout/lane.go 's/before > 0 \&\& len/before > 1<<40 \&\& len/' UnbufferedRecords internal/service/fanout
mutant "accept any certificate" $nats/connect.go 's/tls\.RequireAndVerifyClientCert/tls.NoClientCert/' Certificates $nats
mutant "open a session without the second factor" internal/service/account/second_factor.go 's/if !totp \{/if totp || !totp {/' LoginsNeedTheSecondFactor internal/service/account
mutant "accept a code of an authenticator app twice" internal/service/account/totp.go 's/AND secret = \$3 AND last_step < \$1/AND secret = $3/' 'LoginsNeed|ACodeWorksOnce' internal/service/account
mutant "accept codes that are two steps old" internal/base/auth/totp.go 's/totpSkew +=  *1/totpSkew = 2/' TOTPCodes internal/base/auth
mutant "keep a challenge after a login" internal/service/account/second_factor.go 's/DELETE FROM login_challenges WHERE sum = \$1`, sum/DELETE FROM login_challenges WHERE sum = $1 AND tries < 0`, sum/' LoginsNeedTheSecondFactor internal/service/account
mutant "limit the codes of a challenge by nothing" internal/service/account/second_factor.go 's/maxChallengeTries = 5/maxChallengeTries = 5000/' ChallengesAreBound internal/service/account
mutant "limit guesses of codes as those of passwords" internal/service/account/second_factor.go 's/return errTooManyLogins\(s\.logins\.factors\.Allow\(key, 1\)\)/return nil/' GuessesOfCodes internal/service/account
mutant "let a guesser of codes lock out known devices" internal/service/account/second_factor.go 's/if s\.isKnownDevice\(user, r\.Client\)/if false \&\& s.isKnownDevice(user, r.Client)/' GuessesOfCodes internal/service/account
mutant "accept recovery codes again" internal/service/account/totp.go 's/DELETE FROM recovery_codes WHERE owner = \$1 AND sum = \$2/UPDATE recovery_codes SET sum = sum WHERE owner = $1 AND sum = $2/' 'LoginsNeed|ACodeWorksOnce' internal/service/account
mutant "change the protection in an old session" internal/service/account/confirm_identity.go 's/\(created_ms > \$3 OR confirmed_ms > \$3\)/(created_ms > 0 OR confirmed_ms > $3)/' ChangesOfProtection internal/service/account
mutant "confirm an identity without the second factor" internal/service/account/confirm_identity.go 's/^\t\tif totp \{/\t\tif totp \&\& r.Code != "" {/' ChangesOfProtection internal/service/account
mutant "accept a used challenge of a passkey" internal/service/account/passkey_challenge.go 's/return changeOne\(ctx, tx, used, `INSERT INTO taken_tickets \(name, taken_ms\) VALUES \(\$1, \$2\) ON CONFLICT DO NOTHING`/return changeOne(ctx, tx, nil, `INSERT INTO taken_tickets (name, taken_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING`/' PasskeyChallengesWorkOnce internal/service/account
mutant "accept expired challenges of passkeys" internal/service/account/passkey_challenge.go 's/ \|\| s\.deps\.Clock\.Now\(\)\.After\(c\.expires\)//' PasskeyChallengesWorkOnce internal/service/account
mutant "accept challenges of passkeys that others made" internal/service/account/passkey_challenge.go 's/err != nil \|\| !hmac\.Equal\(b\[passkeyChallengeBodyLen:\]/err != nil || b == nil \&\& !hmac.Equal(b[passkeyChallengeBodyLen:]/' AnswersThatAreNotAccepted internal/service/account
mutant "accept a challenge of another user for a passkey" internal/service/account/passkey_challenge.go 's/c\.user != user \|\| //' NewPasskeysThatAreNotAccepted internal/service/account
mutant "accept a challenge of another session for a passkey" internal/service/account/passkey_challenge.go 's/c\.session != session \|\| //' NewPasskeysThatAreNotAccepted internal/service/account
mutant "accept passkeys of users who were not verified" internal/service/account/passkey_login.go 's/false, true, true, p\.publicKey/false, false, true, p.publicKey/' AnswersThatAreNotAccepted internal/service/account
mutant "accept passkeys in frames of other sites" internal/service/account/passkey_login.go 's/false, true, true, p\.publicKey/true, true, true, p.publicKey/' AnswersThatAreNotAccepted internal/service/account
mutant "accept new passkeys of users who were not verified" internal/service/account/add_passkey.go 's/false, true, true, nil, passkeyAlgorithms/false, false, true, nil, passkeyAlgorithms/' NewPasskeysThatAreNotAccepted internal/service/account
mutant "store RSA keys of any size" internal/service/account/add_passkey.go 's/len\(k\.Modulus\) > maxRSA/len(k.Modulus) > maxRSA<<20/' RSA internal/service/account
mutant "store keys of passkeys that are none" internal/service/account/add_passkey.go 's/^\t\terr = (checkPasskeyKey)/\t\t_ = \1/' NewPasskeysThatAreNotAccepted internal/service/account
mutant "read the attestation of a new passkey" internal/service/account/add_passkey.go 's/object\.Format, object\.AttStatement, object\.SubStatements = .*/_ = object/' NewPasskeysThatAreNotAccepted internal/service/account
mutant "accept a passkey for another user" internal/service/account/passkey_login.go 's/!s\.isUserHandle\(p\.owner, answer\.Response\.UserHandle\) \|\| //' AnswersThatAreNotAccepted internal/service/account
mutant "accept passkeys whose counter goes back" internal/service/account/passkey_login.go 's/fresh <= count \&\& \(/fresh < 0 \&\& (/' CountersOfPasskeys internal/service/account
mutant "refuse passkeys without a counter" internal/service/account/passkey_login.go 's/fresh <= count \&\& \(fresh != 0 \|\| count != 0\)/fresh <= count/' CountersOfPasskeys internal/service/account
mutant "let a passkey become one that is backed up" internal/service/account/passkey_login.go 's/data\.Flags\.HasBackupEligible\(\) != p\.backupEligible \|\| //' 'AnswersThatAreNotAccepted|BackedUp' internal/service/account
mutant "add passkeys in an old session" internal/service/account/add_passkey.go 's/if err := s\.requireConfirmed\(ctx, tx, c\); err != nil/if err := s.requireConfirmed(ctx, tx, c); err != nil \&\& c.User == 0/' PasskeysAreTheirOwners internal/service/account
mutant "remove passkeys in an old session" internal/service/account/passkey.go 's/if err := s\.requireConfirmed\(ctx, tx, c\); err != nil/if err := s.requireConfirmed(ctx, tx, c); err != nil \&\& c.User == 0/' PasskeysAreTheirOwners internal/service/account
mutant "remove passkeys of others" internal/service/account/passkey.go 's/DELETE FROM passkeys WHERE id = \$1 AND owner = \$2/DELETE FROM passkeys WHERE id = $1 AND owner <> $2 + 1/' PasskeysAreTheirOwners internal/service/account
mutant "add any number of passkeys" internal/service/account/add_passkey.go 's/if count >= maxPasskeys/if count >= 1000/' MostPasskeys internal/service/account
mutant "accept any page where no origin is set" internal/service/account/passkey_origin.go 's/ok \&\& host == localhost \{/ok || host == "" {/' PasskeysOfLocalhost internal/service/account
mutant "offer passkeys where they do not work" internal/service/account/passkey_origin.go 's/from != "" \&\& \(!ok \|\| host != localhost\)/from == "x" \&\& (!ok || host != localhost)/' WherePasskeysWork internal/service/account
mutant "limit logins with passkeys by nothing" internal/service/account/passkey_login.go 's/if err := s\.countAttempt\(ctx, passkeyLogin, p\.owner\.String\(\), p\.owner, r\.Client\); err != nil/if false/' PasskeyLoginsAreLimited internal/service/account
mutant "tell nobody of a new passkey" internal/service/account/add_passkey.go 's/return s\.notice\(ctx, tx, c\.User, passkeyAdded\)/return nil/' NoticesOfPasskeys internal/service/account
mutant "accept a sent code twice" internal/service/account/one_time_code.go 's/changeOne\(ctx, tx, wrong, `DELETE/changeOne(ctx, tx, nil, `DELETE/; s/WHERE name = \$1 AND nonce = \$2`/WHERE name = $1 AND nonce <> $2`/; s/return row, s\.revoke\(ctx, tx, c\)/return row, nil/' 'PasswordReset$|LoginCodesByEmail' internal/service/account
mutant "accept a code of another purpose" internal/service/account/one_time_code.go 's/\[\]byte\(string\(c\.Purpose\) \+ " " \+ subject\)/[]byte(" " + subject)/' 'PasswordReset$|LoginCodesByEmail' internal/service/account
mutant "replace a code that is asked for again" internal/service/account/one_time_code.go 's/DO UPDATE SET made_ms = excluded\.made_ms WHERE/DO UPDATE SET made_ms = excluded.made_ms, nonce = excluded.nonce WHERE/' OthersMakeNoCodeVoid internal/service/account
mutant "forget the codes of the window before" internal/service/account/one_time_code.go 's/return \[\]\[\]byte\{now\.name\(\), before\.name\(\)\}/return [][]byte{now.name()}/' OthersMakeNoCodeVoid internal/service/account
mutant "accept expired sent codes" internal/service/account/one_time_code.go 's/WHERE name = \$1 AND made_ms > \$2`, name, nowMs-sentCode/WHERE name = $1 AND made_ms > $2`, name, -nowMs-sentCode/' SentCodesAreLimited internal/service/account
mutant "send codes without a limit" internal/service/account/one_time_code.go 's/return errTooManySends\(s\.subjects\.Allow\(key, 1\)\)/return nil/' SentCodesAreLimited internal/service/account
mutant "make no job for a handle that nobody has" internal/service/account/password_reset.go 's/key := sendKey\{purpose: purposeReset/if user == 0 { return nil }; key := sendKey{purpose: purposeReset/' ResetsRevealNoAccounts internal/service/account
mutant "keep sessions after a reset" internal/service/account/password_reset.go 's/"password_changed", `true`/"password_changed", `id < 0`/' 'PasswordReset$' internal/service/account
mutant "give an address to two accounts" internal/service/account/account.go 's/, UNIQUE \(kind, address\)\)/)/' 'Contacts$' internal/service/account
mutant "send emails unencrypted" internal/platform/mailer/mailer.go 's/mail\.TLSMandatory/mail.TLSOpportunistic/' PasswordsAndCodesAreSent internal/platform/mailer
mutant "accept weak passwords" internal/service/account/register.go 's/if auth\.Weak\(p, about\.\.\.\)/if auth.Weak(p, about...) \&\& false/' 'Register$' internal/service/account
mutant "accept the user's own name as a password" internal/base/auth/weak.go 's/return rest != p \&\& /return false \&\& rest != p \&\& /' WeakPasswords internal/base/auth
mutant "connect to private addresses" internal/base/egress/egress.go 's/class == private \&\& c\.config\.AllowPrivate/class == private/' 'ResolvedAddressesAreRestricted|NamesAreResolvedOnce' internal/base/egress
mutant "follow redirects" internal/base/egress/egress.go 's/return http\.ErrUseLastResponse/return nil/' 'AnswersAreBounded' internal/base/egress
mutant "fetch pages inside the network" internal/base/egress/fetch.go 's/class == private \&\& internal/class == private \&\& (internal || true)/' 'FetchesStayOutOfTheNetwork|FetchesCheckTheAddress' internal/base/egress
mutant "do not check where a page redirects" internal/base/egress/fetch.go 's/return f\.permit\(r\.URL\)$/return nil/' 'FetchesFollowCheckedRedirects' internal/base/egress
mutant "accept forged link previews" internal/service/chat/link_preview.go 's/return s\.deps\.CheckLinkPreview.*/return nil/' 'ForgedLinkPreviews' internal/service/chat
mutant "sign previews for all users" internal/service/linkpreview/linkpreview.go 's/%d %d %d %d", u,/%d %d %d %d", 0,/' 'ForgedPreviews' internal/service/linkpreview
mutant "decode pictures of any size" internal/service/linkpreview/picture.go 's/w\*h > maxPixels/false/' 'PreviewsWithoutPicture' internal/service/linkpreview
mutant "accept engines without TLS" internal/app/config/encryption.go 's/case r\.security == pglink\.Plain \&\&/case false \&\&/' RemoteEnginesNeedTLS internal/app/config
mutant "check the security of only one of several servers" internal/engine/sqldb/pglink/security.go 's/security = Plain/security = least/' SecurityOf internal/engine/sqldb/pglink
mutant "accept large frames of HTTP/2" internal/app/http2.go 's/MaxReadFrameSize: 16 << 10, //' AFrameOfHTTP2IsSmall internal/app
mutant "wait for the rest of a frame of HTTP/2" internal/app/http2.go 's/, SendPingTimeout: 30 \* time\.Second//' AFrameOfHTTP2Ends internal/app
mutant "keep clients of HTTP/2 that read nothing" internal/app/http2.go 's/, WriteByteTimeout: outputlimit\.PieceTime//' AClientOfHTTP2Reads internal/app
mutant "verify no tables without rows" internal/tool/verify/verify.go 's/damaged\+\+$/return/' ADamagedTableIsFound internal/tool/verify
mutant "keep answers of HTTP/2 that nobody reads" internal/app/http2.go 's/^\t\t\tw = outputlimit\.WithWriteDeadlines\(w, 0\)$//' AnAnswerOfHTTP2Ends internal/app
mutant "allow any number of streams of HTTP/2" internal/app/http2.go 's/panic\(http\.ErrAbortHandler\)/_ = slot/' StreamsOfHTTP2 internal/app
mutant "count a stream of HTTP/2 until its handler returns" internal/app/http2.go 's/^\t\t\t_ = http\.NewResponseController\(w\)\.Flush\(\)//' StreamsOfHTTP2 internal/app
mutant "tell the addresses of a connection that is too slow" internal/transport/rpc/body_limits.go 's/if errors\.Is\(err, os\.ErrDeadlineExceeded\)/if false \&\& errors.Is(err, os.ErrDeadlineExceeded)/' ABodyThatIsLate internal/transport/rpc
media=internal/service/media
mutant "let the last of several PUTs win" $media/serve.go 's/WHERE id = \$4 AND stored = 0 AND complete = 0/WHERE id = $4 AND complete = 0/' TestConcurrentPuts$ $media
mutant "let concurrent PUTs write the same file" $media/media.go 's/if attempt > 1 \{/if attempt > 1000 {/' 'TestConcurrentPuts$|SlowPutDoesNot' $media
mutant "skip the length check at the upload URL" $media/serve.go 's/r\.ContentLength != u\.declared/false/' WrongContentLength $media
mutant "write a stored part again" $media/parts.go 's/case hex\.EncodeToString\(sum\.Sum\(nil\)\) != old\.checksum:/case false:/' PartsInAnyOrder $media
mutant "complete an upload without all its parts" $media/parts.go 's/if missing := m\.count\(\) - len\(parts\); missing > 0 \{/if missing := m.count() - len(parts); missing > 99 {/' PartsInAnyOrder $media
mutant "accept a part URL for another size" $media/serve_parts.go 's/upload\+"\/"\+part\+"\/"\+size, exp/upload+"\/"+part+"\/"+"1000", exp/' BadParts $media
mutant "keep the parts of abandoned uploads" $media/abandoned_uploads.go 's/if err := s\.abortParts\(ctx, a\.id\); err != nil \{/if err := error(nil); err != nil {/' 'AbandonedParts|BadParts' $media
mutant "record parts before their checksum is known" $media/tus_patch.go 's/part\); a\.sum == nil \{/part); true {/' TusRefusals $media
mutant "record the beginning of a part before its checksum is known" $media/tus_patch.go 's/; err == nil \&\& a\.sum == nil \{/; err == nil {/' TusRefusals $media
mutant "keep bodies without a length in memory" $media/tus_patch.go 's/a\.service\.deps\.Spool\.Receive\(/Deps{}.Spool.Receive(/' BodiesWithoutALengthOnAFullDisk $media
mutant "keep the files of bodies without a length" $media/tus_patch.go 's/^\t\tdefer received\.Close\(\)$//' BodiesWithoutALengthOnAFullDisk $media
mutant "write the beginning of a part again for each byte" $media/tus_patch.go 's/if excess <= 0 \{/if true {/' ShortRequestsOfTus $media
mutant "forget the checksums of parts when they are joined" $media/parts.go 's/_, err = s\.update\(ctx, nil, `UPDATE uploads SET stored/_, err = s.update(ctx, func(tx *sql.Tx) error { return s.forgetDropped(ctx, tx, n) }, `UPDATE uploads SET stored/' PartsAfterTheJoin $media
mutant "accept any bytes for a part of a complete upload" $media/serve_parts.go 's/return "", errPartsComplete/return "", nil/' PartsAfterTheJoin $media
mutant "keep rows of relations that ended" internal/service/account/graph.go '/^func storeRelation/,/^}/s/ \&\& r\.Remark == "" \{/ \&\& r.Remark == "?" {/' '^TestFriends$' internal/service/account
mutant "keep exports that a newer one replaces" internal/service/privacy/export.go '/^func .* export\(/,/^}/s/return s\.dropEarlier\(ctx, e\)/return nil/' '^TestExports$' internal/service/privacy
mutant "accept S3 keys after their session" $media/s3_signature.go 's/len\(ended\) > 0/len(ended) > 9/' S3KeysEndWithTheirSession $media
mutant "take a truncated chunk for a lost connection" $media/s3_chunks.go 's/^\t\tc\.err = errS3Chunk$/\t\tc.err = io.ErrUnexpectedEOF/' TruncatedChunks $media
mutant "concatenate another user's uploads" $media/tus_concat.go 's/s\.ownMultipart\(ctx, by, share\)/s.ownMultipart(ctx, 1, share)/' TusConcatenation $media
mutant "accept S3 keys for another upload" $media/s3.go 's/r\.PathValue\("upload"\) != n\.String\(\)/false/; s/q\.Get\("uploadId"\) != n\.String\(\)/false/' S3Refusals $media
mutant "let addresses of files hold for ever" internal/base/signedurl/signedurl.go 's/s\.Clock\.Now\(\)\.Unix\(\) >= ends/ends < 0/' '^TestCheck$' internal/base/signedurl
mutant "do not check the signature of an S3 request" $media/s3_signature.go 's/if subtle\.ConstantTimeCompare\(/if false \&\& subtle.ConstantTimeCompare(/' S3Refusals $media
mutant "hash a header of S3 as often as it is named" $media/s3_signature.go 's/>= a\.headers\[i\+1\]/== a.headers[i]+"?"/' SignaturesAreCheap $media
mutant "hash requests of S3 at any time" $media/s3_signature.go '/before the signature/,/a\.key = /s/return 0, a, errS3Skew/_ = errS3Skew/' SignaturesAreCheap $media
mutant "keep any list of parts in memory" $media/s3.go 's/int64\(len\(text\)\) > most \{/false {/; s/decode\(body\), most\+1/decode(body), 1<<21/' ListOfPartsIsBounded $media
mutant "show former avatars" $media/download.go 's/return avatar == n, err/return avatar == n || true, err/' Avatars $media
mutant "show a group's picture to everyone" internal/service/chat/group_settings.go '/^func .* Picture\(/,/^}/s/ \|\| !ok \|\| m\.leaveSeq != 0/ || ok \&\& false \&\& m.leaveSeq != 0/' PicturesAreVisible internal/transport/rpc
mutant "keep a picture before the change is allowed" internal/service/chat/group_settings.go 's/s\.deps\.CheckPicture\(ctx, by/s.deps.KeepPicture(ctx, by/' PicturesAreVisible internal/transport/rpc
mutant "store a file that is too long" $s3/receive.go 's/p\.Size\(\) > 0 \{/p.Size() > 1 {/' 'AReaderThatFails|Store|Large' $s3
mutant "leave uncompleted upload parts" $s3/put.go 's/if err == nil \|\| session == "" \{/if true {/' Large $s3
mutant "mix two versions of a file" $s3/read.go 's/options\.SetMatchETag\(f\.etag\)/options.SetMatchETag("*")/' Replaced $s3
mutant "treat a broken response as the end" $s3/read.go 's/^\treturn 0, classify\(err\)$/\treturn 0, io.EOF/' 'BreaksOff' $s3

# Limits of input.
mutant "allow a large first message" internal/transport/gateway/input.go 's/f\.maxMessage = maxFirstMessage/f.maxMessage = maxFrame/' MessageBeforeAuthentication internal/transport/gateway
mutant "decode a frame before counting its elements" internal/transport/gateway/handle.go 's/counted\.Elements, err = frameSchema\(\)\.Count\(p\)/counted.Elements = 1/' FramesAreCounted internal/transport/gateway
mutant "hold parts of messages without a limit" internal/transport/gateway/input.go 's/!c\.in\.held\.Set\(memory, owner, n\)/owner.User == 1 \&\& memory == nil/' 'FindsNoMemory|Incomplete' internal/transport/gateway
mutant "read the body of a refused request" internal/transport/rpc/body_limits.go 's/in\.err != nil \&\& refusals/in.err != nil \&\& b == nil \&\& refusals/' CredentialsCome internal/transport/rpc
mutant "ignore the connection limit of an address" internal/base/inputlimit/connections.go 's/c\.counts\[from\] >= c\.perNetwork/false/' ConnectionsOfANetwork internal/base/inputlimit
mutant "ignore the connection limit of an IPv6 site" internal/base/inputlimit/connections.go 's/ok \&\& c\.counts\[site\] >=/!ok \&\& c.counts[site] >=/' ConnectionsOfASite internal/base/inputlimit
mutant "let incomplete bodies fill all slots" internal/transport/rpc/rpc.go 's/unauthenticatedPerNetwork, unauthenticatedRequests\)/unauthenticatedPerNetwork, unauthenticatedCalls)/' IncompleteBodies internal/transport/rpc
mutant "do not limit complete calls without credentials" internal/transport/rpc/procedure.go 's/return nil, errTooManyCalls/_ = slot/' CompleteCallsBeyond internal/transport/rpc
mutant "let one user hold all input memory" internal/base/budget/budget.go 's/exceeds\(total, free\+held-before, Share\)/false/' FewOwners internal/base/budget
mutant "count a large watch as one call" internal/base/ratelimit/weight.go 's/\(users\+usersPerCall-1\)\/usersPerCall/users*0/' 'WatchedUsersCount' internal/transport/gateway
mutant "count a large message as one call" internal/base/ratelimit/weight.go 's/max\(messages, bytes\/bytesPerMessage\)/messages/' 'BytesOfMessages' internal/transport/gateway
mutant "count scheduled messages as calls only" internal/transport/rpc/call_costs.go 's/, \*chatv1\.ScheduleMessageRequest, \*chatv1\.UpdateScheduledRequest//' 'EveryCallHasARateLimit|RoutesHaveLimits' internal/transport/rpc
mutant "do not count whom an admin added to an organization" internal/transport/rpc/rate_limits.go 's/c\.limits\.Charge\(ratelimit\.Invite, c\.user, c\.from, n-1\)/_ = n/' MembersOfOrganizationsCount internal/transport/rpc
mutant "give all slots of list refreshes to one user" internal/service/inbox/list_refresh.go 's/s\.refreshes\[u\] = done/_ = done/' SlowRefreshesOfAUser internal/service/inbox
mutant "serve a damaged database" internal/platform/datadir/open.go 's/^\tclose\(s\.damage\)$//' 'ADamagedPageStops|DamageOfALarge' internal/platform/datadir
mutant "take a failed check of the pages for damage" internal/platform/datadir/open.go 's/if sqldb\.IsCorruption\(err\) \{/if err != nil {/' AFailedPageCheck internal/platform/datadir
mutant "check the pages once, even if that fails" internal/platform/datadir/open.go 's/failed == maxPageChecks:/failed > 0:/' AFailedPageCheck internal/platform/datadir
mutant "end before a running check of the pages" internal/platform/datadir/open.go 's/defer check\.Wait\(\)/defer func() {}()/' DamageEndsARunning internal/platform/datadir
mutant "take pages that could not be read for damage" internal/engine/sqldb/check_pages.go 's/err == nil \&\& !isCorruption\(n\)/err == nil \&\& n < 0/' UnreadPages internal/engine/sqldb
mutant "forget damage at the next start" internal/platform/datadir/open.go 's/size = math\.MaxInt64/_ = math.MaxInt64/' DamageOfALarge internal/platform/datadir
mutant "do not warn of a proxy that is not trusted" internal/app/proxysigns.go 's/case len\(r\.Header\.Values\("X-Forwarded-For"\)\) > 0:/case false:/' ProxySignsOfRequests internal/app
mutant "do not look at the accounts of an address" internal/transport/rpc/rate_limits.go 's/s\.deps\.Observe != nil \&\&/s.deps.Observe == nil \&\&/' CallsOfUsersAreObserved internal/transport/rpc
mutant "remember each account for proxy signs" internal/app/proxysigns.go 's/!isSampled\(user\) \|\| s\.shared/s.shared/' AccountsAreSampled internal/app
mutant "keep the rate-limit charge of a refused change" internal/transport/rpc/rate_limits.go 's/errs\.IsRefusal\(err\)/false/' RefusedChanges internal/transport/rpc
mutant "count users who were not added" internal/service/chat/add_members.go 's/errs\.IsRefusal\(err\)/false/' RefusedAdding internal/service/chat
mutant "examine all friends for suggestions" internal/service/account/suggest.go 's/friends\[:min\(len\(friends\), suggestFriends\)\]/friends/' SuggestionsRead internal/service/account

mutant "read the log alone" internal/platform/coldtier/log.go 's/ascends\(hot, after\+1\) \{/true {/' OldEntriesLeave internal/platform/coldtier
mutant "expire in the log only" internal/platform/coldtier/log.go 's/if key\.Kind == timeline\.Conversation \{/if key.Kind == timeline.Inbox {/' ColdTierMatches internal/platform/coldtier
mutant "trim control entries" internal/platform/coldtier/pack.go 's/keep = append\(keep, e\.Seq\)$/_ = keep/' OldEntriesLeave internal/platform/coldtier
mutant "commit a segment whose entries another node has packed" internal/platform/coldtier/manifest.go 's/n, err := done\.RowsAffected\(\); err != nil \|\| n == 1/_, err := done.RowsAffected(); true/' TwoNodesPack internal/platform/coldtier
mutant "trim before all nodes know of the cold tier" internal/platform/coldtier/coldtier.go 's/time\.Since\(\*since\) > trimDelay/time.Since(*since) >= 0/' SeveralNodes internal/platform/coldtier
mutant "leave abandoned segments" internal/platform/coldtier/pack.go 's/, t\.sweep\(ctx\)\)/)/' InterruptedRounds internal/platform/coldtier
mutant "leave expired contents in segments" internal/platform/coldtier/pack.go 's/, t\.rewriteStale\(ctx\)//' ExpiredContents internal/platform/coldtier
mutant "pack recalled contents" internal/platform/coldtier/pack.go 's/^\t\tm\.Content = nil$//' RecalledContents internal/platform/coldtier
mutant "forget what was recalled during a pack" internal/platform/coldtier/pack.go 's/^(\tif err := t\.commitPacked\(ctx, key, n, s, )recalled\)/\t_ = recalled\n\10)/' RecalledContents internal/platform/coldtier
mutant "delete a file that was committed meanwhile" internal/platform/coldtier/sweep.go 's/return changeOne\((tx\.ExecContext\(ctx, `UPDATE cold_segments SET state = 2 WHERE file.*)\)$/_, err := \1\n\t\treturn err/' SweepKeeps internal/platform/coldtier
mutant "let what expires be packed" internal/platform/coldtier/manifest.go 's/introduce := first > 1 \&\& /introduce := false \&\& /' ExpiryBegins internal/platform/coldtier
mutant "trim without looking at the segment" internal/platform/coldtier/pack.go 's/s\.last, t\.checkPacked\)/s.last, nil)/' 'WhatIsNotInItsSegment|MissingSegmentKeeps' internal/platform/coldtier
mutant "pack what was not delivered" internal/platform/coldtier/pack.go 's/key, from, pending-1, cut/key, from, to, cut/; s/pending < from\+uint64/pending+1 < 0*from+0*uint64/' Undelivered internal/platform/coldtier
mutant "read a damaged block" internal/platform/coldtier/segment.go 's/crc32\.Checksum\(stored, castagnoli\) != b\.checksum/false/' EachChangedByte internal/platform/coldtier
mutant "answer that a missing segment may come back" internal/platform/coldtier/coldtier.go 's/ && !errors\.Is\(err, blob\.ErrNotFound\)//' DamagedSegment internal/platform/coldtier
mutant "leave old entries in the log for an hour after a start" internal/platform/coldtier/pack.go 's/t\.heldUp\.Store\(true\)/t.heldUp.Store(false)/' UndeliveredEntries internal/platform/coldtier
mutant "leave out what the manifest lacks" internal/platform/coldtier/read.go 's/seq < now\.first \{/seq < now.first || seq > 0 {/' MissingRow internal/platform/coldtier
mutant "show what has expired behind a damaged segment" internal/service/chat/retention.go 's/for bad < to \&\& errors/for bad < min(to, corrupt+singleProbes) \&\& errors/' ManyCorrupt internal/service/chat
mutant "answer a retry of an old message as expired" internal/service/chat/send.go 's/errors\.Is\(d\.Err, errExpired\)/d.Err == errIsNot/; s/^var errExpired = /var errIsNot = errors.New("")\nvar errExpired = /' OldMessagesAreRead internal/app/apptest
# Streamed messages
mutant "give a broken-off end another token" internal/service/chat/streamed.go 's/d\.Refers, d\.ByServer = true, true/d.Refers, d.ByServer, d.ClientMsgID = true, true, d.ClientMsgID+"!"/' AnEndRacesWithStops internal/service/streamedmessage
mutant "store what a removed sender wrote" internal/service/streamedmessage/end.go 's/text := string\(h\.text\[:h\.allowed\]\)/text := string(h.text)/' ARemovedSender internal/service/streamedmessage
mutant "push parts of a recalled message" internal/service/streamedmessage/store.go 's/if h := s\.find\(k\); h != nil \{/if h := s.find(k); h != nil \&\& was {/' ARecallEnds internal/service/streamedmessage
mutant "forget a streamed message whose node is killed" internal/base/message/wire.go 's/ \|\| field == fieldStreamed//' ABeginningWhoseNode internal/service/streamedmessage
mutant "begin a streamed message after its end" internal/service/chat/streamed.go 's/if err != nil \|\| over \{/if err != nil {/' ABeginningWhoseNode internal/service/streamedmessage
mutant "renew a row of another holder" internal/service/streamedmessage/store.go 's/seq = \$2 AND node = \$3`,$/seq = $2 AND $3 = $3`,/' ASenderGoesOn internal/service/streamedmessage
mutant "break off before the lease ends" internal/service/streamedmessage/store.go 's/WHERE due_ms < \$1 ORDER/WHERE due_ms < $1 + 100000000 ORDER/' ALostNode internal/service/streamedmessage
mutant "end a streamed message without a part" internal/service/streamedmessage/end.go 's/case !same:/case !same \&\& gone:/' PartsThatAreRefused internal/service/streamedmessage
mutant "push parts to who joined later" internal/service/chat/streamed.go 's/ && st\.members\[u\]\.joinSeq > seq/ \&\& st.members[u].joinSeq > seq+1000/' AMemberWhoJoinedLater internal/service/streamedmessage
mutant "push no parts in large groups" internal/service/fanout/batch.go 's/ \|\| it\.kind == message\.DeliverFrame\)/)/' TransientFrameOfALarge internal/service/fanout
mutant "show parts that before_send has not decided about" internal/service/chat/streamed.go 's/return s\.beforeSend != nil \&\& /return s.beforeSend == nil \&\& /' PartsAreHidden internal/service/streamedmessage
mutant "give who comes late parts that before_send has not decided about" internal/service/streamedmessage/end.go 's/if err == nil \&\& m\.HideParts \{/if err != nil \&\& m.HideParts {/' PartsAreHidden internal/service/streamedmessage
mutant "push parts that before_send has not decided about" internal/service/streamedmessage/push.go 's/if !to\.HideParts \{/if true {/' PartsAreHidden internal/service/streamedmessage
mutant "tell users who may not read who writes a message" internal/service/streamedmessage/write.go '/^\tif _, err := s\.deps\.Chat\.Streamed/s/err != nil/err != nil \&\& u == 0/' UsersWhoMayNotReadLearn internal/service/streamedmessage
mutant "copy a long text for each repeated part" internal/service/streamedmessage/held.go 's/have := h\.text\[h\.index\(int\(p\.Offset\)\):\]/have := append([]byte(nil), h.text[h.index(int(p.Offset)):]...)/' RepeatedPartsCopyNothing internal/service/streamedmessage
mutant "read a long text from its beginning for each part" internal/service/streamedmessage/held.go 's/h\.marks = append\(h\.marks, .*/break/' CharactersOfALongText internal/service/streamedmessage
mutant "let one slow host hold all workers" internal/base/bulkhead/bulkhead.go 's/s\.used >= b\.share\(s\) \|\| //' 'AKeyHasAShare|SlowHost' internal/base/bulkhead internal/service/push
mutant "let many slow keys hold all slots" internal/base/bulkhead/bulkhead.go 's/\{1, 2, 4\}\[c\]/{1, 1, 1}[c]/' 'ManyKeysLeaveSlots|SlowWebhooks' internal/base/bulkhead internal/service/serverevent
mutant "keep what a host may have although it is slow" internal/service/push/deliver.go 's/s\.hosts\.Release\(host, took >= s\.slowAfter\)/s.hosts.Release(host, false)/' ASlowHostHasAQuarter internal/service/push
mutant "let slow keys divide nothing" internal/base/bulkhead/bulkhead.go 's/b\.limit\(slow\)\/n,/b.limit(slow),/' SlowKeysDivideAQuarter internal/base/bulkhead
mutant "serve a slow key that is alone by one slot" internal/base/bulkhead/bulkhead.go 's/b\.limit\(slow\)\/n, 1\)/1, 1)/' 'SlowKeysDivideAQuarter|ASlowHostHasAQuarter' internal/base/bulkhead internal/service/push
mutant "forget slow keys that got no slot" internal/base/bulkhead/bulkhead.go 's/s\.waiting, s\.askedAt = true, now/s.waiting, s.askedAt = false, now/' SlowKeysDivideAQuarter internal/base/bulkhead
mutant "take a slot that was not used for a quick use" internal/base/bulkhead/bulkhead.go 's/b\.release\(key, func\(\*state\) \{\}\)/b.Release(key, false)/' AKeyHasAShare internal/base/bulkhead
mutant "request access tokens one after the other while that fails" internal/service/push/access_token.go 's/case a\.failed != nil \&\& /case false \&\& /' 'TokenEndpointsAreNotFlooded|TokensArePaused' internal/service/push
mutant "let the pause after a failed access token begin before its request" internal/service/push/access_token.go 's/a\.clock\.Now\(\)\.Add\(tokenPause\)/began.Add(tokenPause)/' TokensArePaused internal/service/push
mutant "end the request of an access token with the delivery that began it" internal/service/push/access_token.go 's/context\.WithoutCancel\(ctx\)/ctx/' ATokenOutlives internal/service/push
mutant "wait for an access token after the delivery has ended" internal/service/push/access_token.go 's/<-ctx\.Done\(\):/<-(chan int)(nil):/' ATokenOutlives internal/service/push
mutant "keep devices that Huawei does not know" internal/service/push/huawei.go 's/case "80300007", "80100000":/case "8":/' TestHuawei internal/service/push
mutant "keep an access token that Huawei refuses" internal/service/push/huawei.go 's/h\.access\.forget\(token\)/_ = token/' TestHuawei internal/service/push
mutant "keep devices that Xiaomi does not know" internal/service/push/xiaomi.go 's/r\.kind = gone/r.kind = retry/' TestXiaomi internal/service/push
mutant "keep devices that Getui does not know" internal/service/push/getui.go 's/r\.kind = gone/r.kind = retry/' TestGetui internal/service/push
mutant "push each part alone" internal/service/streamedmessage/push.go 's/now\.Sub\(h\.lastPush\) >= h/now.Sub(h.lastPush) >= 0*h/' TinyParts internal/service/streamedmessage
mutant "use a dropped room again" internal/service/chatroom/hosted.go 's/h\.gone = h\.gone \|\| unused/h.gone = unused/' ADroppedRoom internal/service/chatroom

# Operations.
mutant "join the cluster before the port is bound" internal/app/app.go 's/n\.bind\(ctx\); err/n.LATER(ctx); err/; s/n\.openServices\(ctx\); err/n.bind(ctx); err/; s/n\.LATER/n.openServices/' 'ATakenPort' internal/app
mutant "refuse a start while a killed server's lock is held" internal/app/engines.go 's/openDataDir\(n\.config\.Data\); isInUse\(err\)/openDataDir(n.config.Data); false/' 'AStartWaits' internal/app
mutant "count refused messages as stored" internal/transport/gateway/conn.go 's/took, d\.Err\)$/took, nil)/' 'AdminEndpoints' internal/app
mutant "let bench forget messages without a receipt" internal/tool/bench/reconnect.go 's/c\.retryAt = false, c\.ackedTo,/c.retryAt = false, c.next,/' 'ALostConnection' internal/tool/bench
mutant "let bench take a page without a post for right" internal/tool/bench/feed_model.go 's/if covers\(shown, p\.asked, p\.got\) \{/if false {/' 'PagesOfAFeed|PostThatAppeared' internal/tool/bench
mutant "let bench take posts of different moments for a page" internal/tool/bench/feed_model.go 's/what == "" \&\& covers\(impossible/what != "" \&\& covers(impossible/' 'PagesOfAFeed' internal/tool/bench
mutant "let bench forget posts of earlier pages" internal/tool/bench/feed_model.go 's/^\t\tseen\[view\.Id\] = true$/\t\tdelete(seen, view.Id)/' 'PagesOfAFeed' internal/tool/bench
mutant "collapse errors of different subjects" internal/base/telemetry/collapse.go 's/all := r\.Level > slog\.LevelWarn/all := false/' 'WarningsOfOneCause' internal/base/telemetry

# Posts and home timelines.
mutant "read a page from two states of the database" internal/engine/sqldb/snapshot.go 's/return fn\(tx\)/_ = tx.Rollback(); tx, err = d.reader.BeginTx(ctx, nil); return err/' 'QueriesOfASnapshot' internal/engine/sqldb
mutant "use a window of others than whom the reader follows" internal/service/feed/home.go 's/h\.window\.complete \&\& h\.window\.changes == changes/h.window.complete \&\& changes > 0/' RandomSchedules internal/service/feed
mutant "leave out posts whose fan-out is not done" internal/service/feed/home.go 's/^\tfor _, r := range h\.pending \{/\tfor _, r := range h.pending[:0] {/' 'RandomSchedules' internal/service/feed
mutant "look for the posts of pulled authors in windows" internal/service/feed/pull.go 's/\(t\.pulled \|\| t\.pushedFrom > floor\)/t.pushedFrom > floor/' 'RandomSchedules|ChangeTheirTier' internal/service/feed
mutant "forget what a pulled author published before being pushed again" internal/service/feed/pull.go 's/\(t\.pulled \|\| t\.pushedFrom > floor\)/t.pulled/' 'RandomSchedules|ChangeTheirTier' internal/service/feed
mutant "build windows without deleted posts" internal/service/feed/window.go 's/, withDeleted\)/, withoutDeleted)/' WindowMayBeNewer internal/service/feed
mutant "keep windows after an unfollow" internal/service/account/follows.go 's/changes = c\.changes \+ \$3/changes = c.changes + CASE WHEN $2 > 0 THEN 1 ELSE 0 END/' 'FollowsAreCounted|WindowMayBeNewer' internal/service/account internal/service/feed
mutant "end the fan-out of a post after its first step" internal/service/feed/push.go 's/if len\(followers\) < s\.stepOf\(j\) \{/if len(followers) <= s.stepOf(j) {/' 'ManySteps|OrdinaryAuthors' internal/service/feed
mutant "mark a post as pushed before it is" internal/service/feed/push.go 's/if err := s\.pushTo\(ctx, some, ref\{p\.id, p\.author\}\); err != nil \{/defer func() { _ = s.pushTo(ctx, some, ref{p.id, p.author}) }()\n\t\tif ctx.Err() != nil {/' RandomSchedules internal/service/feed
mutant "forget the first push after a build began" internal/service/feed/window.go 's/b := base\{from: begin\.Seq\}/b := base{from: begin.Seq + 1}/' PushDuringABuild internal/service/feed
mutant "use a window that lacks entries" internal/service/feed/window.go 's/case newest != nil \&\& before <= newest\.from\+1:/case newest != nil \&\& (before <= newest.from+1 || len(entries) < chunk):/' LacksEntries internal/service/feed
mutant "believe that a window which was cut is complete" internal/service/feed/window.go 's/^\t\tb\.floor = b\.refs\[most-1\]\.post$//' 'RandomSchedules|BelowItsWindow' internal/service/feed
mutant "forget pushes at a compaction" internal/service/feed/window.go 's/from: w\.last, floor/from: w.last + 1, floor/' RandomSchedules internal/service/feed
mutant "let the windows of absent readers grow" internal/service/feed/push.go 's/t\.Seq-t\.FirstSeq >= s\.sizes\.windowEntries/t.Seq > 1<<40/' AbsentReaders internal/service/feed
mutant "show hidden posts" internal/service/feed/visible.go 's/case p\.deleted, p\.hidden:/case p.deleted:/' RandomSchedules internal/service/feed
mutant "show deleted posts" internal/service/feed/visible.go 's/case p\.deleted, p\.hidden:/case p.hidden:/' 'RandomSchedules|RetryOfPublish' internal/service/feed
mutant "show posts of who has blocked the reader" internal/service/account/follows.go 's/SELECT owner, FALSE, blocked FROM/SELECT owner, FALSE, FALSE FROM/' 'FriendsAndBlocks|RandomSchedules' internal/service/account internal/service/feed
mutant "show posts of muted users" internal/service/account/follows.go 's/SELECT other, muted OR blocked/SELECT other, blocked/' 'FollowsAreCounted|RandomSchedules' internal/service/account internal/service/feed
mutant "show posts to those whom their author excepts" internal/service/feed/visible.go 's/return !named/return true/' RandomSchedules internal/service/feed
mutant "show posts for friends to everybody" internal/service/feed/visible.go 's/return friend$/return true/' RandomSchedules internal/service/feed
mutant "repeat a post on the next page" internal/service/feed/page.go 's/next = n$/next = n + 1/' RandomSchedules internal/service/feed
mutant "skip a post between two pages" internal/service/feed/page.go 's/next = n$/next = list[i+1]/' RandomSchedules internal/service/feed
mutant "read all posts for one page" internal/service/feed/page.go 's/maxExamined = 500/maxExamined = 1 << 30/' BoundedWork internal/service/feed
mutant "take another post with a token for a retry" internal/service/feed/publish.go 's/case err == nil \&\& !bytes\.Equal\(request, d\.sum\[:\]\):/case err == nil \&\& bytes.Equal(request, nil):/' RetryOfPublish internal/service/feed
mutant "publish one post more than the quota" internal/service/feed/publish.go 's/a\.windowPosts >= int64/a.windowPosts > int64/' TheQuota internal/service/feed
mutant "give a later post of an author a lower id" internal/service/feed/publish.go 's/n <= a\.lastPost \{/n == a.lastPost {/' PostIDs internal/service/feed
mutant "let celebrities come before ordinary authors" internal/service/feed/push.go 's/if p\.Ordinary \{/if !p.Ordinary {/' OrdinaryAuthors internal/service/feed
mutant "do not serve the cover of a post" internal/service/feed/content.go 's/\tadd\(c\.Cover\.GetUpload\(\)\)//' FilesOfAPost internal/service/feed
mutant "lead to goods without encryption" internal/service/feed/goods.go 's/!strings\.HasPrefix\(g\.Link, "https:\/\/"\) \|\| //' BadPosts internal/service/feed
mutant "pass over a repost with goods" internal/service/feed/content.go 's/ \|\| len\(c\.Goods\) > 0 \|\| c\.Video/ || c.Video/' 'TestReposts|BadPosts' internal/service/feed
mutant "publish pictures of others" internal/service/feed/publish.go 's/s\.deps\.KeepPicture\(ctx, tx, by, upload\); err != nil/s.deps.KeepPicture(ctx, tx, by, upload); err != nil \&\& upload == 0/' 'BadPosts|PicturesOfPosts' internal/service/feed internal/transport/rpc
mutant "give a picture to who may not see its post" internal/service/media/download.go 's/named, err = s\.deps\.PostNames\(ctx, by, r\.Post, n\); err/_, err = s.deps.PostNames(ctx, by, r.Post, n); err/; s/^\tcase r\.Post != 0:/\tcase r.Post != 0:\n\t\tnamed = true/' PicturesOfPosts internal/transport/rpc
mutant "tell users of posts that are not for them" internal/service/feed/readers.go 's/!isFor\(p, friends\[u\], names\[u\]\)/!isFor(p, friends[u], names[u]) \&\& p == nil/' WhoIsTold internal/service/feed
mutant "tell those who muted the author of a post" internal/service/account/follows.go 's/-n\)\)\); n > 0 \{/-n))); n != 0 {/; s/shown, id\.User\(n\)\)/shown, id.User(max(n, -n)))/' 'WhoIsTold|ToWhomPostsAreShown' internal/service/account internal/service/feed
mutant "keep the follow of a user who is blocked" internal/service/account/graph.go 's/^\t\t\ttheirs\.Following = false/\t\t\t_ = theirs.Following/' 'WhoIsTold|ToWhomPostsAreShown' internal/service/account internal/service/feed
mutant "tell all followers of a post that is not for everyone" internal/service/feed/notify.go 's/p\.audience == feedv1\.Audience_AUDIENCE_EVERYONE/p.audience >= feedv1.Audience_AUDIENCE_EVERYONE/' WhoIsTold internal/service/feed
mutant "tell those who muted a pulled author of a post" internal/service/account/follows.go 's/following AND NOT muted AND NOT blocked/following AND NOT blocked/' WhoIsTold internal/service/feed
mutant "announce a post of a pulled author on its own node only" internal/service/feed/publish.go 's/err := s\.addAnnouncement\(ctx, tx, d\.author, n\)/err := ctx.Err()/' AnnouncePosts internal/service/feed
mutant "announce a post again with each retry" internal/service/feed/publish.go 's/if d\.pulled \&\& n == d\.id \{/if d.id > 0 {/' AnnouncePosts internal/service/feed
mutant "announce a post twice on its own node" internal/service/feed/announce.go 's/e\.Kind == announceEvent \&\& e\.Detail != s\.deps\.Node/e.Kind == announceEvent/' AnnouncePosts internal/service/feed
mutant "bring posts that are shown again to no window" internal/service/feed/window_cleanup.go 's/retired = FALSE, pending = \$2, pushed_to = 0/retired = FALSE, pending = (pending AND $2), pushed_to = 0/' HiddenPostsLeaveWindows internal/service/feed
mutant "clean windows of posts that were shown again" internal/service/feed/window_cleanup.go 's/err != nil \|\| !retired\[n\]/err != nil || len(retired) > 1/' CleaningStops internal/service/feed
mutant "retire posts that were hidden just now" internal/service/feed/window_cleanup.go 's/s\.nowMs\(\)-hiddenMs < cleanDelay\.Milliseconds\(\)/hiddenMs < 0/' HiddenPostsLeaveWindows internal/service/feed
mutant "leave retired posts in new windows" internal/service/feed/window.go 's/return retired\[r\.post\]/return retired[r.post] \&\& r.post == 0/' HiddenPostsLeaveWindows internal/service/feed
mutant "tell readers of a post that is shown again" internal/service/feed/push.go 's/^\tif j\.Again \{/\tif j.Again \&\& j.Post == 0 {/' HiddenPostsLeaveWindows internal/service/feed
mutant "like while likes are off" internal/service/engagement/like.go 's/s\.deps\.LikesOff != nil \&\& s\.deps\.LikesOff\(\)/s.deps.LikesOff == nil/' FeedPlans internal/transport/rpc
mutant "edit comments that are read-only" internal/service/comment/change.go 's/if s\.isReadOnly\(\) \{/if false {/' FeedPlans internal/transport/rpc
mutant "fan posts out while that is off" internal/service/feed/push.go 's/if s\.isOn\(pullOnly\) \{/if s.isOn(likesOff) {/' FanoutIsSwitchedOff internal/service/feed
mutant "let keys of the console act as servers" internal/service/account/session.go 's/if IsOperatorKey\(token\) \{/if false {/' KeysOfOperators internal/transport/rpc
mutant "open the console to keys of servers" internal/service/account/operator_key.go 's/return id\.Caller\{\}, errNoRole/return id.Caller{Role: id.Operator}, nil/' KeysOfOperators internal/transport/rpc
mutant "let auditors change" internal/service/operation/operation.go 's/if !c\.Role\.May\(least\) \{/if false {/' KeysOfOperators internal/transport/rpc
mutant "let moderators change what operators do" internal/base/id/id.go 's/r == least \|\| r == Operator/r >= least/' 'KeysOfOperators|ModeratorsDoNothingElse' internal/transport/rpc
mutant "let banned users log in" internal/service/account/session.go 's/s\.checkBan\(ctx, tx, user, id\.Device\(c\.Device\)\)/error(nil)/' 'BansOf' internal/service/moderation
mutant "let banned users stay" internal/service/account/ban.go 's/where, args := `true`/where, args := `false`/' 'BansOfUsers' internal/service/moderation
mutant "do not say that a token is of a banned user" internal/service/account/session.go 's/return id\.Caller\{\}, s\.explainEnded\(ctx, c, err\)/return id.Caller{}, err/' 'BansOfUsers' internal/service/moderation
mutant "let servers act for banned users" internal/transport/rpc/moderations.go 's/return m\.CheckUser\(ctx, c\.User\)/return nil/' 'BannedUsersAreRefused' internal/transport/rpc
mutant "let bans last for ever" internal/service/moderation/ban.go 's/\(b\.ends_ms = 0 OR b\.ends_ms > \$1\) AND \(b\.target/($1 > 0) AND (b.target/' 'BansOf' internal/service/moderation
mutant "name the ban that ends first" internal/service/moderation/ban.go 's/b\.endsMs > last\.endsMs/b.endsMs < last.endsMs/' 'BansAreLifted' internal/service/moderation
mutant "ban the networks beside one" internal/service/moderation/networks.go 's/first \+= 96/first += 94/' 'BansOfNetworks' internal/service/moderation
mutant "tell no node of banned networks" internal/service/moderation/reload.go 's/return s\.deps\.ClusterEvents\.Add\(ctx, tx, clusterevent\.Event\{Kind: changedEvent\}\)/return nil/' 'BansOfNetworks' internal/service/moderation
mutant "report what one may not read" internal/service/moderation/reported_content.go 's/len\(shown\) == 0 \|\| shown\[len\(shown\)-1\]\.Seq != seq/len(shown) == 0/' 'OnlyWhatOneMayRead' internal/service/moderation
mutant "report oneself" internal/service/moderation/report.go 's/if copied\.about == u \{/if false {/' 'OnlyWhatOneMayRead' internal/service/moderation
mutant "limit nobody" internal/service/moderation/limits.go 's/return l\.madeMs/return 0/' 'Limits|CasesEndWith' internal/service/moderation
mutant "limit users without a bound" internal/service/moderation/limits.go 's/if n >= maxLimits \{/if false {/' 'LimitsAreBounded' internal/service/moderation
mutant "name an action by a wrong number in queries" internal/service/moderation/my_decisions.go 's/untoldActions = `\(1, 6\)`/untoldActions = `(1, 7)`/' 'QueriesHaveTheNumbers' internal/service/moderation
mutant "tell users of their limits" internal/service/moderation/my_decisions.go 's/untoldActions = `\(1, 6\)`/untoldActions = `(1)`/' 'TestLimits' internal/service/moderation
mutant "limit messages to friends" internal/service/chat/limited_user.go 's/err != nil \|\| friends \{/err != nil \&\& friends {/' 'WhoSeesWhat' internal/service/moderation
mutant "limit messages to those who have written" internal/service/chat/limited_user.go 's/return !wrote, err/return wrote || !wrote, err/' 'WhoSeesWhat' internal/service/moderation
mutant "show messages in groups that were made during the limit" internal/service/chat/limited_user.go 's/return joinedMs > sinceMs, err/return joinedMs < 0, err/' 'WhoSeesWhat' internal/service/moderation
mutant "show others what only its sender sees" internal/service/chat/limited_user.go 's/if !m\.Entry\.IsFor\(u\) \{/if false {/' 'WhoSeesWhat' internal/service/moderation
mutant "let others react to what only its sender sees" internal/service/chat/update.go 's/ \|\| !t\.entry\.IsFor\(u\)//' 'UpdatesOfLimited' internal/service/moderation
mutant "show edits of what only its sender sees" internal/service/chat/update.go 's/d\.Updates, d\.Limited = seq, target\.entry\.Limited/d.Updates = seq/' 'UpdatesOfLimited' internal/service/moderation
mutant "push what only its sender sees" internal/service/fanout/dispatcher.go 's/if stored\.Limited \{/if false {/' 'LimitedMessagesReachNobody' ./internal/app/apptest
mutant "count what only its sender sees as unread" internal/base/message/message.go 's/ \&\& !e\.Limited \&\& / \&\& /' 'LimitedMessagesReachNobody' ./internal/app/apptest
mutant "tell others of the last erased message that only its author saw" internal/service/chat/erase.go 's/ORDER BY limited, seq DESC/ORDER BY seq DESC/' 'ErasureTellsNobody' ./internal/service/chat
mutant "tell others of an erased message that only its author saw" internal/service/chat/erase.go 's/\.Scan\(\&e\.Updates, \&e\.Limited\)/.Scan(\&e.Updates, new(bool))/' 'ErasureTellsNobody' ./internal/service/chat
mutant "limit messages to those whose messages have expired" internal/service/chat/limited_user.go 's/return seq > 0, err/tail, err := s.deps.Log.Tail(ctx, logKey(c)); return seq >= max(tail.FirstSeq, 1), err/' 'LimitsOutlive' ./internal/service/chat
mutant "hide what a limited author published before, when it is edited" internal/service/feed/edit.go 's/case feedv1\.Audience_AUDIENCE_EVERYONE, feedv1\.Audience_AUDIENCE_EXCEPT:.*/case 99:/' PostsAndCommentsOfALimitedUser internal/service/moderation
mutant "import a friend who is blocked" internal/service/account/import_relations.go 's/\(mine\.Blocked \|\| r\.Blocked\)/mine.Blocked/' '^TestRelationsAreImported$' internal/service/account
mutant "show posts of limited users" internal/service/feed/limited_author.go 's/return onlyAuthor$/return c.Audience/' 'PostsAndCommentsOfALimited' internal/service/moderation
mutant "show comments of limited users" internal/service/comment/visible.go 's/r\.limited \&\& r\.author != reader \|\| //' 'PostsAndCommentsOfALimited' internal/service/moderation
mutant "count comments of limited users" internal/service/comment/count.go 's/if r\.limited \{/if false {/' 'PostsAndCommentsOfALimited' internal/service/moderation
mutant "do not send what a moderator allows" internal/service/moderation/decide.go 's/d\.pending = pendingSend/d.pending = nothingPending/' 'ModeratorsDecideWhatIsHeld' internal/service/moderation
mutant "take what could not be sent for sent" internal/service/moderation/hold.go 's/return errs\.Of\(err\)\.Reason, nil/return "", nil/' 'ModeratorsSeeWhatCouldNotBeSent' internal/service/moderation
mutant "send for ever what cannot be sent" internal/service/moderation/hold.go 's/if errs\.IsRefusal\(err\) \&\& /if errs.IsRefusal(err) \&\& errs.Of(err).Reason == "" \&\& /' 'ModeratorsSeeWhatCouldNotBeSent' internal/service/moderation
mutant "hold again what was decided" internal/service/moderation/hold.go 's/once: token != ""/once: false/' 'WhatWasDecidedIsNotHeldAgain' internal/service/moderation
mutant "hold an edit once for ever" internal/service/moderation/hold.go 's/once: token != ""/once: true/' 'WhatWasDecidedIsNotHeldAgain' internal/service/moderation
mutant "hold contents without a bound" internal/service/moderation/hold.go 's/if n >= maxHeld \{/if false {/' 'HeldContentsAreBounded' internal/service/moderation
mutant "ask about the retry of a post" internal/service/feed/review.go 's/if err != nil \|\| stored \{/if err != nil {/' 'RetriesOfPosts' internal/service/moderation
mutant "ask about edits of others' posts" internal/service/feed/review.go 's/_, err := editable\(ctx, tx, by, r, content\)/_, err := getPost(ctx, tx, r.Post)/' 'EditsOfOthers' internal/service/moderation
mutant "ask about edits of others' comments" internal/service/comment/review.go 's/_, _, err := s\.editable\(ctx, tx, by, r\.Comment\)/_, _, err := s.visible(ctx, tx, by, r.Comment)/' 'EditsOfOthers' internal/service/moderation
mutant "store each time at which a warning is acknowledged" internal/service/moderation/my_decisions.go 's/WHERE id = \$1 AND acknowledged_ms = 0/WHERE id = $1/' 'WarningsAreAcknowledged' internal/service/moderation
mutant "tell nobody of warnings" internal/service/moderation/my_decisions.go 's/s\.deps\.Notify\(\[\]id\.User\{d\.about\}, frame\)/_, _ = frame, id.User(0)/' 'WarningsAreAcknowledged' internal/service/moderation
mutant "take traditional characters for others" internal/base/wordfilter/fold.go 's/if s, ok := simplified\(\)\[d\]; ok \{/if s, ok := simplified()[d]; ok \&\& false {/' 'ChineseVariants' internal/base/wordfilter
mutant "store each report of a user" internal/service/moderation/report.go 's/if before, err = repeated\(ctx, tx, u, of\); err != nil \|\| before != nil \{/if err != nil {/; s/if err != nil \|\| before != nil \{/if err != nil {/' 'ReportsOfOneThing' internal/service/moderation
mutant "count repeated reports" internal/service/moderation/report.go 's/if err != nil \|\| before != nil \{/if err != nil {/' 'ReportsAreLimited' internal/service/moderation
mutant "show users who reported" internal/service/moderation/report.go 's/^\t\treport\.Reporter = 0/\t\treport.Reporter += 0/' 'ReportsOfOneThing' internal/service/moderation
mutant "copy all context" internal/service/moderation/reported_content.go 's/room < 0/false/' 'ReportsHaveTheirContext' internal/service/moderation
mutant "decide a case twice" internal/service/moderation/decide.go 's/case of\.state == stateDecided:/case of.state == stateDecided \&\& r.Case == 0:/' 'CasesAreDecidedOnce' internal/service/moderation
mutant "forget decisions that could not be applied" internal/service/moderation/decide.go 's/WHERE pending > 0 AND id > \$1/WHERE pending > 9 AND id > $1/' 'DecisionsAreApplied' internal/service/moderation
mutant "keep copies for ever" internal/service/moderation/queue.go 's/decided_ms < \$2/decided_ms < $2 - $2/' 'CopiesAreDeleted' internal/service/moderation
mutant "accept old appeal tokens" internal/service/moderation/appeal.go 's/ < s\.nowMs\(\) \{/ < 0 {/' 'TestAppeals' internal/service/moderation
mutant "appeal for others" internal/service/moderation/appeal.go 's/d\.about != u \|\|/d.about == 0 ||/' 'TestAppeals' internal/service/moderation
mutant "keep bans that were overturned" internal/service/moderation/appeal.go 's/return s\.lift\(ctx, tx, c, `decision = \$2`, d\.id, note\)/return s.lift(ctx, tx, c, `decision = $2`, 0, note)/' 'TestAppeals' internal/service/moderation
mutant "show comments that their authors deleted" internal/service/comment/change.go 's/UPDATE comments SET hidden_content = NULL WHERE id = \$1 AND/UPDATE comments SET hidden_content = NULL WHERE id = -$1 AND/' 'AppealsAgainstHiding' internal/service/moderation
mutant "count hidden comments" internal/service/comment/hide.go 's/s\.addCount\(ctx, tx, c, -1\)/error(nil)/' 'TestDecisions' internal/service/moderation
mutant "recall as the sender may" internal/service/chat/update.go 's/if d\.ByServer \&\& content\.GetRecall\(\) != nil/if false \&\& content.GetRecall() != nil/' 'RecallForModerators' internal/service/chat
mutant "check no words of places" internal/service/chat/words.go 's/k\.Location\.GetLabel\(\), k/k/' 'WordsOfMessages' internal/service/chat
mutant "check no words of cards" internal/service/chat/words.go 's/k\.Card\.GetTitle\(\), k/k/' 'WordsOfMessages' internal/service/chat
mutant "store messages with refused words" internal/service/chat/send.go 's/if err := s\.checkWords\(d\); err != nil \{/if err := s.checkWords(d); err != nil \&\& d.Sender == 0 {/' 'WordsOfMessages' internal/service/chat
mutant "flag messages that were stored before" internal/service/chat/send.go 's/!d\.Duplicate \&\& d\.FlaggedWord/d.FlaggedWord/' 'WordsOfMessages' internal/service/chat
mutant "find words across words" internal/base/wordfilter/wordfilter.go 's/return inside == 0 \|\| e\.han \|\| inside == e\.runes-1/return inside >= 0/' 'DisguisedWords' internal/base/wordfilter
mutant "find whole words within others" internal/base/wordfilter/wordfilter.go 's/if e\.whole \&\& /if false \&\& /' 'DisguisedWords' internal/base/wordfilter
mutant "see characters that nobody sees" internal/base/wordfilter/fold.go 's/folded == "" \&\& !isUnseen\(r\)/folded == ""/' 'DisguisedWords' internal/base/wordfilter
mutant "miss letters that look alike" internal/base/wordfilter/fold.go 's/if l, ok := lookalikes\[d\]; ok \{/if l, ok := lookalikes[-d]; ok {/' 'DisguisedWords' internal/base/wordfilter
mutant "replace word lists unread" internal/service/moderation/words.go 's/if before\.Version != r\.Version \&\& /if false \&\& /' 'TestWordLists$' internal/service/moderation
mutant "name operators as they like" internal/transport/rpc/operations.go 's/r\.By = c\.Key/_ = r/' OperatorsAreNamed internal/transport/rpc
mutant "leave out nodes that do not answer" internal/service/operation/nodes.go 's/r\.Name, r\.Answered = node, err == nil/if err != nil { return }; r.Name, r.Answered = node, true/' NodesAnswer internal/service/operation
mutant "change jobs without a record" internal/platform/job/retry.go 's/return audit\(ctx, tx, before, after\)/_ = after; return nil/' 'ChangesOfJobs|NoChangeWithout' internal/service/operation
mutant "drop jobs that are no dead letters" internal/platform/job/retry.go 's/if before\.State != Discarded \{/if false {/' ChangesOfJobs internal/service/operation
mutant "serve the console to the public" internal/app/webapp.go 's/return strings\.HasPrefix\(name, web\.ConsoleFolder\)/return false/' ConsoleIsOnTheAdminListener internal/app
mutant "let a switch turn on its own node only" internal/platform/runtimeswitch/runtimeswitch.go 's/return s\.deps\.ClusterEvents\.Add\(ctx, tx, clusterevent\.Event\{Kind: eventKind\}\)/return nil/' SwitchesOfAllNodes internal/platform/runtimeswitch
mutant "change switches for nobody" internal/platform/runtimeswitch/runtimeswitch.go 's/case by == "" \|\| /case false \&\& /' 'FeedPlans' internal/transport/rpc
mutant "record changes that are none" internal/platform/runtimeswitch/runtimeswitch.go 's/if was\[n\] == to\[n\] \{/if false \&\& was[n] {/' SwitchesOfAllNodes internal/platform/runtimeswitch
mutant "announce deleted posts" internal/service/feed/announce.go 's/\(p\.deleted \|\| p\.hidden\)/p.hidden/' AnnouncePosts internal/service/feed
mutant "do not find posts that a window lacks" internal/tool/verify/feed.go 's/\!w\.posts\[post\] \&\& w\.pushed\[post\] <= w\.from/!w.posts[post] \&\& w.pushed == nil/' FeedViolations internal/tool/verify
mutant "tell no screen of a hidden post" internal/service/feed/hide.go 's/^\t\ts\.publishChange\(r\.Post\)$//' 'ScreensAreTold' internal/service/feed
mutant "tell no screen of a deleted post" internal/service/feed/delete.go 's/^\t\ts\.publishChange\(n\)$//' 'ScreensAreTold' internal/service/feed
mutant "compare the versions of posts before they are watched" internal/service/feed/watch.go 's/p == nil \|\| p\.version != shown\[n\]/p == nil/' 'AnswerNames' internal/service/feed
mutant "let a late request replace the posts on screen" internal/service/feed/watch.go 's/int32\(w\.turn-old\.turn\) < 0/old.turn > 1<<30/' 'ScreensAreTold|WatchedPostsAreInterests' internal/service/feed
mutant "tell excluded users of each edit" internal/service/feed/watch_check.go 's/sees \|\| saw \|\| !known \{/sees || saw || !known || n > 0 {/' 'ExcludedWatchers' internal/service/feed
mutant "do not tell excluded users that a post is gone" internal/service/feed/watch_check.go 's/sees \|\| saw \|\| !known \{/sees \&\& (saw || !known || n > 0) {/' 'ExcludedWatchers|ScreensAreTold' internal/service/feed
mutant "forget changes that could not be checked" internal/service/feed/watch_check.go 's/^\t\t\ts\.watches\.putBack\(watchers\)$//' 'CouldNotBeChecked' internal/service/feed
mutant "tell users of edits who could not see the post before" internal/service/feed/watch.go 's/^\t\ts\.watches\.noteUnseen\(w, unseen\)$/\t\t_ = unseen/' 'ExcludedWatchers' internal/service/feed
mutant "keep the interest in posts that nobody shows" internal/service/feed/watch.go 's/^\ts\.removeInterest\(old\)$/\t_ = old/' 'WatchedPostsAreInterests' internal/service/feed
mutant "fail a page with a part that fails" internal/service/detail/page.go 's/if r\.err == nil \{/if list[r.part] = r.put; r.err == nil {/' 'NamesTheMissing' internal/service/detail
mutant "wait for parts of pages for ever" internal/service/detail/page.go 's/context\.WithTimeout\(ctx, s\.timeout\)/context.WithCancel(ctx)/' 'NamesTheMissing' internal/service/detail
mutant "read on for a page that there is not" internal/service/detail/page.go 's/s\.start\(optional, i, of, results\)/s.start(context.WithoutCancel(optional), i, of, results)/' 'OtherPartsEnd' internal/service/detail
mutant "give arguments of SQLite in the order of their numbers" internal/engine/sqldb/positional.go 's/order = append\(order, n-1\)/order = append(order, len(order))/' 'PlaceholdersBecomePositional' internal/engine/sqldb
mutant "let SQLite plan a statement again when a value changes" internal/engine/sqldb/positional.go 's/b\.WriteString\("\+\?"\)/b.WriteByte(63)/' 'PlaceholdersBecomePositional' internal/engine/sqldb
mutant "use a copy of a row that has changed" internal/engine/sqldb/snapshot_cache.go 's/!ok \|\| c\.lastChange\(k\) > min\(have\.after, after\)/!ok/' 'CachesShowEachChange' internal/engine/sqldb
mutant "use a copy that is newer than the snapshot" internal/engine/sqldb/snapshot_cache.go 's/min\(have\.after, after\)/have.after/' 'EntriesAreThose' internal/engine/sqldb
mutant "keep a copy of a row that has changed meanwhile" internal/engine/sqldb/snapshot_cache.go 's/cachedValue\{v, exists, after\}/cachedValue{v, exists, after + 1<<32}/; s/c\.lastChange\(k\) <= after/true/' 'EntriesAreThose' internal/engine/sqldb
mutant "use copies while a commit changes them" internal/engine/sqldb/commit_tracker.go 's/^\tc\.mark\(inCommit\)$//' 'KeysOfARunningCommit' internal/engine/sqldb
mutant "begin a snapshot with its first query" internal/engine/sqldb/snapshot.go 's/tx\.run\("SELECT 1 FROM sqlite_schema LIMIT 1"\)/error(nil)/' 'EntriesAreThose' internal/engine/sqldb
mutant "forget what a large transaction has changed" internal/engine/sqldb/commit_tracker.go 's/c\.allChanged = true/c.allChanged = false/' 'VeryManyRows' internal/engine/sqldb
mutant "forget the key that a row had" internal/engine/sqldb/commit_tracker.go 's/c\.add\(w\.slot\(row\.Old\)\)/_ = row.Old/' 'CachesShowEachChange' internal/engine/sqldb
mutant "keep copies of a file that others write" internal/engine/sqldb/sqlite.go 's/if !o\.OtherProcesses \{/if true {/' 'NoSnapshotCachesBeside' internal/engine/sqldb
mutant "let a page of one snapshot seem whole" internal/service/detail/snapshot.go 's/page\.Missing = append\(page\.Missing, p\.Kind\)$/_ = p/' 'PageOfOneSnapshot' internal/service/detail
mutant "read parts of one snapshot however long it takes" internal/service/detail/snapshot.go 's/ReadAsOf\(optional/ReadAsOf(ctx/; s/optional\.Err\(\)/ctx.Err()/' 'PageOfOneSnapshot' internal/service/detail
mutant "show copies of posts of who has blocked the reader" internal/service/account/snapshot_caches.go 's/mine\.GetBlocked\(\) \|\| theirs\.GetBlocked\(\)/mine.GetBlocked() || theirs.GetMuted()/' 'FriendsAndBlocks|RandomSchedules' internal/service/account internal/service/feed
mutant "keep copies of posts that were edited" internal/service/feed/snapshot_caches.go 's/\{"feed_posts": \{"id"\}\}/{"feed_posts": {"author"}}/' 'ThePageOfAPost' internal/app
mutant "keep copies of comments that were edited" internal/service/comment/snapshot_caches.go 's/\{"comments": \{"kind", "subject"\}\}/{"comments": {"kind", "top"}}/' 'ThePageOfAPost' internal/app
mutant "use a list of followed users from before a change" internal/service/account/follows.go 's/ok \&\& have\.version == f\.version/ok/' FollowsAreCounted internal/service/account
mutant "a mute is no change of whom a timeline shows" internal/service/account/follows.go 's/ \&\& isShown\(before\) == isShown\(after\)//' FollowsAreCounted internal/service/account
mutant "follow without a limit" internal/service/account/follows.go 's/following > maxFollowing/following > 1<<30/' FollowsAreBounded internal/service/account

# Comments.
mutant "count the comments of all nodes in one row" internal/service/comment/count.go 's/bucket := s\.bucket\(\)/bucket := 0 * s.bucket()/' CommentersOnManyNodes internal/service/comment
mutant "count a deletion twice" internal/service/comment/change.go 's/^\t\tif c\.deleted \{/\t\tif c.deleted \&\& n == 0 {/' 'Deletion|RetriesAreHarmless' internal/service/comment
mutant "keep the contents of deleted comments" internal/service/comment/change.go 's/deleted = TRUE, content = \$2 WHERE/deleted = $2 IS NOT NULL WHERE/' TestDeletion internal/service/comment
mutant "take another comment with a token for a retry" internal/service/comment/create.go 's/!bytes\.Equal\(request, d\.request\)/bytes.Equal(request, nil)/' RetriesAreHarmless internal/service/comment
mutant "show comments of who has a block with the reader" internal/service/comment/visible.go 's/r\.author != reader \|\| blocked\[r\.author\] \|\| /r.author != reader || /' 'BlocksHideThreads|RandomSchedules' internal/service/comment
mutant "show threads below comments of who has a block with the reader" internal/service/comment/visible.go 's/ \|\| blocked\[r\.topAuthor\] \|\| / || /' 'BlocksHideThreads|RandomSchedules' internal/service/comment
mutant "tell whom a blocked user is answered" internal/service/comment/visible.go 's/if blocked\[r\.replyToAuthor\] \{/if blocked[0] {/' 'BlocksHideThreads|RandomSchedules' internal/service/comment
mutant "list comments of posts that the reader may not see" internal/service/comment/list.go 's/(return s\.list\(ctx, reader, r, func\(tx \*sql\.Tx\) error \{)/\1 if r.Subject > 0 { return nil }/' 'WhoeverDoesNotSeeThePost|RandomSchedules' internal/service/comment
mutant "give comments of posts that the reader may not see" internal/service/comment/visible.go 's/s\.subjectOf\(ctx, tx, reader, r\); err != nil \{/s.subjectOf(ctx, tx, reader, r); err != nil \&\& n == 0 {/' 'WhoeverDoesNotSeeThePost|RandomSchedules' internal/service/comment
mutant "count comments of posts that the reader may not see" internal/service/comment/count.go 's/list := slices\.Sorted\(maps\.Keys\(visible\)\)/list := append(slices.Sorted(maps.Keys(visible)), r.Subjects...)/; s/err != nil \|\| len\(visible\) == 0 \{/err != nil {/' WhoeverDoesNotSeeThePost internal/service/comment
mutant "comment on posts that the author may not see" internal/service/comment/create.go 's/(author, length, err := s\.subjectOf\(ctx, tx, d\.author, &d\.row\))$/\1\n\tif d.id != 0 {\n\t\terr = nil\n\t}/' 'WhoeverDoesNotSeeThePost|RandomSchedules' internal/service/comment
mutant "show deleted comments without replies" internal/service/comment/visible.go 's/r\.deleted \&\& replies\[r\.id\] == 0/r.deleted \&\& r.top > 0/' 'Deletion|RandomSchedules' internal/service/comment
mutant "drop the place of a deleted comment with replies" internal/service/comment/visible.go 's/r\.deleted \&\& replies\[r\.id\] == 0/r.deleted/' 'Deletion|RandomSchedules' internal/service/comment
mutant "repeat a comment on the next page of comments" internal/service/comment/list.go 's/p\.at = place\{r\.level, r\.id\}$/p.at = place{r.level, r.id - 1}/' RandomSchedules internal/service/comment
mutant "skip a comment between two pages" internal/service/comment/list.go 's/^\t\t\t\treturn list, p\.token\(\), nil/\t\t\t\tp.at.id = rows[len(rows)-1].id\n\t\t\t\treturn list, p.token(), nil/' RandomSchedules internal/service/comment
mutant "read all comments for one page" internal/service/comment/list.go 's/maxExamined = 500/maxExamined = 1 << 30/' InvisibleComments internal/service/comment
mutant "let anybody delete comments" internal/service/comment/change.go 's/ \|\| err == nil \&\& author != by \{/ || err == nil \&\& author == 0 {/' 'Deletion|RandomSchedules' internal/service/comment
mutant "let anybody edit comments" internal/service/comment/change.go 's/case c\.author != by \|\| c\.deleted:/case c.deleted:/' TestEdits internal/service/comment
mutant "give a reply a lower id than what it answers" internal/service/comment/comment.go 's/n > above \{/n != above {/' AReplyIsBehind internal/service/comment
mutant "comment with pictures of others" internal/service/comment/create.go 's/if d\.upload != 0 \{/if d.upload == 0 {/' 'BadInput|PicturesOfComments' internal/service/comment internal/transport/rpc
mutant "give a picture to who may not see its comment" internal/service/media/download.go 's/named, err = s\.deps\.CommentNames\(ctx, by, r\.Comment, n\); err/_, err = s.deps.CommentNames(ctx, by, r.Comment, n); err/; s/^\tcase r\.Comment != 0:/\tcase r.Comment != 0:\n\t\tnamed = true/' PicturesOfComments internal/transport/rpc
mutant "verify without comments" internal/tool/verify/verify.go 's/step\{"comments", c\.comments\}, //' CommentViolations internal/tool/verify
mutant "let one user displace the notifications of others" internal/service/notification/trim.go 's/caused <= maxOfActor/caused > 0/' TrimOfAFlood internal/service/notification
mutant "count all causes of each notification of a list" internal/service/notification/list.go 's/s\.views\(ctx, tx, o, rows, s\.sizes\.countedCauses\)/s.views(ctx, tx, o, rows, s.sizes.causes)/' NewestCauses internal/service/notification
mutant "leave out notifications whose newest causes are gone" internal/service/notification/evaluate.go 's/v == nil \&\& rows\[i\]\.causes > first/v == nil \&\& rows[i].causes > 1<<20/' 'NewestCauses|RandomSchedules' internal/service/notification
mutant "find what does not match any more" internal/service/search/visible_hits.go 's/if !ok \{/if ok != ok {/' 'ScanOfWhat|TakenBack' internal/service/search
mutant "find messages of blocked users" internal/service/search/visible_hits.go 's/blocked\[id\.User\(m\.Sender\)\]/blocked[0]/' 'ScanOfWhat|TakenBack' internal/service/search
mutant "a search index is ahead of its messages" internal/service/search/messages.go 's/b\.positions\[c\] = through/b.positions[c] = through + 1/' 'ScanOfWhat|TakenBack' internal/service/search
mutant "find deleted documents" internal/engine/searchindex/blevesearch/search.go 's/found\.AndNot\(deleted\)/_ = deleted/' Suite internal/engine/searchindex/blevesearch
mutant "show whether somebody else wrote a word" internal/engine/searchindex/blevesearch/search.go 's/return nil, errManyWords/return found, nil/' 'DoNotShow|DoNotHide' internal/engine/searchindex/blevesearch
mutant "let one user switch the search for a word off" internal/engine/searchindex/blevesearch/search.go 's/errors\.Is\(err, errManyWords\)/errors.Is(err, s.ctx.Err())/' 'DoNotHide' internal/engine/searchindex/blevesearch
mutant "find typos only among few words" internal/engine/searchindex/blevesearch/search.go 's/sets\.fuzzy\.Add\(n\)/_ = n/' 'OfManyWords|DoNotHide' internal/engine/searchindex/blevesearch
mutant "find files by an earlier caption" internal/service/search/files.go 's/h = q\.hit\(f, list\.text\(\)\)/h = \&searchv1.Hit{}/' 'ScanOfWhat|FilesThatAreTakenBack' internal/service/search
mutant "find files of other types" internal/service/search/files.go 's/all\.ofTypes\(q\.query\.types\)/all/' TypesOfFiles internal/service/search
mutant "find videos that were deleted" internal/service/search/visible_hits.go 's/if videos\[n\] == nil \{/if posts[n] == nil {/' 'ScanOfWhat|VideosAreFound' internal/service/search
mutant "find videos by earlier subtitles" internal/service/search/visible_hits.go 's/return q\.hit\(f, plainText\(lines\(text, said\)\)\), nil/return \&searchv1.Hit{}, nil/' 'ScanOfWhat|VideosAreFound' internal/service/search
mutant "find posts and videos of authors who except the reader" internal/service/search/visible_hits.go 's/posts, err := q\.service\.deps\.Posts\.VisiblePosts\(ctx, tx, q\.reader, list\)/posts := map[uint64]*feedv1.Post{}\n\tindexed, err := q.service.deps.Posts.ToIndex(ctx, tx, list)\n\tfor _, p := range indexed {\n\t\tposts[p.Id] = p\n\t}/' ScanOfWhat internal/service/search
mutant "keep a video as it was in a search index" internal/service/search/index_changes.go 's/posts = append\(posts, shown\.\.\.\)/_ = shown/' 'ScanOfWhat|VideosAreFound' internal/service/search
mutant "go on with a search index without videos and types of files" internal/engine/searchindex/blevesearch/blevesearch.go 's/rialto search 5/rialto search 3/' EarlierIndex internal/service/search
mutant "find documents with other labels" internal/engine/searchindex/blevesearch/search.go 's/found\.And\(labelled\)/_ = labelled/' Suite internal/engine/searchindex/blevesearch
mutant "find no parts of the names of files" internal/engine/searchindex/analyze.go 's/ \|\| !a\.isName\(start\)/ || a.isName(start)/' MatchOfNames internal/engine/searchindex
mutant "divide the words of all texts" internal/engine/searchindex/analyze.go 's/ \|\| !a\.isName\(start\)//' MatchOfNames internal/engine/searchindex
mutant "index as much beside a busy process" internal/service/search/pacer.go 's/times = restBusy/times = restBeside/' '^TestPacer$' internal/service/search
mutant "open a damaged search index" internal/engine/searchindex/blevesearch/blevesearch.go 's/err == nil \&\& at\[0\] != 1/err == nil \&\& at[0] > 1/' Damage internal/engine/searchindex/blevesearch
mutant "store a checkpoint before its documents" internal/engine/searchindex/opensearch/apply.go 's/^\tw := \&bulk\{index: i, term: b\.Term\}/&\n\tif err := w.checkpoints(ctx, b.Checkpoints); err != nil {\n\t\treturn err\n\t}/' CheckpointsComeLast internal/engine/searchindex/opensearch
mutant "take writes that OpenSearch refused for written" internal/engine/searchindex/opensearch/apply.go 's/if err := r\.failure\(\); err != nil \{/if err := r.failure(); isSuperseded(err) {/; $a func isSuperseded(err error) bool { _, is := err.(*searchindex.Superseded); return is }' CheckpointsComeLast internal/engine/searchindex/opensearch
mutant "let an earlier writer replace what a later one wrote" internal/engine/searchindex/opensearch/apply.go 's/if w\.term > 0 \{/if w.term > 1<<60 {/' CheckpointsComeLast internal/engine/searchindex/opensearch
mutant "forget deletions after a minute" internal/engine/searchindex/opensearch/definition.go 's/deletionsRemembered = "1h"/deletionsRemembered = "60s"/' DeletionsAreRemembered internal/engine/searchindex/opensearch
mutant "let a write make an index" internal/engine/searchindex/opensearch/apply.go 's/require_alias=true/require_alias=false/' RequireTheAlias internal/engine/searchindex/opensearch
mutant "find what a part of the servers has" internal/engine/searchindex/opensearch/search.go 's/case a\.Shards\.Failed > 0:/case a.Shards.Failed > 1:/' SearchFails internal/engine/searchindex/opensearch
mutant "find what was found before the time was up" internal/engine/searchindex/opensearch/search.go 's/case \*a\.TimedOut:/case a.Shards.Failed < 0:/' SearchFails internal/engine/searchindex/opensearch
mutant "log the documents that OpenSearch quotes" internal/engine/searchindex/opensearch/client.go 's/`json:"type"`/`json:"reason"`/; s/\|\| len\(of\.Type\) > maxKind/|| len(of.Type) > 1<<20/' SearchFails internal/engine/searchindex/opensearch
mutant "ask one server of several only" internal/base/egress/servers.go 's/range uint32\(len\(s\.clients\)\)/range uint32(1)/' 'ServersReplaceEachOther|ServersFail|OriginsReplace' internal/base/egress
mutant "use the search index of another deployment" internal/engine/searchindex/opensearch/generations.go 's/\|\| of\.Deployment != c\.config\.Deployment/|| of.Format == 0/' GenerationsOfOthers internal/engine/searchindex/opensearch
mutant "accept the passwords of examples" internal/engine/searchindex/opensearch/opensearch.go 's/if strings\.EqualFold\(password, weak\)/if password == weak+weak/' CheckOfTheConfiguration internal/engine/searchindex/opensearch
mutant "take a checkpoint that cannot be read for none" internal/engine/searchindex/opensearch/apply.go 's/case d\.Found == nil:/case d.Found == nil \&\& d.Error.Type == "":/; s/case \*d\.Found:/case d.Found != nil \&\& *d.Found:/' CheckpointsFail internal/engine/searchindex/opensearch
mutant "write a shared search index after the grant" internal/service/search/shared.go 's/\(g\.Term != w\.term \|\| !g\.Held\(\)\)/g.Term != w.term/; s/w\.ctx, w\.end = g\.During\(ctx\)/w.ctx, w.end = context.WithCancel(ctx)/' GrantOfASharedIndexEnds internal/service/search
mutant "write a shared search index without a term" internal/service/search/shared.go 's/b\.Term = t\.term/b.Term = 1 << 30/' OneNodeWrites internal/service/search
mutant "make a shared search index again that is missing" internal/service/search/shared.go 's/place != "" \&\& !rebuild/place == " " \&\& !rebuild/' SharedIndexIsMissing internal/service/search
mutant "start with the search index of another deployment" internal/service/search/shared.go 's/case errors\.Is\(err, searchindex\.ErrForeign\):/case errors.Is(err, errSharedMissing):/' SharedIndexIsMissing internal/service/search
mutant "let a shared search index answer before it is complete" internal/service/search/shared.go 's/case len\(\*list\) == 2 \&\& newest\.complete\.Load\(\):/case len(*list) == 2:/' SharedIndexIsBuiltAgain internal/service/search
mutant "do not tell the cluster of a later writer" internal/service/search/shared.go 's/grant\.Superseded\(later\.Term\)/_ = grant/' OneNodeWrites internal/service/search
mutant "notify users of what they did themselves" internal/service/notification/record.go 's/c\.owner == 0 \|\| c\.owner == c\.actor/c.owner == 0/' 'Merging|RandomSchedules' internal/service/notification
mutant "notify users of what silenced users did" internal/service/notification/evaluate.go 's/if !e\.silenced\[c\.actor\] \&\& /if /' 'Relations|RandomSchedules' internal/service/notification
mutant "store what silenced users did" internal/service/notification/record.go 's/if t\.kind != likeKind \{/if t.kind == 0 {/' 'Relations' internal/service/notification
mutant "notify of kinds that are off" internal/service/notification/record.go 's/if o\.isOff\(t\.kind\) \{/if o.isOff(0) {/' Settings internal/service/notification
mutant "notify of a comment twice" internal/service/notification/source.go 's/seen\[c\.owner\] = true/seen[0] = true/' 'CommentsAndMentions|RandomSchedules' internal/service/notification
mutant "notify again of a like that was taken back" internal/service/notification/record.go 's/subject, actor, item\) DO NOTHING/subject, actor, item) DO UPDATE SET notification = excluded.notification/' 'Merging|RandomSchedules' internal/service/notification
mutant "merge into notifications that were read" internal/service/notification/record.go 's/unreadRow\(ctx, tx, o, t\)$/unreadRow(ctx, tx, \&owner{user: o.user}, t)/' 'Merging|RandomSchedules' internal/service/notification
mutant "leave a notification at a position that was listed" internal/service/notification/record.go 's/isNew \|\| r\.pos <= o\.listed \|\| now/isNew || now/' 'ReadsCover|RandomSchedules' internal/service/notification
mutant "move a notification with each like" internal/service/notification/record.go 's/moves := isNew \|\|/moves := true || isNew ||/' HotPost internal/service/notification
mutant "store all causes of a hot post" internal/service/notification/record.go 's/max\(s\.sizes\.causes-r\.causes, 0\)/1 << 20/' HotPost internal/service/notification
mutant "count only the users beside contents" internal/transport/rpc/rate_limits.go 's/n \+= elements\(v\.Message\(\)\)/n += 0/' CallCosts internal/transport/rpc
mutant "let deleted comments keep others out of a notification" internal/service/notification/record.go 's/causes\[0\]\.item != 0/causes[0].item == 1/' DeletedCommentsKeepNobodyOut internal/service/notification
mutant "read beyond the last list" internal/service/notification/read.go 's/min\(r\.Position, o\.listed\)/min(r.Position, o.last)/' ReadsCover internal/service/notification
mutant "mark as unread what was read" internal/service/notification/read.go 's/to <= o\.read \{/to == o.read {/' 'ReadsCover|RandomSchedules' internal/service/notification
mutant "show likes that were taken back" internal/service/notification/evaluate.go 's/return !likers\[c\.actor\]/return !likers[c.actor] \&\& c.actor == 0/' 'Merging|RandomSchedules' internal/service/notification
mutant "show follows that ended" internal/service/notification/evaluate.go 's/return e\.followers\[c\.actor\]/return true/' 'Relations|RandomSchedules' internal/service/notification
mutant "show friend requests that were answered" internal/service/notification/evaluate.go 's/return e\.asking\[c\.actor\]/return true/' Relations internal/service/notification
mutant "show comments that were deleted" internal/service/comment/store.go 's/AND NOT deleted AND id IN/AND id IN/' 'CommentsAndMentions|RandomSchedules' internal/service/notification
mutant "show comments of posts that the reader may not see" internal/service/comment/visible.go 's/if visible\[r\.subject\] != 0 \&\& /if visible != nil \&\& /' 'CommentsAndMentions|RandomSchedules' internal/service/notification
mutant "count actors twice" internal/service/notification/evaluate.go 's/if seen\[c\.actor\] \{/if seen[0] {/' 'CommentsAndMentions|RandomSchedules' internal/service/notification
mutant "count notifications that are not shown" internal/service/notification/list.go 's/shown\[i\] = v != nil/shown[i] = v != nil || len(rows) > 0/' 'Merging|RandomSchedules' internal/service/notification
mutant "count only the newest causes" internal/service/notification/evaluate.go 's/rows\[i\]\.causes > first/rows[i].causes > 1<<30/' RandomSchedules internal/service/notification
mutant "notify subscribers of posts that they may not see" internal/service/notification/subscribe.go 's/readers, err := s\.deps\.Posts\.ReadersAmong\(ctx, tx, j\.Post, list\)/readers, err := list, error(nil)/' PostsAndReposts internal/service/notification
mutant "notify only the first subscribers" internal/service/notification/subscribe.go 's/if more = len\(list\) == s\.sizes\.subscribers;/if more = false;/' PostsAndReposts internal/service/notification
mutant "keep all notifications of a user" internal/service/notification/trim.go 's/o\.kept <= maxKept/o.kept >= 0/' TestTrim internal/service/notification
mutant "read all causes for a count of unread notifications" internal/service/notification/list.go 's/len\(rows\) \+ causes\/causesPerRow/len(rows) + 0*causes/' UnreadReadsBounded internal/service/notification
mutant "keep notifications that show nothing" internal/service/notification/trim.go 's/if shown\[i\] \{/if shown[i] || true {/' TestTrimKeepsWhatIsShown internal/service/notification
mutant "delete notifications that are shown" internal/service/notification/trim.go 's/if shown\[i\] \{/if shown[i] \&\& false {/' TestTrimKeepsWhatIsShown internal/service/notification
mutant "keep notifications for ever" internal/service/notification/trim.go 's/moved_ms < \$1/moved_ms < \$1 AND pos < 0/' TestTrim internal/service/notification
mutant "hint before the commit" internal/service/notification/hint.go 's/if o\.last >= due\[u\] \{/if o.last >= 0 {/' HintsFollowCommits internal/service/notification
mutant "hint at each notification" internal/service/notification/hint.go 's/resting := now\.Sub\(s\.last\) < hintInterval/resting := now.Sub(s.last) < 0/' TestHintsRest internal/service/notification
mutant "delay a hint with each further cause" internal/service/notification/hint.go 's/continue \/\/ that round/next = time.After(hintDelay)\n\t\t\t\tcontinue \/\/ that round/' HintsAreNotDelayed internal/service/notification
mutant "verify without notifications" internal/tool/verify/verify.go 's/step\{"notifications", c\.notifications\}, //' NotificationViolations internal/tool/verify

# Videos.
mutant "run ffmpeg with the network" internal/platform/transcode/sandbox.go 's/"--unshare-all", /"--unshare-user", "--unshare-pid", /' '^TestSandbox$' internal/platform/transcode
mutant "follow links that ffmpeg leaves" internal/platform/transcode/encode.go 's/!info\.Mode\(\)\.IsRegular\(\)/info.IsDir()/' '^TestOutput$' internal/platform/transcode
mutant "convert videos of hours with two pictures" internal/platform/transcode/inspect.go 's/average < minSourceRate/average < 0/' '^TestFewPictures$' internal/platform/transcode
mutant "look for the files of a relative data directory in the root" internal/platform/transcode/sandbox.go 's/\*path = whole/_ = whole/' '^TestRelativePaths$' internal/platform/transcode
mutant "let ffmpeg write its source" internal/platform/transcode/sandbox.go 's/"--ro-bind", c\.source/"--bind", c.source/' '^TestSandbox$' internal/platform/transcode
mutant "let programs in the sandbox run for ever" internal/platform/transcode/sandbox.go 's/syscall\.Kill\(-cmd\.Process\.Pid, syscall\.SIGKILL\)/syscall.Kill(-cmd.Process.Pid, 0)/; s/cmd\.WaitDelay = killGrace/cmd.WaitDelay = 0/' SandboxEnds internal/platform/transcode
mutant "accept videos that refer to other files" internal/platform/transcode/isobmff.go 's/flags\[3\]&1 == 0/flags[3]\&1 > 1/' '^TestCheck$' internal/platform/transcode
mutant "accept pictures of any size" internal/platform/transcode/container.go 's/width > maxSide \|\| height > maxSide \|\| width\*height > maxPixels/width < 0 \&\& height < 0/' '^TestCheck$' internal/platform/transcode
mutant "encode a chunk from a later frame on" internal/platform/transcode/encode.go 's/c\.Seek-time\.Millisecond/c.Seek+time.Second/' '^TestFrames$' internal/platform/transcode
mutant "place chunks at the beginning" internal/platform/transcode/check.go 's/t\.shift\(start \+ int64\(c\.First\)\*ticks\)/t.shift(start)/' '^TestFrames$' internal/platform/transcode
mutant "publish chunks that lack frames" internal/platform/transcode/check.go 's/if total < c\.Frames \{/if total < 0 {/; s/want := min\(group, c\.Frames-frames\); n != want/want := n; n != want/; s/if frames != c\.Frames \{/if frames < 0 {/' '^TestDamaged$' internal/platform/transcode
mutant "copy open groups" internal/platform/transcode/check.go 's/!alone \|\| !f\.samples/!f.samples/; s/alone, err := /_, err := /' '^TestCopy$' internal/platform/transcode
mutant "refuse a file whose inspection was killed" internal/platform/transcode/inspect.go 's/f\.code\(\) != 1 \|\| //' '^TestFailures$' internal/platform/transcode
mutant "publish a video before its last task" internal/service/video/finish.go 's/err != nil \|\| remaining > 0 \{/err != nil || remaining > 1 {/' '^TestVideo$' internal/service/video
mutant "write the files of a copy again" internal/service/video/inspect.go 's/added\.attempts = attempts/added.attempts = 0/' '^TestNotCopied$' internal/service/video
mutant "take a late copy for a chunk" internal/service/video/finish.go 's/stored = 0 AND job = \$6/stored = 0 AND $6 <> 0/' '^TestNotCopied$' internal/service/video
mutant "encode a picture that was copied" internal/service/video/inspect.go 's/first = \$3 AND stored = 0 RETURNING/first = $3 RETURNING/' '^TestLateCopy$' internal/service/video
mutant "reopen a video that has ended" internal/service/video/inspect.go 's/current\.state > stateProcessing/current.state > stateFailed/' '^TestLateCopy$' internal/service/video
mutant "start stages before their inputs are complete" internal/service/video/stages.go 's/ready = ready \&\& of\.open == 0/ready = ready || of.open == 0/' '^TestStageStartsOnce$' internal/service/video
mutant "start no stage when its last input ends" internal/service/video/finish.go 's/if v\.isAwaited\(t\.track\) \{/if false \&\& v.isAwaited(t.track) {/' '^TestStageStartsOnce$' internal/service/video
mutant "run stages that need one which was left out" internal/service/video/stages.go 's/leaveOut \|\| of\.stored == skipped/leaveOut/' '^TestStages$' internal/service/video
mutant "fail videos for optional stages" internal/service/video/process.go 's/if !stage\.Optional \{/if stage != nil {/' '^TestStageIsGivenUp$' internal/service/video
mutant "give up videos whose stages wait" internal/service/video/sweep.go 's/t\.stored = 0 AND t\.job > 0 GROUP/t.stored = 0 GROUP/' '^TestStageIsGivenUp$' internal/service/video
mutant "retry stages as they were" internal/service/video/stages.go 's/\*stage = \*current/_ = current/' '^TestStageFails$' internal/service/video
mutant "keep files of stages of deleted videos" internal/service/video/finish.go 's/count = len\(stage\.Outputs\)/count = 1/' '^TestStages$' internal/service/video
mutant "copy a picture in place of its watermark" internal/service/video/inspect.go 's/p\.Copy \&\& p\.Watermark == nil \&\& source/p.Copy \&\& source/' '^TestWatermarked$' internal/service/video
mutant "run stages that need sound without it" internal/service/video/stages.go 's/input == pipeline\.Audio \&\& source\.Audio == nil,/false,/' '^TestSilentVideo$' internal/service/video
mutant "encode renditions on demand with the others" internal/service/video/inspect.go 's/case r\.OnDemand:/case false:/' '^TestOnDemand$' internal/service/video
mutant "encode a rendition on demand for each who asks" internal/service/video/on_demand_request.go 's/WHERE d\.remaining = 0 AND d\.used_ms = 0/WHERE d.used_ms = 0/' '^TestOnDemand$' internal/service/video
mutant "let all ask for renditions" internal/service/video/on_demand_request.go 's/s\.checkPost\(ctx, by, r\.Post, r\.Video\)/s.checkPost(ctx, by, 0, r.Video)/' '^TestOnDemand$' internal/service/video
mutant "let a user cause any number of renditions" internal/service/video/on_demand_request.go 's/open > maxRequested/open > 100*maxRequested/' '^TestOnDemandIsBounded$' internal/service/video
mutant "offer renditions on demand that are not complete" internal/service/video/view.go 's/if p\.isOnDemand\(track\) \&\& !/if p.isOnDemand(track) \&\& p.remaining > 0 \&\& !/' '^TestOnDemandIsOfferedAsAWhole$' internal/service/video
mutant "delete files of attempts at renditions on demand" internal/service/video/sweep.go 's/t\.job > 0 \&\& t\.stored == 0 \{/t.job < 0 {/' '^TestOnDemandIsOfferedAsAWhole$' internal/service/video
mutant "encode renditions on demand for fewer viewers" internal/service/video/on_demand_request.go 's/if viewers < s\.deps/if viewers+1 < s.deps/' '^TestOnDemandWhenPopular$' internal/service/video
mutant "drop renditions that are played" internal/service/video/serve.go 's/if err == nil \&\& f\.onDemand != nil \{/if err == nil \&\& f.onDemand == nil {/' '^TestOnDemand$' internal/service/video
mutant "keep renditions on demand that nobody plays" internal/service/video/sweep.go 's/s\.dropIdle\(ctx\), //' '^TestOnDemand$' internal/service/video
mutant "leave dropped renditions on edges" internal/service/video/on_demand_drop.go 's/return s\.changed\(ctx, tx, i\.n\) .*/return nil/' '^TestOnDemand$' internal/service/video
mutant "fail a video for a rendition on demand" internal/service/video/process.go 's/if v\.isOnDemand\(t\.track\) \{/if v.isOnDemand("") {/' '^TestOnDemandFails$' internal/service/video
mutant "try failed renditions at once again" internal/service/video/on_demand_drop.go 's/s\.nowMs\(\)\+lateAttempts\.Milliseconds\(\)/s.nowMs()/' '^TestOnDemandFails$' internal/service/video
mutant "complete renditions that were given up" internal/service/video/on_demand.go 's/ AND remaining > 0 RETURNING/ RETURNING/' '^TestLateAttemptOnDemand$' internal/service/video
mutant "let stages wait for renditions on demand" internal/platform/pipeline/check.go 's/else if c\.pipeline\.IsOnDemand\(height\)/else if c.pipeline.IsOnDemand(-height)/' '^TestFaults$' internal/platform/pipeline
mutant "let commands of stages fill the disk" internal/platform/transcode/stage.go 's/files > maxDirFiles \|\| bytes > limit/files > maxDirFiles/' '^TestCommandsEnd$' internal/platform/transcode
mutant "let programs in the sandbox start processes without end" internal/platform/transcode/sandbox.go 's/list = append\(list, t\.tools\.prlimit, (.*), "--"\)/_ = []string{\1}/' '^TestProcesses$' internal/platform/transcode
mutant "leave folders that a command made unreadable" internal/platform/transcode/stage.go 's/err == nil \&\& e\.IsDir\(\)/err == nil \&\& false/' '^TestUnreadableFolders$' internal/platform/transcode
mutant "accept any output of a stage" internal/platform/transcode/stage.go 's/info\.Size\(\) == 0 \|\| info\.Size\(\) > most/info.Size() < 0/' '^TestResults$' internal/platform/transcode
mutant "put the watermark into another corner" internal/platform/transcode/watermark.go 's/HasPrefix\(corner, "bottom"\)/HasPrefix(corner, "top")/' '^TestWatermark$' internal/platform/transcode
mutant "leave HDR pictures pale" internal/platform/transcode/hdr.go 's/if s\.HDR == "" \{/if s.HDR != "none" {/' '^TestHDR$' internal/platform/transcode
mutant "accept pipelines with cycles" internal/platform/pipeline/check.go 's/if state\[s\.Name\] == 1 \{/if state[s.Name] == 3 {/' '^TestFaults$' internal/platform/pipeline
mutant "let required stages need optional ones" internal/platform/pipeline/check.go 's/from\.Optional \&\& !s\.Optional/from.Optional \&\& s.Optional/' '^TestFaults$' internal/platform/pipeline
mutant "accept two renditions of a height" internal/platform/pipeline/check.go 's/lines\[r\.Height\] != 0 \{/lines[r.Height] < 0 {/' '^TestFaults$' internal/platform/pipeline
mutant "retry videos without a limit" internal/service/video/create.go 's/checkUnfinished\(ctx, tx, by\)/checkUnfinished(ctx, tx, 0)/' '^TestRetry$' internal/service/video
mutant "encode sound whose copy was killed" internal/service/video/process.go 's/if !errors\.Is\(err, transcode\.ErrNotCopied\)/if err == nil/' '^TestSoundNotCopied$' internal/service/video
mutant "keep files of attempts that do not count" internal/service/video/sweep.go 's/if attempt == t\.stored \&\& !all \{/if !all {/' '^TestKilled$' internal/service/video
mutant "play videos of hidden posts" internal/service/video/serve.go 's/err == nil \&\& !shown \{/err == nil \&\& !shown \&\& n == 0 {/' '^TestAccess$' internal/service/video
mutant "let an address play any video" internal/service/video/serve.go 's/"play", video\+" "\+scope/"play", scope/g' '^TestAccess$' internal/service/video
mutant "drop the file of a video that can be retried" internal/service/video/finish.go 's/n == 0 \|\| retriable \{/n == 0 {/' '^TestRetry$' internal/service/video
mutant "let an earlier position replace a later one" internal/service/video/watch.go 's/ OR CAST\(\$6 AS BOOLEAN\)\)`/ OR CAST($6 AS BOOLEAN) OR TRUE)`/' '^TestWatchPosition$' internal/service/video
mutant "take a position that had to wait for a new one" internal/service/video/watch.go 's/s\.nowMs\(\) - age\.Milliseconds\(\)/s.nowMs()/' '^TestWatchPosition$' internal/service/video
mutant "lose positions while the clock of another node is ahead" internal/service/video/watch.go 's/fresh: age <= freshWatchAge/fresh: age < 0/' '^TestWatchPositionsOfNodes$' internal/service/video
mutant "let the time of a position go back" internal/service/video/watch.go 's/THEN at_ms \+ 1 ELSE/THEN $5 ELSE/' '^TestWatchPositionsOfNodes$' internal/service/video
mutant "store positions in videos of others" internal/service/video/view.go 's/if post == 0 \{$/if post == 1 {/' '^TestWatchPosition$' internal/service/video
mutant "keep watch histories of any length" internal/service/video/watch.go 's/by\), maxWatched\)/by), 100*maxWatched)/' '^TestWatchHistoryIsBounded$' internal/service/video
mutant "show watched videos of hidden posts" internal/service/video/watch.go 's/post\.GetContent\(\)\.GetVideo\(\) != w\.video/false/' '^TestWatchHistory$' internal/service/video
mutant "pass tags of HTML in subtitles" internal/platform/subtitle/markup.go 's/case "b", "i", "u", "c", "ruby":/case "b", "i", "u", "c", "ruby", "script", "img":/' '^TestMarkup$' internal/platform/subtitle
mutant "pass styles of subtitles" internal/platform/subtitle/format.go 's/c\.settings = settingsOf\(found\[9\]\)/c.settings = strings.Fields(found[9])/' '^TestWebVTT$' internal/platform/subtitle
mutant "show comments over another video" internal/service/comment/timed.go 's/\(video == 0 \|\| v\.ID != video\)/v.ID == 0/' '^TestTimedComments' internal/service/comment
mutant "comment behind the end of a video" internal/service/comment/create.go 's/d\.timeMs > length/d.timeMs > 2*length/' '^TestTimedCommentsAreChecked$' internal/service/comment
mutant "let one author fill the picture with comments" internal/service/comment/timed.go 's/ofAuthor\[c\.Author\] < maxTimedOfAuthor/true/' '^TestTimedCommentsAreBounded$' internal/service/comment
mutant "let blocked users displace comments over videos" internal/service/comment/timed.go 's/len\(list\) < maxTimed && examined < maxExamined; /examined == 0; /' '^TestTimedCommentsAreBounded$' internal/service/comment
mutant "tell of likes of comments over videos" internal/service/comment/store.go 's/WHERE kind = 1 AND id IN/WHERE id IN/' '^TestTimedCommentsAreOfTheirVideo$' internal/service/comment
mutant "edit comments over videos" internal/service/comment/change.go 's/case c\.kind == onVideo:/case c.kind == 99:/' '^TestTimedCommentsAreChecked$' internal/service/comment
mutant "show comments of blocked users over videos" internal/service/comment/visible.go 's/blocked\[r\.author\] \|\| blocked\[r\.topAuthor\] \|\| r/blocked[r.topAuthor] || r/' '^TestTimedComments$' internal/service/comment
mutant "let a blank line end a text of subtitles" internal/platform/subtitle/markup.go 's/strings\.TrimSpace\(line\) == ""/line == "-"/' '^TestMarkup$' internal/platform/subtitle
mutant "serve subtitles that were replaced" internal/service/video/subtitles.go 's/THEN t\.id ELSE excluded\.id END/THEN t.id ELSE t.id END/' '^TestSubtitles$' internal/service/video
mutant "store subtitles of any size" internal/service/video/subtitles.go 's/case size\+len\(content\) >/case len(content) >/' '^TestSubtitlesAreBounded$' internal/service/video
mutant "keep subtitles of videos that failed" internal/service/video/sweep.go 's/if all \{ \/\/ such/if v.state == stateDeleted { \/\/ such/' '^TestSubtitlesAreBounded$' internal/service/video
mutant "add subtitles to videos that failed" internal/service/video/subtitles.go 's/err == nil \&\& v\.state == stateFailed \{/err == nil \&\& v.state > stateDeleted {/' '^TestSubtitlesAreBounded$' internal/service/video
mutant "give two subtitles one name" internal/service/video/subtitles.go 's/for names\[name\] \{/if names[name] {/' '^TestNamesOfSubtitles$' internal/service/video
mutant "have two default subtitles" internal/service/video/subtitles.go 's/^\tif t\.isDefault \{$/if t.isDefault \&\& n == 0 {/' '^TestSubtitles$' internal/service/video
mutant "show videos of hidden posts" internal/service/feed/get.go 's/\&\& !p\.deleted \&\& !p\.hidden/\&\& !p.deleted/' VideosOfPosts internal/service/feed
mutant "push what the user has read" internal/service/push/deliver.go 's/case state\.GetReadSeq\(\) >= row\.seq:/case state.GetReadSeq() > row.seq:/' 'TestWhatIsNotPushed' internal/service/push
mutant "push to the slow devices of a user with all workers" internal/service/push/deliver.go 's/if own\.number >= share \{/if own.number >= 100*share {/' 'TestSlowUsers' internal/service/push
mutant "keep login codes after a password reset" internal/service/account/password_reset.go 's/if err := s\.revokeCodes\(ctx, tx, user\); err != nil \{/if err := error(nil); err != nil {/' 'TestPasswordReset' internal/service/account
mutant "store the end of a streamed message without before_send" internal/service/chat/streamed.go 's/^\tend, hold, err := s\.askAboutEnd\(d, end\)$/\thold := ""/' 'TestBeforeSendDecidesStreamed' internal/service/chat
mutant "keep a broken-off text that before_send refuses" internal/service/chat/streamed.go 's/if text, err = s\.permittedText\(c, seq, sender, text\); err != nil \{/if err != nil {/' 'TestBeforeSendDecidesStreamed' internal/service/chat
mutant "leave a streamed message without an end while its text is held" internal/service/chat/streamed.go 's/^\tif errs\.Of\(held\)\.Reason != "held_for_review" \{$/\tif held != nil {/' 'TextsOfStreamedMessages' ./internal/service/moderation
mutant "hold a text in the name of others" internal/service/chat/streamed.go 's/case m\.Sender != d\.Sender:.*/case false:/' 'TextsOfStreamedMessages' ./internal/service/moderation
mutant "lose a broken-off text that is to be held" internal/service/chat/streamed.go 's/err = s\.holdForModerators\(d, hold\)$/return "", nil/' 'TextsOfStreamedMessages' ./internal/service/moderation
mutant "refuse streamed messages while before_send is down" internal/service/chat/hold_for_review.go 's/case begins \&\& why == webhook\.NoAnswer:/case begins \&\& why == "" \&\& webhook.NoAnswer != "":/' 'WithVisibleParts' ./internal/service/moderation
mutant "show parts of a message that is held" internal/service/chat/hold_for_review.go 's/case begins \&\& s\.hidesParts\(\):.*/case begins:/' 'WithVisibleParts' ./internal/service/moderation
mutant "hold a body of STOMP before CONNECT" internal/transport/stomp/session.go 's/if !connected \{/if !connected \&\& false {/' 'TestMistakesOfClients' internal/transport/stomp
mutant "push from muted conversations" internal/service/push/deliver.go 's/case state\.GetMuted\(\) \|\| /case /' 'TestWhatIsNotPushed' internal/service/push
mutant "push what was recalled" internal/service/push/trigger.go 's/ \|\| m\.RecallSeq != 0 \{/ {/' 'TestWhatIsNotPushed|NewerMessages' internal/service/push
mutant "push messages of blocked users" internal/service/push/deliver.go 's/if !silenced\[id\.User\(m\.Sender\)\] \&\& /if !silenced[0] \&\& /' 'TestWhatIsNotPushed' internal/service/push
mutant "push to sessions that have ended" internal/service/push/deliver.go 's/if len\(ended\) > 0 \{/if len(ended) > 1 {/' 'TestEndedSessions' internal/service/push
mutant "push in quiet hours" internal/service/push/deliver.go 's/ \|\| isQuiet\(settings, s\.deps\.Clock\.Now\(\)\) \{/ {/' 'TestQuietHours' internal/service/push
mutant "push texts that the user does not want to be pushed" internal/service/push/deliver.go 's/if !showText \{/if showText \&\& false {/' 'TestABrowserIsPushed' internal/service/push
mutant "lose what replaces a push in progress" internal/service/push/attempt.go 's/if newer = now\.seq > row\.seq; !newer \{/if newer = false; !newer {/' DuringAPush internal/service/push
mutant "push to users who are there" internal/service/push/trigger.go 's/case !active:/case !active || known:/' 'TestActiveUsers' internal/service/push
mutant "lose what a broken connection did not get" internal/service/push/trigger.go 's/message\.Position\(event\.Seq\) <= acked \&\& m\.TimeMs < settled/m.TimeMs < settled/' 'TestActiveUsers' internal/service/push
mutant "push what an active device has shown" internal/service/push/trigger.go 's/message\.Position\(event\.Seq\) <= acked \&\& m\.TimeMs < settled/m.TimeMs < settled-1<<50/' 'TestActiveUsers' internal/service/push
mutant "let endpoints of push services lead into the network" internal/base/egress/post.go 's/DialContext: f\.dial, //' 'TestEndpointsInTheNetwork' internal/service/push
mutant "send push notifications before the time that a service asked for" internal/service/push/subscription.go 's/if p\.waitUntilMs > nowMs \{/if p.waitUntilMs < 0 {/' 'TestAPauseHoldsForAllConversations' internal/service/push
mutant "flood endpoints of push services" internal/service/push/subscription.go 's/p\.windowPushes >= windowPushes \&\& /p.windowPushes < 0 \&\& /' 'TestEndpointsAreNotFlooded' internal/service/push
mutant "keep subscriptions that are gone" internal/service/push/provider.go 's/r\.kind = gone$/r.kind = failed/' 'TestAnswersOfPushServices' internal/service/push
mutant "remove push subscriptions of others" internal/service/push/subscription.go 's/WHERE n = \$1 AND owner = \$2`, int64\(subscription\), int64\(by\)/WHERE n = $1`, int64(subscription)/' 'TestSubscriptionsBelong' internal/service/push
mutant "push to the former user of a browser" internal/service/push/subscription.go 's/WHERE session = \$1 OR token = \$2 AND provider = \$3/WHERE session = $1 OR session < 0 AND token = $2 AND provider = $3/' 'TestSubscriptionsBelong' internal/service/push
mutant "push with a key of another process" internal/service/push/webpush.go 's/append\(\[\]byte\{n\}, secret\.\.\.\)/append([]byte{n}, rand.Text()...)/; s/^\t\"crypto\/ecdh\"$/\t\"crypto\/ecdh\"\n\t\"crypto\/rand\"/' 'TestABrowserIsPushed' internal/service/push
mutant "verify without videos" internal/tool/verify/verify.go 's/step\{"videos", c\.videos\}, //' VideoViolations internal/tool/verify
mutant "let posts name videos of others" internal/service/video/create.go 's/_, err := own\(ctx, tx, by, n\)/_, err := getVideo(ctx, tx, n)/' '^TestVideoOverHTTP$' internal/app

# The TypeScript SDK.
mutant_ts "forget at a resync that a conversation is muted" src/sync.ts 's/\{ \.\.\.view, deleted/{ ...view, muted: false, deleted/' test/unit/client.test.ts
mutant_ts "forget at a resync what the user has set since" src/merge.ts 's/^    pending: old\.pending,$//' test/unit/client.test.ts
mutant_ts "ignore that another device has muted a conversation" src/merge.ts 's/c\.pending\.muted \?\? s\.muted/c.pending.muted ?? c.muted/' test/unit/model.test.ts
mutant_ts "leave posts of a blocked author in a list" src/react/engagement.ts 's/ && read\.current\.access === access\)\) return/)) return/' test/unit/engagementReact.test.ts
mutant_ts "count archived conversations in the SDK's badge" src/model.ts 's/ && !c\.archived//' test/unit/model.test.ts
mutant_ts "count muted conversations in the SDK's badge" src/model.ts 's/!c\.muted && //' test/unit/model.test.ts
mutant_ts "let the SDK's position go back" src/sync.ts 's/if \(order === "old"\) continue;//' test/unit/replica.test.ts
mutant_ts "let the SDK's position go back to an earlier epoch" src/position.ts 's/if \(event\.epoch < at\.epoch\) return "old";//; s/event\.epoch > at\.epoch\)/event.epoch !== at.epoch \&\& event.prev !== at.seq)/' test/unit/position.test.ts
mutant_ts "let the SDK's read cursor go back" src/merge.ts 's/behind \? c\.readSeq : readSeq,$/readSeq,/' test/unit/replica.test.ts
mutant_ts "drop events that come during a sync" src/sync.ts '/if \(this\.running\) \{/,/\}/s/this\.miss\(at\);//' test/unit/replica.test.ts
mutant_ts "give a message a new number at a reconnect" src/outbox.ts '/^  opened\(/,/^  \}/s/this\.pump\(\);/for (const i of this.items) void this.renumber(i);/' test/unit/outbox.test.ts
mutant_ts "give a message without a receipt a new number" src/outbox.ts 's/setTimeout\(\(\) => this\.pump\(\)/setTimeout(() => void this.due().map((i) => this.renumber(i))/' test/unit/outbox.test.ts
mutant_ts "give a message that is refused for now a new number" src/outbox.ts 's/return this\.arm\(\);/return this.renumber(item);/' test/unit/outbox.test.ts
mutant_ts "show posts of a page that was not read as new ones" src/posts.ts 's/ && !\(this\.hasMore && isBefore\(p\.id, this\.next\)\)//' test/unit/posts.test.ts
mutant_ts "skip posts between many new ones and the known ones" src/posts.ts 's/if \(this\.hasMoreFresh\) return/if (this.hasMoreFresh \&\& this.posts.length === 0) return/' test/unit/posts.test.ts
mutant_ts "watch no posts of lists that are not sorted by age" src/postEntries.ts 's/return shownOf\(this\.items\.map/return shownOf(this.items.slice(0, 0).map/' test/unit/engagements.test.ts
mutant_ts "show a like that is under way as taken back by a change" src/operations/feed.ts 's/await engagements\.read\(\(\) => feedApi\.getPost\(\{ post \}\), \(p, shown\) => shown\(p\)\)/await feedApi.getPost({ post })/' test/unit/engagements.test.ts
mutant_ts "read pages of posts beside each other" src/pagedList.ts 's/const done = this\.tail\.then\(work\)/const done = Promise.resolve().then(work)/' test/unit/posts.test.ts
mutant_ts "mark notifications as read that the list has not shown" src/notifications.ts 's/BigInt\(n\.position\) > read/BigInt(n.position) > read + 1n/; s/deps\.markRead\(this\.position\)/deps.markRead(this.position + "0")/' test/unit/notifications.test.ts
mutant_ts "keep a switch that the server refused" src/react/notifications.ts 's/\? before : now/? now : now/' test/unit/notificationsReact.test.ts
mutant_ts "show the unread count of another user" src/react/notifications.ts 's/read\.owner === owner \? read\.count : 0/read.count/' test/unit/notificationsReact.test.ts
mutant_ts "publish a post twice whose answer was lost" src/operations/feed.ts 's/clientPostId: key,/clientPostId: key + Math.random(),/' test/unit/posts.test.ts
mutant_ts "create a comment twice whose answer was lost" src/operations/comments.ts 's/clientCommentId: o\.key,/clientCommentId: o.key + Math.random(),/' test/unit/comments.test.ts
mutant_ts "show a comment that was deleted meanwhile" src/comments.ts 's/!c\.deleted \&\& !this\.deleted\.has\(c\.id\)/!c.deleted/' test/unit/comments.test.ts
mutant_ts "repeat an own comment on a page" src/comments.ts 's/this\.own\.filter\(\(c\) => !known\.has\(c\.id\)\)/[...this.own]/' test/unit/comments.test.ts
mutant_ts "publish for the next user" src/resend.ts 's/if \(client\.me\(\) !== user\) throw err;//' test/unit/posts.test.ts
mutant_ts "leave hidden posts on screen" src/operations/feed.ts 's/reason === "no_post"/reason === "none"/' test/unit/shown.test.ts
mutant_ts "watch no posts after a reconnect" src/shown.ts 's/this\.known = undefined;/if (this.known === "") this.known = undefined;/' test/unit/shown.test.ts
mutant_ts "show a user the videos of another one" src/operations/videos.ts 's/observed\.forget\(\);//' test/unit/videos.test.ts
mutant_ts "show a position of another user" src/watchPositions.ts 's/p\?\.user === this\.deps\.user\(\) \? p/p ? p/' test/unit/watchPositions.test.ts
mutant_ts "send a position for another user" src/watchPositions.ts 's/p\.user !== this\.deps\.user\(\)/false/' test/unit/watchPositions.test.ts
mutant_ts "remove a video while its position is sent" src/watchPositions.ts 's/    await this\.sending;//' test/unit/watchPositions.test.ts
mutant_ts "send a position without its age" src/watchPositions.ts 's/Math\.max\(0, this\.deps\.now\(\) - p\.atMs\)/0/' test/unit/watchPositions.test.ts
mutant_ts "lose a position that could not be sent" src/watchPositions.ts 's/isOffline\(error\) \|\| error\.retryMs > 0/error.retryMs > 0/' test/unit/watchPositions.test.ts
mutant_ts "play videos by addresses that have expired" src/videos.ts 's/ \|\| this\.isStale\(e\.view\.video\)//' test/unit/videos.test.ts
mutant_ts "ask for a deleted video again and again" src/videos.ts 's/isPassing \? e\.backoff\.next\(error\.retryMs\) : undefined/e.backoff.next(error.retryMs)/' test/unit/videos.test.ts
mutant "read versions that nobody wants any more" sdk/go/versions.go 's/^\t\t\tif !f\(version\) \{$/\t\t\tif f(version); false {/' '^TestDetailsBySDK$' internal/app
mutant_ts "lose a caption that is edited" src/updates.ts 's/caption: text \}/caption: "" }/' test/unit/updates.test.ts
mutant_ts "show an edited reply without what it answers" src/updates.ts 's/edited\.replyTo \|\| !m\.content\.replyTo \? edited : .*;/edited;/' test/unit/updates.test.ts
mutant_ts "find the newest message instead of that of a time" src/operations/messageDetails.ts 's/timeMs: BigInt\(.*\), limit: 1/limit: 1/' test/unit/messageDetails.test.ts

mutant "name no entry in event streams" internal/service/fanout/dispatcher.go 's/if !c\.worker\.deps\.EventStreams \{/if true {/' TestPullingLosesNothing ./internal/service/serverevent
mutant "confirm events when they are pulled" internal/service/serverevent/pull.go 's/^\tres\.Cursor = s\.encode\(c, next\)$/&\n\t_ = s.confirm(ctx, c.name, at.generation, next.positions, nil)/' TestPullingLosesNothing ./internal/service/serverevent
mutant "move a consumer back by a late confirmation" internal/service/serverevent/store.go 's/WHERE event_positions\.position < excluded\.position//' TestPullingLosesNothing ./internal/service/serverevent
mutant "confirm a cursor from before a seek" internal/service/serverevent/store.go 's/ \|\| err == nil \&\& now != generation//' TestSeek ./internal/service/serverevent
mutant "pass events that a webhook refused" internal/service/serverevent/deliver.go 's/^\t\tif failure != nil \{$/\t\tif false {/' 'TestWebhooksLoseNothing|TestPoisonBecomesADeadLetter' ./internal/service/serverevent
mutant "bury events together with one that is refused" internal/service/serverevent/deliver.go 's/ \|\| len\(b\.events\) > 1//; s/most\.events = 1/most.events = 100/' TestPoisonBecomesADeadLetter ./internal/service/serverevent
mutant "judge a delivery to a webhook by its last request" internal/service/serverevent/post.go 's/h\.slow = h\.slow \|\| /h.slow = /' EachDeliveryIsJudged internal/service/serverevent
mutant "give bots their own messages" internal/service/serverevent/store.go 's/c\.filter\.bots = bots/c.filter.bots = nil/' TestBotsReceiveNoBots ./internal/service/serverevent
mutant "post events to private addresses" internal/platform/webhook/endpoint.go 's/!allowPrivate \&\& egress/false \&\& egress/' TestWebhookAddresses ./internal/service/serverevent
mutant "give the audit to all keys" internal/service/serverevent/consumer.go 's/audit \&\& !by\.Audit/false/' TestAccess ./internal/service/serverevent
mutant "hide a gap of events" internal/service/serverevent/read.go 's/b\.gap \|\| b\.scanned == 0 .*/false/' TestTrimmedEventsAreAGap ./internal/service/serverevent
mutant "keep event streams for ever" internal/service/inbox/trim.go 's/maxAge, maxEntries = s\.config\.EventsMaxAge, math\.MaxInt/maxAge, maxEntries = 1 << 62, math.MaxInt/' TestEventStreamsAreTrimmedByAge ./internal/service/inbox
mutant "show the life of a message to any key" internal/service/messagetrace/trace.go 's/if !by\.Audit \{/if false {/' TestOldMessagesAreFound ./internal/service/messagetrace
mutant "name no node that is gone" internal/service/messagetrace/messagetrace.go 's/^\t\t\ts\.gone\[n\] = now$//' TestMissingNodesAreNamed ./internal/service/messagetrace
mutant "take what a device acknowledged before for the message" internal/service/messagetrace/records.go 's/c\.Seq >= position$/true/' TestNodesAnswerTogether ./internal/service/messagetrace
mutant "find only messages that a node remembers" internal/service/messagetrace/find.go 's/return s\.findInEvents\(ctx, m\)/return 0, 0, errUnknown/' TestOldMessagesAreFound ./internal/service/messagetrace
mutant "let records of devices displace those of messages" internal/base/flightrecorder/flightrecorder.go 's/if k >= Pushed \{/if false {/' TestTheOldestRecordsGiveWay ./internal/base/flightrecorder
mutant "trace other messages on each node" internal/base/tracing/ids.go 's/return t\.sampled\(low\)$/return t.sampled(low ^ rand.Uint64())/' TestAMessageIsSampledByItsID ./internal/base/tracing
mutant "give the dispatch of a message an id that other nodes do not know" internal/base/tracing/message.go 's/if step\.named \&\& !s\.Again \{/if false {/' TestNodesAgreeOnTheTraceOfAMessage ./internal/base/tracing
mutant "give all spans of a call one id" internal/base/tracing/request.go 's/return withoutIDs\{inner\}, span/return inner, span/' TestRequestsHaveTraces ./internal/base/tracing
mutant "let callers decide what is traced" internal/base/tracing/request.go 's/if t\.trust \&\& caller/if caller/' TestCallersNameTheirTraces ./internal/base/tracing
mutant "count no span that is dropped" internal/base/tracing/queue.go 's/^\t\tq\.dropped\.Add\(1\)$//' TestADeadCollectorDelaysNobody ./internal/base/tracing
mutant "count spans as sent that the collector rejected" internal/platform/otlp/otlp.go 's/rejected\.Spans > 0/rejected.Spans > 1<<40/' TestSpansThatAreNotAccepted ./internal/platform/otlp
mutant "trace the texts of statements" internal/engine/sqldb/tracing.go 's/summaryOf\(query\)\)$/query)/' TestStatementsAreTraced ./internal/engine/sqldb
mutant "load for a cache outside of the trace" internal/platform/cache/flight.go 's/tracing\.Adopt\(context\.Background\(\), ctx\)/tracing.Adopt(context.Background(), context.WithoutCancel(context.Background()))/' TestLoadsAreTraced ./internal/platform/cache
mutant "tell no webhook the trace" internal/platform/webhook/webhook.go 's/parent != "" \{/parent == "none" {/' TestRequestsNameTheirTrace ./internal/platform/webhook
mutant "name no trace in the histograms" internal/base/telemetry/calls.go 's/return prometheus\.MustNewMetricWithExemplars\(histogram, list\.\.\.\)/return histogram/' TestCallsNameTheirTraces ./internal/base/telemetry
mutant "link no commit to its messages" internal/engine/timeline/group_commit.go 's/if a\.Traced != nil \&\& /if false \&\& /' TestATraceFollowsAMessage ./internal/app/apptest
mutant "trace control entries, which nobody has sent" internal/service/fanout/tracing.go 's/ \&\& !message\.IsControl\(stored\)//' TestNobodySendsControlEntries ./internal/app/apptest
mutant "let a bot act as anyone" internal/service/account/api_key.go 's/c\.Server = !c\.Bot/c.Server = true/' TestKeysOfBots ./internal/transport/rpc
mutant "store a message before the webhook has decided on the one before it" internal/service/chat/before_send.go 's/q\.list\[0\]\.done \{/true {/' TestBeforeSendKeepsTheOrder ./internal/service/chat
mutant "store what the webhook refused" internal/platform/webhook/review.go 's/case !\*v\.Allow:/case false:/' 'TestBeforeSendDecides|ModeratorsDecideWhatIsHeld' ./internal/service/chat ./internal/service/moderation
mutant "store what could not be checked" internal/platform/webhook/review.go 's/case err != nil \&\& r\.config\.OnFailure == "allow":/case err != nil:/; s/^\tcase err != nil:$/\tcase err != nil \&\& err == nil:/' 'TestBeforeSendFails|TheSettingDecides' ./internal/service/chat ./internal/service/moderation
mutant "call a server that always fails" internal/base/outgoing/destination.go 's/return ended >= minCalls \&\& .*$/return false \&\& ended > 0/' 'CircuitsOpenAndClose|BeforeSendFails|BeforeSendHangs' ./internal/base/outgoing ./internal/service/chat
mutant "open a circuit for few failures among many calls" internal/base/outgoing/destination.go 's/ \&\& 2\*n\.TotalFailures >= ended$//' FewFailuresOpenNothing ./internal/base/outgoing
mutant "open a circuit for few calls" internal/base/outgoing/destination.go 's/return ended >= minCalls \&\& /return ended >= 2 \&\& /' FewFailuresOpenNothing ./internal/base/outgoing
mutant "count calls in progress as calls without failure" internal/base/outgoing/destination.go 's/ended := n\.TotalSuccesses \+ n\.TotalFailures.*$/ended := n.Requests/' CallsInProgressCountNothing ./internal/base/outgoing
mutant "keep a circuit open for ever" internal/base/outgoing/destination.go 's/Timeout: all\.policy\.OpenFor,/Timeout: 1 << 60,/' CircuitsOpenAndClose ./internal/base/outgoing
mutant "let all calls be probes" internal/base/outgoing/destination.go 's/MaxRequests: probes,/MaxRequests: 1000,/' 'CircuitsOpenAndClose|ProbesAreFew' ./internal/base/outgoing
mutant "blame a server for callers who gave up" internal/base/outgoing/outgoing.go 's/^\tcase ctx\.Err\(\) != nil:$/\tcase false:/' CancelledCallsAreNoFailures ./internal/base/outgoing
mutant "count callers who gave up as successes" internal/base/outgoing/outgoing.go 's/a\.done\(errExcluded\)/a.done(nil)/' ProbesAreFew ./internal/base/outgoing
mutant "leave a probe in progress whose call panics" internal/base/outgoing/outgoing.go 's/^\tdefer func\(\) \{ a\.End\(ctx, o\) \}\(\)$//; s/^\to = call\(\)$/\to = call()\n\ta.End(ctx, o)/' PanicsAreFailures ./internal/base/outgoing
mutant "blame a server for answers of 4xx" internal/base/outgoing/outgoing.go 's/case status >= http\.StatusInternalServerError:/case status >= http.StatusBadRequest:/' 'OutcomesOfAnswers|WhichAnswersOpen' ./internal/base/outgoing ./internal/base/egress
mutant "call a server that asked for a pause" internal/base/outgoing/outgoing.go 's/if o\.Pause > 0 \&\& d\.policy\.Pauses \{/if false {/' Pauses ./internal/base/outgoing
mutant "pause all devices of a provider for one" internal/base/outgoing/outgoing.go 's/o\.Pause > 0 \&\& d\.policy\.Pauses/o.Pause > 0/' Pauses ./internal/base/outgoing
mutant "pause for as long as a server likes" internal/base/outgoing/outgoing.go 's/d\.pause\(min\(o\.Pause, maxPause\)\)/d.pause(o.Pause)/' Pauses ./internal/base/outgoing
mutant "retry without a budget" internal/base/outgoing/budget.go 's/retries >= floor\+calls\/budgetShare/false/' 'RetriesHaveABudget|BudgetsHold' ./internal/base/outgoing
mutant "retry without a share of the calls" internal/base/outgoing/budget.go 's/floor\+calls\/budgetShare/floor/' 'RetriesHaveABudget|BudgetsHold' ./internal/base/outgoing
mutant "give no retries to quiet destinations" internal/base/outgoing/budget.go 's/floor\+calls\/budgetShare/calls\/budgetShare/' 'RetriesHaveABudget|BudgetsHold' ./internal/base/outgoing
mutant "never refill a retry budget" internal/base/outgoing/budget.go 's/if s\.at > now\.Unix\(\)-budgetSeconds \{/if s.at > 0 {/' 'RetriesHaveABudget|BudgetsHold' ./internal/base/outgoing
mutant "retry what cannot succeed" internal/base/outgoing/outgoing.go 's/ \|\| !o\.Retryable / /' RetriesHaveABudget ./internal/base/outgoing
mutant "retry after the timeout" internal/base/outgoing/outgoing.go 's/ \|\| within\.Err\(\) != nil / /' RetriesEndInTime ./internal/base/outgoing
mutant "share one circuit among all servers" internal/base/outgoing/outgoing.go 's/c\.kinds\[kind\]\.of\(key\)/c.kinds[kind].of("")/' 'DestinationsAreSeparate|TestOpenCircuitsDelayPushes' ./internal/base/outgoing
mutant "keep a circuit for each host that users name" internal/base/outgoing/destination.go 's/for len\(all\.byKey\) > maxDestinations \{/for false {/' DestinationsAreBounded ./internal/base/outgoing
mutant "forget servers that are called all the time" internal/base/outgoing/destination.go 's/^\t\tall\.recentFirst\.MoveToFront\(e\)$//' DestinationsAreBounded ./internal/base/outgoing
mutant "log nothing of circuits" internal/base/outgoing/destination.go 's/OnStateChange: func.*$/OnStateChange: func(_ string, from, to gobreaker.State) {}})/' MetricsAndLog ./internal/base/outgoing
mutant "put addresses with secrets into errors" internal/base/outgoing/destination.go 's/host: hostOf\(key\)/host: key/' 'CircuitsOpenAndClose|MetricsAndLog' ./internal/base/outgoing
mutant "let what was refused together return together" internal/base/outgoing/outgoing.go 's/^\td := max\(min\(waited\/4, maxDelay\), r\.Wait\)$/\td := min(waited\/4, maxDelay)/' DelaysOfDurableQueues ./internal/base/outgoing
mutant "blame a host for the hops before it" internal/base/egress/hop.go 's/errors\.Is\(err, context\.DeadlineExceeded\) \&\& /false \&\& /' HopsAreJudged ./internal/base/egress
mutant "blame the host that redirects" internal/base/egress/hop.go 's/portedHost\(r\.URL\)/"one"/' CircuitsOfRedirects ./internal/base/egress
mutant "take a body that breaks off for a success" internal/base/egress/hop.go 's/b\.once\.Do\(func\(\) \{ b\.end\(err\) \}\)/b.once.Do(func() { b.end(nil) })/' CircuitsOfRedirects ./internal/base/egress
mutant "take invalid answers for successes" internal/base/egress/egress.go 's/^\t\t\tif o\.Failure == nil \{$/\t\t\tif false {/' WhichAnswersOpen ./internal/base/egress
mutant "blame a mail server for emails that it refuses" internal/platform/mailer/mailer.go 's/answer\.ErrorCode\(\) >= refusal/false/' CircuitOfTheServer ./internal/platform/mailer
mutant "hold a request to S3 while a client sends a file" internal/engine/blob/s3blob/put.go 's/^\tp, err := s\.receive\(/\trelease, err := s.acquire(ctx)\n\tif err != nil {\n\t\treturn err\n\t}\n\tdefer release()\n\tp, err := s.receive(/' SlowReaders ./internal/engine/blob/s3blob
mutant "hold a request to S3 while a client sends a part" internal/engine/blob/s3blob/parts.go 's/^\treceived, err := s\.receive\(/\ts.slots <- struct{}{}\n\tdefer func() { <-s.slots }()\n\treceived, err := s.receive(/' SlowReaders ./internal/engine/blob/s3blob
mutant "send any number of requests with bytes to S3" internal/engine/blob/s3blob/receive.go 's/return func\(\) \{ <-s\.slots \}, nil/<-s.slots\n\t\treturn func() {}, nil/' ConcurrentRequests ./internal/engine/blob/s3blob
mutant "begin an upload to S3 before its first part is complete" internal/engine/blob/s3blob/put.go 's/^\tsession := ""$/\tsession, _ := s.beginParts(ctx, name)/' AReaderThatFails ./internal/engine/blob/s3blob
mutant "repeat a request to S3 where it failed" internal/engine/blob/s3blob/receive.go 's/return payload\{size, hex\.EncodeToString\(sum\.Sum\(nil\)\), p\.Reader, p\.Close\}, nil/one := p.Reader()\n\treturn payload{size, hex.EncodeToString(sum.Sum(nil)), func() io.ReadSeeker { return struct{ io.ReadSeeker }{io.NewSectionReader(one.(io.ReaderAt), 1, size)} }, p.Close}, nil/' AttemptsSendTheSameBytes ./internal/engine/blob/s3blob
mutant "keep the file of a reader that failed" internal/engine/blob/s3blob/receive.go 's/return payload\{\}, errors\.Join\(err, p\.Close\(\)\)/return payload{}, errors.Join(err)/' AReaderThatFails ./internal/engine/blob/s3blob
mutant "keep the names of temporary files" internal/base/spool/spool.go 's/if err := os\.Remove\(f\.Name\(\)\); err != nil \{/if err := error(nil); err != nil {/' NoFileHasAName ./internal/base/spool
mutant "keep the temporary files of a crash" internal/base/spool/spool.go 's/if !strings\.HasPrefix\(f\.Name\(\), prefix\) \{/if strings.HasPrefix(f.Name(), prefix) {/' NoFileHasAName ./internal/base/spool
mutant "keep slow bytes in memory" internal/base/spool/spool.go 's/if p\.dir == nil \{/if true {/' 'TestMemory|AFullDisk' ./internal/base/spool
mutant "lose what came before a reader failed" internal/base/spool/spool.go 's/^\tif err := p\.flush\(\); err != nil \{$/\tif err := error(nil); err != nil {/' 'AReaderThatFails|TestReceive' ./internal/base/spool
mutant "take a full disk for another error" internal/base/errs/disk.go 's/errors\.Is\(err, syscall\.ENOSPC\)/false/' AFullDisk ./internal/base/spool
mutant "blame S3 for files that are not there" internal/engine/blob/s3blob/request.go 's/err == nil \|\| errors\.As/err == nil || false \&\& errors.As/' MissingFilesAreNoFailures ./internal/engine/blob/s3blob
mutant "count refused calls as failures of jobs" internal/platform/job/run.go 's/case errors\.As\(err, \&refused\):.*$/case false \&\& errors.As(err, \&refused):/' RefusedCallsAreNoFailures ./internal/platform/job
mutant "count refused pushes as attempts" internal/service/push/deliver.go 's/done\.refused != nil \&\& waited <= maxAge/false/' OpenCircuitsDelayPushes ./internal/service/push
mutant "keep refused pushes for ever" internal/service/push/deliver.go 's/done\.refused != nil \&\& waited <= maxAge/done.refused != nil/' OldPushesEnd ./internal/service/push
mutant "make dead letters of events while a circuit is open" internal/service/serverevent/deliver.go 's/if errors\.As\(failure, \&refused\) \{.*$/if false \&\& errors.As(failure, \&refused) {/' OpenCircuitsDelayEvents ./internal/service/serverevent
mutant "give up dead letters while a circuit is open" internal/service/serverevent/dead.go 's/if outgoing\.IsRefused\(failure\) \{.*$/if false \&\& outgoing.IsRefused(failure) {/' OpenCircuitsDelayDeadLetters ./internal/service/serverevent
mutant "count checks of transactions that were refused" internal/service/messagetransaction/check.go 's/case errors\.As\(why, \&refused\):.*$/case false \&\& errors.As(why, \&refused):/' OpenCircuitsDelayChecks ./internal/service/messagetransaction
mutant "use up the checks of a transaction while a circuit is open" internal/service/messagetransaction/check.go 's/SET checks = checks - 1 WHERE/SET checks = checks WHERE/' OpenCircuitsDelayChecks ./internal/service/messagetransaction
# Message transactions, and calls between nodes.
mutant "send a message of a transaction under a new id" internal/service/messagetransaction/store.go 's/"transaction-%d-%d", of, m\.n\)/"transaction-%d-%d-%p", of, m.n, m)/' 'ACommitSendsOnce|DeathsBetweenSteps' ./internal/service/messagetransaction
mutant "commit what was rolled back" internal/service/messagetransaction/decide.go 's/case t\.state == rolledBack:$/case t.state == 99:/' 'ARollBackIsKept|UnansweredTransactions' ./internal/service/messagetransaction
mutant "roll back what was committed" internal/service/messagetransaction/decide.go 's/return errCommitted$/return nil/' ACommitSendsOnce ./internal/service/messagetransaction
mutant "forget a commit whose call died" internal/service/messagetransaction/decide.go 's/At: s\.deps\.Clock\.Now\(\)\.Add\(sendDelay\)/At: s.deps.Clock.Now().Add(1 << 60)/' 'DeathsBetweenSteps|MessagesThatAreSentLater' ./internal/service/messagetransaction
mutant "send later messages before one that waits" internal/service/messagetransaction/send.go 's/^\t\t\tbreak$/\t\t\tcontinue/' MessagesThatAreSentLater ./internal/service/messagetransaction
mutant "ask a webhook for ever" internal/service/messagetransaction/check.go 's/attempt < s\.config\.Checks \&\&/attempt < 1<<30 \&\&/' UnansweredTransactions ./internal/service/messagetransaction
mutant "commit without a decision" internal/service/messagetransaction/check.go 's/case decision == "commit":/case decision == "commit" || attempt == s.config.Checks:/' UnansweredTransactions ./internal/service/messagetransaction
mutant "let one key use up the transactions" internal/service/messagetransaction/prepare.go 's/if n >= s\.sizes\.open \|\| used\+size > s\.sizes\.openBytes \{/if n > 1<<40 {/' WhatCanBePrepared ./internal/service/messagetransaction
mutant "keep the contents of failed transactions without a bound" internal/service/messagetransaction/send.go 's/case err == nil \&\& to == failed \&\& used > 0:/case err == nil \&\& to == failed \&\& used > 1<<40:/' 'FailedTransactionsAreBounded|WhatIsKeptIsNoted' ./internal/service/messagetransaction
mutant "send a failed transaction without its contents" internal/service/messagetransaction/send.go 's/ AND state = \$3 AND bytes > 0 RETURNING/ AND state = $3 RETURNING/' FailedTransactionsAreBounded ./internal/service/messagetransaction
mutant "forget which messages of a failed transaction were sent" internal/service/messagetransaction/finished.go 's/^\tif t\.state == failed \{$/\tif t.state == failed {\n\t\treturn true, remove(ctx, tx, []int64{int64(t.id)})\n\t}\n\tif t.state == failed {/' FailedTransactionsAreBounded ./internal/service/messagetransaction
mutant "show transactions to other keys" internal/service/messagetransaction/store.go 's/err == nil \&\& t\.key != key/err == nil \&\& t.key == "" \&\& key != ""/' TransactionsOfAKey ./internal/transport/rpc
mutant "drop a call that is to be repeated" internal/platform/nodecall/nodecall.go 's/if err == nil \&\& r\.Accept\(answer\) \{/if err != nil || len(answer) > 0 {/' FailBack ./internal/platform/nodecall
mutant "repeat a call to a node that is not the target" internal/platform/nodecall/nodecall.go 's/; r\.IsTarget\(\); \{/; r.IsTarget() || true; {/' FailBack ./internal/platform/nodecall
mutant "count a failed transaction as kept while it is sent again" internal/service/messagetransaction/send.go 's/tally\{-1, -used\}/tally{}/' WhatIsKeptIsNoted ./internal/service/messagetransaction
mutant "count what was deleted as kept" internal/service/messagetransaction/finished.go 's/tally\{r\.count - 1, r\.bytes - t\.bytes\}/r/' WhatIsKeptIsNoted ./internal/service/messagetransaction
mutant "trim one batch of a key only" internal/service/messagetransaction/finished.go 's/return -by\.count, addKept/return 0, addKept/' WhatIsKeptIsNoted ./internal/service/messagetransaction
mutant "let one slow webhook have all checks" internal/service/messagetransaction/messagetransaction.go 's/First: firstChecks, Most: checksOfKey/First: 16, Most: 16/' ASlowWebhookLeavesChecksToOthers ./internal/service/messagetransaction
mutant "retry one batch of failed transactions" internal/app/admin_transactions.go 's/len\(list\) < retryBatch/len(list) > 0/' AllTransactionsAreRetried ./internal/app
mutant "name nodes to anyone" internal/service/discovery/discovery.go 's/\&gatewayv1\.Gateway\{Ws: g\.WS/\&gatewayv1.Gateway{Node: g.Node, Ws: g.WS/' AnAnswerNamesNoNodes ./internal/service/discovery
mutant "return no spread delay" internal/base/backoff/backoff.go 's/rand\.N\(max\(most-least, 0\)\+1\)/0*rand.N(max(most-least, 0)+1)/' ASpreadDelay ./internal/base/backoff
mutant "report a heavy hitter at each refusal" internal/base/inputlimit/connections.go 's/if h\.told \|\| /if /' AHeavyHitter ./internal/base/inputlimit
mutant "report many networks as a heavy hitter" internal/base/inputlimit/connections.go 's/^\t\th\.lead--$/\t\th.lead++/' AHeavyHitter ./internal/base/inputlimit
mutant "give up idle connections at the first refusal" internal/tool/bench/idle.go 's/time\.Since\(began\) > idlePatience/time.Since(began) >= 0/' IdleConnectionsAreTriedAgain ./internal/tool/bench
mutant "know few rejected messages of a device" internal/base/message/expected_retries.go 's/^\t\te\.last = next\.last$//' TestMoreRetriesThan internal/base/message
mutant "expect a message again that was stored" internal/service/chat/sender_gate.go 's/^\texpected\.Forget\(d\.ClientSeq\)$//' TheGateForgetsWhatWasStored ./internal/service/chat
mutant "let a caller have more than a fifth of the workers" internal/base/overload/limiter.go 's/ of\[h\] >= most / of[h] >= most+1000000 /' TestAFifthOfTheWorkersIsTheMostOfOneCaller ./internal/base/overload
mutant "refuse a crowd that logs in behind one address" internal/base/overload/limiter.go 's/minShare\)\+l\.queueShare/minShare)/' TestACrowdBehindOneAddressWaits ./internal/base/overload
mutant "let a crowd behind one address have all workers" internal/base/overload/limiter.go 's/return l\.queueShare == 0 \|\| .*$/return true/' TestACrowdBehindOneAddressWaits ./internal/base/overload
mutant "refuse a crowd that is alone" internal/base/overload/limiter.go 's/if excess \&\& l\.others > 0 \{/if excess {/' ACrowdAloneHasAllWorkers ./internal/base/overload
mutant "let a crowd wait with others beyond its share" internal/base/overload/limiter.go 's/if excess \&\& l\.others > 0 \{/if false {/' ExcessGivesWay ./internal/base/overload
mutant "serve what a crowd has beyond its share as it came" internal/base/overload/limiter.go 's/^\t\tw\.level \+= levelCount$//' ExcessGivesWay ./internal/base/overload
mutant "let an important crowd have all workers" internal/base/overload/limiter.go 's/l\.limit, 1\); !over \{/l.limit, 1); !over || true {/' ACrowdHasNoMoreThanItsShareOfTheWorkers ./internal/base/overload
mutant "forget that a call of a crowd has ended" internal/base/overload/limiter.go 's/p\.of\.work\(p\.caller, \&p\.crowds, -1\)/p.of.work(p.caller, \&crowds{}, -1)/' ACrowdHasNoMoreThanItsShareOfTheWorkers ./internal/base/overload
mutant "let syncs of a crowd wait behind all others" internal/base/overload/limiter.go 's/l\.used >= l\.limit \&\& p > First/l.used >= l.limit/' WhatIsFirstIsNoExcess ./internal/base/overload
mutant "serve others before syncs of a crowd" internal/base/overload/limiter.go 's/if w\.level < sections \{.*$/if false {/' WhatIsFirstIsNoExcess internal/base/overload
mutant "look up organizations at rest" internal/base/overload/limiter.go 's/if !l\.half\.Load\(\) \{/if false {/' ExcessGivesWay ./internal/base/overload
mutant "ignore the organizations of users" internal/base/overload/shares.go 's/if of != nil \&\& /if of != nil \&\& false \&\& /' ACrowdHasNoMoreThanItsShare ./internal/base/overload
mutant "let a crowd have more messages than its share" internal/base/overload/gate.go 's/level = levelCount \+ level%sections/level += 0/' ACrowdHasNoMoreThanItsShareOfTheMessages ./internal/base/overload
mutant "ignore the conversation of a call" internal/transport/rpc/call_classes.go 's/c\.Conversation = request/_ = request/' ACrowdGivesWayToOthers ./internal/transport/rpc
mutant "ignore the organization of a call" internal/transport/rpc/call_classes.go 's/c\.Organization = request/_ = request/' ACrowdGivesWayToOthers ./internal/transport/rpc
mutant "ignore the conversation of a message under overload" internal/service/chat/overload.go 's/, Conversation: uint64\(d\.Conversation\)\}/}/' ACrowdHasItsShareOfTheMessages ./internal/service/chat
mutant "let all users wait for their organizations to be read" internal/service/organization/member_of.go 's/len\(m\.asked\) < maxAsked/len(m.asked) < 1<<30/' RememberedOrganizationsAreBounded ./internal/service/organization
mutant "serve calls in the order in which they came" internal/base/overload/limiter.go 's/if o\.level != w\.level \{/if false {/' TestTheMostImportantIsNext ./internal/base/overload
mutant "refuse the more important at a full queue" internal/base/overload/limiter.go 's/if last\.level <= w\.level \{/if true {/' TestAFullQueueRefusesTheLeastImportant ./internal/base/overload
mutant "refuse messages for a burst" internal/base/overload/gate.go 's/if g\.samples == 0 \|\| wait < g\.least \{/if wait > g.least {/' TestNothingIsRefusedBelowTheCapacity ./internal/base/overload
mutant "refuse nothing while a queue stands" internal/base/overload/gate.go 's/^\t\tadmitted = g\.cut\(admitted\)$/\t\t_ = g.cut(admitted)/' TestGoodputIsFlatUnderOverload ./internal/base/overload
mutant "refuse messages because the log is slow without load" internal/base/overload/gate.go 's/return t\.windows > futileCuts \&\& /return false \&\& /' TestASlowLogIsNoOverload ./internal/base/overload
mutant "take a full log for a slow one" internal/base/overload/gate.go 's/ \&\& rate <= slowerPart\*t\.rate$//' TestSomeUsersAreServedInAnyCase ./internal/base/overload
mutant "take a busy process for one with a slow log" internal/base/overload/gate.go 's/case long \&\& !busy/case long \&\& (!busy || true)/' TestABusyProcessIsOverloaded ./internal/base/overload
mutant "take an idle process with a slow log for a busy one" internal/base/overload/gate.go 's/case long \&\& !busy/case long \&\& !busy \&\& false/' TestABusyProcessIsOverloaded ./internal/base/overload
mutant "take what a full queue refuses for short waits" internal/service/chat/send.go 's/ \&\& !errors\.Is\(d\.Err, timeline\.ErrBusy\) \{ \/\/ a full/ { \/\/ a full/' TestAFullQueueIsNoShortWait ./internal/service/chat
mutant "refuse all but a few users" internal/base/overload/gate.go 's/minLevels = .*$/minLevels = sections \/ 8/' TestSomeUsersAreServedInAnyCase ./internal/base/overload
mutant "refuse each user a part of the messages" internal/base/overload/priority.go 's/id\.Hash\(user\^/id.Hash(uint64(time.Now().UnixNano())^/' TestTheSameUsersAreServed ./internal/base/overload
mutant "read bodies of requests without capacity" internal/transport/rpc/body_limits.go 's/if in\.err = s\.checkOverload\(m\.work, r\.Header\); in\.err != nil \{/if false {/' TestOverloadRefusesEarly ./internal/transport/rpc
mutant "serve sends and passwords with the workers of others" internal/transport/rpc/call_classes.go 's/if class, ok := callClasses\[name\]; ok \{/if class, ok := callClasses[name]; ok \&\& false {/' TestSlowCallsLeaveOthersAlone ./internal/transport/rpc
mutant "count logins without workers as attempts" internal/transport/rpc/procedure.go '/permit, err := p\.acquireWorker/,/counted/s/^\t\trefund\(\)$//' TestLoginsWithoutWorkersAreNoAttempts ./internal/transport/rpc
mutant "store later messages of a device before one that overload refused" internal/service/chat/send.go 's/^(\tif err := s\.refuseOverloaded\(c, d\); err != nil \{)$/\1\n\t\tc.mu.Unlock()\n\t\treject(d, err)\n\t\treturn true/' TestOverloadKeepsTheOrderOfADevice ./internal/service/chat
mutant "count canaries as users" internal/platform/directory/directory.go 's/if u\.IsCanary\(\) \{/if false {/' TestCanariesAreLocatedAndNotCounted ./internal/platform/directory
mutant "let the streams of canaries grow" internal/service/inbox/trim.go 's/case id\.User\(key\.ID\)\.IsCanary\(\):/case id.User(key.ID) == 0:/' TestStreamsOfCanariesAreShort ./internal/service/inbox
mutant "tell business servers of canaries" internal/service/fanout/dispatcher.go 's/!stored\.Sender\.IsCanary\(\) \&\& !id\.User\(control\.GetActor\(\)\)\.IsCanary\(\)/true/' TestEventStreamsLeaveOutCanaries ./internal/service/serverevent
mutant "keep the earlier session of a canary" internal/service/account/canary.go 's/"replaced", `true`/"replaced", `false`/' TestCanariesHaveOneSession ./internal/service/account
mutant "give a canary in use to another node" internal/service/account/canary.go 's/ORDER BY used_ms, number/ORDER BY number/' TestCanariesAreReused ./internal/service/account
mutant "delete no old messages of a canary" internal/service/chat/expire.go 's/func\(\*state\) int64 \{ return ms \}/func(*state) int64 { return 0 }/' TestOldMessagesAreDeletedWithoutARetention ./internal/service/chat
mutant "do not notice that probes are late" internal/service/canary/probes.go 's/now\.Sub\(w\.at\) > LateAfter \&\& !w\.late/false/' TestLateAndLostProbesAreCounted ./internal/service/canary
mutant "do not notice that probes are lost" internal/service/canary/probes.go 's/if now\.Sub\(w\.at\) > LostAfter \{/if false {/' TestLateAndLostProbesAreCounted ./internal/service/canary
mutant "do not notice that probes come twice" internal/service/canary/probes.go 's/if pushed \&\& t\.delivered\[i\]\.pushed \{/if false {/' TestDuplicatesAreCounted ./internal/service/canary
mutant "await probes at a broken socket" internal/service/canary/probes.go 's/t\.socket, t\.waiting, t\.delivered = nil, nil, nil/t.socket, t.delivered = nil, nil/' TestWhatCannotBeKnownIsNotCounted ./internal/service/canary
mutant "count the time for which the process did not run" internal/service/canary/probes.go 's/if p\.checkedAt\.IsZero\(\) \|\| gap <= 2\*checkInterval \{/if gap != 0 || true {/' TestWhatCannotBeKnownIsNotCounted ./internal/service/canary
mutant "listen to a replaced socket of a canary" internal/service/canary/probes.go 's/if t == nil \|\| t\.socket != k \{/if t == nil {/' TestAReplacedSocketIsIgnored ./internal/service/canary
mutant "accept any certificate from a node" internal/service/canary/socket.go 's/if len\(raw\) == 0 \|\| Fingerprint\(raw\[0\]\) != fingerprint \{/if false {/' TestCertificatesAreKnownByTheirFingerprints ./internal/service/canary
mutant "let a canary send through another node" internal/service/canary/socket.go 's/case f\.Hello\.Node != k\.target\.Node:/case f.Hello.Node == "":/' TestASocketToAnotherNodeIsNotUsed ./internal/service/canary
mutant "do not sync what was not pushed to a canary" internal/service/canary/socket.go 's/missing = !k\.follow\(e\) \|\| missing/k.follow(e)/' TestASocketSyncsWhatWasNotPushed ./internal/service/canary
mutant "forget differences before their round ends" internal/platform/reconciliation/reconciliation.go 's/err != nil \|\| result\.Next != "" \{/err != nil {/' TestADifferenceIsFoundWithinARound ./internal/platform/reconciliation
mutant "keep differences that are gone" internal/platform/reconciliation/reconciliation.go 's/AND round < \$2 AND NOT repairing/AND round < $2 AND FALSE AND NOT repairing/' TestADifferenceIsFoundWithinARound ./internal/platform/reconciliation
mutant "compare from the beginning each minute" internal/platform/reconciliation/reconciliation.go 's/c\.Compare\(ctx, r\.Position, /c.Compare(ctx, "", /' TestADifferenceIsFoundWithinARound ./internal/platform/reconciliation
mutant "repair without an entry in the audit log" internal/platform/reconciliation/repair.go 's/return s\.deps\.Audit\.Add\(ctx, tx, (auditlog\.Entry\{.*\})\)/_ = \1\n\t\treturn nil/' TestADifferenceIsRepairedOnDemand ./internal/platform/reconciliation
mutant "do not look at the sizes of files" internal/service/media/compare_files.go 's/if size != u\.declared \{/if false {/' TestMissingFilesAreFoundAndDropped ./internal/service/media
mutant "drop uploads that are whole" internal/service/media/compare_files.go 's/err != nil \|\| c\.found == nil \{/err != nil {/' TestMissingFilesAreFoundAndDropped ./internal/service/media
mutant "report messages of which the user is no reader" internal/service/inbox/compare.go 's/if !large \&\& slices\.Contains\(users, u\) \{/if !large || slices.Contains(users, u) {/' TestMessagesThatAStreamLacksAreFound ./internal/service/inbox
mutant "report users who are not indexed yet" internal/service/search/compare.go 's/if !pending \{/if !pending || true {/' TestUsersWhomTheIndexLacksAreFound ./internal/service/search

# Backups and restores.
backup=internal/platform/backup
mutant "back up the database while it is written" internal/engine/sqldb/file_snapshot.go 's/^\terr = d\.Write\(ctx, func\(\*sql\.Tx\) error \{$/\terr = func(do func(*sql.Tx) error) error { return do(nil) }(func(*sql.Tx) error {/' TestNothingIsCommittedWhileASnapshotBegins ./internal/engine/sqldb
mutant "keep the checksums of pages from the write-ahead log" internal/engine/sqldb/file_snapshot.go 's/s\.checksum \&\& \(n-1\)/false \&\& (n-1)/' TestASnapshotOfAFileIsOneMoment ./internal/engine/sqldb
mutant "keep the connection of a snapshot that fails" internal/engine/sqldb/file_snapshot.go 's/^\t\terr = errors\.Join\(err, s\.conn\.Close\(\)\)$/\t\t_ = s.conn/' TestASnapshotThatFails ./internal/engine/sqldb
mutant "observe the write-ahead logs of a checkpoint" $log/observed_fs.go 's/return f\.PathDir\(path\) == f\.PathJoin\(f\.dir\)/return true/' TestFilesOfACopyAreNotObserved $log
mutant "forget that data was lost" $log/pebblelog.go 's/r\.set\("mfloor", /_ = append([][]byte(nil), /' TestRestoredEpoch $log
mutant "let devices go on from before a restore" internal/service/inbox/sync.go 's/if after < restored \{/if after < restored \&\& false {/' TestDevicesAreResetAfterARestore ./internal/service/inbox
mutant "reset devices after a restore again and again" internal/service/inbox/sync.go 's/Seq: max\(tail\.Seq, uint64\(restored\)\)/Seq: tail.Seq/' TestDevicesAreResetAfterARestore ./internal/service/inbox
mutant "reset devices until the epoch of a restore ends" internal/service/inbox/sync.go 's/ \&\& after != restored \{/ {/' TestDevicesAreResetAfterARestore ./internal/service/inbox
mutant_ts "remember the cursors of lost messages" src/sync.ts 's/drop \? unconfirmedPart\(known\.get\(c\.id\), c, isSame\) : //' test/unit/client.test.ts
mutant "remove files that are deleted during a backup" internal/engine/blob/diskblob/retain.go 's/if s\.retained == "" \{/if true {/' 'TestDeletedFilesAreRetained|TestFilesThatAreDeletedMeanwhile' ./internal/engine/blob/diskblob $backup
mutant "back up files that were listed, and not those that were deleted before" $backup/backup.go 's/^\t\t\tfiles = append\(files, f\)$//' TestFilesThatAreDeletedMeanwhile $backup
mutant "take a changed file for the one of an earlier backup" $backup/writer.go 's/ \&\& was\.ModifiedNs == f\.ModifiedNs//' TestOnlyWhatIsNewIsCopied $backup
mutant "copy each file again" $backup/writer.go 's/ok \&\& was\.Size == f\.Size/ok \&\& false \&\& was.Size == f.Size/' TestAnEncryptedBackup $backup
mutant "write a backup before it is checked" $backup/restore.go 's/^\tif err := r\.check\(ctx, m, o\.Progress\); err != nil \{$/\tif err := error(nil); err != nil {/' TestADamagedBackupIsRefused $backup
mutant "restore contents that do not match their hash" $backup/restore.go 's/case (hex\.EncodeToString\(v\.sum\.Sum\(nil\)\) != v\.part\.Object):/case false \&\& \1:/' TestADamagedBackupIsRefused $backup
mutant "accept a manifest that does not match its hash" $backup/manifest.go 's/if line != sumPrefix/if false \&\& line != sumPrefix/' TestADamagedBackupIsRefused $backup
mutant "restore over what is there" $backup/restore.go 's/if e\.Name\(\) != lockFile \{/if false {/' TestDirectoriesThatAreRefused $backup
mutant "write backups into the data directory" $backup/directory.go 's/rel != "\.\." \&\&/false \&\& rel != ".." \&\&/' TestDirectoriesThatAreRefused $backup
mutant "go on one epoch above an old backup" $backup/restore.go 's/leastStarts\+int64\(since\/startInterval\)/0*int64(leastStarts)+int64(since-since)/' 'TestTheEpochOfAnOldBackup|TestABackupIsRestored' $backup
mutant "remove what other backups need" $backup/repository.go 's/needed\[p\.Object\] = true/needed[p.Object] = false/' TestBackupsAreRemoved $backup
mutant "write a directory of backups while another command reads it" $backup/directory.go 's/how\|syscall\.LOCK_NB\)/syscall.LOCK_UN)/' TestADirectoryOfBackupsIsLocked $backup
mutant "write a bucket that another process writes" $backup/bucket.go 's/if own\.Sub\(o\.Modified\) < staleLock \{/if false {/' TestABucketIsLocked $backup
mutant "wait for a process that died" $backup/bucket.go 's/if own\.Sub\(o\.Modified\) < staleLock \{/if true {/' TestABucketIsLocked $backup
mutant "store a lock again that another process removed" $backup/bucket.go 's/case err == nil \&\& own\.IsZero\(\):/case err != nil \&\& own.IsZero():/' TestALockIsRenewed $backup
mutant "do not say why a lock was not renewed" $backup/bucket.go 's/l\.failure = err$/l.failure = nil/' TestALockIsRenewed $backup
mutant "remove objects while another process uses the bucket" $backup/bucket.go 's/case len\(others\) > 0:/case len(others) > 1:/' TestRemovalsConfirmTheLock $backup
mutant "confirm the lock of a bucket once" $backup/bucket.go 's/b\.removals%removalBatch == 0/b.removals == 0/' TestRemovalsConfirmTheLock $backup
mutant "put backups among other files of a bucket" $backup/bucket.go 's/return fmt\.Errorf\("%s: %w", b, errOtherFiles\)/return nil/' TestBucketsThatAreRefused $backup
mutant "store a large file as one object in a bucket" $backup/bucket.go 's/bucketPart = 4 << 20/bucketPart = 1 << 40/' TestBackupsInABucket $backup
mutant "store again what a bucket has" $backup/repository.go 's/return ok \&\& size == stored/return ok \&\& size == stored \&\& r.partSize == 0/' TestBackupsInABucket $backup
mutant "take the backup of another data directory for the newest" $backup/repository.go 's/err == nil \&\& m\.Source == source/err == nil/' TestTheAgeOfTheNewestBackup $backup
mutant "forget how old a backup is while its directory cannot be read" $backup/service.go 's/^\tif err != nil \{$/\tif err != nil \&\& cutMs != 0 {/' TestTheAgeOfTheNewestBackup $backup
mutant "begin two backups at once" $backup/service.go 's/if s\.ended \|\| s\.status\.State == Running \{/if s.ended {/' TestABackupIsCancelled $backup
mutant "begin a backup that is not recorded" internal/service/operation/backup.go 's/return s\.deps\.Audit\.Add\(.*$/_ = auditlog.Entry{}\n\t\t\treturn nil/' TestOperatorsMakeBackups ./internal/service/operation
mutant "count each read of a key as a miss" internal/service/account/api_key.go 's/KeyReads\.Count\(1, 0\)/KeyReads.Count(0, 1)/' TestReadsOfTheKeyCacheAreCounted ./internal/service/account
mutant "list limits without what was configured" internal/base/ratelimit/table.go 's/t\.routes\[r\]\.user\.rate, t\.routes/Rate{}, t.routes/' TestTheLimitsOfATable ./internal/base/ratelimit

# Commands in the audit log.
mutant "create a key without an entry in the audit log" internal/service/account/api_key.go 's/return record\.Record\(ctx, tx, auditlog\.Entry\{Action: "key\.create".*/return nil/' TestNoKeyChangesWithoutAnEntry ./internal/service/account
mutant "create a key with a role without an entry in the audit log" internal/service/account/operator_key.go 's/return record\.Record\(ctx, tx, auditlog\.Entry\{Action: "key\.create".*/return nil/' TestNoKeyChangesWithoutAnEntry ./internal/service/account
mutant "revoke keys without an entry in the audit log" internal/service/account/api_key.go 's/return record\.Record\(ctx, tx, (auditlog\.Entry\{Action: "key\.revoke".*)\)$/_ = \1; return nil/' TestNoKeyChangesWithoutAnEntry ./internal/service/account
mutant "let a key pretend to be a user of the operating system" internal/service/account/operator_key.go 's/ \|\| auditlog\.ImitatesSystem\(k\.Name\)//' TestAdminCommandsAreAudited ./internal/app
mutant "let the name of a key contain a user of the operating system" internal/platform/auditlog/auditlog.go 's/strings\.Contains\(name/strings.HasPrefix(name/' TestAdminCommandsAreAudited ./internal/app
mutant "let a server name a user of the operating system" internal/platform/runtimeswitch/runtimeswitch.go 's/ \|\| auditlog\.ImitatesSystem\(by\)//' TestModelsRank ./internal/service/ranking
mutant "retry all dead letters without an entry in the audit log" internal/platform/job/retry.go 's/return audit\(ctx, tx, ids\)/return nil/' TestAdminCommandsAreAudited ./internal/app
mutant "store what came over a bridge twice" internal/service/chat/send.go 's/^\t\treturn bridgeToken\(d\.Conversation, d\.Bridge\.Name, d\.Bridge\.ExternalID\)$/\t\treturn timeline.Token{}/' AnExternalIDIsStoredOnce ./internal/service/bridge
mutant "refuse a bridged message that is repeated with another text" internal/service/chat/send.go 's/!d\.Asked \&\& d\.Bridge == nil \&\& /!d.Asked \&\& /' AnExternalIDIsStoredOnce ./internal/service/bridge
mutant "send back what came over a bridge" internal/service/serverevent/read.go 's/c\.filter\.bridge != "" \&\& content\.GetBridge\(\) == c\.filter\.bridge/false/' NothingGoesBackOverItsBridge ./internal/service/bridge
mutant "write over a bridge without its bot" internal/service/chat/bridge.go 's/ \|\| s\.ticket != 0 \|\| s\.role\(bot\) == 0:/ || s.ticket != 0:/' TheLifeOfALink ./internal/service/bridge
mutant "write over a link that is not accepted" internal/service/bridge/link.go 's/ \|\| err == nil \&\& state != active \{/ {/' TheLifeOfALink ./internal/service/bridge
mutant "let a banned person of another system write" internal/service/chat/bridge.go 's/case s\.banned\(sender\):/case s.banned(0):/' PeopleOfAnotherSystemObeyTheGroup ./internal/service/bridge
mutant "let people of another system write while only admins do" internal/service/chat/bridge.go 's/case s\.mutedAllMs > nowMs:/case nowMs < 0:/' PeopleOfAnotherSystemObeyTheGroup ./internal/service/bridge
mutant "edit over a bridge what was written here" internal/service/chat/bridge.go 's/case e\.Updates != 0:$/case e.Updates == 1<<60:/' EditsAndRecallsByExternalID ./internal/service/bridge
mutant "keep the first report of a bridge" internal/service/chat/bridge.go 's/if list\[i\]\.Seq >= d\.Seq \{/if list[i].Seq < d.Seq {/' ReportsOfDeliveries ./internal/service/bridge
mutant "answer the echo of a message with the seq of its report" internal/service/bridge/send.go 's/BridgedText \&\& d\.Updates != 0 \{/BridgedText \&\& d.Updates == 1<<60 {/' ReportsOfDeliveries ./internal/service/bridge
mutant "let somebody of another system log in" internal/service/account/session.go 's/ AND erased_ms = 0 AND bridge = ..`/ AND erased_ms = 0`/' PeopleOfAnotherSystem ./internal/service/bridge
mutant "keep the answer of another system after its end" internal/service/bridge/permission.go 's/ AND until_ms > \$4 ORDER/ AND 0 < $4 ORDER/' PermissionsEnd ./internal/service/bridge
mutant "link a room with two groups by two names" internal/service/bridge/claim.go 's/ OR room IN \(\$3, \$4\)\)/ OR address IN ($3, $4))/' RoomsAreComparedInTheBridgesForm ./internal/service/bridge
mutant "let other keys act as bridges" internal/transport/rpc/rpc.go 's/if c\.Bridge == "" \{/if c.Bridge == "-" {/' TestCredentials ./internal/transport/rpc
mutant "retry a message transaction without an entry in the audit log" internal/service/messagetransaction/list.go 's/return record\.Record\(ctx, tx, (auditlog\.Entry\{Action: "transaction\.retry".*)\)$/_ = \1; return nil/' TestOperatorsSeeAndRetryTransactions ./internal/app
mutant "build a search index again without an entry in the audit log" internal/service/search/generation.go 's/if err := s\.deps\.Audit\.Record\(ctx, (by\.entry\(.*\))\); err != nil \{/if err := error(nil); err != nil || \1.Who == "" {/' TestSearchOverHTTP ./internal/app
mutant "repair without saying so in the audit log" internal/app/repaircommand.go 's/if err := by\.recordIn\(ctx, data, (auditlog\.Entry\{.*\})\); err != nil \{/_ = \1\n\tif err := error(nil); err != nil {/' TestCommandsOnStoppedStoresAreAudited ./internal/app

mutant "end an erasure after one participant" internal/service/privacy/erase.go 's/e\.participant < len\(s\.deps\.Participants\)/e.participant < 1/' AnInterruptedErasureGoesOn ./internal/service/privacy
mutant "begin an erasure again after each crash" internal/service/privacy/erase.go 's/int64\(e\.owner\), e\.participant, e\.position/int64(e.owner), 0, ""/' AFailedStepIsRepeated ./internal/service/privacy
mutant "erase an account without asking who it is" internal/service/privacy/request.go 's/return s\.deps\.Accounts\.ConfirmErasure\(ctx, tx, c\)/return nil/' ARequestCanBeCancelled ./internal/service/privacy
mutant "erase an account although the erasure was cancelled" internal/service/privacy/erase.go 's/case errors\.Is\(err, sql\.ErrNoRows\), err == nil/case err == nil/' ARequestCanBeCancelled ./internal/service/privacy
mutant "leave what an erased user wrote in the log" internal/service/chat/erase.go 's/err := s\.deps\.Log\.Replace\(ctx, logKey\(c\), emptied\); err != nil/err := error(nil); err != nil/' ErasedUsersAreInNoStore ./internal/app/apptest
mutant "show what is being erased" internal/service/chat/erase.go 's/if m\.Entry\.Content = nil; m\.Entry\.Updates != 0 \{/if m.Entry.Updates != 0 {/' WhatIsBeingErasedIsNotShown ./internal/service/chat
mutant "show forwards of what is being erased" internal/service/chat/erase.go 's/return erasing\[sender\] \}\)/return false })/' WhatIsBeingErasedIsNotShown ./internal/service/chat
mutant "replace entries that have expired" internal/engine/timeline/pebblelog/replace.go 's/if errors\.Is\(err, pebble\.ErrNotFound\) \{/if errors.Is(err, pebble.ErrNotFound) {\n\t\treturn b.Set(key, appendEntry(nil, 0, e.Payload), nil)/' TestLog ./internal/engine/timeline/pebblelog
mutant "import entries with the time of now" internal/service/chat/import_entries.go 's/d\.ID = p\.ids\.next\(uint8\(p\.state\.kind\), p\.conv\.id, max\(e\.TimeMs, p\.ids\.ms\)\)/d.ID = p.ids.next(uint8(p.state.kind), p.conv.id, p.service.deps.Clock.Now().UnixMilli())/' AnImportKeepsTimes ./internal/service/chat
mutant "let members write while a conversation is imported" internal/service/chat/send_permission.go 's/if s\.importing \&\& s\.role\(u\) != 0 \{/if false {/' NobodyWritesWhile ./internal/service/chat
mutant "change a group while it is imported" internal/service/chat/change.go 's/if st\.importing \&\& st\.access != 0 \{/if false {/' NobodyWritesWhile ./internal/service/chat
mutant "dispatch what is imported" internal/service/chat/change.go 's/a\.Token, a\.NeedsFanout = p\.imported\.token, p\.imported\.fanout/a.Token = p.imported.token/' AnImportKeepsTimes ./internal/service/chat
mutant "import entries twice" internal/service/chat/import_entries.go 's/Token: importToken\(p\.conv\.id, e\.Key\), Author/Author/' AnImportKeepsTimes ./internal/service/chat
mutant "apply what comes with a key that is stored" internal/service/chat/import_entries.go 's/if q\.append\.Duplicate \{/if false {/' ARepeatedKeyChangesNothing ./internal/service/chat
mutant "start a thread for a key that is stored" internal/service/chat/import_entries.go 's/ \&\& e\.Content\.GetThread\(\) == nil \{/ {/' ARepeatedKeyChangesNothing ./internal/service/chat
mutant "forget authors who are no members" internal/service/chat/import_entries.go 's/if len\(authors\) == 0 \{/if true {/' ImportedAuthors ./internal/service/chat
mutant "find no imported entries of those who are no members" internal/service/chat/search_source.go 's/WHERE author = \$1 AND/WHERE author = 0 AND author = $1 AND/' ImportedAuthors ./internal/service/chat
mutant "pass over imported edits by those who are no members" internal/service/chat/erase.go 's/FROM imported_authors WHERE author = \$2 AND conversation = \$1/FROM imported_authors WHERE FALSE/' ImportedAuthors ./internal/service/chat
mutant "export nothing of those who are no members" internal/service/chat/export.go 's/return d\.exportImported\(ctx, u, to\)/return nil/' ImportedAuthors ./internal/service/chat
mutant "export what others wrote to those who are no members" internal/service/chat/export.go 's/stored\.Sender != u/false/' ImportedAuthors ./internal/service/chat
mutant "export imported entries twice" internal/service/chat/export.go 's/within\.has\(e\.Seq\)/within.has(0)/' ImportedAuthors ./internal/service/chat
mutant "note an erasure with an id of now in an import" internal/service/chat/erase.go 's/if st\.importing \{/if false {/' ErasureDuringAnImport ./internal/service/chat
mutant "keep who is erased in an import" internal/service/chat/import.go 's/case chatv1\.Control_ACTION_LEFT, chatv1\.Control_ACTION_REMOVED/case chatv1.Control_ACTION_REMOVED/' ErasureDuringAnImport ./internal/service/chat
mutant "skip what another node made stale" internal/service/chat/import.go 's/return busy\(err\)/return err/' MembersLeaveWhile ./internal/service/chat
mutant "hold members while a conversation is imported" internal/service/chat/import.go 's/, chatv1\.Control_ACTION_REMOVED, chatv1\.Control_ACTION_TRANSFERRED, chatv1\.Control_ACTION_DISSOLVED:/, chatv1.Control_ACTION_TRANSFERRED:/' MembersLeaveWhile ./internal/service/chat
mutant "change an imported conversation with an id of now" internal/service/chat/import.go 's/st\.id, ids\.ms\)\}, nil/st.id, s.deps.Clock.Now().UnixMilli())}, nil/' MembersLeaveWhile ./internal/service/chat
mutant "import on by a state that another node has changed" internal/service/chat/import_entries.go 's/p\.conv\.invalidate\(\)/_ = p.conv/' ErasureDuringAnImport ./internal/service/chat
mutant "import earlier entries after later ones" internal/service/chat/import_entries.go 's/return errTimeOrder/return nil/' WhatCannotBeImported ./internal/service/chat
mutant "accept external ids from clients" internal/service/chat/validate_content.go 's/if c\.ExternalId != "" \|\| /if /' OnlyAnImportSetsExternalIDs ./internal/service/chat
mutant "leave what is imported unread" internal/service/chat/import.go 's/if s\.deps\.MarkFollowed == nil \{/if true {/' WhatIsImportedIsRead ./internal/app/apptest
mutant "export what was recalled" internal/service/chat/export_all.go 's/e\.Content = \&chatv1\.Content\{ExternalId: e\.Content\.ExternalId\}/_ = e.Content/' WhatIsImportedIsRead ./internal/app/apptest
mutant "load a directory that was changed" internal/tool/interchangefile/reader.go 's/if is != want \{/if false {/' AConversionThatEnds ./internal/tool/importer
mutant "read files that are made to fill the disk" internal/tool/importer/source.go 's/return nil, errBomb/return s.Open(name)/' TestSlack ./internal/tool/importer
mutant "carry messages of the future" internal/tool/interchangefile/writer.go 's/ \|\| e\.TimeMs > w\.now\.UnixMilli\(\):/:/' TestSlack ./internal/tool/importer
mutant "keep no order of messages of the same time" internal/tool/interchangefile/sort.go 's/, cmp\.Compare\(a\.ordinal, b\.ordinal\)\)/)/' ManyEntriesAreSorted ./internal/tool/interchangefile
mutant "report no difference of counts" internal/tool/importer/load.go 's/n < l\.at\.Stored \|\|/false \&\&/' CountsAreCompared ./internal/tool/importer
mutant "say nothing of entries that came too late" internal/tool/importer/load.go 's/": time_order"/": no_order"/' CountsAreCompared ./internal/tool/importer
mutant "begin an interrupted load again" internal/tool/importer/load.go 's/= l\.at\.Entries\+read, end, l\.at\.Done\+read/= l.at.Entries+read, end*0, l.at.Done+read/' ALoadContinues ./internal/tool/importer
mutant "answer an import or export without a trace" internal/service/interchange/interchange.go 's/\tif s\.recorded\.has\(e, now\) \{/\tif true {/' EachCallLeavesATrace ./internal/service/interchange
mutant "remember traces without end" internal/service/interchange/recorded.go 's/if r\.at == nil \|\| len\(r\.at\) >= maxRecorded \{/if r.at == nil {/' WhatIsRememberedIsBounded ./internal/service/interchange
mutant "store models without a trace" internal/service/ranking/model.go 's/if err := s\.deps\.Audit\.Record\(ctx, tx, /if err := auditlog.Recorder(nil).Record(ctx, tx, /' StoredModelsAreInTheAuditLog ./internal/service/ranking
mutant "let two nodes import at once" internal/service/chat/import_ownership.go 's/if s\.deps\.SingleNode \|\| /if true || /' ImportIsTakenOver ./internal/service/chat
mutant "number imported entries after the newest one only" internal/service/chat/import.go 's/logKey\(c\), 0, maxConcurrentlyImported/logKey(c), 0, 1/' ImportIsTakenOver ./internal/service/chat
mutant "end imports that other nodes go on with" internal/service/chat/apply_control.go 's/s\.importing = s\.importing \&\& c\.Importing/s.importing = false/' TwoNodesImportToOneConversation ./internal/service/chat
mutant "end no import that was given up" internal/service/chat/list_imports.go 's/WHERE importing AND/WHERE NOT importing AND/' AnImportThatWasGivenUpIsEnded ./internal/app/apptest
mutant "import a post twice" internal/service/feed/import_posts.go 's/err != nil \|\| stored != 0 \{/err != nil {/' PostsAreImportedOnce ./internal/service/feed
mutant "notify users of imported likes" internal/service/engagement/marks.go 's/if c\.Quiet \{/if false {/' ImportedLikesNotifyNobody ./internal/service/engagement
mutant "like now what was liked before" internal/platform/counter/change.go 's/cmp\.Or\(some\[0\]\.last\(\)\.AtMs, now\)/now/' WhatIsImportedIsReadAndExportedAgain ./internal/app/apptest
mutant "load posts twice" internal/tool/importer/load_posts.go 's/if s\.read < \*s\.done \{/if false {/' ALoadOfPostsContinues ./internal/tool/importer
mutant "replace settings by an import" internal/service/account/export_users.go 's/err != nil \|\| proto\.Size\(has\) > 0 \{/err != nil || has == nil {/' SettingsAreImported ./internal/service/account
mutant "export no relations" internal/tool/exporter/relations.go 's/\|\| len\(page\.Relations\) == 0 \{/|| true {/' WhatIsImportedIsReadAndExportedAgain ./internal/app/apptest
mutant "import a friendship across a block" internal/service/account/import_relations.go 's/return errImportedBlock/_ = errImportedBlock/' RelationsAreImported ./internal/service/account
mutant "take relations back by an import" internal/service/account/import_relations.go 's/mine\.Following \|\| r\.Following/r.Following/' RelationsAreImported ./internal/service/account
mutant "notify users of imported relations" internal/service/account/import_relations.go 's/changeTelling\(ctx, a, b, nil,/changeTelling(ctx, a, b, s.relationChanged,/' RelationsAreImported ./internal/service/account
mutant "upload a file again for each message" internal/tool/importer/load_users.go 's/; ok \&\& !avatar \{/; ok \&\& false {/' AFileIsUploadedOnceForEachUser ./internal/tool/importer
mutant "use a file of another user" internal/tool/importer/load_users.go 's/uploadedFile\{owner, path\}/uploadedFile{0, path}/' AFileIsUploadedOnceForEachUser ./internal/tool/importer
mutant "store what an erased author wrote" internal/service/chat/import_entries.go 's/return results, s\.eraseImported\(.*/return results, nil/' AnImportStoresNothingOfAnErasedAuthor ./internal/service/chat
mutant "forget what was stored before an erasure" internal/service/chat/import_erased.go 's/if seq == 0 \&\& isImportKey/if false \&\& isImportKey/' AnImportStoresNothingOfAnErasedAuthor ./internal/service/chat
mutant "send the key of an operator as plain text" internal/tool/apiclient/apiclient.go 's/case c\.PlainHTTP:/case true:/' TheKeyIsNotSentAsPlainText ./internal/tool/apiclient
mutant "send the key of an operator to where a server redirects" internal/tool/apiclient/apiclient.go 's/return c\.config\.checkURL\(r\.URL\.String\(\)\)/return nil/' TheKeyIsNotSentAsPlainText ./internal/tool/apiclient
mutant "repeat a call that was refused" internal/tool/apiclient/error.go 's/return refused\.passes\(\)$/return refused.passes() || refused.Code == "invalid_argument"/' CallsAreRepeatedWhileTheServerIsBusy ./internal/tool/apiclient
mutant "say of a server that is not there only what the dial says" internal/tool/apiclient/call.go 's/ \|\| dial\.Op != "dial"/ || true/' NoServer ./internal/tool/apiclient
mutant "send the name of a key file as a key" internal/tool/apiclient/key.go 's/err == nil && info/err != nil \&\& info/' KeysComeFromFiles ./internal/tool/apiclient
mutant "send a key with a line feed" internal/tool/apiclient/key.go 's/strings\.TrimSpace\(string\(b\)\)/string(b)/' KeysComeFromFiles ./internal/tool/apiclient
mutant "end a conversion at a damaged attachment" internal/tool/importer/attachment.go 's/case r\.fault != nil:/case false:/' DamagedAttachmentsAreSkipped ./internal/tool/importer
mutant "skip an attachment that cannot be written" internal/tool/importer/attachment.go 's/case r\.fault != nil:/case err != nil \&\& r.fault == nil:\n\t\treturn attachmentCopy{fault: "x"}, nil\n\tcase r.fault != nil:/' DamagedAttachmentsAreSkipped ./internal/tool/importer
mutant "import what neither of two users wrote" internal/tool/interchangefile/writer.go 's/return c == nil \|\| c\.Kind != Direct \|\| /return true || /' TestMattermost ./internal/tool/importer
mutant "name one-to-one conversations ambiguously" internal/tool/interchangefile/writer.go 's/return fmt\.Sprintf\("direct:%q", slices\.Compact\(users\)\)/return "direct:" + strings.Join(slices.Compact(users), ":")/' TestMattermost ./internal/tool/importer
mutant "copy an attachment for each message" internal/tool/importer/attachment.go 's/s\.copies\[name\] = c$/_ = c/' FilesAreStoredOnce ./internal/tool/importer
mutant "let files of an export fill the disk" internal/tool/interchangefile/writer.go 's/most = min\(most, w\.mostFileBytes-w\.fileBytes\)/most = min(most, w.mostFileBytes)/' FilesAreStoredOnce ./internal/tool/importer
mutant "read many small bombs" internal/tool/importer/source.go 's/s\.opened \+= size/s.opened += 0/' ManySmallBombs ./internal/tool/importer
mutant "write again what an interrupted export had" internal/tool/interchangefile/appender.go 's/err = f\.Truncate\(size\)/err = nil/' AnAppenderContinues ./internal/tool/interchangefile

blockcache=internal/platform/blockcache edge=internal/transport/edge
mutant "poll on and on while the database cannot be read" internal/platform/clusterevent/clusterevent.go 's/^\t\tcase failed:$/\t\tcase failed \&\& false:/' TestSyncFails ./internal/platform/clusterevent
mutant "log each poll that fails" internal/platform/clusterevent/clusterevent.go 's/ \&\& \(warned\.IsZero\(\)/ \&\& (true || warned.IsZero()/' TestSyncFails ./internal/platform/clusterevent
mutant "fetch a block for each reader" $blockcache/fetch.go 's/if f = c\.fetches\[id\]; f != nil \{/if f = c.fetches[id]; f != nil \&\& false {/' TestOneRequestForManyReaders ./$blockcache
mutant "serve chunks with wrong checksums" $blockcache/disk.go 's/s\[0\] != o\.sums\[n\]/false \&\& s[0] != o.sums[n]/' TestDamagedBlocksAreNeverServed ./$blockcache
mutant "serve a block in the place of another" $blockcache/format.go 's/if string\(header\(id, s\)\) != string\(b\[:\]\) \{/if false {/' TestDamagedBlocksAreNeverServed ./$blockcache
mutant "trust a file that was written to" $blockcache/disk.go 's/if right\.modified == o\.modified \&\& time/if time/' TestWhatWasCheckedIsTrusted ./$blockcache
mutant "trust no block" $blockcache/disk.go 's/^\t\to\.right = right\.bits$/\t\to.right = 0/' TestWhatWasCheckedIsTrusted ./$blockcache
mutant "keep blocks beyond the bound" $blockcache/blockcache.go 's/for c\.bytes > c\.config\.MaxBytes \&\&/for false \&\& c.bytes > c.config.MaxBytes \&\&/' TestDiskIsBounded ./$blockcache
mutant "evict the block that was read last" $blockcache/blockcache.go 's/c\.recent\.Back\(\)\.Value/c.recent.Front().Value/' TestDiskIsBounded ./$blockcache
mutant "leave a temporary file of a killed process" $blockcache/disk.go 's/if strings\.HasPrefix\(name, temporary\) \{/if false \&\& strings.HasPrefix(name, temporary) {/' TestTheFolderMayBeDeleted ./$blockcache
mutant "fetch on when all readers have left" $blockcache/fetch.go 's/^\tif f\.waiting == 0 \{$/\tif false {/' TestFetchesEndWithTheirReaders ./$blockcache
mutant "end a fetch when the first reader leaves" $blockcache/fetch.go 's/^\tif f\.waiting == 0 \{$/\tif true {/' TestFetchesEndWithTheirReaders ./$blockcache
mutant "fail those who joined a reader without permission" $blockcache/fetch.go 's/if err != nil \&\& joined \&\& !again/if false \&\& joined \&\& !again/' TestADeniedReaderDoesNotFailOthers ./$blockcache
mutant "keep a fetched block of a removed group" $blockcache/fetch.go 's/^\tcase !current:.*$/\tcase false:/' TestRemovedGroupsAreGone ./$blockcache
mutant "let a removed group stay for those who wait" $blockcache/blockcache.go 's/^\t\tif id\.file\.group == g \{$/\t\tif false {/' TestRemovedGroupsAreGone ./$blockcache
mutant "keep part of a block" $blockcache/fetch.go 's/if int64\(len\(data\)\) != id\.length\(\) \{/if false {/' TestPut ./$blockcache
mutant "serve any number of ranges" internal/base/byterange/byterange.go 's/strings\.Contains\(r\.Header/false \&\& strings.Contains(r.Header/' 'LimitToOne|SeveralRangesAre' ./internal/base/byterange ./$blockcache
mutant "read a range beyond the end of a file" internal/base/byterange/byterange.go 's/ \|\| of <= to \{/ {/' ParseContent ./internal/base/byterange
mutant "trust any certificate of a file that has none" internal/base/certpool/certpool.go 's/if !pool\.Append/if false \&\& !pool.Append/' TestRead ./internal/base/certpool
mutant "begin an answer before its first bytes are there" $blockcache/reader.go 's/^\t\tif err := r\.Probe\(.*$/\t\tif err := error(nil); err != nil {/' TestSeveralRangesAreAnsweredWithTheFile ./$blockcache
mutant "mix a file with another size in" $blockcache/fetch.go 's/if size != f\.size \{/if false {/' TestFailuresAreNotKept ./$blockcache
mutant "hold a slot of fetches until a block on a full disk is read" $blockcache/fetch.go 's/^\t<-c\.slots .. before.*$/\tif err == nil { <-c.slots }/' TestSlowReadersOfAFullDiskStopNobody ./$blockcache
mutant "share any number of blocks from memory" $blockcache/fetch.go 's/return len\(c\.memory\) == cap\(c\.memory\)/return false/' TestSlowReadersOfAFullDiskStopNobody ./$blockcache
mutant "close files under the lock of the cache" $blockcache/fetch.go 's/^\tif block != nil \&\& !current \{$/\tc.mu.Lock()\n\tdefer c.mu.Unlock()\n\tif block != nil \&\& !current {/' TestBlocksEndWithoutTheLock ./$blockcache
mutant "keep copies of what nobody confirms" $blockcache/confirm.go 's/if now\.Sub\(s\.confirmed\) >= c\.config\.Keep \{/if now.Sub(s.confirmed) < 0 {/' TestUnconfirmedGroupsGo ./$blockcache
mutant "forget at a restart what was confirmed" $blockcache/confirm.go 's/^\tif !touch \{$/\tif true {/' TestUnconfirmedGroupsGo ./$blockcache
mutant "take old copies for confirmed at the start" $blockcache/disk.go 's/^\t\t\ts\.confirmed = b\.at .*$//' TestUnconfirmedGroupsGo ./$blockcache
mutant "keep a file on an edge that its origin does not have" $edge/grants.go 's/if a\.isMedia\(\) \&\&/if false \&\&/' TestAMissingFileHasNoCopy ./$edge
mutant "keep copies of deleted files on this node" internal/app/filecache.go 's/^\ts\.cache\.RemoveGroup.*$//' TestDeletedFilesLeaveTheCache ./internal/app
mutant "keep copies of files that another node deleted" internal/app/edges.go 's/^\t\tn\.uncache\(e\.Detail\)$//' TestDeletedFilesLeaveTheCache ./internal/app
mutant "serve by an address that has expired" $edge/grants.go 's/^\tif !now\.Before\(a\.ends\) \{$/\tif false {/' 'TestAnAddressEnds|TestAddressesAreChecked' ./$edge
mutant "take the address of one post for that of another" $edge/address.go 's/a := \&address\{scope: VideoPrefix \+ video \+ "\/" \+ token/a := \&address{scope: VideoPrefix + video/' 'TestAddressesAreChecked|TestHiddenPostsAreRefused' ./$edge
mutant "ask for a file outside the folders of a video" $edge/address.go 's/part == "" \|\| part\[0\] == .\.. \|\|/part == "" ||/' TestAddressesAreChecked ./$edge
mutant "ask the origin about each forged address each time" $edge/grants.go 's/^\t\tif now\.Before\(r\.until\) \{$/\t\tif false {/' TestAddressesAreChecked ./$edge
mutant "keep a refusal for long" $edge/grants.go 's/asked\.Add\(refusalLife\)/asked.Add(100*refusalLife)/' TestAddressesAreChecked ./$edge
mutant "let a hidden post play by its permissions" $edge/follower.go 's/groups\[g\.group\] \|\| groups\[g\.post\]/groups[g.group]/' TestHiddenPostsAreRefused ./$edge
mutant "keep the copies of a hidden post" $edge/follower.go 's/^\t\t\tgroups\[g\.group\] = true$/\t\t\t_ = groups/' TestHiddenPostsAreRefused ./$edge
mutant "let transfers of a hidden post go on" $edge/follower.go 's/^\t\ts\.revoke\(scope, errNoFile\)$/\t\ts.grants.remove(scope)/' TestTransfersInProgressEnd ./$edge
mutant "let transfers go on after missed changes" $edge/transfers.go 's/case now\.Sub\(g\.asked\) < askedLife, g\.run == s\.changes\.run \&\&/case now.Sub(g.asked) < askedLife,/' TestTransfersAreConfirmedAgain ./$edge
mutant "let transfers go on without word of the origin" $edge/transfers.go 's/g\.run > 0 \&\& s\.changes\.fresh\(now\):/g.run > 0:/' TestTransfersAreConfirmedAgain ./$edge
mutant "let transfers go on that no origin confirms" $edge/transfers.go 's/case now\.Sub\(g\.doubted\) >= lease:/case false:/' TestTransfersAreConfirmedAgain ./$edge
mutant "end all transfers of a post when a file is asked for that never was" $edge/grants.go 's/if wasKnown \|\| errs/if true || errs/' TestTransfersAreConfirmedAgain ./$edge
mutant "keep a permission that was under way during a purge" $edge/grants.go 's/if s\.changes\.since\(number, /if false \&\& s.changes.since(number, /' TestAnswersUnderWayDoNotOutliveAPurge ./$edge
mutant "trust permissions from before missed changes" $edge/grants.go 's/return g\.run == s\.changes\.run \&\& g\.run > 0/return g.run > 0/' TestWhatWasMissedIsLearned ./$edge
mutant "trust permissions without word of the origin" $edge/grants.go 's/g\.run > 0 \&\& s\.changes\.fresh\(now\)/g.run > 0/' 'TestAnEdgeWithoutWordAsks' ./$edge
mutant "trust permissions of an edge that never heard" $edge/grants.go 's/return g\.run == s\.changes\.run \&\& g\.run > 0 \&\& s\.changes\.fresh\(now\)/return g.run == s.changes.run/' TestAnEdgeThatNeverHeardAsks ./$edge
mutant "serve nothing while the origin is slow" $edge/grants.go 's/\(g\.asked\.Before\(came\) \|\| /(true || /' TestASlowAnswerCountsForWhoAsked ./$edge
mutant "keep an avatar for long" $edge/grants.go 's/g\.life > 0 \&\& asked >= g\.life/false/' TestSomeAnswersHaveTheirTime ./$edge
mutant "tell clients that are no edges of purges" $edge/purges.go 's/return ok \&\& subtle/return ok || subtle/' TestPurgesAnswersEdgesOnly ./$edge
mutant "tell edges that all is known without reading what others changed" $edge/purges.go 's/if err := p\.sync\(ctx\); err != nil \{/if err := p.sync(ctx); err != nil \&\& false {/' TestPurgesAnswersEdgesOnly ./$edge
mutant "take the time of reading for known" $edge/purges.go 's/complete\.Sub\(began\)/max(complete.Sub(began), time.Since(began))/' TestPurgesWaits ./$edge
mutant "keep asking a server that fails" internal/base/egress/servers.go 's/uint32\(len\(s\.clients\)\)\+n, q/uint32(len(s.clients))+0*n, q/' 'ServersReplaceEachOther|OriginsReplace' ./internal/base/egress ./$edge
mutant "serve pictures of hidden posts by their URLs" internal/service/media/download.go 's/\&\& !shown \{$/\&\& !shown \&\& false \{/' FilesOfPostsEndWithThem ./internal/service/media
mutant "serve pictures of hidden posts on edges" $edge/address.go 's/a\.post = PostTag\(number\)/_ = PostTag(number)/' TestPurgesOfPicturesOfPosts ./$edge
mutant "serve pictures of hidden comments on edges" internal/service/media/serve.go 's/ \|\| verb == verbComment \{/ {/' FilesOfPostsEndWithThem ./internal/service/media
mutant "serve pictures of comments on hidden posts" internal/app/edges.go 's/return n\.feed\.IsShown\(ctx, post\)/return true, nil/' TestPicturesOfHiddenPosts ./internal/app
mutant "forbid pages of other sites the pictures of an edge" $edge/grants.go 's/if f\.header\.Get\(resourcePolicy\) != "" \{/if false {/' '^TestHeaders$' ./$edge
mutant "offer edges that are silent" $edge/registry.go 's/now\.Sub\(e\.at\) >= reportLife/now.Sub(e.at) >= 1000*reportLife/' TestRegistry ./$edge
mutant "offer edges that stop" $edge/report.go 's/r\.Leaving = r\.Leaving \|\| leaving/_ = leaving/' TestClientsAreSentToEdges ./internal/app
mutant "list any number of edges" $edge/registry.go 's/len\(g\.edges\) >= maxEdges/false/' TestRegistry ./$edge
mutant "put any text of an edge into the policy of pages" $edge/registry.go 's/r\.URL != "" \&\& !isAddress\(r\.URL\)/false/' TestRegistry ./$edge
mutant "forbid pages to read from edges" internal/app/edges.go 's/, n\.discovery\.EdgeAddresses\(\)\.\.\.\)/)/' TestClientsAreSentToEdges ./internal/app
mutant "name an edge twice" internal/service/discovery/discovery.go 's/if !seen\[e\.URL\] \{/if true {/' TestEdgesAreRanked ./internal/service/discovery
mutant_ts "ask edges that hang in a circle" src/edges.ts 's/!tried\.has\(e\) \&\& //' test/unit/edges.test.ts
mutant_ts "ask an edge that is lost for each picture" src/edges.ts 's/let probe = this\.probes\.get\(origin\);/let probe: Promise<boolean> | undefined;/' test/unit/edges.test.ts
mutant_ts "wait for ever for an edge that falls silent" src/readFile.ts 's/^      heard\(\);$/      clearTimeout(timer);/' test/unit/edges.test.ts
mutant_ts "read a file that was refused from other edges" src/readFile.ts 's/if \(!isOffline\(err\)\) throw err;/if (signal?.aborted) throw err;/' test/unit/edges.test.ts
mutant_ts "let nothing stand in for an edge whose address the server gives" src/edges.ts 's/ \?\? \(this\.list\.includes\(origin\) \? origin : undefined\)//' test/unit/edges.test.ts
mutant "let edges of one name replace each other" $edge/registry.go 's/edgeKey\{r\.Name, r\.URL\}/edgeKey{r.Name, ""}/' TestRegistry ./$edge
mutant "send any number of figures of edges in one message" internal/app/edges.go 's/size > maxEdgeReports/false/' TestReportsOfEdgesFit ./internal/app
mutant "ask for the addresses of edges for each file of the web app" internal/app/webapp.go 's/^\t\tif name == "index\.html" \{$/\t\tif true {/' TestOnlyPagesHaveThePolicy ./internal/app
mutant "read files past edges in the Go SDK" sdk/go/edges.go 's/range e\.forFile\(ctx, u, use\)/range e.forFile(ctx, u, use)[:0]/' TestTheGoClientReadsFromEdges ./internal/app
mutant "fail with an edge that is gone in the Go SDK" sdk/go/edges.go 's/if ctx\.Err\(\) != nil \{/if err != nil {/' TestTheGoClientReadsFromEdges ./internal/app
mutant "mix two versions of a file on an edge" $edge/origin.go 's/ \|\| answer\.Header\.Get\("ETag"\) != f\.header\.Get\("ETag"\):/:/' TestANewVersionReplacesAFile ./$edge
mutant "let a CDN keep files that need a signature" $edge/serve.go 's/age > 0 \{/age > -1 {/' TestHeaders ./$edge
mutant "keep a playlist for a minute" $edge/grants.go 's/Add\(textLife\)/Add(60 * textLife)/' TestTextsAreKeptForASecond ./$edge
mutant "tell edges of files that are read from copies after they are deleted" internal/service/media/abandoned_uploads.go 's/^\tif s\.deps\.Dropped != nil \{$/\tif false {/' TestFilesComeFromCopies ./internal/service/media
mutant "end a wait for events of others before they are read" internal/platform/clusterevent/clusterevent.go 's/later := s\.begun \+ 1/later := s.begun/' TestSync ./internal/platform/clusterevent
mutant "tell edges of a hidden post on its own node only" internal/app/edges.go 's/return n\.events\.Add\(ctx, tx, clusterevent\.Event\{Kind: purgeEvent, Detail: tag\}\)/return n.events.Add(ctx, tx, clusterevent.Event{Kind: "none", Detail: tag})/' TestEdgesHearOfOtherNodes ./internal/app
mutant "keep idle readers of SQLite" internal/engine/sqldb/sqlite.go 's/SetConnMaxIdleTime\(readerIdle\)/SetConnMaxIdleTime(0 * readerIdle)/' TestIdleReadersAreClosed ./internal/engine/sqldb
mutant "give extensions of the web app one address whatever they contain" internal/app/web_extensions.go 's/^(\t\tfmt\.Fprintf\(hash, "%s %d).*/\1", name, 0)/' TestThePageNamesTheOperatorsExtensions ./internal/app
mutant "serve the page's compressed form, which names no extensions" internal/app/web_extensions.go 's/^\treturn newWebFile\(page\.contentType, open, open\), nil$/\tchanged := newWebFile(page.contentType, open, open)\n\tchanged.encoded = page.encoded\n\treturn changed, nil/' TestThePageNamesTheOperatorsExtensions ./internal/app
mutant "serve pages as extensions of the web app" internal/app/web_extensions.go 's/ \|\| strings\.HasSuffix\(name, "\.html"\)//' TestBadExtensionsAreRefusedAtTheStart ./internal/app
mutant "keep extensions of the web app of any size" internal/app/web_extensions.go 's/ \|\| total > maxWebExtensionBytes//' TestBadExtensionsAreRefusedAtTheStart ./internal/app
mutant_ts "render data of a custom kind that are not valid" src/kinds.ts 's/return value === undefined \? undefined : (\(element, message\) => kind\.render!\(element, value)(, message\))/return \1 as never\2/' test/unit/kinds.test.ts
mutant "drop the files of scheduled messages at their time" internal/service/media/scheduled.go 's/30 \* 24 \* time\.Hour/0 * time.Hour/' TestFilesOfScheduledMessagesExpire ./internal/service/media
mutant "keep the files of scheduled messages for ever" internal/service/media/abandoned_uploads.go 's/, scheduled: scheduledRetention//' TestFilesOfScheduledMessagesExpire ./internal/service/media
mutant "keep an upload for the last time for which it was scheduled, not the latest" internal/service/media/uses.go 's/CASE WHEN upload_uses\.used_ms > \$2 THEN upload_uses\.used_ms ELSE \$2 END/$2/' TestFilesOfScheduledMessagesExpire ./internal/service/media
mutant "keep the files of a scheduled message until the time that it had first" internal/service/schedule/change.go 's/^(\t\terr = s\.keepUploads\(ctx, d, )r\.sendMs\)/\1s.nowMs()+1)/' TestFilesOfScheduledMessagesAreKept ./internal/service/schedule
mutant "schedule a command of the terminal as a text" internal/tool/terminal/scheduled.go 's/^\tcase compose != nil:/\tcase false:/' TestContentsThatAreSentLater ./internal/tool/terminal
mutant "move a folder beyond the first" internal/tool/terminal/folders.go 's/^\tif to < 0 \|\| to >= len\(ids\) \{/\tif to = (to + len(ids)) % len(ids); false {/' TestFoldersMoveByOnePlace ./internal/tool/terminal
mutant "measure recordings of 8 bits as those of 16" internal/tool/terminal/voice.go 's/ \|\| binary\.LittleEndian\.Uint16\(chunk\[14:\]\) != 16//' TestRecordingsAreMeasured ./internal/tool/terminal
mutant_ts "show an answer to a message on its way before it is known which one that is" src/events.ts 's/ \|\| item\.content\.replyTo\?\.clientSeq//' test/unit/client.test.ts
mutant "decompress a file of the web app for each request" internal/app/webapp.go '/once := sync\.OnceValues/,/^\t\}\)$/{s/sync\.OnceValues\(func\(\)/func()/; s/^\t\}\)$/\t}/}' TestPlainFormsAreDecompressedOnce ./internal/app
mutant "let chaos see recalled texts" internal/tool/chaos/check_people.go 's/changed \&\& o\.end < began \{/changed \&\& o.end < 0 \&\& began > 0 {/' EachViolation internal/tool/chaos
mutant "let chaos miss posts in pages" internal/tool/chaos/check_feed.go 's/if id >= page\.N \&\& !seen/if id >= 1<<62 \&\& !seen/' EachViolation internal/tool/chaos
mutant "let chaos miss lost likes" internal/tool/chaos/check_feed.go 's/has != likes \{/has \&\& !likes {/' EachViolation internal/tool/chaos
mutant "fail searches whose index is replaced" internal/service/search/find.go 's/!errors\.Is\(err, searchindex\.ErrClosed\) \|\| //; s/q\.service\.serving\(\) == g \{/q.service.serving() == g || err != nil {/' TookOver internal/service/search
mutant "ask a server again and again to cancel a backup" internal/tool/remotebackup/remotebackup.go 's/CallOnce\(context\.WithoutCancel/Call(context.WithoutCancel/' InterruptedBackup internal/tool/remotebackup
mutant "drop headers of calls in the Go SDK" sdk/go/internal/unary/unary.go 's/maps\.Copy\(r\.Header\(\), header\)/_ = header/' TestProtocols internal/transport/rpc
index=internal/engine/searchindex/indexprocess
mutant "wait for a process of a search index that hangs" $index/process.go 's/p\.kill\(errSilent\)/_ = errSilent/' 'HungProcess|HungStart' ./$index
mutant "kill a process of a search index whose calls take long" $index/serve.go 's/s\.beating\.Go\(func\(\) \{ s\.beat\(beats\) \}\)/_ = beats/' TestBeats ./$index
mutant "end the process of a search index during a call" $index/supervise.go 's/i\.callers > 0/false/' NotIdleDuringACall ./$index
mutant "keep an idle process of a search index" $index/supervise.go 's/if !endIdle \{/if i != nil {/' IdleProcessEnds ./$index
mutant "end the process of a search index that takes long to open" $index/supervise.go 's/time\.Since\(began\) <= i\.config\.SlowStart/true/' SlowIndexKeeps ./$index
mutant "call a search index that sleeps in vain" $index/call.go 's/case i\.suspended:/case false:/' 'IdleProcessEnds|EmptyIndexHas' ./$index
mutant "start a process for a search index without documents" $index/empty.go 's/len\(b\.Put\) == 0/false/' EmptyIndexHasNoProcess ./$index
mutant "start a process for the index of a new server" internal/app/indexprocess.go 's/errors\.Is\(err, os\.ErrNotExist\)/false/' TheIndexHasAProcess ./internal/app
mutant "take any search index for one without documents" internal/app/indexprocess.go 's/errors\.Is\(err, os\.ErrNotExist\)/true/' 'TheIndexHasAProcess|SearchOverHTTP' ./internal/app
mutant "lose the checkpoints of a search index with the first document" $index/empty.go 's/Checkpoints: \*points\}/Term: 0}/' EmptyIndexHasNoProcess ./$index
mutant "keep any number of checkpoints in memory" $index/empty.go 's/ \&\& len\(\*points\)\+len\(b\.Checkpoints\) <= maxDeferred//' ManyCheckpoints ./$index
mutant "leave a search index without its process" $index/supervise.go 's/_ = retry\.Wait\(ctx\)/<-ctx.Done()/' TestKilled ./$index
mutant "forget that a search index is damaged" $index/reply.go 's/searchindex\.ErrCorrupt, context\.Canceled/context.Canceled/' TestDamage ./$index
mutant "go on with a search that nobody waits for" $index/call.go 's/p\.cancel\(n\)/_ = n/' TestCancellation ./$index
mutant "call a search index more often at once than it accepts" $index/indexprocess.go 's/struct\{\}, maxCalls\)/struct{}, 10*maxCalls)/' TestCancellation ./$index
mutant "let a search fail that a closed index cuts off" $index/call.go 's/(closed := i\.check\(ctx\); errors\.Is\(closed, errClosed\))/\1 \&\& r != nil/' TestCloseDuringACall ./$index
mutant "read frames of any length from the server" $index/frame.go 's/^\tif n > maxFrame \{/\tif false {/' BadFrames ./$index
mutant "send a batch as one frame" $index/part.go 's/size > maxPart/false/' 'LargeBatches|TestParts' ./$index
mutant "take the end of the server for a close" $index/serve.go 's/return ErrCallerEnded/return nil/' EndsWithItsInput ./$index
mutant "leave the search index the priority of the server" $index/priority_linux.go 's/highest-now < niceness/highest-now < -niceness/' Priorities ./$index
mutant "end the server before the search index if memory runs out" $index/priority_linux.go 's/now >= score/now > -score/' Priorities ./$index
mutant "give the process of the search index the environment of the server" internal/app/indexprocess.go 's/kept = append\(kept, v\)/_ = v/; s/return kept/return append(kept, environ...)/' GetsNoSecrets ./internal/app

mutant "tell clients of no map service" internal/transport/gateway/greet.go 's/, MapUrl: s\.deps\.MapURL//' TestMapLinks ./internal/app
mutant "take any address for that of a map service" internal/service/chat/map_url.go 's/u\.Scheme != "https" \|\| //' MapURLIsAnHTTPSAddress ./internal/service/chat
mutant "link to a map with exponents" sdk/go/map_url.go "s/'f', 7, 64/'g', 7, 64/" TestMapLinks ./internal/app
mutant_ts "link to a map that is no https address" src/mapUrl.ts 's/if \(!pattern\.startsWith\("https:\/\/"\)\) return undefined;//' test/unit/mapUrl.test.ts
mutant "let a user react without a bound" internal/service/chat/react.go 's/return others >= maxUserEmoji, err/return false, err/' ReactionsOfOneUserAreBounded ./internal/service/chat
mutant "bound the reactions of a user before they are stored only" internal/service/chat/react.go 's/^\tif isNew \{/\tif false {/' ReactionsOfOneUserAreBounded ./internal/service/chat
mutant "refuse to take back a reaction that is not there" internal/service/chat/react.go 's/ \|\| full \&\& r\.Remove//' ReactionsOfOneUserAreBounded ./internal/service/chat
mutant "pass over reactions that were taken back" internal/service/chat/store.go 's/\(conversation, seq, emoji, active, member\)/(conversation, seq, emoji)/' ReactionsAreReadByAnIndex ./internal/service/chat
mutant "take any file into an album" internal/tool/terminal/album.go 's/u\.Width > 0 \&\& //' ItemsOfAlbums ./internal/tool/terminal
mutant "draw one sample of each bar of a waveform" internal/tool/terminal/message.go 's/slices\.Max\(samples\[i\*len\(samples\)\/bars : .*$/samples[i*len(samples)\/bars]/' WaveformsAsText ./internal/tool/terminal

# Tests of bridges with whole servers have no binary here; these need none.
mutant "send lines to IRC as fast as they come" bridges/irc/client.go 's/p\.next = p\.next\.Add\(p\.interval\)/_ = now/' '^TestPace$' bridges/irc
mutant "send lines that IRC cuts off" bridges/irc/text.go 's/cut\(line, size-len\(prefix\)\)/cut(line, size)/' '^TestLinesOf$' bridges/irc
mutant "divide characters into lines of IRC" bridges/irc/text.go 's/!utf8\.RuneStart\(text\[most\]\)/!utf8.RuneStart(text[most]) \&\& text == ""/' '^TestLinesOf$' bridges/irc
mutant "send commands of a text to IRC" bridges/irc/text.go 's/case unicode\.IsControl\(r\) \|\| /case /' '^TestLinesOf$' bridges/irc
mutant "let a name in IRC end where it does not" bridges/irc/text.go "s/r == '<' \|\| r == '>'/r < 0/" '^TestLinesOf$' bridges/irc
mutant "enter several channels of IRC by one link" bridges/irc/channel.go "s/ \|\| r == ','//" '^TestChannels$' bridges/irc
mutant "send a password to IRC in the clear" bridges/irc/main.go 's/ \&\& !c\.tls \&\& !isLoopback\(host\)/ \&\& c.tls \&\& isLoopback(host)/' '^TestSettings$' bridges/irc
mutant "take people of IRC for others after they changed their nick" bridges/irc/channel.go 's/r\.Address = "account " \+ x\.addressOf\(account\)/_ = account/' '^TestServersWithAccounts$' bridges/irc
mutant "miss refusals of IRC" bridges/irc/client.go 's/q\.refusal = bridge\.NewRefusal/_ = bridge.NewRefusal/' '^TestServersWithAccounts$' bridges/irc
mutant "send a message to IRC again whose report did not arrive" bridges/irc/deliver.go 's/if x\.last\.is\(id\) \{/if x.last.is("") {/' '^TestDeliveredOnce$' bridges/irc
mutant "leave out the rows of a package's first steps" internal/engine/sqldb/squash_migrations.go 's/err != nil \|\| filled \{/err != nil {/' RowsOfStepsAreKept ./internal/engine/sqldb
mutant "answer calls of posts by nodes for conversations" internal/app/serve.go 's/return config\.RoleFeed/return config.RoleChat/' RolesServePaths ./internal/app
mutant "answer no part of the calls by nodes for all" internal/app/config/engines.go 's/isPartOfAPI\(role\) \&\& slices\.Contains\(c\.Roles, RoleAPI\)$/false/' RolesServePaths ./internal/app
mutant "accept messages of bridges only from members" internal/tool/verify/conversation.go 's/c\.Bridge != "" \|\| //' BridgedMessagesPass ./internal/tool/verify
mutant "lose the retention of imported one-to-one conversations" internal/service/chat/import_control.go 's/p\.state\.kind == direct \&\& c\.Action != chatv1\.Control_ACTION_RETENTION \|\|/p.state.kind == direct ||/' WhatIsImportedIsReadAndExportedAgain ./internal/app/apptest
mutant "repeat a download because of a full disk of one's own" internal/tool/apiclient/error.go 's/return errors\.As\(err, \&i\)/return errors.As(err, \&i) || err != nil/' TestOwnFilesEndATransfer ./internal/tool/apiclient
mutant "give up a download that broke off" internal/tool/apiclient/transfer.go 's/return \&interrupted\{counted\.failed\}/return counted.failed/; s/return \&interrupted\{io\.ErrUnexpectedEOF\}/return io.ErrUnexpectedEOF/' TestOwnFilesEndATransfer ./internal/tool/apiclient
mutant "wait for bodies that nobody reads" internal/app/http2.go 's/SetReadDeadline\(time\.Now\(\)\.Add\(limit\)\)/SetReadDeadline(time.Time{})/' BodiesThatNeverCome ./internal/app
mutant "let a user have any number of connections" internal/base/inputlimit/users.go 's/u\.counts\[user\] >= u\.perUser/false/' ConnectionsOfAUserAreBounded ./internal/transport/rpc
mutant "count connections of users after they are closed" internal/base/inputlimit/users.go 's/s\.users\.add\(s\.user, -1\)/_ = s.users/' ConnectionsOfAUserAreBounded ./internal/transport/rpc
mutant "count the connections of proxies for their users" internal/base/inputlimit/users.go 's/ \|\| !s\.from\.IsValid\(\)//' ConnectionsOfAUserAreBounded ./internal/transport/rpc
mutant "decode any number of scans for a preview" internal/service/linkpreview/picture.go 's/> maxScans/> maxScans*maxScans/' PreviewsWithoutPicture ./internal/service/linkpreview
mutant "show pictures with any number of scans" internal/service/media/complete_upload.go 's/ \&\& kept\.scans <= maxScans//' PixelBombs ./internal/service/media
mutant "take files beside an export for its attachments" internal/tool/importer/mattermost.go 's/name != b\.export \&\&/false \&\&/' MattermostReadsNoFiles ./internal/tool/importer
mutant "start profiles for pages whose name leads to the server" internal/app/serve.go 's/err != nil \&\& host != name \&\&/err != nil \&\& false \&\&/' ProfilesAreNotForOtherPages ./internal/app
mutant "start profiles for pages of other sites" internal/app/serve.go 's/site != "" \&\& site != "same-origin"/false \&\& site != "same-origin"/' ProfilesAreNotForOtherPages ./internal/app

# Clients: what the terminal and the Go SDK do with drafts, scheduled messages, joins, links and organizations.
mutant "lose the draft with Ctrl-C" internal/tool/terminal/keyboard.go 's/len\(k\.text\) != before \&\& r != 3 \{/len(k.text) != before {/' TestWhatIsTypedIsTheDraft ./internal/tool/terminal
mutant "take a command for a draft" internal/tool/terminal/drafts.go 's/^\treturn row, !strings\.HasPrefix\(row, "\/"\)$/\treturn row, true/' TestWhatIsTypedIsTheDraft ./internal/tool/terminal
mutant "bring back the draft of a message that was sent" internal/tool/terminal/drafts.go 's/^\tdelete\(s\.typedDrafts, conversation\)$/\t_ = conversation/' TestWhatIsTypedIsTheDraft ./internal/tool/terminal
mutant "put a draft that begins with a slash into the row as a command" internal/tool/terminal/drafts.go 's/row = "\/" \+ text/row = text/' TestDraftsAreOfferedInTheRow ./internal/tool/terminal
mutant "take an answer for a draft" internal/tool/terminal/keyboard.go 's/^\tif !k\.asking \{/\tif !k.hidden {/' TestAnswersAreNoDrafts ./internal/tool/terminal
mutant "replace what is in the row by a draft" internal/tool/terminal/keyboard.go 's/if k\.hidden \|\| len\(k\.text\) > 0 \{/if k.hidden {/' TestDraftsAreOfferedInTheRow ./internal/tool/terminal
mutant "forget what is typed as the terminal ends" internal/tool/terminal/drafts.go 's/^\tdefer s\.keepTyped\(\)$/\t_ = ctx/' TestDraftsAreKeptAfterAMoment ./internal/tool/terminal
mutant "show the server's draft in place of one that waits" sdk/go/drafts.go 's/; waits \{$/; false \&\& waits {/' TestWhatIsTypedIsTheDraft ./internal/tool/terminal
mutant "make a call in the Go SDK only once" sdk/go/resend.go 's/mostTries  = 4/mostTries  = 1/' TestLostAnswersScheduleNothingTwice ./internal/tool/terminal
mutant "join whatever the answer is" internal/tool/terminal/join.go 's/err != nil \|\| !isSure \{/err != nil || isSure \&\& false {/' TestJoiningIsConfirmed ./internal/tool/terminal
mutant "take an id for a code" sdk/go/channel.go 's/Token != ""/Token != "" || address != ""/' '^TestJoinPreviews$' ./internal/tool/terminal
mutant "ask again for previews that are off" internal/tool/terminal/link_preview.go 's/ \&\& !s\.previewsOff$//' TestTextsHavePreviews ./internal/tool/terminal
mutant "take the end of a sentence into a link" internal/tool/terminal/link_preview.go 's/strings\.TrimRight\(found, .*$/found/' TestFirstLinks ./internal/tool/terminal
mutant "let a page break out of its preview" internal/tool/terminal/link_preview.go 's/excerpt\.Marked\(oneLine\(plain\(p\.Description\)\), maxAbout\)/excerpt.Marked(plain(p.Description), maxAbout)/' TestLinkPreviewsInTheTerminal ./internal/tool/terminal
mutant "clear what is not given of a member" internal/tool/terminal/organize.go 's/range known\.Members \{/range known.Members[:0] {/' TestMembersAreChangedInPart ./internal/tool/terminal
mutant "end the management of a department with a change" internal/tool/terminal/organize.go 's/, Manager: manages\[d\.Id\]\}/}/' TestMembersAreChangedInPart ./internal/tool/terminal
mutant "cancel the scheduled message that has a number now" internal/tool/terminal/scheduled.go 's/if !isListed \{/if !isListed || list != nil {/' NumbersStayThose ./internal/app

# Decisions of members, and the simulator.
mutant "count heartbeats of a node that holds nothing" internal/platform/cluster/decisions.go 's/^\tif m\.lapsed\(\) \{$/\tif false \&\& m.lapsed() {/' '^TestANodeThatIsAnsweredTooLateOwnsNoParts$' internal/platform/cluster
mutant "prolong grants by a heartbeat that has lapsed" internal/platform/cluster/decisions.go 's/d\.resumes = d\.lapsed; !d\.lapsed \{/d.resumes = d.lapsed; true {/' '^TestTheHeartbeatAfterALapsedOneCounts$' internal/platform/cluster
mutant "never count heartbeats again that have lapsed" internal/platform/cluster/decisions.go 's/if d\.resumes = d\.lapsed; !d/if d.resumes = false; !d/' '^TestTheHeartbeatAfterALapsedOneCounts$' internal/platform/cluster
mutant "give nodes more than their share" internal/platform/cluster/assignment.go 's/load\[j\] >= maxLoad/load[j] > maxLoad/' '^TestAssignOwnersByDefinition$' internal/platform/cluster
mutant "simulate the same whatever the seed" internal/tool/simulator/simulator.go 's/NewPCG\(config\.Seed, /NewPCG(1, /' '^TestASeedGivesTheSameRun$' internal/tool/simulator
mutant "find no second grant of a term" internal/tool/simulator/parts.go 's/^\tif term == p\.term \{$/\tif false {/' '^TestTheChecksFindBrokenDecisions$' internal/tool/simulator
mutant "find no late writer" internal/tool/simulator/parts.go 's/"one node acts on a part", /"", /' '^TestTheChecksFindBrokenDecisions$' internal/tool/simulator
mutant "find no node that admits too much" internal/tool/simulator/gateway.go 's/n\.credit < -1 \{/n.credit < -1e12 {/' '^TestTheChecksFindBrokenDecisions$' internal/tool/simulator
mutant "find no parts that move in vain" internal/tool/simulator/parts.go 's/moved > most \{/moved > 1000*most+1000 {/' '^TestTheChecksFindBrokenDecisions$' internal/tool/simulator
mutant "encode renditions of a chunk from different frames" internal/platform/transcode/encode.go 's/\[frames%d\]scale=/[frames%d]trim=start_frame=1,scale=/' '^TestTogether$' internal/platform/transcode
mutant "put one watermark over another rendition's frames" internal/platform/transcode/encode.go 's/r\.Watermark\.filter\(picture, i\)/renditions[0].Watermark.filter(picture, i)/' '^TestTogether$' internal/platform/transcode
mutant "encode each rendition of a chunk apart" internal/service/video/encoder_runs.go 's/if chunk < shared \{/if shared < 0 {/' '^TestShared$' internal/service/video
mutant "let the smallest rendition wait for the others" internal/service/video/inspect.go 's/case i == 0:/case i < 0:/' '^TestShared$' internal/service/video
mutant "share runs where workers are idle" internal/service/video/encoder_runs.go 's/<= limit \{/<= limit+1e18 {/' '^TestRuns$' internal/service/video
mutant "try what failed together again" internal/service/video/process.go 's/if failures > 0 \{/if failures > 100 {/' '^TestSharedFails$' internal/service/video
mutant "retry renditions of a run apart" internal/service/video/encoder_runs.go 's/i > 0 \&\& t\.job == tasks\[i-1\]\.job/i > 0 \&\& t.job == -1/' '^TestSharedRetry$' internal/service/video
mutant "count the time of a run for each of its renditions" internal/service/video/finish.go 's/float64\(now-t\.begunMs\)\*t\.part/float64(now-t.begunMs)/' '^TestSpent$' internal/service/video
mutant "make the storyboard of the file" internal/service/video/inspect.go 's/t\.chunk = ofRendition/t.chunk = 0/' '^TestShared$' internal/service/video
mutant "leave a task waiting whose inputs are complete" internal/service/video/sweep.go 's/s\.startOverdue\(ctx\), //' '^TestOverdue$' internal/service/video
mutant "let backups be in the data directory that they are of" internal/platform/backup/backup.go 's/case c\.Directory != "":/case false:/' BackupsInTheDataDirectoryAreRefused ./internal/platform/backup
mutant "warn before the first backup" internal/platform/backup/directory.go 's/case !slices\.ContainsFunc\(names, isForeign\):/case names == nil:/' TheLogKnowsTheFirstBackup ./internal/platform/backup
mutant "keep silent about backups that went away" internal/platform/backup/service.go 's/\&absent\) \&\& !s\.knowsBackup\(\) \{/\&absent) {/' TheLogKnowsTheFirstBackup ./internal/platform/backup
mutant "name two commands that make a key" internal/tool/apiclient/error.go 's/has \&\& end > 0/false \&\& has \&\& end > 0/' ARefusalNamesOneCommand ./internal/tool/apiclient
mutant "ask a server for a message that is none" internal/tool/where/where.go 's/ParseReadable\(strings\.ToUpper\(words\[0\]\)\); err != nil/ParseReadable(strings.ToUpper(words[0])); err != nil \&\& false/' NamesOfMessages ./internal/tool/where
mutant "give a load up when a registration is refused for now" internal/tool/bench/users.go 's/return detailOf\(err\) != nil/return false/' RegistrationsAreRepeated ./internal/tool/bench
mutant "register a user for a load whom somebody else has" internal/tool/bench/users.go 's/if !again \|\| connect/if connect/' RegistrationsAreRepeated ./internal/tool/bench
mutant "list an operator's key as that of a server" internal/service/account/api_key.go 's/role != id\.NoOperator \{/role != role {/' ListsOfKeys ./internal/service/account
mutant "take our own messages in XMPP for those of others when a room replaces ids" bridges/xmpp/message.go 's/\[\]string\{e\.attr\("id"\), originOf\(e\)\}/[]string{e.attr("id")}/' '^TestReplacedIDs$' bridges/xmpp
mutant "send to a room of XMPP before all of its archive is searched" bridges/xmpp/archive.go 's/^\treturn errSearching$/\treturn nil/' '^TestLongArchives$' bridges/xmpp
mutant "search the archive of a room of XMPP from its beginning again" bridges/xmpp/archive.go 's/, after: r\.searchedTo\}/}/' '^TestLongArchives$' bridges/xmpp
mutant "pass over a link whose room another group has" bridges/bridge/link.go 's/t\.displaced = append\(t\.displaced, l\)/_ = l/' '^TestSpellingsOfARoom$' bridges/bridge
mutant "give a room to a link that was refused" bridges/bridge/link.go 's/\{active, pending\}/{active}/' '^TestSpellingsOfARoom$' bridges/bridge
mutant "deliver to a room that another group has" bridges/bridge/link.go 's/delete\(t\.roomOf, other\.Conversation\)/_ = other/' '^TestSpellingsOfARoom$' bridges/bridge
mutant "let slow pages of one user stop all previews" internal/service/linkpreview/linkpreview.go 's/First: firstFetches/First: maxFetches/; s/Most: userFetches/Most: maxFetches/' SlowPagesOfOneUser ./internal/service/linkpreview
mutant "let a repeated link be younger than a stranger's" internal/service/bridge/link.go 's/was\.State != refused/false/' RepeatedLinksKeepTheirAge ./internal/service/bridge
mutant "keep the age of a link that was refused" internal/service/bridge/link.go 's/was\.State != refused/true/' RepeatedLinksKeepTheirAge ./internal/service/bridge
mutant "link a room again by a space behind its name" internal/service/bridge/link.go 's/strings\.TrimSpace\(r\.Address\)/strings.Clone(r.Address)/' RepeatedLinksKeepTheirAge ./internal/service/bridge
mutant "take a room from an active link" bridges/bridge/link.go 's/\{active, pending\}/{pending}/' '^TestSpellingsOfARoom$' bridges/bridge
mutant "keep the room of a dissolved group from others" internal/service/bridge/claim.go 's/\|\| len\(gone\) > 0/|| len(gone) > 9/' RoomsAreFree ./internal/service/bridge
mutant "keep a room for a group without the bot" internal/service/bridge/claim.go 's/if errs\.Is\(err, errs\.NotFound\) \{/if errs.Is(err, errs.NotFound) \&\& l == nil {/' RoomsAreFree ./internal/service/bridge
mutant "keep the links of dissolved groups" internal/service/bridge/permission.go 's/:= s\.deleteDissolved\(ctx\)/:= error(nil)/' RoomsAreFree ./internal/service/bridge
mutant "keep a link whose bot is banned" internal/service/bridge/link.go 's/errors\.Join\(err, s\.undoLink\(ctx, l, was\)\)/errors.Join(err, map[bool]error{}[was == nil])/' LinksWithoutTheirBot ./internal/service/bridge
mutant "lose what a link was when its bot is banned" internal/service/bridge/link.go 's/if was == nil \{/if true {/' LinksWithoutTheirBot ./internal/service/bridge
mutant "keep a room that was refused from others" internal/service/bridge/claim.go 's/l\.State == refused \|\|/false ||/' RefusedLinksKeepNoRoom ./internal/service/bridge
mutant "keep a room for ever that nobody has answered for" internal/service/bridge/claim.go 's/l\.State == pending \&\& l\.CreatedMs/false \&\& l.CreatedMs/' RefusedLinksKeepNoRoom ./internal/service/bridge
mutant "let a link that works end with its age" internal/service/bridge/claim.go 's/l\.State == pending \&\& l\.CreatedMs/l.CreatedMs/' RefusedLinksKeepNoRoom ./internal/service/bridge
mutant "try a message of another system for ever that is refused for good" bridges/bridge/store.go 's/\&\& rialto\.Reason\(err\) != "too_many_bridged_users"//' '^TestRefusedMessagesHoldUpNothing$' bridges/bridge
mutant "hold up all rooms with one message" bridges/bridge/spool.go 's/!now\.Before\(s\.failed\[file\]\.until\)/!now.IsZero()/' '^TestOthersPassAMessage$' bridges/bridge
mutant "hold up all rooms with a link that is not answered" bridges/bridge/store.go 's/errors\.Is\(err, errLinkPending\) \|\| //' '^TestOthersPassAMessage$' bridges/bridge
mutant "let others pass a message while Rialto asks for patience" bridges/bridge/store.go 's/ \&\& connect\.CodeOf\(err\) != connect\.CodeUnavailable//' '^TestOutagesKeepTheOrder$' bridges/bridge
mutant "believe a message of XMPP about its author" bridges/xmpp/message.go 's/if archived \&\& r\.showsAddresses/if r.showsAddresses/' '^TestForgedAuthors$' bridges/xmpp
mutant "believe the archive of a room of XMPP that hides addresses" bridges/xmpp/message.go 's/if archived \&\& r\.showsAddresses/if archived/' '^TestForgedAuthors$' bridges/xmpp
mutant "believe one of two authors of a message of XMPP" bridges/xmpp/message.go 's/len\(items\) != 1/len(items) == 0/' '^TestForgedAuthors$' bridges/xmpp
mutant "read what is nested too deep in a stanza of XMPP" bridges/xmpp/stream.go 's/skipped > 0 \|\| len\(open\) >= maxDepth/false/' '^TestDeepStanzas$' bridges/xmpp
mutant "refuse a message of another system for its author's name" internal/service/bridge/send.go 's/wanted := message\.CleanName\(p\.Name, maxName\)/wanted := p.Name/' NamesThatUsersMayNotHave ./internal/service/bridge
mutant "refuse a message of another system for a word in its author's name" internal/service/bridge/send.go 's/if !refusesName\(err\) \{/if true {/' NamesThatUsersMayNotHave ./internal/service/bridge
mutant "refuse a message of another system for a word in its author's new name" internal/service/bridge/send.go 's/err != nil \&\& !refusesName\(err\)/err != nil/' NamesThatUsersMayNotHave ./internal/service/bridge
mutant "keep all marks of a cleaned name" internal/base/message/invisible.go 's/marks\+\+; marks <= maxMarks/marks++; true/' '^TestCleanName$' ./internal/base/message
mutant "keep what is invisible in a cleaned name" internal/base/message/invisible.go 's/n = invisibleNeeded\(text, i\); n == 0/n = 1; false/' '^TestCleanName$' ./internal/base/message
mutant "keep the direction of the text in a line for people" bridges/bridge/bridge.go 's/case r >= .\\u202a. \&\& /case false \&\& /' '^TestLines$' bridges/bridge
mutant "keep stacked marks in a line for people" bridges/bridge/bridge.go 's/marks\+\+; marks > maxMarks/marks++; false/' '^TestLines$' bridges/bridge
mutant "forget a refusal whose text Rialto refuses" bridges/bridge/bridge.go 's/== "bad_reason" \&\& \*text != ""/== "never"/' '^TestRefusedTexts$' bridges/bridge
mutant "let a bridge whose bot was removed say who may write" internal/service/bridge/permission.go 's/return message\.ErrNotLinked/if err == nil { return message.ErrNotLinked }/' PermissionsEnd ./internal/service/bridge
mutant "hide what somebody else writes with an id of the bridge" bridges/xmpp/message.go 's/\(!r\.entered \|\| x\.nicks\[e\.attr\("from"\)\]\)/true/' '^TestCopiedIDs$' bridges/xmpp
mutant "read an own message of XMPP that comes after its author has left" bridges/xmpp/room.go 's/^\tx\.nicks\[jid\] = true$/\t_ = jid/' '^TestCopiedIDs$' bridges/xmpp
mutant "allocate write-ahead logs in memory" internal/engine/timeline/pebblelog/observed_fs.go 's/if f\.inMemory \{/if f.inMemory \&\& f.spare == nil {/' Preallocation ./internal/engine/timeline/pebblelog
mutant "take each directory that is new for one in memory" internal/engine/timeline/pebblelog/free_space.go 's/return err == nil \&\& uint64\(s\.Type\) == tmpfs/return err == nil/' DirectoriesInMemory ./internal/engine/timeline/pebblelog
mutant "cut a text one character too late" internal/base/excerpt/excerpt.go 's/n >= limit/n > limit/' TestTextsAreCutToALength ./internal/base/excerpt
mutant "let the ellipsis of a text exceed its length" internal/base/excerpt/excerpt.go 's/limit-1/limit/' TestTextsAreCutToALength ./internal/base/excerpt
mutant "end a text within a character" internal/base/excerpt/excerpt.go 's/return strings\.ToValidUTF8\((.*), ""\)$/_ = strings.ToValidUTF8; return \1/' TestTextsAreCutToALength ./internal/base/excerpt
mutant "erase rows while there are things" internal/platform/userdata/tables.go 's/len\(list\) > 0/len(list) > 1<<20/' TestThingsAreErasedBeforeRows ./internal/platform/userdata
mutant "take Chinese punctuation for a part of an address" internal/tool/terminal/link_preview.go 's/u3000-.u303f/u3010-\\u303f/' '^Test(FirstLinks|Markdown)' ./internal/tool/terminal
mutant "let a user link as many groups as a bridge has links" internal/service/bridge/link.go 's/if n >= s\.most\.userLinks \{/if n > 1<<40 {/' AUserHasAShare ./internal/service/bridge
mutant "let a second admin make room for more links of the first" internal/service/bridge/link.go 's/if was\.LinkedBy != l\.LinkedBy \{/if false {/' AUserHasAShare ./internal/service/bridge
mutant "keep the bot in a group whose link a moderator removed" internal/service/bridge/remove.go 's/err := s\.leave\(ctx, b, c\); err != nil/err := ctx.Err(); err != nil/' ModeratorsRemoveLinks ./internal/service/bridge
mutant "remove a link without an entry in the audit log" internal/service/bridge/remove.go 's/^\t\treturn s\.deps\.Audit\.Add\(ctx, tx, (.*)\)$/\t\t_ = \1\n\t\treturn nil/' ModeratorsRemoveLinks ./internal/service/bridge
mutant "show a moderator the links of all users" internal/service/bridge/link.go 's/\(\$3 OR linked_by = \$4\)/($3 OR linked_by <> $4)/' ModeratorsRemoveLinks ./internal/service/bridge
mutant "let auditors remove links of bridges" internal/transport/rpc/operations.go 's/(BridgeAdminServiceRemoveBridgeLinkProcedure: *)id\.Moderator/\1id.Auditor/' KeysOfOperators ./internal/transport/rpc
mutant "count no links of groups with other systems" internal/transport/rpc/call_costs.go 's/\{ratelimit\.Bridge, 1, true\}, //' TestEveryCallHasARateLimitDecision ./internal/transport/rpc
mutant "keep the room of a link that was refused" internal/service/bridge/report.go 's/CASE WHEN \$6 THEN NULL/CASE WHEN $6 THEN room/' RoomsAreCompared ./internal/service/bridge
mutant "refuse a room that its group has given up" internal/service/bridge/report.go 's/case free:/case free \&\& l == nil \&\& r == nil:/' RoomsAreCompared ./internal/service/bridge
mutant "hide the room of a link from Rialto" bridges/bridge/link.go 's/State: active, Room: room\}/State: active}/' '^TestSpellingsOfARoom$' bridges/bridge
mutant "read what follows a body in chunks" internal/app/http2.go 's/isRead\(r\) \|\| len\(r\.TransferEncoding\) > 0/isRead(r)/' AmbiguousRequestsAreRefused ./internal/app/apptest
mutant "push the name of another system as one of here" internal/service/push/deliver.go 's/b != "" \{ \/\/ a name/b == "-" { \/\/ a name/' TextIsShownOnRequest ./internal/service/push
mutant "show the name of another system in the terminal as one of here" internal/tool/terminal/people.go 's/if u\.Bridge != "" \{/if u.Bridge == "-" {/' NamesThatAreEqual ./internal/tool/terminal
mutant "list chats with equal names without handles" internal/tool/terminal/chats.go 's/times\[title\] > 1/times[title] > 9/' NamesThatAreEqual ./internal/tool/terminal
mutant "ask for the password of a server that is down" internal/tool/terminal/state.go 's/case code == connect\.CodeUnavailable:/case code == connect.CodeAborted:/' NothingIsAskedForAServer ./internal/tool/terminal
mutant "wait five seconds beside a busy server" internal/engine/sqldb/sqlite.go 's/wait = lockWaitBesideAnother/wait = lockWait/' TheLockOfAnotherProcess ./internal/engine/sqldb
mutant "hide that another process has the lock" internal/engine/sqldb/sqlite.go 's/== sqlite3\.SQLITE_BUSY:/== sqlite3.SQLITE_NOMEM:/' TheLockOfAnotherProcess ./internal/engine/sqldb
mutant "say 2 replys" internal/base/printable/count.go 's/before \+ "ies"/what + "s"/' ThingsAreCounted ./internal/base/printable
mutant "lose the end of a packed word" internal/engine/searchindex/blevesearch/words.go 's/^\t\tw\.write\(wordCode\.codes\[endOfWord\]\)$//' '^TestPackedWords$' internal/engine/searchindex/blevesearch
mutant "pack no bytes of other scripts" internal/engine/searchindex/blevesearch/words.go 's/code\{uint32\(word\[i\]\), 8\}/code{0, 8}/' '^TestPackedWords$' internal/engine/searchindex/blevesearch
mutant "examine no words of documents" internal/engine/searchindex/blevesearch/search.go 's/part\.Stored\(wordsField,/part.Stored(checkpointField,/' '^TestSuiteOfManyWords$' internal/engine/searchindex/blevesearch
mutant "read ids of the index with more behind them" internal/engine/searchindex/blevesearch/document.go 's/ok \&\& len\(b\) == 0/ok/' '^TestPackedIDs$' internal/engine/searchindex/blevesearch
mutant "keep what seems a little less similar by sketches out of searches" internal/engine/vectorindex/sketch.go 's/part -= allowed/part += allowed/' '^TestSketches$' $vectors
mutant "compute all products of a search" internal/engine/vectorindex/sketch.go 's/return bits\.OnesCount64/return 0 * bits.OnesCount64/' '^TestSketches$' $vectors
mutant "search by the sketch of another vector" $vectors/vectorindex.go 's/^\ts\.sketch = x\.planes\.sketch\(query\)$//' '^TestRecall$' $vectors
mutant "link by the sketch of another vector" $vectors/change.go 's/^\tx\.builder\.sketch = x\.sketches\[s\]$//' '^TestRecallOfNarrowBuilds$' $vectors
mutant "say that renditions share runs that have one each" internal/service/video/graph.go 's/len\(names\) < 2/len(names) < 1/' '^TestGraphOfRunsApart$' internal/service/video
mutant "leave out with which renditions one shares runs" internal/service/video/graph.go 's/name != st\.Name \&\& /name == st.Name \&\& /' '^TestShared$' internal/service/video
mutant "show no bytes of stages" internal/service/video/graph.go 's/st\.StoredBytes \+= uint64\(t\.size\)/st.StoredBytes += 0/' '^TestShared$' internal/service/video
mutant "count the cost of a rendition of another size with the smaller one" internal/service/video/cost.go 's/c\.height >= height/c.height <= height/' '^TestCosts$' internal/service/video
mutant "count no cost of attempts that fail" internal/service/video/process.go 's/^\t\ts\.addTime\(v, t\)/\t\t_ = s.addTime/' '^TestCostsOfFailures$' internal/service/video
mutant "compare no deployment in the bench of videos" internal/tool/bench/video.go 's/if l\.config\.reference != "" \{/if l.config.reference == "-" {/' '^TestBenchOfVideos$' internal/app
mutant "count blocks that an edge was fetching as missed" internal/tool/bench/video_edge.go 's/(result="joined"\}`: )\&f\.found/\1\&f.missed/' '^TestEdgeFigures$' internal/tool/bench
mutant "take the metrics of any node for those of an edge" internal/tool/bench/video_edge.go 's/seen != len\(wanted\)/seen > len(wanted)/' '^TestEdgeFigures$' internal/tool/bench
mutant "report posts that are not indexed yet" internal/service/search/compare.go 's/^\t\tif !pending \{$/if true {/' TestPostsThatTheIndexLacksAreFound ./internal/service/search
mutant "do not compare the texts that the index has" internal/engine/searchindex/blevesearch/missing.go 's/case textField, denseField:/case "none":/' '/missing$' ./internal/engine/searchindex/blevesearch
mutant "report messages that an entry changes which is not indexed yet" internal/service/search/compare_messages.go 's/isSettled = !changed\[d\.Number\] \&\& /isSettled = /' TestMessagesThatTheIndexLacksAreFound ./internal/service/search
mutant "compare messages that are not indexed yet" internal/service/search/compare_messages.go 's/entries\[len\(entries\)-1\]\.Seq > through/false/' TestMessagesThatTheIndexLacksAreFound ./internal/service/search
mutant "compare only the beginning of a conversation" internal/service/search/compare_messages.go 's/at\.ended = len\(entries\) < most/at.ended = true/' TestMessagesThatTheIndexLacksAreFound ./internal/service/search
mutant "index a conversation again only from where it was" internal/service/search/messages.go 's/^\tb\.positions\[c\] = 0$/\tdelete(b.positions, c)/' TestMessagesThatTheIndexLacksAreFound ./internal/service/search
mutant "begin to restore with a key that does not open the backup" internal/platform/backup/restore.go 's/errors\.As\(err, \&no\) \{/errors.As(err, \&no) \&\& false {/' '^TestAnEncryptedBackup$' ./internal/platform/backup
mutant "let servers write tails while the timelines are moved" internal/engine/timeline/pglog/freeze.go '/ON log_tails FOR EACH/d' '^TestTimelinesMoveWhileServersRead$' ./internal/tool/move
mutant "let servers trim streams while the timelines are moved" internal/engine/timeline/pglog/freeze.go '/ON log_heads FOR EACH/d' '^TestTimelinesMoveWhileServersRead$' ./internal/tool/move
mutant "switch to a copy although servers could write" internal/engine/timeline/pglog/freeze.go 's/if err == nil \&\& !is \{/if err == nil \&\& !is \&\& tx == nil {/' '^TestAMoveNeedsItsTriggers$' ./internal/tool/move
mutant "let servers read timelines that have moved" internal/engine/timeline/pglog/freeze.go 's/^(ALTER TABLE log_entries RENAME TO) moved_log_entries;/\1 old_log_entries; ALTER TABLE old_log_entries RENAME TO log_entries;/' '^TestTimelinesMoveWhileServersRead$' ./internal/tool/move
mutant "say that a frozen log may have stored an append" internal/engine/timeline/pglog/writer_session.go 's/case c == frozen, c == undefinedTable \&\& s\.wasRetired/case c == undefinedTable \&\& s.wasRetired/' '^TestAcknowledgedEntriesAreInTheCopy$' ./internal/tool/move
mutant "switch to a copy that differs" internal/tool/move/sharedtimelines.go 's/if err != nil \|\| len\(m\.report\.Differences\) > 0 \{/if err != nil {/' '^TestADifferentCopyIsNotUsed$' ./internal/tool/move
mutant "move timelines into another target than before" internal/tool/move/sharedtimelines.go 's/s\.target != "" \&\& s\.target != m\.to/s.target == "none"/' '^TestAnAbortedMoveOfTimelines$' ./internal/tool/move
mutant "keep the positions of a move that was aborted" internal/tool/move/sharedtimelines.go 's/WHERE name LIKE \$1 \|\| .%./WHERE name = $1/' '^TestAnAbortedMoveOfTimelines$' ./internal/tool/move
mutant "begin a new epoch of streams when timelines move" internal/tool/move/sharedtimelines.go 's/tx, m\.source\.epoch, m/tx, m.source.epoch+1, m/' '^TestTimelinesMoveWhileServersRead$' ./internal/tool/move
mutant "leave the nodes their place of the timelines" internal/tool/move/sharedtimelines.go 's/DO UPDATE SET value = \$1/DO UPDATE SET value = cluster_settings.value || substr($1, 1, 0)/' '^TestTimelinesMoveWhileServersRead$' ./internal/tool/move
mutant "leave out rows after a page of an export" internal/engine/timeline/pglog/export.go 's/n < exportRows \{/n <= exportRows {/' '^TestTimelinesMoveWhileServersRead$' ./internal/tool/move
mutant "apply updates again when the index is compared" internal/service/search/messages.go 's/len\(updates\) > 0 \&\& !x\.onlyReads/len(updates) > 0/' '^TestComparisonsOnlyRead$' ./internal/service/search
mutant "begin a slow step of a comparison of messages again" internal/service/search/compare_messages.go 's/m\.step\.Next = m\.asked\.String\(\)/m.step.Next = ""/' '^TestComparisonsContinueAfterErrors$' ./internal/service/search
mutant "tell the cold tier again of a recall" internal/service/chat/recall.go 's/\|\| !changed \|\| u\.onRecalled/|| !changed \&\& false || u.onRecalled/' '^TestARecallIsToldOnce$' ./internal/service/chat
mutant "read entries of archives that were left out" internal/tool/importer/source.go 's/return nil, \&fs\.PathError\{Op: "open", Path: name, Err: fs\.ErrNotExist\}/return s.Open(name)/' '^TestEntriesWithOtherSpellings$' ./internal/tool/importer
mutant "compare rooms of reports with addresses that wait" internal/service/bridge/claim.go 's/address = \$3 AND state = \$4\)/address = $3 AND state <> $4 + 9)/' '^TestRoomsAreComparedInTheBridgesForm$' ./internal/service/bridge
mutant "count hits of recalled messages as right" internal/tool/bench/search_model.go 's/before := h\.changed\.to > s\.asked/before := true/' '^TestAnswersOfSearchesAreComparedWithWhatReadersMayRead$' ./internal/tool/bench
mutant "count hits that the reader may not read as right" internal/tool/bench/search_model.go 's/found\[h\] \|\| !slices\.Contains\(m\.groups\[h\.group\], s\.reader\) \|\|/found[h] ||/' '^TestAnswersOfSearchesAreComparedWithWhatReadersMayRead$' ./internal/tool/bench
mutant "miss no hit of an edited message" internal/tool/bench/search_model.go 's/ \|\| s\.settled \&\& h\.newTopic == s\.topic/ /' '^TestAnswersOfSearchesAreComparedWithWhatReadersMayRead$' ./internal/tool/bench
mutant "index no characters beside the words of a dictionary" internal/engine/searchindex/dictionary.go 's/^\t\tadd\(string\(r\)\)$//' '^TestADictionaryLosesNothing$' ./internal/engine/searchindex
mutant "index only the longest word of a dictionary at a character" internal/engine/searchindex/dictionary.go 's/for n := 2; n <= d\.longest\[r\] \&\&/for n := d.longest[r]; n > 1 \&\& n <= d.longest[r] \&\&/' '^TestWordsOfADictionary$' ./internal/engine/searchindex
mutant "join Chinese characters and kana in a pair" internal/engine/searchindex/dictionary.go 's/end < len\(run\) \&\& !isHan\(run\[end\]\)/end < len(run)/' '^TestWordsOfADictionary$' ./internal/engine/searchindex
mutant "keep an index that was built with another dictionary" internal/service/search/generation.go 's/err == nil \&\& at\[2\] != sum/err == nil \&\& at[2] != sum \&\& at[1] == 0/' '^TestAnIndexOfAnotherDictionaryIsBuiltAgain$' ./internal/service/search
mutant "search a shared index by another dictionary without a word" internal/service/search/shared.go 's/at\[0\] == 1 \&\& at\[1\] == s\.deps\.Dictionary\.Sum\(\)/at[0] == 1 \&\& at[1] >= 0*s.deps.Dictionary.Sum()/' '^TestASharedIndexOfAnotherDictionary$' ./internal/service/search
mutant "leave the hits of a page in the order of the index" internal/service/search/find.go 's/^\t\tslices\.SortStableFunc\(g\.Hits, .*$//' '^TestPreferencesOrderHits$' ./internal/service/search
mutant "go on with a page of a search by new weights" internal/service/search/find.go 's/q\.nowMs, q\.weights = q\.page\.nowMs, q\.page\.weights/q.nowMs = q.page.nowMs/' '^TestPagesKeepTheirWeights$' ./internal/service/search
mutant "prefer what somebody without personalization liked" internal/service/ranking/preferences.go 's/err != nil \|\| off\[reader\]/err != nil || !off[reader] \&\& off[reader]/' '^TestPreferences$' ./internal/service/ranking
mutant "let a weight of searches be negative" internal/service/ranking/weights.go 's/return 0, maxWeight/return -maxWeight, maxWeight/' '^TestWeightsOfSearches$' ./internal/service/ranking
mutant "open a damaged search segment" internal/engine/searchindex/indexsegment/segment.go 's/!= binary\.LittleEndian\.Uint32\(data\[end:\]\)/== 0/' '^TestDamagedFiles$' internal/engine/searchindex/indexsegment
mutant "skip too many terms of a search segment" internal/engine/searchindex/indexsegment/terms.go 's/c := int\(i\.keys\.key\[n\]\) \+ 1;/c := int(i.keys.key[n]) + 2;/' '^TestIterators$' internal/engine/searchindex/indexsegment
mutant "read documents that a search segment has not" internal/engine/searchindex/indexsegment/postings.go 's/if end > uint64\(count\) \{/if end > uint64(count)+1 {/' '^TestListsOfDocuments$' internal/engine/searchindex/indexsegment
mutant "read single documents that a search segment has not" internal/engine/searchindex/indexsegment/terms.go 's/i\.document >= i\.terms\.count/i.document > 1<<31/' '^TestHostileSegments$' internal/engine/searchindex/indexsegment
mutant "read keys of a search segment that share too much" internal/engine/searchindex/indexsegment/input.go 's/shared > uint64\(len\(r\.key\)\)/shared > 1<<31/' '^TestHostileSegments$' internal/engine/searchindex/indexsegment
mutant "store postings of a search segment in a larger encoding" internal/engine/searchindex/indexsegment/postings.go 's/case gaps <= runs:/case gaps > runs:/' '^TestListsOfDocuments$' internal/engine/searchindex/indexsegment
mutant "keep dropped documents in the lists of a merge" internal/engine/searchindex/indexsegment/merge.go 's/n := numbers\[d\]; n != dropped/n := numbers[d]; n >= 0/' '^TestSegmentsAreMaps$' internal/engine/searchindex/indexsegment
mutant "leave the lists of a merge out of order" internal/engine/searchindex/indexsegment/merge.go 's/if parts > 1 \{/if parts > 2 {/' '^TestSegmentsAreMaps$' internal/engine/searchindex/indexsegment
mutant "keep bits of the list before in a merge" internal/engine/searchindex/indexsegment/merge.go 's/^\t\tm\.set\[i\] = 0$//' '^TestSegmentsAreMaps$' internal/engine/searchindex/indexsegment
mutant "give documents values that they do not have in a merge" internal/engine/searchindex/indexsegment/merge.go 's/\[\]byte\{absent\}, width/[]byte{0}, width/' '^TestSegmentsAreMaps$' internal/engine/searchindex/indexsegment
mutant "store fields under the numbers of another segment" internal/engine/searchindex/indexsegment/merge.go 's/places\[field\], value\)/min(field, places[field]), value)/' '^TestSegmentsAreMaps$' internal/engine/searchindex/indexsegment
mutant "leave the file of a merge that has failed" internal/engine/searchindex/indexsegment/file.go 's/errors\.Join\(err, os\.Remove\(path\)\)/err/' '^TestMergeIsEnded$' internal/engine/searchindex/indexsegment
mutant "hide from the engine why a merge ended" internal/engine/searchindex/indexsegment/merge.go 's/return nil, 0, segment\.ErrClosed .*/return nil, 0, err/' '^TestMergeIsEnded$' internal/engine/searchindex/indexsegment
mutant "put two documents with one id into a search segment" internal/engine/searchindex/indexsegment/build.go 's/b\.documents\[i-1\]\.ID\(\) == d\.ID\(\)/b.documents[i-1] == d/' '^TestRefusedDocuments$' internal/engine/searchindex/indexsegment
mutant "go on with an earlier state of a damaged search index" internal/engine/searchindex/blevesearch/blevesearch.go 's/err := refusal\.get\(\); err != nil/err := refusal.get(); err != nil \&\& dir == ""/' '^TestDamage$' internal/engine/searchindex/blevesearch
activity=internal/platform/activity
mutant "forget earlier days of an active user" $activity/activity.go 's/\(\(user_activity\.days << /((0 * user_activity.days << /' ReportsEqualAModel ./$activity
mutant "forget a day that a node with a late clock reports" $activity/activity.go 's/ELSE user_activity\.days \| \(/ELSE user_activity.days + 0 * (/' ReportsEqualAModel ./$activity
mutant "count users of today as returned before the day is over" $activity/report.go 's/if ago <= n \{/if ago < n {/' ReportsEqualAModel ./$activity
mutant "count today among the days that are over" $activity/report.go 's/const yesterday = 1/const yesterday = 0/' ReportsEqualAModel ./$activity
mutant "keep rows of users who are gone" $activity/activity.go 's/last_day < \$1 LIMIT/last_day < $1 - 1 LIMIT/' OldRowsAreDeleted ./$activity
mutant "take delivery canaries for users" $activity/activity.go 's/u == 0 \|\| u\.IsCanary\(\)/u == 0/' OldRowsAreDeleted ./$activity
mutant "forget users who could not be stored" $activity/activity.go 's/^\t\t\t\tdelete\(s\.known, one\.user\)$/\t\t\t\t_ = one/' AFailedWriteIsMadeUpFor ./$activity
mutant "stop without storing who was seen" $activity/activity.go 's/^\t\t\ts\.write\(last\)$/\t\t\t_ = last/' AStoppingNodeWrites ./$activity
mutant "count users whom a ticket authenticates as absent" internal/service/account/ticket.go 's/return s\.active\(s\.redeemTicket\(ctx, name\)\)/return s.redeemTicket(ctx, name)/' OperatorsSeeActiveUsers ./internal/app
mutant "count bots among the active users" internal/service/account/session.go 's/return s\.verifyAPIKey\(ctx, token\)$/return s.active(s.verifyAPIKey(ctx, token))/' OperatorsSeeActiveUsers ./internal/app
mutant "give all readers windows of the same size" internal/service/feed/window.go 's/days >= frequentDays/days > 28/' WindowsOfFrequentReaders ./internal/service/feed
mutant "bring a post to the first batch of a step only" internal/service/feed/push.go 's/range slices\.Chunk\(followers, s/range slices.Chunk(followers[:min(len(followers), s.sizes.pushFollowers)], s/' 'ManySteps' ./internal/service/feed
mutant "let steps of ordinary authors be long" internal/service/feed/push.go 's/^\tif j\.Ordinary \{/\tif j.Ordinary \&\& j.Post == 0 {/' OrdinaryAuthors ./internal/service/feed
mutant "delete a few entries by a range" $log/expire.go 's/if to-from > fewEntries \{/if to > from {/' AFewEntries $log
mutant "keep members of sets that have changed" internal/platform/counter/snapshot_caches.go 's/\{"counter_members": \{"kind", "subject"\}\}/{"counter_members": {"kind", "member"}}/' FiguresOfSnapshots ./internal/platform/counter
mutant "look for members of large sets among those of small ones" internal/platform/counter/snapshot_caches.go 's/^\tif len\(subjects\) == 0 \{$/\tif len(subjects) >= 0 {/' FiguresOfSnapshots ./internal/platform/counter
mutant "keep the windows of readers large who come no more" internal/service/feed/window.go 's/if len\(b\.refs\) > most \{$/if len(b.refs) > 2*s.sizes.windowPosts {/' WindowsOfFrequentReaders ./internal/service/feed
mutant "plan entries of home timelines for posts of pulled authors" internal/tool/plan/feed.go 's/\(1 - ofPulled\) \* in\.Readers/in.Readers/' '^TestFeedMatchesHandComputation$' ./internal/tool/plan
mutant "plan entries of home timelines for users who are away" internal/tool/plan/feed.go 's/\(1 - ofPulled\) \* in\.Readers/(1 - ofPulled)/' '^TestFeedMatchesHandComputation$' ./internal/tool/plan
mutant "plan home timelines without a bound" internal/tool/plan/feed.go 's/min\((in\.DailyUsers\*in\.Posts.*), readers\*windowEntries\)/max(\1, 0)/' '^TestHomeTimelinesHaveABound$' ./internal/tool/plan
mutant "plan rows of the feed in Cassandra" internal/tool/plan/feed.go 's/c\.sql \+= rows/c.sql += 0 * rows/' '^TestFeedOnSharedEngines$' ./internal/tool/plan
mutant "leave out the feed of the CPU of databases" internal/tool/plan/store.go 's/\/1e6 \+ feed$/\/1e6/' '^TestFeedOnSharedEngines$' ./internal/tool/plan
mutant "plan no one who is told of posts of pulled authors" internal/tool/plan/feed.go 's/ \+ f\.pulled\*c\.by\["feed_notice"\]\/1e6//' '^TestFeedMatchesHandComputation$' ./internal/tool/plan
mutant "plan both ends of ranges by the higher end" internal/tool/plan/plan.go 's/lowEnds\(figures\)\)/figures)/' '^TestTotalsHaveRanges$' ./internal/tool/plan
mutant "keep the range of a figure that was replaced" internal/tool/plan/figures.go 's/figures\[i\]\.Low, figures\[i\]\.From = rounded\(value\), 0, from/figures[i].From = rounded(value), from/' '^TestTotalsHaveRanges$' ./internal/tool/plan
mutant "yield in a flush that is behind" internal/engine/timeline/pebblelog/yield.go 's/case level > 0 \|\| !s\.behind\.Load\(\):/default:/' '^TestAFlushThatIsBehindDoesNotYield$' ./internal/engine/timeline/pebblelog
mutant "let compactions hold up a flush that is behind" internal/engine/timeline/pebblelog/yield.go 's/case level > 0 \|\| !s\.behind/case !s.behind/' '^TestAFlushThatIsBehindDoesNotYield$' ./internal/engine/timeline/pebblelog
mutant "take all flushes after one for late" internal/engine/timeline/pebblelog/yield.go 's/s\.behind\.Store\((i\.InputBytes > memTableSize|false)\)/s.behind.Store(s.behind.Load())/' '^TestAFlushThatIsBehindDoesNotYield$' ./internal/engine/timeline/pebblelog
mutant "leave each connection its window whatever the node has" internal/transport/gateway/send_window.go 's/\(nodeInFlight-s\.inFlight\.Load\(\)\)\/windowPart/nodeInFlight\/windowPart/' '^TestSendWindowsShrinkWithTheNodesMessages$' ./internal/transport/gateway
mutant "never read a connection again when the node is full" internal/transport/gateway/send_window.go 's/\(n == 0 \|\| int64/(int64/' '^TestSendWindowsShrinkWithTheNodesMessages$' ./internal/transport/gateway
mutant "forget what has a receipt only in its connection" internal/transport/gateway/send_window.go 's/c\.server\.inFlight\.Add\(weight\)/c.server.inFlight.Add(max(0, weight))/' '^TestSendWindowsShrinkWithTheNodesMessages$' ./internal/transport/gateway
mutant "read as much as ever when the node is full" internal/transport/gateway/poll_linux.go 's/buf\[:c\.readSize\(len\(buf\)\)\]/buf/' '^TestTheLoopReadsLittleUnderLoad$' ./internal/transport/gateway
mutant "call a connection silent that is not read" internal/transport/gateway/deadlines.go 's/ \&\& reads == readOn \&\& c\.receiver == nil/ \&\& c.receiver == nil/' '^TestPausedSendersAreNotSilent$' ./internal/transport/gateway
mutant "count the time without reading as silence" internal/transport/gateway/conn.go 's/^\t\tc\.lastInput\.Store\(c\.server\.now\.Load\(\)\).*$//' '^TestPausedSendersAreNotSilent$' ./internal/transport/gateway
mutant "answer pings before what is for one" internal/transport/gateway/conn.go '/^func \(c \*conn\) sendPong/,/^}/s/c\.queueLater\(\)/c.queueWrite()/' '^TestAnswersToPingsComeLast$' internal/transport/gateway
mutant "answer pings of WebSocket before what is for one" internal/transport/gateway/input.go 's/c\.sendPong\(opPong, /c.sendEncoded(opPong, /' '^TestAnswersToPingsComeLast$' internal/transport/gateway
mutant "read long pages without a pause" internal/service/chat/history.go 's/s\.deps\.Yield != nil \{/n < 0 {/' '^TestLongPagesYield$' internal/service/chat
mutant "convert long pages without a pause" internal/service/chat/get_messages.go 's/^\t\ts\.yieldAfter\(i\)$//' '^TestLongPagesYield$' internal/service/chat
mutant "correct a size without a finding" internal/platform/reconciliation/reconciliation.go 's/case isAdded \|\| f\.Corrected:/case f.Corrected:\n\t\t\tcontinue\n\t\tcase isAdded:/' '^TestACorrectedDifferenceIsVisible$' ./internal/platform/reconciliation
mutant "forget a corrected difference after a round" internal/platform/reconciliation/reconciliation.go 's/ AND NOT repairing AND NOT corrected`/ AND NOT repairing`/' '^TestACorrectedDifferenceIsVisible$' ./internal/platform/reconciliation
mutant "keep a difference that agreed before it was corrected" internal/platform/reconciliation/reconciliation.go 's/if !f\.Corrected \{/if false {/' '^TestACorrectedDifferenceIsVisible$' ./internal/platform/reconciliation
mutant "keep any number of differences" internal/platform/reconciliation/reconciliation.go 's/kept < maxDifferences$/kept >= 0/' '^TestKeptDifferencesAreBounded$' ./internal/platform/reconciliation
mutant "leave a refused repair as being repaired" internal/platform/reconciliation/repair.go 's/SET repairing = FALSE, unrepairable/SET unrepairable/' '^TestADifferenceThatCannotBeRepairedStays$' ./internal/platform/reconciliation
mutant "delete a file without asking again whether it is needed" internal/platform/reconciliation/unreferenced_files.go 's/if err != nil \|\| len\(found\) == 0 \{/if err != nil || len(found) == 9 {/' '^TestUnreferencedFilesAreFoundAndDeleted$' ./internal/platform/reconciliation
mutant "compare files that are being stored" internal/platform/reconciliation/unreferenced_files.go 's/if f\.Modified\.Before\(old\) \{/if f.Modified.Before(old) || true {/' '^TestYoungFilesAreNotCompared$' ./internal/platform/reconciliation
mutant "leave out the folders behind the first one" internal/platform/reconciliation/unreferenced_files.go 's/if n\+\+; n == len\(u\.Owners\) \{/if n++; true {/' '^TestUnreferencedFilesAreFoundAndDeleted$' ./internal/platform/reconciliation
mutant "take files of uploads that are not complete for unreferenced" internal/service/media/unreferenced.go 's/\|\| u\.complete > 0 \&\& u\.stored != f\.attempt/|| u.stored != f.attempt/' '^TestUnreferencedFilesAreDeletedDuringUploads$' ./internal/service/media
mutant "leave the files of superseded attempts alone" internal/service/media/unreferenced.go 's/\|\| u\.complete > 0 \&\& u\.stored != f\.attempt/|| u.complete > 9/' '^TestFilesThatNoUploadNamesAreFound$' ./internal/service/media
mutant "take what is not named like a file of uploads for one" internal/service/media/unreferenced.go 's/return f, key == blobKey\(f\.upload, 1\)$/return f, true/' '^TestFilesThatNoUploadNamesAreFound$' ./internal/service/media
mutant "take files of a video in processing for unreferenced" internal/service/video/unreferenced.go 's/case state < stateReady \|\| cleanMs > 0:/case cleanMs > 0:/' '^TestNoFileOfAVideoInProcessingIsUnreferenced$' ./internal/service/video
mutant "take files of a rendition that is being made for unreferenced" internal/service/video/unreferenced.go 's/ \|\| state == stateReady \&\& t\.stored == 0 \&\& t\.job > 0$//' '^TestNoFileOfAVideoInProcessingIsUnreferenced$' ./internal/service/video
mutant "leave superseded files of videos alone" internal/service/video/unreferenced.go 's/return t\.stored == f\.attempt \|\| /return true || /' '^TestFilesThatNoVideoNamesAreFound$' ./internal/service/video
mutant "do not compare files of outputs of stages" internal/service/video/compare.go 's/r\.first\+int64\(c\.at\.output\)/r.first+0*int64(c.at.output)/' '^TestMissingFilesOfVideosAreFound$' ./internal/service/video
mutant "take segments of the manifest for unreferenced" internal/platform/coldtier/unreferenced.go 's/if !slices\.Contains\(named, key\) \{/if !slices.Contains(named, key) || true {/' '^TestSegmentsThatTheManifestDoesNotNameAreFound$' ./internal/platform/coldtier
mutant "do not compare checksums of segments" internal/platform/coldtier/compare.go 's/else if !bytes\.Equal\(sum\.Sum\(nil\), s\.Checksum\) \{/else if bytes.Equal(sum.Sum(nil), nil) {/' '^TestDamagedSegmentsAreFound$' ./internal/platform/coldtier
mutant "list a folder from its beginning each time" internal/engine/blob/diskblob/list.go 's/l\.folder != folder \|\| after == "" \|\| l\.position\(\) != after/true/' '^TestStore$/lists' ./internal/engine/blob/diskblob
mutant "compare one conversation with the index at a time" internal/service/search/compare_messages.go 's/if m\.docs >= m\.sizes\.entries \{/if true {/' '^TestMessagesAreComparedInBatches$' ./internal/service/search
mutant "do not ask the index for the last documents of a step" internal/service/search/compare_messages.go 's/asked := m\.ask\(ctx\); err/asked := func() error { m.step.Items += m.items; return nil }(); err/' '^TestMessagesThatTheIndexLacksAreFound$' ./internal/service/search
mutant "find a document with another author" internal/engine/searchindex/blevesearch/missing.go 's/Access: d\.Access, Author: d\.Author\}/Access: d.Access}/' '/missing$' ./internal/engine/searchindex/blevesearch
mutant "find a document at another time" internal/engine/searchindex/blevesearch/missing.go 's/return seconds == searchindex\.Seconds\(d\.TimeMs\), nil/return seconds >= 0, nil/' '/missing$' ./internal/engine/searchindex/blevesearch
mutant "cut away the bridge behind a long name" internal/base/excerpt/excerpt.go 's/\(suffix\)\)\) \+ suffix/(suffix))) + Of(suffix, 2)/' SuffixesStay ./internal/base/excerpt
mutant "let the title of a provider cut the bridge away" internal/service/push/deliver.go 's/maxBridgedName = 48/maxBridgedName = 99/' TextIsShownOnRequest ./internal/service/push
mutant "cut the bridge from the prompt" internal/tool/terminal/people.go 's/peer != 0 \&\& at >= 0/peer == 1 \&\& at >= 0/' MarksOfBridgesStay ./internal/tool/terminal
mutant "take what is no address for one" internal/tool/terminal/terminal.go 's/ \|\| u\.Hostname\(\) == "" \{/ {/' '^TestFlags$' ./internal/tool/terminal
mutant "list groups with equal titles alike" internal/tool/terminal/chats.go 's/if len\(equal\) < 2 \{/if len(equal) < 9 {/' NamesThatAreEqual ./internal/tool/terminal
mutant "give groups ends of ids that are equal" internal/tool/terminal/chats.go 's/if len\(found\) == len\(ends\) \{/if len(found) > 0 {/' NamesThatAreEqual ./internal/tool/terminal
mutant "transfer a group to the bot of a bridge" internal/service/chat/member_roles.go 's/Users: \[\]uint64\{uint64\(u\)\}\}, s\.checkOwner\(ctx, u\)/Users: []uint64{uint64(u)}}, nil/' BridgesOwnNoGroup ./internal/service/bridge
mutant "let the bot of a bridge make a group" internal/service/chat/create.go 's/:= s\.checkOwner\(ctx, owner\)/:= error(nil)/' BridgesOwnNoGroup ./internal/service/bridge
mutant "let the bot of a bridge succeed an owner" internal/service/chat/align_members.go 's/:= s\.checkOwner\(ctx, successor\)/:= error(nil)/' BridgesOwnNoGroup ./internal/service/bridge
mutant "link a group that the bot owns" internal/service/chat/bridge_member.go 's/if st\.role\(bot\) == roleOwner \{/if st.role(bot) == 99 {/' BridgesOwnNoGroup ./internal/service/bridge
mutant "let somebody of another system inherit a group" internal/service/chat/erase.go 's/may \|\| err != nil \{/may || err == nil {/' RemovedLinksLeaveNobody ./internal/service/bridge
mutant "let people of another system own groups" internal/service/bridge/membership.go 's/ AND NOT EXISTS \(SELECT 1 FROM bridge_users WHERE member = \$1\)//' BridgesOwnNoGroup ./internal/service/bridge
mutant "keep people of another system after a link was removed" internal/service/bridge/membership.go 's/found = append\(found, people\.\.\.\)/_ = people/' 'RemovedLinksLeaveNobody|UnlinkedGroupsKeepNobody' ./internal/service/bridge
mutant "keep the bot that owns a group after it was unlinked" internal/service/bridge/link.go 's/return s\.leave\(ctx, b, c\) .*/return nil/' UnlinkedGroupsKeepNobody ./internal/service/bridge
mutant "make a link active whose room is taken" internal/service/bridge/report.go 's/^\t\t\tif taken \{$/\t\t\tif taken \&\& r.Room != "" {/' RoomsAreComparedInTheBridgesForm ./internal/service/bridge
mutant "call a revoked link a wrong one" internal/service/chat/join.go 's/coalesce\(link, revoked_link\)/NULL/' 'JoinLink|RemovedMemberCannotRejoin' ./internal/service/chat
mutant "call an expired link a wrong one" internal/service/chat/join.go 's/return 0, errLinkExpired/return 0, errBadLink/' JoinLink ./internal/service/chat
mutant "show the preview of a group to those it has banned" internal/service/chat/join.go 's/case st\.banned\(u\):$/case st.banned(0):/' BanClosesEveryWayIn ./internal/service/chat
mutant "compare all names as in ASCII" bridges/irc/case_mapping.go "s/last = '\^'/last = 'Z'/" 'SpellingsOfNames|NamesAreComparedAsByTheNetwork|PeopleAreToldApart' bridges/irc
mutant "compare names by the same rule in all networks" bridges/irc/client.go 's/x\.names\.set\(s\.conn\.ISupport\(\)\["CASEMAPPING"\]\)/x.names.set("")/' NamesAreComparedAsByTheNetwork bridges/irc
mutant "take a nick that is not UTF-8 for one that is" bridges/irc/channel.go 's/if !utf8\.ValidString\(name\) \{/if !utf8.ValidString(name[:0]) {/' PeopleAreToldApart bridges/irc
mutant "enter a room of XMPP by another spelling" bridges/xmpp/room.go 's/from != address \{/from == "" {/' OtherSpellingsOfARoom bridges/xmpp
mutant "report links to an older server again and again" bridges/bridge/link.go 's/ \|\| !b\.reportIsDue\(report\) \{/ {/' 'AnOlderRialtoIsNotToldAgain|SpellingsOfARoom' bridges/bridge
mutant "report links to an older server at the same intervals" bridges/bridge/link.go 's/min\(2\*r\.delay, longestRepeat\)/firstRepeat/' AnOlderRialtoIsNotToldAgain bridges/bridge
mutant "forget that a room removed the bridge while its link was reported" bridges/bridge/link.go 's/if b\.expelled\[room\] == known \{/if known == nil || b.expelled[room] == known {/' RemovedWhileTheLinkIsReported bridges/bridge
mutant "take a missing table for a move" internal/engine/timeline/pglog/writer_session.go 's/return err == nil \&\& is$/return err == nil/' AMissingTableIsNoMove ./internal/engine/timeline/pglog
mutant "log each append that a move refuses" internal/engine/timeline/pglog/pglog.go 's/rate\.Sometimes\{First: 1, /rate.Sometimes{First: 9, /' RefusedWritesOfAMoveAreLogged ./internal/engine/timeline/pglog
mutant "let moderators not find the names of bridges" internal/transport/rpc/operations.go 's/^\tbridgev1connect\.BridgeLinkServiceListBridgesProcedure: .*$//' KeysOfOperators ./internal/transport/rpc
mutant "let a suspended run store parts of a later move" internal/tool/move/sharedtimelines.go 's/, guard: m\.checkRun\}/}/' ASuspendedRunChangesNoLaterMove ./internal/tool/move
mutant "let a suspended run end a later move" internal/tool/move/sharedtimelines.go 's/WHERE run = \$1 AND ended IS NULL FOR SHARE/WHERE run >= $1 OR run < $1 FOR SHARE/' ASuspendedRunChangesNoLaterMove ./internal/tool/move
mutant "name no command that may be meant" internal/base/commandline/commandline.go 's/near := Nearest\(word, names\); near != ""/near := Nearest(word, names); near == "x"/' TheNearestCommand ./internal/base/commandline
mutant "take letters that are exchanged for two mistakes" internal/base/commandline/commandline.go 's/before\[j-2\]\+1\)/before[j-2]+9)/' TheNearestCommand ./internal/base/commandline
mutant "take numbers out of their range" internal/base/commandline/commandline.go 's/case v < n\.least, v > n\.most:/case v < n.least-9:/' NumbersHaveRanges ./internal/base/commandline
mutant "ignore the data directory of the environment" internal/base/commandline/commandline.go 's/os\.Getenv\("RIALTO_DATA"\)/os.Getenv("RIALTO_NONE")/' CommandsUseTheEnvironment ./internal/app
mutant "ignore --data beside a database in the environment" internal/app/admin.go 's/if !named \{/if true {/' CommandsUseTheEnvironment ./internal/app
mutant "list unfinished uploads of any purpose" internal/service/media/unfinished_uploads.go 's/OR m\.metadata = \$4/OR m.metadata >= $4/' '^TestUnfinishedUploads$' ./internal/service/media
mutant "list unfinished uploads that are expired" internal/service/media/unfinished_uploads.go 's/u\.created_ms >= \$2/u.created_ms >= $2 - 9999/' '^TestUnfinishedUploads$' ./internal/service/media
mutant "list uploads of tus as those in parts" internal/service/media/unfinished_uploads.go 's/m\.protocol = \$3/m.protocol >= $3/' '^TestUnfinishedUploads$' ./internal/service/media
mutant "give no checksums of the parts that are stored" internal/service/media/multipart.go 's/out\.Checksums = sums/out.Checksums = sums[:0]/' '^TestUnfinishedUploads$' ./internal/service/media
mutant "drop a rejected file that a message names" internal/service/media/video.go 's/ AND traced = 1 AND NOT EXISTS \(SELECT 1 FROM upload_uses WHERE upload = \$1\)`/ AND traced = 1`/' '^TestRejectedVideos$' ./internal/service/media
mutant "drop a rejected file of another user" internal/service/media/video.go 's/owner = \$2 AND complete = 1/owner <> $2 + 99 AND complete = 1/' '^TestRejectedVideos$' ./internal/service/media
mutant "drop a rejected file that is a picture of something" internal/service/media/video.go 's/owner = \$2 AND complete = 1/owner = $2 AND complete > 0/' '^TestRejectedVideos$' ./internal/service/media
mutant "keep the file of which no video can be made" internal/service/video/create.go 's/if transcode\.IsRefusal\(err\) \{/if transcode.IsRefusal(nil) {/' '^TestRefusals$' ./internal/service/video
mutant "forget what replaced a setting" internal/app/config/unknown.go 's/rename\(former\) == name/rename(former) == name+"x"/' ErrorsNameTheSetting ./internal/app/config
mutant "name no setting that may be meant" internal/app/config/unknown.go 's/; i >= 0 \{/; i >= 9999 {/' ErrorsNameTheSetting ./internal/app/config
mutant "name no setting that a variable of the environment may mean" internal/app/config/unknown.go 's/strings\.ToLower\(rename\(n\)\)/strings.TrimSpace(rename(n))/' ErrorsNameTheSetting ./internal/app/config
mutant "forget rialto bench search where a word is mistyped" internal/tool/bench/bench.go 's/"video", "search", "idle"/"video", "idle"/' MistypedCommandsAreRecognized ./internal/tool/bench
mutant "take an index of an earlier version for a damaged one, beside the process" internal/engine/searchindex/indexprocess/reply.go 's/searchindex\.ErrFormat, searchindex\.ErrCorrupt,/searchindex.ErrCorrupt,/' AnIndexOfAnotherFormat ./internal/engine/searchindex/indexprocess
mutant "log an index of an earlier version as damage" internal/service/search/generation.go 's/if errors\.Is\(err, searchindex\.ErrFormat\) \{/if err == searchindex.ErrFormat {/' AnEarlierIndexGetsVideosAndFiles ./internal/service/search
mutant "log an index of another dictionary as damage" internal/service/search/generation.go 's/return searchindex\.ErrFormat/return searchindex.ErrCorrupt/' '^TestAnIndexOfAnotherDictionaryIsBuiltAgain$' ./internal/service/search
mutant_ts "continue an upload with another file of the same size" src/multipart.ts 's/byte !== sum\[k\]/byte < 0 \&\& byte !== sum[k]/' test/unit/multipart.test.ts
mutant_ts "take the parts of another device for those of the file where no checksums can be computed" src/multipart.ts 's/if \(!sum\) return \{ \.\.\.state.*\};/if (!sum) return state;/' test/unit/multipart.test.ts
mutant_ts "give up where an upload to be continued is gone" src/multipart.ts 's/err\.reason !== "no_upload"/err.reason !== "none"/' test/unit/multipart.test.ts
mutant "write activity of users who were erased" $activity/activity.go 's/if slices\.Contains\(erased, one\.user\) \{/if slices.Contains(erased, one.user) \&\& false {/' ErasedUsersGetNoRow ./$activity
mutant "take nobody for erased" internal/service/account/erase.go 's/WHERE erased_ms > 0 AND id IN/WHERE erased_ms < 0 AND id IN/' OperatorsSeeActiveUsers ./internal/app
mutant "take a file of another name for a segment" internal/platform/coldtier/unreferenced.go 's/return !isFileName\(key\)/return !isFileName(key) \&\& false/' '^TestSegmentsThatTheManifestDoesNotNameAreFound$' ./internal/platform/coldtier
mutant "take a file in the folder of another conversation for a segment" internal/platform/coldtier/unreferenced.go 's/key == formatFileName\(conversation/key != "x"+formatFileName(conversation/' '^TestSegmentsThatTheManifestDoesNotNameAreFound$' ./internal/platform/coldtier
mutant "no range of the flags of a search" internal/tool/bench/search_flags.go 's/"probes", 10, 1, 100,/"probes", 10, 1, 101,/' '^TestSearchFlagsHaveRanges$' ./internal/tool/bench
mutant "begin again with files whose comparison took too long" internal/platform/reconciliation/parts.go 's/if err != nil \&\& p\.Next == "" \&\& step\.Next == "" \{/if err != nil \&\& p.Next == "" {/' '^TestSlowFilesAreComparedInSeveralSteps$' ./internal/service/media
mutant "read a dictionary of any size, or from a pipe" internal/service/search/search.go 's/!info\.Mode\(\)\.IsRegular\(\) \|\| info\.Size\(\) > maxDictionaryFile/info.Size() < 0/' ADictionaryIsARegularFile ./internal/service/search
mutant "log a difference again in each round" internal/platform/reconciliation/reconciliation.go 's/case isAdded \|\| f\.Corrected:/case isAdded || known > 0:/' '^TestADifferenceIsFoundWithinARound$' ./internal/platform/reconciliation
segment=internal/engine/searchindex/indexsegment
mutant "find no words with a character too many" $segment/typos.go 's/if \(k == 0 \|\| c != e\.word\[k-1\]\) \&\&/if k < 0 \&\&/' '^TestTypos$' ./$segment
mutant "take any word for a term" $segment/typos.go 's/\(1<<\(digits\&63\)\) == 0/(1<<(digits\&63)) == 3/' '^TestTypos$' ./$segment
mutant "look up typos with any number of letters" $segment/typos.go 's/len\(v\.letters\) > maxLetters/len(v.letters) > 1<<20/' '^TestTyposAmongManyLetters$' ./$segment
mutant "find no typos among many letters" internal/engine/searchindex/blevesearch/search.go 's/case !ok:/case !ok \&\& limit < 0:/' '^TestTyposAmongManyLetters$' ./internal/engine/searchindex/blevesearch
mutant "take popular documents for as good as others of their age" internal/engine/searchindex/blevesearch/search.go 's/if quarters == 0 \&\& seconds < s\.oldest/if seconds < s.oldest/' TestSuite ./internal/engine/searchindex/blevesearch
mutant "find newer documents only" internal/engine/searchindex/blevesearch/search.go 's/s\.q\.Ranking\.Oldest\(least\)/s.q.Ranking.Oldest(least) + 86_400/' TestSuite ./internal/engine/searchindex/blevesearch
mutant "take a time with a higher score for the oldest" internal/engine/searchindex/searchindex.go 's/math\.Log2\(rest\)\)\) \/ 1000/math.Log2(rest)))\/1000 + 86_400/' '^TestOldest$' ./internal/engine/searchindex
mutant "read hits for which a page has no room" internal/service/search/find.go 's/max\(q\.limit-len\(group\.Hits\), leastChecked\)/len(found.Hits)/' '^TestAPageReadsWhatItShows$' ./internal/service/search
mutant "make the filter of the words of a segment again for each search" $segment/typos.go 's/v\.once\.Do\(func\(\) \{ v\.err = v\.read\(t\) \}\)/v.err = v.read(t)/' '^TestTypos$' ./$segment
mutant "lose what a comparison found in all of its time" internal/platform/reconciliation/reconciliation.go 's/result, err := s\.compare\(ctx, c, r\)/ctx, end := context.WithTimeout(ctx, s.stepTime)\n\tdefer end()\n\tresult, err := s.compare(ctx, c, r)/' '^TestAStepThatUsesItsTimeIsStored$' ./internal/platform/reconciliation
mutant "give a slow comparison the time of others" internal/platform/reconciliation/reconciliation.go 's/timeout = slow\.StepTime\(\)/_ = slow/' '^TestASlowComparisonHasMoreTime$' ./internal/platform/reconciliation
mutant "begin a video again whose files were not compared in one step" internal/service/video/compare.go 's/if n == at\.video \{/if n == at.video \&\& false {/' '^TestAVideoWithManyFilesIsComparedInSeveralSteps$' ./internal/service/video
mutant "wait for a set that cannot be counted in time" internal/platform/counter/reconcile.go 's/if err != nil \&\& late \&\& !last \{/if err != nil \&\& late \&\& false {/' '^TestASetThatIsTooLargeDoesNotStopTheRound$' ./internal/platform/counter
mutant "forget messages that were read when the next read is slow" internal/service/search/compare_messages.go 's/if err == nil \|\| m\.items > 0 \{/if err == nil {/' '^TestSlowReadsDoNotStopComparisons$' ./internal/service/search
mutant "read messages in all of the time of a step" internal/service/search/compare_messages.go 's/ends\.Sub\(now\)\/2/ends.Sub(now)/' '^TestSlowReadsDoNotStopComparisons$' ./internal/service/search
mutant "begin again with streams whose comparison took too long" internal/service/inbox/compare.go 's/if err != nil \&\& step\.Items > 0 \{/if err != nil \&\& step.Items < 0 {/' '^TestStreamsAreComparedInSeveralSteps$' ./internal/service/inbox
mutant "believe a file that has its size" internal/service/media/compare_files.go 's/!= u\.checksum\.sum \{/!= u.checksum.sum \&\& false {/' '^TestFlippedBitsAreFound$' ./internal/service/media
mutant "store no checksum of parts" internal/service/media/parts.go 's/int64\(partsAttempt\), sum\.sum, sum\.piece/int64(partsAttempt), "", sum.piece/' '^TestFlippedBitsAreFound$' ./internal/service/media
mutant "store the checksum of a picture with its metadata" internal/service/media/complete_upload.go 's/u\.checksum, err = s\.put\(/_, err = s.put(/' '^TestFlippedBitsAreFound$' ./internal/service/media
mutant "begin a large file again in each step" internal/service/media/compare_files.go 's/if n == at\.upload \{/if n == at.upload \&\& false {/' '^TestALargeFileIsComparedInSeveralSteps$' ./internal/service/media
mutant "read a large file in one step" internal/platform/reconciliation/pieces.go 's/if !isFirst \&\& items >= limit \{/if !isFirst \&\& items < 0 {/' '^TestALargeFileIsComparedInSeveralSteps$' ./internal/service/media
sockets=internal/transport/gateway
mutant "push a batch to who ended to follow during it" $sockets/large_batch.go 's/if following < 0 \{/if false {/' '^TestAFollowerMayLeaveDuringAPush$' $sockets
mutant "change who follows before what came first is pushed" $sockets/deliverer.go '/case message\.DeliverFollow, message\.DeliverUnfollow:$/,/changeFollows/s/d\.pushBatch\(\)//' '^TestEntriesArePushedTogetherInOrder$' $sockets
mutant "push batches of any size" $sockets/large_batch.go 's/len\(b\.bodies\)\+len\(body\) > maxBatch/len(b.bodies)+len(body) < 0/' '^TestBatchesFitIntoAFrame$' $sockets
mutant "push entries of two conversations together" $sockets/large_batch.go 's/b\.conversation != n\.Conversation \|\| //' '^TestBatchesFitIntoAFrame$' $sockets
mutant "count a batch as one event" $sockets/large_batch.go 's/int64\(len\(b\.entries\) - 1\)/0*int64(len(b.entries))/' '^TestEntriesArePushedTogetherInOrder$' $sockets
mutant "change the bytes of a push that others share" $sockets/conn.go 's/if c\.out != nil \&\& !c\.out\.shared \{/if c.out != nil {/' '^TestSharedFramesAreNotChanged$' $sockets
mutant "put shared bytes into the pool" $sockets/conn.go 's/if !b\.shared \&\& cap/if cap/' '^TestSharedFramesAreNotChanged$' $sockets
mutant "copy the bytes of a push for each connection" $sockets/large_batch.go 's/^\tif c\.out == nil \{/\tif c.out == nil \&\& len(b.fields) == 0 {/' '^TestSharedFramesAreNotChanged$' $sockets
mutant "send frames of WebSocket over TCP" $sockets/large_batch.go 's/^\tif c\.prefixed \{/\tif false {/' '^TestSharedFramesAreNotChanged$' $sockets
mutant "deliver what is for many before what is for one" $sockets/deliverer.go 's/if d\.large != nil \&\& d\.isForFollowers\(\) \{/if false {/' '^TestPushesToManyDoNotDelayWhatIsForOne$' $sockets
mutant "wait for a lane that has ended" $sockets/large_lane.go 's/^\tl\.closed, l\.queued = true, nil$/\tl.queued = nil/' '^TestALaneThatHasEnded' $sockets
mutant "push to many before the last push is written" $sockets/large_lane.go 's/^\t\t\t\tf\.awaitLater\(\)$/\t\t\t\t_ = f/' '^TestALaneWaitsForWrites$' $sockets
mutant "queue any number of pushes to many" $sockets/large_lane.go 's/for len\(l\.queued\) > maxQueuedLarge \&\& !l\.closed \{/for false {/' '^TestALaneWaitsForWrites$' $sockets
mutant "yield by the poller on a busy processor" $sockets/poll_yielder.go 's/if f\.credit < 0 \{/if false {/' '^TestYieldingTakesNoLongerThanTheWork$' $sockets
mutant "write a slice for any time" $sockets/flusher.go 's/time\.Since\(began\) > f\.most/time.Since(began) < 0/' '^TestSlicesEndInTime$' $sockets
mutant "write receipts behind what is for many" $sockets/flusher.go 's/^\tgroup\.Go\(func\(\) \{ f\.runLater\(ctx\) \}\)$/\tf.runLater(ctx)/' '^TestWhatIsForOneIsWrittenDuringAYield$' $sockets
mutant "write what is for many in one go" $sockets/flusher.go 's/^\t\t\tf\.yield\(\)$//' '^TestOthersGoOnAfterEachSlice$' $sockets
mutant "leave old texts in what quotes show" internal/service/chat/get_messages.go 's/return list, s\.current\(ctx, u, readable, .*$/return list, nil/' '^TestQuotesHaveNoOldTexts$' internal/service/chat
mutant "leave old texts in exports of users" internal/service/chat/get_messages.go 's/return list, s\.current\(ctx, u, readable, .*$/return list, nil/' '^TestExportsHaveNoOldTexts$' internal/service/chat
mutant "export the edits of what was recalled" internal/service/chat/export_all.go 's/return target\.recallSeq == 0 \|\|/return target.recallSeq < 1<<62 ||/' '^TestExportsHaveNoOldTexts$' internal/service/chat
mutant "leave a recalled text in exports of deployments" internal/service/chat/export_all.go 's/if st\.recallSeq != 0 \&\& m\.Entry\.Updates == 0 \{/if st.recallSeq > 1<<62 {/' '^TestExportsHaveNoOldTexts$' internal/service/chat
mutant "quote a recalled message in the terminal" internal/tool/terminal/message.go 's/case target\.RecallSeq != 0:/case target.RecallSeq > 1<<62:/' '^TestPagesSkipUpdates$' internal/tool/terminal
mutant_ts "quote a recalled text" src/updates.ts 's/content: create\(ContentSchema\), text: "", recallSeq/recallSeq/' test/unit/updates.test.ts
mutant "send the cookies of a client to an origin" internal/transport/edge/upload.go 's/return name == "Cookie" \|\|/return/' '^TestUploadsGoToAnOrigin$' ./internal/transport/edge
mutant "sign an S3 request for another host" internal/transport/edge/upload.go 's/, r\.Host, http\.Header\{\}/, "", http.Header{}/' '^TestUploadsGoToAnOrigin$' ./internal/transport/edge
mutant "let any path of uploads through an edge" internal/transport/edge/upload.go 's/if !ok \|\| !isNumber\(name\)/if !ok || name == ""/' '^TestUploadsAreChecked$' ./internal/transport/edge
mutant "let any number of uploads through an edge" internal/transport/edge/edge.go 's/NewConnections\(uploadsOfNetwork, uploadsAtOnce\)/NewConnections(uploadsOfNetwork, 10*uploadsAtOnce)/' '^TestUploadsAreNotKept$' ./internal/transport/edge
mutant "give up an upload with the first origin" internal/base/egress/stream.go 's/case !isUnreached\(err\):/case err != nil:/' '^TestUploadsFindAnOrigin$' ./internal/transport/edge
mutant "take a client that breaks off for a failure of the origin" internal/base/egress/stream.go 's/\!body\.ended\.Load\(\)/false/' '^TestUploadsAreNotKept$' ./internal/transport/edge
mutant "send parts past the edges" sdk/go/edges.go 's/^\t\tr, err := http\.NewRequestWithContext\(within, http\.MethodPut, at, body\)$/\t\t_ = at\n\t\tr, err := http.NewRequestWithContext(within, http.MethodPut, address, body)/' '^TestTheGoClientSendsPartsThroughEdges$' ./internal/app
mutant_ts "send parts past the edges" src/putFile.ts 's/let at = edges\.place\(url, tried, "send"\);/let at = new URL(url, to.url).href;/' test/unit/edges.test.ts
mutant_ts "wait for an edge that takes no more bytes" src/putFile.ts 's/=== given \? putFile : putUnlessSilent/=== given ? putUnlessSilent : putFile/' test/unit/edges.test.ts
mutant "leave out frames for which a file has no time" internal/platform/transcode/inspect.go 's/l\.untimed\+\+/l.untimed += 0/' '^TestNegativeTimes$' ./internal/platform/transcode
mutant "look for frames without a time by their time" internal/platform/transcode/inspect.go 's/l\.pts\[i\] <= l\.seekable/l.pts[i] < -l.seekable/' '^TestNegativeTimes$' ./internal/platform/transcode
mutant "begin the sound before its picture" internal/platform/transcode/encode.go 's/asetpts=PTS\+%s\/TB/asetpts=PTS+0*%s\/TB/' '^TestNegativeTimes$' ./internal/platform/transcode
mutant "try a copy again in which ffmpeg finds a mistake of its own" internal/platform/transcode/sandbox.go 's/code == aborted \|\| //' '^TestFailedCopy$' ./internal/platform/transcode
mutant "begin to count again where a picture changes its size" internal/platform/transcode/encode.go 's/"-reinit_filter:v", "0"/"-reinit_filter:v", "1"/' '^TestChangingSize$' ./internal/platform/transcode
mutant "copy a picture that changes its size" internal/platform/transcode/check.go 's/\|\| changes \{/|| changes \&\& false {/' '^TestChangingSize$' ./internal/platform/transcode
mutant "copy no picture that repeats its parameters" internal/platform/transcode/track.go 's/bytes\.Equal\(p, unit\)/false/' '^TestChangingSize$' ./internal/platform/transcode
mutant "show a cover as the video" internal/platform/transcode/inspect.go 's/picture == nil \|\| stream\.isBetterThan\(picture\)/picture == nil/' '^TestCovers$' ./internal/platform/transcode
mutant "look for a poster after the last frame" internal/platform/transcode/encode.go 's/max\(0, min\(at, last\)\), r, dir\)/at+0*last+time.Minute, r, dir)/; s/t\.poster\(ctx, in, s, 0, r, dir\); errors/t.poster(ctx, in, s, at, r, dir); errors/' '^TestOneFrame$' ./internal/platform/transcode
mutant "try again what ffmpeg cannot decode" internal/platform/transcode/encode.go 's/f\.code\(\) == tooDamaged/f.code() == -tooDamaged/' '^TestFailedChunk$' ./internal/platform/transcode
mutant "take any failure of ffmpeg for a damage" internal/platform/transcode/encode.go 's/f\.code\(\) == tooDamaged/f.code() > 0/' '^TestFailedChunk$' ./internal/platform/transcode
mutant "commit a group that is not full while many items arrive" internal/engine/sqldb/merged.go 's/>= fullMerged\/2$/>= 1<<40/' '^TestGroupsWaitForFurtherItemsUnderLoad$' internal/engine/sqldb
mutant "let a group wait that is full" internal/engine/sqldb/merged.go 's/^\t\tclose\(group\.full\)$/\t\t_ = group.full/' '^TestGroupsWaitForFurtherItemsUnderLoad$' internal/engine/sqldb
mutant "expect items as in a time that is long over" internal/engine/sqldb/merged.go 's/max\(a\.took, now\.Sub\(a\.last\), time\.Microsecond\)/max(a.took, time.Microsecond)/' '^TestArrivalsAreEstimated$' internal/engine/sqldb
mutant "write for readers who pull" internal/service/feed/home.go 's/err = s\.closeWindow\(ctx, reader\)/err = ctx.Err()/' '^Test(AMoveOfAReaderGoesOnAfterACrash|PullingReadersCloseTheirWindows)$' internal/service/feed
mutant "leave the window of a reader who begins to pull open" internal/service/feed/pulling_readers.go 's/return s\.closeWindow\(ctx, reader\)/return ctx.Err()/' '^TestPullingReadersCloseTheirWindows$' internal/service/feed
mutant "let no reader pull" internal/service/feed/home.go 's/case h\.followed >= s\.config\.ReaderPullAbove:/case h.followed < 0:/' '^Test(ReadersChangeTheirTier|RandomSchedulesEqualTheNaiveFeed)$' internal/service/feed
mutant "let readers pull for ever" internal/service/feed/pulling_readers.go 's/if followed < s\.config\.ReaderPushBelow \{/if followed < 0 {/' '^TestReadersChangeTheirTier$' internal/service/feed
mutant "move readers back without hysteresis" internal/service/feed/pulling_readers.go 's/if followed < s\.config\.ReaderPushBelow \{/if followed < s.config.ReaderPullAbove {/' '^TestReadersChangeTheirTier$' internal/service/feed
mutant "keep the row of a reader who does not pull any more" internal/service/feed/pulling_readers.go 's/`DELETE FROM feed_pulling_readers WHERE reader = \$1`/`DELETE FROM feed_pulling_readers WHERE reader = -$1`/' '^TestReadersChangeTheirTier$' internal/service/feed
mutant "push the posts of an author with very many" internal/service/feed/publish.go 's/ \|\| entries >= uint64\(s\.config\.PullEntriesAbove\)//' '^TestAuthorsWithManyPostsArePulled$' internal/service/feed
mutant "push an author again when a day begins" internal/service/feed/publish.go 's/max\(a\.windowPosts, a\.windowBefore\)/a.windowPosts/' '^TestAuthorsWithManyPostsArePulled$' internal/service/feed
mutant "keep the posts of a day long ago" internal/service/feed/publish.go 's/if now >= end\+quotaWindow\.Milliseconds\(\) \{/if now < 0 {/' '^TestAuthorsWithManyPostsArePulled$' internal/service/feed
mutant "take a scan of the newest posts for one of all" internal/service/feed/pull.go 's/low = floor; len\(all\) == rows/low = floor; len(all) < 0/' '^Test(RandomSchedulesEqualTheNaiveFeed|PageOfMoreAuthorsThanAQueryNames)$' internal/service/feed
mutant "show posts of all users that a scan reads" internal/service/feed/pull.go 's/return !isOf\[r\.author\]/return r.author == 0/' '^TestRandomSchedulesEqualTheNaiveFeed$' internal/service/feed
mutant "take a first flush of small memtables for late" internal/engine/timeline/pebblelog/yield.go 's/i\.InputBytes > memTableSize/i.Input > 1/' '^TestTheFirstFlushYields$' ./internal/engine/timeline/pebblelog
mutant "apply updates while all partitions wait" internal/service/fanout/apply_updates.go 's/^\treturn nil, errApplying$/\t<-a.done\n&/' DelayNoOtherPartition ./internal/service/fanout
mutant "dispatch past updates that are being applied" internal/service/fanout/apply_updates.go 's/^\treturn nil, errApplying$/\treturn nil, nil/' UpdatesAreApplied ./internal/service/fanout
mutant "write to sockets when nothing else is ready" internal/transport/gateway/flusher.go 's/yielder\.yield\(\)/runtime.Gosched()/; s/^\t"sync"$/\t"runtime"\n&/; s/^\tyielder := newReadyYielder\(\)$//; s/^\tdefer yielder\.close\(\)$//' WaitsForNoBurst ./internal/transport/gateway
mutant "write to sockets before what is ready" internal/transport/gateway/ready_yielder.go 's/^\ty\.next <- struct\{\}\{\}$//' LetsReadyGoroutinesGoFirst ./internal/transport/gateway
mutant "say in English what the server refuses" internal/tool/terminal/refusal.go 's/^\tif !speaksChinese\(\) \{$/\tif true {/' RefusalsAreInTheUsersLanguage ./internal/tool/terminal
mutant "say nothing of the code of a refusal" internal/tool/terminal/refusal.go 's/\{r\.reason, r\.code\}/{r.reason}/' RefusalsAreInTheUsersLanguage ./internal/tool/terminal
mutant "add any part that another node forwards" internal/service/streamedmessage/wire.go 's/^\t\tcase err != nil: .*$/\t\tcase err != nil \&\& q == nil:/' '^FuzzRequests$' ./internal/service/streamedmessage
mutant "read a number of any depth" internal/tool/importer/extended_json.go 's/ && depth > 0 \{/ \&\& depth > -1000 {/' '^TestNumbersAreNotNestedDeeply$' ./internal/tool/importer

mutant "let nodes start while timelines move back" internal/tool/move/to_postgres.go 's/d\.agree\(ctx, tx, d\.placeWhileMoving\(\)\)/d.agree(ctx, tx, d.from)/' '^TestTimelinesMoveBack$' ./internal/tool/move
mutant "copy timelines back without freezing them" internal/tool/move/to_postgres.go 's/wait, err = d\.log\.Freeze\(ctx\)/wait, err = 0, d.log.CanFreeze(ctx)/' '^TestTimelinesMoveBack$' ./internal/tool/move
mutant "freeze timelines after the move back was aborted" internal/tool/move/to_postgres.go 's/d\.whileLatest\(ctx, func\(/func(do func(context.Context) error) error { return do(ctx) }(func(/' '^TestASuspendedRunChangesNothingAfterAnAbort$' ./internal/tool/move
mutant "continue a move back whose abort was stopped" internal/tool/move/sharedtimelines.go 's/case s\.aborting:/case s.aborting \&\& m.run == "":/' '^TestAnAbortedMoveBack$' ./internal/tool/move
mutant "keep the copy of a move back that is aborted" internal/tool/move/to_postgres.go 's/return pglog\.Discard\(ctx, tx\)/return nil/' '^TestAnAbortedMoveBack$' ./internal/tool/move
mutant "leave nodes no place after a move back was aborted" internal/tool/move/to_postgres.go 's/return d\.agree\(ctx, tx, d\.from\)/return nil/' '^TestAnAbortedMoveBack$' ./internal/tool/move
mutant "keep positions of the move before one back" internal/tool/move/sharedtimelines.go 's/if err := m\.forgetParts\(ctx, tx\); err != nil \{ /if err := ctx.Err(); err != nil { /' '^TestTimelinesMoveBack$' ./internal/tool/move
mutant "require equal counters of devices from Cassandra" internal/tool/move/compare.go 's/ \&\& !m\.countersAhead//' '^TestTimelinesMoveBack$' ./internal/tool/move
mutant "move back timelines that are elsewhere" internal/tool/move/to_postgres.go 's/if place != d\.from \{/if place == "" {/' '^TestRefusedMovesBack$' ./internal/tool/move
mutant "keep the freeze of the move before one back" internal/engine/timeline/pglog/recreate.go 's/^DROP FUNCTION IF EXISTS log_frozen\(\) CASCADE/SELECT/' '^TestTimelinesMoveBack$' ./internal/tool/move
mutant "let servers acquire partitions of frozen timelines" internal/engine/timeline/cassandralog/freeze.go 's/, newRename\("partitions", "store", "frozen_store"\)//' '^TestStatementsNameColumnsThatAreRenamed$' ./internal/engine/timeline/cassandralog
mutant "let servers expire entries of frozen timelines" internal/engine/timeline/cassandralog/statements.go 's/\(part, seq, tok\) >= \(0, \?, 0x\) AND \(part, seq, tok\) < \(0, \?, 0x\)/part = 0 AND seq >= ? AND seq < ?/' '^TestStatementsNameColumnsThatAreRenamed$' ./internal/engine/timeline/cassandralog
mutant "let no server read frozen timelines" internal/engine/timeline/cassandralog/statements.go 's/seq DESC LIMIT/seq DESC, tok DESC LIMIT/' '^TestStatementsNameColumnsThatAreRenamed$' ./internal/engine/timeline/cassandralog
mutant "let servers read timelines that have moved back" internal/tool/move/to_postgres.go 's/d\.whileLatest\(ctx, d\.log\.Retire\)/d.whileLatest(ctx, d.log.CanFreeze)/' '^TestTimelinesMoveBack$' ./internal/tool/move
mutant "compress answers of any size" internal/transport/rpc/body_limits.go 's/least := minCompressed/least := 0/' '^TestSmallAnswersAreNotCompressed$' ./internal/transport/rpc
mutant "list the differences of a comparison that does not exist" internal/platform/reconciliation/repair.go 's/return nil, errNoComparison/return nil, nil/' '^TestACorrectedDifferenceIsVisible$' ./internal/platform/reconciliation
mutant "let older notices make removed users follow" internal/transport/gateway/deliverer.go 's/if d\.large != nil \{$/if false {/' '^TestARemovalEndsFollowsThatWait$' ./internal/transport/gateway
mutant "deliver an update that was missing as it was stored" internal/service/fanout/apply_updates.go 's/a\.updates\.covers\(updates\)/true/' '^TestAnUpdateThatWasMissingIsApplied$' ./internal/service/fanout
mutant "push before the last hint" $sockets/large_batch.go 's/if c\.awaitsLastHint\(b\.conversation, .*\{$/if false {/' '^Test(APushBehindTheLastHintIsHinted|PushesResumeBehindTheLastHint)$' $sockets
mutant "push before an earlier hint that waits" $sockets/hot_conversations.go 's/^\t\t\tto\.markLastHint\(c\)$/\t\t\t_ = to/' '^TestPushesResumeBehindAnEarlierHint$' $sockets
mutant "push no corrections before the hint of a hot group" $sockets/hot_conversations.go 's/grownTo\{g\.conversation, g\.seq, false\}/grownTo{g.conversation, g.seq, true}/' '^TestCorrectionsOfAHotConversationArePushed$' $sockets
mutant "keep subscriptions when one fails" $sockets/large_lane.go 's/^\t\t\t\tcancel\(\)$/\t\t\t\t_ = cancel/' '^TestASubscriptionThatFailsLeavesNone$' $sockets
mutant "keep lanes that nobody runs" $sockets/large_lane.go 's/^\t\t\t\tl\.close\(\)$/\t\t\t\t_ = l/' '^TestASubscriptionThatFailsLeavesNone$' $sockets
mutant "count what waits for a push with the bus's message" $sockets/deliverer.go 's/^\t\t\td\.large\.add\(first\[:len\(first\)-len\(data\)\]\)$/&\n\t\t\tdelivered++/' '^TestDeliveriesAreCountedInOneBatch$' $sockets
mutant "write again before the next signal" $sockets/flusher.go 's/if list, later = f\.writeConns\(list\); later \{/if list, later = f.writeConns(list); len(list) > 0 {\n\t\t\tlist, later = f.writeConns(list)\n\t\t}\n\t\tif later {/' '^TestWhatIsAddedDuringAWriteWaitsForItsSignal$' $sockets
mutant "fill the window of a reader before it does not pull" internal/service/feed/pulling_readers.go 's/if err := s\.stopPulling\(/if err := s.buildWindow(/; s/return s\.buildWindow\(/return s.stopPulling(/' '^TestAMoveOfAReaderGoesOnAfterACrash$' internal/service/feed
mutant "let servers change states of frozen timelines" internal/engine/timeline/cassandralog/segment.go '/^\tb\.Query\(deleteRange, /d' '^TestBatchesOfStatesAreRefused$' ./internal/engine/timeline/cassandralog
mutant "let servers move heads of frozen timelines" internal/engine/timeline/cassandralog/expire.go 's/b := l\.stateBatch\(ctx, k, &s, &after\).*$/b := l.batch(ctx)\n\tl.updateState(b, k, \&s, \&after)/' '^TestBatchesOfStatesAreRefused$' ./internal/engine/timeline/cassandralog
mutant "set a deadline after a body has arrived" internal/base/inputlimit/body.go 's/^\tcase b\.ended:$/\tcase false:/' '^(TestRequestsOutliveTheirBodies|TestSlowUploads)$' ./internal/base/inputlimit ./internal/transport/edge
mutant "let a body stall for an hour" internal/base/inputlimit/body.go 's/^(\tchunkTimeout = )30/\13600/' '^(TestBodiesStall|TestSlowUploads)$' ./internal/base/inputlimit ./internal/transport/edge
mutant "give a body any time" internal/base/inputlimit/body.go 's/^\tif b\.deadline\.Before\(at\) \{$/\tif false {/' '^TestBodiesStall$' ./internal/base/inputlimit
mutant "set deadlines for the request after that of a body" internal/base/inputlimit/body.go 's/^\t\tb\.failure = http\.ErrBodyReadAfterClose$//' '^TestClosedBodies$' ./internal/base/inputlimit
mutant "take the end of a request for the cause of a stall" internal/base/inputlimit/body.go 's/^\tcase <-b\.gone:$/\tcase <-make(chan struct{}):/' '^TestTheCauseIsThatOfTheRead$' ./internal/base/inputlimit
mutant "answer an upload that no origin has stored" internal/transport/edge/upload.go 's/panic\(http\.ErrAbortHandler\)/return/' '^TestAnUploadWithoutAnAnswer' ./internal/transport/edge
mutant "leave a client that stalls without an answer" internal/transport/edge/upload.go 's/^(\tcase r\.Context\(\)\.Err\(\) != nil) \&\& .*:$/\1:/' '^TestSlowUploads$' ./internal/transport/edge
mutant "give an origin no time to join parts" internal/transport/edge/upload.go 's/within\+joinTime/within/' '^TestSlowUploads$' ./internal/transport/edge
mutant "give an origin an hour to answer" internal/transport/edge/upload.go 's/within\+joinTime/time.Hour/' '^TestSlowUploads$' ./internal/transport/edge
mutant "leave the body of an upload open" internal/transport/edge/upload.go 's/^\tdefer body\.Close\(\).*$//' '^TestUploadsAreNotReadLater$' ./internal/transport/edge
mutant "count no failures of uploads without a body" internal/base/egress/stream.go 's/body\.ended\.Store\(u\.Length == 0\)/body.ended.Store(false)/' '^TestWhichUploadsOpenTheCircuit$' ./internal/base/egress
mutant "send an upload that has begun to another origin" internal/base/egress/stream.go 's/case !isUnreached\(err\):/case false:/' '^TestUploadsFindAnOrigin$' ./internal/transport/edge
mutant "push what is older than the rows that a follow is from" internal/transport/gateway/large_batch.go 's/b\.entries\[i\]\.seq > above/above >= 0/' '^TestWhatIsOlderThanTheRowsIsNotPushed$' ./internal/transport/gateway
mutant "push to greeted connections what is older than the rows" internal/transport/gateway/greet.go 's/c\.limitPushes\(l, tails\[i\]\)/_ = l/' '^TestWhatIsOlderThanTheRowsIsNotPushed$' ./internal/transport/gateway
mutant "push to reconciled connections what is older than the rows" internal/transport/gateway/reconcile_follows.go 's/of\.conn\.addFollow\(to, above\)/of.conn.addFollow(to, 0)/' '^TestWhatIsOlderThanTheRowsIsNotPushed$' ./internal/transport/gateway
mutant "read from no edge that fails to take uploads" sdk/go/edges.go 's/^\t\t\te\.fail\(edge, use\)$/\t\t\te.fail(edge, reading)/' '^TestEdgesFailAtOneUse$' sdk/go
mutant "leave an edge that is busy" sdk/go/edges.go 's/^\t\tif !busy \{$/\t\tif busy || true {/' '^TestEdgesFailAtOneUse$' sdk/go
mutant "leave an edge that takes no bytes for ten seconds" sdk/go/edges.go 's/silence\.Reset\(putSilence\)/silence.Reset(edgeSilence)/' '^TestSlowUploadsAreSentOnce$' sdk/go
mutant "leave an edge that stores for half a minute" sdk/go/edges.go 's/silence\.Reset\(putAnswer\)/silence.Reset(putSilence)/' '^TestSlowUploadsAreSentOnce$' sdk/go
mutant "end a request by a read after its answer" sdk/go/edges.go 's/^\ts\.silence = nil$//' '^TestLateReadsOfUploads$' sdk/go
mutant "end a load when a busy server refuses a call" internal/tool/bench/user_calls.go 's/case "too_many_requests", "too_many_calls"/case "too_many_requests"/' '^TestCallsThatABusyServerRefusesAreRepeated$' ./internal/tool/bench
mutant_ts "read from no edge that fails to take uploads" src/edges.ts 's/this\.failed\[use\]\.set\(/this.failed.read.set(/' test/unit/edges.test.ts
mutant_ts "leave an edge that is busy" src/putFile.ts 's/busy \? edges\.other\(at, tried, "send"\) : //' test/unit/edges.test.ts
mutant_ts "leave an edge that stores for half a minute" src/putFile.ts 's/sent < file\.size \? silenceMs : answerMs/silenceMs/' test/unit/edges.test.ts
mutant "kill a program that waits for a processor" internal/platform/transcode/sandbox.go 's/patience( +)= 10 /patience\1= 1 /' '^TestSandboxEnds$' ./internal/platform/transcode
mutant "reset nobody whose stream is empty" internal/service/inbox/sync.go 's/known = len\(large\[0\]\) > 0/known = false \&\& len(large) > 0/' '^TestWhoHasOnlyLargeGroupsIsReset$' ./internal/service/inbox
mutant "send cursors of lost messages again" sdk/go/reset.go 's/^\tclear\(c\.marks\)$//' '^TestWhatWaitsAfterAReset$' sdk/go
mutant "change messages that have the numbers of lost ones" sdk/go/reset.go 's/UpdateTarget\(\&chatv1\.Message\{Content: content\}\) == 0/true/' '^TestWhatWaitsAfterAReset$' sdk/go
mutant "send a message that may be stored with another content" sdk/go/reset.go 's/ \|\| u\.ClientSeq <= c\.storedClientSeq \{/ {/' '^TestAnAnswerThatMayBeStored$' sdk/go
mutant "show no new message with a number that was shown before a reset" internal/tool/terminal/show.go 's/^\ts\.shown, s\.oldest, s\.mine, s\.day = 0, 0, 0, ""$//' '^TestAfterAReset$' ./internal/tool/terminal
mutant "believe damaged files of videos" internal/service/video/compare.go 's/ \&\& !bytes\.Equal\(c\.at\.pieces\.Sum, f\.sum\)/ \&\& len(f.sum) == 0 \&\& !bytes.Equal(nil, nil)/' '^TestDamagedFilesOfVideosAreFound$' ./internal/service/video
mutant "compare files with the checksums of another attempt" internal/service/video/checksums.go 's/int64\(of\) != attempt/int64(of) != attempt \&\& false/' '^TestStoredChecksums$' ./internal/service/video
mutant_ts "send what names messages before the stream is known" src/outbox.ts 's/ \|\| \(!this\.whole \&\& seqIn\(item\) > 0\)//' test/unit/restored.test.ts
mutant_ts "take another message for the same after a reset" src/references.ts 's/known\.get\(m\.seq\) === m\.id/known.has(m.seq)/' test/unit/restored.test.ts
mutant_ts "keep cursors of lost messages" src/sync.ts 's/^      this\.deps\.marks\.forget\(\);.*$//' test/unit/restored.test.ts
mutant "end a call at the deadline of its body" internal/transport/rpc/body_limits.go 's/SetReadDeadline\(time\.Now\(\)\.Add\(2 \* callTime\)\)/SetReadDeadline(b.started.Add(bodyTime))/' '^TestACallOutlivesASlowBody$' ./internal/transport/rpc
mutant "believe an answer about an impossible clock" internal/platform/cluster/clock_offset.go 's/asked\.Sub\(there\)\.Abs\(\) > maxClockError/asked.Before(time.Time{})/' '^FuzzProbes$' ./internal/platform/cluster
mutant "take a list of tokens for one" internal/service/push/subscription.go 's/ \|\| c == \x27,\x27//' '^TestATokenIsOfOneDevice$' ./internal/service/push
mutant "use a token for as long as its provider says" internal/service/push/provider.go 's/min\(max\(got\.Seconds, 0\), int64\(maxTokenLife\/time\.Second\)\)/max(got.Seconds, 0)/' '^FuzzAnswers$' ./internal/service/push
mutant "keep the token in what is kept of an answer" internal/service/push/getui.go 's/strings\.ReplaceAll\(got\.Message, token, "…"\)/got.Message/' '^FuzzAnswers$' ./internal/service/push
mutant "push to port 80" internal/base/egress/post.go 's/u\.Port\(\) \!= "443"/u.Port() == "0"/' '^TestEndpointsInTheNetworkAreRefused$' ./internal/service/push
mutant "call the own listener another program" internal/app/serve.go 's/l\.Addr\(\)\.String\(\) == taken\.Addr\.String\(\)/false/' '^TestOneAddressForTwoListeners$' ./internal/app
mutant "write a blank of an issuer as a plus" internal/base/auth/totp.go 's/strings\.ReplaceAll\(query\.Encode\(\), "\+", "%20"\)/strings.TrimSpace(query.Encode())/' '^TestTOTPURI$' ./internal/base/auth
mutant "wait a minute for the headers of a request" internal/app/http2.go 's/ReadHeaderTimeout: 10/ReadHeaderTimeout: 60/' '^TestHeadersThatNeverEnd$' ./internal/app
mutant "leave all uploads of an edge to one address" internal/transport/edge/upload.go 's/network = s\.deps\.Network\(r\)/_ = s.deps.Network(r)/' '^TestUploadsAreShared$' ./internal/transport/edge
mutant "accept a ban of the server's own machine" internal/service/moderation/ban.go 's/p\.Addr\(\)\.IsLoopback\(\) \|\| p\.Contains\(netip\.IPv6Loopback\(\)\)/p.Addr().IsMulticast()/' '^TestBansOfNetworks$' ./internal/service/moderation
mutant "keep the words of a list out of the audit log" internal/service/moderation/words.go 's/if len\(only\) > 0 \{/if len(only) < 0 {/' '^TestWordLists$' ./internal/service/moderation
mutant "lose an imported message with its target" internal/service/chat/import_entries.go 's/case seq == 0 && isUpdate:/case seq == 0:/' '^TestARepliesTargetMayBeMissing$' ./internal/service/chat
mutant "let each scrape wait for a database that hangs" internal/platform/reconciliation/metrics.go 's/^\t\ts\.counts\.at = now$//' '^TestScrapesDoNotWaitForTheDatabaseAgain$' ./internal/platform/reconciliation
mutant "befriend whom one has removed" internal/tool/importer/openim.go 's/if !has\[\[2\]string\{f\.Friend, f\.Owner\}\] \{/if f.Owner == f.Friend {/' '^TestOpenIM$' ./internal/tool/importer
mutant "answer a webhook's deadline as the call's" internal/transport/rpc/rpc.go 's/e\.Kind == errs\.Unavailable && e\.Reason != ""/e.Kind == errs.Unavailable \&\& e.Reason == ""/' '^TestServiceErrorsHaveCodeAndStatus$' ./internal/transport/rpc
mutant "give each connection of a flooding user a window" internal/transport/gateway/sender.go 's/return u\.weight\.Load\(\) >= userInFlight/return false/' '^TestFloodOfOneUserHasOneWindow$' ./internal/transport/gateway
mutant "forget what is in flight when a user's connections end" internal/transport/gateway/sender.go 's/if u\.conns\.Add\(-1\) == 0 && u\.weight\.Load\(\) == 0/if u.conns.Add(-1) == 0/' '^TestWindowOfUserSurvivesConnections$' ./internal/transport/gateway
mutant "count what waits for a webhook as in flight" internal/transport/gateway/send_window.go 's/case parked \&\& c\.server/case false \&\& c.server/' '^TestParkedSendsHaveTheirOwnBudget$' ./internal/transport/gateway
mutant "let one user fill the queue of before_send" internal/service/chat/before_send.go 's/User: maxUserBytes, //' '^TestBeforeSendHasAShareForEachUser$' ./internal/service/chat
mutant "read the next part of tus before the last one is recorded" $media/tus_patch.go 's/return a\.record\(context\.WithoutCancel\(ctx\)\)/return nil/' APartOfTusIsRecordedBeforeTheNextIsRead $media
mutant "take a broken connection for the end of a file" internal/engine/blob/diskblob/receive.go 's/err == io\.EOF \{/err == io.EOF || err == io.ErrUnexpectedEOF {/' ABrokenConnectionIsNoEnd ./internal/engine/blob/diskblob
mutant "cut clients that do not read a large piece in time" internal/base/outputlimit/paced.go 's/if k >= pieceSize \&\& errors/if false \&\& errors/' FilesForSlowClients ./internal/base/outputlimit
mutant "skip what a slow client has not read" internal/base/outputlimit/paced.go 's/_, err = file\.Seek\(from\+n, io\.SeekStart\)/_, err = from, nil/' FilesForSlowClients ./internal/base/outputlimit
mutant "write large pieces over TLS" internal/base/outputlimit/paced.go 's/r\.TLS == nil \&\& //' FilesForSlowClients ./internal/base/outputlimit
mutant "read the tails of a reconciliation for each connection of a user" internal/transport/gateway/reconcile_follows.go 's/slices\.Compact\(missing\)/missing/' '^TestAUsersConnectionsAreRepairedTogether$' ./internal/transport/gateway
mutant "push to removed users while tails cannot be read" internal/transport/gateway/reconcile_follows.go 's/(l\.fail\(err, func.*)$/\1; return/' '^TestAUsersConnectionsAreRepairedTogether$' ./internal/transport/gateway
mutant "speak English in a Chinese terminal" internal/tool/terminal/phrase.go 's/^\tif speaksChinese\(\) \{$/\tif false {/' '^TestTheScreenIsInTwoLanguages$' ./internal/tool/terminal
mutant "tell others of a channel by its lack of threads" internal/service/chat/start_thread.go 's/(readableRange\(ctx, st, u\); err != nil) \{/\1 \&\& false {/' '^TestNoThread$' ./internal/service/chat
mutant "compare a file behind a piece of another attempt's" internal/service/video/compare.go 's/if c\.at\.attempt != r\.stored \{/if false \&\& c.at.attempt != r.stored {/' '^TestDamagedFilesOfVideosAreFound$' ./internal/service/video
mutant "keep connections that are closed in line" internal/transport/gateway/conn.go 's/^\tc\.leaveQueue\(\).*$//' '^TestClosedConnectionsLeaveTheLine$' ./internal/transport/gateway
mutant "read on only after a receipt when messages are parked" internal/transport/gateway/send_window.go 's/if c\.reads == readPaused \{/if false \&\& c.reads == readPaused {/' '^TestReadingGoesOnWhenMessagesAreParked$' ./internal/transport/gateway
mutant "forget on a reset what was sent on the connection" sdk/go/send.go 's/max\(c\.storedClientSeq, f\.Sends\[n-1\]\.ClientSeq\)/max(c.storedClientSeq, 0)/' '^TestAnAnswerThatWasSentBeforeAReset$' sdk/go
mutant_ts "take messages for lost because the server is busy" src/references.ts 's/throw err; .*/return [];/' test/unit/restored.test.ts
mutant_ts "send a message that may be stored with another content" src/outbox.ts 's/if \(this\.maybeStored\(item\)\) continue;//' test/unit/outbox.test.ts
mutant_ts "forget on a reset what was sent on the connection" src/outbox.ts 's/this\.sent\.add\(item\.clientSeq\);//' test/unit/outbox.test.ts
mutant_ts "bring back a stored message at a reset" src/outbox.ts 's/const item = this\.find\(clientSeq\); .*/const item = lost.find((i) => i.clientSeq === clientSeq);/' test/unit/outbox.test.ts
mutant "schedule replies to what the sender may not read" internal/service/chat/scheduled.go 's/return s\.checkQuoted\(ctx, st, d\)/return nil/' '^TestScheduledRepliesAreChecked$' ./internal/service/chat
mutant "keep what a menu entry does beside its items" internal/tool/terminal/manage_official.go 's/entry\.Item\.Action, item = nil, entry/_, item = 0, entry/' '^TestMenusAreChangedInPart$' ./internal/tool/terminal
mutant "change the menu that was read" internal/tool/terminal/manage_official.go 's/^\tmenu = proto\.CloneOf.*$//' '^TestMenusAreChangedInPart$' ./internal/tool/terminal
mutant "heat a conversation by a late burst" internal/transport/gateway/hot_conversations.go 's/t\.ageBefore > lateAfter \&\& age > t\.ageBefore\+lateGrowth/age > lateAfter/' '^TestLateMessagesLowerTheRates$' ./internal/transport/gateway
mutant "push however late it is" internal/transport/gateway/hot_conversations.go 's/age > tooLate \|\| //' '^TestClocksThatAreBehindMakeNothingLate$' ./internal/transport/gateway
mutant "renew the row of a young streamed message as late as that of an old one" internal/service/streamedmessage/held.go 's/renewIn: firstRenewal\}/renewIn: renewInterval}/' '^TestAYoungMessageIsRenewedSoon$' ./internal/service/streamedmessage
mutant "leave deleted bytes in unused parts of pages" internal/engine/sqldb/sqlite.go 's/, "secure_delete\(ON\)"//' '^TestErasedUsersAreInNoBackupThatCanBeRead$' ./internal/app/apptest
mutant "give a forgotten device another number" internal/service/account/session.go 's/!forgotten \|\| !s\.isKnownDevice\(user, c\)/forgotten || !s.isKnownDevice(user, c)/' '^TestForgottenDevicesKeepTheirNumbers$' ./internal/service/account
mutant "give a forgotten number to any device" internal/service/account/session.go 's/!forgotten \|\| !s\.isKnownDevice\(user, c\)/!forgotten/' '^TestForgottenDevicesKeepTheirNumbers$' ./internal/service/account
mutant_ts "keep lists of what the server has lost" src/react/context.ts 's/\/\$\{c\.resets\}//' test/unit/feedReact.test.ts
mutant_ts "count no reset" src/client.ts 's/^        this\.resets\+\+;//' test/unit/restored.test.ts
mutant "confirm events before a webhook has them" internal/service/serverevent/deliver.go 's/^\t\tfailpoint\.Hit\("serverevent\/read"\)$/&\n\t\t_ = s.confirm(ctx, c.name, c.generation, map[timeline.Key]uint64{k: b.position}, nil)/' '^TestServerEventsKilledAtEachFailpoint$' ./internal/app/faulttest
mutant "fetch pages from the server itself" internal/base/egress/fetch.go 's/strings\.EqualFold\(own, strings\.TrimSuffix\(host, "\."\)\)/own == host+"."/' '^TestFetchesLeaveOutOwnHosts$' ./internal/base/egress
mutant "show control characters that a webhook gives as a reason" internal/platform/webhook/review.go 's/unicode\.IsControl\(r\)/unicode.IsControl(r) \&\& r < 128/' '^FuzzReviews$' ./internal/platform/webhook
mutant "store what a webhook neither allows nor refuses" internal/platform/webhook/review.go 's/return errNoVerdict/v.Allow = new(true)/' '^FuzzReviews$' ./internal/platform/webhook
mutant "choose an encoding that a client refuses" internal/app/webapp.go 's/return weight > 0$/return weight >= 0/' '^FuzzAcceptEncoding$' ./internal/app
mutant "accept more hits than were asked for" internal/engine/searchindex/opensearch/search.go 's/:min\(limit, len\(a\.Hits\.Hits\)\)\]/:]/; s/len\(a\.Hits\.Hits\) > limit\+1:/len(a.Hits.Hits) < 0:/' '^FuzzAnswers$' ./internal/engine/searchindex/opensearch
mutant "take an item without a result for written" internal/engine/searchindex/opensearch/apply.go 's/if len\(item\) != 1 \{/if len(item) > 1 {/' '^FuzzAnswers$' ./internal/engine/searchindex/opensearch
mutant "let new messages overtake what had no room" internal/transport/gateway/held_sends.go 's/^\t\t\tq\.refused\.Expect\(one\.draft\.ClientSeq, why, time\.Now\(\)\)$//' TestNewMessagesDoNotOvertake internal/transport/gateway
mutant "expect what a device has given up" internal/base/message/expected_retries.go 's/^\t\tr\.remove\(d\.PrevClientSeq\+1, d\.ClientSeq-1\)$//' TestRetriesAreGivenUp internal/base/message
mutant "let a message pass one that was refused with it" internal/base/message/expected_retries.go 's/if d\.ClientSeq > e\.first \&\& \(!e\.hasGaps/if d.ClientSeq > e.first \&\& (false/' 'TestLaterMessagesAreRefused|TestExpectedRetriesKeep' internal/base/message
mutant "keep what is given up by its renewals" internal/base/message/expected_retries.go 's/r\.add\(d\.ClientSeq, why, e\.until\)/r.Expect(d.ClientSeq, why, now)/' TestRetriesAreGivenUp internal/base/message
mutant "trust the previous number of a draft that nobody has validated" internal/base/message/expected_retries.go 's/ \&\& d\.PrevClientSeq < d\.ClientSeq \{/ {/' TestRetriesAreGivenUp internal/base/message
mutant "remember rejected messages without a bound" internal/base/message/expected_retries.go 's/for len\(r\.ranges\) > maxExpectedRetries \{/for len(r.ranges) > 100*maxExpectedRetries {/' 'TestMoreRetriesThan|FuzzExpectedRetries' internal/base/message
mutant "evict a conversation that expects a retry" internal/service/chat/chat.go 's/ \&\& \(!conv\.mailbox\.gate\.isClosed\(now\) \|\| withGates\) \{/ \&\& (!conv.mailbox.gate.isClosed(now) || withGates || true) {/' TestEvictionKeepsSenderGates ./internal/service/chat
mutant "acknowledge a recall before the pushes that wait" internal/service/chat/refresh_pushed.go 's/return s\.deps\.AwaitPushes\(ctx\)/return nil/' TestAcknowledgementsAwaitPushes ./internal/service/chat
mutant "await only what a lane has taken" internal/transport/gateway/large_lane.go 's/^\t\tlast\+\+$//' TestPushesOfALaneAreAwaited internal/transport/gateway
mutant "await a lane until it was taken" internal/transport/gateway/large_lane.go 's/^\t\tl\.taken\+\+$/\t\tl.taken++\n\t\tl.ended = l.taken/' TestPushesOfALaneAreAwaited internal/transport/gateway

mutant "push the text that the first attempt has read" internal/service/push/deliver.go 's/^\t"strings"$/&\n\t"sync"/; s/append\(list, page\.Messages\.\.\.\)/append(list, asFirstRead(page.Messages)...)/; $s/$/\n\nvar firstRead sync.Map\n\nfunc asFirstRead(list []*chatv1.Message) []*chatv1.Message {\n\tfor i, m := range list {\n\t\tfirst, _ := firstRead.LoadOrStore([2]uint64{m.Conversation, m.Seq}, m)\n\t\tlist[i] = first.(*chatv1.Message)\n\t}\n\treturn list\n}/' '^TestAnEditedMessageIsPushedWithItsNewText$' internal/service/push

mutant "leave the beginning of a part that a kill came before" $media/complete_upload.go 's/if err := s\.deleteTails\(ctx, n\); err != nil \{/if err := error(nil); err != nil {/' '^TestKilledWhileFilesAreUploaded$' ./internal/app/faulttest
mutant "take what a full disk has cut off for damage of the file" internal/platform/transcode/encode.go 's/case saysDiskIsFull\(said\):/case false:/' '^TestAFullDiskIsNoDamage$' ./internal/platform/transcode
mutant "take what ffmpeg could not write for damage of the file" internal/platform/transcode/encode.go 's/case err == nil \&\& saysNotWritten\(said\):/case false:/' '^TestAFullDiskIsNoDamage$' ./internal/platform/transcode
mutant "encode what could not be copied to a full disk" internal/platform/transcode/encode.go 's/if errs\.Is\(err, errs\.Unavailable\) \{/if false {/' '^TestFailedCopy$' ./internal/platform/transcode

mutant_ts "send cursors before the stream is known up to its end" src/session.ts 's/this\.replica\.conversations\.whole \&\& //' test/unit/restored.test.ts
mutant "let single bytes keep a body alive" internal/base/inputlimit/body.go 's/^(\tchunkSize    = )16 << 10/\11/' '^TestBodiesStall$' ./internal/base/inputlimit
mutant "count the time of a slow store as the client's" internal/base/inputlimit/body.go 's/^\tbegan := time\.Now\(\)$/\tbegan := b.deadline.Add(-time.Hour)/' '^TestSlowReadersDoNotStallBodies$' ./internal/base/inputlimit
mutant "let an upload hold its slot of an edge with few bytes" internal/transport/edge/upload.go 's/NewPacedBody\(w, r, within, uploadWait\)/NewBody(w, r, within)/' '^TestTricklingUploads$' ./internal/transport/edge
mutant "cut uploads that are starved for a minute" internal/transport/edge/upload.go 's/TransferTimeout\(4 \* bytes\)/TransferTimeout(0)/' '^TestTricklingUploads$' ./internal/transport/edge

mutant "unfreeze the log of a later move" internal/tool/move/to_postgres.go 's/d\.whileLatest\(ctx, d\.log\.Unfreeze\)/d.log.Unfreeze(ctx)/' '^TestASuspendedAbortChangesNoLaterMove$' ./internal/tool/move
mutant "recall a broadcast of the account that was listed last" internal/tool/terminal/broadcasts.go 's/if !isListed \{/if !isListed \&\& account == 0 {/' '^TestNumbersOfBroadcastsAreOfTheirAccount$' ./internal/tool/terminal
mutant "take new documents for too old by a rounding error" internal/engine/searchindex/searchindex.go 's/case total > r\.Score\(1, r\.NowMs\/1000\+1, 0\)\.Total: /case rest > 1: /' '^TestOldestKeepsEqualScores$' ./internal/engine/searchindex
mutant "log a difference that is not kept in each round" internal/platform/reconciliation/reconciliation.go 's/case isAdded \|\| f\.Corrected:/case known == 0 || f.Corrected:/' '^TestKeptDifferencesAreBounded$' ./internal/platform/reconciliation
mutant "keep the state of a complete export" internal/tool/exporter/export.go 's/ \|\| strings\.HasPrefix\(name, stateFile\+"\.new-"\)/ || strings.HasPrefix(name, "*")/' '^TestACompleteExportHasNoState$' ./internal/tool/exporter
mutant "say nothing of reads that a failed switch has stopped" internal/tool/move/to_postgres.go 's/if err == nil \|\| errors\.Is\(err, errOtherRun\) \{/if err == nil || !errors.Is(err, errOtherRun) {/' '^TestTimelinesMoveBack$' ./internal/tool/move
mutant "push entries of large conversations that may be outdated" internal/transport/gateway/hot_conversations.go 's/late \|\| h\.server\.mayBeOutdated\(e\.textMs\) \|\| t\.tokens/late || t.tokens/' 'TestEntriesThatMayBeOutdatedAreHinted' internal/transport/gateway
mutant "hint of a young entry, for the clock of another node" internal/transport/gateway/hot_conversations.go 's/Sub\(time\.UnixMilli\(textMs\)\) >= within/Sub(time.UnixMilli(textMs))-time.Duration(s.heats.clockBehind.Load()) >= within/' 'TestEntriesThatMayBeOutdatedAreHinted' internal/transport/gateway
mutant "push present forms of any age" internal/transport/gateway/hot_conversations.go 's/case s\.deps\.PushWithin == 0:/case s.deps.PushWithin > 0:/' 'TestEntriesThatMayBeOutdatedAreHinted' internal/transport/gateway
mutant "acknowledge a recall while the edit before it is young" internal/service/chat/refresh_pushed.go 's/return edits\[0\], nil/return m.Entry.Updates, nil/' 'TestRecallOfAYoungMessageIsAcknowledgedLater' internal/service/chat
mutant "show moderators no names of reporters" internal/service/moderation/names.go 's/users := append\(usersOf\(c\.Reports, \(\*moderationv1\.Report\)\.GetReporter\), c\.About\)/users := []uint64{c.About}/' '^TestModeratorsReadNames$' ./internal/service/moderation
mutant "look up the name of nobody" internal/service/moderation/names.go 's/len\(users\) > 0 \&\& users\[0\] == 0/false/' '^TestListsThatNameNobody$' ./internal/service/moderation
mutant "give moderators the bios of users" internal/service/moderation/names.go 's/Handle: u\.Handle,/Handle: u.Handle, Bio: u.Bio,/' '^TestModeratorsReadNames$' ./internal/service/moderation
mutant "withhold a recall because it is old" internal/transport/gateway/hot_conversations.go 's/content\.GetRecall\(\) != nil, isEdit$/content.GetRecall() != nil, true/' 'TestEntriesThatMayBeOutdatedAreHinted' internal/transport/gateway
mutant "push in a cluster as a single node does" internal/app/transports.go 's/if n\.config\.Clustered\(\) \{$/if !n.config.Clustered() {/' '^TestOnlyAClusterHintsOfOldTexts$' ./internal/app
mutant "wait for no round" internal/service/fanout/refresh.go 's/for _, l := range w\.lanes \{/for _, l := range w.lanes[:0] {/' '^TestRoundsAreAwaitedUntilTheyHaveDelivered$' ./internal/service/fanout
mutant "let two labels become one without a confirmation" internal/tool/terminal/replace_label.go 's/ \&\& rest != "yes":/ \&\& rest == "no":/' '^TestLabelsAreRenamedAndDeleted$' ./internal/tool/terminal
mutant "delete a label without a confirmation" internal/tool/terminal/replace_label.go 's/if !confirmed \|\| /if !confirmed \&\& label == "" || /' '^TestLabelsAreRenamedAndDeleted$' ./internal/tool/terminal
mutant "take a mistyped label for one that is replaced already" internal/tool/terminal/replace_label.go 's/if isOperator \&\& /if !isOperator \&\& /' '^TestLabelsAreRenamedAndDeleted$' ./internal/tool/terminal
mutant "count a full disk as a failure of a video" internal/service/video/process.go 's/if isStorageFull\(err\) && \(!final/if false \&\& (!final/' '^TestFullStorageIsAwaited$' ./internal/service/video
mutant "encode all chunks in vain on a full disk" internal/service/video/full_storage.go 's/^\twait := s\.pause\.delay\(s\.nowMs\(\)\)$/\twait := time.Duration(0)/' '^TestFullStorageIsAwaited$' ./internal/service/video
mutant "wait for storage for ever" internal/service/video/process.go 's/final = since > 0 && s\.waitedTooLong\(since\)/final = since < 0/' '^TestFullStorageIsAwaitedForADay$' ./internal/service/video
mutant "let chaos miss what is late while nodes restart" internal/tool/chaos/check_roles.go 's/if slowest\.took >= late \{/if slowest.took < 0 {/' EachViolation internal/tool/chaos
mutant "let chaos miss roles that were not restarted" internal/tool/chaos/check_roles.go 's/if kinds\[roles\] == nil \{/if kinds == nil {/' EachViolation internal/tool/chaos
mutant "send requests of chaos to nodes without the role" internal/tool/chaos/roles.go 's/if slices\.Contains\(list, preferred\) \{/if preferred != nil {/' '^TestRequestsGoToNodesThatServeThem$' internal/tool/chaos
[ ! -s "$work/go" ] || check_go
[ ! -s "$work/ts" ] || check_ts
[ ! -s "$work/bridges" ] || check_bridges
if [ -z "$check" ]; then
	for run in "${runs[@]}"; do eval "$run"; done
fi
if [ ${#bad[@]} -gt 0 ]; then
	printf '%s\n' "" "${bad[@]}"
	echo "${#bad[@]} of $tried mutants survived, or are invalid"
	exit 1
fi
if [ -n "$check" ]; then
	echo "each of $tried mutants changes its file, compiles, and names tests that exist"
	exit 0
fi
echo "each of $tried mutants was killed, in ${SECONDS}s"
