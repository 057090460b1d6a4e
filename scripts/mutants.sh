#!/usr/bin/env bash
# Breaks the server in known ways, one at a time, and wants the tests to notice each. A mutant is a change of one source file by
# sed, laid over the source at build time (go build -overlay); nothing in the tree is touched. A test suite that has never failed
# proves nothing. With an argument, only mutants whose name matches it are tried.
set -euo pipefail
cd "$(dirname "$0")/.."
only=${1:-.}
work=$(mktemp -d "${TMPDIR:-/tmp}/rialto-mutants-XXXXXX")
trap 'rm -rf "$work"' EXIT
tried=0 alive=0

not_a_mutant() {
	echo "NOT A MUTANT  $1: $2"
	alive=$((alive + 1))
}

# mutant NAME FILE SED TESTS PACKAGE...: one of the packages' tests of that name must fail with the change.
mutant() {
	local name=$1 file=$2 change=$3 tests=$4
	shift 4
	[[ $name =~ $only ]] || return 0
	tried=$((tried + 1))
	sed -E "$change" "$file" >"$work/mutant.go"
	if cmp -s "$file" "$work/mutant.go"; then
		not_a_mutant "$name" "the pattern finds nothing in $file"
		return
	fi
	printf '{"Replace":{"%s":"%s"}}' "$PWD/$file" "$work/mutant.go" >"$work/overlay.json"
	if ! go vet -overlay "$work/overlay.json" "./$(dirname "$file")" >"$work/log" 2>&1; then
		not_a_mutant "$name" "it does not build"
		cat "$work/log"
		return
	fi
	local package flags try began=$SECONDS
	for try in 1 2 3; do # some show only when goroutines meet: who notices one time in two is no less of a test
		for package in "$@"; do
			flags=()
			if go list -deps -test "./$package" | grep '^pgregory.net/rapid$' >/dev/null; then
				flags=(-args -rapid.nofailfile -rapid.shrinktime=1s) # what a mutant fails on is no example to keep
			fi
			if GOFLAGS="-overlay=$work/overlay.json" go test -count 1 -timeout 80s -run "$tests" "./$package" "${flags[@]}" >"$work/log" 2>&1; then
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
		echo "alive once    $name"
	done
	echo "SURVIVED      $name"
	alive=$((alive + 1))
}

log=internal/timeline/pebblelog
export POWER_CUTS=${POWER_CUTS:-100} KILL_CYCLES=${KILL_CYCLES:-26}

# What is acknowledged is on the disk, and nothing is shown before.
mutant "acknowledge before the sync" $log/pebblelog.go 's/write: pebble\.Sync,/write: pebble.NoSync,/' 'PowerCut$' $log
mutant "show entries before the sync" $log/read.go 's/limit = t\.Seq/limit = max(limit, t.Seq)/' NothingIsShown $log
mutant "go on after a failed sync" $log/append.go 's/if !l\.broken\.Swap\(true\) \{/if l.broken.Load() {/' BrokenDisk $log
mutant "commit records without a sync" internal/sqldb/sqlite.go 's/synchronous\(FULL\)/synchronous(OFF)/' . internal/sqldb
mutant "answer before records are committed" internal/sqldb/commit.go 's/^\t\td\.commit\(jobs\)$/\t\tgo d.commit(jobs)/' . internal/sqldb
mutant "let one who goes undo the others" internal/sqldb/commit.go 's/broke == nil \|\| errs\.Is/broke != nil || errs.Is/' Disturbs internal/sqldb
mutant "keep what a refused writer wrote" internal/sqldb/commit.go 's/ROLLBACK TO writer; RELEASE writer/RELEASE writer/' . internal/sqldb
mutant "cancel a commit that waits for the standby" internal/sqldb/postgres.go 's/l\.Seal\(true\)/l.Seal(false)/' StandbyIsAway internal/sqldb
mutant "take a cancelled wait for a commit" internal/sqldb/pglink/pglink.go 's/l\.unconfirmed\.Store\(true\)/l.unconfirmed.Store(false)/' StandbyIsAway internal/sqldb

