package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// checkpoint is the last message of a room that the bridge has read. One that is older than the last, or lost, has messages read again: they are stored once.
type checkpoint struct {
	Since time.Time // of the link with which it was read
	ID    string    // in the archive; empty: the room has none
	Time  time.Time
}

// checkpoints are files, one for each room. They are not synced: after a power failure, some messages are read again.
type checkpoints struct {
	dir    string
	logger *slog.Logger

	mu   sync.Mutex            // guards last
	last map[string]checkpoint // by room
}

func openCheckpoints(dir string, logger *slog.Logger) (*checkpoints, error) {
	return &checkpoints{dir: dir, logger: logger, last: map[string]checkpoint{}}, os.MkdirAll(dir, 0o700)
}

func (c *checkpoints) path(room string) string {
	return filepath.Join(c.dir, digest(room)[:32]+".json")
}

// of returns the checkpoint of a room: the beginning of the link, and false, if there is none.
func (c *checkpoints) of(room string, since time.Time) (last checkpoint, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok = c.last[room]; !ok {
		raw, err := os.ReadFile(c.path(room))
		if err == nil {
			err = json.Unmarshal(raw, &last)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.logger.Warn("a room is read from the beginning of its link", "room", room, "error", err)
			last = checkpoint{}
		}
	}
	if !last.Since.Equal(since) {
		return checkpoint{Since: since, Time: since}, false
	}
	c.last[room] = last
	return last, true
}

// set notes what was read.
func (c *checkpoints) set(room string, to checkpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[room] = to
	raw, err := json.Marshal(to)
	if err == nil {
		err = os.WriteFile(c.path(room)+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(c.path(room)+".new", c.path(room))
	}
	if err != nil {
		c.logger.Warn("the position in a room could not be stored; after a restart its messages are read again", "room", room, "error", err)
	}
}
