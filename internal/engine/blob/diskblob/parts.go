package diskblob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

// sessionsDir has the files that are stored in parts. Each part is written at its place in its file, so joining them copies nothing.
const sessionsDir = "sessions"

// session of all files on a disk: the key alone names the file of a session.
const session = "disk"

func (s *Store) sessionPath(key string) string {
	return s.part(filepath.Join(sessionsDir, strings.ReplaceAll(key, "/", "_")))
}

// BeginParts creates the file of a session.
func (s *Store) BeginParts(_ context.Context, key string) (string, error) {
	if !blob.ValidKey(key) {
		return "", blob.ErrKey
	}
	f, err := os.OpenFile(s.sessionPath(key), os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = syncDirs(s.dir, s.part(sessionsDir))
	}
	if err != nil {
		return "", classify(err)
	}
	return session, nil
}

// PutPart writes a part at its place, and syncs it.
func (s *Store) PutPart(ctx context.Context, key, _ string, p blob.Part, r io.Reader) (_ string, err error) {
	if !blob.ValidKey(key) {
		return "", blob.ErrKey
	}
	if p.Number < 1 || p.Offset < 0 || p.Size < 0 {
		return "", blob.ErrParts
	}
	f, err := os.OpenFile(s.sessionPath(key), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", blob.ErrNotFound
	}
	if err != nil {
		return "", err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		err = classify(err)
	}()
	return "", receive(ctx, f, p.Offset, r, p.Size) // no byte of the next part is written
}

// JoinParts renames the file of a session, which has all parts.
func (s *Store) JoinParts(ctx context.Context, key, _ string, parts []blob.Part) error {
	if !blob.ValidKey(key) {
		return blob.ErrKey
	}
	size, ok := blob.Contiguous(parts)
	if !ok {
		return blob.ErrParts
	}
	info, err := os.Stat(s.sessionPath(key))
	if errors.Is(err, fs.ErrNotExist) {
		return s.joined(ctx, key, size)
	}
	if err != nil {
		return err
	}
	if info.Size() != size {
		return blob.ErrSize
	}
	dir := filepath.Dir(s.path(key))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return classify(err)
	}
	if err := os.Rename(s.sessionPath(key), s.path(key)); err != nil {
		return classify(err)
	}
	return syncDirs(s.dir, dir)
}

// joined reports whether an earlier JoinParts has succeeded. It may have been interrupted before the new name was durable.
func (s *Store) joined(ctx context.Context, key string, size int64) error {
	f, is, err := s.Open(ctx, key)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if is != size {
		return blob.ErrSize
	}
	return syncDirs(s.dir, filepath.Dir(s.path(key)))
}

// AbortParts removes the file of a session.
func (s *Store) AbortParts(_ context.Context, key, _ string) error {
	if !blob.ValidKey(key) {
		return blob.ErrKey
	}
	if err := os.Remove(s.sessionPath(key)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
