package account_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// TestReplicaReadsFollowProfileChanges: a change that one node acknowledged is in the next list of a node that reads from a replica, also
// while the replica does not advance.
func TestReplicaReadsFollowProfileChanges(t *testing.T) {
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	db, err := sqldb.OpenWith(t.Context(), p.URL, sqldb.Options{Replicas: []string{p.Standby().URL}, ReplicaWait: time.Second, ReplicaRetry: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	writes := openOn(t, p.URL, 1, account.Config{}, nil)
	reads := openOn(t, p.URL, 2, account.Config{}, func(d *account.Deps) { d.DB = db })
	_, ann := writes.register("ann")
	list := func(want string) {
		t.Helper()
		users, err := reads.GetUsers(t.Context(), &accountv1.GetUsersRequest{Users: []uint64{uint64(ann.User)}})
		if err != nil || len(users) != 1 || users[0].DisplayName != want {
			t.Errorf("want %s, got %v (%v)", want, users, err)
		}
	}
	list("ann") // now the node has compared primary and replica
	for i, statement := range []string{`SELECT pg_wal_replay_pause()`, `SELECT pg_wal_replay_resume()`} {
		if err := p.Standby().Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		name := []string{"Ann the first", "Ann the second"}[i]
		if _, err := writes.UpdateProfile(t.Context(), ann, &accountv1.UpdateProfileRequest{DisplayName: &name}); err != nil {
			t.Fatal(err)
		}
		list(name)
	}
}
