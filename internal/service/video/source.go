package video

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/rialto-im/rialto/internal/base/id"
)

// maxIdleSources are copies of files that are kept although no task uses them: the next task is probably of the same video.
const maxIdleSources = 2

type sourceFile = io.ReadSeekCloser

// sources gives the tasks of this node the files of uploads by path. A file of the disk is used in place; one of another store is copied once.
type sources struct {
	dir string

	mu     sync.Mutex // guards the fields below, and those of copies
	copies map[id.Upload]*sourceCopy
	idle   []id.Upload // the oldest first
}

// sourceCopy is a copy, which one task makes and others wait for.
type sourceCopy struct {
	path string
	uses int
	made chan struct{} // closed when it is complete, or has failed
	err  error
}

func newSources(dir string) *sources { return &sources{dir: dir, copies: map[id.Upload]*sourceCopy{}} }

// acquire returns the path of a file. release must be called afterwards.
func (s *sources) acquire(ctx context.Context, n id.Upload, open func(context.Context) (sourceFile, error)) (path string, release func(), err error) {
	file, err := open(ctx)
	if err != nil {
		return "", nil, err
	}
	if disk, ok := file.(*os.File); ok {
		return disk.Name(), func() { _ = disk.Close() }, nil // it was only read
	}
	defer file.Close()
	for {
		c, mine := s.reserve(n)
		if mine {
			c.err = s.copy(ctx, c.path, file)
			close(c.made)
		}
		select {
		case <-c.made:
		case <-ctx.Done():
			s.release(n, c)
			return "", nil, ctx.Err()
		}
		if c.err == nil {
			return c.path, func() { s.release(n, c) }, nil
		}
		s.release(n, c)
		if mine || ctx.Err() != nil {
			return "", nil, c.err
		}
	}
}

// reserve counts a use of a copy. mine: the caller makes it.
func (s *sources) reserve(n id.Upload) (c *sourceCopy, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c = s.copies[n]
	if c == nil {
		c = &sourceCopy{path: filepath.Join(s.dir, n.String()), made: make(chan struct{})}
		s.copies[n], mine = c, true
	}
	c.uses++
	for i, idle := range s.idle {
		if idle == n {
			s.idle = append(s.idle[:i], s.idle[i+1:]...)
			break
		}
	}
	return c, mine
}

// release ends a use. Failed copies are forgotten at once, the others when there are too many.
func (s *sources) release(n id.Upload, c *sourceCopy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.uses--; c.uses > 0 {
		return
	}
	if c.err != nil {
		if s.copies[n] == c {
			delete(s.copies, n)
		}
		return
	}
	s.idle = append(s.idle, n)
	for len(s.idle) > maxIdleSources {
		_ = os.Remove(s.copies[s.idle[0]].path) // the next start removes what is left
		delete(s.copies, s.idle[0])
		s.idle = s.idle[1:]
	}
}

// copy copies a file. If it fails, nothing is left of it: the disk may be full.
func (s *sources) copy(ctx context.Context, path string, from io.Reader) (err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = f.Close() }) // ends the copy
	defer stop()
	_, err = io.Copy(f, from)
	return err
}
