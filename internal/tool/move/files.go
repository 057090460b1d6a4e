package move

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob"
)

// files is the destination of files; store is nil if they stay on the disk.
type files struct {
	config s3blob.Config
	store  blob.Store
}

func openFiles(ctx context.Context, o Options) (f files, err error) {
	if o.S3 == nil {
		return f, nil
	}
	f.config = *o.S3
	store, err := s3blob.Open(ctx, f.config)
	if err != nil {
		return f, err
	}
	f.store = store
	return f, nil
}

func (f files) name() string {
	if f.store == nil {
		return "their directory"
	}
	return strings.TrimSuffix(fmt.Sprintf("S3 at %s, %s/%s", f.config.Endpoint, f.config.Bucket, f.config.Prefix), "/")
}

// listFiles returns the keys of the complete files in a data directory, in order.
func listFiles(dir string) (keys []string, err error) {
	root := filepath.Join(dir, filesDir)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == root {
			return nil
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".part" {
				return filepath.SkipDir
			}
			return nil
		}
		key, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if key = filepath.ToSlash(key); !blob.ValidKey(key) {
			return fmt.Errorf("the file %s was not created by Rialto; remove it", path)
		}
		keys = append(keys, key)
		return nil
	})
	slices.Sort(keys)
	return keys, err
}

// filesInParallel is the number of files that are copied at the same time.
const filesInParallel = 8

func (m *mover) moveFiles(keys []string) func(ctx context.Context, p *part) error {
	return func(ctx context.Context, p *part) error {
		at, _ := slices.BinarySearch(keys, string(p.state.place)+"\x00")
		for some := range slices.Chunk(keys[at:], 4*filesInParallel) {
			if err := forEach(ctx, filesInParallel, some, m.moveFile); err != nil {
				return err
			}
			next := partState{place: []byte(some[len(some)-1]), rows: p.state.rows + uint64(len(some))}
			if err := m.target.store(ctx, p.name, &p.state, next, nil); err != nil {
				return err
			}
			m.count.done.Add(uint64(len(some)))
		}
		return m.target.store(ctx, p.name, &p.state, partState{place: p.state.place, rows: p.state.rows, done: true}, nil)
	}
}

func (m *mover) openFile(key string) (*os.File, int64, error) {
	f, err := os.Open(filepath.Join(m.Data, filesDir, filepath.FromSlash(key)))
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func (m *mover) moveFile(ctx context.Context, key string) error {
	f, size, err := m.openFile(key)
	if err != nil {
		return err
	}
	return errors.Join(m.target.files.store.Put(ctx, key, f, size), f.Close())
}

// compareFiles compares the content of each file on both sides.
func (m *mover) compareFiles(ctx context.Context) error {
	keys, err := listFiles(m.Data)
	if err != nil {
		return err
	}
	if m.target.files.store == nil {
		if len(keys) == 0 {
			return nil
		}
		m.report.note("%d files stay in %s: the server needs that directory as its data directory", len(keys), m.Data)
		return nil
	}
	return forEach(ctx, filesInParallel, keys, func(ctx context.Context, key string) error {
		f, size, err := m.openFile(key)
		if err != nil {
			return err
		}
		defer f.Close()
		there, stored, err := m.target.files.store.Open(ctx, key)
		if errors.Is(err, blob.ErrNotFound) {
			m.report.differ("the file %s is missing", key)
			return nil
		}
		if err != nil {
			return err
		}
		defer there.Close()
		if size != stored {
			m.report.differ("the file %s has %d bytes, but %d in the target", key, size, stored)
			return nil
		}
		is, err := digest(f)
		if err != nil {
			return err
		}
		was, err := digest(there)
		if err != nil {
			return err
		}
		if is != was {
			m.report.differ("the file %s has different content in the target", key)
		}
		m.report.file(size)
		return nil
	})
}

func digest(r io.Reader) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	_, err = io.Copy(h, r)
	return [sha256.Size]byte(h.Sum(nil)), err
}
