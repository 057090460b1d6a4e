//go:build !linux

package app

import (
	"os"
	"path/filepath"
)

// fingerprint of a file of a data directory and of the machine that it is on. On this system it covers the machine's name and the directory
// only: a copy in the same directory of a machine with the same name counts as the original.
func fingerprint(dir, name string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	host, err := os.Hostname()
	return digest([]string{host, dir}), err
}
