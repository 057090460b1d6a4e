package reconciliation_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

// rows is an owner of a folder, and of some keys there.
type rows struct {
	folder string
	mu     sync.Mutex // guards the fields below
	named  map[string]bool
	asked  []int // how many files each call was about
	fails  error
}

func (r *rows) Folder() string { return r.folder }

func (r *rows) Unreferenced(_ context.Context, keys []string) (list []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked = append(r.asked, len(keys)); r.fails != nil {
		return nil, r.fails
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return r.named[key] }), nil
}

type filesFixture struct {
	t     *testing.T
	store *diskblob.Store
	clock *clocktest.Manual
	one   *rows
	other *rows
	reconciliation.UnreferencedFiles
}

func openFiles(t *testing.T) *filesFixture {
	t.Helper()
	store, err := diskblob.Open(t.TempDir())
	must(t, err)
	f := &filesFixture{t: t, store: store, clock: clocktest.NewManual(), one: &rows{folder: "one", named: map[string]bool{}}, other: &rows{folder: "other", named: map[string]bool{}}}
	f.clock.Set(time.Now().Add(49 * time.Hour))
	f.UnreferencedFiles = reconciliation.UnreferencedFiles{Store: store, Owners: []reconciliation.FileOwner{f.one, f.other}, Clock: f.clock}
	return f
}

func (f *filesFixture) put(key string, of *rows) {
	f.t.Helper()
	must(f.t, f.store.Put(f.t.Context(), key, strings.NewReader("some text"), 9))
	if of != nil {
		of.named[key] = true
	}
}

// round does a round, in steps of some items.
func (f *filesFixture) round(limit int) (found map[string]string, steps int) {
	f.t.Helper()
	found = map[string]string{}
	for at := ""; ; {
		step, err := f.Compare(f.t.Context(), at, limit)
		must(f.t, err)
		if steps++; step.Items > limit+1 {
			f.t.Errorf("a step of %d items has %d", limit, step.Items)
		}
		for _, d := range step.Differences {
			if found[d.Subject] != "" {
				f.t.Errorf("%s was found twice", d.Subject)
			}
			found[d.Subject] = d.What()
		}
		if at = step.Next; at == "" {
			return found, steps
		}
	}
}

// Files that no row names are found in one round, by steps of any size, in the folders of all owners and nowhere else. The repair deletes them, and nothing that a row names by then.
func TestUnreferencedFilesAreFoundAndDeleted(t *testing.T) {
	f := openFiles(t)
	for i := range 30 {
		f.put(fmt.Sprintf("one/%02d/%d", i%4, i), f.one)
		f.put(fmt.Sprintf("other/%02d/%d/x", i%4, i), f.other)
	}
	f.put("third/1", nil)
	want := map[string]string{}
	what := "no row names this file of 9 bytes, stored on " + time.Now().UTC().Format(time.DateOnly)
	for _, key := range []string{"one/03/lost", "other/02/lost", "other/99/1/2/lost"} {
		f.put(key, nil)
		want[key] = what
	}
	for _, limit := range []int{1, 5, 1000} {
		found, steps := f.round(limit)
		for key := range found { // the test may run at midnight
			if _, ok := want[key]; ok && strings.HasPrefix(found[key], what[:len(what)-2]) {
				found[key] = what
			}
		}
		if !maps.Equal(found, want) || (steps > 1) != (limit < 1000) {
			t.Errorf("in %d steps of %d the round finds %q, want %q", steps, limit, found, want)
		}
	}
	f.one.named["one/03/lost"] = true
	for key := range want {
		for range 2 { // a repair may be repeated
			must(t, f.Repair(t.Context(), key))
		}
	}
	if found, _ := f.round(7); len(found) != 0 {
		t.Errorf("after the repair the round finds %q", found)
	}
	for key, left := range map[string]bool{"one/03/lost": true, "other/02/lost": false, "other/99/1/2/lost": false, "third/1": true} {
		file, _, err := f.store.Open(t.Context(), key)
		if left && err == nil {
			err = file.Close()
		} else if !left && errors.Is(err, blob.ErrNotFound) {
			err = nil
		}
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, key := range []string{"", "third/1", "one"} {
		if err := f.Repair(t.Context(), key); key != "one" && err == nil {
			t.Errorf("%q has an owner", key)
		}
	}
}

// Young files are left alone: owners are not asked about them.
func TestYoungFilesAreNotCompared(t *testing.T) {
	f := openFiles(t)
	f.put("one/1", nil)
	f.clock.Set(time.Now().Add(47 * time.Hour))
	if found, _ := f.round(10); len(found) != 0 || len(f.one.asked) != 0 {
		t.Errorf("the round finds %q, and asked %v", found, f.one.asked)
	}
	f.clock.Set(time.Now().Add(49 * time.Hour))
	if found, _ := f.round(10); len(found) != 1 {
		t.Errorf("later the round finds %q", found)
	}
}

// What an owner cannot answer is compared again, and what was compared before that is not.
func TestUnreferencedFilesContinueAfterErrors(t *testing.T) {
	f := openFiles(t)
	f.put("one/1", nil)
	f.put("other/1", nil)
	f.other.fails = errors.New("the database does not answer")
	step, err := f.Compare(t.Context(), "", 10)
	if err != nil || len(step.Differences) != 1 || step.Next != "other " {
		t.Fatalf("the step is %+v (%v)", step, err)
	}
	if _, err := f.Compare(t.Context(), step.Next, 10); !errors.Is(err, f.other.fails) {
		t.Errorf("the next one: %v", err)
	}
	f.other.fails = nil
	if step, err = f.Compare(t.Context(), step.Next, 10); err != nil || len(step.Differences) != 1 || step.Next != "" {
		t.Errorf("the last step is %+v (%v)", step, err)
	}
}

// A file that is deleted while a backup is made is moved to where the backup finds it.
func TestAnUnreferencedFileIsKeptForABackup(t *testing.T) {
	f := openFiles(t)
	f.put("one/03/lost", nil)
	dir := t.TempDir()
	stop, err := f.store.Retain(dir)
	must(t, err)
	must(t, f.Repair(t.Context(), "one/03/lost"))
	if found, _ := f.round(10); len(found) != 0 {
		t.Errorf("after the repair the round finds %q", found)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "one", "03", "lost")); err != nil || string(b) != "some text" {
		t.Errorf("the backup finds %q (%v)", b, err)
	}
	stop()
}
