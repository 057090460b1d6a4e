// Package filecopy copies and replaces files, and makes their names durable.
package filecopy

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Copy copies a file to a new file, which must not exist, and syncs it. If it fails, it removes the incomplete copy.
func Copy(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// Replace makes a file have a content, durably. Whoever reads it meanwhile sees the former content or this one, and so it is after a crash.
func Replace(path string, content []byte) error {
	out, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	_, err = out.Write(content)
	if err = errors.Join(err, out.Sync(), out.Close()); err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
