package search_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/search"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// finds reports whether a post is found.
func (f *fixture) finds(post uint64) (found, incomplete bool) {
	f.t.Helper()
	list, out := f.find(f.users[0], &searchv1.SearchRequest{Query: "canary", Limit: 50})
	return list[fmt.Sprint("p", post)], out.Incomplete
}

// hold removes the newest change, as if its transaction were still open, and returns what commits it.
func (f *fixture) hold() (commit func()) {
	f.t.Helper()
	var n, kind, subject, ms int64
	must(f.t, f.db.Write(f.t.Context(), func(tx *sql.Tx) error {
		if err := tx.QueryRow(`SELECT n, kind, subject, time_ms FROM search_changes ORDER BY n DESC LIMIT 1`).Scan(&n, &kind, &subject, &ms); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM search_changes WHERE n = $1`, n)
		return err
	}))
	return func() {
		f.t.Helper()
		must(f.t, f.db.Write(f.t.Context(), func(tx *sql.Tx) error {
			_, err := tx.Exec(`INSERT INTO search_changes (n, kind, subject, time_ms) VALUES ($1, $2, $3, $4)`, n, kind, subject, ms)
			return err
		}))
	}
}

// A change that is committed after later ones is read, also by a process that was started in between.
func TestChangesThatAreCommittedLate(t *testing.T) {
	for _, restart := range []bool{false, true} {
		f := open(t, 1)
		f.catchUp()
		late := f.publish(f.users[0], &feedv1.PostContent{Text: "canary late"})
		commit := f.hold()
		next := f.publish(f.users[0], &feedv1.PostContent{Text: "canary next"})
		f.catchUp()
		if found, _ := f.finds(next); !found {
			t.Error("the later change is not found while an earlier one is missing")
		}
		commit()
		if restart {
			f.restart()
		}
		f.catchUp()
		if found, _ := f.finds(late); !found {
			t.Errorf("the late change is not found; restart: %v", restart)
		}
	}
}

// If more numbers are missing than are looked for, all users and posts are read again, once their transactions have ended.
func TestTooManyMissingChanges(t *testing.T) {
	for _, restart := range []bool{false, true} {
		f := open(t, 1)
		f.catchUp()
		var commits []func()
		var late uint64
		for range 3 {
			late = f.publish(f.users[0], &feedv1.PostContent{Text: "canary late"})
			commits = append(commits, f.hold())
		}
		next := f.publish(f.users[0], &feedv1.PostContent{Text: "canary next"})
		f.SetGaps(1, time.Hour)
		f.catchUp()
		if found, incomplete := f.finds(next); !found || incomplete {
			t.Errorf("the later change: found %v, incomplete %v", found, incomplete)
		}
		commits[0]() // the number that is looked for
		f.catchUp()
		commits[1]()
		commits[2]()
		if restart {
			f.restart()
		}
		f.SetGaps(1, -1)
		f.catchUp()
		if found, incomplete := f.finds(late); !found || incomplete {
			t.Errorf("the late change: found %v, incomplete %v; restart: %v", found, incomplete, restart)
		}
	}
}

// PostgreSQL gives numbers before the commit. SQLite has one transaction at a time.
func TestChangesOfOpenTransactions(t *testing.T) {
	f := openAt(t, sqltest.Schema(t, sqltest.Postgres(t)), 1)
	f.catchUp()
	other, err := sqldb.Open(t.Context(), f.place) // a handle has one transaction that writes at a time, as a node has
	must(t, err)
	defer func() { must(t, other.Close()) }()
	ended, written, commit := make(chan error, 1), make(chan struct{}), make(chan struct{})
	before := f.publish(f.users[0], &feedv1.PostContent{Text: "canary"})
	f.hold() // the transaction below alone notes it
	go func() {
		ended <- other.Write(t.Context(), func(tx *sql.Tx) error {
			err := f.Changed(t.Context(), tx, search.ChangedPost, before)
			close(written)
			<-commit
			return err
		})
	}()
	eventually.Receive(t, "the change in the open transaction", written)
	next := f.publish(f.users[0], &feedv1.PostContent{Text: "canary next"})
	f.catchUp()
	found, _ := f.finds(next)
	if early, _ := f.finds(before); early || !found {
		t.Errorf("while the transaction is open: found %v, and what it notes: %v", found, early)
	}
	close(commit)
	must(t, <-ended)
	f.catchUp()
	if found, _ := f.finds(before); !found {
		t.Error("the change is not found after the commit")
	}
}
