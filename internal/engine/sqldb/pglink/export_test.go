package pglink

import "time"

// SetMaxSilence sets how long the primary may be silent before its next answer is confirmed.
func (f *Fence) SetMaxSilence(d time.Duration) { f.maxSilence = d }
