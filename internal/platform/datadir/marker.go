package datadir

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rialto-im/rialto/internal/base/filecopy"
)

// MarkerFile is the marker's name in a data directory.
const MarkerFile = "STORE"

// State of a data directory.
type State string

const (
	// Creating: the stores are being created, and nothing was served from them. The next start repeats an interrupted creation.
	Creating State = "creating"
	// DatabaseOnly: the database exists and was used without a server. The first start of a server creates the timelines.
	DatabaseOnly State = "records only"
	// Adopting: the stores of a release without markers are being marked. They must exist.
	Adopting State = "adopting"
	// Serving: the stores are complete. They are never created again.
	Serving State = "serving"
)

// LogPosition says that a write-ahead log of the timelines holds everything below a sequence number of Pebble, synced.
type LogPosition struct {
	Log      uint64 `json:"log"`
	Position uint64 `json:"position"`
}

// Identity is what a marker says about the directory as a whole.
type Identity struct {
	// ID is in the marker and in both stores.
	ID    string `json:"id"`
	State State  `json:"state"`
}

// Each record of the marker has two slots, a sector each, which are overwritten in turn: a torn write leaves the other one.
const (
	sector     = 512
	slots      = 2
	identityAt = 0
	logsAt     = slots
	commitsAt  = 2 * slots
	sectors    = 3 * slots
	// maxLogs of write-ahead logs that are listed; Pebble keeps fewer.
	maxLogs = 8
)

// Marker is the file STORE of a data directory: its identity, and the position that each store had reached. Positions are written after each
// commit without a sync, so they survive a kill of the process. They are synced about once a second. After a power failure a position may be
// lower than what the store has, which is harmless. All methods are safe for concurrent use.
type Marker struct {
	file *os.File

	mu          sync.Mutex // guards the fields below
	identity    Identity
	logs        []LogPosition // rising
	obsolete    uint64        // logs to here are not listed again
	commits     uint64
	generations [3]uint64 // of identity, logs, records
	dirty       bool
	buffer      []byte
}

var errNoMarker = errors.New("there is no marker")

// readMarker opens a directory's marker. The error is errNoMarker where there is none.
func readMarker(dir string, write bool) (*Marker, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR
	}
	f, err := os.OpenFile(filepath.Join(dir, MarkerFile), flag, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoMarker
	}
	if err != nil {
		return nil, err
	}
	m := &Marker{file: f}
	if err := m.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is damaged: %w", f.Name(), err), f.Close())
	}
	return m, nil
}

