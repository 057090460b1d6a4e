package interchangefile

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Reader reads a complete directory.
type Reader struct {
	dir      string
	Manifest Manifest
}

// Open checks that a directory is complete, in a version that is known, and has the checksums of its manifest. Files are checked when they are read.
func Open(dir string) (*Reader, error) {
	b, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoManifest)
	}
	if err != nil {
		return nil, err
	}
	r := &Reader{dir: dir}
	if err := json.Unmarshal(b, &r.Manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if v := r.Manifest.Version; v < 1 || v > Version {
		return nil, fmt.Errorf("the directory has version %d of the format; this build reads up to %d", v, Version)
	}
	found := map[string]bool{}
	for _, want := range r.Manifest.Parts {
		if filepath.Base(want.Name) != want.Name {
			return nil, fmt.Errorf("%s: %q is no name of a file", manifestFile, want.Name)
		}
		is, err := describe(dir, want.Name)
		if err != nil {
			return nil, err
		}
		if is != want {
			return nil, fmt.Errorf("%s has changed since the manifest was written: %d lines of %d bytes, sha256 %s; want %d, %d, %s", want.Name, is.Lines, is.Size, is.Sha256, want.Lines, want.Size, want.Sha256)
		}
		found[want.Name] = true
	}
	names := []string{usersFile, conversationsFile, entriesFile, filesFile}
	if r.Manifest.Version >= 2 {
		names = append(names, relationsFile)
	}
	if r.Manifest.Version >= 3 {
		names = append(names, videosFile, postsFile, commentsFile, likesFile)
	}
	for _, name := range names {
		if !found[name] {
			return nil, fmt.Errorf("%s does not name %s", manifestFile, name)
		}
	}
	return r, nil
}

// Source is what the directory was made from.
func (r *Reader) Source() string { return r.Manifest.Source }

// ID identifies the directory.
func (r *Reader) ID() string {
	if r.Manifest.Version >= 3 { // one may have no messages
		h := sha256.New()
		for _, p := range r.Manifest.Parts {
			h.Write([]byte(p.Sha256))
		}
		return hex.EncodeToString(h.Sum(nil))
	}
	for _, p := range r.Manifest.Parts {
		if p.Name == entriesFile {
			return p.Sha256
		}
	}
	return ""
}

// Users calls f with each user.
func (r *Reader) Users(f func(u *User) error) error { return each(r.dir, usersFile, f) }

// Relations calls f with each relation. A directory of version 1 has none.
func (r *Reader) Relations(f func(*Relation) error) error {
	if r.Manifest.Version < 2 {
		return nil
	}
	return each(r.dir, relationsFile, f)
}

// Videos calls f with each video. A directory of a version before 3 has none, and neither has it posts, comments and likes.
func (r *Reader) Videos(f func(*UserVideo) error) error { return since3(r, videosFile, f) }

// Posts calls f with each version of a post: first the posts that others show.
func (r *Reader) Posts(f func(*Post) error) error { return since3(r, postsFile, f) }

// Comments calls f with each comment, behind what it answers.
func (r *Reader) Comments(f func(*Comment) error) error { return since3(r, commentsFile, f) }

// Likes calls f with each like and favourite.
func (r *Reader) Likes(f func(*Like) error) error { return since3(r, likesFile, f) }

func since3[T any](r *Reader, name string, f func(*T) error) error {
	if r.Manifest.Version < 3 {
		return nil
	}
	return each(r.dir, name, f)
}

// Conversations calls f with each conversation, threads last.
func (r *Reader) Conversations(f func(c *Conversation) error) error {
	return each(r.dir, conversationsFile, f)
}

// Skipped calls f with each thing of the source that is not in the directory.
func (r *Reader) Skipped(f func(s *Skipped) error) error { return each(r.dir, skippedFile, f) }

func each[T any](dir, name string, f func(*T) error) error {
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer file.Close()
	for lines := NewLines(name, file); ; {
		v := new(T)
		if err := lines.Decode(v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := f(v); err != nil {
			return err
		}
	}
}

// Entries reads messages.jsonl from an offset on. The caller closes it.
func (r *Reader) Entries(offset int64) (*Entries, error) {
	file, err := os.Open(filepath.Join(r.dir, entriesFile))
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Entries{Lines: &Lines{name: entriesFile, r: bufio.NewReaderSize(file, 256<<10), offset: offset}, file: file}, nil
}

// Entries are the lines of messages.jsonl.
type Entries struct {
	*Lines
	file *os.File
}

// Close closes the file.
func (e *Entries) Close() error { return e.file.Close() }

// OpenFile opens a file of the directory, and returns its size.
func (r *Reader) OpenFile(path string) (*os.File, int64, error) {
	if err := checkPath(path); err != nil {
		return nil, 0, err
	}
	root, err := os.OpenRoot(r.dir) // no link leads out of it
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	f, err := root.Open(filepath.FromSlash(path))
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", path)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}
