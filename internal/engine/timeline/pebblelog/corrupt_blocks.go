package pebblelog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// corruptFiles remembers the tables in which Pebble found a corrupt block. At each read of a corrupt block Pebble searches for a flipped bit,
// which takes 0.1 s of CPU time, and seconds for a large block: a client that reads such a block in a loop would cost a core. In a
// remembered table, observedFS therefore compares each block with its checksum before Pebble does. All methods are safe for concurrent use.
type corruptFiles struct {
	some atomic.Bool // whether names has any; most stores have none

	mu    sync.RWMutex    // guards names
	names map[string]bool // base names; files that were removed are forgotten
}

func (c *corruptFiles) add(file string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names == nil {
		c.names = map[string]bool{}
	}
	c.names[path.Base(file)] = true
	c.some.Store(true)
}

func (c *corruptFiles) remove(file string) {
	if !c.some.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.names, path.Base(file))
	c.some.Store(len(c.names) > 0)
}

func (c *corruptFiles) has(file string) bool {
	if !c.some.Load() {
		return false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.names[path.Base(file)]
}

// tableFile is a table that is open for reading.
type tableFile struct {
	vfs.File
	name    string
	size    int64
	corrupt *corruptFiles
}

func (c *corruptFiles) wrap(name string, file vfs.File) (vfs.File, error) {
	if !strings.HasSuffix(name, ".sst") {
		return file, nil
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close() // it was only read
		return nil, err
	}
	return &tableFile{file, name, info.Size(), c}, nil
}

// ReadAt reads a block, or the footer, which ends the file and is checked by Pebble alone.
func (f *tableFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	if err != nil || !f.corrupt.has(f.name) || at+int64(n) >= f.size || blockIsIntact(b[:n]) {
		return n, err
	}
	return n, fmt.Errorf("%w: the block at %d of %s does not match its checksum", pebble.ErrCorruption, at, path.Base(f.name))
}

// blockIsIntact compares a block with its trailer: a byte for the compression and a masked CRC-32C of all before it. pebbleOptions keeps
// this checksum, Pebble's default.
func blockIsIntact(b []byte) bool {
	const checksum = 4
	if len(b) <= checksum {
		return false
	}
	c := crc32.Checksum(b[:len(b)-checksum], castagnoli)
	return (c>>15|c<<17)+0xa282ead8 == binary.LittleEndian.Uint32(b[len(b)-checksum:])
}
