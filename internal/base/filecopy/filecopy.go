// Package filecopy copies a file, and makes names of files durable.
package filecopy

import (
	"errors"
	"io"
	"os"
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

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
