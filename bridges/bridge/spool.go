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

	mu     sync.Mutex // guards the fields below
	files  []string   // names, in order
	last   string
	failed map[string]failure // by file: those that Rialto has not stored when it was asked
}

// failure is how often a message was not stored, and until when others pass it.
type failure struct {
	attempts int
	until    time.Time
}

const (
	// maxAttempts is how often a message is tried before others pass it. Then it is tried again after deferFirst, and after delays that double up to deferLongest.
	maxAttempts              = 30
	deferFirst, deferLongest = time.Minute, time.Hour
)

// openSpool opens a directory, with what an earlier process has left.
func openSpool(dir string) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	s := &spool{dir: dir, ready: make(chan struct{}, 1), failed: map[string]failure{}}
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

// first returns the oldest message that no others are to pass now; ok is false if there is none. A file that is no message is set aside.
func (s *spool) first() (m spooled, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	at := slices.IndexFunc(s.files, func(file string) bool { return !now.Before(s.failed[file].until) })
	if at < 0 {
		return m, false, nil
	}
	m.file = s.files[at]
	path := filepath.Join(s.dir, m.file)
	raw, err := os.ReadFile(path)
	if err != nil {
		return m, false, err
	}
	if err := json.Unmarshal(raw, &m.Received); err != nil {
		s.remove(m.file)
		return m, false, errors.Join(fmt.Errorf("%s is no message, and is now %s.corrupt: %w", path, path, err), os.Rename(path, path+".corrupt"))
	}
	return m, true, nil
}

// done removes a message, which is stored or was refused for good.
func (s *spool) done(m spooled) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(m.file)
	return os.Remove(filepath.Join(s.dir, m.file))
}

// remove forgets a file. The caller holds mu.
func (s *spool) remove(file string) {
	if at := slices.Index(s.files, file); at >= 0 {
		s.files = slices.Delete(s.files, at, at+1)
	}
	delete(s.failed, file)
}

// fail notes that a message was not stored, and reports whether others pass it for a while.
func (s *spool) fail(m spooled) (passed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.failed[m.file]
	f.attempts++
	if passed = f.attempts >= maxAttempts; passed {
		f.until = time.Now().Add(min(deferFirst<<min(f.attempts-maxAttempts, 10), deferLongest))
	}
	s.failed[m.file] = f
	return passed
}
