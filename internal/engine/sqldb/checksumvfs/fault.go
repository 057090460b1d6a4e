package checksumvfs

import (
	"fmt"
	"path/filepath"
	"sync"
)

// Fault is a page that does not match its checksum.
type Fault struct {
	Path string
	Page uint32 // from 1
}

func (f *Fault) Error() string {
	return fmt.Sprintf("page %d of %s does not match its checksum", f.Page, f.Path)
}

// watchers are notified of faults, because a read of SQLite does not know its database.
type watchers struct {
	mu     sync.Mutex // guards the fields below
	next   int
	byPath map[string]map[int]func(Fault)
}

var all = &watchers{byPath: map[string]map[int]func(Fault){}}

// Watch calls f for each read of a page of a file that does not match, until stop is called. f must not use the database.
func Watch(path string, f func(Fault)) (stop func()) { return all.add(resolve(path), f) }

func (w *watchers) add(path string, f func(Fault)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byPath[path] == nil {
		w.byPath[path] = map[int]func(Fault){}
	}
	w.next++
	n := w.next
	w.byPath[path][n] = f
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.byPath[path], n)
		if len(w.byPath[path]) == 0 {
			delete(w.byPath, path)
		}
	}
}

func (w *watchers) report(f Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, tell := range w.byPath[f.Path] {
		tell(f)
	}
}

// resolve returns a path as SQLite does: absolute, and without symbolic links.
func resolve(path string) string {
	if a, err := filepath.Abs(path); err == nil {
		path = a
	}
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	// The file may not be there yet.
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}
