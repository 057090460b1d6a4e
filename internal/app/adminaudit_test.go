package app

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// auditEntries reads the audit log of a data directory of a server that is stopped, the oldest first.
func auditEntries(t *testing.T, data string) []auditlog.Entry {
	t.Helper()
	var list []auditlog.Entry
	err := inDatabase(t.Context(), data, "", func(db *sqldb.DB) error {
		log, err := auditlog.New(t.Context(), db, clock.System{})
		if err == nil {
			list, err = log.List(t.Context(), math.MaxInt64, 1000)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

var systemPerson = regexp.MustCompile(`^os:[^@]+@.+$`)

// changesIn are the entries in short. Each must name who ran the command, and when.
func changesIn(t *testing.T, entries []auditlog.Entry, operator string) (short []string) {
	t.Helper()
	for _, e := range entries {
		who, named := strings.CutSuffix(strings.TrimPrefix(e.Who, operator+" ("), ")")
		if named != (operator != "") || !systemPerson.MatchString(who) || e.TimeMs == 0 {
			t.Errorf("%s was made by %q at %d", e.Action, e.Who, e.TimeMs)
		}
		short = append(short, strings.Join([]string{e.Action, e.Subject, e.Before, e.After, e.Reason}, "|"))
	}
	return short
}

// Each command of rialto admin that changes something is in the audit log, with who ran it, why, and the states before and after; what only reads, and what is refused, is not.
func TestAdminCommandsAreAudited(t *testing.T) {
	data := t.TempDir()
	admin := func(wantCode int, args ...string) {
		t.Helper()
		var out strings.Builder
		if code := AdminMain(t.Context(), append(args, "--data", data), &out, &out); code != wantCode {
			t.Fatalf("%v: exit code %d, %s", args, code, out.String())
		}
	}
	by := []string{"--operator", "olga", "--reason", "ticket 5"}
	change := func(wantCode int, args ...string) { t.Helper(); admin(wantCode, append(args, by...)...) }
	change(0, "key", "create", "--name", "shop", "--audit") // creates the directory
	change(0, "key", "create", "--name", "shop")
	change(0, "key", "create", "--name", "ann", "--role", "auditor")
	for _, imitates := range []string{"os:root@db", "bob (os:root@db)"} { // the name of a person whom the system knows
		change(1, "key", "create", "--name", imitates, "--role", "auditor")
		change(1, "key", "create", "--name", imitates)
		admin(2, "key", "create", "--name", "tom", "--operator", imitates)
	}
	db, jobs := openJobsAt(t, data)
	var ids []string
	for range 2 {
		done, err := jobs.Insert(context.Background(), nightly{User: 5}, job.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, strconv.FormatInt(done.ID, 10))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	change(1, "jobs", "retry", "--id", ids[0])
	change(0, "jobs", "discard", "--id", ids[0])
	change(1, "jobs", "discard", "--id", ids[0]) // it has ended
	change(0, "jobs", "retry", "--id", ids[0])
	for _, id := range ids {
		change(0, "jobs", "discard", "--id", id)
	}
	change(0, "jobs", "retry", "--all", "--kind", "none")
	change(0, "jobs", "retry", "--all", "--kind", "nightly")
	change(0, "key", "revoke", "--name", "shop")
	change(1, "key", "revoke", "--name", "shop")
	for _, reads := range [][]string{{"key", "list"}, {"jobs", "list"}, {"jobs", "show", "--id", ids[0]}, {"transactions", "list"}} {
		admin(0, reads...)
		change(2, reads...) // who reads is not recorded
	}
	admin(2, "jobs", "retry", "--all", "--reason", strings.Repeat("é", 501))
	admin(2, "jobs", "retry", "--all", "--operator", "two\nlines")
	state := func(name string) string {
		return `{"attempts":0,"failures":0,"queue":"default","state":"` + name + `"}`
	}
	both := func(name string) string {
		return fmt.Sprintf(`{"state":%q,"jobs":[%s]}`, name, strings.Join(ids, ","))
	}
	first, second := "job "+ids[0]+" nightly", "job "+ids[1]+" nightly"
	want := []string{
		"key.create|key shop||server, audit|ticket 5", "key.create|key shop||server|ticket 5", "key.create|key ann||auditor|ticket 5",
		"job.discard|" + first + "|" + state("available") + "|" + state("discarded") + "|ticket 5",
		"job.retry|" + first + "|" + state("discarded") + "|" + state("available") + "|ticket 5",
		"job.discard|" + first + "|" + state("available") + "|" + state("discarded") + "|ticket 5",
		"job.discard|" + second + "|" + state("available") + "|" + state("discarded") + "|ticket 5",
		"job.retry|2 dead letters nightly|" + both("discarded") + "|" + both("available") + "|ticket 5",
		"key.revoke|key shop|server; server, audit|revoked|ticket 5",
	}
	if got := changesIn(t, auditEntries(t, data), "olga"); !slices.Equal(got, want) {
		t.Errorf("the audit log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Commands on the stores of servers that are stopped leave entries there: a backup has that of itself, and what is restored or repaired has that as well.
func TestCommandsOnStoppedStoresAreAudited(t *testing.T) {
	data, backups, restored := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backups"), filepath.Join(t.TempDir(), "restored")
	h, err := Open(t.Context(), configure(t, data), slog.New(slog.DiscardHandler))
	if err == nil {
		err = h.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	run := func(what string, code int) {
		t.Helper()
		if code != 0 {
			t.Fatalf("%s exits with %d: %s", what, code, out.String())
		}
	}
	run("backup", BackupMain(t.Context(), []string{"--data", data, "--to", backups, "--reason", "weekly"}, &out, &out))
	run("restore", RestoreMain(t.Context(), []string{"--from", backups, "--data", restored}, &out, &out))
	if err := os.Remove(filepath.Join(restored, datadir.MarkerFile)); err != nil {
		t.Fatal(err)
	}
	run("repair", RepairMain(t.Context(), []string{"--data", restored, "--accept-loss", "--reason", "no other copy"}, &out, &out))
	run("repair", RepairMain(t.Context(), []string{"--data", restored, "--accept-loss"}, &out, &out)) // nothing needs it
	list := auditEntries(t, restored)
	if len(list) != 3 {
		t.Fatalf("the audit log has %+v", list)
	}
	changesIn(t, list, "")
	for i, want := range []struct{ action, subject, before, after, reason string }{
		{"backup.start", "backup in " + backups, "", "", "weekly"},
		{"data.restore", "backup 2", "as of 2", ", epoch ", ""},
		{"data.repair", "data directory " + restored, "STORE is missing", "the stores belong together again", "no other copy"},
	} {
		if e := list[i]; e.Action != want.action || !strings.HasPrefix(e.Subject, want.subject) || !strings.Contains(e.Before, want.before) || !strings.Contains(e.After, want.after) || e.Reason != want.reason {
			t.Errorf("entry %d is %+v, want %+v", i, e, want)
		}
	}
	if got := auditEntries(t, data); len(got) != 1 || got[0].Action != "backup.start" {
		t.Errorf("the audit log of the original has %+v, want only backup.start", got)
	}
}
