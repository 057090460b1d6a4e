package rialto

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// State is what a client must remember. It has the session's tokens: keep it as safe as a password.
type State struct {
	// User and Device of the session, 0 before the first one. They stay after a logout, so that a login goes on with them.
	User, Device uint64
	// Access and Refresh are the session's tokens, empty when there is none; AccessEndsMs is milliseconds since 1970.
	Access       string
	AccessEndsMs int64
	Refresh      string
	// Epoch and Seq are the position in the user's stream.
	Epoch uint32
	Seq   uint64
	// ClientSeq is the highest number that a message was given.
	ClientSeq uint64
	// Seen is the highest seq that was handed to the Handler, by conversation.
	Seen map[uint64]uint64
	// Outbox has the messages that are not stored yet, in order; at most MostQueued.
	Outbox []Unsent
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
	return s
}

// Store keeps a client's state. Load gives the zero State where nothing was saved. Save must be all or nothing, and durable when
// it returns: a message whose number was forgotten could take another's. It must not keep what State's fields point to. The
// client calls them from one goroutine at a time, holding a lock: they must not call the client.
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

// Load gives what was saved last.
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

// NewFileStore makes a store in the file at path, which need not exist yet, nor its folder. A second file beside it, whose name
// ends in .new, is the next state while it is written.
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

// Save writes beside, syncs, renames, and syncs the folder. After an error the file is whole, and as it was
// before or as it should be.
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
