package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/platform/datadir"
)

// dataDir is a data directory that this process has locked.
type dataDir struct {
	path string
	lock *os.File
}

// inUseError reports a directory that another process has locked.
type inUseError struct{ path string }

func (e *inUseError) Error() string {
	return fmt.Sprintf("the data directory %s is in use by another rialto; stop it, or choose another --data", e.path)
}

func isInUse(err error) bool {
	inUse := (*inUseError)(nil)
	return errors.As(err, &inUse)
}

// openDataDir creates the directory if it is missing, readable by its owner alone, and locks it: two servers would corrupt it.
func openDataDir(path string) (*dataDir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("the data directory cannot be made: %w", datadir.ExplainFull(err))
	}
	return lockDataDir(path)
}

// lockDataDir locks a directory that exists.
func lockDataDir(path string) (*dataDir, error) {
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data directory cannot be written: %w", datadir.ExplainFull(err))
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

// Close unlocks the directory.
func (d *dataDir) Close() error { return d.lock.Close() }

// nodeFile has the node's name.
const nodeFile = "node"

// nodeName reads the node's name, or creates it: the host's name with random letters, which distinguish nodes on one host.
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
		return "", fmt.Errorf("the node's name cannot be kept: %w", datadir.ExplainFull(err))
	}
	return name, nil
}
