package pebblelog

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"golang.org/x/sys/unix"
)

// smallDisk is a disk with space for a number of operations, and a spare for more. Another program takes half of the spare.
type smallDisk struct {
	mu           sync.Mutex // guards all below
	full         bool
	space, spare int
	refused      []string // files whose writes found no space
}

func (d *smallDisk) Release() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.spare == 0 {
		return false
	}
	d.spare--
	d.space = d.spare % 2 // another program takes the other half
	return true
}

func (d *smallDisk) inject(op errorfs.Op) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch op.Kind {
	case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpCreate:
	default:
		return nil
	}
	if !d.full {
		return nil
	}
	if d.space == 0 {
		d.refused = append(d.refused, op.Path)
		return unix.ENOSPC
	}
	d.space--
	return nil
}

// If another program fills the disk between two checks, the process does not end: writes in progress are stored with the spare space, later
// ones are refused, reads continue, and tables do not use the spare space.
func TestSpareSpace(t *testing.T) {
	disk := &smallDisk{spare: 1000}
	l, err := Open("log", Options{FS: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(disk.inject)), Spare: disk, Logger: quietLog(),
		Free: func() (uint64, error) { return 1 << 40, nil }, Fatal: func(text string) { t.Errorf("the process would have ended: %s", text) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		disk.mu.Lock()
		disk.full = false
		disk.mu.Unlock()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	if a := appendOne(l, 0); a.Err != nil {
		t.Fatal(a.Err)
	}
	disk.mu.Lock()
	disk.full = true
	disk.mu.Unlock()
	l.lastFreeCheck.Store(1 << 62) // the space was checked just now
	under := appendOne(l, cutConversations)
	if under.Err != nil || under.Seq != 2 {
		t.Errorf("the append in progress got seq %d, %v", under.Seq, under.Err)
	}
	if !l.full.Load() {
		t.Error("the log does not know that the disk is full")
	}
	if a := appendOne(l, 2*cutConversations); a.Err == nil || !strings.Contains(a.Err.Error(), "storage_full") {
		t.Errorf("the next append: seq %d, %v", a.Seq, a.Err)
	}
	if got, err := l.Read(t.Context(), under.Key, 0, 10); err != nil || len(got) != 2 {
		t.Errorf("reading: %v, %v", got, err)
	}
	left := disk.spare
	if file, err := l.fs.Create("log/999999.sst", "unspecified"); !errors.Is(err, unix.ENOSPC) || disk.spare != left {
		t.Errorf("a table used the spare space: %v, %v", file, err)
	}
	disk.mu.Lock()
	defer disk.mu.Unlock()
	if !slices.ContainsFunc(disk.refused, func(p string) bool { return strings.HasSuffix(p, ".log") }) {
		t.Errorf("the write-ahead log never met the full disk: %v", disk.refused)
	}
}

// recordedPositions records the positions that the log reports.
type recordedPositions struct {
	mu       sync.Mutex
	logs     map[uint64]uint64
	obsolete []uint64
}

func (n *recordedPositions) WALSynced(log, position uint64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.logs[log] = max(n.logs[log], position)
	return nil
}

func (n *recordedPositions) WALsObsolete(log uint64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.obsolete = append(n.obsolete, log)
	for l := range n.logs {
		if l <= log {
			delete(n.logs, l)
		}
	}
	return nil
}

// The reported positions cover each acknowledged append at any moment, also while write-ahead logs are created, removed and reused.
func TestPositionsAreOnTheDisk(t *testing.T) {
	dir := t.TempDir()
	n := &recordedPositions{logs: map[uint64]uint64{}}
	l, err := Open(dir, Options{WALObserver: n, Logger: quietLog()})
	if err != nil {
		t.Fatal(err)
	}
	begun := map[uint64]bool{}
	last := uint64(0)
	for i := range uint64(200) {
		if i%10 == 9 { // a log is created, and an earlier one is removed or reused
			if _, err := l.db.AsyncFlush(); err != nil {
				t.Fatal(err)
			}
		}
		if a := appendOne(l, i); a.Err != nil {
			t.Fatal(a.Err)
		}
		n.mu.Lock()
		top := uint64(0)
		for log, position := range n.logs {
			begun[log] = true
			top = max(top, position)
			if err := checkWAL(vfs.Default, dir, WALPosition{log, position}); err != nil {
				t.Error(err)
			}
		}
		n.mu.Unlock()
		if top <= last {
			t.Errorf("append %d is not covered by a reported position: %d, before %d", i, top, last)
		}
		last = top
	}
	if len(begun) < 10 || len(n.obsolete) == 0 {
		t.Errorf("%d logs were reported, %d became obsolete", len(begun), len(n.obsolete))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if len(n.logs) != 0 {
		t.Errorf("after a clean stop everything is in tables, but %v is still expected", n.logs)
	}
}

// Pebble removes the tables if its marker file is missing. Only MustExist prevents that.
func TestALogThatMustExistIsNotCreated(t *testing.T) {
	fs := vfs.NewMem()
	l, err := Open("log", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if a := appendOne(l, 0); a.Err != nil {
		t.Fatal(a.Err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := fs.List("log")
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	for _, name := range names {
		if strings.HasPrefix(name, "marker.manifest") {
			if err := fs.Remove("log/" + name); err != nil {
				t.Fatal(err)
			}
		}
		if strings.HasSuffix(name, ".sst") {
			tables++
		}
	}
	if _, err := Open("log", Options{FS: fs, MustExist: true}); !errors.Is(err, pebble.ErrDBDoesNotExist) {
		t.Errorf("it was opened, or the error is %v", err)
	}
	if names, err = fs.List("log"); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			tables--
		}
	}
	if tables != 0 {
		t.Errorf("%d tables were removed", tables)
	}
}

// Write-ahead logs are allocated ahead on a disk, and not in memory, where each of them would take its full size from the start.
func TestPreallocation(t *testing.T) {
	for _, inMemory := range []bool{false, true} {
		allocated := 0
		disk := vfs.NewMem()
		if err := disk.MkdirAll("log", 0o700); err != nil {
			t.Fatal(err)
		}
		counted := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFilePreallocate {
				allocated++
			}
			return nil
		}))
		for _, spare := range []Spare{nil, &smallDisk{}} {
			f := &observedFS{FS: counted, dir: "log", inMemory: inMemory, spare: spare}
			file, err := f.Create("log/000001.log", "pebble-wal")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(file.Preallocate(0, 1<<20), file.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if want := map[bool]int{false: 2, true: 0}[inMemory]; allocated != want {
			t.Errorf("in memory %v: %d allocations, want %d", inMemory, allocated, want)
		}
	}
}

// The directory of a log does not exist before its first start.
func TestDirectoriesInMemory(t *testing.T) {
	if isInMemory("/proc") || isInMemory("/proc/none/none") {
		t.Error("/proc is taken for tmpfs")
	}
	if !isInMemory("/dev/shm") || !isInMemory("/dev/shm/none/none") {
		t.Error("/dev/shm is not taken for tmpfs")
	}
}
