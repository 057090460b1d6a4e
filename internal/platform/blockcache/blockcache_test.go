package blockcache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
)

// origin has a file, and counts how often each byte range is asked for.
type origin struct {
	data []byte
	hold chan struct{} // if not nil, answers wait until it is closed
	fail atomic.Pointer[error]

	mu    sync.Mutex // guards asked
	asked map[int64]int
}

func newOrigin(size int) *origin {
	data := make([]byte, size)
	chaCha := rand.NewChaCha8([32]byte{byte(size), byte(size >> 8)})
	_, _ = chaCha.Read(data) // it cannot fail
	return &origin{data: data, asked: map[int64]int{}}
}

func (o *origin) read(ctx context.Context, offset, length int64) (io.ReadCloser, int64, error) {
	o.mu.Lock()
	o.asked[offset]++
	o.mu.Unlock()
	if o.hold != nil {
		select {
		case <-o.hold:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
	if err := o.fail.Load(); err != nil {
		return nil, 0, *err
	}
	return io.NopCloser(bytes.NewReader(o.data[offset:min(offset+length, int64(len(o.data)))])), int64(len(o.data)), nil
}

// requests returns how often the block that begins at an offset was asked for.
func (o *origin) requests(offset int64) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked[offset]
}

// all returns all requests.
func (o *origin) all() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.asked {
		n += k
	}
	return n
}

func (o *origin) file(group string) blockcache.File {
	return blockcache.File{Group: group, Name: "f", Size: int64(len(o.data))}
}