# One message each, each with one number.
mutant "forget retries at a restart" $log/append.go 's/seq, err := s\.log\.getUvarint\(key\)/seq, err := uint64(0), error(nil)/' 'PowerCut$' $log
mutant "forget retries that meet their first" $log/append.go 's/first := f\.tokens\[string\(key\)\]; first != nil/first := f.tokens[string(key)]; first != nil \&\& first.Seq == 0/' 'Log|RetryStorm' $log internal/app/apptest
mutant "take any counter as new" $log/append.go 's/a\.Token\.Counter > highest \{/a.Token.Counter > 0 {/' 'Log' $log
mutant "use a number twice" $log/append.go 's/^\ttail\.Seq\+\+$/if tail.Seq%20 != 7 || a.SetAccess { tail.Seq++ }/' 'Log' $log
mutant "start with the old epoch" $log/pebblelog.go 's/^\t\tl\.epoch\+\+$/\t\tl.epoch += 0/' 'PowerCut$' $log
mutant "go on in the old epoch's numbers" $log/post.go 's/max\(prev, uint64\(l\.epoch\)<<32\)/prev/' 'PowerCut$|Log' $log
mutant "trust the wall clock for ids" internal/idgen/flake.go 's/now > at:/now != at:/; s/ms < began \{/ms < began-3_600_000_000 {/' . internal/idgen
mutant "trust the wall clock for messages' ids" internal/idgen/messages.go 's/max\(now, last\+1\)/now/' . internal/idgen
mutant "begin a lease below its mark" internal/idgen/take.go 's/max\(now, old\.Mark, /max(now, /' AnySchedule internal/idgen
mutant "give ids beyond the mark" internal/idgen/flake.go 's/end > g\.to\.Load\(\)/end > g.to.Load()+5000/' AnySchedule internal/idgen
mutant "give messages' ids beyond the mark" internal/idgen/messages.go 's/ms >= g\.to\.Load\(\)/ms >= g.to.Load()+5000/' AnySchedule internal/idgen
mutant "go on with the number of a copied disk" internal/idgen/take.go 's/r\.Machine == mine \&\& \(!l/(!l/' AnySchedule internal/idgen
mutant "keep a number that was refused" internal/idgen/lease.go 's/^\t\tif mine \{$/\t\tif mine || err == nil {/' AnySchedule internal/idgen

# The same in PostgreSQL, where several nodes write.
pg=internal/timeline/pglog
mutant "acknowledge before the commit" $pg/commit.go 's/^\t\terr = r\.read\(statement, .*$/&\n\t\tif statement == 2 \&\& err == nil {\n\t\t\t_ = p.Close()\n\t\t\treturn r, nil\n\t\t}/' NotCommitted $pg
mutant "append without the partition's tail" $pg/commit.go 's/ ORDER BY partition FOR UPDATE`/ ORDER BY partition`/' 'TwoNodes' $pg
mutant "lock tails in any order" $pg/commit.go 's/ ORDER BY partition FOR UPDATE`/ ORDER BY random() FOR UPDATE`/' 'WaitsForEver' $pg
mutant "take any token as new" $pg/commit.go 's/^\t\tcoalesce\(k\.seq, s\.seq\) IS NULL AND /\t\t/; s/INSERT INTO log_(tokens|sums) (.*)$/INSERT INTO log_\1 \2/; s/AND counter IS NOT NULL/& AND stored IS NULL/' 'Log|TwoNodes' $pg
mutant "take a token above the highest as new" $pg/commit.go 's/ON k\.sender = u\.sender AND/ON u.counter <= (SELECT max(counter) - 1 FROM log_tokens h WHERE h.sender = u.sender AND h.device = u.device) AND k.sender = u.sender AND/' 'Log|TwoNodes' $pg
mutant "look at the access version of any time" $pg/commit.go 's/u\.if_access = coalesce\(t\.access, 0\)/u.if_access <= coalesce(t.access, 0)/' 'Log' $pg
mutant "send again what may be stored" $pg/session.go 's/^\t\t\tstored = \&left.*$/\t\t\t_ = stored/' 'AnswerIsLost' $pg
mutant "let a transaction come late" $pg/commit.go 's/ AND NOT ended FOR UPDATE/ FOR UPDATE/' 'AnswerIsLost' $pg
mutant "post in an old term" $pg/post.go 's/ AND t\.term = u\.term$/ AND t.term >= u.term/' 'OldTerm' $pg
mutant "take a partition while one posts" $pg/post.go 's/ORDER BY t\.partition FOR SHARE OF t$/ORDER BY t.partition/' 'OldTerm' $pg
mutant "commit without a sync" internal/sqldb/pglink/pglink.go 's/"synchronous_commit": +"on"/"synchronous_commit": "off"/' 'Durable' $pg

