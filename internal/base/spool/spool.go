// Package spool holds bytes that arrive slowly until they are complete: short parts in memory, longer ones in a temporary file. So a shared
// resource, such as a request to another server, is occupied only while the complete bytes are sent, and not while a slow client sends them.
//
// The files have no names, so the operating system removes them when they are closed, and when the process ends, even by a crash. They are
// never synced, because their bytes are not acknowledged yet.
package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// BufferSize is the maximum of memory in bytes that a Part of a Dir needs, whatever its size. Longer parts are in a file.
const BufferSize = 64 << 10

// prefix of the names that files have until they are open.
const prefix = "spool-"

// Dir is a directory of temporary files. All methods may be called from many goroutines. A nil Dir holds all bytes in memory: for
// programs that read their own files, a few at a time.
//
// Dir itself bounds neither the number of parts nor their size. Callers receive at most one part at a time for each request, of bounded size,
// so it has less than a store that writes whole files. If the disk is full, the part is dropped with the error storage_full.
type Dir struct {
	create func() (*os.File, error)
}

// Open opens or creates a directory. It removes names that a crash left.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("temporary files of uploads: %w", err)
	}
	found, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("temporary files of uploads: %w", err)
	}
	for _, f := range found {
		if !strings.HasPrefix(f.Name(), prefix) {
			continue
		}
		if err := os.Remove(filepath.Join(path, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("temporary files of uploads: %w", err)
		}
	}
	return New(func() (*os.File, error) {
		f, err := os.CreateTemp(path, prefix)
		if err != nil {
			return nil, err
		}
		if err := os.Remove(f.Name()); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}), nil
}

// New returns a Dir whose files another function creates: empty ones, which nobody else uses.
func New(create func() (*os.File, error)) *Dir { return &Dir{create} }

// Part has the bytes that were received. It must be closed.
type Part struct {
	dir    *Dir
	buffer []byte
	file   *os.File // nil: all bytes are in buffer
	size   int64
}

// Receive reads to the end of r, or at most limit bytes. If r fails or ctx ends, the error is theirs, and the Part has the bytes that came
// before. If the bytes cannot be stored, the Part is nil.
func (d *Dir) Receive(ctx context.Context, r io.Reader, limit int64) (*Part, error) {
	p := &Part{dir: d, buffer: make([]byte, 0, max(0, min(limit, BufferSize)))}
	for p.size < limit {
		if len(p.buffer) == cap(p.buffer) {
			if err := p.flush(); err != nil {
				return nil, errors.Join(errs.OfDisk(err), p.Close())
			}
		}
		if err := ctx.Err(); err != nil {
			return p.received(err)
		}
		free := p.buffer[len(p.buffer):cap(p.buffer)]
		n, err := r.Read(free[:min(int64(len(free)), limit-p.size)])
		p.buffer = p.buffer[:len(p.buffer)+n]
		p.size += int64(n)
		if err != nil {
			return p.received(err)
		}
	}
	return p.received(nil)
}

// received ends receiving, because of an error of the reader, io.EOF, or nil. Of a part in a file, nothing stays in memory.
func (p *Part) received(cause error) (*Part, error) {
	if errors.Is(cause, io.EOF) {
		cause = nil
	}
	if p.file == nil {
		return p, cause
	}
	if err := p.flush(); err != nil {
		return nil, errors.Join(errs.OfDisk(err), p.Close())
	}
	p.buffer = nil
	return p, cause
}

// flush makes room in the buffer: it writes it to the file, which it creates first if there is none.
func (p *Part) flush() (err error) {
	if p.file == nil {
		if p.dir == nil {
			p.buffer = slices.Grow(p.buffer, BufferSize)
			return nil
		}
		if p.file, err = p.dir.create(); err != nil {
			return err
		}
	}
	_, err = p.file.Write(p.buffer)
	p.buffer = p.buffer[:0]
	return err
}

// Size returns the number of bytes.
func (p *Part) Size() int64 { return p.size }

// Reader returns a reader of all bytes, from the first. Each has a position of its own. They fail after Close if the part is in a file.
func (p *Part) Reader() io.ReadSeeker {
	if p.file == nil {
		return bytes.NewReader(p.buffer)
	}
	return io.NewSectionReader(p.file, 0, p.size)
}

// Close frees the memory, or the space on the disk.
func (p *Part) Close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}
