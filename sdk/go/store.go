package rialto

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// State is what a client must remember. It has the session's tokens: keep it as safe as a password.
type State struct {
	// User and Device of the session, 0 before the first one. They stay after a logout, so that the next login continues with them.
	User, Device uint64
	// DeviceKey proves at a login that the device had a session, so that other clients' failed logins do not block it. It stays too.
	DeviceKey string
	// Access and Refresh are the session's tokens, empty when there is none; AccessEndsMs is milliseconds since 1970.
	Access       string
	AccessEndsMs int64
	Refresh      string
	// Epoch and Seq are the position in the user's stream.
	Epoch uint32
	Seq   uint64
	// ClientSeq is the highest number assigned to a message.
	ClientSeq uint64
	// Seen is the highest seq that was handed to the Handler, by conversation.
	Seen map[uint64]uint64
	// Outbox has the messages that are not stored yet, in order; at most MostQueued.
	Outbox []Unsent
	// Drafts that the server has not confirmed yet, by conversation; at most MostDrafts.
	Drafts map[uint64]string `json:",omitempty"`
}

// Unsent is a message on its way.
type Unsent struct {
	ClientSeq    uint64
	Conversation uint64
	Content      []byte // protobuf of rialto.chat.v1.Content
}

func (s State) clone() State {
	s.Outbox = slices.Clone(s.Outbox)
	seen := make(map[uint64]uint64, len(s.Seen))
	for k, v := range s.Seen {
		seen[k] = v
	}
	s.Seen = seen
	s.Drafts = maps.Clone(s.Drafts)
	return s
}

// Store keeps a client's state. Load returns the zero State if nothing was saved. Save must be atomic, and durable when it returns:
// otherwise a later message could reuse the number of a lost one. It must not keep pointers from State. The client calls them from one
// goroutine at a time, holding a lock: they must not call the client.
type Store interface {
	Load() (State, error)
	Save(State) error
}

// MemoryStore keeps the state as long as the process lives.
type MemoryStore struct {
	mu    sync.Mutex // guards state
	state State
}

// NewMemoryStore makes an empty store.
func NewMemoryStore() *MemoryStore { return &MemoryStore{} }

// Load returns the last saved state.
func (m *MemoryStore) Load() (State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.clone(), nil
}

// Save keeps a state.
func (m *MemoryStore) Save(s State) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = s.clone()
	return nil
}

// FileStore keeps the state in a file that only its owner may read. One client at a time may use it. Each Save costs two syncs of
// the disk. A crash at any moment leaves the state as it was before Save or after it.
type FileStore struct{ path string }

// NewFileStore returns a store in the file at path. Neither the file nor its folder needs to exist. A second file, whose name ends in .new,
// has the next state while it is written.
func NewFileStore(path string) *FileStore { return &FileStore{path} }

// Load reads the file. A file that is no state is an error: it is not overwritten.
func (f *FileStore) Load() (State, error) {
	var s State
	b, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return State{}, fmt.Errorf("rialto: %s is not a client's state: %w", f.path, err)
	}
	return s, nil
}

// Save writes a temporary file, syncs it, renames it, and syncs the folder. After an error the file has either the old or the new state.
func (f *FileStore) Save(s State) (err error) {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	next := f.path + ".new" // what a crash left of it is overwritten
	if err := writeSynced(next, b); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	if err := os.Rename(next, f.path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func writeSynced(path string, b []byte) error {
	t, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := t.Write(b); err != nil {
		return errors.Join(err, t.Close())
	}
	return errors.Join(t.Sync(), t.Close())
}
