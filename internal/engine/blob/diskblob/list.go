package diskblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

// listedAtOnce is how many names are read from a directory at once.
const listedAtOnce = 256

// listing is the latest listing. Its directories stay open between two pages, because a directory cannot be read from a name on. If another page is asked for than the next one, as after
// a restart, the listing begins again with the shard of that page: a name directly in the folder, such as 42 in media/42/1042.
type listing struct {
	mu     sync.Mutex // guards the fields below; held while a page is read
	folder string
	shard  string
	steps  int // names of the shard that were passed
	open   []openDir
}

// openDir is a directory that is being read.
type openDir struct {
	key     string // of its files, without the last part
	file    *os.File
	entries []fs.DirEntry // that were read and not passed
}

// List returns a page of the files in a folder, in the order of the file system. A position is a shard, and how many names of it were passed. Empty directories count for the limit as files do. The folder itself must
// have few names.
func (s *Store) List(ctx context.Context, folder, after string, limit int) (page blob.Page, err error) {
	if !blob.ValidKey(folder) {
		return page, blob.ErrKey
	}
	l := &s.listing
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.folder != folder || after == "" || l.position() != after {
		shard, _, _ := strings.Cut(after, " ")
		if err := l.begin(folder, shard); err != nil {
			return page, err
		}
		if shard != "" {
			if err := l.push(s, path.Join(folder, shard)); err != nil {
				return page, err
			}
		}
	}
	for n := 0; n < max(limit, 1); n++ {
		if err := ctx.Err(); err != nil {
			return page, err
		}
		more, err := s.listNext(&page)
		if err != nil {
			return blob.Page{}, errors.Join(err, l.begin("", "")) // the page that is asked for next begins its shard again
		}
		if !more {
			return page, l.begin("", "")
		}
	}
	page.Next = l.position()
	return page, nil
}

func (l *listing) position() string { return fmt.Sprint(l.shard, " ", l.steps) }

// begin closes what is open, and continues with a shard; "": with the first one.
func (l *listing) begin(folder, shard string) (err error) {
	for _, d := range l.open {
		err = errors.Join(err, d.file.Close())
	}
	l.folder, l.shard, l.steps, l.open = folder, shard, 0, nil
	return err
}

// push opens a directory. One that is gone has no files, and neither has a file, with which a listing may begin again.
func (l *listing) push(s *Store, key string) error {
	f, err := os.Open(s.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil || !info.IsDir() {
		return errors.Join(err, f.Close())
	}
	l.open = append(l.open, openDir{key: key, file: f})
	return nil
}

// listNext passes the next name, and adds it to a page if it is a file. It reports whether there was one.
func (s *Store) listNext(page *blob.Page) (more bool, err error) {
	l := &s.listing
	for len(l.open) > 0 {
		d := &l.open[len(l.open)-1]
		if len(d.entries) == 0 {
			d.entries, err = d.file.ReadDir(listedAtOnce)
			if err != nil && !errors.Is(err, io.EOF) {
				return false, err
			}
		}
		if len(d.entries) == 0 {
			l.open = l.open[:len(l.open)-1]
			if err := d.file.Close(); err != nil {
				return false, err
			}
			continue
		}
		e := d.entries[0]
		d.entries = d.entries[1:]
		l.steps++
		return true, s.listEntry(path.Join(d.key, e.Name()), e, page)
	}
	next, err := s.nextShard()
	if err != nil || next == nil {
		return false, err
	}
	l.shard, l.steps = next.Name(), 0
	return true, s.listEntry(path.Join(l.folder, l.shard), next, page)
}

// nextShard returns the name in the folder that follows the shard; nil if there is none.
func (s *Store) nextShard() (fs.DirEntry, error) {
	list, err := os.ReadDir(s.path(s.listing.folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range list { // in their order
		if e.Name() > s.listing.shard && blob.ValidKey(e.Name()) {
			return e, nil
		}
	}
	return nil, err
}

// listEntry opens a directory, or adds a file to a page. Names that are no keys are not of a store.
func (s *Store) listEntry(key string, e fs.DirEntry, page *blob.Page) error {
	if !blob.ValidKey(key) {
		return nil
	}
	if e.IsDir() {
		return s.listing.push(s, key)
	}
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	page.Files = append(page.Files, blob.File{Key: key, Size: info.Size(), Modified: info.ModTime()})
	return nil
}