func open(t testing.TB, config blockcache.Config) *blockcache.Cache {
	t.Helper()
	if config.Dir == "" {
		config.Dir = filepath.Join(t.TempDir(), "cache")
	}
	c, err := blockcache.Open(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // it cannot fail
	return c
}

func readAll(ctx context.Context, c *blockcache.Cache, o *origin, group string) ([]byte, error) {
	r := c.NewReader(ctx, o.file(group), o.read)
	b, err := io.ReadAll(r)
	return b, errors.Join(err, r.Close())
}

func checkAll(t *testing.T, c *blockcache.Cache, o *origin, group string) {
	t.Helper()
	if b, err := readAll(t.Context(), c, o, group); err != nil || !bytes.Equal(b, o.data) {
		t.Errorf("%s is read as %d bytes, equal %v, %v", group, len(b), bytes.Equal(b, o.data), err)
	}
}

// blocks returns the paths of all files in a folder.
func blocks(t *testing.T, dir string) (paths []string, size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			paths, size = append(paths, path), size+info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths, size
}

const mib = blockcache.BlockSize

// TestFilesAreReadOnceFromTheirOrigin: files of many sizes are what they are, and each block is asked for once, also after a restart.
func TestFilesAreReadOnceFromTheirOrigin(t *testing.T) {
	dir := t.TempDir()
	c := open(t, blockcache.Config{Dir: dir})
	sizes := []int{1, 64<<10 - 1, 64 << 10, 64<<10 + 1, mib - 1, mib, mib + 1, 3*mib + 5}
	origins := map[string]*origin{}
	for _, size := range sizes {
		o := newOrigin(size)
		origins[fmt.Sprint(size)] = o
		checkAll(t, c, o, fmt.Sprint(size))
		checkAll(t, c, o, fmt.Sprint(size))
	}
	_ = c.Close()
	again := open(t, blockcache.Config{Dir: dir})
	for group, o := range origins {
		checkAll(t, again, o, group)
		if want := (len(o.data) + mib - 1) / mib; o.all() != want {
			t.Errorf("a file of %s bytes is asked for by %d requests, not %d", group, o.all(), want)
		}
		if size, ok := again.Size(group, "f"); !ok || size != int64(len(o.data)) {
			t.Errorf("the size of %s is %d, %v", group, size, ok)
		}
	}
}

// TestOneRequestForManyReaders: a thousand readers of a cold file cause one request for each block.
func TestOneRequestForManyReaders(t *testing.T) {
	c, o := open(t, blockcache.Config{}), newOrigin(mib+1)
	o.hold = make(chan struct{})
	const readers = 1000
	var started, group sync.WaitGroup
	var wrong atomic.Int64
	for range readers {
		started.Add(1)
		group.Go(func() {
			started.Done()
			r := c.NewReader(t.Context(), o.file("g"), o.read)
			defer r.Close()
			if n, err := io.Copy(&checking{data: o.data}, r); err != nil || n != int64(len(o.data)) {
				wrong.Add(1)
			}
		})
	}
	started.Wait()
	close(o.hold)
	group.Wait()
	s := c.Stats()
	if o.all() != 2 || wrong.Load() != 0 || s.Hits.Load()+s.Joined.Load()+s.Misses.Load() != 2*readers || s.FetchedBytes.Load() != int64(len(o.data)) || s.ReadBytes.Load() != readers*int64(len(o.data)) {
		t.Errorf("%d requests, %d wrong readers, %d hits, %d joined, %d misses, %d bytes of %d", o.all(), wrong.Load(), s.Hits.Load(), s.Joined.Load(), s.Misses.Load(), s.FetchedBytes.Load(), s.ReadBytes.Load())
	}
}

// checking fails unless what is written to it is a file.
type checking struct{ data []byte }

func (c *checking) Write(b []byte) (int, error) {
	if !bytes.HasPrefix(c.data, b) {
		return 0, errors.New("wrong bytes")
	}
	c.data = c.data[len(b):]
	return len(b), nil
}

// TestDamagedBlocksAreNeverServed: whatever is changed in a file of a block, at its end, or by another file in its place, readers get the right bytes.
func TestDamagedBlocksAreNeverServed(t *testing.T) {
	dir := t.TempDir()
	c, o, other := open(t, blockcache.Config{Dir: dir, Trust: 1}), newOrigin(100_000), newOrigin(100_001)
	other.data = other.data[:100_000]
	checkAll(t, c, other, "other")
	foreign, _ := blocks(t, dir)
	wrong, err := os.ReadFile(foreign[0])
	if err != nil {
		t.Fatal(err)
	}
	c.RemoveGroup("other")
	checkAll(t, c, o, "g")
	paths, _ := blocks(t, dir)
	if len(paths) != 1 {
		t.Fatalf("%d blocks", len(paths))
	}
	intact, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string][]byte{"empty": {}, "the first half": intact[:len(intact)/2], "without the last byte": intact[:len(intact)-1], "of another file": wrong, "zeros": make([]byte, len(intact))}
	for i := 0; i < len(intact); i += 1 + i/3 {
		flipped := bytes.Clone(intact)
		flipped[i] ^= 1 << (i % 8)
		damage[fmt.Sprint("byte ", i)] = flipped
	}
	n := o.all()
	for what, b := range damage {
		if err := os.WriteFile(paths[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		checkAll(t, c, o, "g")
		if n++; o.all() != n {
			t.Errorf("%s: %d requests, not %d", what, o.all(), n)
			n = o.all()
		}
	}
	if got := c.Stats().Damaged.Load(); got != int64(len(damage)) {
		t.Errorf("%d damaged blocks are counted, not %d", got, len(damage))
	}
}

// TestTheFolderMayBeDeleted at any time, and files be left in it.
func TestTheFolderMayBeDeleted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c, o := open(t, blockcache.Config{Dir: dir}), newOrigin(2*mib)
	checkAll(t, c, o, "g")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	checkAll(t, c, o, "g")
	checkAll(t, c, o, "g")
	if o.all() != 4 {
		t.Errorf("%d requests, not 4", o.all())
	}
	_ = c.Close()
	paths, _ := blocks(t, dir)
	folder := filepath.Dir(paths[0])
	left := filepath.Join(folder, "tmp-1234")
	for _, path := range []string{left, filepath.Join(folder, "notes"), filepath.Join(dir, filepath.Base(paths[0]))} {
		if err := os.WriteFile(path, []byte("of a killed process"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again := open(t, blockcache.Config{Dir: dir})
	if n, _ := again.Usage(); n != 2 {
		t.Errorf("%d blocks are found, not 2", n)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a temporary file is left: %v", err)
	}
	checkAll(t, again, o, "g")
}

// TestDiskIsBounded: what was not read for longest gives way, also at the start.
func TestDiskIsBounded(t *testing.T) {
	dir := t.TempDir()
	const most = 5 * mib
	c := open(t, blockcache.Config{Dir: dir, MaxBytes: most})
	popular := newOrigin(mib / 2)
	var last *origin
	for i := range 20 {
		last = newOrigin(mib / 2)
		checkAll(t, c, last, fmt.Sprint("g", i))
		checkAll(t, c, popular, "popular")
		eventually.True(t, "room for the latest block", func() bool { // what gives way is removed after the block is there
			_, size := blocks(t, dir)
			return size <= most
		})
	}
	if checkAll(t, c, last, "g19"); last.all() != 1 {
		t.Errorf("the latest file is asked for %d times", last.all())
	}
	n, charged := c.Usage()
	if popular.all() != 1 || n != 9 || charged > most || c.Stats().Evictions.Load() != 12 {
		t.Errorf("the popular file is asked for %d times; %d blocks are charged with %d; %d evictions", popular.all(), n, charged, c.Stats().Evictions.Load())
	}
	_ = c.Close()
	smaller := open(t, blockcache.Config{Dir: dir, MaxBytes: 2 * mib})
	if paths, size := blocks(t, dir); size > 2*mib || len(paths) != 3 {
		t.Errorf("after a start with a smaller bound, %d blocks have %d bytes", len(paths), size)
	}
	tiny := open(t, blockcache.Config{Dir: t.TempDir(), MaxBytes: 1})
	checkAll(t, tiny, popular, "g")
	if n, _ := tiny.Usage(); n != 0 {
		t.Errorf("%d blocks are kept without room", n)
	}
	checkAll(t, smaller, newOrigin(3*mib), "larger than the cache")
}

// TestFetchesEndWithTheirReaders: when the last reader that waits leaves, the fetch ends, and its slot is free. One that stays gets the block.
func TestFetchesEndWithTheirReaders(t *testing.T) {
	c, o := open(t, blockcache.Config{Fetches: 1}), newOrigin(100)
	o.hold = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := readAll(ctx, c, o, "g")
			left <- err
		}()
	}
	eventually.True(t, "the other goroutine has come so far", func() bool { return o.all() == 1 && c.Stats().Joined.Load() == 1 })
	stays := make(chan error, 1)
	go func() {
		b, err := readAll(t.Context(), c, o, "g")
		if err == nil && !bytes.Equal(b, o.data) {
			err = errors.New("wrong bytes")
		}
		stays <- err
	}()
	eventually.True(t, "the other goroutine has come so far", func() bool { return c.Stats().Joined.Load() == 2 })
	cancel()
	for range 2 {
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("a reader that left has %v", err)
		}
	}
	close(o.hold)
	if err := <-stays; err != nil || o.all() != 1 {
		t.Errorf("the one that stays has %v, after %d requests", err, o.all())
	}
	// Now all leave.
	slow := newOrigin(100)
	slow.hold = make(chan struct{})
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		_, err := readAll(ctx, c, slow, "slow")
		left <- err
	}()
	eventually.True(t, "the other goroutine has come so far", func() bool { return slow.all() == 1 })
	cancel()
	<-left
	checkAll(t, c, newOrigin(200), "the only slot is free")
	if n := c.Stats().FailedFetches.Load(); n != 1 {
		t.Errorf("%d fetches failed, not 1", n)
	}
}

