package media_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
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
			list = append(list, d.Subject+": "+d.What())
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

// key returns that of the file of an upload.
func (r *fixture) key(n uint64) string {
	r.t.Helper()
	key, err := filepath.Rel(r.dir, r.file(n))
	if err != nil {
		r.t.Fatal(err)
	}
	return filepath.ToSlash(key)
}

// flip changes one bit of a file, at an offset.
func flip(t *testing.T, path string, offset int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	_, err = f.ReadAt(b, offset)
	b[0] ^= 4
	_, werr := f.WriteAt(b, offset)
	if err := errors.Join(err, werr, f.Close()); err != nil {
		t.Fatal(err)
	}
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
	if list, items, _ := r.differences("files"); len(list) != 0 || items != 5*10 {
		t.Fatalf("of %d files %q differ", items, list)
	}
	want := []string{fmt.Sprint("upload ", uploads[1], ": its file ", r.key(uploads[1]), " is missing"), fmt.Sprint("upload ", uploads[3], ": its file ", r.key(uploads[3]), " has 4 bytes, and not 9")}
	if err := os.Remove(r.file(uploads[1])); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(r.file(uploads[3]), 4); err != nil {
		t.Fatal(err)
	}
	list, _, c := r.differences("files")
	if !slices.Equal(list, want) {
		t.Fatalf("%q differ, want %q", list, want)
	}
	for i := range uploads {
		for range 2 { // a repair may be repeated
			if err := c.Repair(t.Context(), fmt.Sprint("upload ", uploads[i])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if list, items, _ := r.differences("files"); len(list) != 0 || items != 3*10 {
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

// A flipped bit in the file of an upload is found within one round, wherever it is, and however the bytes came: at once, in parts, by tus, or without the metadata of a picture. Other files agree.
func TestFlippedBitsAreFound(t *testing.T) {
	r := open(t, media.Config{})
	whole := r.upload("whole.txt", []byte("some text")).Upload
	large := r.upload("large.bin", threeParts).Upload
	picture := coloured(t, "jpeg")
	stripped := r.upload("picture.jpg", slices.Concat(picture[:2], []byte(segment(0xFE, "a comment")), picture[2:])).Upload
	address := r.createTus(len(threeParts))
	for at := 0; at < len(threeParts); at += 3_000_000 {
		if w := r.patch(address, at, bytes.NewReader(threeParts[at:min(at+3_000_000, len(threeParts))])); w.Code != http.StatusNoContent {
			t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
		}
	}
	tus := tusUpload(address)
	parts := r.multipart(alice, len(threeParts)).Upload
	for number := 1; number <= 3; number++ {
		if w := r.putPart(parts, number, piece(threeParts, number)); w.Code != http.StatusOK {
			t.Fatalf("status %d, want %d: %s", w.Code, http.StatusOK, w.Body)
		}
	}
	for _, n := range []uint64{parts, tus} {
		if _, err := r.CompleteUpload(t.Context(), alice, id.Upload(n)); err != nil {
			t.Fatal(err)
		}
	}
	all := []uint64{whole, large, stripped, parts, tus}
	if list, _, _ := r.differences("files"); len(list) != 0 {
		t.Fatalf("at first %q differ", list)
	}
	for _, n := range all {
		info, err := os.Stat(r.file(n))
		if err != nil {
			t.Fatal(err)
		}
		for _, offset := range []int64{0, info.Size() / 2, info.Size() - 1} {
			flip(t, r.file(n), offset)
			want := []string{fmt.Sprint("upload ", n, ": its file ", r.key(n), " has other bytes than were stored")}
			if list, _, _ := r.differences("files"); !slices.Equal(list, want) {
				t.Errorf("with a flipped bit at %d %q differ, want %q", offset, list, want)
			}
			flip(t, r.file(n), offset)
		}
	}
	list, _, c := r.differences("files")
	if len(list) != 0 {
		t.Errorf("after the bits are back %q differ", list)
	}
	flip(t, r.file(large), 7)
	if err := c.Repair(t.Context(), fmt.Sprint("upload ", large)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.GetDownload(t.Context(), alice, &chatv1.GetDownloadRequest{Upload: large}); !errs.Is(err, errs.NotFound) {
		t.Errorf("the damaged upload after its repair: %v", err)
	}
}

// A file that is larger than what a step may read is compared in several steps, each of which reads at least a piece of it, and continues where the one before ended.
func TestALargeFileIsComparedInSeveralSteps(t *testing.T) {
	r := open(t, media.Config{})
	first := r.upload("first.txt", []byte("some text")).Upload
	large := r.upload("large.bin", threeParts).Upload
	r.upload("last.txt", []byte("some text"))
	flip(t, r.file(large), int64(len(threeParts)-1))
	c := r.Comparisons()[0]
	var positions []string
	found := 0
	for at := fmt.Sprint(first); ; {
		step, err := c.Compare(t.Context(), at, 10)
		if err != nil || len(positions) > 5 {
			t.Fatalf("positions %v, want at most 5; error %v", positions, err)
		}
		found += len(step.Differences)
		if at = step.Next; at == "" {
			break
		}
		pieces := strings.Fields(at)
		positions = append(positions, strings.Join(pieces[:min(2, len(pieces))], "+"))
	}
	if want := []string{fmt.Sprint(large, "+1"), fmt.Sprint(large, "+2"), fmt.Sprint(large)}; !slices.Equal(positions[:min(3, len(positions))], want) || found != 1 {
		t.Errorf("the steps ended behind %q, and found %d; want %q and 1", positions, found, want)
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
	if err != nil || step.Items != 10 || step.Next != fmt.Sprint(uploads[0]) {
		t.Fatalf("%d items were compared, and %q follows, %v; want 10 through %d", step.Items, step.Next, err, uploads[0])
	}
	if step, err := c.Compare(ctx, step.Next, 1000); err == nil || step.Items != 0 {
		t.Errorf("%d files were compared without time, %v", step.Items, err)
	}
	if step, err = c.Compare(t.Context(), step.Next, 1000); err != nil || step.Items != 40 || step.Next != "" {
		t.Errorf("%d items were compared at last, and %q follows, %v; want 40 and nothing", step.Items, step.Next, err)
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
