package backup_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob/s3test"
	"github.com/rialto-im/rialto/internal/platform/backup"
)

// buckets is an S3 server in memory, for what backups need: it stores, reads, deletes and lists. The same tests use a real one where there is one.
type buckets struct {
	mu      sync.Mutex // guards the fields below
	files   map[string]stored
	refuse  func(method, name string) bool
	written []string
}

type stored struct {
	text     []byte
	modified time.Time
}

func newBuckets(t *testing.T) (*buckets, backup.S3) {
	t.Helper()
	b := &buckets{files: map[string]stored{}, refuse: func(string, string) bool { return false }}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return b, backup.S3{Endpoint: server.URL, AccessKey: "a", SecretKey: "b"}
}

func (b *buckets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/")
	fail := func(status int, code string) {
		w.WriteHeader(status)
		_ = xml.NewEncoder(w).Encode(struct {
			XMLName xml.Name `xml:"Error"`
			Code    string
		}{Code: code})
	}
	if b.refuse(r.Method, name) {
		fail(http.StatusForbidden, "AccessDenied")
		return
	}
	if r.Method == http.MethodGet && r.URL.Query().Get("list-type") == "2" {
		b.list(w, strings.TrimSuffix(name, "/"), r.URL.Query().Get("prefix"), r.URL.Query().Get("start-after"))
		return
	}
	switch r.Method {
	case http.MethodPut:
		text, err := body(r)
		if err != nil {
			fail(http.StatusBadRequest, "IncompleteBody")
			return
		}
		b.files[name] = stored{text, time.Now()}
		b.written = append(b.written, name)
		w.Header().Set("ETag", `"1"`)
	case http.MethodGet:
		f, ok := b.files[name]
		if !ok {
			fail(http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", f.modified, bytes.NewReader(f.text))
	case http.MethodDelete:
		delete(b.files, name)
		w.WriteHeader(http.StatusNoContent)
	default:
		fail(http.StatusNotImplemented, "NotImplemented")
	}
}

// body reads what is stored, which may come in signed chunks: their sizes in hexadecimal and signatures, each followed by its bytes.
func body(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(r.Body)
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return text, err
	}
	var whole []byte
	for err == nil {
		head, rest, _ := bytes.Cut(text, []byte("\r\n"))
		size, _, _ := strings.Cut(string(head), ";")
		n, failed := strconv.ParseUint(size, 16, 32)
		if failed != nil || n > uint64(len(rest)) {
			return nil, io.ErrUnexpectedEOF
		}
		if n == 0 {
			return whole, nil
		}
		whole = append(whole, rest[:n]...)
		text = bytes.TrimPrefix(rest[n:], []byte("\r\n"))
	}
	return nil, err
}

type listing struct {
	XMLName  xml.Name `xml:"ListBucketResult"`
	Contents []listed
}

type listed struct {
	Key          string
	LastModified string
	Size         int
}

// list lists at most a thousand files of a bucket, as S3 does; the client goes on after the last.
func (b *buckets) list(w io.Writer, bucket, prefix, after string) {
	var out listing
	for name, f := range b.files {
		if key, ok := strings.CutPrefix(name, bucket+"/"); ok && strings.HasPrefix(key, prefix) && key > after {
			out.Contents = append(out.Contents, listed{key, f.modified.UTC().Format("2006-01-02T15:04:05.000Z"), len(f.text)})
		}
	}
	slices.SortFunc(out.Contents, func(a, b listed) int { return strings.Compare(a.Key, b.Key) })
	out.Contents = out.Contents[:min(len(out.Contents), 1000)]
	_ = xml.NewEncoder(w).Encode(out)
}

// names of the files in a folder of the bucket.
func (b *buckets) names(prefix string) (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.files {
		if strings.HasPrefix(name, prefix) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func (b *buckets) change(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

// A backup in a bucket is as one in a directory: what an earlier one has is not stored again, large files have several objects, it is encrypted if that is asked for, and
// is restored as it was. With a real server as well.
func TestBackupsInABucket(t *testing.T) {
	t.Run("in memory", func(t *testing.T) {
		_, s3 := newBuckets(t)
		testBackupsInABucket(t, s3, "bucket")
	})
	t.Run("S3", func(t *testing.T) {
		s := s3test.Start(t)
		testBackupsInABucket(t, backup.S3{Endpoint: s.Endpoint, AccessKey: s.AccessKey, SecretKey: s.SecretKey}, s.Bucket(t))
	})
}

func testBackupsInABucket(t *testing.T, s3 backup.S3, bucket string) {
	d := newDirectory(t)
	d.s3, d.backups = s3, "s3://"+bucket+"/some/backups"
	if _, err := backup.List(t.Context(), d.config()); err == nil || !strings.Contains(err.Error(), "has no backups") {
		t.Errorf("an empty bucket is listed: %v", err)
	}
	d.add(30)
	d.put("a/1", "a/2")
	var large []byte // three objects
	for i := range 9 << 20 / 16 {
		large = fmt.Appendf(large, "%015d\n", i)
	}
	if err := d.files.Put(t.Context(), "a/large", bytes.NewReader(large), int64(len(large))); err != nil {
		t.Fatal(err)
	}
	first := d.mustMake()
	d.add(10)
	d.put("a/3")
	second := d.mustMake()
	if first.NewBytes < int64(len(large)) || second.NewBytes > int64(len(large)) || second.NewFiles == 0 {
		t.Errorf("the first backup is %+v, the second %+v", first, second)
	}
	for _, f := range manifestOf(t, d, second.ID).Files {
		if f.Path == "blobs/a/large" && len(f.Parts) != 3 || f.Path == "blobs/a/1" && len(f.Parts) != 1 {
			t.Errorf("%s has %d objects, want 3 for the large file and 1 for the small one", f.Path, len(f.Parts))
		}
	}
	to := filepath.Join(t.TempDir(), "restored")
	if _, _, err := backup.Restore(t.Context(), to, d.restoreOptions(first.ID)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(to, "blobs", "a", "large")); err != nil || !bytes.Equal(got, large) {
		t.Errorf("the large file was restored with %d bytes: %v", len(got), err)
	}
	if err := d.files.Delete(t.Context(), "a/large"); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key")
	recipient, err := backup.NewKey(key)
	if err != nil {
		t.Fatal(err)
	}
	c := d.config()
	c.Recipients = []string{recipient}
	third, err := d.make(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := d.restoreOptions("")
	o.Identity = key
	d.restored(o, 40, "a/1", "a/2", "a/3")
	list, err := backup.List(t.Context(), d.config())
	if err != nil || len(list) != 3 || list[0].ID != first.ID || list[2].ID != third.ID || !list[2].Encrypted {
		t.Errorf("the backups are %+v, %v", list, err)
	}
	objects, size, err := backup.Remove(t.Context(), d.config(), []string{first.ID, second.ID})
	if err != nil || objects < 4 || size < int64(len(large)) {
		t.Errorf("removed %d objects, %d bytes: %v", objects, size, err)
	}
	d.restored(o, 40, "a/1", "a/2", "a/3")
}

// A bucket is written by one process at a time. The lock of one that died counts for a while, and then no longer; without its own lock, a process writes nothing.
func TestABucketIsLocked(t *testing.T) {
	b, s3 := newBuckets(t)
	d := newDirectory(t)
	d.s3, d.backups = s3, "s3://bucket/backups"
	d.add(1)
	r := d.mustMake()
	tried := false
	_, err := d.make(t.Context(), d.config(), func(int64, int64) {
		if tried {
			return
		}
		tried = true
		_, err1 := d.make(t.Context(), d.config(), nil)
		_, _, err2 := backup.Remove(t.Context(), d.config(), []string{r.ID})
		for _, err := range []error{err1, err2} {
			if err == nil || !strings.Contains(err.Error(), "wait until it has ended") {
				t.Errorf("during a backup another command returned %v, want an error that says to wait until it has ended", err)
			}
		}
		if list, err := backup.List(t.Context(), d.config()); err != nil || len(list) != 1 {
			t.Errorf("during a backup the list is %v, %v", list, err)
		}
	})
	if err != nil || !tried || len(b.names("bucket/backups/locks/")) != 0 {
		t.Errorf("tried: %v, %v; there are the locks %v", tried, err, b.names("bucket/backups/locks/"))
	}
	died := "bucket/backups/locks/20260101T000000.000Z-abcdef"
	b.change(func() { b.files[died] = stored{nil, time.Now().Add(-14 * time.Minute)} })
	if _, err := d.make(t.Context(), d.config(), nil); err == nil || !strings.Contains(err.Error(), "wait until") {
		t.Errorf("beside the lock of another process a backup returned %v", err)
	}
	b.change(func() { b.files[died] = stored{nil, time.Now().Add(-16 * time.Minute)} })
	d.mustMake()
	if left := b.names("bucket/backups/locks/"); len(left) != 0 {
		t.Errorf("there are the locks %v", left)
	}
}

// lockedBucket opens a bucket for writing, and returns its lock's name on the server.
func lockedBucket(t *testing.T) (*buckets, backup.LockedBucket, string) {
	t.Helper()
	b, s3 := newBuckets(t)
	l, err := backup.LockBucket(t.Context(), backup.Config{Directory: "s3://bucket/backups", S3: s3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, l, b.names("bucket/backups/locks/")[0]
}

// A lock that another process removed is not stored again, and nothing is written without it. An error of a renewal is in that of what needed the lock.
func TestALockIsRenewed(t *testing.T) {
	b, l, lock := lockedBucket(t)
	wants := func(when, want string) {
		t.Helper()
		if err := l.Put(t.Context(), "objects/1"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s a file is written: %v, want %q", when, err, want)
		}
	}
	wants("at first", "")
	l.Age(7 * time.Minute)
	l.Renew(t.Context())
	l.Age(7 * time.Minute)
	wants("after a renewal", "")
	b.change(func() { b.refuse = func(method, _ string) bool { return method == http.MethodPut } })
	l.Renew(t.Context())
	l.Age(time.Minute)
	wants("after a renewal that failed", "could not be renewed for some minutes, and another process may use the bucket: repeat it: ")
	b.change(func() { b.refuse = func(string, string) bool { return false } })
	l.Renew(t.Context())
	wants("once it is too late", "could not be renewed")
	l.Age(-8 * time.Minute)
	b.change(func() { delete(b.files, lock) })
	l.Renew(t.Context())
	wants("without the lock", "has removed the lock")
	l.Renew(t.Context())
	if left := b.names("bucket/backups/locks/"); len(left) != 0 {
		t.Errorf("there are the locks %v", left)
	}
}

// Before each batch of removals the server is asked whose lock the bucket has.
func TestRemovalsConfirmTheLock(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *buckets, lock string)
		want   string
	}{
		"the lock is gone": {func(b *buckets, lock string) { delete(b.files, lock) }, "has removed the lock"},
		"there is another": {func(b *buckets, _ string) {
			b.files["bucket/backups/locks/20260101T000000.000Z-abcdef"] = stored{nil, time.Now()}
		}, "wait until it has ended"},
		"the server does not list": {func(b *buckets, _ string) {
			b.refuse = func(method, _ string) bool { return method == http.MethodGet }
		}, "permissions"},
	} {
		t.Run(name, func(t *testing.T) {
			b, l, lock := lockedBucket(t)
			for _, file := range []string{"objects/1", "objects/2"} {
				if err := l.Put(t.Context(), file); err != nil {
					t.Fatal(err)
				}
			}
			for range backup.RemovalBatch {
				if err := l.Remove(t.Context(), "objects/1"); err != nil {
					t.Fatal(err)
				}
			}
			b.change(func() { c.change(b, lock) })
			if err := l.Remove(t.Context(), "objects/2"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("a removal returned %v, want %q", err, c.want)
			}
			if left := b.names("bucket/backups/objects/"); len(left) != 1 {
				t.Errorf("the objects %v are left", left)
			}
		})
	}
}

// Other files of a bucket are left alone, and a bucket that refuses something is no backup.
func TestBucketsThatAreRefused(t *testing.T) {
	b, s3 := newBuckets(t)
	d := newDirectory(t)
	d.s3 = s3
	d.add(1)
	b.change(func() { b.files["bucket/other/letter.txt"] = stored{[]byte("a letter"), time.Now()} })
	for place, want := range map[string]string{"s3://": "is no s3://", "s3://bucket/UPPER": "is no s3://", "s3://a@b/c": "is no s3://", "s3://bucket/other": "other files", "s3://bucket": "other files"} {
		d.backups = place
		if _, err := d.make(t.Context(), d.config(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a backup to %s returned %v, want %q", place, err, want)
		}
	}
	d.backups = "s3://bucket/own"
	first := d.mustMake()
	b.change(func() {
		b.refuse = func(method, name string) bool {
			return method == http.MethodPut && strings.HasPrefix(name, "bucket/own/backups/")
		}
	})
	d.add(1)
	if _, err := d.make(t.Context(), d.config(), nil); err == nil || !strings.Contains(err.Error(), "permissions") {
		t.Errorf("a backup whose manifest is refused returned %v, want an error about permissions", err)
	}
	b.change(func() { b.refuse = func(method, name string) bool { return method != http.MethodGet } })
	if list, err := backup.List(t.Context(), d.config()); err != nil || len(list) != 1 || list[0].ID != first.ID {
		t.Errorf("with keys that only read, the backups are %+v, %v", list, err)
	}
	d.restored(d.restoreOptions(""), 1)
	if got := b.names("bucket/other/"); len(got) != 1 {
		t.Errorf("of the other files there are %v", got)
	}
}

// What is damaged or missing in a bucket is found before anything is restored.
func TestADamagedBackupInABucket(t *testing.T) {
	b, s3 := newBuckets(t)
	d := newDirectory(t)
	d.s3, d.backups = s3, "s3://bucket/backups"
	d.add(3)
	d.mustMake()
	objects := b.names("bucket/backups/objects/")
	for i, damage := range []func(name string){
		func(name string) { delete(b.files, name) },
		func(name string) { b.files[name] = stored{[]byte("damaged"), time.Now()} },
	} {
		whole := b.files[objects[i]]
		b.change(func() { damage(objects[i]) })
		to := filepath.Join(t.TempDir(), "to")
		if _, _, err := backup.Restore(t.Context(), to, d.restoreOptions("")); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(objects[i], "bucket/")) {
			t.Errorf("the restore returned %v, want one that names %s", err, objects[i])
		}
		if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("something was written: %v", err)
		}
		b.change(func() { b.files[objects[i]] = whole })
	}
}

// The age is that of the newest complete backup of the same data directory that is known.
func TestTheAgeOfTheNewestBackup(t *testing.T) {
	d, other := newDirectory(t), newDirectory(t)
	d.add(1)
	other.add(1)
	now := clocktest.NewManual()
	now.Set(time.Now().Add(time.Hour))
	age := func(c backup.Config) (*backup.Service, float64) {
		t.Helper()
		s := backup.NewService(backup.Source{Dir: d.dir, Stores: d.stores, Files: d.files}, c, now, quiet)
		s.ReadAge(t.Context())
		return s, s.Age()
	}
	hour := func(age float64) bool { return age > 3500 && age < 3700 }
	if s, got := age(d.config()); !math.IsInf(got, 1) || !s.Enabled() {
		t.Errorf("without a backup the age is %v", got)
	}
	if s := backup.NewService(backup.Source{}, d.config(), now, quiet); s.Enabled() || !math.IsInf(s.Age(), 1) {
		t.Error("without stores backups are made")
	}
	other.backups = d.backups
	other.mustMake()
	if _, got := age(d.config()); !math.IsInf(got, 1) {
		t.Errorf("with a backup of another directory the age is %v", got)
	}
	r := d.mustMake()
	s, got := age(d.config())
	if !hour(got) {
		t.Errorf("after a backup the age is %v", got)
	}
	now.Advance(time.Minute)
	if later := s.Age(); later != got+60 {
		t.Errorf("a minute later the age is %v, after %v", later, got)
	}
	if err := os.Rename(d.backups, d.backups+".away"); err != nil {
		t.Fatal(err)
	}
	if s.ReadAge(t.Context()); !hour(s.Age() - 60) {
		t.Errorf("while the directory cannot be read the age is %v", s.Age())
	}
	if err := os.Rename(d.backups+".away", d.backups); err != nil {
		t.Fatal(err)
	}
	if _, _, err := backup.Remove(t.Context(), d.config(), []string{r.ID}); err != nil {
		t.Fatal(err)
	}
	if s.ReadAge(t.Context()); !math.IsInf(s.Age(), 1) {
		t.Errorf("after its removal the age is %v", s.Age())
	}
	running, _ := running(t, d, d.config())
	if _, err := running.Start(t.Context(), "olga", recordNothing); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "a backup of the server counts", func() bool { return running.Age() < 3600 })
}
