package timeline

import "time"

// CorruptionDetector decides when an entry that looks corrupt counts as corrupt. A store of several nodes may fail one read and answer the
// next, so an entry is confirmed only after several observations over some seconds. After corruption of a timeline is confirmed, further
// entries of it are confirmed at once for a while: otherwise each would need as long again.
//
// The zero value is ready to use. Callers synchronize.
type CorruptionDetector struct {
	// Observations that are needed; 0 is 5.
	Observations int
	// MaxSuspects bounds the suspects that are remembered. Beyond, all are forgotten. If 0, the caller bounds them by ForgetSuspects.
	MaxSuspects int

	suspects  map[suspectKey]*Suspect
	confirmed map[Key]time.Time // when corruption was last confirmed
}

const (
	corruptionObservations = 5
	corruptionTime         = 5 * time.Second
	corruptionCooldown     = time.Minute
	// maxConfirmed bounds the timelines with confirmed corruption that are remembered. Beyond, all are forgotten.
	maxConfirmed = 1000
)

type suspectKey struct {
	key Key
	seq uint64
}

// Suspect is an entry that looks corrupt.
type Suspect struct {
	since        time.Time
	observations int
	// Handled is set by the caller. The entry then stays confirmed as long as it is remembered.
	Handled bool
}

// Observe is called each time an entry looks corrupt. It reports whether that is confirmed.
func (d *CorruptionDetector) Observe(key Key, seq uint64, now time.Time) (s *Suspect, confirmed bool) {
	at := suspectKey{key, seq}
	if s = d.suspects[at]; s == nil {
		if d.suspects == nil || d.MaxSuspects > 0 && len(d.suspects) >= d.MaxSuspects {
			d.suspects = map[suspectKey]*Suspect{}
		}
		s = &Suspect{since: now}
		d.suspects[at] = s
	}
	s.observations++
	needed := d.Observations
	if needed == 0 {
		needed = corruptionObservations
	}
	last, known := d.confirmed[key]
	return s, s.Handled || known && now.Sub(last) < corruptionCooldown || s.observations >= needed && now.Sub(s.since) >= corruptionTime
}

// Confirm records that corruption of a timeline was confirmed.
func (d *CorruptionDetector) Confirm(key Key, now time.Time) {
	if d.confirmed == nil || len(d.confirmed) >= maxConfirmed {
		d.confirmed = map[Key]time.Time{}
	}
	d.confirmed[key] = now
}

// ForgetSuspects starts all observations anew. Confirmed timelines are remembered.
func (d *CorruptionDetector) ForgetSuspects() { d.suspects = nil }
