package coldtier_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/platform/coldtier"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

// unreferenced returns the files of the store that the manifest does not name.
func (h *harness) unreferenced(t testing.TB, tier *coldtier.Tier) []string {
	t.Helper()
	page, err := h.files.List(context.WithoutCancel(t.Context()), tier.Folder(), "", 1000)
	must(t, err)
	keys := make([]string, len(page.Files))
	for i, f := range page.Files {
		keys[i] = f.Key
	}
	list, err := tier.Unreferenced(context.WithoutCancel(t.Context()), keys)
	must(t, err)
	slices.Sort(list)
	return list
}

// Segments that the manifest does not name are found, however many there are, and none of those that are written, used, replaced or swept, at any step of that. Files with other names are left alone.
func TestSegmentsThatTheManifestDoesNotNameAreFound(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.fill(t, key, 30)
	tier := h.tier(t)
	steps := 0
	coldtier.SetInterrupt(tier, func(point string) error {
		if steps++; len(h.unreferenced(t, tier)) > 0 {
			t.Errorf("%s: %q are not named", point, h.unreferenced(t, tier))
		}
		return nil
	})
	must(t, tier.Round(t.Context()))
	must(t, tier.Log().Expire(t.Context(), key, 11, []uint64{1}))
	for range 3 { // rewrites what has expired, and sweeps what is not used any more
		h.clock.move(time.Hour)
		must(t, tier.Round(t.Context()))
	}
	if steps < 10 {
		t.Errorf("there were %d steps", steps)
	}
	var want []string
	for i := range 150 {
		want = append(want, fmt.Sprintf("cold/%02x/3/1-%016x", byte(key.Hash()), i))
		must(t, h.files.Put(t.Context(), want[i], strings.NewReader("planted"), 7))
	}
	for _, other := range []string{"cold/note", "cold/00/3/1", fmt.Sprintf("cold/%02x/3/1-%014x", byte(key.Hash()), 1), fmt.Sprintf("cold/%02x/3/01-%016x", byte(key.Hash()), 1), fmt.Sprintf("cold/%02x/3/1-%016x", byte(key.Hash())+1, 1)} { // not named like segments
		must(t, h.files.Put(t.Context(), other, strings.NewReader("other"), 5))
	}
	slices.Sort(want)
	if list := h.unreferenced(t, tier); !slices.Equal(list, want) {
		t.Errorf("%q are not named, want %q", list, want)
	}
	if got := stored(t, tier.Log(), key); !slices.Equal(got, append([]uint64{1}, upTo(30)[10:]...)) {
		t.Errorf("reading gives %v", got)
	}
}

// Segments whose file is missing, cut or changed are found in one round. Only a backup has them: once they are back, the round finds nothing.
func TestDamagedSegmentsAreFound(t *testing.T) {
	h, key := newHarness(t), conversation(3)
	h.fill(t, key, 30)
	tier := h.tier(t)
	must(t, tier.Round(t.Context()))
	c := tier.Comparison()
	round := func() (list []string) {
		t.Helper()
		for at := ""; ; {
			step, err := c.Compare(t.Context(), at, 1)
			must(t, err)
			for _, d := range step.Differences {
				list = append(list, d.Subject+": "+d.What())
			}
			if at = step.Next; at == "" {
				return list
			}
		}
	}
	if list := round(); len(list) != 0 {
		t.Fatalf("at first %q differ", list)
	}
	files := h.manifest(t)
	subject := func(path string) string {
		name, err := filepath.Rel(h.dir, path)
		must(t, err)
		return filepath.ToSlash(name)
	}
	if len(files) < 4 {
		t.Fatalf("there are %d segments", len(files))
	}
	for i := range 4 { // the last one stays, and nothing may be done about it
		must(t, c.Repair(t.Context(), subject(files[i])))
	}
	saved := map[string][]byte{}
	for _, path := range files[:3] {
		b, err := os.ReadFile(path)
		must(t, err)
		saved[path] = b
	}
	must(t, os.Remove(files[0]))
	must(t, os.Truncate(files[1], 5))
	changed := slices.Clone(saved[files[2]])
	changed[len(changed)/2] ^= 1
	must(t, os.WriteFile(files[2], changed, 0o600))
	text := func(path, what string) string {
		return subject(path) + ": its file " + subject(path) + what
	}
	want := []string{text(files[0], " is missing"), text(files[1], fmt.Sprintf(" has 5 bytes, and not %d", len(saved[files[1]]))), text(files[2], " has other bytes than were stored")}
	if list := round(); !slices.Equal(list, want) {
		t.Errorf("%q differ, want %q", list, want)
	}
	for path, b := range saved {
		if err := c.Repair(t.Context(), subject(path)); !errors.Is(err, reconciliation.ErrNoRepair) {
			t.Errorf("the repair: %v", err)
		}
		must(t, os.WriteFile(path, b, 0o600))
		must(t, c.Repair(t.Context(), subject(path)))
	}
	if list := round(); len(list) != 0 {
		t.Errorf("with all files %q differ", list)
	}
	must(t, c.Repair(t.Context(), "cold/00/3/1-0000000000000000"))
}