# Counters: no number twice, none back.
ids=internal/idgen
mutant "begin a sequence below its bound" $ids/sections_store.go 's/= max\(uint64\(start\), t\.Last\), /= max(uint64(start), t.Step)-t.Step, /' 'Sequence|Owner|Bound' $ids
mutant "raise a bound that is another's" $ids/sections_store.go 's/term = \$4 AND bound >= \$5 AND bound <= \$6/$4 + $5 + $6 > 0/' Bound $ids
mutant "take a sequence over at once" $ids/owners.go 's/return o\.config\.Own \|\| o\.left\(holder, beat\) <= 0/return o.config.Own || o.left(holder, beat) <= o.config.Lease/' 'Sequence|Owner' $ids
mutant "give a sequence without a lease" $ids/owners.go 's/int64\(o\.steady\.now\(\)\) < h\.until\.Load\(\)/h.until.Load() > 0/' 'Sequence|Owner|Wall' $ids
mutant "give a sequence after a sleep" $ids/owners.go 's/o\.clock\.Now\(\)\.UnixNano\(\) < h\.wall\.Load\(\)/h.wall.Load() > 0/' Wall $ids
mutant "give a number of two ranges" $ids/counters_store.go 's/first = t\.Last \+ 1/first = max(t.Last, 1)/' Segment $ids
mutant "forget what a deleted tag gave" $ids/tags.go 's/last := max\(t\.Last, old\.Last\)/last := t.Last/; s/if last > old\.Last \{/if last > 1<<62 {/' Segment $ids
mutant "wrap a rule's digits" $ids/counters_store.go 's/most-min\(uint64\(last\), most\)/most/; s/first = uint64\(last\) \+ 1/first = uint64(last)%most + 1/' 'Rule|Day' $ids
mutant "let a day go back" $ids/rules.go 's/case back <= r\.back:/case back <= 0:/' 'Rule|Day' $ids
mutant "grow stores that have not agreed" $ids/grow.go 's/^\t\tcapped\.ceiling = g\.ceiling$/\t\tcapped.ceiling = most/' Growth $ids
mutant "forget what a node's other stores gave" $ids/primaries_store.go 's/max\(uint64\(last\), l\.above, above\)/max(uint64(last), l.above, min(above, 0))/' MultiPrimary $ids

# Each entry reaches everyone.
mutant "lose one delivery in 10,000" internal/fanout/carrier.go 's/^\tconversation := id\.Conversation\(e\.Key\.ID\)$/&\n\tif e.Seq%10_000 == 300 {\n\t\treturn items, nil\n\t}/' Killed internal/faulttest
mutant "save the place before the work" internal/fanout/carrier.go 's/p\.inflight\[n\]\.left\.Load\(\) == 0/p.inflight[n].left.Load() >= 0/' . internal/fanout
mutant "keep all that is handed over" internal/fanout/held.go 's/> sharedBytes \{/> 1<<40 {/' HandedOver internal/fanout
mutant "let what was read be counted as held" internal/fanout/held.go 's/^\tp\.shared\.held\.Add\(int64\(-p\.beyond\(0, 0\)\)\)$//' 'HandedOver|Shared' internal/fanout
mutant "believe that a home remembers" internal/presence/still.go 's/^\t\t\te\.told = told\{\}$/\t\t\te.told.at = at/' ForgotIsTold internal/presence
mutant "forget events that could not be carried" internal/job/outbox.go 's/^\t\treturn 0, err$/\t\t_ = err/' Stopped internal/job
mutant "name no predecessor" $log/keys.go 's/seq-prev\)/seq)/' Log $log
mutant "push another predecessor" internal/gateway/conn.go 's/AppendEventField\(o\.b, 4, at, prev, /AppendEventField(o.b, 4, at, at, /' LeftOut internal/gateway
mutant "leave out events without a hint" internal/gateway/conn.go 's/^\t\tc\.hint = true$/\t\tc.hint = false/' LeftOut internal/gateway

