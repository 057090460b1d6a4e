package move

import (
	"errors"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
)

// suspend ends the connection by which a move excludes others, as the database does once a suspended process no longer answers.
func suspend(t *testing.T, address string) {
	t.Helper()
	tag, err := session(t, address).Exec(t.Context(), `SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND (classid::BIGINT << 32 | objid::BIGINT) = hashtext('rialto move ' || current_schema())`)
	must(t, err)
	if tag.RowsAffected() != 1 {
		t.Fatalf("%d connections exclude other moves, want 1", tag.RowsAffected())
	}
}

// A run is suspended at a step; meanwhile its move is aborted, servers write, and another move to the same target begins. The suspended run changes nothing any more, and the other move ends with all data.
func TestASuspendedRunChangesNoLaterMove(t *testing.T) {
	for step, seed := range map[string]uint64{"switching to the copy": 12, "counting rows": 13} {
		t.Run(step, func(t *testing.T) {
			log, o := served(t, seed)
			later := TimelinesOptions{Postgres: o.Postgres, Setting: inTheCopy, Batch: 40, sink: newOtherPostgres(t, o.Postgres)}
			o.Say = func(format string, _ ...any) {
				if !strings.HasPrefix(format, step) {
					return
				}
				suspend(t, o.Postgres)
				must(t, AbortTimelines(t.Context(), TimelinesOptions{Postgres: o.Postgres, Setting: inTheCopy, sink: newOtherPostgres(t, o.Postgres)}))
				must(t, appendTo(log, "after the abort").Err)
				begins := later
				begins.interrupt = func(point string) error {
					if point == "frozen" {
						return errStopped
					}
					return nil
				}
				if _, err := RunTimelines(t.Context(), begins); !errors.Is(err, errStopped) {
					t.Errorf("the later move begins with %v", err)
				}
			}
			if _, err := RunTimelines(t.Context(), o); !errors.Is(err, errOtherRun) {
				t.Errorf("the suspended run ends with %v", err)
			}
			agreed(t, o.Postgres, "PostgreSQL")
			refusesWrites(t, log)
			want := shown(t, log)
			r, err := RunTimelines(t.Context(), later)
			must(t, err)
			if len(r.Differences) > 0 {
				t.Errorf("got differences %q", r.Differences)
			}
			agreed(t, o.Postgres, inTheCopy)
			opened, err := later.sink.open(t.Context())
			must(t, err)
			copied := opened.(*pglog.Log)
			sameLines(t, shown(t, copied), want)
			must(t, copied.Close())
		})
	}
}

// What moves of timelines say about the nodes' database does not call it the target, which is Cassandra.
func TestTheSourceIsNoTarget(t *testing.T) {
	_, err := RunTimelines(t.Context(), TimelinesOptions{Postgres: "postgres://%zz", Setting: inTheCopy})
	if err == nil || !strings.HasPrefix(err.Error(), "the database with the timelines: ") || strings.Contains(err.Error(), "target") {
		t.Errorf("with an address that is none: %v", err)
	}
}
