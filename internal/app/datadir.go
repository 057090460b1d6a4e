package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rialto-im/rialto/internal/bus"
)

// dataDir is a data directory held by this process.
type dataDir struct {
	path string
	lock *os.File
}

// inUseError says that another process holds a directory.
type inUseError struct{ path string }

func (e *inUseError) Error() string {
	return fmt.Sprintf("the data directory %s is in use by another rialto; stop it, or choose another --data", e.path)
}

// openDataDir makes the directory where it is missing, for its owner alone, and locks it: two servers on one directory would
// ruin it.
func openDataDir(path string) (*dataDir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("the data directory cannot be made: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data directory cannot be written: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &inUseError{path}
		}
		return nil, fmt.Errorf("the data directory cannot be locked: %w", err)
	}
	return &dataDir{path: path, lock: lock}, nil
}

func (d *dataDir) join(name string) string { return filepath.Join(d.path, name) }

// Close lets the directory go.
func (d *dataDir) Close() error { return d.lock.Close() }

// nodeFile keeps the node's name.
const nodeFile = "node"

// nodeName gives the name that is kept in the directory: the host's, and letters that tell nodes on one host apart.
func (d *dataDir) nodeName() (string, error) {
	b, err := os.ReadFile(d.join(nodeFile))
	if err == nil {
		if name := strings.TrimSpace(string(b)); bus.ValidSubject(name) && !strings.Contains(name, ".") {
			return name, nil
		}
		return "", fmt.Errorf("%s is no node's name; remove the file, or set node", d.join(nodeFile))
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("the node's name cannot be read: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "node" // the letters are enough
	}
	host, _, _ = strings.Cut(host, ".")
	host = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, host)
	name := host[:min(len(host), 40)] + "-" + strings.ToLower(rand.Text()[:6])
	if err := os.WriteFile(d.join(nodeFile), []byte(name+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("the node's name cannot be kept: %w", err)
	}
	return name, nil
}