// TestFailuresAreNotKept: after an origin has failed, or sent too little, the next reader asks again. A reader that joined one with less permission asks itself.
func TestFailuresAreNotKept(t *testing.T) {
	c, o := open(t, blockcache.Config{}), newOrigin(mib+10)
	dying := errs.New(errs.Unavailable, "storage", "it dies")
	for _, err := range []error{dying, io.ErrUnexpectedEOF} {
		o.fail.Store(&err)
		if _, got := readAll(t.Context(), c, o, "g"); !errors.Is(got, err) {
			t.Errorf("%v is reported as %v", err, got)
		}
	}
	o.fail.Store(nil)
	checkAll(t, c, o, "g")
	short := newOrigin(100)
	r := c.NewReader(t.Context(), blockcache.File{Group: "h", Name: "f", Size: 50}, short.read)
	if _, err := io.ReadAll(r); !errs.Is(err, errs.Unavailable) {
		t.Errorf("a file with another size is read with %v", err)
	}
	_ = r.Close()
	broken := func(context.Context, int64, int64) (io.ReadCloser, int64, error) {
		return io.NopCloser(bytes.NewReader(short.data[:99])), 100, nil
	}
	r = c.NewReader(t.Context(), short.file("i"), broken)
	if _, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an answer that broke off is read with %v", err)
	}
	_ = r.Close()
	if n, _ := c.Usage(); n != 2 {
		t.Errorf("%d blocks are kept, not 2", n)
	}
}