func (m *Marker) load() error {
	var all [sectors * sector]byte
	if n, err := m.file.ReadAt(all[:], 0); n < len(all) {
		return fmt.Errorf("it has %d bytes of %d (%w)", n, len(all), err)
	}
	for i, into := range []any{&m.identity, &m.logs, &m.commits} {
		found := false
		for slot := range slots {
			generation, body, ok := parseSlot(all[(i*slots+slot)*sector:][:sector])
			if !ok || found && generation < m.generations[i] {
				continue
			}
			if err := json.Unmarshal(body, into); err != nil {
				return err
			}
			found, m.generations[i] = true, generation
		}
		if !found {
			return fmt.Errorf("both copies of its part %d have wrong checksums", i)
		}
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// parseSlot reads "checksum generation body", padded with spaces.
func parseSlot(b []byte) (generation uint64, body []byte, ok bool) {
	sum, rest, ok := bytes.Cut(b, []byte{' '})
	var want [4]byte
	if !ok || len(sum) != 8 {
		return 0, nil, false
	}
	if _, err := hex.Decode(want[:], sum); err != nil || crc32.Checksum(rest, castagnoli) != binary.BigEndian.Uint32(want[:]) {
		return 0, nil, false
	}
	if _, err := fmt.Sscan(string(rest[:20]), &generation); err != nil {
		return 0, nil, false
	}
	return generation, bytes.TrimSpace(rest[20:]), true
}

// writeRecord writes a record into the older of its slots; the caller holds mu.
func (m *Marker) writeRecord(record int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	m.generations[record]++
	b := append(m.buffer[:0], "         "...)
	b = fmt.Appendf(b, "%-20d", m.generations[record])
	b = append(b, body...)
	if len(b) >= sector {
		return fmt.Errorf("%s: %d bytes do not fit into a sector", m.file.Name(), len(b))
	}
	for len(b) < sector-1 {
		b = append(b, ' ')
	}
	b = append(b, '\n')
	hex.Encode(b, binary.BigEndian.AppendUint32(nil, crc32.Checksum(b[9:], castagnoli)))
	m.buffer, m.dirty = b, true
	_, err = m.file.WriteAt(b, int64(record*slots+int(m.generations[record]%slots))*sector)
	return err
}

// createMarker writes a new marker, durably.
func createMarker(dir string, state State) (*Marker, error) {
	path := filepath.Join(dir, MarkerFile)
	f, err := os.OpenFile(path+".part", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	m := &Marker{file: f, identity: Identity{ID: newID(), State: state}}
	err = f.Truncate(sectors * sector)
	for range slots {
		err = errors.Join(err, m.writeRecord(0, m.identity), m.writeRecord(1, m.logs), m.writeRecord(2, m.commits))
	}
	if err = errors.Join(err, m.Sync()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err = errors.Join(err, filecopy.SyncDir(dir)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return m, nil
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Identity of the directory.
func (m *Marker) Identity() Identity {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.identity
}

// SetState durably records the progress of creating the stores.
func (m *Marker) SetState(s State) error {
	m.mu.Lock()
	m.identity.State = s
	err := m.writeRecord(0, m.identity)
	m.mu.Unlock()
	return errors.Join(err, m.Sync())
}

// Logs lists how far the timelines' write-ahead logs are synced.
func (m *Marker) Logs() []LogPosition {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.logs)
}

// WALSynced records that a write-ahead log is synced up to a position.
func (m *Marker) WALSynced(log, position uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if log <= m.obsolete {
		return nil
	}
	i, ok := slices.BinarySearchFunc(m.logs, log, func(l LogPosition, log uint64) int { return int(int64(l.Log) - int64(log)) })
	if !ok {
		m.logs = slices.Insert(m.logs, i, LogPosition{Log: log})
	}
	if m.logs[i].Position >= position {
		return nil
	}
	m.logs[i].Position = position
	if extra := len(m.logs) - maxLogs; extra > 0 {
		m.logs = slices.Delete(m.logs, 0, extra)
	}
	return m.writeRecord(1, m.logs)
}

// WALsObsolete durably records, before a log is removed, that its contents and those of earlier logs are in tables.
func (m *Marker) WALsObsolete(log uint64) error {
	written, err := m.forgetLogs(log)
	if err != nil || !written {
		return err
	}
	return m.file.Sync() // without the lock: commits note their positions meanwhile
}

// forgetLogs records that logs up to one are obsolete, without a sync. It returns false if none of them was recorded.
func (m *Marker) forgetLogs(log uint64) (written bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.obsolete = max(m.obsolete, log)
	before := len(m.logs)
	m.logs = slices.DeleteFunc(m.logs, func(l LogPosition) bool { return l.Log <= log })
	if len(m.logs) == before {
		return false, nil
	}
	return true, m.writeRecord(1, m.logs)
}

// Commits is the number of the last durable transaction of the database.
func (m *Marker) Commits() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.commits
}

// Committed records the number of a durable transaction of the database.
func (m *Marker) Committed(n uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n <= m.commits {
		return nil
	}
	m.commits = n
	return m.writeRecord(2, n)
}

// Sync makes the recorded positions durable.
func (m *Marker) Sync() error {
	m.mu.Lock()
	dirty := m.dirty
	m.dirty = false
	m.mu.Unlock()
	if !dirty {
		return nil
	}
	return m.file.Sync()
}

// Close syncs and closes the file.
func (m *Marker) Close() error { return errors.Join(m.Sync(), m.file.Close()) }
