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

// State is what a client must remember.
type State struct {
	User         uint64
	Device       uint64
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
	// Outbox has the messages that are not stored yet, in order.
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

// Store keeps a client's state. Save must be all or nothing.
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

// FileStore keeps the state in a file that only its owner may read. One client at a time may use it.
type FileStore struct{ path string }

// NewFileStore makes a store in the file at path, which need not exist yet.
func NewFileStore(path string) *FileStore { return &FileStore{path} }

// Load reads the file.
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
		return s, fmt.Errorf("rialto: %s is not a client's state: %w", f.path, err)
	}
	return s, nil
}

// Save writes beside, syncs and renames.
func (f *FileStore) Save(s State) (err error) {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	t, err := os.CreateTemp(filepath.Dir(f.path), ".rialto-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(t.Name()))
		}
	}()
	if _, err := t.Write(b); err != nil {
		return errors.Join(err, t.Close())
	}
	if err := errors.Join(t.Sync(), t.Close()); err != nil {
		return err
	}
	return os.Rename(t.Name(), f.path)
}