// TestADeniedReaderDoesNotFailOthers: who joined a fetch by a URL that the origin refuses, asks by the own.
func TestADeniedReaderDoesNotFailOthers(t *testing.T) {
	c, o := open(t, blockcache.Config{}), newOrigin(100)
	hold := make(chan struct{})
	denied := errs.New(errs.Denied, "bad_url", "no")
	result := make(chan error, 1)
	go func() {
		r := c.NewReader(t.Context(), o.file("g"), func(context.Context, int64, int64) (io.ReadCloser, int64, error) {
			<-hold
			return nil, 0, denied
		})
		_, err := io.ReadAll(r)
		result <- errors.Join(err, r.Close())
	}()
	eventually.True(t, "the other goroutine has come so far", func() bool { return c.Stats().Misses.Load() == 1 })
	other := make(chan error, 1)
	go func() {
		_, err := readAll(t.Context(), c, o, "g")
		other <- err
	}()
	eventually.True(t, "the other goroutine has come so far", func() bool { return c.Stats().Joined.Load() == 1 })
	close(hold)
	if err := <-result; !errors.Is(err, denied) {
		t.Errorf("the first has %v", err)
	}
	if err := <-other; err != nil || o.all() != 1 {
		t.Errorf("the other has %v, after %d requests", err, o.all())
	}
}

// TestRemovedGroupsAreGone from the disk and for those who wait, and other groups are not.
func TestRemovedGroupsAreGone(t *testing.T) {
	dir := t.TempDir()
	c, o, other := open(t, blockcache.Config{Dir: dir}), newOrigin(2*mib), newOrigin(77)
	checkAll(t, c, o, "g")
	checkAll(t, c, other, "other")
	c.RemoveGroup("g")
	if paths, _ := blocks(t, dir); len(paths) != 1 {
		t.Errorf("%d blocks are left, not 1", len(paths))
	}
	if _, ok := c.Size("g", "f"); ok {
		t.Error("the file is known")
	}
	checkAll(t, c, other, "other")
	if other.all() != 1 {
		t.Errorf("the other file is asked for %d times", other.all())
	}
	o.hold = make(chan struct{})
	result := make(chan error, 1)
	go func() {
		_, err := readAll(t.Context(), c, o, "g")
		result <- err
	}()
	eventually.True(t, "the other goroutine has come so far", func() bool { return o.requests(0) == 2 })
	c.RemoveGroup("g")
	if err := <-result; !errors.Is(err, blockcache.ErrRemoved) {
		t.Errorf("who waited has %v", err)
	}
	close(o.hold)
	checkAll(t, c, o, "g")
	if paths, _ := blocks(t, dir); len(paths) != 3 {
		t.Errorf("%d blocks are there again, not 3", len(paths))
	}
	var asked atomic.Bool
	goOn := make(chan struct{}) // bytes that come although nobody wants them any more
	go func() {
		r := c.NewReader(t.Context(), other.file("late"), func(context.Context, int64, int64) (io.ReadCloser, int64, error) {
			asked.Store(true)
			<-goOn
			return io.NopCloser(bytes.NewReader(other.data)), int64(len(other.data)), nil
		})
		_, err := io.ReadAll(r)
		_ = r.Close() // it cannot fail
		result <- err
	}()
	eventually.True(t, "the late bytes are asked for", func() bool { return asked.Load() })
	c.RemoveGroup("late")
	close(goOn)
	if err := <-result; !errors.Is(err, blockcache.ErrRemoved) {
		t.Errorf("who waited for late bytes has %v", err)
	}
	if paths, _ := blocks(t, dir); len(paths) != 3 {
		t.Errorf("late bytes are kept: %d blocks", len(paths))
	}
}

// TestAFullDiskServes: what cannot be stored is served, from memory.
func TestAFullDiskServes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "cache")
	c, o := open(t, blockcache.Config{Dir: path, Fetches: 2}), newOrigin(5*mib+3)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil { // no folder can be made
		t.Fatal(err)
	}
	for range 3 {
		checkAll(t, c, o, "g")
	}
	if n := c.Stats().FailedWrites.Load(); n != 18 || o.all() != 18 {
		t.Errorf("%d writes failed, of %d requests, not 18", n, o.all())
	}
}