# Who may, and what is counted.
mutant "count one's own message as unread" internal/inbox/view.go 's/v\.state\.ReadSeq, v\.state\.ReadCounted = seq, counted$/v.state.ReadSeq, v.state.ReadCounted = seq, counted-1/' Unread internal/inbox
mutant "let a cursor go back" internal/inbox/mark.go 's/r\.read <= read \&\& r\.delivered <= delivered/false/; s/WHEN \$3 > views\.read_seq THEN \$3/WHEN true THEN $3/' 'Unread|Forward' internal/inbox
mutant "look at blocks at the door only" internal/chat/send.go 's/case s\.blocked:/case s.blocked \&\& nowMs < 0:/' . internal/chat
mutant "admit one who was removed" internal/chat/send.go 's/CheckAccess: true, IfAccess/CheckAccess: false, IfAccess/' . internal/chat
mutant "show what was before the joining" internal/chat/history.go 's/max\(after, from-1\)/max(after, min(from, 1)-1)/; s/e\.Seq < p\.from/e.Seq < min(p.from, 1)/' 'History|Model' internal/chat
mutant "show what came after the leaving" internal/chat/history.go 's/e\.Seq > p\.to/e.Seq > max(p.to, 1<<63)/; s/at = to \+ 1/at += 0 * to/' History internal/chat
mutant "tell of reading across a block" internal/inbox/mark.go 's/if apart \{/if apart \&\& r == nil {/' Block internal/inbox
mutant "tell when one read who hides it" internal/inbox/mark.go 's/r\.hides \&\& !deliveredMoved/r == nil/' Hides internal/inbox
mutant "tell of a block" internal/fanout/carrier.go 's/== chatv1\.Control_ACTION_ACCESS \{/== 99 {/' Access internal/fanout
mutant "tell nobody that they are in a large group" internal/fanout/carrier.go 's/append\(items, own, item/append(items, item/' Large internal/fanout
mutant "show a group to those who left it" internal/chat/history.go 's/v = proto\.CloneOf\(m\.left\)/_ = proto.CloneOf(m.left)/' 'Left' internal/chat

# What the bus loses is told, and files are whole.
nats=internal/bus/natsbus s3=internal/blob/s3blob
mutant "tell of no hole" $nats/subscribe.go 's/return f\.number > last\+1/return false/' 'Hole|Slow' $nats
mutant "number with holes" $nats/publish.go 's/^\ts\.number\+\+$/\ts.number += 2/' 'Bus|ThreeNodes' $nats
mutant "send too large a parcel" internal/fanout/lane.go 's/before > 0 \&\& len/before > 1<<40 \&\& len/' Behind internal/fanout
mutant "let any certificate in" $nats/connect.go 's/tls\.RequireAndVerifyClientCert/tls.NoClientCert/' Certificates $nats
mutant "store a file that is too long" $s3/put.go 's/return blob\.ErrSize$/return nil/' 'Store|Large' $s3
mutant "leave parts" $s3/put.go 's/^\t\tif err == nil \{$/\t\tif err == nil || upload != "" {/' Large $s3
mutant "mix two versions of a file" $s3/read.go 's/options\.SetMatchETag\(f\.etag\)/options.SetMatchETag("*")/' Replaced $s3
mutant "take a broken answer for the end" $s3/read.go 's/^\t\terr = io\.ErrUnexpectedEOF$/\t\treturn 0, io.EOF/; s/for range tries/for range 1/' 'BreaksOff|Passing' $s3

if [ $alive -gt 0 ]; then
	echo "$alive of $tried mutants are alive, or are none"
	exit 1
fi
echo "each of $tried mutants was killed, in ${SECONDS}s"
