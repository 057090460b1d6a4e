package blockcache

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/byterange"
)

// chunkBuffers have the bytes of one chunk.
var chunkBuffers = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// Reader is an io.ReadSeekCloser of a file. It ends with its context: also where it would read from disk.
type Reader struct {
	cache  *Cache
	ctx    context.Context
	cancel context.CancelFunc
	file   fileID
	source Source

	// mu guards all below. http.ServeContent may return while a goroutine of its own still reads several ranges.
	mu     sync.Mutex
	at     int64
	block  *opened // of the chunk that was read last; nil: none, or there is no room for it
	next   *fetch  // of the block behind it, ahead of time
	joined bool    // next was begun by another reader
	asked  int64   // the block that was last considered for that
	buffer *[chunkSize]byte
	chunk  []byte // verified bytes from chunkAt on, in buffer
	from   int64
	closed bool
}

// NewReader returns a reader of a file, whose blocks come from source where they are missing. Fetches may go on after ctx has ended, for others, so source depends on the
// context that it gets only. The caller calls Close.
func (c *Cache) NewReader(ctx context.Context, f File, source Source) *Reader {
	r := &Reader{cache: c, file: f.id(), source: source}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// Size of the file.
func (r *Reader) Size() int64 { return r.file.size }

// Read reads at most to the end of a chunk.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := r.peek()
	if err != nil {
		return 0, err
	}
	n := copy(p, b)
	r.advance(n)
	return n, nil
}

// Seek reads nothing.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.file.size
	}
	if offset < 0 {
		return 0, errors.New("an offset before the start of the file")
	}
	r.at = offset
	return offset, nil
}

// Close ends what the reader waits for, and releases what it holds.
func (r *Reader) Close() error {
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.drop()
	if r.next != nil {
		r.cache.leave(r.next)
		r.next = nil
	}
	if r.buffer != nil {
		chunkBuffers.Put(r.buffer)
		r.buffer, r.chunk = nil, nil
	}
	return nil
}

func (r *Reader) drop() {
	if r.block != nil {
		r.block.release()
		r.block = nil
	}
	r.chunk = nil
}

func (r *Reader) advance(n int) {
	r.at += int64(n)
	r.cache.stats.ReadBytes.Add(int64(n))
}

// ready opens the block at the reader's offset, if there is room for it. It returns EOF behind the end.
func (r *Reader) ready() error {
	switch {
	case r.closed:
		return errors.New("the file is closed")
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case r.at >= r.file.size:
		return io.EOF
	}
	return r.reach()
}

// copyTrusted writes what needs no check of the current block, up to an end, as the system copies files. It writes nothing if the chunk at the offset has to be
// checked.
func (r *Reader) copyTrusted(w io.Writer, end int64) (int64, error) {
	if r.block == nil {
		return 0, nil
	}
	chunk := int(r.at % BlockSize / chunkSize)
	n := r.block.trusted(chunk)
	if n == 0 {
		return 0, nil
	}
	begin := r.block.id.number * BlockSize
	until := min(end, r.file.size, begin+int64(chunk+n)*chunkSize)
	if _, err := r.block.file.Seek(headerSize+r.at-begin, io.SeekStart); err != nil {
		return 0, err
	}
	k, err := io.CopyN(w, r.block.file, until-r.at)
	r.at += k
	r.cache.stats.ReadBytes.Add(k)
	if err == io.EOF { // somebody has cut the file
		r.cache.damaged(r.block.id)
		r.drop()
		err = nil
	}
	return k, err
}

// peek returns the verified bytes from the reader's offset to the end of its chunk. They are valid until the next call.
func (r *Reader) peek() ([]byte, error) {
	if err := r.ready(); err != nil {
		return nil, err
	}
	if r.chunk == nil || r.at < r.from || r.at >= r.from+int64(len(r.chunk)) {
		if err := r.load(); err != nil {
			return nil, err
		}
	}
	return r.chunk[r.at-r.from:], nil
}

// damageLimit is how often a block is fetched again for one reader.
const damageLimit = 3

// reach opens the block at the reader's offset, if there is room for it.
func (r *Reader) reach() (err error) {
	id := blockID{r.file, r.at / BlockSize}
	if r.block == nil || r.block.id != id {
		r.drop()
		if r.block, err = r.obtain(id); errors.Is(err, errNoRoom) {
			return nil
		}
	}
	return err
}

