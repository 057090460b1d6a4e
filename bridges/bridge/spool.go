package bridge

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxSpooled bounds how many messages wait while Rialto cannot be reached.
const maxSpooled = 100_000

// ErrSpoolFull says that maxSpooled messages wait.
var ErrSpoolFull = errors.New("the spool is full")

// spooled is a message in its file.
type spooled struct {
	Received
	file string
}

// spool keeps what came from the other system in files, one for each message, until it is stored in Rialto. A message has its id before the first attempt to store it: so a bridge that dies loses none that it has written down, and
// stores none twice.
type spool struct {
	dir   string
	ready chan struct{} // something was added

	mu    sync.Mutex // guards the fields below
	files []string   // names, in order
	last  string
}

// openSpool opens a directory, with what an earlier process has left.
func openSpool(dir string) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	s := &spool{dir: dir, ready: make(chan struct{}, 1)}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			s.files = append(s.files, e.Name())
		}
	}
	slices.Sort(s.files)
	if n := len(s.files); n > 0 {
		s.last = s.files[n-1]
	}
	return s, nil
}

// add writes a message down. The name of its file is higher than all before, also if the clock was set back.
func (s *spool) add(m Received) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.files) >= maxSpooled {
		return ErrSpoolFull
	}
	name := fmt.Sprintf("%020d-000000.json", time.Now().UnixMicro())
	if name <= s.last {
		var at, n int64
		if _, err := fmt.Sscanf(s.last, "%d-%d.json", &at, &n); err != nil {
			return err
		}
		name = fmt.Sprintf("%020d-%06d.json", at+(n+1)/1_000_000, (n+1)%1_000_000)
	}
	if m.ID == "" {
		m.ID = strings.TrimSuffix(name, ".json") + "-" + rand.Text()[:8]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := WriteFile(filepath.Join(s.dir, name), raw); err != nil {
		return err
	}
	s.files, s.last = append(s.files, name), name
	select {
	case s.ready <- struct{}{}:
	default:
	}
	return nil
}

// first returns the oldest message; ok is false if there is none. A file that is no message is set aside.
func (s *spool) first() (m spooled, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.files) == 0 {
		return m, false, nil
	}
	m.file = s.files[0]
	path := filepath.Join(s.dir, m.file)
	raw, err := os.ReadFile(path)
	if err != nil {
		return m, false, err
	}
	if err := json.Unmarshal(raw, &m.Received); err != nil {
		s.files = s.files[1:]
		return m, false, errors.Join(fmt.Errorf("%s is no message, and is now %s.corrupt: %w", path, path, err), os.Rename(path, path+".corrupt"))
	}
	return m, true, nil
}

// done removes the oldest message, which is stored or was refused for good.
func (s *spool) done(m spooled) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.files) == 0 || s.files[0] != m.file {
		return fmt.Errorf("%s is not the oldest file of the spool", m.file)
	}
	s.files = s.files[1:]
	return os.Remove(filepath.Join(s.dir, m.file))
}
