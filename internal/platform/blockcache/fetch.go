package blockcache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// fetch brings one block from its source, for all who wait for it.
type fetch struct {
	id     blockID
	source Source
	ctx    context.Context
	end    context.CancelCauseFunc
	done   chan struct{}

	waiting int // readers that wait, or that read ahead

	// Set before done is closed:
	block *opened // for as many readers as waited then
	err   error
}

// buffers have the bytes of one block.
var buffers = sync.Pool{New: func() any { return new([BlockSize]byte) }}

// begin starts a fetch, or joins the one in progress. The caller holds mu, and calls leave or wait.
func (c *Cache) begin(id blockID, source Source) (f *fetch, joined bool) {
	if f = c.fetches[id]; f != nil {
		f.waiting++
		return f, true
	}
	f = &fetch{id: id, source: source, done: make(chan struct{}), waiting: 1}
	f.ctx, f.end = context.WithCancelCause(c.ctx)
	c.fetches[id] = f
	c.work.Go(func() { c.run(f) })
	return f, false
}

// leave gives up a fetch. It ends if nobody waits for it any more.
func (c *Cache) leave(f *fetch) {
	c.mu.Lock()
	f.waiting--
	select {
	case <-f.done:
		c.mu.Unlock()
		if f.block != nil {
			f.block.release()
		}
		return
	default:
	}
	defer c.mu.Unlock()
	if f.waiting == 0 {
		f.end(context.Canceled)
		if c.fetches[f.id] == f {
			delete(c.fetches, f.id)
		}
	}
}

// wait waits for a fetch, and returns the block, which the caller releases.
func (c *Cache) wait(ctx context.Context, f *fetch) (*opened, error) {
	select {
	case <-f.done:
		return f.block, f.err
	case <-ctx.Done():
		c.leave(f)
		return nil, context.Cause(ctx)
	}
}

// run fetches a block, and stores it.
func (c *Cache) run(f *fetch) {
	ctx, cancel := context.WithTimeoutCause(f.ctx, c.config.Timeout, errBusy)
	defer cancel()
	defer f.end(nil)
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		c.finish(f, nil, context.Cause(ctx))
		return
	}
	buffer := buffers.Get().(*[BlockSize]byte)
	data := buffer[:f.id.length()]
	if err := c.read(ctx, f.id.file, f.source, f.id.number*BlockSize, data); err != nil {
		<-c.slots
		buffers.Put(buffer)
		c.finish(f, nil, err)
		return
	}
	s := sumsOf(data)
	file, err := c.write(f.id, data, s)
	<-c.slots // before the slowest reader has read it
	if err == nil {
		buffers.Put(buffer)
		c.finish(f, fromFile(f.id, s, file), nil)
		return
	}
	c.writeFailed(err)
	select {
	case c.memory <- struct{}{}:
		c.finish(f, fromMemory(f.id, s, data, func() {
			<-c.memory
			buffers.Put(buffer)
		}), nil)
	default:
		buffers.Put(buffer)
		c.finish(f, nil, errNoRoom)
	}
}

// errNoRoom means that a block can be neither on disk nor in memory, so that each reader fetches for itself what it needs.
var errNoRoom = errors.New("there is no room for the block")

// read fills data from a source.
func (c *Cache) read(ctx context.Context, f fileID, source Source, offset int64, data []byte) error {
	c.stats.Fetches.Add(1)
	if err := f.read(ctx, source, offset, data); err != nil {
		c.stats.FailedFetches.Add(1)
		return cmp.Or(context.Cause(ctx), err)
	}
	c.stats.FetchedBytes.Add(int64(len(data)))
	return nil
}

func (f fileID) read(ctx context.Context, source Source, offset int64, data []byte) error {
	body, size, err := source(ctx, offset, int64(len(data)))
	if err != nil {
		return err
	}
	defer body.Close()
	if size != f.size {
		return errs.Wrap(errs.Unavailable, "storage", "the file has changed; try again", fmt.Errorf("it has %d bytes, and not %d", size, f.size))
	}
	if _, err := io.ReadFull(body, data); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	return nil
}

// readDirectly fills data from a source, for one reader.
func (c *Cache) readDirectly(ctx context.Context, f fileID, source Source, offset int64, data []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.Timeout, errBusy)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-c.slots }()
	c.stats.Misses.Add(1)
	return c.read(ctx, f, source, offset, data)
}