// load reads the chunk at the reader's offset.
func (r *Reader) load() error {
	id := blockID{r.file, r.at / BlockSize}
	n := int(r.at % BlockSize / chunkSize)
	if r.buffer == nil {
		r.buffer = chunkBuffers.Get().(*[chunkSize]byte)
	}
	var err error
	for range damageLimit {
		if err = r.reach(); err != nil {
			return err
		}
		if r.block == nil {
			return r.loadDirectly(id, n)
		}
		if r.chunk, err = r.block.readChunk(r.buffer[:], n); err == nil {
			r.from = id.number*BlockSize + int64(n)*chunkSize
			r.cache.check(r.block, n)
			return nil
		}
		r.drop()
		r.cache.damaged(id)
	}
	return err
}

// loadDirectly fetches a chunk of a block for which there is no room.
func (r *Reader) loadDirectly(id blockID, n int) error {
	from := id.number*BlockSize + int64(n)*chunkSize
	data := r.buffer[:min(chunkSize, r.file.size-from)]
	if err := r.cache.readDirectly(r.ctx, r.file, r.source, from, data); err != nil {
		return err
	}
	r.chunk, r.from = data, from
	return nil
}

// obtain returns a block, which may be the one that was fetched ahead.
func (r *Reader) obtain(id blockID) (*opened, error) {
	f := r.next
	if f == nil || f.id != id {
		return r.cache.get(r.ctx, id, r.source)
	}
	r.next = nil
	r.cache.countFetch(r.joined)
	o, err := r.cache.wait(r.ctx, f)
	if err != nil && r.ctx.Err() == nil {
		return r.cache.get(r.ctx, id, r.source)
	}
	return o, err
}

// readAhead begins to fetch the block behind the current one, if bytes of it will be read.
func (r *Reader) readAhead(until int64) {
	next := r.at/BlockSize + 1
	if next == r.asked || next*BlockSize >= min(until, r.file.size) {
		return
	}
	r.asked = next
	if r.next != nil {
		r.cache.leave(r.next)
	}
	r.next, r.joined = r.cache.ahead(blockID{r.file, next}, r.source)
}

// writeTo writes n bytes: chunk by chunk as they are checked, or as the system copies files.
func (r *Reader) writeTo(w io.Writer, n int64) (written int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for end := r.at + n; r.at < end; {
		if err := r.ready(); err != nil {
			return written, err
		}
		r.readAhead(end)
		if k, err := r.copyTrusted(w, end); k > 0 || err != nil {
			if written += k; err != nil {
				return written, err
			}
			continue
		}
		b, err := r.peek()
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return written, err
		}
		k, err := w.Write(b[:min(int64(len(b)), end-r.at)])
		r.advance(k)
		if written += int64(k); err != nil {
			return written, err
		}
	}
	return written, nil
}

// Probe fails unless the byte at an offset can be read, and seeks to it.
func (r *Reader) Probe(offset int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = offset
	err := r.ready()
	if err == nil && (r.block == nil || r.block.trusted(int(r.at%BlockSize/chunkSize)) == 0) {
		_, err = r.peek()
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// ServeContent is http.ServeContent of a reader, which it does not close; a request for several ranges gets the whole file. If the first bytes cannot be had, it returns why, and has written nothing.
func ServeContent(w http.ResponseWriter, req *http.Request, modified time.Time, r *Reader) error {
	byterange.LimitToOne(req)
	if req.Method != http.MethodHead && req.Header.Get("If-None-Match") == "" && req.Header.Get("If-Modified-Since") == "" {
		if err := r.Probe(byterange.FirstByte(req.Header.Get("Range"), r.file.size)); err != nil {
			return err
		}
	}
	http.ServeContent(&chunkWriter{w}, req, "", modified, r)
	return nil
}

// chunkWriter lets http.ServeContent write the chunks of a Reader without a copy.
type chunkWriter struct{ http.ResponseWriter }

// ReadFrom copies what http.ServeContent gives it.
func (w *chunkWriter) ReadFrom(from io.Reader) (int64, error) {
	if part, ok := from.(*io.LimitedReader); ok {
		if r, ok := part.R.(*Reader); ok {
			n, err := r.writeTo(w.ResponseWriter, part.N)
			part.N -= n
			return n, err
		}
	}
	return io.Copy(struct{ io.Writer }{w.ResponseWriter}, from)
}

// Unwrap returns the wrapped writer.
func (w *chunkWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
