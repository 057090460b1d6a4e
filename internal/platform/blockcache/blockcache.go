// Package blockcache keeps parts of files of another node, or of an S3 server, on the disk of this machine.
//
// A file never changes. It is identified by its group and its name, and cached in blocks of a MiB. A block is fetched once, however many readers wait for it. The
// fetch is cancelled when no reader waits any more. The number of concurrent fetches is bounded, and so are the bytes on disk: beyond them, the least
// recently read block is evicted.
//
// Nothing in the folder is trusted. A block names its file, its number and its size, and has a checksum for each 64 KiB. For ten minutes after a check, the system
// copies the bytes from file to socket without another check, unless the file was written to. A block that is damaged, incomplete or missing is fetched again. So
// nothing is synced, and the folder may be deleted at any time.
//
// The package touches only its folder. All methods are safe for concurrent use.
package blockcache

import (
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

const (
	// BlockSize of all blocks but a file's last, in bytes.
	BlockSize = 1 << 20
	chunkSize = 64 << 10 // has a checksum of its own
	chunks    = BlockSize / chunkSize

	defaultMaxBytes = 10 << 30
	defaultFetches  = 32
	defaultTimeout  = 20 * time.Second
	defaultTrust    = 10 * time.Minute
	defaultKeep     = 24 * time.Hour
	sweepInterval   = time.Hour
	// A block counts as leastCharge at least, so that small files do not fill the memory with their names: 10 GiB are at most 655,360 blocks.
	leastCharge = 16 << 10
)

// ErrRemoved is the error of those who wait for a block of a group that is removed meanwhile.
var ErrRemoved = errs.New(errs.NotFound, "no_file", "there is no such file")

// errBusy is the error of those who wait for a block that could not be fetched in time.
var errBusy = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the file could not be fetched in time; try again", Retry: time.Second}

// Source reads the bytes of a file from an offset on, where its owner has them: as many as length, or to its end. It returns the size of the file as well. The
// bytes are read until EOF; what is missing of them is an error.
type Source func(ctx context.Context, offset, length int64) (body io.ReadCloser, size int64, err error)

// File names a file.
type File struct {
	// Group of files that are removed together.
	Group string
	// Name of the file and its version, within the group.
	Name string
	// Size in bytes.
	Size int64
}

// Config of a cache. The zero value is the documented default, but for Dir.
type Config struct {
	// Dir is the folder of the blocks. It is created if it is missing.
	Dir string
	// MaxBytes of disk; 0 is 10 GiB. Files that are being written may take BlockSize for each of Fetches beyond it.
	MaxBytes int64
	// Fetches are how many blocks are fetched at once; 0 is 32. Each takes BlockSize of memory. As many blocks that could not be stored are in memory for those who
	// read them; beyond them, each reader fetches its chunks for itself.
	Fetches int
	// Timeout of a fetch, with the time in which it waits for others; 0 is 20 s.
	Timeout time.Duration
	// Trust is for how long a checksum that was right counts; 0 is 10 minutes.
	Trust time.Duration
	// Keep is for how long a group is kept that nobody confirms, so that copies of deleted files go; 0 is 24 h.
	Keep time.Duration
}

// Stats counts what a cache has done.
type Stats struct {
	// Hits are blocks that readers found. Joined are those that were being fetched for another reader. Misses are those for which a fetch began.
	Hits, Joined, Misses atomic.Int64
	// ReadBytes were given to readers. FetchedBytes came from sources.
	ReadBytes, FetchedBytes atomic.Int64
	// Fetches were made, of which FailedFetches had an error. Of those, and of reads ahead, none is a hit or a miss.
	Fetches, FailedFetches atomic.Int64
	// Evictions made room. Damaged blocks were found, and fetched again. FailedWrites are blocks that could not be stored.
	Evictions, Damaged, FailedWrites atomic.Int64
}

// Cache of blocks.
type Cache struct {
	config Config
	logger *slog.Logger
	stats  Stats
	slots  chan struct{}  // of fetches
	memory chan struct{}  // of blocks that could not be stored, and are read from memory
	work   sync.WaitGroup // of fetches
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex // guards all below, and the fields of files, blocks and fetches; the disk is not touched under it
	groups  map[hash]map[hash]*file
	states  map[hash]*state // of groups
	recent  list.List       // of *block, the latest read first
	bytes   int64           // charged for all
	fetches map[blockID]*fetch
	closed  bool
}

// hash of a group's or a file's name.
type hash [16]byte

func hashOf(text string) hash {
	sum := sha256.Sum256([]byte(text))
	return hash(sum[:16])
}

// fileID names a file on disk. Files with another size are others.
type fileID struct {
	group, name hash
	size        int64
}

func (f File) id() fileID { return fileID{hashOf(f.Group), hashOf(f.Name), f.Size} }

// blockID names a block.
type blockID struct {
	file   fileID
	number int64
}

// length of the block's bytes.
func (b blockID) length() int64 { return min(BlockSize, b.file.size-b.number*BlockSize) }

// charge is what a block counts: whole pages of the disk.
func (b blockID) charge() int64 {
	const page = 4096
	return max(leastCharge, (headerSize+b.length()+page-1)/page*page)
}

// file has the known blocks of a file.
type file struct {
	id     fileID
	blocks map[int64]*block
}

// block is on disk.
type block struct {
	id      blockID
	element *list.Element // in recent
	isNew   bool          // it came by Put, and was not read yet
	right   rightChunks
}

// Open opens a folder of blocks, and learns which are there. Temporary files, what is beyond MaxBytes, and groups that were not
// confirmed for long, are removed.
func Open(config Config, logger *slog.Logger) (*Cache, error) {
	if config.Dir == "" {
		return nil, errors.New("a cache of blocks needs a folder")
	}
	config.MaxBytes = cmp.Or(config.MaxBytes, defaultMaxBytes)
	config.Fetches = cmp.Or(config.Fetches, defaultFetches)
	config.Timeout = cmp.Or(config.Timeout, defaultTimeout)
	config.Trust = cmp.Or(config.Trust, defaultTrust)
	config.Keep = cmp.Or(config.Keep, defaultKeep)
	c := &Cache{config: config, logger: logger, slots: make(chan struct{}, config.Fetches), memory: make(chan struct{}, config.Fetches), groups: map[hash]map[hash]*file{}, states: map[hash]*state{}, fetches: map[blockID]*fetch{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if err := c.scan(); err != nil {
		c.cancel()
		return nil, fmt.Errorf("cached files in %s: %w", config.Dir, err)
	}
	c.work.Go(c.sweepAll)
	return c, nil
}

// Close ends all fetches, and fails those who wait for them. Blocks stay on disk.
func (c *Cache) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.work.Wait()
	return nil
}

// Stats of the cache.
func (c *Cache) Stats() *Stats { return &c.stats }

// Usage returns how many blocks there are, and what they take of MaxBytes.
func (c *Cache) Usage() (blocks int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len(), c.bytes
}

// Size returns the size of a file of which a block is here; false: none is.
func (c *Cache) Size(group, name string) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.groups[hashOf(group)][hashOf(name)]
	if f == nil {
		return 0, false
	}
	return f.id.size, true
}

// RemoveGroup removes all files of a group. Whoever waits for one of their blocks fails with ErrRemoved. Readers that are within a block may read it to its end:
// end their contexts before.
func (c *Cache) RemoveGroup(group string) {
	g := hashOf(group)
	c.mu.Lock()
	gone := c.forgetGroup(g)
	for id, f := range c.fetches {
		if id.file.group == g {
			f.end(ErrRemoved)
			delete(c.fetches, id)
		}
	}
	c.mu.Unlock()
	c.unlink(gone)
}

// forgetGroup drops all blocks of a group. The caller holds mu, and unlinks them afterwards.
func (c *Cache) forgetGroup(g hash) (gone []blockID) {
	for _, f := range c.groups[g] {
		for _, b := range f.blocks {
			gone = append(gone, b.id)
		}
	}
	for _, id := range gone {
		c.forget(id)
	}
	return gone
}

// find returns a block that is here, and makes it the latest; nil: it is not. The caller holds mu.
func (c *Cache) find(id blockID) *block {
	f := c.groups[id.file.group][id.file.name]
	if f == nil || f.id.size != id.file.size || f.blocks[id.number] == nil {
		return nil
	}
	b := f.blocks[id.number]
	c.recent.MoveToFront(b.element)
	return b
}

// add notes that a block is on disk, and returns those that give way to it. The caller holds mu.
func (c *Cache) add(id blockID, isNew bool) (evicted []blockID) {
	names := c.groups[id.file.group]
	if names == nil {
		names = map[hash]*file{}
		c.groups[id.file.group] = names
	}
	f := names[id.file.name]
	if f != nil && f.id.size != id.file.size { // whoever named it was wrong, now or before
		for _, b := range f.blocks {
			evicted = append(evicted, b.id)
		}
		for _, old := range evicted {
			c.forget(old)
		}
		f = nil
		if names = c.groups[id.file.group]; names == nil {
			names = map[hash]*file{}
			c.groups[id.file.group] = names
		}
	}
	if f == nil {
		f = &file{id: id.file, blocks: map[int64]*block{}}
		names[id.file.name] = f
	}
	if f.blocks[id.number] == nil {
		b := &block{id: id, isNew: isNew}
		b.element = c.recent.PushFront(b)
		f.blocks[id.number] = b
		c.bytes += id.charge()
	}
	c.state(id.file.group).confirmed = time.Now() // its owner has sent it
	for c.bytes > c.config.MaxBytes && c.recent.Len() > 0 {
		oldest := c.recent.Back().Value.(*block).id
		c.forget(oldest)
		c.stats.Evictions.Add(1)
		evicted = append(evicted, oldest)
	}
	return evicted
}

// forget drops a block. The caller holds mu, and unlinks it afterwards.
func (c *Cache) forget(id blockID) {
	f := c.groups[id.file.group][id.file.name]
	if f == nil || f.id.size != id.file.size || f.blocks[id.number] == nil {
		return
	}
	c.recent.Remove(f.blocks[id.number].element)
	c.bytes -= id.charge()
	delete(f.blocks, id.number)
	if len(f.blocks) == 0 {
		delete(c.groups[id.file.group], id.file.name)
	}
	if len(c.groups[id.file.group]) == 0 {
		delete(c.groups, id.file.group)
		delete(c.states, id.file.group)
	}
}
