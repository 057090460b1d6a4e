package datadir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// largeDatabase makes a start leave the pages for later, as those of a large database.
func largeDatabase() Options {
	o := small()
	o.CheckedAtStart = 1
	return o
}

// TestDamageOfALargeDatabaseStopsTheServer: its pages are not checked before it is served. When they are found damaged, Run ends; later starts
// check all pages and refuse the directory, until it is sound again.
func TestDamageOfALargeDatabaseStopsTheServer(t *testing.T) {
	t.Parallel()
	sound := served(t, false)
	dir := copyOf(t, sound)
	changeRow(t, dir)
	s, err := Open(t.Context(), dir, largeDatabase())
	if err != nil {
		t.Fatalf("the start of a large database depends on its pages: %v", err)
	}
	endsDamaged(t, dir, eventually.Receive(t, "the end of Run", running(t, s)))
	if s.Damaged() == "" {
		t.Error("the damage is not reported")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var refused *DamagedError
		if _, err := Open(t.Context(), dir, largeDatabase()); !errors.As(err, &refused) || !strings.Contains(err.Error(), "table people") {
			t.Errorf("a later start of the damaged database: %v", err)
		}
	}
	for _, name := range []string{DatabaseFile, MarkerFile, TimelinesDir} { // of a backup
		exchange(t, dir, copyOf(t, sound), name)
	}
	for range 2 {
		s, err := Open(t.Context(), dir, largeDatabase())
		if err != nil {
			t.Fatalf("the directory is sound again: %v", err)
		}
		if exists(filepath.Join(dir, DamageFile)) {
			t.Errorf("%s is still there", DamageFile)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestADamagedPageStopsTheServer: a page that a statement cannot read ends Run, also in a database that was sound at the start.
func TestADamagedPageStopsTheServer(t *testing.T) {
	t.Parallel()
	dir := served(t, false)
	s, err := serve(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	ended := running(t, s)
	changeRow(t, dir)
	if found, err := sqldb.CheckPages(t.Context(), s.DB.Read(), false); len(found) == 0 {
		t.Fatalf("the pages are sound (%v)", err)
	}
	endsDamaged(t, dir, eventually.Receive(t, "the end of Run", ended))
}

// running runs the stores until the test ends, and returns how Run ended.
func running(t *testing.T, s *Stores) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- s.Run(t.Context()) }()
	return ended
}

// endsDamaged checks how Run ended, and what it left for the next start.
func endsDamaged(t *testing.T, dir string, err error) {
	t.Helper()
	var damaged *DamagedError
	if !errors.As(err, &damaged) || !damaged.WhileServed || !strings.Contains(err.Error(), "is no longer served") || !strings.Contains(err.Error(), filepath.Join(dir, DatabaseFile)) || !strings.Contains(err.Error(), "rialto verify") {
		t.Errorf("Run ended with %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, DamageFile)); err != nil || len(b) == 0 {
		t.Errorf("%s has %q (%v)", DamageFile, b, err)
	}
}

// TestRunContinuesWithoutDamage until its context ends, whether the pages are checked before or meanwhile.
func TestRunContinuesWithoutDamage(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{small(), largeDatabase()} {
		dir := served(t, false)
		s, err := Open(t.Context(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		s.checkPages(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := errors.Join(s.Run(ctx), s.Close()); err != nil || exists(filepath.Join(dir, DamageFile)) {
			t.Errorf("Run ended with %v", err)
		}
	}
}
