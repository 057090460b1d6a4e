//go:build !linux

package app

import (
	"os"
	"path/filepath"
)

// fingerprint of a file of a data directory and of the machine that it is on. Here it knows the machine's name and the
// directory only: a copy in the same place of a machine of the same name is taken for the original.
func fingerprint(dir, name string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	host, err := os.Hostname()
	return digest([]string{host, dir}), err
}
