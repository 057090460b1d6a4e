package interchange

import (
	"maps"
	"sync"
	"time"
)

const (
	recordEvery = time.Hour
	// maxRecorded bounds what is remembered. Beyond that all is forgotten, and recorded again when it is next called.
	maxRecorded = 10_000
)

// trace is what an entry of the audit log says.
type trace struct{ key, action, subject string }

// recorded remembers which entries the audit log has. Entries are added once they are stored: calls at the same time may store the same entry twice, and none
// is answered before it is stored.
type recorded struct {
	mu sync.Mutex // guards at
	at map[trace]time.Time
}

func (r *recorded) has(e trace, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.at[e]
	return ok && now.Sub(at) < recordEvery
}

func (r *recorded) add(e trace, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.at) >= maxRecorded {
		maps.DeleteFunc(r.at, func(_ trace, at time.Time) bool { return now.Sub(at) >= recordEvery })
	}
	if r.at == nil || len(r.at) >= maxRecorded {
		r.at = map[trace]time.Time{}
	}
	r.at[e] = now
}