// finish gives those who wait the block, or why there is none.
func (c *Cache) finish(f *fetch, block *opened, err error) {
	var gone []blockID
	c.mu.Lock()
	current := c.fetches[f.id] == f
	switch {
	case block == nil:
		if current {
			delete(c.fetches, f.id)
		}
	case !current: // nobody waits for it, or its group was removed
		err = cmp.Or(context.Cause(f.ctx), context.Canceled)
		gone = append(gone, f.id)
	default:
		delete(c.fetches, f.id)
		if block.onDisk {
			gone = c.add(f.id, false)
		}
		f.block = block
		block.refs.Store(int64(f.waiting)) // at least 1
	}
	f.err = err
	close(f.done)
	c.mu.Unlock()
	if block != nil && !current {
		block.end()
	}
	c.unlink(gone)
}

// get returns a block, which the caller releases: from disk, or else from its source.
func (c *Cache) get(ctx context.Context, id blockID, source Source) (*opened, error) {
	for again := false; ; again = true {
		c.mu.Lock()
		if b := c.find(id); b != nil {
			count := &c.stats.Hits
			if b.isNew {
				b.isNew, count = false, &c.stats.Misses
			}
			right := b.right
			c.mu.Unlock()
			o, err := c.open(id, right)
			if err == nil {
				count.Add(1)
				return o, nil
			}
			c.damaged(id)
			continue
		}
		if c.closed {
			c.mu.Unlock()
			return nil, errBusy
		}
		if c.isFull() && c.fetches[id] == nil {
			c.mu.Unlock()
			return nil, errNoRoom
		}
		f, joined := c.begin(id, source)
		c.mu.Unlock()
		c.countFetch(joined)
		o, err := c.wait(ctx, f)
		if err != nil && joined && !again && ctx.Err() == nil && errs.IsRefusal(err) && !errors.Is(err, ErrRemoved) {
			continue // the source was that of another reader, whose permission may have ended
		}
		return o, err
	}
}

// isFull reports whether blocks cannot be stored, and no further one may be in memory.
func (c *Cache) isFull() bool { return len(c.memory) == cap(c.memory) }

// countFetch counts a block that a reader needs and that is being fetched.
func (c *Cache) countFetch(joined bool) {
	if joined {
		c.stats.Joined.Add(1)
		return
	}
	c.stats.Misses.Add(1)
}

// damaged drops a block that is not what was stored, or is gone.
func (c *Cache) damaged(id blockID) {
	c.stats.Damaged.Add(1)
	c.mu.Lock()
	c.forget(id)
	c.mu.Unlock()
	c.unlink([]blockID{id})
}

// ahead begins to fetch a block that will be read soon, unless it is here, or all slots are in use. The reader calls leave.
func (c *Cache) ahead(id blockID, source Source) (f *fetch, joined bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.find(id) != nil || c.fetches[id] == nil && (len(c.slots) == cap(c.slots) || c.isFull()) {
		return nil, false
	}
	return c.begin(id, source)
}

// Put stores a block that the caller has fetched, such as with the question about its file. It is dropped if the block is here, or is being fetched. Its first
// reader counts as a miss.
func (c *Cache) Put(f File, number int64, data []byte) {
	id := blockID{f.id(), number}
	if int64(len(data)) != id.length() {
		return // part of a block is of no use
	}
	c.stats.Fetches.Add(1)
	c.stats.FetchedBytes.Add(int64(len(data)))
	c.mu.Lock()
	known := c.closed || c.find(id) != nil || c.fetches[id] != nil
	c.mu.Unlock()
	if known {
		return
	}
	file, err := c.write(id, data, sumsOf(data))
	if err != nil {
		c.writeFailed(err)
		return
	}
	_ = file.Close() // its bytes are checked when they are read
	c.mu.Lock()
	gone := c.add(id, true)
	c.mu.Unlock()
	c.unlink(gone)
}

// writeFailed reports that a block could not be stored.
func (c *Cache) writeFailed(err error) {
	c.stats.FailedWrites.Add(1)
	c.logger.Warn("a block of the cache could not be stored; it is fetched again when it is needed", "error", err)
}
