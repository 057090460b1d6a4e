package media_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
	"github.com/rialto-im/rialto/internal/service/media"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// differences runs a whole round of a comparison, in steps of two items. It returns what differs, and how many items were compared.
func (r *fixture) differences(name string) (list []string, items int, c reconciliation.Comparison) {
	r.t.Helper()
	all := r.Comparisons()
	c = all[slices.IndexFunc(all, func(c reconciliation.Comparison) bool { return c.Name() == name })]
	for at := ""; ; {
		step, err := c.Compare(context.WithoutCancel(r.t.Context()), at, 2)
		if err != nil {
			r.t.Fatal(err)
		}
		items += step.Items
		for _, d := range step.Differences {
			list = append(list, d.Subject+": "+d.What)
		}
		if at = step.Next; at == "" {
			return list, items, c
		}
	}
}

// file returns the path of the file of an upload.
func (r *fixture) file(n uint64) (path string) {
	r.t.Helper()
	err := filepath.WalkDir(r.dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(d.Name(), fmt.Sprint(n)) {
			path = p
		}
		return err
	})
	if err != nil || path == "" {
		r.t.Fatalf("upload %d has no file: %v", n, err)
	}
	return path
}

// A file that is missing, and one that is cut, are found in one round. The repair drops their uploads, so that nobody is sent to them and the quota is free; then the
// stores agree. Other uploads stay.
func TestMissingFilesAreFoundAndDropped(t *testing.T) {
	r := open(t, media.Config{})
	var uploads []uint64
	for i := range 5 {
		uploads = append(uploads, r.upload(fmt.Sprint(i, ".txt"), []byte("some text")).Upload)
	}
	r.create(alice, "unfinished.txt", 5)
	if list, items, _ := r.differences("files"); len(list) != 0 || items != 5 {
		t.Fatalf("of %d files %q differ", items, list)
	}
	if err := os.Remove(r.file(uploads[1])); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(r.file(uploads[3]), 4); err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprint("upload ", uploads[1], ": its file is missing"), fmt.Sprint("upload ", uploads[3], ": its file has ")}
	list, _, c := r.differences("files")
	if len(list) != 2 || list[0] != want[0] || !strings.HasPrefix(list[1], want[1]) {
		t.Fatalf("%q differ, want %q", list, want)
	}
	for i := range uploads {
		for range 2 { // a repair may be repeated
			if err := c.Repair(t.Context(), fmt.Sprint("upload ", uploads[i])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if list, items, _ := r.differences("files"); len(list) != 0 || items != 3 {
		t.Errorf("after the repair, of %d files %q differ", items, list)
	}
	for i, n := range uploads {
		_, err := r.GetDownload(t.Context(), alice, &chatv1.GetDownloadRequest{Upload: n})
		if gone := i == 1 || i == 3; gone != errs.Is(err, errs.NotFound) || !gone && err != nil {
			t.Errorf("upload %d: %v", i, err)
		}
	}
	if err := c.Repair(t.Context(), "upload of nobody"); err == nil {
		t.Error("a subject that names no upload is repaired")
	}
}

// If the time of a step is over before all its files were opened, the next step continues behind those that were. A step without any fails.
func TestSlowFilesAreComparedInSeveralSteps(t *testing.T) {
	r := open(t, media.Config{})
	var uploads []uint64
	for i := range 5 {
		uploads = append(uploads, r.upload(fmt.Sprint(i, ".txt"), []byte("some text")).Upload)
	}
	c := r.Comparisons()[0]
	ctx, end := context.WithCancel(t.Context())
	r.store.opening = func() {
		r.store.opening = end // with the second file
	}
	step, err := c.Compare(ctx, "", 1000)
	if err != nil || step.Items != 2 || step.Next != fmt.Sprint(uploads[1]) {
		t.Fatalf("%d files were compared, and %q follows, %v; want 2 through %d", step.Items, step.Next, err, uploads[1])
	}
	if step, err := c.Compare(ctx, step.Next, 1000); err == nil || step.Items != 0 {
		t.Errorf("%d files were compared without time, %v", step.Items, err)
	}
	if step, err = c.Compare(t.Context(), step.Next, 1000); err != nil || step.Items != 3 || step.Next != "" {
		t.Errorf("%d files were compared at last, and %q follows, %v; want 3 and nothing", step.Items, step.Next, err)
	}
}

// A total that is not the sum of its uploads is found in one round, and counted again.
func TestWrongTotalsAreFoundAndCounted(t *testing.T) {
	r := open(t, media.Config{})
	r.upload("one.txt", []byte("some text"))
	r.create(alice, "unfinished.txt", 5)
	r.create(bob, "bob.txt", 7)
	if list, items, _ := r.differences("quotas"); len(list) != 0 || items != 2 {
		t.Fatalf("of %d totals %q differ", items, list)
	}
	err := r.deps.DB.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE upload_sums SET used = used + 100, unfinished = unfinished - 1 WHERE owner = $1`, int64(bob))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	list, _, c := r.differences("quotas")
	if want := []string{"user 2: 107 bytes and 0 unfinished uploads are counted, and there are 7 and 1"}; !slices.Equal(list, want) {
		t.Fatalf("%q differ, want %q", list, want)
	}
	if err := c.Repair(t.Context(), "user 2"); err != nil {
		t.Fatal(err)
	}
	if list, _, _ := r.differences("quotas"); len(list) != 0 {
		t.Errorf("after the repair %q differ", list)
	}
}