// TestSlowReadersOfAFullDiskStopNobody: as many blocks as are fetched at once are in memory. Beyond them, each reader fetches its chunks, and none waits for another.
func TestSlowReadersOfAFullDiskStopNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache")
	c, o := open(t, blockcache.Config{Dir: path, Fetches: 2}), newOrigin(mib+100_000)
	if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, nil, 0o600)); err != nil { // no folder can be made
		t.Fatal(err)
	}
	readers := make([]*blockcache.Reader, 40)
	for i := range readers {
		readers[i] = c.NewReader(t.Context(), o.file(fmt.Sprint("g", i)), o.read)
		if _, err := io.ReadFull(readers[i], make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Stats().FetchedBytes.Load(); got != 2*mib+38*64<<10 {
		t.Errorf("%d bytes were fetched", got)
	}
	checkAll(t, c, o, "another")
	w := httptest.NewRecorder()
	r := c.NewReader(t.Context(), o.file("served"), o.read)
	if err := errors.Join(blockcache.ServeContent(w, httptest.NewRequest(http.MethodGet, "/", nil), modified, r), r.Close()); err != nil || !bytes.Equal(w.Body.Bytes(), o.data) {
		t.Errorf("a file is served with %d bytes, %v", w.Body.Len(), err)
	}
	for i, r := range readers {
		b, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || !bytes.Equal(b, o.data[1:]) {
			t.Errorf("the slow reader %d has %d bytes, %v", i, len(b), err)
		}
	}
	if n, _ := c.Usage(); n != 0 || c.Stats().Damaged.Load() != 0 {
		t.Errorf("%d blocks that are not there are counted, and %d found damaged", n, c.Stats().Damaged.Load())
	}
	before := c.Stats().FetchedBytes.Load()
	checkAll(t, c, o, "a block in memory again")
	if n := c.Stats().FetchedBytes.Load() - before; n != int64(len(o.data)) || o.requests(64<<10) == 0 {
		t.Errorf("%d bytes were fetched once there is room", n)
	}
}

// TestPut stores what the caller has fetched, and counts its first reader as a miss.
func TestPut(t *testing.T) {
	c, o := open(t, blockcache.Config{}), newOrigin(mib+1)
	c.Put(o.file("g"), 0, o.data[:100])
	if n, _ := c.Usage(); n != 0 {
		t.Error("a part of a block is stored")
	}
	c.Put(o.file("g"), 0, o.data[:mib])
	checkAll(t, c, o, "g")
	checkAll(t, c, o, "g")
	s := c.Stats()
	if o.requests(0) != 0 || o.requests(mib) != 1 || s.Misses.Load() != 2 || s.Hits.Load() != 2 || s.FetchedBytes.Load() != mib+1 {
		t.Errorf("%d and %d requests, %d misses, %d hits, %d bytes", o.requests(0), o.requests(mib), s.Misses.Load(), s.Hits.Load(), s.FetchedBytes.Load())
	}
}

// TestWhatWasCheckedIsTrusted for a while, unless the file was written to: then a change is noticed at once.
func TestWhatWasCheckedIsTrusted(t *testing.T) {
	dir := t.TempDir()
	c, o := open(t, blockcache.Config{Dir: dir}), newOrigin(mib+100_000)
	serve := func() []byte {
		t.Helper()
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "video/mp4") // otherwise the first bytes are read to find it
		r := c.NewReader(t.Context(), o.file("g"), o.read)
		defer r.Close()
		if err := blockcache.ServeContent(w, httptest.NewRequest(http.MethodGet, "/", nil), modified, r); err != nil {
			t.Fatal(err)
		}
		return w.Body.Bytes()
	}
	for range 3 { // the first fetches, the second checks, the third trusts
		if !bytes.Equal(serve(), o.data) {
			t.Fatal("the file is wrong")
		}
	}
	paths, _ := blocks(t, dir)
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		b[5000]++
		if err := errors.Join(os.WriteFile(path, b, 0o600), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
			t.Fatal(err)
		}
	}
	if bytes.Equal(serve(), o.data) || o.all() != 2 {
		t.Errorf("a change that nobody can notice is noticed: nothing was trusted; %d requests", o.all())
	}
	for i, path := range paths {
		at := time.Now().Add(time.Duration(i+1) * time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(serve(), o.data) || o.all() != 4 {
		t.Errorf("a change of files that were written to is served; %d requests", o.all())
	}
	cut, _ := blocks(t, dir)
	for _, path := range cut {
		if err := os.Truncate(path, 70_000); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(serve(), o.data) || o.all() != 6 {
		t.Errorf("files that were cut are served; %d requests", o.all())
	}
}
