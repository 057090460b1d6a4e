package blockcache

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// temporary is how the names of files begin that are being written.
const temporary = "tmp-"

func (c *Cache) join(path string) string {
	return filepath.Join(c.config.Dir, filepath.FromSlash(path))
}

// scan learns which blocks are on disk. Their contents are checked when they are read.
func (c *Cache) scan() error {
	if err := os.MkdirAll(c.config.Dir, 0o700); err != nil {
		return err
	}
	type found struct {
		id blockID
		at time.Time
	}
	var blocks []found
	err := filepath.WalkDir(c.config.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		folder, name := filepath.Base(filepath.Dir(path)), d.Name()
		id, ok := parsePath(folder, name)
		if !ok {
			if strings.HasPrefix(name, temporary) {
				return os.Remove(path)
			}
			return nil // somebody else's
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			blocks = append(blocks, found{id, info.ModTime()})
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(blocks, func(a, b found) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id.number, b.id.number))
	})
	var evicted []blockID
	for _, b := range blocks {
		evicted = append(evicted, c.add(b.id, false)...)
		if s := c.states[b.id.file.group]; s != nil {
			s.confirmed = b.at // the latest is the last
			s.stored = b.at
		}
	}
	c.unlink(evicted)
	c.sweep(time.Now())
	return nil
}

// unlink removes the files of blocks that were forgotten. One that stays is found at the next start, and is valid or fetched again.
func (c *Cache) unlink(gone []blockID) {
	for _, id := range gone {
		if err := os.Remove(c.join(id.path())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.logger.Warn("a block of the cache could not be removed", "error", err)
		}
	}
}

// rightChunks are those of a block whose checksums were right.
type rightChunks struct {
	bits     uint16
	modified int64 // when the file was written to then, in Unix ns
	until    int64 // Unix ns
}

// opened is a block that is being read, by one reader or by all that waited for it.
type opened struct {
	id       blockID
	sums     sums
	hasSums  bool
	onDisk   bool        // it was stored
	right    uint16      // chunks that need no check
	modified int64       // of the file
	file     *os.File    // of this reader alone; nil: it is shared, or in memory
	from     io.ReaderAt // its bytes
	base     int64       // where they begin in from
	refs     atomic.Int64
	end      func() // after the last reader
}

func (o *opened) release() {
	if o.refs.Add(-1) == 0 {
		o.end()
	}
}

// open opens a block on disk for one reader, with what is known to be right of it.
func (c *Cache) open(id blockID, right rightChunks) (*opened, error) {
	f, err := os.Open(c.join(id.path()))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != headerSize+id.length() {
		err = errDamaged
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	o := &opened{id: id, file: f, modified: info.ModTime().UnixNano(), from: f, base: headerSize, end: func() { _ = f.Close() }} // it was only read
	if right.modified == o.modified && time.Now().UnixNano() < right.until {
		o.right = right.bits
	}
	o.refs.Store(1)
	return o, nil
}

// trusted returns how many chunks from one on need no check, and can be read by the system.
func (o *opened) trusted(chunk int) (n int) {
	for o.file != nil && chunk+n < chunks && o.right&(1<<(chunk+n)) != 0 {
		n++
	}
	return n
}

// check notes that a chunk is right.
func (c *Cache) check(o *opened, chunk int) {
	if o.file == nil {
		return
	}
	o.right |= 1 << chunk
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.groups[o.id.file.group][o.id.file.name]
	if f == nil || f.id.size != o.id.file.size || f.blocks[o.id.number] == nil {
		return
	}
	right, now := &f.blocks[o.id.number].right, time.Now()
	if right.modified != o.modified || now.UnixNano() >= right.until {
		*right = rightChunks{modified: o.modified, until: now.Add(c.config.Trust).UnixNano()}
	}
	right.bits |= 1 << chunk
}

// readChunk reads a chunk into p, and fails if it is not what was stored.
func (o *opened) readChunk(p []byte, n int) ([]byte, error) {
	if !o.hasSums {
		s, err := readHeader(o.from, o.id)
		if err != nil {
			return nil, err
		}
		o.sums, o.hasSums = s, true
	}
	p = p[:min(chunkSize, o.id.length()-int64(n)*chunkSize)]
	if _, err := o.from.ReadAt(p, o.base+int64(n)*chunkSize); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if s := sumsOf(p); s[0] != o.sums[n] {
		return nil, errDamaged
	}
	return p, nil
}

// write writes a block, so that it has its name only when it is complete, and opens it.
func (c *Cache) write(id blockID, data []byte, s sums) (f *os.File, err error) {
	path := c.join(id.path())
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil { // also after somebody has deleted it
		return nil, err
	}
	if f, err = os.CreateTemp(filepath.Dir(path), temporary); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	if _, err := f.WriteAt(data, headerSize); err != nil { // before the header: the system then keeps the file in large pieces of memory, which it sends sooner
		return nil, err
	}
	if _, err := f.WriteAt(header(id, s), 0); err != nil {
		return nil, err
	}
	return f, os.Rename(f.Name(), path)
}

// fromFile is a block that was fetched, for all who have waited.
func fromFile(id blockID, s sums, f *os.File) *opened {
	return &opened{id: id, sums: s, hasSums: true, onDisk: true, from: f, base: headerSize, end: func() { _ = f.Close() }} // its bytes are checked when they are read
}

// fromMemory is a block that could not be stored, for all who have waited. end is called when no one reads it any more.
func fromMemory(id blockID, s sums, data []byte, end func()) *opened {
	return &opened{id: id, sums: s, hasSums: true, from: bytes.NewReader(data), end: end}
}
