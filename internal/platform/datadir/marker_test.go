package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func marker(t *testing.T) (*Marker, string) {
	t.Helper()
	dir := t.TempDir()
	m, err := createMarker(dir, Creating)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.file.Close() }) // the test may have closed it
	return m, filepath.Join(dir, MarkerFile)
}

func reread(t *testing.T, path string) *Marker {
	t.Helper()
	m, err := readMarker(filepath.Dir(path), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.file.Close() })
	return m
}

func slot(checksum string, generation int, body string) string {
	s := fmt.Sprintf("%s %-20d%s", checksum, generation, body)
	return s + strings.Repeat(" ", sector-1-len(s)) + "\n"
}

// The marker's bytes are those of docs/formats/datadir.md, both read and written.
func TestGoldenMarker(t *testing.T) {
	golden := slot("c153f74a", 2, `{"id":"000102030405060708090a0b0c0d0e0f","state":"creating"}`) +
		slot("3045ec1b", 3, `{"id":"000102030405060708090a0b0c0d0e0f","state":"serving"}`) +
		slot("a3e1b2cf", 4, `[{"log":7,"position":120},{"log":9,"position":345}]`) +
		slot("8531ced1", 3, `[{"log":7,"position":120}]`) +
		slot("44d4185a", 2, `11`) +
		slot("9e81e481", 3, `12`)
	dir := t.TempDir()
	path := filepath.Join(dir, MarkerFile)
	if err := os.WriteFile(path, []byte(golden), 0o600); err != nil {
		t.Fatal(err)
	}
	m := reread(t, path)
	if want := (Identity{"000102030405060708090a0b0c0d0e0f", Serving}); m.Identity() != want || m.Commits() != 12 || !slices.Equal(m.Logs(), []LogPosition{{7, 120}, {9, 345}}) {
		t.Errorf("read: %+v, %v, %d", m.Identity(), m.Logs(), m.Commits())
	}
	m, err := readMarker(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	m.generations = [3]uint64{1, 2, 1}
	m.logs, m.commits = []LogPosition{{7, 100}}, 10
	if err := errors.Join(m.SetState(Creating), m.SetState(Serving), m.WALSynced(7, 120), m.WALSynced(9, 345), m.Committed(11), m.Committed(12), m.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != golden {
		t.Errorf("written (%v):\n%s", err, got)
	}
}

// After a torn write of any record its previous value is read. A file that has a record without an intact copy is refused.
func TestATornWriteKeepsThePreviousRecord(t *testing.T) {
	m, path := marker(t)
	if err := errors.Join(m.SetState(Serving), m.WALSynced(3, 100), m.WALSynced(3, 200), m.Committed(5), m.Committed(6), m.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range sectors {
		torn := slices.Clone(whole)
		clear(torn[i*sector:][:40])
		write(torn)
		r := reread(t, path)
		if c := r.Commits(); c != 6 && c != 5 {
			t.Errorf("sector %d torn: %d transactions", i, c)
		}
		if l := r.Logs(); len(l) != 1 || l[0] != (LogPosition{3, 200}) && l[0] != (LogPosition{3, 100}) {
			t.Errorf("sector %d torn: logs %v", i, l)
		}
	}
	for i := 0; i < sectors; i += slots {
		torn := slices.Clone(whole)
		torn[i*sector+12] ^= 1
		torn[(i+1)*sector+30] ^= 1
		write(torn)
		if _, err := readMarker(filepath.Dir(path), false); err == nil || !strings.Contains(err.Error(), "wrong checksums") {
			t.Errorf("opening with both copies of record %d damaged: %v", i/slots, err)
		}
	}
}

// A log that is about to be removed is not listed again: because of a late note, the next start would consider it missing.
func TestObsoleteLogsAreNotListedAgain(t *testing.T) {
	m, path := marker(t)
	if err := errors.Join(m.WALSynced(3, 100), m.WALSynced(5, 200), m.WALsObsolete(3), m.WALSynced(3, 110), m.WALSynced(5, 150), m.WALSynced(7, 300)); err != nil {
		t.Fatal(err)
	}
	want := []LogPosition{{5, 200}, {7, 300}}
	if got := m.Logs(); !slices.Equal(got, want) {
		t.Errorf("the listed logs are %v", got)
	}
	if got := reread(t, path).Logs(); !slices.Equal(got, want) {
		t.Errorf("the stored logs are %v", got)
	}
	for n := range uint64(3 * maxLogs) {
		if err := m.WALSynced(10+n, 1<<40+n); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.Logs(); len(got) != maxLogs || got[maxLogs-1].Log != 9+3*maxLogs {
		t.Errorf("the listed logs are %v", got)
	}
}
